/* A target in the attributes of a program's module: its preset's name and the fields that differ from the preset. */
#ifndef SCI_TEXT_TARGET_TEXT_H
#define SCI_TEXT_TARGET_TEXT_H

#include "lib/base/text.h"
#include "scaly/target.h"

typedef enum sci_target_kind { SCI_TARGET_ISA, SCI_TARGET_INT, SCI_TARGET_BOOL, SCI_TARGET_STRING } sci_target_kind;
typedef struct sci_target_field {
  const char *key;
  sci_target_kind kind;
  size_t offset, size;
} sci_target_field;

enum { SCI_TARGET_FIELD_COUNT = 12, SCI_ISA_COUNT = SC_ISA_ARMV7E_M + 1 };
extern const sci_target_field sci_target_fields[SCI_TARGET_FIELD_COUNT];
extern const char *const sci_isa_words[SCI_ISA_COUNT];

/* What the fields of a text are changes of: the preset, or for a name that is none (false) a target with nothing but
 * that name. */
bool sci_target_base(const char *name, sc_target *out);
/* target="generic", lanes=4: the inside of a brace pair. */
void sci_put_target(sci_text *out, const sc_target *t);

#endif
