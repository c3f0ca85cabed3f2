#!/bin/sh
# Exports a case in both dialects and with a C++ header, builds module and consumer with every compiler and standard, all warnings on, and
# compares what the consumers print, bit for bit, with what the program evaluator expects.
#   run.sh EXPORTER CASE FOLDER [COMPILER FLAGS...]
exporter=$1 case=$2 folder=$3
shift 3
recipe="-fno-math-errno -ffp-contract=off -fno-builtin-pow -fno-builtin-powf"
warnings="-Wall -Wextra -Wpedantic -Wconversion -Wdouble-promotion -Wshadow -Werror"
failed=0 built=0
# Debian's versioned package brings versioned names only.
clang=$(command -v clang || command -v clang-19) || clang=clang
clangxx=$(command -v clang++ || command -v clang++-19) || clangxx=clang++

# try NAME COMPILER...: builds and runs in the current folder
try() {
  label=$1
  shift
  command -v "$1" >/dev/null || return 0
  built=$((built + 1))
  # shellcheck disable=SC2086
  "$@" $source_is -c "$name.c" -o module.o && "$@" $consumer_is -c consumer.$ending -o consumer.o && "$linker" module.o consumer.o -lm -o consumer 2>link.txt &&
    ./consumer >printed.txt && cmp printed.txt expected.txt && return 0
  echo "FAILED: $label"
  cat link.txt
  failed=1
}

for dialect in gnu c cpp; do
  rm -rf "$folder/$dialect"
  mkdir -p "$folder/$dialect" && cd "$folder/$dialect" || exit 1
  name=$("$exporter" "$case" . $dialect) || exit 1
  if [ -n "$SCALY_CHECK" ] && [ $# = 0 ]; then "$SCALY_CHECK" check "$name.c" || failed=1; fi
  linker=cc ending=c source_is='' consumer_is=''
  if [ $dialect = cpp ]; then
    linker=c++ ending=cpp
    for source_is in "-x c++ -std=c++17" "-x c -std=c11"; do
      try "g++ 17, C++ header, source $source_is" g++ -O2 $recipe $warnings -Wsign-conversion "$@"
      consumer_is="-std=c++17"
      try "clang++ 17, C++ header, source $source_is" "$clangxx" -O1 $recipe $warnings -Wsign-conversion "$@"
    done
  elif [ $dialect = c ]; then
    # shellcheck disable=SC2086
    try "gcc c99" gcc -std=c99 -O2 $recipe $warnings "$@"
    try "clang c99" "$clang" -std=c99 -O2 $recipe $warnings "$@"
    [ $# = 0 ] && try "tcc" tcc -Wall -Werror
  else
    try "gcc c11" gcc -std=c11 -O0 $recipe $warnings "$@"
    try "gcc gnu17 native" gcc -std=gnu17 -O3 -march=native $recipe $warnings "$@"
    try "clang c17 native" "$clang" -std=c17 -O2 -march=native $recipe $warnings "$@"
    linker=c++
    try "g++ 17" g++ -x c++ -std=c++17 -O2 $recipe $warnings "$@"
    try "clang++ 17" "$clangxx" -x c++ -std=c++17 -O1 $recipe $warnings "$@"
  fi
done
[ $built -gt 0 ] || { echo "no compiler was found"; exit 1; }
exit $failed
