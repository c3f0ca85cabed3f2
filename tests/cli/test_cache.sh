# The cache of compiled code: what a second run finds, where it is, and the cache command.
cat >f.scaly <<'EOF'
expr.func @f(%x: tensor<3xfloat64>) -> (%y) { return sum(add(sin(%x), mul(%x, %x))) }
EOF
scaly cache info
if [ "$code" -eq 3 ] || [ "$HAVE_LLVM" != 1 ]; then
  [ "$code" -ne 3 ] || err_has 'this build has no cache'
  return
fi
gives 0
out_has '^entries +0$'

# The same numbers, the second time without compiling.
for request in y grad:y:x "y --out spjac:y:x"; do
  # shellcheck disable=SC2086
  scaly run f.scaly --arg x=1,2,3 --time --out $request
  mv out first
  err_has 'plugin [0-9.]+ target'
  # shellcheck disable=SC2086
  scaly run f.scaly --arg x=1,2,3 --time --out $request
  err_has '^milliseconds: cache [0-9.]+ lower 0.000 plugin 0.000 target 0.000 emit 0.000 codegen 0.000 link 0.000 best 0.000$'
  out_is "$(cat first)"
done
good cache info
out_has "^folder +$PWD/cache$"
out_has '^entries +3$'
good cache verify
out_is '3 entries, 0 damaged'
scaly run f.scaly --arg x=1,2,3 --time --out y --rebuild
err_has 'codegen [0-9.]*[1-9]'
scaly run f.scaly --arg x=1,2,3 --time --out y --tier fast
err_has 'codegen [0-9.]*[1-9]'

# Damage is told and repaired.
for entry in cache/*.jit; do echo x >>"$entry"; done
bad_out() { [ "$code" -eq 1 ] || fail "exit code $code, expected 1"; }
scaly cache verify
bad_out
out_is '3 entries, 3 damaged'
good run f.scaly --arg x=1,2,3 --out y
scaly cache verify
out_is '3 entries, 2 damaged'

good cache prune --max-size 3K --max-age 30d
out_has '^removed [12], left [12] entries'
good cache clear
out_has '^removed [12], left 0 entries of 0 bytes'
bad 2 'info, verify, prune and clear' cache list
bad 2 'is missing' cache
bad 2 '--max-size takes' cache prune --max-size many
bad 2 'belong to prune' cache clear --max-age 1d

# Where it is.
(unset SCALY_CACHE_DIR; export XDG_CACHE_HOME="$PWD/xdg"; scaly run f.scaly --arg x=1,2,3; [ -d xdg/scaly/jit ]) || fail 'XDG_CACHE_HOME'
(unset SCALY_CACHE_DIR; export XDG_CACHE_HOME=relative HOME="$PWD/home of mine"; scaly run f.scaly --arg x=1,2,3; [ -d "home of mine/.cache/scaly/jit" ]) || fail 'HOME'
(unset SCALY_CACHE_DIR XDG_CACHE_HOME HOME; scaly run f.scaly --arg x=1,2,3; gives 0) || fail 'no home'
(export SCALY_CACHE_DIR=; scaly run f.scaly --arg x=1,2,3; gives 0; scaly cache info; [ "$code" -eq 3 ]) || fail 'switched off'
[ ! -e relative ] || fail 'a relative XDG_CACHE_HOME was used'

# A folder that cannot be used is one warning, and the numbers come all the same.
: >occupied
SCALY_CACHE_DIR=$PWD/occupied scaly run f.scaly --arg x=1,2,3
[ "$code" -eq 0 ] || fail "exit code $code"
err_has '^scaly: warning: the cache .* is no folder'
[ "$(wc -l <err)" -eq 1 ] || fail 'more than one line of warning'
