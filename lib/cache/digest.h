/* SHA-256 (FIPS 180-4), by nettle. A build without it has no cache. */
#ifndef SCI_CACHE_DIGEST_H
#define SCI_CACHE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SCI_DIGEST_SIZE = 32 };

typedef struct sci_digest {
  _Alignas(16) unsigned char state[128]; /* nettle's */
} sci_digest;

bool sci_digest_available(void);
void sci_digest_init(sci_digest *d);
void sci_digest_put(void *digest, const void *data, size_t n);
void sci_digest_end(sci_digest *d, unsigned char out[SCI_DIGEST_SIZE]);
/* A number of 8 bytes, and a text with its length. */
void sci_digest_put_number(sci_digest *d, uint64_t v);
void sci_digest_put_text(sci_digest *d, const char *text);

#endif
