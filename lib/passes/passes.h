/* The pass pipeline: program to program. passes.def is the pipeline; a pass is a row there and a file here. */
#ifndef SCI_PASSES_PASSES_H
#define SCI_PASSES_PASSES_H

#include "lib/program/program.h"

/* Runs the pipeline as the options say (NULL: defaults) and returns a new program, deferred as sci_program_create has
 * it, with one report per pass run. Unwinds on failure; the given program stays as it is. */
sci_program *sci_run_passes(const sci_program *p, const sc_lower_options *options);
/* The passes that backends rely on, alone: for a program of any origin. Cheap on one that had them. Every backend gets
 * its program from here or from sci_run_passes: its private buffers have places, its values are trees of bounded depth
 * without duplication. */
sci_program *sci_finish_program(const sci_program *p);

/* Gives `options->dump` the text of p when dump_after names `stage` ("lower" or a pass). */
void sci_dump_stage(const sci_program *p, const sc_lower_options *options, const char *stage);

/* A pass returns a new program, deferred, or NULL when there was nothing to do; it counts its rewrites in `changes`. */
#define SCI_PASS(name, ...) sci_program *sci_pass_##name(const sci_program *p, int64_t *changes);
#include "lib/passes/passes.def"
#undef SCI_PASS

/* For passes that look at one procedure at a time: fn returns the procedure itself or a new one. */
typedef const sci_proc *(*sci_proc_fn)(const sci_program *p, const sci_proc *q, void *user);
sci_program *sci_pass_each(const sci_program *p, sci_proc_fn fn, void *user);

#endif
