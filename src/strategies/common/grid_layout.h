/* Memory layouts: of the caller's grids, and of the workspace grid for ping-pong launches. */
#ifndef STN_STRATEGIES_COMMON_GRID_LAYOUT_H
#define STN_STRATEGIES_COMMON_GRID_LAYOUT_H
#include "base/arith.h"
#include "problem/task.h"

/* Strides of axes 0 to 2, and between grids of the batch, in elements. */
typedef struct stn_grid_layout {
    int64_t stride[3], batch;
} stn_grid_layout;

typedef struct stn_layouts {
    stn_grid_layout in, out, work;
    size_t work_bytes; /* of the workspace grid; 0 if a single launch makes all steps */
} stn_layouts;
/* Rounded up to a multiple of 256: the workspace of the margins follows the grid. */
static inline size_t stn_grid_bytes(const stn_layouts *at) {
    return (size_t)stn_round_up((int64_t)at->work_bytes, 256);
}

/* Packed, with rows padded to a multiple of 16 bytes. */
stn_grid_layout stn_packed_layout(const int64_t n[3], stn_dtype dtype);
/* Layouts for a run of `launches` launches. The workspace grid is packed, but in place it has the
 * caller's layout, because the run begins with a copy of the caller's grid. */
stn_layouts stn_task_layouts(const stn_task *task, uint64_t launches);
/* Elements of a 16-byte access along x if every row of every plane and grid is aligned to it,
 * otherwise 1. */
int stn_task_vector(const stn_task *task);
#endif
