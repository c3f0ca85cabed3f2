/* Owns the spelling of loops in lanes in the GNU dialect: chunks, vectors to and from memory, and operations on
 * vectors.
 *
 * A loop's vectors have one type, named after their elements and how many there are: scaly_f64x4 has four, scaly_f64w8
 * has up to eight, as many as the preprocessor finds worth while (SCALY_F64W8 of them). */
#include <stdio.h>

#include "backends/c/c.h"

static void put(c_render *r, const char *text) {
  sci_put(r->out, text);
}

static void put_indent(c_render *r) {
  for (uint32_t i = 0; i < r->depth; i++) sci_put_n(r->out, "  ", 2);
}

static bool asks_for_lanes(const c_render *r) {
  return r->o->lanes != SC_LANES_1;
}

bool sci_c_has_lanes(const c_render *r, const sci_loop *l) {
  if (sci_c_lane_loops(r) && !sci_c_loops_over_lanes(l)) return false;
  return asks_for_lanes(r) && sci_loop_lanes(l, r->o->lanes == SC_LANES_AUTO ? 8 : (int)r->o->lanes) > 1;
}

/* ---- types ---- */

/* Of loops with a cap: f64w8, or f64x4 where four lanes are asked for. */
typedef struct type_name {
  bool is_auto;
  int size, lanes;
  char suffix[24];
} type_name;

static type_name type_of(c_render *r, sc_dtype of, int cap) {
  sci_loop like = {.kind = SCI_LOOP_VECTOR, .of = (uint8_t)of, .lanes = (uint8_t)cap};
  type_name t = {.is_auto = r->o->lanes == SC_LANES_AUTO, .size = of == SC_FLOAT32 ? 32 : 64};
  t.lanes = t.is_auto ? cap : sci_loop_lanes(&like, (int)r->o->lanes);
  snprintf(t.suffix, sizeof t.suffix, "f%d%c%d", t.size, t.is_auto ? 'w' : 'x', t.lanes);
  return t;
}

static c_lane_type *needs_of(c_render *r, sc_dtype of, int lanes) {
  unsigned which = 0;
  while (1 << which < lanes) which++;
  c_lane_type *needs = &r->needs.lanes[of][which];
  needs->used = true;
  return needs;
}

static void name_type(c_render *r, const sci_loop *l) {
  c_lanes *v = &r->vector;
  type_name t = type_of(r, (sc_dtype)l->of, l->lanes);
  v->type = needs_of(r, (sc_dtype)l->of, t.lanes);
  memcpy(v->suffix, t.suffix, sizeof v->suffix);
  if (t.is_auto)
    snprintf(v->count, sizeof v->count, "SCALY_F%dW%d", t.size, t.lanes);
  else
    snprintf(v->count, sizeof v->count, "%d", t.lanes);
  v->lanes = t.is_auto ? 0 : t.lanes;
  v->splat = sci_asprintf(&r->env->scratch, "scaly_splat_%s(", v->suffix);
  v->mask = sci_asprintf(&r->env->scratch, "SCALY_MASK(scaly_m%s, ", v->suffix + 1);
}

const char *sci_c_local_type(c_render *r, const sci_local *l) {
  sc_dtype of = (sc_dtype)r->s->bufs[l->buf].dtype;
  if (l->lanes < 2 || !asks_for_lanes(r) || sci_c_lane_loops(r)) return sci_c_types[of];
  type_name t = type_of(r, of, l->lanes);
  needs_of(r, of, t.lanes);
  return sci_asprintf(&r->env->scratch, "scaly_%s%s", t.suffix, l->in_workspace ? "_u" : "");
}

const char *sci_c_local_times(c_render *r, const sci_local *l) {
  if (l->lanes < 2 || !asks_for_lanes(r) || !sci_c_lane_loops(r)) return "";
  sc_dtype of = (sc_dtype)r->s->bufs[l->buf].dtype;
  type_name t = type_of(r, of, l->lanes);
  needs_of(r, of, t.lanes);
  if (!t.is_auto) return sci_asprintf(&r->env->scratch, " * %d", t.lanes);
  return sci_asprintf(&r->env->scratch, " * SCALY_F%dW%d", t.size, t.lanes);
}

bool sci_c_varies(c_render *r, sci_val v) {
  return r->vector.loop && sci_varies(&r->vector.facts, v);
}

bool sci_c_name_varies(const c_render *r, sci_name n) {
  return r->vector.loop && n < r->vector.facts.n_names && r->vector.facts.name[n];
}

static const char *vec_name(c_render *r) {
  if (!r->vec_name) r->vec_name = sci_c_own_name(r, "vec");
  return r->vec_name;
}

void sci_c_put_type(c_render *r, sc_dtype dtype, bool varies) {
  if (!varies) {
    put(r, sci_c_types[dtype]);
  } else if (dtype == SC_BOOL) {
    sci_putf(r->out, "scaly_m%s", r->vector.suffix + 1);
  } else {
    put(r, vec_name(r));
    r->vector.declares = true;
  }
}

static void note_widths(c_render *r, sci_block block, unsigned seen[SC_FLOAT32 + 1]) {
  for (uint32_t i = 0; i < block.n; i++) {
    const sci_loop *l = block.stmts[i].kind == SCI_S_LOOP ? block.stmts[i].loop : NULL;
    if (l && sci_c_has_lanes(r, l)) seen[l->of] |= (unsigned)type_of(r, (sc_dtype)l->of, l->lanes).lanes;
    if (l) note_widths(r, l->body, seen);
  }
}

void sci_c_find_widths(c_render *r) {
  unsigned seen[SC_FLOAT32 + 1] = {0};
  if (sci_c_lane_loops(r)) return; /* where everything is a scalar's */
  for (size_t i = 0; i < r->n_units; i++)
    for (uint32_t k = 0; k < r->units[i].p->n_procs; k++) note_widths(r, r->units[i].p->procs[k]->body, seen);
  for (int d = 0; d <= SC_FLOAT32; d++)
    for (unsigned bit = 1; bit <= seen[d]; bit <<= 1) r->widths[d] += (seen[d] & bit) != 0;
}

/* FMA, with an F behind for float32. Where there are several, a number says of how many lanes; a file has few FMAs of
 * scalars beside those in lanes, so the latter, when they are all alike, are the ones without. */
const char *sci_c_fma_name(c_render *r, sc_dtype dtype, int lanes) {
  char stem[24];
  unsigned which = 0;
  while (1 << which < lanes) which++;
  if (r->fma_names[dtype][which]) return r->fma_names[dtype][which];
  bool plain = r->widths[dtype] == (lanes > 1);
  if (plain)
    snprintf(stem, sizeof stem, "FMA%s", dtype == SC_FLOAT32 ? "F" : "");
  else
    snprintf(stem, sizeof stem, "FMA%s%d", dtype == SC_FLOAT32 ? "F" : "", lanes);
  return r->fma_names[dtype][which] = sci_c_own_name(r, stem);
}

/* The array of a block. */
static const char *array_name(c_render *r, uint32_t number) {
  while (r->array_names.n <= number) {
    char stem[16];
    snprintf(stem, sizeof stem, "b%zu", r->array_names.n);
    sci_vec_push(&r->env->scratch, &r->array_names, sci_c_own_name(r, stem));
  }
  return r->array_names.data[number];
}

/* b0[3] */
static void put_place_in(c_render *r, uint32_t number, uint32_t place) {
  put(r, array_name(r, number));
  sci_put_char(r->out, '[');
  sci_put_int(r->out, place);
  sci_put_char(r->out, ']');
}

/* scaly_load_f64x4 */
static void put_helper_name(c_render *r, c_lane_helper h) {
  static const char *const names[C_LANE_HELPERS] = {"load",      "store",      "load_strided", "store_strided",
                                                    "load_part", "store_part", "load_block",   "store_block",
                                                    "splat",     "select"};
  r->vector.type->helper[h] = true;
  put(r, "scaly_");
  put(r, names[h]);
  sci_put_char(r->out, '_');
  put(r, r->vector.suffix);
}

/* A float in all lanes. */
static void put_widened(c_render *r, sci_val v) {
  if (sci_c_varies(r, v)) {
    sci_c_put_value(r, v, P_ANY);
    return;
  }
  put(r, sci_c_splat(r));
  sci_c_put_value(r, v, P_ANY);
  sci_put_char(r->out, ')');
}

/* ---- operations, from the renderer's stack of what is left to print ---- */

const char *sci_c_splat(c_render *r) {
  r->vector.type->helper[C_LANE_SPLAT] = true;
  return r->vector.splat;
}

const char *sci_c_mask(c_render *r) {
  return r->vector.mask;
}

/* ---- statements ---- */

/* "x + 6 * i, 6": the first lane's address, and how far the next one's is. */
static void put_place(c_render *r, const sci_stmt *st, const sci_access *access, bool with_stride) {
  sci_c_put_address(r, st->buf, st->index);
  if (!with_stride) return;
  put(r, ", ");
  sci_put_int(r->out, access->stride);
}

/* How many lanes of a part there are. */
static void put_live(c_render *r) {
  if (!r->vector.partial) return;
  put(r, ", ");
  put(r, sci_c_own_name(r, "live"));
}

static void put_lane_load(c_render *r, const sci_stmt *st, const sci_access *access) {
  bool strided = access->kind == SCI_ACCESS_STRIDED;
  put_helper_name(r, r->vector.partial ? C_LANE_LOAD_PART : strided ? C_LANE_LOAD_STRIDED : C_LANE_LOAD);
  put(r, "(");
  put_place(r, st, access, strided || r->vector.partial);
  put_live(r);
  put(r, ")");
}

bool sci_c_put_lane_load(c_render *r, const sci_stmt *st) {
  if (!sci_c_name_varies(r, st->name)) return false;
  uint32_t block = r->vector.block_of[st->name];
  sci_access access = sci_access_of(&r->vector.facts, st->buf, st->index);
  if (access.kind == SCI_ACCESS_OWN)
    sci_c_put_element(r, st->buf, st->index);
  else if (block)
    put_place_in(r, block - 1, r->vector.place_in[st->name]);
  else
    put_lane_load(r, st, &access);
  return true;
}

static void put_lane_store(c_render *r, const sci_stmt *st) {
  sci_access access = sci_access_of(&r->vector.facts, st->buf, st->index);
  bool strided = access.kind == SCI_ACCESS_STRIDED;
  if (access.kind == SCI_ACCESS_OWN) {
    sci_c_put_element(r, st->buf, st->index);
    put(r, " = ");
    put_widened(r, st->value);
    return;
  }
  put_helper_name(r, r->vector.partial ? C_LANE_STORE_PART : strided ? C_LANE_STORE_STRIDED : C_LANE_STORE);
  put(r, "(");
  put_place(r, st, &access, strided || r->vector.partial);
  put_live(r);
  put(r, ", ");
  put_widened(r, st->value);
  put(r, ")");
}

bool sci_c_put_lane_store(c_render *r, const sci_stmt *st) {
  if (!r->vector.loop) return false;
  put_lane_store(r, st);
  return true;
}

bool sci_c_put_lane_assign(c_render *r, const sci_stmt *st) {
  if (!sci_c_name_varies(r, st->name)) return false;
  if (st->declare) {
    sci_c_put_type(r, (sc_dtype)r->s->names[st->name].dtype, true);
    put(r, " ");
  }
  put(r, r->m->name_names[st->name]);
  put(r, " = ");
  if (r->s->names[st->name].dtype == SC_BOOL)
    sci_c_put_value(r, st->value, P_ANY);
  else
    put_widened(r, st->value);
  return true;
}

/* ---- blocks of consecutive elements ---- */

enum { BLOCK = 8 }; /* elements at once: what every width can transpose whole */

static void put_block_call(c_render *r, const sci_stmt *first, const sci_run *run, uint32_t n, uint32_t number,
                           c_lane_helper h) {
  put_indent(r);
  put_helper_name(r, h);
  put(r, "(");
  put_place(r, first, &run->access, true);
  put(r, ", ");
  sci_put_int(r->out, n);
  put(r, ", ");
  put(r, array_name(r, number));
  put(r, ");\n");
}

static void put_array(c_render *r, uint32_t n, uint32_t number) {
  put_indent(r);
  sci_c_put_type(r, (sc_dtype)r->vector.loop->of, true);
  sci_put_char(r->out, ' ');
  put_place_in(r, number, n);
}

/* A list that is too long for a line gets a line per element. */
static void break_list(c_render *r, size_t begin, const size_t *items, uint32_t n) {
  enum { WIDTH = 110 };
  sci_text line_end;
  if (r->out->n - begin <= WIDTH) return;
  sci_text_init(&line_end, &r->env->scratch);
  sci_put_char(&line_end, '\n');
  for (uint32_t i = 0; i < r->depth; i++) sci_put_n(&line_end, "  ", 2);
  sci_c_insert(r, r->out->n - 1, &line_end); /* before the brace */
  sci_put_n(&line_end, "  ", 2);
  for (uint32_t i = n; i-- > 0;) {
    if (i)
      memmove(r->out->data + items[i] - 1, r->out->data + items[i], r->out->n + 1 - items[i]),
          r->out->n--; /* the blank */
    sci_c_insert(r, items[i] - (i > 0), &line_end);
  }
}

static void put_list(c_render *r, sci_block block, const uint32_t *order, uint32_t n) {
  size_t begin = r->out->n, items[BLOCK + BLOCK / 2];
  sci_put_char(r->out, '{');
  for (uint32_t k = 0; k < n; k++) {
    if (k) put(r, ", ");
    items[k] = r->out->n;
    put_widened(r, block.stmts[order[k]].value);
  }
  sci_put_char(r->out, '}');
  break_list(r, begin, items, n);
}

/* All elements in one list, or one after the other when some need temporaries of their own. */
static void put_stored_run(c_render *r, sci_block block, const sci_runs *runs, const sci_run *run, uint32_t from,
                           uint32_t n, const uint8_t *flags) {
  uint32_t number = r->vector.n_blocks++;
  const uint32_t *order = runs->order + run->first + from;
  bool is_list = true;
  for (uint32_t k = 0; is_list && k < n; k++) {
    if (!(flags[order[k]] & C_SHARES)) continue;
    sci_c_find_shared(r, &block.stmts[order[k]]);
    is_list = !r->shared.n;
  }
  put_array(r, n, number);
  if (is_list) put(r, " = "), put_list(r, block, order, n);
  put(r, ";\n");
  for (uint32_t k = 0; !is_list && k < n; k++) {
    const sci_stmt *st = &block.stmts[order[k]];
    bool shares = flags[order[k]] & C_SHARES;
    if (shares) sci_c_put_temporaries(r, st);
    put_indent(r);
    put_place_in(r, number, k);
    put(r, " = ");
    put_widened(r, st->value);
    put(r, ";\n");
    if (shares) sci_c_forget_temporaries(r);
  }
  put_block_call(r, &block.stmts[order[0]], run, n, number, C_LANE_STORE_BLOCK);
}

static void put_loaded_run(c_render *r, sci_block block, const sci_runs *runs, const sci_run *run, uint32_t from,
                           uint32_t n) {
  uint32_t number = r->vector.n_blocks++;
  put_array(r, n, number);
  put(r, ";\n");
  for (uint32_t k = 0; k < n; k++) {
    sci_name name = block.stmts[runs->order[run->first + from + k]].name;
    r->vector.block_of[name] = number + 1;
    r->vector.place_in[name] = k;
  }
  put_block_call(r, &block.stmts[runs->order[run->first + from]], run, n, number, C_LANE_LOAD_BLOCK);
}

sci_runs sci_c_lane_runs(c_render *r, sci_block block) {
  sci_runs none = {0};
  return r->vector.loop && !r->vector.partial && !sci_c_lane_loops(r) ? sci_lane_runs(&r->vector.facts, block) : none;
}

/* Pieces of a block each, and the last one up to half as long again: a few elements left over would cost as much as a
 * block. */
bool sci_c_put_run(c_render *r, sci_block block, uint32_t at, sci_runs *runs, const uint8_t *flags) {
  if (!runs->of || !runs->of[at]) return false;
  sci_run *run = &runs->list.data[runs->of[at] - 1];
  bool is_store = block.stmts[at].kind == SCI_S_STORE;
  for (uint32_t from = 0, n; from < run->n; from += n) {
    n = run->n - from > BLOCK + BLOCK / 2 ? BLOCK : run->n - from;
    if (is_store)
      put_stored_run(r, block, runs, run, from, n, flags);
    else
      put_loaded_run(r, block, runs, run, from, n);
  }
  run->n = 0; /* done */
  return is_store;
}

/* ---- loops ---- */

static void enter(c_render *r, const sci_loop *l) {
  c_lanes *v = &r->vector;
  sci_arena *scratch = &r->env->scratch;
  if (v->facts.s != r->s) {
    sci_lanes_init(&v->facts, r->s, scratch);
    v->block_of = SCI_ZEROS(scratch, uint32_t, r->s->n_names);
    v->place_in = SCI_ZEROS(scratch, uint32_t, r->s->n_names);
  }
  sci_lanes_enter(&v->facts, l);
  v->loop = l;
  v->declares = false;
  name_type(r, l);
  bool whole = v->lanes && sci_loop_trips(l) % v->lanes == 0;
  v->partial = !whole && (l->tail == SCI_TAIL_MASKED || l->tail == SCI_TAIL_ALL);
}

static void put_step(c_render *r, const sci_loop *l) {
  if (l->step != 1) sci_putf(r->out, "%lld * ", (long long)l->step);
  put(r, r->vector.count);
}

/* A short name for the type, where something is declared with it. */
static void put_type_name(c_render *r, size_t at) {
  if (!r->vector.declares) return;
  sci_text text, *body = r->out;
  sci_text_init(&text, &r->env->scratch);
  r->out = &text;
  put_indent(r);
  sci_putf(r->out, "typedef scaly_%s %s;\n", r->vector.suffix, vec_name(r));
  r->out = body;
  sci_c_insert(r, at, &text);
}

/* for (long long i = 0; i < 40; i += 4) { */
void sci_c_put_lane_loop(c_render *r, const sci_loop *l, void (*body)(c_render *, const sci_loop *)) {
  enter(r, l);
  const char *i = r->m->var_names[l->var];
  int64_t trips = sci_loop_trips(l), stop = l->start + trips * l->step;
  bool whole = l->tail == SCI_TAIL_NONE || (r->vector.lanes && trips % r->vector.lanes == 0),
       early = !whole && !r->vector.partial;
  const char *at = early ? sci_c_own_name(r, "at") : i;
  sci_putf(r->out, "for (long long %s = %lld; %s < %lld; %s += ", at, (long long)l->start, at, (long long)stop, at);
  put_step(r, l);
  put(r, ") {\n");
  r->depth++;
  size_t at_top = r->out->n;
  if (early) {
    put_indent(r);
    sci_putf(r->out, "long long %s = %s < %lld - ", i, at, (long long)stop);
    put_step(r, l);
    sci_putf(r->out, " ? %s : %lld - ", at, (long long)stop);
    put_step(r, l);
    put(r, ";\n");
  }
  if (r->vector.partial) {
    put_indent(r);
    sci_putf(r->out, "int %s = %s + ", sci_c_own_name(r, "live"), i);
    put_step(r, l);
    sci_putf(r->out, " <= %lld ? %s : (int)", (long long)stop, r->vector.count);
    sci_putf(r->out, l->step == 1 ? "(%lld - %s)" : "((%lld - %s) / %lld)", (long long)stop, i, (long long)l->step);
    put(r, ";\n");
  }
  r->in_each = sci_c_lane_loops(r);
  if (r->in_each) sci_c_put_each_top(r);
  body(r, l);
  r->in_each = false;
  put_type_name(r, at_top);
  r->depth--;
  put_indent(r);
  put(r, "}\n");
  r->vector.loop = NULL;
}
