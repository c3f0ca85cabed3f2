# The report and the command's plots in a headless browser: every plot drawn, with axes, legend and data, inside its frame; no console
# error. The same examination must notice a plot without data and an error.
set -u
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || { echo "no browser here"; exit 77; }
rm -rf "$1"
mkdir -p "$1"
cd "$1" || exit 1
failures=0
fail() {
  echo "FAIL: $*"
  failures=$((failures + 1))
}

# Opens FILE with the examination appended; its findings in ./result, the browser's log in ./log.
examine() {
  { cat "$1"; cat "$SOURCE/examine.html"; } >page.html
  rm -rf profile
  timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
    --disable-component-update --disable-sync --user-data-dir="$PWD/profile" --enable-logging=stderr --dump-dom \
    "file://$PWD/page.html" >dom 2>log
  rm -rf profile
  sed -n 's/.*<pre id="findings">\([^<]*\)<\/pre>.*/\1/p' dom >result
}
clean() {
  examine "$1"
  [ "$(cat result)" = "$2" ] || fail "$1: $(cat result; tail -3 log)"
  if grep -i 'CONSOLE' log; then fail "$1: the console is not empty"; fi
}

"$BENCH" --quick --only "wave" --report report.html >/dev/null || fail "no report"
grep -Eq '(src|href)=' report.html && fail "the report refers to something outside"
# Two kernels, three quantities each, and two speedups or three.
plots=$(grep -c 'class="plot"' report.html)
[ "$plots" -ge 8 ] || fail "only $plots plots"
clean report.html "$plots plots, 0 problems"

printf 'expr.func @f(%%x: tensor<9xfloat64>) -> (%%y) { return sum(sin(%%x)) }\n' >f.scaly
"$SCALY" compare f.scaly --plot compare.html >/dev/null || fail "no plot of compare"
clean compare.html "3 plots, 0 problems"

# Able to fail.
sed -E 's/class="point[^"]*"/class="lost"/g' compare.html >pointless.html
examine pointless.html
grep -q '3 plots, 3 problems' result || fail "plots without data go unseen: $(cat result)"
sed -E 's/<text x="10.0" y="18.0"/<text x="-90" y="18"/' compare.html >outside.html
examine outside.html
grep -q '3 plots, 3 problems' result || fail "text outside goes unseen: $(cat result)"
{ cat compare.html; echo '<script>nothing.at.all()</script>'; } >broken.html
examine broken.html
grep -qi 'CONSOLE' log || fail "a console error goes unseen"
exit $((failures > 0))
