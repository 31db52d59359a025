/* Strategy direct: time steps on the CUDA cores, for any taps, dtype, boundary and stride.
 *
 * One step a launch: direct_line (1D), direct_tile (2D and 3D), direct_gather (stencils too large
 * to unroll, and grids whose fastest axis is strided), direct_any (any problem, by one kernel for
 * each dtype); one_step.c chooses their shapes. Several steps a launch (temporal blocking):
 * direct_time_*, in temporal_blocking.c; remaining_steps.c covers the steps that remain when these
 * do not divide the run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "plan/error_bound.h"
#include "plan/plan.h"
#include "render/render.h"
#include "strategies/common/ping_pong.h"
#include "strategies/common/rounded_weights.h"
#include "strategies/direct/direct_kernel.h"
#include "strategies/direct/direct_skew.h"
#include "strategies/direct/direct_variants.h"
#include "strategies/direct/one_step.h"
#include "strategies/direct/remaining_steps.h"
#include "strategies/direct/tap_order.h"
#include "strategies/direct/temporal_blocking.h"
#include "strategies/table.h"

/* A kernel and its constant arguments. */
typedef struct pass {
    direct_shape shape;
    stn_kernel *kernel;
    size_t values_size;
    unsigned char values[4096]; /* boundary values and weights in the kernel's arithmetic type */
} pass;

typedef struct direct_state {
    /* full: launches of the candidate's steps. remainder: the last launch, if fewer steps are left
     * for it. */
    pass full, remainder;
    bool has_remainder;
    stn_layouts at;
    void *taps; /* direct_gather and direct_any: tables of taps in device memory */
} direct_state;

static bool applies(const stn_task *task, const stn_machine *machine, char *reason, size_t reason_size) {
    if (!stn_has_gpu(machine, reason, reason_size)) return false;
    if (stn_task_points(task) / 128 > INT64_C(0x7fffffff)) {
        snprintf(reason, reason_size, "the grid has more than 2^38 points");
        return false;
    }
    return true;
}

/* Thread blocks of one launch; direct_gather works with any number. */
static int64_t block_count(const stn_task *task, const direct_shape *shape) {
    int64_t tiles[3] = {1, 1, 1};
    if (shape->skewed) return direct_skew_count(task, shape).all;
    if (shape->kernel == DIRECT_LINE)
        tiles[2] = stn_div_up(task->n[2], (int64_t)shape->vector * shape->rows * shape->threads[2]);
    else if (shape->fused > 1)
        direct_time_tiles(task, shape, tiles);
    else if (shape->kernel == DIRECT_TILE)
        direct_tiles(task, shape, tiles);
    else
        return 1;
    int64_t blocks = tiles[0] * tiles[1] * tiles[2];
    return stn_mul_overflows(blocks, task->batch, &blocks) ? INT64_MAX : blocks;
}

static size_t candidates(const stn_task *task, const stn_machine *machine, stn_candidate *list, size_t most) {
    direct_shape shapes[STN_CANDIDATES + 32];
    size_t estimated = most < STN_CANDIDATES ? most : STN_CANDIDATES, capacity = sizeof shapes / sizeof *shapes;
    size_t count = direct_shapes(task, machine, shapes, estimated < 8 ? estimated : 8), kept = 0;
    count += direct_time_shapes(task, machine, shapes + count, estimated - count);
    if (most > STN_CANDIDATES)
        count +=
            direct_variants(task, machine, shapes, count, shapes + count, (most < capacity ? most : capacity) - count);
    for (size_t i = 0; i < count; i++)
        if (block_count(task, &shapes[i]) <= INT32_MAX) list[kept++] = stn_candidate_of(&shapes[i], sizeof shapes[i]);
    return kept;
}

STN_CANDIDATE_READER(direct_shape, shape_of)

static void estimate(const stn_task *task, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *result) {
    direct_shape shape = shape_of(candidate);
    if (shape.fused > 1)
        direct_time_cost(task, machine, &shape, result);
    else
        direct_cost(task, machine, &shape, result);
    stn_ping_pong_add_copy(task, machine, result->launches, result);
    result->error = stn_error_stepping(task);
    result->stepping = true;
}

/* ---- building */

/* Two boundary values for each axis, then the weights in the kernel's order. */
static void fill_values(const stn_task *task, pass *p) {
    double values[sizeof p->values / 4];
    size_t count = 0;
    int first_axis = p->shape.kernel == DIRECT_LINE ? 2 : 0;
    for (int k = first_axis; k < 3; k++)
        for (int side = 0; side < 2; side++)
            values[count++] = stn_task_constant_value(task, direct_axis(task, &p->shape, k), side);
    if (p->shape.fused > 1 || !direct_has_table(&p->shape)) {
        double rounded[DIRECT_MAX_TAPS];
        stn_weights_round(task, rounded);
        if (p->shape.fused > 1)
            count += direct_time_weights(task, &p->shape, rounded, values + count);
        else {
            uint16_t order[DIRECT_MAX_TAPS];
            direct_tap_order(task, &p->shape, order);
            for (size_t k = 0; k < task->ntaps; k++) values[count++] = rounded[order[k]];
        }
    }
    p->values_size = 0;
    for (size_t i = 0; i < count; i++)
        p->values_size += stn_put_real(task->dtype, values[i], p->values + p->values_size);
}

typedef struct gather_tap64 {
    int64_t offset;
    double weight;
    int32_t z, y, x, unused;
} gather_tap64;
typedef struct gather_tap32 {
    int64_t offset;
    float weight;
    int32_t z, y, x;
} gather_tap32;

/* Writes a table of taps for the input layout `in` to `to` (32 or 24 bytes a tap). */
static void fill_taps(const stn_task *task, const double *weights, const stn_grid_layout *in, unsigned char *to) {
    for (size_t k = 0; k < task->ntaps; k++) {
        const int64_t *o = task->taps[k].offset;
        int64_t linear = o[0] * in->stride[0] + o[1] * in->stride[1] + o[2] * in->stride[2];
        gather_tap64 wide = {linear, weights[k], (int32_t)o[0], (int32_t)o[1], (int32_t)o[2], 0};
        gather_tap32 narrow = {linear, (float)weights[k], wide.z, wide.y, wide.x};
        if (task->dtype == STN_F64)
            memcpy(to + k * sizeof wide, &wide, sizeof wide);
        else
            memcpy(to + k * sizeof narrow, &narrow, sizeof narrow);
    }
}

static size_t taps_size(const stn_task *task) {
    return task->ntaps * (task->dtype == STN_F64 ? sizeof(gather_tap64) : sizeof(gather_tap32));
}

/* Three tables follow each other: for launches that read the user's input, the user's output, and
 * the workspace, whose strides may differ. */
static stn_status upload_taps(stn_plan *plan, direct_state *state, stn_error *error) {
    size_t size = taps_size(&plan->task);
    /* Every stencil has a tap, but the static analyser cannot see that. */
    if (!size) return STN_OK;
    unsigned char *tables = malloc(3 * size);
    double *weights = malloc(plan->task.ntaps * sizeof *weights);
    if (!tables || !weights) {
        free(tables);
        free(weights);
        return stn_fail_memory(error, "the table of taps", 3 * size);
    }
    stn_weights_round(&plan->task, weights);
    fill_taps(&plan->task, weights, &state->at.in, tables);
    fill_taps(&plan->task, weights, &state->at.out, tables + size);
    fill_taps(&plan->task, weights, &state->at.work, tables + 2 * size);
    free(weights);
    const stn_status status =
        stn_device_replace(plan->context->device, &state->taps, 3 * size, tables, 3 * size, error);
    free(tables);
    return status;
}

static stn_status get_kernel(stn_plan *plan, pass *p, stn_error *error) {
    stn_text params = STN_TEXT_EMPTY;
    direct_params(&plan->task, &p->shape, &params);
    size_t shared = p->shape.fused > 1 ? direct_time_shared(&plan->task, &p->shape) : 0;
    return stn_kernel_make(plan->kernels, direct_kernel_name(&p->shape), &params, shared, &p->kernel, error);
}

static stn_status prepare_pass(stn_plan *plan, pass *p, stn_error *error) {
    fill_values(&plan->task, p);
    STN_TRY(get_kernel(plan, p, error));
    if (direct_has_table(&p->shape) && plan->machine.present) return upload_taps(plan, plan->state, error);
    return STN_OK;
}

static uint64_t launches(const stn_plan *plan) {
    const direct_state *state = plan->state;
    return plan->task.steps / (uint64_t)state->full.shape.fused + state->has_remainder;
}

static stn_status prepare(stn_plan *plan, stn_error *error) {
    direct_state *state = plan->state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    state->full.shape = shape_of(&plan->candidate);
    if (state->full.shape.fused > 1)
        state->has_remainder =
            direct_time_remainder(&plan->task, &plan->machine, &state->full.shape, &state->remainder.shape);
    state->at = stn_task_layouts(&plan->task, launches(plan));
    const bool skewed = state->full.shape.skewed || (state->has_remainder && state->remainder.shape.skewed);
    if (skewed && state->at.work_bytes && !plan->task.in_place) {
        /* All grids have the same skew. */
        state->at.work = state->at.out;
        state->at.work_bytes = (size_t)stn_task_span(&plan->task, true) * stn_dtype_size(plan->task.dtype);
    }
    plan->workspace_size = state->at.work_bytes;
    STN_TRY(prepare_pass(plan, &state->full, error));
    return state->has_remainder ? prepare_pass(plan, &state->remainder, error) : STN_OK;
}

/* A kernel that adds mirrored points before multiplying is wrong once their weights differ; it is
 * then replaced. On failure, kernel and values remain those of the old weights. */
static stn_status renew_pass(stn_plan *plan, pass *p, stn_error *error) {
    if (p->shape.fused > 1 && !direct_time_mirror_holds(&plan->task, &p->shape)) {
        pass renewed = *p;
        renewed.shape.mirror = direct_time_mirror(&plan->task, &p->shape);
        STN_TRY(get_kernel(plan, &renewed, error));
        *p = renewed;
    }
    fill_values(&plan->task, p);
    if (direct_has_table(&p->shape) && plan->machine.present) return upload_taps(plan, plan->state, error);
    return STN_OK;
}

static stn_status set_weights(stn_plan *plan, stn_error *error) {
    direct_state *state = plan->state;
    STN_TRY(renew_pass(plan, &state->full, error));
    return state->has_remainder ? renew_pass(plan, &state->remainder, error) : STN_OK;
}

static void release(stn_plan *plan) {
    direct_state *state = plan->state;
    stn_device_free(plan->context->device, state->taps);
}

/* ---- running */

/* One launch, with the kernel's arguments on the stack. */
static stn_status launch(const stn_plan *plan, const pass *p, const stn_fused_launch *l, stn_error *error) {
    const direct_state *state = plan->state;
    const direct_shape *shape = &p->shape;
    const stn_task *task = &plan->task;
    _Alignas(16) unsigned char arguments[DIRECT_MAX_HEADER + sizeof p->values];
    /* The number of the table, in the order of upload_taps. */
    const size_t layout = l->from == &state->at.in ? 0 : l->from == &state->at.out ? 1 : 2;
    void *const table = state->taps ? (unsigned char *)state->taps + layout * taps_size(task) : NULL;
    int64_t blocks;
    const size_t header = direct_arguments(task, shape, l, table, arguments, &blocks);
    memcpy(arguments + header, p->values, p->values_size);
    const size_t shared = shape->fused > 1 ? direct_time_shared(task, shape) : 0;
    const int threads = shape->threads[0] * shape->threads[1] * shape->threads[2];
    return stn_kernel_launch(p->kernel, blocks, threads, shared, arguments, l->stream, error);
}

/* Launch number i; the last one makes the remaining steps. */
static stn_status run_launch(const stn_plan *plan, uint64_t i, const stn_fused_launch *l, stn_error *error) {
    const direct_state *state = plan->state;
    bool last = state->has_remainder && i + 1 == launches(plan);
    return launch(plan, last ? &state->remainder : &state->full, l, error);
}

static stn_status execute_part(stn_plan *plan, stn_part part, const stn_execution *run, stn_error *error) {
    const direct_state *state = plan->state;
    return stn_ping_pong_run(plan, &state->at, launches(plan), part, run, run_launch, error);
}

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const direct_state *state = plan->state;
    direct_describe(&state->full.shape, format, text);
}

static void name_candidate(const stn_task *task, const stn_candidate *candidate, stn_text *text) {
    direct_shape shape = shape_of(candidate);
    (void)task;
    direct_name(&shape, text);
}

/* A trial of this candidate runs a whole number of launches. */
static uint64_t shorten(const stn_task *task, const stn_candidate *candidate, uint64_t most, stn_candidate *trial) {
    uint64_t fused = (uint64_t)shape_of(candidate).fused;
    *trial = *candidate;
    return most < (task->steps + fused - 1) / fused ? most * fused : task->steps;
}

static bool generic(const stn_task *task, stn_candidate *candidate) {
    const direct_shape shape = direct_any_shape();
    *candidate = stn_candidate_of(&shape, sizeof shape);
    return block_count(task, &shape) <= INT32_MAX;
}

const stn_strategy stn_strategy_direct = {
    .name = "direct",
    .local = true,
    .applies = applies,
    .candidates = candidates,
    .estimate = estimate,
    .prepare = prepare,
    .set_weights = set_weights,
    .describe = describe,
    .release = release,
    .name_candidate = name_candidate,
    .generic = generic,
    .shorten = shorten,
    .launches = launches,
    .execute_part = execute_part,
};
