/* Owns the loops of matrix products: tiles of C that are summed in registers.
 *
 * A tile is a few rows of C by as many columns as there are lanes, once or in several stretches of columns: for each k,
 * a load of B serves all its rows, one of A all its stretches, and all are independent sums, as many as there are
 * registers for. The loop over columns is an independent one whose body holds the loop over k: widen_loops gives it
 * lanes, whatever their number. Rows are shared out evenly, so no tile is nearly empty; the last lanes overlap.
 *
 * - B read across its columns (transposed) is read four k at a time, a block per lane that backends transpose in
 * registers.
 * - Where B is past the level-1 cache, blocks of k are done one after the other, each going on from what is in C. All
 * rows of A are copied for a block, tile by tile as they are read, and panel by panel the columns of B; every tile then
 * reads the panel.
 * - One to three rows are too few sums: there the loop over columns is inside the one over k, and takes several k at
 * once.
 *
 * The shape is that of Goto and van de Geijn, Anatomy of High-Performance Matrix Multiplication (ACM TOMS 34:3, 2008).
 */
#include "lib/lower/matmul.h"

enum {
  LINE = 64,      /* bytes; a panel is two lines wide */
  MOST_SUMS = 24, /* of a tile */
  MOST_STREAMS = 4,
  STREAM_COLUMNS = 8, /* the fewest columns that lanes fill well */
  FEW_ROWS = 3,
  BLOCK = 4,   /* k at a time across a transposed B */
  LATENCY = 8, /* independent sums that hide it on two units */
};

/* `n` things in portions as equal as can be: `first` portions of `size`, then `rest` of one less. */
typedef struct shares {
  int64_t first, rest, size;
} shares;

static shares share_out(int64_t n, int64_t most) {
  int64_t portions = (n + most - 1) / most, size = (n + portions - 1) / portions;
  return (shares){n - portions * (size - 1), portions * size - n, size};
}

/* What a tile is of: rows from `row` on, columns of C from `column` on, terms from `term` on. */
typedef struct tile {
  sci_val row, column, term;
  int64_t rows, columns, terms, streams;
  int64_t most_rows; /* of any tile */
  sci_buf a, b; /* copies of what the tile needs of A and B, or SCI_NIL: A by tiles, each k's rows together, B a panel,
                   each k's columns */
  bool goes_on; /* from what is in C */
} tile;

static sci_val number(const sci_product *x, int64_t v) {
  return sci_val_int(x->l->s, v);
}

static sci_val sum(const sci_product *x, sci_val a, sci_val b) {
  return sci_idx_add(x->l->s, a, b);
}

static sci_val element(const sci_product *x, const sci_matrix *m, sci_val i, sci_val j) {
  sci_store *s = x->l->s;
  return sum(x, sum(x, number(x, m->offset), sci_idx_mul(s, j, m->col)), sci_idx_mul(s, i, m->row));
}

static sci_val read_at(const sci_product *x, sci_block_builder *out, const sci_matrix *m, sci_val i, sci_val j) {
  return m->x.place ? sci_read(x->l, out, m->x.place, element(x, m, i, j), NULL) : m->x.val;
}

static sci_val read_c(const sci_product *x, sci_block_builder *out, sci_val i, sci_val j) {
  return sci_emit_load(out, x->l->s, x->c.x.place->buf, element(x, &x->c, i, j), NULL);
}

static void write_c(const sci_product *x, sci_block_builder *out, sci_val i, sci_val j, sci_val v) {
  sci_emit_store(out, x->c.x.place->buf, element(x, &x->c, i, j), v);
}

static sci_val plus(const sci_product *x, sci_val a, sci_val b) {
  return sci_val_op2(x->l->s, SCI_OP_add, a, b);
}

static sci_val times(const sci_product *x, sci_val a, sci_val b) {
  return sci_val_op2(x->l->s, SCI_OP_mul, a, b);
}

static sci_val nothing(const sci_product *x) {
  sc_dtype dtype = (sc_dtype)x->l->s->bufs[x->c.x.place->buf].dtype;
  return sci_val_double(x->l->s, dtype, sci_is_float(dtype) ? -0.0 : 0);
}

/* A loop being built; one of a single trip is none. */
typedef struct loop {
  sci_loop_kind kind;
  sci_var var;
  int64_t start, stop;
  sci_val at;
  sci_block_builder body, *out; /* statements go to `out` */
} loop;

static void begin(const sci_product *x, loop *l, sci_loop_kind kind, uint32_t depth, int64_t start, int64_t stop,
                  sci_block_builder *around) {
  *l = (loop){.kind = kind, .var = SCI_NIL, .start = start, .stop = stop, .at = number(x, start), .out = around};
  if (stop == start + 1) return;
  l->var = sci_loop_var(x->l, depth);
  l->at = sci_val_var(x->l->s, l->var);
  sci_block_begin(&l->body, x->l->s);
  l->out = &l->body;
}

static void end(const sci_product *x, loop *l, sci_block_builder *around) {
  if (l->var == SCI_NIL) return;
  sci_emit(around, sci_loop_stmt(x->l->s, l->kind, l->var, l->start, l->stop, 1, sci_block_end(&l->body, x->l->s)));
}

/* ---- one tile ---- */

typedef struct sums {
  sci_val column[MOST_STREAMS];
  sci_name of[MOST_SUMS];
} sums;

static sci_val read_a(const sci_product *x, sci_block_builder *out, const tile *t, int64_t row, sci_val k) {
  sci_store *s = x->l->s;
  if (t->a == SCI_NIL) return read_at(x, out, &x->a, sum(x, t->row, number(x, row)), sum(x, t->term, k));
  sci_val at = sum(x, sci_idx_mul(s, t->row, t->terms), sum(x, sci_idx_mul(s, k, t->rows), number(x, row)));
  return sci_emit_load(out, s, t->a, at, NULL);
}

static sci_val read_b(const sci_product *x, sci_block_builder *out, const tile *t, sci_val k, sci_val column) {
  sci_store *s = x->l->s;
  if (t->b == SCI_NIL) return read_at(x, out, &x->b, sum(x, t->term, k), sum(x, t->column, column));
  return sci_emit_load(out, s, t->b, sum(x, sci_idx_mul(s, k, t->columns), column), NULL);
}

/* The products of term `k` are added. */
static void add_term(const sci_product *x, sci_block_builder *out, const tile *t, const sums *u, sci_val k) {
  sci_store *s = x->l->s;
  sci_val b[MOST_STREAMS];
  for (int64_t n = 0; n < t->streams; n++) b[n] = read_b(x, out, t, k, u->column[n]);
  for (int64_t r = 0; r < t->rows; r++) {
    sci_val a = read_a(x, out, t, r, k);
    for (int64_t n = 0; n < t->streams; n++) {
      sci_name acc = u->of[r * t->streams + n];
      sci_emit_assign(out, acc, plus(x, sci_val_name(s, acc), times(x, a, b[n])));
    }
  }
}

static void add_terms(const sci_product *x, sci_block_builder *out, const tile *t, const sums *u) {
  sci_store *s = x->l->s;
  bool across = t->b == SCI_NIL && x->b.col != 1 && x->b.row == 1;
  int64_t step = across ? BLOCK : 1, whole = t->terms / step;
  if (whole) {
    loop k;
    begin(x, &k, SCI_LOOP_REDUCE, 2, 0, whole, out);
    for (int64_t i = 0; i < step; i++) add_term(x, k.out, t, u, sum(x, sci_idx_mul(s, k.at, step), number(x, i)));
    end(x, &k, out);
  }
  for (int64_t i = whole * step; i < t->terms; i++) add_term(x, out, t, u, number(x, i));
}

static void put_tile(const sci_product *x, sci_block_builder *out, const tile *t) {
  sci_store *s = x->l->s;
  sums u;
  int64_t width = t->columns / t->streams, n = t->rows * t->streams;
  loop j;
  begin(x, &j, SCI_LOOP_INDEPENDENT, 1, 0, width, out);
  for (int64_t i = 0; i < t->streams; i++) u.column[i] = sum(x, j.at, number(x, i * width));
  for (int64_t i = 0; i < n; i++) {
    sci_val row = sum(x, t->row, number(x, i / t->streams)), column = sum(x, t->column, u.column[i % t->streams]);
    u.of[i] = sci_emit_mutable(j.out, s, t->goes_on ? read_c(x, j.out, row, column) : nothing(x), NULL);
  }
  add_terms(x, j.out, t, &u);
  for (int64_t i = 0; i < n; i++) {
    sci_val row = sum(x, t->row, number(x, i / t->streams)), column = sum(x, t->column, u.column[i % t->streams]);
    write_c(x, j.out, row, column, sci_val_name(s, u.of[i]));
  }
  end(x, &j, out);
}

/* ---- all rows ---- */

static int64_t most_sums(const sci_product *x) {
  enum { SPARE = 4, COMMON = 16 }; /* registers for operands; and how many there are where the target is not known */
  int64_t registers = x->l->target->vector_registers ? x->l->target->vector_registers : COMMON;
  return registers - SPARE < MOST_SUMS ? registers - SPARE : MOST_SUMS;
}

/* Two stretches of columns make tiles about square, so that loads are few; more make up for few rows. */
static int64_t streams(const sci_product *x, int64_t columns) {
  int64_t n = 1, most = x->m <= FEW_ROWS ? MOST_STREAMS : 2;
  while (n < most && columns % (2 * n) == 0 && columns / (2 * n) >= STREAM_COLUMNS) n *= 2;
  return n;
}

typedef void (*tile_fn)(const sci_product *x, sci_block_builder *out, const tile *t);

/* Tiles of `size` rows from row `start` on. */
static void each_tile_of(const sci_product *x, sci_block_builder *out, tile t, int64_t start, int64_t n, int64_t size,
                         tile_fn fn) {
  if (!n) return;
  loop i;
  begin(x, &i, SCI_LOOP_INDEPENDENT, 0, 0, n, out);
  t.row = sum(x, sci_idx_mul(x->l->s, i.at, size), number(x, start));
  t.rows = size;
  fn(x, i.out, &t);
  end(x, &i, out);
}

static void each_tile(const sci_product *x, sci_block_builder *out, const tile *t, tile_fn fn) {
  shares rows = share_out(x->m, t->most_rows);
  each_tile_of(x, out, *t, 0, rows.first, rows.size, fn);
  each_tile_of(x, out, *t, rows.first * rows.size, rows.rest, rows.size - 1, fn);
}

static void put_all(const sci_product *x, sci_block_builder *out) {
  tile t = {.column = number(x, 0), .term = number(x, 0), .columns = x->n, .terms = x->k, .a = SCI_NIL, .b = SCI_NIL};
  t.streams = streams(x, x->n);
  t.most_rows = most_sums(x) / t.streams;
  each_tile(x, out, &t, put_tile);
}

/* ---- few rows ---- */

/* Terms k to k + n of all rows are added to C; to nothing when they are the first. */
static void put_row_terms(const sci_product *x, sci_block_builder *out, sci_val k, int64_t n, bool first) {
  sci_val a[FEW_ROWS][LATENCY], b[LATENCY];
  for (int64_t r = 0; r < x->m; r++)
    for (int64_t i = 0; i < n; i++) a[r][i] = read_at(x, out, &x->a, number(x, r), sum(x, k, number(x, i)));
  loop j;
  begin(x, &j, SCI_LOOP_INDEPENDENT, 1, 0, x->n, out);
  for (int64_t i = 0; i < n; i++) b[i] = read_at(x, j.out, &x->b, sum(x, k, number(x, i)), j.at);
  for (int64_t r = 0; r < x->m; r++) {
    sci_val v = first ? times(x, a[r][0], b[0]) : read_c(x, j.out, number(x, r), j.at);
    for (int64_t i = first; i < n; i++) v = plus(x, v, times(x, a[r][i], b[i]));
    write_c(x, j.out, number(x, r), j.at, v);
  }
  end(x, &j, out);
}

static void put_few_rows(const sci_product *x, sci_block_builder *out) {
  int64_t step = LATENCY / x->m, whole = x->k / step;
  put_row_terms(x, out, number(x, 0), step < x->k ? step : x->k, true);
  if (whole > 1) {
    loop k;
    begin(x, &k, SCI_LOOP_REDUCE, 2, 1, whole, out);
    put_row_terms(x, k.out, sci_idx_mul(x->l->s, k.at, step), step, false);
    end(x, &k, out);
  }
  if (whole && x->k % step) put_row_terms(x, out, number(x, whole * step), x->k % step, false);
}

/* ---- panels ---- */

/* What is the same for all tiles of a block of k; `t` without rows and columns. */
typedef struct panels {
  const sci_product *x;
  int64_t width;
  tile t;
} panels;

/* Columns of m, from `column` on, of all terms of the tile's block go to buf from `start` on, those of one k together.
 * Where they lie apart, one k of all columns is stored side by side. */
static void pack(const sci_product *x, sci_block_builder *out, const tile *t, const sci_matrix *m, sci_val column,
                 int64_t columns, sci_buf buf, sci_val start) {
  sci_store *s = x->l->s;
  loop k, j;
  begin(x, &k, SCI_LOOP_INDEPENDENT, 2, 0, t->terms, out);
  sci_val from = sum(x, t->term, k.at), to = sum(x, start, sci_idx_mul(s, k.at, columns)), v[LINE];
  if (m->col == 1) {
    begin(x, &j, SCI_LOOP_INDEPENDENT, 1, 0, columns, k.out);
    sci_emit_store(j.out, buf, sum(x, to, j.at), read_at(x, j.out, m, from, sum(x, column, j.at)));
    end(x, &j, k.out);
  } else {
    for (int64_t i = 0; i < columns; i++) v[i] = read_at(x, k.out, m, from, sum(x, column, number(x, i)));
    for (int64_t i = 0; i < columns; i++) sci_emit_store(k.out, buf, sum(x, to, number(x, i)), v[i]);
  }
  end(x, &k, out);
}

static sci_matrix transposed(sci_matrix m) {
  return (sci_matrix){m.x, m.offset, m.col, m.row};
}

static void pack_rows(const sci_product *x, sci_block_builder *out, const tile *t) {
  sci_matrix a = transposed(x->a);
  pack(x, out, t, &a, t->row, t->rows, t->a, sci_idx_mul(x->l->s, t->row, t->terms));
}

static void put_panel(const panels *p, sci_block_builder *out, sci_val column, int64_t columns) {
  tile t = p->t;
  t.column = column;
  t.columns = columns;
  t.streams = columns % 2 ? 1 : 2;
  pack(p->x, out, &t, &p->x->b, column, columns, t.b, number(p->x, 0));
  each_tile(p->x, out, &t, put_tile);
}

/* How many panels of the full width there are; the last is as much wider as there are columns left over. */
static int64_t full_panels(const panels *p) {
  return p->x->n / p->width - (p->x->n % p->width > 0 && p->x->n > p->width);
}

static void put_block(const panels *p, sci_block_builder *out) {
  const sci_product *x = p->x;
  int64_t n = full_panels(p), done = n * p->width;
  if (p->t.a != SCI_NIL) each_tile(x, out, &p->t, pack_rows);
  if (n > 0) {
    loop j;
    begin(x, &j, SCI_LOOP_SERIAL, 6, 0, n, out);
    put_panel(p, j.out, sci_idx_mul(x->l->s, j.at, p->width), p->width);
    end(x, &j, out);
  }
  if (done < x->n) put_panel(p, out, number(x, done), x->n - done);
}

/* Blocks of `size` terms from term `start` on. */
static void put_blocks(panels *p, sci_block_builder *out, int64_t start, int64_t n, int64_t size) {
  const sci_product *x = p->x;
  if (!n) return;
  loop k;
  begin(x, &k, SCI_LOOP_SERIAL, 7, 0, n, out);
  p->t.terms = size;
  p->t.term = sum(x, sci_idx_mul(x->l->s, k.at, size), number(x, start));
  put_block(p, k.out);
  end(x, &k, out);
}

static void clear(const sci_product *x, sci_block_builder *out) {
  loop i, j;
  begin(x, &i, SCI_LOOP_INDEPENDENT, 0, 0, x->m, out);
  begin(x, &j, SCI_LOOP_INDEPENDENT, 1, 0, x->n, i.out);
  write_c(x, j.out, i.at, j.at, nothing(x));
  end(x, &j, i.out);
  end(x, &i, out);
}

/* As many k as keep a panel in half the level-1 cache, and the rows of A in half the level-2 cache where that leaves
 * enough of them. */
static int64_t block_terms(const sci_product *x, int64_t size) {
  enum { ENOUGH = 64 };
  const sc_target *t = x->l->target;
  int64_t by_panel = t->l1_bytes / 2 / (2 * LINE), by_rows = t->l2_bytes / 2 / size / x->m;
  int64_t most = by_rows < by_panel ? by_rows : by_panel;
  return most > ENOUGH ? most : ENOUGH;
}

static void put_packed(const sci_product *x, sci_block_builder *out) {
  sc_dtype dtype = (sc_dtype)x->l->s->bufs[x->b.x.place->buf].dtype;
  int64_t size = (int64_t)sc_dtype_size(dtype);
  shares blocks = share_out(x->k, block_terms(x, size));
  panels p = {.x = x, .width = 2 * LINE / size};
  p.t = (tile){.most_rows = most_sums(x) / 2, .goes_on = blocks.first + blocks.rest > 1, .a = SCI_NIL};
  int64_t last = x->n - full_panels(&p) * p.width, widest = last > p.width ? last : p.width;
  if (x->a.x.place) p.t.a = sci_private(x->l, dtype, x->m * blocks.size, "rows");
  p.t.b = sci_private(x->l, dtype, blocks.size * widest, "panel");
  if (p.t.goes_on) clear(x, out);
  put_blocks(&p, out, 0, blocks.first, blocks.size);
  put_blocks(&p, out, blocks.first * blocks.size, blocks.rest, blocks.size - 1);
}

/* ---- the choice ---- */

static bool outgrows_level1(const sci_product *x) {
  const sc_target *t = x->l->target;
  if (!x->b.x.place || !t->l1_bytes || x->m <= 2 * most_sums(x) || x->n < 4 * STREAM_COLUMNS) return false;
  int64_t size = (int64_t)sc_dtype_size((sc_dtype)x->l->s->bufs[x->b.x.place->buf].dtype), bytes;
  return __builtin_mul_overflow(x->k * size, x->n, &bytes) || bytes > t->l1_bytes / 2;
}

/* Lanes go along the columns of C. Where these are few, or C is stored by columns, the transposed product has them. */
void sci_multiply(sci_product *x) {
  bool by_columns = x->c.col != 1 && x->c.row == 1 && x->m >= FEW_ROWS;
  if (by_columns || (x->n <= FEW_ROWS && x->m > FEW_ROWS)) {
    sci_product t = {.l = x->l,
                     .a = transposed(x->b),
                     .b = transposed(x->a),
                     .c = transposed(x->c),
                     .m = x->n,
                     .k = x->k,
                     .n = x->m};
    *x = t;
  }
  if (outgrows_level1(x))
    put_packed(x, &x->l->top);
  else if (x->m <= FEW_ROWS && x->b.col == 1)
    put_few_rows(x, &x->l->top);
  else
    put_all(x, &x->l->top);
}
