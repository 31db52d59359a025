/* Arrays from files: .npy, grey PNG, and raw numbers of a shape and type that the caller knows. "-"
 * is the standard input. */
#ifndef STN_IO_INPUT_H
#define STN_IO_INPUT_H
#include "io/npy.h"

/* A file without a header: numbers in C order, little-endian. */
typedef struct stn_raw {
    int rank;
    size_t extent[STN_ARRAY_RANK];
    char kind; /* as of stn_npy_header, the next two too */
    int item, per;
} stn_raw;
stn_status stn_raw_header(const char *name, const stn_raw *raw, stn_npy_header *header, stn_error *error);

/* The header of a file, of which it is checked that it is as long as it promises. raw NULL: the
 * file's first bytes say what it is. Files of other kinds (CSV, TIFF, HDF5, ...) are refused with
 * the line of Python that converts them. */
stn_status stn_input_header(const char *path, const stn_raw *raw, bool complex_too, stn_npy_header *header,
                            stn_error *error);

/* Reads a whole file. Values are converted to *dtype, or, if dtype is NULL, get the one of
 * stn_npy_dtype: the file's floating type, or f64. Fortran order becomes C order. A finite value
 * that the dtype cannot hold is an error. *array is the caller's: stn_array_clear. */
stn_status stn_input_read(const char *path, const stn_raw *raw, bool complex_too, const stn_dtype *dtype,
                          stn_array *array, stn_error *error);

/* Some rows of a file of real numbers: `rows` indices of an axis from `first` on, all of the other
 * axes. Files in Fortran order are refused. *array is the caller's. */
stn_status stn_input_read_rows(const char *path, const stn_raw *raw, stn_dtype dtype, int axis, size_t first,
                               size_t rows, stn_array *array, stn_error *error);
#endif
