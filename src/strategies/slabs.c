/* See slabs.h. Strips are stepped by plans of strategy direct, between grids of their own. */
#include "strategies/slabs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "render/render.h"
#include "strategies/slabs_strip.h"

#define FACES 6
#define THREADS 256
#define ROWS 4 /* points of a thread */

/* As slabs_copy.cu declares them. */
typedef struct copy_box {
    const void *in;
    void *out;
    int64_t in_stride[3], out_stride[3], in_batch, out_batch, extent[3], threads;
} copy_box;
typedef struct copy_arguments {
    copy_box box[FACES];
    int64_t boxes;
} copy_arguments;

/* A strip and its plan. */
typedef struct part {
    strip strip;
    stn_plan *plan;
    size_t in, out, work; /* bytes into the workspace; in and out may be the same */
} part;

struct stn_slabs {
    int fused;
    int64_t low[3], high[3]; /* the interior */
    size_t nparts;
    part parts[3];
    stn_kernel *copy;
    stn_fork *fork; /* a branch for each part; NULL for an absent GPU */
    size_t workspace;
};

static void destroy_plan(stn_plan *plan) {
    if (!plan) return;
    stn_strategy_direct.release(plan);
    stn_task_clear(&plan->task);
    free(plan);
}

/* A plan for the strip. It is in place where that needs no copy. */
static stn_status plan_strip(const stn_plan *parent, int fused, double interior, part *p, stn_error *error) {
    stn_plan *plan = calloc(1, sizeof *plan);
    if (!plan) return stn_fail_memory(error, "a plan", sizeof *plan);
    plan->context = parent->context;
    plan->machine = parent->machine;
    plan->strategy = &stn_strategy_direct;
    size_t size = parent->task.ntaps * sizeof(stn_tap);
    stn_tap *taps = malloc(size);
    if (!taps) {
        free(plan);
        return stn_fail_memory(error, "taps", size);
    }
    p->plan = plan;
    plan->task = strip_task(&parent->task, fused, &p->strip, taps);
    if (!strip_choose(&plan->task, &plan->machine, interior, &plan->candidate, &plan->estimate))
        return stn_fail(error, STN_ERROR_UNSUPPORTED,
                        "the faces of this grid need more blocks than a launch can have: use a smaller batch");
    plan->task.in_place = fmod(plan->estimate.launches, 2) == 0;
    return stn_strategy_direct.prepare(plan, error);
}

/* Room for slabs of fewer fused steps too, which new weights may call for: their launches may be odd in number, and where a
 * strip is the whole grid, they may have one for each axis. */
static void place_buffers(const stn_task *task, stn_slabs *slabs) {
    size_t axes = 0;
    for (int axis = 0; axis < 3; axis++) axes += strip_has_face(task, axis, 0) || strip_has_face(task, axis, 1);
    for (size_t i = 0; i < slabs->nparts; i++) {
        part *p = &slabs->parts[i];
        int64_t size = (int64_t)stn_dtype_size(task->dtype);
        size_t grid = (size_t)stn_round_up(p->strip.layout.batch * task->batch * size, 256);
        p->in = slabs->workspace;
        p->work = p->in + grid;
        p->out = p->plan->task.in_place ? p->in : p->work + grid;
        slabs->workspace += 3 * grid * (strip_is_whole(task, &p->strip) ? axes : 1);
    }
}

/* ---- building -------------------------------------------------------------------------------------------------- */

/* For describe and packs; strips share kernels. */
static void list_kernel(stn_plan *plan, stn_kernel *kernel) {
    for (size_t i = 0; i < plan->nkernels; i++)
        if (plan->kernels[i] == kernel) return;
    if (plan->nkernels < STN_PLAN_KERNELS) plan->kernels[plan->nkernels++] = kernel;
}

static void list_kernels(stn_plan *plan, const stn_slabs *slabs) {
    list_kernel(plan, slabs->copy);
    for (size_t i = 0; i < slabs->nparts; i++)
        for (size_t k = 0; k < slabs->parts[i].plan->nkernels; k++) list_kernel(plan, slabs->parts[i].plan->kernels[k]);
}

static stn_status get_copy(const stn_plan *plan, stn_slabs *slabs, stn_error *error) {
    stn_text params = STN_TEXT_EMPTY;
    stn_params_begin(&params);
    stn_params_elements(&params, plan->task.dtype);
    stn_params_int(&params, "ROWS", ROWS);
    stn_params_int(&params, "THREADS_X", THREADS);
    char *text;
    STN_TRY(stn_text_take(&params, &text, error));
    stn_status status = stn_kernel_get(plan->context, "slabs_copy", text, &slabs->copy, error);
    stn_text_free(text);
    return status;
}

stn_status stn_slabs_create(stn_plan *plan, int fused, double interior, stn_slabs **result, stn_error *error) {
    *result = NULL;
    strip strips[3];
    size_t count = strips_find(&plan->task, fused, strips);
    if (!count) return STN_OK;
    stn_slabs *slabs = calloc(1, sizeof *slabs);
    if (!slabs) return stn_fail_memory(error, "the slabs", sizeof *slabs);
    slabs->fused = fused;
    slabs->nparts = count;
    for (size_t i = 0; i < count; i++) slabs->parts[i].strip = strips[i];
    stn_slabs_interior(&plan->task, fused, slabs->low, slabs->high);
    stn_status status = get_copy(plan, slabs, error);
    for (size_t i = 0; i < count && status == STN_OK; i++)
        status = plan_strip(plan, fused, interior, &slabs->parts[i], error);
    if (status == STN_OK && plan->machine.present)
        status = stn_fork_create(plan->context->device, (int)count, &slabs->fork, error);
    if (status != STN_OK) {
        stn_slabs_destroy(plan, slabs);
        return status;
    }
    place_buffers(&plan->task, slabs);
    list_kernels(plan, slabs);
    *result = slabs;
    return STN_OK;
}

size_t stn_slabs_workspace(const stn_slabs *slabs) { return slabs ? slabs->workspace : 0; }

stn_status stn_slabs_set_weights(stn_plan *plan, stn_slabs *slabs, stn_error *error) {
    if (!slabs) return STN_OK;
    for (size_t i = 0; i < slabs->nparts; i++) {
        stn_plan *own = slabs->parts[i].plan;
        strip_taps(&plan->task, &slabs->parts[i].strip, own->task.taps);
        STN_TRY(stn_strategy_direct.set_weights(own, error));
    }
    list_kernels(plan, slabs);
    return STN_OK;
}

void stn_slabs_destroy(stn_plan *plan, stn_slabs *slabs) {
    (void)plan; /* the copy's kernel is the context's */
    if (!slabs) return;
    for (size_t i = 0; i < slabs->nparts; i++) destroy_plan(slabs->parts[i].plan);
    stn_fork_destroy(slabs->fork);
    free(slabs);
}

/* ---- running --------------------------------------------------------------------------------------------------- */

/* The bytes of a grid's point. */
static unsigned char *point(const void *grid, const stn_grid_layout *layout, const int64_t index[3], size_t size) {
    int64_t elements = 0;
    for (int axis = 0; axis < 3; axis++) elements += index[axis] * layout->stride[axis];
    return (unsigned char *)grid + elements * (int64_t)size;
}

/* One more box, if it holds any point. */
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

static stn_status copy(const stn_slabs *slabs, copy_arguments *a, void *stream, stn_error *error) {
    int64_t threads = 0;
    for (int64_t i = 0; i < a->boxes; i++) threads += a->box[i].threads;
    if (!threads) return STN_OK;
    stn_launch launch = {
        .grid = {(unsigned)stn_div_up(threads, THREADS), 1, 1}, .block = {THREADS, 1, 1}, .stream = stream};
    return stn_module_launch(slabs->copy->module, &launch, a, error);
}

/* The grid's two ends side by side. */
static stn_status gather(const stn_task *task, const stn_slabs *slabs, const strip *s, const stn_fused_launch *l,
                         unsigned char *to, void *stream, stn_error *error) {
    copy_arguments a = {.boxes = 0};
    size_t size = stn_dtype_size(task->dtype);
    for (int side = 0; side < 2; side++) {
        int64_t extent[3] = {task->n[0], task->n[1], task->n[2]}, from_index[3] = {0}, to_index[3] = {0};
        extent[s->axis] = s->depth[side];
        if (side) from_index[s->axis] = task->n[s->axis] - s->depth[1], to_index[s->axis] = s->depth[0];
        add_box(task, &a, l->from, point(l->in, l->from, from_index, size), &s->layout,
                point(to, &s->layout, to_index, size), extent);
    }
    return copy(slabs, &a, stream, error);
}

static stn_status step_part(const stn_task *task, const stn_slabs *slabs, const part *p, const stn_fused_launch *l,
                            unsigned char *workspace, void *stream, stn_error *error) {
    STN_TRY(gather(task, slabs, &p->strip, l, workspace + p->in, stream, error));
    return stn_strategy_direct.execute(p->plan, workspace + p->in, workspace + p->out, workspace + p->work, stream,
                                       error);
}

/* The margins, and nothing else, out of the strips. They share no point: axis 0 takes the corners, then axis 1. */
static stn_status scatter(const stn_task *task, const stn_slabs *slabs, const stn_fused_launch *l,
                          const unsigned char *workspace, stn_error *error) {
    copy_arguments a = {.boxes = 0};
    size_t size = stn_dtype_size(task->dtype);
    const part *p = slabs->parts;
    bool whole = strip_is_whole(task, &p->strip);
    for (int face = 0; face < FACES; face++) {
        int axis = face / 2, side = face % 2;
        if (!strip_has_face(task, axis, side)) continue;
        int64_t low[3], extent[3];
        for (int k = 0; k < 3; k++) {
            low[k] = k < axis ? slabs->low[k] : 0;
            extent[k] = (k < axis ? slabs->high[k] : task->n[k]) - low[k];
        }
        low[axis] = side ? slabs->high[axis] : 0;
        extent[axis] = side ? task->n[axis] - slabs->high[axis] : slabs->low[axis];
        while (!whole && p->strip.axis != axis) p++;
        const strip *s = &p->strip;
        int64_t there[3] = {low[0], low[1], low[2]};
        if (side && !whole) there[axis] -= task->n[axis] - s->depth[0] - s->depth[1];
        add_box(task, &a, &s->layout, point(workspace + p->out, &s->layout, there, size), l->to,
                point(l->out, l->to, low, size), extent);
    }
    return copy(slabs, &a, l->stream, error);
}

stn_status stn_slabs_run(const stn_plan *plan, const stn_slabs *slabs, stn_interior interior, const void *user,
                         const stn_fused_launch *l, void *workspace, stn_error *error) {
    if (!slabs) return interior(plan, user, l, error);
    bool beside = false;
    stn_status status = stn_fork_begin(slabs->fork, l->stream, &beside, error);
    for (size_t i = 0; i < slabs->nparts && status == STN_OK; i++)
        status = step_part(&plan->task, slabs, &slabs->parts[i], l, workspace,
                           beside ? stn_fork_branch(slabs->fork, (int)i) : l->stream, error);
    if (status == STN_OK) status = interior(plan, user, l, error);
    if (beside) {
        stn_status joined = stn_fork_end(slabs->fork, l->stream, status == STN_OK ? error : NULL);
        if (status == STN_OK) status = joined;
    }
    return status == STN_OK ? scatter(&plan->task, slabs, l, workspace, error) : status;
}
