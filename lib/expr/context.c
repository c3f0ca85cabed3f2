/* Owns a context's storage: the node table, interned types, blobs and nodes, and rolling all of it back. */
#include "lib/expr/expr.h"

/* Everything below was handed out through cx->env, which `arena` and the indexes point to: a copy of the struct can be
 * freed, too. */
void sci_storage_init(sc_context *cx) {
  sci_arena_init(&cx->arena, &cx->env);
  sci_index_init(&cx->node_index, &cx->env);
  sci_index_init(&cx->blob_index, &cx->env);
  sci_index_init(&cx->type_index, &cx->env);
  sci_index_init(&cx->memo_index, &cx->env);
  cx->chunks = NULL;
  cx->blobs = NULL;
  cx->types = NULL;
  cx->memos = NULL;
  cx->n_memos = cx->cap_memos = 0;
  cx->n_nodes = cx->n_indexed = cx->n_chunks = cx->cap_chunks = 0;
  cx->n_blobs = cx->cap_blobs = 0;
  cx->n_types = cx->cap_types = 0;
}

void sci_storage_free(sc_context *cx) {
  sci_env *env = cx->arena.env;
  for (uint32_t i = 0; i < cx->n_chunks; i++) sci_raw_free(env, cx->chunks[i], SCI_NODE_CHUNK * sizeof(sci_node));
  sci_raw_free(env, cx->chunks, cx->cap_chunks * sizeof *cx->chunks);
  sci_raw_free(env, cx->blobs, cx->cap_blobs * sizeof *cx->blobs);
  sci_raw_free(env, cx->types, cx->cap_types * sizeof *cx->types);
  sci_raw_free(env, cx->memos, cx->cap_memos * sizeof *cx->memos);
  sci_index_free(&cx->memo_index);
  sci_index_free(&cx->node_index);
  sci_index_free(&cx->blob_index);
  sci_index_free(&cx->type_index);
  sci_arena_free(&cx->arena);
}

bool sci_context_init(sc_context *cx, const sc_allocator *alloc) {
  *cx = (sc_context){.generation = 1};
  sci_storage_init(cx);
  return sci_env_init(&cx->env, alloc);
}

void sci_context_free(sc_context *cx) {
  for (uint32_t i = 0; i < cx->n_functions; i++)
    if (cx->functions[i]) sci_function_destroy(cx->functions[i]);
  sci_raw_free(&cx->env, cx->functions, cx->cap_functions * sizeof *cx->functions);
  sci_storage_free(cx);
  sci_env_free(&cx->env);
}

/* ---- types ---- */

static void check_sizes(sc_context *cx, int rank, const int64_t *shape) {
  if (rank < 0 || rank > SC_MAX_RANK)
    sci_fail(&cx->env, SC_ERR_SHAPE, "rank %d is out of range: a tensor has 0 to %d dimensions", rank, SC_MAX_RANK);
  if (rank && !shape) sci_fail(&cx->env, SC_ERR_ARGUMENT, "rank %d is given without a shape", rank);
  /* Zero dimensions do not excuse the others: strides are products of dimensions, and must not overflow either. */
  int64_t product = 1;
  for (int i = 0; i < rank; i++) {
    if (shape[i] < 0)
      sci_fail(&cx->env, SC_ERR_SHAPE, "dimension %d of shape %s is negative", i, sci_shape_text(cx, rank, shape));
    if (shape[i] > SC_MAX_ELEMENTS || (shape[i] && product > SC_MAX_ELEMENTS / shape[i]))
      sci_fail(&cx->env, SC_ERR_OVERFLOW, "shape %s is too large: a tensor has at most %lld elements",
               sci_shape_text(cx, rank, shape), (long long)SC_MAX_ELEMENTS);
    if (shape[i]) product *= shape[i];
  }
}

uint32_t sci_intern_type(sc_context *cx, sc_dtype dtype, bool diff, int rank, const int64_t *shape) {
  if ((unsigned)dtype >= SC_DTYPE_COUNT)
    sci_fail(&cx->env, SC_ERR_DTYPE, "data type number %d does not exist", (int)dtype);
  check_sizes(cx, rank, shape);
  sci_type t = {.dtype = (uint8_t)dtype, .diff = diff && sci_is_float(dtype), .rank = (uint8_t)rank, .size = 1};
  uint64_t h = (uint64_t)t.dtype | (uint64_t)t.diff << 8 | (uint64_t)t.rank << 16;
  for (int i = 0; i < rank; i++) {
    t.size *= shape[i];
    h = sci_mix(h, (uint64_t)shape[i]);
  }
  t.hash = sci_mix(h, 1);
  sci_index_reserve(&cx->type_index);
  uint32_t id;
  for (uint32_t at = t.hash; sci_index_at(&cx->type_index, &at, t.hash, &id); at++) {
    const sci_type *y = &cx->types[id];
    if (y->dtype == t.dtype && y->diff == t.diff && y->rank == t.rank &&
        !memcmp(y->shape, shape ? shape : y->shape, (size_t)rank * sizeof *shape))
      return id;
  }
  if (cx->n_types == cx->cap_types) {
    uint32_t cap = cx->cap_types ? 2 * cx->cap_types : 32;
    cx->types = sci_raw(&cx->env, cx->types, cx->cap_types * sizeof t, cap * sizeof t);
    cx->cap_types = cap;
  }
  int64_t *copy = SCI_ZEROS(&cx->arena, int64_t, SC_MAX_RANK);
  for (int i = 0; i < rank; i++) copy[i] = shape[i];
  t.shape = copy;
  cx->types[cx->n_types] = t;
  sci_index_insert(&cx->type_index, t.hash, cx->n_types);
  return cx->n_types++;
}

/* ---- blobs ---- */

uint32_t sci_intern_blob(sc_context *cx, const void *data, size_t size) {
  if (!size) data = "";
  uint32_t hash = sci_hash_bytes(data, size), id;
  sci_index_reserve(&cx->blob_index);
  for (uint32_t at = hash; sci_index_at(&cx->blob_index, &at, hash, &id); at++)
    if (cx->blobs[id].size == size && !memcmp(cx->blobs[id].data, data, size)) return id;
  if (cx->n_blobs == cx->cap_blobs) {
    uint32_t cap = cx->cap_blobs ? 2 * cx->cap_blobs : 32;
    cx->blobs = sci_raw(&cx->env, cx->blobs, cx->cap_blobs * sizeof *cx->blobs, cap * sizeof *cx->blobs);
    cx->cap_blobs = cap;
  }
  const void *copy = size ? memcpy(sci_alloc(&cx->arena, size), data, size) : "";
  cx->blobs[cx->n_blobs] = (sci_blob){.hash = hash, .size = size, .data = copy};
  sci_index_insert(&cx->blob_index, hash, cx->n_blobs);
  return cx->n_blobs++;
}

/* ---- nodes ---- */

static bool commutes(const sci_node *n) {
  return n->op < SCI_OP_COUNT && (sci_ops[n->op].traits & SCI_COMM);
}

static uint32_t node_hash(const sci_node *n) {
  sci_id a = n->args[0], b = n->args[1];
  if (commutes(n) && b < a) a = n->args[1], b = n->args[0];
  uint64_t head = (uint64_t)n->op | (uint64_t)n->hint << 16 | (uint64_t)n->n_args << 32;
  uint64_t what = (uint64_t)n->type | (uint64_t)n->attr << 32;
  uint64_t first = sci_mix(head, what);
  return sci_mix(first | (uint64_t)n->args[2] << 32, (uint64_t)a | (uint64_t)b << 32);
}

static bool same_node(const sci_node *a, const sci_node *b) {
  if (!memcmp(a, b, offsetof(sci_node, hash))) return true;
  return a->op == b->op && commutes(a) && a->hint == b->hint && a->type == b->type && a->args[0] == b->args[1] &&
         a->args[1] == b->args[0];
}

static void new_chunk(sc_context *cx) {
  if (cx->n_nodes >= SCI_NONE - SCI_NODE_CHUNK)
    sci_fail(&cx->env, SC_ERR_OVERFLOW, "a context holds at most %u nodes", cx->n_nodes);
  if (cx->n_chunks == cx->cap_chunks) {
    uint32_t cap = cx->cap_chunks ? 2 * cx->cap_chunks : 16;
    cx->chunks = sci_raw(&cx->env, cx->chunks, cx->cap_chunks * sizeof *cx->chunks, cap * sizeof *cx->chunks);
    cx->cap_chunks = cap;
  }
  cx->chunks[cx->n_chunks] = sci_raw(&cx->env, NULL, 0, SCI_NODE_CHUNK * sizeof(sci_node));
  cx->n_chunks++;
}

/* Most nodes are built on one of the last few, and an equal node can only be younger than its operands. So the youngest
 * nodes are not in the index yet: a node whose operands are that young is looked for among them alone, without a cache
 * miss in the index, and by the time nodes enter the index their slots have been fetched. */
enum { YOUNG = 32 };

static sci_id find_node(const sc_context *cx, const sci_node *n, sci_id youngest_arg) {
  sci_id id;
  if (cx->n_indexed && (n->n_args == 0 || youngest_arg < cx->n_indexed))
    for (uint32_t at = n->hash; sci_index_at(&cx->node_index, &at, n->hash, &id); at++)
      if (same_node(sci_node_at(cx, id), n)) return id;
  id = n->n_args && youngest_arg >= cx->n_indexed ? youngest_arg + 1 : cx->n_indexed;
  for (; id < cx->n_nodes; id++)
    if (sci_node_at(cx, id)->hash == n->hash && same_node(sci_node_at(cx, id), n)) return id;
  return SCI_NONE;
}

static void index_young(sc_context *cx) {
  for (; cx->n_indexed < cx->n_nodes; cx->n_indexed++) {
    sci_index_reserve(&cx->node_index);
    sci_index_insert(&cx->node_index, sci_node_at(cx, cx->n_indexed)->hash, cx->n_indexed);
  }
}

sci_id sci_intern_node(sc_context *cx, unsigned op, sc_hint hint, uint32_t type, uint32_t attr, uint32_t n_args,
                       const sci_id *args) {
  sci_node n = {.op = (uint16_t)op, .hint = (uint8_t)hint, .n_args = n_args, .type = type, .attr = attr};
  sci_id youngest = 0;
  for (uint32_t i = 0; i < n_args; i++) youngest = args[i] > youngest ? args[i] : youngest;
  if (n_args > 3)
    n.blob = sci_intern_blob(cx, args, n_args * sizeof *args);
  else
    for (uint32_t i = 0; i < n_args; i++) n.args[i] = args[i];
  n.hash = node_hash(&n);
  sci_id id = find_node(cx, &n, youngest);
  if (id != SCI_NONE) return id;
  id = cx->n_nodes;
  if (id - cx->n_indexed == YOUNG) index_young(cx);
  if (id >> SCI_NODE_CHUNK_BITS == cx->n_chunks) new_chunk(cx);
  cx->chunks[id >> SCI_NODE_CHUNK_BITS][id & (SCI_NODE_CHUNK - 1)] = n;
  sci_index_prefetch(&cx->node_index, n.hash);
  cx->n_nodes++;
  return id;
}

/* ---- derived functions ---- */

static uint32_t memo_hash(uint32_t key) {
  return sci_mix(key, 1);
}

const sci_memo *sci_memo_find(const sc_context *cx, uint32_t key) {
  uint32_t hash = memo_hash(key), id;
  if (!cx->n_memos) return NULL;
  for (uint32_t at = hash; sci_index_at(&cx->memo_index, &at, hash, &id); at++)
    if (cx->memos[id].key == key) return &cx->memos[id];
  return NULL;
}

const sci_memo *sci_memo_of_function(const sc_context *cx, const sc_function *f) {
  for (uint32_t i = cx->n_memos; i-- > 0;)
    if (cx->memos[i].function == f->id) return &cx->memos[i];
  return NULL;
}

void sci_memo_add(sc_context *cx, uint32_t key, uint32_t function, uint32_t data) {
  sci_index_reserve(&cx->memo_index);
  if (cx->n_memos == cx->cap_memos) {
    uint32_t cap = cx->cap_memos ? 2 * cx->cap_memos : 16;
    cx->memos = sci_raw(&cx->env, cx->memos, cx->cap_memos * sizeof *cx->memos, cap * sizeof *cx->memos);
    cx->cap_memos = cap;
  }
  cx->memos[cx->n_memos] = (sci_memo){.key = key, .data = data, .function = function};
  sci_index_insert(&cx->memo_index, memo_hash(key), cx->n_memos++);
}

/* ---- rolling back ---- */

sci_context_mark sci_context_here(const sc_context *cx) {
  return (sci_context_mark){.n_nodes = cx->n_nodes,
                            .n_blobs = cx->n_blobs,
                            .n_types = cx->n_types,
                            .n_functions = cx->n_functions,
                            .n_memos = cx->n_memos,
                            .next_serial = cx->next_serial,
                            .arena = sci_arena_here(&cx->arena)};
}

void sci_context_rollback(sc_context *cx, sci_context_mark m) {
  for (; cx->n_memos > m.n_memos; cx->n_memos--)
    sci_index_remove(&cx->memo_index, memo_hash(cx->memos[cx->n_memos - 1].key), cx->n_memos - 1);
  while (cx->n_functions > m.n_functions)
    if (cx->functions[--cx->n_functions]) sci_function_destroy(cx->functions[cx->n_functions]);
  while (cx->n_nodes > m.n_nodes) {
    sci_id id = --cx->n_nodes;
    if (id >= cx->n_indexed) continue;
    sci_index_remove(&cx->node_index, sci_node_at(cx, id)->hash, id);
    cx->n_indexed = id;
  }
  for (; cx->n_blobs > m.n_blobs; cx->n_blobs--)
    sci_index_remove(&cx->blob_index, cx->blobs[cx->n_blobs - 1].hash, cx->n_blobs - 1);
  for (; cx->n_types > m.n_types; cx->n_types--)
    sci_index_remove(&cx->type_index, cx->types[cx->n_types - 1].hash, cx->n_types - 1);
  cx->next_serial = m.next_serial;
  sci_arena_release(&cx->arena, m.arena);
}
