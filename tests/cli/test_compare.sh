# compare and toolchain: every way that is there runs, a missing one says so in its row, the values agree.
# Without a product that feeds a sum, so that tcc, which knows no fused multiply-add, agrees too.
cat >f.scaly <<'END'
expr.func @f(%x: tensor<30xfloat64>) -> (%y, %z) { return sum(add(sin(%x), exp(%x))), sqrt(abs(%x)) }
END
good compare f.scaly --format json
cp out rows.json
for key in '"function": "f"' '"requests": \["y", "z"\]' '"way": "gcc", "tier": null, "lanes": 1, "vector_libm": "none", "compile_ms": [0-9]' \
  '"first_ms": [0-9.]+, "code_bytes": [1-9][0-9]*, "ns": [0-9.]+, "spread": [0-9.e+-]+, "max_abs": [0-9.e+-]+, "max_ulp": [0-9.e+-]+, "gflops": [0-9.e+-]+, "error": null'; do
  out_has "$key"
done
[ "$HAVE_LLVM" = 1 ] && out_has '"way": "llvm", "tier": "best"'
grep -q '"max_ulp": 0, ' out || fail "the ways do not agree to the bit" "$(cat out)"
good compare f.scaly --out z -O 0
out_has '^f: z; [0-9]+ operations per call$'
out_has '^way +compile ms +first ms +code bytes +ns per call +spread +max abs +max ULP +GFLOP/s$'

# No compiler: its rows say so, the others still run.
last="PATH=/nowhere scaly compare"
PATH=/nowhere "$SCALY" compare f.scaly --format json >out 2>err
code=$?
[ "$code" -eq $((HAVE_LLVM ? 0 : 3)) ] || fail "exit code $code" "$(cat err)"
out_has '"way": "gcc", .*"ns": null, .*"error": "[^"]*gcc[^"]*"'
out_has '"way": "clang", .*"error": "[^"]*clang[^"]*"'
[ "$HAVE_LLVM" = 1 ] && out_has '"way": "llvm".*"max_abs": null.*"error": null\}, \{"way": "gcc"'
SCALY_CC=/nowhere/cc scaly compare f.scaly
gives 0
out_has '^cc +.*/nowhere/cc'
SCALY_CC="$(command -v gcc) -fno-inline" SCALY_CC_OPT="-O1 -g0" scaly compare f.scaly
gives 0
out_has '^cc +[0-9.]+ '
# A compiler that fails: its own words are the reason.
printf '#!/bin/sh\necho "cannot be bothered" >&2\nexit 1\n' >broken
chmod +x broken
SCALY_CC=./broken scaly compare f.scaly
gives 0
out_has '^cc .*cannot be bothered'
bad 1 '2 values where the input' compare f.scaly --arg x=1,2
good compare f.scaly --seed 7
[ -z "$(find . -newer rows.json -name '*.so')" ] || fail "something was left behind"

good toolchain
out_has '^scaly +[0-9]'
out_has '^llvm +'
out_has '^gcc +/.*gcc'
out_has '^target +native: '
out_has '^presets +generic, '
PATH=/nowhere scaly toolchain
gives 0
out_has '^gcc +missing \(Debian: gcc\)$'
out_has '^clang +missing \(Debian: clang-19\)$'
