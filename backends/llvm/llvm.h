/* What the parts of the LLVM plugin share: the guarded session with LLVM, and the emitter that spells a program as a
 * module.
 *
 * Only LLVM's C API is used. sci_fail() may be called wherever no frame of LLVM's is on the stack, so never in a
 * callback: those leave their text in the guard. What LLVM made and nobody owns yet is on the environment's cleanup
 * list. */
#ifndef SCI_BACKENDS_LLVM_LLVM_H
#define SCI_BACKENDS_LLVM_LLVM_H

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm/Config/llvm-config.h>

#include "lib/base/env.h"
#include "lib/module/backend.h"
#include "lib/program/lanes.h"

#if LLVM_VERSION_MAJOR < 19
#error "LLVM 19 or newer is needed"
#endif

/* ---- session.c: entering LLVM, and its fatal errors ---- */

/* One thread's stay inside LLVM. A fatal error jumps back to `jump`, after which nothing of LLVM's may be touched
 * again. */
typedef struct sci_llvm_guard {
  jmp_buf jump;
  bool armed;
  bool linking;       /* holds the lock of the link session */
  char message[1024]; /* the first thing LLVM said went wrong */
} sci_llvm_guard;

void sci_llvm_start(void); /* registers what fork and LLVM's fatal errors need, once */
sci_llvm_guard *sci_llvm_guard_get(void);
/* Usage, inside a frame of the environment:
 *   sci_llvm_enter(env); if (setjmp(sci_llvm_guard_get()->jump)) sci_llvm_fatal(env); ... sci_llvm_exit();
 * Both ends pair up, also when a sci_fail() leaves the frame: the cleanup list sees to it. */
void sci_llvm_enter(sci_env *env); /* SC_ERR_BACKEND after an earlier fatal error */
void sci_llvm_exit(sci_env *env);
_Noreturn void sci_llvm_fatal(sci_env *env);
void sci_llvm_lock(void); /* the same without an environment; the caller sets the jump */
void sci_llvm_unlock(void);
bool sci_llvm_usable(void);
void sci_llvm_note(const char *message); /* keeps the first */

/* ---- target.c: the target machine of this thread for a target ---- */

typedef struct sci_llvm_machine {
  LLVMTargetMachineRef machine;
  const char *triple, *cpu, *features;
} sci_llvm_machine;

/* Made on first use by this thread and kept while the target stays the same. `native`: the code must run in this
 * process. */
const sci_llvm_machine *sci_llvm_machine_get(sci_env *env, const sc_target *target, bool native, bool fast);
LLVMTargetMachineRef
sci_llvm_machine_host(void); /* a new one, of the least this machine can be; NULL: noted in the guard */

/* ---- place.c: objects into this process ---- */

/* Takes the object. Fills entries, handle and release, and the image where there is one; without, the object is linked
 * by ORC. */
void sci_llvm_place(sci_env *env, LLVMMemoryBufferRef object, const char *const *symbols, size_t n, bool linked,
                    sci_code *out);

/* The same for an image made otherwise, which stays the caller's. */

/* ---- link.c: the same through ORC ---- */

void sci_llvm_link_unlock(void); /* for a thread that was thrown out of linking */
/* Takes the object. Fills entries, handle and release. The first call starts the JIT session. */
void sci_llvm_link(sci_env *env, LLVMMemoryBufferRef object, const char *const *symbols, size_t n, sci_code *out);

/* ---- the emitter ---- */

#define SCI_LLVM_FUNCTION ((LLVMAttributeIndex)LLVMAttributeFunctionIndex)
enum { SCI_LLVM_GROUPS = 64 }; /* storages told apart per procedure; with more, none are */

/* A value that is available: in the scope it was computed for and those inside. */
typedef struct sci_llvm_slot {
  LLVMValueRef value;
  uint32_t scope;     /* id of the scope; 0: everywhere */
  uint32_t level;     /* and its depth */
  uint32_t epoch;     /* of the mutable names it was computed from; 0: none */
  LLVMValueRef splat; /* a scalar in every lane of the loop that last asked for it */
} sci_llvm_slot;

/* A procedure's body or a loop's: code is appended to the end of the scope's current block. */
typedef struct sci_llvm_scope {
  LLVMBuilderRef builder;
  uint32_t id;
} sci_llvm_scope;

typedef struct sci_llvm_storage {
  LLVMValueRef base;
  uint32_t group; /* storages of different groups share no memory */
} sci_llvm_storage;

/* Metadata of one group: the list of its own scope, and of all others of the procedure. Made when first used. */
typedef struct sci_llvm_group {
  LLVMMetadataRef own;
  LLVMValueRef scope, others;
} sci_llvm_group;

/* An element of private memory that was just stored: the scalar, or the lane of a vector. */
typedef struct sci_llvm_kept {
  sci_buf storage;
  int64_t element;
  LLVMValueRef value;
  uint32_t lane;
} sci_llvm_kept;

typedef struct sci_llvm_emitter {
  sci_env *env;
  const sci_program *program;
  const sci_store *store;
  const sci_llvm_machine *target;
  LLVMContextRef cx;
  LLVMModuleRef module;
  bool is_guest;                        /* in a context and module of another's */
  LLVMTypeRef types[SC_DTYPE_COUNT];    /* of a value; bool is i1 */
  LLVMTypeRef elements[SC_DTYPE_COUNT]; /* of a buffer's element; bool is i8 */
  LLVMTypeRef ptr, i32, i64;
  LLVMValueRef *procs; /* per procedure */
  LLVMTypeRef *proc_types;
  LLVMTypeRef math_types[2][3]; /* float64, float32; by number of operands */
  LLVMAttributeRef math_attributes[3], nobuiltin;

  sci_llvm_slot *values, *names, *vars; /* per id of the store */
  sci_llvm_storage *storages;
  SCI_VEC(sci_llvm_scope) scopes; /* built ones; the first `depth` are open */
  size_t depth;
  uint32_t scope_ids, epoch;
  SCI_VEC(sci_val) pending; /* operands still to compute */

  bool names_shown, asan;
  unsigned md_scope, md_noalias; /* kinds of metadata */

  /* the vector loop that is being spelled in lanes */
  sci_lane_facts lanes;
  bool has_lanes; /* `lanes` covers the store */
  uint32_t width; /* lanes; 0: no such loop */
  /* A chunk with fewer iterations than lanes: which one each lane computes, counted from the first. NULL: its own. */
  LLVMValueRef *lane_at;

  SCI_VEC(sci_llvm_kept) kept; /* on the way from the last loop or call to here, later ones last */
  uint32_t unrolled;           /* what copies of loops' bodies have added to the module */
  sci_var chunk;               /* whose variable is a number, as the only chunk of a loop; SCI_NIL: none */
  int64_t chunk_start;

  LLVMValueRef function; /* being built */
  uint32_t proc;         /* its index + 1 */
  LLVMValueRef workspace;
  uint32_t groups; /* 0: not told apart */
  sci_llvm_group group[SCI_LLVM_GROUPS];
} sci_llvm_emitter;

/* emit.c: a program, into a module of its own or, with `into`, behind what that emitter has spelled. `symbol` is the
 * entry's. The emitter owns what it made, and is on the cleanup list. */
typedef enum sci_llvm_style {
  SCI_LLVM_PLAIN,
  SCI_LLVM_NAMES,
  SCI_LLVM_ASAN
} sci_llvm_style; /* for reading; with checked accesses */
sci_llvm_emitter *sci_llvm_emit(sci_env *env, const sci_program *p, const sci_llvm_machine *target, const char *symbol,
                                sci_llvm_style style, const sci_llvm_emitter *into);
void sci_llvm_verify(sci_env *env, LLVMModuleRef module); /* before anything is made of it */
void sci_llvm_emitter_free(void *emitter);
LLVMValueRef sci_llvm_table(sci_llvm_emitter *e, sci_buf buf); /* the global of a constant buffer */
void sci_llvm_scope_open(sci_llvm_emitter *e, LLVMBasicBlockRef block);
void sci_llvm_scope_close(sci_llvm_emitter *e);
static inline LLVMBuilderRef sci_llvm_builder(const sci_llvm_emitter *e) {
  return e->scopes.data[e->depth - 1].builder;
}

/* proc.c: procedures, their storage, the entry's interface. */
void sci_llvm_emit_proc(sci_llvm_emitter *e, uint32_t index); /* a callee: `<name>.raw`, pointers and workspace */
void sci_llvm_emit_entry(sci_llvm_emitter *e, const char *symbol);
const sci_llvm_group *sci_llvm_group_of(sci_llvm_emitter *e, uint32_t group);

/* value.c: sine and cosine of one scalar, in one call; what follows finds them computed. Of a vector or a constant:
 * nothing. */
void sci_llvm_sincos(sci_llvm_emitter *e, sci_val sine, sci_val cosine);

/* kept.c: what has been stored need not be loaded. Both take accesses at known elements, of as many lanes as `lanes`
 * says (1: a scalar). */
void sci_llvm_keep(sci_llvm_emitter *e, const sci_stmt *store, LLVMValueRef value, uint32_t lanes);
LLVMValueRef sci_llvm_kept_value(sci_llvm_emitter *e, const sci_stmt *load, uint32_t lanes); /* NULL: it is in memory */

/* unroll.c: how many copies of the body one trip of the code makes; all of them: there is no loop. */
uint32_t sci_llvm_copies(sci_llvm_emitter *e, const sci_loop *l, int64_t trips);

/* stmt.c */
void sci_llvm_emit_block(sci_llvm_emitter *e, sci_block block);

/* A scalar in every lane. */
LLVMValueRef sci_llvm_splat(sci_llvm_emitter *e, LLVMBuilderRef b, LLVMValueRef scalar);
/* In front of an access to n elements of so many bytes: AddressSanitizer's check of each, if that is asked for. */
void sci_llvm_check(sci_llvm_emitter *e, LLVMValueRef at, uint64_t bytes, uint32_t n, bool store);
/* What an access touches, for alias analysis. */
void sci_llvm_mark(sci_llvm_emitter *e, LLVMValueRef access, const sci_llvm_storage *storage);
void sci_llvm_set_name(sci_llvm_emitter *e, sci_name n, LLVMValueRef value);

/* lanes.c: the accesses of a block in lanes. Return false when the statement is to be spelled as it stands, in scalars.
 */
bool sci_llvm_lane_access(sci_llvm_emitter *e, sci_block block, uint32_t at, sci_runs *runs);

/* lane_math.c: a math function of vectors, by the routine that lib/target names (NULL: there is none), or by the scalar
 * routine lane by lane. */
LLVMValueRef sci_llvm_lane_call(sci_llvm_emitter *e, LLVMBuilderRef b, sci_op op, sc_dtype dtype, LLVMValueRef *args,
                                unsigned n);
LLVMValueRef sci_llvm_by_lane(sci_llvm_emitter *e, LLVMBuilderRef b, const char *name, LLVMTypeRef type,
                              LLVMValueRef *args, unsigned n);
LLVMValueRef sci_llvm_call_routine(sci_llvm_emitter *e, LLVMBuilderRef b, const char *name, LLVMTypeRef type,
                                   LLVMValueRef *args, unsigned n);
LLVMValueRef sci_llvm_part(sci_llvm_emitter *e, LLVMBuilderRef b, LLVMValueRef v, uint32_t from,
                           uint32_t n); /* lanes of a vector */
LLVMValueRef sci_llvm_joined(sci_llvm_emitter *e, LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y,
                             uint32_t n); /* n lanes each */

/* value.c: values where they are needed. */
LLVMValueRef sci_llvm_value(sci_llvm_emitter *e, sci_val v);
/* The slot of a value that was just computed: how far out it is available. */
sci_llvm_slot sci_llvm_slot_of(sci_llvm_emitter *e, sci_val v);
/* `element`: what lies side by side there; NULL: the buffer's elements. */
LLVMValueRef sci_llvm_address(sci_llvm_emitter *e, sci_buf buf, sci_val index, LLVMTypeRef element,
                              sci_llvm_storage *storage);
LLVMValueRef sci_llvm_const(sci_llvm_emitter *e, sc_dtype dtype, uint64_t bits);

/* ops.c: one operation on LLVM values, scalars or vectors alike. `from` is the operands' dtype, `to` the result's. */
LLVMValueRef sci_llvm_op(sci_llvm_emitter *e, LLVMBuilderRef b, sci_op op, sc_dtype from, sc_dtype to,
                         LLVMValueRef *args);

#endif
