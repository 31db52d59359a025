/* The inner loops over contiguous points, built for several instruction sets; all give the same bits. */
#ifndef STN_HOST_KERNELS_H
#define STN_HOST_KERNELS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STN_KERNEL_TAPS 9 /* most taps of one call: their pointers and weights stay in registers */

/* Which taps of one call are summed: first `single` taps alone, then `pairs` of taps that share a weight. A pair's two
 * points are added, or subtracted where `odd`, before they are multiplied: mirrored data give mirrored bits. */
typedef struct stn_terms {
    int single, pairs; /* single + 2 pairs is 1 to STN_KERNEL_TAPS; with pairs, single is 0 or 1, and 0 where odd */
    bool odd;
} stn_terms;

typedef struct stn_kernels {
    /* sum[x] = (add ? sum[x] : 0) + the terms in order, for 0 <= x < count. lines: those of the single taps, then two
     * for each pair; weights: one for each term. sum overlaps no line. */
    void (*sum_f64)(double *sum, const void *const *lines, const double *weights, stn_terms terms, size_t count,
                    bool add);
    /* The same of lines of floats, whose sums are made in double precision too. */
    void (*sum_f32)(double *sum, const void *const *lines, const double *weights, stn_terms terms, size_t count,
                    bool add);
    /* The same of all terms at once: sums are rounded to floats where they are stored. */
    void (*sum_float)(float *sum, const void *const *lines, const double *weights, stn_terms terms, size_t count);
    void (*from_float)(double *to, const float *from, size_t count);
    void (*to_float)(float *to, const double *from, size_t count);
    void (*from_half)(double *to, const uint16_t *from, size_t count);
    void (*to_half)(uint16_t *to, const double *from, size_t count); /* rounded to float first */
} stn_kernels;

/* Those for the CPU that this runs on. */
const stn_kernels *stn_kernels_best(void);
/* For tests: number 0 is portable C; NULL past the last that this CPU can run. */
const stn_kernels *stn_kernels_at(int index);
#endif
