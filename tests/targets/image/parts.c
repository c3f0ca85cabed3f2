/* What model.scaly's code does not have: addresses of routines loaded through their pointers, constants of every width,
 * calls inside. */
#include <math.h>

#define KEPT static const __attribute__((used, aligned(16)))
KEPT signed char bytes[] = {3, -1, 4, 1, -5, 9, 2, 6};
KEPT short halves[] = {-30, 10, 40, 11, 50, -90, 20, 60};
KEPT int words[] = {300, -100, 400, 101, 500, 900, -200, 600};
KEPT double doubles[] = {0.1, -0.3, 2.5, 1e10, -7, 0.25, 3, 11};

__attribute__((noinline)) static double at(int i) {
  return bytes[i & 7] + halves[i & 7] + words[i & 7] * doubles[i & 7];
}

/* Loads with an offset in the instruction, of which the processor has one form per width. */
#ifdef __aarch64__
#define READ(to, load, place) __asm__("adrp x9, " place "\n" load ", [x9, #:lo12:" place "]" : "=w"(to)::"x9")
static double parts_of(void) {
  double b, h, s, d, q;
  READ(b, "ldr %b0", "bytes+3");
  READ(h, "ldr %h0", "halves+4");
  READ(s, "ldr %s0", "words+20");
  READ(d, "ldr %d0", "doubles+48");
  READ(q, "ldr %q0", "doubles+16");
  return b + h + s + d + q;
}
#else
static double parts_of(void) {
  return doubles[6] + doubles[2];
}
#endif

int parts(const double **arg, double **res, int *iw, double *w, int mem) {
  double (*routine)(double) = mem ? cos : tanh;
  (void)iw, (void)w;
  for (int i = 0; i < 64; i++) res[0][i] = routine(arg[0][i]) + at(i) * arg[0][63 - i];
  for (int i = 0; i < 16; i++) res[1][i] = fmod(arg[0][i] * 1e3, 7);
  for (int i = 0; i < 64; i++) res[2][i] = res[3][i] = parts_of() * i;
  return 0;
}
