/* Owns the temporary folder of one compilation. */
#define _POSIX_C_SOURCE 200809L
#define _DARWIN_C_SOURCE /* mkdtemp */
#include "backends/cc/cc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

cc_folder *sci_cc_folder_make(sci_env *env, const char *parent) {
  cc_folder *d = SCI_NEW(&env->scratch, cc_folder);
  char *path = sci_asprintf(&env->scratch, "%s/scaly-XXXXXX", parent);
  d->env = env;
  if (!mkdtemp(path))
    sci_fail(env, SC_ERR_IO, "no temporary folder could be made in '%s': %s", parent, strerror(errno));
  d->path = path;
  sci_defer(env, sci_cc_folder_remove, d);
  return d;
}

void sci_cc_folder_remove(void *what) {
  cc_folder *d = what;
  for (size_t i = 0; i < d->files.n; i++) unlink(d->files.data[i]);
  rmdir(d->path);
}

const char *sci_cc_folder_file(cc_folder *d, const char *name) {
  const char *path = sci_asprintf(&d->env->scratch, "%s/%s", d->path, name);
  sci_vec_push(&d->env->scratch, &d->files, path);
  return path;
}

void sci_cc_folder_write(cc_folder *d, const char *name, const char *text, size_t n) {
  const char *path = sci_cc_folder_file(d, name);
  int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  size_t done = 0;
  while (file >= 0 && done < n) {
    ssize_t w = write(file, text + done, n - done);
    if (w < 0 && errno != EINTR) break;
    if (w > 0) done += (size_t)w;
  }
  int reason = errno;
  bool closed = file >= 0 && close(file) == 0;
  if (done < n || file < 0) errno = reason;
  if (done < n || !closed) sci_fail(d->env, SC_ERR_IO, "could not write '%s': %s", path, strerror(errno));
}
