/* Owns procedures: their frames, where each buffer's storage is, the entry's interface, and the image of several
 * programs. */
#include "backends/x86/x86.h"

enum { ARG = RDI, RES = RSI, W = RCX }; /* of the entry; a callee has one pointer, to its arguments' */

/* ---- storage ---- */

static void bind(sci_x86 *x, sci_buf buf, sci_x86_mem pointer, bool is_direct, int64_t offset) {
  x->storages[buf] = (sci_x86_storage){.pointer = pointer, .is_direct = is_direct, .known = true, .offset = offset};
}

static void bind_locals(sci_x86 *x, const sci_proc *p) {
  uint32_t area = sci_x86_room(x, p->stack_self, 64);
  for (uint32_t i = 0; i < p->n_locals; i++) {
    const sci_local *l = &p->locals[i];
    const sci_buffer *b = &x->store->bufs[l->buf];
    int64_t bytes = b->size * sci_local_unit(x->store, l);
    if (l->offset < 0)
      bind(x, l->buf, sci_x86_frame_at(sci_x86_room(x, bytes, 64)), true, 0);
    else if (l->in_workspace)
      bind(x, l->buf, x->workspace.pointer, false, l->offset);
    else
      bind(x, l->buf, sci_x86_frame_at(area), true, l->offset);
  }
}

/* The most arguments of a call in the block. */
static uint32_t most_arguments(const sci_x86 *x, sci_block b) {
  uint32_t most = 0;
  for (uint32_t i = 0; i < b.n; i++) {
    uint32_t n = 0;
    if (b.stmts[i].kind == SCI_S_CALL) n = b.stmts[i].call->n + 1;
    if (b.stmts[i].kind == SCI_S_LOOP) n = most_arguments(x, b.stmts[i].loop->body);
    if (n > most) most = n;
  }
  return most;
}

/* ---- frames ---- */

/* Returns where the frame's size is to be patched in. */
static uint32_t begin(sci_x86 *x, const sci_proc *p) {
  sci_x86_asm *a = &x->a;
  x->frame = 0;
  x->call_area = sci_x86_room(x, 8 * (int64_t)most_arguments(x, p->body), 8);
  x->scopes.n = 0;
  sci_vec_push(&x->env->scratch, &x->scopes, ++x->scope_ids);
  sci_x86_forget(x);
  sci_x86_byte(a, 0x50 + RBP);
  sci_x86_rr(a, 0x89, RSP, RBP);
  sci_x86_byte(a, 0x50 + RBX);
  sci_x86_rr(a, 0x81, 5, RSP);
  uint32_t at = (uint32_t)a->code.n;
  sci_x86_word(a, 0);
  sci_x86_rr(a, 0x83, 4, RSP);
  sci_x86_byte(a, 0xC0); /* -64: aligned for any vector */
  return at;
}

static void leave(sci_x86 *x) {
  sci_x86_asm *a = &x->a;
  sci_x86_rm(a, 0x8D, RSP, &(sci_x86_mem){RBP, SCI_X86_NO_INDEX, 0, false, -8, 0}, 0);
  sci_x86_byte(a, 0x58 + RBX);
  sci_x86_byte(a, 0x58 + RBP);
  sci_x86_byte(a, 0xC3);
}

static void set_frame(sci_x86 *x, uint32_t at) {
  uint32_t size = (x->frame + 63) & ~63u;
  memcpy(x->a.code.data + at, &size, sizeof size);
}

static void align_code(sci_x86 *x) {
  while (x->a.code.n % 16) sci_x86_byte(&x->a, 0xCC);
}

/* Where the code of a procedure begins, to spell it again from there. */
typedef struct start {
  size_t code, fixups;
} start;

static start start_of(sci_x86 *x) {
  align_code(x);
  sci_x86_lives_begin(x);
  return (start){x->a.code.n, x->a.fixups.n};
}

static bool again(sci_x86 *x, start s) {
  if (!sci_x86_lives_replay(x)) return false;
  x->a.code.n = s.code;
  x->a.fixups.n = s.fixups;
  return true;
}

static void spell_callee(sci_x86 *x, const sci_proc *p) {
  uint32_t n = p->n_in + p->n_out, size = begin(x, p);
  sci_x86_rr(&x->a, 0x89, RDI, RBX);
  for (uint32_t i = 0; i <= n; i++) {
    sci_x86_mem m = {RBX, SCI_X86_NO_INDEX, 0, false, (int32_t)(8 * i), 0};
    if (i < n)
      bind(x, p->params[i], m, false, 0);
    else
      x->workspace.pointer = m;
  }
  bind_locals(x, p);
  sci_x86_block(x, p->body);
  leave(x);
  set_frame(x, size);
}

static void emit_callee(sci_x86 *x, uint32_t index) {
  start s = start_of(x);
  x->proc = index;
  x->proc_at[index] = (uint32_t)s.code;
  do spell_callee(x, x->program->procs[index]);
  while (again(x, s));
}

/* ---- the entry: its checks in the order of the exported C ---- */

typedef struct exits {
  SCI_VEC(uint32_t) jumps[SC_KERNEL_ERR_NULL_INPUT + 1]; /* by status */
} exits;

/* Leaves with the status if the register is 0. */
static void check(sci_x86 *x, int reg, int status, exits *e) {
  sci_x86_rr(&x->a, 0x85, reg, reg);
  sci_x86_byte(&x->a, 0x0F);
  sci_x86_byte(&x->a, 0x84);
  sci_vec_push(&x->env->scratch, &e->jumps[status], (uint32_t)x->a.code.n);
  sci_x86_word(&x->a, 0);
}

static void bind_port(sci_x86 *x, const sci_proc *p, uint32_t i, exits *e) {
  bool in = i < p->n_in;
  sci_buf buf = p->params[i];
  sci_x86_mem from = {in ? ARG : RES, SCI_X86_NO_INDEX, 0, false, (int32_t)(8 * (in ? i : i - p->n_in)), 0};
  sci_x86_mem to = sci_x86_frame_at(sci_x86_room(x, 8, 8));
  bind(x, buf, to, false, 0);
  if (!x->store->bufs[buf].size) return;
  sci_x86_rm(&x->a, 0x8B, RAX, &from, 0);
  check(x, RAX, in ? SC_KERNEL_ERR_NULL_INPUT : SC_KERNEL_ERR_NULL_RESULT, e);
  sci_x86_rm(&x->a, 0x89, RAX, &to, 0);
}

static void put_exits(sci_x86 *x, exits *e) {
  for (int status = 1; status <= SC_KERNEL_ERR_NULL_INPUT; status++) {
    if (!e->jumps[status].n) continue;
    for (size_t i = 0; i < e->jumps[status].n; i++)
      sci_x86_patch(&x->a, e->jumps[status].data[i], (uint32_t)x->a.code.n);
    sci_x86_set(&x->a, RAX, status);
    leave(x);
  }
}

static void spell_entry(sci_x86 *x, const sci_proc *p) {
  exits e = {0};
  uint32_t size = begin(x, p);
  check(x, ARG, SC_KERNEL_ERR_NULL_ABI, &e);
  check(x, RES, SC_KERNEL_ERR_NULL_ABI, &e);
  if (p->workspace_total) {
    x->workspace.pointer = sci_x86_frame_at(sci_x86_room(x, 8, 8));
    check(x, W, SC_KERNEL_ERR_NULL_WORK, &e);
    sci_x86_rm(&x->a, 0x89, W, &x->workspace.pointer, 0);
  }
  for (uint32_t i = 0; i < p->n_in + p->n_out; i++) bind_port(x, p, i, &e);
  bind_locals(x, p);
  sci_x86_block(x, p->body);
  sci_x86_set(&x->a, RAX, SC_KERNEL_SUCCESS);
  leave(x);
  put_exits(x, &e);
  set_frame(x, size);
}

static uint32_t emit_entry(sci_x86 *x) {
  start s = start_of(x);
  x->proc = x->program->n_procs - 1;
  do spell_entry(x, sci_entry(x->program));
  while (again(x, s));
  return (uint32_t)s.code;
}

/* ---- programs ---- */

static bool has(const char *features, const char *name) {
  size_t n = strlen(name);
  for (const char *f = features; f && *f; f = strchr(f, ',') ? strchr(f, ',') + 1 : NULL)
    if (!strncmp(f, name, n) && (f[n] == ',' || !f[n])) return true;
  return false;
}

static const char *refusal_of(const sc_target *t) {
  bool older = t->isa != SC_ISA_X86_64_V3 && t->isa != SC_ISA_X86_64_V4;
  if (older || has(t->features, "-avx") || has(t->features, "-avx2") || has(t->features, "-fma"))
    return "the processor has no AVX2";
  return NULL;
}

static uint32_t emit_program(sci_x86 *x, const sci_program *p) {
  sci_arena *scratch = &x->env->scratch;
  x->program = p;
  x->store = p->store;
  x->values = SCI_ZEROS(scratch, sci_x86_place, p->store->n_values);
  x->names = SCI_ZEROS(scratch, sci_x86_place, p->store->n_names);
  x->vars = SCI_ZEROS(scratch, sci_x86_place, p->store->n_vars);
  x->storages = SCI_ZEROS(scratch, sci_x86_storage, p->store->n_bufs);
  x->proc_at = SCI_ZEROS(scratch, uint32_t, p->n_procs);
  x->has_lanes = false;
  for (uint32_t i = 0; i + 1 < p->n_procs && !x->refusal; i++) emit_callee(x, i);
  return x->refusal ? 0 : emit_entry(x);
}

sci_image *sci_x86_image(sci_env *env, const sci_program *const *programs, size_t n, const char **refusal) {
  sci_x86 *x = SCI_NEW(&env->scratch, sci_x86);
  uint32_t *entries = SCI_ZEROS(&env->scratch, uint32_t, n);
  x->env = env;
  x->a.arena = &env->scratch;
  x->epoch = 1;
  x->refusal = refusal_of(&programs[0]->target);
  for (size_t i = 0; i < n && !x->refusal; i++) entries[i] = emit_program(x, programs[i]);
  *refusal = x->refusal;
  return x->refusal ? NULL : sci_x86_finish(env, &x->a, entries, (uint32_t)n);
}
