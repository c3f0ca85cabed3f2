/* Owns the CasADi layer: the queries by which a loader of CasADi external functions (3.5 to 3.8) learns what an entry
 * takes, each a C symbol of the form F_<word>. A pattern is {nrow, ncol, colptr[ncol + 1], rowind[nnz]}. */
#include "backends/c/c.h"

const char *const sci_c_casadi_words[] = {
    "incref",     "decref",    "checkout",    "release",      "n_in",       "n_out",
    "name_in",    "name_out",  "sparsity_in", "sparsity_out", "default_in", "work",
    "work_bytes", "alloc_mem", "init_mem",    "free_mem",     "patterns",
};
const size_t sci_c_n_casadi_words = sizeof sci_c_casadi_words / sizeof *sci_c_casadi_words;

int64_t sci_c_skipped(int64_t elements) {
  return (elements + 7) / 8 * 8;
}

void sci_c_add_skipped(c_unit *unit) {
  const sci_proc *entry = sci_entry(unit->p);
  unit->skipped_at = unit->m.workspace_elements;
  for (uint32_t i = entry->n_in; i < entry->n_in + entry->n_out; i++)
    unit->m.workspace_elements += sci_c_skipped(unit->p->store->bufs[entry->params[i]].size);
}

void sci_c_put_casadi_types(sci_text *out) {
  sci_put(out, "#ifndef casadi_real\n#define casadi_real double\n#endif\n#ifndef casadi_int\n#define casadi_int long "
               "long int\n#endif\n\n");
}

/* ---- patterns ---- */

/* Vectors are columns, what has both dimensions above one is held as its transpose. */
static void dense_shape(const sci_port_info *port, int64_t *nrow, int64_t *ncol) {
  int64_t a = port->rank > 0 ? port->shape[0] : 1, b = port->rank > 1 ? port->shape[1] : 1;
  bool turned = a > 1 && b > 1;
  *nrow = turned ? b : a;
  *ncol = turned ? a : b;
}

static void put_pattern(const sci_port_info *port, sci_text *out) {
  enum { WIDTH = 110 };
  const sc_pattern *p = port->pattern;
  int64_t nrow = p ? p->nrow : 0, ncol = p ? p->ncol : 0;
  if (!p) dense_shape(port, &nrow, &ncol);
  size_t line = out->n;
  sci_putf(out, "%lld, %lld", (long long)nrow, (long long)ncol);
  for (int64_t i = 0; i < ncol + 1 + (p ? p->nnz : nrow * ncol); i++) {
    bool pointer = i <= ncol;
    int64_t k = pointer ? i : i - ncol - 1;
    sci_put_char(out, ',');
    if (out->n - line > WIDTH) {
      sci_put(out, "\n     ");
      line = out->n;
    }
    sci_put_char(out, ' ');
    sci_put_int(out, pointer ? (p ? p->outer[k] : k * nrow) : (p ? p->inner[k] : k % nrow));
  }
}

/* Every pattern of the entry once, one after the other; `at` gets where each port's begins. */
static void put_patterns(const c_render *r, sci_text *out, size_t *at) {
  size_t n = r->m->n_in + r->m->n_out, total = 0;
  sci_text *texts = SCI_ARRAY(&r->env->scratch, sci_text, n + 1);
  for (size_t i = 0; i < n; i++) {
    sci_text_init(&texts[i], &r->env->scratch);
    put_pattern(&r->p->ports[i], &texts[i]);
    size_t same = 0;
    while (same < i && (texts[same].n != texts[i].n || memcmp(texts[same].data, texts[i].data, texts[i].n) != 0))
      same++;
    at[i] = same < i ? at[same] : total;
    if (same < i) {
      texts[i].n = 0;
      continue;
    }
    for (size_t k = 0; k < texts[i].n; k++) total += texts[i].data[k] == ',';
    total++;
  }
  sci_putf(out, "static const casadi_int %s_patterns[%zu] = {\n", r->m->entry, total ? total : 1);
  for (size_t i = 0; i < n; i++)
    if (texts[i].n) sci_putf(out, "    %s,\n", texts[i].data);
  sci_put(out, n ? "};\n\n" : "    0\n};\n\n");
}

/* ---- queries ---- */

typedef struct side {
  const char *word;
  size_t first, n;
} side;

static void put_names(const c_render *r, sci_text *out, side s) {
  sci_putf(out, "const char* %s_name_%s(casadi_int i) {\n  switch (i) {\n", r->m->entry, s.word);
  for (size_t i = 0; i < s.n; i++) sci_putf(out, "  case %zu: return \"%s\";\n", i, r->p->ports[s.first + i].name);
  sci_put(out, "  default: return NULL;\n  }\n}\n\n");
}

static void put_sparsities(const c_render *r, sci_text *out, side s, const size_t *at) {
  sci_putf(out, "const casadi_int* %s_sparsity_%s(casadi_int i) {\n  switch (i) {\n", r->m->entry, s.word);
  for (size_t i = 0; i < s.n; i++) {
    sci_putf(out, "  case %zu: return %s_patterns", i, r->m->entry);
    if (at[s.first + i]) sci_putf(out, " + %zu", at[s.first + i]);
    sci_put(out, ";\n");
  }
  sci_put(out, "  default: return NULL;\n  }\n}\n\n");
}

static void put_work(const c_render *r, sci_text *out) {
  const sci_module_info *m = r->m;
  const char *sizes = "(casadi_int* sz_arg, casadi_int* sz_res, casadi_int* sz_iw, casadi_int* sz_w) {\n";
  long long w = (long long)m->workspace_elements;
  sci_putf(out, "int %s_work%s", m->entry, sizes);
  sci_putf(out,
           "  if (sz_arg) *sz_arg = %zu;\n  if (sz_res) *sz_res = %zu;\n  if (sz_iw) *sz_iw = 0;\n  if (sz_w) *sz_w = "
           "%lld;\n",
           m->n_in, m->n_out, w);
  sci_put(out, "  return 0;\n}\n\n");
  sci_putf(out, "int %s_work_bytes%s", m->entry, sizes);
  sci_putf(out, "  if (sz_arg) *sz_arg = %zu * (casadi_int)sizeof(const casadi_real*);\n", m->n_in);
  sci_putf(out, "  if (sz_res) *sz_res = %zu * (casadi_int)sizeof(casadi_real*);\n", m->n_out);
  sci_putf(out,
           "  if (sz_iw) *sz_iw = 0;\n  if (sz_w) *sz_w = %lld * (casadi_int)sizeof(casadi_real);\n  return 0;\n}\n\n",
           w);
}

void sci_c_put_casadi(const c_render *r, sci_text *out) {
  const char *f = r->m->entry;
  side in = {"in", 0, r->m->n_in}, res = {"out", r->m->n_in, r->m->n_out};
  size_t *at = SCI_ARRAY(&r->env->scratch, size_t, in.n + res.n + 1);
  sci_put_char(out, '\n');
  put_patterns(r, out, at);
  sci_putf(out, "casadi_int %s_n_in(void) {\n  return %zu;\n}\n\ncasadi_int %s_n_out(void) {\n  return %zu;\n}\n\n", f,
           in.n, f, res.n);
  put_names(r, out, in);
  put_names(r, out, res);
  put_sparsities(r, out, in, at);
  put_sparsities(r, out, res, at);
  sci_putf(out, "double %s_default_in(casadi_int i) {\n  (void)i;\n  return 0.0;\n}\n\n", f);
  put_work(r, out);
  sci_put(out, "/* There is no state: any number of threads may use memory 0. */\n");
  sci_putf(out, "void %s_incref(void) {\n}\n\nvoid %s_decref(void) {\n}\n\n", f, f);
  sci_putf(out, "int %s_checkout(void) {\n  return 0;\n}\n\nvoid %s_release(int mem) {\n  (void)mem;\n}\n\n", f, f);
  sci_putf(out, "int %s_alloc_mem(void) {\n  return 0;\n}\n\n", f);
  sci_putf(out,
           "int %s_init_mem(int mem) {\n  (void)mem;\n  return 0;\n}\n\nvoid %s_free_mem(int mem) {\n  (void)mem;\n}\n",
           f, f);
}

/* ---- declarations ---- */

static void put_unit(const c_render *r, sci_text *out, const char *linkage) {
  const char *f = r->m->entry,
             *sizes = "(casadi_int* sz_arg, casadi_int* sz_res, casadi_int* sz_iw, casadi_int* sz_w);\n";
  sci_c_put_contract(r, out);
  sci_putf(out, "%sint %s(const double** arg, double** res, casadi_int* iw, double* w, int mem);\n", linkage, f);
  sci_putf(out, "%svoid %s_incref(void);\n%svoid %s_decref(void);\n", linkage, f, linkage, f);
  sci_putf(out, "%sint %s_checkout(void);\n%svoid %s_release(int mem);\n", linkage, f, linkage, f);
  sci_putf(out, "%scasadi_int %s_n_in(void);\n%scasadi_int %s_n_out(void);\n", linkage, f, linkage, f);
  sci_putf(out, "%sconst char* %s_name_in(casadi_int i);\n%sconst char* %s_name_out(casadi_int i);\n", linkage, f,
           linkage, f);
  sci_putf(out,
           "%sconst casadi_int* %s_sparsity_in(casadi_int i);\n%sconst casadi_int* %s_sparsity_out(casadi_int i);\n",
           linkage, f, linkage, f);
  sci_putf(out, "%sdouble %s_default_in(casadi_int i);\n", linkage, f);
  sci_putf(out, "%sint %s_work%s%sint %s_work_bytes%s", linkage, f, sizes, linkage, f, sizes);
  sci_putf(out, "%sint %s_alloc_mem(void);\n%sint %s_init_mem(int mem);\n%svoid %s_free_mem(int mem);\n\n", linkage, f,
           linkage, f, linkage, f);
}

void sci_c_put_casadi_declarations(const c_render *r, sci_text *out) {
  bool cpp = r->o->lang == SC_LANG_CPP;
  for (size_t i = 0; i < r->n_units; i++) {
    c_render unit = *r;
    unit.p = r->units[i].p;
    unit.s = unit.p->store;
    unit.m = &r->units[i].m;
    long long w = (long long)unit.m->workspace_elements;
    if (cpp)
      sci_putf(out, "inline constexpr std::size_t %s%sSZ_W = %lld;\n", i ? unit.m->entry : "", i ? "_" : "", w);
    else
      sci_putf(out, "#define %s_SZ_W %lld\n", unit.m->entry, w);
    put_unit(&unit, out, cpp ? "extern \"C\" " : "");
    if (!i) sci_c_put_sparse_tables(&unit, out, cpp);
  }
}
