/* The commands of golden files: each turns a case's input into text, or fails with diagnostics. */
#include <stdio.h>
#include <string.h>

#include "lib/passes/passes.h"
#include "tests/golden/golden.h"

/* ---- round trips: whatever is printed must parse back to itself ---- */

static golden_result differs(golden_job *job, const char *first, const char *second) {
  golden_put(job->out, first);
  golden_put(job->out, "---- parsed and printed again\n");
  golden_put(job->out, second);
  return GOLDEN_NO_ROUND_TRIP;
}

/* Puts the text of f; in a context of its own, the text must give the same function. */
static golden_result put_function(golden_job *job, const sc_function *f) {
  char *text = sc_print_function(f), *again = NULL;
  if (!text) return GOLDEN_FAILED;
  sc_context *cx = sc_context_create(NULL);
  sc_module_text *m = sc_parse(cx, text, strlen(text), "printed");
  if (m) again = sc_print_function(sc_module_text_find(m, NULL));
  golden_result result = GOLDEN_OK;
  if (again && !strcmp(text, again))
    golden_put(job->out, text);
  else
    result = differs(job, text, again ? again : sc_context_error(cx)->message);
  sc_string_free(cx, again);
  sc_module_text_free(m);
  sc_context_destroy(cx);
  sc_string_free(job->cx, text);
  return result;
}

static golden_result put_program_text(golden_job *job, const char *text, bool silent) {
  char *again = NULL;
  sc_context *cx = sc_context_create(NULL);
  sc_program *q = sc_parse_program(cx, text, strlen(text), "printed");
  if (q) again = sc_print_program(q);
  golden_result result = GOLDEN_OK;
  if (!again || strcmp(text, again) != 0)
    result = differs(job, text, again ? again : sc_context_error(cx)->message);
  else if (!silent)
    golden_put(job->out, text);
  sc_string_free(cx, again);
  sc_program_destroy(q);
  sc_context_destroy(cx);
  return result;
}

static golden_result put_program(golden_job *job, const sc_program *p) {
  char *text = sc_print_program(p);
  if (!text) return GOLDEN_FAILED;
  golden_result result = put_program_text(job, text, false);
  sc_string_free(job->cx, text);
  return result;
}

/* ---- input ---- */

/* The value of an option "key=value" from word `*at` on, or NULL; `*at` is then the word behind it. */
static const char *next_option(const golden_job *job, const char *key, int *at) {
  size_t n = strlen(key);
  for (; *at < job->n_words; ++*at)
    if (!strncmp(job->words[*at], key, n) && job->words[*at][n] == '=') return job->words[(*at)++] + n + 1;
  return NULL;
}

static const char *option(const golden_job *job, const char *key) {
  int at = 1;
  return next_option(job, key, &at);
}

/* The last function or f=NAME; with out=REQUEST, as often as wanted, the function derived from it. */
static sc_function *parse_function(golden_job *job) {
  sc_module_text *m = sc_parse(job->cx, job->input, job->input_size, "input");
  sc_function *f = m ? sc_module_text_find(m, option(job, "f")) : NULL;
  sc_module_text_free(m);
  sc_request requests[GOLDEN_MAX_WORDS];
  size_t n = 0;
  const char *text;
  for (int at = 1; f && (text = next_option(job, "out", &at)) != NULL; n++)
    if (sc_request_parse(job->cx, text, &requests[n])) return NULL;
  return f && n ? sc_function_derive(f, NULL, requests, n, NULL) : f;
}

static sc_program *parse_program(golden_job *job) {
  return sc_parse_program(job->cx, job->input, job->input_size, "input");
}

/* ---- commands ---- */

/* print */
static golden_result run_print(golden_job *job) {
  sc_function *f = parse_function(job);
  return f ? put_function(job, f) : GOLDEN_FAILED;
}

/* verify */
static golden_result run_verify(golden_job *job) {
  sc_function *f = parse_function(job);
  if (!f || sc_verify(f)) return GOLDEN_FAILED;
  golden_put(job->out, "ok\n");
  return GOLDEN_OK;
}

/* program */
static golden_result run_program(golden_job *job) {
  sc_program *p = parse_program(job);
  golden_result result = p ? put_program(job, p) : GOLDEN_FAILED;
  sc_program_destroy(p);
  return result;
}

/* ---- lowering and passes ---- */

/* target=NAME (generic), rounding=strict, passes=-NAME,-NAME */
static bool read_options(const golden_job *job, sc_target *target, sc_lower_options *out) {
  const char *name = option(job, "target"), *rounding = option(job, "rounding");
  if (sc_target_preset(name ? name : "generic", target)) return false;
  if (rounding && strcmp(rounding, "strict") != 0) return false;
  *out = (sc_lower_options){.target = target,
                            .rounding = rounding ? SC_ROUNDING_STRICT : SC_ROUNDING_DEFAULT,
                            .passes = option(job, "passes"),
                            .verify_each = true};
  return true;
}

typedef struct dump_state {
  golden_job *job;
  const char *shown; /* the stage whose text is the case's; others only make their round trip */
  golden_result result;
} dump_state;

static void take_dump(void *user, const char *pass, const char *text) {
  dump_state *d = user;
  if (d->result == GOLDEN_OK) d->result = put_program_text(d->job, text, !d->shown || strcmp(pass, d->shown) != 0);
}

/* lower: what lowering gives, before any pass */
static golden_result run_lower(golden_job *job) {
  sc_target target;
  sc_lower_options o;
  dump_state d = {job, "lower", GOLDEN_OK};
  if (!read_options(job, &target, &o)) return GOLDEN_MISUSED;
  o.passes = "none";
  o.dump_after = "lower";
  o.dump = take_dump;
  o.dump_user = &d;
  sc_function *f = parse_function(job);
  sc_program *p = f ? sc_lower(f, &o) : NULL;
  sc_program_destroy(p);
  return p ? d.result : GOLDEN_FAILED;
}

static golden_result finish(golden_job *job, sc_program *p, const dump_state *d) {
  golden_result result = p ? d->result : GOLDEN_FAILED;
  if (result == GOLDEN_OK) result = put_program(job, p);
  sc_program_destroy(p);
  return result;
}

/* pipeline: an expression function, lowered and through all passes; every text between them makes its round trip */
static golden_result run_pipeline(golden_job *job) {
  sc_target target;
  sc_lower_options o;
  dump_state d = {job, NULL, GOLDEN_OK};
  if (!read_options(job, &target, &o)) return GOLDEN_MISUSED;
  o.dump_after = "all";
  o.dump = take_dump;
  o.dump_user = &d;
  sc_function *f = parse_function(job);
  return finish(job, f ? sc_lower(f, &o) : NULL, &d);
}

/* optimize: a program through all passes, likewise */
static golden_result run_optimize(golden_job *job) {
  sc_target target;
  sc_lower_options o;
  dump_state d = {job, NULL, GOLDEN_OK};
  if (!read_options(job, &target, &o)) return GOLDEN_MISUSED;
  if (!option(job, "target")) o.target = NULL;
  o.dump_after = "all";
  o.dump = take_dump;
  o.dump_user = &d;
  sc_program *p = parse_program(job), *q = p ? sc_program_optimize(p, &o) : NULL;
  sc_program_destroy(p);
  return finish(job, q, &d);
}

typedef sci_program *(*pass_fn)(const sci_program *p, int64_t *changes);

static pass_fn find_pass(const char *name) {
#define SCI_PASS(pass, ...)                                                                                            \
  if (!strcmp(name, #pass)) return sci_pass_##pass;
#include "lib/passes/passes.def"
#undef SCI_PASS
  return NULL;
}

/* The pass's program, verified, or NULL: nothing to do, or a failure that the context has. */
static sc_program *apply_pass(const sc_program *p, pass_fn fn, int64_t *changes) {
  sci_env *env = p->store->env;
  sci_frame fr;
  if (!SCI_TRY(env, &fr)) return NULL;
  sci_program *q = fn(p, changes);
  if (q) sci_program_check(q);
  if (q) sci_keep(env, q);
  sci_leave(env, &fr);
  return q;
}

/* pass NAME: a program through one pass, with the number of changes it reports */
static golden_result run_pass(golden_job *job) {
  pass_fn fn = job->n_words > 1 ? find_pass(job->words[1]) : NULL;
  if (!fn) return GOLDEN_MISUSED;
  sc_program *p = parse_program(job);
  if (!p) return GOLDEN_FAILED;
  int64_t changes = 0;
  sc_program *q = apply_pass(p, fn, &changes);
  golden_result result = GOLDEN_FAILED;
  if (!sc_context_error(job->cx)) {
    char line[64];
    snprintf(line, sizeof line, "// changes: %lld\n", (long long)changes);
    golden_put(job->out, line);
    result = put_program(job, q ? q : p);
  }
  sc_program_destroy(q);
  sc_program_destroy(p);
  return result;
}

/* ---- backends; from=program: the input is a program ---- */

/* c [part=header] [lang=cpp] [cpu=NAME] [lanes=N] [dialect=c] [prefix=P] [rounding=strict] */
static golden_result run_c(golden_job *job) {
  sc_target target;
  sc_lower_options o;
  if (!read_options(job, &target, &o)) return GOLDEN_MISUSED;
  const char *dialect = option(job, "dialect"), *part = option(job, "part"), *lanes = option(job, "lanes");
  sc_c_options c = {.cpu = option(job, "cpu"),
                    .lanes = lanes ? (sc_lanes)(lanes[0] - '0') : SC_LANES_AUTO,
                    .dialect = dialect && !strcmp(dialect, "c") ? SC_DIALECT_C : SC_DIALECT_GNU,
                    .rounding = o.rounding,
                    .lang = option(job, "lang") ? SC_LANG_CPP : SC_LANG_C,
                    .prefix = option(job, "prefix"),
                    .lower = &o};
  sc_module *m = NULL;
  if (option(job, "from")) {
    sc_program *p = parse_program(job);
    if (p) m = sc_render_c_program(p, &c);
    sc_program_destroy(p);
  } else {
    sc_function *f = parse_function(job);
    if (f) m = sc_render_c(f, &c);
  }
  if (m) golden_put(job->out, part && !strcmp(part, "header") ? sc_module_header(m) : sc_module_source(m));
  sc_module_destroy(m);
  return m ? GOLDEN_OK : GOLDEN_FAILED;
}

/* llvm [target=NAME] [rounding=strict] */
static golden_result run_llvm(golden_job *job) {
  sc_target target;
  sc_lower_options o;
  if (!read_options(job, &target, &o)) return GOLDEN_MISUSED;
  if (!sc_llvm_available(job->cx, SCALY_TEST_PLUGIN_DIR, NULL)) return GOLDEN_SKIPPED;
  sc_function *f = option(job, "from") ? NULL : parse_function(job);
  sc_program *p = f ? sc_lower(f, &o) : option(job, "from") ? parse_program(job) : NULL;
  size_t size;
  char *text =
      p ? sc_emit_llvm(p, SC_EMIT_LLVM, &(sc_jit_options){.lower = &o, .plugin_dir = SCALY_TEST_PLUGIN_DIR}, &size)
        : NULL;
  if (text) golden_put_n(job->out, text, size);
  sc_string_free(job->cx, text);
  sc_program_destroy(p);
  return text ? GOLDEN_OK : GOLDEN_FAILED;
}

static const golden_command commands[] = {
    {"print", run_print},       {"verify", run_verify},     {"program", run_program}, {"lower", run_lower},
    {"pipeline", run_pipeline}, {"optimize", run_optimize}, {"pass", run_pass},       {"c", run_c},
    {"llvm", run_llvm},
};

const golden_command *golden_find(const char *name) {
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
    if (!strcmp(commands[i].name, name)) return &commands[i];
  return NULL;
}
