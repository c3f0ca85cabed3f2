#!/bin/sh
# A function exported with strict rounding prints the evaluator's bits whatever it is built for: SSE2, AVX2, AVX-512 (where this processor has
# it), every number of lanes, unoptimized, and AArch64 under emulation.
#   strict.sh EXPORTER FILE FOLDER CPU [REQUEST...]
exporter=$1 file=$2 folder=$3
export SCALY_TEST_CPU="$4"
shift 4
recipe="-fno-math-errno -ffp-contract=off -fno-builtin"
clang=$(command -v clang-19 || command -v clang) || clang=clang
failed=0 built=0
rm -rf "$folder"
mkdir -p "$folder" && cd "$folder" || exit 1
name=$("$exporter" "$file" . gnu "" "$@") || exit 1

# runs LABEL RUNNER COMPILER FLAGS...
runs() {
  label=$1 runner=$2
  shift 2
  command -v "$1" >/dev/null || { echo "left out, no $1: $label"; return; }
  built=$((built + 1))
  # shellcheck disable=SC2086
  "$@" $recipe -w -c "$name.c" -o module.o && "$@" -w -c consumer.c -o consumer.o && "$@" module.o consumer.o -lm -o consumer &&
    $runner ./consumer >printed.txt && cmp printed.txt expected.txt && return
  echo "FAILED: $label"
  failed=1
}

# has FEATURE...: of the processor, as the kernel tells
has() {
  for feature in "$@"; do grep -qw "$feature" /proc/cpuinfo || return 1; done
}

case $(uname -m)-$SCALY_TEST_CPU in
x86_64-generic | x86_64-x86-64*)
  case $SCALY_TEST_CPU in
  x86-64-v3) set -- x86-64-v3 ;;
  *) set -- x86-64 x86-64-v3 x86-64-v4 ;;
  esac
  for level in "$@"; do
    case $level in
    x86-64-v3) has avx2 fma bmi2 || { echo "left out, no AVX2 here"; continue; } ;;
    x86-64-v4) has avx512f avx512bw avx512dq avx512vl || { echo "left out, no AVX-512 here"; continue; } ;;
    esac
    runs "gcc -O2 for $level" "" gcc -O2 -march=$level
    runs "clang -O3 for $level" "" "$clang" -O3 -march=$level
  done
  runs "gcc -O0" "" gcc -O0
  for lanes in 1 2 4 8; do runs "gcc -O1, $lanes lanes" "" gcc -O1 -DSCALY_LANES=$lanes; done
  ;;
esac
case $SCALY_TEST_CPU in
generic | armv8-a | cortex-* | neoverse-*)
  if command -v qemu-aarch64 >/dev/null; then
    runs "gcc -O2 for AArch64" qemu-aarch64 aarch64-linux-gnu-gcc -static -O2
    runs "gcc -O0 for AArch64" qemu-aarch64 aarch64-linux-gnu-gcc -static -O0
  else
    echo "left out, no qemu-aarch64: AArch64"
  fi
  ;;
esac
[ $built -gt 0 ] || exit 77
exit $failed
