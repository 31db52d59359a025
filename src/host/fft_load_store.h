/* Loads numbers from memory into planes and stores them; only for fft_kernels.c, which is compiled
 * for each instruction set. Vectors have 32 bytes, half the lanes of the largest group. */
#ifndef STN_HOST_FFT_LOAD_STORE_H
#define STN_HOST_FFT_LOAD_STORE_H
#include <stdint.h>

#include "host/fft_number.h"
#include "host/shuffle.h"

#define INLINE static inline __attribute__((always_inline))

/* Tells the compiler that iterations of a loop are independent. */
#if defined(__clang__)
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

#define EACH_LANE(l) INDEPENDENT for (int64_t l = 0; l < lanes; l++)

#define V (STN_FFT_LANES / 2)
#ifdef STN_FFT_F32
typedef int32_t lane_index;
#define EVEN 0, 2, 4, 6, 8, 10, 12, 14
#define ODD 1, 3, 5, 7, 9, 11, 13, 15
#define LOW 0, 8, 1, 9, 2, 10, 3, 11
#define HIGH 4, 12, 5, 13, 6, 14, 7, 15
#else
typedef int64_t lane_index;
#define EVEN 0, 2, 4, 6
#define ODD 1, 3, 5, 7
#define LOW 0, 4, 1, 5
#define HIGH 2, 6, 3, 7
#endif
typedef stn_fft_number vector __attribute__((vector_size(32)));
/* in memory */
typedef stn_fft_number unaligned __attribute__((vector_size(32), aligned(sizeof(stn_fft_number))));
typedef lane_index lane_indices __attribute__((vector_size(32)));

#define SHUFFLE(a, b, ...) STN_SHUFFLE(lane_indices, a, b, __VA_ARGS__)
#define UNALIGNED(p) (*(unaligned *)(p))
#define UNALIGNED_CONST(p) (*(const unaligned *)(p))

/* Prefetches points that are far apart, since hardware prefetchers do not cross pages. */
#define AHEAD 12
#define CACHE_LINE (64 / (int64_t)sizeof(stn_fft_number))
#define PREFETCH(at, lanes, for_writing)                                                                               \
    for (int64_t ahead = 0; ahead < 2 * (lanes); ahead += CACHE_LINE) __builtin_prefetch((at) + ahead, for_writing)

/* ---- lines are contiguous across lanes */

INLINE void load_across(stn_planes to, const stn_fft_number *from, int64_t points, int64_t step, const int64_t lanes) {
    for (int64_t k = 0; k < points; k++, from += 2 * step) {
        stn_fft_number *re = to.re + k * lanes, *im = to.im + k * lanes;
        PREFETCH(from + 2 * AHEAD * step, lanes, 0);
        for (int64_t l = 0; lanes % V == 0 && l < lanes; l += V) {
            const vector a = UNALIGNED_CONST(from + 2 * l), b = UNALIGNED_CONST(from + 2 * l + V);
            UNALIGNED(re + l) = SHUFFLE(a, b, EVEN);
            UNALIGNED(im + l) = SHUFFLE(a, b, ODD);
        }
        for (int64_t l = 0; lanes % V != 0 && l < lanes; l++) re[l] = from[2 * l], im[l] = from[2 * l + 1];
    }
}

INLINE void store_across(stn_fft_number *to, stn_planes from, int64_t points, int64_t step, const int64_t lanes,
                         stn_fft_number factor) {
    for (int64_t k = 0; k < points; k++, to += 2 * step) {
        const stn_fft_number *re = from.re + k * lanes, *im = from.im + k * lanes;
        PREFETCH(to + 2 * AHEAD * step, lanes, 1);
        for (int64_t l = 0; lanes % V == 0 && l < lanes; l += V) {
            const vector a = factor * UNALIGNED_CONST(re + l), b = factor * UNALIGNED_CONST(im + l);
            UNALIGNED(to + 2 * l) = SHUFFLE(a, b, LOW);
            UNALIGNED(to + 2 * l + V) = SHUFFLE(a, b, HIGH);
        }
        for (int64_t l = 0; lanes % V != 0 && l < lanes; l++)
            to[2 * l] = factor * re[l], to[2 * l + 1] = factor * im[l];
    }
}

/* ---- each line is contiguous: transposes squares of V numbers of each of V lines */

/* One step of the transposition: exchanges the off-diagonal d x d squares of each 2d x 2d
 * square. */
#define EXCHANGE(x, d, first, second)                                                                                  \
    for (int i = 0; i < V; i++)                                                                                        \
        if (!(i & (d))) {                                                                                              \
            const vector low = SHUFFLE((x)[i], (x)[i + (d)], first), high = SHUFFLE((x)[i], (x)[i + (d)], second);     \
            (x)[i] = low, (x)[i + (d)] = high;                                                                         \
        }
#define LIST(...) __VA_ARGS__

INLINE void transpose(vector x[V]){
#ifdef STN_FFT_F32
    EXCHANGE(x, 1, LIST(0, 8, 2, 10, 4, 12, 6, 14), LIST(1, 9, 3, 11, 5, 13, 7, 15))
        EXCHANGE(x, 2, LIST(0, 1, 8, 9, 4, 5, 12, 13), LIST(2, 3, 10, 11, 6, 7, 14, 15))
            EXCHANGE(x, 4, LIST(0, 1, 2, 3, 8, 9, 10, 11), LIST(4, 5, 6, 7, 12, 13, 14, 15))
#else
    EXCHANGE(x, 1, LIST(0, 4, 2, 6), LIST(1, 5, 3, 7)) EXCHANGE(x, 2, LIST(0, 1, 4, 5), LIST(2, 3, 6, 7))
#endif
}

INLINE void load_along(stn_planes to, const stn_fft_number *from, int64_t points, int64_t stride, const int64_t lanes) {
    const int64_t whole = lanes % V == 0 ? points - points % (V / 2) : 0;
    for (int64_t k = 0; k < whole; k += V / 2)
        for (int64_t first = 0; first < lanes; first += V) {
            vector x[V];
            for (int l = 0; l < V; l++) x[l] = UNALIGNED_CONST(from + 2 * ((first + l) * stride + k));
            transpose(x);
            for (int i = 0; i < V / 2; i++) {
                UNALIGNED(to.re + (k + i) * lanes + first) = x[2 * i];
                UNALIGNED(to.im + (k + i) * lanes + first) = x[2 * i + 1];
            }
        }
    for (int64_t k = whole; k < points; k++)
        for (int64_t l = 0; l < lanes; l++) {
            to.re[k * lanes + l] = from[2 * (l * stride + k)];
            to.im[k * lanes + l] = from[2 * (l * stride + k) + 1];
        }
}

/* Contiguous real numbers, in lines `stride` apart; imaginary parts become zero. */
INLINE void load_reals(stn_planes to, const stn_fft_number *from, int64_t points, int64_t stride, const int64_t lanes) {
    const int64_t whole = lanes % V == 0 ? points - points % V : 0;
    for (int64_t k = 0; k < whole; k += V)
        for (int64_t first = 0; first < lanes; first += V) {
            vector x[V];
            for (int l = 0; l < V; l++) x[l] = UNALIGNED_CONST(from + (first + l) * stride + k);
            transpose(x);
            for (int i = 0; i < V; i++) UNALIGNED(to.re + (k + i) * lanes + first) = x[i];
        }
    for (int64_t k = whole; k < points; k++)
        for (int64_t l = 0; l < lanes; l++) to.re[k * lanes + l] = from[l * stride + k];
    for (int64_t i = 0; i < points * lanes; i++) to.im[i] = 0;
}

INLINE void store_reals(stn_fft_number *to, stn_planes from, int64_t points, int64_t stride, const int64_t lanes,
                        stn_fft_number factor) {
    const int64_t whole = lanes % V == 0 ? points - points % V : 0;
    for (int64_t k = 0; k < whole; k += V)
        for (int64_t first = 0; first < lanes; first += V) {
            vector x[V];
            for (int i = 0; i < V; i++) x[i] = factor * UNALIGNED_CONST(from.re + (k + i) * lanes + first);
            transpose(x);
            for (int l = 0; l < V; l++) UNALIGNED(to + (first + l) * stride + k) = x[l];
        }
    for (int64_t k = whole; k < points; k++)
        for (int64_t l = 0; l < lanes; l++) to[l * stride + k] = factor * from.re[k * lanes + l];
}

INLINE void store_along(stn_fft_number *to, stn_planes from, int64_t points, int64_t stride, const int64_t lanes,
                        stn_fft_number factor) {
    const int64_t whole = lanes % V == 0 ? points - points % (V / 2) : 0;
    for (int64_t k = 0; k < whole; k += V / 2)
        for (int64_t first = 0; first < lanes; first += V) {
            vector x[V];
            for (int i = 0; i < V / 2; i++) {
                x[2 * i] = factor * UNALIGNED_CONST(from.re + (k + i) * lanes + first);
                x[2 * i + 1] = factor * UNALIGNED_CONST(from.im + (k + i) * lanes + first);
            }
            transpose(x);
            for (int l = 0; l < V; l++) UNALIGNED(to + 2 * ((first + l) * stride + k)) = x[l];
        }
    for (int64_t k = whole; k < points; k++)
        for (int64_t l = 0; l < lanes; l++) {
            to[2 * (l * stride + k)] = factor * from.re[k * lanes + l];
            to[2 * (l * stride + k) + 1] = factor * from.im[k * lanes + l];
        }
}
#endif
