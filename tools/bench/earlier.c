/* Owns the comparison with the lines of an earlier run. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench/records.h"

static const char *text_of(const cJSON *line, const char *name) {
  const cJSON *v = cJSON_GetObjectItemCaseSensitive(line, name);
  return cJSON_IsString(v) ? v->valuestring : "";
}

static double number_of(const cJSON *line, const char *name) {
  const cJSON *v = cJSON_GetObjectItemCaseSensitive(line, name);
  return cJSON_IsNumber(v) ? v->valuedouble : -1;
}

static const record *find(const records *r, const cJSON *line) {
  for (size_t i = 0; i < r->n; i++) {
    const record *one = &r->all[i];
    if (!strcmp(one->workload, text_of(line, "workload")) && !strcmp(one->size, text_of(line, "size")) &&
        !strcmp(one->kernel, text_of(line, "kernel")) && !strcmp(one->way, text_of(line, "way")) &&
        !strcmp(one->tier, text_of(line, "tier")))
      return one;
  }
  return NULL;
}

/* The least that counts: what two runs of the same code differ by on a quiet machine. */
static const double least_change = 0.03;

/* Whether it became slower by more than the noise. */
static bool compare_line(const records *r, const cJSON *line, FILE *to, int *compared) {
  const record *now = find(r, line);
  double before = number_of(line, "ns"), spread = number_of(line, "spread");
  if (!now || before <= 0 || now->ns <= 0) return false;
  double change = now->ns / before - 1, noise = fmax(least_change, fmax(spread, 0) + now->spread);
  ++*compared;
  if (change > noise)
    fprintf(to, "slower: %s %s %s %s %s: %.1f ns, was %.1f, %+.1f%% where the noise is %.1f%%\n", now->workload,
            now->size, now->kernel, now->way, now->tier, now->ns, before, 100 * change, 100 * noise);
  return change > noise;
}

int compare_with_earlier(const records *r, const char *file, FILE *to) {
  FILE *from = fopen(file, "r");
  if (!from) return -1;
  char *text = NULL;
  size_t room = 0;
  int slower = 0, compared = 0, lines = 0;
  while (getline(&text, &room, from) > 0) {
    cJSON *line = cJSON_Parse(text);
    if (!line) continue;
    lines++;
    slower += compare_line(r, line, to, &compared);
    cJSON_Delete(line);
  }
  free(text);
  fclose(from);
  if (!lines) return -1;
  fprintf(to, "compared with %s: %d of %d measurements became slower\n", file, slower, compared);
  return slower;
}
