/* Owns the process that compiles one kernel in one way, and the conversation with it. */
#include "tools/bench/worker.h"

#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/measure/foreign.h"

enum { MAX_RUNS = 9, MAX_PORTS = 16 };
static const outcome no_outcome = {.graph_ms = -1,
                                   .lower_ms = -1,
                                   .compile_ms = -1,
                                   .first_ms = -1,
                                   .code_bytes = -1,
                                   .workspace = -1,
                                   .ops = -1,
                                   .math_calls = -1,
                                   .accesses = -1,
                                   .peak_kb = -1,
                                   .lanes = -1};
static const double repeat_ms = 120; /* what is over sooner is repeated, and its median taken */

/* ---- inside: compiling ---- */

static double clock_ms(const task *t) {
  return t->s->cpu_time ? processor_ms() : wall_ms();
}

static sc_lower_options lowering(const way *w) {
  return (sc_lower_options){.passes = w->passes};
}

static sc_kernel *compile(const task *t, const sc_program *p) {
  if (t->way->kind == WAY_LLVM)
    return sc_jit_program(p, &(sc_jit_options){.plugin_dir = SCALY_TEST_PLUGIN_DIR, .tier = t->way->level});
  const char *compiler[] = {t->way->compiler, NULL}, *flags[] = {t->way->tier, NULL};
  return sc_compile_cc_program(p, &(sc_cc_options){.compiler = compiler, .flags = flags});
}

/* The first compile of a process also loads the plugin, or warms the file cache: not what is measured here. */
static void warm_up(const task *t) {
  sc_context *cx = sc_context_create(NULL);
  sc_expr x = sc_input(cx, "x", SC_FLOAT64, 0, NULL);
  sc_function *f = sc_function_create(cx, "warm", SC_IN({"x", x, NULL}), SC_OUT({"y", sc_sin(x), NULL}));
  sc_program *p = f ? sc_lower(f, NULL) : NULL;
  sc_kernel *k = p ? compile(t, p) : NULL;
  sc_kernel_release(k);
  sc_program_destroy(p);
  sc_context_destroy(cx);
}

/* Graph and derivative, each time in a fresh context. */
static double time_graph(const task *t) {
  const wl_reference *r = t->r;
  double ms[MAX_RUNS], total = 0;
  size_t n = 0;
  while (n < MAX_RUNS && (!n || total < repeat_ms)) {
    sc_context *cx = sc_context_create(NULL);
    double start = clock_ms(t);
    wl_kernel(cx, &r->problem, r->kernel);
    total += ms[n++] = clock_ms(t) - start;
    sc_context_destroy(cx);
  }
  return median_of(ms, n);
}

/* What is called. */
typedef struct subject {
  sc_entry entry;
  size_t w_bytes;
} subject;

/* What `auto` gives loops in lanes here. */
static int host_lanes(void) {
  sc_target host;
  return sc_target_preset("native", &host) == SC_OK ? host.lanes : 1;
}

/* From the function to machine code, repeated while that is quick; the last one is kept. */
static subject make(const task *t, const sc_function *f, outcome *o) {
  double lower[MAX_RUNS], code[MAX_RUNS], total = 0;
  size_t n = 0;
  sc_program *p = NULL;
  sc_kernel *k = NULL;
  sc_lower_options options = lowering(t->way);
  while (n < MAX_RUNS && (!n || total < (t->s->quick ? repeat_ms / 4 : repeat_ms))) {
    sc_kernel_release(k);
    sc_program_destroy(p);
    double start = clock_ms(t);
    p = sc_lower(f, &options);
    double lowered = clock_ms(t);
    k = p ? compile(t, p) : NULL;
    double done = clock_ms(t);
    if (!k) {
      const sc_diagnostic *d = sc_context_error(sc_function_context(f));
      snprintf(o->gate, sizeof o->gate, "%.250s", d ? d->message : "no kernel");
      return (subject){0};
    }
    lower[n] = lowered - start;
    code[n] = done - lowered;
    total += done - start;
    n++;
  }
  o->lower_ms = median_of(lower, n);
  o->compile_ms = median_of(code, n);
  sc_program_stats stats = sc_program_statistics(p);
  o->ops = stats.operations;
  o->math_calls = stats.math_calls;
  o->accesses = stats.loads + stats.stores;
  o->lanes = stats.vector_loops ? host_lanes() : 1;
  o->vector_math = stats.vector_loops && stats.math_calls;
  o->code_bytes = (int64_t)sc_kernel_code_bytes(k);
  o->workspace = (int64_t)sc_kernel_workspace_bytes(k);
  return (subject){sc_kernel_entry(k), sc_kernel_workspace_bytes(k)};
}

/* A kernel written by hand, compiled for this size with what its arithmetic allows. */
static subject make_by_hand(const task *t, const sc_function *f, outcome *o) {
  static foreign module;
  char path[4096], sizes[WL_MAX_SIZES][64];
  const char *compiler[] = {t->way->compiler, NULL}, *libraries[] = {t->way->libraries, "-lmvec", NULL};
  const char *flags[16] = {"-O3",
                           "-march=native",
                           "-fno-math-errno",
                           "-fno-signed-zeros",
                           "-ffinite-math-only",
                           "-fno-trapping-math",
                           "-ffp-contract=fast"};
  int n = 7;
  for (int k = 0; k < WL_MAX_SIZES; k++) {
    const char *name = wl_size_name(t->r->workload, k);
    if (!name) break;
    snprintf(sizes[k], sizeof sizes[k], "-DHAND_%c=%" PRId64, name[0] & ~32, t->r->problem.size[k]);
    flags[n++] = sizes[k];
  }
  const char *more = getenv("SCALY_HAND_FLAG"); /* for tests: another width */
  if (more && *more) flags[n++] = more;
  snprintf(path, sizeof path, SCALY_TEST_SOURCE_DIR "/tests/data/hand/%s", t->way->file);
  foreign_source source = {path, sc_function_name(f), compiler, flags, libraries[0] ? libraries : libraries + 1};
  double start = clock_ms(t);
  if (!foreign_open(&module, &source, o->gate, sizeof o->gate)) return (subject){0};
  o->compile_ms = clock_ms(t) - start;
  o->code_bytes = (int64_t)module.code_bytes;
  return (subject){module.entry, 0};
}

/* ---- inside: running ---- */

static void *room(int64_t bytes) {
  void *p = aligned_alloc(64, ((size_t)bytes + 127) / 64 * 64);
  if (!p) abort();
  return memset(p, 0, ((size_t)bytes + 127) / 64 * 64);
}

static int64_t stored(const sc_function *f) {
  return sc_expr_size(sc_function_output(f, 0));
}

/* Buffers that last as long as the process. */
static timed_call prepare(const wl_reference *r, const sc_function *f, subject s) {
  static const void *in[MAX_PORTS];
  static void *out[MAX_PORTS];
  int64_t first = 0;
  for (size_t i = 0; i < sc_function_input_count(f); i++) {
    int64_t n = sc_expr_size(sc_function_input(f, i));
    double *v = room(n * 8);
    first = wl_input(&r->problem, sc_function_input_name(f, i), first, n, v);
    in[i] = v;
  }
  out[0] = room(stored(f) * 8);
  return (timed_call){s.entry, in, out, room((int64_t)s.w_bytes), NULL};
}

static void check(const wl_reference *r, const sc_function *f, const double *v, outcome *o) {
  if (wl_pattern_agrees(r, sc_function_output_pattern(f, 0), o->gate, sizeof o->gate) &&
      wl_agrees(r, stored(f), v, wl_tolerance(r->kernel), o->gate, sizeof o->gate))
    snprintf(o->gate, sizeof o->gate, "ok");
}

static void say(int to, const void *data, size_t n) {
  if (write(to, data, n) != (ssize_t)n) _exit(1);
}

static timed_call first_result(const task *t, const sc_function *f, outcome *o) {
  timed_call call = {0};
  subject s = t->way->kind == WAY_HAND ? make_by_hand(t, f, o) : make(t, f, o);
  if (!s.entry) return call;
  call = prepare(t->r, f, s);
  double start = clock_ms(t);
  int status = call.entry(call.in, call.out, NULL, call.w, 0);
  o->first_ms = fmax(o->lower_ms, 0) + o->compile_ms + (clock_ms(t) - start);
  if (status)
    snprintf(o->gate, sizeof o->gate, "the kernel returned %d", status);
  else
    check(t->r, f, call.out[0], o);
  return call;
}

static _Noreturn void body(const task *t, int from, int to) {
  outcome o = no_outcome;
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  if (t->way->kind != WAY_HAND) warm_up(t);
  if (t->time_graph) o.graph_ms = time_graph(t);
  sc_context *cx = sc_context_create(NULL);
  sc_function *f = wl_kernel(cx, &t->r->problem, t->r->kernel);
  timed_call call = {0};
  if (f)
    call = first_result(t, f, &o);
  else
    snprintf(o.gate, sizeof o.gate, "%.250s", sc_context_error(cx) ? sc_context_error(cx)->message : "no function");
  o.peak_kb = peak_kb();
  say(to, &o, sizeof o);
  timing_pin();
  long calls = 0;
  for (char command; read(from, &command, 1) == 1;) {
    if (!calls) calls = timing_calibrate(&call, t->s->quick ? 0.5 : 2);
    double ns = timing_sample(&call, calls);
    say(to, &ns, sizeof ns);
  }
  _exit(0);
}

/* ---- outside ---- */

bool worker_start(worker *w, const task *t) {
  int there[2], back[2];
  if (pipe(there)) return false;
  if (pipe(back)) {
    close(there[0]);
    close(there[1]);
    return false;
  }
  fflush(NULL);
  w->pid = fork();
  if (!w->pid) {
    setpgid(0, 0); /* a spawned compiler goes with it */
    close(there[1]);
    close(back[0]);
    body(t, there[0], back[1]);
  }
  close(there[0]);
  close(back[1]);
  w->to = there[1];
  w->from = back[0];
  if (w->pid > 0) return true;
  close(w->to);
  close(w->from);
  return false;
}

static bool receive(worker *w, void *data, size_t n, double limit_s) {
  struct pollfd ready = {.fd = w->from, .events = POLLIN};
  return poll(&ready, 1, limit_s > 0 ? (int)(limit_s * 1e3) : -1) == 1 && read(w->from, data, n) == (ssize_t)n;
}

void worker_end(worker *w) {
  if (w->pid <= 0) return;
  close(w->to);
  close(w->from);
  kill(-w->pid, SIGKILL);
  waitpid(w->pid, NULL, 0);
  w->pid = 0;
}

void worker_outcome(worker *w, double limit_s, outcome *out) {
  double start = wall_ms();
  if (receive(w, out, sizeof *out, limit_s)) return;
  *out = no_outcome;
  if (wall_ms() - start >= limit_s * 1e3)
    snprintf(out->gate, sizeof out->gate, "no result within %g s", limit_s);
  else
    snprintf(out->gate, sizeof out->gate, "died");
  worker_end(w);
}

double worker_sample(worker *w) {
  double ns;
  if (w->pid > 0 && write(w->to, "s", 1) == 1 && receive(w, &ns, sizeof ns, 0)) return ns;
  worker_end(w);
  return -1;
}
