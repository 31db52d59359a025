/* FFT of one long line as a grid: columns, twiddle factors, rows (four-step FFT). Threads share
 * each pass, and its lines fill vectors. */
#ifndef STN_HOST_FFT_LONG_H
#define STN_HOST_FFT_LONG_H
#include "host/fft_kernels.h"
#include "host/pool.h"
#include "problem/transform.h"

typedef struct stn_fft_long stn_fft_long; /* immutable tables */

/* Whether it can run such a transform: one axis, a length that is the product of two factors of
 * some size, contiguous real data. */
bool stn_fft_long_serves(const stn_fft *fft);
/* lanes: returns the lines in a group, for lines that need `capacity` points. */
stn_status stn_fft_long_create(const stn_fft *fft, int threads, int64_t (*lanes)(int64_t capacity, int64_t lines),
                               stn_fft_long **made, stn_error *error);
void stn_fft_long_destroy(stn_fft_long *grid); /* NULL has no effect */
/* Size in numbers. */
int64_t stn_fft_long_workspace(const stn_fft_long *grid);
/* Runs one transform of the batch. half_turns: exp(-2 pi i k / n), k <= n / 4, for n real numbers,
 * n even. */
void stn_fft_long_run(const stn_fft_long *grid, stn_pool *pool, const void *in, void *out,
                      const stn_fft_number *half_turns, stn_fft_number *workspace);
#endif
