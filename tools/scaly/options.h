/* Command lines: subcommands described by tables, from which both parsing and help follow. */
#ifndef SCALY_COMMAND_OPTIONS_H
#define SCALY_COMMAND_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct option_spec {
  const char *name;  /* long name */
  char letter;       /* 0: none */
  const char *value; /* what the value is called in the help; NULL: a flag */
  const char *help;
} option_spec;

typedef struct given_option {
  const char *name;
  const char *value; /* NULL for a flag */
} given_option;

typedef struct arguments {
  const char *command;
  given_option *given; /* in the order of the command line */
  size_t n_given;
  const char *operand; /* NULL without one */
} arguments;

typedef struct command_spec {
  const char *name;
  const char *operand; /* what it is called in the help; NULL: takes none */
  const char *summary;
  const char *details;        /* further paragraphs of the help; NULL: none */
  const option_spec *options; /* ended by an empty row */
  int (*run)(const arguments *args);
} command_spec;

/* Parses what follows the command's name and runs it; prints help or a usage error itself. Returns the exit code. */
int run_command(const command_spec *command, int argc, char **argv);

/* The value of the last occurrence, or NULL. */
const char *option_value(const arguments *args, const char *name);
bool option_given(const arguments *args, const char *name);
/* Whole numbers; false after a complaint naming the option. `*out` is untouched when the option is not given. */
bool option_integer(const arguments *args, const char *name, long long least, long long most, long long *out);
/* The index of the value in `choices` (NULL-terminated), `otherwise` when not given, -1 after a complaint listing them.
 */
int option_choice(const arguments *args, const char *name, const char *const *choices, int otherwise);

/* "scaly COMMAND: ..." and a pointer to the help; returns EXIT_USAGE. */
int usage_error(const char *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
