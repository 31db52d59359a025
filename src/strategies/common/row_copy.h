/* Launches of kernels that copy or combine grids of any layout row by row
 * (device/row_chunk.cuh). */
#ifndef STN_STRATEGIES_COMMON_ROW_COPY_H
#define STN_STRATEGIES_COMMON_ROW_COPY_H
#include "launch/machine.h"
#include "strategies/common/grid_layout.h"

enum { STN_ROW_THREADS = 256, STN_ROW_CHUNK = 8 * STN_ROW_THREADS }; /* points of a block's chunk */

/* Mirror strided_grid and updated_box of device/row_chunk.cuh. */
typedef struct stn_strided_grid {
    const void *at;
    int64_t stride[3], batch;
} stn_strided_grid;
typedef struct stn_updated_box {
    int64_t low[3], high[3];
} stn_updated_box;

/* The grid of this layout, in elements, whose first point is at `at`. The memory is borrowed. */
stn_strided_grid stn_strided_grid_at(const stn_grid_layout *layout, const void *at);
/* The points of the task's grid that no fixed side freezes: low to high - 1 along each axis. */
stn_updated_box stn_updated_box_of(const stn_task *task);

/* Chunks of a row of the task's grid. */
static inline int64_t stn_row_chunks(const stn_task *task) { return stn_div_up(task->n[2], STN_ROW_CHUNK); }
/* Blocks for all grids of the task. */
int64_t stn_row_blocks(const stn_task *task);
/* Whether one launch can have these blocks. */
bool stn_row_blocks_fit(const stn_task *task);
/* Seconds of a launch that reads and writes this many grids of this type in total. */
double stn_row_seconds(const stn_task *task, const stn_machine *machine, stn_dtype dtype, int grids);
#endif
