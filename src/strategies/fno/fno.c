/* Strategy fno of Fourier layers (after TurboFNO, 2025): pruned FFTs, which compute only
 * retained frequencies, and complex products on tensor cores, fused in one kernel if all modes
 * share one matrix, or in several kernels if that is cheaper. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "plan/plan.h"
#include "strategies/fno/fno_candidates.h"
#include "strategies/table.h"

static double stage_cost(const fno_stage *stage, const stage_state *at, fno_numbers numbers, const stn_machine *machine,
                         stn_estimate *sum) {
    if (stage->kind == FNO_MODE_PRODUCT)
        return fno_mode_product_cost(&stage->mode_product, numbers, &at->mode_product_shape, machine, sum);
    if (stage->kind == FNO_SUM) return fno_sum_cost(&stage->sum, numbers, machine, sum);
    return fno_stage_pass_cost(&stage->pass, at, numbers, machine, sum);
}

static void estimate(const stn_layer *layer, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *result) {
    fno_state state;
    char reason[160];
    *result = (stn_estimate){.unit = STN_UNIT_FMA_F32, .seconds = INFINITY};
    if (!fno_find(layer, candidate, machine, &state, reason, sizeof reason)) return;
    result->seconds = 0;
    for (int i = 0; i < state.route.count; i++)
        result->seconds += stage_cost(&state.route.stage[i], &state.stage[i], state.numbers, machine, result);
}

/* ---- building */

/* Fills the twiddles or the table of a stage and returns its bytes; if `to` is NULL, only the
 * bytes. */
static size_t make_twiddles(const fno_state *state, int i, void *to) {
    const stage_state *at = &state->stage[i];
    const fno_stage *stage = &state->route.stage[i];
    if (stage->kind != FNO_PASS) return 0;
    const size_t size = at->by == BY_DENSE_PRODUCT ? fno_dense_table(&stage->pass, state->numbers, &at->dense_shape, to)
                        : at->by == BY_DIRECT_SUMS
                            ? fno_few_twiddles(&stage->pass, state->numbers, &at->few_shape, to)
                            : stn_shared_fft_twiddles(&at->shape.line, fno_wide(state->numbers), to);
    return (size_t)stn_round_up((int64_t)size, 16);
}

/* Computes the twiddles of all passes and copies them to the device. */
static stn_status upload_twiddles(stn_plan *plan, fno_state *state, stn_error *error) {
    size_t size = 0;
    for (int i = 0; i < state->route.count; i++) {
        state->stage[i].twiddles = size;
        size += make_twiddles(state, i, NULL);
    }
    if (!plan->machine.present || !size) return STN_OK;
    unsigned char *twiddles = calloc(1, size);
    if (!twiddles) return stn_fail_memory(error, "the tables of twiddles", size);
    for (int i = 0; i < state->route.count; i++) make_twiddles(state, i, twiddles + state->stage[i].twiddles);
    stn_status status = stn_device_replace(plan->context->device, &state->twiddles, 0, twiddles, size, error);
    free(twiddles);
    return status;
}

static stn_status prepare_stage(stn_kernel_set *kernels, const fno_stage *stage, stage_state *at, fno_numbers numbers,
                                stn_error *error) {
    if (stage->kind == FNO_SUM) return fno_sum_prepare(kernels, &stage->sum, numbers, &at->kernel, error);
    if (stage->kind == FNO_MODE_PRODUCT)
        return fno_mode_product_prepare(kernels, &stage->mode_product, numbers, &at->mode_product_shape, &at->kernel,
                                        error);
    if (at->by == BY_DENSE_PRODUCT)
        return fno_dense_prepare(kernels, &stage->pass, numbers, &at->dense_shape, &at->kernel, error);
    if (at->by == BY_DIRECT_SUMS)
        return fno_few_prepare(kernels, &stage->pass, numbers, &at->few_shape, &at->kernel, error);
    return fno_pass_prepare(kernels, &stage->pass, numbers, &at->shape, &at->kernel, error);
}

static stn_status prepare(stn_plan *plan, stn_error *error) {
    fno_state *state = plan->state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    char reason[160];
    if (!fno_find(&plan->layer, &plan->candidate, &plan->machine, state, reason, sizeof reason))
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "strategy fno cannot run this layer: %s", reason);
    for (int place = FNO_A; place < FNO_PLACES; place++) {
        state->place[place] = plan->workspace_size;
        plan->workspace_size +=
            (size_t)stn_round_up(state->route.sizes[place] * (int64_t)fno_complex_bytes(state->numbers), 256);
    }
    for (int i = 0; i < state->route.count; i++)
        STN_TRY(prepare_stage(plan->kernels, &state->route.stage[i], &state->stage[i], state->numbers, error));
    return upload_twiddles(plan, state, error);
}

static void release(stn_plan *plan) {
    fno_state *state = plan->state;
    stn_device_free(plan->context->device, state->twiddles);
}

/* ---- running */

static const void *read_at(const fno_state *state, const stn_execution *run, fno_place place) {
    if (place == FNO_X) return run->in;
    if (place == FNO_GRADIENT) return run->gradient;
    if (place == FNO_WEIGHTS) return run->weights;
    if (place == FNO_SKIP) return run->skip;
    return (const char *)run->workspace + state->place[place];
}
static void *write_at(const fno_state *state, const stn_execution *run, fno_place place) {
    if (place == FNO_Y) return run->out;
    if (place == FNO_BIAS_GRADIENT) return run->bias_gradient;
    if (place == FNO_SKIP_GRADIENT) return run->skip_gradient;
    return (char *)run->workspace + state->place[place];
}

static stn_status launch(const stn_plan *plan, int i, const stn_execution *run, stn_error *error) {
    const fno_state *state = plan->state;
    const fno_stage *stage = &state->route.stage[i];
    const stage_state *at = &state->stage[i];
    const void *from = read_at(state, run, stage->from);
    void *to = write_at(state, run, stage->to), *stream = run->stream;
    if (stage->kind == FNO_SUM) return fno_sum_launch(at->kernel, &stage->sum, state->numbers, from, to, stream, error);
    if (stage->kind == FNO_MODE_PRODUCT)
        return fno_mode_product_launch(at->kernel, &stage->mode_product, state->numbers, &at->mode_product_shape, from,
                                       read_at(state, run, stage->right), to, stream, error);
    const fno_pointers pointers = {.in = from,
                                   .out = to,
                                   .weights = run->weights,
                                   .bias = run->bias,
                                   .twiddles = (const char *)state->twiddles + at->twiddles};
    if (at->by == BY_DENSE_PRODUCT)
        return fno_dense_launch(at->kernel, &stage->pass, state->numbers, &at->dense_shape, &pointers, stream, error);
    if (at->by == BY_DIRECT_SUMS)
        return fno_few_launch(at->kernel, &stage->pass, state->numbers, &at->few_shape, &pointers, stream, error);
    return fno_pass_launch(at->kernel, &stage->pass, state->numbers, &at->shape, &plan->machine, &pointers, stream,
                           error);
}

static stn_status execute(stn_plan *plan, const stn_execution *run, stn_error *error) {
    const fno_state *state = plan->state;
    for (int i = 0; i < state->route.count; i++) STN_TRY(launch(plan, i, run, error));
    return STN_OK;
}

/* ---- descriptions */

static const char *const fusions[FNO_FUSIONS] = {"nothing fused", "transform and product fused",
                                                 "product and inverse fused", "all fused"};

static void describe_stage(const fno_state *state, int i, stn_text *text) {
    const fno_stage *stage = &state->route.stage[i];
    stn_text_printf(text, "; ");
    if (stage->kind == FNO_SUM) {
        stn_text_printf(text, "a sum");
        return;
    }
    if (stage->kind == FNO_MODE_PRODUCT) {
        const fno_mode_product_shape *shape = &state->stage[i].mode_product_shape;
        stn_text_printf(text, "products of %d matri%s a block", shape->together, shape->together == 1 ? "x" : "ces");
        return;
    }
    if (state->stage[i].by != BY_FFT) {
        stn_text_printf(
            text, "%lld points %s", (long long)stage->pass.n,
            state->stage[i].by == BY_DENSE_PRODUCT ? "as a product" : "to or from each frequency by itself");
        return;
    }
    const fno_line_shape *shape = &state->stage[i].shape;
    stn_text_printf(text, "%d points by FFT, radix", shape->line.points);
    for (int s = 0; s < shape->line.stages; s++) stn_text_printf(text, "%s%d", s ? " x " : " ", shape->line.radix[s]);
    stn_text_printf(text, ", %d lines at once%s", shape->line.lines * shape->groups,
                    shape->mixers ? ", next to the product" : "");
}

static const char *product_name(fno_numbers numbers) {
    return fno_wide(numbers) ? "f64" : numbers.bf16 ? "bf16" : numbers.parts == 2 ? "three of TF32" : "TF32";
}

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const fno_state *state = plan->state;
    const int fusion = plan->candidate.values[FUSION];
    if (format == STN_JSON) {
        stn_json_integer(text, "fusion", fusion);
        stn_json_integer(text, "dense_passes", fno_passes_by(state, BY_DENSE_PRODUCT));
        stn_json_integer(text, "few_passes", fno_passes_by(state, BY_DIRECT_SUMS));
        stn_json_integer(text, "launches", state->route.count);
        stn_json_text(text, "products", product_name(state->numbers));
        return;
    }
    stn_text_printf(text, "%s, products in %s", fusions[fusion], product_name(state->numbers));
    for (int i = 0; i < state->route.count; i++) describe_stage(state, i, text);
}

static void name_candidate(const stn_task *unused, const stn_candidate *candidate, stn_text *text) {
    (void)unused; /* a layer's plan has none */
    stn_text_printf(text, "%s%s", fusions[candidate->values[FUSION]],
                    candidate->values[WAY] == DENSE          ? ", transforms as products"
                    : candidate->values[WAY] == SPLIT        ? ", transforms next to products"
                    : candidate->values[WAY] == SPLIT_IN_TWO ? ", transforms next to products in two blocks"
                    : candidate->values[WAY] == FEW_MODES    ? ", each frequency by itself"
                                                             : "");
}

const stn_strategy stn_layer_strategy_fno = {
    .name = "fno",
    .layer.applies = fno_applies,
    .layer.candidates = fno_candidates,
    .layer.estimate = estimate,
    .prepare = prepare,
    .execute = execute,
    .describe = describe,
    .release = release,
    .name_candidate = name_candidate,
};
