/* The rows of a stencil's fused taps. */
#ifndef STN_STRATEGIES_SPARSE_TAP_ROWS_H
#define STN_STRATEGIES_SPARSE_TAP_ROWS_H
#include "plan/strategy.h"

#define SPARSE_MOST_PLANES 33

/* The rows of taps of one launch: plane d has count[d] rows from y offset first[d] - Y_LOW on. A
 * plane may have none. */
typedef struct sparse_rows {
    int planes, all;
    int first[SPARSE_MOST_PLANES], count[SPARSE_MOST_PLANES];
} sparse_rows;
/* False if there are more planes or rows than a kernel takes. The rows depend on offsets alone, so
 * new weights do not change them. */
bool sparse_rows_of(const stn_task *task, int fused, sparse_rows *rows);
#endif
