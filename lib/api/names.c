/* Owns telling gdb (its JIT interface) and perf (its map file) what compiled code is called. */
#define _POSIX_C_SOURCE 200809L
#include "lib/api/names.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/api/describe.h"

/* ---- gdb: "JIT Compilation Interface" of its manual. It stops at the function and reads the list; it finds both by
 * name. ---- */

typedef struct jit_code_entry {
  struct jit_code_entry *next, *prev;
  const char *file;
  uint64_t size;
} jit_code_entry;

typedef struct jit_descriptor {
  uint32_t version, action;
  jit_code_entry *relevant, *first;
} jit_descriptor;

enum { NOTHING, REGISTER, UNREGISTER };

__attribute__((used)) static jit_descriptor __jit_debug_descriptor = {.version = 1};

__attribute__((used, noinline)) static void __jit_debug_register_code(void) {
  __asm__ volatile("" ::: "memory");
}

static void tell_gdb(jit_code_entry *e, uint32_t action) {
  __jit_debug_descriptor.action = action;
  __jit_debug_descriptor.relevant = e;
  __jit_debug_register_code();
}

static void insert(jit_code_entry *e) {
  e->next = __jit_debug_descriptor.first;
  if (e->next) e->next->prev = e;
  __jit_debug_descriptor.first = e;
  tell_gdb(e, REGISTER);
}

static void erase(jit_code_entry *e) {
  if (e->prev)
    e->prev->next = e->next;
  else
    __jit_debug_descriptor.first = e->next;
  if (e->next) e->next->prev = e->prev;
  tell_gdb(e, UNREGISTER);
}

/* ---- what is told ---- */

enum { TIERS = 2 };

typedef struct object {
  jit_code_entry entry; /* first: gdb's list is of these */
  char *file;
} object;

struct sci_names {
  unsigned wanted;
  size_t n, text_size;
  object objects[TIERS];
  size_t n_objects;
  size_t offsets[]; /* of each name in the text, which follows */
};

static char *text_of(const sci_names *names) {
  return (char *)(uintptr_t)(names->offsets + names->n);
}

sci_names *sci_names_make(unsigned wanted, const sci_description *kernels, size_t n) {
  size_t text = 1; /* the empty name first, as string tables have it */
  sci_description_reader r;
  const char *name = "";
  for (size_t i = 0; i < n && wanted; i++) text += sci_description_begin(&r, kernels[i], &name) ? strlen(name) + 1 : 1;
  sci_names *names = wanted ? calloc(1, sizeof *names + n * sizeof *names->offsets + text) : NULL;
  if (!names) return NULL;
  names->wanted = wanted;
  names->n = n;
  names->text_size = text;
  size_t at = 1;
  for (size_t i = 0; i < n; i++) {
    if (!sci_description_begin(&r, kernels[i], &name)) name = "";
    names->offsets[i] = at;
    memcpy(text_of(names) + at, name, strlen(name) + 1);
    at += strlen(name) + 1;
  }
  return names;
}

/* Code of a kernel reaches to the next one's, the last one's to the end: that of callees lies in between. */
static size_t extent(const sc_entry *entries, size_t n, size_t i, size_t code_bytes) {
  uintptr_t here = (uintptr_t)entries[i], first = here, end;
  for (size_t k = 0; k < n; k++)
    if ((uintptr_t)entries[k] < first) first = (uintptr_t)entries[k];
  end = first + code_bytes;
  for (size_t k = 0; k < n; k++)
    if ((uintptr_t)entries[k] > here && (uintptr_t)entries[k] < end) end = (uintptr_t)entries[k];
  return end > here ? end - here : 1;
}

/* An ELF file that has sections and symbols but no contents: null, instructions, symbols, names. */
static char *make_object(const sci_names *names, const sc_entry *entries, size_t code_bytes, size_t *size) {
  enum { SECTIONS = 4, TEXT = 1, SYMBOLS = 2, NAMES = 3 };
  size_t symbols = sizeof(Elf64_Ehdr) + SECTIONS * sizeof(Elf64_Shdr),
         texts = symbols + (names->n + 1) * sizeof(Elf64_Sym);
  static const char own[] = ".text";
  *size = texts + names->text_size + sizeof own;
  char *file = calloc(1, *size);
  if (!file) return NULL;
  Elf64_Ehdr *h = (Elf64_Ehdr *)(void *)file;
  *h = (Elf64_Ehdr){.e_type = ET_REL,
                    .e_version = EV_CURRENT,
                    .e_shoff = sizeof *h,
                    .e_ehsize = sizeof *h,
                    .e_shentsize = sizeof(Elf64_Shdr),
                    .e_shnum = SECTIONS,
                    .e_shstrndx = NAMES};
#if defined(__x86_64__)
  h->e_machine = EM_X86_64;
#elif defined(__aarch64__)
  h->e_machine = EM_AARCH64;
#endif
  memcpy(h->e_ident, ELFMAG, SELFMAG);
  h->e_ident[EI_CLASS] = ELFCLASS64;
  h->e_ident[EI_DATA] = ELFDATA2LSB;
  h->e_ident[EI_VERSION] = EV_CURRENT;
  uintptr_t base = (uintptr_t)entries[0];
  for (size_t i = 0; i < names->n; i++)
    if ((uintptr_t)entries[i] < base) base = (uintptr_t)entries[i];
  Elf64_Shdr *s = (Elf64_Shdr *)(void *)(file + sizeof *h);
  s[TEXT] = (Elf64_Shdr){.sh_name = (uint32_t)names->text_size,
                         .sh_type = SHT_NOBITS,
                         .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                         .sh_addr = base,
                         .sh_size = code_bytes,
                         .sh_addralign = 16};
  s[SYMBOLS] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
                            .sh_offset = symbols,
                            .sh_size = texts - symbols,
                            .sh_link = NAMES,
                            .sh_info = 1,
                            .sh_entsize = sizeof(Elf64_Sym),
                            .sh_addralign = 8};
  s[NAMES] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = texts, .sh_size = *size - texts, .sh_addralign = 1};
  Elf64_Sym *symbol = (Elf64_Sym *)(void *)(file + symbols);
  for (size_t i = 0; i < names->n; i++)
    symbol[i + 1] = (Elf64_Sym){.st_name = (uint32_t)names->offsets[i],
                                .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                                .st_shndx = TEXT,
                                .st_value = (uintptr_t)entries[i] - base,
                                .st_size = extent(entries, names->n, i, code_bytes)};
  memcpy(file + texts, text_of(names), names->text_size);
  memcpy(file + texts + names->text_size, own, sizeof own);
  return file;
}

static void write_map(const sci_names *names, const sc_entry *entries, size_t code_bytes) {
  char path[40], line[300];
  snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
  int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
  for (size_t i = 0; file >= 0 && i < names->n; i++) {
    int n = snprintf(line, sizeof line, "%llx %zx %s\n", (unsigned long long)(uintptr_t)entries[i],
                     extent(entries, names->n, i, code_bytes), text_of(names) + names->offsets[i]);
    if (n > 0 && (size_t)n < sizeof line && write(file, line, (size_t)n) != n) break; /* a profile without names */
  }
  if (file >= 0) close(file);
}

void sci_names_tell(sci_names *names, const sc_entry *entries, size_t code_bytes) {
  if (names->wanted & SC_NAMES_PERF) write_map(names, entries, code_bytes);
  if (!(names->wanted & SC_NAMES_GDB) || names->n_objects == TIERS) return;
  size_t size;
  object *o = &names->objects[names->n_objects];
  o->file = make_object(names, entries, code_bytes, &size);
  if (!o->file) return;
  names->n_objects++;
  o->entry = (jit_code_entry){.file = o->file, .size = size};
  insert(&o->entry);
}

void sci_names_forget(sci_names *names) {
  for (size_t i = 0; names && i < names->n_objects; i++) {
    erase(&names->objects[i].entry);
    free(names->objects[i].file);
  }
  free(names);
}
