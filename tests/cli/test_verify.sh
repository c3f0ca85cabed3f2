# verify, and how diagnostics look: file, line, column, the line, a caret.
cat >good.scaly <<'END'
expr.func @g(%x: tensor<3xfloat64>) -> (%y) { return sum(sin(%x)) }
expr.func @f(%x: tensor<3xfloat64>) -> (%y) { return add(call(%x) {callee="g", output=0}, 1) }
END
good verify good.scaly
out_is 'good.scaly: 2 functions, no problems'
scaly verify - <good.scaly
gives 0
out_is '<stdin>: 2 functions, no problems'

# Every function's problem is reported in one run.
cat >bad.scaly <<'END'
expr.func @f(%x: tensor<3xfloat64>) -> (%y) { return sum(sine(%x)) }
expr.func @g(%x: tensor<3xfloat64>) -> (%y) { return sum(mul(%x, %z)) }
expr.func @h(%x: tensor<3xfloat64>) -> (%y) { return sum(mul(%x, %x)) }
END
bad 1 '^bad.scaly:1:58: error: .*sine' verify bad.scaly
err_has '^bad.scaly:2:66: error: .*z'
err_has '^  expr.func @f\(%x: tensor<3xfloat64>\)'
err_has '^ {59}\^$'
[ "$(grep -c 'error:' err)" -eq 2 ] || fail "expected two errors" "$(cat err)"
out_is ''

# Text cut at every byte either parses or is refused with a position; nothing else.
size=$(wc -c <good.scaly)
for ((n = 0; n < size; n += 7)); do
  head -c "$n" good.scaly >cut.scaly
  scaly verify cut.scaly
  [ "$code" -le 1 ] || fail "cut at $n: exit code $code" "$(cat err)"
done
head -c 100000 /dev/urandom >noise.scaly
bad 1 'error: ' verify noise.scaly

# Text of a whole program.
good show good.scaly
cp out program.scaly
good verify program.scaly
out_is 'program.scaly: a program, no problems'
good show program.scaly --passes none
cmp -s out program.scaly || fail "a printed program does not print the same again"
bad 1 'program.scaly holds a program' show program.scaly --stage expr

# Extremes: a million levels of nesting, names of ten thousand characters, names that are not names, sizes that overflow.
awk 'BEGIN {
  printf "expr.func @f(%%x: tensor<float64>) -> (%%y) { return "
  for (i = 0; i < 1000000; i++) printf "sin("
  printf "%%x"
  for (i = 0; i < 1000000; i++) printf ")"
  print " }"
}' >deep.scaly
bad 1 '^deep.scaly:1:[0-9]+: error: .*nest' verify deep.scaly
[ "$(wc -c <err)" -lt 1000 ] || fail "a message of $(wc -c <err) bytes"
name=$(printf '%*s' 10000 '' | tr ' ' n)
echo "expr.func @$name(%x: tensor<float64>) -> (%y) { return sin(%x) }" >long.scaly
scaly verify long.scaly
[ "$code" -le 1 ] || fail "exit code $code" "$(head -c 300 err)"
bad 1 'error: ' run long.scaly --seed 1 --out "$name"
for text in 'expr.func @f(%é: tensor<float64>) -> (%y) { return sin(%é) }' \
  'expr.func @(%x: tensor<float64>) -> (%y) { return sin(%x) }' \
  'expr.func @f(%x: tensor<float64>, %x: tensor<float64>) -> (%y) { return sin(%x) }' \
  'expr.func @f(%x: tensor<float64>) -> (%y, %y) { return sin(%x), cos(%x) }' \
  'expr.func @f(%x: tensor<99999999999999999999xfloat64>) -> (%y) { return sin(%x) }' \
  'expr.func @f(%x: tensor<2147483647x2147483647xfloat64>) -> (%y) { return sin(%x) }' \
  'expr.func @f(%x: tensor<2x3xfloat64>, %z: tensor<2xfloat64>) -> (%y) { return add(%x, %z) }' \
  'expr.func @f(%x: tensor<2xfloat64>, %z: tensor<2xint64>) -> (%y) { return add(%x, %z) }' \
  'expr.func @f(%x: tensor<2xfloat64>) -> (%y) { return %x[2] }'; do
  echo "$text" >wrong.scaly
  bad 1 '^wrong.scaly:1:[0-9]+: error: ' verify wrong.scaly
done

# A mark of UTF-8 in front is not part of the text; line ends may be those of others.
printf '\357\273\277expr.func @f(%%x: tensor<2xfloat64>) -> (%%y) {\r\n  return sine(%%x)\r\n}\r\n' >marked.scaly
bad 1 '^marked.scaly:2:10: error: there is no operation' verify marked.scaly
sed 's/sine/sin/' marked.scaly >good.scaly
good verify good.scaly

# Many functions in one file: none costs more for the others. Minutes where that is not so.
awk 'BEGIN { for (i = 0; i < 100000; i++) print "expr.func @f" i "(%x: tensor<float64>) -> (%y) { return sin(%x) }" }' >many.scaly
good verify many.scaly
out_has '100000 functions'
