/* Writes the image of an object file as a flat file: five numbers, the routines' names, the block.
 *   make OBJECT ENTRY >IMAGE */
#include <stdio.h>
#include <stdlib.h>

#include "backends/llvm/image.h"

static char *read_all(const char *path, size_t *size) {
  FILE *f = fopen(path, "rb");
  if (!f || fseek(f, 0, SEEK_END)) return NULL;
  *size = (size_t)ftell(f);
  rewind(f);
  char *data = malloc(*size);
  if (data && fread(data, 1, *size, f) != *size) return NULL;
  fclose(f);
  return data;
}

int main(int argc, char **argv) {
  size_t size = 0;
  char *object = argc == 3 ? read_all(argv[1], &size) : NULL;
  if (!object) return 2;
  sci_env env;
  sci_frame frame;
  sci_env_init(&env, NULL);
  if (!SCI_TRY(&env, &frame)) return 2;
  const char *refusal, *entry = argv[2];
  sci_image *im = sci_llvm_image(&env, object, size, &entry, 1, &refusal);
  if (!im) {
    fprintf(stderr, "%s: %s\n", argv[1], refusal);
    return 1;
  }
  uint64_t head[] = {im->size, im->slots, im->code_bytes, im->n_symbols, im->entries[0]};
  fwrite(head, sizeof head, 1, stdout);
  for (uint32_t i = 0; i < im->n_symbols; i++) fwrite(im->symbols[i], strlen(im->symbols[i]) + 1, 1, stdout);
  fwrite(im->blob, 1, im->size, stdout);
  free(im);
  sci_leave(&env, &frame);
  sci_env_free(&env);
  free(object);
  return 0;
}
