/* Owns the vocabulary of the text: the words of layouts, hints and loop kinds, and what an identifier is. */
#include "lib/text/words.h"

const sci_layout_words sci_layouts[SCI_LAYOUT_COUNT] = {
    [SC_CSC] = {"csc", "colptr", "rowind"},
    [SC_CSR] = {"csr", "rowptr", "colind"},
    [SC_COO] = {"coo", "rows", "cols"},
};

const char *const sci_hint_words[SCI_HINT_COUNT] = {
    [SC_HINT_AUTO] = "auto", [SC_HINT_SCALAR] = "scalar", [SC_HINT_BLOCK] = "block"};

const char *const sci_tail_words[SCI_TAIL_COUNT] = {
    [SCI_TAIL_NONE] = "none",
    [SCI_TAIL_OVERLAP] = "overlap",
    [SCI_TAIL_MASKED] = "masked",
    [SCI_TAIL_ALL] = "all_masked",
};

const char *const sci_loop_kind_words[SCI_LOOP_KIND_COUNT] = {
    [SCI_LOOP_INDEPENDENT] = "independent",
    [SCI_LOOP_REDUCE] = "reduce",
    [SCI_LOOP_SERIAL] = "serial",
    [SCI_LOOP_VECTOR] = "vector",
};

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool sci_is_identifier(const char *s) {
  if (!is_letter(*s)) return false;
  for (s++; *s; s++)
    if (!is_letter(*s) && (*s < '0' || *s > '9')) return false;
  return true;
}
