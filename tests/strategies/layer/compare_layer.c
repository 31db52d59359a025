/* Comparison of Fourier layers by a strategy with their definition; see compare_layer.h. */
#include "compare_layer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"

#define SUM_TERMS 3e6 /* maximum size of a case for the defining sums */

bool layer_is_written(int pointer) {
    return pointer == LAYER_OUT || pointer >= LAYER_FIRST_OPERAND + STN_OPERAND_BIAS_GRADIENT;
}

void layer_sizes(const stn_spectral_conv *layer, size_t numbers[LAYER_POINTERS]) {
    stn_layer l;
    int64_t operands[STN_OPERANDS];
    memset(numbers, 0, LAYER_POINTERS * sizeof *numbers);
    if (stn_layer_make(layer, &l, NULL) != STN_OK) return;
    stn_layer_operands(&l, operands);
    numbers[LAYER_IN] = (size_t)stn_layer_in_numbers(&l);
    numbers[LAYER_OUT] = (size_t)stn_layer_out_numbers(&l);
    for (int i = 0; i < STN_OPERANDS; i++) numbers[LAYER_FIRST_OPERAND + i] = (size_t)operands[i];
}

void layer_name(const stn_spectral_conv *layer, char *what, size_t size) {
    stn_layer l;
    stn_text text = STN_TEXT_EMPTY;
    char *taken;
    *what = '\0';
    if (stn_layer_make(layer, &l, NULL) != STN_OK) return;
    stn_layer_print(&l, &text);
    if (stn_text_take(&text, &taken, NULL) != STN_OK) return;
    snprintf(what, size, "%s", taken);
    stn_text_free(taken);
}

void layer_explain(const layer_comparison *c, char *detail, size_t size) {
    snprintf(detail, size, "relative L2 %.3g, worst point %.3g, bar %.3g, %s; %s %s; %.600s", c->relative_l2, c->point,
             c->bar, c->all_written ? "all written" : "a number unwritten", c->strategy, c->parameters,
             c->error.status ? c->error.message : "no error");
}

/* ---- running */

static stn_status make_plan(suite *s, const stn_spectral_conv *layer, const char *strategy, int pick, stn_plan **plan,
                            layer_comparison *result) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.strategy = strategy;
    options.no_auto_workspace = 1;
    options.estimate_only = pick >= 0;
    stn_status status = stn_plan_create_spectral_conv(s->context, layer, &options, plan, &result->error);
    if (status != STN_OK) return status;
    if (pick >= 0 && ((size_t)pick >= (*plan)->ranked || !(*plan)->ranking[pick].applies))
        return stn_plan_destroy(*plan), *plan = NULL, STN_ERROR_UNSUPPORTED;
    return compare_build(*plan, pick, result->strategy, result->parameters, &result->error);
}

/* Allocates memory of the context with the given numbers, or with poison if they are NULL. */
static stn_status put(suite *s, stn_dtype dtype, const double *numbers, size_t count, size_t bytes, void **memory,
                      stn_error *error) {
    char *copy = malloc(bytes);
    if (!copy) return STN_ERROR_OUT_OF_MEMORY;
    memset(copy, 0xff, bytes);
    for (size_t i = 0; numbers && i < count; i++) set_element(dtype, copy, (int64_t)i, numbers[i]);
    stn_status status = stn_memory_alloc(s->context, bytes, memory, error);
    if (status == STN_OK) status = stn_memory_upload(s->context, *memory, copy, bytes, error);
    free(copy);
    return status;
}

static stn_status get(suite *s, stn_dtype dtype, double *numbers, size_t count, const void *memory, stn_error *error) {
    char *copy = malloc(count * stn_dtype_size(dtype));
    if (!copy) return STN_ERROR_OUT_OF_MEMORY;
    stn_status status = stn_memory_download(s->context, copy, memory, count * stn_dtype_size(dtype), error);
    for (size_t i = 0; status == STN_OK && i < count; i++) numbers[i] = element(dtype, copy, (int64_t)i);
    free(copy);
    return status;
}

static stn_status run_plan(suite *s, stn_plan *plan, stn_dtype dtype, const size_t size[LAYER_POINTERS],
                           double *numbers[LAYER_POINTERS], stn_error *error) {
    void *at[LAYER_POINTERS] = {0}, *workspace = NULL;
    stn_status status = STN_OK;
    for (int i = 0; i < LAYER_POINTERS && status == STN_OK; i++)
        if (size[i])
            status = put(s, dtype, layer_is_written(i) ? NULL : numbers[i], size[i], size[i] * stn_dtype_size(dtype),
                         &at[i], error);
    const size_t work = stn_plan_workspace_size(plan);
    if (status == STN_OK && work) status = put(s, dtype, NULL, 0, work, &workspace, error);
    stn_execution run = STN_EXECUTION_INIT;
    void *const *o = at + LAYER_FIRST_OPERAND;
    run.in = at[LAYER_IN], run.out = at[LAYER_OUT], run.workspace = workspace;
    run.weights = o[STN_OPERAND_WEIGHTS], run.bias = o[STN_OPERAND_BIAS], run.skip = o[STN_OPERAND_SKIP];
    run.gradient = o[STN_OPERAND_GRADIENT];
    run.bias_gradient = o[STN_OPERAND_BIAS_GRADIENT], run.skip_gradient = o[STN_OPERAND_SKIP_GRADIENT];
    /* twice: the workspace is then not clean */
    for (int again = 0; again < 2 && status == STN_OK; again++) status = stn_plan_run(plan, &run, error);
    if (status == STN_OK) status = stn_synchronize(s->context, NULL, error);
    for (int i = 0; i < LAYER_POINTERS && status == STN_OK; i++)
        if (size[i] && layer_is_written(i)) status = get(s, dtype, numbers[i], size[i], at[i], error);
    for (int i = 0; i < LAYER_POINTERS; i++) stn_memory_free(s->context, at[i]);
    stn_memory_free(s->context, workspace);
    return status;
}

bool layer_run(suite *s, const stn_spectral_conv *layer, const char *strategy, int pick,
               double *numbers[LAYER_POINTERS], layer_comparison *result) {
    stn_plan *plan = NULL;
    size_t size[LAYER_POINTERS];
    layer_sizes(layer, size);
    stn_status status = make_plan(s, layer, strategy, pick, &plan, result);
    result->served = status != STN_ERROR_UNSUPPORTED;
    if (status == STN_OK) status = run_plan(s, plan, layer->dtype, size, numbers, &result->error);
    stn_plan_destroy(plan);
    return status == STN_OK;
}

/* ---- comparing */

/* The layer in f64 with its defaults filled in, as the reference needs it. */
static stn_spectral_conv in_full(const stn_spectral_conv *layer) {
    stn_spectral_conv full = *layer;
    for (int axis = 0; axis < full.rank; axis++)
        if (!full.modes[axis])
            full.modes[axis] =
                !full.complex_data && axis == full.rank - 1 ? full.extent[axis] / 2 + 1 : full.extent[axis];
    if (!full.batch) full.batch = 1;
    full.dtype = STN_F64;
    return full;
}

static double terms_of(const stn_spectral_conv *full) {
    double terms = (double)full->batch * 2 * (double)(full->in_channels + full->out_channels);
    for (int axis = 0; axis < full->rank; axis++) terms *= (double)full->extent[axis] * (double)full->modes[axis];
    return terms;
}

static bool answer(const stn_spectral_conv *layer, double *numbers[LAYER_POINTERS], stn_error *error) {
    const stn_spectral_conv full = in_full(layer);
    double *const *o = numbers + LAYER_FIRST_OPERAND;
    if (terms_of(&full) <= SUM_TERMS) {
        layer_reference(&full, &(layer_numbers){numbers[LAYER_IN], o[STN_OPERAND_WEIGHTS], o[STN_OPERAND_BIAS],
                                                o[STN_OPERAND_SKIP], o[STN_OPERAND_GRADIENT], numbers[LAYER_OUT],
                                                o[STN_OPERAND_BIAS_GRADIENT], o[STN_OPERAND_SKIP_GRADIENT]});
        return true;
    }
    suite host = {0};
    layer_comparison unused = {0};
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    options.device = STN_DEVICE_HOST, options.threads = 2;
    bool good = stn_context_create(&options, &host.context, error) == STN_OK &&
                layer_run(&host, &full, "host", -1, numbers, &unused);
    if (unused.error.status) *error = unused.error;
    stn_context_destroy(host.context);
    return good;
}

/* Compares one array with its reference; the worst of all arrays counts. */
static void measure(const double *got, const double *want, size_t count, layer_comparison *result) {
    double error = 0, size = 0, point = 0, largest = 0;
    for (size_t i = 0; i < count; i++) {
        if (isnan(got[i])) result->all_written = false;
        error += (got[i] - want[i]) * (got[i] - want[i]), size += want[i] * want[i];
        point = fmax(point, fabs(got[i] - want[i])), largest = fmax(largest, fabs(want[i]));
    }
    result->relative_l2 = fmax(result->relative_l2, size > 0 ? sqrt(error / size) : sqrt(error));
    result->point = fmax(result->point, largest > 0 ? point / largest : point);
}

bool layer_compare(suite *s, const stn_spectral_conv *layer, const char *strategy, int pick, uint64_t seed,
                   layer_comparison *result) {
    static const double bars[] = {2e-14, 1e-6, 1e-3}; /* by stn_dtype */
    double *got[LAYER_POINTERS] = {0}, *want[LAYER_POINTERS] = {0};
    size_t size[LAYER_POINTERS];
    dice d = {seed};
    *result = (layer_comparison){.all_written = true, .bar = fmax(bars[layer->dtype], layer->tolerance)};
    layer_sizes(layer, size);
    for (int i = 0; i < LAYER_POINTERS; i++) {
        if (!size[i]) continue;
        got[i] = calloc(size[i], sizeof(double)), want[i] = calloc(size[i], sizeof(double));
        for (size_t k = 0; k < size[i] && !layer_is_written(i); k++) {
            double rounded;
            set_element(layer->dtype, &rounded, 0, dice_real(&d));
            got[i][k] = want[i][k] = element(layer->dtype, &rounded, 0);
        }
    }
    bool good = layer_run(s, layer, strategy, pick, got, result) && answer(layer, want, &result->error);
    for (int i = 0; i < LAYER_POINTERS; i++) {
        if (good && size[i] && layer_is_written(i)) measure(got[i], want[i], size[i], result);
        free(got[i]);
        free(want[i]);
    }
    return good && result->all_written && result->relative_l2 <= result->bar &&
           result->point <= COMPARE_POINT * result->bar;
}
