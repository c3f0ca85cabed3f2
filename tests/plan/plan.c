/* Owns plans as data: building them, and the text by which they are compared. */
#include "tests/plan/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int plan_open(plan *p, int parent) {
  if (p->n == p->cap) {
    p->cap = p->cap ? 2 * p->cap : 16;
    p->nodes = realloc(p->nodes, (size_t)p->cap * sizeof *p->nodes);
    if (!p->nodes) abort();
  }
  p->nodes[p->n] = (plan_node){.parent = parent, .lanes = 1};
  return p->n++;
}

int plan_routine(const plan *p, const char *name, size_t n) {
  static const char *const fmas[] = {"fma", "fmaf", "__builtin_fma", "__builtin_fmaf", "llvm.fma.f64", "llvm.fma.f32"};
  for (size_t i = 0; i < sizeof fmas / sizeof *fmas; i++)
    if (strlen(fmas[i]) == n && !memcmp(fmas[i], name, n)) return p->fma ? SCI_OP_fma : -1;
  for (int with_f = 0; with_f < 2; with_f++) {
    if (with_f && (n < 2 || name[n - 1] != 'f')) return -1;
    int op = sci_op_find(name, n - (size_t)with_f);
    if (op >= 0 && sci_ops[op].traits & SCI_LIBM) return op;
  }
  return -1;
}

static int depth_of(const plan *p, int i) {
  int depth = 0;
  while ((i = p->nodes[i].parent) >= 0) depth++;
  return depth;
}

char *plan_text(const plan *p) {
  size_t n = 0, cap = 1024 + (size_t)p->n * 1024;
  char *text = malloc(cap);
  if (!text) abort();
  text[0] = 0;
  for (int i = 0; i < p->n; i++) {
    const plan_node *node = &p->nodes[i];
    if (node->parent < 0)
      n += (size_t)snprintf(text + n, cap - n, "proc");
    else
      n += (size_t)snprintf(text + n, cap - n, "%*sloop from %lld step %lld trips %lld lanes %d", 2 * depth_of(p, i),
                            "", (long long)node->start, (long long)node->step, (long long)node->trips, node->lanes);
    if (node->procs) n += (size_t)snprintf(text + n, cap - n, " procs=%d", node->procs);
    for (int op = 0; op < SCI_OP_COUNT; op++)
      if (node->calls[op]) n += (size_t)snprintf(text + n, cap - n, " %s=%d", sci_ops[op].name, node->calls[op]);
    n += (size_t)snprintf(text + n, cap - n, "\n");
  }
  return text;
}

void plan_free(plan *p) {
  free(p->nodes);
  *p = (plan){.fma = p->fma};
}
