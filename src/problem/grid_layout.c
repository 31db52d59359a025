/* Memory layouts of grids: default strides, overlap of points, and the span in elements. */
#include "problem/grid_layout.h"

#include <inttypes.h>

#include "base/arith.h"
#include "base/error.h"

static stn_status fail_size(const stn_task *task, const char *side, stn_error *error) {
    return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                    "the %sput grids span more bytes of %s than 63 bits can count: lower the extents, strides or batch",
                    side, stn_dtype_name(task->dtype));
}

static stn_status check_signs(const stn_task *task, const char *side, const ptrdiff_t *stride, bool dense,
                              ptrdiff_t batch_stride, stn_error *error) {
    for (int axis = 0; axis < task->rank; axis++) {
        if (stride[axis] < 0)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "%s_stride[%d] is %td: pass the address of the lowest element, and positive strides", side,
                            axis, stride[axis]);
        if (stride[axis] == 0 && !dense && task->n[3 - task->rank + axis] > 1)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "%s_stride[%d] is 0 while other strides are not: give all strides, or none for dense", side,
                            axis);
    }
    if (batch_stride < 0)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "%s_batch_stride is %td: it must be positive, or 0 for dense", side, batch_stride);
    return STN_OK;
}

/* Fills the canonical strides from the fastest axis on; false on overflow. */
static bool canonical_strides(const stn_task *task, const ptrdiff_t *stride, bool dense, int64_t canonical[3]) {
    int64_t next = 1; /* the stride of a dense layout */
    for (int axis = 2; axis >= 0; axis--) {
        int own = axis - (3 - task->rank);
        canonical[axis] = own < 0 || dense || task->n[axis] == 1 ? next : (int64_t)stride[own];
        if (stn_mul_overflows(canonical[axis], task->n[axis], &next)) return false;
    }
    return true;
}

/* Visits the axes (the batch is number 3) by increasing stride: each stride must be at least the
 * span of the axes before it. This is sufficient for distinct points, and holds for all layouts in
 * use. */
static stn_status check_overlap(const stn_task *task, const char *side, const int64_t canonical[3],
                                int64_t batch_stride, stn_error *error) {
    int64_t n[4] = {task->n[0], task->n[1], task->n[2], task->batch}, span = 1, reach;
    int64_t stride[4] = {canonical[0], canonical[1], canonical[2], batch_stride};
    bool done[4] = {false, false, false, false};
    for (int step = 0; step < 4; step++) {
        int axis = -1;
        for (int a = 3; a >= 0; a--)
            if (!done[a] && (axis < 0 || stride[a] < stride[axis])) axis = a;
        done[axis] = true;
        if (n[axis] == 1) continue;
        if (stride[axis] < span && axis == 3)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "%s_batch_stride is %" PRId64 ", but a grid covers %" PRId64
                            " elements, so grids overlap: use a larger one, or 0 for dense",
                            side, stride[axis], span);
        if (stride[axis] < span)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "%s_stride[%d] is %" PRId64 ", but axes of smaller stride cover %" PRId64
                            " elements, so points overlap: use a larger one, or all 0 for dense",
                            side, axis - (3 - task->rank), stride[axis], span);
        if (stn_mul_overflows(n[axis] - 1, stride[axis], &reach) || stn_add_overflows(span, reach, &span))
            return fail_size(task, side, error);
    }
    const stn_element element = stn_task_element(task, *side == 'o');
    if (stn_mul_overflows(span, (int64_t)stn_element_size(element), &reach)) return fail_size(task, side, error);
    return STN_OK;
}

stn_status stn_layout_canonicalise(stn_task *task, bool of_output, const ptrdiff_t *stride, ptrdiff_t batch_stride,
                                   stn_error *error) {
    const char *side = of_output ? "out" : "in";
    int64_t *canonical = of_output ? task->out_stride : task->in_stride, most = 0, size;
    bool dense = true;
    for (int axis = 0; axis < task->rank; axis++) dense = dense && stride[axis] == 0;
    STN_TRY(check_signs(task, side, stride, dense, batch_stride, error));
    if (!canonical_strides(task, stride, dense, canonical)) return fail_size(task, side, error);
    for (int axis = 0; axis < 3; axis++) {
        if (stn_mul_overflows(task->n[axis], canonical[axis], &size)) return fail_size(task, side, error);
        most = stn_max(most, size);
    }
    int64_t distance = batch_stride && task->batch > 1 ? (int64_t)batch_stride : most;
    STN_TRY(check_overlap(task, side, canonical, distance, error));
    *(of_output ? &task->out_batch_stride : &task->in_batch_stride) = distance;
    return STN_OK;
}

int64_t stn_task_points(const stn_task *task) { return task->batch * task->n[0] * task->n[1] * task->n[2]; }

bool stn_task_same_strides(const stn_task *task) {
    for (int axis = 0; axis < 3; axis++)
        if (task->in_stride[axis] != task->out_stride[axis]) return false;
    return task->in_batch_stride == task->out_batch_stride;
}

int64_t stn_task_span(const stn_task *task, bool of_output) {
    const int64_t *stride = of_output ? task->out_stride : task->in_stride;
    int64_t batch_stride = of_output ? task->out_batch_stride : task->in_batch_stride;
    int64_t last = (task->batch - 1) * batch_stride;
    for (int axis = 0; axis < 3; axis++) last += (task->n[axis] - 1) * stride[axis];
    return last + 1;
}
