/* Owns what is expected of the generated text itself, over all workloads and their derivatives: no copies, no dead
 * names, sizes. */
#define _GNU_SOURCE /* strndup */
#include <criterion/criterion.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "scaly/scaly.h"

static const struct {
  const char *file;
  const char *requests[6];
} workloads[] = {
    {"arm7", {"y", "jac:y:q", "spjac:y:q"}},
    {"arm7_batch64", {"y", "jac:y:q"}},
    {"chain_M5_N40", {"f", "eq", "grad:f:z", "spjac:eq:z", "splaghess:z:lower"}},
    {"matmul_n8", {"C"}},
    {"mlp_batch1", {"y", "adj:y:x"}},
    {"mlp_batch32", {"y"}},
    {"npmpc_H32_N12", {"f", "eq", "grad:f:z", "spjac:eq:z"}},
    {"quadrotor_N20", {"f", "eq", "grad:f:z", "spjac:eq:z", "splaghess:z:lower"}},
    {"race_car_N10", {"f", "eq", "grad:f:z", "spjac:eq:z", "splaghess:z:lower"}},
    {"race_car_N200", {"f", "eq", "grad:f:z", "spjac:eq:z", "splaghess:z:lower"}},
    {"reduce_dot_n100", {"dot", "grad:dot:x"}},
    {"reduce_norm_n100", {"norm", "grad:norm:x"}},
    {"reduce_sum_n100", {"sum"}},
    {"rosen_n10", {"f", "grad:f:x", "sphess:f:x:lower"}},
    {"straight_K1000", {"y"}},
    {"wave_n64", {"y", "s", "grad:s:x"}},
};

static sc_function *load(sc_context *cx, const char *name) {
  static char text[1 << 21];
  char path[512];
  snprintf(path, sizeof path, "%s/tests/data/workloads/%s.scaly", SCALY_TEST_SOURCE_DIR, name);
  FILE *f = fopen(path, "rb");
  cr_assert(f, "%s", path);
  size_t n = fread(text, 1, sizeof text, f);
  fclose(f);
  cr_assert(n < sizeof text);
  sc_module_text *m = sc_parse(cx, text, n, name);
  cr_assert(m, "%s", sc_context_error(cx)->message);
  sc_function *found = sc_module_text_find(m, NULL);
  sc_module_text_free(m);
  return found;
}

static sc_function *derive(sc_function *f, const char *const *requests, size_t n) {
  sc_request parsed[6];
  for (size_t i = 0; i < n; i++)
    cr_assert_eq(sc_request_parse(sc_function_context(f), requests[i], &parsed[i]), SC_OK, "%s", requests[i]);
  sc_function *g = sc_function_derive(f, NULL, parsed, n, NULL);
  cr_assert(g, "%s", sc_context_error(sc_function_context(f))->message);
  return g;
}

/* ---- lines ---- */

static bool is_word(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

static size_t word(const char *s) {
  size_t n = 0;
  while (is_word(s[n])) n++;
  return n;
}

/* "double x = ..." and the like: the name declared, and what it is set to. */
static bool declares(const char *line, const char **name, size_t *length, const char **value) {
  static const char *const types[] = {"double",  "float", "int64_t",      "int32_t",
                                      "uint8_t", "vec",   "const double", "const float"};
  line += strspn(line, " ");
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    size_t n = strlen(types[i]);
    if (strncmp(line, types[i], n) != 0 || (line[n] != ' ' && line[n] != '*')) continue;
    *name = line + n + strspn(line + n, " *");
    if (!strncmp(*name, "__restrict ", 11)) return false;
    *length = word(*name);
    const char *behind = *name + *length;
    if (!*length || strncmp(behind, " = ", 3) != 0) return false;
    *value = behind + 3;
    return true;
  }
  return false;
}

/* Occurrences of every word in the body of the text. */
typedef struct words {
  const char *at[1 << 16];
  uint32_t length[1 << 16], count[1 << 16];
} words;

static uint32_t *count_of(words *w, const char *s, size_t n) {
  for (uint32_t i = sci_hash_bytes(s, n);; i++) {
    uint32_t k = i & 0xFFFF;
    if (!w->at[k]) w->at[k] = s, w->length[k] = (uint32_t)n;
    if (w->length[k] == n && !memcmp(w->at[k], s, n)) return &w->count[k];
  }
}

static void count_words(words *w, const char *text) {
  memset(w, 0, sizeof *w);
  while (*text) {
    size_t n = word(text);
    if (n) ++*count_of(w, text, n);
    text += n ? n : 1;
  }
}

/* Names are counted procedure by procedure: they may mean something else in the next. */
static void check_text(const char *source, const char *which) {
  static words w;
  const char *end;
  for (const char *s = strstr(source, "\nextern \"C\" {"); s && *s; s = end) {
    end = strstr(s, "\n}\n");
    end = end ? end + 3 : s + strlen(s);
    char *proc = strndup(s, (size_t)(end - s));
    count_words(&w, proc);
    for (const char *line = proc; line; line = (line = strchr(line, '\n')) ? line + 1 : NULL) {
      const char *name, *value;
      size_t n;
      if (!declares(line, &name, &n, &value)) continue;
      cr_expect_gt(*count_of(&w, name, n), 1, "%s: %.*s is dead", which, (int)n, name);
      bool is_pointer = name[-1] == '*' || name[-2] == '*'; /* memory that is used again under another name */
      size_t copied = is_pointer || isdigit((unsigned char)*value) ? 0 : word(value);
      cr_expect(!copied || value[copied] != ';', "%s: a copy: %.*s", which, (int)(value + copied - line), line);
    }
    free(proc);
  }
}

static size_t table_bytes(const char *source) {
  size_t n = 0;
  for (const char *s = source; (s = strstr(s, "\nstatic const "));) {
    const char *line = strchr(s + 1, '\n'), *end = strstr(s, "};\n");
    if (!line || !end || !memchr(s, '[', (size_t)(line - s)))
      s++;
    else
      n += (size_t)(end + 3 - s - 1), s = end;
  }
  return n;
}

static sc_module *render(sc_function *f, sc_dialect dialect, sc_lanes lanes) {
  sc_module *m = sc_render_c(f, &(sc_c_options){.dialect = dialect, .lanes = lanes});
  cr_assert(m, "%s", sc_context_error(sc_function_context(f))->message);
  return m;
}

Test(corpus, text) {
  for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++) {
    sc_context *cx = sc_context_create(NULL);
    size_t n = 0;
    while (n < 6 && workloads[i].requests[n]) n++;
    sc_function *f = derive(load(cx, workloads[i].file), workloads[i].requests, n);
    for (int k = 0; k < 3; k++) {
      sc_module *m = render(f, k == 2 ? SC_DIALECT_C : SC_DIALECT_GNU, k == 1 ? SC_LANES_1 : SC_LANES_AUTO);
      check_text(sc_module_source(m), workloads[i].file);
      sc_module_destroy(m);
    }
    sc_context_destroy(cx);
  }
}

/* Tables aside. */
static size_t size_of(const char *file, const char *request) {
  sc_context *cx = sc_context_create(NULL);
  sc_module *m = render(derive(load(cx, file), &request, 1), SC_DIALECT_GNU, SC_LANES_AUTO);
  size_t n = strlen(sc_module_source(m)) - table_bytes(sc_module_source(m));
  sc_module_destroy(m);
  sc_context_destroy(cx);
  return n;
}

Test(corpus, sizes) {
  static const struct {
    const char *file, *request;
    size_t most;
  } bounds[] = {
      {"race_car_N10", "spjac:eq:z", 20000},
      {"race_car_N10", "splaghess:z:lower", 35000},
      {"quadrotor_N20", "spjac:eq:z", 52000},
      {"quadrotor_N20", "splaghess:z:lower", 90000},
  };
  for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
    size_t n = size_of(bounds[i].file, bounds[i].request);
    cr_expect_leq(n, bounds[i].most, "%s %s: %zu bytes", bounds[i].file, bounds[i].request, n);
  }
  /* Twenty times the stages: longer numbers. */
  size_t few = size_of("race_car_N10", "spjac:eq:z"), many = size_of("race_car_N200", "spjac:eq:z");
  cr_expect(many < few + 64, "%zu and %zu bytes", few, many);
}
