/* A dense array in host memory, C order, real or complex, as files hold it. */
#ifndef STN_IO_ARRAY_H
#define STN_IO_ARRAY_H
#include <stdbool.h>

#include "stentor.h"

#define STN_ARRAY_RANK 4 /* three axes and a batch */

typedef struct stn_array {
    int rank;
    /* one more for a stack of snapshots, which is only written */
    size_t extent[STN_ARRAY_RANK + 1];
    size_t count; /* product of the extents */
    stn_dtype dtype;
    void *data;     /* owned: count elements of dtype */
    size_t rounded; /* integers of the file above 2^53 that were rounded to a double */
    /* data holds count (real, imaginary) pairs; get and set below count their numbers */
    bool is_complex;
} stn_array;

void stn_array_clear(stn_array *array); /* frees the data, if any */

/* count, or 2 * count if complex */
size_t stn_array_numbers(const stn_array *array);
double stn_array_get(const stn_array *array, size_t index);       /* index < stn_array_numbers */
void stn_array_set(stn_array *array, size_t index, double value); /* rounds to the dtype */
/* number of values that are NaN or infinite */
size_t stn_array_nonfinite(const stn_array *array);
/* Allocates a zeroed array of these extents. Errors: a size past SIZE_MAX, out of memory. */
stn_status stn_array_make(int rank, const size_t *extent, stn_dtype dtype, stn_array *array, stn_error *error);
stn_status stn_array_make_complex(int rank, const size_t *extent, stn_dtype dtype, stn_array *array, stn_error *error);
#endif
