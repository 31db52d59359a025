/* The inner loops of host FFTs, over several lines at once: point k of line l is at k * lanes + l,
 * real and imaginary parts in separate arrays, so that every loop runs over contiguous numbers.
 * Compiled for several instruction sets, all with bit-identical results. */
#ifndef STN_HOST_FFT_KERNELS_H
#define STN_HOST_FFT_KERNELS_H
#include <stdint.h>

#include "host/fft_number.h"

#define STN_FFT_LARGEST_RADIX 61

/* One stage of radix r for lines of n points; s is the product of the radices of earlier stages,
 * m = n / (r s), w_N = exp(-2 pi i / N):
 *
 *     y[q + s (r p + j)] = w_n^(s p j) * sum over k < r of  x[q + s (p + m k)] * w_r^(j k)
 *     for p < m, q < s, j < r
 */
typedef struct stn_fft_stage {
    int radix;
    int64_t m, s;
    const stn_fft_number *twiddles; /* w_n^(s p j) for 1 <= j < r, j fastest, as pairs */
    const stn_fft_number *circle;   /* w_r^k for k < r, as pairs */
} stn_fft_stage;

typedef struct stn_fft_kernels {
    void (*stage)(const stn_fft_stage *stage, stn_planes x, stn_planes y, int64_t lanes);
    /* The same for real data: imaginary parts of x count as zero. */
    void (*real_stage)(const stn_fft_stage *stage, stn_planes x, stn_planes y, int64_t lanes);
    /* y = x * table for `count` points; the table has pairs and is the same for all lines. y may be
     * x. */
    void (*times)(stn_planes x, stn_planes y, const stn_fft_number *table, int64_t count, int64_t lanes);
    /* Point k of line l times coarse[k] * fine[k, l], in place: coarse in pairs, fine in planes. */
    void (*twiddle)(stn_planes x, const stn_fft_number *coarse, stn_planes fine, int64_t count, int64_t lanes);
    /* The largest magnitude of each line's numbers; ignores NaN. */
    void (*largest)(stn_planes x, int64_t count, stn_fft_number *magnitude, int64_t lanes);
    /* Converts, in place, the transform Z of h pairs of real numbers (even numbers are real parts,
     * odd numbers imaginary parts) to the half spectrum of the 2h numbers, points 0 to h. twiddles:
     * exp(-pi i k / h) for k <= h / 2. */
    void (*to_half)(stn_planes z, int64_t h, const stn_fft_number *twiddles, int64_t lanes);
    /* The reverse of to_half, times 2, which makes the inverse transform unscaled. */
    void (*from_half)(stn_planes z, int64_t h, const stn_fft_number *twiddles, int64_t lanes);
    /* Load complex numbers from memory to planes, and store planes times a factor. `_across`: point
     * k of all lines is contiguous, and points are `step` apart. `_along`: the points of a line are
     * contiguous, and lines are `stride` apart. */
    void (*load_across)(stn_planes to, const stn_fft_number *from, int64_t points, int64_t step, int64_t lanes);
    void (*load_along)(stn_planes to, const stn_fft_number *from, int64_t points, int64_t stride, int64_t lanes);
    void (*store_across)(stn_fft_number *to, stn_planes from, int64_t points, int64_t step, int64_t lanes,
                         stn_fft_number factor);
    void (*store_along)(stn_fft_number *to, stn_planes from, int64_t points, int64_t stride, int64_t lanes,
                        stn_fft_number factor);
    /* The same for lines of contiguous real numbers, `stride` apart: they are the real parts. */
    void (*load_reals)(stn_planes to, const stn_fft_number *from, int64_t points, int64_t stride, int64_t lanes);
    void (*store_reals)(stn_fft_number *to, stn_planes from, int64_t points, int64_t stride, int64_t lanes,
                        stn_fft_number factor);
    /* Rows of one number of each line; row k of x begins at x + k * x_step.
     *     copy_rows      to[k] = factor * from[k]
     *     join_rows      z[k] = (factor * a[k] + i b_factor * b[k]) * table[k]
     *     split_rows     a[k] = factor * Re(z[k] table[k]), b[k] = b_factor * Im(z[k] table[k])
     *     combine_rows   to[k] = factor * Re(z[k]) + im_factor * Im(z[k])
     * The table has pairs and is the same for all lines. b may be NULL: zero, or not stored. */
    void (*copy_rows)(stn_fft_number *to, int64_t to_step, const stn_fft_number *from, int64_t from_step,
                      stn_fft_number factor, int64_t count, int64_t lanes);
    void (*join_rows)(stn_planes z, int64_t z_step, const stn_fft_number *a, int64_t a_step, stn_fft_number factor,
                      const stn_fft_number *b, int64_t b_step, stn_fft_number b_factor, const stn_fft_number *table,
                      int64_t count, int64_t lanes);
    void (*split_rows)(stn_planes z, int64_t z_step, stn_fft_number *a, int64_t a_step, stn_fft_number factor,
                       stn_fft_number *b, int64_t b_step, stn_fft_number b_factor, const stn_fft_number *table,
                       int64_t count, int64_t lanes);
    void (*combine_rows)(stn_fft_number *to, int64_t to_step, stn_planes z, int64_t z_step, stn_fft_number factor,
                         stn_fft_number im_factor, int64_t count, int64_t lanes);
} stn_fft_kernels;

/* The fastest set that this CPU supports. */
const stn_fft_kernels *stn_fft_kernels_best(void);
/* For tests: index 0 is portable C; NULL if there is no such set on this CPU. */
const stn_fft_kernels *stn_fft_kernels_at(int index);
#endif
