/* The strategy modes on a GPU: plans for transforms of real data in place, and kernels around and
 * between them.
 *
 *     modes_load    levels -> differences, extended past mirrors, in the arithmetic type
 *     transform     of all of them to spectra
 *     modes_power   times the power of the step's matrix at each frequency
 *     inverse transform
 *     modes_store   differences -> levels
 *
 * Snapshots and receivers divide the run into chunks, as on the host. The states before the last
 * one are transformed back at another place, so that the spectra are kept. */
#include "strategies/modes/modes_device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "plan/accuracy.h"
#include "render/render.h"
#include "strategies/common/system_points.h"
#include "strategies/modes/passes.h"
#include "strategies/modes/power_kernel.h"
#include "strategies/modes/symmetry.h"

enum { THREADS = 128, RUN = 4 /* points of a thread of modes_load and modes_store, on long rows */ };
enum { MOST_WIDTH = 16 };
#define ALIGNED 256

/* Same as in modes_load.cu and modes_store.cu, where the array is as long as the state. */
typedef struct grid_arguments {
    void *array[MOST_WIDTH];
    void *spectrum;
    int64_t n[3], length[3], row, grid, grids, rows, chunks;
} grid_arguments;

typedef struct modes_device_state {
    modes_linear linear;
    modes_power power;
    stn_plan *forward, *inverse;
    stn_kernel *load, *store;
    stn_system_points receivers;
    uint64_t chunk;
    size_t stage, fields, own; /* byte offsets in the workspace; the spectra are first */
} modes_device_state;

static stn_dtype inner_of(const stn_system_task *task) { return task->dtype == STN_F64 ? STN_F64 : STN_F32; }

static size_t rounded(double bytes) { return (size_t)stn_round_up((int64_t)bytes, ALIGNED); }

static size_t spectra_bytes(const modes_linear *l) {
    return (size_t)(l->width * l->task->batch * modes_grid(l)) * 2 * stn_dtype_size(inner_of(l->task));
}

/* Are the spectra of some state needed after it was transformed back? */
static bool has_stage(const stn_system_task *task) { return modes_chunk(task) < task->steps * task->states; }

/* ---- choosing ------------------------------------------------------------------------------- */

static stn_status make_fft(const modes_linear *l, bool inverse, stn_fft *fft, stn_error *error) {
    return modes_transform(l, inner_of(l->task), inverse, true, l->task->batch * l->width, 1, fft, error);
}

bool modes_device_fits(const modes_linear *l, const stn_machine *machine, char *reason, size_t size) {
    stn_fft fft;
    stn_estimate unused;
    if (l->width > MOST_WIDTH || !modes_power_fits(l, machine, reason, size)) return false;
    for (int inverse = 0; inverse < 2; inverse++)
        if (make_fft(l, inverse, &fft, NULL) != STN_OK || !stn_subplan_estimate_fft(&fft, machine, NULL, &unused)) {
            snprintf(reason, size, "there is no transform of %lld x %lld x %lld points here",
                     (long long)l->axis[0].length, (long long)l->axis[1].length, (long long)l->axis[2].length);
            return false;
        }
    const double bytes = (double)spectra_bytes(l) * (has_stage(l->task) ? 2 : 1);
    if (machine->memory_bytes && 2 * bytes > (double)machine->memory_bytes) {
        snprintf(reason, size, "its spectra take %.3g GB, more than half of this machine's memory", 1e-9 * bytes);
        return false;
    }
    return true;
}

/* Fractions of the copy bandwidth that modes_load, modes_store and modes_power reach, and of the
 * rate of float64 that the last reaches in registers and in local memory: assumed, not measured. */
static const struct { double moving, arithmetic, local; } rates = {0.75, 0.4, 0.05};

/* Registers hold small matrices only, as in modes_power.cu. */
static double arithmetic_rate(const modes_linear *l) {
    const int n = l->width + l->affine;
    return n * n * n * (l->real ? 1 : 4) <= 32 ? rates.arithmetic : rates.local;
}

void modes_device_estimate(const modes_linear *l, const stn_machine *machine, stn_estimate *result) {
    const stn_system_task *task = l->task;
    const double grids = (double)stn_system_task_numbers(task) * (double)stn_dtype_size(task->dtype) * l->width;
    const double spectra = (double)spectra_bytes(l), chunk = (double)modes_chunk(task);
    const double chunks = (double)task->steps * (double)task->states / chunk;
    const double back =
        (double)task->states +
        (task->nreceivers ? (double)task->steps * (double)task->states / (double)task->record_every : 0);
    const double pass = 2 * spectra, moved = grids + spectra;
    const double flops = modes_power_flops(l, modes_chunk(task));
    double points = 1;
    for (int axis = 0; axis < 3; axis++) points *= (double)l->axis[axis].length;
    *result = (stn_estimate){.unit = STN_UNIT_FMA_F64};
    for (int inverse = 0; inverse < 2; inverse++) {
        stn_fft fft;
        stn_estimate each;
        const double times = inverse ? back : 1;
        if (make_fft(l, inverse, &fft, NULL) != STN_OK || !stn_subplan_estimate_fft(&fft, machine, NULL, &each)) {
            result->seconds = INFINITY;
            return;
        }
        result->bytes += times * each.bytes, result->flops += times * each.flops;
        result->launches += times * each.launches, result->seconds += times * each.seconds;
    }
    result->bytes += moved * (1 + back) + pass * chunks;
    result->flops += flops * chunks;
    result->launches += 1 + back + chunks;
    result->seconds += moved * (1 + back) / (rates.moving * machine->copy_bandwidth) +
                       chunks * fmax(pass / (rates.moving * machine->copy_bandwidth),
                                     flops / (arithmetic_rate(l) * machine->flops[STN_UNIT_FMA_F64])) +
                       (1 + back + chunks) * machine->launch_seconds;
    result->memory = spectra * (has_stage(task) ? 2 : 1);
    result->grids = result->memory / grids;
    result->halo_waste = points / (double)stn_system_task_points(task) - 1;
    result->error = hypot(stn_error_of(0, 1.5 * stn_error_rounding(inner_of(task)), 2 * log2(points + 1) + 4),
                          task->dtype == STN_F64 ? 0 : stn_error_rounding(task->dtype));
}

/* ---- building ------------------------------------------------------------------------------- */

/* Threads of a block along rows, and points of each. */
static int threads_along(int64_t n) {
    int threads = 1;
    while (threads < THREADS && threads < n) threads *= 2;
    return threads;
}
static int run_along(int64_t n) { return n >= RUN * THREADS ? RUN : 1; }

static stn_status make_grid_kernel(stn_plan *plan, const modes_linear *l, bool loads, stn_kernel **kernel,
                                   stn_error *error) {
    const stn_system *system = l->task->system;
    const int64_t n = loads ? l->axis[2].length : l->axis[2].n;
    int field[STN_SYSTEM_MAX_FIELDS + 1], sign[6 * STN_SYSTEM_MAX_FIELDS], beyond[3], levels = 1;
    stn_text params = STN_TEXT_EMPTY;
    for (int f = 0; f < system->nfields; f++) {
        field[f] = l->first[f];
        levels = (int)stn_max(levels, system->fields[f].levels);
        for (int side = 0; side < 6; side++) sign[6 * f + side] = l->axis[side / 2].sign[f][side % 2];
    }
    field[system->nfields] = l->width;
    for (int axis = 0; axis < 3; axis++) beyond[axis] = l->axis[axis].mirrored ? l->axis[axis].beyond : -1;
    stn_params_begin(&params);
    stn_params_elements(&params, l->task->dtype);
    stn_params_int(&params, "MODES_WIDTH", l->width);
    stn_params_int(&params, "MODES_FIELDS", system->nfields);
    stn_params_int(&params, "MODES_LEVELS", levels);
    stn_params_ints(&params, "MODES_FIELD", field, (size_t)system->nfields + 1);
    stn_params_ints(&params, "MODES_BEYOND", beyond, 3);
    stn_params_ints(&params, "MODES_SIGN", sign, 6 * (size_t)system->nfields);
    stn_params_int(&params, "MODES_RUN", run_along(n));
    stn_params_int(&params, "THREADS_X", threads_along(n));
    stn_params_int(&params, "THREADS_Y", THREADS / threads_along(n));
    stn_params_int(&params, "EXPECTED_HEADER",
                   (int64_t)(sizeof(grid_arguments) - (size_t)(MOST_WIDTH - l->width) * sizeof(void *)));
    STN_TRY(stn_kernel_make(plan->context, loads ? "modes_load" : "modes_store", &params, 0, kernel, error));
    stn_plan_list_kernel(plan, *kernel);
    return STN_OK;
}

static stn_status make_transforms(stn_plan *plan, modes_device_state *state, stn_error *error) {
    for (int inverse = 0; inverse < 2; inverse++) {
        stn_fft fft;
        stn_plan **made = inverse ? &state->inverse : &state->forward;
        STN_TRY(make_fft(&state->linear, inverse, &fft, error));
        STN_TRY(stn_subplan_fft(plan, &fft, NULL, made, error));
        stn_subplan_list_kernels(plan, *made);
    }
    return STN_OK;
}

static void lay_out(stn_plan *plan, modes_device_state *state) {
    const stn_system_task *task = &plan->system;
    const size_t spectra = rounded((double)spectra_bytes(&state->linear));
    const size_t fields = task->nreceivers ? rounded((double)stn_system_task_numbers(task) *
                                                     (double)stn_dtype_size(task->dtype) * task->system->nfields)
                                           : 0;
    state->stage = has_stage(task) ? spectra : 0;
    state->fields = state->stage + spectra;
    state->own = state->fields + fields;
    plan->workspace_size =
        state->own + (size_t)stn_max((int64_t)state->forward->workspace_size, (int64_t)state->inverse->workspace_size);
}

stn_status modes_device_prepare(stn_plan *plan, stn_error *error) {
    modes_device_state *state = calloc(1, sizeof *state);
    char reason[160];
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    plan->state = state;
    state->chunk = modes_chunk(&plan->system);
    if (!modes_analyse(&plan->system, &state->linear, reason, sizeof reason))
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "%s", reason);
    STN_TRY(make_grid_kernel(plan, &state->linear, true, &state->load, error));
    STN_TRY(make_grid_kernel(plan, &state->linear, false, &state->store, error));
    STN_TRY(modes_power_make(plan, &state->linear, &state->power, error));
    STN_TRY(make_transforms(plan, state, error));
    STN_TRY(stn_system_points_make(plan, false, &state->receivers, error));
    lay_out(plan, state);
    return STN_OK;
}

void modes_device_release(stn_plan *plan) {
    modes_device_state *state = plan->state;
    if (!state) return;
    stn_plan_destroy(state->forward);
    stn_plan_destroy(state->inverse);
    modes_power_clear(plan, &state->power);
    stn_system_points_clear(plan, &state->receivers);
    modes_linear_clear(&state->linear);
    free(state);
    plan->state = NULL;
}

/* ---- a run ---------------------------------------------------------------------------------- */

static stn_status move(const modes_device_state *state, bool loads, const void *const *arrays, void *spectrum,
                       void *stream, stn_error *error) {
    const modes_linear *l = &state->linear;
    const int64_t along = loads ? l->axis[2].length : l->axis[2].n;
    grid_arguments a = {.spectrum = spectrum,
                        .row = 2 * (l->axis[2].length / 2 + 1),
                        .grid = 2 * modes_grid(l),
                        .grids = l->task->batch,
                        .chunks = stn_div_up(along, (int64_t)threads_along(along) * run_along(along))};
    unsigned char packed[sizeof a];
    const size_t pointers = (size_t)l->width * sizeof(void *), rest = offsetof(grid_arguments, spectrum);
    for (int axis = 0; axis < 3; axis++) a.n[axis] = l->axis[axis].n, a.length[axis] = l->axis[axis].length;
    a.rows = a.grids * (loads ? a.length[0] * a.length[1] : a.n[0] * a.n[1]);
    memcpy(packed, arrays, pointers);
    memcpy(packed + pointers, (const char *)&a + rest, sizeof a - rest);
    const int64_t groups = stn_div_up(a.rows, THREADS / threads_along(along));
    const stn_launch how = {.grid = {(unsigned)(groups * a.chunks), 1, 1}, .block = {THREADS, 1, 1}, .stream = stream};
    return stn_module_launch((loads ? state->load : state->store)->module, &how, packed, error);
}

static stn_status transform(stn_plan *transform, void *spectrum, const stn_execution *run, size_t own,
                            stn_error *error) {
    const stn_execution each = {
        .in = spectrum, .out = spectrum, .workspace = (char *)run->workspace + own, .stream = run->stream};
    return stn_plan_run_whole(transform, &each, error);
}

/* Records the present states, which are computed in the workspace. */
static stn_status record(const modes_device_state *state, const stn_execution *run, void *spectrum, uint64_t steps,
                         stn_error *error) {
    const stn_system_task *task = state->linear.task;
    const size_t bytes = (size_t)stn_system_task_numbers(task) * stn_dtype_size(task->dtype);
    const void *out[MOST_WIDTH] = {NULL}, *fields[STN_SYSTEM_MAX_FIELDS] = {NULL};
    for (int f = 0; f < task->system->nfields; f++)
        out[state->linear.first[f]] = fields[f] = (char *)run->workspace + state->fields + (size_t)f * bytes;
    STN_TRY(move(state, false, out, spectrum, run->stream, error));
    return stn_system_points_record(&state->receivers, task, run->system, fields, (int64_t)steps, run->stream, error);
}

static stn_status store(const modes_device_state *state, const stn_execution *run, void *spectrum, uint64_t number,
                        stn_error *error) {
    const stn_system_task *task = state->linear.task;
    const size_t before =
        task->stack ? (size_t)number * (size_t)stn_system_task_numbers(task) * stn_dtype_size(task->dtype) : 0;
    const void *out[MOST_WIDTH];
    for (int i = 0; i < state->linear.width; i++)
        out[i] = run->system->out[i] ? (char *)run->system->out[i] + before : NULL;
    return move(state, false, out, spectrum, run->stream, error);
}

stn_status modes_device_execute(stn_plan *plan, const stn_execution *run, stn_error *error) {
    const modes_device_state *state = plan->state;
    const stn_system_task *task = &plan->system;
    const uint64_t all = task->steps * task->states;
    void *const spectrum = run->workspace, *const stage = (char *)run->workspace + state->stage;
    modes_power_pass pass = {.spectrum = spectrum, .steps = state->chunk, .scale = 1};
    for (int axis = 0; axis < 3; axis++) pass.scale /= (double)state->linear.axis[axis].length;
    STN_TRY(move(state, true, run->system->in, spectrum, run->stream, error));
    STN_TRY(transform(state->forward, spectrum, run, state->own, error));
    for (uint64_t done = state->chunk; done <= all; done += state->chunk) {
        const bool records = task->nreceivers && done % task->record_every == 0, stores = done % task->steps == 0;
        pass.keeps = (records || stores) && done < all;
        pass.to = pass.keeps ? stage : spectrum;
        STN_TRY(modes_power_run(&state->power, &state->linear, run->system->numbers, &pass, run->stream, error));
        pass.scale = 1;
        if (!records && !stores) continue;
        STN_TRY(transform(state->inverse, pass.to, run, state->own, error));
        if (records) STN_TRY(record(state, run, pass.to, done, error));
        if (stores) STN_TRY(store(state, run, pass.to, done / task->steps - 1, error));
    }
    return STN_OK;
}

const modes_linear *modes_device_linear(const stn_plan *plan) {
    return &((const modes_device_state *)plan->state)->linear;
}

void modes_device_describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const modes_device_state *state = plan->state;
    if (!state->inverse) return;
    if (format == STN_JSON) {
        stn_json_key(text, "transforms");
        stn_json_string(text, state->forward->strategy->name);
        return;
    }
    stn_text_printf(text, ", transforms by %s: ", state->forward->strategy->name);
    state->forward->strategy->describe(state->forward, format, text);
}
