/* Owns reading the plan back from LLVM text: blocks that branch back to themselves or an earlier block are loops. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/plan/plan.h"

/* A line, without its indentation. */
typedef struct line {
  const char *s;
  size_t n;
} line;

typedef struct open_loop {
  char label[64];
  int node;
  char next[64]; /* the value that the variable has in the next trip */
} open_loop;

typedef struct reader {
  plan *out;
  line *lines;
  size_t n;
  int proc, node;
  open_loop loops[64];
  int depth;
} reader;

static bool starts(line l, const char *what) {
  size_t n = strlen(what);
  return l.n >= n && !memcmp(l.s, what, n);
}

static const char *find(line l, const char *what) {
  size_t n = strlen(what);
  for (size_t i = 0; i + n <= l.n; i++)
    if (!memcmp(l.s + i, what, n)) return l.s + i;
  return NULL;
}

static void split(reader *r, const char *text) {
  size_t cap = 0;
  while (*text) {
    const char *s = text + strspn(text, " ");
    size_t n = strcspn(s, "\n");
    if (r->n == cap) {
      cap = cap ? 2 * cap : 1024;
      r->lines = realloc(r->lines, cap * sizeof *r->lines);
      if (!r->lines) abort();
    }
    r->lines[r->n++] = (line){s, n};
    text = s + n + (s[n] == '\n');
  }
}

/* "label:" -> its name. */
static bool label_of(line l, char out[64]) {
  size_t n = 0;
  while (n < l.n && l.s[n] != ':' && l.s[n] != ' ') n++;
  if (!n || n == l.n || l.s[n] != ':' || n > 63) return false;
  memcpy(out, l.s, n);
  out[n] = 0;
  return true;
}

/* Whether a branch to `label` follows before the function ends. */
static bool comes_back(const reader *r, size_t from, const char *label) {
  char target[80];
  size_t n = (size_t)snprintf(target, sizeof target, "label %%%s", label);
  for (size_t i = from; i < r->n && !starts(r->lines[i], "}"); i++) {
    const char *at = starts(r->lines[i], "br ") ? find(r->lines[i], target) : NULL;
    size_t rest = at ? r->lines[i].n - (size_t)(at - r->lines[i].s) : 0;
    if (at && (rest == n || at[n] == ',' || at[n] == ' ')) return true;
  }
  return false;
}

/* The loop's variable is the first phi of its first block: "%i = phi i64 [ start, %before ], [ %next, %latch ]". */
static bool read_variable(open_loop *loop, plan_node *node, line l) {
  const char *value = find(l, "phi i64 [ ");
  const char *next = value ? find(l, "], [ ") : NULL;
  if (!next) return false;
  node->start = strtoll(value + strlen("phi i64 [ "), NULL, 10);
  return sscanf(next + strlen("], [ "), "%63[^, ]", loop->next) == 1;
}

static bool enter_loop(reader *r, size_t at, const char *label) {
  if (r->depth == 64) return false;
  open_loop *loop = &r->loops[r->depth++];
  snprintf(loop->label, sizeof loop->label, "%s", label);
  loop->node = plan_open(r->out, r->node);
  r->node = loop->node;
  return at + 1 < r->n && read_variable(loop, &r->out->nodes[loop->node], r->lines[at + 1]);
}

/* "%next = add nuw nsw i64 %i, step" and "icmp eq i64 %next, stop" tell step and trips. */
static void read_bounds(reader *r, line l) {
  if (!r->depth) return;
  open_loop *loop = &r->loops[r->depth - 1];
  plan_node *node = &r->out->nodes[loop->node];
  char defined[70], tested[80];
  snprintf(defined, sizeof defined, "%s = add ", loop->next);
  snprintf(tested, sizeof tested, "icmp eq i64 %s, ", loop->next);
  const char *comma = starts(l, defined) ? find(l, ", ") : NULL, *stop = find(l, tested);
  if (comma) node->step = strtoll(comma + 2, NULL, 10);
  if (stop && node->step) node->trips = (strtoll(stop + strlen(tested), NULL, 10) - node->start) / node->step;
}

static void leave_loops(reader *r, line l) {
  char target[80];
  while (r->depth) {
    snprintf(target, sizeof target, "label %%%s", r->loops[r->depth - 1].label);
    const char *at = find(l, target);
    size_t n = strlen(target), rest = at ? l.n - (size_t)(at - l.s) : 0;
    if (!at || (rest > n && at[n] != ',' && at[n] != ' ')) return;
    r->node = r->out->nodes[r->loops[--r->depth].node].parent;
  }
}

static void read_call(reader *r, line l) {
  const char *at = find(l, "@");
  size_t n = 0, rest = l.n - (size_t)(at - l.s);
  if (rest < 2) return;
  for (at++; n + 1 < rest && at[n] != '(' && at[n] != '"'; n++) {
  }
  int op = plan_routine(r->out, at, n);
  if (op >= 0) r->out->nodes[r->node].calls[op]++;
  if (n >= 6 && !memcmp(at, "sincos", 6)) { /* one call for neighbours of the program */
    r->out->nodes[r->node].calls[SCI_OP_sin]++;
    r->out->nodes[r->node].calls[SCI_OP_cos]++;
  }
  if (n > 4 && !memcmp(at + n - 4, ".raw", 4)) r->out->nodes[r->node].procs++;
}

static void read_lanes(reader *r, line l) {
  const char *at = find(l, "<");
  int lanes = at ? atoi(at + 1) : 0;
  if (lanes > r->out->nodes[r->node].lanes && find(l, " x ")) r->out->nodes[r->node].lanes = lanes;
}

static bool read_line(reader *r, size_t i) {
  line l = r->lines[i];
  char label[64];
  if (starts(l, "define ")) {
    r->proc = r->node = plan_open(r->out, -1);
    r->depth = 0;
    return true;
  }
  if (r->proc < 0 || !l.n) return true;
  if (starts(l, "}")) {
    r->proc = -1;
    return r->depth == 0;
  }
  if (label_of(l, label)) return !comes_back(r, i, label) || enter_loop(r, i, label);
  read_bounds(r, l);
  if (find(l, "call ") && find(l, "@")) read_call(r, l);
  if (find(l, "frem ")) r->out->nodes[r->node].calls[SCI_OP_fmod]++;
  if (find(l, " x double>") || find(l, " x float>")) read_lanes(r, l);
  if (starts(l, "br ")) leave_loops(r, l);
  return true;
}

bool plan_of_llvm(plan *out, const char *text) {
  reader r = {.out = out, .proc = -1};
  bool ok = true;
  split(&r, text);
  for (size_t i = 0; i < r.n && ok; i++) {
    ok = read_line(&r, i);
    if (!ok)
      fprintf(stderr, "line %zu of the LLVM text is not what a loop looks like: %.*s\n", i + 1, (int)r.lines[i].n,
              r.lines[i].s);
  }
  free(r.lines);
  return ok;
}
