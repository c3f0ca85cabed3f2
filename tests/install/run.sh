# Installs a build tree into a scratch prefix and builds, links and runs consumers of it.
# run.sh BUILD SOURCE CC SANITIZE HAVE_LLVM
set -euo pipefail
build=$1 source=$2 cc=$3 sanitize=$4 have_llvm=$5
work=$build/tests/install/scratch prefix=$build/tests/install/scratch/prefix
rm -rf "$work"
mkdir -p "$work"
cmake --install "$build" --prefix "$prefix" >"$work/install.log"

# The tree can be moved: nothing in it may know where it was installed first.
mv "$prefix" "$work/moved"
prefix=$work/moved
libdir=$(dirname "$(find "$prefix" -name libscaly.so)")
flags=${sanitize:+-fsanitize=$sanitize}
expected="c: 1 jit: $have_llvm"

check() {
  local got
  got=$("${@:2}") || { echo "$1: failed"; exit 1; }
  [ "$got" = "$expected" ] || { echo "$1: printed \"$got\", expected \"$expected\""; exit 1; }
}

cmake -S "$source/consumer" -B "$work/cmake" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
  -DCMAKE_C_FLAGS="$flags" >"$work/cmake.log"
cmake --build "$work/cmake" >>"$work/cmake.log" || { cat "$work/cmake.log"; exit 1; }
check "CMake package, shared" "$work/cmake/shared"
SCALY_PLUGINS=$libdir check "CMake package, static" "$work/cmake/static"

export PKG_CONFIG_PATH=$libdir/pkgconfig
version=$(pkg-config --modversion scaly)
# shellcheck disable=SC2046
"$cc" $flags -std=c11 -Wall -Wextra -Wpedantic -Werror "$source/consumer/main.c" -o "$work/pkg" $(pkg-config --cflags --libs scaly)
LD_LIBRARY_PATH=$libdir check "pkg-config" "$work/pkg"

[ "$("$prefix/bin/scaly" --version)" = "scaly $version" ] || { echo "the command does not run from the prefix"; exit 1; }
