/* The folder of the cache: files that are whole or not there, used only if they are the user's and nobody else can
 * write them.
 *
 * A file is written under a temporary name and renamed, so a reader sees all of it or none. Nothing is ever changed in
 * place. Reading holds a shared lock, which keeps pruning away. Any number of processes may do any of this at once. */
#ifndef SCI_CACHE_STORE_H
#define SCI_CACHE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SCI_WHY = 200 };

/* A descriptor of the folder, to be closed with close(); -1 and the reason in `why`. `create`: with all folders above
 * it that are missing. */
int sci_store_open(const char *path, bool create, char why[SCI_WHY]);
/* The bytes of a file, to be freed with free(); `used`: renews its time. NULL: there is none that may be used. */
void *sci_store_read(int folder, const char *name, bool used, size_t *size);
bool sci_store_write(int folder, const char *name, const void *data, size_t size, char why[SCI_WHY]);

typedef struct sci_stored {
  char name[80];
  int64_t size, seconds; /* since it was written or used */
  bool temporary;        /* left behind by a writer */
} sci_stored;
/* Everything in the folder that is the cache's own, oldest use first, to be freed with free(). NULL with *n 0: nothing,
 * or errno. */
sci_stored *sci_store_list(int folder, size_t *n);
bool sci_store_remove(int folder, const char *name); /* unless it is being read */

#endif
