/* Owns the search for C compilers. */
#include "tools/scaly/compilers.h"

#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/scaly/report.h"

extern char **environ;

const char *const *split_words(const char *text) {
  size_t n = 0;
  const char **words = pool_alloc(strlen(text) / 2 + 2, sizeof *words);
  for (const char *s = text + strspn(text, " \t"); *s; s += strspn(s, " \t")) {
    size_t len = strcspn(s, " \t");
    words[n++] = pool_strndup(s, len);
    s += len;
  }
  return n ? words : NULL;
}

static const char *find_program(const char *name) {
  if (strchr(name, '/')) return access(name, X_OK) == 0 ? name : NULL;
  const char *path = getenv("PATH");
  for (const char *s = path ? path : "/bin:/usr/bin"; *s;) {
    size_t n = strcspn(s, ":");
    const char *full = pool_printf("%.*s%s%s", (int)n, s, n ? "/" : "./", name);
    if (access(full, X_OK) == 0) return full;
    s += n + (s[n] == ':');
  }
  return NULL;
}

static compiler named(const char *way, const char *package, const char *const *argv) {
  return (compiler){way, argv, find_program(argv[0]), package};
}

/* The plain name, else the newest of those with a version in their name. */
static compiler by_version(const char *way, const char *package, int newest, int oldest) {
  compiler c = named(way, package, split_words(way));
  for (int v = newest; !c.path && v >= oldest; v--) {
    compiler versioned = named(way, package, split_words(pool_printf("%s-%d", way, v)));
    if (versioned.path) c = versioned;
  }
  return c;
}

size_t find_compilers(compiler out[MAX_COMPILERS]) {
  size_t n = 0;
  out[n++] = by_version("gcc", "gcc", 16, 9);
  out[n++] = by_version("clang", "clang-19", 23, 11);
  out[n++] = named("tcc", "tcc", split_words("tcc"));
  const char *chosen = getenv("SCALY_CC");
  if (!chosen || !*chosen) chosen = getenv("CC");
  const char *const *argv = chosen ? split_words(chosen) : NULL;
  if (!argv) return n;
  for (size_t i = 0; i < n; i++)
    if (!argv[1] && (!strcmp(argv[0], out[i].way) || !strcmp(argv[0], out[i].argv[0]))) return n;
  out[n++] = named("cc", NULL, argv);
  return n;
}

const char *compiler_version(const compiler *c) {
  size_t words = 0;
  while (c->argv[words]) words++;
  char **argv = pool_alloc(words + 2, sizeof *argv);
  for (size_t i = 0; i < words; i++) argv[i] = pool_strndup(c->argv[i], strlen(c->argv[i]));
  argv[words] = pool_strndup("--version", 9);

  int ends[2];
  if (pipe(ends)) return NULL;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", 1 /* write only */, 0);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  pid_t pid;
  int failed = posix_spawn(&pid, c->path, &actions, NULL, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  char line[256];
  size_t n = 0;
  for (ssize_t got; n < sizeof line && (got = read(ends[0], line + n, sizeof line - n)) > 0;) n += (size_t)got;
  close(ends[0]);
  if (failed) return NULL;
  waitpid(pid, NULL, 0);
  const char *end = memchr(line, '\n', n);
  n = end ? (size_t)(end - line) : n;
  return n ? pool_strndup(line, n) : NULL;
}
