#!/bin/sh
# One module, a client per audience; all print the same.
#   run.sh SCALY SOURCE FOLDER
scaly=$1 source=$2 folder=$3
warnings="-Wall -Wextra -Wpedantic -Wshadow -Werror"
rm -rf "$folder"
mkdir -p "$folder" && cd "$folder" || exit 1
for lang in cpp c; do "$scaly" export "$source/model.scaly" --out y --out spjac:y:x --name plant --lang $lang >/dev/null || exit 1; done
cc -std=c11 -O2 -fno-math-errno -ffp-contract=off $warnings -fPIC -c plant.c -o plant.o && cc -shared plant.o -o plant.so -lm || exit 1
cat >expected.txt <<'END'
2.15741492372 18
0 0 4.42854706711
1 0 8
0 1 0.958851077208
1 1 10
0 2 1.43827661581
1 2 12
END

# client NAME COMMAND...
client() {
  name=$1
  shift
  "$@" >"$name.txt" || { echo "$name does not run"; exit 1; }
  cmp "$name.txt" expected.txt || { echo "$name prints"; cat "$name.txt"; exit 1; }
}
# shellcheck disable=SC2086
{
  cc -std=c99 $warnings -I. "$source/typed.c" plant.o -lm -o typed && client typed ./typed
  c++ -std=c++17 $warnings -I. "$source/buffers.cpp" plant.o -lm -o buffers && client buffers ./buffers
  cc -std=c11 $warnings "$source/dynamic.c" -ldl -o dynamic && client dynamic ./dynamic ./plant.so
} || exit 1
eigen=$(pkg-config --cflags-only-I eigen3 2>/dev/null | sed 's/-I/-isystem /') || exit 0
# shellcheck disable=SC2086
c++ -std=c++17 $warnings -I. $eigen "$source/eigen.cpp" plant.o -lm -o eigen && client eigen ./eigen
