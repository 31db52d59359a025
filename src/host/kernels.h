/* The inner loops over contiguous points, built for several instruction sets; all give the same bits. */
#ifndef STN_HOST_KERNELS_H
#define STN_HOST_KERNELS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STN_KERNEL_TAPS 9 /* most taps of one call: their pointers and weights stay in registers */

typedef struct stn_kernels {
    /* sum[x] = (add ? sum[x] : 0) + weights[0] * lines[0][x] + ... + weights[ntaps - 1] * lines[ntaps - 1][x], in that
     * order, for 0 <= x < count. 1 <= ntaps <= STN_KERNEL_TAPS. lines have sum's type, and sum overlaps none. */
    void (*sum_f64)(double *sum, const void *const *lines, const double *weights, int ntaps, size_t count, bool add);
    void (*sum_f32)(float *sum, const void *const *lines, const float *weights, int ntaps, size_t count, bool add);
    void (*from_half)(float *to, const uint16_t *from, size_t count);
    void (*to_half)(uint16_t *to, const float *from, size_t count);
} stn_kernels;

/* Those for the CPU that this runs on. */
const stn_kernels *stn_kernels_best(void);
/* For tests: number 0 is portable C; NULL past the last that this CPU can run. */
const stn_kernels *stn_kernels_at(int index);
#endif
