/* Owns the execution of programs: statements in order on simulated memory, with every promise that compiled code relies
 * on checked. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/program/program.h"
#include "tests/oracle/oracle.h"

enum { UNWRITTEN = 0xA5 };

/* A stretch of simulated memory; `written` has one byte per byte of data. */
typedef struct memory {
  unsigned char *data, *written;
  int64_t size;
} memory;

typedef struct binding {
  memory at;
  uint32_t frame; /* of the procedure call that bound the buffer */
  bool read_only;
} binding;

typedef struct machine {
  const sci_program *p;
  const sci_store *s;
  ora_run_options options;
  binding *bufs;
  sci_scalar *names, *memo;
  uint32_t *name_frame, *var_frame, *memo_epoch;
  int64_t *vars;
  uint32_t frame, frames, epoch;
  sci_val *stack;
  size_t stack_cap;
  const sci_proc *proc;
  jmp_buf broken;
  char *why;
  size_t why_size;
  void **owned; /* freed at the end, whatever happens */
  size_t n_owned, cap_owned;
} machine;

static _Noreturn void broken(machine *m, const char *fmt, ...) {
  int n = snprintf(m->why, m->why_size, "procedure %s: ", m->proc ? m->proc->name : "?");
  va_list ap;
  va_start(ap, fmt);
  if (n >= 0 && (size_t)n < m->why_size) vsnprintf(m->why + n, m->why_size - (size_t)n, fmt, ap);
  va_end(ap);
  longjmp(m->broken, 1);
}

static void *own(machine *m, size_t n, size_t size) {
  if (m->n_owned == m->cap_owned) {
    m->cap_owned = m->cap_owned ? 2 * m->cap_owned : 64;
    m->owned = realloc(m->owned, m->cap_owned * sizeof *m->owned);
    if (!m->owned) abort();
  }
  void *p = calloc(n ? n : 1, size);
  if (!p) abort();
  return m->owned[m->n_owned++] = p;
}

static void disown(machine *m, size_t keep) {
  while (m->n_owned > keep) free(m->owned[--m->n_owned]);
}

static memory new_memory(machine *m, int64_t size) {
  memory r = {own(m, (size_t)size, 1), own(m, (size_t)size, 1), size};
  memset(r.data, UNWRITTEN, (size_t)size);
  return r;
}

static memory window(machine *m, memory of, int64_t offset, int64_t size, const char *what) {
  if (offset < 0 || size < 0 || offset > of.size || size > of.size - offset)
    broken(m, "%s: bytes %" PRId64 " + %" PRId64 " exceed %" PRId64, what, offset, size, of.size);
  return (memory){of.data + offset, of.written + offset, size};
}

/* ---- values ---- */

static void push_value(machine *m, size_t *n, sci_val v) {
  if (*n == m->stack_cap) {
    m->stack_cap = m->stack_cap ? 2 * m->stack_cap : 256;
    m->stack = realloc(m->stack, m->stack_cap * sizeof *m->stack);
    if (!m->stack) abort();
  }
  m->stack[(*n)++] = v;
}

static sci_scalar leaf(machine *m, const sci_value *v) {
  if (v->kind == SCI_V_CONST) {
    sci_scalar r = {.bits = 0};
    uint32_t low = (uint32_t)v->bits;
    if (sc_dtype_size((sc_dtype)v->dtype) == 4)
      memcpy(&r, &low, 4);
    else if (v->dtype == SC_BOOL)
      r.b8 = v->bits != 0;
    else
      r.bits = v->bits;
    return r;
  }
  if (v->kind == SCI_V_NAME) {
    if (m->name_frame[v->args[0]] != m->frame) broken(m, "name %u read before it is defined", v->args[0]);
    return m->names[v->args[0]];
  }
  if (m->var_frame[v->args[0]] != m->frame) broken(m, "loop variable %u read outside its loop", v->args[0]);
  return (sci_scalar){.i64 = m->vars[v->args[0]]};
}

static sci_scalar operation(machine *m, const sci_value *v) {
  sci_op op = (sci_op)v->op;
  sci_scalar x[3] = {{.bits = 0}, {.bits = 0}, {.bits = 0}};
  for (int k = 0; k < sci_ops[op].arity; k++) x[k] = m->memo[v->args[k]];
  sc_dtype operand = (sc_dtype)m->s->values[v->args[op == SCI_OP_select ? 1 : 0]].dtype;
  if (op == SCI_OP_fma && !m->p->target.fast_fma) {
    x[0] = ora_scalar(SCI_OP_mul, operand, operand, x);
    x[1] = x[2];
    op = SCI_OP_add;
  }
  return ora_scalar(op, operand, (sc_dtype)v->dtype, x);
}

/* Operands first, on an explicit stack: values may be a million operations deep. Each is computed once per statement.
 */
static sci_scalar evaluate(machine *m, sci_val root) {
  size_t n = 0;
  push_value(m, &n, root);
  while (n) {
    sci_val id = m->stack[n - 1];
    const sci_value *v = &m->s->values[id];
    bool ready = true;
    if (v->kind == SCI_V_OP && m->memo_epoch[id] != m->epoch) {
      for (int k = 0; k < sci_ops[v->op].arity; k++) {
        if (m->memo_epoch[v->args[k]] == m->epoch) continue;
        push_value(m, &n, v->args[k]);
        ready = false;
      }
    }
    if (!ready) continue;
    n--;
    if (m->memo_epoch[id] == m->epoch) continue;
    m->memo[id] = v->kind == SCI_V_OP ? operation(m, v) : leaf(m, v);
    m->memo_epoch[id] = m->epoch;
  }
  return m->memo[root];
}

/* ---- memory ---- */

static const char *buffer_text(const machine *m, sci_buf b, char text[64]) {
  const char *hint = m->s->bufs[b].hint;
  snprintf(text, 64, "buffer %u (%.40s)", b, hint ? hint : "");
  return text;
}

/* The memory behind a buffer that the running procedure may use. */
static memory memory_of(machine *m, sci_buf b, bool write) {
  char text[64];
  const sci_buffer *buffer = &m->s->bufs[b];
  int64_t size = (int64_t)sc_dtype_size((sc_dtype)buffer->dtype);
  if (buffer->alias_of != SCI_NIL) {
    memory whole = memory_of(m, buffer->alias_of, write);
    return window(m, whole, buffer->alias_offset * size, buffer->size * size, buffer_text(m, b, text));
  }
  if (buffer->space == SCI_SPACE_CONSTANT) {
    if (write) broken(m, "store into constant %s", buffer_text(m, b, text));
    return (memory){(unsigned char *)(uintptr_t)buffer->data, NULL, buffer->size * size};
  }
  if (m->bufs[b].frame != m->frame) broken(m, "%s is not one of the procedure's", buffer_text(m, b, text));
  if (write && m->bufs[b].read_only) broken(m, "store into input %s", buffer_text(m, b, text));
  return m->bufs[b].at;
}

/* `count` elements of buffer b from an index value on. */
static memory elements(machine *m, sci_buf b, sci_val index, int64_t count, bool write) {
  char text[64];
  int64_t size = (int64_t)sc_dtype_size((sc_dtype)m->s->bufs[b].dtype), at = evaluate(m, index).i64;
  memory whole = memory_of(m, b, write);
  if (at < 0 || at > whole.size / size || count > whole.size / size - at)
    broken(m, "%s: elements %" PRId64 " + %" PRId64 " of %" PRId64, buffer_text(m, b, text), at, count,
           whole.size / size);
  return (memory){whole.data + at * size, whole.written ? whole.written + at * size : NULL, count * size};
}

static void run_load(machine *m, const sci_stmt *st) {
  char text[64];
  sc_dtype dtype = (sc_dtype)m->s->bufs[st->buf].dtype;
  memory at = elements(m, st->buf, st->index, 1, false);
  for (int64_t i = 0; at.written && i < at.size; i++)
    if (!at.written[i]) broken(m, "load of an element of %s that nothing wrote", buffer_text(m, st->buf, text));
  if (m->s->names[st->name].dtype != dtype) broken(m, "load into a name of another dtype");
  uint64_t element = 0; /* aligned, whatever the memory is */
  memcpy(&element, at.data, (size_t)at.size);
  m->names[st->name] = ora_load(dtype, &element, 0);
  m->name_frame[st->name] = m->frame;
}

static void run_store(machine *m, const sci_stmt *st) {
  sc_dtype dtype = (sc_dtype)m->s->bufs[st->buf].dtype;
  if (m->s->values[st->value].dtype != dtype) broken(m, "store of another dtype");
  memory at = elements(m, st->buf, st->index, 1, true);
  uint64_t element = 0;
  ora_store(dtype, &element, 0, evaluate(m, st->value));
  memcpy(at.data, &element, (size_t)at.size);
  memset(at.written, 1, (size_t)at.size);
}

static void run_assign(machine *m, const sci_stmt *st) {
  if (!st->declare && (!m->s->names[st->name].is_mutable || m->name_frame[st->name] != m->frame))
    broken(m, "assignment to name %u, which is not a mutable name declared before", st->name);
  m->names[st->name] = evaluate(m, st->value);
  m->name_frame[st->name] = m->frame;
}

/* ---- statements ---- */

static void run_block(machine *m, sci_block b, memory workspace);
static void run_proc(machine *m, const sci_proc *proc, const memory *params, memory workspace);

static void run_loop(machine *m, const sci_loop *loop, memory workspace) {
  int64_t trips = sci_loop_trips(loop);
  bool reverse = m->options.reverse && (loop->kind == SCI_LOOP_INDEPENDENT || loop->kind == SCI_LOOP_VECTOR);
  for (int64_t k = 0; k < trips; k++) {
    m->vars[loop->var] = loop->start + (reverse ? trips - 1 - k : k) * loop->step;
    m->var_frame[loop->var] = m->frame;
    run_block(m, loop->body, workspace);
  }
  m->var_frame[loop->var] = 0;
}

static bool overlap(memory a, memory b) {
  return a.size > 0 && b.size > 0 && a.data < b.data + b.size && b.data < a.data + a.size;
}

static void run_call(machine *m, const sci_call *call, memory workspace) {
  const sci_proc *callee = m->p->procs[call->proc];
  if (call->n != callee->n_in + callee->n_out) broken(m, "call of %s with %u views", callee->name, call->n);
  size_t mark = m->n_owned;
  memory *params = own(m, call->n, sizeof *params);
  for (uint32_t k = 0; k < call->n; k++) {
    const sci_buffer *formal = &m->s->bufs[callee->params[k]];
    if (formal->dtype != m->s->bufs[call->views[k].buf].dtype)
      broken(m, "call of %s: view %u has another dtype", callee->name, k);
    params[k] = elements(m, call->views[k].buf, call->views[k].index, formal->size, k >= callee->n_in);
  }
  for (uint32_t o = callee->n_in; o < call->n; o++)
    for (uint32_t k = 0; k < call->n; k++)
      if (k != o && overlap(params[o], params[k]))
        broken(m, "call of %s: output view %u overlaps view %u", callee->name, o, k);
  const sci_proc *caller = m->proc;
  uint32_t frame = m->frame;
  memory rest =
      window(m, workspace, caller->workspace_self, workspace.size - caller->workspace_self, "workspace of a callee");
  run_proc(m, callee, params, rest);
  m->proc = caller;
  m->frame = frame;
  disown(m, mark);
}

static void run_block(machine *m, sci_block b, memory workspace) {
  for (uint32_t i = 0; i < b.n; i++) {
    const sci_stmt *st = &b.stmts[i];
    m->epoch++;
    switch ((sci_stmt_kind)st->kind) {
    case SCI_S_LOAD: run_load(m, st); break;
    case SCI_S_STORE: run_store(m, st); break;
    case SCI_S_ASSIGN: run_assign(m, st); break;
    case SCI_S_LOOP: run_loop(m, st->loop, workspace); break;
    case SCI_S_CALL: run_call(m, st->call, workspace); break;
    }
  }
}

/* Locals live where packing put them: in the procedure's window of the workspace, or in its stack slots. Unpacked ones
 * have memory of their own. */
static void bind_locals(machine *m, const sci_proc *proc, memory own_window) {
  char text[64];
  memory slots = new_memory(m, proc->stack_self);
  for (uint32_t k = 0; k < proc->n_locals; k++) {
    const sci_local *local = &proc->locals[k];
    const sci_buffer *buffer = &m->s->bufs[local->buf];
    int64_t bytes = buffer->size * (int64_t)sc_dtype_size((sc_dtype)buffer->dtype);
    memory at = local->offset < 0 ? new_memory(m, bytes)
                                  : window(m, local->in_workspace ? own_window : slots, local->offset, bytes,
                                           buffer_text(m, local->buf, text));
    m->bufs[local->buf] = (binding){at, m->frame, false};
  }
}

static void run_proc(machine *m, const sci_proc *proc, const memory *params, memory workspace) {
  size_t mark = m->n_owned;
  m->proc = proc;
  m->frame = ++m->frames;
  for (uint32_t k = 0; k < proc->n_in + proc->n_out; k++)
    m->bufs[proc->params[k]] = (binding){params[k], m->frame, k < proc->n_in};
  memory own_window = window(m, workspace, 0, proc->workspace_self, "workspace");
  memset(own_window.data, UNWRITTEN, (size_t)own_window.size);
  memset(own_window.written, 0, (size_t)own_window.size);
  bind_locals(m, proc, own_window);
  run_block(m, proc->body, workspace);
  disown(m, mark);
}

static void run_entry(machine *m, const void *const *in, void *const *out) {
  const sci_proc *entry = sci_entry(m->p);
  memory *params = own(m, entry->n_in + entry->n_out, sizeof *params);
  for (uint32_t k = 0; k < entry->n_in + entry->n_out; k++) {
    const sci_buffer *buffer = &m->s->bufs[entry->params[k]];
    params[k] = new_memory(m, buffer->size * (int64_t)sc_dtype_size((sc_dtype)buffer->dtype));
    if (k >= entry->n_in || !params[k].size) continue;
    memcpy(params[k].data, in[k], (size_t)params[k].size);
    memset(params[k].written, 1, (size_t)params[k].size);
  }
  run_proc(m, entry, params, new_memory(m, entry->workspace_total));
  for (uint32_t k = entry->n_in; k < entry->n_in + entry->n_out; k++) {
    for (int64_t i = 0; i < params[k].size; i++)
      if (!params[k].written[i]) broken(m, "output %u is not written at byte %" PRId64, k - entry->n_in, i);
    if (params[k].size) memcpy(out[k - entry->n_in], params[k].data, (size_t)params[k].size);
  }
}

bool ora_run_program(const sc_program *p, const void *const *in, void *const *out, const ora_run_options *options,
                     char *why, size_t why_size) {
  machine *m = calloc(1, sizeof *m);
  if (!m) abort();
  *m = (machine){.p = p, .s = p->store, .why = why, .why_size = why_size};
  if (options) m->options = *options;
  m->bufs = own(m, m->s->n_bufs, sizeof *m->bufs);
  m->names = own(m, m->s->n_names, sizeof *m->names);
  m->name_frame = own(m, m->s->n_names, sizeof *m->name_frame);
  m->vars = own(m, m->s->n_vars, sizeof *m->vars);
  m->var_frame = own(m, m->s->n_vars, sizeof *m->var_frame);
  m->memo = own(m, m->s->n_values, sizeof *m->memo);
  m->memo_epoch = own(m, m->s->n_values, sizeof *m->memo_epoch);
  volatile bool fine = false;
  if (!setjmp(m->broken)) {
    run_entry(m, in, out);
    fine = true;
  }
  disown(m, 0);
  free(m->owned);
  free(m->stack);
  free(m);
  return fine;
}
