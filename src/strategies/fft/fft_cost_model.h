/* Cost model of the passes by fft_line, fft_shared and fft_real. */
#ifndef STN_STRATEGIES_FFT_FFT_COST_MODEL_H
#define STN_STRATEGIES_FFT_FFT_COST_MODEL_H
#include "strategies/fft/fft_line_kernel.h"
#include "strategies/fft/fft_passes.h"
#include "strategies/fft/fft_shared_kernel.h"

/* Bytes that a pass reads and writes. */
double fft_pass_bytes(const fft_pass *pass, stn_dtype dtype);
double fft_line_seconds(const fft_pass *pass, const fft_line_shape *shape, stn_dtype dtype, const stn_machine *machine);
double fft_shared_seconds(const fft_pass *pass, const stn_shared_fft *shape, stn_dtype dtype,
                          const stn_machine *machine);
double fft_real_seconds(const fft_pass *pass, stn_dtype dtype, const stn_machine *machine);
#endif
