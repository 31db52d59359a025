/* NumPy's .npy files, format 1.0, 2.0 and 3.0:
 * https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
 */
#ifndef STN_IO_NPY_H
#define STN_IO_NPY_H
#include <stdbool.h>

#include "io/array.h"
#include "io/output.h"

#define STN_NPY_MAGIC "\x93NUMPY"
#define STN_NPY_HEADER_MAX 65536 /* longest header accepted, in bytes; NumPy's limit is 10000 */

typedef struct stn_npy_header {
    char kind;    /* 'f' float, 'i' signed, 'u' unsigned, 'b' bool */
    int item;     /* bytes of a number: 1, 2, 4, 8 */
    int per;      /* numbers in a value: 1, or 2 if complex (kind 'f') */
    bool swap;    /* byte order differs from this machine's */
    bool fortran; /* Fortran order: the first axis is the fastest */
    int rank;     /* 0..STN_ARRAY_RANK */
    size_t extent[STN_ARRAY_RANK];
    size_t count;  /* product of the extents; count * per * item does not overflow */
    size_t offset; /* bytes before the values */
} stn_npy_header;

/* Reads the header from the first `size` bytes of a file; any bytes are safe. name is for messages.
 * STN_ERROR_FORMAT: not a .npy file, damaged, or an unsupported dtype or rank. */
stn_status stn_npy_parse(const char *name, const void *bytes, size_t size, stn_npy_header *header, stn_error *error);
/* The same; complex types c8 and c16 are accepted too. */
stn_status stn_npy_parse_any(const char *name, const void *bytes, size_t size, stn_npy_header *header,
                             stn_error *error);

/* Does a file that starts with these bytes claim to be .npy? */
bool stn_npy_is(const void *bytes, size_t size);

/* The default dtype of stn_input_read for such a file: f64 for all integers. */
stn_dtype stn_npy_dtype(const stn_npy_header *header);

/* Makes everything before the values of such an array in a file (format 1.0), padded to a multiple
 * of 64 bytes. Returns its size, 0 if it is more than `most`. comment: NULL, or one line that
 * readers skip. */
size_t stn_npy_preamble(const stn_array *array, const char *comment, unsigned char *bytes, size_t most);

/* Writes a .npy file of format 1.0, little-endian, atomically (io/output.h). NumPy has no complex
 * f16: such an array becomes f2 with a last axis of 2, the real and imaginary parts. */
stn_status stn_npy_write(const char *path, const stn_array *array, stn_error *error);
/* The same up to stn_output_commit. */
stn_status stn_npy_prepare(const char *path, const stn_array *array, stn_output *output, stn_error *error);
#endif
