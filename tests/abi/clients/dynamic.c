/* A client without any header, which knows the pointer interface and the sizes: dynamic LIBRARY. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
  static const int rows[] = {0, 1, 0, 1, 0, 1}, cols[] = {0, 0, 1, 1, 2, 2};
  int (*plant)(const double **, double **, int *, double *, int);
  void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL, *symbol = library ? dlsym(library, "plant") : NULL;
  if (!symbol) return 1;
  memcpy(&plant, &symbol, sizeof plant);
  double A[] = {1, 2, 3, 4, 5, 6}, x[] = {0.5, -1, 2}, y[2], j[6];
  const double *arg[] = {A, x};
  double *res[] = {y, j};
  if (plant(arg, res, NULL, NULL, 0)) return 1;
  printf("%.12g %.12g\n", y[0], y[1]);
  for (int k = 0; k < 6; k++) printf("%d %d %.12g\n", rows[k], cols[k], j[k]);
  dlclose(library);
  return 0;
}
