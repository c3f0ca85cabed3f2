#!/bin/sh
# Predicts, by llvm-mca, what a stage costs in the longest loop of a kernel that the LLVM backend makes for AVX-512: cycles per iteration of the
# loop, and per stage, with 1, 4 and 8 lanes. Everything is taken to be in the level-1 cache, and calls to cost nothing. By hand, anywhere.
#   predict.sh SCALY FILE REQUEST [CPU...]      CPU: as llvm-mca -mcpu names them
scaly=$1 file=$2 request=$3
shift 3
[ $# -gt 0 ] || set -- skylake-avx512 sapphirerapids znver4
mca=$(command -v llvm-mca-19 || command -v llvm-mca) || exit 77
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
for lanes in 1 4 8; do
  "$scaly" export "$file" -o "$folder" --out "$request" --name kernel --cpu x86-64-v4 --lanes $lanes --vector-libm glibc --emit obj >/dev/null || exit 1
  # The longest loop with no other within, without its jumps and calls.
  objdump -d --no-show-raw-insn "$folder/kernel.o" | awk '
    function finish(  i, part, from, s, e, j) {
      for (i = 1; i <= n; i++) {
        split(text[i], part, /[ \t]+/)
        if (text[i] ~ /^j/ && (part[2] in place) && place[part[2]] <= i) end[place[part[2]]] = i
      }
      for (s in end) {
        for (j = s + 1; j <= end[s] && !(j in end); j++) continue
        if (j <= end[s] || end[s] - s < best) continue
        best = end[s] - s
        kept = ""
        for (j = s + 0; j <= end[s]; j++) if (text[j] !~ /^(j|call)/) kept = kept text[j] "\n"
      }
      for (s in end) delete end[s]
      for (s in place) delete place[s]
      n = 0
    }
    /^[0-9a-f]+ <.*>:$/ { finish() }
    /^[ \t]*[0-9a-f]+:/ {
      n++
      place[substr($1, 1, length($1) - 1)] = n
      sub(/^[ \t]*[0-9a-f]+:[ \t]+/, "")
      sub(/[ \t]+#.*/, "")
      text[n] = $0
    }
    END { finish(); printf "%s", kept }' >"$folder/loop.s"
  for cpu; do
    "$mca" -mtriple=x86_64-linux-gnu -mcpu="$cpu" -iterations=50 "$folder/loop.s" 2>/dev/null | awk -v cpu="$cpu" -v lanes=$lanes '
      /^Iterations:/ { n = $2 }
      /^Instructions:/ { instructions = $2 / n }
      /^Total Cycles:/ { printf "%-16s %d lanes  %6d instructions  %8.1f cycles  %8.1f per stage\n", cpu, lanes, instructions, $3 / n, $3 / n / lanes; exit }'
  done
done
