/* Owns the spelling of names, strings, numbers and types in the text of both dialects. */
#include "lib/text/print.h"

#include "lib/text/words.h"

void sci_put_string(sci_text *out, const char *s) {
  static const char hex[] = "0123456789abcdef";
  sci_put_char(out, '"');
  for (; *s; s++) {
    unsigned char c = (unsigned char)*s;
    if (c == '"' || c == '\\') {
      sci_put_char(out, '\\');
      sci_put_char(out, (char)c);
    } else if (c >= 0x20 && c < 0x7F) {
      sci_put_char(out, (char)c);
    } else {
      sci_put_n(out, (char[]){'\\', 'x', hex[c >> 4], hex[c & 15]}, 4);
    }
  }
  sci_put_char(out, '"');
}

void sci_put_name(sci_text *out, char sigil, const char *name) {
  sci_put_char(out, sigil);
  if (sci_is_identifier(name))
    sci_put(out, name);
  else
    sci_put_string(out, name);
}

void sci_put_number_name(sci_text *out, char sigil, uint32_t number) {
  sci_put_char(out, sigil);
  sci_put_int(out, number);
}

void sci_put_scalar(sci_text *out, sc_dtype dtype, sci_scalar v) {
  char buf[SCI_NUM_MAX];
  switch (dtype) {
  case SC_FLOAT64: sci_put_n(out, buf, (size_t)sci_fmt_f64(buf, v.f64)); break;
  case SC_FLOAT32: sci_put_n(out, buf, (size_t)sci_fmt_f32(buf, v.f32)); break;
  case SC_INT64: sci_put_int(out, v.i64); break;
  case SC_INT32: sci_put_int(out, v.i32); break;
  case SC_BOOL: sci_put(out, v.b8 ? "true" : "false"); break;
  }
}

void sci_put_dims(sci_text *out, sc_dtype dtype, int rank, const int64_t *shape) {
  for (int k = 0; k < rank; k++) {
    sci_put_int(out, shape[k]);
    sci_put_char(out, 'x');
  }
  sci_put(out, sc_dtype_name(dtype));
}

void sci_put_ints(sci_text *out, size_t n, const int64_t *v) {
  sci_put_char(out, '[');
  for (size_t i = 0; i < n; i++) {
    if (i) sci_put_n(out, ", ", 2);
    sci_put_int(out, v[i]);
  }
  sci_put_char(out, ']');
}

void sci_put_ints32(sci_text *out, size_t n, const int32_t *v) {
  sci_put_char(out, '[');
  for (size_t i = 0; i < n; i++) {
    if (i) sci_put_n(out, ", ", 2);
    sci_put_int(out, v[i]);
  }
  sci_put_char(out, ']');
}

void sci_put_sparse(sci_text *out, sc_dtype dtype, const sc_pattern *p) {
  const sci_layout_words *words = &sci_layouts[p->layout];
  int64_t n_outer = p->layout == SC_CSC ? p->ncol + 1 : p->layout == SC_CSR ? p->nrow + 1 : p->nnz;
  sci_put(out, "sparse<");
  sci_put_dims(out, dtype, 2, (int64_t[]){p->nrow, p->ncol});
  sci_putf(out, " %s %s=", words->name, words->outer);
  sci_put_ints32(out, (size_t)n_outer, p->outer);
  sci_putf(out, " %s=", words->inner);
  sci_put_ints32(out, (size_t)p->nnz, p->inner);
  sci_put_char(out, '>');
}

void sci_put_key(sci_text *out, bool *open, const char *key) {
  sci_put(out, *open ? ", " : "{");
  *open = true;
  sci_put(out, key);
  sci_put_char(out, '=');
}

/* ---- unique names ---- */

static void free_unique(void *what) {
  sci_index_free(&((sci_unique *)what)->index);
}

sci_unique *sci_unique_begin(sci_env *env) {
  sci_unique *u = SCI_NEW(&env->scratch, sci_unique);
  u->env = env;
  sci_index_init(&u->index, env);
  sci_defer(env, free_unique, u);
  return u;
}

void sci_unique_end(sci_unique *u) {
  sci_keep(u->env, u);
  free_unique(u);
}

/* The entry of a name, or SIZE_MAX after taking it. */
static size_t find_or_take(sci_unique *u, const char *name) {
  uint32_t hash = sci_hash_bytes(name, strlen(name)), id;
  sci_index_reserve(&u->index);
  for (uint32_t at = hash; sci_index_at(&u->index, &at, hash, &id); at++)
    if (!strcmp(u->entries.data[id].name, name)) return id;
  sci_vec_push(&u->env->scratch, &u->entries, (struct sci_unique_entry){name, 1});
  sci_index_insert(&u->index, hash, (uint32_t)u->entries.n - 1);
  return SIZE_MAX;
}

const char *sci_unique_name(sci_unique *u, const char *wish) {
  size_t at = find_or_take(u, wish);
  while (at != SIZE_MAX) {
    const char *name = sci_asprintf(&u->env->scratch, "%s_%u", wish, u->entries.data[at].next++);
    if (find_or_take(u, name) == SIZE_MAX) return name;
  }
  return wish;
}
