/* Writes the workloads kept as text, or one of any size.
 *
 *   generate FOLDER [WORKLOAD [SIZE...]] */
#include <stdio.h>
#include <stdlib.h>

#include "tests/data/workloads/workloads.h"

static bool write_one(const wl_stored *s, const char *folder) {
  char name[96], path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, wl_stored_file(s, name));
  sc_context *cx = sc_context_create(NULL);
  sc_function *f = cx ? wl_function(cx, &s->problem, s->kernel) : NULL;
  char *text = f ? sc_print_function(f) : NULL;
  FILE *file = text ? fopen(path, "wb") : NULL;
  bool fine = file && fputs(text, file) >= 0;
  if (file && fclose(file)) fine = false;
  if (!fine)
    fprintf(stderr, "%s: %s\n", path, cx && sc_context_error(cx) ? sc_context_error(cx)->message : "cannot be written");
  if (text) sc_string_free(cx, text);
  if (cx) sc_context_destroy(cx);
  return fine;
}

int main(int argc, char **argv) {
  if (argc < 2 || argc > 3 + WL_MAX_SIZES) {
    fprintf(stderr, "usage: %s FOLDER [WORKLOAD [SIZE...]]\n", argv[0]);
    return 2;
  }
  if (argc > 2) {
    wl_stored one = {.problem.workload = argv[2]};
    for (int k = 3; k < argc; k++) one.problem.size[k - 3] = strtoll(argv[k], NULL, 10);
    return !write_one(&one, argv[1]);
  }
  for (size_t i = 0; i < wl_stored_count(); i++)
    if (!write_one(wl_stored_at(i), argv[1])) return 1;
  return 0;
}
