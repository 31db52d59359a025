/* The terms added at each step: the problem's constant source and, near fixed and constant
 * boundaries, the taps applied to boundary values alone. The odd extension gives everything else
 * past such a boundary. Nothing is added to frozen points. */
#include <string.h>

#include "strategies/host_spectral/element_access.h"
#include "strategies/host_spectral/host_spectral_passes.h"

typedef struct grid_view {
    const grid_batch *w;
    const char *base; /* The grid's first point. */
} grid_view;

/* The boundary value that a tap at `at` reads, if it falls on a constant side or a frozen point;
 * else 0. If it is outside along several axes, the slowest axis decides. */
static double boundary_value(const grid_view *v, const int64_t at[3]) {
    const stn_task *task = v->w->task;
    int64_t seen[3], element = 0;
    bool frozen = false;
    for (int axis = 0; axis < 3; axis++) {
        seen[axis] = stn_fold(at[axis], task->n[axis], task->boundary[axis]);
        if (seen[axis] < 0) return stn_task_constant_value(task, axis, seen[axis] == -2);
        frozen = frozen || seen[axis] < v->w->s->updated[axis][0] || seen[axis] >= v->w->s->updated[axis][1];
        element += seen[axis] * task->in_stride[axis];
    }
    return frozen ? number_at(task->dtype, v->base, element) : 0;
}

static double boundary_terms(const grid_view *v, const int64_t index[3]) {
    const stn_task *task = v->w->task;
    double sum = 0;
    for (size_t i = 0; i < task->ntaps; i++) {
        int64_t at[3];
        for (int axis = 0; axis < 3; axis++) at[axis] = index[axis] + task->taps[i].offset[axis];
        sum += task->taps[i].weight * boundary_value(v, at);
    }
    return sum;
}

/* Whether a tap of a point at this index may reach past a fixed or constant side of the axis. */
static bool is_near_odd_side(const grid_batch *w, int axis, int64_t i) {
    const stn_task *task = w->task;
    for (int side = 0; side < 2; side++) {
        const stn_boundary_kind kind = task->boundary[axis][side].kind;
        if (kind != STN_FIXED && kind != STN_CONSTANT) continue;
        const int64_t edge = w->s->updated[axis][side], reach = task->reach[axis][side];
        if (side ? i >= edge - reach : i < edge + reach) return true;
    }
    return false;
}

void host_spectral_source_fill_row(const grid_batch *w, int64_t row) {
    const stn_task *task = w->task;
    const int64_t *n = task->n, size = (int64_t)stn_dtype_size(task->dtype);
    const int64_t grid = row / (n[0] * n[1]);
    int64_t index[3] = {row / n[1] % n[0], row % n[1], 0};
    double *to = w->added + row * n[2];
    memset(to, 0, (size_t)n[2] * sizeof *to);
    bool near = false;
    for (int axis = 0; axis < 2; axis++) {
        if (index[axis] < w->s->updated[axis][0] || index[axis] >= w->s->updated[axis][1]) return;
        near = near || is_near_odd_side(w, axis, index[axis]);
    }
    const grid_view view = {w, w->in + grid * task->in_batch_stride * size};
    const char *source = w->source ? w->source + grid * task->source_batch_stride * size : NULL;
    const int64_t first = index[0] * task->source_stride[0] + index[1] * task->source_stride[1];
    for (int64_t x = w->s->updated[2][0]; x < w->s->updated[2][1]; x++) {
        index[2] = x;
        if (source) to[x] = number_at(task->dtype, source, first + x * task->source_stride[2]);
        if (near || is_near_odd_side(w, 2, x)) to[x] += boundary_terms(&view, index);
    }
}
