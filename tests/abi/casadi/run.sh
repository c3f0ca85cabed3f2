#!/bin/sh
# Exports functions with the CasADi layer, builds them for both widths of casadi_int (acados builds with int), with and without a prefix, and
# runs them under a loader. Headers of both languages compile; everything without a warning.
#   run.sh PROGRAM SOURCE FOLDER
program=$1 source=$2 folder=$3
flags="-fno-math-errno -ffp-contract=off -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror"
rm -rf "$folder"
mkdir -p "$folder" && cd "$folder" || exit 1
"$program" refuse || exit 1
for prefix in "" q_; do
  for bits in 32 64; do
    width=""
    [ $bits = 32 ] && width="-Dcasadi_int=int"
    mkdir -p "$bits$prefix"
    "$program" write "$source/cases.scaly" "$bits$prefix" "$prefix" >names.txt || exit 1
    while read -r name; do
      # shellcheck disable=SC2086
      cc -std=c99 -O1 $flags $width -shared -fPIC "$bits$prefix/$name.c" -o "$bits$prefix/$name.so" -lm || exit 1
      [ "$bits$prefix" = 32q_ ] || continue
      printf '#include "%s.hpp"\nint main() { return %s::%s_n_in() > 0 ? 0 : 1; }\n' "$bits$prefix/$name" "$prefix$name" "$prefix$name" >use.cpp
      # shellcheck disable=SC2086
      c++ -std=c++17 $flags $width -I. -c use.cpp -o use.o || exit 1
    done <names.txt
    "$program" load "$source/cases.scaly" "$bits$prefix" "$prefix" $bits || { echo "$bits bits, prefix '$prefix'"; exit 1; }
  done
done
