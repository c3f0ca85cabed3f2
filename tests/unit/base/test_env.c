/* Owns the tests of arenas, unwinding, diagnostics and the hash index. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "lib/base/hash.h"
#include "tests/support/fault_alloc.h"

static int cleaned[8], n_cleaned;

static void clean(void *what) {
  cleaned[n_cleaned++] = *(int *)what;
}

static void fails_deep(sci_env *env, int depth) {
  sci_alloc(&env->scratch, 100000);
  if (depth) fails_deep(env, depth - 1);
  if (!depth) sci_fail(env, SC_ERR_SHAPE, "at the bottom");
}

Test(base, unwinding) {
  fault_alloc fa = {0};
  sc_allocator alloc = fault_allocator(&fa);
  sci_env env;
  cr_assert(sci_env_init(&env, &alloc));
  size_t before = env.held;
  static int one = 1, two = 2, three = 3;
  sci_frame outer, inner;
  if (!SCI_TRY(&env, &outer)) cr_assert_fail("nothing fails in the outer frame");
  sci_defer(&env, clean, &one);
  volatile bool failed = false;
  if (SCI_TRY(&env, &inner)) {
    sci_defer(&env, clean, &two);
    sci_defer(&env, clean, &three);
    sci_keep(&env, &two);
    fails_deep(&env, 3);
  } else
    failed = true;
  cr_assert(failed);
  cr_assert_eq(n_cleaned, 1, "only what the inner frame deferred and did not keep");
  cr_assert_eq(cleaned[0], 3);
  cr_assert_eq(env.n_diags, 1);
  cr_assert_str_eq(env.diags[0].message, "at the bottom");
  if (SCI_TRY(&env, &inner)) sci_fail(&env, SC_ERR_NAME, "second");
  cr_assert_eq(env.n_diags, 1, "the first diagnostic sticks");
  if (SCI_TRY(&env, &inner)) {
    sci_diags_isolate(&env);
    sci_fail(&env, SC_ERR_NAME, "isolated");
  }
  cr_assert_eq(env.n_diags, 2);
  cr_assert_str_eq(env.diags[1].message, "isolated");
  sci_diags_truncate(&env, 1);
  if (SCI_TRY(&env, &inner)) sci_fail(&env, SC_ERR_NAME, "sticky again");
  cr_assert_eq(env.n_diags, 1);
  sci_keep(&env, &one);
  sci_leave(&env, &outer);
  sci_diags_clear(&env);
  cr_assert_eq(env.held, before, "frames give their scratch memory back");
  sci_env_free(&env);
  cr_assert_eq(fa.bytes, 0);
  cr_assert_eq(fa.blocks, 0);
}

/* Without any memory left a failure is still reported, as what it is or as the lack of memory. */
Test(base, diagnostics_without_memory) {
  for (volatile int always = 0; always < 2; always++) {
    fault_alloc fa = {0};
    sc_allocator alloc = fault_allocator(&fa);
    sci_env env;
    cr_assert(sci_env_init(&env, &alloc));
    fa.fail_after = fa.allocations + 1;
    for (volatile int i = 0; i < 6; i++) {
      sci_frame fr;
      if (!SCI_TRY(&env, &fr)) continue;
      if (always) {
        sci_report(&env, true, (sc_diagnostic){.status = SC_ERR_PARSE, .file = "f", .source = "s"}, "report %d", i);
        sci_leave(&env, &fr);
      } else
        sci_fail(&env, SC_ERR_SHAPE, "never stored");
    }
    cr_assert_eq(env.n_diags, always ? 4u : 1u, "%zu", env.n_diags);
    cr_assert_eq(env.diags[0].status, SC_ERR_MEMORY);
    cr_assert_str_eq(env.diags[0].message, "out of memory");
    sci_env_free(&env);
    cr_assert_eq(fa.bytes, 0);
  }
  fault_alloc fa = {.fail_after = 1};
  sc_allocator alloc = fault_allocator(&fa);
  sci_env env;
  cr_assert(!sci_env_init(&env, &alloc));
  fa = (fault_alloc){.fail_at = 2};
  cr_assert(!sci_env_init(&env, &alloc));
  cr_assert_eq(fa.bytes, 0, "a failed start holds nothing");
}

Test(base, arenas) {
  sci_env env;
  cr_assert(sci_env_init(&env, NULL));
  sci_frame fr;
  if (!SCI_TRY(&env, &fr)) cr_assert_fail("%s", env.diags[0].message);
  sci_arena a;
  sci_arena_init(&a, &env);
  for (size_t size = 0; size < 100000; size = size * 3 + 1) {
    char *p = sci_alloc(&a, size);
    if (size) {
      cr_assert_eq((uintptr_t)p % 16, 0);
      memset(p, 1, size);
    }
  }
  sci_arena_mark mark = sci_arena_here(&a);
  size_t held = a.held;
  for (int i = 0; i < 1000; i++) sci_alloc(&a, 10000);
  cr_assert_gt(a.held, held);
  sci_arena_release(&a, mark);
  cr_assert_eq(a.held, held);
  SCI_VEC(uint32_t) v = {0};
  for (uint32_t i = 0; i < 10000; i++) sci_vec_push(&a, &v, i);
  for (uint32_t i = 0; i < 10000; i++) cr_assert_eq(v.data[i], i);
  cr_assert_str_eq(sci_asprintf(&a, "%s-%d", "x", 7), "x-7");
  sci_arena_free(&a);
  sci_leave(&env, &fr);
  const size_t huge[] = {SIZE_MAX, SIZE_MAX - 15, SIZE_MAX / 2 + 1};
  for (volatile size_t i = 0; i < 3; i++) {
    volatile bool failed = false;
    if (SCI_TRY(&env, &fr)) {
      sci_alloc_array(&env.scratch, huge[i], i == 2 ? 2 : 1);
      sci_leave(&env, &fr);
    } else
      failed = true;
    cr_assert(failed);
  }
  cr_assert_eq(env.diags[0].status, SC_ERR_MEMORY);
  sci_env_free(&env);
}

/* Against a plain table: random insertions and removals, with hashes that collide often. */
Test(base, hash_index) {
  enum { N = 3000 };
  sci_env env;
  cr_assert(sci_env_init(&env, NULL));
  sci_frame fr;
  if (!SCI_TRY(&env, &fr)) cr_assert_fail("%s", env.diags[0].message);
  sci_index x;
  sci_index_init(&x, &env);
  bool *there = SCI_ZEROS(&env.scratch, bool, N);
  uint64_t rng = 88172645463325252u;
  uint32_t n = 0;
  for (int step = 0; step < 15000; step++) {
    rng ^= rng << 13, rng ^= rng >> 7, rng ^= rng << 17;
    uint32_t id = (uint32_t)(rng >> 20) % N, hash = id % 3 ? 0xFFFFFFF0u + id % 17 : id * 2654435761u;
    if (there[id]) {
      sci_index_remove(&x, hash, id);
    } else {
      sci_index_reserve(&x);
      sci_index_insert(&x, hash, id);
    }
    there[id] = !there[id];
    n = there[id] ? n + 1 : n - 1;
    cr_assert_eq(x.n, n);
    if (step % 500) continue;
    for (uint32_t k = 0; k < N; k++) {
      uint32_t h = k % 3 ? 0xFFFFFFF0u + k % 17 : k * 2654435761u, found;
      bool hit = false;
      for (uint32_t at = h; sci_index_at(&x, &at, h, &found); at++) hit = hit || found == k;
      cr_assert_eq(hit, there[k], "id %u after %d steps", k, step);
    }
  }
  sci_index_free(&x);
  sci_leave(&env, &fr);
  sci_env_free(&env);
  cr_assert_eq(env.held, 0);
}
