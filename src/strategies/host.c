/* Strategy host, for each kind of work: stencils, transforms, Fourier layers and systems on the
 * CPU's threads, by the functions of src/host. Their results define those of all other
 * strategies. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "host/fft_by_type.h"
#include "host/fourier_layer.h"
#include "host/stencil_run.h"
#include "host/stencil_step.h"
#include "host/system_run.h"
#include "plan/error_bound.h"
#include "plan/plan.h"
#include "strategies/common/system_cost.h"
#include "strategies/table.h"

/* One of the pointers to runs is set, none for stencils. */
typedef struct host_state {
    stn_pool *pool; /* the context's */
    stn_host_fft *fft;
    stn_host_layer *layer;
    stn_host_system *system;
    stn_row_spectra *spectra; /* of a stencil of very many taps; otherwise NULL */
} host_state;

/* ---- choosing -------------------------------------------------------------------------------- */

static bool is_host(const stn_machine *machine, char *reason, size_t reason_size) {
    if (!machine->is_device) return true;
    snprintf(reason, reason_size, "it works on host memory, and this context's plans take device pointers");
    return false;
}

static size_t one_candidate(stn_candidate *list, size_t most) {
    if (!most) return 0;
    list[0] = (stn_candidate){{0}};
    return 1;
}

/* applies and candidates of each kind of work: the same for any work on the host. */
#define HOST_CHOICE(kind, type)                                                                                        \
    static bool kind##_applies(const type *work, const stn_machine *machine, char *reason, size_t reason_size) {       \
        (void)work;                                                                                                    \
        return is_host(machine, reason, reason_size);                                                                  \
    }                                                                                                                  \
    static size_t kind##_candidates(const type *work, const stn_machine *machine, stn_candidate *list, size_t most) {  \
        (void)work;                                                                                                    \
        (void)machine;                                                                                                 \
        return one_candidate(list, most);                                                                              \
    }
HOST_CHOICE(stencil, stn_task)
HOST_CHOICE(fft, stn_fft)
HOST_CHOICE(layer, stn_layer)
HOST_CHOICE(system, stn_system_task)

/* ---- what all four share --------------------------------------------------------------------- */

static stn_status make_state(stn_plan *plan, host_state **result, stn_error *error) {
    host_state *state = *result = plan->state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    return stn_context_pool(plan->context, &state->pool, error);
}

static void release(stn_plan *plan) {
    host_state *state = plan->state;
    stn_host_fft_destroy(state->fft);
    stn_host_layer_destroy(state->layer);
    stn_host_system_destroy(state->system);
    stn_row_spectra_destroy(state->spectra);
}

static void describe_as(const stn_plan *plan, const char *how, stn_format format, stn_text *text) {
    const host_state *state = plan->state;
    if (!state || !state->pool) return;
    const int threads = stn_pool_threads(state->pool);
    if (format == STN_JSON)
        stn_json_integer(text, "threads", threads);
    else
        stn_text_printf(text, "%s on %d thread%s", how, threads, threads == 1 ? "" : "s");
}

/* ---- stencils -------------------------------------------------------------------------------- */

/* Costs of a step, fitted to 102 timed runs of one core. Sums are in f64 whatever the dtype. */
static const struct {
    /* Sums of rows that are in a cache, as multiples of the flops that are assumed of a core. */
    double flops;
    /* Multiples of a core's copy bandwidth, where all grids fit in a cache and where they do
     * not. */
    double cached, memory;
    double cached_bytes; /* grids of fewer bytes fit */
    /* Seconds of overhead: */
    double sum; /* for the sums of up to 9 taps over one row */
    /* for one input row at an end of the axis, part of which lies outside of the grid */
    double end;
    double gathered; /* for one byte of a short row, which is copied together with its halo */
    double half;     /* for converting one number from half precision */
} costs = {1.85, 14, 2, 24e6, 15e-9, 16e-9, 3e-11, 1.9e-10};

/* Input rows that the sums of one output row read: one for each row that holds taps, and one more
 * wherever a round of 9 taps ends within a row. */
static double lines_of(const stn_task *task, double rounds) {
    double lines = rounds - 1;
    for (size_t k = 0; k < task->ntaps; k++) {
        const int64_t *at = task->taps[k].offset;
        lines += !k || at[0] != task->taps[k - 1].offset[0] || at[1] != task->taps[k - 1].offset[1];
    }
    return lines;
}

/* Seconds of one core for preparing the input rows of a step. */
static double lines_cost(const stn_task *task, double updated_points) {
    const double rounds = ceil((double)task->ntaps / 9);
    const double lines = lines_of(task, rounds), rows = updated_points / (double)task->n[2];
    const bool open =
        stn_task_reach(task, 2) && (task->boundary[2][0].kind != STN_FIXED || task->boundary[2][1].kind != STN_FIXED);
    double seconds = rows * rounds * costs.sum;
    if (task->dtype == STN_F16)
        seconds += updated_points * lines * costs.half;
    else if (open && task->n[2] <= 128)
        seconds += updated_points * lines * (double)stn_dtype_size(task->dtype) * costs.gathered;
    else if (open)
        seconds += 2 * rows * lines * costs.end;
    return seconds;
}

static void stencil_estimate(const stn_task *task, const stn_machine *machine, const stn_candidate *candidate,
                             stn_estimate *estimate) {
    (void)candidate;
    const stn_unit unit = STN_UNIT_FMA_F64;
    const double points = (double)stn_task_points(task), steps = (double)task->steps;
    const double size = (double)stn_dtype_size(task->dtype);
    double updated_points = points;
    for (int axis = 0; axis < 3; axis++) {
        double frozen = 0;
        for (int side = 0; side < 2; side++)
            if (task->boundary[axis][side].kind == STN_FIXED) frozen += task->reach[axis][side];
        updated_points *= fmax(1 - frozen / (double)task->n[axis], 0);
    }
    *estimate = (stn_estimate){.unit = unit, .launches = steps};
    estimate->bytes = steps * points * 2 * size;
    const double spectra = stn_row_spectra_cost(task, true), taps = fmin((double)task->ntaps, spectra);
    estimate->flops = steps * updated_points * 2 * taps;
    estimate->error = stn_error_stepping(task);
    estimate->stepping = true;
    const bool cached = 2 * points * size < costs.cached_bytes;
    const double core = machine->threads > 0 ? machine->threads : 1;
    estimate->seconds = estimate->flops / (machine->flops[unit] * costs.flops) +
                        estimate->bytes / (machine->copy_bandwidth * (cached ? costs.cached : costs.memory)) +
                        (isinf(spectra) ? steps * lines_cost(task, updated_points) / core : 0) +
                        steps * machine->launch_seconds;
}

static stn_status stencil_prepare(stn_plan *plan, stn_error *error) {
    host_state *state;
    STN_TRY(make_state(plan, &state, error));
    plan->workspace_size = stn_host_workspace(&plan->task);
    return stn_row_spectra_create(&plan->task, true, &state->spectra, error);
}

static stn_status stencil_execute(stn_plan *plan, const stn_execution *run, stn_error *error) {
    (void)error;
    const host_state *state = plan->state;
    stn_host_run_source(&plan->task, state->spectra, state->pool, run->in, run->source, run->out, run->workspace);
    return STN_OK;
}

static uint64_t stencil_launches(const stn_plan *plan) { return stn_host_passes(&plan->task); }

static stn_status stencil_execute_part(stn_plan *plan, stn_part part, const stn_execution *run, stn_error *error) {
    (void)error;
    const host_state *state = plan->state;
    stn_host_run_part(&plan->task, state->spectra, state->pool, part.first, part.count, run->in, run->source, run->out,
                      run->workspace);
    return STN_OK;
}

/* Steps read the weights from the task. */
static stn_status stencil_set_weights(stn_plan *plan, stn_error *error) {
    host_state *state = plan->state;
    stn_row_spectra_destroy(state->spectra);
    return stn_row_spectra_create(&plan->task, true, &state->spectra, error);
}

static void stencil_describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const host_state *state = plan->state;
    describe_as(plan, state && state->spectra ? "one step by transforms of rows" : "step by step", format, text);
}

const stn_strategy stn_strategy_host = {
    .name = "host",
    .local = true,
    .applies = stencil_applies,
    .candidates = stencil_candidates,
    .estimate = stencil_estimate,
    .prepare = stencil_prepare,
    .execute = stencil_execute,
    .set_weights = stencil_set_weights,
    .describe = stencil_describe,
    .release = release,
    .launches = stencil_launches,
    .execute_part = stencil_execute_part,
    .sources = true,
    .converts = true,
    .counts_steps = true,
};

/* ---- transforms ------------------------------------------------------------------------------ */

/* One pass for each axis; numbers between passes are float64, or float32 for smaller types. */
static void fft_estimate(const stn_fft *fft, const stn_machine *machine, const stn_candidate *candidate,
                         stn_estimate *estimate) {
    (void)candidate;
    double points = (double)fft->n[0] * (double)fft->n[1] * (double)fft->n[2] * (double)fft->batch;
    const bool wide = fft->dtype == STN_F64;
    *estimate = (stn_estimate){.unit = wide ? STN_UNIT_FMA_F64 : STN_UNIT_FMA_F32, .launches = fft->rank};
    estimate->bytes = stn_fft_bytes(fft) + (fft->rank - 1) * (wide ? 32 : 16) * points;
    estimate->flops = stn_fft_flops(fft);
    estimate->seconds = stn_estimate_seconds(estimate, machine);
}

static stn_status fft_prepare(stn_plan *plan, stn_error *error) {
    host_state *state;
    STN_TRY(make_state(plan, &state, error));
    STN_TRY(stn_host_fft_create(&plan->fft, stn_pool_threads(state->pool), &state->fft, error));
    plan->workspace_size = stn_host_fft_workspace(state->fft);
    return STN_OK;
}

static stn_status fft_execute(stn_plan *plan, const stn_execution *run, stn_error *error) {
    (void)error;
    const host_state *state = plan->state;
    stn_host_fft_run(state->fft, state->pool, run->in, run->out, run->workspace);
    return STN_OK;
}

static void fft_describe(const stn_plan *plan, stn_format format, stn_text *text) {
    describe_as(plan, plan->fft.dtype == STN_F64 ? "axis by axis in float64" : "axis by axis in float32", format, text);
}

const stn_strategy stn_fft_strategy_host = {
    .name = "host",
    .fft.applies = fft_applies,
    .fft.candidates = fft_candidates,
    .fft.estimate = fft_estimate,
    .prepare = fft_prepare,
    .execute = fft_execute,
    .describe = fft_describe,
    .release = release,
};

/* ---- Fourier layers -------------------------------------------------------------------------- */

/* Two transforms in float64, and the products of the retained modes. */
static void layer_estimate(const stn_layer *layer, const stn_machine *machine, const stn_candidate *candidate,
                           stn_estimate *estimate) {
    const double points = (double)stn_layer_points(layer) * (double)layer->batch;
    const double both = points * (double)(layer->c_in + layer->c_out) * stn_layer_components(layer);
    (void)candidate;
    *estimate = (stn_estimate){.unit = STN_UNIT_FMA_F64, .launches = 4};
    estimate->bytes = both * (double)(stn_dtype_size(layer->dtype) + 8 + 16 * (size_t)layer->rank);
    estimate->flops =
        2.5 * both * stn_log2(stn_layer_points(layer) + 1) +
        8 * (double)stn_layer_modes(layer) * (double)layer->batch * (double)layer->c_in * (double)layer->c_out;
    estimate->seconds = stn_estimate_seconds(estimate, machine);
}

static stn_status layer_prepare(stn_plan *plan, stn_error *error) {
    host_state *state;
    STN_TRY(make_state(plan, &state, error));
    STN_TRY(stn_host_layer_create(&plan->layer, stn_pool_threads(state->pool), &state->layer, error));
    plan->workspace_size = stn_host_layer_workspace(state->layer);
    return STN_OK;
}

static stn_status layer_execute(stn_plan *plan, const stn_execution *run, stn_error *error) {
    (void)error;
    const host_state *state = plan->state;
    stn_host_layer_run(state->layer, state->pool, run);
    return STN_OK;
}

static void layer_describe(const stn_plan *plan, stn_format format, stn_text *text) {
    describe_as(plan, "transforms and products in float64", format, text);
}

const stn_strategy stn_layer_strategy_host = {
    .name = "host",
    .layer.applies = layer_applies,
    .layer.candidates = layer_candidates,
    .layer.estimate = layer_estimate,
    .prepare = layer_prepare,
    .execute = layer_execute,
    .describe = layer_describe,
    .release = release,
};

/* ---- systems --------------------------------------------------------------------------------- */

/* Rows of intermediate results pass through a cache, so that an operation takes a few times as long
 * as a fused multiply-add of registers. */
#define ROW_COST 4.0

static void system_estimate(const stn_system_task *task, const stn_machine *machine, const stn_candidate *candidate,
                            stn_estimate *result) {
    (void)candidate;
    stn_system_cost(task, result);
    result->flops *= ROW_COST;
    result->seconds = stn_estimate_seconds(result, machine);
    result->flops /= ROW_COST;
}

static stn_status system_prepare(stn_plan *plan, stn_error *error) {
    host_state *state;
    STN_TRY(make_state(plan, &state, error));
    STN_TRY(stn_host_system_create(&plan->system, stn_pool_threads(state->pool), &state->system, error));
    plan->workspace_size = stn_host_system_workspace(state->system);
    return STN_OK;
}

static stn_status system_execute(stn_plan *plan, const stn_execution *run, stn_error *error) {
    (void)error;
    const host_state *state = plan->state;
    stn_host_system_run(state->system, state->pool, run->system, run->workspace);
    return STN_OK;
}

static void system_describe(const stn_plan *plan, stn_format format, stn_text *text) {
    describe_as(plan, "step by step, row by row", format, text);
}

const stn_strategy stn_system_strategy_host = {
    .name = "host",
    .system.applies = system_applies,
    .system.candidates = system_candidates,
    .system.estimate = system_estimate,
    .prepare = system_prepare,
    .execute = system_execute,
    .describe = system_describe,
    .release = release,
    .local = true,
    .counts_steps = true,
};
