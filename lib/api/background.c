/* Owns the background threads: the queue of work, starting and joining them, and what fork and exit mean for both. */
#define _GNU_SOURCE /* pthread_attr_setsigmask_np, dladdr */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "lib/api/kernel.h"
#include "lib/api/unit.h"

enum { MOST_THREADS = 16, STACK = 8 << 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t prepared = PTHREAD_ONCE_INIT;
static struct {
  pthread_cond_t work, done;
  sci_job *first, *last;
  pthread_t threads[MOST_THREADS];
  int n_threads, n_idle, n_running, n_away, wanted;
  bool ending, leaving; /* ... with somebody away, who then stays there */
} pool = {.wanted = 1};

/* Of a clock that nobody sets. */
static void make_conditions(void) {
  pthread_condattr_t attr;
  pthread_condattr_init(&attr);
#ifdef __linux__
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
#endif
  pthread_cond_init(&pool.work, &attr);
  pthread_cond_init(&pool.done, NULL);
  pthread_condattr_destroy(&attr);
}

/* ---- fork: nothing runs, nobody holds a lock ---- */

/* A plugin has fork wait for its compilations, and those of ours would wait in turn: so the threads must come to rest
 * before, which is to say that these handlers are registered after a plugin's, each time one is opened. The first of
 * them to run does the work. */
static _Thread_local bool forking;

static void before_fork(void) {
  if (forking) return;
  forking = true;
  pthread_mutex_lock(&lock);
  while (pool.n_running) pthread_cond_wait(&pool.done, &lock);
  sci_plugin_lock();
}

static void in_parent(void) {
  if (!forking) return;
  forking = false;
  sci_plugin_unlock();
  pthread_mutex_unlock(&lock);
}

/* The child has the queue but no threads; they start again with the next piece of work, or whoever waits does it. */
static void in_child(void) {
  if (!forking) return;
  forking = false;
  sci_plugin_unlock();
  pthread_mutex_init(&lock, NULL);
  make_conditions();
  pool.n_threads = pool.n_idle = 0;
}

/* ---- exit ---- */

static void drop_queue(void) {
  for (sci_job *job; (job = pool.first);) {
    pool.first = job->next;
    job->ended(job);
  }
  pool.last = NULL;
}

/* At the end of the process, for a library that has had work does not go sooner. Whoever is away is left behind, where
 * the plugin does not mind; what else runs is waited for. */
static void join_threads(void) {
  pthread_mutex_lock(&lock);
  pool.ending = true;
  drop_queue();
  pthread_cond_broadcast(&pool.work);
  bool leaves = sci_plugin_may_be_left();
  while (leaves && pool.n_running > pool.n_away) pthread_cond_wait(&pool.done, &lock);
  pool.leaving = leaves &= pool.n_away > 0;
  int n = pool.n_threads;
  pool.n_threads = 0;
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < n; i++) {
    if (leaves)
      pthread_detach(pool.threads[i]);
    else
      pthread_join(pool.threads[i], NULL);
  }
}

static _Thread_local bool ours; /* this thread */

void sci_job_leave(void) {
  if (!ours) return;
  pthread_mutex_lock(&lock);
  pool.n_away++;
  pthread_cond_broadcast(&pool.done);
  pthread_mutex_unlock(&lock);
}

void sci_job_return(void) {
  if (!ours) return;
  pthread_mutex_lock(&lock);
  while (pool.leaving) pthread_cond_wait(&pool.work, &lock);
  pool.n_away--;
  pthread_mutex_unlock(&lock);
}

bool sci_jobs_end(void) {
  pthread_mutex_lock(&lock);
  bool ending = pool.ending && ours;
  pthread_mutex_unlock(&lock);
  return ending;
}

/* At exit as at fork the order counts: the threads must be gone before what a plugin has registered ends LLVM under
 * them. */
void sci_guard_process(void) {
  pthread_atfork(before_fork, in_parent, in_child);
  atexit(join_threads);
}

static void prepare(void) {
  make_conditions();
  sci_guard_process();
}

void sci_units_lock(void) {
  pthread_once(&prepared, prepare);
  pthread_mutex_lock(&lock);
}

void sci_units_unlock(void) {
  pthread_mutex_unlock(&lock);
}

/* ---- threads ---- */

static void run(sci_job *job) {
  job->state = SCI_JOB_RUNNING;
  pool.n_running++;
  pthread_mutex_unlock(&lock);
  job->run(job);
  pthread_mutex_lock(&lock);
  pool.n_running--;
  job->state = SCI_JOB_DONE;
  job->ended(job);
  pthread_cond_broadcast(&pool.done);
}

static void start_thread(void);

static void start_thread_if_wanted(void) {
  if (pool.first && !pool.n_idle && pool.n_threads < pool.wanted && !pool.ending) start_thread();
}

/* Until there may be something to do. */
static void rest(const sci_job *job, double now) {
  pool.n_idle++;
  if (job) {
    struct timespec t;
#ifdef __linux__
    clock_gettime(CLOCK_MONOTONIC, &t);
#else
    clock_gettime(CLOCK_REALTIME, &t);
#endif
    int64_t until = t.tv_nsec + (int64_t)((job->due - now) * 1e6) + 1;
    t.tv_sec += until / 1000000000;
    t.tv_nsec = until % 1000000000;
    pthread_cond_timedwait(&pool.work, &lock, &t);
  } else {
    pthread_cond_wait(&pool.work, &lock);
  }
  pool.n_idle--;
}

static void *work(void *unused) {
  (void)unused;
  ours = true;
  pthread_mutex_lock(&lock);
  while (!pool.ending) {
    sci_job *job = pool.first;
    double now = sci_now_ms();
    if (!job || job->due > now) {
      rest(job, now);
      continue;
    }
    pool.first = job->next;
    if (!pool.first) pool.last = NULL;
    start_thread_if_wanted();
    run(job);
  }
  pthread_mutex_unlock(&lock);
  return NULL;
}

/* Signals are the host's business: a thread of ours takes none. */
static void start_thread(void) {
  pthread_attr_t attr;
  if (pthread_attr_init(&attr)) return;
  pthread_attr_setstacksize(&attr, STACK);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 32)
  sigset_t all;
  sigfillset(&all);
  pthread_attr_setsigmask_np(&attr, &all);
#endif
  if (pthread_create(&pool.threads[pool.n_threads], &attr, work, NULL) == 0) pool.n_threads++;
  pthread_attr_destroy(&attr);
}

void sci_library_stay(void) {
  static atomic_bool stays;
  Dl_info info;
  if (atomic_load(&stays)) return;
  if (dladdr((const void *)(uintptr_t)sci_library_stay, &info) && info.dli_fname)
    dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  atomic_store(&stays, true);
}

void sci_job_queue(sci_job *job, double delay_ms) {
  job->next = NULL;
  job->due = sci_now_ms() + delay_ms;
  job->state = SCI_JOB_QUEUED;
  if (pool.last)
    pool.last->next = job;
  else
    pool.first = job;
  pool.last = job;
  start_thread_if_wanted();
  pthread_cond_signal(&pool.work);
}

bool sci_job_take_back(sci_job *job) {
  if (job->state != SCI_JOB_QUEUED) return false;
  sci_job *before = NULL;
  for (sci_job *at = pool.first; at != job; at = at->next) before = at;
  if (before)
    before->next = job->next;
  else
    pool.first = job->next;
  if (pool.last == job) pool.last = before;
  job->state = SCI_JOB_NONE;
  return true;
}

void sci_job_wait(sci_job *job) {
  if (sci_job_take_back(job)) run(job);
  while (job->state == SCI_JOB_RUNNING) pthread_cond_wait(&pool.done, &lock);
}

int sci_background_threads(void) {
  sci_units_lock();
  int n = pool.wanted;
  sci_units_unlock();
  return n;
}

/* Threads beyond the new number end when they run out of work: there are never many, and idle ones cost nothing. */
sc_status sc_jit_set_threads(int n) {
  if (n < 0 || n > MOST_THREADS) return SC_ERR_ARGUMENT;
  sci_units_lock();
  pool.wanted = n;
  sci_units_unlock();
  return SC_OK;
}
