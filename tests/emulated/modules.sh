#!/bin/bash
# Builds, on this machine, programs that the emulated one only runs: kernels for AVX-512 by gcc, by clang and by the LLVM backend, each with the
# consumer and the output that tests/abi/export.c writes. An emulated compiler takes minutes for what the kernel does in microseconds.
#   modules.sh BUILD FOLDER [RANDOM]      RANDOM: how many random functions, from seed 1 on
# FOLDER/run.sh runs them all and says what differs: with strict rounding from the evaluator, with default rounding from what a build with four
# lanes printed here, and with libmvec one way from the others. Needs a processor with AVX2 here.
set -eu
build=$(realpath "$1") folder=$(realpath -m "$2") random=${3:-0}
source=$(realpath "$(dirname "$0")/../..")
recipe="-fno-math-errno -ffp-contract=off -fno-builtin -w"
clang=$(command -v clang-19 || command -v clang)
rm -rf "$folder" && mkdir -p "$folder/texts" && cd "$folder"

# program WAY SOURCE_OR_OBJECT COMPILER FLAGS...: of the consumer in this folder
program() {
  local way=$1 module=$2
  shift 2
  case $module in
  *.c) "$@" $recipe -c "$module" -o "$way.o" ;;
  *) mv "$module" "$way.o" ;;
  esac
  gcc -O1 -w -c consumer.c -o consumer.o
  gcc -static "$way.o" consumer.o -lmvec -lm -o "$way"
}
# module NAME FILE [REQUEST...]
module() {
  local name=$1 file=$2 outputs= request way
  shift 2
  mkdir -p "$name/strict" "$name/default" "$name/libmvec"
  (
    cd "$name/strict"
    entry=$(SCALY_TEST_CPU=x86-64-v4 "$build/bin/abi_export" "$file" . gnu "" "$@")
    program gcc "$entry.c" gcc -O2 -march=x86-64-v4
    program clang "$entry.c" "$clang" -O3 -march=x86-64-v4
  )
  for request; do outputs="$outputs --out $request"; done
  for way in default libmvec; do
    (
      cd "$name/$way" && cp ../strict/consumer.c .
      export="$build/bin/scaly export $file -o . $outputs --vector-libm $([ $way = default ] && echo none || echo glibc)"
      $export --cpu x86-64-v4 --emit obj >/dev/null
      program llvm ./*.o
      $export --cpu x86-64-v3 >/dev/null
      c=$(find . -name '*.c' ! -name consumer.c)
      if [ $way = default ]; then
        program avx2 "$c" gcc -O2 -march=x86-64-v3
        ./avx2 >expected.txt
      fi
      $export --cpu x86-64-v4 >/dev/null
      program gcc "$c" gcc -O2 -march=x86-64-v4
      program clang "$c" "$clang" -O3 -march=x86-64-v4
    )
  done
  find "$name" -name '*.[cho]' -delete
}

stored=$source/tests/data/workloads
"$build/bin/workloads_generate" texts chain 3 20
"$build/bin/workloads_generate" texts race_car 21
for f in wave_n64 matmul_n8 rosen_n10 reduce_norm_n100 mlp_batch32 arm7_batch64; do module $f "$stored/$f.scaly"; done
for f in shapes functions functions32; do module $f "$source/tests/targets/$f.scaly"; done
module race_car_N21 "$PWD/texts/race_car_N21.scaly"
for f in texts/race_car_N21 texts/chain_M3_N20 "$stored/quadrotor_N20" "$stored/npmpc_H32_N12"; do
  module "$(basename "$f").jacobian" "$(realpath "$f.scaly")" spjac:eq:z
  module "$(basename "$f").hessian" "$(realpath "$f.scaly")" splaghess:z:lower
done
if [ "$random" -gt 0 ]; then
  (cd texts && "$build/bin/diff_random" --count "$random" --save .)
  for f in texts/diff-*.scaly; do module "$(basename "$f" .scaly)" "$(realpath "$f")"; done
fi

cat >run.sh <<'END'
#!/bin/sh
# same WANT PROGRAM: what the program prints is the text of that file
same() { $2 >printed.txt && cmp -s printed.txt $1 && right=$((right + 1)) || { echo "WRONG: $PWD/$2"; wrong=$((wrong + 1)); }; }
right=0 wrong=0
for folder in "$(dirname "$0")"/*/libmvec; do
  cd "$folder/../strict" && same expected.txt ./gcc && same expected.txt ./clang
  cd ../default && for way in gcc clang llvm; do same expected.txt ./$way; done
  cd ../libmvec && ./llvm >expected.txt && same expected.txt ./gcc && same expected.txt ./clang
done
echo "$right programs right, $wrong wrong"
[ $wrong -eq 0 ]
END
