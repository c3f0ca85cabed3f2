/* Owns the text of derivative requests and the names of their results. */
#include "lib/ad/derive.h"

#include "lib/base/text.h"

/* kind of request, its word, the fields that follow it */
static const struct {
  const char *word, *form;
  bool of, triangle;
} kinds[] = {
    [SC_REQUEST_OUTPUT] = {"", "NAME", true, false},
    [SC_REQUEST_FWD] = {"fwd", "fwd:OF:WRT", true, false},
    [SC_REQUEST_ADJ] = {"adj", "adj:OF:WRT", true, false},
    [SC_REQUEST_GRAD] = {"grad", "grad:OF:WRT", true, false},
    [SC_REQUEST_JAC] = {"jac", "jac:OF:WRT", true, false},
    [SC_REQUEST_HESS] = {"hess", "hess:OF:WRT", true, false},
    [SC_REQUEST_SPJAC] = {"spjac", "spjac:OF:WRT", true, false},
    [SC_REQUEST_SPHESS] = {"sphess", "sphess:OF:WRT[:full|lower|upper]", true, true},
    [SC_REQUEST_LAGHESS] = {"laghess", "laghess:WRT", false, false},
    [SC_REQUEST_SPLAGHESS] = {"splaghess", "splaghess:WRT[:full|lower|upper]", false, true},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static const char *const triangles[] = {
    [SC_TRIANGLE_FULL] = "full", [SC_TRIANGLE_LOWER] = "lower", [SC_TRIANGLE_UPPER] = "upper"};

_Noreturn static void malformed(sc_context *cx, const char *text, int kind) {
  if (kind >= 0) sci_fail(&cx->env, SC_ERR_PARSE, "request '%s' is not of the form %s", text, kinds[kind].form);
  sci_text known;
  sci_text_init(&known, &cx->env.scratch);
  for (int k = 1; k < N_KINDS; k++) sci_putf(&known, "%s%s", k > 1 ? ", " : "", kinds[k].form);
  sci_fail(&cx->env, SC_ERR_PARSE, "request '%s' is neither an output's name nor one of %s", text, known.data);
}

sc_request sci_request_parse(sc_context *cx, const char *text) {
  char *field[4] = {sci_strdup(&cx->arena, text)};
  int n = 1;
  for (char *c = field[0]; *c; c++) {
    if (*c != ':') continue;
    if (n == 4) malformed(cx, text, -1);
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
  if (at < n && kinds[kind].triangle) {
    int t = 0;
    while (t < 3 && strcmp(triangles[t], field[at])) t++;
    if (t == 3) malformed(cx, text, kind);
    r.triangle = (sc_triangle)t;
    at++;
  }
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
