/* Owns what is read from syntax trees rather than asserted: that the call hands every buffer over in its place, and
 * that the queries of a CasADi layer (counts, names, patterns, sizes) answer what the module declares. */
#include "backends/clang/tree.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/module/module.h"

/* ---- looking around ---- */

static bool is_named(CXCursor c, const char *name) {
  CXString spelling = clang_getCursorSpelling(c);
  bool same = !strcmp(clang_getCString(spelling), name);
  clang_disposeString(spelling);
  return same;
}

typedef struct finder {
  enum CXCursorKind kind;
  const char *name; /* NULL: any */
  void (*found)(CXCursor c, void *user);
  void *user;
} finder;

static enum CXChildVisitResult visit_all(CXCursor c, CXCursor parent, CXClientData data) {
  finder *f = data;
  (void)parent;
  if (clang_getCursorKind(c) == f->kind && (!f->name || is_named(c, f->name))) f->found(c, f->user);
  return CXChildVisit_Recurse;
}

static void each(CXCursor root, enum CXCursorKind kind, const char *name, void (*found)(CXCursor c, void *user),
                 void *user) {
  finder f = {kind, name, found, user};
  clang_visitChildren(root, visit_all, &f);
}

typedef struct children {
  CXCursor list[64];
  size_t n; /* all there are; the first ones are in the list */
} children;

static enum CXChildVisitResult take_child(CXCursor c, CXCursor parent, CXClientData data) {
  children *all = data;
  (void)parent;
  if (all->n < sizeof all->list / sizeof *all->list) all->list[all->n] = c;
  all->n++;
  return CXChildVisit_Continue;
}

static children children_of(CXCursor c) {
  children all = {.n = 0};
  clang_visitChildren(c, take_child, &all);
  return all;
}

static bool number_of(CXCursor c, long long *out) {
  CXEvalResult r = clang_Cursor_Evaluate(c);
  bool ok = r && clang_EvalResult_getKind(r) == CXEval_Int;
  if (ok) *out = clang_EvalResult_getAsLongLong(r);
  if (r) clang_EvalResult_dispose(r);
  return ok;
}

/* ---- the order of buffers ---- */

/* The parameters of a call, and the lists of pointers in it. */
typedef struct handover {
  CXCursor *parameters;
  size_t n_parameters, room;
  size_t next; /* the parameter whose buffer is expected */
  bool is_right, failed;
} handover;

static void take_parameter(CXCursor c, void *user) {
  handover *h = user;
  if (h->n_parameters == h->room) {
    size_t room = 2 * h->room + 16;
    CXCursor *p = realloc(h->parameters, room * sizeof *p);
    if (!p) {
      h->failed = true;
      return;
    }
    h->parameters = p;
    h->room = room;
  }
  h->parameters[h->n_parameters++] = c;
}

/* Every use of a parameter within a list is the next one's. */
static void expect_next(CXCursor c, void *user) {
  handover *h = user;
  CXCursor target = clang_getCursorReferenced(c);
  if (clang_getCursorKind(target) != CXCursor_ParmDecl) return;
  h->is_right &= h->next < h->n_parameters && clang_equalCursors(target, h->parameters[h->next]);
  h->next++;
}

static void check_list(CXCursor c, void *user) {
  each(c, CXCursor_DeclRefExpr, NULL, expect_next, user);
}

typedef struct order {
  const char *scope; /* the namespace that it must be in; NULL: any */
  size_t calls, wrong, n_ports;
} order;

static void check_call(CXCursor c, void *user) {
  order *o = user;
  if (!clang_isCursorDefinition(c) || (o->scope && !is_named(clang_getCursorSemanticParent(c), o->scope))) return;
  handover h = {.is_right = true};
  each(c, CXCursor_ParmDecl, NULL, take_parameter, &h);
  each(c, CXCursor_InitListExpr, NULL, check_list, &h);
  o->calls++;
  o->wrong += !h.failed && (!h.is_right || h.next != o->n_ports);
  free(h.parameters);
}

bool sci_clang_hands_over_in_order(CXTranslationUnit unit, const char *scope, const char *call, size_t n_ports) {
  order o = {.scope = scope, .n_ports = n_ports};
  each(clang_getTranslationUnitCursor(unit), CXCursor_FunctionDecl, call, check_call, &o);
  return o.calls && !o.wrong;
}

/* ---- tables with two names ---- */

static void count_use(CXCursor c, void *user) {
  (void)c;
  ++*(int *)user;
}

typedef struct alias {
  const char *of;
  int uses;
} alias;

static void check_alias(CXCursor c, void *user) {
  alias *a = user;
  each(c, CXCursor_DeclRefExpr, a->of, count_use, &a->uses);
}

bool sci_clang_is_set_to(CXTranslationUnit unit, const char *variable, const char *of) {
  alias a = {of, 0};
  each(clang_getTranslationUnitCursor(unit), CXCursor_VarDecl, variable, check_alias, &a);
  return a.uses == 1;
}

/* ---- answers of queries ---- */

static void keep_definition(CXCursor c, void *user) {
  if (clang_isCursorDefinition(c)) *(CXCursor *)user = c;
}

static CXCursor find_query(CXTranslationUnit unit, const sci_clang_entry *e, const char *word) {
  char name[320];
  CXCursor c = clang_getNullCursor();
  snprintf(name, sizeof name, "%s_%s", e->name, word);
  each(clang_getTranslationUnitCursor(unit), CXCursor_FunctionDecl, name, keep_definition, &c);
  return c;
}

/* What `case number: return ...;` returns. */
typedef struct choice {
  long long number;
  CXCursor value;
} choice;

static void take_case(CXCursor c, void *user) {
  choice *wanted = user;
  children parts = children_of(c);
  long long number;
  if (parts.n != 2 || !number_of(parts.list[0], &number) || number != wanted->number) return;
  children result = children_of(parts.list[1]);
  if (clang_getCursorKind(parts.list[1]) == CXCursor_ReturnStmt && result.n == 1) wanted->value = result.list[0];
}

static CXCursor answer_for(CXCursor query, size_t number) {
  choice wanted = {(long long)number, clang_getNullCursor()};
  each(query, CXCursor_CaseStmt, NULL, take_case, &wanted);
  return wanted.value;
}

/* The name of the model, which C may spell with other characters and underscores behind. */
static bool names_port(CXCursor value, const sci_clang_port *p) {
  CXEvalResult r = clang_Cursor_isNull(value) ? NULL : clang_Cursor_Evaluate(value);
  bool ok = r && clang_EvalResult_getKind(r) == CXEval_StrLiteral;
  const char *said = ok ? clang_EvalResult_getAsStr(r) : "", *declared = p->name;
  if (isdigit((unsigned char)*said) && *declared == '_') declared++;
  for (; ok && *said; said++, declared++)
    ok = *declared && (*said == *declared || (*declared == '_' && !isalnum((unsigned char)*said)));
  ok = ok && strspn(declared, "_") == strlen(declared);
  if (r) clang_EvalResult_dispose(r);
  return ok;
}

static void take_offset(CXCursor c, void *user) {
  number_of(c, user);
}

/* Where in the table of patterns an answer points; -1: nowhere in it. */
static long long offset_of(CXCursor value, const char *table) {
  long long offset = 0;
  int uses = 0;
  if (clang_Cursor_isNull(value)) return -1;
  if (clang_getCursorKind(value) == CXCursor_DeclRefExpr && is_named(value, table)) return 0;
  each(value, CXCursor_DeclRefExpr, table, count_use, &uses);
  each(value, CXCursor_IntegerLiteral, NULL, take_offset, &offset);
  return uses == 1 ? offset : -1;
}

/* {nrow, ncol, colptr[ncol + 1], rowind[nnz]} at `at`. */
static bool is_pattern(const sci_clang_numbers *t, long long at, const sci_clang_port *p) {
  bool sparse = *p->layout != 0;
  long long nrow = sparse        ? p->nrow
                   : p->rank > 0 ? p->shape[0]
                                 : 1,
            ncol = sparse        ? p->ncol
                   : p->rank > 1 ? p->shape[1]
                                 : 1;
  long long nnz = sparse ? p->count : nrow * ncol;
  if (at < 0 || (size_t)at + 3 + (size_t)ncol + (size_t)nnz > t->n) return false;
  const int32_t *d = t->data + at;
  if (d[0] != nrow || d[1] != ncol) return false;
  if (sparse) return sci_digest_of(sci_digest_of(2166136261u, d + 2, ncol + 1), d + 3 + ncol, nnz) == p->digest;
  for (long long k = 0; k <= ncol; k++)
    if (d[2 + k] != k * nrow) return false;
  for (long long k = 0; k < nnz; k++)
    if (d[3 + ncol + k] != k % nrow) return false;
  return true;
}

/* ---- sizes ---- */

typedef struct assignment {
  const char *to; /* sz_w */
  long long value;
  int found;
} assignment;

static void take_assignment(CXCursor c, void *user) {
  assignment *a = user;
  children sides = children_of(c);
  int uses = 0;
  if (sides.n != 2 || clang_getCursorKind(sides.list[0]) != CXCursor_UnaryOperator) return;
  each(sides.list[0], CXCursor_DeclRefExpr, a->to, count_use, &uses);
  if (uses && number_of(sides.list[1], &a->value)) a->found++;
}

static bool sets(CXCursor query, const char *to, long long value) {
  assignment a = {.to = to};
  each(query, CXCursor_BinaryOperator, NULL, take_assignment, &a);
  return a.found == 1 && a.value == value;
}

typedef struct result {
  long long value;
  int found;
} result;

static void take_return(CXCursor c, void *user) {
  result *r = user;
  children value = children_of(c);
  if (value.n == 1 && number_of(value.list[0], &r->value)) r->found++;
}

static bool returns(CXCursor query, long long value) {
  result r = {0, 0};
  each(query, CXCursor_ReturnStmt, NULL, take_return, &r);
  return r.found == 1 && r.value == value;
}

/* ---- the layer of an entry ---- */

static void check_side(const sci_clang_entry *e, CXTranslationUnit unit, bool is_output,
                       const sci_clang_numbers *patterns, void (*wrong)(void *, const char *), void *user) {
  char message[512], word[32], table[320];
  const char *side = is_output ? "out" : "in";
  size_t count = 0;
  snprintf(word, sizeof word, "name_%s", side);
  CXCursor names = find_query(unit, e, word);
  snprintf(word, sizeof word, "sparsity_%s", side);
  CXCursor sparsities = find_query(unit, e, word);
  snprintf(table, sizeof table, "%s_patterns", e->name);
  for (size_t i = 0; i < e->n; i++) {
    const sci_clang_port *p = &e->ports[i];
    if (p->is_output != is_output) continue;
    snprintf(message, sizeof message, "%s_name_%s(%zu) does not return the name of %s", e->name, side, count, p->name);
    if (!names_port(answer_for(names, count), p)) wrong(user, message);
    snprintf(message, sizeof message, "%s_sparsity_%s(%zu) does not return the pattern of %s", e->name, side, count,
             p->name);
    if (!is_pattern(patterns, offset_of(answer_for(sparsities, count), table), p)) wrong(user, message);
    count++;
  }
  snprintf(word, sizeof word, "n_%s", side);
  snprintf(message, sizeof message, "%s_n_%s does not return %zu", e->name, side, count);
  if (!returns(find_query(unit, e, word), (long long)count)) wrong(user, message);
  snprintf(word, sizeof word, "sz_%s", is_output ? "res" : "arg");
  snprintf(message, sizeof message, "%s_work does not ask for %zu pointers of %s", e->name, count,
           is_output ? "results" : "inputs");
  if (!sets(find_query(unit, e, "work"), word, (long long)count)) wrong(user, message);
  snprintf(message, sizeof message, "%s_work_bytes does not ask for %zu pointers of %s", e->name, count,
           is_output ? "results" : "inputs");
  if (!sets(find_query(unit, e, "work_bytes"), word, (long long)(count * sizeof(void *)))) wrong(user, message);
}

void sci_clang_check_casadi(const sci_clang_entry *e, CXTranslationUnit unit, const sci_clang_numbers *patterns,
                            void (*wrong)(void *, const char *), void *user) {
  char message[512];
  for (int out = 0; out < 2; out++) check_side(e, unit, out, patterns, wrong, user);
  snprintf(message, sizeof message, "%s_work does not ask for %lld elements of w and none of iw", e->name,
           e->workspace);
  CXCursor work = find_query(unit, e, "work"), bytes = find_query(unit, e, "work_bytes");
  if (!sets(work, "sz_w", e->workspace) || !sets(work, "sz_iw", 0)) wrong(user, message);
  snprintf(message, sizeof message, "%s_work_bytes does not ask for %lld bytes of w and none of iw", e->name,
           8 * e->workspace);
  if (!sets(bytes, "sz_w", 8 * e->workspace) || !sets(bytes, "sz_iw", 0)) wrong(user, message);
}
