/* Owns the reading of values from JSON: a number, an array nested as the shape or flat, or an object as `run` writes
 * for an output. */
#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "tools/scaly/report.h"
#include "tools/scaly/values.h"

typedef struct json_fill {
  value_source src;
  const sc_port *port;
  void *to;
  size_t n; /* values stored */
} json_fill;

static bool store_item(json_fill *f, const cJSON *item) {
  static const char *const names[] = {"inf", "-inf", "nan"};
  const double values[] = {INFINITY, -INFINITY, NAN};
  const char *problem = "is not a number";
  if (f->n >= (size_t)f->port->count)
    problem = "is one too many for the input";
  else if (cJSON_IsNumber(item) && isinf(item->valuedouble))
    problem = "is out of the range of float64";
  else if (cJSON_IsNumber(item))
    problem = store_double(f->port, f->to, f->n, item->valuedouble);
  else if (cJSON_IsBool(item) && f->port->dtype == SC_BOOL)
    problem = store_integer(f->port, f->to, f->n, cJSON_IsTrue(item));
  else if (cJSON_IsString(item))
    for (int k = 0; k < 3; k++)
      if (!strcmp(item->valuestring, names[k])) problem = store_double(f->port, f->to, f->n, values[k]);
  if (problem)
    complain("%s: value %zu %s (input %s of shape %s)", f->src.file, f->n, problem, f->port->name, shape_text(f->port));
  else
    f->n++;
  return !problem;
}

/* Arrays nested exactly as the shape from dimension d on. */
static bool fill_nested(json_fill *f, const cJSON *item, int d) {
  if (d == f->port->rank) return store_item(f, item);
  int have = cJSON_IsArray(item) ? cJSON_GetArraySize(item) : -1;
  if (have != f->port->shape[d]) {
    if (have < 0)
      complain("%s: dimension %d of the input %s (shape %s) is not an array", f->src.file, d, f->port->name,
               shape_text(f->port));
    else
      complain("%s: an array of %d where dimension %d of the input %s (shape %s) has %lld", f->src.file, have, d,
               f->port->name, shape_text(f->port), (long long)f->port->shape[d]);
    return false;
  }
  for (const cJSON *child = item->child; child; child = child->next)
    if (!fill_nested(f, child, d + 1)) return false;
  return true;
}

static bool fill_flat(json_fill *f, const cJSON *array) {
  for (const cJSON *child = array->child; child; child = child->next)
    if (!store_item(f, child)) return false;
  if (f->n == (size_t)f->port->count) return true;
  complain("%s: %zu values where the input %s of shape %s has %lld", f->src.file, f->n, f->port->name,
           shape_text(f->port), (long long)f->port->count);
  return false;
}

static bool shape_matches(const cJSON *shape, const sc_port *port) {
  if (!cJSON_IsArray(shape) || cJSON_GetArraySize(shape) != port->rank) return false;
  int d = 0;
  for (const cJSON *size = shape->child; size; size = size->next, d++)
    if (!cJSON_IsNumber(size) || !(size->valuedouble == (double)port->shape[d])) return false;
  return true;
}

static bool fill_object(json_fill *f, const cJSON *object) {
  const cJSON *shape = cJSON_GetObjectItemCaseSensitive(object, "shape"),
              *data = cJSON_GetObjectItemCaseSensitive(object, "data");
  if (!cJSON_IsArray(data)) {
    complain("%s: an object needs an array \"data\", and may have a \"shape\"", f->src.file);
    return false;
  }
  if (shape && !shape_matches(shape, f->port)) {
    complain("%s: its \"shape\" is not the shape of the input %s, %s", f->src.file, f->port->name, shape_text(f->port));
    return false;
  }
  return fill_flat(f, data);
}

bool read_json(value_source src, const sc_port *port, void *to) {
  const char *end = NULL;
  if (memchr(src.text, 0, src.size)) { /* cJSON would take a zero byte for the end */
    complain_at(src.file, src.text, src.size, strlen(src.text), "a zero byte in JSON text");
    return false;
  }
  cJSON *root = cJSON_ParseWithLengthOpts(src.text, src.size + 1, &end, true);
  if (!root) {
    size_t at = end && end >= src.text ? (size_t)(end - src.text) : 0;
    complain_at(src.file, src.text, src.size, at, at >= src.size ? "the JSON text ends too soon" : "malformed JSON");
    return false;
  }
  json_fill f = {src, port, to, 0};
  bool flat = cJSON_IsArray(root) && (port->rank > 1 && !cJSON_IsArray(root->child));
  bool ok = cJSON_IsObject(root) ? fill_object(&f, root) : flat ? fill_flat(&f, root) : fill_nested(&f, root, 0);
  cJSON_Delete(root);
  return ok;
}
