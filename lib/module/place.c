/* Owns how an image becomes code of this process, whichever backend has made it. */
#include <errno.h>

#include "lib/module/backend.h"

void sci_code_place(sci_env *env, const sci_image *im, sci_code *out) {
  sci_placed *p = sci_placed_open(im);
  if (!p) sci_fail(env, SC_ERR_MEMORY, "no memory for %zu bytes of code: %s", im->size, strerror(errno));
  memcpy(p->room.base, im->blob, im->size);
  const char *missing;
  if (!sci_placed_seal(p, im, &missing)) {
    if (missing)
      sci_fail(env, SC_ERR_BACKEND, "the code calls '%s', a routine that this machine does not have", missing);
    sci_fail(env, SC_ERR_BACKEND, "memory of this process cannot be made executable: %s", strerror(errno));
  }
  out->entries = p->entries;
  out->entry = p->entries[0];
  out->handle = p;
  out->release = sci_placed_close;
}
