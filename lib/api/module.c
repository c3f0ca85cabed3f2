/* Owns the public functions of scaly/module.h: rendering C, and writing it so that a failure leaves nothing behind. */
#define _POSIX_C_SOURCE 200809L
#include "lib/api/casadi.h"
#include "lib/api/enter.h"
#include "lib/api/kernel.h"
#include "lib/module/backend.h"
#include "lib/target/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* The texts lie behind the module in one block: it outlives its context. */
struct sc_module {
  sc_allocator alloc;
  size_t size;
  size_t source_size;
  const char *name, *source, *header, *source_name, *header_name;
  char error[512]; /* of the last write */
};

/* ---- rendering ---- */

static const char *append(char **at, const char *text, size_t n) {
  char *copy = *at;
  memcpy(copy, text, n);
  copy[n] = 0;
  *at += n + 1;
  return copy;
}

static const char *append_name(char **at, const char *name, const char *ending) {
  const char *copy = append(at, name, strlen(name));
  --*at;
  append(at, ending, strlen(ending));
  return copy;
}

static sc_module *make_module(sci_env *env, const char *name, const char *ending, sc_lang lang, char *const text[2],
                              const size_t size[2]) {
  size_t total = sizeof(sc_module) + 3 * strlen(name) + strlen(ending) + sizeof ".hpp" + size[0] + size[1] + 5;
  sc_module *m = env->alloc.reallocate(env->alloc.user, NULL, 0, total);
  if (!m) sci_fail(env, SC_ERR_MEMORY, "out of memory: %zu bytes could not be allocated", total);
  *m = (sc_module){.alloc = env->alloc, .size = total, .source_size = size[0]};
  char *at = (char *)(m + 1);
  m->name = append(&at, name, strlen(name));
  m->source = append(&at, text[0], size[0]);
  m->header = append(&at, text[1], size[1]);
  m->source_name = append_name(&at, name, ending);
  m->header_name = append_name(&at, name, lang == SC_LANG_CPP ? ".hpp" : ".h");
  return m;
}

typedef struct texts {
  sci_env *env;
  char *text[2];
} texts;

static void free_texts(void *what) {
  texts *t = what;
  sci_bytes_free(t->env, t->text[0]);
  sci_bytes_free(t->env, t->text[1]);
}

/* A backend's diagnostic is recorded already. */
static void run(sci_env *env, const sci_backend *backend, const sci_render_request *request, char *out[2],
                size_t size[2]) {
  sc_status status = backend->render(env, request, out, size);
  if (status == SC_OK) return;
  if (!env->n_diags) sci_fail(env, status, "the %s backend failed", backend->name);
  sci_unwind(env);
}

static const char *name_of(const sc_program *p, const sc_c_options *options) {
  return options && options->name ? options->name : p->name;
}

static sc_module *render(const sc_program *const *programs, size_t n, const sc_c_options *options) {
  const sc_program *p = programs[0];
  sci_env *env = &p->cx->env;
  sci_frame fr;
  if (!SCI_TRY(env, &fr)) return NULL;
  texts *t = SCI_NEW(&env->scratch, texts);
  size_t size[2];
  t->env = env;
  run(env, &sci_backend_c, &(sci_render_request){.program = p, .c = options, .more = programs + 1, .n_more = n - 1},
      t->text, size);
  sci_defer(env, free_texts, t);
  sc_module *m = make_module(env, name_of(p, options), ".c", options ? options->lang : SC_LANG_C, t->text, size);
  sci_keep(env, t);
  free_texts(t);
  sci_leave(env, &fr);
  return m;
}

sc_module *sc_render_llvm_program(const sc_program *p, const sc_c_options *options, sc_emit kind,
                                  const char *plugin_dir) {
  static const char *const endings[] = {
      [SC_EMIT_LLVM] = ".ll", [SC_EMIT_ASM] = ".s", [SC_EMIT_OBJ] = ".o", [SC_EMIT_BITCODE] = ".bc"};
  if (!p || (size_t)kind >= sizeof endings / sizeof *endings) return NULL;
  sci_env *env = &p->cx->env;
  sci_frame fr;
  if (!SCI_TRY(env, &fr)) return NULL;
  if (options && options->casadi) sci_fail(env, SC_ERR_ARGUMENT, "casadi: the layer is C; export C, or compile it");
  const char *name = name_of(p, options), *prefix = options && options->prefix ? options->prefix : "";
  texts *t = SCI_NEW(&env->scratch, texts);
  char *code[2] = {NULL, NULL};
  size_t size[2], code_size[2];
  t->env = env;
  const sci_backend *llvm = sci_llvm_plugin(env, plugin_dir, NULL);
  run(env, &sci_backend_c,
      &(sci_render_request){
          .program = p, .c = options, .object = sci_asprintf(&env->scratch, "%s%s", name, endings[kind])},
      t->text, size);
  sci_defer(env, free_texts, t);
  run(env, llvm,
      &(sci_render_request){.program = p, .emit = kind, .symbol = sci_asprintf(&env->scratch, "%s%s", prefix, name)},
      code, code_size);
  sci_bytes_free(env, t->text[0]);
  t->text[0] = code[0];
  size[0] = code_size[0];
  sc_module *m = make_module(env, name, endings[kind], options ? options->lang : SC_LANG_C, t->text, size);
  sci_keep(env, t);
  free_texts(t);
  sci_leave(env, &fr);
  return m;
}

sc_module *sc_render_c_program(const sc_program *p, const sc_c_options *options) {
  if (!p) return NULL;
  sci_frame fr;
  if (!SCI_TRY(&p->cx->env, &fr)) return NULL;
  if (options && options->casadi)
    sci_fail(&p->cx->env, SC_ERR_ARGUMENT, "casadi: a program's matrices are row-major already; export the function");
  sci_leave(&p->cx->env, &fr);
  return render(&p, 1, options);
}

static void find_target(sci_env *env, const char *name, sc_target *out) {
  if (sci_target_find(name, out)) return;
  sci_text known;
  sci_text_init(&known, &env->scratch);
  for (size_t i = 0; i < sc_target_preset_count(); i++)
    sci_putf(&known, "%s%s", i ? ", " : "", sc_target_preset_name(i));
  sci_fail(env, SC_ERR_NAME, "no processor is called '%.100s'; there are %s", name, known.data);
}

static sc_lower_options lowering(const sc_c_options *options, const sc_target *target) {
  sc_lower_options lower = options && options->lower ? *options->lower : (sc_lower_options){0};
  lower.target = target;
  lower.rounding = options ? options->rounding : SC_ROUNDING_DEFAULT;
  lower.vector_libm = options && options->vector_libm ? options->vector_libm : SC_VECTOR_LIBM_NONE;
  lower.vector_accuracy = options ? options->vector_accuracy : 0;
  return lower;
}

/* What a loader hands to a derivative function on behalf of an output has the output's pattern, though here it is a
 * vector. The ports of p from `first` on stand for the outputs of `source`. */
static void set_patterns(sc_program *p, size_t first, const sc_program *source) {
  size_t n_in = sci_entry(source)->n_in, n_out = sci_entry(source)->n_out,
         count = sci_entry(p)->n_in + sci_entry(p)->n_out;
  sci_port_info *ports = SCI_ARRAY(&p->store->arena, sci_port_info, count);
  memcpy(ports, p->ports, count * sizeof *ports);
  for (size_t i = 0; i < n_out; i++) ports[first + i].pattern = source->ports[n_in + i].pattern;
  p->ports = ports;
}

/* Inputs of jac_F, fwd1_F and adj1_F: those of F, out_<name>, and the seeds. */
static void describe_inputs(sc_program *const *programs, size_t n) {
  size_t n_in = sci_entry(programs[0])->n_in;
  for (size_t i = 1; i < n; i++) set_patterns(programs[i], n_in, programs[0]);
  if (n > 1) set_patterns(programs[n - 1], n_in + sci_entry(programs[0])->n_out, programs[0]);
}

/* The functions are ours and go when the text is there: the context is left as it was. */
static sc_module *render_casadi(sc_function *f, const sc_c_options *options, const sc_lower_options *lower) {
  sc_context *cx = f->cx;
  sci_call_frame e;
  sc_function *functions[SCI_CASADI_FUNCTIONS];
  sc_program *programs[SCI_CASADI_FUNCTIONS];
  if (!SCI_ENTER(cx, &e)) return NULL;
  sci_context_mark before = e.mark;
  size_t n = sci_casadi_functions(f, options->name, options->prefix, options->casadi == SC_CASADI_DERIVATIVES,
                                  functions),
         lowered = 0;
  sci_return(cx, &e);
  while (lowered < n && (programs[lowered] = sc_lower(functions[lowered], lower))) lowered++;
  sc_module *m = NULL;
  if (lowered == n && SCI_TRY(&cx->env, &e.frame)) {
    describe_inputs(programs, n);
    sci_leave(&cx->env, &e.frame);
    m = render((const sc_program *const *)programs, n, options);
  }
  while (lowered--) sc_program_destroy(programs[lowered]);
  sci_context_rollback(cx, before);
  return m;
}

static bool options_target(const sc_function *f, const sc_c_options *options, sc_target *target) {
  sci_env *env = &f->cx->env;
  sci_frame fr;
  if (!SCI_TRY(env, &fr)) return false;
  find_target(env, options && options->cpu ? options->cpu : "generic", target);
  sci_leave(env, &fr);
  return true;
}

sc_module *sc_render_c(const sc_function *f, const sc_c_options *options) {
  sc_target target;
  if (!f || !options_target(f, options, &target)) return NULL;
  sc_lower_options lower = lowering(options, &target);
  if (options && options->casadi) return render_casadi((sc_function *)(uintptr_t)f, options, &lower);
  sc_program *p = sc_lower(f, &lower);
  sc_module *m = sc_render_c_program(p, options);
  sc_program_destroy(p);
  return m;
}

sc_module *sc_render_llvm(const sc_function *f, const sc_c_options *options, sc_emit kind, const char *plugin_dir) {
  sc_target target;
  if (!f || !options_target(f, options, &target)) return NULL;
  if (options && options->lanes != SC_LANES_AUTO) target.lanes = (int)options->lanes;
  sc_lower_options lower = lowering(options, &target);
  sc_program *p = sc_lower(f, &lower);
  sc_module *m = sc_render_llvm_program(p, options, kind, plugin_dir);
  sc_program_destroy(p);
  return m;
}

const char *sc_module_name(const sc_module *m) {
  return m ? m->name : NULL;
}

const char *sc_module_source(const sc_module *m) {
  return m ? m->source : NULL;
}

size_t sc_module_source_size(const sc_module *m) {
  return m ? m->source_size : 0;
}

const char *sc_module_source_name(const sc_module *m) {
  return m ? m->source_name : NULL;
}

const char *sc_module_header(const sc_module *m) {
  return m ? m->header : NULL;
}

const char *sc_module_header_name(const sc_module *m) {
  return m ? m->header_name : NULL;
}

const char *sc_module_error(const sc_module *m) {
  return m && m->error[0] ? m->error : NULL;
}

void sc_module_destroy(sc_module *m) {
  if (!m) return;
  sc_allocator alloc = m->alloc;
  alloc.reallocate(alloc.user, m, m->size, 0);
}

/* ---- writing ---- */

enum { PATH_ROOM = 4096 };

typedef struct output {
  const char *text;
  size_t size;
  char path[PATH_ROOM], temporary[PATH_ROOM];
  bool existed, same; /* something is there; just this text is */
} output;

static sc_status problem(sc_module *m, const char *what, const char *path) {
  snprintf(m->error, sizeof m->error, "%s '%.300s': %s", what, path, strerror(errno));
  return SC_ERR_IO;
}

static bool write_all(int file, const char *text, size_t n) {
  while (n) {
    ssize_t done = write(file, text, n);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return false;
    text += done;
    n -= (size_t)done;
  }
  return true;
}

/* Names the two files. A folder in the place of a file is found before anything is written. */
static sc_status name_output(sc_module *m, output *o, const char *folder, const char *name) {
  int n = snprintf(o->path, sizeof o->path, "%s/%s", folder, name);
  struct stat st;
  errno = n < 0 || (size_t)n + 32 > sizeof o->path ? ENAMETOOLONG : 0;
  if (errno) return problem(m, "could not write", folder);
  o->existed = lstat(o->path, &st) == 0;
  errno = o->existed && S_ISDIR(st.st_mode) ? EISDIR : 0;
  return errno ? problem(m, "could not write", o->path) : SC_OK;
}

/* Whether a plain file holds exactly the text: then it is left alone, and a build that watches its time has nothing to
 * do. */
static bool holds(const char *path, const char *text, size_t n) {
  char block[1 << 14];
  struct stat st;
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return false;
  bool same = fstat(file, &st) == 0 && S_ISREG(st.st_mode) && (size_t)st.st_size == n;
  for (size_t at = 0; same && at < n;) {
    ssize_t got = read(file, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    same = got > 0 && (size_t)got <= n - at && memcmp(block, text + at, (size_t)got) == 0;
    if (same) at += (size_t)got;
  }
  close(file);
  return same;
}

static int create_temporary(output *o) {
  for (int i = 0; i < 1000; i++) {
    snprintf(o->temporary, sizeof o->temporary, "%.4060s.%ld-%d.tmp", o->path, (long)getpid(), i);
    int file = open(o->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

static sc_status write_temporary(sc_module *m, output *o) {
  int file = create_temporary(o);
  if (file < 0) {
    o->temporary[0] = 0;
    return problem(m, "could not create", o->path);
  }
  bool written = write_all(file, o->text, o->size);
  int reason = errno;
  bool closed = close(file) == 0;
  if (!written) errno = reason;
  return written && closed ? SC_OK : problem(m, "could not write", o->path);
}

static sc_status move_into_place(sc_module *m, output *o) {
  if (rename(o->temporary, o->path) != 0) return problem(m, "could not write", o->path);
  o->temporary[0] = 0;
  return SC_OK;
}

sc_status sc_module_write(sc_module *m, const char *folder) {
  if (!m) return SC_ERR_ARGUMENT;
  m->error[0] = 0;
  if (!folder || !*folder) {
    snprintf(m->error, sizeof m->error, "no folder is given");
    return SC_ERR_ARGUMENT;
  }
  output files[2] = {{.text = m->header, .size = strlen(m->header)}, {.text = m->source, .size = m->source_size}};
  sc_status status = name_output(m, &files[0], folder, m->header_name);
  if (status == SC_OK) status = name_output(m, &files[1], folder, m->source_name);
  for (int i = 0; i < 2 && status == SC_OK; i++) {
    files[i].same = holds(files[i].path, files[i].text, files[i].size);
    if (!files[i].same) status = write_temporary(m, &files[i]);
  }
  int moved = 0;
  while (moved < 2 && status == SC_OK) {
    if (!files[moved].same) status = move_into_place(m, &files[moved]);
    moved += status == SC_OK;
  }
  for (int i = 0; i < 2; i++)
    if (files[i].temporary[0]) unlink(files[i].temporary);
  if (status != SC_OK && moved == 1 && !files[0].existed) unlink(files[0].path);
  return status;
}
