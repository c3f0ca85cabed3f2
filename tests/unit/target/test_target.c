/* Owns the tests of processors by name and of the probed host. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/target/target.h"

Test(target, presets) {
  static const char *const wanted[] = {"generic",  "native",   "x86-64",     "x86-64-v3",  "x86-64-v4",  "armv8-a",   "neoverse-v2", "apple-m1",
                                       "apple-m2", "apple-m3", "apple-m4",   "cortex-a53", "cortex-a72", "cortex-a76", "cortex-m7"};
  cr_assert_eq(sc_target_preset_count(), sizeof wanted / sizeof *wanted);
  for (size_t i = 0; i < sc_target_preset_count(); i++) {
    sc_target t;
    cr_assert_str_eq(sc_target_preset_name(i), wanted[i]);
    cr_assert_eq(sc_target_preset(wanted[i], &t), SC_OK);
    cr_assert_str_eq(t.name, wanted[i]);
    cr_expect(t.lanes == 1 || t.lanes == 2 || t.lanes == 4 || t.lanes == 8, "%s", wanted[i]);
    cr_expect(t.vector_registers >= 16 && t.fma_units >= 1 && t.fma_latency >= 1, "%s", wanted[i]);
    cr_expect(t.l1_bytes >= 16 << 10 && t.l2_bytes >= 0, "%s", wanted[i]);
    cr_expect_eq(t.gcc_flags[0] == 0, t.isa == SC_ISA_GENERIC, "%s", wanted[i]);
  }
  sc_target t = {.lanes = 77};
  cr_assert_eq(sc_target_preset("x86-64-v9", &t), SC_ERR_NAME);
  cr_assert_eq(sc_target_preset("", &t), SC_ERR_NAME);
  cr_assert_eq(sc_target_preset(NULL, &t), SC_ERR_ARGUMENT);
  cr_assert_eq(sc_target_preset("generic", NULL), SC_ERR_ARGUMENT);
  cr_assert_eq(t.lanes, 77);
  cr_assert_null(sc_target_preset_name(sc_target_preset_count()));
}

/* The compiler that runs here asks the same processor. */
Test(target, host) {
  const sc_target *t = sci_target_host();
  cr_assert_eq(t, sci_target_host());
  cr_assert_str_eq(t->name, "native");
#if defined(__x86_64__)
  __builtin_cpu_init();
  cr_expect_eq(strstr(t->features, "+avx2") != NULL, __builtin_cpu_supports("avx2") != 0);
  cr_expect_eq(strstr(t->features, "+fma") != NULL, __builtin_cpu_supports("fma") != 0);
  cr_expect_eq(strstr(t->features, "+avx512f") != NULL, __builtin_cpu_supports("avx512f") != 0);
  cr_expect_eq(strstr(t->features, "+avx512vl") != NULL, __builtin_cpu_supports("avx512vl") != 0);
  cr_expect_eq(t->fast_fma, __builtin_cpu_supports("fma") != 0);
  cr_expect_eq(t->lanes, __builtin_cpu_supports("avx512bw") ? 8 : __builtin_cpu_supports("avx2") ? 4 : 2);
  cr_expect(t->isa >= SC_ISA_X86_64 && t->isa <= SC_ISA_X86_64_V4);
#elif defined(__aarch64__)
  cr_expect_eq(t->isa, SC_ISA_ARMV8_A);
#endif
  /* Every entry is "+name" or "-name". */
  for (const char *s = t->features; *s;) {
    size_t n = strcspn(s, ",");
    cr_assert(n > 1 && (*s == '+' || *s == '-'));
    s += n + (s[n] == ',');
  }
}
