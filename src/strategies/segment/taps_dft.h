/* The discrete Fourier transform of a stencil's taps on a small periodic grid, in long double, by
 * sums along one axis after another (row-column algorithm). */
#ifndef STN_STRATEGIES_SEGMENT_TAPS_DFT_H
#define STN_STRATEGIES_SEGMENT_TAPS_DFT_H
#include "problem/task.h"
#include "strategies/segment/long_double_complex.h"

/* The symbol K at frequencies [z][y][x] of a grid of n points, x = 0 .. n[2] / 2; NULL: out of
 * memory. To be freed. */
cplx *segment_taps_dft(const stn_task *task, const int n[3]);

/* Trigonometric interpolation. The transform of taps at offsets -period / 2 .. period / 2 is given
 * at `period` frequencies, and is returned at `length` frequencies, for each line along the middle
 * axis of an array of slower * period * faster numbers. The taps are those of a periodic line: half
 * of the one at period / 2 is at -period / 2. Frees `from`. NULL: out of memory, or `from` is
 * NULL. */
cplx *segment_interpolate(int period, int length, size_t slower, size_t faster, cplx *from);

/* K at any frequency, 0 <= k < n along each axis; K(-k) is the conjugate of K(k). */
static inline cplx segment_taps_dft_at(const cplx *symbol, const int n[3], const int k[3]) {
    const bool mirrored = 2 * k[2] > n[2];
    const int z = mirrored && k[0] ? n[0] - k[0] : k[0], y = mirrored && k[1] ? n[1] - k[1] : k[1],
              x = mirrored ? n[2] - k[2] : k[2];
    cplx value = symbol[((size_t)z * (size_t)n[1] + (size_t)y) * (size_t)(n[2] / 2 + 1) + (size_t)x];
    if (mirrored) value.im = -value.im;
    return value;
}
#endif
