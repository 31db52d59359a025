/* Fourier layers as a kind of work: the operations that plans need on a stn_layer. */
#include <math.h>

#include "base/arith.h"
#include "base/number.h"
#include "kinds/kinds.h"
#include "plan/plan.h"
#include "strategies/table.h"
#include "tune/tuner.h"

stn_status stn_plan_create_spectral_conv(stn_context *context, const stn_spectral_conv *layer,
                                         const stn_plan_options *options, stn_plan **plan, stn_error *error) {
    return stn_plan_make(context, &stn_kind_layer, layer, options, plan, error);
}

/* ---- the work as a value --------------------------------------------------------------------- */

static stn_status make(stn_plan *plan, const void *given, stn_error *error) {
    return stn_layer_make(given, &plan->layer, error);
}

static stn_status adopt(stn_plan *plan, const void *layer, uint64_t steps, stn_error *error) {
    (void)steps;
    (void)error;
    plan->layer = *(const stn_layer *)layer;
    return STN_OK;
}

static stn_work_shape shape(const stn_plan *plan) {
    const stn_layer *layer = &plan->layer;
    return (stn_work_shape){.dtype = layer->dtype,
                            .alignment = layer->alignment,
                            .steps = 1,
                            .in_numbers = stn_layer_in_numbers(layer),
                            .out_numbers = stn_layer_out_numbers(layer)};
}

/* Input and output are dense. */
static stn_points points(const stn_plan *plan, stn_work_array array, const void *first) {
    const stn_work_shape of = shape(plan);
    return stn_points_contiguous(first, array == STN_WORK_OUT ? of.out_numbers : of.in_numbers, of.dtype);
}

static void operands(const stn_plan *plan, int64_t numbers[STN_OPERANDS]) { stn_layer_operands(&plan->layer, numbers); }

/* ---- choosing -------------------------------------------------------------------------------- */

static bool applies(const stn_plan *plan, const stn_strategy *row, char *reason, size_t size) {
    return row->layer.applies(&plan->layer, &plan->machine, reason, size);
}

STN_KIND_CHOOSING(layer)

/* The error bounds of one step of any work. */
static double error_bound(const stn_plan *plan) {
    static const double bounds[] = {1e-13, 1e-6, 1e-3}; /* by stn_dtype */
    return fmax(bounds[plan->layer.dtype], plan->layer.tolerance);
}

/* ---- description ----------------------------------------------------------------------------- */

static void print(const stn_plan *plan, stn_text *text) { stn_layer_print(&plan->layer, text); }
static void json(const stn_plan *plan, stn_text *text) { stn_layer_json(&plan->layer, text); }

/* ---- measuring ------------------------------------------------------------------------------- */

static void key(const stn_plan *plan, const stn_key_sink *to) {
    const stn_layer *layer = &plan->layer;
    char tolerance[STN_NUMBER_SIZE];
    to->text(to->user, "layer", "spectral");
    to->number(to->user, "rank", layer->rank);
    for (int axis = 0; axis < 3; axis++) {
        to->number(to->user, "extent", layer->n[axis]);
        to->number(to->user, "modes", layer->modes[axis]);
        to->number(to->user, "first", layer->lowest[axis]);
    }
    to->number(to->user, "batch", layer->batch);
    to->number(to->user, "channels in", layer->c_in);
    to->number(to->user, "channels out", layer->c_out);
    to->number(to->user, "real", layer->real);
    to->number(to->user, "shared", layer->shared);
    to->number(to->user, "bias", layer->has_bias);
    to->number(to->user, "skip", layer->has_skip);
    to->number(to->user, "activation", layer->activation);
    to->number(to->user, "pass", layer->pass);
    to->number(to->user, "dtype", layer->dtype);
    to->number(to->user, "alignment", layer->alignment);
    stn_number_format(layer->tolerance, tolerance);
    to->text(to->user, "tolerance", tolerance);
}

/* The reference is cuFFT with cuBLAS, since they are independent of our kernels. If they are
 * missing or do not support the layer, the reference is fno. The last candidate of either strategy
 * fuses no kernels and has the smallest error. */
static stn_status reference_candidate(const stn_plan *plan, int *which, const stn_strategy **chosen,
                                      stn_candidate *candidate, stn_error *error) {
    static const stn_strategy *const references[] = {&stn_layer_strategy_cublas, &stn_layer_strategy_fno, NULL};
    return stn_reference_candidate(plan, references, which, chosen, candidate, error);
}

/* Ten times the error bound of every strategy. */
static double allowed_difference(const stn_plan *plan, uint64_t steps) {
    static const double rounding[] = {1e-12, 1e-5, 1e-2}; /* by stn_dtype */
    (void)steps;
    return rounding[plan->layer.dtype] + 2 * plan->layer.tolerance;
}

const stn_kind stn_kind_layer = {
    .label = "layer:      ",
    .strategy_suffix = " of Fourier layers",
    .strategies = stn_layer_strategies,
    .tuner = &stn_tuner_default,
    .make = make,
    .adopt = adopt,
    .shape = shape,
    .points = points,
    .operands = operands,
    .applies = applies,
    .candidates = candidates,
    .estimate = estimate,
    .error_bound = error_bound,
    .print = print,
    .json = json,
    .key = key,
    .reference_candidate = reference_candidate,
    .allowed_difference = allowed_difference,
};
