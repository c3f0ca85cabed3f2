/* Owns index arithmetic: affine forms of int64 values and their one canonical spelling.
 *
 * int64 arithmetic wraps, so sums and constant multiples form a ring and may be regrouped freely; sci_val_op sends
 * int64 sums here, which makes equal affine values equal ids. Division and remainder regroup only where the caller
 * promises that nothing wraps. */
#include "lib/program/value.h"

enum { MAX_TERMS = (int)(sizeof((sci_affine){0}.terms) / sizeof((sci_affine){0}.terms[0])), MAX_VISITS = 64 };

static int64_t wrap_add(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a + (uint64_t)b);
}
static int64_t wrap_mul(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a * (uint64_t)b);
}

static bool add_term(sci_affine *f, sci_val term, int64_t k) {
  for (uint32_t i = 0; i < f->n; i++) {
    if (f->terms[i].term != term) continue;
    f->terms[i].coefficient = wrap_add(f->terms[i].coefficient, k);
    if (!f->terms[i].coefficient) f->terms[i] = f->terms[--f->n];
    return true;
  }
  if (!k) return true;
  if (f->n == MAX_TERMS) return false;
  f->terms[f->n].term = term;
  f->terms[f->n++].coefficient = k;
  return true;
}

/* Adds k * v to f. The work is bounded, so long chains of a user's integer sums stay linear. */
static bool accumulate(const sci_store *s, sci_affine *f, sci_val v, int64_t k) {
  struct {
    sci_val v;
    int64_t k;
  } stack[MAX_VISITS];
  int depth = 0, visits = 0;
  stack[depth].v = v;
  stack[depth++].k = k;
  while (depth) {
    v = stack[--depth].v;
    k = stack[depth].k;
    if (++visits > MAX_VISITS) return false;
    const sci_value *x = sci_value_at(s, v);
    if (x->kind == SCI_V_CONST) {
      f->constant = wrap_add(f->constant, wrap_mul(k, (int64_t)x->bits));
      continue;
    }
    bool two = x->kind == SCI_V_OP && (x->op == SCI_OP_add || x->op == SCI_OP_sub);
    if (depth + 2 > MAX_VISITS) return false;
    if (two) {
      stack[depth].v = x->args[1];
      stack[depth++].k = x->op == SCI_OP_sub ? wrap_mul(k, -1) : k;
      stack[depth].v = x->args[0];
      stack[depth++].k = k;
    } else if (x->kind == SCI_V_OP && x->op == SCI_OP_neg) {
      stack[depth].v = x->args[0];
      stack[depth++].k = wrap_mul(k, -1);
    } else if (x->kind == SCI_V_OP && x->op == SCI_OP_mul && sci_val_is_const(s, x->args[1])) {
      stack[depth].v = x->args[0];
      stack[depth++].k = wrap_mul(k, (int64_t)sci_value_at(s, x->args[1])->bits);
    } else if (!add_term(f, v, k)) {
      return false;
    }
  }
  return true;
}

/* Positive coefficients first, larger magnitudes first: the order of a row-major index. */
static bool before(int64_t ka, sci_val a, int64_t kb, sci_val b) {
  if ((ka > 0) != (kb > 0)) return ka > 0;
  if (ka != kb) return ka > 0 ? ka > kb : ka < kb;
  return a < b;
}

static void sort_terms(sci_affine *f) {
  for (uint32_t i = 1; i < f->n; i++)
    for (uint32_t j = i;
         j && before(f->terms[j].coefficient, f->terms[j].term, f->terms[j - 1].coefficient, f->terms[j - 1].term);
         j--) {
      sci_val term = f->terms[j].term;
      int64_t k = f->terms[j].coefficient;
      f->terms[j] = f->terms[j - 1];
      f->terms[j - 1].term = term;
      f->terms[j - 1].coefficient = k;
    }
}

bool sci_affine_of(const sci_store *s, sci_val v, sci_affine *out) {
  out->constant = 0;
  out->n = 0;
  if (!accumulate(s, out, v, 1)) return false;
  sort_terms(out);
  return true;
}

static sci_val multiple(sci_store *s, sci_val term, int64_t k) {
  return k == 1 ? term : sci_intern_op(s, SCI_OP_mul, SC_INT64, (sci_val[]){term, sci_val_int(s, k)});
}

sci_val sci_affine_value(sci_store *s, sci_affine *f) {
  sort_terms(f);
  if (!f->n) return sci_val_int(s, f->constant);
  int64_t constant = f->constant;
  sci_val sum = SCI_NIL;
  for (uint32_t i = 0; i < f->n; i++) {
    sci_val t = f->terms[i].term;
    int64_t k = f->terms[i].coefficient;
    if (k < 0 && sum == SCI_NIL && constant) {
      sum = sci_val_int(s, constant);
      constant = 0;
    }
    bool minus = k < 0 && k != INT64_MIN; /* INT64_MIN has no magnitude */
    if (sum == SCI_NIL)
      sum = k == -1 ? sci_intern_op(s, SCI_OP_neg, SC_INT64, &t) : multiple(s, t, k);
    else
      sum =
          sci_intern_op(s, minus ? SCI_OP_sub : SCI_OP_add, SC_INT64, (sci_val[]){sum, multiple(s, t, minus ? -k : k)});
  }
  if (!constant) return sum;
  bool minus = constant < 0 && constant != INT64_MIN;
  sci_val c = sci_val_int(s, minus ? -constant : constant);
  return sci_intern_op(s, minus ? SCI_OP_sub : SCI_OP_add, SC_INT64, (sci_val[]){sum, c});
}

sci_val sci_affine_op(sci_store *s, sci_op op, const sci_val *args) {
  sci_affine f = {0};
  bool fits;
  if (op == SCI_OP_mul)
    fits = accumulate(s, &f, args[0], (int64_t)sci_value_at(s, args[1])->bits);
  else if (op == SCI_OP_neg)
    fits = accumulate(s, &f, args[0], -1);
  else
    fits = accumulate(s, &f, args[0], 1) && accumulate(s, &f, args[1], op == SCI_OP_sub ? -1 : 1);
  return fits ? sci_affine_value(s, &f) : SCI_NIL;
}

sci_val sci_idx_add(sci_store *s, sci_val a, sci_val b) {
  return sci_val_op2(s, SCI_OP_add, a, b);
}

sci_val sci_idx_mul(sci_store *s, sci_val a, int64_t k) {
  return sci_val_op2(s, SCI_OP_mul, a, sci_val_int(s, k));
}

/* a = k * quotient + remainder with a constant remainder in [0, k). */
static bool split(const sci_store *s, sci_val a, int64_t k, sci_affine *quotient, int64_t *remainder) {
  if (!sci_affine_of(s, a, quotient)) return false;
  for (uint32_t i = 0; i < quotient->n; i++) {
    if (quotient->terms[i].coefficient % k) return false;
    quotient->terms[i].coefficient /= k;
  }
  *remainder = quotient->constant % k;
  if (*remainder < 0) *remainder += k;
  quotient->constant = (quotient->constant - *remainder) / k;
  return true;
}

sci_val sci_idx_div(sci_store *s, sci_val a, int64_t k) {
  sci_affine quotient;
  int64_t remainder;
  if (split(s, a, k, &quotient, &remainder)) return sci_affine_value(s, &quotient);
  return sci_val_op2(s, SCI_OP_div, a, sci_val_int(s, k));
}

sci_val sci_idx_mod(sci_store *s, sci_val a, int64_t k) {
  sci_affine quotient;
  int64_t remainder;
  if (split(s, a, k, &quotient, &remainder)) return sci_val_int(s, remainder);
  return sci_val_op2(s, SCI_OP_fmod, a, sci_val_int(s, k));
}
