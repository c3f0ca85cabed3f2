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
