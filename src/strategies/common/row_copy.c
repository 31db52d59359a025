/* Arguments, blocks and cost of kernels that copy grids row by row; see row_copy.h. */
#include "strategies/common/row_copy.h"

#include <math.h>
#include <string.h>

#include "base/arith.h"

/* Cycles of a multiprocessor for a block, whose 8 warps find their row first: padded_load takes
 * 0.35 ms for 172032 rows of 30 points, and 73 us for 33135 rows of 53. */
#define BLOCK_CYCLES 400

stn_strided_grid stn_strided_grid_at(const stn_grid_layout *layout, const void *at) {
    stn_strided_grid grid = {.at = at, .batch = layout->batch};
    memcpy(grid.stride, layout->stride, sizeof grid.stride);
    return grid;
}

stn_updated_box stn_updated_box_of(const stn_task *task) {
    stn_updated_box updated;
    for (int axis = 0; axis < 3; axis++) stn_task_updated_range(task, axis, &updated.low[axis], &updated.high[axis]);
    return updated;
}

static int64_t rows_of(const stn_task *task) { return task->batch * task->n[0] * task->n[1]; }

int64_t stn_row_blocks(const stn_task *task) { return rows_of(task) * stn_row_chunks(task); }

bool stn_row_blocks_fit(const stn_task *task) { return rows_of(task) <= INT32_MAX / stn_row_chunks(task); }

double stn_row_seconds(const stn_task *task, const stn_machine *machine, stn_dtype dtype, int grids) {
    const double bytes = grids * (double)stn_task_points(task) * (double)stn_dtype_size(dtype);
    const double cycles = BLOCK_CYCLES * (double)stn_row_blocks(task);
    return fmax(bytes / machine->copy_bandwidth, cycles / (machine->multiprocessors * machine->clock)) +
           machine->launch_seconds;
}
