/* Whether an export would replace one of other outputs. */
#ifndef SCALY_COMMAND_OVERWRITE_H
#define SCALY_COMMAND_OVERWRITE_H

#include <stdbool.h>

#include "scaly/scaly.h"

/* Exports of different outputs of a function share their default name. True, after a complaint, when the folder holds
 * a source or header of the module's name whose entry has other outputs, another layout, or the other triangle of a
 * Hessian. What an edited model changes otherwise (shapes, inputs, patterns) is no reason, nor are other options. */
bool export_would_clash(const sc_module *m, const char *folder, const char *prefix);

#endif
