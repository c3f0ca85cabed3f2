/* Position-independent code and how it is put into this process: no linker, no compiler, only binding and protection.
 *
 * An image is one block of bytes: instructions, then constants, then one pointer per symbol. Everything inside refers
 * to everything else by distance, so the block runs wherever it lies once its pointers are filled in. */
#ifndef SCI_CACHE_LOADER_H
#define SCI_CACHE_LOADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scaly/kernel.h"

typedef struct sci_image {
  const unsigned char *blob;
  size_t size;  /* of the blob */
  size_t slots; /* where in it the pointers start; a multiple of 8 */
  size_t code_bytes;
  const char *const *symbols; /* routines (lib/cache/routine.c), one pointer each */
  uint32_t n_symbols, n_entries;
  const uint32_t *entries; /* where in the blob the entry points are */
} sci_image;

/* Checks that numbers which may come from a file are within each other. */
bool sci_image_sound(const sci_image *image);

/* A mapping of this process, first writable, then executable, never both. */
typedef struct sci_room {
  unsigned char *base;
  size_t size;
} sci_room;

bool sci_room_open(sci_room *room, size_t size); /* writable; false: errno */
/* Binds the image whose blob is in the room, and makes it executable. On failure the room is closed: `*missing` names a
 * routine that there is none of, or is NULL and errno tells. */
bool sci_room_seal(sci_room *room, const sci_image *image, const char **missing);
void sci_room_close(sci_room *room);

/* An image in its room, and the addresses of its entries. */
typedef struct sci_placed {
  sci_room room;
  sc_entry entries[];
} sci_placed;

sci_placed *sci_placed_open(const sci_image *image); /* a room for its blob, still writable; NULL: errno */
/* As sci_room_seal; on failure nothing is left of it. */
bool sci_placed_seal(sci_placed *placed, const sci_image *image, const char **missing);
void sci_placed_close(void *placed);

/* The address of a routine that compiled code may call, or 0. */
uintptr_t sci_routine(const char *name);

#endif
