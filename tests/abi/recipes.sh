#!/bin/sh
# The commands in an exported file build it: those of every preset, by the compilers that are here, compilers for other processors in the place
# of gcc where the preset is one of theirs. Builds that contradict the recipe are refused.
#   recipes.sh SCALY SOURCE FOLDER
scaly=$1 source=$2 folder=$3
failed=0 built=0
clang=$(command -v clang-19 || command -v clang) || clang=clang
rm -rf "$folder"
mkdir -p "$folder" && cd "$folder" || exit 1
cat >waves.scaly <<'END'
expr.func @waves(%x: tensor<64xfloat64>, %n: tensor<3xfloat32>) -> (%y, %m) {
  return mul(pow(sin(%x), exp(%x)), sqrt(%x)), mul(%n, sin(%n))
}
END

# The compiler to run for the word in the recipe and a preset.
compiler() {
  case $1-$2 in
  gcc-generic | gcc-native | gcc-x86-64*) [ "$(uname -m)" = x86_64 ] || [ "$2" = generic ] && command -v gcc ;;
  gcc-cortex-m7) command -v arm-none-eabi-gcc ;;
  gcc-*) if [ "$(uname -m)" = aarch64 ]; then command -v gcc; else command -v aarch64-linux-gnu-gcc; fi ;;
  clang-generic | clang-native) command -v "$clang" ;;
  clang-x86-64*) [ "$(uname -m)" = x86_64 ] && command -v "$clang" ;;
  clang-cortex-m7) [ -d /usr/lib/arm-none-eabi/include ] && command -v "$clang" >/dev/null && echo "$clang -isystem /usr/lib/arm-none-eabi/include" ;;
  clang-apple*) ;; # needs Apple's headers
  clang-*) [ -d /usr/aarch64-linux-gnu/include ] && command -v "$clang" >/dev/null && echo "$clang -isystem /usr/aarch64-linux-gnu/include" ;;
  esac
}

presets="generic native x86-64 x86-64-v3 x86-64-v4 armv8-a neoverse-v2 apple-m1 apple-m2 apple-m3 apple-m4 cortex-a53 cortex-a72 cortex-a76 cortex-m7"
for preset in $presets; do
  for options in "" "--dialect c" "--rounding strict" "--lanes 2"; do
    case $options-$preset in -* | *-x86-64-v3 | *-armv8-a) ;; *) continue ;; esac
    # shellcheck disable=SC2086
    "$scaly" export waves.scaly --cpu $preset $options >/dev/null || { echo "$preset $options: no export"; exit 1; }
    for word in gcc clang; do
      line=$(sed -n "s/^ \* \($word .*\)$/\1/p" waves.c)
      [ -n "$line" ] || { echo "$preset $options: no command for $word"; failed=1; continue; }
      run=$(compiler $word $preset)
      [ -n "$run" ] || continue
      rm -f waves.o
      $run -Wall -Wextra ${line#"$word"} 2>log.txt && [ -f waves.o ] && [ ! -s log.txt ] && { built=$((built + 1)); continue; }
      # An older compiler may not know a newer processor.
      grep -qE "(unknown|unrecognized|invalid|bad value|not recognized|not support).*(arch|cpu|value)" log.txt && continue
      echo "$preset $options: $line"
      cat log.txt
      failed=1
    done
  done
done
[ $built -ge 20 ] || { echo "only $built builds"; failed=1; }

# refused WHY EXPORT-OPTIONS -- COMMAND...
refused() {
  why=$1 options=$2
  shift 2
  command -v "$1" >/dev/null || return 0
  # shellcheck disable=SC2086
  "$scaly" export waves.scaly $options >/dev/null || exit 1
  if "$@" -c waves.c -o refused.o 2>log.txt; then
    echo "accepted: $* ($options)"
    failed=1
  elif ! grep -q "#error.*$why\|error:.*$why" log.txt; then
    echo "refused for another reason: $* ($options)"
    cat log.txt
    failed=1
  fi
}
for cc in gcc "$clang"; do
  refused "fast-math" "" "$cc" -O2 -ffast-math
  refused "fast-math" "--dialect c" "$cc" -O2 -ffast-math
  refused "fast-math" "" "$cc" -O2 -fno-math-errno -ffinite-math-only
  refused "fno-math-errno" "" "$cc" -O2 -std=c11
  if [ "$(uname -m)" = x86_64 ]; then
    refused "processor" "--cpu x86-64-v3 --lanes 4" "$cc" -O2 -fno-math-errno
    refused "processor" "--cpu x86-64-v4 --lanes 8" "$cc" -O2 -fno-math-errno -march=x86-64-v3
    refused "processor" "--cpu armv8-a --lanes 2" "$cc" -O2 -fno-math-errno
  fi
done
echo 'expr.func @waves(%x: tensor<64xfloat64>) -> (%y) { return mul(%x, add(%x, 1)) }' >waves.scaly
for cc in gcc "$clang"; do
  refused "not 1, 2, 4 or 8" "" "$cc" -O2 -fno-math-errno -DSCALY_LANES=3
  refused "not 1, 2, 4 or 8" "--dialect c" "$cc" -O2 -fno-math-errno -DSCALY_LANES=16
done
refused "a part of it" "" gcc -O2 -fno-math-errno -freciprocal-math # clang has no macros for the parts
exit $failed
