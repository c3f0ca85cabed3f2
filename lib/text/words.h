/* The vocabulary that printers and parsers share. */
#ifndef SCI_TEXT_WORDS_H
#define SCI_TEXT_WORDS_H

#include <stdbool.h>

#include "lib/program/program.h"
#include "scaly/function.h"

typedef struct sci_layout_words {
  const char *name, *outer, *inner;
} sci_layout_words;

enum { SCI_LAYOUT_COUNT = SC_COO + 1, SCI_HINT_COUNT = SC_HINT_BLOCK + 1, SCI_LOOP_KIND_COUNT = SCI_LOOP_VECTOR + 1 };

extern const sci_layout_words sci_layouts[SCI_LAYOUT_COUNT]; /* csc colptr rowind, ... */
extern const char *const sci_hint_words[SCI_HINT_COUNT];     /* auto, scalar, block */
enum { SCI_TAIL_COUNT = SCI_TAIL_ALL + 1 };
extern const char *const sci_tail_words[SCI_TAIL_COUNT];           /* none, overlap, masked, all_masked */
extern const char *const sci_loop_kind_words[SCI_LOOP_KIND_COUNT]; /* independent, reduce, serial, vector */

/* A letter or underscore, then letters, digits and underscores: what a name may be without quotes. */
bool sci_is_identifier(const char *s);

#endif
