#!/bin/sh
# What is rendered for a named processor does not depend on the one that renders, and the processor is told by cpuid and by what the operating
# system saves, not by its name: the command runs under emulation of several. AVX-512 is emulated by none: QEMU leaves it out of cpuid.
#   probe.sh SCALY FILE FOLDER
scaly=$1 file=$2 folder=$3
command -v qemu-x86_64 >/dev/null && [ "$(uname -m)" = x86_64 ] || { echo "left out, no qemu-x86_64"; exit 77; }
failed=0
rm -rf "$folder"
mkdir -p "$folder/here" && cd "$folder" || exit 1

# level CPU ISA LANES FMA
level() {
  qemu-x86_64 -cpu "$1" "$scaly" toolchain 2>/dev/null >"$1.txt"
  grep -q "^target   native: $2, $3 float64 lanes" "$1.txt" && grep -q "^ *$4 fused multiply-add" "$1.txt" && return
  echo "FAILED: $1 is taken for"
  grep -A 1 '^target' "$1.txt"
  failed=1
}
level qemu64 x86-64 2 "no fast"
level Nehalem x86-64 2 "no fast"
level SandyBridge x86-64 2 "no fast"
level Haswell x86-64-v3 4 fast
level EPYC-Milan x86-64-v3 4 fast
level Skylake-Server x86-64-v3 4 fast # in name a processor with AVX-512
level Haswell,-bmi2 x86-64 2 fast     # AVX2 and FMA, but not the whole level
level Haswell,-xsave x86-64 2 "no fast" # its registers would not be saved

presets=$("$scaly" toolchain | sed -n 's/^presets //p' | tr -d ,)
for cpu in $presets; do
  [ "$cpu" = native ] && continue
  case $cpu in
  x86*) vector=glibc ;;
  arm* | apple*) vector=sleef ;;
  *) vector=none ;;
  esac
  "$scaly" export "$file" --cpu "$cpu" --vector-libm $vector -o here >/dev/null || { failed=1; continue; }
  cat here/*.c here/*.h | cksum >>here.txt
  echo "$cpu $vector" >>which.txt
done
for host in Nehalem Haswell; do
  mkdir -p "$host"
  while read -r cpu vector; do
    qemu-x86_64 -cpu $host "$scaly" export "$file" --cpu "$cpu" --vector-libm "$vector" -o $host >/dev/null 2>&1 || echo "no export"
    cat "$host"/*.c "$host"/*.h | cksum >>"$host.sums"
  done <which.txt
  cmp here.txt "$host.sums" || { echo "FAILED: rendered on $host, modules differ"; failed=1; }
done
exit $failed
