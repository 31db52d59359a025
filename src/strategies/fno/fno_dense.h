/* One launch of fno_dense (kernel_templates/fno/fno_dense.cu): a pass along an axis, without a
 * product of channels, as a dense product with a DFT matrix. Lines may have any length; the
 * work grows with length times modes. */
#ifndef STN_STRATEGIES_FNO_FNO_DENSE_H
#define STN_STRATEGIES_FNO_FNO_DENSE_H
#include "strategies/fno/fno_pass.h"

typedef struct fno_dense_shape {
    int warps[2], tiles[2]; /* along lines, along output columns */
    int depth;              /* terms per stage in shared memory */
    int blocks;             /* per multiprocessor */
} fno_dense_shape;

/* Finds a shape; false, with the reason, if fno_dense cannot run the pass. */
bool fno_dense_shape_for(const fno_pass *pass, fno_numbers numbers, const stn_machine *machine, fno_dense_shape *shape,
                         char *reason, size_t size);
int64_t fno_dense_blocks(const fno_pass *pass, const fno_dense_shape *shape);
/* Fills the table, unless `to` is NULL, and returns its bytes. */
size_t fno_dense_table(const fno_pass *pass, fno_numbers numbers, const fno_dense_shape *shape, void *to);
stn_status fno_dense_prepare(stn_kernel_set *kernels, const fno_pass *pass, fno_numbers numbers,
                             const fno_dense_shape *shape, stn_kernel **kernel, stn_error *error);
/* at->twiddles: the table. */
stn_status fno_dense_launch(const stn_kernel *kernel, const fno_pass *pass, fno_numbers numbers,
                            const fno_dense_shape *shape, const fno_pointers *at, void *stream, stn_error *error);
/* Estimated seconds with the launch; adds bytes and operations to *sum. */
double fno_dense_cost(const fno_pass *pass, fno_numbers numbers, const fno_dense_shape *shape,
                      const stn_machine *machine, stn_estimate *sum);
#endif
