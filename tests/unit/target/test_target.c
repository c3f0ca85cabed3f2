/* Owns the tests of processors by name and of the probed host. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/target/target.h"
#include "lib/target/vector_math.h"

Test(target, presets) {
  static const char *const wanted[] = {"generic",  "native",      "x86-64",     "x86-64-v3",  "x86-64-v4",
                                       "armv8-a",  "neoverse-v2", "apple-m1",   "apple-m2",   "apple-m3",
                                       "apple-m4", "cortex-a53",  "cortex-a72", "cortex-a76", "cortex-m7"};
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

static const char *name_of(sci_vector_math m, sc_isa isa, int op, sc_dtype dtype, int lanes, int *of_call) {
  static sci_vector_routine r;
  if (!sci_vector_routine_find(&m, isa, op, dtype, lanes, &r)) return "";
  *of_call = r.lanes;
  return r.name;
}

/* The choice depends on its arguments alone. */
Test(target, vector_math_choice) {
  const sci_vector_math none = {0}, glibc = {.glibc = 235, .accuracy = 4}, old = {.glibc = 231, .accuracy = 4},
                        sleef = {.sleef = 304, .accuracy = 4}, exact = {.sleef = 304, .accuracy = 1};
  int n = 0;
  cr_expect_str_eq(name_of(none, SC_ISA_X86_64_V4, SCI_OP_sin, SC_FLOAT64, 8, &n), "");
  cr_expect_str_eq(name_of(glibc, SC_ISA_X86_64_V4, SCI_OP_sin, SC_FLOAT64, 8, &n), "_ZGVeN8v_sin");
  cr_expect_str_eq(name_of(glibc, SC_ISA_X86_64_V3, SCI_OP_sin, SC_FLOAT64, 8, &n), "_ZGVdN4v_sin");
  cr_expect_eq(n, 4);
  cr_expect_str_eq(name_of(glibc, SC_ISA_X86_64, SCI_OP_pow, SC_FLOAT64, 8, &n), "_ZGVbN2vv_pow");
  cr_expect_eq(n, 2);
  cr_expect_str_eq(name_of(glibc, SC_ISA_X86_64_V3, SCI_OP_exp, SC_FLOAT32, 8, &n), "_ZGVdN8v_expf");
  cr_expect_str_eq(name_of(glibc, SC_ISA_X86_64_V3, SCI_OP_exp, SC_FLOAT32, 2, &n), "");
  cr_expect_str_eq(name_of(glibc, SC_ISA_X86_64_V3, SCI_OP_exp, SC_FLOAT64, 1, &n), "");
  cr_expect_str_eq(name_of(glibc, SC_ISA_X86_64_V3, SCI_VECTOR_SINCOS, SC_FLOAT64, 4, &n), "");
  cr_expect_str_eq(name_of(sleef, SC_ISA_X86_64_V3, SCI_VECTOR_SINCOS, SC_FLOAT64, 4, &n), "Sleef_sincosd4_u35avx2");
  cr_expect_str_eq(name_of(glibc, SC_ISA_ARMV8_A, SCI_OP_sin, SC_FLOAT64, 2, &n), "");
  cr_expect_str_eq(name_of(glibc, SC_ISA_GENERIC, SCI_OP_sin, SC_FLOAT64, 2, &n), "");
  cr_expect_str_eq(name_of(glibc, SC_ISA_X86_64_V3, SCI_OP_add, SC_FLOAT64, 4, &n), "");
  cr_expect_str_eq(name_of(glibc, SC_ISA_X86_64_V3, SCI_OP_sin, SC_INT64, 4, &n), "");
  cr_expect_str_eq(name_of(old, SC_ISA_X86_64_V3, SCI_OP_sin, SC_FLOAT64, 4, &n), "_ZGVdN4v_sin");
  cr_expect_str_eq(name_of(old, SC_ISA_X86_64_V3, SCI_OP_tan, SC_FLOAT64, 4, &n), "");
  cr_expect_str_eq(name_of(sleef, SC_ISA_X86_64_V3, SCI_OP_sin, SC_FLOAT64, 4, &n), "Sleef_sind4_u35avx2");
  cr_expect_str_eq(name_of(exact, SC_ISA_X86_64_V3, SCI_OP_sin, SC_FLOAT64, 4, &n), "Sleef_sind4_u10avx2");
  cr_expect_str_eq(name_of(exact, SC_ISA_X86_64, SCI_OP_sin, SC_FLOAT64, 4, &n), "Sleef_sind2_u10sse2");
  cr_expect_str_eq(name_of(exact, SC_ISA_ARMV8_A, SCI_OP_sin, SC_FLOAT64, 4, &n), "Sleef_sind2_u10advsimd");
  cr_expect_eq(n, 2);

  int op;
  sc_dtype dtype;
  sci_vector_routine r;
  size_t rows = 0;
  for (; sci_vector_routine_at(rows, &op, &dtype, &r); rows++) {
    cr_expect(r.name[0] && strlen(r.name) + 1 < sizeof r.name && r.ulp >= 0 && r.ns > 0, "%s", r.name);
    cr_expect(r.since >= 222 && r.lanes * sc_dtype_size(dtype) >= 16, "%s", r.name);
  }
  cr_expect(rows > 250);
  sc_vector_routine public;
  cr_assert(sc_vector_routine_at(rows - 1, &public));
  cr_expect(!sc_vector_routine_at(rows, &public) && !sc_vector_routine_at(0, NULL));
  cr_expect(!strcmp(public.library, "sleef") && public.lanes >= 2 && strstr(public.name, public.op));
}

Test(target, vector_math_libraries) {
  int version = sci_vector_library(SCI_VECTOR_GLIBC);
  cr_expect_eq(version != 0, sci_vector_library_version(SCI_VECTOR_GLIBC) != NULL);
  cr_expect_eq(version != 0, sc_vector_library_version("glibc") != NULL);
  cr_expect_null(sc_vector_library_version("m"));
  if (version) {
    cr_expect(version >= 222);
    cr_expect(sci_vector_routine_address(SCI_VECTOR_GLIBC, "_ZGVbN2v_sin"));
    cr_expect(!sci_vector_routine_address(SCI_VECTOR_GLIBC, "_ZGVbN2v_nothing"));
  }
  if (sci_vector_library(SCI_VECTOR_SLEEF))
    cr_expect(sci_vector_routine_address(SCI_VECTOR_SLEEF, "Sleef_sind2_u10sse2"));
  sci_vector_math m = sci_vector_math_choose(SC_VECTOR_LIBM_AUTO, 0, false);
  cr_expect(m.glibc == 0 && m.sleef == 0);
  m = sci_vector_math_choose(SC_VECTOR_LIBM_GLIBC, 0, false);
  cr_expect(m.glibc == 235 && m.sleef == 0 && m.accuracy == 4);
  m = sci_vector_math_choose(SC_VECTOR_LIBM_SLEEF, 1, true);
  cr_expect(m.glibc == 0 && m.sleef == 304 && m.accuracy == 1);
  m = sci_vector_math_choose(SC_VECTOR_LIBM_NONE, 1, true);
  cr_expect(m.glibc == 0 && m.sleef == 0);
}
