/* Owns kernels: what is known of them, their references, and calling them. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "lib/api/kernel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

/* Everything but the code lies in one block, behind the kernel itself: it must outlive its context. */
struct sc_kernel {
  sc_allocator alloc;
  size_t size; /* of the block */
  atomic_size_t references;
  sc_entry entry;
  sci_code code;
  size_t n_in, n_out;
  size_t workspace;
  const size_t *bytes; /* per port */
  const sc_port *ports; /* inputs, then outputs */
  const char *name;
};

double sci_now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ---- making ---- */

/* Places copies one behind the other; with `base` NULL it only measures. */
typedef struct layout {
  char *base;
  size_t used;
} layout;

static void *place(layout *l, const void *data, size_t n) {
  char *at = l->base ? l->base + l->used : NULL;
  if (at && data && n) memcpy(at, data, n);
  l->used += (n + 15) & ~(size_t)15;
  return at;
}

static const char *place_text(layout *l, const char *text) {
  return place(l, text, strlen(text) + 1);
}

static const sc_pattern *place_pattern(layout *l, const sc_pattern *p) {
  int64_t outer = p->layout == SC_CSC ? p->ncol + 1 : p->layout == SC_CSR ? p->nrow + 1 : p->nnz;
  sc_pattern *copy = place(l, p, sizeof *p);
  const int32_t *outer_copy = place(l, p->outer, (size_t)outer * sizeof *p->outer);
  const int32_t *inner_copy = place(l, p->inner, (size_t)p->nnz * sizeof *p->inner);
  if (!copy) return NULL;
  copy->outer = outer_copy;
  copy->inner = inner_copy;
  return copy;
}

static sc_port place_port(layout *l, const sci_port_info *info) {
  int64_t matrix[2] = {0, 0};
  if (info->pattern) matrix[0] = info->pattern->nrow, matrix[1] = info->pattern->ncol;
  sc_port port = {.name = place_text(l, info->name), .dtype = (sc_dtype)info->dtype, .rank = info->pattern ? 2 : info->rank, .count = 1};
  port.shape = place(l, info->pattern ? matrix : info->shape, (size_t)port.rank * sizeof *port.shape);
  for (int i = 0; i < info->rank; i++) port.count *= info->shape[i];
  if (info->pattern) port.pattern = place_pattern(l, info->pattern);
  return port;
}

static void fill(sc_kernel *k, layout *l, const sci_program *p) {
  const sci_proc *entry = sci_entry(p);
  size_t n = entry->n_in + entry->n_out;
  sc_port *ports = place(l, NULL, n * sizeof *ports);
  size_t *bytes = place(l, NULL, n * sizeof *bytes);
  const char *name = place_text(l, p->name);
  for (size_t i = 0; i < n; i++) {
    sc_port port = place_port(l, &p->ports[i]);
    if (ports) ports[i] = port;
    if (bytes) bytes[i] = (size_t)port.count * sc_dtype_size(port.dtype);
  }
  if (!k) return;
  k->n_in = entry->n_in;
  k->n_out = entry->n_out;
  k->workspace = (size_t)entry->workspace_total;
  k->name = name;
  k->ports = ports;
  k->bytes = bytes;
}

sc_kernel *sci_kernel_make(sci_env *env, const sci_program *p, sci_code code, double lower_ms, double plugin_ms) {
  layout measure = {NULL, sizeof(sc_kernel)};
  fill(NULL, &measure, p);
  sc_kernel *k = sci_raw_try(env, NULL, 0, measure.used);
  if (!k) {
    code.release(code.handle);
    sci_fail(env, SC_ERR_MEMORY, "out of memory: %zu bytes could not be allocated", measure.used);
  }
  env->held -= measure.used; /* the context may be gone when the kernel is freed */
  *k = (sc_kernel){.alloc = env->alloc, .size = measure.used, .entry = code.entry, .code = code};
  k->code.times.lower = lower_ms;
  k->code.times.plugin = plugin_ms;
  atomic_init(&k->references, 1);
  fill(k, &(layout){(char *)k, sizeof(sc_kernel)}, p);
  return k;
}

sc_kernel *sc_kernel_retain(sc_kernel *k) {
  if (k) atomic_fetch_add_explicit(&k->references, 1, memory_order_relaxed);
  return k;
}

void sc_kernel_release(sc_kernel *k) {
  if (!k || atomic_fetch_sub_explicit(&k->references, 1, memory_order_acq_rel) != 1) return;
  k->code.release(k->code.handle);
  sc_allocator alloc = k->alloc;
  alloc.reallocate(alloc.user, k, k->size, 0);
}

/* ---- calling ---- */

/* A thread's workspace grows to the largest that its kernels needed, and is freed when the thread ends. */
static _Thread_local void *thread_room;
static _Thread_local size_t thread_room_size;
static pthread_key_t room_key;
static pthread_once_t room_once = PTHREAD_ONCE_INIT;
static bool room_has_key;

static void make_room_key(void) {
  room_has_key = pthread_key_create(&room_key, free) == 0;
}

static void *grow_thread_room(size_t size) {
  pthread_once(&room_once, make_room_key);
  if (!room_has_key) return NULL;
  void *grown = aligned_alloc(64, (size + 63) & ~(size_t)63);
  if (!grown || pthread_setspecific(room_key, grown) != 0) {
    free(grown);
    return NULL;
  }
  free(thread_room);
  thread_room = grown;
  thread_room_size = size;
  return grown;
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
    w = SCI_LIKELY(thread_room_size >= k->workspace) ? thread_room : grow_thread_room(k->workspace);
    if (!w) return SC_KERNEL_ERR_NULL_WORK;
  }
  return k->entry((const void **)arg, (void **)res, NULL, w, 0);
}

/* ---- reading ---- */

sc_entry sc_kernel_entry(const sc_kernel *k) {
  return k ? k->entry : NULL;
}

size_t sc_kernel_workspace_bytes(const sc_kernel *k) {
  return k ? k->workspace : 0;
}

size_t sc_kernel_code_bytes(const sc_kernel *k) {
  return k ? k->code.code_bytes : 0;
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
  return k ? k->code.times : (sc_compile_times){0};
}
