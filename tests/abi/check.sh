#!/bin/sh
# scaly check passes what was exported and catches what was changed afterwards: sizes, fields, counts, tables, names, code.
#   check.sh SCALY SOURCE FOLDER
scaly=$1 source=$2 folder=$3
failed=0
rm -rf "$folder"
mkdir -p "$folder" && cd "$folder" || exit 1
cat >model.scaly <<'END'
expr.func @inner(%a: tensor<2000xfloat64>) -> (%b) { return sin(%a) {lowering="block"} }
expr.func @model(%A: tensor<2x3xfloat64>, %x: tensor<3xfloat64>, %k: tensor<2xint32>) -> (%y, %z, %s: sparse<3x4xfloat64 csr rowptr=[0, 2, 2, 3] colind=[0, 3, 2]>) {
  return matmul(%A, %x), cast(%k) {dtype=float32}, mul(%x, %x)
}
expr.func @doubles(%x: tensor<3xfloat64>, %v: tensor<3xfloat64>) -> (%y, %w) { return mul(%x, %v), sub(%x, %v) }
expr.func @hidden(%call: tensor<3xfloat64>, %x: tensor<3xfloat64>) -> (%y, %SZ_W) { return mul(%x, %call), sub(%x, %call) }
END
for lang in c cpp; do
  mkdir -p good/$lang/casadi
  "$scaly" export model.scaly:model -o good/$lang --lang $lang >/dev/null || exit 1
  "$scaly" export model.scaly:doubles --out y --out w --out spjac:y:x+v --name doubles -o good/$lang --lang $lang >/dev/null || exit 1
  "$scaly" export model.scaly:hidden -o good/$lang --lang $lang >/dev/null || exit 1
  "$scaly" export model.scaly:doubles -o good/$lang/casadi --lang $lang --casadi derivatives >/dev/null || exit 1
  for f in good/$lang/*.c good/$lang/casadi/*.c; do "$scaly" check "$f" >out.txt 2>&1 || { echo "good/$f is refused"; cat out.txt; failed=1; }; done
done
grep -q '4 entries, no problems' out.txt || { cat out.txt; failed=1; }
for name in arm7_batch64 matmul_n8 race_car_N10 rosen_n10 quadrotor_N20; do
  mkdir -p "good/$name"
  "$scaly" export "$source/../data/workloads/$name.scaly" -o "good/$name" --casadi derivatives >/dev/null || exit 1
  "$scaly" check "good/$name"/*.c >out.txt 2>&1 || { echo "good/$name is refused"; cat out.txt; failed=1; }
done

# caught FILE SED-SCRIPT REGEX MODULE: after the change the check fails and says what
caught() {
  rm -rf bad
  mkdir bad && cp "good/${1%/*}"/*.* bad/ || exit 1
  changed=bad/${1##*/}
  sed -i "$2" "$changed"
  cmp -s "$changed" "good/$1" && { echo "$2 changes nothing in $1"; failed=1; return; }
  "$scaly" check "bad/$4.c" >out.txt 2>&1
  code=$?
  [ $code = 1 ] && grep -qE "$3" out.txt && return
  echo "not caught (exit $code): $2 in $1"
  cat out.txt
  failed=1
}
caught c/model.h 's/double data\[6\]/double data[7]/' 'size of model_A_t' model
caught c/model.h 's/double data\[6\]/float data[12]/' 'type of model_A_t' model
caught c/model.h '0,/SCALY_ALIGNAS(16) double/s//int extra; SCALY_ALIGNAS(16) double/' 'offset of data' model
caught c/model.h '0,/SCALY_ALIGNAS(16) double/s//SCALY_ALIGNAS(32) double/' 'alignment of' model
caught c/model.h 's/int32_t data\[2\]/int64_t data[2]/' 'model_k_t' model
caught c/model.h 's/model_SZ_W 0/model_SZ_W 64/' 'model_SZ_W is not' model
caught c/model.h 's/_NNZ 3/_NNZ 4/' 'counts of s' model
caught c/model.h 's/_NCOL 4/_NCOL 5/' 'counts of s' model
caught c/model.h 's/_rows\[3\] = {0, 0, 2}/_rows[3] = {0, 1, 2}/' 'tables of s' model
caught c/model.h 's/_rowptr\[4\] = {0, 2, 2, 3}/_rowptr[4] = {0, 1, 2, 3}/' 'tables of s' model
caught c/model.h 's/_cols\[3\] = {0, 3, 2}/_cols[4] = {0, 3, 2, 1}/' 'length' model
caught c/model.h 's/_rows\[3\]/_row[3]/' 'no table' model
caught c/model.h 's/model_s_colind model_s_cols/model_s_colind model_s_rows/' 'model_s_colind is not model_s_cols' model
caught cpp/model.hpp 's/s_colind = s_cols/s_colind = s_rows/' 's_colind is not s_cols' model
caught c/model.h 's/int model(const void\*\* arg, void\*\* res/int model(const double** arg, double** res/' 'conflicting types' model
caught c/model.h 's/const model_A_t\* A, const model_x_t\* x/const model_x_t* A, const model_A_t* x/' 'incompatible.*pointer types' model
caught c/model.h 's/{A->data, x->data/{x->data, A->data/' 'in order' model
caught c/doubles.h 's/{x->data, v->data};/{v->data, x->data};/' 'in order' doubles
caught c/doubles.h 's/{y->data, w_->data/{w_->data, y->data/' 'in order' doubles
caught c/model.h 's/#endif$/#endf/' 'invalid preprocessing|unterminated' model
caught c/model.c 's/return SCALY_SUCCESS/int unused; return SCALY_SUCCESS/' 'unused' model
caught c/model.c 's/arg\[0\] A: float64, 2 x 3/arg[0] A: float64, 2 x 4/' 'size of model_A_t' model
caught c/model.c '/all values row-major/d' 'no exported module' model
caught cpp/model.hpp 's/Buffer<double, 2, 3>/Buffer<double, 3, 2>/' 'type A_t' model
caught cpp/model.hpp 's/SZ_W = 0/SZ_W = 1/' 'SZ_W of model' model
caught cpp/model.hpp 's/s_NROW = 3/s_NROW = 4/' 'counts of s' model
caught cpp/model.hpp 's/s_cols\[3\] = {0, 3, 2}/s_cols[3] = {0, 2, 3}/' 'tables of s' model
caught cpp/model.hpp 's/call(const A_t& A, const x_t& x/call(const x_t\& A, const A_t\& x/' 'does not match|no viable|does not offer' model
caught cpp/doubles.hpp 's/{x.data, v.data};/{v.data, x.data};/' 'in order' doubles
caught c/casadi/doubles.h 's/jac_doubles_SZ_W [0-9]*/jac_doubles_SZ_W 1/' 'jac_doubles_SZ_W' doubles
caught c/casadi/doubles.h 's/int fwd1_doubles(const double\*\* arg, double\*\* res, casadi_int\* iw/int fwd1_doubles(const double** arg, double** res, int* iw/' 'conflicting' doubles
# Parameters that have other names than their ports are handed over in order, too.
caught cpp/hidden.hpp 's/{scaly_0.data, x.data};/{x.data, scaly_0.data};/' 'in order' hidden
caught cpp/hidden.hpp 's/{y.data, scaly_3.data};/{scaly_3.data, y.data};/' 'in order' hidden

# The queries of a CasADi layer.
caught c/casadi/doubles.c '/^casadi_int doubles_n_in/,/^}/s/return 2/return 3/' 'doubles_n_in does not' doubles
caught c/casadi/doubles.c '/^casadi_int adj1_doubles_n_out/,/^}/s/return 2/return 1/' 'adj1_doubles_n_out does not' doubles
caught c/casadi/doubles.c '/doubles_name_in/,/^}/s/case 1: return "v"/case 1: return "vv"/' 'doubles_name_in.1. does not' doubles
caught c/casadi/doubles.c '/doubles_name_out/,/^}/s/case 0: return "y"/case 0: return "w"/' 'doubles_name_out.0. does not' doubles
caught c/casadi/doubles.c '/jac_doubles_sparsity_out/,/^}/s/case 0: return jac_doubles_patterns + [0-9]*/case 0: return jac_doubles_patterns/' 'jac_doubles_sparsity_out.0. does not' doubles
caught c/casadi/doubles.c '/doubles_sparsity_in/,/^}/s/case 1:/case 2:/' 'doubles_sparsity_in.1. does not' doubles
caught c/casadi/doubles.c '/ jac_doubles_patterns.[0-9]*. = {/,/};/s/3, 3, 0, 1, 2, 3, 0, 1, 2/3, 3, 0, 1, 2, 3, 0, 2, 1/' 'does not return the pattern' doubles
caught c/casadi/doubles.c '/^int doubles_work(/,/^}/s/sz_arg = 2/sz_arg = 1/' 'doubles_work does not ask for 2 pointers of inputs' doubles
caught c/casadi/doubles.c '/^int doubles_work(/,/^}/s/sz_w = [0-9]*/sz_w = 1/' 'doubles_work does not' doubles
caught c/casadi/doubles.c '/^int doubles_work_bytes(/,/^}/s/sz_res = 2/sz_res = 1/' 'doubles_work_bytes does not' doubles
caught c/casadi/doubles.c '/^int doubles_work_bytes(/,/^}/s/sz_iw = 0/sz_iw = 8/' 'doubles_work_bytes does not' doubles

# Every number of a header that is a fact, one after the other: sizes, counts, alignments, entries of tables.
facts() {
  awk '/data\[[0-9]+\]|_SZ_W |_NNZ|_NROW|_NCOL|SZ_W =|_(rows|cols|rowptr|colptr|rowind|colind)\[|Buffer<[a-z0-9_]+, / && !/^ \*|^\/\*|template|class/ {
         at = 1
         while (match(substr($0, at), /[^A-Za-z_0-9][0-9]+/)) {
           print NR, at + RSTART - 1, RLENGTH - 1
           at += RSTART + RLENGTH - 1
         }
       }' "$1"
}
for header in c/doubles.h cpp/doubles.hpp; do
  facts good/$header >facts.txt
  [ "$(wc -l <facts.txt)" -gt 20 ] || { echo "few facts in $header"; failed=1; }
  while read -r line column length; do
    rm -rf bad
    mkdir bad && cp good/${header%/*}/*.* bad/
    awk -v line="$line" -v column="$column" -v n="$length" \
      'NR == line { $0 = substr($0, 1, column) (substr($0, column + 1, n) + 1) substr($0, column + n + 1) } { print }' good/$header >bad/${header#*/}
    "$scaly" check bad/doubles.c >out.txt 2>&1
    [ $? = 1 ] || { echo "not caught: line $line, column $column of $header, plus one"; failed=1; }
  done <facts.txt
done

"$scaly" check nowhere.c >out.txt 2>&1
[ $? = 3 ] && grep -q 'nowhere.c' out.txt || { echo "a file that is not there"; cat out.txt; failed=1; }
rm good/c/model.h
"$scaly" check good/c/model.c >out.txt 2>&1
[ $? = 3 ] && grep -q 'model.h' out.txt || { echo "a header that is not there"; cat out.txt; failed=1; }
exit $failed
