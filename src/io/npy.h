/* NumPy's .npy files, format 1.0, 2.0 and 3.0:
 * https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
 */
#ifndef STN_IO_NPY_H
#define STN_IO_NPY_H
#include <stdbool.h>

#include "io/array.h"
#include "io/output.h"

#define STN_NPY_MAGIC "\x93NUMPY"
#define STN_NPY_HEADER_MAX 65536 /* bytes of header text accepted; NumPy itself stops at 10000 */

typedef struct stn_npy_header {
    char kind;    /* 'f' float, 'i' signed, 'u' unsigned, 'b' bool */
    int item;     /* bytes a number: 1, 2, 4, 8 */
    int per;      /* numbers a value: 1, or 2 of a complex one (kind 'f') */
    bool swap;    /* the other byte order than this machine's */
    bool fortran; /* first axis fastest */
    int rank;     /* 0..STN_ARRAY_RANK */
    size_t extent[STN_ARRAY_RANK];
    size_t count;  /* product of the extents; count * per * item does not overflow */
    size_t offset; /* bytes before the values */
} stn_npy_header;

/* Reads the header from the first `size` bytes of a file. name is used in messages. Any bytes are
 * safe. Errors: STN_ERROR_FORMAT: not a .npy, a damaged one, or a dtype or rank that is not a
 * grid's. */
stn_status stn_npy_parse(const char *name, const void *bytes, size_t size, stn_npy_header *header, stn_error *error);
/* The same, complex numbers too: c8 and c16. */
stn_status stn_npy_parse_any(const char *name, const void *bytes, size_t size, stn_npy_header *header,
                             stn_error *error);

/* Do these first bytes of a file say that it is a .npy? */
bool stn_npy_is(const void *bytes, size_t size);

/* The dtype that stn_input_read gives the values of such a file when it is not told one: f64 for
 * all whole numbers. */
stn_dtype stn_npy_dtype(const stn_npy_header *header);

/* All that is before the values of such an array in a file (format 1.0): its size, 0 if it is more
 * than `most`. comment: NULL, or a few words of one line that readers pass over. */
size_t stn_npy_preamble(const stn_array *array, const char *comment, unsigned char *bytes, size_t most);

/* Writes a file that appears whole or not at all (io/output.h), little-endian, format 1.0. Complex
 * f16, for which NumPy has no type, becomes f2 with a last axis of 2: real and imaginary part. */
stn_status stn_npy_write(const char *path, const stn_array *array, stn_error *error);
/* The same up to stn_output_commit. */
stn_status stn_npy_prepare(const char *path, const stn_array *array, stn_output *output, stn_error *error);
#endif
