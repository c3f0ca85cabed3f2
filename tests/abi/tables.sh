#!/bin/sh
# Large constant tables are data: a million entries compile in bounded time and memory (1 GB)
# and hold the right values; so does an index table.
#   tables.sh SCALY FOLDER
scaly=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder" && cd "$folder" || exit 1
awk 'BEGIN { n = 1000000
  printf "expr.func @table(%%x: tensor<%dxfloat64>) -> (%%y) { return mul(%%x, const {value=[", n
  for (i = 0; i < n; i++) printf "%s%.17g", i ? "," : "", i / 7
  print "]}) }" }' >table.scaly
awk 'BEGIN { n = 1000000
  printf "expr.func @picked(%%x: tensor<%dxfloat32>) -> (%%y) { return gather(%%x) {indices=[", n
  for (i = 0; i < n; i++) printf "%s%d", i ? "," : "", (i * 7919 + i % 3) % n
  printf "], shape=[%d]} }\n", n }' >picked.scaly
for name in table picked; do
  "$scaly" export $name.scaly >/dev/null || exit 1
  (ulimit -v 1048576 && ulimit -t 60 && exec gcc -O2 -fno-math-errno -ffp-contract=off -c $name.c) || { echo "$name: gcc needs too much"; exit 1; }
done
cat >main.c <<'END'
#include "picked.h"
#include "table.h"
static table_x_t x; static table_y_t y;
static picked_x_t a; static picked_y_t b;
int main(void) {
  for (int i = 0; i < 1000000; i++) x.data[i] = 1, a.data[i] = (float)i;
  if (table(&(const double *){x.data}, &(double *){y.data}, 0, 0, 0)) return 1;
  for (int i = 0; i < 1000000; i++)
    if (y.data[i] != i / 7.0) return 2;
  if (y.data[999999] != 142857.0) return 3;
  if (picked(&(const float *){a.data}, &(float *){b.data}, 0, 0, 0)) return 4;
  for (long long i = 0; i < 1000000; i++)
    if (b.data[i] != (float)((i * 7919 + i % 3) % 1000000)) return 5;
  return 0;
}
END
cc -std=c11 -Wall -Werror main.c table.o picked.o -lm -o main && ./main || { echo "wrong values ($?)"; exit 1; }
