/* One launch of fno_dense (kernel_templates/fno/fno_dense.cu): a pass along an axis, without a
 * product of channels, as a product with a table of roots. It takes lines of any length; what it
 * computes grows with length times modes. */
#ifndef STN_STRATEGIES_FNO_DENSE_H
#define STN_STRATEGIES_FNO_DENSE_H
#include "strategies/fno/pass.h"

typedef struct fno_dense_shape {
    int warps[2], tiles[2]; /* along lines, along what goes out */
    int depth;              /* terms in shared memory at once */
    int blocks;             /* of a multiprocessor */
} fno_dense_shape;

/* False where the pass is none for it, and why. */
bool fno_dense_shape_for(const fno_pass *pass, fno_numbers numbers, const stn_machine *machine, fno_dense_shape *shape,
                         char *reason, size_t size);
int64_t fno_dense_blocks(const fno_pass *pass, const fno_dense_shape *shape);
/* The table; returns its bytes. to: NULL: only that. */
size_t fno_dense_table(const fno_pass *pass, fno_numbers numbers, const fno_dense_shape *shape, void *to);
stn_status fno_dense_prepare(stn_context *context, const fno_pass *pass, fno_numbers numbers,
                             const fno_dense_shape *shape, stn_kernel **kernel, stn_error *error);
/* at->roots: the table. */
stn_status fno_dense_launch(const stn_kernel *kernel, const fno_pass *pass, fno_numbers numbers,
                            const fno_dense_shape *shape, const fno_pointers *at, void *stream, stn_error *error);
/* Seconds by the model, the launch included; adds to bytes and operations. */
double fno_dense_cost(const fno_pass *pass, fno_numbers numbers, const fno_dense_shape *shape,
                      const stn_machine *machine, stn_estimate *sum);
#endif
