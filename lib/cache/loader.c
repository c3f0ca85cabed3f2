/* Owns placing an image in memory: mapping, binding to routines, protection. */
#define _GNU_SOURCE /* MAP_ANONYMOUS, memfd_create */
#include "lib/cache/loader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

bool sci_image_sound(const sci_image *im) {
  if (im->slots % sizeof(uintptr_t) || im->slots > im->size || im->code_bytes > im->slots || !im->n_entries)
    return false;
  if ((im->size - im->slots) / sizeof(uintptr_t) < im->n_symbols) return false;
  for (uint32_t i = 0; i < im->n_entries; i++)
    if (im->entries[i] >= im->code_bytes) return false;
  return true;
}

bool sci_room_open(sci_room *room, size_t size) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  room->size = (size + page - 1) & ~(page - 1);
  void *p = mmap(NULL, room->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  room->base = p == MAP_FAILED ? NULL : p;
  return room->base;
}

void sci_room_close(sci_room *room) {
  if (room->base) munmap(room->base, room->size);
  room->base = NULL;
}

/* Where memory that was written must not become executable (SELinux's execmem), a file in memory may: written first,
 * then mapped. */
static bool map_anew(sci_room *room) {
#ifdef MFD_CLOEXEC
  int file = memfd_create("scaly", MFD_CLOEXEC);
  if (file < 0) return false;
  void *p = MAP_FAILED;
  size_t done = 0;
  for (ssize_t n; done < room->size && (n = write(file, room->base + done, room->size - done)) > 0;) done += (size_t)n;
  if (done == room->size) p = mmap(NULL, room->size, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
  close(file);
  if (p == MAP_FAILED) return false;
  munmap(room->base, room->size);
  room->base = p;
  return true;
#else
  (void)room;
  return false;
#endif
}

bool sci_room_seal(sci_room *room, const sci_image *image, const char **missing) {
  *missing = NULL;
  for (uint32_t i = 0; i < image->n_symbols; i++) {
    uintptr_t address = sci_routine(image->symbols[i]);
    if (!address) {
      *missing = image->symbols[i];
      sci_room_close(room);
      return false;
    }
    memcpy(room->base + image->slots + i * sizeof address, &address, sizeof address);
  }
#if defined(__GNUC__)
  __builtin___clear_cache((char *)room->base, (char *)room->base + image->code_bytes);
#endif
  if (mprotect(room->base, room->size, PROT_READ | PROT_EXEC) == 0) return true;
  int reason = errno;
  if (map_anew(room)) return true;
  sci_room_close(room);
  errno = reason;
  return false;
}

sci_placed *sci_placed_open(const sci_image *image) {
  sci_placed *p = calloc(1, sizeof *p + image->n_entries * sizeof *p->entries);
  if (p && sci_room_open(&p->room, image->size)) return p;
  free(p);
  return NULL;
}

bool sci_placed_seal(sci_placed *p, const sci_image *image, const char **missing) {
  if (!sci_room_seal(&p->room, image, missing)) {
    free(p);
    return false;
  }
  for (uint32_t i = 0; i < image->n_entries; i++)
    p->entries[i] = (sc_entry)(uintptr_t)(p->room.base + image->entries[i]);
  return true;
}

void sci_placed_close(void *placed) {
  sci_placed *p = placed;
  sci_room_close(&p->room);
  free(p);
}
