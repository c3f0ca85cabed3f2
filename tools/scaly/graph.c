/* Owns the drawing of expression graphs in the dot language. */
#include "tools/scaly/graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/scaly/report.h"

static void put_escaped(const char *s) {
  for (; *s; s++) {
    if (*s == '"' || *s == '\\') putchar('\\');
    putchar(*s);
  }
}

/* Operands precede users, so one sweep from the top id down finds it all. */
node_set graph_reach(const sc_function *f) {
  size_t n_in = sc_function_input_count(f), n_out = sc_function_output_count(f);
  node_set s = {0};
  for (size_t i = 0; i < n_in + n_out; i++) {
    sc_expr e = i < n_in ? sc_function_input(f, i) : sc_function_output(f, i - n_in);
    if (e.id >= s.n) s.n = (size_t)e.id + 1;
  }
  s.by_id = pool_alloc(s.n, sizeof *s.by_id);
  for (size_t i = 0; i < n_in + n_out; i++) {
    sc_expr e = i < n_in ? sc_function_input(f, i) : sc_function_output(f, i - n_in);
    s.by_id[e.id] = e;
  }
  for (size_t id = s.n; id--;) {
    if (sc_is_null(s.by_id[id])) continue;
    for (size_t k = 0; k < sc_expr_arg_count(s.by_id[id]); k++) {
      sc_expr arg = sc_expr_arg(s.by_id[id], k);
      s.by_id[arg.id] = arg;
    }
  }
  return s;
}

static bool put_node(sc_expr e) {
  char *attributes = sc_expr_attributes(e);
  if (!attributes) return false;
  printf("  n%" PRIu32 " [label=\"%s", e.id, sc_expr_op(e));
  /* Long index tables and constants would drown the picture. */
  printf("%s", *attributes ? " " : "");
  if (strlen(attributes) <= 60)
    put_escaped(attributes);
  else
    printf("{...}");
  printf("\\n%s", sc_dtype_name(sc_expr_dtype(e)));
  for (int d = 0; d < sc_expr_rank(e); d++) printf("%s%" PRId64, d ? "x" : " ", sc_expr_shape(e)[d]);
  printf("\"%s];\n", sc_expr_name(e) ? ", shape=box" : "");
  for (size_t k = 0; k < sc_expr_arg_count(e); k++)
    printf("  n%" PRIu32 " -> n%" PRIu32 ";\n", sc_expr_arg(e, k).id, e.id);
  sc_string_free(e.cx, attributes);
  return true;
}

bool write_dot(const sc_function *f) {
  node_set s = graph_reach(f);
  printf("digraph \"");
  put_escaped(sc_function_name(f));
  printf("\" {\n");
  for (size_t id = 0; id < s.n; id++)
    if (!sc_is_null(s.by_id[id]) && !put_node(s.by_id[id])) return false;
  for (size_t i = 0; i < sc_function_output_count(f); i++) {
    printf("  o%zu [label=\"", i);
    put_escaped(sc_function_output_name(f, i));
    printf("\", shape=doubleoctagon];\n  n%" PRIu32 " -> o%zu;\n", sc_function_output(f, i).id, i);
  }
  printf("}\n");
  return true;
}
