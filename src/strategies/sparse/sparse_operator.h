/* Operators of a sparse plan: the weights of several fused steps, encoded for the kernels. */
#ifndef STN_STRATEGIES_SPARSE_SPARSE_OPERATOR_H
#define STN_STRATEGIES_SPARSE_SPARSE_OPERATOR_H
#include "strategies/sparse/sparse_shape.h"

/* One operator; a plan has two when its launches do not divide the steps evenly. */
typedef struct sparse_operator {
    int fused;
    double scale; /* common factor of all weights, a power of two */
} sparse_operator;

/* Fills the tables of all operators, of operators[i].fused steps, the longer one first,
 * sparse_table_words each. A table has the metadata, then a left factor for each row of taps,
 * product and part. */
stn_status sparse_operators_fill(const stn_task *task, const sparse_shape *shape, sparse_operator *operators,
                                 size_t noperators, uint32_t *tables, stn_error *error);
#endif
