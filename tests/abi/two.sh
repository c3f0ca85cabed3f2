#!/bin/sh
# Builds two.c against the same case exported twice, checks that every external symbol has its prefix, and that neither a prefix that is
# no identifier nor an entry that C has already is let through.
#   two.sh EXPORTER SOURCE FOLDER
exporter=$1 source=$2 folder=$3
rm -rf "$folder"
mkdir -p "$folder/a" "$folder/b" && cd "$folder" || exit 1
for p in a b; do
  "$exporter" "$source/cases/order.scaly" $p gnu ${p}_ || exit 1
  cc -O1 -fno-math-errno -ffp-contract=off -c $p/order.c -o $p.o || exit 1
  nm -g --defined-only $p.o | awk '{print $3}' | grep -v "^${p}_" && { echo "$p: an external symbol without its prefix"; exit 1; }
done
cc -I. -Wall -Wextra -Werror -c "$source/two.c" -o two.o && cc two.o a.o b.o -lm -o two && ./two || exit 1
"$exporter" "$source/cases/order.scaly" a gnu "1_" 2>err.txt && { echo "the prefix 1_ was accepted"; exit 1; }
grep -q "prefix" err.txt || { cat err.txt; exit 1; }
