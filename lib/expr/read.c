/* Owns what can be asked of operations and nodes without building anything: names, texts for messages, constant values.
 */
#include "lib/base/text.h"
#include "lib/expr/expr.h"

static const char *const names[SCI_X_END] = {
#define SCI_OP(name, ...) [SCI_OP_##name] = #name,
#include "lib/ops/ops.def"
#undef SCI_OP
#define SCI_XOP(name, ...) [SCI_X_##name] = #name,
#include "lib/expr/expr_ops.def"
#undef SCI_XOP
};

const char *sci_xop_name(unsigned op) {
  return op < SCI_X_END ? names[op] : "?";
}

int sci_xop_find(const char *name, size_t n) {
  for (int op = 0; op < SCI_X_END; op++) {
    if (op < SCI_OP_COUNT && (sci_ops[op].traits & SCI_PROGRAM)) continue;
    if (strlen(names[op]) == n && !memcmp(names[op], name, n)) return op;
  }
  return -1;
}

bool sci_is_elementwise(unsigned op) {
  return op < SCI_OP_COUNT;
}

static void put_shape(sci_text *t, int rank, const int64_t *shape) {
  for (int i = 0; i < rank; i++) {
    if (i) sci_put_char(t, 'x');
    sci_put_int(t, shape[i]);
  }
}

const char *sci_shape_text(sc_context *cx, int rank, const int64_t *shape) {
  sci_text t;
  sci_text_init(&t, &cx->env.scratch);
  if (!rank) sci_put(&t, "scalar");
  put_shape(&t, rank, shape);
  return t.data;
}

const char *sci_type_text(sc_context *cx, sci_id id) {
  const sci_type *y = sci_type_of(cx, id);
  sci_text t;
  sci_text_init(&t, &cx->env.scratch);
  sci_put(&t, "tensor<");
  put_shape(&t, y->rank, y->shape);
  if (y->rank) sci_put_char(&t, 'x');
  sci_put(&t, sc_dtype_name(y->dtype));
  sci_put(&t, y->diff ? " diff>" : ">");
  return t.data;
}

bool sci_const_value(const sc_context *cx, sci_id id, sci_scalar *out) {
  const sci_node *n = sci_node_at(cx, id);
  if (n->op == SCI_X_broadcast) n = sci_node_at(cx, n->args[0]);
  if (n->op != SCI_X_const || cx->types[n->type].rank) return false;
  *out = sci_scalar_load(cx->types[n->type].dtype, cx->blobs[n->attr].data, 0);
  return true;
}

bool sci_is_const_number(const sc_context *cx, sci_id id, double v) {
  sci_scalar s;
  return sci_const_value(cx, id, &s) && sci_scalar_is(sci_type_of(cx, id)->dtype, s, v);
}
