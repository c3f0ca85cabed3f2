/* What the files of the compiler driver share. */
#ifndef SCI_BACKENDS_CC_CC_H
#define SCI_BACKENDS_CC_CC_H

#include "lib/module/backend.h"

/* A folder of its own below `parent`, removed with what was put into it by sci_cc_folder_remove. */
typedef struct cc_folder {
  sci_env *env;
  const char *path;
  SCI_VEC(const char *) files;
} cc_folder;

cc_folder *sci_cc_folder_make(sci_env *env, const char *parent); /* deferred for cleanup */
const char *sci_cc_folder_file(cc_folder *d, const char *name);  /* the path; the file need not come into being */
void sci_cc_folder_write(cc_folder *d, const char *name, const char *text, size_t n);
void sci_cc_folder_remove(void *d);

/* Runs argv with its output and errors going to the file `log`, and waits. Unwinds when it cannot be run or fails,
 * quoting the log. */
void sci_cc_run(sci_env *env, const char *const *argv, const char *log);

/* The path of the program that would be run, in scratch memory, or NULL. */
const char *sci_cc_path(sci_env *env, const char *name);

#endif
