/* One long line of an odd number of real numbers, at half the cost of a complex one: see
 * fft_odd.c. */
#ifndef STN_HOST_FFT_ODD_H
#define STN_HOST_FFT_ODD_H
#include "host/fft_words.h"
#include "host/pool.h"
#include "problem/transform.h"

typedef struct stn_fft_odd stn_fft_odd; /* immutable tables */

/* Does it serve such a transform? One axis, of real numbers on one side, of an odd length of small
 * factors. */
bool stn_fft_odd_serves(const stn_fft *fft);
/* lanes: those of a group of lines of so many points. */
stn_status stn_fft_odd_create(const stn_fft *fft, int threads, int64_t (*lanes)(int64_t room, int64_t lines),
                              stn_fft_odd **made, stn_error *error);
void stn_fft_odd_destroy(stn_fft_odd *odd); /* NULL is fine */
/* In numbers. */
int64_t stn_fft_odd_workspace(const stn_fft_odd *odd);
/* One transform of the batch. */
void stn_fft_odd_run(const stn_fft_odd *odd, stn_pool *pool, const void *in, void *out, stn_fft_number *workspace);
#endif
