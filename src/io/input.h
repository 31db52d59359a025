/* Reads arrays from files: .npy, grey PNG, and raw numbers whose shape and type the caller knows.
 * "-" is the standard input. */
#ifndef STN_IO_INPUT_H
#define STN_IO_INPUT_H
#include "io/npy.h"

/* A file without a header: little-endian numbers in C order. */
typedef struct stn_raw {
    int rank;
    size_t extent[STN_ARRAY_RANK];
    char kind; /* kind, item and per as in stn_npy_header */
    int item, per;
} stn_raw;

/* Reads a file's header and checks the file's size against it. raw NULL: the file's first bytes
 * tell its format. Other formats (CSV, TIFF, HDF5, ...) are an error, whose message gives the
 * Python code that converts them. */
stn_status stn_input_header(const char *path, const stn_raw *raw, bool complex_too, stn_npy_header *header,
                            stn_error *error);

/* Reads a whole file. Values are converted to *dtype; dtype NULL: to stn_npy_dtype, the file's
 * floating type or f64. Fortran order becomes C order. A finite value out of the dtype's range is
 * an error. *array is the caller's: stn_array_clear. */
stn_status stn_input_read(const char *path, const stn_raw *raw, bool complex_too, const stn_dtype *dtype,
                          stn_array *array, stn_error *error);

/* Some rows of a file: `rows` indices of an axis from `first` on, all of the other
 * axes. Files in Fortran order are refused. *array is the caller's. */
stn_status stn_input_read_rows(const char *path, const stn_raw *raw, bool complex_too, stn_dtype dtype, int axis,
                               size_t first, size_t rows, stn_array *array, stn_error *error);
#endif
