/* Units of compiled code: what kernels share, and what a background thread replaces with something better.
 *
 * A unit belongs to no context and outlives them: its memory is the C library's. Code that a unit has had stays until
 * the unit goes, so an entry once handed out stays valid. One lock of the process guards every unit's state, the queue
 * of the background threads and the table of units by key; the entries alone are read without it. */
#ifndef SCI_API_UNIT_H
#define SCI_API_UNIT_H

#include <stdatomic.h>

#include "lib/module/backend.h"

typedef struct sci_unit sci_unit;
typedef _Atomic(sc_entry) sci_current;

typedef struct sci_kept sci_kept;           /* lib/api/cached.h */
typedef struct sci_names sci_names;         /* lib/api/names.h */
typedef struct sci_promotion sci_promotion; /* lib/api/promote.h */

/* Takes the code, its names (NULL: none), what is kept for the cache (NULL: nothing): then others find the unit by its
 * key, and its code is stored, and what makes it better (NULL: nothing will), which is queued. Unwinds when there is no
 * memory, everything released. */
sci_unit *sci_unit_make(sci_env *env, sci_code *code, size_t n, sci_kept *kept, sci_names *names,
                        sci_promotion *promotion);
void sci_code_drop(void *code);                    /* for cleanup lists: of a sci_code that has no unit yet */
sci_unit *sci_unit_find(const unsigned char *key); /* a reference, or NULL */
sci_kept *sci_unit_kept(sci_unit *u);              /* or NULL */
const char *sci_unit_warning(sci_unit *u);         /* or NULL */
void sci_unit_retain(sci_unit *u);
void sci_unit_release(sci_unit *u);
void sci_unit_release_it(void *unit); /* for cleanup lists */
const sci_current *sci_unit_entry(const sci_unit *u, size_t i);

typedef struct sci_unit_state {
  sc_tier tier;
  size_t code_bytes;
  double best_ms;
} sci_unit_state;
sci_unit_state sci_unit_read(sci_unit *u);
sc_status sci_unit_wait(sci_unit *u);

/* ---- background.c ---- */

/* The lock of the process. Taking it is safe across fork and at exit. */
void sci_units_lock(void);
void sci_units_unlock(void);
int sci_background_threads(void); /* how many there may be */

/* A library that has had work to do in the background is not unloaded any more, as its plugin is not: who unloads it
 * would hold the loader's lock and wait for a thread that waits for that lock to open the plugin. Without our lock. */
void sci_library_stay(void);

/* One piece of work: queued once, then run by some thread, or taken back. Guarded by the lock. */
typedef struct sci_job {
  struct sci_job *next;
  double due; /* on the clock of sci_now_ms */
  enum { SCI_JOB_NONE, SCI_JOB_QUEUED, SCI_JOB_RUNNING, SCI_JOB_DONE } state;
  void (*run)(struct sci_job *job); /* without the lock */
  void (*ended)(struct sci_job
                    *job); /* with the lock, when it has run, or was dropped at exit (state QUEUED); may free the job */
} sci_job;

void sci_job_queue(sci_job *job, double delay_ms); /* with the lock: to begin no sooner than then, if nobody waits */
bool sci_job_take_back(sci_job *job);              /* with the lock: true if nobody had begun it */
void sci_job_wait(sci_job *job); /* with the lock, which it gives up meanwhile: until it is done; runs it itself if
                                    nobody has begun */

/* In between, a job on a background thread touches nothing but its own memory and what is never unloaded: the process
 * may end meanwhile without waiting for it. Then sci_job_return does not return. Jobs that somebody waits for are run
 * by whoever waits: there these do nothing. */
void sci_job_leave(void);
void sci_job_return(void);
bool sci_jobs_end(void); /* what such a job has not begun yet it had better not begin */

#endif
