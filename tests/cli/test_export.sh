# export: files that compile, and failures that leave nothing behind.
cat >f.scaly <<'END'
expr.func @g(%a: tensor<float64>) -> (%b) { return mul(%a, 2) }
expr.func @f(%x: tensor<3xfloat64>) -> (%y, %z) { return sum(sin(%x)), mul(%x, %x) }
expr.func @log(%x: tensor<3xfloat64>) -> (%y) { return sum(%x) }
END
mkdir dir
good export f.scaly:f -o dir
out_is 'dir/f.c
dir/f.h'
[ "$(ls dir)" = 'f.c
f.h' ] || fail "more than the two files" "$(ls dir)"
cc -std=c11 -fno-math-errno -Wall -Wextra -Wpedantic -Wconversion -Werror -c dir/f.c -o f.o || fail "the module does not compile"
cp -r dir first
good export f.scaly:f -o dir
diff -r dir first || fail "the same export gave other bytes"

mkdir options
good export f.scaly:f -o options --name model --prefix my_ --out z --dialect c --lanes 1 --rounding strict --untyped
out_is 'options/model.c
options/model.h'
cc -std=c99 -Wall -Wextra -Wpedantic -Werror -c options/model.c -o model.o || fail "the module does not compile"
nm model.o | grep -q ' T my_model$' || fail "the entry is not my_model" "$(nm model.o)"
mkdir cpp
good export f.scaly:f -o cpp --lang cpp
out_is 'cpp/f.c
cpp/f.hpp'
echo '#include "f.hpp"' >cpp/use.cpp
c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -c cpp/use.cpp -o use.o || fail "the C++ header does not compile"
good export f.scaly:g
out_is './g.c
./g.h'
good export f.scaly:log -o dir --name total

bad 1 'log' export f.scaly:log -o dir
bad 1 'z80' export f.scaly:f -o dir --cpu z80
bad 1 'not an id|identifier|name' export f.scaly:f -o dir --name 'a b'
rm -r dir/total.*
bad 3 'nowhere' export f.scaly:f -o nowhere
[ -e nowhere ] && fail "the folder was made"
: >plain
bad 3 'plain' export f.scaly:f -o plain
bad 3 '/proc' export f.scaly:f -o /proc
diff -r dir first || fail "a failed export changed the folder"

# A full disk: no file may grow past 1 KiB, and the signal that says so is ignored as on a full disk there is none.
last="scaly export onto a full disk"
(trap '' XFSZ; ulimit -f 1; "$SCALY" export f.scaly:f -o dir --rounding strict >out 2>err)
code=$?
gives 3
err_has 'File too large'
diff -r dir first || fail "a failed export changed the folder"
mkdir fresh
(trap '' XFSZ; ulimit -f 1; "$SCALY" export f.scaly:f -o fresh >out 2>err)
[ -z "$(ls -A fresh)" ] || fail "a failed export left files" "$(ls -A fresh)"

# Vector math in a module: the recipe says what to link, and a build without it is refused.
echo 'expr.func @v(%x: tensor<16xfloat64>) -> (%y, %z) { return tan(%x), sum(%x) }' >v.scaly
mkdir vector
good export v.scaly --vector-libm glibc --vector-accuracy 3.5 -o vector
grep -q 'vector_libm=glibc' vector/v.c && grep -q 'libmvec of glibc 2.35 or newer in lanes (errors up to 3.5 ULP)' vector/v.c ||
  fail "the recipe does not name the library"
grep -q 'Link with: -lmvec -lm' vector/v.h || fail "the header does not say what to link"
grep -q '__GLIBC_MINOR__ >= 35' vector/v.c || fail "an older glibc is not refused"
if [ "$(uname -m)" = x86_64 ]; then
  for flags in "-march=x86-64" "-march=x86-64-v3" "-DSCALY_LANES=8"; do
    # shellcheck disable=SC2086
    cc -O2 $flags -fno-math-errno -ffp-contract=off -c vector/v.c -o v.o && nm v.o | grep -q '_ZGV.N.v_tan' || fail "no call of libmvec, $flags"
  done
  cc -O2 -DSCALY_LANES=1 -fno-math-errno -ffp-contract=off -c vector/v.c -o v.o || fail "one lane does not compile"
fi
good export v.scaly --vector-libm sleef --cpu armv8-a -o vector
grep -q 'Sleef_tand2_u35advsimd' vector/v.c && grep -q 'Link with: -lsleef -lm' vector/v.c || fail "no SLEEF for AArch64"
good export v.scaly --vector-libm glibc --cpu armv8-a -o vector
if grep -q 'ZGV\|lmvec' vector/v.c; then fail "libmvec on AArch64"; fi
good export v.scaly -o vector
if grep -q 'ZGV\|lmvec' vector/v.c; then fail "vector math that nobody asked for"; fi

# Exports of different outputs share their default name: one does not replace another, unless the name is asked for.
echo 'expr.func @m(%x: tensor<3xfloat64>) -> (%y, %z) { return mul(sum(mul(%x, sin(%x))), %x[0]), neg(%x) }' >m.scaly
mkdir shared
good export m.scaly -o shared --out y
cp -r shared kept
bad 3 'shared/m.c holds the outputs y, this would be z: .*--name' export m.scaly -o shared --out z
bad 3 'holds the outputs y, this would be y, z' export m.scaly -o shared --out y --out z
bad 3 'holds the outputs y, this would be z' export m.scaly -o shared --out z --lang cpp
[ "$HAVE_LLVM" = 1 ] && bad 3 'holds the outputs y, this would be z' export m.scaly -o shared --out z --emit obj
diff -r shared kept || fail "a refused export changed the folder"
good export m.scaly -o shared --out z --name other
good export m.scaly -o shared --out y --lanes 2 # other options of the same
sed 's/tensor<3x/tensor<5x/' m.scaly >longer.scaly
good export longer.scaly -o shared --out y # the same of an edited model
good export m.scaly -o shared # all of a function, which an edit may have given others
good export m.scaly -o shared --out z --name m
grep -q 'res\[0\] z: ' shared/m.h || fail "a name that is asked for does not replace"
good export m.scaly -o shared --out sphess:y:x:lower
bad 3 'm_sphess_y_x_x.h holds another triangle' export m.scaly -o shared --out sphess:y:x:upper
bad 3 'm_sphess_y_x_x.h holds another triangle' export m.scaly -o shared --out sphess:y:x
bad 3 'holds the outputs sphess_y_x_x \(csc\), this would be sphess_y_x_x \(coo\)' export m.scaly -o shared --out sphess:y:x:lower:coo
bad 3 'this would be y, sphess_y_x_x \(csc\)' export m.scaly -o shared --out y --out sphess:y:x:lower
good export m.scaly -o shared --out sphess:y:x:lower --casadi on
good export m.scaly -o shared --out sphess:y:x:lower
