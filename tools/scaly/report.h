/* What the command says and how it ends: errors with positions, exit codes, standard output's own failures, memory. */
#ifndef SCALY_COMMAND_REPORT_H
#define SCALY_COMMAND_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "scaly/scaly.h"

enum {
  EXIT_OK = 0,
  EXIT_INPUT = 1,       /* what the user wrote in files or values is wrong */
  EXIT_USAGE = 2,       /* the command line is wrong */
  EXIT_ENVIRONMENT = 3, /* no LLVM, no compiler, nothing can be written, no memory */
};

/* "scaly: error: ..." on standard error. */
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The same with the place in a text: file, line, column, the line itself and a caret under byte `offset`. */
void complain_at(const char *file, const char *text, size_t size, size_t offset, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* Prints every diagnostic of the context and clears them; the exit code follows from the first. */
int report_context(sc_context *cx);
int exit_code_of(sc_status status);

/* Flushes standard output and says so when anything written to it was lost. `code` unless that happened. */
int finish_output(int code);

/* A line on a terminal's standard error that the next one replaces, from the process's first second on. NULL removes
 * it. */
void progress(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Zeroed memory, `align`ed (a power of two), kept until pool_free. Ends the process with EXIT_ENVIRONMENT when there is
 * none. */
void *pool_alloc(size_t n, size_t size);
void *pool_alloc_aligned(size_t align, size_t size);
char *pool_strndup(const char *s, size_t n);
char *pool_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void pool_free(void);

/* A file's bytes, terminated; "-" is standard input. NULL after a complaint. */
char *read_file(const char *path, size_t *size);

double now_ms(void);

#endif
