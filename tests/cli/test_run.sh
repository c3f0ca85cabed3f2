# run: values from the command line and from seeds, outputs in every format, the same bytes always.
[ "$HAVE_LLVM" = 1 ] || return 0
cat >f.scaly <<'END'
expr.func @g(%a: tensor<float64>) -> (%b) { return mul(%a, 2) }
expr.func @f(%x: tensor<2x3xfloat64>, %k: tensor<2xint64>, %p: tensor<bool>) -> (%y, %m, %n, %q) {
  %y = sum(mul(%x, %x))
  %m = add(%x, 0.1)
  %n = add(%k, 1)
  %q = not(%p)
  return %y, %m, %n, %q
}
END
args=(--arg x=1,2,3,4,5,6 --arg k=9007199254740993,-2 --arg p=1)
good run f.scaly "${args[@]}"
out_is 'y: float64 scalar
  91
m: float64 2x3
  1.1  2.1  3.1
  4.1  5.1  6.1
n: int64 2
  9007199254740994                -1
q: bool scalar
  false'
good run f.scaly "${args[@]}" --format json
out_is '{"function": "f", "outputs": {"y": {"shape": [], "dtype": "float64", "data": [91]}, "m": {"shape": [2, 3], "dtype": "float64", "data": [1.1, 2.1, 3.1, 4.1, 5.1, 6.1]}, "n": {"shape": [2], "dtype": "int64", "data": [9007199254740994, -1]}, "q": {"shape": [], "dtype": "bool", "data": [false]}}}'
good run f.scaly:g --arg a=21
out_is 'b: float64 scalar
  42'
good run f.scaly "${args[@]}" --out n --out y --format json
out_is '{"function": "f", "outputs": {"n": {"shape": [2], "dtype": "int64", "data": [9007199254740994, -1]}, "y": {"shape": [], "dtype": "float64", "data": [91]}}}'
scaly run - --arg a=1 <<<'expr.func @s(%a: tensor<float64>) -> (%b) { return add(%a, 1) }'
gives 0
out_is 'b: float64 scalar
  2'

# Non-finite values, signed zeros, hexadecimal, float32 rounded once.
cat >e.scaly <<'END'
expr.func @e(%x: tensor<5xfloat64>, %s: tensor<2xfloat32>) -> (%y, %t) { return neg(%x), neg(%s) }
END
good run e.scaly --arg x=inf,-inf,nan,0,0x1.8p1 --arg s=0.1,16777217 --format json
out_is '{"function": "e", "outputs": {"y": {"shape": [5], "dtype": "float64", "data": ["-inf", "inf", "nan", -0, -3]}, "t": {"shape": [2], "dtype": "float32", "data": [-0.1, -16777216]}}}'

# npy out, npy in: the same array.
good run f.scaly "${args[@]}" --out m --format npy
head -c 6 out | cmp -s - <(printf '\x93NUMPY') || fail "not a npy file"
[ $(($(wc -c <out) - 48)) -eq 128 ] || fail "the header is not padded to 128 bytes" "$(wc -c <out)"
mv out m.npy
good run f.scaly --arg x=@m.npy --arg k=0,0 --arg p=0 --out m
bad 1 'holds one array and the function has 4 outputs' run f.scaly "${args[@]}" --format npy

# Empty inputs need no values.
echo 'expr.func @z(%x: tensor<0xfloat64>) -> (%y, %s) { return neg(%x), sum(%x) }' >z.scaly
good run z.scaly --format json
out_is '{"function": "z", "outputs": {"y": {"shape": [0], "dtype": "float64", "data": []}, "s": {"shape": [], "dtype": "float64", "data": [0]}}}'
good run z.scaly --arg x=

# Seeds: reproducible, different, in range, whatever else is given and whatever the locale.
good run f.scaly --seed 1 --format json
cp out first
good run f.scaly --seed 1 --format json
cmp -s out first || fail "the same seed gave other bytes"
for locale in $(locale -a | grep -iE '^(de|fr)_' | head -2); do
  last="LC_ALL=$locale scaly run"
  LC_ALL=$locale "$SCALY" run f.scaly --seed 1 --format json >out 2>err || fail "failed" "$(cat err)"
  cmp -s out first || fail "the locale changes the output"
done
good run f.scaly --seed 2 --format json
cmp -s out first && fail "two seeds gave the same bytes"
good run f.scaly --seed 1 --arg p=1 --out m --format json
m=$(cat out)
grep -qF "$(sed 's/.*"m": \([^}]*}\).*/\1/' <<<"$m")" first || fail "giving one input changed another's seeded values"

good run f.scaly --seed 1 --out y 2>/dev/null
scaly run f.scaly --seed 1 --out y --time
[ "$code" -eq 0 ] || fail "exit code $code"
err_has '^milliseconds: cache [0-9.]+ lower [0-9.]+ plugin [0-9.]+ target [0-9.]+ emit [0-9.]+ codegen [0-9.]+ link [0-9.]+ best [0-9.]+$'

# What is wrong is said, and nothing is printed.
bad 1 'no input "w"; inputs are: x, k, p' run f.scaly --arg w=1
bad 1 'the input x \(float64 2x3\) has no values' run f.scaly --arg k=1,2 --arg p=1
bad 1 '5 values where the input of shape 2x3 has 6' run f.scaly --seed 1 --arg x=1,2,3,4,5
bad 1 '7 values where the input of shape 2x3 has 6' run f.scaly --seed 1 --arg x=1,2,3,4,5,6,7
bad 1 '0 values where the input of shape 2x3 has 6' run f.scaly --seed 1 --arg x=
bad 1 'value 1, "two", is not a number' run f.scaly --seed 1 --arg x=1,two,3,4,5,6
bad 1 'value 5, "", is empty' run f.scaly --seed 1 --arg x=1,2,3,4,5,
bad 1 'value 0, "1.5", is not a whole number' run f.scaly --seed 1 --arg k=1.5,2
bad 1 'value 0, "9223372036854775808", is out of the range of int64' run f.scaly --seed 1 --arg k=9223372036854775808,2
bad 1 'value 0, "2", is not a bool' run f.scaly --seed 1 --arg p=2
bad 1 "has no output 'z'; there are: y, m, n, q" run f.scaly --seed 1 --out z
bad 1 'no function "h" .there are: g, f' run f.scaly:h --seed 1
bad 1 'is not a .npy, .csv or .json file' run f.scaly --seed 1 --arg x=@m.txt
[ -s out ] && fail "something was printed"
SCALY_TARGET=z80 scaly run f.scaly --seed 1
gives 2
err_has 'SCALY_TARGET: there is no target "z80"; there are generic, '
:
# A number that the type cannot hold is refused, never infinity; the word inf is.
echo 'expr.func @r(%x: tensor<float64>, %s: tensor<float32>) -> (%y, %t) { return neg(%x), neg(%s) }' >range.scaly
bad 1 'value 0, "1e400", is out of the range of float64' run range.scaly --seed 1 --arg x=1e400
bad 1 'value 0, "-0x1p1024", is out of the range of float64' run range.scaly --seed 1 --arg x=-0x1p1024
bad 1 'value 0, "1e39", is out of the range of float32' run range.scaly --seed 1 --arg s=1e39
echo 1e400 >range.csv
bad 1 '^range.csv:1:1: error: "1e400" is out of the range of float64' run range.scaly --seed 1 --arg x=@range.csv
echo 1e400 >range.json
bad 1 'value 0 is out of the range of float64' run range.scaly --seed 1 --arg x=@range.json
echo 1e39 >range.json
bad 1 'value 0 is out of the range of float32' run range.scaly --seed 1 --arg s=@range.json
bad 2 'vector-accuracy takes a positive number' run range.scaly --seed 1 --vector-accuracy 1e400
bad 2 'max-size takes a whole number' cache prune --max-size 99999999999999999999
good run range.scaly --arg x=-Infinity --arg s=inf --format json
out_has '"data": \["inf"\].*"data": \["-inf"\]'

# A batch: a call per row of the inputs that have a leading axis, the others shared; what one call gives, row by row.
cat >batch.scaly <<'END'
expr.func @b(%x: tensor<2xfloat64>, %m: tensor<2x2xfloat64>, %s: tensor<float64>) -> (%y, %t) {
  return add(matmul(%m, %x), %s), sum(mul(%x, mul(%x, %x)))
}
END
printf '1,2\n3,4\n\n5,6\n' >x.csv
printf '10\n20\n30\n' >s.csv
printf '1,0\n0,1\n' >m.csv # the shape of m itself: shared
batch=(--batch --arg x=@x.csv --arg m=@m.csv)
good run batch.scaly "${batch[@]}" --arg s=@s.csv
out_is 'y: float64 3x2
  11  12
  23  24
  35  36
t: float64 3
    9   91  341'
good run batch.scaly "${batch[@]}" --arg s=1 --out y --format npy
cp out again.npy # 3x2: a row per call
good run batch.scaly --batch --arg x=@again.npy --arg m=1,0,0,1 --seed 1 --arg s=-1 --format json
out_is '{"function": "b", "outputs": {"y": {"shape": [3, 2], "dtype": "float64", "data": [1, 2, 3, 4, 5, 6]}, "t": {"shape": [3], "dtype": "float64", "data": [35, 189, 559]}}}'
printf '1,0,0,1\n0,1,1,0\n2,0,0,2\n' >flat.csv # matrices, one in a line
good run batch.scaly --batch --arg x=@x.csv --arg m=@flat.csv --arg s=0 --out y
out_is 'y: float64 3x2
   1   2
   4   3
  10  12'
good run batch.scaly "${batch[@]}" --arg s=0 --out spjac:t:x
out_is 'spjac_t_x: float64 3x1x2, 2 stored
  (0, 0)    3
  (0, 1)   12

  (0, 0)   27
  (0, 1)   48

  (0, 0)   75
  (0, 1)  108'
good run batch.scaly "${batch[@]}" --arg s=0 --out spjac:t:x --format json
out_has '"shape": \[3, 1, 2\].*"colptr": \[0, 1, 2\], "rowind": \[0, 0\], "data": \[3, 12, 27, 48, 75, 108\]'
head -2 flat.csv >two.csv
bad 1 'again.npy has 3 rows where two.csv has 2' run batch.scaly --batch --seed 1 --arg m=@two.csv --arg x=@again.npy
bad 1 'no input has a leading axis' run batch.scaly --batch --seed 1 --arg m=@m.csv
bad 1 'x.csv holds 3 rows of 2 values, the input m has shape 2x2|one value too many' run batch.scaly --batch --seed 1 --arg m=@x.csv
bad 1 'the input x of shape 2 has 2|3 rows' run batch.scaly --seed 1 --arg x=@x.csv
printf '1,2\n3\n' >ragged.csv
bad 1 '^ragged.csv:2:1: error: 1 values in this row where 2 are expected' run batch.scaly --batch --seed 1 --arg x=@ragged.csv
bad 1 'the input s \(float64 scalar\) has no values' run batch.scaly "${batch[@]}"
header="{'descr': '|u1', 'fortran_order': False, 'shape': (2000000000, 2), }"
printf "$(printf '\\x93NUMPY\\x01\\x00\\x%02x\\x00' "$((${#header} + 1))")%s\n" "$header" >huge.npy
bad 1 'huge.npy cannot be read: it holds fewer values' run batch.scaly --batch --seed 1 --arg x=@huge.npy
