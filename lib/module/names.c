/* Owns unique names: a table of those taken, by scope. */
#include "lib/module/names.h"

#include "lib/base/text.h"

static bool identifier_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool sci_name_is_identifier(const char *name) {
  if (!*name || (*name >= '0' && *name <= '9')) return false;
  while (identifier_char(*name)) name++;
  return !*name;
}

static void free_index(void *index) {
  sci_index_free(index);
}

void sci_namer_init(sci_namer *n, sci_env *env) {
  *n = (sci_namer){.env = env};
  sci_index_init(&n->index, env);
  sci_defer(env, free_index, &n->index);
}

void sci_namer_free(sci_namer *n) {
  sci_keep(n->env, &n->index);
  sci_index_free(&n->index);
}

/* The name's number in the table; entered as free when it is new. */
static uint32_t enter(sci_namer *n, const char *name) {
  uint32_t hash = sci_hash_bytes(name, strlen(name)), id;
  sci_index_reserve(&n->index);
  for (uint32_t at = hash; sci_index_at(&n->index, &at, hash, &id); at++)
    if (!strcmp(n->taken.data[id].name, name)) return id;
  sci_vec_push(&n->env->scratch, &n->taken, (sci_taken){.name = sci_strdup(&n->env->scratch, name)});
  id = (uint32_t)n->taken.n - 1;
  sci_index_insert(&n->index, hash, id);
  return id;
}

static const char *take(sci_namer *n, uint32_t scope, uint32_t id) {
  sci_taken *t = &n->taken.data[id];
  bool busy =
      t->scope == scope || t->scope == SCI_SCOPE_FILE || (scope == SCI_SCOPE_FILE && t->scope != SCI_SCOPE_NONE);
  if (busy) return NULL;
  t->scope = scope;
  return t->name;
}

bool sci_claim_exactly(sci_namer *n, uint32_t scope, const char *name) {
  return take(n, scope, enter(n, name)) != NULL;
}

/* Letters, digits and underscores only, no digit first, `room` bytes to spare. */
static char *spell(sci_namer *n, const char *name, size_t room, size_t *length) {
  size_t len = strlen(name), at = 0;
  char *s = sci_alloc(&n->env->scratch, len + 2 + room);
  if (!len || (*name >= '0' && *name <= '9')) s[at++] = '_';
  for (size_t i = 0; i < len; i++) s[at++] = identifier_char(name[i]) ? name[i] : '_';
  s[at] = 0;
  *length = at;
  return s;
}

const char *sci_claim_public(sci_namer *n, uint32_t scope, const char *name) {
  size_t len, room = 0;
  for (;; room++) {
    char *s = spell(n, name, room, &len);
    memset(s + len, '_', room);
    s[len + room] = 0;
    bool reserved = room == 0 && sci_name_is_word(s); /* no word ends in an underscore */
    const char *got = reserved ? NULL : take(n, scope, enter(n, s));
    if (got) return got;
  }
}

const char *sci_claim(sci_namer *n, uint32_t scope, const char *stem) {
  size_t len;
  char *s = spell(n, stem, SCI_NUM_MAX, &len);
  uint32_t id = enter(n, s);
  const char *got = sci_name_is_word(s) ? NULL : take(n, scope, id);
  if (n->taken.data[id].counting != scope) n->taken.data[id].next = 0;
  n->taken.data[id].counting = scope;
  s[len++] = '_';
  while (!got) {
    sci_fmt_i64(s + len, ++n->taken.data[id].next);
    got = take(n, scope, enter(n, s));
  }
  return got;
}

void sci_release_name(sci_namer *n, uint32_t scope, const char *name) {
  sci_taken *t = &n->taken.data[enter(n, name)];
  if (t->scope == scope) t->scope = SCI_SCOPE_RELEASED;
}
