/* lowrank: many steps in one launch, as banded Toeplitz products on the tensor cores (LoRAStencil).
 *
 * f steps are one stencil, convolved with itself on the host (lowrank_terms.c). In 1D it is one banded product; in 2D
 * its weights are a sum of separable terms, each a chain of two banded products. See kernel_templates/lowrank_*.cu. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "plan/plan.h"
#include "strategies/lowrank_shape.h"
#include "strategies/lowrank_types.h"
#include "strategies/slabs.h"

/* Arguments as the kernels declare them; the weights follow. */
typedef struct line_header {
    const void *in;
    void *out;
    int64_t nx, in_batch, out_batch, chunks, all_chunks;
} line_header;
typedef struct plane_header {
    const void *in;
    void *out;
    int64_t ny, nx, in_y, out_y, in_batch, out_batch, segment, tiles_y, tiles_x;
} plane_header;

/* One operator of so many fused steps; a plan has one, or two when its launches do not divide the steps evenly. */
typedef struct sweep {
    int fused;
    int terms; /* of them; up to shape.terms, the rest are zeros */
    double residual;
    double weights[LOWRANK_MAX_WEIGHTS];                              /* line w, or plane u then v */
    unsigned char values[(1 + LOWRANK_MAX_WEIGHTS) * sizeof(double)]; /* as the kernel takes them */
} sweep;

typedef struct lowrank_state {
    lowrank_shape shape;
    stn_kernel *kernel;
    int resident; /* 1D: blocks that run at once */
    size_t nsweeps;
    sweep sweeps[2];
    stn_slabs *slabs[2]; /* of each sweep; NULL where all axes wrap */
    stn_layouts at;
    size_t grid_bytes; /* of the workspace, whole 256; the slabs' follows */
} lowrank_state;

static bool applies(const stn_task *task, const stn_machine *machine, char *reason, size_t reason_size) {
    const char *why = NULL;
    if (!machine->is_device)
        why = "it needs a GPU and this context is for the host";
    else if (machine->sm < 80)
        why = "it needs tensor cores for f64 and tf32: sm_80 or newer";
    else if (task->dtype != STN_F64 && task->rank != 1)
        why = "it takes f32 and f16 grids in 1D only, so far";
    else if (task->rank == 3)
        why = "it takes 1D and 2D grids only, so far";
    else if (task->in_stride[2] != 1 || task->out_stride[2] != 1)
        why = "the fastest axis is strided";
    else if (stn_task_points(task) >> 37 || task->steps >> 31)
        why = "the grid has 2^37 points or more, or there are 2^31 steps or more";
    if (!why) {
        stn_candidate one;
        if (!stn_strategy_lowrank.candidates(task, machine, &one, 1))
            why = "its taps need too many separable terms, or their margins cover the grid, or the batch is too large";
    }
    if (why) snprintf(reason, reason_size, "%s", why);
    return !why;
}

/* ---- candidates ------------------------------------------------------------------------------------------------ */

/* Reaches of fused taps that are worth a look: full blocks of 8 rows and columns. */
static bool worth_trying(const stn_task *task, int fused) {
    int reach = 1;
    for (int axis = 1; axis < 3; axis++)
        for (int side = 0; side < 2; side++) reach = (int)stn_max(reach, task->reach[axis][side]);
    bool whole = reach * fused % 4 == 0 || reach * (fused + 1) / 4 != reach * fused / 4;
    bool fewer = fused == 1 || (task->steps + (uint64_t)fused - 1) / (uint64_t)fused <
                                   (task->steps + (uint64_t)fused - 2) / (uint64_t)(fused - 1);
    return fewer && (whole || fused <= 4 || task->steps <= 128);
}

/* Terms of the fused taps; 0 when they are too many or memory is short. */
static int count_terms(const stn_task *task, const lowrank_taps *taps) {
    lowrank_terms terms;
    if (task->rank == 1) return 1;
    if (lowrank_terms_make(taps, 0, &terms, NULL) != STN_OK) return 0;
    int count = terms.count;
    lowrank_terms_clear(&terms);
    return count;
}

/* Cheapest first, at most `most`. */
static void insert_candidate(const stn_task *task, const stn_machine *machine, const lowrank_shape *shape,
                             lowrank_shape *list, size_t *count, size_t most) {
    stn_estimate own, other;
    lowrank_cost(task, machine, shape, &own);
    size_t place = *count;
    for (; place > 0; place--) {
        lowrank_cost(task, machine, &list[place - 1], &other);
        if (other.seconds <= own.seconds) break;
    }
    if (place == most) return;
    size_t kept = *count < most ? *count : most - 1;
    memmove(list + place + 1, list + place, (kept - place) * sizeof *list);
    list[place] = *shape;
    *count = kept + 1;
}

/* The best shapes with at most `most_fused` steps a launch, cheapest first; how many. */
static size_t best_shapes(const stn_task *task, const stn_machine *machine, int most_fused, lowrank_shape *best,
                          size_t most) {
    lowrank_shape shape;
    lowrank_taps taps;
    size_t count = 0;
    int terms = 0;
    if (lowrank_taps_make(task, &taps, NULL) != STN_OK) return 0;
    for (int fused = 1; (uint64_t)fused <= task->steps && fused <= most_fused; fused++) {
        if (fused > 1 && lowrank_taps_fuse(task, &taps, NULL) != STN_OK) break;
        int64_t low[3], high[3];
        if (!lowrank_fit(task, machine, fused, 1, &shape)) break; /* more steps reach further still */
        if (!stn_slabs_interior(task, fused, low, high)) break;
        int before = terms;
        terms = count_terms(task, &taps);
        if (!worth_trying(task, fused)) continue;
        int most_terms = task->steps % (uint64_t)shape.launches ? (int)stn_max(terms, before) : terms;
        if (most_terms && lowrank_fit(task, machine, fused, most_terms, &shape))
            insert_candidate(task, machine, &shape, best, &count, most);
    }
    lowrank_taps_clear(&taps);
    return count;
}

static size_t candidates(const stn_task *task, const stn_machine *machine, stn_candidate *list, size_t most) {
    lowrank_shape best[4];
    size_t count = best_shapes(task, machine, INT_MAX, best, most < 4 ? most : 4);
    for (size_t i = 0; i < count; i++) memcpy(list[i].values, &best[i], sizeof best[i]);
    return count;
}

static lowrank_shape shape_of(const stn_candidate *candidate) {
    lowrank_shape shape;
    memcpy(&shape, candidate->values, sizeof shape);
    return shape;
}

static void estimate(const stn_task *task, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *result) {
    lowrank_shape shape = shape_of(candidate);
    lowrank_cost(task, machine, &shape, result);
}

/* ---- building -------------------------------------------------------------------------------------------------- */

/* A term's vector in the window of the longer sweep, both centred on the same point: the first `count` weights of it. */
static void place_window(const double *from, int size, int low, double *to, int count, int to_low) {
    int shift = to_low - low;
    for (int i = 0; i < size && i + shift < count; i++) to[i + shift] = from[i];
}

static void fill_line(const stn_task *task, const lowrank_shape *shape, const lowrank_taps *taps, sweep *to) {
    int shift = lowrank_reach(task, shape, 2, 0) - taps->low[1];
    for (int x = 0; x < taps->columns; x++) to->weights[x + shift] = (double)taps->weight[x];
    to->terms = 1;
    lowrank_pack_scaled(task->dtype, to->weights, lowrank_window(task, shape, 2), to->values);
}

static void fill_plane(const stn_task *task, const lowrank_shape *shape, const lowrank_taps *taps,
                       const lowrank_terms *terms, sweep *to) {
    int given_y = lowrank_given(task, shape, 1), given_x = lowrank_given(task, shape, 2);
    double *v = to->weights + shape->terms * given_y;
    for (int q = 0; q < terms->count && q < shape->terms; q++) {
        place_window(terms->u + q * terms->rows, terms->rows, taps->low[0], to->weights + q * given_y, given_y,
                     lowrank_reach(task, shape, 1, 0));
        place_window(terms->v + q * terms->columns, terms->columns, taps->low[1], v + q * given_x, given_x,
                     lowrank_reach(task, shape, 2, 0));
    }
    to->terms = terms->count;
    to->residual = terms->residual;
    lowrank_pack(task->dtype, to->weights, LOWRANK_MAX_WEIGHTS, to->values);
}

/* The largest error that the terms may leave: the task's tolerance shared out to all launches, in a norm that bounds what
 * the operator can do to any grid. */
static double term_tolerance(const stn_task *task, const lowrank_shape *shape) {
    double entries = (double)lowrank_window(task, shape, 1) * lowrank_window(task, shape, 2);
    return task->tolerance / (entries * shape->launches);
}

static stn_status fail_terms(int fused, int terms, stn_error *error) {
    return stn_fail(error, STN_ERROR_UNSUPPORTED,
                    "%d fused steps of these weights need %d separable terms, more than the kernel takes: make a new "
                    "plan with strategy auto",
                    fused, terms);
}

/* Both sweeps for the task's taps. shape.terms grows to what they need; what does not fit is an error. */
static stn_status make_sweeps(const stn_task *task, const stn_machine *machine, lowrank_shape *shape, sweep *sweeps,
                              size_t nsweeps, stn_error *error) {
    lowrank_taps taps;
    lowrank_terms terms[2] = {{0}, {0}};
    stn_status status = lowrank_taps_make(task, &taps, error);
    for (size_t i = nsweeps; i-- > 0 && status == STN_OK;) { /* the shorter sweep is the last one, and made first */
        while (status == STN_OK && taps.fused < sweeps[i].fused) status = lowrank_taps_fuse(task, &taps, error);
        if (status != STN_OK) break;
        memset(sweeps[i].weights, 0, sizeof sweeps[i].weights);
        if (task->rank == 1) {
            fill_line(task, shape, &taps, &sweeps[i]);
            continue;
        }
        status = lowrank_terms_make(&taps, term_tolerance(task, shape), &terms[i], error);
        if (status == STN_OK) shape->terms = (int)stn_max(shape->terms, terms[i].count);
    }
    lowrank_shape larger;
    int given = lowrank_given(task, shape, 1) + lowrank_given(task, shape, 2);
    bool fits = lowrank_fit(task, machine, shape->fused, shape->terms, &larger) && shape->even <= larger.even &&
                (task->rank == 1 || given * shape->terms <= LOWRANK_MAX_WEIGHTS);
    if (status == STN_OK && !fits) status = fail_terms(shape->fused, shape->terms, error);
    for (size_t i = 0; i < nsweeps && status == STN_OK && task->rank > 1; i++) {
        lowrank_taps window = {.low = {sweeps[i].fused * task->reach[1][0], sweeps[i].fused * task->reach[2][0]}};
        fill_plane(task, shape, &window, &terms[i], &sweeps[i]);
    }
    for (int i = 0; i < 2; i++) lowrank_terms_clear(&terms[i]);
    lowrank_taps_clear(&taps);
    return status;
}

static stn_status get_kernel(stn_plan *plan, const lowrank_shape *shape, stn_kernel **kernel, stn_error *error) {
    stn_text params = STN_TEXT_EMPTY;
    lowrank_params(&plan->task, shape, &params);
    char *text;
    STN_TRY(stn_text_take(&params, &text, error));
    stn_status status = stn_kernel_get(plan->context, lowrank_kernel_name(&plan->task), text, kernel, error);
    stn_text_free(text);
    if (status == STN_OK && (*kernel)->module)
        status = stn_module_allow_shared((*kernel)->module, lowrank_shared(&plan->task, shape), error);
    return status;
}

/* The sweeps and the kernel of state->shape. */
static stn_status build(stn_plan *plan, lowrank_state *state, stn_error *error) {
    uint64_t launches = (uint64_t)state->shape.launches, steps = plan->task.steps;
    state->nsweeps = steps % launches ? 2 : 1;
    state->sweeps[0].fused = state->shape.fused = (int)((steps + launches - 1) / launches);
    state->sweeps[1].fused = (int)(steps / launches);
    STN_TRY(make_sweeps(&plan->task, &plan->machine, &state->shape, state->sweeps, state->nsweeps, error));
    STN_TRY(get_kernel(plan, &state->shape, &state->kernel, error));
    plan->kernels[0] = state->kernel;
    plan->nkernels = 1; /* the slabs add theirs */
    for (size_t i = 0; i < state->nsweeps; i++)
        STN_TRY(stn_slabs_create(plan, state->sweeps[i].fused, &state->slabs[i], error));
    if (state->kernel->module) {
        int blocks = stn_module_occupancy(state->kernel->module, 32 * state->shape.warps,
                                          lowrank_shared(&plan->task, &state->shape));
        state->resident = (int)stn_max(blocks, 1) * plan->machine.multiprocessors;
    }
    return STN_OK;
}

static size_t slabs_bytes(const lowrank_state *state) {
    size_t first = stn_slabs_workspace(state->slabs[0]), second = stn_slabs_workspace(state->slabs[1]);
    return first > second ? first : second;
}

static void destroy_slabs(stn_plan *plan, lowrank_state *state) {
    for (int i = 0; i < 2; i++) {
        stn_slabs_destroy(plan, state->slabs[i]);
        state->slabs[i] = NULL;
    }
}

static stn_status prepare(stn_plan *plan, stn_error *error) {
    lowrank_state *state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    plan->state = state;
    state->shape = shape_of(&plan->candidate);
    state->at = stn_task_layouts(&plan->task, plan->task.steps); /* new weights may need more launches */
    state->grid_bytes = (size_t)stn_round_up((int64_t)state->at.work_bytes, 256);
    STN_TRY(build(plan, state, error));
    plan->workspace_size = state->grid_bytes + slabs_bytes(state);
    return STN_OK;
}

/* A kernel and slabs of the weights' higher rank: for more terms, or for fewer fused steps. */
static stn_status rebuild(stn_plan *plan, lowrank_state *next, stn_error *error) {
    struct stn_kernel *kernels[STN_PLAN_KERNELS];
    size_t nkernels = plan->nkernels;
    memcpy(kernels, plan->kernels, sizeof kernels);
    next->slabs[0] = next->slabs[1] = NULL;
    stn_status status = build(plan, next, error);
    if (status == STN_OK && next->grid_bytes + slabs_bytes(next) > plan->workspace_size)
        status = fail_terms(next->shape.fused, next->shape.terms, error);
    if (status == STN_OK) return STN_OK;
    destroy_slabs(plan, next);
    memcpy(plan->kernels, kernels, sizeof kernels);
    plan->nkernels = nkernels;
    return status;
}

/* Weights of the same rank or less need no compile. */
static stn_status set_weights(stn_plan *plan, stn_error *error) {
    lowrank_state *state = plan->state, next = *state;
    stn_error full = {0};
    stn_status status = make_sweeps(&plan->task, &plan->machine, &next.shape, next.sweeps, next.nsweeps, &full);
    if (status != STN_OK && status != STN_ERROR_UNSUPPORTED) {
        if (error) *error = full;
        return status;
    }
    if (status == STN_ERROR_UNSUPPORTED &&
        !best_shapes(&plan->task, &plan->machine, state->shape.fused, &next.shape, 1))
        return fail_terms(1, next.shape.terms, error);
    if (status == STN_ERROR_UNSUPPORTED || next.shape.terms > state->shape.terms) {
        STN_TRY(rebuild(plan, &next, error));
        destroy_slabs(plan, state);
    } else
        for (size_t i = 0; i < next.nsweeps; i++) STN_TRY(stn_slabs_set_weights(plan, next.slabs[i], error));
    next.shape.extended = lowrank_extended(&plan->task); /* slabs are there in any case */
    *state = next;
    return STN_OK;
}

static void release(stn_plan *plan) {
    if (plan->state) destroy_slabs(plan, plan->state);
    free(plan->state);
    plan->state = NULL;
}

/* ---- running --------------------------------------------------------------------------------------------------- */

/* A stn_interior; `user` is a sweep. */
static stn_status launch_sweep(const stn_plan *plan, const void *user, const stn_fused_launch *l, stn_error *error) {
    const lowrank_state *state = plan->state;
    const sweep *sweep = user;
    const stn_grid_layout *from = l->from, *to = l->to;
    const stn_task *task = &plan->task;
    _Alignas(16) unsigned char arguments[sizeof(plane_header) + sizeof sweep->values];
    size_t header;
    int64_t blocks;
    if (task->rank == 1) {
        int64_t chunks = lowrank_chunks(task, &state->shape), all = chunks * task->batch;
        line_header h = {l->in, l->out, task->n[2], from->batch, to->batch, chunks, all};
        memcpy(arguments, &h, header = sizeof h);
        blocks = stn_min(all, state->resident);
    } else {
        int64_t tiles_y, tiles_x;
        lowrank_tiles(task, &state->shape, &tiles_y, &tiles_x);
        plane_header h = {l->in,       l->out,    task->n[1],           task->n[2], from->stride[1], to->stride[1],
                          from->batch, to->batch, state->shape.segment, tiles_y,    tiles_x};
        memcpy(arguments, &h, header = sizeof h);
        blocks = tiles_y * tiles_x * task->batch;
    }
    memcpy(arguments + header, sweep->values, sizeof sweep->values);
    stn_launch launch = {.grid = {(unsigned)blocks, 1, 1},
                         .block = {32 * (unsigned)state->shape.warps, 1, 1},
                         .shared = lowrank_shared(task, &state->shape),
                         .stream = l->stream};
    return stn_module_launch(state->kernel->module, &launch, arguments, error);
}

/* Launches by turns between workspace and out, so that the last one lands in out. In place and odd, the first would read
 * what it writes: it starts from a copy. */
static stn_status execute(stn_plan *plan, const void *in, void *out, void *workspace, void *stream, stn_error *error) {
    lowrank_state *state = plan->state;
    uint64_t launches = (uint64_t)state->shape.launches, longer = plan->task.steps % launches;
    const stn_grid_layout *from = &state->at.in;
    const void *source = in;
    if (plan->task.in_place && launches % 2) {
        STN_TRY(stn_device_copy(plan->context->device, workspace, in, state->at.work_bytes, stream, error));
        from = &state->at.work, source = workspace;
    }
    for (uint64_t i = 0; i < launches; i++) {
        bool to_out = (launches - 1 - i) % 2 == 0;
        const stn_grid_layout *to = to_out ? &state->at.out : &state->at.work;
        void *target = to_out ? out : workspace;
        int which = state->nsweeps == 2 && i >= longer;
        stn_fused_launch l = {from, to, source, target, stream};
        const stn_slabs *slabs = state->shape.extended ? NULL : state->slabs[which];
        STN_TRY(stn_slabs_run(plan, slabs, launch_sweep, &state->sweeps[which], &l,
                              (unsigned char *)workspace + state->grid_bytes, error));
        from = to, source = target;
    }
    return STN_OK;
}

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const lowrank_state *state = plan->state;
    const lowrank_shape *shape = &state->shape;
    const sweep *first = &state->sweeps[0];
    if (format == STN_TEXT) {
        stn_text_printf(text, "kernel %s, %d launches of %d fused steps", lowrank_kernel_name(&plan->task),
                        shape->launches, first->fused);
        if (state->nsweeps == 2) stn_text_printf(text, " or %d", state->sweeps[1].fused);
        if (plan->task.rank > 1)
            stn_text_printf(text, ", %d x %d taps in %d separable terms (residual %.2g)",
                            lowrank_window(&plan->task, shape, 1), lowrank_window(&plan->task, shape, 2), first->terms,
                            first->residual);
        else
            stn_text_printf(text, ", %d taps", lowrank_window(&plan->task, shape, 2));
        stn_text_printf(text, ", %s products, %d warps a block", lowrank_arithmetic(plan->task.dtype, shape->products),
                        shape->warps);
        return;
    }
    stn_json_key(text, "kernel");
    stn_json_string(text, lowrank_kernel_name(&plan->task));
    stn_json_key(text, "arithmetic");
    stn_json_string(text, lowrank_arithmetic(plan->task.dtype, shape->products));
    const struct {
        const char *key;
        double value;
    } numbers[] = {{"fused_steps", first->fused}, {"sweeps", shape->launches}, {"terms", first->terms},
                   {"residual", first->residual}, {"warps", shape->warps},     {"stages", shape->stages},
                   {"segment", shape->segment}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        stn_json_key(text, numbers[i].key);
        stn_json_number(text, numbers[i].value);
    }
}

const stn_strategy stn_strategy_lowrank = {"lowrank", applies,     candidates, estimate, prepare,
                                           execute,   set_weights, describe,   release};
