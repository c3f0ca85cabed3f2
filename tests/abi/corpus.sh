#!/bin/sh
# A function with derivatives, exported in both dialects and with both headers, without a warning under every compiler and standard there is,
# tcc and newlib for a Cortex-M7 included; no writable static data, no allocator, no large frame; the evaluator's bits on a thread with a stack of
# 64 KiB (256 KiB with the lanes of the processor at hand) and under ASan and UBSan.
#   corpus.sh EXPORTER FILE FOLDER [REQUEST...]
exporter=$1 file=$2 folder=$3
shift 3
recipe="-fno-math-errno -ffp-contract=off -fno-builtin"
warnings="-Wall -Wextra -Wpedantic -Wconversion -Wdouble-promotion -Wshadow -Werror"
failed=0
clang=$(command -v clang || command -v clang-19) || clang=clang
clangxx=$(command -v clang++ || command -v clang++-19) || clangxx=clang++

complain() {
  echo "FAILED: $1"
  failed=1
}

# compiles NAME COMPILER FLAGS...: without a warning
compiles() {
  label=$1
  shift
  command -v "$1" >/dev/null || return 0
  # shellcheck disable=SC2086
  "$@" $recipe $warnings -c "$name.c" -o module.o || complain "$label"
}

# runs NAME COMPILER FLAGS...: and its consumer prints what it must
runs() {
  label=$1
  shift
  command -v "$1" >/dev/null || return 0
  # shellcheck disable=SC2086
  "$@" $recipe -DSTACK=$stack -c "$name.c" -o module.o && "$@" -w -DSTACK=$stack -c consumer.c -o consumer.o &&
    "$@" module.o consumer.o -lm -lpthread -o consumer && ./consumer >printed.txt && cmp printed.txt expected.txt && return 0
  complain "$label"
}

# Data and bss sections of an object hold nothing; what it refers to is not an allocator's.
restrained() {
  nm module.o | awk '$2 ~ /^[bBdDcC]$/ { print }' | grep . && complain "writable static data"
  nm -u module.o | grep -E '(malloc|calloc|realloc|free|alloca|sbrk|mmap|operator new)' && complain "an allocator"
}

for dialect in gnu c cpp; do
  rm -rf "${folder:?}/$dialect"
  mkdir -p "$folder/$dialect" && cd "$folder/$dialect" || exit 1
  name=$("$exporter" "$file" . $dialect "" "$@") || exit 1
  if [ -n "$SCALY_CHECK" ]; then "$SCALY_CHECK" check "$name.c" || complain "scaly check"; fi
  stack=65536
  case $dialect in
  gnu)
    compiles "gcc c11, frames" gcc -std=c11 -O2 -Wstack-usage=49152
    restrained
    compiles "gcc gnu17 native" gcc -std=gnu17 -O3 -march=native
    compiles "clang c17" "$clang" -std=c17 -O2
    compiles "g++ 17" g++ -x c++ -std=c++17 -O0
    compiles "clang++ 17" "$clangxx" -x c++ -std=c++17 -O1 -Wno-deprecated
    compiles "aarch64" aarch64-linux-gnu-gcc -std=c11 -O2
    runs "gcc -O2, 64 KiB of stack" gcc -O2
    stack=262144 # what is live in a long body takes room in proportion to the lanes
    runs "clang native" "$clang" -O2 -march=native
    stack=1048576
    runs "gcc, ASan and UBSan" gcc -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all
    ;;
  c)
    compiles "gcc c99" gcc -std=c99 -pedantic-errors -O2 -Wstack-usage=49152
    restrained
    compiles "g++ 17, casts that are not needed" g++ -x c++ -std=c++17 -O0 -Wuseless-cast
    compiles "clang c99" "$clang" -std=c99 -pedantic-errors -O1
    compiles "arm-none-eabi" arm-none-eabi-gcc -std=c99 -O2 -mcpu=cortex-m7 -mfpu=fpv5-d16 -mfloat-abi=hard -Wstack-usage=49152
    runs "gcc c99" gcc -std=gnu99 -O2
    if command -v tcc >/dev/null; then
      tcc -Wall -Werror -c "$name.c" -o module.o || complain "tcc"
    fi
    ;;
  cpp)
    printf '#include "%s.hpp"\n' "$name" >header.cpp
    for cxx in g++ "$clangxx"; do
      command -v "$cxx" >/dev/null || continue
      # shellcheck disable=SC2086
      "$cxx" -std=c++17 $warnings -c header.cpp -o header.o || complain "header, $cxx"
    done
    ;;
  esac
done
exit $failed
