/* Owns the key under which code is cached: everything that decides it, and nothing that takes compiling to find out. */
#define _GNU_SOURCE /* dl_iterate_phdr, dladdr */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include "lib/api/cached.h"
#include "lib/expr/digest.h"
#include "lib/target/target.h"
#include "lib/text/text.h"

enum { FORMAT = 1, IDENTITY = 64 };

/* ---- which build this is: the linker's hash of a file's contents, or our own where it made none ---- */

typedef struct identity {
  unsigned char bytes[IDENTITY];
  size_t n; /* 0: unknown */
} identity;

static void take_note(identity *out, const char *notes, size_t size) {
  for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= size && !out->n;) {
    Elf64_Nhdr h;
    memcpy(&h, notes + at, sizeof h);
    size_t name = at + sizeof h, text = name + ((h.n_namesz + 3u) & ~3u), next = text + ((h.n_descsz + 3u) & ~3u);
    if (next > size || next <= at) return;
    if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && !memcmp(notes + name, "GNU", 4) && h.n_descsz <= IDENTITY) {
      memcpy(out->bytes, notes + text, h.n_descsz);
      out->n = h.n_descsz;
    }
    at = next;
  }
}

static void hash_file(identity *out, int file) {
  enum { CHUNK = 1 << 16 };
  char *chunk = malloc(CHUNK);
  sci_digest d;
  sci_digest_init(&d);
  ssize_t r = -1;
  for (off_t at = 0; chunk && (r = pread(file, chunk, CHUNK, at)) > 0; at += r) sci_digest_put(&d, chunk, (size_t)r);
  free(chunk);
  if (r != 0) return;
  sci_digest_end(&d, out->bytes);
  out->n = SCI_DIGEST_SIZE;
}

static void note_of_file(identity *out, int file) {
  char start[4096];
  ssize_t n = pread(file, start, sizeof start, 0);
  const Elf64_Ehdr *h = (const Elf64_Ehdr *)(const void *)start;
  if (n < (ssize_t)sizeof *h || memcmp(h->e_ident, ELFMAG, SELFMAG) || h->e_ident[EI_CLASS] != ELFCLASS64) return;
  for (unsigned i = 0; i < h->e_phnum && h->e_phoff + (i + 1) * sizeof(Elf64_Phdr) <= (size_t)n; i++) {
    Elf64_Phdr p;
    memcpy(&p, start + h->e_phoff + i * sizeof p, sizeof p);
    if (p.p_type == PT_NOTE && p.p_offset < (size_t)n && p.p_filesz <= (size_t)n - p.p_offset)
      take_note(out, start + p.p_offset, p.p_filesz);
  }
}

static identity identity_of_file(const char *path) {
  identity id = {.n = 0};
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return id;
  note_of_file(&id, file);
  if (!id.n) hash_file(&id, file);
  close(file);
  return id;
}

/* Of the object that holds this code, the library or the program it was linked into. */
static int find_own(struct dl_phdr_info *info, size_t size, void *out) {
  (void)size;
  uintptr_t here = (uintptr_t)find_own;
  bool ours = false;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    uintptr_t start = info->dlpi_addr + p->p_vaddr;
    ours |= p->p_type == PT_LOAD && here >= start && here - start < p->p_memsz;
  }
  for (int i = 0; ours && i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    if (p->p_type == PT_NOTE) take_note(out, (const char *)(info->dlpi_addr + p->p_vaddr), p->p_memsz);
  }
  return ours;
}

static identity own;
static pthread_once_t own_once = PTHREAD_ONCE_INIT;

static void find_own_identity(void) {
  dl_iterate_phdr(find_own, &own);
  if (!own.n) own = identity_of_file("/proc/self/exe");
}

static bool put_builds(sci_env *env, sci_digest *d, const char *plugin_dir) {
  pthread_once(&own_once, find_own_identity);
  identity plugin = identity_of_file(sci_llvm_plugin_path(env, plugin_dir));
  sci_digest_put(d, own.bytes, sizeof own.bytes);
  sci_digest_put(d, plugin.bytes, sizeof plugin.bytes);
  return own.n;
}

/* ---- the machine ---- */

static void put_target(sci_digest *d, const sc_target *given) {
  const sc_target *t = given ? given : sci_target_host();
  const int facts[] = {(int)t->isa, t->lanes,       t->vector_registers, t->fma_units, t->fma_latency,
                       t->fast_fma, t->gathers_pay, t->l1_bytes,         t->l2_bytes,  !strcmp(t->name, "native")};
  sci_digest_put(d, facts, sizeof facts);
  sci_digest_put_text(d, t->features);
}

/* Which vector math libraries there are, without opening any: their files. A routine that is gone when code is loaded
 * is noticed then. */
static void put_libraries(sci_digest *d) {
  static const char *const places[] = {
      "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/usr/lib",
      "/usr/local/lib",        "/lib/aarch64-linux-gnu"};
  static const char *const names[] = {"libmvec.so.1", "libsleef.so.3"};
  uint64_t found = 0;
  for (size_t n = 0; n < sizeof names / sizeof *names; n++)
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
      char path[80];
      size_t length = strlen(places[i]);
      memcpy(path, places[i], length);
      path[length] = '/';
      memcpy(path + length + 1, names[n], strlen(names[n]) + 1);
      if (access(path, F_OK) == 0) found |= (uint64_t)1 << (n * 16 + i);
    }
  sci_digest_put_number(d, found);
#ifdef __GLIBC__
  sci_digest_put_text(d, gnu_get_libc_version());
#endif
}

static void put_lowering(sci_digest *d, const sc_lower_options *o) {
  static const sc_lower_options none;
  if (!o) o = &none;
  put_target(d, o->target);
  put_libraries(d);
  sci_digest_put_number(d, (uint64_t)o->rounding);
  sci_digest_put_number(d, (uint64_t)o->vector_libm);
  sci_digest_put(d, &o->vector_accuracy, sizeof o->vector_accuracy);
  sci_digest_put_text(d, o->passes);
  sci_digest_put_number(d, (uint64_t)o->bisect);
}

/* ---- the whole ---- */

static void begin_lowering(sci_digest *d, const sc_lower_options *lower) {
  sci_digest_init(d);
  sci_digest_put_number(d, FORMAT);
  put_lowering(d, lower);
}

static bool begin(sci_env *env, sci_digest *d, const sc_jit_options *o) {
  begin_lowering(d, o->lower);
  return put_builds(env, d, o->plugin_dir);
}

static void put_requests(sci_digest *d, const sc_jit_options *o) {
  sci_digest_put_number(d, o->n_requests);
  for (size_t i = 0; o->requests && i < o->n_requests; i++) { /* without: derive has the message */
    const sc_request *r = &o->requests[i];
    sci_digest_put_number(d, (uint64_t)r->kind | (uint64_t)r->triangle << 16 | (uint64_t)r->layout << 32);
    sci_digest_put_text(d, r->of);
    sci_digest_put_text(d, r->wrt);
  }
  sci_digest_put_number(d, o->derive ? (uint64_t)o->derive->nonsmooth | (uint64_t)o->derive->strict_nan << 16 : 0);
}

bool sci_key_functions(sci_env *env, const sc_function *const *fs, size_t n, const sc_jit_options *o,
                       unsigned char key[SCI_DIGEST_SIZE]) {
  sci_digest d;
  if (!begin(env, &d, o)) return false;
  put_requests(&d, o);
  sci_digest_put_number(&d, n);
  for (size_t i = 0; i < n; i++) sci_digest_graph(fs[i]->cx, (sc_function *)(uintptr_t)fs[i], sci_digest_put, &d);
  sci_digest_end(&d, key);
  return true;
}

bool sci_key_function(sci_env *env, const sc_function *f, const sc_jit_options *o, unsigned char key[SCI_DIGEST_SIZE]) {
  return sci_key_functions(env, &f, 1, o, key);
}

/* A program is its text, which says everything about it. */
static void put_program(sci_env *env, sci_digest *d, const sc_program *p) {
  sci_text t;
  sci_text_init(&t, &env->scratch);
  sci_print_program(&t, p);
  sci_digest_put_number(d, UINT64_MAX);
  put_target(d, &p->target);
  sci_digest_put(d, t.data, t.n);
}

bool sci_key_program(sci_env *env, const sc_program *p, const sc_jit_options *o, unsigned char key[SCI_DIGEST_SIZE]) {
  sci_digest d;
  if (!begin(env, &d, o)) return false;
  put_program(env, &d, p);
  sci_digest_end(&d, key);
  return true;
}

static void put_words(sci_digest *d, const char *const *words) {
  for (; words && *words; words++) sci_digest_put_text(d, *words);
  sci_digest_put_text(d, NULL);
}

bool sci_key_cc(sci_env *env, const sc_function *f, const sc_program *p, const sc_cc_options *o, const char *tool,
                unsigned char key[SCI_DIGEST_SIZE]) {
  sci_digest d;
  struct stat s;
  if (!tool || stat(tool, &s) != 0) return false;
  begin_lowering(&d, o->lower);
  pthread_once(&own_once, find_own_identity);
  sci_digest_put(&d, own.bytes, sizeof own.bytes);
  sci_digest_put_text(&d, tool);
  const int64_t facts[] = {s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec, (int64_t)s.st_ino};
  sci_digest_put(&d, facts, sizeof facts);
  put_words(&d, o->compiler);
  put_words(&d, o->flags);
  if (p)
    put_program(env, &d, p);
  else
    sci_digest_graph(f->cx, (sc_function *)(uintptr_t)f, sci_digest_put, &d);
  sci_digest_end(&d, key);
  return own.n;
}
