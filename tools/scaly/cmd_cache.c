/* The cache command: what the cache of compiled code holds, whether it is whole, and making it smaller. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/scaly/cache_root.h"
#include "tools/scaly/commands.h"
#include "tools/scaly/report.h"

/* A whole number and perhaps a unit. False: something else. */
static bool read_amount(const char *text, const char *units, const int64_t *factors, int64_t *out) {
  char *end;
  errno = 0;
  long long v = strtoll(text, &end, 10);
  if (errno || end == text || v < 0) return false;
  int64_t factor = 1;
  if (*end) {
    const char *unit = strchr(units, *end);
    if (!unit || end[1]) return false;
    factor = factors[unit - units];
  }
  if (v > INT64_MAX / factor) return false;
  *out = v * factor;
  return true;
}

static bool limit(const arguments *args, const char *name, const char *units, const int64_t *factors, int64_t *out) {
  const char *text = option_value(args, name);
  *out = -1;
  if (!text || read_amount(text, units, factors, out)) return true;
  usage_error("cache", "--%s takes a whole number and perhaps a unit of %s, not \"%s\"", name, units, text);
  return false;
}

static bool read_limits(const arguments *args, int64_t *bytes, int64_t *age) {
  static const int64_t sizes[] = {1 << 10, 1 << 20, 1 << 30}, times[] = {1, 60, 3600, 86400};
  return limit(args, "max-size", "KMG", sizes, bytes) && limit(args, "max-age", "smhd", times, age);
}

static int print_info(const char *dir, const sc_cache_summary *s) {
  printf("%-10s %s\n", "folder", dir);
  printf("%-10s %" PRId64 "\n", "entries", s->entries);
  printf("%-10s %" PRId64 "\n", "bytes", s->bytes);
  if (s->leftovers) printf("%-10s %" PRId64 "\n", "leftovers", s->leftovers);
  return EXIT_OK;
}

static int act(sc_context *cx, const char *word, const char *dir, int64_t bytes, int64_t age) {
  sc_cache_summary s;
  bool verify = !strcmp(word, "verify"), prune = !strcmp(word, "prune"), clear = !strcmp(word, "clear");
  sc_status status = verify  ? sc_cache_verify(cx, dir, &s)
                     : prune ? sc_cache_prune(cx, dir, bytes, age, &s)
                     : clear ? sc_cache_clear(cx, dir, &s)
                             : sc_cache_info(cx, dir, &s);
  if (status != SC_OK) {
    report_context(cx);
    return EXIT_ENVIRONMENT;
  }
  if (verify)
    printf("%" PRId64 " entries, %" PRId64 " damaged\n", s.entries, s.damaged);
  else if (prune || clear)
    printf("removed %" PRId64 ", left %" PRId64 " entries of %" PRId64 " bytes\n", s.removed, s.entries, s.bytes);
  else
    return print_info(dir, &s);
  return verify && s.damaged ? EXIT_INPUT : EXIT_OK;
}

static int cache(const arguments *args) {
  static const char *const words[] = {"info", "verify", "prune", "clear", NULL};
  const char *word = args->operand;
  int at = 0;
  while (words[at] && strcmp(words[at], word)) at++;
  if (!words[at]) return usage_error("cache", "there is no \"%s\"; there are info, verify, prune and clear", word);
  int64_t bytes, age;
  if (!read_limits(args, &bytes, &age)) return EXIT_USAGE;
  if (strcmp(word, "prune") && (bytes >= 0 || age >= 0))
    return usage_error("cache", "--max-size and --max-age belong to prune");
  const char *dir = cache_root();
  if (!sc_cache_available()) {
    complain("this build has no cache (it needs nettle and zlib; Debian: nettle-dev, zlib1g-dev)");
    return EXIT_ENVIRONMENT;
  }
  if (!dir) {
    complain("there is no cache: SCALY_CACHE_DIR is empty, or there is no home folder");
    return EXIT_ENVIRONMENT;
  }
  sc_context *cx = sc_context_create(NULL);
  if (!cx) {
    complain("out of memory");
    return EXIT_ENVIRONMENT;
  }
  int code = act(cx, word, dir, bytes, age);
  sc_context_destroy(cx);
  return code;
}

static const option_spec options[] = {
    {"max-size", 0, "BYTES", "prune: what may stay, in bytes or with K, M or G; least recently used goes first."},
    {"max-age", 0, "TIME", "prune: how long since the last use, in seconds or with m, h or d."},
    {0},
};
const command_spec command_cache = {
    "cache",
    "info|verify|prune|clear",
    "Tells about the cache of compiled code, checks it, or makes it smaller.",
    "The folder is SCALY_CACHE_DIR, else XDG_CACHE_HOME/scaly/jit, else ~/.cache/scaly/jit. An empty\n"
    "SCALY_CACHE_DIR switches the cache off.\n",
    options,
    cache,
};
