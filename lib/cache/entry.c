/* Owns the format of an entry. */
#include "lib/cache/entry.h"

#include <stdlib.h>
#include <string.h>

#ifdef SCALY_CACHE
#include <zlib.h>

enum {
  VERSION = 3,
  COMPRESS_ABOVE = 256 << 10,
  LEVEL = 1,
  RAW = -15,
  MEMORY = 8,
  MOST_KERNELS = 1 << 20,
  MOST_SYMBOLS = 1 << 16
};
static const char magic[8] = "scalyjit";

/* In the byte order of the machine, as everything that an entry holds. Tables follow: sizes of the descriptions and of
 * the programs, entry points, the descriptions, the programs, the symbols' names; then the blob. */
typedef struct header {
  char magic[8];
  uint32_t version, header_crc; /* of the header, with this field zero */
  unsigned char key[SCI_DIGEST_SIZE];
  uint64_t file_size, tables_size, stored_size, blob_size, slots, code_bytes;
  uint32_t n_kernels, n_symbols, compressed, tables_crc, stored_crc, fast,
      pad[2]; /* a multiple of 16 bytes, all of them checked */
} header;

_Static_assert(sizeof(header) % 16 == 0, "no padding behind the header");

static size_t pad16(size_t n) {
  return (n + 15) & ~(size_t)15;
}

static uint32_t crc_of(const void *data, size_t n) {
  return (uint32_t)crc32_z(0, data, n);
}

static uint32_t header_crc(const header *h) {
  header copy = *h;
  copy.header_crc = 0;
  return crc_of(&copy, sizeof copy);
}

/* ---- encoding; without a base, only measuring ---- */

typedef struct writer {
  char *base;
  size_t used;
} writer;

static void put(writer *w, const void *data, size_t n) {
  if (w->base && n) memcpy(w->base + w->used, data, n);
  w->used += n;
}

static void align(writer *w) {
  w->used = pad16(w->used);
}

static void put_all(writer *w, const sci_bytes *all, uint32_t n) {
  for (uint32_t i = 0; all && i < n; i++) {
    align(w);
    put(w, all[i].data, all[i].size);
  }
}

static void put_tables(writer *w, const sci_cache_entry *e) {
  uint32_t n = e->image.n_entries;
  for (uint32_t i = 0; i < n; i++) put(w, &(uint64_t){e->kernels[i].size}, sizeof(uint64_t));
  for (uint32_t i = 0; i < n; i++) put(w, &(uint64_t){e->programs ? e->programs[i].size : 0}, sizeof(uint64_t));
  put(w, e->image.entries, n * sizeof(uint32_t));
  put_all(w, e->kernels, n);
  put_all(w, e->programs, n);
  align(w);
  for (uint32_t i = 0; i < e->image.n_symbols; i++) put(w, e->image.symbols[i], strlen(e->image.symbols[i]) + 1);
  align(w);
}

/* Streams without a header and a checksum of their own: the entry's covers them. */
static size_t deflate_blob(unsigned char *to, size_t room, const sci_image *im) {
  z_stream z = {
      .next_in = (Bytef *)(uintptr_t)im->blob, .avail_in = (uInt)im->size, .next_out = to, .avail_out = (uInt)room};
  if (deflateInit2(&z, LEVEL, Z_DEFLATED, RAW, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK) return 0;
  bool whole = deflate(&z, Z_FINISH) == Z_STREAM_END;
  deflateEnd(&z);
  return whole ? z.total_out : 0;
}

/* Nobody waits for what is made in the background, and it stays. */
static bool is_worth_packing(const sci_cache_entry *e) {
  return !e->fast && e->image.size > COMPRESS_ABOVE;
}

static size_t put_blob(unsigned char *to, size_t room, const sci_cache_entry *e, bool *compressed) {
  const sci_image *im = &e->image;
  size_t packed = is_worth_packing(e) ? deflate_blob(to, room, im) : 0;
  *compressed = packed && packed < im->size;
  if (*compressed) return packed;
  memcpy(to, im->blob, im->size);
  return im->size;
}

void *sci_cache_encode(const sci_cache_entry *e, size_t *size) {
  writer w = {.used = pad16(sizeof(header))};
  put_tables(&w, e);
  size_t tables = w.used, room = is_worth_packing(e) ? compressBound((uLong)e->image.size) : e->image.size;
  char *file = calloc(1, tables + room);
  if (!file) return NULL;
  w = (writer){file, pad16(sizeof(header))};
  put_tables(&w, e);
  bool compressed;
  size_t stored = put_blob((unsigned char *)file + tables, room, e, &compressed);
  header *h = (header *)(void *)file;
  *h = (header){.version = VERSION,
                .file_size = tables + stored,
                .tables_size = tables - pad16(sizeof(header)),
                .stored_size = stored,
                .blob_size = e->image.size,
                .slots = e->image.slots,
                .code_bytes = e->image.code_bytes,
                .n_kernels = e->image.n_entries,
                .n_symbols = e->image.n_symbols,
                .compressed = compressed,
                .fast = e->fast};
  memcpy(h->magic, magic, sizeof magic);
  memcpy(h->key, e->key, sizeof h->key);
  h->tables_crc = crc_of(file + pad16(sizeof(header)), h->tables_size);
  h->stored_crc = crc_of(file + tables, stored);
  h->header_crc = header_crc(h);
  *size = tables + stored;
  return file;
}

/* ---- decoding ---- */

static const char *check_header(const header *h, size_t size) {
  if (size < pad16(sizeof *h)) return "it is too short";
  if (memcmp(h->magic, magic, sizeof magic)) return "it is no entry of the cache";
  if (h->version != VERSION) return "it is of another version";
  if (h->header_crc != header_crc(h)) return "its header is damaged";
  if (h->file_size != size || h->tables_size > size || h->stored_size > size ||
      pad16(sizeof *h) + h->tables_size + h->stored_size != size)
    return "its size is wrong";
  if (!h->n_kernels || h->n_kernels > MOST_KERNELS || h->n_symbols > MOST_SYMBOLS || h->blob_size > INT32_MAX)
    return "its header makes no sense";
  return NULL;
}

typedef struct reader {
  const char *data;
  size_t size, at;
  bool broken;
} reader;

static const void *take(reader *r, size_t n) {
  if (r->broken || n > r->size - r->at) {
    r->broken = true;
    return NULL;
  }
  const void *p = r->data + r->at;
  r->at += n;
  return p;
}

static void take_padding(reader *r) {
  size_t next = pad16(r->at);
  if (next > r->size)
    r->broken = true;
  else
    r->at = next;
}

static void take_names(reader *r, uint32_t n, const char **names) {
  for (uint32_t i = 0; i < n && !r->broken; i++) {
    names[i] = r->data + r->at;
    const char *end = memchr(names[i], 0, r->size - r->at);
    if (end)
      r->at += (size_t)(end - names[i]) + 1;
    else
      r->broken = true;
  }
}

static bool read_tables(const header *h, const char *tables, sci_cache_entry *out) {
  reader r = {tables, h->tables_size, 0, false};
  size_t n = 2 * (size_t)h->n_kernels; /* the programs behind the kernels */
  sci_bytes *kernels = calloc(n + h->n_symbols, sizeof *kernels + sizeof(char *));
  if (!kernels) return false;
  const char **names = (const char **)(void *)(kernels + n);
  out->kernels = kernels;
  out->programs = kernels + h->n_kernels;
  const uint64_t *sizes = take(&r, n * sizeof *sizes);
  out->image.entries = take(&r, h->n_kernels * sizeof *out->image.entries);
  for (size_t i = 0; i < n && sizes && !r.broken; i++) {
    take_padding(&r);
    kernels[i] = (sci_bytes){take(&r, sizes[i]), sizes[i]};
  }
  take_padding(&r);
  take_names(&r, h->n_symbols, names);
  take_padding(&r);
  out->image.symbols = names;
  return !r.broken && r.at == r.size;
}

bool sci_cache_decode(const void *data, size_t size, sci_cache_entry *out, const char **why) {
  const header *h = data;
  *out = (sci_cache_entry){0};
  if ((*why = check_header(h, size))) return false;
  const char *tables = (const char *)data + pad16(sizeof *h);
  out->stored = tables + h->tables_size;
  out->stored_size = h->stored_size;
  out->compressed = h->compressed;
  out->fast = h->fast;
  memcpy(out->key, h->key, sizeof out->key);
  out->image = (sci_image){.size = h->blob_size,
                           .slots = h->slots,
                           .code_bytes = h->code_bytes,
                           .n_symbols = h->n_symbols,
                           .n_entries = h->n_kernels};
  *why = "it is damaged";
  bool sound = h->tables_crc == crc_of(tables, h->tables_size) &&
               h->stored_crc == crc_of(out->stored, h->stored_size) && read_tables(h, tables, out) &&
               sci_image_sound(&out->image) && (h->compressed || h->stored_size == h->blob_size);
  if (!sound) sci_cache_free(out);
  return sound;
}

void sci_cache_free(sci_cache_entry *e) {
  free((void *)(uintptr_t)e->kernels);
  e->kernels = NULL;
}

bool sci_cache_unpack(const sci_cache_entry *e, unsigned char *to) {
  if (!e->compressed) {
    memcpy(to, e->stored, e->image.size);
    return true;
  }
  z_stream z = {.next_in = (Bytef *)(uintptr_t)e->stored,
                .avail_in = (uInt)e->stored_size,
                .next_out = to,
                .avail_out = (uInt)e->image.size};
  if (inflateInit2(&z, RAW) != Z_OK) return false;
  bool whole = inflate(&z, Z_FINISH) == Z_STREAM_END && z.total_out == e->image.size;
  inflateEnd(&z);
  return whole;
}
#else
void *sci_cache_encode(const sci_cache_entry *e, size_t *size) {
  (void)e, (void)size;
  return NULL;
}

bool sci_cache_decode(const void *data, size_t size, sci_cache_entry *out, const char **why) {
  (void)data, (void)size, (void)out;
  *why = "this build has no cache";
  return false;
}

void sci_cache_free(sci_cache_entry *e) {
  (void)e;
}

bool sci_cache_unpack(const sci_cache_entry *e, unsigned char *to) {
  (void)e, (void)to;
  return false;
}
#endif
