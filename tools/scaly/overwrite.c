/* Owns the comparison of a module about to be written with what has its name already: by the interface comment that
 * every module's source and header have above the entry. */
#include "tools/scaly/overwrite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/scaly/report.h"

/* The line of one output, " *   res[0] NAME: float64, ...": its name, and the layout of a sparse one. */
typedef struct output_line {
  const char *name, *layout;
  int name_length;
} output_line;

/* The end of the comment above the entry, or NULL; `*at` is where its outputs begin. */
static const char *find_interface(const char *text, const char *entry, const char **at) {
  *at = strstr(text, pool_printf("\n/* %s: ", entry));
  return *at ? strstr(*at, "*/") : NULL;
}

static bool next_output(const char **at, const char *end, output_line *out) {
  const char *line = strstr(*at, "\n *   res[");
  if (!line || line >= end) return false;
  const char *name = strstr(line, "] ");
  const char *stop = strchr(line + 1, '\n'), *colon = name ? strstr(name, ": ") : NULL;
  if (!stop || !colon || colon > stop) return false;
  const char *sparse = strstr(colon, "matrix, cs"), *coordinates = strstr(colon, "matrix, coo");
  *out = (output_line){.name = name + 2, .name_length = (int)(colon - name - 2), .layout = ""};
  if (sparse && sparse < stop) out->layout = sparse[10] == 'c' ? "csc" : "csr";
  if (coordinates && coordinates < stop) out->layout = "coo";
  *at = stop;
  return true;
}

/* The names behind one another: "y, spjac_y_x (csc)". */
static const char *outputs_of(const char *text, const char *entry) {
  const char *at, *end = find_interface(text, entry, &at), *list = "";
  if (!end) return NULL;
  for (output_line o; next_output(&at, end, &o);)
    list = pool_printf("%s%s%.*s%s%s%s", list, *list ? ", " : "", o.name_length, o.name, *o.layout ? " (" : "",
                       o.layout, *o.layout ? ")" : "");
  return list;
}

/* Which sides of the diagonal the coordinates of an output in a header are on: 1 below, 2 above. */
static int sides(const char *header, const output_line *o) {
  const char *rows = strstr(header, pool_printf("%.*s_rows[", o->name_length, o->name));
  const char *columns = strstr(header, pool_printf("%.*s_cols[", o->name_length, o->name));
  rows = rows ? strchr(rows, '{') : NULL, columns = columns ? strchr(columns, '{') : NULL;
  int found = 0;
  while (rows && columns && *rows != '}' && *columns != '}') {
    char *row_end, *column_end;
    long row = strtol(rows + 1, &row_end, 10), column = strtol(columns + 1, &column_end, 10);
    if (row_end == rows + 1 || column_end == columns + 1) break;
    found |= row > column ? 1 : row < column ? 2 : 0;
    rows = row_end, columns = column_end;
  }
  return found;
}

/* The first Hessian of which one text has another part than the other; a diagonal one is any part. */
static bool other_triangle(const char *old, const char *header, const char *entry) {
  const char *at, *end = find_interface(header, entry, &at);
  for (output_line o; end && next_output(&at, end, &o);) {
    if (strncmp(o.name, "sphess_", 7) != 0 && strncmp(o.name, "splaghess_", 10) != 0) continue;
    int had = sides(old, &o), has = sides(header, &o);
    if (had && has && had != has) return true;
  }
  return false;
}

static bool clashes(const char *path, const sc_module *m, const char *entry) {
  size_t size;
  char *old = access(path, R_OK) == 0 ? read_file(path, &size) : NULL;
  const char *had = old ? outputs_of(old, entry) : NULL, *has = outputs_of(sc_module_header(m), entry);
  if (!had || !has) return false;
  bool triangle = !strcmp(had, has) && other_triangle(old, sc_module_header(m), entry);
  if (!strcmp(had, has) && !triangle) return false;
  if (triangle)
    complain("%s holds another triangle of the Hessian: choose another name with --name, or another folder with -o\n"
             "(--name %s replaces it)",
             path, sc_module_name(m));
  else
    complain("%s holds the outputs %s, this would be %s: choose another name with --name, or another folder with -o\n"
             "(--name %s replaces it)",
             path, had, has, sc_module_name(m));
  return true;
}

bool export_would_clash(const sc_module *m, const char *folder, const char *prefix) {
  const char *const endings[] = {".c", ".h", ".hpp"}, *name = sc_module_name(m);
  const char *entry = pool_printf("%s%s", prefix ? prefix : "", name);
  for (int i = 0; i < 3; i++)
    if (clashes(pool_printf("%s/%s%s", folder, name, endings[i]), m, entry)) return true;
  return false;
}
