/* What an image can resolve of each processor's relocations, and how it calls a routine through a pointer. */
#ifndef SCI_BACKENDS_LLVM_RELOCATIONS_H
#define SCI_BACKENDS_LLVM_RELOCATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SCI_STUB = 16 }; /* bytes of a jump through a pointer */

/* Places are offsets in a blob that will lie at a page's start. */
typedef struct sci_relocations {
  uint16_t machine;               /* EM_... */
  bool (*inside)(uint32_t type);  /* against something in the blob */
  bool (*call)(uint32_t type);    /* of a routine: goes to its stub */
  bool (*pointer)(uint32_t type); /* to the pointer that holds a routine's address */
  size_t (*width)(uint32_t type); /* bytes it changes */
  bool (*resolve)(unsigned char *blob, size_t place, uint32_t type,
                  int64_t to); /* `to` with the addend; false: out of reach */
  void (*stub)(unsigned char *blob, size_t place, size_t pointer);
} sci_relocations;

/* NULL: of this machine nothing is known. */
const sci_relocations *sci_relocations_of(uint16_t machine);

#endif
