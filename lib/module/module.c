/* Owns what is decided once about a module, whatever spells it: its ABI, its names, its workspace. */
#include "lib/module/module.h"

typedef struct naming {
  sci_env *env;
  const sci_program *p;
  const sci_store *s;
  sci_namer *namer;
  uint32_t base; /* scopes before this program's */
  sci_module_info *m;
} naming;

/* ---- ABI and workspace ---- */

static sci_abi abi_of(const sci_program *p, size_t n) {
  bool f64 = true, f32 = n != 0;
  for (size_t i = 0; i < n; i++) {
    f64 &= p->ports[i].dtype == SC_FLOAT64;
    f32 &= p->ports[i].dtype == SC_FLOAT32;
  }
  return f64 ? SCI_ABI_F64 : f32 ? SCI_ABI_F32 : SCI_ABI_VOID;
}

int64_t sci_abi_unit(sci_abi abi) {
  switch (abi) {
  case SCI_ABI_F64: return 8;
  case SCI_ABI_F32: return 4;
  case SCI_ABI_VOID: return 1;
  }
  return 1;
}

/* ---- the entry and what is derived from it ---- */

/* The arguments of the entry do not hide the entry itself where it is called, so a function may be named like one of
 * them. */
static bool is_argument(const char *name) {
  static const char *const arguments[] = {"arg", "res", "iw", "w", "mem"};
  for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++)
    if (!strcmp(arguments[i], name)) return true;
  return false;
}

static void check_entry(sci_env *env, const char *symbol, const char *prefix) {
  if (*prefix && !sci_name_is_identifier(prefix))
    sci_fail(env, SC_ERR_NAME, "module: the prefix '%.100s' is not the beginning of a C identifier", prefix);
  if (!sci_name_is_identifier(symbol)) sci_fail(env, SC_ERR_NAME, "module: '%.100s' is not a C identifier", symbol);
  const char *what = sci_name_is_library(symbol)     ? "a function of the C library"
                     : !strncmp(symbol, "scaly_", 6) ? "of the form that generated files keep for themselves"
                     : sci_name_is_word(symbol) && !is_argument(symbol)
                         ? "a keyword of C or C++ or a name of a standard header"
                         : NULL;
  if (what)
    sci_fail(env, SC_ERR_NAME,
             "module: the entry cannot be named '%.100s', which is %s; choose another name or a prefix", symbol, what);
}

static void name_entry(naming *n, const char *name, const char *prefix, const char *entry) {
  static const char *const derived[] = {"call", "workspace_t", "SZ_W", "H"};
  sci_module_info *m = n->m;
  m->prefix = prefix ? prefix : "";
  m->entry = entry ? entry : sci_asprintf(&n->env->scratch, "%s%s", m->prefix, name);
  check_entry(n->env, m->entry, m->prefix);
  if (!sci_claim_exactly(n->namer, SCI_SCOPE_FILE, m->entry))
    sci_fail(n->env, SC_ERR_NAME, "module: the name '%.100s' is taken by another part of the file", m->entry);
  for (size_t i = 0; i < sizeof derived / sizeof *derived; i++)
    sci_claim_exactly(n->namer, SCI_SCOPE_FILE, sci_asprintf(&n->env->scratch, "%s_%s", m->entry, derived[i]));
}

/* What a header appends to the symbol of a port: a type for every one, macros and tables for a sparse one. */
static const char *const endings[] = {"_t",    "_NNZ",    "_NROW",   "_NCOL",   "_rows",
                                      "_cols", "_colptr", "_rowind", "_rowptr", "_colind"};
enum { ENDINGS = sizeof endings / sizeof *endings };

static void claim_derived(naming *n, size_t port) {
  size_t count = n->p->ports[port].pattern ? ENDINGS : 1;
  for (size_t i = 0; i < count; i++)
    sci_claim_exactly(n->namer, SCI_SCOPE_FILE,
                      sci_asprintf(&n->env->scratch, "%s%s", n->m->port_symbols[port], endings[i]));
}

/* A port f_x_t of f would hide the type of x. Nothing derived ends in an underscore. */
static const char *clear_of_derived(naming *n, const char *name) {
  size_t entry = strlen(n->m->entry), length = strlen(name);
  if (strncmp(name, n->m->entry, entry) != 0 || name[entry] != '_') return name;
  for (size_t i = 0; i < ENDINGS; i++) {
    size_t ending = strlen(endings[i]);
    if (length > ending && !strcmp(name + length - ending, endings[i]))
      return sci_asprintf(&n->env->scratch, "%s_", name);
  }
  return name;
}

static void name_ports(naming *n) {
  size_t count = n->m->n_in + n->m->n_out;
  n->m->port_names = SCI_ARRAY(&n->env->scratch, const char *, count);
  n->m->port_symbols = SCI_ARRAY(&n->env->scratch, const char *, count);
  uint32_t scope = n->base + n->p->n_procs;        /* the entry's */
  sci_claim_exactly(n->namer, scope, "workspace"); /* its type is that of w */
  for (size_t i = 0; i < count; i++) {
    n->m->port_names[i] = sci_claim_public(n->namer, scope, clear_of_derived(n, n->p->ports[i].name));
    n->m->port_symbols[i] = sci_asprintf(&n->env->scratch, "%s_%s", n->m->entry, n->m->port_names[i]);
  }
  for (size_t i = 0; i < count; i++) claim_derived(n, i);
}

/* A static name. Modules with prefixes may be included in one translation unit, so theirs begin with the entry. */
static const char *of_file(naming *n, const char *name) {
  return *n->m->prefix ? sci_asprintf(&n->env->scratch, "%s_%s", n->m->entry, name) : name;
}

static void name_procs(naming *n) {
  uint32_t last = n->p->n_procs - 1;
  n->m->proc_names = SCI_ARRAY(&n->env->scratch, const char *, n->p->n_procs);
  for (uint32_t i = 0; i < last; i++)
    n->m->proc_names[i] =
        sci_claim(n->namer, SCI_SCOPE_FILE, sci_asprintf(&n->env->scratch, "%s_raw", of_file(n, n->p->procs[i]->name)));
  n->m->proc_names[last] = n->m->entry;
}

/* ---- names within procedures ---- */

/* An entity that an earlier procedure named keeps that name, or gets one that nothing has when it is taken here. */
static void name_one(naming *n, const char **slot, uint32_t scope, const char *stem) {
  if (*slot && sci_claim_exactly(n->namer, scope, *slot)) return;
  *slot = sci_claim(n->namer, *slot ? SCI_SCOPE_FILE : scope, stem);
}

static const char *stem_of(const char *hint, const char *otherwise) {
  return hint && *hint ? hint : otherwise;
}

static void name_table(naming *n, sci_buf b) {
  int64_t offset;
  sci_buf owner = sci_storage(n->s, b, &offset);
  const sci_buffer *buf = &n->s->bufs[owner];
  if (buf->space != SCI_SPACE_CONSTANT || n->m->buf_names[owner]) return;
  n->m->buf_names[owner] = sci_claim(n->namer, SCI_SCOPE_FILE, of_file(n, stem_of(buf->hint, "table")));
}

/* Recursion follows loop nesting only. */
static void name_tables(naming *n, sci_block block) {
  for (uint32_t i = 0; i < block.n; i++) {
    const sci_stmt *st = &block.stmts[i];
    if (st->kind == SCI_S_LOAD) name_table(n, st->buf);
    if (st->kind == SCI_S_LOOP) name_tables(n, st->loop->body);
    for (uint32_t k = 0; st->kind == SCI_S_CALL && k < st->call->n; k++) name_table(n, st->call->views[k].buf);
  }
}

/* What the model did not name is numbered in the order of appearance: v0, v1, ... */
static const char *plain(naming *n, char kind, uint32_t *counter) {
  char *s = sci_alloc(&n->env->scratch, SCI_NUM_MAX);
  s[0] = kind;
  sci_fmt_i64(s + 1, (*counter)++);
  return s;
}

static void name_block(naming *n, uint32_t scope, sci_block block, uint32_t *counter) {
  for (uint32_t i = 0; i < block.n; i++) {
    const sci_stmt *st = &block.stmts[i];
    bool defines = st->kind == SCI_S_LOAD || (st->kind == SCI_S_ASSIGN && st->declare);
    if (defines) {
      const char *hint = n->s->names[st->name].hint;
      name_one(n, &n->m->name_names[st->name], scope, hint && *hint ? hint : plain(n, 'v', counter));
    }
    if (st->kind != SCI_S_LOOP) continue;
    const char **var = &n->m->var_names[st->loop->var];
    name_one(n, var, scope, stem_of(n->s->vars[st->loop->var].hint, "i"));
    name_block(n, scope, st->loop->body, counter);
    sci_release_name(n->namer, scope, *var);
  }
}

static void name_proc(naming *n, uint32_t index) {
  const sci_proc *proc = n->p->procs[index];
  uint32_t scope = n->base + index + 1, temporaries = 0, scalars = 0;
  for (uint32_t i = 0; i < proc->n_in + proc->n_out; i++) {
    const char **slot = &n->m->buf_names[proc->params[i]];
    const char *hint = n->s->bufs[proc->params[i]].hint;
    if (index + 1 == n->p->n_procs) {
      *slot = n->m->port_names[i];
      sci_claim_exactly(n->namer, scope, *slot); /* again: other procedures may have taken the name since */
    } else {
      name_one(n, slot, scope, stem_of(hint, i < proc->n_in ? "x" : "y"));
    }
  }
  for (uint32_t i = 0; i < proc->n_locals; i++) {
    sci_buf b = proc->locals[i].buf;
    const char *hint = n->s->bufs[b].hint;
    if (n->s->bufs[b].alias_of == SCI_NIL)
      name_one(n, &n->m->buf_names[b], scope, hint && *hint ? hint : plain(n, 't', &temporaries));
  }
  name_block(n, scope, proc->body, &scalars);
}

void sci_file_names_init(sci_file_names *n, sci_env *env) {
  n->scopes = 0;
  sci_namer_init(&n->namer, env);
}

void sci_file_names_free(sci_file_names *n) {
  sci_namer_free(&n->namer);
}

sci_module_info sci_module_info_begin(sci_file_names *names, const sci_program *p, const char *name, const char *prefix,
                                      const char *entry, const char *const *reserve, size_t n_reserve) {
  sci_env *env = names->namer.env;
  sci_module_info m = {0};
  const sci_proc *proc = sci_entry(p);
  naming n = {.env = env, .p = p, .s = p->store, .namer = &names->namer, .base = names->scopes, .m = &m};
  m.first_scope = names->scopes;
  names->scopes += p->n_procs;
  m.n_in = proc->n_in;
  m.n_out = proc->n_out;
  m.abi = abi_of(p, m.n_in + m.n_out);
  m.workspace_bytes = proc->workspace_total;
  m.workspace_elements = m.workspace_bytes / sci_abi_unit(m.abi);
  name_entry(&n, name ? name : p->name, prefix, entry);
  for (size_t i = 0; i < n_reserve; i++)
    sci_claim_exactly(n.namer, SCI_SCOPE_FILE, sci_asprintf(&env->scratch, "%s_%s", m.entry, reserve[i]));
  name_ports(&n);
  return m;
}

void sci_module_info_finish(sci_file_names *names, const sci_program *p, sci_module_info *m) {
  sci_env *env = names->namer.env;
  naming n = {.env = env, .p = p, .s = p->store, .namer = &names->namer, .base = m->first_scope, .m = m};
  m->buf_names = SCI_ZEROS(&env->scratch, const char *, p->store->n_bufs);
  m->name_names = SCI_ZEROS(&env->scratch, const char *, p->store->n_names);
  m->var_names = SCI_ZEROS(&env->scratch, const char *, p->store->n_vars);
  name_procs(&n);
  for (uint32_t i = 0; i < p->n_procs; i++) name_tables(&n, p->procs[i]->body);
  for (uint32_t i = 0; i < p->n_procs; i++) name_proc(&n, i);
}

sci_module_info sci_module_info_make(sci_env *env, const sci_program *p, const char *name, const char *prefix) {
  sci_file_names names;
  sci_file_names_init(&names, env);
  sci_module_info m = sci_module_info_begin(&names, p, name, prefix, NULL, NULL, 0);
  sci_module_info_finish(&names, p, &m);
  sci_file_names_free(&names);
  return m;
}
