/* Owns the files of the cache. */
#define _GNU_SOURCE /* flock, O_NOFOLLOW, nanosecond times */
#include "lib/cache/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LARGEST = 1 << 30, RENEW_AFTER = 60, TRIES = 100 };

static int fail(char why[SCI_WHY], const char *path, const char *what) {
  snprintf(why, SCI_WHY, "the cache '%s' %s", path, what);
  return -1;
}

static bool is_private(const struct stat *s) {
  return s->st_uid == geteuid() && !(s->st_mode & (S_IWGRP | S_IWOTH));
}

/* Only what is missing is made, and only for the user. */
static bool make_folders(const char *path) {
  size_t n = strlen(path);
  char *part = malloc(n + 1);
  if (!part) return false;
  bool fine = true;
  for (size_t i = 1; i <= n && fine; i++) {
    if (path[i] != '/' && path[i]) continue;
    memcpy(part, path, i);
    part[i] = 0;
    fine = mkdir(part, 0700) == 0 || errno == EEXIST || (i < n && (errno == EROFS || errno == EACCES));
  }
  int reason = errno;
  free(part);
  errno = reason;
  return fine;
}

int sci_store_open(const char *path, bool create, char why[SCI_WHY]) {
  enum { HOW = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };
  int folder = open(path, HOW);
  if (folder < 0 && errno == ENOENT && create) {
    if (!make_folders(path)) return fail(why, path, strerror(errno));
    folder = open(path, HOW);
  }
  if (folder < 0)
    return fail(why, path, errno == ELOOP || errno == ENOTDIR ? "is no folder, or a symbolic link" : strerror(errno));
  struct stat s;
  if (fstat(folder, &s) == 0 && is_private(&s)) return folder;
  close(folder);
  return fail(why, path, "belongs to somebody else, or others can write to it");
}

/* ---- reading ---- */

static bool read_all(int file, char *to, size_t n) {
  for (size_t done = 0; done < n;) {
    ssize_t r = read(file, to + done, n - done);
    if (r < 0 && errno == EINTR) continue;
    if (r <= 0) return false;
    done += (size_t)r;
  }
  return true;
}

static void *read_file(int file, const struct stat *s, size_t *size) {
  char *data = malloc((size_t)s->st_size + 1);
  if (data && read_all(file, data, (size_t)s->st_size)) {
    *size = (size_t)s->st_size;
    return data;
  }
  free(data);
  return NULL;
}

void *sci_store_read(int folder, const char *name, bool used, size_t *size) {
  int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return NULL;
  struct stat s;
  void *data = NULL;
  if (fstat(file, &s) == 0 && S_ISREG(s.st_mode) && is_private(&s) && s.st_size > 0 && s.st_size < LARGEST) {
    flock(file, LOCK_SH | LOCK_NB);
    data = read_file(file, &s, size);
    if (data && used && time(NULL) - s.st_mtime > RENEW_AFTER)
      futimens(file, NULL); /* may fail: then it is only pruned sooner */
  }
  close(file);
  return data;
}

/* ---- writing ---- */

/* Told apart by the process and the time, and by trying again. */
static int make_temporary(int folder, const char *name, char *temporary, size_t room) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  for (int i = 0; i < TRIES; i++) {
    snprintf(temporary, room, ".%.16s-%lx-%lx-%x.tmp", name, (unsigned long)getpid(), (unsigned long)t.tv_nsec,
             (unsigned)i);
    int file = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

static bool write_all(int file, const char *data, size_t n) {
  for (size_t done = 0; done < n;) {
    ssize_t w = write(file, data + done, n - done);
    if (w == 0) errno = ENOSPC;
    if (w == 0 || (w < 0 && errno != EINTR)) return false;
    if (w > 0) done += (size_t)w;
  }
  return true;
}

/* Checksums tell a file that a crash of the machine has left incomplete, so nobody waits for the disk. */
bool sci_store_write(int folder, const char *name, const void *data, size_t size, char why[SCI_WHY]) {
  char temporary[96];
  int file = make_temporary(folder, name, temporary, sizeof temporary);
  bool fine = file >= 0 && write_all(file, data, size);
  int reason = errno;
  if (file >= 0 && close(file) != 0 && fine) fine = false, reason = errno;
  if (fine && renameat(folder, temporary, folder, name) != 0) fine = false, reason = errno;
  if (!fine && file >= 0) unlinkat(folder, temporary, 0);
  if (!fine) snprintf(why, SCI_WHY, "the cache cannot be written: %s", strerror(reason));
  return fine;
}

/* ---- housekeeping ---- */

static bool is_ours(const char *name, bool *temporary) {
  size_t n = strlen(name);
  *temporary = name[0] == '.' && n > 4 && !strcmp(name + n - 4, ".tmp");
  if (*temporary) return n < sizeof((sci_stored *)0)->name;
  return strspn(name, "0123456789abcdef") == 64 && n < sizeof((sci_stored *)0)->name &&
         (!strcmp(name + 64, ".jit") || !strcmp(name + 64, ".cc") || !strcmp(name + 64, ".so") ||
          !strcmp(name + 64, ".c"));
}

static int by_age(const void *pa, const void *pb) {
  const sci_stored *a = pa, *b = pb;
  if (a->seconds != b->seconds) return a->seconds > b->seconds ? -1 : 1;
  return strcmp(a->name, b->name);
}

sci_stored *sci_store_list(int folder, size_t *n) {
  *n = 0;
  int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *dir = again < 0 ? NULL : fdopendir(again);
  if (!dir) {
    if (again >= 0) close(again);
    return NULL;
  }
  sci_stored *list = NULL;
  size_t cap = 0;
  time_t now = time(NULL);
  for (struct dirent *d; (d = readdir(dir));) {
    struct stat s;
    bool temporary;
    if (!is_ours(d->d_name, &temporary) || fstatat(folder, d->d_name, &s, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(s.st_mode))
      continue;
    if (*n == cap) {
      sci_stored *grown = realloc(list, (cap = 2 * cap + 64) * sizeof *list);
      if (!grown) break;
      list = grown;
    }
    sci_stored *e = &list[(*n)++];
    *e = (sci_stored){.size = s.st_size, .seconds = now - s.st_mtime, .temporary = temporary};
    memcpy(e->name, d->d_name, strlen(d->d_name) + 1);
  }
  closedir(dir);
  if (list) qsort(list, *n, sizeof *list, by_age);
  return list;
}

bool sci_store_remove(int folder, const char *name) {
  int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (file >= 0 && flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    close(file);
    return false;
  }
  bool removed = unlinkat(folder, name, 0) == 0;
  if (file >= 0) close(file);
  return removed;
}
