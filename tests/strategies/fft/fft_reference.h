/* Reference transforms in float64, dense. */
#ifndef STN_TESTS_FFT_REFERENCE_H
#define STN_TESTS_FFT_REFERENCE_H
#include "host/pool.h"
#include "problem/transform.h"

/* The same transform for dense float64 numbers, out of place. */
stn_fft dense_f64(const stn_fft *fft);
/* By the defining sum; layouts as in dense_f64. O(points^2). */
void reference_sum(const stn_fft *dense, const double *in, double *out);
/* By the host's implementation, verified at some elements by the sum; false if it differs there. */
bool reference_host(const stn_fft *dense, stn_pool *pool, const double *in, double *out);
#endif
