/* Transforms as a kind of work: the operations that plans need on a stn_fft. */
#include <stdio.h>

#include "base/arith.h"
#include "kinds/kinds.h"
#include "plan/plan.h"
#include "strategies/table.h"
#include "tune/tuner.h"

stn_status stn_plan_create_fft(stn_context *context, const stn_transform *transform, const stn_plan_options *options,
                               stn_plan **plan, stn_error *error) {
    return stn_plan_make(context, &stn_kind_fft, transform, options, plan, error);
}

/* ---- the work as a value --------------------------------------------------------------------- */

static stn_status make(stn_plan *plan, const void *given, stn_error *error) {
    return stn_fft_make(given, &plan->fft, error);
}

static stn_status adopt(stn_plan *plan, const void *fft, uint64_t steps, stn_error *error) {
    (void)steps;
    (void)error;
    plan->fft = *(const stn_fft *)fft;
    return STN_OK;
}

/* The stride of rows of a half spectrum; 0 if its rows are not equally spaced. */
static int64_t half_row(const stn_fft *fft) {
    const int64_t row = fft->rank > 1 ? fft->in.stride[1] : fft->in.batch_stride;
    const bool even = fft->in.stride[0] % row == 0 && fft->in.batch_stride % row == 0;
    return fft->kind == STN_C2R && fft->in.stride[2] == 1 && even ? 2 * row : 0;
}

static stn_work_shape shape(const stn_plan *plan) {
    const stn_fft *fft = &plan->fft;
    int64_t in = stn_fft_span(fft, &fft->in) * (fft->in.real ? 1 : 2);
    int64_t out = stn_fft_span(fft, &fft->out) * (fft->out.real ? 1 : 2);
    if (fft->in_place) in = out = stn_max(in, out);
    return (stn_work_shape){.dtype = fft->dtype,
                            .in_place = fft->in_place,
                            .alignment = fft->alignment,
                            .steps = 1,
                            .in_numbers = in,
                            .out_numbers = out,
                            .half_row = half_row(fft),
                            .half_last = 2 * (fft->n[2] / 2)};
}

static stn_points points(const stn_plan *plan, stn_work_array array, const void *first) {
    return stn_points_of_side(&plan->fft, array == STN_WORK_OUT ? &plan->fft.out : &plan->fft.in, first);
}

/* ---- choosing -------------------------------------------------------------------------------- */

static bool applies(const stn_plan *plan, const stn_strategy *row, char *reason, size_t size) {
    const bool has_cosines = row == &stn_fft_strategy_fft || row == &stn_fft_strategy_host;
    if (stn_fft_is_real_to_real(&plan->fft) && !has_cosines) {
        snprintf(reason, size, "it has no cosine and sine transforms");
        return false;
    }
    return row->fft.applies(&plan->fft, &plan->machine, reason, size);
}

STN_KIND_CHOOSING(fft)

/* ---- description ----------------------------------------------------------------------------- */

static void print(const stn_plan *plan, stn_text *text) { stn_fft_print(&plan->fft, text); }
static void json(const stn_plan *plan, stn_text *text) { stn_fft_json(&plan->fft, text); }

/* ---- measuring ------------------------------------------------------------------------------- */

static void key_of_side(const stn_fft_side *side, const stn_key_sink *to) {
    to->number(to->user, "real", side->real);
    for (int axis = 0; axis < 3; axis++) to->number(to->user, "stride", side->stride[axis]);
    to->number(to->user, "batch stride", side->batch_stride);
}

static void key(const stn_plan *plan, const stn_key_sink *to) {
    const stn_fft *fft = &plan->fft;
    to->number(to->user, "transform", fft->kind);
    to->number(to->user, "inverse", fft->inverse);
    to->number(to->user, "rank", fft->rank);
    for (int axis = 0; axis < 3; axis++) to->number(to->user, "extent", fft->n[axis]);
    to->number(to->user, "batch", fft->batch);
    key_of_side(&fft->in, to);
    key_of_side(&fft->out, to);
    to->number(to->user, "dtype", fft->dtype);
    to->number(to->user, "f16 sums", fft->f16_sums);
    to->number(to->user, "scaled", fft->scale != 1);
    to->number(to->user, "in place", fft->in_place);
    if (stn_fft_is_real_to_real(fft)) to->number(to->user, "orthogonal", fft->orthogonal);
    to->number(to->user, "alignment", fft->alignment);
}

/* The reference is cuFFT, since it is independent of our kernels. If it is missing or does not
 * support the transform, the reference is the last candidate of fft, which supports all
 * transforms. */
static stn_status reference_candidate(const stn_plan *plan, int *which, const stn_strategy **chosen,
                                      stn_candidate *candidate, stn_error *error) {
    static const stn_strategy *const references[] = {&stn_fft_strategy_cufft, &stn_fft_strategy_fft, NULL};
    return stn_reference_candidate(plan, references, which, chosen, candidate, error);
}

/* Ten times the error bound of every strategy. */
static double allowed_difference(const stn_plan *plan, uint64_t steps) {
    (void)steps;
    return plan->fft.dtype == STN_F64 ? 1e-13 : plan->fft.dtype == STN_F32 ? 1e-5 : 3e-2;
}

const stn_kind stn_kind_fft = {
    .label = "transform:  ",
    .strategy_suffix = " of transforms",
    .strategies = stn_fft_strategies,
    .tuner = &stn_tuner_default,
    .make = make,
    .adopt = adopt,
    .shape = shape,
    .points = points,
    .applies = applies,
    .candidates = candidates,
    .estimate = estimate,
    .print = print,
    .json = json,
    .key = key,
    .reference_candidate = reference_candidate,
    .allowed_difference = allowed_difference,
};
