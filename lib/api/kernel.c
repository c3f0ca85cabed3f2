/* Owns kernels: what is known of them, their references, and calling them. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "lib/api/kernel.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "lib/api/describe.h"

/* Everything but the code lies in one block, behind the kernel itself: it must outlive its context. */
struct sc_kernel {
  const sci_current *entry; /* of the unit */
  size_t n_in, n_out;
  size_t workspace;
  const size_t *bytes;  /* per port */
  const sc_port *ports; /* inputs, then outputs */
  const char *name;
  sci_unit *unit;
  sc_compile_times times;
  atomic_size_t references;
  sc_allocator alloc;
  size_t size; /* of the block */
};

double sci_now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ---- making ---- */

static size_t align16(size_t n) {
  return (n + 15) & ~(size_t)15;
}

/* The kernel, its ports, their sizes, their patterns, and the description that all of them point into. */
static void fill(sc_kernel *k, size_t n_ports, sci_description d) {
  char *at = (char *)k + align16(sizeof *k);
  sc_port *ports = (sc_port *)(void *)at;
  at += align16(n_ports * sizeof *ports);
  size_t *bytes = (size_t *)(void *)at;
  at += align16(n_ports * sizeof *bytes);
  sc_pattern *patterns = (sc_pattern *)(void *)at;
  at += align16(n_ports * sizeof *patterns);
  d.bytes = memcpy(at, d.bytes, d.size);
  sci_description_reader r;
  const sci_kernel_record *record = sci_description_begin(&r, d, &k->name);
  for (size_t i = 0; i < n_ports; i++) {
    if (sci_description_port(&r, &ports[i], &patterns[i])) ports[i].pattern = &patterns[i];
    bytes[i] = (size_t)ports[i].count * sc_dtype_size(ports[i].dtype);
  }
  k->n_in = record->n_in;
  k->n_out = record->n_out;
  k->workspace = (size_t)record->workspace;
  k->ports = ports;
  k->bytes = bytes;
}

sc_kernel *sci_kernel_make(sci_env *env, sci_description d, sci_unit *unit, size_t which, sc_compile_times times) {
  sci_description_reader r;
  const char *name;
  const sci_kernel_record *record = sci_description_begin(&r, d, &name);
  size_t n = (size_t)record->n_in + record->n_out;
  size_t size = align16(sizeof(sc_kernel)) + align16(n * sizeof(sc_port)) + align16(n * sizeof(size_t)) +
                align16(n * sizeof(sc_pattern)) + d.size;
  sc_kernel *k = sci_raw_try(env, NULL, 0, size);
  if (!k) {
    sci_unit_release(unit);
    sci_fail(env, SC_ERR_MEMORY, "out of memory: %zu bytes could not be allocated", size);
  }
  env->held -= size; /* the context may be gone when the kernel is freed */
  *k = (sc_kernel){
      .alloc = env->alloc, .size = size, .unit = unit, .entry = sci_unit_entry(unit, which), .times = times};
  atomic_init(&k->references, 1);
  fill(k, n, d);
  return k;
}

sc_kernel *sc_kernel_retain(sc_kernel *k) {
  if (k) atomic_fetch_add_explicit(&k->references, 1, memory_order_relaxed);
  return k;
}

void sc_kernel_release(sc_kernel *k) {
  if (!k || atomic_fetch_sub_explicit(&k->references, 1, memory_order_acq_rel) != 1) return;
  sci_unit_release(k->unit);
  sc_allocator alloc = k->alloc;
  alloc.reallocate(alloc.user, k, k->size, 0);
}

/* ---- calling ---- */

/* A thread's workspace grows to the largest that its kernels needed, and is freed when the thread ends. Its size lies
 * in front of it: what the thread's other destructors call afterwards finds none, and makes another. */
enum { ROOM_ALIGNMENT = 64 };
static pthread_key_t room_key;
static pthread_once_t room_once = PTHREAD_ONCE_INIT;
static bool room_has_key;

static void make_room_key(void) {
  room_has_key = pthread_key_create(&room_key, free) == 0;
}

static void *grow_thread_room(char *room, size_t size) {
  size_t whole = (size + 2 * ROOM_ALIGNMENT - 1) & ~(size_t)(ROOM_ALIGNMENT - 1);
  char *grown = whole > size ? aligned_alloc(ROOM_ALIGNMENT, whole) : NULL;
  if (!grown || pthread_setspecific(room_key, grown) != 0) {
    free(grown);
    return NULL;
  }
  free(room);
  memcpy(grown, &size, sizeof size);
  return grown + ROOM_ALIGNMENT;
}

static void *thread_room(size_t size) {
  pthread_once(&room_once, make_room_key);
  if (!room_has_key) return NULL;
  size_t there = 0;
  char *room = pthread_getspecific(room_key);
  if (room) memcpy(&there, room, sizeof there);
  return SCI_LIKELY(there >= size) ? room + ROOM_ALIGNMENT : grow_thread_room(room, size);
}

static inline bool overlap(const void *a, size_t n, const void *b, size_t m) {
  uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
  return x && y && x < y + m && y < x + n && n && m;
}

static bool any_overlap(const sc_kernel *k, const void *const *arg, void *const *res, const void *w) {
  const size_t *in = k->bytes, *out = k->bytes + k->n_in;
  for (size_t o = 0; o < k->n_out; o++) {
    for (size_t i = 0; i < k->n_in; i++)
      if (overlap(res[o], out[o], arg[i], in[i])) return true;
    for (size_t i = 0; i < o; i++)
      if (overlap(res[o], out[o], res[i], out[i])) return true;
    if (overlap(res[o], out[o], w, k->workspace)) return true;
  }
  for (size_t i = 0; w && i < k->n_in; i++)
    if (overlap(arg[i], in[i], w, k->workspace)) return true;
  return false;
}

int sc_kernel_call(sc_kernel *k, const void *const *arg, void *const *res, void *w) {
  if (SCI_UNLIKELY(!k || !arg || !res)) return SC_KERNEL_ERR_NULL_ABI;
  if (SCI_UNLIKELY(any_overlap(k, arg, res, w))) return SC_KERNEL_ERR_OVERLAP;
  if (!w && k->workspace) {
    w = thread_room(k->workspace);
    if (!w) return SC_KERNEL_ERR_NULL_WORK;
  }
  sc_entry entry = atomic_load_explicit(k->entry, memory_order_acquire);
  return entry((const void **)arg, (void **)res, NULL, w, 0);
}

/* ---- reading ---- */

sc_entry sc_kernel_entry(const sc_kernel *k) {
  return k ? atomic_load_explicit(k->entry, memory_order_acquire) : NULL;
}

sc_status sc_kernel_wait(sc_kernel *k) {
  return k ? sci_unit_wait(k->unit) : SC_ERR_ARGUMENT;
}

const char *sc_kernel_warning(const sc_kernel *k) {
  return k ? sci_unit_warning(k->unit) : NULL;
}

sc_tier sc_kernel_tier(const sc_kernel *k) {
  return k ? sci_unit_read(k->unit).tier : SC_TIER_BEST;
}

size_t sc_kernel_workspace_bytes(const sc_kernel *k) {
  return k ? k->workspace : 0;
}

size_t sc_kernel_code_bytes(const sc_kernel *k) {
  return k ? sci_unit_read(k->unit).code_bytes : 0;
}

const char *sc_kernel_name(const sc_kernel *k) {
  return k ? k->name : NULL;
}

size_t sc_kernel_input_count(const sc_kernel *k) {
  return k ? k->n_in : 0;
}

size_t sc_kernel_output_count(const sc_kernel *k) {
  return k ? k->n_out : 0;
}

const sc_port *sc_kernel_input(const sc_kernel *k, size_t i) {
  return k && i < k->n_in ? &k->ports[i] : NULL;
}

const sc_port *sc_kernel_output(const sc_kernel *k, size_t i) {
  return k && i < k->n_out ? &k->ports[k->n_in + i] : NULL;
}

sc_compile_times sc_kernel_times(const sc_kernel *k) {
  if (!k) return (sc_compile_times){0};
  sc_compile_times t = k->times;
  t.best = sci_unit_read(k->unit).best_ms;
  return t;
}
