/* Owns turning an object file into an image: sections side by side, relocations resolved, calls to routines through
 * pointers. */
#include "backends/llvm/image.h"

#include <elf.h>
#include <limits.h>
#include <stdlib.h>

#include "backends/llvm/relocations.h"

enum { APART = 64 }; /* bytes between instructions and constants: a line of the cache */
#define NOWHERE SIZE_MAX

typedef struct object {
  sci_env *env;
  const char *data;
  size_t size;
  const sci_relocations *known;
  const Elf64_Shdr *sections;
  uint32_t n_sections;
  const char *section_names, *symbol_names;
  const Elf64_Sym *symbols;
  uint32_t n_symbols;
  size_t *at;            /* per section: its place in the blob */
  uint32_t *slot;        /* per symbol: number of its pointer + 1 */
  const char **external; /* per pointer: the routine */
  uint32_t n_external;
  size_t stubs, slots, code_bytes, total;
  const char *refusal;
} object;

static bool refuse(object *o, const char *why) {
  if (!o->refusal) o->refusal = why;
  return false;
}

static const char *name_of(const object *o, const Elf64_Sym *s) {
  return o->symbol_names + s->st_name;
}

static bool open_object(object *o) {
  const Elf64_Ehdr *h = (const Elf64_Ehdr *)o->data;
  if (o->size >= sizeof *h && !memcmp(h->e_ident, ELFMAG, SELFMAG) && h->e_ident[EI_CLASS] == ELFCLASS64)
    o->known = sci_relocations_of(h->e_machine);
  if (!o->known) return refuse(o, "the loader does not know the code of this kind of processor");
  o->sections = (const Elf64_Shdr *)(o->data + h->e_shoff);
  o->n_sections = h->e_shnum;
  o->section_names = o->data + o->sections[h->e_shstrndx].sh_offset;
  o->at = SCI_ARRAY(&o->env->scratch, size_t, o->n_sections);
  for (uint32_t i = 0; i < o->n_sections; i++) {
    const Elf64_Shdr *s = &o->sections[i];
    o->at[i] = NOWHERE;
    if (s->sh_type != SHT_SYMTAB) continue;
    o->symbols = (const Elf64_Sym *)(o->data + s->sh_offset);
    o->n_symbols = (uint32_t)(s->sh_size / sizeof *o->symbols);
    o->symbol_names = o->data + o->sections[s->sh_link].sh_offset;
  }
  o->slot = SCI_ZEROS(&o->env->scratch, uint32_t, o->n_symbols);
  o->external = SCI_ARRAY(&o->env->scratch, const char *, o->n_symbols);
  return o->symbols || refuse(o, "the object has no symbols");
}

/* Tables for unwinding are left out: nothing here unwinds, and frame pointers are what backtraces go by. */
static bool is_placed(const object *o, const Elf64_Shdr *s) {
  return s->sh_flags & SHF_ALLOC && s->sh_size && strcmp(o->section_names + s->sh_name, ".eh_frame");
}

static size_t align_to(size_t n, size_t alignment) {
  return alignment > 1 ? (n + alignment - 1) & ~(alignment - 1) : n;
}

static bool place_sections(object *o, bool code) {
  for (uint32_t i = 0; i < o->n_sections; i++) {
    const Elf64_Shdr *s = &o->sections[i];
    if (!is_placed(o, s) || (s->sh_flags & SHF_EXECINSTR ? true : false) != code) continue;
    if (s->sh_flags & (SHF_WRITE | SHF_TLS) || s->sh_type != SHT_PROGBITS)
      return refuse(o, sci_asprintf(&o->env->scratch, "section %s is not plain constants or code",
                                    o->section_names + s->sh_name));
    if (s->sh_addralign > 4096) return refuse(o, "a section wants more than a page's alignment");
    o->at[i] = o->total = align_to(o->total, s->sh_addralign);
    o->total += s->sh_size;
  }
  return true;
}

/* ---- relocations ---- */

typedef bool (*relocation_fn)(object *o, unsigned char *blob, const Elf64_Shdr *target, size_t section,
                              const Elf64_Rela *r);

static bool each_relocation(object *o, unsigned char *blob, relocation_fn f) {
  for (uint32_t i = 0; i < o->n_sections; i++) {
    const Elf64_Shdr *s = &o->sections[i];
    if (s->sh_type == SHT_REL && o->at[s->sh_info] != NOWHERE) return refuse(o, "relocations without addends");
    if (s->sh_type != SHT_RELA || o->at[s->sh_info] == NOWHERE) continue;
    const Elf64_Rela *r = (const Elf64_Rela *)(o->data + s->sh_offset);
    for (size_t k = 0; k < s->sh_size / sizeof *r; k++)
      if (!f(o, blob, &o->sections[s->sh_info], o->at[s->sh_info], &r[k])) return false;
  }
  return true;
}

/* Only distances within the blob, calls, and loads of a routine's address are known. */
static bool collect(object *o, unsigned char *blob, const Elf64_Shdr *target, size_t section, const Elf64_Rela *r) {
  (void)blob, (void)target, (void)section;
  uint32_t type = (uint32_t)ELF64_R_TYPE(r->r_info), index = (uint32_t)ELF64_R_SYM(r->r_info);
  const Elf64_Sym *s = &o->symbols[index];
  bool outside = s->st_shndx == SHN_UNDEF;
  bool known = outside ? o->known->call(type) || o->known->pointer(type) : o->known->inside(type);
  if (!known)
    return refuse(o, sci_asprintf(&o->env->scratch, "relocation type %u against '%s' is unknown to the loader", type,
                                  name_of(o, s)));
  if (!outside)
    return (s->st_shndx < o->n_sections && o->at[s->st_shndx] != NOWHERE) ||
           refuse(o, "a symbol lies in no section that is kept");
  if (o->slot[index]) return true;
  o->external[o->n_external++] = name_of(o, s);
  o->slot[index] = o->n_external;
  return true;
}

static bool resolve(object *o, unsigned char *blob, const Elf64_Shdr *target, size_t section, const Elf64_Rela *r) {
  uint32_t type = (uint32_t)ELF64_R_TYPE(r->r_info), index = (uint32_t)ELF64_R_SYM(r->r_info), slot = o->slot[index];
  size_t width = o->known->width(type), to;
  if (r->r_offset > target->sh_size || target->sh_size - r->r_offset < width)
    return refuse(o, "a relocation lies outside its section");
  if (!slot)
    to = o->at[o->symbols[index].st_shndx] + o->symbols[index].st_value;
  else if (o->known->pointer(type))
    to = o->slots + (slot - 1) * sizeof(uint64_t);
  else
    to = o->stubs + (slot - 1) * SCI_STUB;
  return o->known->resolve(blob, section + r->r_offset, type, (int64_t)to + r->r_addend) ||
         refuse(o, "something is out of reach");
}

static void write_stubs(const object *o, unsigned char *blob) {
  for (uint32_t i = 0; i < o->n_external; i++)
    o->known->stub(blob, o->stubs + i * SCI_STUB, o->slots + i * sizeof(uint64_t));
}

/* ---- the result ---- */

static bool lay_out(object *o) {
  if (!place_sections(o, true)) return false;
  size_t code = o->total;
  if (!place_sections(o, false)) return false;
  if (!each_relocation(o, NULL, collect)) return false;
  /* Again, now that it is known how much room the stubs need between code and constants. */
  o->stubs = align_to(code, SCI_STUB);
  o->code_bytes = o->stubs + (size_t)o->n_external * SCI_STUB;
  o->total = align_to(o->code_bytes, APART);
  if (!place_sections(o, false)) return false;
  o->slots = align_to(o->total, 16);
  o->total = o->slots + (size_t)o->n_external * sizeof(uint64_t);
  return o->total <= INT32_MAX || refuse(o, "the code is larger than 2 GiB");
}

static bool find_entry(object *o, const char *name, uint32_t *entry) {
  for (uint32_t i = 0; i < o->n_symbols; i++) {
    const Elf64_Sym *s = &o->symbols[i];
    if (s->st_shndx == SHN_UNDEF || s->st_shndx >= o->n_sections || o->at[s->st_shndx] == NOWHERE ||
        strcmp(name_of(o, s), name))
      continue;
    *entry = (uint32_t)(o->at[s->st_shndx] + s->st_value);
    return true;
  }
  return refuse(o, "an entry point is missing");
}

/* Header, entries, symbols, names and blob in one block. */
static sci_image *assemble(object *o, uint32_t n_entries) {
  size_t names = 0;
  for (uint32_t i = 0; i < o->n_external; i++) names += strlen(o->external[i]) + 1;
  size_t symbols = sizeof(sci_image), entries = symbols + o->n_external * sizeof(char *),
         texts = entries + n_entries * sizeof(uint32_t);
  size_t blob = align_to(texts + names, 64);
  char *block = calloc(1, blob + o->total);
  if (!block) sci_fail(o->env, SC_ERR_MEMORY, "out of memory: %zu bytes of code", blob + o->total);
  const char **symbol = (const char **)(void *)(block + symbols);
  char *text = block + texts;
  for (uint32_t i = 0; i < o->n_external; i++) {
    size_t n = strlen(o->external[i]) + 1;
    symbol[i] = memcpy(text, o->external[i], n);
    text += n;
  }
  sci_image *im = (sci_image *)(void *)block;
  *im = (sci_image){.blob = (unsigned char *)block + blob,
                    .size = o->total,
                    .slots = o->slots,
                    .code_bytes = o->code_bytes,
                    .symbols = symbol,
                    .n_symbols = o->n_external,
                    .n_entries = n_entries,
                    .entries = (const uint32_t *)(void *)(block + entries)};
  return im;
}

static bool fill(object *o, sci_image *im, const char *const *entries) {
  unsigned char *blob = (unsigned char *)(uintptr_t)im->blob;
  uint32_t *entry = (uint32_t *)(uintptr_t)im->entries;
  for (uint32_t i = 0; i < o->n_sections; i++)
    if (o->at[i] != NOWHERE) memcpy(blob + o->at[i], o->data + o->sections[i].sh_offset, o->sections[i].sh_size);
  write_stubs(o, blob);
  for (uint32_t i = 0; i < im->n_entries; i++)
    if (!find_entry(o, entries[i], &entry[i])) return false;
  return each_relocation(o, blob, resolve);
}

sci_image *sci_llvm_image(sci_env *env, const char *data, size_t size, const char *const *entries, uint32_t n,
                          const char **refusal) {
  object o = {.env = env, .data = data, .size = size};
  sci_image *im = NULL;
  if (open_object(&o) && lay_out(&o)) {
    im = assemble(&o, n);
    if (!fill(&o, im, entries)) {
      free(im);
      im = NULL;
    }
  }
  *refusal = o.refusal;
  return im;
}
