# What the scripts of this folder share: harness.sh SCRIPT FOLDER runs SCRIPT in an empty FOLDER.
#
#   scaly ARGS...            runs the command; standard output in ./out, standard error in ./err, exit code in $code
#   gives CODE               checks the exit code of the last run, and that success said nothing on standard error
#   out_is TEXT, err_is TEXT, out_has REGEX, err_has REGEX    check what it wrote
#   good ARGS, bad CODE REGEX ARGS                            the two most common combinations
set -u
script=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder" || exit 1
export SCALY_CACHE_DIR=$PWD/cache
unset SCALY_TARGET SCALY_CC SCALY_CC_OPT CC NO_COLOR LANG LC_ALL
failures=0 last=
# Leaks and other findings of a sanitizer must not pass for one of the command's own exit codes.
export ASAN_OPTIONS=exitcode=99 UBSAN_OPTIONS=exitcode=99

fail() {
  echo "FAIL: $last"
  printf '  %s\n' "$@"
  failures=$((failures + 1))
}

scaly() {
  last="scaly $*"
  "$SCALY" "$@" >out 2>err
  code=$?
}

gives() {
  [ "$code" -eq "$1" ] || fail "exit code $code, expected $1" "$(head -c 600 err)"
  if [ "$1" -eq 0 ] && [ -s err ]; then fail "success with words on standard error" "$(head -c 600 err)"; fi
  if [ "$1" -ne 0 ] && [ ! -s err ]; then fail "failure without a word on standard error"; fi
}

out_is() {
  [ "$(cat out)" = "$1" ] || fail "printed:" "$(head -c 1000 out)" "expected:" "$1"
}

err_is() {
  [ "$(cat err)" = "$1" ] || fail "complained:" "$(head -c 1000 err)" "expected:" "$1"
}

out_has() {
  grep -Eq -- "$1" out || fail "printed:" "$(head -c 1000 out)" "expected to match: $1"
}

err_has() {
  grep -Eq -- "$1" err || fail "complained:" "$(head -c 1000 err)" "expected to match: $1"
}

good() {
  scaly "$@"
  gives 0
}

bad() {
  scaly "${@:3}"
  gives "$1"
  err_has "$2"
}

# shellcheck source=/dev/null
. "$script"
[ "$failures" -eq 0 ] || { echo "$failures failure(s)"; exit 1; }
