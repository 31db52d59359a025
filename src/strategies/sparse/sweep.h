/* Operators of a sparse plan: the weights of so many fused steps, encoded as sparse_tile reads
 * them. */
#ifndef STN_STRATEGIES_SPARSE_SWEEP_H
#define STN_STRATEGIES_SPARSE_SWEEP_H
#include "strategies/sparse/shape.h"

/* One operator; a plan has one, or two when its launches do not divide the steps evenly. */
typedef struct sparse_sweep {
    int fused;
    double scale; /* of all weights, a power of two */
} sparse_sweep;

/* The tables of all sweeps, of sweeps[i].fused steps, the longer one first: sparse_table_words
 * each, one after the other. Metadata, then for each row of taps, product and part a left
 * factor. */
stn_status sparse_sweeps_fill(const stn_task *task, const sparse_shape *shape, sparse_sweep *sweeps, size_t nsweeps,
                              uint32_t *tables, stn_error *error);
#endif
