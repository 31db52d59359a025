/* One long line as a grid: columns, roots between, rows. Threads share each pass, and lines of it
 * fill vectors. */
#ifndef STN_HOST_FFT_LONG_H
#define STN_HOST_FFT_LONG_H
#include "host/fft_words.h"
#include "host/pool.h"
#include "problem/transform.h"

typedef struct stn_fft_long stn_fft_long; /* immutable tables */

/* Does it serve such a transform? One axis, of a length of small factors, the real side's elements
 * side by side. */
bool stn_fft_long_serves(const stn_fft *fft);
/* lanes: those of a group of lines of so many points. */
stn_status stn_fft_long_create(const stn_fft *fft, int threads, int64_t (*lanes)(int64_t room, int64_t lines),
                               stn_fft_long **made, stn_error *error);
void stn_fft_long_destroy(stn_fft_long *grid); /* NULL is fine */
/* In numbers. */
int64_t stn_fft_long_workspace(const stn_fft_long *grid);
/* One transform of the batch. half_turns: exp(-2 pi i k / n), k <= n / 4, of an even number n of
 * real numbers. */
void stn_fft_long_run(const stn_fft_long *grid, stn_pool *pool, const void *in, void *out,
                      const stn_fft_number *half_turns, stn_fft_number *workspace);
#endif
