/* Strategy fft: batched transforms (after tcFFT), as passes over memory (fft_passes.c). A pass
 * is a launch of fft_line (fft_line_kernel.c), which can run any; of fft_warp on tensor cores
 * (fft_warp_kernel.c); of fft_shared for lines that fill shared memory, or fft_cosine for cosine
 * and sine transforms (fft_shared_kernel.c); of fft_image or fft_long in clusters of blocks
 * (fft_cluster_kernels.c); or, for real data in several passes, of fft_real (fft_real_kernel.c).
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "plan/plan.h"
#include "render/render.h"
#include "strategies/fft/fft_candidates.h"
#include "strategies/fft/fft_cluster_kernels.h"
#include "strategies/fft/fft_line_kernel.h"
#include "strategies/fft/fft_passes.h"
#include "strategies/fft/fft_real_kernel.h"
#include "strategies/fft/fft_shared_kernel.h"
#include "strategies/fft/fft_warp_kernel.h"
#include "strategies/table.h"

static const char *const kernel_names[] = {
    [BY_LINE] = "fft_line",    [BY_WARP] = "fft_warp", [BY_REAL] = "fft_real",
    [BY_IMAGE] = "fft_image",  [BY_LONG] = "fft_long", [BY_SHARED_MEMORY] = "fft_shared",
    [BY_COSINE] = "fft_cosine"};

/* ---- the estimate */

static double pass_seconds(const stn_fft *fft, const stn_machine *machine, const fft_state *state, int i) {
    const fft_pass *pass = &state->passes.pass[i];
    if (state->by[i] == BY_LINE) return fft_line_seconds(pass, &state->shape[i], fft->dtype, machine);
    if (state->by[i] == BY_WARP) return fft_warp_seconds(pass, machine);
    if (fft_by_shared_memory(state, i)) return fft_shared_seconds(pass, &state->shared_shape[i], fft->dtype, machine);
    if (fft_by_cluster(state, i)) return fft_cluster_seconds(pass, machine);
    return fft_real_seconds(pass, fft->dtype, machine);
}

static void estimate(const stn_fft *fft, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *result) {
    fft_state state;
    char reason[160];
    *result = (stn_estimate){.unit = fft->dtype == STN_F64 ? STN_UNIT_FMA_F64 : STN_UNIT_FMA_F32, .seconds = INFINITY};
    if (!fft_find_shapes(fft, machine, candidate, &state, reason, sizeof reason)) return;
    result->seconds = 0;
    for (int i = 0; i < state.passes.count; i++) {
        result->bytes += fft_pass_bytes(&state.passes.pass[i], fft->dtype);
        result->seconds += pass_seconds(fft, machine, &state, i);
    }
    result->flops = stn_fft_flops(fft);
    result->launches = state.passes.count;
}

/* ---- building */

static size_t twiddle_bytes(const stn_plan *plan) { return plan->fft.dtype == STN_F64 ? 16 : 8; }

/* The tables of a pass and their sizes in complex numbers. If `to` is NULL, only the sizes. */
static fft_tables tables_of(const stn_plan *plan, const fft_state *state, int i, void *to) {
    const fft_pass *pass = &state->passes.pass[i];
    if (state->by[i] == BY_LINE) return fft_line_tables(pass, &state->shape[i], plan->fft.dtype, to);
    if (state->by[i] == BY_REAL) return (fft_tables){.stages = fft_real_twiddles(pass, plan->fft.dtype, to)};
    if (fft_by_cluster(state, i)) return (fft_tables){0};
    if (fft_by_shared_memory(state, i))
        return (fft_tables){.stages = fft_shared_twiddles(pass, &state->shared_shape[i], plan->fft.dtype, to)};
    if (to) fft_warp_twiddles(pass, to);
    return (fft_tables){.stages = (size_t)pass->length};
}

/* Computes the tables of all passes and copies them to the device. */
static stn_status upload_twiddles(stn_plan *plan, fft_state *state, stn_error *error) {
    size_t count = 0;
    for (int i = 0; i < state->passes.count; i++) {
        fft_tables t = tables_of(plan, state, i, NULL);
        state->tables[i] = t, state->first[i] = count;
        count += t.stages + t.outer + t.real;
    }
    if (!plan->machine.present || !count) return STN_OK;
    size_t size = count * twiddle_bytes(plan);
    unsigned char *twiddles = malloc(size);
    if (!twiddles) return stn_fail_memory(error, "the tables of twiddle factors", size);
    for (int i = 0; i < state->passes.count; i++)
        tables_of(plan, state, i, twiddles + state->first[i] * twiddle_bytes(plan));
    stn_status status = stn_device_replace(plan->context->device, &state->twiddles, 0, twiddles, size, error);
    free(twiddles);
    return status;
}

static stn_status prepare_pass(stn_plan *plan, fft_state *state, int i, stn_error *error) {
    stn_text params = STN_TEXT_EMPTY;
    size_t shared = 0;
    if (state->by[i] == BY_LINE) {
        fft_line_params(&state->passes.pass[i], &state->shape[i], plan->fft.dtype, &params);
        shared = fft_line_shared(&state->passes.pass[i], &state->shape[i], plan->fft.dtype);
    } else if (fft_by_shared_memory(state, i)) {
        fft_shared_params(&state->passes.pass[i], &state->shared_shape[i], plan->fft.dtype, &params);
        shared = fft_shared_bytes(&state->shared_shape[i], plan->fft.dtype);
    } else if (state->by[i] == BY_WARP)
        fft_warp_params(&state->passes.pass[i], &params), shared = fft_warp_shared(&state->passes.pass[i]);
    else if (fft_by_cluster(state, i))
        fft_cluster_params(&state->passes.pass[i], &params), shared = fft_cluster_shared(&state->passes.pass[i]);
    else
        fft_real_params(&state->passes.pass[i], plan->fft.dtype, &params);
    return stn_kernel_make(plan->kernels, kernel_names[state->by[i]], &params, shared, &state->kernel[i], error);
}

static stn_status prepare(stn_plan *plan, stn_error *error) {
    fft_state *state = plan->state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    char reason[160];
    if (!fft_find_shapes(&plan->fft, &plan->machine, &plan->candidate, state, reason, sizeof reason))
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "strategy fft cannot run this transform: %s", reason);
    plan->workspace_size = (size_t)state->passes.work * 2 * stn_dtype_size(plan->fft.dtype);
    for (int i = 0; i < state->passes.count; i++) STN_TRY(prepare_pass(plan, state, i, error));
    return upload_twiddles(plan, state, error);
}

static void release(stn_plan *plan) {
    fft_state *state = plan->state;
    stn_device_free(plan->context->device, state->twiddles);
}

/* ---- running */

static stn_status launch(const stn_plan *plan, int i, const void *from, void *to, void *stream, stn_error *error) {
    const fft_state *state = plan->state;
    const fft_pass *pass = &state->passes.pass[i];
    const unsigned char *tables = (const unsigned char *)state->twiddles + state->first[i] * twiddle_bytes(plan);
    if (state->by[i] == BY_REAL) return fft_real_launch(state->kernel[i], pass, from, to, tables, stream, error);
    if (fft_by_shared_memory(state, i))
        return fft_shared_launch(state->kernel[i], pass, &state->shared_shape[i], plan->fft.dtype, from, to, tables,
                                 stream, error);
    if (state->by[i] == BY_IMAGE) return fft_image_launch(state->kernel[i], pass, from, to, stream, error);
    if (state->by[i] == BY_LONG) return fft_long_launch(state->kernel[i], pass, from, to, stream, error);
    if (state->by[i] == BY_WARP)
        return fft_warp_launch(state->kernel[i], pass, &plan->machine, from, to, tables, stream, error);
    return fft_line_launch(state->kernel[i], pass, &state->shape[i], plan->fft.dtype, from, to, tables,
                           &state->tables[i], stream, error);
}

static stn_status execute(stn_plan *plan, const stn_execution *run, stn_error *error) {
    const void *in = run->in;
    void *out = run->out, *workspace = run->workspace, *stream = run->stream;
    const fft_state *state = plan->state;
    for (int i = 0; i < state->passes.count; i++) {
        const fft_pass *pass = &state->passes.pass[i];
        const void *from = pass->from == FFT_IN ? in : pass->from == FFT_OUT ? out : workspace;
        /* In-place passes work in `out`. */
        void *to = pass->to == FFT_WORK ? workspace : out;
        STN_TRY(launch(plan, i, from, to, stream, error));
    }
    return STN_OK;
}

/* For example "2 passes: 512 points by radix 16 x 32, 16 lines a block; ..." */
static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const fft_state *state = plan->state;
    if (format == STN_JSON) {
        int64_t lengths[FFT_MAX_PASSES];
        for (int i = 0; i < state->passes.count; i++) lengths[i] = state->passes.pass[i].length;
        stn_json_integers(text, "passes", lengths, state->passes.count);
        return;
    }
    stn_text_printf(text, "%d pass%s:", state->passes.count, state->passes.count == 1 ? "" : "es");
    for (int i = 0; i < state->passes.count; i++) {
        const fft_line_shape *shape = &state->shape[i];
        const stn_shared_fft *shared_shape = &state->shared_shape[i];
        if (fft_by_shared_memory(state, i)) {
            stn_text_printf(text, "%s %d points in shared memory by radix", i ? ";" : "", shared_shape->points);
            for (int s = 0; s < shared_shape->stages; s++)
                stn_text_printf(text, "%s%d", s ? " x " : " ", shared_shape->radix[s]);
            stn_text_printf(text, ", %d line%s a block", shared_shape->lines, shared_shape->lines == 1 ? "" : "s");
            if (shared_shape->shares > 1) stn_text_printf(text, " of %d that share them", shared_shape->shares);
            continue;
        }
        if (state->by[i] != BY_LINE) {
            static const char *const words[] = {[BY_WARP] = "points on tensor cores, a warp each",
                                                [BY_REAL] = "pairs of real numbers",
                                                [BY_IMAGE] = "points on tensor cores, a cluster of blocks each",
                                                [BY_LONG] = "points on tensor cores, 16 lines a cluster of blocks"};
            stn_text_printf(text, "%s %" PRId64 " %s", i ? ";" : "", state->passes.pass[i].length, words[state->by[i]]);
            continue;
        }
        stn_text_printf(text, "%s %d points by radix", i ? ";" : "", shape->length);
        for (int s = 0; s < shape->stages; s++) stn_text_printf(text, "%s%d", s ? " x " : " ", shape->radix[s]);
        stn_text_printf(text, ", %d line%s a block", shape->lines, shape->lines == 1 ? "" : "s");
    }
}

static void name_candidate(const stn_task *unused, const stn_candidate *candidate, stn_text *text) {
    static const char *const widths[] = {", shorter accesses", "", ", longer accesses"};
    (void)unused; /* a transform's plan has none */
    stn_text_printf(text, "%s%s%s%s",
                    candidate->values[IN_CLUSTERS]                     ? "in clusters of blocks"
                    : candidate->values[ON_TENSOR_CORES]               ? "lines on tensor cores"
                    : candidate->values[IN_SHARED_MEMORY] == ONLY_ROWS ? "rows in shared memory"
                    : candidate->values[IN_SHARED_MEMORY] == CLUSTER_COLUMNS
                        ? "columns in clusters' shared memory, rows"
                    : candidate->values[IN_SHARED_MEMORY] ? "lines in shared memory"
                                                          : "butterflies",
                    candidate->values[FASTER_OF_BOTH] ? " or butterflies" : "",
                    candidate->values[PADDED] ? ", padded rows" : "", widths[1 + candidate->values[WIDTH]]);
}

const stn_strategy stn_fft_strategy_fft = {
    .name = "fft",
    .fft.applies = fft_applies,
    .fft.candidates = fft_candidates,
    .fft.estimate = estimate,
    .prepare = prepare,
    .execute = execute,
    .describe = describe,
    .release = release,
    .name_candidate = name_candidate,
};
