/* Strategy cufft-spectral: all steps at once by cuFFT transforms of the whole grid, as library
 * users write it. It is the baseline for `spectral`, and runs extents and strides that `spectral`
 * cannot. Sides must wrap.
 *
 *     in -> cuFFT r2c -> half spectrum in the workspace -> times K^T (ours) -> cuFFT c2r -> out
 *
 * K^T is computed as in `spectral`, and includes the 1/N of the inverse. cufft_spectral_ways.h says
 * how grids are read and written. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "strategies/common/overlap_cost.h"
#include "strategies/common/scaled_copy.h"
#include "strategies/cufft_spectral/cufft_spectral_multiply.h"
#include "strategies/table.h"

typedef struct cufft_spectral_state {
    cufft_spectral_shape shape;
    cufft_spectral_multiply multiply;
    stn_cufft_plan *forward, *back[2];
    struct stn_kernel *in, *out; /* copy grids; NULL if cuFFT accesses the grids directly */
    int version;
    size_t own; /* bytes of workspace for cuFFT; the spectra follow */
} cufft_spectral_state;

/* ---- choosing */

static size_t candidates(const stn_task *task, const stn_machine *machine, stn_candidate *list, size_t most) {
    cufft_spectral_shape unused;
    char reason[160];
    size_t count = 0;
    (void)machine;
    for (int way = 0; way < CUFFT_SPECTRAL_WAYS && count < most; way++)
        if (cufft_spectral_make(task, (cufft_spectral_way)way, &unused, reason, sizeof reason))
            list[count++] = (stn_candidate){{way}};
    return count;
}

static bool applies(const stn_task *task, const stn_machine *machine, char *reason, size_t reason_size) {
    cufft_spectral_shape unused;
    if (!machine->is_device || !machine->present) {
        snprintf(reason, reason_size, "cuFFT plans for a GPU that is here only");
        return false;
    }
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++)
            if (task->boundary[axis][side].kind != STN_WRAP && axis >= 3 - task->rank) {
                snprintf(reason, reason_size, "transforms of the unpadded grid need wrap boundaries on every side");
                return false;
            }
    return cufft_spectral_make(task, CUFFT_SPECTRAL_STAGED, &unused, reason, reason_size);
}

/* moving: time of a copy of a grid whose rows need not start at cache lines, relative to an aligned
 * copy. copying, symbol: fractions of the copy bandwidth and of the peak rate that the pass over
 * the spectrum reaches; estimated. transforms: factor on the estimates of strategy cufft, which are
 * off by up to a quarter; it is above 1, so that strategy spectral, whose times were measured, wins
 * near ties. deep: extra time of two slow axes as columns of rows, in times of a copy of the
 * spectrum; measured on an H200: 10.9 ms for 512^3 where 5.0 ms were estimated. */
static const struct {
    double moving, copying, symbol, transforms, deep;
} rates = {.moving = 1.3, .copying = 0.9, .symbol = 0.38, .transforms = 1.1, .deep = 12};

/* Error of cuFFT's transforms relative to the error model of ours; measured at 0.9 to 1.3 in f64
 * and at 0.3 to 2.9 in f32, where 1.05 is the median. */
static const double library[] = {[STN_F64] = 1.3, [STN_F32] = 1.5, [STN_F16] = 1.5};

/* Operations per frequency: of 1 - K, of each binary digit of T, of a term of a complex symbol. */
enum { ANGLE = 20, POWER_BIT = 5, TERM = 8 };

static double multiply_seconds(const stn_task *task, const stn_machine *machine, double spectrum,
                               stn_estimate *estimate) {
    const stn_symbol symbol = cufft_spectral_symbol(task);
    const double frequencies = spectrum / (2 * (double)stn_dtype_size(task->dtype == STN_F64 ? STN_F64 : STN_F32));
    const double each = 2 * (ANGLE + (symbol.plain ? 1 : 2.5) * POWER_BIT * log2((double)task->steps + 1)) +
                        TERM * (symbol.plain ? 0 : symbol.high + symbol.low);
    estimate->bytes += 2 * spectrum;
    estimate->flops += frequencies * each;
    return stn_cost_overlapped(2 * spectrum / (rates.copying * machine->copy_bandwidth),
                               frequencies * each / (rates.symbol * machine->flops[STN_UNIT_FMA_F64]));
}

/* Seconds of the two transforms in place as estimated by the cufft strategy; a c2r of several axes
 * is as fast out of place. */
static double transform_seconds(const stn_task *task, const stn_machine *machine, stn_estimate *estimate) {
    double seconds = 0;
    for (int back = 0; back < 2; back++) {
        stn_transform t = STN_TRANSFORM_INIT;
        stn_estimate each;
        stn_fft fft;
        t.rank = task->rank;
        for (int axis = 0; axis < t.rank; axis++) t.extent[axis] = (size_t)task->n[3 - t.rank + axis];
        t.batch = (size_t)task->batch;
        t.kind = back ? STN_C2R : STN_R2C, t.direction = back ? STN_INVERSE : STN_FORWARD;
        t.dtype = task->dtype == STN_F64 ? STN_F64 : STN_F32;
        t.in_place = 1;
        if (stn_fft_make(&t, &fft, NULL) != STN_OK || !stn_subplan_estimate_fft(&fft, machine, "cufft", &each))
            return INFINITY;
        estimate->bytes += each.bytes, estimate->flops += each.flops, estimate->launches += each.launches;
        seconds += rates.transforms * each.seconds;
    }
    return seconds;
}

static void estimate(const stn_task *task, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *result) {
    cufft_spectral_shape shape;
    char reason[160];
    *result = (stn_estimate){.unit = task->dtype == STN_F64 ? STN_UNIT_FMA_F64 : STN_UNIT_FMA_F32, .launches = 1};
    if (!cufft_spectral_make(task, (cufft_spectral_way)candidate->values[0], &shape, reason, sizeof reason)) {
        result->seconds = INFINITY;
        return;
    }
    const double points = (double)stn_task_points(task), size = (double)stn_dtype_size(task->dtype);
    const double grids = points * (size + (double)stn_dtype_size(shape.inner));
    const int moves = shape.way == CUFFT_SPECTRAL_STAGED ? 2 : shape.way == CUFFT_SPECTRAL_AFTER;
    result->seconds = transform_seconds(task, machine, result) + machine->launch_seconds;
    result->seconds += multiply_seconds(task, machine, (double)cufft_spectral_bytes(task, &shape), result);
    result->seconds += moves * (rates.moving * grids / machine->copy_bandwidth + machine->launch_seconds);
    if (shape.way == CUFFT_SPECTRAL_DIRECT && task->n[0] > 1 && task->n[1] > 1)
        result->seconds += rates.deep * 2 * (double)cufft_spectral_bytes(task, &shape) / machine->copy_bandwidth;
    result->bytes += moves * grids, result->launches += moves;
    const double whole = (double)task->n[0] * (double)task->n[1] * (double)task->n[2];
    result->error = library[task->dtype] * stn_symbol_error(task, whole, cufft_spectral_symbol(task).plain);
}

/* ---- building */

static stn_status make_transform(const stn_plan *plan, const stn_cufft *cufft, const stn_fft *fft,
                                 stn_cufft_plan **made, size_t *own, stn_error *error) {
    size_t bytes;
    stn_error why;
    const stn_status status = stn_cufft_plan_create(cufft, plan->context->device, fft, made, &bytes, &why);
    if (status == STN_ERROR_DRIVER) /* the driver is too old for cuFFT; other strategies may run */
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "%s", why.message);
    if (status != STN_OK) return stn_fail(error, status, "%s", why.message);
    if (bytes > *own) *own = bytes;
    return STN_OK;
}

/* Opening cuFFT and making its plans take tenths of a second each, and are skipped while a plan is
 * only prepared to find out which kernels must be compiled. */
static stn_status make_transforms(const stn_plan *plan, cufft_spectral_state *state, stn_error *error) {
    const cufft_spectral_shape *shape = &state->shape;
    stn_cufft *cufft;
    STN_TRY(stn_context_cufft(plan->context, &cufft, error));
    state->version = stn_cufft_version(cufft);
    STN_TRY(make_transform(plan, cufft, &shape->forward, &state->forward, &state->own, error));
    for (int i = 0; i < shape->backs; i++)
        STN_TRY(make_transform(plan, cufft, &shape->back[i], &state->back[i], &state->own, error));
    return STN_OK;
}

static cufft_spectral_range all_frequencies(const stn_task *task, const cufft_spectral_shape *shape) {
    return (cufft_spectral_range){.inner = shape->inner, .count = {task->n[0], task->n[1], shape->half}};
}

static stn_status make_multiply(stn_plan *plan, cufft_spectral_state *state, stn_error *error) {
    const cufft_spectral_range range = all_frequencies(&plan->task, &state->shape);
    return cufft_spectral_multiply_make(plan->kernels, &plan->task, &range, &state->multiply, error);
}

static stn_status prepare(stn_plan *plan, stn_error *error) {
    cufft_spectral_state *state = plan->state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    cufft_spectral_shape *shape = &state->shape;
    char reason[160];
    if (!cufft_spectral_make(&plan->task, (cufft_spectral_way)plan->candidate.values[0], shape, reason, sizeof reason))
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "cuFFT cannot transform this problem: %s", reason);
    if (stn_kernels_miss(plan->kernels))
        plan->kernels->workspace_unknown = true;
    else
        STN_TRY(make_transforms(plan, state, error));
    const stn_dtype outer = plan->task.dtype;
    if (shape->way == CUFFT_SPECTRAL_STAGED)
        STN_TRY(stn_scaled_copy_make(plan, outer, shape->inner, &state->in, error));
    if (shape->way != CUFFT_SPECTRAL_DIRECT)
        STN_TRY(stn_scaled_copy_make(plan, shape->inner, outer, &state->out, error));
    state->own = (size_t)stn_round_up((int64_t)state->own, 256);
    plan->workspace_size = state->own + cufft_spectral_bytes(&plan->task, shape);
    return make_multiply(plan, state, error);
}

static stn_status set_weights(stn_plan *plan, stn_error *error) { return make_multiply(plan, plan->state, error); }

static void release(stn_plan *plan) {
    cufft_spectral_state *state = plan->state;
    stn_cufft_plan_destroy(state->forward);
    for (int i = 0; i < 2; i++) stn_cufft_plan_destroy(state->back[i]);
    cufft_spectral_multiply_clear(plan->context, &state->multiply);
}

/* ---- running */

static stn_status execute(stn_plan *plan, const stn_execution *run, stn_error *error) {
    const cufft_spectral_state *state = plan->state;
    const cufft_spectral_shape *shape = &state->shape;
    const stn_dtype outer = plan->task.dtype;
    const int64_t batch = plan->task.batch;
    void *own = state->own ? run->workspace : NULL, *spectrum = (char *)run->workspace + state->own;
    const stn_scaled_copy_end in = {&shape->in, (void *)run->in}, out = {&shape->out, run->out};
    const stn_scaled_copy_end ready = {&shape->forward.in, spectrum}, made = {&shape->back[0].out, spectrum};
    if (state->in) STN_TRY(stn_scaled_copy_run(state->in, outer, &in, &ready, batch, 1, run->stream, error));
    STN_TRY(stn_cufft_plan_execute(state->forward, state->in ? spectrum : (void *)run->in, spectrum, own, run->stream,
                                   error));
    const cufft_spectral_range range = all_frequencies(&plan->task, shape);
    STN_TRY(cufft_spectral_multiply_run(&plan->task, &range, &state->multiply, spectrum, run->stream, error));
    for (int i = 0; i < shape->backs; i++) {
        const bool last = shape->way == CUFFT_SPECTRAL_DIRECT && i == shape->backs - 1;
        STN_TRY(stn_cufft_plan_execute(state->back[i], spectrum, last ? run->out : spectrum, own, run->stream, error));
    }
    return state->out ? stn_scaled_copy_run(state->out, shape->inner, &made, &out, batch, 1, run->stream, error)
                      : STN_OK;
}

/* ---- descriptions */

static const char *const ways[] = {"columns and rows back", "back in place and moved", "moved there and back"};

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const cufft_spectral_state *state = plan->state;
    const double growth = log10(state->multiply.largest) * (double)plan->task.steps;
    if (format == STN_JSON) {
        stn_json_integer(text, "cufft_version", state->version);
        stn_json_text(text, "way", ways[state->shape.way]);
        stn_json_value(text, "log10_growth", growth);
        return;
    }
    stn_text_printf(text, "NVIDIA cuFFT %d.%d, %s%s, %s symbol", state->version / 1000, state->version % 1000 / 100,
                    ways[state->shape.way], plan->task.dtype == STN_F16 ? " as f32" : "",
                    state->multiply.symbol.plain ? "real" : "complex");
    if (growth > 0.01) stn_text_printf(text, "; grows by up to 10^%.2g", growth);
}

static void name_candidate(const stn_task *task, const stn_candidate *candidate, stn_text *text) {
    (void)task;
    stn_text_printf(text, "%s", ways[candidate->values[0]]);
}

const stn_strategy stn_strategy_cufft_spectral = {.name = "cufft-spectral",
                                                  .applies = applies,
                                                  .candidates = candidates,
                                                  .estimate = estimate,
                                                  .prepare = prepare,
                                                  .execute = execute,
                                                  .set_weights = set_weights,
                                                  .describe = describe,
                                                  .release = release,
                                                  .name_candidate = name_candidate};
