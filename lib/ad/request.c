/* Owns the text of derivative requests and the names of their results. */
#include "lib/ad/derive.h"

#include "lib/base/text.h"

/* kind of request, its word, the fields that follow it */
static const struct {
  const char *word, *form;
  bool of, sparse, triangle;
} kinds[] = {
    [SC_REQUEST_OUTPUT] = {"", "NAME", true, false, false},
    [SC_REQUEST_FWD] = {"fwd", "fwd:OF:WRT", true, false, false},
    [SC_REQUEST_ADJ] = {"adj", "adj:OF:WRT", true, false, false},
    [SC_REQUEST_GRAD] = {"grad", "grad:OF:WRT", true, false, false},
    [SC_REQUEST_JAC] = {"jac", "jac:OF:WRT", true, false, false},
    [SC_REQUEST_HESS] = {"hess", "hess:OF:WRT", true, false, false},
    [SC_REQUEST_SPJAC] = {"spjac", "spjac:OF:WRT[:csc|csr|coo]", true, true, false},
    [SC_REQUEST_SPHESS] = {"sphess", "sphess:OF:WRT[:full|lower|upper][:csc|csr|coo]", true, true, true},
    [SC_REQUEST_LAGHESS] = {"laghess", "laghess:WRT", false, false, false},
    [SC_REQUEST_SPLAGHESS] = {"splaghess", "splaghess:WRT[:full|lower|upper][:csc|csr|coo]", false, true, true},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

enum { N_WORDS = 3 }; /* of triangles, and of layouts */
static const char *const triangles[N_WORDS] = {
    [SC_TRIANGLE_FULL] = "full", [SC_TRIANGLE_LOWER] = "lower", [SC_TRIANGLE_UPPER] = "upper"};
static const char *const layouts[N_WORDS] = {[SC_CSC] = "csc", [SC_CSR] = "csr", [SC_COO] = "coo"};

static int word_of(const char *const words[N_WORDS], const char *text) {
  for (int i = 0; i < N_WORDS; i++)
    if (!strcmp(words[i], text)) return i;
  return -1;
}

_Noreturn static void malformed(sc_context *cx, const char *text, int kind) {
  if (kind >= 0) sci_fail(&cx->env, SC_ERR_PARSE, "request '%s' is not of the form %s", text, kinds[kind].form);
  sci_text known;
  sci_text_init(&known, &cx->env.scratch);
  for (int k = 1; k < N_KINDS; k++) sci_putf(&known, "%s%s", k > 1 ? ", " : "", kinds[k].form);
  sci_fail(&cx->env, SC_ERR_PARSE, "request '%s' is neither an output's name nor one of %s", text, known.data);
}

sc_request sci_request_parse(sc_context *cx, const char *text) {
  enum { FIELDS = 5 };
  char *field[FIELDS] = {sci_strdup(&cx->arena, text)};
  int n = 1;
  for (char *c = field[0]; *c; c++) {
    if (*c != ':') continue;
    if (n == FIELDS) malformed(cx, text, -1);
    *c = 0;
    field[n++] = c + 1;
  }
  if (n == 1) return (sc_request){.kind = SC_REQUEST_OUTPUT, .of = field[0]};
  int kind = 1;
  while (kind < N_KINDS && strcmp(kinds[kind].word, field[0])) kind++;
  if (kind == N_KINDS) malformed(cx, text, -1);
  sc_request r = {.kind = (sc_request_kind)kind};
  int at = 1;
  if (kinds[kind].of) r.of = field[at++];
  if (at >= n) malformed(cx, text, kind);
  r.wrt = field[at++];
  int triangle = at < n && kinds[kind].triangle ? word_of(triangles, field[at]) : -1;
  if (triangle >= 0) r.triangle = (sc_triangle)triangle, at++;
  int layout = at < n && kinds[kind].sparse ? word_of(layouts, field[at]) : -1;
  if (layout >= 0) r.layout = (sc_layout)layout, at++;
  if (at < n || !*r.wrt || (r.of && !*r.of)) malformed(cx, text, kind);
  return r;
}

const char *sci_request_name(sc_context *cx, const sc_request *r) {
  sci_arena *scratch = &cx->env.scratch;
  if (r->kind == SC_REQUEST_OUTPUT) return r->of;
  char *wrt = sci_strdup(scratch, r->wrt);
  for (char *c = wrt; *c; c++)
    if (*c == '+') *c = '_';
  switch (r->kind) {
  case SC_REQUEST_OUTPUT:
  case SC_REQUEST_FWD:
  case SC_REQUEST_ADJ:
  case SC_REQUEST_GRAD:
  case SC_REQUEST_JAC:
  case SC_REQUEST_SPJAC: return sci_asprintf(scratch, "%s_%s_%s", kinds[r->kind].word, r->of, wrt);
  case SC_REQUEST_HESS:
  case SC_REQUEST_SPHESS: return sci_asprintf(scratch, "%s_%s_%s_%s", kinds[r->kind].word, r->of, wrt, wrt);
  case SC_REQUEST_LAGHESS: return sci_asprintf(scratch, "hess_gamma_%s_%s", wrt, wrt);
  case SC_REQUEST_SPLAGHESS: return sci_asprintf(scratch, "sphess_gamma_%s_%s", wrt, wrt);
  }
  return "";
}
