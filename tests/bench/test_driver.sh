# The driver's lines: every field, gates that pass, one row per way; --compare flags what became slower and nothing else.
set -u
rm -rf "$1"
mkdir -p "$1"
cd "$1" || exit 1
failures=0
fail() {
  echo "FAIL: $*"
  failures=$((failures + 1))
}

"$BENCH" --quick --only "wave n=64" --format json >run.json 2>err || fail "exit code $? $(cat err)"
for field in workload size kernel way tier lanes vector_libm gate graph_ms lower_ms compile_ms first_ms ns spread code_bytes workspace \
  ops math_calls accesses peak_kb machine versions commit; do
  [ "$(grep -c "\"$field\": " run.json)" = "$(wc -l <run.json)" ] || fail "a line lacks $field"
done
grep -q '"way": "gcc", "tier": "-O3"' run.json || fail "no row of gcc"
grep -q '"way": "hand"' run.json || fail "no row by hand"
[ "$HAVE_LLVM" = 1 ] && { grep -q '"way": "llvm", "tier": "best", .*"ns": [0-9.]*, "spread": [0-9.e-]*, "code_bytes": [0-9]' run.json || fail "no row of llvm"; }
if grep -v '"gate": "ok"' run.json; then fail "a gate"; fi
[ -s err ] && fail "words on standard error: $(cat err)"

# Times a thousandth of what they were, and a thousand times.
sed -E 's/"ns": ([0-9.]+)/"ns": 0.001/' run.json >fast.json
sed -E 's/"ns": ([0-9.]+)/"ns": 1e9/' run.json >slow.json
"$BENCH" --quick --only "wave n=64 y" --way gcc --compare fast.json >out 2>err && fail "slower kernels go unseen"
grep -q '^slower: wave n=64 y gcc -O3: ' out || fail "no kernel is named: $(cat out)"
"$BENCH" --quick --only "wave n=64 y" --way gcc --compare slow.json >out 2>err || fail "faster kernels are flagged: $(cat out)"
grep -q '0 of 1 measurements became slower$' out || fail "$(cat out)"
"$BENCH" --quick --only "wave n=64 y" --way gcc --compare /nowhere >out 2>err && fail "a missing file goes unseen"
"$BENCH" --frobnicate >out 2>err
[ $? = 2 ] || fail "an unknown option gives another exit code than 2"
"$BENCH" --help | grep -q -- '--report' || fail "no help"
if [ "$HAVE_LLVM" = 1 ]; then
  "$BENCH" --quick --only "wave n=64 y" --format profile >out || fail "--format profile"
  grep -Eq '^\| wave n=64 `y` \| [0-9.,]+ \| [0-9.]+ \| [0-9.]+ \| 320 \| 128 \| 128 \| [0-9.]+ \|$' out || fail "no profile: $(cat out)"
  "$BENCH" --quick --only "reduce n=10000 dot" --passes >out || fail "--passes"
  grep -Eq '^widen_loops +[0-9.]+ ' out || grep -Eq '^[a-z_]+ +[0-9.]+ +[0-9.]+  reduce n=10000 dot' out || fail "no table of passes: $(cat out)"
fi
exit $((failures > 0))
