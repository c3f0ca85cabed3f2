/* Calls a function of 64 numbers and prints what it gives: one of an image through the loader, or, built with ENTRY,
 * one that was linked. run IMAGE */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cache/loader.h"

#ifdef ENTRY
int ENTRY(const double **arg, double **res, int *iw, double *w, int mem);
#else
#define ROUTINE(f)                                                                                                     \
  { #f, (void (*)(void))f }
static const struct {
  const char *name;
  void (*address)(void);
} routines[] = {ROUTINE(sin),  ROUTINE(cos),  ROUTINE(exp),   ROUTINE(pow),    ROUTINE(tanh),
                ROUTINE(fmod), ROUTINE(cbrt), ROUTINE(floor), ROUTINE(memset), ROUTINE(memcpy)};

uintptr_t sci_routine(const char *name) {
  for (size_t i = 0; i < sizeof routines / sizeof *routines; i++)
    if (!strcmp(routines[i].name, name)) return (uintptr_t)routines[i].address;
  return 0;
}

static sc_entry load(const char *path) {
  static char names[4096];
  const char *symbols[64];
  uint64_t head[5];
  size_t at = 0;
  FILE *f = fopen(path, "rb");
  if (!f || fread(head, sizeof head, 1, f) != 1 || head[3] > 64) exit(2);
  for (uint64_t i = 0; i < head[3]; i++) {
    symbols[i] = names + at;
    do names[at] = (char)getc(f);
    while (names[at++]);
  }
  unsigned char *blob = malloc(head[0]);
  if (!blob || fread(blob, 1, head[0], f) != head[0]) exit(2);
  fclose(f);
  uint32_t entry = (uint32_t)head[4];
  sci_image im = {.blob = blob,
                  .size = head[0],
                  .slots = head[1],
                  .code_bytes = head[2],
                  .symbols = symbols,
                  .n_symbols = (uint32_t)head[3],
                  .n_entries = 1,
                  .entries = &entry};
  const char *missing = NULL;
  sci_placed *p = sci_image_sound(&im) ? sci_placed_open(&im) : NULL;
  if (!p) exit(3);
  memcpy(p->room.base, blob, im.size);
  free(blob);
  if (!sci_placed_seal(p, &im, &missing)) {
    fprintf(stderr, "no routine %s\n", missing ? missing : "");
    exit(4);
  }
  return p->entries[0];
}
#endif

int main(int argc, char **argv) {
  static double x[64], y[4][64];
  for (int i = 0; i < 64; i++) x[i] = (i * 37 % 64 - 31) / 16.0;
#ifdef ENTRY
  (void)argv;
  sc_entry entry = (sc_entry)ENTRY;
#else
  sc_entry entry = argc > 1 ? load(argv[1]) : NULL;
  if (!entry) return 2;
#endif
  for (int mem = 0; mem < 2; mem++) {
    int status = ((int (*)(const double **, double **, int *, double *, int))entry)(
        (const double *[]){x}, (double *[]){y[0], y[1], y[2], y[3]}, NULL, NULL, mem);
    for (int k = 0; k < 256; k++) printf("%d %d %a\n", status, k, y[k / 64][k % 64]);
  }
  return argc > 2;
}
