/* Margins as small tasks of strategy direct: copy two margins together, step them, copy back. */
#include "strategies/faces/strips.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "plan/plan.h"
#include "render/render.h"

#define SIDES 2
#define THREADS 256
#define ROWS 4     /* points of a thread of faces_copy.cu */
#define FACTOR 1.3 /* measured seconds of the steps of a strip divided by their estimate */

/* Mirrors the struct of faces_copy.cu. */
typedef struct copy_box {
    const void *in;
    void *out;
    int64_t in_stride[3], out_stride[3], in_batch, out_batch, extent[3], threads;
} copy_box;
typedef struct copy_arguments {
    copy_box box[SIDES];
    int64_t boxes;
} copy_arguments;

/* The margins of one axis. */
typedef struct strip {
    int axis;
    /* Points along the axis at its low and at its high side; {n, 0}: the whole axis. */
    int64_t depth[SIDES];
    stn_grid_layout layout;
    stn_plan *plan;
} strip;

struct faces_strips {
    int fused;
    size_t count;
    strip list[3];
    stn_kernel *copy;
    size_t grid; /* bytes of the largest strip; a run needs three: input, output, intermediate */
};

/* ---- tasks */

static size_t find_strips(const stn_task *task, int fused, strip strips[3]) {
    size_t count = 0;
    for (int axis = 0; axis < 3; axis++) {
        const int *reach = task->reach[axis];
        int64_t larger = stn_task_reach(task, axis);
        strip s = {.axis = axis};
        for (int side = 0; side < SIDES; side++)
            if (stn_faces_has_face(task, axis, side)) s.depth[side] = fused * (reach[side] + larger);
        if (!s.depth[0] && !s.depth[1]) continue;
        if (s.depth[0] + s.depth[1] >= task->n[axis]) s.depth[0] = task->n[axis], s.depth[1] = 0;
        int64_t extent[3] = {task->n[0], task->n[1], task->n[2]};
        extent[axis] = s.depth[0] + s.depth[1];
        s.layout = stn_packed_layout(extent, task->dtype);
        strips[count++] = s;
    }
    return count;
}

/* The strip's task; it uses the taps of the grid's task until it has its own. */
static stn_task strip_task(const stn_task *task, int fused, const strip *s) {
    stn_task own = *task;
    own.n[s->axis] = s->depth[0] + s->depth[1];
    memcpy(own.in_stride, s->layout.stride, sizeof own.in_stride);
    memcpy(own.out_stride, s->layout.stride, sizeof own.out_stride);
    own.in_batch_stride = own.out_batch_stride = s->layout.batch;
    own.steps = (uint64_t)fused;
    own.snapshots = 1;
    own.in_place = false;
    own.alignment = 16;
    return own;
}

double faces_strips_seconds(const stn_task *task, const stn_machine *machine, int fused) {
    strip strips[3];
    size_t count = find_strips(task, fused, strips);
    double seconds = 0;
    for (size_t i = 0; i < count; i++) {
        stn_task own = strip_task(task, fused, &strips[i]);
        stn_estimate e;
        if (!stn_subplan_estimate(&own, machine, "direct", &e)) return INFINITY;
        double bytes = (double)stn_task_points(&own) * (double)stn_dtype_size(task->dtype);
        seconds += FACTOR * e.seconds + 4 * bytes / machine->copy_bandwidth + 2 * machine->launch_seconds;
    }
    return seconds;
}

/* ---- building */

static stn_status get_copy(const stn_plan *plan, faces_strips *strips, stn_error *error) {
    stn_text params = STN_TEXT_EMPTY;
    stn_params_begin_for(&params, plan->task.dtype);
    stn_params_int(&params, "ROWS", ROWS);
    stn_params_int(&params, "THREADS_X", THREADS);
    return stn_kernel_make(plan->kernels, "faces_copy", &params, 0, &strips->copy, error);
}

stn_status faces_strips_create(stn_plan *plan, int fused, faces_strips **result, stn_error *error) {
    faces_strips *strips = calloc(1, sizeof *strips);
    if (!strips) return stn_fail_memory(error, "the faces", sizeof *strips);
    strips->fused = fused;
    strips->count = find_strips(&plan->task, fused, strips->list);
    stn_status status = get_copy(plan, strips, error);
    for (size_t i = 0; i < strips->count && status == STN_OK; i++) {
        strip *s = &strips->list[i];
        int64_t bytes = s->layout.batch * plan->task.batch * (int64_t)stn_dtype_size(plan->task.dtype);
        if ((size_t)bytes > strips->grid) strips->grid = (size_t)stn_round_up(bytes, 256);
        const stn_task own = strip_task(&plan->task, fused, s);
        status = stn_subplan(plan, &own, "direct", &s->plan, error);
    }
    if (status != STN_OK) {
        faces_strips_destroy(strips);
        return status;
    }
    *result = strips;
    return STN_OK;
}

void faces_strips_destroy(faces_strips *strips) {
    if (!strips) return;
    for (size_t i = 0; i < strips->count; i++) stn_plan_destroy(strips->list[i].plan);
    free(strips);
}

size_t faces_strips_workspace(const faces_strips *strips) { return 3 * strips->grid; }

stn_status faces_strips_set_weights(stn_plan *plan, faces_strips *strips, stn_error *error) {
    for (size_t i = 0; i < strips->count; i++)
        STN_TRY(stn_subplan_set_weights(strips->list[i].plan, &plan->task, error));
    return STN_OK;
}

/* ---- running */

/* The address of a grid's point. */
static unsigned char *point(const void *grid, const stn_grid_layout *layout, const int64_t index[3], size_t size) {
    int64_t elements = 0;
    for (int axis = 0; axis < 3; axis++) elements += index[axis] * layout->stride[axis];
    return (unsigned char *)grid + elements * (int64_t)size;
}

/* Adds a box to the copy unless it is empty. */
static void add_box(const stn_task *task, copy_arguments *a, const stn_grid_layout *from, const void *in,
                    const stn_grid_layout *to, void *out, const int64_t extent[3]) {
    if (extent[0] <= 0 || extent[1] <= 0 || extent[2] <= 0) return;
    copy_box *box = &a->box[a->boxes++];
    *box = (copy_box){.in = in, .out = out, .in_batch = from->batch, .out_batch = to->batch};
    memcpy(box->in_stride, from->stride, sizeof box->in_stride);
    memcpy(box->out_stride, to->stride, sizeof box->out_stride);
    memcpy(box->extent, extent, sizeof box->extent);
    box->threads = task->batch * extent[0] * stn_div_up(extent[1], ROWS) * extent[2];
}

static stn_status copy(const faces_strips *strips, copy_arguments *a, void *stream, stn_error *error) {
    int64_t threads = 0;
    for (int64_t i = 0; i < a->boxes; i++) threads += a->box[i].threads;
    if (!threads) return STN_OK;
    return stn_kernel_launch(strips->copy, stn_div_up(threads, THREADS), THREADS, 0, a, stream, error);
}

/* Copies the grid's two ends next to each other. */
static stn_status gather(const stn_task *task, const faces_strips *strips, const strip *s, const stn_fused_launch *l,
                         unsigned char *to, stn_error *error) {
    copy_arguments a = {.boxes = 0};
    size_t size = stn_dtype_size(task->dtype);
    for (int side = 0; side < SIDES; side++) {
        int64_t extent[3] = {task->n[0], task->n[1], task->n[2]}, from_index[3] = {0}, to_index[3] = {0};
        extent[s->axis] = s->depth[side];
        if (side) from_index[s->axis] = task->n[s->axis] - s->depth[1], to_index[s->axis] = s->depth[0];
        add_box(task, &a, l->from, point(l->in, l->from, from_index, size), &s->layout,
                point(to, &s->layout, to_index, size), extent);
    }
    return copy(strips, &a, l->stream, error);
}

/* Copies the margins of the strip's axis back, without the corners, which slower axes copy. */
static stn_status scatter(const stn_task *task, const faces_strips *strips, const strip *s, const stn_fused_launch *l,
                          const unsigned char *from, stn_error *error) {
    copy_arguments a = {.boxes = 0};
    size_t size = stn_dtype_size(task->dtype);
    int64_t inner_low[3], inner_high[3];
    stn_faces_interior(task, strips->fused, inner_low, inner_high);
    for (int side = 0; side < SIDES; side++) {
        int64_t low[3] = {0}, extent[3] = {task->n[0], task->n[1], task->n[2]};
        for (int k = 0; k < s->axis; k++) low[k] = inner_low[k], extent[k] = inner_high[k] - inner_low[k];
        low[s->axis] = side ? inner_high[s->axis] : 0;
        extent[s->axis] = side ? task->n[s->axis] - inner_high[s->axis] : inner_low[s->axis];
        int64_t there[3] = {low[0], low[1], low[2]};
        if (side) there[s->axis] -= task->n[s->axis] - s->depth[0] - s->depth[1];
        add_box(task, &a, &s->layout, point(from, &s->layout, there, size), l->to, point(l->out, l->to, low, size),
                extent);
    }
    return copy(strips, &a, l->stream, error);
}

stn_status faces_strips_run(const stn_plan *plan, const faces_strips *strips, const stn_fused_launch *l,
                            stn_error *error) {
    unsigned char *before = l->margins, *after = before + strips->grid, *workspace = after + strips->grid;
    for (size_t i = 0; i < strips->count; i++) {
        const strip *s = &strips->list[i];
        STN_TRY(gather(&plan->task, strips, s, l, before, error));
        STN_TRY(stn_plan_execute_with(s->plan, before, after, workspace, l->stream, error));
        STN_TRY(scatter(&plan->task, strips, s, l, after, error));
    }
    return STN_OK;
}
