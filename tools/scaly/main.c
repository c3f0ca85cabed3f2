/* The command's entry: finds the subcommand, runs it, and answers for standard output. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "scaly/base.h"
#include "tools/scaly/commands.h"
#include "tools/scaly/report.h"

static const command_spec *const commands[] = {&command_run,    &command_export, &command_compare, &command_show,
                                               &command_verify, &command_check,  &command_cache,   &command_toolchain};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static void print_usage(FILE *to) {
  fprintf(to, "Usage: scaly COMMAND [FILE[:FUNCTION]] [options]\n\n"
              "Compiles numerical functions: to machine code in this process, and to portable C.\n\n");
  for (int i = 0; i < N_COMMANDS; i++) fprintf(to, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
  fprintf(to,
          "\n\"scaly COMMAND --help\" tells more. FILE \"-\" is standard input; FUNCTION defaults to the file's last.\n"
          "Exit codes: 0 success, 1 the input is wrong, 2 the command line is wrong, 3 something the\n"
          "environment should provide is missing (LLVM, a compiler, a place to write).\n");
}

static int dispatch(int argc, char **argv) {
  const char *word = argc > 1 ? argv[1] : NULL;
  if (!word) {
    print_usage(stderr);
    return EXIT_USAGE;
  }
  if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help")) {
    print_usage(stdout);
    return EXIT_OK;
  }
  if (!strcmp(word, "--version")) {
    printf("scaly %d.%d.%d\n", SC_VERSION_MAJOR, SC_VERSION_MINOR, SC_VERSION_PATCH);
    return EXIT_OK;
  }
  for (int i = 0; i < N_COMMANDS; i++)
    if (!strcmp(word, commands[i]->name)) return run_command(commands[i], argc - 1, argv + 1);
  fprintf(stderr, "scaly: there is no command \"%s\"\nTry \"scaly --help\".\n", word);
  return EXIT_USAGE;
}

int main(int argc, char **argv) {
  signal(SIGPIPE, SIG_IGN); /* a reader that went away is a failed write, reported as one */
  int code = finish_output(dispatch(argc, argv));
  pool_free();
  return code;
}
