/* A grid in host memory, as files hold it: dense, C order. */
#ifndef STN_IO_ARRAY_H
#define STN_IO_ARRAY_H
#include <stdbool.h>

#include "stentor.h"

#define STN_ARRAY_RANK 4 /* three axes and a batch */

typedef struct stn_array {
    int rank;
    size_t extent[STN_ARRAY_RANK + 1]; /* one more for a stack of states, which is only written */
    size_t count;                      /* product of the extents */
    stn_dtype dtype;
    void *data;      /* owned: count elements of dtype */
    size_t rounded;  /* whole numbers of the file it came from that are above 2^53 and have no double of their own */
    bool is_complex; /* then count pairs, the real part first; get and set below count their numbers */
} stn_array;

void stn_array_clear(stn_array *array); /* frees the data; an empty array is fine */

size_t stn_array_numbers(const stn_array *array);                 /* count, or twice that */
double stn_array_get(const stn_array *array, size_t index);       /* index < stn_array_numbers */
void stn_array_set(stn_array *array, size_t index, double value); /* rounds to the dtype */
size_t stn_array_nonfinite(const stn_array *array);               /* how many values are NaN or infinite */
/* Memory for an array of these extents, set to zero. Errors: a size past SIZE_MAX, out of
 * memory. */
stn_status stn_array_make(int rank, const size_t *extent, stn_dtype dtype, stn_array *array, stn_error *error);
stn_status stn_array_make_complex(int rank, const size_t *extent, stn_dtype dtype, stn_array *array, stn_error *error);
#endif
