/* Radices of the lines of fft_line, and how many threads share a line. */
#ifndef STN_STRATEGIES_FFT_RADICES_H
#define STN_STRATEGIES_FFT_RADICES_H
#include "strategies/fft/shape.h"

/* Points that a thread holds at most: in a stage of radix r it has every line_threads-th of the n / r butterflies. */
int fft_points_of(const fft_shape *shape);
/* Fills in stages, radices, line_threads, half_cells, even, measured, part; returns how many threads a block should have at
 * least, 0 where there are no radices. across: lines lie across memory; real: they hold their points twice. */
int fft_radices_for(int64_t length, stn_dtype dtype, bool across, bool real, fft_shape *shape);
#endif
