/* Memory layouts of a task's grids and of the workspace. */
#include "strategies/common/grid_layout.h"

#include <string.h>

#include "base/arith.h"

stn_grid_layout stn_packed_layout(const int64_t n[3], stn_dtype dtype) {
    stn_grid_layout packed = {.stride = {0, stn_round_up(n[2], 16 / (int64_t)stn_dtype_size(dtype)), 1}};
    packed.stride[0] = packed.stride[1] * n[1];
    packed.batch = packed.stride[0] * n[0];
    return packed;
}

stn_layouts stn_task_layouts(const stn_task *task, uint64_t launches) {
    stn_layouts l = {.in.batch = task->in_batch_stride, .out.batch = task->out_batch_stride};
    memcpy(l.in.stride, task->in_stride, sizeof l.in.stride);
    memcpy(l.out.stride, task->out_stride, sizeof l.out.stride);
    l.work = task->in_place ? l.in : stn_packed_layout(task->n, task->dtype);
    int64_t size = (int64_t)stn_dtype_size(task->dtype);
    if (task->in_place)
        l.work_bytes = (size_t)(stn_task_span(task, false) * size);
    else if (launches > 1)
        l.work_bytes = (size_t)(l.work.batch * task->batch * size);
    return l;
}

int stn_task_vector(const stn_task *task) {
    int slot = 16 / (int)stn_dtype_size(task->dtype);
    bool whole = task->alignment >= 16;
    for (int axis = 3 - task->rank; axis < 2; axis++)
        whole = whole && task->in_stride[axis] % slot == 0 && task->out_stride[axis] % slot == 0;
    if (task->batch > 1) whole = whole && task->in_batch_stride % slot == 0 && task->out_batch_stride % slot == 0;
    return whole ? slot : 1;
}
