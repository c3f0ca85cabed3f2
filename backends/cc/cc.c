/* Owns the comparison path: a program becomes C text, a spawned compiler makes a shared object of it, which is opened.
 */
#define _POSIX_C_SOURCE 200809L
#include "backends/cc/cc.h"
#include "lib/target/target.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef __ELF__
#include <elf.h>
#endif

#define ENTRY "kernel" /* whatever the function is called: its own name may be one that C has no room for */

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ---- the command ---- */

typedef SCI_VEC(const char *) argument_list;

static void add(sci_env *env, argument_list *list, const char *argument) {
  sci_vec_push(&env->scratch, list, argument);
}

/* Flags of a target are one string, separated by spaces. */
static void add_words(sci_env *env, argument_list *list, const char *words) {
  while (*words) {
    size_t n = strcspn(words, " ");
    if (n) add(env, list, sci_strndup(&env->scratch, words, n));
    words += n + (words[n] == ' ');
  }
}

static const char *const *command(sci_env *env, const sci_compile_request *request, const char *source,
                                  const char *object) {
  static const char *const cc[] = {"cc", NULL}, *const optimize[] = {"-O2", NULL},
                           *const recipe[] = {SCI_RECIPE_FLAGS, NULL};
  const sc_cc_options *o = request->cc;
  argument_list list = {0};
  const char *const *compiler = o && o->compiler && o->compiler[0] ? o->compiler : cc;
  const char *const *flags = o && o->flags ? o->flags : optimize;
  for (; *compiler; compiler++) add(env, &list, *compiler);
  for (; *flags; flags++) add(env, &list, *flags);
  add_words(env, &list, request->program->target.gcc_flags);
  for (const char *const *r = recipe; *r; r++) add(env, &list, *r);
  for (int op = 0; op < SCI_OP_COUNT; op++) {
    if (!sci_keeps_call((sci_op)op, (sc_rounding)request->program->rounding)) continue;
    add(env, &list, sci_asprintf(&env->scratch, "-fno-builtin-%s", sci_ops[op].name));
    add(env, &list, sci_asprintf(&env->scratch, "-fno-builtin-%sf", sci_ops[op].name));
  }
  add_words(env, &list, "-fPIC -shared -o");
  add(env, &list, object);
  add(env, &list, source);
  bool lanes = !o || o->dialect == SC_DIALECT_GNU;
  if (lanes && request->program->vector.glibc) add(env, &list, "-lmvec");
  if (lanes && request->program->vector.sleef) add(env, &list, "-lsleef");
  add(env, &list, "-lm");
  add(env, &list, NULL);
  return list.data;
}

/* ---- the steps ---- */

typedef struct rendered {
  sci_env *env;
  char *text[2];
} rendered;

static void free_rendered(void *what) {
  rendered *r = what;
  sci_bytes_free(r->env, r->text[0]);
  sci_bytes_free(r->env, r->text[1]);
}

/* The source's path. Lanes are the target's, so that they are those of the in-process compiler. */
static const char *render(sci_env *env, const sci_program *p, const sc_cc_options *o, cc_folder *folder) {
  sc_c_options c = {
      .name = ENTRY, .dialect = o ? o->dialect : SC_DIALECT_GNU, .lanes = (sc_lanes)p->target.lanes, .untyped = true};
  rendered *r = SCI_NEW(&env->scratch, rendered);
  size_t size[2];
  r->env = env;
  if (sci_backend_c.render(env, &(sci_render_request){.program = p, .c = &c}, r->text, size) != SC_OK) sci_unwind(env);
  sci_defer(env, free_rendered, r);
  sci_cc_folder_write(folder, ENTRY ".c", r->text[0], size[0]);
  sci_cc_folder_write(folder, ENTRY ".h", r->text[1], size[1]);
  sci_keep(env, r);
  free_rendered(r);
  return folder->files.data[folder->files.n - 2];
}

static void close_library(void *library) {
  dlclose(library);
}

static void open_object(sci_env *env, const char *object, sci_code *out) {
  void *library = dlopen(object, RTLD_NOW | RTLD_LOCAL);
  if (!library) sci_fail(env, SC_ERR_BACKEND, "the compiled code could not be opened: %s", dlerror());
  sci_defer(env, close_library, library);
  /* POSIX has functions come out of dlsym as object pointers. */
  union {
    void *object;
    sc_entry function;
  } entry = {dlsym(library, ENTRY)};
  if (!entry.object) sci_fail(env, SC_ERR_BACKEND, "the compiled code has no entry");
  sci_keep(env, library);
  out->entry = entry.function;
  out->handle = library;
  out->release = close_library;
}

/* Bytes of the largest section of instructions, the code itself; 0 where the format is not ELF. */
static size_t code_bytes(const char *object) {
  size_t most = 0;
#ifdef __ELF__
  int file = open(object, O_RDONLY | O_CLOEXEC);
  Elf64_Ehdr h;
  bool is_elf = file >= 0 && pread(file, &h, sizeof h, 0) == (ssize_t)sizeof h && !memcmp(h.e_ident, ELFMAG, SELFMAG) &&
                h.e_ident[EI_CLASS] == ELFCLASS64;
  for (unsigned i = 0; is_elf && i < h.e_shnum; i++) {
    Elf64_Shdr s;
    if (pread(file, &s, sizeof s, (off_t)(h.e_shoff + i * sizeof s)) != (ssize_t)sizeof s) break;
    if (s.sh_flags & SHF_EXECINSTR && s.sh_size > most) most = s.sh_size;
  }
  if (file >= 0) close(file);
#else
  (void)object;
#endif
  return most;
}

static void free_kept(void *what) {
  free(((sci_kept_file *)what)->data);
}

/* Without memory or the file there is nothing to keep. */
static sci_kept_file keep_file(const char *path) {
  sci_kept_file kept = {NULL, 0};
  struct stat s;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file >= 0 && fstat(file, &s) == 0 && s.st_size > 0 && (kept.data = malloc((size_t)s.st_size))) {
    for (ssize_t n; kept.size < (size_t)s.st_size &&
                    (n = read(file, (char *)kept.data + kept.size, (size_t)s.st_size - kept.size)) > 0;)
      kept.size += (size_t)n;
    if (kept.size < (size_t)s.st_size) free_kept(&kept), kept.data = NULL;
  }
  if (file >= 0) close(file);
  return kept;
}

static const char *tool(sci_env *env, const sci_compile_request *request) {
  const sc_cc_options *o = request->cc;
  return sci_cc_path(env, o && o->compiler && o->compiler[0] ? o->compiler[0] : "cc");
}

static void compile_program(sci_env *env, const sci_compile_request *request, sci_code *out) {
  double t0 = now_ms();
  cc_folder *folder = sci_cc_folder_make(env, request->cc && request->cc->temp_dir ? request->cc->temp_dir : "/tmp");
  const char *source = render(env, request->program, request->cc, folder);
  double t1 = now_ms();
  const char *object = sci_cc_folder_file(folder, ENTRY ".so"), *log = sci_cc_folder_file(folder, "log");
  sci_cc_run(env, command(env, request, source, object), log);
  double t2 = now_ms();
  open_object(env, object, out);
  out->code_bytes = code_bytes(object);
  out->times = (sc_compile_times){.emit = t1 - t0, .codegen = t2 - t1, .link = now_ms() - t2};
  if (request->keep) {
    out->library = keep_file(object);
    out->source = keep_file(source);
  }
  sci_keep(env, folder);
  sci_cc_folder_remove(folder); /* what is mapped needs no name */
}

static sc_status compile(sci_env *env, const sci_compile_request *request, sci_code *out) {
  sci_frame fr;
  if (!SCI_TRY(env, &fr)) return env->n_diags ? env->diags[env->n_diags - 1].status : SC_ERR_MEMORY;
  compile_program(env, request, out);
  sci_leave(env, &fr);
  return SC_OK;
}

const sci_backend sci_backend_cc = {SCI_BACKEND_ABI, "cc", "0.1", NULL, compile, tool, false};
