/* Owns units of code: their entries, the step from the fast tier to the best one, and their end. */
#include "lib/api/unit.h"

#include <stdlib.h>
#include <string.h>

#include "lib/api/cached.h"
#include "lib/api/names.h"
#include "lib/api/promote.h"

struct sci_unit {
  sci_job job; /* first: the job is the unit */
  size_t references, n;
  sci_code code[2]; /* the second: best code from the background */
  sci_promotion *promotion;
  sc_tier tier;
  sc_status later_status;
  double best_ms;
  sci_kept *kept;
  sci_names *names;
  sci_current current[];
};

/* Units by the first byte of their key; whatever is in here is alive. */
static sci_unit *table[256];

static sci_unit **place_of(const sci_unit *u) {
  sci_unit **at = &table[u->kept->key[0]];
  while (*at && *at != u) at = &(*at)->kept->next;
  return at;
}

static sci_unit *find(const unsigned char *key) {
  sci_unit *u = table[key[0]];
  while (u && memcmp(u->kept->key, key, SCI_DIGEST_SIZE)) u = u->kept->next;
  return u;
}

static void unlist(sci_unit *u) {
  if (!u->kept || !u->kept->listed) return;
  *place_of(u) = u->kept->next;
  u->kept->listed = false;
}

/* In place of one of the same key. */
static void list(sci_unit *u) {
  sci_unit *old = find(u->kept->key);
  if (old) unlist(old);
  u->kept->next = table[u->kept->key[0]];
  table[u->kept->key[0]] = u;
  u->kept->listed = true;
}

static const sc_entry *entries_of(const sci_code *code) {
  return code->entries ? code->entries : &code->entry;
}

void sci_code_drop(void *what) {
  sci_code *code = what;
  if (code->release) code->release(code->handle);
  free(code->image);
}

static void destroy(sci_unit *u) {
  sci_code_drop(&u->code[0]);
  sci_code_drop(&u->code[1]);
  sci_names_forget(u->names);
  free(u->promotion);
  free(u->kept);
  free(u);
}

/* With the lock. */
static void let_go(sci_unit *u) {
  if (--u->references) return;
  unlist(u);
  destroy(u);
}

/* Once stored, or not to be. */
static void drop_image(sci_code *code) {
  free(code->image);
  code->image = NULL;
}

/* ---- the best tier ---- */

/* A process that is over by then never opens LLVM. */
enum { BEST_AFTER_MS = 10 };

static void make_best(sci_job *job) {
  sci_unit *u = (sci_unit *)job;
  sci_fp_state fp = sci_fp_default();
  double start = sci_now_ms();
  sci_code best = {0};
  sci_job_leave();
  sc_status status = sci_promote(u->promotion, &best);
  sci_job_return();
  u->code[1] = best;
  u->later_status = status;
  u->best_ms = sci_now_ms() - start;
  if (u->kept && status == SC_OK) sci_kept_store(u->kept, &u->code[1], NULL);
  drop_image(&u->code[1]);
  sci_fp_restore(&fp);
}

/* A reader of the entries sees the old code or the new, both whole: the release store comes after everything that the
 * code needs. */
static void swap_in(sci_job *job) {
  sci_unit *u = (sci_unit *)job;
  if (job->state != SCI_JOB_DONE) { /* dropped at exit */
    job->state = SCI_JOB_DONE;
  } else if (u->later_status == SC_OK) {
    for (size_t i = 0; i < u->n; i++)
      atomic_store_explicit(&u->current[i], entries_of(&u->code[1])[i], memory_order_release);
    u->tier = SC_TIER_BEST;
    if (u->names) sci_names_tell(u->names, entries_of(&u->code[1]), u->code[1].code_bytes);
  }
  let_go(u);
}

/* ---- life ---- */

static sci_unit *new_unit(sci_code *code, size_t n) {
  sci_unit *u = calloc(1, sizeof *u + n * sizeof *u->current);
  if (!u) return NULL;
  u->job.run = make_best;
  u->job.ended = swap_in;
  u->references = 1;
  u->n = n;
  u->code[0] = *code;
  u->tier = code->tier == SC_TIER_FAST ? SC_TIER_FAST : SC_TIER_BEST;
  for (size_t i = 0; i < n; i++) atomic_init(&u->current[i], entries_of(&u->code[0])[i]);
  return u;
}

sci_unit *sci_unit_make(sci_env *env, sci_code *code, size_t n, sci_kept *kept, sci_names *names,
                        sci_promotion *promotion) {
  sci_unit *u = new_unit(code, n);
  if (!u) {
    sci_code_drop(code);
    free(kept);
    free(promotion);
    sci_names_forget(names);
    sci_fail(env, SC_ERR_MEMORY, "out of memory: a kernel's code");
  }
  u->kept = kept;
  u->promotion = promotion;
  if (kept && !kept->stored) sci_kept_store(kept, &u->code[0], promotion);
  drop_image(&u->code[0]);
  if (promotion) sci_library_stay();
  sci_units_lock();
  if (kept) list(u);
  u->names = names;
  if (names) sci_names_tell(names, entries_of(&u->code[0]), u->code[0].code_bytes);
  if (promotion) {
    u->references++; /* the job's */
    sci_job_queue(&u->job, BEST_AFTER_MS);
  }
  sci_units_unlock();
  return u;
}

sci_unit *sci_unit_find(const unsigned char *key) {
  sci_units_lock();
  sci_unit *u = find(key);
  if (u) u->references++;
  sci_units_unlock();
  return u;
}

sci_kept *sci_unit_kept(sci_unit *u) {
  return u->kept;
}

void sci_unit_retain(sci_unit *u) {
  sci_units_lock();
  u->references++;
  sci_units_unlock();
}

void sci_unit_release(sci_unit *u) {
  sci_units_lock();
  if (u->references == 2 && sci_job_take_back(&u->job)) u->references--; /* nobody is left to want what is queued */
  let_go(u);
  sci_units_unlock();
}

/* Not while the background may be writing it; afterwards nobody does. */
const char *sci_unit_warning(sci_unit *u) {
  sci_units_lock();
  bool has = u->kept && u->job.state != SCI_JOB_RUNNING && u->kept->warning[0];
  sci_units_unlock();
  return has ? u->kept->warning : NULL;
}

void sci_unit_release_it(void *unit) {
  sci_unit_release(unit);
}

const sci_current *sci_unit_entry(const sci_unit *u, size_t i) {
  return &u->current[i];
}

sci_unit_state sci_unit_read(sci_unit *u) {
  sci_units_lock();
  sci_unit_state s = {u->tier, u->code[u->tier == SC_TIER_BEST && u->code[1].entry].code_bytes, u->best_ms};
  sci_units_unlock();
  return s;
}

sc_status sci_unit_wait(sci_unit *u) {
  sci_units_lock();
  u->references++; /* a kernel may not be released while somebody waits for it; the job may end and let go */
  sci_job_wait(&u->job);
  sc_status status = u->later_status;
  let_go(u);
  sci_units_unlock();
  return status;
}
