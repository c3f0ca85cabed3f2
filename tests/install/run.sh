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
# Direct code needs no plugin, but a processor that it is for.
if [ "$have_llvm" = 1 ] || grep -q '^flags.* fma .* avx2 ' /proc/cpuinfo; then jit=1; else jit=0; fi
expected="c: 1 jit: $jit"

check() {
  local got
  got=$("${@:2}") || { echo "$1: failed"; exit 1; }
  [ "$got" = "$expected" ] || { echo "$1: printed \"$got\", expected \"$expected\""; exit 1; }
}

cmake -S "$source/consumer" -B "$work/cmake" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
  -DCMAKE_C_FLAGS="$flags" -DCMAKE_CXX_FLAGS="$flags" >"$work/cmake.log"
cmake --build "$work/cmake" >>"$work/cmake.log" || { cat "$work/cmake.log"; exit 1; }
check "CMake package, shared" "$work/cmake/shared"
check "CMake package, C++" "$work/cmake/cpp"
plugins=()
if [ "$have_llvm" = 1 ]; then plugins=("SCALY_PLUGINS=$libdir"); fi
check "CMake package, static" env "${plugins[@]}" "$work/cmake/static"

export PKG_CONFIG_PATH=$libdir/pkgconfig
version=$(pkg-config --modversion scaly)
# shellcheck disable=SC2046
"$cc" $flags -std=c11 -Wall -Wextra -Wpedantic -Werror "$source/consumer/main.c" -o "$work/pkg" $(pkg-config --cflags --libs scaly)
LD_LIBRARY_PATH=$libdir check "pkg-config" "$work/pkg"
# shellcheck disable=SC2046
"$cc" $flags -std=c11 "$source/consumer/main.c" -o "$work/pkg_static" $(pkg-config --cflags scaly) "$libdir/libscaly.a" \
  $(pkg-config --static --libs-only-l scaly | sed 's/-lscaly//')
check "pkg-config, static" env "${plugins[@]}" "$work/pkg_static"

[ "$("$prefix/bin/scaly" --version)" = "scaly $version" ] || { echo "the command does not run from the prefix"; exit 1; }

# A project that exports modules while it builds: what did not change is not built again, what did is.
project=$work/module
cp -r "$source/module" "$project"
build_module() {
  cmake --build "$project/build" >"$project/build.log" 2>&1 || { cat "$project/build.log"; exit 1; }
}
expect() {
  [ "$1" = "$2" ] || { echo "scaly_add_module: $3: \"$1\" instead of \"$2\""; exit 1; }
}
cmake -S "$project" -B "$project/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" >"$project/configure.log" ||
  { cat "$project/configure.log"; exit 1; }
build_module
expect "$("$project/build/main")" "2 4" "first build"
expect "$("$project/build/jacobian" | tr '\n' ' ')" "(0, 0) 1 (0, 1) 0.5 (1, 1) 1 (1, 2) 3 " "Jacobian"
build_module
grep -q 'no work to do' "$project/build.log" || { echo "scaly_add_module: an unchanged project is built again"; cat "$project/build.log"; exit 1; }
sleep 0.01
{ echo '// a remark'; cat "$source/module/model.scaly"; } >"$project/model.scaly"
build_module
grep -q 'Exporting' "$project/build.log" || { echo "scaly_add_module: a changed text is not exported"; exit 1; }
if grep -q 'Building C' "$project/build.log"; then echo "scaly_add_module: a remark makes a compiler run"; cat "$project/build.log"; exit 1; fi
sed 's/0\.25/0.5/' "$source/module/model.scaly" >"$project/model.scaly"
build_module
expect "$("$project/build/main")" "2 6" "changed text"
