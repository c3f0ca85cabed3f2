# compare and toolchain: every way that is there runs, a missing one says so in its row, the values agree.
# Without a product that feeds a sum, so that tcc, which knows no fused multiply-add, agrees too.
cat >f.scaly <<'END'
expr.func @f(%x: tensor<30xfloat64>) -> (%y, %z) { return sum(add(sin(%x), exp(%x))), sqrt(abs(%x)) }
END
good compare f.scaly --format json
cp out rows.json
for key in '"function": "f"' '"requests": \["y", "z"\]' '"way": "gcc", "tier": null, "lanes": [1-8], "vector_libm": "[a-z]+", "compile_ms": [0-9]' \
  '"first_ms": [0-9.]+, "code_bytes": [1-9][0-9]*, "ns": [0-9.]+, "spread": [0-9.e+-]+, "max_abs": [0-9.e+-]+, "max_ulp": [0-9.e+-]+, "gflops": [0-9.e+-]+, "error": null'; do
  out_has "$key"
done
[ "$HAVE_LLVM" = 1 ] && out_has '"way": "llvm", "tier": "best"'
grep -q '"max_ulp": 0, ' out || fail "the ways do not agree to the bit" "$(cat out)"
good compare f.scaly --out z -O 0
out_has '^f: z; [0-9]+ operations per call$'
out_has '^way +lanes +math +compile ms +first ms +code bytes +ns per call +spread +to best +max abs +max ULP +GFLOP/s$'
out_has '^fastest: (llvm best|llvm fast|gcc|clang|tcc), by [0-9.]+ before (llvm best|llvm fast|gcc|clang|tcc)(, which is within the spread)?$'
grep -Eq '^(llvm best|llvm fast|gcc|clang|tcc) .* 1\.00 ' out || fail "no row is the fastest" "$(cat out)"

# No compiler: its rows say so, the others still run.
last="PATH=/nowhere scaly compare"
PATH=/nowhere "$SCALY" compare f.scaly --format json >out 2>err
code=$?
[ "$code" -eq 0 ] || [ "$HAVE_LLVM$code" = 03 ] || fail "exit code $code" "$(cat err)"
out_has '"way": "gcc", .*"ns": null, .*"error": "[^"]*gcc[^"]*"'
out_has '"way": "clang", .*"error": "[^"]*clang[^"]*"'
[ "$HAVE_LLVM" = 1 ] && out_has '"way": "llvm", "tier": "best".*"error": null\}, \{"way": "llvm", "tier": "fast".*"error": null\}, \{"way": "gcc"'
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

# Foreign modules: one of ours, one that needs room and says so as CasADi's loader asks, a shared object; what is wrong with one is its row's error.
mkdir own foreign empty
good export f.scaly -o own
good compare f.scaly --against own=own --format json
out_has '"way": "own", "tier": "gcc", "lanes": null, .*"ns": [0-9.]+, .*"max_ulp": 0, .*"error": null'
cat >foreign/g.c <<'END'
int g_work(long long *a, long long *r, long long *iw, long long *w) { *a = 3, *r = 4, *iw = 5, *w = 6; return 0; }
int g(const double **arg, double **res, int *iw, double *w, int mem) {
  if (mem || !iw || !w || arg[1] || arg[2] || res[2] || res[3]) return 7;
  for (int i = 0; i < 5; i++) ((long long *)iw)[i] = 1;
  for (int i = 0; i < 6; i++) w[i] = 1;
  for (int i = 0; i < 30; i++) res[1][i] = 0.5;
  res[0][0] = arg[0][0];
  return 0;
}
END
good compare f.scaly --against other=foreign:g --format json
out_has '"way": "other", "tier": "clang", .*"max_abs": [1-9][^}]*"error": null'
cc -shared -fPIC foreign/g.c -o foreign/g.so
good compare f.scaly --against object=foreign/g.so:g
out_has '^object +- +- +- +- +[0-9]'
good compare f.scaly --against a=foreign --against b=empty --against c=/nowhere
out_has '^a gcc +there is no function f in it$'
out_has '^b gcc +empty: neither C sources nor one shared object$'
out_has '^c clang +/nowhere: No such file'
echo 'int f(void) { return x; }' >empty/f.c
good compare f.scaly --against b=empty
out_has "^b gcc +.*gcc failed: .*error.*x"
# One that crashes, ends the process or does not come back is an error of its row; one with other values does not win.
mkdir hostile
entry='int f(const double **arg, double **res, int *iw, double *w, int mem)'
echo "$entry { *(volatile int *)0 = 1; return 0; }" >hostile/crash.c
printf '#include <stdlib.h>\n%s { exit(0); }\n' "$entry" >hostile/exit.c
printf '#include <unistd.h>\n%s { for (;;) pause(); }\n' "$entry" >hostile/wait.c
printf '#include <math.h>\n%s { res[0][0] = NAN; return 0; }\n' "$entry" >hostile/nan.c
cc -shared -fPIC hostile/wait.c -o hostile/wait.so
"$SCALY" compare f.scaly --against wait=hostile/wait.so >waited 2>&1 &
good compare f.scaly --against crash=hostile/crash.c --against exit=hostile/exit.c --against 'not a number=hostile/nan.c'
out_has '^crash (gcc|clang) +its first call ended with signal (4|5|11) '
out_has '^exit gcc +its first call ended the process$'
out_has '^not a number gcc .* inf '
out_has '^fastest: (llvm best|llvm fast|gcc|clang|tcc), by '
out_has '^not a number gcc differs: its values are not those of our rows$'
if grep -Eq '^(llvm|gcc|tcc).* inf ' out; then fail "one that differs is in the differences of ours" "$(cat out)"; fi
wait
grep -q '^wait  *its first call took more than 10 seconds$' waited || fail "one that does not come back is waited for" "$(cat waited)"
bad 2 'gcc is the name of another row' compare f.scaly --against gcc=own
bad 2 'own is given twice' compare f.scaly --against own=own --against own=foreign
bad 2 'takes NAME=DIR' compare f.scaly --against own
bad 2 '1, 2, 4 or 8' compare f.scaly --lanes 3
bad 2 'no target "x"' compare f.scaly --cpu x
good compare f.scaly --lanes 1 --cpu generic

# Plots.
good compare f.scaly --plot p.svg
for text in 'class="plot"' 'class="axis"' 'class="legend"' 'class="point' 'ns' '</svg>$'; do
  grep -q "$text" p.svg || fail "the plot lacks $text"
done
[ "$(grep -c 'class="plot"' p.svg)" = 3 ] || fail "not three plots"
good compare f.scaly --plot p.html
grep -q '^<!DOCTYPE html>' p.html || fail "no HTML"
bad 2 'FILE.svg or FILE.html, not "p.png"' compare f.scaly --plot p.png
bad 3 'nowhere/p.svg' compare f.scaly --plot nowhere/p.svg

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
