/* Owns statements: loads, stores, assignments, calls, and loops, in lanes too. A name that a loop carries stays at one
 * place of the frame. */
#include "backends/x86/x86.h"
#include "lib/program/walk.h"

static const sci_x86_vex LOAD = {P_F2, M_0F, 0, 0x10}, STORE = {P_F2, M_0F, 0, 0x11}, LOAD_ALL = {P_66, M_0F, 0, 0x10},
                         STORE_ALL = {P_66, M_0F, 0, 0x11}, LOAD_HIGH = {P_66, M_0F, 0, 0x16},
                         STORE_HIGH = {P_66, M_0F, 0, 0x17}, INSERT = {P_66, M_0F3A, 0, 0x18},
                         EXTRACT = {P_66, M_0F3A, 0, 0x19};

static uint32_t level(const sci_x86 *x) {
  return (uint32_t)x->scopes.n - 1;
}

static void open_scope(sci_x86 *x) {
  sci_vec_push(&x->env->scratch, &x->scopes, ++x->scope_ids);
}

static sc_dtype dtype_of(const sci_x86 *x, sci_buf buf) {
  return (sc_dtype)x->store->bufs[buf].dtype;
}

/* ---- names ---- */

static bool varies(const sci_x86 *x, sci_name n) {
  return x->width && n < x->lanes.n_names && x->lanes.name[n];
}

/* Where a name's new value goes: a mutable one keeps its place while it is the same kind of value. */
static sci_x86_place *name_place(sci_x86 *x, sci_name n, bool declare) {
  bool is_mutable = x->store->names[n].is_mutable, wide = varies(x, n);
  sci_x86_place *p = &x->names[n];
  if (is_mutable) x->epoch++;
  if (declare || !is_mutable || p->wide != wide) *p = sci_x86_new_place(x, wide);
  p->level = level(x);
  p->scope = x->scopes.data[p->level];
  p->epoch = is_mutable;
  return p;
}

static void assign(sci_x86 *x, const sci_stmt *st) {
  const sci_x86_place *from = sci_x86_value(x, st->value);
  bool is_mutable = x->store->names[st->name].is_mutable, widens = varies(x, st->name) && !from->wide;
  if (!is_mutable && !from->epoch && !widens) {
    x->names[st->name] = *from;
    return;
  }
  int r = sci_x86_get(x, from, from->wide || widens);
  sci_x86_put(x, name_place(x, st->name, st->declare), r);
}

/* ---- memory ---- */

static void load(sci_x86 *x, const sci_stmt *st) {
  sci_x86_mem m = sci_x86_address(x, st->buf, st->index, 0);
  sc_dtype dtype = dtype_of(x, st->buf);
  if (dtype == SC_FLOAT64) {
    int r = sci_x86_take(x);
    sci_x86_vex_rm(&x->a, LOAD, false, r, 0, &m, -1);
    const sci_x86_place *to = name_place(x, st->name, true);
    if (to->wide) { /* the same for every lane of a name that others assign to */
      sci_x86_place one = sci_x86_new_place(x, false);
      sci_x86_put(x, &one, r);
      r = sci_x86_get(x, &one, true);
    }
    sci_x86_put(x, to, r);
  } else if (dtype == SC_INT64 || dtype == SC_INT32) {
    sci_x86_rm(&x->a, dtype == SC_INT64 ? 0x8B : 0x63, RAX, &m, 0);
    sci_x86_put_int(x, name_place(x, st->name, true), RAX);
  } else if (dtype == SC_BOOL) { /* a byte, to a mask */
    sci_x86_rm(&x->a, 0x0FB6, RAX, &m, 0);
    sci_x86_rr(&x->a, 0xF7, 3, RAX);
    sci_x86_rr(&x->a, 0x1B, RAX, RAX); /* minus the borrow */
    sci_x86_put_int(x, name_place(x, st->name, true), RAX);
  } else {
    sci_x86_refuse(x, "a buffer of float32");
  }
}

static void store(sci_x86 *x, const sci_stmt *st) {
  sc_dtype dtype = dtype_of(x, st->buf);
  const sci_x86_place *from = sci_x86_value(x, st->value);
  sci_x86_mem m = sci_x86_address(x, st->buf, st->index, 0);
  if (dtype == SC_FLOAT64) {
    sci_x86_vex_rm(&x->a, STORE, false, sci_x86_get(x, from, false), 0, &m, -1);
    return;
  }
  sci_x86_get_int(x, st->value, RAX);
  if (dtype == SC_INT64) {
    sci_x86_rm(&x->a, 0x89, RAX, &m, 0);
  } else if (dtype == SC_BOOL) {
    sci_x86_rr(&x->a, 0xF7, 3, RAX);
    if (sci_val_is_const(x->store, st->value)) sci_x86_set(&x->a, RAX, sci_value_at(x->store, st->value)->bits != 0);
    sci_x86_rm(&x->a, 0x88, RAX, &m, 0);
  } else {
    sci_x86_refuse(x, "stores of another type than float64, int64 and bool");
  }
}

/* ---- memory in lanes ---- */

static sci_x86_mem lane_address(const sci_x86 *x, const sci_x86_mem *first, int64_t stride, uint32_t lane) {
  if (x->rest && lane >= x->rest) lane = x->rest - 1;
  sci_x86_mem m = *first;
  m.disp += (int32_t)(stride * 8 * (int64_t)lane);
  return m;
}

/* The strides that lanes may have fit in 31 bits as elements; as bytes, from the address of the first, not all do. */
static bool lanes_fit(sci_x86 *x, const sci_x86_mem *first, int64_t stride) {
  int64_t last = (int64_t)first->disp + stride * 8 * (int64_t)x->width;
  if (last >= INT32_MIN && last <= INT32_MAX) return true;
  sci_x86_refuse(x, "a stride of more than 2 GiB");
  return false;
}

static int load_pair(sci_x86 *x, const sci_x86_mem *first, int64_t stride, uint32_t lane) {
  sci_x86_mem low = lane_address(x, first, stride, lane), high = lane_address(x, first, stride, lane + 1);
  int r = sci_x86_take(x);
  sci_x86_vex_rm(&x->a, LOAD, false, r, 0, &low, -1);
  sci_x86_vex_rm(&x->a, LOAD_HIGH, false, r, r, &high, -1);
  return r;
}

static void load_lanes(sci_x86 *x, const sci_stmt *st, int64_t stride) {
  sci_x86_mem m = sci_x86_address(x, st->buf, st->index, 0);
  bool four = x->width == 4;
  int r;
  if (!lanes_fit(x, &m, stride)) return;
  if (stride == 1 && !x->rest) {
    r = sci_x86_take(x);
    sci_x86_vex_rm(&x->a, LOAD_ALL, four, r, 0, &m, -1);
  } else {
    r = load_pair(x, &m, stride, 0);
    if (four) sci_x86_vex_rr(&x->a, INSERT, true, r, r, load_pair(x, &m, stride, 2), 1);
  }
  sci_x86_put(x, name_place(x, st->name, true), r);
}

static void store_pair(sci_x86 *x, const sci_x86_mem *first, int64_t stride, uint32_t lane, int r) {
  sci_x86_mem low = lane_address(x, first, stride, lane), high = lane_address(x, first, stride, lane + 1);
  sci_x86_vex_rm(&x->a, STORE, false, r, 0, &low, -1);
  sci_x86_vex_rm(&x->a, STORE_HIGH, false, r, 0, &high, -1);
}

static void store_lanes(sci_x86 *x, const sci_stmt *st, int64_t stride) {
  const sci_x86_place *from = sci_x86_value(x, st->value);
  sci_x86_mem m = sci_x86_address(x, st->buf, st->index, 0);
  bool four = x->width == 4;
  if (!lanes_fit(x, &m, stride)) return;
  int r = sci_x86_get(x, from, true);
  if (stride == 1 && !x->rest) {
    sci_x86_vex_rm(&x->a, STORE_ALL, four, r, 0, &m, -1);
    return;
  }
  store_pair(x, &m, stride, 0, r);
  if (!four) return;
  int high = sci_x86_take(x);
  sci_x86_vex_rr(&x->a, EXTRACT, true, r, 0, high, 1);
  store_pair(x, &m, stride, 2, high);
}

/* Each lane has memory of its own, element by element side by side. */
static void access_own(sci_x86 *x, const sci_stmt *st) {
  bool four = x->width == 4, stores = st->kind == SCI_S_STORE;
  const sci_x86_place *from = stores ? sci_x86_value(x, st->value) : NULL;
  sci_x86_mem m = sci_x86_address(x, st->buf, st->index, 8 * x->width);
  int r = stores ? sci_x86_get(x, from, true) : sci_x86_take(x);
  sci_x86_vex_rm(&x->a, stores ? STORE_ALL : LOAD_ALL, four, r, 0, &m, -1);
  if (!stores) sci_x86_put(x, name_place(x, st->name, true), r);
}

static bool in_lanes(sci_x86 *x, const sci_stmt *st) {
  if (st->kind != SCI_S_LOAD && st->kind != SCI_S_STORE) return false;
  sci_access access = sci_access_of(&x->lanes, st->buf, st->index);
  if (access.kind == SCI_ACCESS_UNIFORM) return false;
  if (dtype_of(x, st->buf) != SC_FLOAT64) sci_x86_refuse(x, "lanes of another type than float64");
  if (access.kind == SCI_ACCESS_OWN)
    access_own(x, st);
  else if (st->kind == SCI_S_LOAD)
    load_lanes(x, st, access.stride);
  else
    store_lanes(x, st, access.stride);
  return true;
}

/* ---- calls: the callee is given one pointer, to its arguments' ---- */

static void put_pointer(sci_x86 *x, uint32_t i, const sci_x86_mem *of) {
  sci_x86_mem to = sci_x86_frame_at(x->call_area + 8 * i);
  sci_x86_rm(&x->a, 0x8D, RAX, of, 0);
  sci_x86_rm(&x->a, 0x89, RAX, &to, 0);
}

static void put_workspace(sci_x86 *x, uint32_t i) {
  sci_x86_mem m = {(int8_t)sci_x86_pointer(x, &x->workspace.pointer), SCI_X86_NO_INDEX, 0, false, 0, 0};
  m.disp = (int32_t)x->program->procs[x->proc]->workspace_self;
  put_pointer(x, i, &m);
}

static void call(sci_x86 *x, const sci_call *c) {
  for (uint32_t i = 0; i < c->n; i++) {
    sci_x86_mem m = sci_x86_address(x, c->views[i].buf, c->views[i].index, 0);
    put_pointer(x, i, &m);
    sci_x86_unpin(x);
  }
  if (x->program->procs[c->proc]->workspace_total) put_workspace(x, c->n);
  sci_x86_mem area = sci_x86_frame_at(x->call_area);
  sci_x86_rm(&x->a, 0x8D, RDI, &area, 0);
  sci_x86_byte(&x->a, 0xE8);
  uint32_t at = (uint32_t)x->a.code.n;
  sci_x86_word(&x->a, 0);
  sci_x86_patch(&x->a, at, x->proc_at[c->proc]);
  sci_x86_forget(x);
}

/* ---- loops ---- */

/* The variable takes `n` values from `start` on, `step` apart; each time the body is spelled as one iteration. */
static void trips(sci_x86 *x, const sci_loop *l, int64_t start, int64_t n, int64_t step) {
  open_scope(x);
  sci_x86_loop_begins(x);
  sci_x86_place at = sci_x86_new_place(x, false);
  at.level = level(x);
  at.scope = x->scopes.data[at.level];
  sci_x86_set(&x->a, RAX, start);
  sci_x86_put_int(x, &at, RAX);
  x->vars[l->var] = at;
  x->epoch++; /* what the body changes, it may have changed before it begins again */
  sci_x86_forget(x);
  uint32_t top = (uint32_t)x->a.code.n;
  sci_x86_block(x, l->body);
  if (n > 1) {
    sci_x86_mem m = sci_x86_at(x, &at, 0);
    sci_x86_rm(&x->a, 0x8B, RAX, &m, 0);
    sci_x86_set(&x->a, RCX, step);
    sci_x86_rr(&x->a, 0x03, RAX, RCX);
    sci_x86_put_int(x, &at, RAX);
    sci_x86_set(&x->a, RCX, (int64_t)((uint64_t)start + (uint64_t)n * (uint64_t)step));
    sci_x86_rr(&x->a, 0x3B, RAX, RCX);
    sci_x86_byte(&x->a, 0x0F); /* jne */
    sci_x86_byte(&x->a, 0x85);
    uint32_t jump = (uint32_t)x->a.code.n;
    sci_x86_word(&x->a, 0);
    sci_x86_patch(&x->a, jump, top);
  }
  sci_x86_loop_ends(x);
  x->epoch++;
  x->scopes.n--;
}

/* Chunks of `width` iterations, and one of what is left, in which the lanes past the last iteration do what that one
 * does: that is what every plan of a tail comes to. */
static void chunks(sci_x86 *x, const sci_loop *l, uint32_t asked) {
  uint32_t width = asked < 4 ? asked : 4;
  int64_t n = sci_loop_trips(l), whole = n / width, rest = n % width;
  if (l->of != SC_FLOAT64) {
    sci_x86_refuse(x, "lanes of another type than float64");
    return;
  }
  if (!x->has_lanes) sci_lanes_init(&x->lanes, x->store, &x->env->scratch);
  x->has_lanes = true;
  sci_lanes_enter(&x->lanes, l);
  x->width = width;
  x->asked = asked;
  if (whole) trips(x, l, l->start, whole, l->step * width);
  x->rest = (uint32_t)rest;
  if (rest) trips(x, l, l->start + whole * width * l->step, 1, l->step);
  x->rest = 0;
  x->width = x->asked = 0;
  if (width == 4) sci_x86_clear_upper(x);
  sci_x86_forget(x);
}

static void loop(sci_x86 *x, const sci_loop *l) {
  int64_t n = sci_loop_trips(l);
  int width = sci_loop_lanes(l, x->program->target.lanes);
  if (n == 0) return;
  if (width > 1)
    chunks(x, l, (uint32_t)width);
  else
    trips(x, l, l->start, n, l->step);
}

void sci_x86_block(sci_x86 *x, sci_block block) {
  for (uint32_t i = 0; i < block.n && !x->refusal; i++) {
    const sci_stmt *st = &block.stmts[i];
    if (!x->width || !in_lanes(x, st)) {
      switch ((sci_stmt_kind)st->kind) {
      case SCI_S_LOAD: load(x, st); break;
      case SCI_S_STORE: store(x, st); break;
      case SCI_S_ASSIGN:
        if (i + 1 < block.n && sci_is_sincos(x->store, st, st + 1)) sci_x86_sincos(x, st->value, st[1].value);
        assign(x, st);
        break;
      case SCI_S_LOOP: loop(x, st->loop); break;
      case SCI_S_CALL: call(x, st->call); break;
      }
    }
    sci_x86_unpin(x);
  }
}
