/* What the files of lib/program that build values share. */
#ifndef SCI_PROGRAM_VALUE_H
#define SCI_PROGRAM_VALUE_H

#include "lib/program/program.h"

sci_val sci_store_add_value(sci_store *s, const sci_value *v); /* neither looked for nor indexed */
/* The operation as given, interned without folding. */
sci_val sci_intern_op(sci_store *s, sci_op op, sc_dtype dtype, const sci_val *args);
/* add, sub, neg, or mul by a constant args[1], of int64 values: in canonical form. SCI_NIL: too long a sum for one. */
sci_val sci_affine_op(sci_store *s, sci_op op, const sci_val *args);
#endif
