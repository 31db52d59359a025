/* One launch of the kernel fno_few_modes: a pass along an axis, without a product of channels, that
 * retains few frequencies. It reads points directly from memory into butterflies and sums each
 * frequency directly. No line is held in shared memory, so that the cost per point does not depend
 * on the length. */
#ifndef STN_STRATEGIES_FNO_FNO_FEW_MODES_H
#define STN_STRATEGIES_FNO_FNO_FEW_MODES_H
#include "strategies/fno/fno_pass.h"

typedef struct fno_few_shape {
    int radix; /* of the butterflies */
    /* a real channel is a line of its own: half the sums, butterflies of twice the radix */
    bool single_channel;
    int threads; /* per line */
    int lines;   /* per block */
    int parts;   /* partial sums of a sum over threads */
    int blocks;  /* per multiprocessor */
} fno_few_shape;

/* Finds a shape; false, with the reason, if fno_few_modes cannot run the pass. */
bool fno_few_shape_for(const fno_pass *pass, fno_numbers numbers, const stn_machine *machine, fno_few_shape *shape,
                       char *reason, size_t size);
int64_t fno_few_blocks(const fno_pass *pass, const fno_few_shape *shape);
/* Fills the table of twiddles, unless `to` is NULL, and returns its bytes. */
size_t fno_few_twiddles(const fno_pass *pass, fno_numbers numbers, const fno_few_shape *shape, void *to);
stn_status fno_few_prepare(stn_kernel_set *kernels, const fno_pass *pass, fno_numbers numbers,
                           const fno_few_shape *shape, stn_kernel **kernel, stn_error *error);
stn_status fno_few_launch(const stn_kernel *kernel, const fno_pass *pass, fno_numbers numbers,
                          const fno_few_shape *shape, const fno_pointers *at, void *stream, stn_error *error);
/* Estimated seconds with the launch; adds bytes and operations to *sum. */
double fno_few_cost(const fno_pass *pass, fno_numbers numbers, const fno_few_shape *shape, const stn_machine *machine,
                    stn_estimate *sum);
#endif
