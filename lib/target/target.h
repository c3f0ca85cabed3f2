/* Processors by name, and the one that runs. */
#ifndef SCI_TARGET_TARGET_H
#define SCI_TARGET_TARGET_H

#include "scaly/target.h"

/* The preset of that name, or false. "native" is the host. */
bool sci_target_find(const char *name, sc_target *out);
/* Whether a processor of `isa` runs code for `needed`: x86-64's levels include those below, other instruction sets
 * stand alone. */
bool sci_isa_runs(sc_isa isa, sc_isa needed);
/* Probes once per process; safe from any thread. */
const sc_target *sci_target_host(void);

/* What every recipe carries, whatever the processor: no compiler may fuse on its own, math routines need not set errno.
 */
#define SCI_RECIPE_FLAGS "-fno-math-errno", "-ffp-contract=off"

/* Fills isa, lanes, registers, caches and LLVM features from the processor and the operating system
 * (lib/target/probe.c). */
void sci_target_probe(sc_target *t);

#endif
