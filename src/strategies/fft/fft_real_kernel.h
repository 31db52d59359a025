/* The kernel fft_real: conversion between a half spectrum and the transform of pairs of real
 * numbers, for lines of several passes. */
#ifndef STN_STRATEGIES_FFT_FFT_REAL_KERNEL_H
#define STN_STRATEGIES_FFT_FFT_REAL_KERNEL_H
#include "plan/plan.h"
#include "strategies/fft/fft_passes.h"

struct stn_kernel;

void fft_real_params(const fft_pass *pass, stn_dtype dtype, stn_text *params);
int64_t fft_real_blocks(const fft_pass *pass);
double fft_real_seconds(const fft_pass *pass, stn_dtype dtype, const stn_machine *machine);
/* Fills the table of twiddles, unless `to` is NULL, and returns its size in complex numbers. */
size_t fft_real_twiddles(const fft_pass *pass, stn_dtype dtype, void *to);
stn_status fft_real_launch(const struct stn_kernel *kernel, const fft_pass *pass, const void *from, void *to,
                           const void *twiddles, void *stream, stn_error *error);
#endif
