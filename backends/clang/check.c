/* Owns the check itself: source and probes through libclang, sparsity tables read back from the header, problems
 * reported. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/clang/tree.h"
#include "lib/module/module.h"

/* ---- texts ---- */

void sci_clang_put(sci_clang_text *t, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(NULL, 0, fmt, ap);
  va_end(ap);
  if (n < 0 || t->failed) return;
  if (t->n + (size_t)n + 1 > t->room) {
    size_t room = 2 * (t->n + (size_t)n) + 256;
    char *p = realloc(t->data, room);
    t->failed = !p;
    if (!p) return;
    t->data = p;
    t->room = room;
  }
  va_start(ap, fmt);
  vsnprintf(t->data + t->n, (size_t)n + 1, fmt, ap);
  va_end(ap);
  t->n += (size_t)n;
}

void sci_clang_text_free(sci_clang_text *t) {
  free(t->data);
  *t = (sci_clang_text){.n = 0};
}

static bool read_file(const char *path, sci_clang_text *out) {
  FILE *f = fopen(path, "rb");
  if (!f) return false;
  char block[4097];
  for (size_t n; (n = fread(block, 1, sizeof block - 1, f)) > 0;) {
    block[n] = 0;
    sci_clang_put(out, "%s", block);
  }
  bool ok = !ferror(f) && !out->failed;
  fclose(f);
  return ok;
}

/* ---- the job ---- */

typedef struct job {
  const char *path;
  char folder[4096], header[512], header_path[4096];
  bool cpp; /* the header's language */
  sci_clang_text source, header_text;
  sci_clang_module module;
  CXIndex index;
  void (*report)(void *, const sci_check_problem *);
  void *user;
} job;

__attribute__((format(printf, 4, 5))) static void problem(job *j, const char *file, int line, const char *fmt, ...) {
  char message[1024];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(message, sizeof message, fmt, ap);
  va_end(ap);
  j->report(j->user, &(sci_check_problem){file, message, line, 0});
}

/* ---- parsing ---- */

enum { MAX_ARGUMENTS = 64 };

typedef struct arguments {
  char words[2048];
  const char *list[MAX_ARGUMENTS];
  int n;
} arguments;

static void add(arguments *a, const char *word) {
  if (a->n < MAX_ARGUMENTS) a->list[a->n++] = word;
}

/* The recipe's own flags behind those of a language. */
static void collect(arguments *a, const job *j, bool cpp) {
  a->n = 0;
  add(a, "-x");
  add(a, cpp ? "c++" : "c");
  add(a, cpp ? "-std=c++17" : strcmp(j->module.standard, "c99") == 0 ? "-std=c99" : "-std=c11");
  static const char *const warnings[] = {"-Wall",    "-Wextra", "-Wpedantic", "-Wconversion", "-Wdouble-promotion",
                                         "-Wshadow", "-I"};
  for (size_t i = 0; i < sizeof warnings / sizeof *warnings; i++) add(a, warnings[i]);
  add(a, j->folder);
  snprintf(a->words, sizeof a->words, "%s", j->module.flags);
  for (char *word = a->words; *word;) {
    size_t n = strcspn(word, " ");
    char *next = word + n + (word[n] == ' ');
    word[n] = 0;
    if (n) add(a, word);
    word = next;
  }
}

/* What the compiler says of the probe's own lines is said in the probe's words, of the header. */
static void report_diagnostic(job *j, CXDiagnostic d, const char *probe, const char *language) {
  if (clang_getDiagnosticSeverity(d) < CXDiagnostic_Warning) return;
  CXFile file;
  unsigned line = 0, column = 0;
  clang_getExpansionLocation(clang_getDiagnosticLocation(d), &file, &line, &column, NULL);
  CXString name = clang_getFileName(file), text = clang_getDiagnosticSpelling(d);
  const char *where = clang_getCString(name), *said = clang_getCString(text), *own = said ? strstr(said, ": ") : NULL;
  char message[1024];
  bool ours = where && !strcmp(where, probe);
  bool asserted = ours && said && !strncmp(said, "static assertion failed", 23) && own;
  snprintf(message, sizeof message, "%s (as %s)", asserted ? own + 2 : said ? said : "a problem", language);
  if (ours && !asserted)
    snprintf(message, sizeof message, "the header does not offer what the module declares: %s (as %s)", said, language);
  j->report(j->user, &(sci_check_problem){ours || !where ? j->header_path : where, message, ours ? 0 : (int)line,
                                          ours ? 0 : (int)column});
  clang_disposeString(name);
  clang_disposeString(text);
}

/* NULL after a report when there is not even a translation unit. `text` NULL: the file itself. */
static CXTranslationUnit parse(job *j, const char *name, const sci_clang_text *text, bool cpp) {
  arguments a;
  collect(&a, j, cpp);
  struct CXUnsavedFile unsaved = {name, text ? text->data : NULL, text ? (unsigned long)text->n : 0};
  CXTranslationUnit unit = NULL;
  enum CXErrorCode code =
      clang_parseTranslationUnit2(j->index, name, a.list, a.n, &unsaved, text ? 1 : 0, CXTranslationUnit_None, &unit);
  if (code != CXError_Success || !unit) {
    problem(j, name, 0, "libclang could not parse it (code %d)", (int)code);
    return NULL;
  }
  for (unsigned i = 0; i < clang_getNumDiagnostics(unit); i++) {
    CXDiagnostic d = clang_getDiagnostic(unit, i);
    report_diagnostic(j, d, text ? name : "", cpp ? "C++" : "C");
    clang_disposeDiagnostic(d);
  }
  return unit;
}

/* ---- tables ---- */

typedef sci_clang_numbers numbers;

typedef struct search {
  const char *name;
  CXCursor found;
  bool has;
} search;

static enum CXChildVisitResult find_variable(CXCursor c, CXCursor parent, CXClientData data) {
  search *s = data;
  (void)parent;
  enum CXCursorKind kind = clang_getCursorKind(c);
  if (kind == CXCursor_Namespace || kind == CXCursor_LinkageSpec) return CXChildVisit_Recurse;
  if (kind != CXCursor_VarDecl) return CXChildVisit_Continue;
  CXString spelling = clang_getCursorSpelling(c);
  bool same = !strcmp(clang_getCString(spelling), s->name);
  clang_disposeString(spelling);
  if (!same) return CXChildVisit_Continue;
  s->found = c;
  s->has = true;
  return CXChildVisit_Break;
}

static enum CXChildVisitResult read_number(CXCursor c, CXCursor parent, CXClientData data) {
  numbers *out = data;
  (void)parent;
  CXEvalResult r = clang_Cursor_Evaluate(c);
  if (!r || clang_EvalResult_getKind(r) != CXEval_Int) out->failed = true;
  if (out->n == out->room) {
    size_t room = 2 * out->room + 64;
    int32_t *p = realloc(out->data, room * sizeof *p);
    if (!p) out->failed = true;
    if (p) out->data = p, out->room = room;
  }
  if (!out->failed) out->data[out->n++] = clang_EvalResult_getAsInt(r);
  if (r) clang_EvalResult_dispose(r);
  return out->failed ? CXChildVisit_Break : CXChildVisit_Continue;
}

static enum CXChildVisitResult find_list(CXCursor c, CXCursor parent, CXClientData data) {
  (void)parent;
  if (clang_getCursorKind(c) != CXCursor_InitListExpr) return CXChildVisit_Continue;
  clang_visitChildren(c, read_number, data);
  return CXChildVisit_Break;
}

/* False: there is no table of that name. */
static bool find_table(CXTranslationUnit unit, const char *name, numbers *out) {
  search s = {.name = name};
  *out = (numbers){.n = 0};
  clang_visitChildren(clang_getTranslationUnitCursor(unit), find_variable, &s);
  if (s.has) clang_visitChildren(s.found, find_list, out);
  return s.has;
}

/* The table of an ending, `n` values of it; false: it is not there, or has another length. */
static bool read_table(job *j, CXTranslationUnit unit, const sci_clang_port *p, const char *ending, long long n,
                       numbers *out) {
  char name[512];
  if (j->cpp)
    snprintf(name, sizeof name, "%s_%s", p->name, ending);
  else
    snprintf(name, sizeof name, "%s_%s_%s", j->module.entries[0].name, p->name, ending);
  bool has = find_table(unit, name, out);
  if (has && !out->failed && out->n == (size_t)(n ? n : 1)) return true;
  problem(j, j->header_path, 0,
          has ? "the table %s has another length than the module declares" : "there is no table %s", name);
  return false;
}

/* Entry k of the compressed coordinate is the segment that it lies in. */
static bool expands(const numbers *pointers, const numbers *coordinate, long long nnz) {
  size_t segment = 0;
  for (long long k = 0; k < nnz; k++) {
    while (segment + 1 < pointers->n && pointers->data[segment + 1] <= k) segment++;
    if (coordinate->data[k] != (int32_t)segment) return false;
  }
  return true;
}

static void check_tables(job *j, CXTranslationUnit unit, const sci_clang_port *p) {
  bool csc = !strcmp(p->layout, "csc"), coo = !strcmp(p->layout, "coo");
  numbers rows, cols, pointers = {.n = 0};
  bool ok = read_table(j, unit, p, "rows", p->count, &rows);
  ok = read_table(j, unit, p, "cols", p->count, &cols) && ok;
  if (!coo) ok = read_table(j, unit, p, csc ? "colptr" : "rowptr", (csc ? p->ncol : p->nrow) + 1, &pointers) && ok;
  if (ok) {
    const numbers *outer = coo ? &rows : &pointers, *inner = csc ? &rows : &cols;
    uint32_t digest = sci_digest_of(2166136261u, outer->data, coo ? p->count : (int64_t)outer->n);
    digest = sci_digest_of(digest, inner->data, p->count);
    if (digest != p->digest || (!coo && !expands(&pointers, csc ? &cols : &rows, p->count)))
      problem(j, j->header_path, 0, "the tables of %s are not those that the module declares", p->name);
  }
  char variable[160], of[512];
  snprintf(variable, sizeof variable, "scaly_other_%s", p->name);
  snprintf(of, sizeof of, "%s_%s_%s", j->module.entries[0].name, p->name, csc ? "rows" : "cols");
  if (!coo && !j->cpp && !sci_clang_is_set_to(unit, variable, of))
    problem(j, j->header_path, 0, "%s_%s_%s is not %s", j->module.entries[0].name, p->name, csc ? "rowind" : "colind",
            of);
  free(rows.data);
  free(cols.data);
  free(pointers.data);
}

/* ---- what the trees say ---- */

static void check_order(job *j, CXTranslationUnit unit, const sci_clang_entry *e) {
  char name[300] = "call";
  if (!j->cpp) snprintf(name, sizeof name, "%s_call", e->name);
  if (!sci_clang_hands_over_in_order(unit, j->cpp ? e->name : NULL, name, e->n))
    problem(j, j->header_path, 0, "%s does not hand over inputs and outputs in order", name);
}

static void report_query(void *user, const char *message) {
  job *j = user;
  problem(j, j->path, 0, "%s", message);
}

static void check_queries(job *j, CXTranslationUnit unit) {
  for (size_t i = 0; i < j->module.n; i++) {
    const sci_clang_entry *e = &j->module.entries[i];
    char name[300];
    numbers patterns;
    if (!e->casadi) continue;
    snprintf(name, sizeof name, "%s_patterns", e->name);
    if (!find_table(unit, name, &patterns))
      problem(j, j->path, 0, "there is no table %s", name);
    else
      sci_clang_check_casadi(e, unit, &patterns, report_query, j);
    free(patterns.data);
  }
}

/* ---- all of it ---- */

static void check_source(job *j) {
  for (int cpp = 0; cpp < 2; cpp++) {
    CXTranslationUnit unit = parse(j, j->path, NULL, cpp);
    if (unit && !cpp) check_queries(j, unit);
    if (unit) clang_disposeTranslationUnit(unit);
  }
}

static void check_header(job *j) {
  const sci_clang_entry *e = &j->module.entries[0];
  bool typed = !e->casadi && strstr(j->header_text.data, j->cpp ? "call(" : "_call(");
  for (int cpp = j->cpp; cpp < 2; cpp++) {
    sci_clang_text probe = {.n = 0};
    char name[4200];
    snprintf(name, sizeof name, "%s/scaly-probe.%s", j->folder, cpp ? "cpp" : "c");
    if (j->cpp)
      sci_clang_put_cpp_probe(&probe, &j->module, j->header, typed);
    else if (cpp)
      sci_clang_put(&probe, "#include \"%s\"\n", j->header);
    else
      sci_clang_put_c_probe(&probe, &j->module, j->header, typed);
    CXTranslationUnit unit = probe.failed ? NULL : parse(j, name, &probe, cpp);
    if (unit && cpp == j->cpp)
      for (size_t i = 0; i < e->n; i++)
        if (e->ports[i].is_output && *e->ports[i].layout) check_tables(j, unit, &e->ports[i]);
    if (unit && cpp == j->cpp && typed) check_order(j, unit, e);
    if (unit) clang_disposeTranslationUnit(unit);
    sci_clang_text_free(&probe);
  }
}

/* The header beside the source: the C++ one when the source includes none. */
static bool open_files(job *j, char *why, size_t room) {
  const char *slash = strrchr(j->path, '/');
  const char *base = slash ? slash + 1 : j->path, *dot = strrchr(base, '.');
  int stem = dot ? (int)(dot - base) : (int)strlen(base);
  snprintf(j->folder, sizeof j->folder, "%.*s", slash ? (int)(slash - j->path) : 1, slash ? j->path : ".");
  if (!read_file(j->path, &j->source)) {
    snprintf(why, room, "%s cannot be read", j->path);
    return false;
  }
  char include[600];
  snprintf(include, sizeof include, "#include \"%.*s.h\"", stem, base);
  j->cpp = !j->source.data || !strstr(j->source.data, include);
  snprintf(j->header, sizeof j->header, "%.*s.%s", stem, base, j->cpp ? "hpp" : "h");
  snprintf(j->header_path, sizeof j->header_path, "%.3500s/%.500s", j->folder, j->header);
  if (read_file(j->header_path, &j->header_text) && j->header_text.data) return true;
  snprintf(why, room, "%s has no header: %.400s cannot be read", j->path, j->header_path);
  return false;
}

static sc_status check(const char *path, void (*report)(void *, const sci_check_problem *), void *user, size_t *entries,
                       char *why, size_t room) {
  job j = {.path = path, .report = report, .user = user};
  sc_status status = SC_ERR_IO;
  if (open_files(&j, why, room)) {
    status = SC_OK;
    if (!sci_clang_read_contracts(j.source.data, &j.module)) {
      snprintf(why, room, "out of memory");
      status = SC_ERR_MEMORY;
    } else if (!j.module.n) {
      problem(&j, path, 0, "this is no exported module: no entry declares what it takes");
    } else {
      j.index = clang_createIndex(0, 0);
      check_source(&j);
      check_header(&j);
      clang_disposeIndex(j.index);
    }
    *entries = j.module.n;
  }
  sci_clang_module_free(&j.module);
  sci_clang_text_free(&j.source);
  sci_clang_text_free(&j.header_text);
  return status;
}

SC_API const sci_checker *scaly_clang_checker(void);

const sci_checker *scaly_clang_checker(void) {
  static const sci_checker checker = {SCI_CHECKER_ABI, "libclang", check};
  return &checker;
}
