/* Cost model of the passes by fft_line, fft_ladder and fft_real. */
#ifndef STN_STRATEGIES_FFT_COST_H
#define STN_STRATEGIES_FFT_COST_H
#include "strategies/fft/ladder.h"
#include "strategies/fft/passes.h"
#include "strategies/fft/shape.h"

/* Bytes that a pass reads and writes. */
double fft_pass_bytes(const fft_pass *pass, stn_dtype dtype);
double fft_line_seconds(const fft_pass *pass, const fft_shape *shape, stn_dtype dtype, const stn_machine *machine);
double fft_ladder_seconds(const fft_pass *pass, const stn_ladder *shape, stn_dtype dtype, const stn_machine *machine);
double fft_real_seconds(const fft_pass *pass, stn_dtype dtype, const stn_machine *machine);
#endif
