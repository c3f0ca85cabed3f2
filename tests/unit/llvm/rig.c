/* Owns the rig that builds and compiles programs for the tests of the LLVM backend. */
#include "rig.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>

const sci_backend *rig_backend(void) {
  static const sci_backend *backend;
  if (backend) return backend;
  void *lib = dlopen(SCALY_TEST_PLUGIN_DIR "/libscaly-llvm.so", RTLD_NOW | RTLD_LOCAL);
  cr_assert(lib, "%s", dlerror());
  sci_plugin_fn open;
  *(void **)&open = dlsym(lib, SCI_PLUGIN_SYMBOL);
  cr_assert(open);
  backend = open();
  cr_assert_eq(backend->abi, SCI_BACKEND_ABI);
  return backend;
}

void rig_begin(rig *r, const char *target) {
  memset(r, 0, sizeof *r);
  sci_env_init(&r->env, NULL);
  if (!SCI_TRY(&r->env, &r->frame)) cr_assert_fail("%s", r->env.diags[0].message);
  r->s = sci_store_create(&r->env);
  r->p = sci_program_create(NULL, r->s);
  r->p->name = "f";
  cr_assert(sci_target_find(target, &r->p->target));
  sci_block_begin(&r->b, r->s);
}

static sci_buf param(rig *r, sc_dtype dtype, sci_space space, int64_t size) {
  return r->params[r->n_in + r->n_out] = sci_new_buf(r->s, dtype, space, size, NULL);
}

sci_buf rig_in(rig *r, sc_dtype dtype, int64_t size) {
  sci_buf b = param(r, dtype, SCI_SPACE_INPUT, size);
  r->n_in++;
  return b;
}

sci_buf rig_out(rig *r, sc_dtype dtype, int64_t size) {
  sci_buf b = param(r, dtype, SCI_SPACE_OUTPUT, size);
  r->n_out++;
  return b;
}

sci_buf rig_local(rig *r, sc_dtype dtype, int64_t size, bool in_workspace, int64_t offset) {
  sci_buf b = sci_new_buf(r->s, dtype, SCI_SPACE_PRIVATE, size, NULL);
  r->locals[r->n_locals++] = (sci_local){.buf = b, .in_workspace = in_workspace, .offset = offset};
  return b;
}

uint32_t rig_proc(rig *r, const char *name) {
  sci_arena *a = &r->s->arena;
  sci_proc *p = SCI_NEW(a, sci_proc);
  sci_buf *params = SCI_ARRAY(a, sci_buf, r->n_in + r->n_out);
  sci_local *locals = SCI_ARRAY(a, sci_local, r->n_locals);
  memcpy(params, r->params, (r->n_in + r->n_out) * sizeof *params);
  memcpy(locals, r->locals, r->n_locals * sizeof *locals);
  *p = (sci_proc){.name = sci_strdup(a, name),
                  .n_in = r->n_in,
                  .n_out = r->n_out,
                  .n_locals = r->n_locals,
                  .params = params,
                  .locals = locals,
                  .body = sci_block_end(&r->b, r->s),
                  .workspace_self = r->workspace_self,
                  .workspace_total = r->workspace_total,
                  .stack_self = r->stack_self};
  sci_vec_push(a, &r->procs, p);
  r->n_in = r->n_out = r->n_locals = 0;
  r->workspace_self = r->workspace_total = r->stack_self = 0;
  sci_block_begin(&r->b, r->s);
  return (uint32_t)r->procs.n - 1;
}

void rig_ready(rig *r) {
  r->p->n_procs = (uint32_t)r->procs.n;
  r->p->procs = r->procs.data;
  const sci_proc *entry = sci_entry(r->p);
  sci_port_info *ports = SCI_ZEROS(&r->s->arena, sci_port_info, entry->n_in + entry->n_out);
  for (uint32_t i = 0; i < entry->n_in + entry->n_out; i++) {
    const sci_buffer *b = &r->s->bufs[entry->params[i]];
    ports[i] =
        (sci_port_info){.name = sci_asprintf(&r->s->arena, "p%u", i), .dtype = b->dtype, .rank = 1, .shape = {b->size}};
  }
  r->p->ports = ports;
  sci_program_check(r->p);
  sci_keep(&r->env, r->p);
  sci_leave(&r->env, &r->frame);
}

sc_status rig_try_way(rig *r, unsigned way, sci_code *out) {
  bool linked = way & RIG_LINKED;
  sc_tier tier = way & RIG_FAST ? SC_TIER_FAST : SC_TIER_BEST;
  sci_compile_request request = {.program = r->p, .tier = tier, .linked = linked};
  sc_status status = SC_OK;
  if (way == RIG_FAST) status = sci_backend_x86.compile(&r->env, &request, out);
  if (status == SC_OK && !out->entry) status = rig_backend()->compile(&r->env, &request, out);
  cr_expect(status != SC_OK || tier == SC_TIER_FAST || !out->image == linked, "%s", out->refusal);
  cr_expect(status != SC_OK || out->tier == tier);
  free(out->image);
  out->image = NULL;
  return status;
}

/* In all ways by turns: what every test expects holds for each. */
sc_status rig_try(rig *r, sci_code *out) {
  static atomic_uint turn;
  return rig_try_way(r, atomic_fetch_add(&turn, 1) % RIG_WAYS, out);
}

static sci_code succeeded(rig *r, sc_status status, sci_code c) {
  cr_assert_eq(status, SC_OK, "%s", r->env.n_diags ? r->env.diags[0].message : "no diagnostic");
  cr_assert(c.entry && c.code_bytes > 0);
  return c;
}

sci_code rig_compile(rig *r) {
  sci_code c = {0};
  sc_status status = rig_try(r, &c);
  return succeeded(r, status, c);
}

sci_code rig_compile_way(rig *r, unsigned way) {
  sci_code c = {0};
  sc_status status = rig_try_way(r, way, &c);
  return succeeded(r, status, c);
}

void rig_end(rig *r) {
  sci_program_free(r->p);
  sci_env_free(&r->env);
  cr_assert_eq(r->env.held, 0);
}
