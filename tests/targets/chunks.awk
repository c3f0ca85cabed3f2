# Judges the loops in lanes of one object file, read from objdump -dr --no-show-raw-insn: an innermost loop with arithmetic on whole vectors
# computes nothing in scalars, takes no vector apart but to store single elements, and calls only vector routines. (An element moved down within
# a register is no fault by itself: transpositions do that. What is done with it is one.)
#   -v wide=zmm or ymm   -v singles=MOST: loads and stores of single elements, in each loop   -v uniform=MOST: scalar operations, in each loop
# Prints what is wrong, then how many loops there were; exit code 1 if anything is wrong or there was no such loop.
function judge(first, last,    i, t, op, packed, scalar, moved, bad, calls) {
  packed = scalar = moved = 0
  for (i = first; i <= last; i++) {
    t = text[i]
    op = t
    sub(/[ \t].*/, "", op)
    if (op ~ /^v(add|sub|mul|div|sqrt|min|max|fn?m(add|sub)[0-9]+)p[sd]$/ && index(t, "%" wide)) packed++
  }
  if (!packed) return
  loops++
  for (i = first; i <= last; i++) {
    t = text[i]
    op = t
    sub(/[ \t].*/, "", op)
    bad = ""
    if (op ~ /^v?(add|sub|mul|div|sqrt|min|max|round|rndscale|fn?m(add|sub)[0-9]+|cmp[a-z_]*|u?comi|rcp14|rsqrt14|cvt[a-z0-9]*)s[sd]$/) {
      if (++scalar > uniform) bad = "scalar arithmetic"
    } else if (op ~ /^v?mov(([lh]p|s)[sd]|[qd])$/ && t ~ /\(/ && t ~ /%xmm/) {
      if (++moved > singles) bad = "loads or stores of single elements, more than " singles
    } else if (op ~ /^v?(pextr|pinsr|insertps|extractps|movhlps|movlhps)/ || op ~ /^v?(gather|pgather|scatter|pscatter)/)
      bad = "lane by lane"
    else if (op ~ /^v?movs[sd]$/)
      bad = "a single element put in"
    else if (op ~ /^call/ && called[i] !~ /^(_ZGV|Sleef_)/)
      bad = "a call of " (called[i] == "" ? "something" : called[i])
    if (bad != "") {
      wrong++
      if (wrong <= 8) print "  " name ", loop at " at[first] ": " bad ": " at[i] " " t
    }
  }
}
# All backward jumps to one place are one loop; innermost: no other loop begins within.
function finish(    i, j, target, inner, s) {
  for (i = 1; i <= n; i++) {
    if (text[i] !~ /^j[a-z]+[ \t]/) continue
    split(text[i], part, /[ \t]+/)
    target = part[2]
    if ((target in place) && place[target] <= i) end[place[target]] = i
  }
  for (s = 1; s <= n; s++) {
    if (!(s in end)) continue
    inner = 1
    for (j = s + 1; j <= end[s] && inner; j++) if (j in end) inner = 0
    if (inner) judge(s, end[s])
  }
  for (i in end) delete end[i]
  for (i in place) delete place[i]
  for (i in called) delete called[i]
  n = 0
}
/^[0-9a-f]+ <.*>:$/ {
  finish()
  name = $2
  next
}
/^[ \t]+[0-9a-f]+:[ \t]+R_/ {
  sub(/[-+]0x[0-9a-f]+$/, "", $3)
  called[n] = $3
  next
}
/^[ \t]*[0-9a-f]+:/ {
  n++
  at[n] = $1
  sub(/:$/, "", at[n])
  text[n] = $0
  sub(/^[ \t]*[0-9a-f]+:[ \t]+/, "", text[n])
  place[at[n]] = n
}
END {
  finish()
  printf "  %d loops in lanes, %d wrong\n", loops, wrong
  exit wrong > 0 || loops == 0
}
