#!/bin/sh
# What is easy to get wrong in generated C, case by case: names, tables with NaN and infinities, empty arrays, deep chains, large temporaries,
# tables and offsets, locales, null pointers, float32 that is only that. Each case is a model, an export, and a main that knows the answer.
#   edges.sh SCALY FOLDER
scaly=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder" && cd "$folder" || exit 1
recipe="-fno-math-errno -ffp-contract=off"
warnings="-Wall -Wextra -pedantic-errors -Wconversion -Wdouble-promotion -Wshadow -Werror"
failed=0

# model CASE [EXPORT-OPTIONS]: from standard input, into a folder of its own
model() {
  id=$1
  shift
  mkdir -p "$id" && cat >"$id/model.scaly" && "$scaly" export "$id/model.scaly" -o "$id" "$@" >/dev/null || { echo "FAILED: $id: export"; failed=1; }
}

# answers CASE [COMPILER-OPTIONS]: main from standard input, with the case's modules
answers() {
  id=$1
  shift
  { printf '#include <inttypes.h>\n#include <math.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n'; cat; } >"$id/main.c"
  # shellcheck disable=SC2086,SC2046
  gcc -std=c11 -D_GNU_SOURCE -O1 $recipe $warnings -I . "$@" "$id"/*.c -lm -lpthread -o "$id/main" && "$id/main" && return
  echo "FAILED: $id ($?)"
  failed=1
}

# Names: keywords, macros of headers, arguments of the entry; built as abi.hostile and abi.macros build it.
model names <<'END'
expr.func @f(%I: tensor<float64>, %near: tensor<float64>, %far: tensor<float64>, %minor: tensor<float64>, %in: tensor<float64>, %int: tensor<float64>,
    %class: tensor<float64>, %lambda: tensor<float64>, %restrict: tensor<float64>, %NAN: tensor<float64>, %w: tensor<float64>, %arg: tensor<float64>,
    %res: tensor<float64>, %s0: tensor<float64>, %f0: tensor<float64>, %_w64: tensor<float64>, %double__x: tensor<float64>) -> (%y) {
  return sub(add(mul(%I, %near), %far), %minor)
}
END
answers names -include complex.h -Dnear= -Dfar= -DI=0 -Dmajor= -Dminor= <<'END'
#include "names/f.h"
int main(void) {
  double v[17] = {2, 3, 4, 5}, y;
  const double *arg[17];
  for (int i = 0; i < 17; i++) arg[i] = &v[i];
  return f(arg, (double *[]){&y}, NULL, NULL, 0) || y != 5;
}
END

# A table of NaN and infinities, and a helper.
model table <<'END'
expr.func @f(%k: tensor<int64>, %x: tensor<float64>) -> (%y, %z) {
  %t = const {value=[nan, -inf, inf, 1]}
  return add(mul(select(eq(%k, 0), 1.0, 0.0), 0), select(lt(%k, 1), %t[0], select(lt(%k, 2), %t[1], select(lt(%k, 3), %t[2], %t[3])))), maximum(%x, %t[3])
}
expr.func @g(%x: tensor<4xfloat64>) -> (%y) { return add(%x, const {value=[nan, -inf, inf, 1]}) {lowering="block"} }
END
"$scaly" export table/model.scaly:f -o table >/dev/null || failed=1
answers table <<'END'
#include "table/f.h"
#include "table/g.h"
int main(void) {
  double x = 2, y, z, four[4];
  for (int64_t k = 0; k < 4; k++) {
    if (f((const void *[]){&k, &x}, (void *[]){&y, &z}, NULL, NULL, 0) || z != 2) return 1;
    if (k == 0 ? !isnan(y) : k == 1 ? y != -HUGE_VAL : k == 2 ? y != HUGE_VAL : y != 1) return 2;
  }
  if (g((const double *[]){(double[4]){0}}, (double *[]){four}, NULL, NULL, 0)) return 3;
  return !(isnan(four[0]) && four[1] == -HUGE_VAL && four[2] == HUGE_VAL && four[3] == 1);
}
END

# No arrays without elements: no workspace, an input and an output without values.
model empty <<'END'
expr.func @f(%x: tensor<float64>, %none: tensor<0xfloat64>) -> (%y, %nothing) { return %x, %none }
END
answers empty <<'END'
#include "empty/f.h"
int main(void) {
  double x = 7, y;
  return f((const double *[]){&x, NULL}, (double *[]){&y, NULL}, NULL, NULL, 0) || y != 7;
}
END
grep -nE '^[^=]*\[0\];' empty/f.c empty/f.h && { echo "FAILED: empty: an array of none"; failed=1; }

# Deep chains do not deepen the stack, of whatever makes, differentiates, prints and compiles them.
awk 'BEGIN { print "expr.func @f(%z: tensor<float64>) -> (%y) {"; last = "%z"
  for (i = 0; i < 10000; i++) { printf "%%z%d = add(%s, mul(0.002, %s))\n", i, last, last; last = "%z" i }
  printf "return %s }\n", last }' >deep.scaly
awk 'BEGIN { print "expr.func @g(%z: tensor<float64>) -> (%y) {"; last = "%z"
  for (i = 0; i < 100000; i++) { printf "%%z%d = sin(%s)\n", i, last; last = "%z" i }
  printf "return %s }\n", last }' >sines.scaly
mkdir deep
(ulimit -s 256 && "$scaly" export deep.scaly --out y --out grad:y:z --name f -o deep >/dev/null && "$scaly" export sines.scaly --out grad:y:z --name g -o deep >/dev/null) ||
  { echo "FAILED: deep: export with a stack of 256 KiB"; failed=1; }
rm -f deep/g.c # a hundred thousand sines take a compiler long
answers deep <<'END'
#include "deep/f.h"
int main(void) {
  double z = 1, y, d, *w = calloc(f_SZ_W + 1, sizeof *w);
  if (f((const double *[]){&z}, (double *[]){&y, &d}, NULL, w, 0)) return 1;
  free(w);
  return fabs(y / 475570943.606 - 1) > 1e-9 || fabs(d / 475570943.606 - 1) > 1e-9;
}
END

# What is large is in the caller's workspace: a thread with 64 KiB of stack is enough, and nothing is allocated.
model workspace <<'END'
expr.func @products(%x: tensor<1000xfloat64>) -> (%m) { return mul(broadcast(reshape(%x) {shape=[1000, 1]}) {shape=[1000, 1000]}, %x) {lowering="block"} }
expr.func @f(%x: tensor<1000xfloat64>) -> (%y) { return sum(matmul(call(%x) {callee="products", output=0}, %x)) }
END
answers workspace <<'END'
#include <pthread.h>
#include "workspace/f.h"
static double x[1000], y;
static double *w;
static void *work(void *unused) {
  (void)unused;
  return f((const double *[]){x}, (double *[]){&y}, NULL, w, 0) ? &y : NULL;
}
int main(void) {
  pthread_t thread;
  pthread_attr_t attr;
  void *bad;
  w = malloc((f_SZ_W + 1) * sizeof *w);
  for (int i = 0; i < 1000; i++) x[i] = 1;
  pthread_attr_init(&attr);
  if (pthread_attr_setstacksize(&attr, 65536) || pthread_create(&thread, &attr, work, NULL) || pthread_join(thread, &bad)) return 1;
  free(w);
  return bad || y != 1e6;
}
END

# Tables are data; a million entries are abi.tables.
awk 'BEGIN { n = 20000
  printf "expr.func @f(%%x: tensor<%dxfloat64>) -> (%%y, %%z) { return mul(%%x, const {value=[", n
  for (i = 0; i < n; i++) printf "%s%.17g", i ? "," : "", i / 7
  printf "]}), gather(%%x) {indices=["
  for (i = 0; i < n; i++) printf "%s%d", i ? "," : "", (i * 7919) % n
  printf "], shape=[%d]} }\n", n }' | model tables
answers tables <<'END'
#include "tables/f.h"
static double x[20000], y[20000], z[20000];
int main(void) {
  for (int i = 0; i < 20000; i++) x[i] = 1 + i % 3;
  if (f((const double *[]){x}, (double *[]){y, z}, NULL, NULL, 0)) return 1;
  for (int i = 0; i < 20000; i++)
    if (y[i] != (1 + i % 3) * (i / 7.0) || z[i] != x[(long long)i * 7919 % 20000]) return 2;
  return 0;
}
END

# The header's sizes are those that the queries tell; null inputs are zeros there, and null results are not wanted.
model casadi --casadi on <<'END'
expr.func @f(%x: tensor<float64>, %y: tensor<float64>) -> (%z) { return add(add(%x, mul(2, %y)), 3) }
END
answers casadi <<'END'
#include "casadi/f.h"
int main(void) {
  double y = 4, z = 0, w[f_SZ_W + 1];
  long long n_arg, n_res, n_iw, n_w;
  if (f_work(&n_arg, &n_res, &n_iw, &n_w) || n_arg != 2 || n_res != 1 || n_iw != 0 || n_w != f_SZ_W) return 1;
  if (f((const double *[]){NULL, &y}, (double *[]){NULL}, NULL, w, 0)) return 2;
  return f((const double *[]){NULL, &y}, (double *[]){&z}, NULL, w, 0) || z != 11;
}
END

# Numbers do not depend on the locale.
model locale <<'END'
expr.func @f(%x: tensor<float64>) -> (%y) { return add(mul(0.5, %x), 1.25) }
END
for locale in de_DE.UTF-8 de_DE.utf8 fr_FR.UTF-8; do
  mkdir -p locale/$locale
  LC_ALL=$locale "$scaly" export locale/model.scaly -o locale/$locale >/dev/null
  cmp locale/f.c locale/$locale/f.c && cmp locale/f.h locale/$locale/f.h || { echo "FAILED: locale: $locale"; failed=1; }
done
answers locale <<'END'
#include "locale/f.h"
int main(void) {
  double x = 2, y;
  return f((const double *[]){&x}, (double *[]){&y}, NULL, NULL, 0) || y != 2.25;
}
END

# float32 is only that: no double anywhere, no routine of doubles.
model single <<'END'
expr.func @f(%x: tensor<float32>) -> (%y, %a) { return add(add(mul(0.1, %x), sin(%x)), mul(0, abs(neg(%x)))), abs(%x) }
END
answers single -Wfloat-conversion <<'END'
#include "single/f.h"
int main(void) {
  float x = 1.5f, y, a;
  if (f((const float *[]){&x}, (float *[]){&y, &a}, NULL, NULL, 0) || fabsf(y - 1.1474950f) > 2e-7f || a != 1.5f) return 1;
  x = -0.7f;
  return f((const float *[]){&x}, (float *[]){&y, &a}, NULL, NULL, 0) || a != 0.7f;
}
END
gcc -std=c11 -O1 $recipe -Wdouble-promotion -Wfloat-conversion -Werror -c single/f.c -o single/f.o
nm -u single/f.o | awk '{ print $NF }' | grep -vxE 'sinf|fabsf|_GLOBAL_OFFSET_TABLE_' && { echo "FAILED: single: refers to more than sinf and fabsf"; failed=1; }
grep -n 'double' single/f.c && { echo "FAILED: single: a double"; failed=1; }

# A constant that is an integer past 32 bits.
model integral --out jac:y:x --name f <<'END'
expr.func @h(%x: tensor<float64>) -> (%y) { return div(%x, 1.458151064450277e-12) }
END
answers integral <<'END'
#include "integral/f.h"
int main(void) {
  double x = 3, d;
  return f((const double *[]){&x}, (double *[]){&d}, NULL, NULL, 0) || fabs(d - 685800000000.0) > 1.3e-4;
}
END

# Offsets past 32 bits of bytes, in memory that is only promised; past 31 bits of elements a type is refused.
model offsets <<'END'
expr.func @f(%x: tensor<32768x65535xfloat32>) -> (%a, %b) { return %x[32767, 65534], %x[16384, 0] }
END
answers offsets <<'END'
#include <sys/mman.h>
#include "offsets/f.h"
int main(void) {
  size_t n = 32768u * (size_t)65535u;
  float *x = mmap(NULL, n * sizeof *x, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), a = 7, b = 7;
  if (x == MAP_FAILED) return 0; /* no room for promises */
  x[n - 1] = 1;
  x[16384u * (size_t)65535u] = 2;
  return f((const float *[]){x}, (float *[]){&a, &b}, NULL, NULL, 0) || a != 1 || b != 2;
}
END
echo 'expr.func @f(%x: tensor<4096x4096x256xbool>) -> (%a) { return %x[4095, 4095, 255] }' >offsets/large.scaly
"$scaly" export offsets/large.scaly -o offsets >out.txt 2>&1
[ $? = 1 ] && grep -q 'more than 2147483647 elements' out.txt || { echo "FAILED: offsets: a type that is too large"; cat out.txt; failed=1; }
exit $failed
