/* Owns the use of nettle's SHA-256. */
#include "lib/cache/digest.h"

#include <string.h>

#ifdef SCALY_CACHE
#include <nettle/sha2.h>

_Static_assert(sizeof(struct sha256_ctx) <= sizeof(sci_digest), "room for nettle's state");

bool sci_digest_available(void) {
  return true;
}

void sci_digest_init(sci_digest *d) {
  sha256_init((struct sha256_ctx *)(void *)d->state);
}

void sci_digest_put(void *digest, const void *data, size_t n) {
  sha256_update((struct sha256_ctx *)(void *)((sci_digest *)digest)->state, n, data);
}

void sci_digest_end(sci_digest *d, unsigned char out[SCI_DIGEST_SIZE]) {
  sha256_digest((struct sha256_ctx *)(void *)d->state, SCI_DIGEST_SIZE, out);
}
#else
bool sci_digest_available(void) {
  return false;
}

void sci_digest_init(sci_digest *d) {
  (void)d;
}

void sci_digest_put(void *digest, const void *data, size_t n) {
  (void)digest, (void)data, (void)n;
}

void sci_digest_end(sci_digest *d, unsigned char out[SCI_DIGEST_SIZE]) {
  (void)d;
  memset(out, 0, SCI_DIGEST_SIZE);
}
#endif

void sci_digest_put_number(sci_digest *d, uint64_t v) {
  sci_digest_put(d, &v, sizeof v);
}

void sci_digest_put_text(sci_digest *d, const char *text) {
  size_t n = text ? strlen(text) : 0;
  sci_digest_put_number(d, text ? n : UINT64_MAX);
  sci_digest_put(d, text, n);
}
