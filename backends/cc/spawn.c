/* Owns running a compiler: never through a shell, its complaints become the diagnostic. */
#define _POSIX_C_SOURCE 200809L
#include "backends/cc/cc.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __APPLE__
#include <crt_externs.h>
#define environ (*_NSGetEnviron())
#else
extern char **environ;
#endif

/* The beginning of the log: compilers name the first problem first. */
static const char *quote_log(sci_env *env, const char *log) {
  enum { MOST = 700 };
  char *text = sci_alloc(&env->scratch, MOST + 1);
  int file = open(log, O_RDONLY | O_CLOEXEC);
  ssize_t n = file >= 0 ? read(file, text, MOST) : 0;
  if (file >= 0) close(file);
  while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' ')) n--;
  text[n > 0 ? n : 0] = 0;
  return n > 0 ? text : "it printed nothing";
}

static int spawn(const char *const *argv, const char *log, pid_t *child) {
  posix_spawn_file_actions_t actions;
  int error = posix_spawn_file_actions_init(&actions);
  if (error) return error;
  error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  if (!error) error = posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (!error) error = posix_spawn_file_actions_adddup2(&actions, 1, 2);
  if (!error) error = posix_spawnp(child, argv[0], &actions, NULL, (char *const *)argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

void sci_cc_run(sci_env *env, const char *const *argv, const char *log) {
  pid_t child = 0;
  int error = spawn(argv, log, &child);
  if (error == ENOENT || error == EACCES || error == ENOTDIR)
    sci_fail(env, SC_ERR_UNAVAILABLE, "the compiler '%s' could not be run: %s", argv[0], strerror(error));
  if (error) sci_fail(env, SC_ERR_BACKEND, "the compiler '%s' could not be run: %s", argv[0], strerror(error));
  int status = 0;
  pid_t waited;
  do waited = waitpid(child, &status, 0);
  while (waited < 0 && errno == EINTR);
  if (waited < 0) return; /* somebody else reaped it (SIGCHLD ignored): what it left behind tells */
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
    sci_fail(env, SC_ERR_UNAVAILABLE, "the compiler '%s' was not found: %s", argv[0], quote_log(env, log));
  if (WIFSIGNALED(status))
    sci_fail(env, SC_ERR_BACKEND, "the compiler '%s' was ended by signal %d", argv[0], WTERMSIG(status));
  sci_fail(env, SC_ERR_BACKEND, "the compiler '%s' failed with exit code %d: %s", argv[0], WEXITSTATUS(status),
           quote_log(env, log));
}

const char *sci_cc_path(sci_env *env, const char *name) {
  if (strchr(name, '/')) return access(name, X_OK) == 0 ? name : NULL;
  const char *path = "/bin:/usr/bin"; /* where posix_spawnp looks without one */
  for (char **e = environ; e && *e; e++)
    if (!strncmp(*e, "PATH=", 5)) path = *e + 5;
  while (*path) {
    size_t n = strcspn(path, ":");
    const char *candidate = sci_asprintf(&env->scratch, "%.*s/%s", n ? (int)n : 1, n ? path : ".", name);
    if (access(candidate, X_OK) == 0) return candidate;
    path += n + (path[n] == ':');
  }
  return NULL;
}
