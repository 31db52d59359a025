/* Strategy cublas of Fourier layers: transforms by cuFFT, products by cuBLAS, and between them
 * as few passes over memory as their layouts allow. It can run every layer; the fused kernels of
 * `fno` are measured against it.
 *
 *     in -> cuFFT -> spectrum -> gather -> retained modes -> cuBLAS -> retained modes -> scatter
 *        -> spectrum -> cuFFT -> out
 *     straight:  in -> cuFFT -> spectrum -> cuBLAS -> spectrum, zero-padded -> cuFFT -> out
 *
 * then the skip connection as one more product, and one pass for bias, activation and conversion of
 * types if needed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "strategies/cublas/cublas_state.h"
#include "strategies/table.h"

/* ---- choosing */

static bool too_large(const stn_layer *layer) {
    const cublas_shape s = cublas_shape_of(layer, &(stn_candidate){{0}});
    const stn_gemm all[] = {cublas_map(&s), cublas_sum(&s), cublas_skip(&s), cublas_skip_sum(&s)};
    bool fit = stn_layer_spectrum(layer) < INT32_MAX && s.pairs < INT32_MAX;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) fit = fit && stn_gemm_fits(&all[i]);
    return !fit;
}

static bool applies(const stn_layer *layer, const stn_machine *machine, char *reason, size_t reason_size) {
    if (machine->is_device && machine->present && !too_large(layer)) return true;
    snprintf(reason, reason_size, "%s",
             machine->is_device && machine->present ? "cuBLAS counts rows and columns in 31 bits"
                                                    : "cuFFT and cuBLAS plan for a GPU that is here only");
    return false;
}

static size_t candidates(const stn_layer *layer, const stn_machine *machine, stn_candidate *list, size_t most) {
    const bool coarse = layer->dtype == STN_F32 && layer->tolerance >= 5e-4;
    size_t count = 0;
    (void)machine;
    for (int tf32 = coarse; tf32 >= 0; tf32--)
        for (int straight = cublas_can_be_straight(layer); straight >= 0; straight--)
            if (count < most) list[count++] = (stn_candidate){{[CUBLAS_IS_STRAIGHT] = straight, [CUBLAS_TF32] = tf32}};
    return count;
}

/* Measured on an H200 with layers of one axis; `moving` is an estimate. */
static const struct {
    /* moving: time of a pass over memory relative to a copy. product: fraction of the peak rate,
     * with FMA and with TF32. */
    double moving, product[2];
} rates = {1.2, {0.95, 0.75}};

static double transform_seconds(const cublas_shape *s, const stn_machine *machine, int64_t channels, bool inverse) {
    stn_fft fft;
    stn_estimate e = {0};
    if (cublas_transform(s, channels, inverse, &fft, NULL) != STN_OK) return 0;
    return stn_subplan_estimate_fft(&fft, machine, "cufft", &e) ? e.seconds : 0;
}

static double product_seconds(const stn_gemm *g, const stn_machine *machine, double *flops) {
    const stn_unit unit = g->dtype == STN_F64 ? STN_UNIT_TENSOR_F64 : g->tf32 ? STN_UNIT_TENSOR_TF32 : STN_UNIT_FMA_F32;
    const double work = (g->complex ? 8.0 : 2.0) * (double)g->m * (double)g->n * (double)g->k * (double)g->batch;
    const double bytes = (double)stn_dtype_size(g->dtype) * (g->complex ? 2 : 1) * (double)g->batch *
                         ((double)g->m * (double)g->n * (g->beta != 0 ? 2 : 1) + (double)g->n * (double)g->k +
                          (g->stride_a && g->stride_b ? (double)g->m * (double)g->k : 0));
    *flops += work;
    return fmax(work / (machine->flops[unit] * rates.product[g->tf32]), rates.moving * bytes / machine->copy_bandwidth);
}

/* Bytes that our own kernels read and write. */
static double own_bytes(const cublas_shape *s) {
    const stn_layer *layer = s->layer;
    const double items = (double)layer->batch, pair = 2 * (double)stn_dtype_size(s->inner);
    const double in = items * (double)s->from * pair, out = items * (double)s->to * pair;
    const double modes = (double)s->modes, spectrum = (double)s->spectrum, grid = (double)(s->points * s->per) / 2;
    double bytes = 0;
    if (s->straight)
        bytes = out * (spectrum - modes);
    else if (layer->pass == STN_PASS_BACKWARD_WEIGHTS)
        bytes = 2 * modes * (in + out);
    else
        bytes = 2 * modes * in + (modes + spectrum) * out;
    if (!layer->shared) bytes += 2 * (double)stn_layer_weights(layer) * pair;
    if (s->finishes) bytes += 2 * grid * out;
    return s->half ? bytes + 2 * grid * (in + out) : bytes;
}

static void estimate(const stn_layer *layer, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *estimate) {
    const cublas_shape s = cublas_shape_of(layer, candidate);
    const bool sums = layer->pass == STN_PASS_BACKWARD_WEIGHTS;
    const stn_gemm main = sums ? cublas_sum(&s) : cublas_map(&s);
    stn_gemm skip = sums ? cublas_skip_sum(&s) : cublas_skip(&s);
    skip.batch = layer->batch;
    *estimate = (stn_estimate){.unit = s.tf32                    ? STN_UNIT_TENSOR_TF32
                                       : layer->dtype == STN_F64 ? STN_UNIT_FMA_F64
                                                                 : STN_UNIT_FMA_F32};
    double seconds = transform_seconds(&s, machine, s.from, false) + transform_seconds(&s, machine, s.to, !sums);
    seconds += product_seconds(&main, machine, &estimate->flops);
    if (layer->has_skip) seconds += product_seconds(&skip, machine, &estimate->flops);
    estimate->bytes = own_bytes(&s) + 2 * (double)layer->batch * (double)(s.from + s.to) * (double)s.points *
                                          (double)s.per * (double)stn_dtype_size(layer->dtype);
    /* Launches besides those of cuFFT's transforms. */
    estimate->launches = (s.straight ? 2 : 4) + !layer->shared + s.finishes + (layer->has_skip ? 1 + sums : 0) +
                         (sums && layer->has_bias) + s.pieces;
    estimate->seconds =
        seconds + rates.moving * own_bytes(&s) / machine->copy_bandwidth + estimate->launches * machine->launch_seconds;
    estimate->error = s.tf32 ? 4e-4 : layer->dtype == STN_F16 ? 3e-4 : layer->dtype == STN_F32 ? 4e-7 : 1e-15;
}

/* ---- building */

static stn_status make_kernels(stn_plan *plan, cublas_state *state, stn_error *error) {
    const cublas_shape *s = &state->shape;
    const stn_layer *layer = s->layer;
    const stn_dtype in = s->inner, out = layer->dtype;
    const bool sums = layer->pass == STN_PASS_BACKWARD_WEIGHTS, back = layer->pass == STN_PASS_BACKWARD_X;
    const struct {
        bool wanted;
        cublas_template of;
        cublas_words words;
    } rows[KERNELS] = {
        [GATHER_IN] = {!s->straight, CUBLAS_GATHER, {.from = in, .to = in, .parts = 2}},
        [GATHER_GRADIENT] = {sums, CUBLAS_GATHER, {.from = in, .to = in, .parts = 2, .doubled = layer->real}},
        /* f16 is converted to f32 on the way */
        [GATHER_WEIGHTS] = {!sums && s->own_weights,
                            CUBLAS_GATHER,
                            {.from = out, .to = in, .parts = 2, .conjugate = back && s->straight}},
        [GATHER_SKIP] = {!sums && layer->has_skip && s->own_skip && !layer->real,
                         CUBLAS_GATHER,
                         {.from = out, .to = in, .parts = 2, .conjugate = back}},
        [SCATTER] = {!sums && !s->straight, CUBLAS_SCATTER, {.from = in, .to = in, .parts = 2, .half = layer->real}},
        [SCATTER_WEIGHTS] = {sums && s->own_weights, CUBLAS_SCATTER, {.from = in, .to = out, .parts = 2}},
        [PAD] = {s->straight, CUBLAS_PAD, {.from = in, .to = in, .parts = 2, .half = layer->real}},
        [FINISH] = {!sums && s->finishes,
                    CUBLAS_FINISH,
                    {.from = in,
                     .to = out,
                     .parts = s->per,
                     .add = s->padded && layer->has_skip,
                     .bias = layer->has_bias && !back,
                     .activation = layer->activation}},
        [WIDEN] = {s->half, CUBLAS_FINISH, {.from = out, .to = in, .parts = 1}},
        [NARROW] = {sums && s->half, CUBLAS_FINISH, {.from = in, .to = out, .parts = 1}},
        [SUMS] = {sums && (layer->has_bias || layer->has_skip || s->pieces),
                  CUBLAS_SUMS,
                  {.from = in, .to = out, .parts = s->per}},
    };
    for (int i = 0; i < KERNELS; i++)
        if (rows[i].wanted) STN_TRY(cublas_kernel(plan, rows[i].of, &rows[i].words, &state->kernel[i], error));
    return STN_OK;
}

/* Reports a missing library, and why it is needed if the fno strategy cannot run this layer
 * either. */
static stn_status tell_missing(const stn_plan *plan, stn_status status, const stn_error *why, stn_error *error) {
    for (size_t i = 0; status == STN_ERROR_UNSUPPORTED && i < plan->ranked; i++)
        if (!plan->ranking[i].applies && !strcmp(plan->ranking[i].strategy->name, "fno"))
            return stn_fail(error, status, "only cuFFT and cuBLAS could run this layer (fno: %s), but there is %s",
                            plan->ranking[i].reason, why->message);
    return stn_fail(error, status, "%s", why->message);
}

static stn_status open_libraries(const stn_plan *plan, cublas_state *state, stn_cufft **cufft, stn_error *error) {
    stn_error why = {0};
    stn_status status = stn_context_cublas(plan->context, &state->cublas, &why);
    if (status == STN_OK) status = stn_context_cufft(plan->context, cufft, &why);
    if (status != STN_OK) return tell_missing(plan, status, &why, error);
    state->cufft_version = stn_cufft_version(*cufft);
    return STN_OK;
}

static stn_status make_transforms(stn_plan *plan, cublas_state *state, const stn_cufft *cufft, size_t *work,
                                  stn_error *error) {
    const cublas_shape *s = &state->shape;
    const bool sums = s->layer->pass == STN_PASS_BACKWARD_WEIGHTS;
    for (int i = 0; i < TRANSFORMS; i++) {
        stn_fft fft;
        size_t own;
        STN_TRY(cublas_transform(s, i == FORWARD ? s->from : s->to, i == BACK && !sums, &fft, error));
        stn_status status =
            stn_cufft_plan_create(cufft, plan->context->device, &fft, &state->transform[i], &own, error);
        /* The driver is too old for the library; our kernels may run. */
        if (status == STN_ERROR_DRIVER) status = STN_ERROR_UNSUPPORTED;
        if (status != STN_OK) return status;
        if (own > *work) *work = own;
    }
    return STN_OK;
}

static stn_status prepare(stn_plan *plan, stn_error *error) {
    cublas_state *state = plan->state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    plan->workspace_size = 0;
    state->shape = cublas_shape_of(&plan->layer, &plan->candidate);
    state->axes = cublas_axes_of(&plan->layer);
    state->whole = cublas_axes_whole(plan->layer.shared ? 1 : stn_layer_modes(&plan->layer));
    size_t size[CUBLAS_PARTS];
    cublas_part_sizes(&state->shape, size);
    stn_cufft *cufft = NULL;
    STN_TRY(open_libraries(plan, state, &cufft, error));
    STN_TRY(make_transforms(plan, state, cufft, &size[CUBLAS_FFT], error));
    STN_TRY(make_kernels(plan, state, error));
    for (int i = 0; i < CUBLAS_PARTS; i++) {
        state->at[i] = plan->workspace_size;
        plan->workspace_size += (size_t)stn_round_up((int64_t)size[i], 256);
    }
    return STN_OK;
}

static void release(stn_plan *plan) {
    cublas_state *state = plan->state;
    for (int i = 0; i < TRANSFORMS; i++) stn_cufft_plan_destroy(state->transform[i]);
}

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const cublas_state *state = plan->state;
    if (!state || !state->cublas) return;
    const cublas_shape *s = &state->shape;
    if (format == STN_JSON) {
        stn_json_integer(text, "cufft_version", state->cufft_version);
        stn_json_integer(text, "cublas_version", stn_cublas_version(state->cublas));
        stn_json_key(text, "straight");
        stn_text_printf(text, "%s", s->straight ? "true" : "false");
        stn_json_key(text, "tf32");
        stn_text_printf(text, "%s", s->tf32 ? "true" : "false");
    } else
        stn_text_printf(text, "transforms by NVIDIA cuFFT, products by cuBLAS%s%s", s->tf32 ? " in TF32" : "",
                        s->straight ? ", from spectrum to spectrum" : "");
}

static void name_candidate(const stn_task *unused, const stn_candidate *candidate, stn_text *text) {
    (void)unused; /* a layer's plan has none */
    stn_text_printf(text, "%s%s", candidate->values[CUBLAS_IS_STRAIGHT] ? "from spectrum to spectrum" : "by kept modes",
                    candidate->values[CUBLAS_TF32] ? ", TF32" : "");
}

const stn_strategy stn_layer_strategy_cublas = {
    .name = "cublas",
    .layer.applies = applies,
    .layer.candidates = candidates,
    .layer.estimate = estimate,
    .prepare = prepare,
    .execute = cublas_execute,
    .describe = describe,
    .release = release,
    .name_candidate = name_candidate,
};
