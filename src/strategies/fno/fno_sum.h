/* One launch of fno_sum (kernel_templates/fno/fno_sum.cu): sums of partial results, or of one
 * frequency over all items. */
#ifndef STN_STRATEGIES_FNO_FNO_SUM_H
#define STN_STRATEGIES_FNO_FNO_SUM_H
#include "strategies/fno/fno_pass.h"

/* In numbers: out[i] = sum over j of in[offset + i / per * stride + i % per + j * step]. The input
 * is in the arithmetic type, the output in the layer's type. */
typedef struct fno_sum {
    int64_t offset, stride, step, terms, outputs;
    int per;
} fno_sum;

int64_t fno_sum_blocks(const fno_sum *sum);
stn_status fno_sum_prepare(stn_kernel_set *kernels, const fno_sum *sum, fno_numbers numbers, stn_kernel **kernel,
                           stn_error *error);
stn_status fno_sum_launch(const stn_kernel *kernel, const fno_sum *sum, fno_numbers numbers, const void *in, void *out,
                          void *stream, stn_error *error);
double fno_sum_cost(const fno_sum *sum, fno_numbers numbers, const stn_machine *machine, stn_estimate *total);
#endif
