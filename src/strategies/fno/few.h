/* One launch of fno_few (kernel_templates/fno/fno_few.cu): a pass along an axis, without a product
 * of channels, that keeps few of a line's frequencies. It reads points straight from memory into
 * butterflies and sums each frequency by itself: no line is held, so long lines cost what short
 * ones do. */
#ifndef STN_STRATEGIES_FNO_FEW_H
#define STN_STRATEGIES_FNO_FEW_H
#include "strategies/fno/pass.h"

typedef struct fno_few_shape {
    int radix;   /* of the butterflies */
    bool alone;  /* a real line is one channel, not two: half the sums, butterflies of twice the radix */
    int threads; /* of a line */
    int lines;   /* of a block */
    int parts;   /* of a sum over threads */
    int blocks;  /* of a multiprocessor */
} fno_few_shape;

/* False where the pass is none for it, and why. */
bool fno_few_shape_for(const fno_pass *pass, fno_numbers numbers, const stn_machine *machine, fno_few_shape *shape,
                       char *reason, size_t size);
int64_t fno_few_blocks(const fno_pass *pass, const fno_few_shape *shape);
/* The roots of the butterflies' results; returns their bytes. to: NULL: only that. */
size_t fno_few_roots(const fno_pass *pass, fno_numbers numbers, const fno_few_shape *shape, void *to);
stn_status fno_few_prepare(stn_context *context, const fno_pass *pass, fno_numbers numbers, const fno_few_shape *shape,
                           stn_kernel **kernel, stn_error *error);
stn_status fno_few_launch(const stn_kernel *kernel, const fno_pass *pass, fno_numbers numbers,
                          const fno_few_shape *shape, const fno_pointers *at, void *stream, stn_error *error);
/* Seconds by the model, the launch included; adds to bytes and operations. */
double fno_few_cost(const fno_pass *pass, fno_numbers numbers, const fno_few_shape *shape, const stn_machine *machine,
                    stn_estimate *sum);
#endif
