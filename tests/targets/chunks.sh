#!/bin/sh
# The loops in lanes of a kernel, disassembled: from gcc and clang, as the recipe of the exported C has it, and from the LLVM backend, for AVX2 (4
# lanes) and AVX-512 (8), have no scalar arithmetic and no element-by-element moves but for the strided accesses that the C declares.
#   chunks.sh COMMAND FILE FOLDER GCC CLANG UNIFORM [REQUEST...]
# UNIFORM: scalar operations that a loop may have, on what is the same for all lanes. COMMAND: scaly, which may lack LLVM.
scaly=$1 file=$2 folder=$3 gcc=$4 clang=$5 uniform=$6
shift 6
awk=$(cd "$(dirname "$0")" && pwd)/chunks.awk
command -v objdump >/dev/null || { echo "no objdump: skipped"; exit 77; }
[ "$(uname -m)" = x86_64 ] || exit 77
outputs="--name kernel --vector-libm glibc"
for request; do outputs="$outputs --out $request"; done
rm -rf "$folder"
mkdir -p "$folder" && cd "$folder" || exit 1
failed=0

# judge LABEL LANES
judge() {
  wide=zmm
  [ "$2" = 8 ] || wide=ymm
  strided=$(grep -Ec 'scaly_(load|store)_(strided|part)_.*;' kernel.c)
  echo "$1:"
  objdump -dr --no-show-raw-insn kernel.o >kernel.txt || return 1
  # four times: compilers unroll
  awk -v wide=$wide -v singles=$((strided * $2 * 4)) -v uniform="$uniform" -f "$awk" kernel.txt && return
  failed=1
}
# compiled COMPILER NAME LANES: as the recipe says
compiled() {
  command -v "$1" >/dev/null || { echo "left out, no $1"; return; }
  flags=$(sed -n "s/^ \* $2 \(-O.*\) -c .*/\1/p" kernel.c)
  # shellcheck disable=SC2086
  "$1" -w $flags -c kernel.c -o kernel.o || { failed=1; return; }
  judge "$2 $flags" "$3"
}

for lanes in 4 8; do
  cpu=x86-64-v$((lanes == 4 ? 3 : 4))
  # shellcheck disable=SC2086
  "$scaly" export "$file" -o . $outputs --cpu $cpu >/dev/null || exit 1
  compiled "$gcc" gcc $lanes
  compiled "$clang" clang $lanes
  # shellcheck disable=SC2086
  if "$scaly" export "$file" -o . $outputs --cpu $cpu --emit obj >/dev/null 2>&1; then
    judge "LLVM, $cpu" $lanes
  else
    echo "left out, no LLVM backend"
  fi
done
exit $failed
