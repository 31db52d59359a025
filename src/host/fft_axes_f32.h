/* fft_axes.h for float32, for files that need both types. */
#ifndef STN_HOST_FFT_AXES_F32_H
#define STN_HOST_FFT_AXES_F32_H
#include "host/pool.h"
#include "problem/transform.h"

typedef struct stn_fft_axes_f32 stn_fft_axes_f32;

stn_status stn_fft_axes_create_f32(const stn_fft *fft, int threads, stn_fft_axes_f32 **made, stn_error *error);
void stn_fft_axes_destroy_f32(stn_fft_axes_f32 *axes);
size_t stn_fft_axes_workspace_f32(const stn_fft_axes_f32 *axes);
void stn_fft_axes_run_f32(const stn_fft_axes_f32 *axes, stn_pool *pool, const void *in, void *out, void *workspace);
#endif
