/* Owns reading the plan back from the C text, through libclang. */
#include <clang-c/Index.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/plan/plan.h"

typedef struct place {
  plan *out;
  int node;
  bool *ok;
} place;

static enum CXChildVisitResult visit(CXCursor c, CXCursor parent, CXClientData data);

/* ---- loops ---- */

static bool constant(CXCursor c, int64_t *value) {
  CXEvalResult r = clang_Cursor_Evaluate(c);
  bool is_int = r && clang_EvalResult_getKind(r) == CXEval_Int;
  if (is_int) *value = clang_EvalResult_getAsLongLong(r);
  if (r) clang_EvalResult_dispose(r);
  return is_int;
}

typedef struct children {
  CXCursor at[8];
  int n;
} children;

static enum CXChildVisitResult collect(CXCursor c, CXCursor parent, CXClientData data) {
  children *list = data;
  (void)parent;
  if (list->n < 8) list->at[list->n++] = c;
  return CXChildVisit_Continue;
}

static children children_of(CXCursor c) {
  children list = {.n = 0};
  clang_visitChildren(c, collect, &list);
  return list;
}

/* `for (T i = start; i < stop; ++i or i += step) body`: the only form that the renderer has. */
static bool read_loop(CXCursor loop, plan_node *out, CXCursor *body) {
  children parts = children_of(loop);
  int64_t stop;
  if (parts.n != 4) return false;
  children declared = children_of(parts.at[0]), compared = children_of(parts.at[1]),
           advanced = children_of(parts.at[2]);
  if (declared.n != 1 || compared.n != 2 || advanced.n < 1) return false;
  out->step = 1;
  bool fits =
      constant(clang_Cursor_getVarDeclInitializer(declared.at[0]), &out->start) && constant(compared.at[1], &stop);
  if (advanced.n == 2) fits = fits && constant(advanced.at[1], &out->step);
  if (!fits || out->step <= 0) return false;
  out->trips = stop <= out->start ? 0 : (stop - out->start + out->step - 1) / out->step;
  *body = parts.at[3];
  return true;
}

/* ---- calls and lanes ---- */

static void read_call(place *at, CXCursor c) {
  CXString s = clang_getCursorSpelling(c);
  const char *name = clang_getCString(s);
  size_t n = strlen(name);
  int op = plan_routine(at->out, name, n);
  if (op >= 0) at->out->nodes[at->node].calls[op]++;
  if (n > 4 && !strcmp(name + n - 4, "_raw")) at->out->nodes[at->node].procs++;
  clang_disposeString(s);
}

static void read_lanes(place *at, CXCursor c) {
  CXType type = clang_getCanonicalType(clang_getCursorType(c));
  if (type.kind != CXType_Vector && type.kind != CXType_ExtVector) return;
  int lanes = (int)clang_getNumElements(type);
  if (lanes > at->out->nodes[at->node].lanes) at->out->nodes[at->node].lanes = lanes;
}

static enum CXChildVisitResult visit(CXCursor c, CXCursor parent, CXClientData data) {
  place *at = data;
  (void)parent;
  enum CXCursorKind kind = clang_getCursorKind(c);
  if (kind == CXCursor_ForStmt) {
    place inner = {at->out, plan_open(at->out, at->node), at->ok};
    CXCursor body;
    plan_node node = at->out->nodes[inner.node];
    if (!read_loop(c, &node, &body)) {
      *at->ok = false;
      return CXChildVisit_Break;
    }
    at->out->nodes[inner.node] = node;
    clang_visitChildren(body, visit, &inner);
    return CXChildVisit_Continue;
  }
  if (kind == CXCursor_CallExpr) read_call(at, c);
  if (clang_isExpression(kind)) read_lanes(at, c);
  return CXChildVisit_Recurse;
}

/* ---- functions ---- */

static bool is_procedure(CXCursor c, const char *entry) {
  CXString s = clang_getCursorSpelling(c);
  const char *name = clang_getCString(s);
  size_t n = strlen(name);
  bool found = clang_isCursorDefinition(c) && (!strcmp(name, entry) || (n > 4 && !strcmp(name + n - 4, "_raw")));
  clang_disposeString(s);
  return found;
}

typedef struct unit {
  plan *out;
  const char *entry;
  bool ok;
} unit;

static enum CXChildVisitResult visit_top(CXCursor c, CXCursor parent, CXClientData data) {
  unit *u = data;
  (void)parent;
  if (clang_getCursorKind(c) != CXCursor_FunctionDecl || !is_procedure(c, u->entry)) return CXChildVisit_Continue;
  place at = {u->out, plan_open(u->out, -1), &u->ok};
  clang_visitChildren(c, visit, &at);
  return CXChildVisit_Continue;
}

static bool report(CXTranslationUnit tu) {
  unsigned n = clang_getNumDiagnostics(tu);
  for (unsigned i = 0; i < n; i++) {
    CXDiagnostic d = clang_getDiagnostic(tu, i);
    CXString s = clang_formatDiagnostic(d, clang_defaultDiagnosticDisplayOptions());
    fprintf(stderr, "%s\n", clang_getCString(s));
    clang_disposeString(s);
    clang_disposeDiagnostic(d);
  }
  return n == 0;
}

bool plan_of_c(plan *out, const char *source, const char *header, const char *name, const sc_target *target) {
  const char *args[16] = {"-std=c17",           "-Wall",    "-Wextra",        "-Wpedantic", "-Wconversion",
                          "-Wdouble-promotion", "-Wshadow", "-fno-math-errno"};
  int n = 8;
  char flags[sizeof target->clang_flags], c_name[300], h_name[300];
  memcpy(flags, target->clang_flags, sizeof flags);
  for (char *word = strtok(flags, " "); word && n < 16; word = strtok(NULL, " ")) args[n++] = word;
  snprintf(c_name, sizeof c_name, "./%s.c", name);
  snprintf(h_name, sizeof h_name, "./%s.h", name);
  struct CXUnsavedFile files[2] = {{c_name, source, strlen(source)}, {h_name, header, strlen(header)}};
  CXIndex index = clang_createIndex(0, 0);
  CXTranslationUnit tu = clang_parseTranslationUnit(index, c_name, args, n, files, 2, CXTranslationUnit_None);
  unit u = {out, name, tu && report(tu)};
  if (u.ok) clang_visitChildren(clang_getTranslationUnitCursor(tu), visit_top, &u);
  if (tu) clang_disposeTranslationUnit(tu);
  clang_disposeIndex(index);
  return u.ok;
}
