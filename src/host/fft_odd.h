/* FFT of one long line of an odd number of real numbers, at half the cost of a complex one. */
#ifndef STN_HOST_FFT_ODD_H
#define STN_HOST_FFT_ODD_H
#include "host/fft_kernels.h"
#include "host/pool.h"
#include "problem/transform.h"

typedef struct stn_fft_odd stn_fft_odd; /* immutable tables */

/* Whether it can run such a transform: one axis, real on one side, an odd length that is the
 * product of two factors of some size. */
bool stn_fft_odd_serves(const stn_fft *fft);
/* lanes: returns the lines in a group, for lines that need `capacity` points. */
stn_status stn_fft_odd_create(const stn_fft *fft, int threads, int64_t (*lanes)(int64_t capacity, int64_t lines),
                              stn_fft_odd **made, stn_error *error);
void stn_fft_odd_destroy(stn_fft_odd *odd); /* NULL has no effect */
/* Size in numbers. */
int64_t stn_fft_odd_workspace(const stn_fft_odd *odd);
/* Runs one transform of the batch. */
void stn_fft_odd_run(const stn_fft_odd *odd, stn_pool *pool, const void *in, void *out, stn_fft_number *workspace);
#endif
