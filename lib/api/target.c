/* Owns the public entry points of scaly/target.h that can fail. */
#include "lib/target/target.h"

sc_status sc_target_preset(const char *name, sc_target *out) {
  if (!name || !out) return SC_ERR_ARGUMENT;
  return sci_target_find(name, out) ? SC_OK : SC_ERR_NAME;
}
