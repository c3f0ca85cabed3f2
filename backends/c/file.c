/* Owns the C renderer's entry point: the order of a source file's parts, and constant tables. */
#include "backends/c/c.h"

#include <math.h>

/* Compilers read a hexadecimal float several times faster than a decimal one, and nobody reads a table this long. No
 * decimal point is needed, so no locale matters. */
enum { LONG_TABLE = 1 << 14 };

static bool put_hexadecimal(sci_text *out, sc_dtype dtype, double v) {
  if (!isfinite(v) || (v == floor(v) && fabs(v) < 1e6)) return false;
  int exponent;
  int64_t mantissa = (int64_t)ldexp(frexp(v, &exponent), 53);
  exponent -= 53;
  while (mantissa % 2 == 0) mantissa /= 2, exponent++;
  sci_putf(out, "%s0x%llxp%d%s", mantissa < 0 ? "-" : "", (unsigned long long)(mantissa < 0 ? -mantissa : mantissa),
           exponent, dtype == SC_FLOAT32 ? "f" : "");
  return true;
}

/* A short table stays on one line. */
static void put_table(c_render *r, sci_text *out, sci_buf b) {
  enum { ONE_LINE = 8, WIDTH = 100 };
  const sci_buffer *buf = &r->s->bufs[b];
  sc_dtype dtype = (sc_dtype)buf->dtype;
  bool wraps = buf->size > ONE_LINE;
  sci_putf(out, "static const %s %s[%lld] = {", sci_c_types[dtype], r->m->buf_names[b], (long long)buf->size);
  size_t line = 0; /* where it began */
  for (int64_t i = 0; i < buf->size; i++) {
    if (wraps && (!line || out->n - line > WIDTH)) {
      sci_put(out, "\n    ");
      line = out->n;
    } else if (i) {
      sci_put_char(out, ' ');
    }
    sci_scalar v = sci_scalar_load(dtype, buf->data, (size_t)i);
    bool hexadecimal =
        buf->size >= LONG_TABLE && sci_is_float(dtype) && put_hexadecimal(out, dtype, sci_scalar_double(dtype, v));
    if (!hexadecimal) sci_c_put_scalar(r, dtype, v);
    if (i + 1 < buf->size) sci_put_char(out, ',');
  }
  sci_put(out, wraps ? "\n};\n\n" : "};\n\n");
}

/* Tables in the order of their buffers; an empty one is never declared. */
static void put_tables(c_render *r, sci_text *out) {
  sci_text *body = r->out;
  r->out = out;
  for (sci_buf b = 0; b < r->s->n_bufs; b++)
    if (r->s->bufs[b].space == SCI_SPACE_CONSTANT && r->m->buf_names[b] && r->bufs[b].read && r->s->bufs[b].size)
      put_table(r, out, b);
  r->out = body;
}

/* Operands precede users: one pass over all values. */
static void find_plain(c_render *r) {
  for (sci_val v = 0; v < r->s->n_values; v++) {
    const sci_value *x = &r->s->values[v];
    if (x->dtype != SC_INT64) continue;
    bool plain = x->kind == SCI_V_VAR || x->kind == SCI_V_CONST;
    if (x->kind == SCI_V_OP)
      plain = x->op == SCI_OP_add || x->op == SCI_OP_sub || x->op == SCI_OP_mul || x->op == SCI_OP_div ||
              x->op == SCI_OP_fmod || x->op == SCI_OP_neg;
    for (int i = 0; x->kind == SCI_V_OP && i < sci_ops[x->op].arity; i++) plain = plain && r->plain[x->args[i]];
    r->plain[v] = plain;
  }
}

static void put_preamble(c_render *r, sci_text *out) {
  sci_c_put_recipe(r, out);
  if (r->o->lang == SC_LANG_C)
    sci_putf(out, "#include \"%s.h\"\n\n", sci_c_file_name(r)); /* C cannot include the other one */
  if (r->needs.math) sci_put(out, "#include <math.h>\n");
  sci_put(out, "#include <stddef.h>\n#include <stdint.h>\n\n");
  sci_c_put_guards(r, out);
  sci_c_put_fma(r, out);
  if (r->o->casadi) sci_c_put_casadi_types(out);
  if (r->needs.restrict_)
    sci_put(out, "#if defined(__GNUC__) || defined(_MSC_VER)\n#define SCALY_RESTRICT __restrict\n"
                 "#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L\n#define SCALY_RESTRICT restrict\n"
                 "#else\n#define SCALY_RESTRICT\n#endif\n\n");
  sci_put(out, "#define SCALY_SUCCESS 0\n#define SCALY_ERR_NULL_ABI 1\n#define SCALY_ERR_NULL_WORK 2\n"
               "#define SCALY_ERR_NULL_RESULT 3\n#define SCALY_ERR_NULL_INPUT 4\n\n"
               "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
  sci_c_put_helpers(r, out);
  if (sci_c_lane_loops(r))
    sci_c_put_each_macro(r, out);
  else
    sci_c_put_lane_helpers(r, out);
}

/* What is known by id is known of one program. */
static void enter_unit(c_render *r, const c_unit *unit) {
  r->p = unit->p;
  r->s = unit->p->store;
  r->m = &unit->m;
  r->skipped_at = unit->skipped_at;
}

static void start_unit(c_render *r, const c_unit *unit) {
  sci_arena *scratch = &r->env->scratch;
  enter_unit(r, unit);
  r->names = SCI_ZEROS(scratch, c_name_use, r->s->n_names);
  r->bufs = SCI_ZEROS(scratch, c_buf_use, r->s->n_bufs);
  r->plain = SCI_ZEROS(scratch, uint8_t, r->s->n_values);
  r->seen = SCI_ZEROS(scratch, uint32_t, r->s->n_values);
  sci_map *maps[] = {&r->temporary, &r->literals, &r->constants, &r->pointers_at};
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) sci_map_init(maps[i], scratch);
  sci_c_forget_constants(r);
  r->texts.n = 0;
  r->epoch = 0;
  find_plain(r);
}

static void render(c_render *r, sci_text *source, sci_text *header) {
  sci_arena *scratch = &r->env->scratch;
  sci_text body, tables;
  sci_text_init(&body, scratch);
  sci_text_init(&tables, scratch);
  sci_text_init(source, scratch);
  sci_text_init(header, scratch);
  r->out = &body;
  sci_c_find_widths(r);
  for (size_t i = 0; i < r->n_units; i++) {
    if (i) sci_put_char(&body, '\n');
    start_unit(r, &r->units[i]);
    sci_c_put_procs(r);
    put_tables(r, &tables);
    if (r->o->casadi) sci_c_put_casadi(r, &body);
  }
  r->needs.math |= r->needs.fma[SC_FLOAT64] || r->needs.fma[SC_FLOAT32] ||
                   r->needs.helper[SCI_OP_isfinite][SC_FLOAT64] || r->needs.helper[SCI_OP_isfinite][SC_FLOAT32];
  enter_unit(r, &r->units[0]);
  put_preamble(r, source);
  if (tables.n) sci_put_n(source, tables.data, tables.n);
  sci_put_n(source, body.data, body.n);
  sci_put(source, "\n#ifdef __cplusplus\n}\n#endif\n");
  sci_c_drop_fma(r, source);
  sci_c_drop_each_macro(r, source);
  if (r->o->lang == SC_LANG_CPP)
    sci_c_put_cpp_header(r, header);
  else
    sci_c_put_header(r, header);
}

/* The first entry has the name asked for, the others that of their programs. */
static void name_units(c_render *r, const sci_render_request *request) {
  sci_file_names *names = &r->names_taken;
  r->n_units = request->n_more + 1;
  r->units = SCI_ZEROS(&r->env->scratch, c_unit, r->n_units);
  sci_file_names_init(names, r->env);
  for (size_t i = 0; i < r->n_units; i++) {
    c_unit *unit = &r->units[i];
    unit->p = i ? request->more[i - 1] : request->program;
    unit->m = sci_module_info_begin(names, unit->p, i ? NULL : r->o->name, r->o->prefix, i ? unit->p->name : NULL,
                                    sci_c_casadi_words, r->o->casadi ? sci_c_n_casadi_words : 0);
    if (r->o->casadi) sci_c_add_skipped(unit);
  }
  for (size_t i = 0; i < r->n_units; i++) sci_module_info_finish(names, r->units[i].p, &r->units[i].m);
}

static void free_index(void *index) {
  sci_index_free(index);
}

static void hold_index(sci_env *env, sci_index *index) {
  sci_index_init(index, env);
  sci_defer(env, free_index, index);
}

static void release_index(sci_env *env, sci_index *index) {
  sci_keep(env, index);
  sci_index_free(index);
}

static sc_status render_c(sci_env *env, const sci_render_request *request, char *out[2], size_t size[2]) {
  static const sc_c_options defaults = {0};
  sci_frame fr;
  out[0] = out[1] = NULL;
  if (!SCI_TRY(env, &fr)) {
    sci_bytes_free(env, out[0]);
    out[0] = NULL;
    return env->n_diags ? env->diags[env->n_diags - 1].status : SC_ERR_MEMORY;
  }
  c_render r = {.env = env, .o = request->c ? request->c : &defaults, .object = request->object};
  hold_index(env, &r.own_index);
  hold_index(env, &r.constant_index);
  name_units(&r, request);
  sci_text source, header;
  render(&r, &source, &header);
  size[0] = source.n;
  size[1] = header.n;
  out[0] = sci_text_dup(env, &source);
  out[1] = sci_text_dup(env, &header);
  sci_file_names_free(&r.names_taken);
  release_index(env, &r.own_index);
  release_index(env, &r.constant_index);
  sci_leave(env, &fr);
  return SC_OK;
}

const sci_backend sci_backend_c = {SCI_BACKEND_ABI, "c", "0.1", render_c, NULL, NULL, false};
