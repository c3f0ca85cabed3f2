#!/bin/sh
# Code as an image of our own loader does what the same object does when it is linked: here, and on AArch64 under emulation.
#   image.sh SCALY MAKE SOURCES FOLDER
scaly=$1 make=$2 sources=$3 folder=$4
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$folder"
mkdir -p "$folder" && cd "$folder" || exit 1
failed=0 done=0

# same TRIPLE CC EMULATOR
same() {
  command -v "${2%% *}" >/dev/null && { [ -z "$3" ] || command -v "$3" >/dev/null; } || return
  done=1
  "$scaly" export "$here/model.scaly" --emit obj --triple "$1" >/dev/null || { failed=1; return; }
  $2 -O2 -fPIC -fno-math-errno -c "$here/parts.c" -o parts.o || { failed=1; return; }
  $2 -I"$sources" -I"$sources/include" "$here/run.c" "$sources/lib/cache/loader.c" -lm -o run || { failed=1; return; }
  for name in model parts; do
    $2 -DENTRY=$name -I"$sources" -I"$sources/include" "$here/run.c" $name.o -lm -o linked && $3 ./linked >linked.txt
    "$make" $name.o $name >image && $3 ./run image >loaded.txt
    [ -s linked.txt ] && cmp linked.txt loaded.txt || { echo "FAILED: $name, $1"; failed=1; }
    rm -f linked linked.txt loaded.txt image
  done
}
case $(uname -m) in
x86_64) same x86_64-linux-gnu cc "" ;;
esac
same aarch64-linux-gnu "aarch64-linux-gnu-gcc -static" qemu-aarch64
[ $done = 1 ] || { echo "left out, no compiler or emulator"; exit 77; }
exit $failed
