/* Owns the compiling and opening of foreign modules. */
#define _GNU_SOURCE /* scandir's order, mkdtemp */
#include "tools/measure/foreign.h"

#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/measure/timing.h"

extern char **environ;

enum { MAX_FILES = 256, MAX_ARGUMENTS = MAX_FILES + 96, PATH_SIZE = 4096, FOLDER_SIZE = PATH_SIZE - 16 };

typedef struct failure {
  char *why;
  size_t size;
} failure;

__attribute__((format(printf, 2, 3))) static bool fail(failure f, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(f.why, f.size, fmt, ap);
  va_end(ap);
  return false;
}

/* ---- what there is ---- */

typedef struct file_list {
  size_t n;
  char *name[MAX_FILES];
} file_list;

static bool ends_with(const char *s, const char *end) {
  size_t n = strlen(s), m = strlen(end);
  return n > m && !strcmp(s + n - m, end);
}

static void free_files(file_list *l) {
  while (l->n) free(l->name[--l->n]);
}

static bool add_file(file_list *l, const char *folder, const char *name) {
  if (l->n == MAX_FILES) return false;
  int n = asprintf(&l->name[l->n], "%s%s%s", folder ? folder : "", folder ? "/" : "", name);
  l->n += n >= 0;
  return n >= 0;
}

static int is_of_interest(const struct dirent *e) {
  return ends_with(e->d_name, ".c") || ends_with(e->d_name, ".so");
}

/* The files with `end`, in the order of their names. */
static bool find_files(const char *path, const char *end, file_list *out, failure f) {
  struct stat s;
  if (stat(path, &s)) return fail(f, "%s: %s", path, strerror(errno));
  if (!S_ISDIR(s.st_mode)) return !ends_with(path, end) || add_file(out, NULL, path);
  struct dirent **entries;
  int n = scandir(path, &entries, is_of_interest, alphasort);
  if (n < 0) return fail(f, "%s: %s", path, strerror(errno));
  bool fine = true;
  for (int i = 0; i < n; i++) {
    if (ends_with(entries[i]->d_name, end)) fine &= add_file(out, path, entries[i]->d_name);
    free(entries[i]);
  }
  free(entries);
  return fine || fail(f, "%s: too many files", path);
}

/* ---- compiling ---- */

/* The first line of the log that tells an error, else the first line. */
static void first_words(const char *path, char *line, size_t size) {
  FILE *log = fopen(path, "r");
  char one[512];
  line[0] = 0;
  while (log && fgets(one, sizeof one, log)) {
    one[strcspn(one, "\n")] = 0;
    bool telling = strstr(one, "error") || strstr(one, "undefined");
    if (!line[0] || telling) snprintf(line, size, "%s", one);
    if (telling) break;
  }
  if (log) fclose(log);
}

static bool spawn(char *const *argv, const char *log, failure f) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t pid;
  int error = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ), status = 0;
  posix_spawn_file_actions_destroy(&actions);
  if (error) return fail(f, "%s: %s", argv[0], strerror(error));
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
  char words[512];
  first_words(log, words, sizeof words);
  return fail(f, "%s failed: %s", argv[0], words);
}

static void add_all(char **argv, size_t *n, const char *const *words) {
  for (; words && *words && *n < MAX_ARGUMENTS - 1; words++) argv[(*n)++] = (char *)(uintptr_t)*words;
}

/* A source of ours that makes a symbol of the workspace's size, which a header tells as a macro. */
static bool write_helper(const char *path, const foreign_source *source) {
  char header[PATH_SIZE];
  struct stat s;
  bool is_folder = !stat(source->path, &s) && S_ISDIR(s.st_mode);
  char *real = realpath(source->path, NULL);
  snprintf(header, sizeof header, "%s/%s.h", real ? real : source->path, source->symbol);
  free(real);
  FILE *file = fopen(path, "w");
  if (!file) return false;
  if (is_folder && !access(header, R_OK)) fprintf(file, "#include \"%s\"\n", header);
  fprintf(file, "#ifdef %s_SZ_W\nconst long long scaly_workspace = %s_SZ_W;\n#endif\n", source->symbol, source->symbol);
  fprintf(file, "extern int scaly_nothing;\n");
  return fclose(file) == 0;
}

static bool compile(const foreign_source *source, const file_list *files, const char *folder, const char *object,
                    failure f) {
  char helper[PATH_SIZE], log[PATH_SIZE], *argv[MAX_ARGUMENTS];
  size_t n = 0;
  snprintf(helper, sizeof helper, "%.*s/size.c", FOLDER_SIZE, folder);
  snprintf(log, sizeof log, "%.*s/log", FOLDER_SIZE, folder);
  bool fine = write_helper(helper, source) || fail(f, "%s: cannot be written", helper);
  add_all(argv, &n, source->compiler);
  add_all(argv, &n, source->flags);
  add_all(argv, &n, (const char *const[]){"-fPIC", "-shared", "-o", object, NULL});
  add_all(argv, &n, (const char *const *)files->name);
  add_all(argv, &n, (const char *const[]){helper, NULL});
  add_all(argv, &n, source->libraries);
  add_all(argv, &n, (const char *const[]){"-lm", NULL});
  argv[n] = NULL;
  fine = fine && spawn(argv, log, f);
  unlink(helper);
  unlink(log);
  return fine;
}

/* ---- opening ---- */

/* Bytes of the largest section of instructions. */
static size_t code_bytes(const char *object) {
  size_t most = 0;
  int file = open(object, O_RDONLY | O_CLOEXEC);
  Elf64_Ehdr h;
  bool is_elf = file >= 0 && pread(file, &h, sizeof h, 0) == (ssize_t)sizeof h && !memcmp(h.e_ident, ELFMAG, SELFMAG);
  for (unsigned i = 0; is_elf && i < h.e_shnum; i++) {
    Elf64_Shdr s;
    if (pread(file, &s, sizeof s, (off_t)(h.e_shoff + i * sizeof s)) != (ssize_t)sizeof s) break;
    if (s.sh_flags & SHF_EXECINSTR && s.sh_size > most) most = s.sh_size;
  }
  if (file >= 0) close(file);
  return most;
}

/* POSIX has functions come out of dlsym as object pointers. */
typedef union symbol {
  void *object;
  sc_entry entry;
  int (*work)(long long *arg, long long *res, long long *iw, long long *w);
} symbol;

static void read_sizes(foreign *f, const char *name) {
  char work[256];
  snprintf(work, sizeof work, "%s_work", name);
  symbol s = {dlsym(f->library, work)};
  long long n_arg = 0, n_res = 0, iw = 0, w = 0; /* a module built with 32-bit integers fills the lower halves */
  if (s.object) s.work(&n_arg, &n_res, &iw, &w);
  const long long *told = dlsym(f->library, "scaly_workspace");
  if (told && *told > w) w = *told;
  f->n_arg = (size_t)n_arg;
  f->n_res = (size_t)n_res;
  f->iw_bytes = (size_t)iw * sizeof(long long);
  f->w_bytes = (size_t)w * sizeof(double);
}

static bool open_object(foreign *f, const char *object, const char *name, failure why) {
  f->library = dlopen(object, RTLD_NOW | RTLD_LOCAL);
  if (!f->library) return fail(why, "%s", dlerror());
  symbol s = {dlsym(f->library, name)};
  if (!s.object) {
    foreign_close(f);
    return fail(why, "there is no function %s in it", name);
  }
  f->entry = s.entry;
  f->code_bytes = code_bytes(object);
  read_sizes(f, name);
  return true;
}

static bool compile_and_open(foreign *f, const foreign_source *source, const file_list *files, failure why) {
  const char *temporary = getenv("TMPDIR");
  char folder[FOLDER_SIZE], object[PATH_SIZE];
  snprintf(folder, sizeof folder, "%s/scaly-XXXXXX", temporary && *temporary ? temporary : "/tmp");
  if (!mkdtemp(folder)) return fail(why, "%s: %s", folder, strerror(errno));
  snprintf(object, sizeof object, "%s/module.so", folder);
  double start = wall_ms();
  bool fine = compile(source, files, folder, object, why);
  f->compile_ms = wall_ms() - start;
  fine = fine && open_object(f, object, source->symbol, why);
  unlink(object);
  rmdir(folder);
  return fine;
}

bool foreign_open(foreign *f, const foreign_source *source, char *why, size_t why_size) {
  failure failed = {why, why_size};
  file_list c = {0}, objects = {0};
  *f = (foreign){0};
  bool fine = find_files(source->path, ".c", &c, failed) && (c.n || find_files(source->path, ".so", &objects, failed));
  if (fine && c.n)
    fine = compile_and_open(f, source, &c, failed);
  else if (fine && objects.n == 1)
    fine = open_object(f, objects.name[0], source->symbol, failed);
  else if (fine)
    fine = fail(failed, "%s: neither C sources nor one shared object", source->path);
  free_files(&c);
  free_files(&objects);
  return fine;
}

void foreign_close(foreign *f) {
  if (f->library) dlclose(f->library);
  *f = (foreign){0};
}

/* ---- trying ---- */

enum { LONGEST_SECONDS = 10 };

/* The byte says that the call came back: a module may also end the process with any code it likes. */
static void call_in_child(const timed_call *call, int report) {
  static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM};
  for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) signal(fatal[i], SIG_DFL); /* a sanitizer has its own */
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  alarm(LONGEST_SECONDS);
  call->entry(call->in, call->out, call->iw, call->w, 0);
  _exit(write(report, "", 1) == 1 ? 0 : 1);
}

bool foreign_returns(const timed_call *call, char *why, size_t why_size) {
  failure f = {why, why_size};
  int ends[2], status = 0;
  if (pipe2(ends, O_CLOEXEC)) return fail(f, "no pipe: %s", strerror(errno));
  fflush(NULL); /* what is buffered here must not be written there, too */
  pid_t pid = fork();
  if (!pid) call_in_child(call, ends[1]);
  int error = errno;
  close(ends[1]);
  char byte;
  ssize_t n = 0;
  while (pid > 0 && (n = read(ends[0], &byte, 1)) < 0 && errno == EINTR) {
  }
  close(ends[0]);
  if (pid < 0) return fail(f, "no process: %s", strerror(error));
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (n == 1) return true;
  if (!WIFSIGNALED(status)) return fail(f, "its first call ended the process");
  if (WTERMSIG(status) == SIGALRM) return fail(f, "its first call took more than %d seconds", LONGEST_SECONDS);
  return fail(f, "its first call ended with signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
}
