/* Axes, reaches and access widths of the direct kernels. */
#include "strategies/direct/direct_shape.h"

int direct_axis(const stn_task *task, const direct_shape *shape, int kernel_axis) {
    bool marches = shape->kernel == DIRECT_TILE || shape->kernel == DIRECT_TIME_TILE;
    if (!marches || task->rank == 3) return kernel_axis;
    static const int flat[3] = {1, 0, 2};
    return flat[kernel_axis];
}

int direct_reach(const stn_task *task, const direct_shape *shape, int kernel_axis) {
    return stn_task_reach(task, direct_axis(task, shape, kernel_axis));
}

bool direct_all_sides_fixed(const stn_task *task) {
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++)
            if (task->reach[axis][side] && task->boundary[axis][side].kind != STN_FIXED) return false;
    return true;
}

int direct_widest_vector(const stn_task *task, bool any_length) {
    int size = (int)stn_dtype_size(task->dtype), vector = 16 / size;
    bool any_end = any_length || task->rank == 1;
    while (vector > 1) {
        bool fits = task->alignment % (vector * size) == 0 && (any_end || task->n[2] % vector == 0);
        for (int axis = 0; axis < 2; axis++) {
            bool moves = task->n[axis] > 1;
            fits = fits && !(moves && (task->in_stride[axis] % vector || task->out_stride[axis] % vector));
        }
        fits = fits && !(task->batch > 1 && (task->in_batch_stride % vector || task->out_batch_stride % vector));
        if (fits) break;
        vector /= 2;
    }
    return vector;
}

direct_shape direct_any_shape(void) { return (direct_shape){DIRECT_ANY, 1, 1, 1, {1, 1, 256}, 1, 1, .fused = 1}; }

bool direct_has_table(const direct_shape *shape) {
    return shape->kernel == DIRECT_GATHER || shape->kernel == DIRECT_ANY;
}

const char *direct_kernel_name(const direct_shape *shape) {
    static const char *const names[] = {"direct_line",      "direct_tile",      "direct_gather",
                                        "direct_time_line", "direct_time_tile", "direct_any"};
    return shape->skewed ? "direct_skew" : names[shape->kernel];
}
