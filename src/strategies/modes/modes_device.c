/* Strategy modes on a GPU: plans for transforms of real data, and kernels around and between
 * them.
 *
 *     modes_grid    levels -> differences, extended past mirrors, in the arithmetic type
 *     transform     of all of them to spectra, in place
 *     modes_power   times the power of the step's matrix at each frequency
 *     inverse transform
 *     modes_grid    differences -> levels
 *
 * Without mirrors and conversions, transforms read and write the caller's arrays: modes_grid writes
 * the differences alone, modes_power replaces differences by levels, and no kernel runs after the
 * inverse transforms.
 *
 * Snapshots and receivers divide the run into chunks, as on the host. The states before the last
 * one are transformed back from a copy, so that the spectra are kept. */
#include "strategies/modes/modes_device.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "plan/error_bound.h"
#include "render/render.h"
#include "strategies/common/system_points.h"
#include "strategies/modes/lines.h"
#include "strategies/modes/passes.h"
#include "strategies/modes/plane.h"
#include "strategies/modes/power_kernel.h"
#include "strategies/modes/symmetry.h"

/* Threads of a block of modes_grid; points of a thread on long rows. */
enum { THREADS = 128, RUN = 4 };
enum { MAX_WIDTH = 16, ALIGNED = 256 };

/* Mirrors the struct of modes_grid.cu, where `array` is as long as the state. */
typedef struct grid_arguments {
    void *array[MAX_WIDTH];
    void *spectrum;
    int64_t n[3], length[3], row, grid, grids, rows, chunks;
} grid_arguments;

/* FORWARD and INVERSE transform all arrays in place, or, if uses_callers_arrays, between one of the
 * caller's arrays, with its batch, and its spectra. DIFFERENCES transforms one array of differences
 * in place. */
enum { FORWARD, INVERSE, DIFFERENCES, TRANSFORMS };

typedef struct modes_device_state {
    modes_linear linear;
    /* modes_lines computes everything: there are no transforms, no modes_power, load or store. */
    bool by_lines;
    modes_lines lines;
    modes_power power;
    bool uses_callers_arrays;        /* transforms read and write them */
    stn_plan *transform[TRANSFORMS]; /* owned; NULL where it is not needed, as the kernels */
    stn_kernel *load, *store;
    stn_system_points receivers;
    uint64_t chunk;
    size_t stage, fields, own; /* byte offsets in the workspace; the spectra are first */
} modes_device_state;

static stn_dtype inner_of(const stn_system_task *task) { return task->dtype == STN_F64 ? STN_F64 : STN_F32; }
static size_t rounded(size_t bytes) { return (size_t)stn_round_up((int64_t)bytes, ALIGNED); }

static size_t level_bytes(const stn_system_task *task) {
    return (size_t)stn_system_task_numbers(task) * stn_dtype_size(task->dtype);
}

/* Bytes of the spectra of one number of the state, for all grids. */
static size_t number_bytes(const modes_linear *l) {
    return (size_t)(l->task->batch * modes_grid(l)) * 2 * stn_dtype_size(inner_of(l->task));
}
static size_t spectra_bytes(const modes_linear *l) { return (size_t)l->width * number_bytes(l); }

/* Are the spectra of some state needed after it was transformed back? */
static bool has_stage(const stn_system_task *task) { return modes_steps_per_state(task) < task->steps * task->states; }

/* ---- transforms ----------------------------------------------------------------------------- */

/* The alignment of the caller's arrays in transforms: states of a stack follow each other without
 * gaps, and so do the spectra of numbers of the state. */
static int alignment_of(const modes_linear *l) {
    const int64_t level = l->task->stack ? (int64_t)level_bytes(l->task) : ALIGNED, number = (int64_t)number_bytes(l);
    return (int)stn_min(l->task->alignment, stn_min(level & -level, number & -number));
}

/* Whether transforms read and write the caller's arrays; transforms of real data access pairs of
 * numbers. */
static bool uses_callers_arrays(const modes_linear *l) {
    bool fits = l->task->dtype != STN_F16 && alignment_of(l) >= 2 * (int)stn_dtype_size(inner_of(l->task));
    for (int axis = 0; axis < 3; axis++) fits = fits && !l->axis[axis].mirrored;
    return fits;
}

/* How often an execution runs a transform. */
static double times_of(const modes_linear *l, int which) {
    const stn_system_task *task = l->task;
    const double states = (double)task->states, fields = task->system->nfields;
    const double records = task->nreceivers ? (double)task->steps * states / (double)task->record_every : 0;
    if (which == DIFFERENCES) return uses_callers_arrays(l) ? l->width - fields : 0;
    if (!uses_callers_arrays(l)) return which == FORWARD ? 1 : states + records;
    return which == FORWARD ? fields : states * l->width + records * fields;
}

static stn_status make_fft(const modes_linear *l, int which, stn_fft *fft, stn_error *error) {
    const bool callers = uses_callers_arrays(l), dense = callers && which != DIFFERENCES;
    const int64_t grids = l->task->batch * (callers ? 1 : l->width);
    const modes_layout layout = {
        .inverse = which == INVERSE, .in_place = !dense, .dense = dense, .alignment = callers ? alignment_of(l) : 0};
    return modes_transform(l, inner_of(l->task), layout, grids, 1, fft, error);
}

static bool estimate_fft(const modes_linear *l, int which, const stn_machine *machine, stn_estimate *result) {
    stn_fft fft;
    return make_fft(l, which, &fft, NULL) == STN_OK && stn_subplan_estimate_fft(&fft, machine, NULL, result);
}

/* ---- choosing ------------------------------------------------------------------------------- */

static bool is_plane(const modes_linear *l) { return l->task->rank == 2; }
/* Bytes of the spectra of passes along lines. */
static size_t lines_bytes(const modes_linear *l) { return is_plane(l) ? modes_plane_bytes(l) : modes_lines_bytes(l); }

/* Whether passes along lines serve the system: a state that is not kept, of arrays that are not
 * converted. */
static bool fits_lines(const modes_linear *l, const stn_machine *machine) {
    return modes_steps_per_state(l->task) == l->task->steps * l->task->states && !l->task->nreceivers &&
           !l->task->stack && uses_callers_arrays(l) &&
           (is_plane(l) ? modes_plane_fits(l, machine) : modes_lines_fit(l, machine));
}

size_t modes_device_candidates(const modes_linear *l, const stn_machine *machine, stn_candidate *list, size_t most) {
    size_t made = 0;
    for (int by_lines = fits_lines(l, machine); by_lines >= 0 && made < most; by_lines--)
        list[made++] = stn_candidate_of(&by_lines, sizeof by_lines);
    return made;
}

bool modes_device_fits(const modes_linear *l, const stn_machine *machine, char *reason, size_t size) {
    stn_estimate unused;
    if (!modes_power_fits(l, machine, reason, size)) return false;
    for (int which = 0; which < TRANSFORMS; which++)
        if (times_of(l, which) > 0 && !estimate_fft(l, which, machine, &unused)) {
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

/* Fractions of the copy bandwidth: moving of modes_grid and modes_power; lines and plane of passes
 * along lines in 3D and in 2D (H200, 1000 steps of a wave on 512^3 points in f32, and on 2048^2 to
 * 8192^2 points). Fractions of the rate of float64 that powers reach, which are assumed: arithmetic
 * with matrices in registers, local with matrices in local memory. */
static const struct { double moving, lines, plane, arithmetic, local; } rates = {0.76, 0.71, 0.45, 0.4, 0.05};

/* Seconds of a pass of modes_power over spectra of `spectra` bytes. */
static double power_seconds(const modes_linear *l, const stn_machine *machine, double spectra, double flops) {
    const double f64 = machine->flops[STN_UNIT_FMA_F64];
    const double computed = flops / ((modes_power_unrolls(l) ? rates.arithmetic : rates.local) * f64);
    return fmax(2 * spectra / (rates.moving * machine->copy_bandwidth), computed);
}

/* The error of the transforms of all points of a grid, and that of the powers, which are rounded to
 * float64 a few times, and of storing. */
static double error_of(const stn_system_task *task, double points) {
    const double transformed =
        stn_error_accumulated(0, 2.5 * stn_error_rounding(inner_of(task)), 2 * log2(points + 1) + 4);
    const double others = (task->dtype == STN_F64 ? 16 : 1) * stn_error_rounding(task->dtype);
    return hypot(transformed, others);
}

/* Passes along lines. modes_power computes one power for all frequencies with the same matrix;
 * these passes compute a power at half of all frequencies in 3D, and at a quarter of them in 2D. */
static void estimate_lines(const modes_linear *l, const stn_machine *machine, stn_estimate *result) {
    const bool plane = is_plane(l);
    const double spectra = (double)lines_bytes(l), passes = plane ? 3 : MODES_LINES_PASSES;
    const double bandwidth = (plane ? rates.plane : rates.lines) * machine->copy_bandwidth;
    const double points = (double)stn_system_task_numbers(l->task);
    double differ = (double)l->axis[2].length / 2 + 1;
    for (int i = 0; i < 2; i++) differ *= (double)(l->even[i] ? l->axis[i].length / 2 + 1 : l->axis[i].length);
    *result = (stn_estimate){.unit = STN_UNIT_FMA_F64, .launches = passes};
    result->bytes = 2 * passes * spectra;
    result->flops = modes_power_flops(l) * points / ((plane ? 4 : 2) * differ);
    result->seconds =
        2 * (passes - 1) * spectra / bandwidth +
        fmax(2 * spectra / bandwidth, result->flops / (rates.arithmetic * machine->flops[STN_UNIT_FMA_F64])) +
        passes * machine->launch_seconds;
    result->memory = spectra, result->grids = 1;
    result->error = error_of(l->task, points / (double)l->task->batch);
}

void modes_device_estimate(const modes_linear *l, const stn_machine *machine, const stn_candidate *candidate,
                           stn_estimate *result) {
    if (candidate->values[0]) {
        estimate_lines(l, machine, result);
        return;
    }
    const stn_system_task *task = l->task;
    const double grids = (double)level_bytes(task) * l->width, spectra = (double)spectra_bytes(l);
    const double all = (double)task->steps * (double)task->states, chunks = all / (double)modes_steps_per_state(task);
    const double differences = times_of(l, DIFFERENCES);
    const double flops = modes_power_flops(l);
    /* Passes of modes_grid, and their bytes. */
    const double moves = uses_callers_arrays(l) ? (differences > 0) : 1 + times_of(l, INVERSE);
    const double moved = uses_callers_arrays(l) ? 2 * differences / l->width * grids : moves * (grids + spectra);
    double points = 1;
    for (int axis = 0; axis < 3; axis++) points *= (double)l->axis[axis].length;
    *result = (stn_estimate){.unit = STN_UNIT_FMA_F64};
    for (int which = 0; which < TRANSFORMS; which++) {
        stn_estimate each;
        const double times = times_of(l, which);
        if (times == 0) continue;
        if (!estimate_fft(l, which, machine, &each)) {
            result->seconds = INFINITY;
            return;
        }
        result->bytes += times * each.bytes, result->flops += times * each.flops;
        result->launches += times * each.launches, result->seconds += times * each.seconds;
    }
    result->bytes += moved + 2 * spectra * chunks;
    result->flops += flops * chunks;
    result->launches += moves + chunks;
    result->seconds += moved / (rates.moving * machine->copy_bandwidth) +
                       chunks * power_seconds(l, machine, spectra, flops) + (moves + chunks) * machine->launch_seconds;
    result->memory = spectra * (has_stage(task) ? 2 : 1);
    result->grids = result->memory / grids;
    result->halo_waste = points / (double)stn_system_task_points(task) - 1;
    result->error = error_of(task, points);
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
    int sign[6 * STN_SYSTEM_MAX_FIELDS], mirror_distance[3], levels = 1;
    stn_text params = STN_TEXT_EMPTY;
    for (int f = 0; f < system->nfields; f++) {
        levels = (int)stn_max(levels, system->fields[f].levels);
        for (int side = 0; side < 6; side++) sign[6 * f + side] = l->axis[side / 2].sign[f][side % 2];
    }
    for (int axis = 0; axis < 3; axis++)
        mirror_distance[axis] = l->axis[axis].mirrored ? l->axis[axis].mirror_distance : -1;
    stn_params_begin_for(&params, l->task->dtype);
    modes_render_fields(l, &params);
    stn_params_int(&params, "MODES_LEVELS", levels);
    stn_params_int(&params, "MODES_STORES", !loads);
    stn_params_int(&params, "MODES_FROM", uses_callers_arrays(l));
    stn_params_ints(&params, "MODES_BEYOND", mirror_distance, 3);
    stn_params_ints(&params, "MODES_SIGN", sign, 6 * (size_t)system->nfields);
    stn_params_int(&params, "MODES_RUN", run_along(n));
    stn_params_int(&params, "THREADS_X", threads_along(n));
    stn_params_int(&params, "THREADS_Y", THREADS / threads_along(n));
    stn_params_int(&params, "EXPECTED_HEADER",
                   (int64_t)(sizeof(grid_arguments) - (size_t)(MAX_WIDTH - l->width) * sizeof(void *)));
    return stn_kernel_make(plan->kernels, "modes_grid", &params, 0, kernel, error);
}

static stn_status make_transforms(stn_plan *plan, modes_device_state *state, stn_error *error) {
    for (int which = 0; which < TRANSFORMS; which++) {
        stn_fft fft;
        if (times_of(&state->linear, which) == 0) continue;
        STN_TRY(make_fft(&state->linear, which, &fft, error));
        stn_error why = {STN_OK, ""};
        const stn_status status = stn_subplan_fft(plan, &fft, NULL, &state->transform[which], &why);
        if (status != STN_OK) /* cuFFT may not work here; strategies without transforms may */
            return stn_fail(error, status == STN_ERROR_DRIVER ? STN_ERROR_UNSUPPORTED : status, "%s", why.message);
    }
    return STN_OK;
}

static void lay_out(stn_plan *plan, modes_device_state *state) {
    const stn_system_task *task = &plan->system;
    const size_t spectra = rounded(spectra_bytes(&state->linear));
    const size_t fields = task->nreceivers ? rounded(level_bytes(task)) * (size_t)task->system->nfields : 0;
    size_t most = 0;
    for (int which = 0; which < TRANSFORMS; which++) {
        const stn_plan *each = state->transform[which];
        if (each && each->workspace_size > most) most = each->workspace_size;
    }
    state->stage = has_stage(task) ? spectra : 0;
    state->fields = state->stage + spectra;
    state->own = state->fields + fields;
    plan->workspace_size = state->own + most;
}

stn_status modes_device_prepare(stn_plan *plan, stn_error *error) {
    modes_device_state *state = plan->state = calloc(1, sizeof *state);
    modes_linear *l = &state->linear;
    char reason[160];
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    state->chunk = modes_steps_per_state(&plan->system);
    if (!modes_analyse(&plan->system, l, reason, sizeof reason))
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "%s", reason);
    state->uses_callers_arrays = uses_callers_arrays(l);
    state->by_lines = plan->candidate.values[0] != 0;
    if (state->by_lines) {
        plan->workspace_size = lines_bytes(l);
        return is_plane(l) ? modes_plane_make(plan, l, &state->lines, error)
                           : modes_lines_make(plan, l, &state->lines, error);
    }
    if (!state->uses_callers_arrays || times_of(l, DIFFERENCES) > 0)
        STN_TRY(make_grid_kernel(plan, l, true, &state->load, error));
    if (!state->uses_callers_arrays) STN_TRY(make_grid_kernel(plan, l, false, &state->store, error));
    STN_TRY(modes_power_make(plan, l, &state->power, error));
    STN_TRY(make_transforms(plan, state, error));
    STN_TRY(stn_system_points_make(plan, false, &state->receivers, error));
    lay_out(plan, state);
    return STN_OK;
}

void modes_device_release(stn_plan *plan) {
    modes_device_state *state = plan->state;
    for (int which = 0; which < TRANSFORMS; which++) stn_plan_destroy(state->transform[which]);
    modes_power_clear(plan, &state->power);
    modes_lines_clear(plan, &state->lines);
    stn_system_points_clear(plan, &state->receivers);
    modes_linear_clear(&state->linear);
}

/* ---- a run ---------------------------------------------------------------------------------- */

typedef struct device_run {
    const modes_device_state *state;
    const stn_execution *run;
} device_run;

static void *at(const device_run *r, size_t offset) { return (char *)r->run->workspace + offset; }

/* Launches modes_grid. */
static stn_status move(const device_run *r, bool loads, const void *const *arrays, void *spectrum, stn_error *error) {
    const modes_linear *l = &r->state->linear;
    const int64_t along = loads ? l->axis[2].length : l->axis[2].n;
    grid_arguments a = {.spectrum = spectrum,
                        .row = 2 * (l->axis[2].length / 2 + 1),
                        .grid = 2 * modes_grid(l),
                        .grids = l->task->batch,
                        .chunks = stn_div_up(along, (int64_t)threads_along(along) * run_along(along))};
    _Alignas(16) unsigned char packed[sizeof a];
    const size_t pointers = (size_t)l->width * sizeof(void *), rest = offsetof(grid_arguments, spectrum);
    for (int i = 0; i < l->width; i++) a.array[i] = (void *)arrays[i];
    for (int axis = 0; axis < 3; axis++) a.n[axis] = l->axis[axis].n, a.length[axis] = l->axis[axis].length;
    a.rows = a.grids * (loads ? a.length[0] * a.length[1] : a.n[0] * a.n[1]);
    memcpy(packed, a.array, pointers);
    memcpy(packed + pointers, (const char *)&a + rest, sizeof a - rest);
    const int64_t groups = stn_div_up(a.rows, THREADS / threads_along(along));
    return stn_kernel_launch(loads ? r->state->load : r->state->store, groups * a.chunks, THREADS, 0, packed,
                             r->run->stream, error);
}

static stn_status transform(const device_run *r, int which, const void *in, void *out, stn_error *error) {
    const stn_execution each = {.in = in, .out = out, .workspace = at(r, r->state->own), .stream = r->run->stream};
    return stn_plan_run_whole(r->state->transform[which], &each, error);
}

static stn_status load(const device_run *r, void *spectrum, stn_error *error) {
    const modes_linear *l = &r->state->linear;
    const void *const *in = r->run->system->in;
    if (r->state->load) STN_TRY(move(r, true, in, spectrum, error));
    if (!r->state->uses_callers_arrays) return transform(r, FORWARD, spectrum, spectrum, error);
    for (int f = 0; f < l->task->system->nfields; f++)
        for (int level = l->task->system->fields[f].levels - 1; level >= 0; level--) {
            const int i = l->first[f] + level;
            void *const to = (char *)spectrum + (size_t)i * number_bytes(l);
            STN_TRY(transform(r, level ? DIFFERENCES : FORWARD, level ? to : in[i], to, error));
        }
    return STN_OK;
}

/* Stores to the arrays that are not NULL. back: the spectra are transformed back in place before,
 * unless uses_callers_arrays. */
static stn_status store(const device_run *r, void *spectrum, const void *const *out, bool back, stn_error *error) {
    const modes_linear *l = &r->state->linear;
    if (!r->state->uses_callers_arrays) {
        if (back) STN_TRY(transform(r, INVERSE, spectrum, spectrum, error));
        return move(r, false, out, spectrum, error);
    }
    for (int i = 0; i < l->width; i++)
        if (out[i])
            STN_TRY(transform(r, INVERSE, (char *)spectrum + (size_t)i * number_bytes(l), (void *)out[i], error));
    return STN_OK;
}

/* Records the present states, which are computed in the workspace. */
static stn_status record(const device_run *r, void *spectrum, uint64_t steps, stn_error *error) {
    const stn_system_task *task = r->state->linear.task;
    const void *out[MAX_WIDTH] = {NULL}, *fields[STN_SYSTEM_MAX_FIELDS] = {NULL};
    for (int f = 0; f < task->system->nfields; f++)
        out[r->state->linear.first[f]] = fields[f] = at(r, r->state->fields + (size_t)f * rounded(level_bytes(task)));
    STN_TRY(store(r, spectrum, out, true, error));
    return stn_system_points_record(&r->state->receivers, task, r->run->system, fields, (int64_t)steps, r->run->stream,
                                    error);
}

static stn_status store_state(const device_run *r, void *spectrum, uint64_t number, bool back, stn_error *error) {
    const stn_system_task *task = r->state->linear.task;
    const size_t before = task->stack ? (size_t)number * level_bytes(task) : 0;
    const void *out[MAX_WIDTH];
    for (int i = 0; i < r->state->linear.width; i++)
        out[i] = r->run->system->out[i] ? (char *)r->run->system->out[i] + before : NULL;
    return store(r, spectrum, out, back, error);
}

stn_status modes_device_execute(stn_plan *plan, const stn_execution *run, stn_error *error) {
    const device_run r = {plan->state, run};
    const modes_linear *l = &r.state->linear;
    const stn_system_task *task = &plan->system;
    const uint64_t all = task->steps * task->states;
    if (r.state->by_lines)
        return (is_plane(l) ? modes_plane_run : modes_lines_run)(&r.state->lines, l, run->system->numbers,
                                                                 r.state->chunk, run, error);
    modes_power_pass pass = {.spectrum = run->workspace, .steps = r.state->chunk, .scale = 1};
    for (int axis = 0; axis < 3; axis++) pass.scale /= (double)l->axis[axis].length;
    STN_TRY(load(&r, pass.spectrum, error));
    for (uint64_t done = pass.steps; done <= all; done += pass.steps) {
        const bool records = task->nreceivers && done % task->record_every == 0, stores = done % task->steps == 0;
        pass.keeps = (records || stores) && done < all;
        pass.levels = (records || stores) && r.state->uses_callers_arrays;
        pass.to = pass.keeps ? at(&r, r.state->stage) : pass.spectrum;
        STN_TRY(modes_power_run(&r.state->power, l, run->system->numbers, &pass, run->stream, error));
        pass.scale = 1;
        if (records) STN_TRY(record(&r, pass.to, done, error));
        if (stores) STN_TRY(store_state(&r, pass.to, done / task->steps - 1, !records, error));
    }
    return STN_OK;
}

/* ---- description ---------------------------------------------------------------------------- */

const modes_linear *modes_device_linear(const stn_plan *plan) {
    return &((const modes_device_state *)plan->state)->linear;
}

void modes_device_describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const modes_device_state *state = plan->state;
    const stn_plan *forward = state->transform[FORWARD];
    if (state->by_lines && format != STN_JSON) stn_text_printf(text, ", transforms and powers in passes along lines");
    if (!forward) return;
    if (format == STN_JSON) {
        stn_json_key(text, "transforms");
        stn_json_string(text, forward->strategy->name);
        return;
    }
    stn_text_printf(text, ", transforms by %s: ", forward->strategy->name);
    forward->strategy->describe(forward, format, text);
}
