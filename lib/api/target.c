/* Owns the public functions of scaly/target.h that can fail or that tell what vector math there is. */
#include <string.h>

#include "lib/target/target.h"
#include "lib/target/vector_math.h"

sc_status sc_target_preset(const char *name, sc_target *out) {
  if (!name || !out) return SC_ERR_ARGUMENT;
  return sci_target_find(name, out) ? SC_OK : SC_ERR_NAME;
}

static const char *const libraries[SCI_VECTOR_LIBS] = {[SCI_VECTOR_GLIBC] = "glibc", [SCI_VECTOR_SLEEF] = "sleef"};

bool sc_vector_routine_at(size_t i, sc_vector_routine *out) {
  int op;
  sc_dtype dtype;
  sci_vector_routine r;
  if (!out || !sci_vector_routine_at(i, &op, &dtype, &r)) return false;
  *out = (sc_vector_routine){
      .op = op == SCI_VECTOR_SINCOS ? "sincos" : sci_ops[op].name, .dtype = dtype, .lanes = r.lanes};
  memcpy(out->name, r.name, sizeof out->name);
  out->library = libraries[r.lib];
  out->isa = (sc_isa)r.isa;
  out->max_ulp = r.ulp;
  out->installed = sci_vector_routine_address((sci_vector_lib)r.lib, r.name) != NULL;
  out->runs = sci_isa_runs(sci_target_host()->isa, (sc_isa)r.isa);
  return true;
}

const char *sc_vector_library_version(const char *library) {
  for (int i = 0; library && i < SCI_VECTOR_LIBS; i++)
    if (strcmp(library, libraries[i]) == 0) return sci_vector_library_version((sci_vector_lib)i);
  return NULL;
}
