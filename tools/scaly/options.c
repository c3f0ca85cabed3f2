/* Owns the parsing of a subcommand's options and its help text. */
#include "tools/scaly/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/scaly/report.h"

enum { MAX_OPTIONS = 32, LONG_BASE = 256, HELP = LONG_BASE + MAX_OPTIONS };

int usage_error(const char *command, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  fprintf(stderr, "scaly %s: ", command);
  vfprintf(stderr, fmt, ap);
  fprintf(stderr, "\nTry \"scaly %s --help\".\n", command);
  va_end(ap);
  return EXIT_USAGE;
}

static void print_help(const command_spec *c) {
  printf("Usage: scaly %s%s%s [options]\n\n%s\n", c->name, c->operand ? " " : "", c->operand ? c->operand : "",
         c->summary);
  if (c->details) printf("\n%s", c->details);
  printf("\nOptions:\n");
  for (const option_spec *o = c->options; o->name; o++) {
    char left[64];
    int n = snprintf(left, sizeof left, "%c%c%c --%s%s%s", o->letter ? '-' : ' ', o->letter ? o->letter : ' ',
                     o->letter ? ',' : ' ', o->name, o->value ? " " : "", o->value ? o->value : "");
    printf("  %s%*s  ", left, n < 26 ? 26 - n : 0, "");
    for (const char *s = o->help; *s; s++) {
      putchar(*s);
      if (*s == '\n') printf("%30s", "");
    }
    putchar('\n');
  }
  printf("      --help                  Show this text.\n");
}

static int refuse(const command_spec *c, int code, char **argv) {
  const char *word = argv[optind - 1];
  if (code == ':') return usage_error(c->name, "%s needs a value", word);
  if (word[0] == '-' && word[1] == '-') return usage_error(c->name, "unknown option %s", word);
  return usage_error(c->name, "unknown option -%c", optopt);
}

int run_command(const command_spec *c, int argc, char **argv) {
  struct option table[MAX_OPTIONS + 2] = {0};
  char letters[2 * MAX_OPTIONS + 2] = ":";
  size_t n = 0, at = 1;
  for (; c->options[n].name; n++) {
    const option_spec *o = &c->options[n];
    table[n] = (struct option){o->name, o->value ? required_argument : no_argument, NULL, LONG_BASE + (int)n};
    if (!o->letter) continue;
    letters[at++] = o->letter;
    if (o->value) letters[at++] = ':';
  }
  table[n] = (struct option){"help", no_argument, NULL, HELP};

  arguments args = {.command = c->name, .given = pool_alloc((size_t)argc, sizeof *args.given)};
  opterr = 0;
  for (int code; (code = getopt_long(argc, argv, letters, table, NULL)) != -1;) {
    if (code == HELP) {
      print_help(c);
      return EXIT_OK;
    }
    if (code == ':' || code == '?') return refuse(c, code, argv);
    size_t i = 0;
    while (code < LONG_BASE ? c->options[i].letter != code : LONG_BASE + (int)i != code) i++;
    args.given[args.n_given++] = (given_option){c->options[i].name, c->options[i].value ? optarg : NULL};
  }
  if (c->operand && optind == argc) return usage_error(c->name, "%s is missing", c->operand);
  if (c->operand) args.operand = argv[optind++];
  if (optind < argc) return usage_error(c->name, "one argument too many: %s", argv[optind]);
  return c->run(&args);
}

const char *option_value(const arguments *args, const char *name) {
  for (size_t i = args->n_given; i--;)
    if (!strcmp(args->given[i].name, name)) return args->given[i].value;
  return NULL;
}

bool option_given(const arguments *args, const char *name) {
  for (size_t i = 0; i < args->n_given; i++)
    if (!strcmp(args->given[i].name, name)) return true;
  return false;
}

bool option_integer(const arguments *args, const char *name, long long least, long long most, long long *out) {
  const char *s = option_value(args, name);
  if (!s) return true;
  char *end;
  errno = 0;
  long long v = strtoll(s, &end, 10);
  if (errno || end == s || *end || v < least || v > most) {
    usage_error(args->command, "--%s takes a whole number from %lld to %lld, not \"%s\"", name, least, most, s);
    return false;
  }
  *out = v;
  return true;
}

int option_choice(const arguments *args, const char *name, const char *const *choices, int otherwise) {
  const char *s = option_value(args, name);
  if (!s) return otherwise;
  char list[160] = "";
  for (int i = 0; choices[i]; i++) {
    if (!strcmp(s, choices[i])) return i;
    size_t n = strlen(list);
    snprintf(list + n, sizeof list - n, "%s%s", n ? ", " : "", choices[i]);
  }
  usage_error(args->command, "--%s is one of %s, not \"%s\"", name, list, s);
  return -1;
}
