/* See slabs.h. The two margins of an axis are stepped together, on the grid pinched along that axis to what f steps of
 * them can see:
 *
 *     0    m0   depth0            n - depth1   m1   n         depth0 = depth1 = f * (both reaches of the axis)
 *     |####|.....|                     |.....|####|
 *                    pinched:  |####|.....|.....|####|
 *
 * Its faces are the grid's own. Where the two parts meet, what one step gets wrong is a reach wider after each step, and
 * after f of them it has come up to the margins (#). So a strip is a task like the grid's, for strategy direct. In 2D
 * those of axis 0 are turned, so that all are long and narrow: then one warp spans a row, from face to face. */
#include "strategies/slabs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "render/render.h"
#include "strategies/direct_shape.h"

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

/* The margins of one axis; or of all, when the strip holds the whole grid. */
typedef struct strip {
    int axis;
    bool turned;            /* its task has axes 1 and 2 in each other's place */
    int64_t depth[2];       /* points of the axis at its low and at its high side; together n: the whole grid */
    stn_grid_layout layout; /* by the grid's axes */
    stn_plan *plan;
    size_t in, out, work; /* bytes into the workspace; in and out may be the same */
} strip;

struct stn_slabs {
    int fused;
    int64_t low[3], high[3]; /* the interior */
    size_t nstrips;
    strip strips[3];
    stn_kernel *copy;
    stn_fork *fork; /* a branch for each strip; NULL for an absent GPU */
    size_t workspace;
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

/* ---- strips ---------------------------------------------------------------------------------------------------- */

static bool is_whole(const stn_task *task, const strip *s) { return s->depth[0] + s->depth[1] == task->n[s->axis]; }

static void swap(int64_t *a, int64_t *b) {
    int64_t was = *a;
    *a = *b, *b = was;
}

/* Past two constant sides at a corner the slower axis decides, so the axes cannot change places if that matters. */
static bool may_turn(const stn_task *task) {
    const stn_boundary *known = NULL;
    for (int i = 0; i < 4; i++) {
        const stn_boundary *side = &task->boundary[1 + i / 2][i % 2];
        if (side->kind != STN_CONSTANT) continue;
        if (known && known->value != side->value) return false;
        known = side;
    }
    return task->rank == 2;
}

static stn_grid_layout strip_layout(const stn_task *task, const strip *s) {
    int64_t extent[3] = {task->n[0], task->n[1], task->n[2]};
    extent[s->axis] = s->depth[0] + s->depth[1];
    if (s->turned) swap(&extent[1], &extent[2]);
    stn_grid_layout layout = stn_packed_layout(extent, task->dtype);
    if (s->turned) swap(&layout.stride[1], &layout.stride[2]);
    return layout;
}

/* Axis, depths and layout of every strip; one that is the whole grid makes all others needless. */
static size_t find_strips(const stn_task *task, int fused, strip strips[3]) {
    size_t count = 0;
    for (int axis = 0; axis < 3; axis++) {
        bool low = has_face(task, axis, 0), high = has_face(task, axis, 1);
        if (!low && !high) continue;
        int64_t n = task->n[axis], depth = (int64_t)fused * (task->reach[axis][0] + task->reach[axis][1]);
        strip s = {.axis = axis, .depth = {low ? depth : 0, high ? depth : 0}};
        bool whole = s.depth[0] + s.depth[1] >= n;
        if (whole) s.depth[0] = n, s.depth[1] = 0;
        s.turned = !whole && axis == 1 && may_turn(task);
        s.layout = strip_layout(task, &s);
        if (whole) count = 0;
        strips[count++] = s;
        if (whole) break;
    }
    return count;
}

static int by_offset(const void *a, const void *b) {
    const int64_t *x = ((const stn_tap *)a)->offset, *y = ((const stn_tap *)b)->offset;
    for (int k = 0; k < 3; k++)
        if (x[k] != y[k]) return x[k] < y[k] ? -1 : 1;
    return 0;
}

/* The grid's taps with the weights they have now, in the order that a task keeps. */
static void set_taps(const stn_task *task, const strip *s, stn_tap *taps) {
    memcpy(taps, task->taps, task->ntaps * sizeof *taps);
    if (!s->turned) return;
    for (size_t k = 0; k < task->ntaps; k++) swap(&taps[k].offset[1], &taps[k].offset[2]);
    qsort(taps, task->ntaps, sizeof *taps, by_offset);
}

static void turn(stn_task *task) {
    swap(&task->n[1], &task->n[2]);
    for (int side = 0; side < 2; side++) {
        stn_boundary boundary = task->boundary[1][side];
        int reach = task->reach[1][side];
        task->boundary[1][side] = task->boundary[2][side], task->boundary[2][side] = boundary;
        task->reach[1][side] = task->reach[2][side], task->reach[2][side] = reach;
    }
}

/* The task of a strip; `taps` are its own. */
static stn_task strip_task(const stn_task *task, int fused, const strip *s, stn_tap *taps) {
    stn_task own = *task;
    own.taps = taps;
    set_taps(task, s, taps);
    own.n[s->axis] = s->depth[0] + s->depth[1];
    stn_grid_layout layout = s->layout;
    if (s->turned) {
        turn(&own);
        swap(&layout.stride[1], &layout.stride[2]);
    }
    memcpy(own.in_stride, layout.stride, sizeof own.in_stride);
    memcpy(own.out_stride, layout.stride, sizeof own.out_stride);
    own.in_batch_stride = own.out_batch_stride = layout.batch;
    own.steps = (uint64_t)fused;
    own.in_place = false;
    own.alignment = 16;
    return own;
}

/* ---- cost ------------------------------------------------------------------------------------------------------ */

/* What a strip takes beside an interior. Its launches hide behind the interior's for as long as that runs; what they keep
 * busy is the interior's loss: here twice their arithmetic at the full rate, being short rows of dependent stages, or their
 * traffic. */
static double seconds_beside(const stn_machine *machine, const stn_estimate *e, double interior) {
    double busy = fmax(2 * e->flops / machine->flops[e->unit], e->bytes / machine->copy_bandwidth);
    return fmax(busy, e->seconds - interior);
}

/* The way of strategy direct that takes least beside the interior. Alone a walk is best cut into many short ones, that
 * all multiprocessors are busy; beside an interior into few, that repeat fewer rows. */
static double choose(const stn_task *task, const stn_machine *machine, double interior, stn_candidate *best,
                     stn_estimate *estimate) {
    stn_candidate list[16];
    double least = INFINITY;
    size_t count = stn_strategy_direct.candidates(task, machine, list, 16);
    for (size_t i = 0; i < count; i++) {
        direct_shape shape;
        memcpy(&shape, list[i].values, sizeof shape);
        bool walks = shape.kernel == DIRECT_TIME_PLANE || shape.kernel == DIRECT_TIME_BRICK;
        int64_t longest = walks ? task->n[direct_axis(task, &shape, 0)] : shape.chunk;
        for (int64_t chunk = shape.chunk; chunk <= longest; chunk *= 2) {
            shape.chunk = (int)chunk;
            memcpy(list[i].values, &shape, sizeof shape);
            stn_estimate e;
            stn_strategy_direct.estimate(task, machine, &list[i], &e);
            double seconds = seconds_beside(machine, &e, interior);
            if (seconds < least) least = seconds, *best = list[i], *estimate = e;
        }
    }
    return least;
}

double stn_slabs_seconds(const stn_task *task, const stn_machine *machine, int fused, double interior) {
    strip strips[3];
    size_t count = find_strips(task, fused, strips);
    stn_tap *taps = count ? malloc(task->ntaps * sizeof *taps) : NULL;
    double seconds = 0, points = 0;
    for (size_t i = 0; i < count && taps; i++) {
        stn_task own = strip_task(task, fused, &strips[i], taps);
        stn_candidate best;
        stn_estimate e;
        seconds += choose(&own, machine, interior, &best, &e);
        points += (double)stn_task_points(&own);
    }
    free(taps);
    if (!count) return 0;
    double scattered = points * (double)stn_dtype_size(task->dtype) / machine->copy_bandwidth; /* half of the points */
    return seconds + scattered + 2 * machine->launch_seconds;
}

static void destroy_plan(stn_plan *plan) {
    if (!plan) return;
    stn_strategy_direct.release(plan);
    stn_task_clear(&plan->task);
    free(plan);
}

/* A plan for the strip. It is in place where that needs no copy. */
static stn_status plan_strip(const stn_plan *parent, int fused, double interior, strip *s, stn_error *error) {
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
    s->plan = plan;
    plan->task = strip_task(&parent->task, fused, s, taps);
    if (isinf(choose(&plan->task, &plan->machine, interior, &plan->candidate, &plan->estimate)))
        return stn_fail(error, STN_ERROR_UNSUPPORTED,
                        "the faces of this grid need more blocks than a launch can have: use a smaller batch");
    plan->task.in_place = fmod(plan->estimate.launches, 2) == 0;
    return stn_strategy_direct.prepare(plan, error);
}

/* Room for slabs of fewer fused steps too, which new weights may call for: their launches may be odd in number, and where a
 * strip is the whole grid, they may have one for each axis. */
static void place_buffers(const stn_task *task, stn_slabs *slabs) {
    size_t axes = 0;
    for (int axis = 0; axis < 3; axis++) axes += has_face(task, axis, 0) || has_face(task, axis, 1);
    for (size_t i = 0; i < slabs->nstrips; i++) {
        strip *s = &slabs->strips[i];
        int64_t size = (int64_t)stn_dtype_size(task->dtype);
        size_t grid = (size_t)stn_round_up(s->layout.batch * task->batch * size, 256);
        s->in = slabs->workspace;
        s->work = s->in + grid;
        s->out = s->plan->task.in_place ? s->in : s->work + grid;
        slabs->workspace += 3 * grid * (is_whole(task, s) ? axes : 1);
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
    for (size_t i = 0; i < slabs->nstrips; i++)
        for (size_t k = 0; k < slabs->strips[i].plan->nkernels; k++)
            list_kernel(plan, slabs->strips[i].plan->kernels[k]);
}

static stn_status get_copy(const stn_plan *plan, stn_slabs *slabs, stn_error *error) {
    static const char *const store[] = {"double", "float", "unsigned short"}; /* by stn_dtype */
    stn_text params = STN_TEXT_EMPTY;
    stn_params_begin(&params);
    stn_params_type(&params, "STORE", store[plan->task.dtype]);
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
    size_t count = find_strips(&plan->task, fused, strips);
    if (!count) return STN_OK;
    stn_slabs *slabs = calloc(1, sizeof *slabs);
    if (!slabs) return stn_fail_memory(error, "the slabs", sizeof *slabs);
    slabs->fused = fused;
    slabs->nstrips = count;
    memcpy(slabs->strips, strips, sizeof strips);
    stn_slabs_interior(&plan->task, fused, slabs->low, slabs->high);
    stn_status status = get_copy(plan, slabs, error);
    for (size_t i = 0; i < count && status == STN_OK; i++)
        status = plan_strip(plan, fused, interior, &slabs->strips[i], error);
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
    for (size_t i = 0; i < slabs->nstrips; i++) {
        stn_plan *own = slabs->strips[i].plan;
        set_taps(&plan->task, &slabs->strips[i], own->task.taps);
        STN_TRY(stn_strategy_direct.set_weights(own, error));
    }
    list_kernels(plan, slabs);
    return STN_OK;
}

void stn_slabs_destroy(stn_plan *plan, stn_slabs *slabs) {
    (void)plan; /* the copy's kernel is the context's */
    if (!slabs) return;
    for (size_t i = 0; i < slabs->nstrips; i++) destroy_plan(slabs->strips[i].plan);
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

static stn_status step_strip(const stn_task *task, const stn_slabs *slabs, const strip *s, const stn_fused_launch *l,
                             unsigned char *workspace, void *stream, stn_error *error) {
    STN_TRY(gather(task, slabs, s, l, workspace + s->in, stream, error));
    return stn_strategy_direct.execute(s->plan, workspace + s->in, workspace + s->out, workspace + s->work, stream,
                                       error);
}

/* The margins, and nothing else, out of the strips. They share no point: axis 0 takes the corners, then axis 1. */
static stn_status scatter(const stn_task *task, const stn_slabs *slabs, const stn_fused_launch *l,
                          const unsigned char *workspace, stn_error *error) {
    copy_arguments a = {.boxes = 0};
    size_t size = stn_dtype_size(task->dtype);
    bool whole = is_whole(task, &slabs->strips[0]);
    const strip *s = slabs->strips;
    for (int face = 0; face < FACES; face++) {
        int axis = face / 2, side = face % 2;
        if (!has_face(task, axis, side)) continue;
        int64_t low[3], extent[3];
        for (int k = 0; k < 3; k++) {
            low[k] = k < axis ? slabs->low[k] : 0;
            extent[k] = (k < axis ? slabs->high[k] : task->n[k]) - low[k];
        }
        low[axis] = side ? slabs->high[axis] : 0;
        extent[axis] = side ? task->n[axis] - slabs->high[axis] : slabs->low[axis];
        while (!whole && s->axis != axis) s++;
        int64_t there[3] = {low[0], low[1], low[2]};
        if (side && !whole) there[axis] -= task->n[axis] - s->depth[0] - s->depth[1];
        add_box(task, &a, &s->layout, point(workspace + s->out, &s->layout, there, size), l->to,
                point(l->out, l->to, low, size), extent);
    }
    return copy(slabs, &a, l->stream, error);
}

stn_status stn_slabs_run(const stn_plan *plan, const stn_slabs *slabs, stn_interior interior, const void *user,
                         const stn_fused_launch *l, void *workspace, stn_error *error) {
    if (!slabs) return interior(plan, user, l, error);
    bool beside = false;
    stn_status status = stn_fork_begin(slabs->fork, l->stream, &beside, error);
    for (size_t i = 0; i < slabs->nstrips && status == STN_OK; i++)
        status = step_strip(&plan->task, slabs, &slabs->strips[i], l, workspace,
                            beside ? stn_fork_branch(slabs->fork, (int)i) : l->stream, error);
    if (status == STN_OK) status = interior(plan, user, l, error);
    if (beside) {
        stn_status joined = stn_fork_end(slabs->fork, l->stream, status == STN_OK ? error : NULL);
        if (status == STN_OK) status = joined;
    }
    return status == STN_OK ? scatter(&plan->task, slabs, l, workspace, error) : status;
}
