/* Two results compared on the device: sums by tune_compare.cu, on a stream, read when that is
 * done. */
#ifndef STN_TUNE_COMPARE_H
#define STN_TUNE_COMPARE_H
#include "context/kernel.h"

enum { TUNE_THREADS = 256, TUNE_BLOCKS = 1024, TUNE_SUMS_EACH = 7 };
#define TUNE_SUMS                                                                                                      \
    (TUNE_BLOCKS * TUNE_SUMS_EACH * sizeof(double)) /* bytes of device memory that a comparison leaves its sums in */

/* tune_fill or tune_compare. */
stn_status tune_kernel(stn_context *context, stn_dtype dtype, const char *name, stn_kernel **kernel, stn_error *error);
unsigned tune_blocks(int64_t elements);
/* One chunk of TUNE_THREADS elements of so many: 1 is all, else a power of two. */
typedef struct tune_compared {
    int64_t elements, every;
} tune_compared;
/* `every` of a sample that takes a small part of the time of a step, and has enough elements of any
 * part of a grid. */
int64_t tune_sample(int64_t elements);
stn_status tune_compare_start(const stn_kernel *kernel, const void *got, const void *want, void *sums,
                              tune_compared what, void *stream, stn_error *error);
/* Relative L2 of a comparison's sums, all blocks' added up; absolute where all is zero that was
 * wanted. NaN where one is. */
double tune_compare_sums(const double *sums);
/* What the stream must have done before. *difference: relative L2. Fails where values overflow. */
stn_status tune_compare_read(stn_context *context, const void *sums, tune_compared what, double *difference,
                             stn_error *error);
#endif
