/* The inner loops of transforms on the host, over several lines at once: point k of line l lies at
 * k * lanes + l, real and imaginary parts apart, so that every loop runs over contiguous numbers.
 * Built for several instruction sets; all give the same bits. */
#ifndef STN_HOST_FFT_WORDS_H
#define STN_HOST_FFT_WORDS_H
#include <stdint.h>

#include "host/fft_number.h"

#define STN_FFT_LARGEST_RADIX 61

/* One stage of radix r of lines of n points, s the product of the radices before, m = n / (r s),
 * w_N = exp(-2 pi i / N):
 *
 *     y[q + s (r p + j)] = w_n^(s p j) * sum over k < r of  x[q + s (p + m k)] * w_r^(j k),   p < m, q < s, j < r
 */
typedef struct stn_fft_stage {
    int radix;
    int64_t m, s;
    const stn_fft_number *roots;  /* w_n^(s p j) for 1 <= j < r, all of p = 0 first, pairs */
    const stn_fft_number *circle; /* w_r^k for k < r, pairs */
} stn_fft_stage;

typedef struct stn_fft_words {
    void (*stage)(const stn_fft_stage *stage, stn_planes x, stn_planes y, int64_t lanes);
    /* The same of real numbers: imaginary parts of x count as zero. */
    void (*real_stage)(const stn_fft_stage *stage, stn_planes x, stn_planes y, int64_t lanes);
    /* y = x * table for `count` points; a table of pairs, one for all lines. y may be x. */
    void (*times)(stn_planes x, stn_planes y, const stn_fft_number *table, int64_t count, int64_t lanes);
    /* Point k of line l times coarse[k] * fine[k, l], in place: coarse in pairs, fine in planes. */
    void (*turn)(stn_planes x, const stn_fft_number *coarse, stn_planes fine, int64_t count, int64_t lanes);
    /* The largest magnitude of each line's numbers, for all lanes; NaN does not count. */
    void (*largest)(stn_planes x, int64_t count, stn_fft_number *magnitude, int64_t lanes);
    /* A half spectrum of 2h real numbers of the transform Z of their h pairs (even numbers real,
     * odd ones imaginary parts), in place, points 0 to h; and the other way, up to a factor of 2
     * that makes the inverse come out unscaled. roots: exp(-pi i k / h) for k <= h / 2. */
    void (*to_half)(stn_planes z, int64_t h, const stn_fft_number *roots, int64_t lanes);
    void (*from_half)(stn_planes z, int64_t h, const stn_fft_number *roots, int64_t lanes);
    /* Complex numbers that lie `step` apart in memory for each point, those of all lines side by
     * side (across) or one line after the other (along: lines `apart`); from memory to planes and
     * back, times a factor. */
    void (*load_across)(stn_planes to, const stn_fft_number *from, int64_t points, int64_t step, int64_t lanes);
    void (*load_along)(stn_planes to, const stn_fft_number *from, int64_t points, int64_t apart, int64_t lanes);
    void (*store_across)(stn_fft_number *to, stn_planes from, int64_t points, int64_t step, int64_t lanes,
                         stn_fft_number factor);
    void (*store_along)(stn_fft_number *to, stn_planes from, int64_t points, int64_t apart, int64_t lanes,
                        stn_fft_number factor);
    /* Real numbers side by side in memory, lines `apart`: into real parts, and of them. */
    void (*load_reals)(stn_planes to, const stn_fft_number *from, int64_t points, int64_t apart, int64_t lanes);
    void (*store_reals)(stn_fft_number *to, stn_planes from, int64_t points, int64_t apart, int64_t lanes,
                        stn_fft_number factor);
} stn_fft_words;

/* Those for the CPU that this runs on. */
const stn_fft_words *stn_fft_words_best(void);
/* For tests: number 0 is portable C; NULL past the last that this CPU can run. */
const stn_fft_words *stn_fft_words_at(int index);
#endif
