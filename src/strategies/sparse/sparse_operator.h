/* Operators of a sparse plan: the weights of several fused steps, encoded for the kernels. */
#ifndef STN_STRATEGIES_SPARSE_SPARSE_OPERATOR_H
#define STN_STRATEGIES_SPARSE_SPARSE_OPERATOR_H
#include "strategies/sparse/sparse_shape.h"

/* One operator; a plan has two when its launches do not divide the steps evenly. */
typedef struct sparse_sweep {
    int fused;
    double scale; /* of all weights, a power of two */
} sparse_sweep;

/* Fills the tables of all operators, of sweeps[i].fused steps, the longer one first,
 * sparse_table_words each. A table has the metadata, then a left factor for each row of taps,
 * product and part. */
stn_status sparse_sweeps_fill(const stn_task *task, const sparse_shape *shape, sparse_sweep *sweeps, size_t nsweeps,
                              uint32_t *tables, stn_error *error);
#endif
