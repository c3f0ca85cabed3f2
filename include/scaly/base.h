/* Status codes, data types and the export macro: what every other public header needs. */
#ifndef SCALY_BASE_H
#define SCALY_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define SC_BEGIN_DECLS extern "C" {
#define SC_END_DECLS }
#else
#define SC_BEGIN_DECLS
#define SC_END_DECLS
#endif

#if defined(__GNUC__)
#define SC_API __attribute__((visibility("default")))
#else
#define SC_API
#endif

SC_BEGIN_DECLS

#define SC_VERSION_MAJOR 0
#define SC_VERSION_MINOR 1
#define SC_VERSION_PATCH 0

/* The largest number of dimensions of a tensor, and the largest number of elements. */
#define SC_MAX_RANK 8
#define SC_MAX_ELEMENTS INT64_C(2147483647)

typedef enum sc_status {
  SC_OK = 0,
  SC_ERR_SHAPE,       /* shapes do not fit the operation */
  SC_ERR_DTYPE,       /* data types do not fit the operation */
  SC_ERR_NAME,        /* a name is unknown, duplicate, empty or not allowed */
  SC_ERR_INDEX,       /* an index or axis is out of range */
  SC_ERR_OVERFLOW,    /* a size exceeds its limit */
  SC_ERR_ARGUMENT,    /* an argument has a value the function does not take */
  SC_ERR_STALE,       /* a handle from before sc_context_collect, or of another context */
  SC_ERR_PARSE,       /* text is malformed; the diagnostic has line and column */
  SC_ERR_VERIFY,      /* a graph or program breaks a rule of its dialect */
  SC_ERR_IO,          /* a file or folder could not be read or written */
  SC_ERR_MEMORY,      /* an allocation failed */
  SC_ERR_UNAVAILABLE, /* this build or machine lacks what is needed (LLVM, a compiler) */
  SC_ERR_BACKEND,     /* a backend refused or failed; the message is the backend's */
} sc_status;

/* The short lower-case name of a status ("shape", "parse", ...). */
SC_API const char *sc_status_name(sc_status status);

typedef enum sc_dtype { SC_FLOAT64 = 0, SC_FLOAT32, SC_INT64, SC_INT32, SC_BOOL } sc_dtype;
#define SC_DTYPE_COUNT 5

SC_API const char *sc_dtype_name(sc_dtype dtype); /* "float64", ... */
SC_API size_t sc_dtype_size(sc_dtype dtype);      /* bytes per element */

SC_END_DECLS

#endif
