/* Owns reading what an exported source declares: the recipe's flags, and the comment in front of every entry. */
#include "backends/clang/clang.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *dtype, *type;
} types[] = {
    {"float64", "double"}, {"float32", "float"}, {"int64", "int64_t"}, {"int32", "int32_t"}, {"bool", "uint8_t"}};

static const char *c_type(const char *dtype) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (!strcmp(types[i].dtype, dtype)) return types[i].type;
  return NULL;
}

static void *grow(void *data, size_t n, size_t *room, size_t size) {
  if (n < *room) return data;
  size_t more = *room ? 2 * *room : 8;
  void *p = realloc(data, more * size);
  if (p) *room = more;
  return p;
}

/* " *   arg[0] A: float64, 2 x 3" or "... 6 stored values of a sparse 2 x 3 matrix, csc #1a2b3c4d" */
static bool read_port(const char *line, sci_clang_port *p) {
  char array[4], dtype[16];
  int at = 0, used = 0;
  *p = (sci_clang_port){.count = 1};
  if (sscanf(line, " * %3[a-z][%*u] %127[A-Za-z0-9_]: %15[a-z0-9]%n", array, p->name, dtype, &at) != 3 || !at)
    return false;
  p->is_output = !strcmp(array, "res");
  p->type = c_type(dtype);
  if ((!p->is_output && strcmp(array, "arg") != 0) || !p->type) return false;
  const char *rest = line + at;
  long long n;
  while (p->rank < 8 && sscanf(rest, p->rank ? " x %lld%n" : ", %lld%n", &n, &used) == 1) {
    p->shape[p->rank++] = n;
    p->count *= n;
    rest += used;
  }
  unsigned digest;
  if (sscanf(rest, " stored values of a sparse %lld x %lld matrix, %3[a-z] #%8x", &p->nrow, &p->ncol, p->layout,
             &digest) == 4)
    p->digest = digest;
  return true;
}

static bool add_port(sci_clang_entry *e, const sci_clang_port *p) {
  sci_clang_port *grown = grow(e->ports, e->n, &e->room, sizeof *e->ports);
  if (!grown) return false;
  e->ports = grown;
  e->ports[e->n++] = *p;
  return true;
}

static sci_clang_entry *add_entry(sci_clang_module *m) {
  sci_clang_entry *grown = grow(m->entries, m->n, &m->room, sizeof *m->entries);
  if (!grown) return NULL;
  m->entries = grown;
  m->entries[m->n] = (sci_clang_entry){.n = 0};
  return &m->entries[m->n++];
}

/* The words between the compiler's name and -c. */
static void read_flags(const char *line, sci_clang_module *m) {
  const char *from = line + strlen(" * clang "), *to = strstr(from, " -c ");
  size_t n = to ? (size_t)(to - from) : 0;
  if (n >= sizeof m->flags) n = 0;
  memcpy(m->flags, from, n);
  m->flags[n] = 0;
}

bool sci_clang_read_contracts(const char *source, sci_clang_module *m) {
  sci_clang_entry *open = NULL;
  int number = 0;
  *m = (sci_clang_module){.standard = "c11"};
  for (const char *at = source; *at;) {
    size_t n = strcspn(at, "\n");
    char line[512], name[256];
    snprintf(line, sizeof line, "%.*s", (int)(n < sizeof line ? n : sizeof line - 1), at);
    at += n + (at[n] == '\n');
    number++;
    sci_clang_port p;
    int used = 0;
    if (!m->n && !strncmp(line, " * clang ", 9)) read_flags(line, m);
    if (!m->n && strstr(line, "dialect=c,")) strcpy(m->standard, "c99");
    if (sscanf(line, "/* %255[A-Za-z0-9_]: all values %n", name, &used) == 1 && used) {
      open = add_entry(m);
      if (!open) return false;
      snprintf(open->name, sizeof open->name, "%s", name);
      open->casadi = !strncmp(line + used, "by columns", 10);
      open->line = number;
    } else if (open && read_port(line, &p)) {
      if (!add_port(open, &p)) return false;
    } else if (open) {
      sscanf(line, " * w: %lld", &open->workspace);
    }
    if (open && strstr(line, "*/")) open = NULL;
  }
  return true;
}

void sci_clang_module_free(sci_clang_module *m) {
  for (size_t i = 0; i < m->n; i++) free(m->entries[i].ports);
  free(m->entries);
  m->entries = NULL;
  m->n = 0;
}

const char *sci_clang_pointer_type(const sci_clang_entry *e) {
  bool doubles = true, floats = e->n != 0;
  for (size_t i = 0; i < e->n; i++) {
    doubles &= !strcmp(e->ports[i].type, "double");
    floats &= !strcmp(e->ports[i].type, "float");
  }
  return doubles ? "double" : floats ? "float" : "void";
}
