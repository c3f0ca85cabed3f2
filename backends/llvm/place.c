/* Owns how an object becomes code of this process: as an image where that is possible, which costs microseconds and is
 * what the cache stores, through ORC otherwise. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "backends/llvm/image.h"
#include "backends/llvm/llvm.h"

static void dispose(void *object) {
  if (sci_llvm_usable()) LLVMDisposeMemoryBuffer(object);
}

void sci_llvm_place_image(sci_env *env, const sci_image *im, sci_code *out) {
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

void sci_llvm_place(sci_env *env, LLVMMemoryBufferRef object, const char *const *symbols, size_t n, bool linked,
                    sci_code *out) {
  const char *refusal = "it was linked by ORC";
  sci_image *im = NULL;
  sci_defer(env, dispose, object);
  if (!linked)
    im = sci_llvm_image(env, LLVMGetBufferStart(object), LLVMGetBufferSize(object), symbols, (uint32_t)n, &refusal);
  sci_keep(env, object);
  if (!im) {
    snprintf(out->refusal, sizeof out->refusal, "%s", refusal);
    sci_llvm_link(env, object, symbols, n, out);
    return;
  }
  dispose(object);
  sci_defer(env, free, im);
  sci_llvm_place_image(env, im, out);
  sci_keep(env, im);
  out->image = im;
}
