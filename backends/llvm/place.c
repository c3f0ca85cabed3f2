/* Owns how an object becomes code of this process: as an image where that is possible, which costs microseconds and is
 * what the cache stores, through ORC otherwise. */
#include <stdio.h>
#include <stdlib.h>

#include "backends/llvm/image.h"
#include "backends/llvm/llvm.h"

static void dispose(void *object) {
  if (sci_llvm_usable()) LLVMDisposeMemoryBuffer(object);
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
  sci_code_place(env, im, out);
  sci_keep(env, im);
  out->image = im;
}
