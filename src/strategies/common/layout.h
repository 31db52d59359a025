/* Where grids lie in memory: the caller's, and the one in a plan's workspace that launches by turns
 * write. */
#ifndef STN_STRATEGIES_COMMON_LAYOUT_H
#define STN_STRATEGIES_COMMON_LAYOUT_H
#include "problem/task.h"

/* The strides of axes 0 to 2 and from one grid of the batch to the next, in elements. */
typedef struct stn_grid_layout {
    int64_t stride[3], batch;
} stn_grid_layout;

typedef struct stn_layouts {
    stn_grid_layout in, out, work;
    size_t work_bytes; /* of the workspace; 0 when one launch does all */
} stn_layouts;

/* Packed in rows of whole 16 bytes. */
stn_grid_layout stn_packed_layout(const int64_t n[3], stn_dtype dtype);
/* For a run of `launches` launches. The workspace's grid is packed; in place it lies as the
 * caller's does, since it is copied as it is. */
stn_layouts stn_task_layouts(const stn_task *task, uint64_t launches);
/* The elements of an access of 16 bytes along x if every row of every plane and grid is aligned to
 * it, or 1. */
int stn_task_vector(const stn_task *task);
#endif
