/* From an object file to an image that needs no linker. */
#ifndef SCI_BACKENDS_LLVM_IMAGE_H
#define SCI_BACKENDS_LLVM_IMAGE_H

#include "lib/base/env.h"
#include "lib/cache/loader.h"

/* The image of an object with these entry points, one block to be freed with free(). NULL when the object has something
 * that the loader does not know, with the reason in `*refusal` (scratch memory): nothing is ever guessed. */
sci_image *sci_llvm_image(sci_env *env, const char *object, size_t size, const char *const *entries, uint32_t n,
                          const char **refusal);

#endif
