# show: every stage, dumps, statistics, the graph; the same bytes between runs and locales.
cat >f.scaly <<'END'
expr.func @f(%x: tensor<3xfloat64>) -> (%y, %z) { return sum(add(sin(%x), mul(%x, %x))), neg(%x) }
END
good show f.scaly --stage expr
out_has '^expr.func @f\(%x: tensor<3xfloat64 diff>\) -> \(%y: tensor<float64 diff>, %z: tensor<3xfloat64 diff>\) \{$'
cp out e.scaly
good show e.scaly --stage expr
cmp -s out e.scaly || fail "the canonical text does not print the same again"
good show f.scaly --stage expr --out z
out_has '^expr.func @f\(%x: tensor<3xfloat64 diff>\) -> \(%z: tensor<3xfloat64 diff>\)'
for stage in lowered program c llvm asm; do
  case $stage in llvm | asm) [ "$HAVE_LLVM" = 1 ] || { bad 3 'libscaly-llvm' show f.scaly --stage $stage; continue; } ;; esac
  good show f.scaly --stage $stage
  cp out first
  for locale in $(locale -a | grep -iE '^(de|fr)_' | head -2) C; do
    last="LC_ALL=$locale scaly show --stage $stage"
    LC_ALL=$locale "$SCALY" show f.scaly --stage $stage >out 2>err || fail "failed" "$(cat err)"
    cmp -s out first || fail "not the same bytes"
  done
done
good show f.scaly --stage program
out_has '^prog\.'
good show f.scaly --stage c
out_has '^int f\('
if [ "$HAVE_LLVM" = 1 ]; then
  good show f.scaly --stage llvm
  out_has '^define .*@f'
  good show f.scaly --stage asm
  out_has '^f:'
fi

good show f.scaly --stage lowered
cp out lowered
good show f.scaly --passes none
cmp -s out lowered || fail "no passes is not the lowering itself"
good show f.scaly --bisect 0
cmp -s out lowered || fail "zero pass runs are not the lowering itself"
good show f.scaly
cp out program
good show f.scaly --after all
out_has '^// after lower$'
passes=$(sed -n 's|^// after ||p' out | grep -v '^lower$' | sort -u)
[ -n "$passes" ] || fail "no passes"
for pass in $passes; do
  good show f.scaly --after "$pass"
  out_has "^// after $pass$"
  scaly show f.scaly "--passes=-$pass"
  [ "$code" -eq 0 ] || err_has "$pass cannot be switched off, backends rely on it"
done
bad 1 'no_such_pass' show f.scaly --after no_such_pass
bad 1 'no_such_pass' show f.scaly --passes=-no_such_pass
good show f.scaly --stats
out_has '^operations +[1-9]'
out_has '^pass +changes +ms$'
cat >colors.scaly <<'EOF'
expr.func @stage(%x: tensor<3xfloat64>) -> (%r) { return exp(mul(matmul(reshape(concat(%x, %x, %x) {axis=0}) {shape=[3, 3]}, %x), %x)) }
expr.func @c(%z: tensor<9xfloat64>) -> (%y) { return vmap(%z) {callee="stage", length=4, starts=[0], strides=[2]} }
expr.func @colored(%x: tensor<3xfloat64>) -> (%r) {lowering="block"} { return exp(mul(matmul(reshape(concat(%x, %x, %x) {axis=0}) {shape=[3, 3]}, %x), %x)) }
EOF
good show colors.scaly:c --stats --out spjac:y:z
out_has '^matrix +nonzeros +eliminated +compressed +coloring +colors +order$'
out_has '^jac_stage\.jac +9 +9 +0 +none +0 +-$'
out_has '^c_spjac_y_z\.spjac_y_z +36 +0 +0 +none +0 +-$'
good show colors.scaly:colored --stats --out spjac:r:x
out_has '^colored_spjac_r_x\.spjac_r_x +9 +0 +9 +column +3 +natural$'
good show f.scaly --dot
out_has '^digraph "f" \{$'
out_has 'label="sin\\nfloat64 3"'
[ "$(grep -c ' -> ' out)" -ge 7 ] || fail "edges are missing" "$(cat out)"
bad 1 'no output' show f.scaly --out q

# Sparsity patterns: every layout alike, several outputs, and squares of entries where a page cannot hold them.
cat >spy.scaly <<'END'
expr.func @chain(%x: tensor<4xfloat64>) -> (%d, %s, %n) { return mul(%x[1:4], %x[0:3]), sum(mul(%x, sin(%x))), neg(%x) }
expr.func @large(%x: tensor<201xfloat64>) -> (%d) { return mul(%x, sin(%x)) }
END
for layout in csc csr coo; do
  good show spy.scaly:chain --spy --out spjac:d:x:$layout --out s --out sphess:s:x:lower
  out_is "spjac_d_x: 3x4 $layout, 6 stored
  **..
  .**.
  ..**
sphess_s_x_x: 4x4 csc, 4 stored
  *...
  .*..
  ..*.
  ...*"
done
good show spy.scaly:large --spy --out spjac:d:x
out_has '^spjac_d_x: 201x201 csc, 201 stored; a character is 3x3 entries: \* all stored, \+ some, \. none$'
out_has '^  \+\.{66}$'
out_has '^  \.{66}\+$'
[ "$(wc -l <out)" = 68 ] || fail "not 67 rows"
bad 1 'chain has no sparse output: ask for one' show spy.scaly:chain --spy

# The graph as a picture: a box per node and output, a line per operand, well-formed, the same bytes always.
good show f.scaly --svg
[ "$(grep -c '^<rect class=' out)" = 8 ] || fail "not a box per node" "$(cat out)"
[ "$(grep -c '^<path class="edge"' out)" = 9 ] || fail "not a line per operand" "$(cat out)"
out_has '<title>f</title>'
out_has '>sin</text>'
out_has '</svg>$'
cp out first
good show f.scaly --svg
cmp -s out first || fail "not the same bytes"
if command -v python3 >/dev/null; then
  good show colors.scaly:c --svg --out spjac:y:z
  python3 -c 'import sys, xml.dom.minidom as x; x.parse(sys.argv[1])' out 2>err || fail "not well-formed" "$(tail -1 err)"
fi
bad 2 '--svg and --spy exclude each other' show spy.scaly --svg --spy
good show f.scaly --stage program
cp out program.scaly
bad 1 'it has no expression graph to show' show program.scaly --svg
