/* Names of compiled code for debuggers and profilers. */
#ifndef SCI_API_NAMES_H
#define SCI_API_NAMES_H

#include "lib/api/kernel.h"

/* For n kernels, from their descriptions. NULL: none wanted, or no memory (names are not worth a failure). Freed with
 * sci_names_forget. */
sci_names *sci_names_make(unsigned wanted, const sci_description *kernels, size_t n);
/* Tells the tools about code with these entries; may be called for each tier. With the process's lock. */
void sci_names_tell(sci_names *names, const sc_entry *entries, size_t code_bytes);
void sci_names_forget(sci_names *names);

#endif
