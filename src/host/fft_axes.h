/* Multidimensional FFTs, axis by axis, in the type of fft_number.h. */
#ifndef STN_HOST_FFT_AXES_H
#define STN_HOST_FFT_AXES_H
#include "host/fft_number.h"
#include "host/pool.h"
#include "problem/transform.h"

typedef struct stn_fft_axes stn_fft_axes; /* immutable tables */

stn_status stn_fft_axes_create(const stn_fft *fft, int threads, stn_fft_axes **made, stn_error *error);
void stn_fft_axes_destroy(stn_fft_axes *axes); /* NULL has no effect */
size_t stn_fft_axes_workspace(const stn_fft_axes *axes);
void stn_fft_axes_run(const stn_fft_axes *axes, stn_pool *pool, const void *in, void *out, void *workspace);
#endif
