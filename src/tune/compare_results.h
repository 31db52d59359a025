/* Compares two results on the device: each block of tune_compare.cu writes TUNE_SUMS_EACH partial
 * sums, which the host adds up. */
#ifndef STN_TUNE_COMPARE_RESULTS_H
#define STN_TUNE_COMPARE_RESULTS_H
#include "context/kernel.h"

enum { TUNE_THREADS = 256, TUNE_BLOCKS = 1024, TUNE_SUMS_EACH = 7 };
/* Bytes of device memory for the partial sums of one comparison: tune_compare.cu lists them. */
#define TUNE_SUMS_BYTES (TUNE_BLOCKS * TUNE_SUMS_EACH * sizeof(double))

/* Makes the kernel tune_fill or tune_compare. */
stn_status tune_kernel(stn_kernel_set *set, stn_dtype dtype, const char *name, stn_kernel **kernel, stn_error *error);
unsigned tune_blocks(int64_t elements);
/* *difference: relative L2; absolute if every expected value is zero; NaN if any value is NaN.
 * Waits for the stream. Fails if values overflow. */
stn_status tune_compare(stn_context *context, const stn_kernel *kernel, const void *got, const void *want, void *sums,
                        int64_t elements, void *stream, double *difference, stn_error *error);
#endif
