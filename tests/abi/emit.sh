#!/bin/sh
# Objects, assembly, LLVM text and bitcode of a module link with a client and run, here and, in emulation, on AArch64.
#   emit.sh SCALY CLIENTS FOLDER
scaly=$1 clients=$2 folder=$3
failed=0
clang=$(command -v clang-19) || clang=
rm -rf "$folder"
mkdir -p "$folder" && cd "$folder" || exit 1

# try NAME EXPORT-OPTIONS CC RUNNER: CC links typed.c with what was exported
try() {
  label=$1 options=$2 cc=$3 runner=$4
  rm -f plant.*
  # shellcheck disable=SC2086
  "$scaly" export "$clients/model.scaly" --out y --out spjac:y:x --name plant $options >written.txt || { echo "$label: no export"; failed=1; return; }
  file=$(head -n 1 written.txt)
  case $file in
  *.ll | *.bc)
    [ -n "$clang" ] || return
    target=
    [ -n "$runner" ] && target=--target=aarch64-linux-gnu
    # shellcheck disable=SC2086
    "$clang" $target -O2 -fPIC -Wno-override-module -c "$file" -o plant.o || { echo "$label: clang refuses $file"; failed=1; return; }
    file=plant.o
    ;;
  esac
  # shellcheck disable=SC2086
  $cc -std=c11 -I. "$clients/typed.c" "$file" -lm -o typed && $runner ./typed >printed.txt && cmp printed.txt ../clients/expected.txt && return
  echo "FAILED: $label"
  failed=1
}

for kind in obj asm llvm bc; do
  try "$kind here" "--emit $kind" cc ""
  if command -v qemu-aarch64 >/dev/null && command -v aarch64-linux-gnu-gcc >/dev/null; then
    try "$kind on aarch64" "--emit $kind --triple aarch64-linux-gnu" "aarch64-linux-gnu-gcc -static" qemu-aarch64
  fi
done
"$scaly" export "$clients/model.scaly" --emit obj --prefix my_ --cpu native >/dev/null && nm plant.o | grep -q ' T my_plant$' || { echo "no my_plant"; failed=1; }
"$scaly" export "$clients/model.scaly" --emit obj --lang cpp >/dev/null && grep -q 'namespace plant' plant.hpp || { echo "no C++ header"; failed=1; }
for lanes in 2 4 8; do
  "$scaly" export "$clients/../../data/workloads/wave_n64.scaly" --emit llvm --cpu x86-64-v4 --lanes $lanes >/dev/null &&
    grep -q "load <$lanes x double>" wave.ll || { echo "not in $lanes lanes"; failed=1; }
done
"$scaly" export "$clients/../../data/workloads/wave_n64.scaly" --emit llvm --cpu x86-64-v4 --lanes 1 >/dev/null && ! grep -q 'load <' wave.ll ||
  { echo "not in one lane"; failed=1; }
for wrong in "--triple aarch64-linux-gnu" "--emit obj --triple z80" "--emit obj --triple aarch64-linux-gnu --cpu x86-64" "--emit exe"; do
  # shellcheck disable=SC2086
  "$scaly" export "$clients/model.scaly" $wrong >/dev/null 2>&1
  [ $? = 2 ] || { echo "accepted: $wrong"; failed=1; }
done
"$scaly" export "$clients/model.scaly" --emit obj --casadi on >/dev/null 2>&1
[ $? = 1 ] || { echo "accepted: casadi in an object"; failed=1; }
exit $failed
