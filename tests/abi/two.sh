#!/bin/sh
# Several modules in one program: the same cases exported with two prefixes, linked together, included as sources into one translation unit
# and as C++ headers into one file. Every external symbol has its prefix; neither a prefix that is no identifier nor an entry that C has
# already is let through.
#   two.sh EXPORTER SOURCE FOLDER
exporter=$1 source=$2 folder=$3
recipe="-fno-math-errno -ffp-contract=off -Wall -Wextra -Wpedantic -Wshadow -Werror"
rm -rf "$folder"
mkdir -p "$folder" && cd "$folder" || exit 1
for p in a b; do
  for dialect in gnu c cpp; do
    mkdir -p $dialect/$p
    for case in order memory; do "$exporter" "$source/cases/$case.scaly" $dialect/$p $dialect ${p}_ >/dev/null || exit 1; done
  done
  # shellcheck disable=SC2086
  cc -O1 $recipe -c gnu/$p/order.c -o $p.o && cc -O1 $recipe -c gnu/$p/memory.c -o ${p}m.o || exit 1
  nm -g --defined-only $p.o ${p}m.o | awk 'NF == 3 {print $3}' | grep -v "^${p}_" && { echo "$p: an external symbol without its prefix"; exit 1; }
done
# shellcheck disable=SC2086
cc -Ignu $recipe -c "$source/two.c" -o two.o && cc two.o a.o b.o -lm -o two && ./two || exit 1

for dialect in gnu c; do
  for p in a b; do printf '#include "%s/order.c"\n#include "%s/memory.c"\n' $p $p; done >$dialect/unit.c
  # shellcheck disable=SC2086
  cc -I$dialect $recipe -c $dialect/unit.c -o unit.o && cc two.o unit.o -lm -o two && ./two || { echo "one translation unit, $dialect"; exit 1; }
done
# shellcheck disable=SC2086
c++ -std=c++17 -Icpp $recipe -c "$source/two.cpp" -o twopp.o && c++ twopp.o a.o b.o am.o bm.o -lm -o twopp && ./twopp || exit 1

"$exporter" "$source/cases/order.scaly" gnu/a gnu "1_" 2>err.txt && { echo "the prefix 1_ was accepted"; exit 1; }
grep -q "prefix" err.txt || { cat err.txt; exit 1; }
