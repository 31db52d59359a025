/* Strategy padded: steps of a stencil whose sides do not wrap. Another strategy computes each step
 * on a padded grid that wraps.
 *
 *     A = grid with the values past its sides around it      padded/padded_load.cu
 *     B = one step of A, as if A wrapped                     another strategy
 *     ... the same from B's interior, for each further step
 *     out = B's interior, and frozen points                  padded/padded_store.cu
 *
 * The results past the interior are wrong, and are not used. It serves dense stencils of many taps,
 * whose transforms cost a few copies of the grid while their margins, computed tap by tap, would
 * cost many. Lengths of padded axes are rounded up to products of 2, 3, 5 and 7. */
#include <math.h>
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
#include "strategies/common/row_copy.h"
#include "strategies/common/shared_fft.h"
#include "strategies/table.h"

enum { ALIGNMENT = 256 };
/* Longer axes are searched in steps of a power of two: products of small primes are too rare among
 * large numbers to be found one by one. */
enum { MAX_UNITS = 1 << 16 };
#define MAX_POINTS ((int64_t)INT32_MAX * STN_ROW_CHUNK)

/* Mirrors of the structs of the kernels; `constant` follows load_arguments. */
typedef struct load_arguments {
    stn_strided_grid in, before, out;
    int64_t n[3], padded[3], low[3];
    stn_updated_box updated;
    int64_t chunks;
} load_arguments;
typedef struct store_arguments {
    stn_strided_grid in, result, out;
    int64_t n[3];
    stn_updated_box updated;
    int64_t chunks;
} store_arguments;

typedef struct padded_state {
    stn_plan *step; /* owned: one step of the padded grid */
    stn_kernel *load, *store;
    size_t grid; /* bytes of a padded grid */
} padded_state;

/* ---- the padded grid ------------------------------------------------------------------------- */

static bool wraps(const stn_task *task, int axis) {
    return task->boundary[axis][0].kind == STN_WRAP && task->boundary[axis][1].kind == STN_WRAP;
}

/* Width of the halo past a side: 0 past a fixed side, as only frozen points read there. */
static int64_t halo_of(const stn_task *task, int axis, int side) {
    return wraps(task, axis) || task->boundary[axis][side].kind == STN_FIXED ? 0 : task->reach[axis][side];
}

static int64_t padded_extent(const stn_task *task, int axis) {
    int64_t n = task->n[axis];
    if (wraps(task, axis) || !(task->reach[axis][0] || task->reach[axis][1])) return n;
    n += halo_of(task, axis, 0) + halo_of(task, axis, 1);
    int64_t unit = axis == 2 ? 16 / (int64_t)stn_dtype_size(task->dtype) : 1;
    while (n / unit > MAX_UNITS) unit *= 2;
    for (n = stn_round_up(n, unit); !stn_shared_fft_is_smooth(n);) n += unit;
    return n;
}

/* One step of the padded grid; its taps are borrowed. */
static stn_task padded_task(const stn_task *task) {
    stn_task padded = *task;
    for (int axis = 0; axis < 3; axis++) {
        padded.n[axis] = padded_extent(task, axis);
        for (int side = 0; side < 2; side++) padded.boundary[axis][side] = (stn_boundary){STN_WRAP, 0};
    }
    const stn_grid_layout layout = stn_packed_layout(padded.n, task->dtype);
    memcpy(padded.in_stride, layout.stride, sizeof layout.stride);
    memcpy(padded.out_stride, layout.stride, sizeof layout.stride);
    padded.in_batch_stride = padded.out_batch_stride = layout.batch;
    padded.tolerance = task->tolerance / stn_error_of_runs((double)task->steps);
    padded.steps = padded.snapshots = 1;
    padded.in_place = false, padded.alignment = ALIGNMENT;
    return padded;
}

static size_t grid_bytes(const stn_task *padded) {
    const size_t points = (size_t)(padded->in_batch_stride * padded->batch);
    return (size_t)stn_round_up((int64_t)(points * stn_dtype_size(padded->dtype)), ALIGNMENT);
}

/* ---- choosing -------------------------------------------------------------------------------- */

static bool has_padding(const stn_task *task) {
    for (int axis = 0; axis < 3; axis++)
        if (!wraps(task, axis) && (task->reach[axis][0] || task->reach[axis][1])) return true;
    return false;
}

static bool has_too_many_blocks(const stn_task *task) {
    /* Products of padded extents might overflow. */
    if (stn_task_points(task) > MAX_POINTS) return true;
    const stn_task padded = padded_task(task);
    return !stn_row_blocks_fit(&padded);
}

static bool applies(const stn_task *task, const stn_machine *machine, char *reason, size_t reason_size) {
    const char *why = NULL;
    if (!machine->is_device)
        why = STN_NEEDS_GPU;
    else if (!has_padding(task))
        why = "no taps reach past a side that does not wrap";
    else if (has_too_many_blocks(task))
        why = "the padded grid has more blocks than a launch can have";
    else
        return true;
    snprintf(reason, reason_size, "%s", why);
    return false;
}

static size_t candidates(const stn_task *task, const stn_machine *machine, stn_candidate *list, size_t most) {
    (void)task, (void)machine;
    if (most) list[0] = (stn_candidate){{0}};
    return most > 0;
}

/* Seconds of a launch that copies this grid. */
static double copy_seconds(const stn_task *grid, const stn_machine *machine) {
    return stn_row_seconds(grid, machine, grid->dtype, 2);
}

/* A lower bound: the seconds of the copies, of grids without padding. */
static double least_seconds(const stn_task *task, const stn_machine *machine) {
    return ((double)task->steps + 1) * copy_seconds(task, machine);
}

static void estimate(const stn_task *task, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *result) {
    (void)candidate;
    const stn_task padded = padded_task(task);
    const double steps = (double)task->steps, size = (double)stn_dtype_size(task->dtype);
    if (!stn_subplan_estimate(&padded, machine, NULL, result)) {
        result->seconds = INFINITY;
        return;
    }
    result->seconds = steps * (result->seconds + copy_seconds(&padded, machine)) + copy_seconds(task, machine);
    result->bytes = steps * (result->bytes + 2 * size * (double)stn_task_points(&padded)) +
                    2 * size * (double)stn_task_points(task);
    result->flops *= steps;
    result->launches = steps * (result->launches + 1) + 1;
    result->error *= stn_error_of_runs(steps);
    stn_estimate_memory(task, result->memory + 2 * (double)grid_bytes(&padded), result);
}

/* ---- preparing ------------------------------------------------------------------------------- */

static stn_status make_kernel(stn_plan *plan, const char *name, size_t header, stn_kernel **kernel, stn_error *error) {
    const stn_task *task = &plan->task;
    stn_text params = STN_TEXT_EMPTY;
    stn_params_begin_for(&params, task->dtype);
    stn_params_int(&params, "THREADS_X", STN_ROW_THREADS);
    stn_params_int(&params, "EXPECTED_HEADER", (int64_t)header);
    for (int axis = 0; axis < 3 && header == sizeof(load_arguments); axis++)
        stn_params_axis(&params, axis, task->reach[axis], task->boundary[axis]);
    return stn_kernel_make(plan->kernels, name, &params, 0, kernel, error);
}

static stn_status prepare(stn_plan *plan, stn_error *error) {
    padded_state *state = plan->state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    const stn_task padded = padded_task(&plan->task);
    STN_TRY(make_kernel(plan, "padded_load", sizeof(load_arguments), &state->load, error));
    STN_TRY(make_kernel(plan, "padded_store", sizeof(store_arguments), &state->store, error));
    STN_TRY(stn_subplan(plan, &padded, NULL, &state->step, error));
    state->grid = grid_bytes(&padded);
    plan->workspace_size = 2 * state->grid + state->step->workspace_size;
    return STN_OK;
}

static stn_status set_weights(stn_plan *plan, stn_error *error) {
    return stn_subplan_set_weights(((const padded_state *)plan->state)->step, &plan->task, error);
}

static void release(stn_plan *plan) { stn_plan_destroy(((padded_state *)plan->state)->step); }

/* ---- running --------------------------------------------------------------------------------- */

static stn_strided_grid input_grid(const stn_task *task, const void *at) {
    stn_grid_layout layout = {.batch = task->in_batch_stride};
    memcpy(layout.stride, task->in_stride, sizeof layout.stride);
    return stn_strided_grid_at(&layout, at);
}

/* The grid's points in a padded grid. */
static stn_strided_grid interior_of(const stn_task *task, const stn_task *padded, const void *at) {
    stn_strided_grid grid = input_grid(padded, at);
    int64_t first = 0;
    for (int axis = 0; axis < 3; axis++) first += halo_of(task, axis, 0) * grid.stride[axis];
    grid.at = (const char *)at + first * (int64_t)stn_dtype_size(task->dtype);
    return grid;
}

static stn_status load(const padded_state *state, const stn_task *task, stn_strided_grid in, stn_strided_grid before,
                       void *to, void *stream, stn_error *error) {
    const stn_task *padded = &state->step->task;
    union {
        load_arguments header;
        unsigned char bytes[sizeof(load_arguments) + 6 * sizeof(double)];
    } a = {.header = {.in = in,
                      .before = before,
                      .out = input_grid(padded, to),
                      .updated = stn_updated_box_of(task),
                      .chunks = stn_row_chunks(padded)}};
    unsigned char *constant = a.bytes + sizeof a.header;
    memcpy(a.header.n, task->n, sizeof a.header.n);
    memcpy(a.header.padded, padded->n, sizeof a.header.padded);
    for (int axis = 0; axis < 3; axis++) {
        a.header.low[axis] = halo_of(task, axis, 0);
        for (int side = 0; side < 2; side++)
            constant += stn_put_real(task->dtype, stn_task_constant_value(task, axis, side), constant);
    }
    return stn_kernel_launch(state->load, stn_row_blocks(padded), STN_ROW_THREADS, 0, &a, stream, error);
}

static stn_status store(const padded_state *state, const stn_task *task, stn_strided_grid in, stn_strided_grid result,
                        void *out, void *stream, stn_error *error) {
    store_arguments a = {
        .in = in, .result = result, .updated = stn_updated_box_of(task), .chunks = stn_row_chunks(task)};
    a.out.at = out, a.out.batch = task->out_batch_stride;
    memcpy(a.out.stride, task->out_stride, sizeof a.out.stride);
    memcpy(a.n, task->n, sizeof a.n);
    return stn_kernel_launch(state->store, stn_row_blocks(task), STN_ROW_THREADS, 0, &a, stream, error);
}

static uint64_t launches(const stn_plan *plan) { return plan->task.steps; }

static stn_status execute_part(stn_plan *plan, stn_part part, const stn_execution *run, stn_error *error) {
    const padded_state *state = plan->state;
    const stn_task *task = &plan->task;
    char *const grids[] = {run->workspace, (char *)run->workspace + state->grid};
    const stn_strided_grid in = input_grid(task, run->in), result = interior_of(task, &state->step->task, grids[1]);
    const stn_execution step = {
        .in = grids[0], .out = grids[1], .workspace = grids[1] + state->grid, .stream = run->stream};
    for (uint64_t i = part.first; i < part.first + part.count; i++) {
        STN_TRY(load(state, task, in, i ? result : in, grids[0], run->stream, error));
        STN_TRY(stn_plan_run_whole(state->step, &step, error));
    }
    if (part.first + part.count < task->steps) return STN_OK;
    return store(state, task, in, result, run->out, run->stream, error);
}

/* ---- descriptions ---------------------------------------------------------------------------- */

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const stn_plan *step = ((const padded_state *)plan->state)->step;
    const int64_t *n = step->task.n;
    if (format == STN_JSON) {
        stn_json_key(text, "padded");
        stn_text_printf(text, "[%lld,%lld,%lld]", (long long)n[0], (long long)n[1], (long long)n[2]);
        stn_json_text(text, "step", step->strategy->name);
        return;
    }
    stn_text_printf(text, "a padded grid of %lld x %lld x %lld points that wraps, by %s, ", (long long)n[0],
                    (long long)n[1], (long long)n[2], step->strategy->name);
    step->strategy->describe(step, format, text);
}

static void name_candidate(const stn_task *task, const stn_candidate *candidate, stn_text *text) {
    const stn_task padded = padded_task(task);
    (void)candidate;
    stn_text_printf(text, "steps of a padded grid of %lld x %lld x %lld points", (long long)padded.n[0],
                    (long long)padded.n[1], (long long)padded.n[2]);
}

static uint64_t shorten(const stn_task *task, const stn_candidate *candidate, uint64_t most, stn_candidate *trial) {
    *trial = *candidate;
    return most < task->steps ? most : task->steps;
}

const stn_strategy stn_strategy_padded = {
    .name = "padded",
    .applies = applies,
    .candidates = candidates,
    .least_seconds = least_seconds,
    .estimate = estimate,
    .prepare = prepare,
    .set_weights = set_weights,
    .describe = describe,
    .release = release,
    .name_candidate = name_candidate,
    .shorten = shorten,
    .launches = launches,
    .execute_part = execute_part,
};
