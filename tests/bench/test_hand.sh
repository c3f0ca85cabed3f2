# The kernels written by hand pass the gate at every width, that of this processor and 8 anywhere, and they build for AVX-512.
set -u
rm -rf "$1"
mkdir -p "$1"
cd "$1" || exit 1
failures=0
fail() {
  echo "FAIL: $*"
  failures=$((failures + 1))
}

for lanes in "" -DHAND_LANES=8; do
  SCALY_HAND_FLAG=$lanes "$BENCH" --way hand --quick --format json >run.json || fail "a gate $lanes"
  [ "$(grep -c '"way": "hand".*"gate": "ok"' run.json)" -ge 14 ] || fail "$(wc -l <run.json) rows $lanes"
done

for file in "$SOURCE"/../data/hand/*.c; do
  [ "${file##*/}" = matmul_blas.c ] && continue
  gcc -O1 -march=x86-64-v4 -Wall -Wextra -Werror -fPIC -c "$file" -o v4.o || fail "$file for AVX-512"
done
exit $((failures > 0))
