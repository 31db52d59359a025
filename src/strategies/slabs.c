/* See slabs.h. A slab is stepped between two buffers of its own; its first step reads the grid, its last one writes it. */
#include "strategies/slabs.h"

#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "base/half.h"
#include "context/context.h"
#include "context/kernel.h"
#include "strategies/direct_shape.h"

#define FACES 6
#define THREADS 256
#define MOST_TAPS 380 /* whose weights fit into a kernel's arguments beside the boxes */

/* As slabs_step.cu declares them; constants and weights follow in the kernel's arithmetic type. */
typedef struct slab_box {
    const void *in;
    void *out;
    int64_t in_stride[3], out_stride[3], in_batch, out_batch, low[3], extent[3], points;
} slab_box;
typedef struct slab_header {
    slab_box box[FACES];
    int64_t n[3], boxes;
} slab_header;

/* One face with a margin to step. */
typedef struct face {
    int axis, side;
    stn_grid_layout layout; /* of its buffers */
    int64_t origin[3];      /* the buffers' first point */
    size_t buffer[2];       /* bytes into the workspace */
} face;

struct stn_slabs {
    int fused;
    stn_kernel *kernel;
    size_t nfaces;
    face faces[FACES];
    int64_t low[3], high[3]; /* the interior */
    size_t workspace;
    size_t values_size;
    unsigned char values[(6 + MOST_TAPS) * 8];
};

static bool has_face(const stn_task *task, int axis, int side) {
    return task->reach[axis][side] > 0 && task->boundary[axis][side].kind != STN_WRAP;
}

bool stn_slabs_interior(const stn_task *task, int fused, int64_t low[3], int64_t high[3]) {
    bool any = true;
    for (int axis = 0; axis < 3; axis++) {
        int64_t n = task->n[axis];
        low[axis] = has_face(task, axis, 0) ? stn_min(n, (int64_t)fused * task->reach[axis][0]) : 0;
        high[axis] = has_face(task, axis, 1) ? stn_max(low[axis], n - (int64_t)fused * task->reach[axis][1]) : n;
        any = any && low[axis] < high[axis];
    }
    return any;
}

/* The part of its axis that a face's slab holds after step j of f: what step f wants, and a reach more for each step to
 * come. */
static void slab_range(const stn_task *task, int fused, int axis, int side, int step, int64_t *low, int64_t *high) {
    int64_t n = task->n[axis], margin = (int64_t)fused * task->reach[axis][side];
    int64_t depth = stn_min(n, margin + (int64_t)(fused - step) * task->reach[axis][!side]);
    *low = side ? n - depth : 0;
    *high = side ? n : depth;
}

/* The box of step j. The last step's boxes share no point: axis 0 takes the corners, then axis 1. */
static void slab_extent(const stn_task *task, const stn_slabs *slabs, const face *f, int step, int64_t low[3],
                        int64_t high[3]) {
    for (int axis = 0; axis < 3; axis++) {
        bool inner = step == slabs->fused && axis < f->axis;
        low[axis] = inner ? slabs->low[axis] : 0;
        high[axis] = inner ? slabs->high[axis] : task->n[axis];
    }
    slab_range(task, slabs->fused, f->axis, f->side, step, &low[f->axis], &high[f->axis]);
    if (step == slabs->fused && f->side) low[f->axis] = stn_max(low[f->axis], slabs->high[f->axis]);
}

double stn_slabs_seconds(const stn_task *task, const stn_machine *machine, int fused) {
    double points = 0, others = (double)stn_task_points(task);
    bool any = false;
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++) {
            if (!has_face(task, axis, side)) continue;
            any = true;
            for (int step = 1; step <= fused; step++) {
                int64_t low, high;
                slab_range(task, fused, axis, side, step, &low, &high);
                points += others / (double)task->n[axis] * (double)(high - low);
            }
        }
    if (!any) return 0;
    /* a load and its address a tap, some thirty instructions a point, as direct_gather's model counts them */
    double clock = machine->flops[STN_UNIT_FMA_F32] / (256.0 * machine->multiprocessors);
    double warps = points * ((double)task->ntaps * 5 + 30) / 32;
    return warps / (machine->multiprocessors * 2 * clock) + fused * machine->launch_seconds;
}

static direct_shape slab_shape(void) {
    return (direct_shape){.kernel = DIRECT_LINE,
                          .vector = 1,
                          .rows = 1,
                          .chunk = 1,
                          .threads = {1, 1, THREADS},
                          .blocks = 1,
                          .unroll = 1,
                          .fused = 1};
}

static void fill_values(const stn_task *task, stn_slabs *slabs) {
    double values[6 + MOST_TAPS];
    size_t count = 0;
    uint16_t order[DIRECT_MAX_TAPS];
    direct_shape shape = slab_shape();
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++) {
            double value = task->boundary[axis][side].value;
            bool half = task->dtype == STN_F16;
            values[count++] = half ? stn_half_to_float(stn_float_to_half((float)value)) : value;
        }
    direct_tap_order(task, &shape, order);
    for (size_t k = 0; k < task->ntaps; k++) values[count++] = task->taps[order[k]].weight;
    for (size_t i = 0; i < count; i++) {
        float narrow = (float)values[i];
        if (task->dtype == STN_F64)
            memcpy(slabs->values + i * 8, &values[i], 8);
        else
            memcpy(slabs->values + i * 4, &narrow, 4);
    }
    slabs->values_size = count * (task->dtype == STN_F64 ? 8 : 4);
}

/* Faces, their buffers and where these lie. Step 1's boxes are the largest that are kept. */
static void place_faces(const stn_task *task, stn_slabs *slabs) {
    size_t size = stn_dtype_size(task->dtype);
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++) {
            if (!has_face(task, axis, side)) continue;
            face *f = &slabs->faces[slabs->nfaces++];
            f->axis = axis, f->side = side;
            int64_t high[3];
            slab_extent(task, slabs, f, 1, f->origin, high);
            f->layout.stride[2] = 1;
            f->layout.stride[1] = high[2] - f->origin[2];
            f->layout.stride[0] = f->layout.stride[1] * (high[1] - f->origin[1]);
            f->layout.batch = f->layout.stride[0] * (high[0] - f->origin[0]);
            for (int b = 0; b < 2 && slabs->fused > 1; b++) {
                f->buffer[b] = slabs->workspace;
                slabs->workspace += (size_t)stn_round_up(f->layout.batch * task->batch * (int64_t)size, 256);
            }
        }
}

stn_status stn_slabs_create(stn_plan *plan, int fused, stn_slabs **result, stn_error *error) {
    *result = NULL;
    if (stn_slabs_seconds(&plan->task, &plan->machine, fused) == 0) return STN_OK;
    if (plan->task.ntaps > MOST_TAPS)
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "slabs take at most %d taps, not %zu: use strategy direct",
                        MOST_TAPS, plan->task.ntaps);
    stn_slabs *slabs = calloc(1, sizeof *slabs);
    if (!slabs) return stn_fail_memory(error, "the slabs", sizeof *slabs);
    slabs->fused = fused;
    stn_slabs_interior(&plan->task, fused, slabs->low, slabs->high);
    place_faces(&plan->task, slabs);
    fill_values(&plan->task, slabs);

    direct_shape shape = slab_shape();
    stn_text params = STN_TEXT_EMPTY;
    char *text = NULL;
    direct_params(&plan->task, &shape, &params);
    stn_status status = stn_text_take(&params, &text, error);
    if (status == STN_OK) status = stn_kernel_get(plan->context, "slabs_step", text, &slabs->kernel, error);
    stn_text_free(text);
    if (status != STN_OK) {
        free(slabs);
        return status;
    }
    bool listed = false; /* slabs of another f share the kernel */
    for (size_t i = 0; i < plan->nkernels; i++) listed = listed || plan->kernels[i] == slabs->kernel;
    if (!listed && plan->nkernels < STN_PLAN_KERNELS) plan->kernels[plan->nkernels++] = slabs->kernel;
    *result = slabs;
    return STN_OK;
}

size_t stn_slabs_workspace(const stn_slabs *slabs) { return slabs ? slabs->workspace : 0; }

stn_status stn_slabs_set_weights(stn_plan *plan, stn_slabs *slabs, stn_error *error) {
    (void)error;
    if (slabs) fill_values(&plan->task, slabs);
    return STN_OK;
}

/* A grid that holds only the box from `origin` on, seen as if it held everything. */
static unsigned char *shifted(const void *grid, const stn_grid_layout *layout, const int64_t origin[3], size_t size) {
    int64_t elements = 0;
    for (int axis = 0; axis < 3; axis++) elements += origin[axis] * layout->stride[axis];
    return (unsigned char *)((uintptr_t)grid - (uintptr_t)(elements * (int64_t)size));
}

static void fill_box(const stn_task *task, const stn_slabs *slabs, const face *f, int step, const stn_grid_layout *from,
                     const void *in, const stn_grid_layout *to, void *out, unsigned char *workspace, slab_box *box) {
    size_t size = stn_dtype_size(task->dtype);
    const stn_grid_layout *reads = step == 1 ? from : &f->layout, *writes = step == slabs->fused ? to : &f->layout;
    int64_t high[3];
    box->in = step == 1 ? in : shifted(workspace + f->buffer[step % 2], reads, f->origin, size);
    box->out = step == slabs->fused ? out : shifted(workspace + f->buffer[(step + 1) % 2], writes, f->origin, size);
    memcpy(box->in_stride, reads->stride, sizeof box->in_stride);
    memcpy(box->out_stride, writes->stride, sizeof box->out_stride);
    box->in_batch = reads->batch, box->out_batch = writes->batch;
    slab_extent(task, slabs, f, step, box->low, high);
    box->points = task->batch;
    for (int axis = 0; axis < 3; axis++) {
        box->extent[axis] = stn_max(high[axis] - box->low[axis], 0);
        box->points *= box->extent[axis];
    }
}

stn_status stn_slabs_run(const stn_plan *plan, const stn_slabs *slabs, stn_interior interior, const void *user,
                         const stn_fused_launch *l, void *workspace, stn_error *error) {
    STN_TRY(interior(plan, user, l, error));
    if (!slabs) return STN_OK;
    _Alignas(16) unsigned char arguments[sizeof(slab_header) + sizeof slabs->values];
    for (int step = 1; step <= slabs->fused; step++) {
        slab_header h = {.n = {plan->task.n[0], plan->task.n[1], plan->task.n[2]}};
        int64_t points = 0;
        for (size_t i = 0; i < slabs->nfaces; i++) {
            slab_box *box = &h.box[h.boxes];
            fill_box(&plan->task, slabs, &slabs->faces[i], step, l->from, l->in, l->to, l->out, workspace, box);
            if (!box->points) continue;
            points += box->points;
            h.boxes++;
        }
        if (!points) continue;
        memcpy(arguments, &h, sizeof h);
        memcpy(arguments + sizeof h, slabs->values, slabs->values_size);
        stn_launch launch = {
            .grid = {(unsigned)stn_div_up(points, THREADS), 1, 1}, .block = {THREADS, 1, 1}, .stream = l->stream};
        STN_TRY(stn_module_launch(slabs->kernel->module, &launch, arguments, error));
    }
    return STN_OK;
}

void stn_slabs_destroy(stn_plan *plan, stn_slabs *slabs) {
    (void)plan; /* its kernel is the context's */
    free(slabs);
}
