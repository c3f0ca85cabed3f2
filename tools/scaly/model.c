/* Owns the way from FILE[:FUNCTION] and --out to a function or program, and to machine code. */
#include "tools/scaly/model.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/scaly/report.h"
#include "tools/scaly/values.h"

model_path model_split_path(const char *operand) {
  const char *colon = strrchr(operand, ':');
  if (!colon || access(operand, F_OK) == 0) return (model_path){operand, NULL};
  return (model_path){pool_strndup(operand, (size_t)(colon - operand)), colon + 1};
}

bool model_is_program(const char *text, size_t size) {
  size_t i = 0;
  for (;;) {
    while (i < size && isspace((unsigned char)text[i])) i++;
    if (size - i < 2 || text[i] != '/' || text[i + 1] != '/') break;
    while (i < size && text[i] != '\n') i++;
  }
  return size - i >= 5 && memcmp(text + i, "prog.", 5) == 0;
}

/* What --out lists, in that order. */
static bool read_requests(model *m, const arguments *args) {
  m->requests = pool_alloc(args->n_given, sizeof *m->requests);
  for (size_t i = 0; i < args->n_given; i++) {
    if (strcmp(args->given[i].name, "out")) continue;
    if (sc_request_parse(m->cx, args->given[i].value, &m->requests[m->n_requests++]) != SC_OK) return false;
  }
  return true;
}

static bool parse_functions(model *m, const char *text, size_t size, const char *name, const arguments *args,
                            bool derive) {
  sc_module_text *module = sc_parse(m->cx, text, size, m->file);
  if (!module) return false;
  m->function = sc_module_text_find(module, name);
  if (m->function && option_given(args, "out") && !read_requests(m, args)) m->function = NULL;
  if (m->function && m->n_requests && derive) {
    m->function = sc_function_derive(m->function, NULL, m->requests, m->n_requests, NULL);
    m->n_requests = 0;
  }
  sc_module_text_free(module);
  return m->function;
}

static int open_model(model *m, const arguments *args, bool derive) {
  model_path path = model_split_path(args->operand);
  *m = (model){.file = strcmp(path.file, "-") ? path.file : "<stdin>"};
  size_t size;
  char *text = read_file(path.file, &size);
  if (!text) return EXIT_INPUT;
  m->cx = sc_context_create(NULL);
  if (!m->cx) {
    complain("out of memory");
    return EXIT_ENVIRONMENT;
  }
  bool is_program = model_is_program(text, size);
  int code = EXIT_OK;
  if (is_program && (path.function || option_given(args, "out"))) {
    complain("%s holds a program, which has no functions or outputs to choose from", m->file);
    code = EXIT_INPUT;
  } else if (is_program) {
    m->program = sc_parse_program(m->cx, text, size, m->file);
  } else {
    parse_functions(m, text, size, path.function, args, derive);
  }
  if (code == EXIT_OK && !m->function && !m->program) code = report_context(m->cx);
  if (code != EXIT_OK) model_close(m);
  return code;
}

int model_open(model *m, const arguments *args) {
  return open_model(m, args, true);
}

int model_open_underived(model *m, const arguments *args) {
  return open_model(m, args, false);
}

void model_close(model *m) {
  sc_program_destroy(m->program);
  sc_context_destroy(m->cx);
  *m = (model){0};
}

bool model_vector_options(const arguments *args, sc_vector_libm *libm, double *accuracy) {
  static const char *const libms[] = {"auto", "none", "glibc", "sleef", NULL};
  int choice = option_choice(args, "vector-libm", libms, SC_VECTOR_LIBM_AUTO);
  if (choice < 0) return false;
  *libm = (sc_vector_libm)choice;
  const char *ulp = option_value(args, "vector-accuracy");
  if (!ulp) return true;
  char *end;
  *accuracy = strtod(ulp, &end);
  if (end != ulp && !*end && *accuracy > 0 && !became_infinite(ulp, *accuracy)) return true;
  usage_error(args->command, "--vector-accuracy takes a positive number of units in the last place, not \"%s\"", ulp);
  return false;
}

bool model_lower_options(const arguments *args, sc_lower_options *out, sc_target *target) {
  *out = (sc_lower_options){.passes = option_value(args, "passes")};
  if (!model_vector_options(args, &out->vector_libm, &out->vector_accuracy)) return false;
  long long bisect = 0;
  if (!option_integer(args, "bisect", 0, INT64_MAX, &bisect)) return false;
  /* The library takes 0 as "no limit"; on the command line 0 passes are 0 passes. */
  if (option_given(args, "bisect")) out->bisect = bisect ? bisect : -1;
  const char *preset = getenv("SCALY_TARGET");
  if (!preset || !*preset) return true;
  out->target = target;
  if (sc_target_preset(preset, target) == SC_OK) return true;
  fprintf(stderr, "scaly: SCALY_TARGET: there is no target \"%s\"; there are", preset);
  for (size_t i = 0; i < sc_target_preset_count(); i++)
    fprintf(stderr, "%s %s", i ? "," : "", sc_target_preset_name(i));
  fputc('\n', stderr);
  return false;
}

sc_program *model_lower(const model *m, const sc_lower_options *options) {
  return m->program ? sc_program_optimize(m->program, options) : sc_lower(m->function, options);
}

sc_kernel *model_jit(const model *m, const sc_lower_options *options, const sc_jit_options *jit) {
  sc_jit_options o = jit ? *jit : (sc_jit_options){0};
  o.lower = options;
  o.requests = m->requests;
  o.n_requests = m->n_requests;
  if (m->function) return sc_jit(m->function, &o);
  sc_program *p = model_lower(m, options);
  sc_kernel *k = p ? sc_jit_program(p, &o) : NULL;
  sc_program_destroy(p);
  return k;
}
