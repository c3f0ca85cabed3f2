/* Entries: compiled code of one or several kernels as bytes of a file, and back. Every byte is under a checksum;
 * whatever is not exactly what a writer of this version would have written is refused. */
#ifndef SCI_CACHE_ENTRY_H
#define SCI_CACHE_ENTRY_H

#include "lib/cache/digest.h"
#include "lib/cache/loader.h"

typedef struct sci_bytes {
  const void *data;
  size_t size;
} sci_bytes;

typedef struct sci_cache_entry {
  unsigned char key[SCI_DIGEST_SIZE];
  const sci_bytes *kernels; /* what describes each, opaque here; image.n_entries of them */
  bool fast;                /* code of the fast tier; then ... */
  const sci_bytes
      *programs;      /* ... what the best code is to be made of, as many, opaque here; NULL, or empty: nothing */
  sci_image image;    /* its blob is NULL after decoding: sci_cache_unpack gives it */
  const void *stored; /* the blob as it lies in the file */
  size_t stored_size;
  bool compressed;
} sci_cache_entry;

/* The file's bytes, to be freed with free(); NULL: no memory. */
void *sci_cache_encode(const sci_cache_entry *e, size_t *size);
/* False: `*why` says what is wrong. What `out` points to lies in `data`, and in memory that sci_cache_free returns.
 * `data` must be aligned for any type. */
bool sci_cache_decode(const void *data, size_t size, sci_cache_entry *out, const char **why);
void sci_cache_free(sci_cache_entry *e);
/* The blob, into image.size bytes. */
bool sci_cache_unpack(const sci_cache_entry *e, unsigned char *to);

#endif
