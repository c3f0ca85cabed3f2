/* What model.scaly's code does not have: addresses of routines loaded through their pointers, constants of every width,
 * calls inside. */
#include <math.h>

static const signed char bytes[] = {3, -1, 4, 1, -5, 9, 2, 6};
static const short halves[] = {-30, 10, 40, 11, 50, -90, 20, 60};
static const int words[] = {300, -100, 400, 101, 500, 900, -200, 600};
static const double doubles[] = {0.1, -0.3, 2.5, 1e10, -7, 0.25, 3, 11};

/* A load of its own, with its offset in the instruction. */
#define READ(array, i) (*(const volatile __typeof__(*(array)) *)&(array)[i])

__attribute__((noinline)) static double at(int i) {
  return bytes[i & 7] + halves[i & 7] + words[i & 7] * doubles[i & 7];
}

int parts(const double **arg, double **res, int *iw, double *w, int mem) {
  double (*routine)(double) = mem ? cos : tanh;
  (void)iw, (void)w;
  for (int i = 0; i < 64; i++)
    res[0][i] = routine(arg[0][i]) + at(i) + READ(bytes, 3) + READ(halves, 2) * arg[0][63 - i];
  for (int i = 0; i < 16; i++) res[1][i] = fmod(arg[0][i] * 1e3, 7) + READ(words, 5);
  for (int i = 0; i < 64; i++) res[2][i] = res[3][i] = READ(doubles, 6);
  return 0;
}
