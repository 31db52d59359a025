/* See compare.h. */
#include "compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/half.h"
#include "host/stencil_run.h"
#include "plan/error_bound.h"
#include "plan/plan.h"
#include "problem/task.h"

uint64_t dice_seed(void) {
    const char *given = getenv("STENTOR_TEST_SEED");
    const uint64_t seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    printf("# STENTOR_TEST_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}
uint64_t dice_next(dice *d) { /* splitmix64 */
    uint64_t z = d->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}
int dice_int(dice *d, int low, int high) { return low + (int)(dice_next(d) % (uint64_t)(high - low + 1)); }
double dice_real(dice *d) { return (double)(int64_t)dice_next(d) * 0x1p-63; }
double dice_positive(dice *d) { return (double)(dice_next(d) >> 11) * 0x1p-53; }

stn_stencil *random_stencil(dice *d, int rank, taps_kind kind, int radius) {
    int side = 2 * radius + 1, most = rank == 1 ? side : rank == 2 ? side * side : side * side * side;
    stn_tap *taps = calloc((size_t)most, sizeof *taps);
    size_t count = 0;
    double sum = 0;
    for (int i = 0; i < most; i++) {
        int rest = i, off_axis = 0;
        stn_tap tap = {{0, 0, 0}, 0.1 + fabs(dice_real(d))};
        for (int axis = rank - 1; axis >= 0; axis--) {
            tap.offset[axis] = rest % side - radius;
            off_axis += tap.offset[axis] != 0;
            rest /= side;
        }
        bool kept = kind == TAPS_BOX || (kind == TAPS_STAR && off_axis <= 1) ||
                    (kind == TAPS_RANDOM && (dice_int(d, 0, 2) == 0 || i == most - 1));
        if (!kept) continue;
        sum += tap.weight;
        if (dice_int(d, 0, 3) == 0) tap.weight = -tap.weight;
        taps[count++] = tap;
    }
    for (size_t k = 0; k < count; k++) taps[k].weight /= sum;
    stn_stencil *stencil = NULL;
    stn_stencil_create(rank, count, taps, &stencil, NULL);
    free(taps);
    return stencil;
}

stn_stencil *stencil_of_factors(int rank, const int low[3], const int size[3], double factor[3][MAX_FACTORS]) {
    int most = 1;
    for (int axis = 0; axis < rank; axis++) most *= size[axis];
    stn_tap *taps = calloc((size_t)most, sizeof *taps);
    for (int i = 0; i < most; i++) {
        int rest = i;
        taps[i].weight = 1;
        for (int axis = rank - 1; axis >= 0; axis--) {
            taps[i].offset[axis] = rest % size[axis] - low[axis];
            taps[i].weight *= factor[axis][rest % size[axis]];
            rest /= size[axis];
        }
    }
    stn_stencil *stencil = NULL;
    stn_stencil_create(rank, (size_t)most, taps, &stencil, NULL);
    free(taps);
    return stencil;
}

stn_stencil *product_stencil(dice *d, int rank, int radius) {
    int low[3], size[3];
    double factor[3][MAX_FACTORS];
    for (int axis = 0; axis < rank; axis++) {
        low[axis] = dice_int(d, 0, radius);
        size[axis] = low[axis] + dice_int(d, low[axis] ? 0 : 1, radius) + 1;
        double sum = 0;
        for (int i = 0; i < size[axis]; i++) sum += fabs(factor[axis][i] = 0.1 + dice_real(d));
        for (int i = 0; i < size[axis]; i++) factor[axis][i] /= sum;
    }
    return stencil_of_factors(rank, low, size, factor);
}

double element(stn_dtype dtype, const void *data, int64_t i) {
    if (dtype == STN_F64) return ((const double *)data)[i];
    if (dtype == STN_F32) return ((const float *)data)[i];
    return stn_half_to_float(((const uint16_t *)data)[i]);
}

void set_element(stn_dtype dtype, void *data, int64_t i, double value) {
    if (dtype == STN_F64)
        ((double *)data)[i] = value;
    else if (dtype == STN_F32)
        ((float *)data)[i] = (float)value;
    else
        ((uint16_t *)data)[i] = stn_float_to_half((float)value);
}

void compare_fill(const stn_task *task, double (*draw)(dice *), dice *d, void *in) {
    int64_t span = stn_task_span(task, false);
    for (int64_t i = 0; i < span; i++) set_element(task->dtype, in, i, NAN);
    for (int64_t b = 0; b < task->batch; b++)
        for (int64_t z = 0; z < task->n[0]; z++)
            for (int64_t y = 0; y < task->n[1]; y++)
                for (int64_t x = 0; x < task->n[2]; x++)
                    set_element(task->dtype, in,
                                b * task->in_batch_stride + z * task->in_stride[0] + y * task->in_stride[1] +
                                    x * task->in_stride[2],
                                draw(d));
}

void compare_measure(const stn_task *task, const void *got, stn_dtype expected_dtype, const void *expected,
                     comparison *result) {
    int64_t span = stn_task_span(task, true);
    unsigned char *is_point = calloc(1, (size_t)span);
    /* After many steps squares of results may be out of double's range. */
    long double error = 0, size = 0, rounding = 0;
    double largest = 0;
    result->point = 0;
    result->all_written = true;
    for (int64_t b = 0; b < task->batch; b++)
        for (int64_t z = 0; z < task->n[0]; z++)
            for (int64_t y = 0; y < task->n[1]; y++)
                for (int64_t x = 0; x < task->n[2]; x++) {
                    int64_t i = b * task->out_batch_stride + z * task->out_stride[0] + y * task->out_stride[1] +
                                x * task->out_stride[2];
                    double g = element(task->dtype, got, i), e = element(expected_dtype, expected, i);
                    is_point[i] = 1;
                    if (isnan(g)) result->all_written = false;
                    unsigned char stored[8];
                    set_element(task->dtype, stored, 0, e);
                    long double lost = element(task->dtype, stored, 0) - e, off = g - e;
                    /* Host steps in f16 store such subnormal numbers exactly, but earlier steps
                     * have lost as much. */
                    if (task->dtype == STN_F16 && fabs(e) < 0x1p-14) lost = fmax(fabs((double)lost), 0x1p-24);
                    rounding += lost * lost;
                    error += off * off;
                    size += (long double)e * e;
                    result->point = fmax(result->point, fabs(g - e));
                    largest = fmax(largest, fabs(e));
                }
    for (int64_t i = 0; i < span; i++)
        if (!is_point[i] && !isnan(element(task->dtype, got, i))) result->all_written = false;
    if (largest > 0) result->point /= largest;
    result->relative_l2 = (double)(size > 0 ? sqrtl(error / size) : sqrtl(error));
    result->rounding = size > 0 ? (double)sqrtl(rounding / size) : 0;
    free(is_point);
}

bool compare_good(const comparison *c) {
    return c->all_written && c->relative_l2 <= c->bar && c->point <= COMPARE_POINT * c->bar;
}

/* Fused strategies may use the task's tolerance; their bound is the one that plans apply to
 * predicted errors. */
double compare_bar(const stn_task *task, bool fused) {
    double steps = (double)task->steps, tolerance = fused ? task->tolerance : 0;
    stn_task exact = *task;
    exact.tolerance = 0;
    if (fused) return fmax(stn_error_bound(&exact), tolerance);
    if (task->dtype == STN_F64) return 1e-13 * (1 + log2(steps));
    return (task->dtype == STN_F32 ? 1e-6 : 1e-3) * sqrt(steps);
}

/* Converts elements from one type to another. */
static void *converted(stn_dtype from, const void *data, stn_dtype to, int64_t count) {
    void *made = malloc((size_t)count * stn_dtype_size(to));
    for (int64_t i = 0; made && i < count; i++) set_element(to, made, i, element(from, data, i));
    return made;
}

void *compare_answer(const stn_task *task, stn_pool *pool, bool fused, const void *in, stn_dtype *dtype) {
    return compare_answer_source(task, pool, fused, in, NULL, dtype);
}

void *compare_answer_source(const stn_task *task, stn_pool *pool, bool fused, const void *in, const void *given,
                            stn_dtype *dtype) {
    stn_task exact = *task;
    int64_t in_span = stn_task_span(task, false), out_span = stn_task_span(task, true);
    size_t size = stn_dtype_size(fused ? STN_F64 : task->dtype);
    if (fused) exact.dtype = STN_F64;
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++) {
            unsigned char constant[8];
            set_element(task->dtype, constant, 0, task->boundary[axis][side].value);
            if (fused) exact.boundary[axis][side].value = element(task->dtype, constant, 0);
        }
    void *first = converted(task->dtype, in, exact.dtype, in_span), *expected = calloc((size_t)out_span, size);
    void *source = given ? converted(task->dtype, given, exact.dtype, in_span) : NULL;
    void *workspace = malloc(stn_host_workspace(&exact) + 1);
    if (first && expected && workspace && (source || !given)) {
        if (task->in_place) memcpy(expected, first, (size_t)out_span * size);
        stn_host_run_source(&exact, NULL, pool, task->in_place ? expected : first, source, expected, workspace);
    }
    free(first), free(source), free(workspace);
    *dtype = exact.dtype;
    return expected;
}

stn_status compare_build(stn_plan *plan, int pick, char strategy[32], char parameters[256], stn_error *error) {
    if (pick >= 0) {
        plan->strategy = plan->ranking[pick].strategy;
        plan->candidate = plan->ranking[pick].candidate;
        plan->estimate = plan->ranking[pick].estimate;
        plan->estimate_only = false;
        STN_TRY(plan->strategy->prepare(plan, error));
        STN_TRY(stn_snapshots_prepare(plan, error));
        STN_TRY(stn_plan_allocate(plan, error));
    }
    stn_text text = STN_TEXT_EMPTY;
    char *taken;
    plan->strategy->describe(plan, STN_TEXT, &text);
    if (stn_text_take(&text, &taken, NULL) == STN_OK) {
        snprintf(parameters, 256, "%s", taken);
        stn_text_free(taken);
    }
    snprintf(strategy, 32, "%s", stn_plan_strategy(plan));
    return STN_OK;
}

stn_status compare_plan(stn_context *context, const stn_problem *problem, const char *strategy, int pick,
                        stn_plan **plan, comparison *result) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.strategy = strategy;
    options.estimate_only = pick >= 0;
    STN_TRY(stn_plan_create(context, problem, &options, plan, &result->error));
    if (pick >= COMPARE_MEASURED) {
        pick -= COMPARE_MEASURED;
        stn_plan_rank(*plan, strategy, STN_PLAN_RANKING);
    }
    if (pick >= 0 && ((size_t)pick >= (*plan)->ranked || !(*plan)->ranking[pick].applies))
        return stn_fail(&result->error, STN_ERROR_INVALID_ARGUMENT, "there is no candidate %d", pick);
    STN_TRY(compare_build(*plan, pick, result->strategy, result->parameters, &result->error));
    result->predicted = (*plan)->estimate.error;
    return STN_OK;
}

stn_status compare_execute(stn_context *context, stn_plan *plan, const void *in, size_t in_bytes, const void *source,
                           void *out, size_t out_bytes, stn_error *error) {
    const void *const host[3] = {out, in, source};
    const size_t bytes[3] = {out_bytes, in_bytes, in_bytes};
    void *at[3] = {NULL, NULL, NULL}, *after = malloc(in_bytes + 1);
    stn_status status = after ? STN_OK : stn_fail_memory(error, "an input", in_bytes);
    for (int i = 0; i < 3 && status == STN_OK; i++) {
        if (!host[i]) continue;
        status = stn_memory_alloc(context, bytes[i], &at[i], error);
        if (status == STN_OK) status = stn_memory_upload(context, at[i], host[i], bytes[i], error);
    }
    stn_execution run = STN_EXECUTION_INIT;
    run.in = in ? at[1] : at[0], run.out = at[0], run.source = at[2];
    if (status == STN_OK) status = stn_plan_run(plan, &run, error);
    if (status == STN_OK) status = stn_synchronize(context, NULL, error);
    if (status == STN_OK) status = stn_memory_download(context, out, at[0], out_bytes, error);
    for (int i = 1; i < 3 && status == STN_OK; i++) {
        if (!host[i]) continue;
        status = stn_memory_download(context, after, at[i], in_bytes, error);
        if (status == STN_OK && memcmp(after, host[i], in_bytes) != 0)
            status = stn_fail(error, STN_ERROR_INTERNAL, "the %s has changed", i == 1 ? "input" : "source");
    }
    for (int i = 0; i < 3; i++) stn_memory_free(context, at[i]);
    free(after);
    return status;
}

stn_status compare_run(stn_context *context, const stn_problem *problem, const char *strategy, int pick, const void *in,
                       size_t in_bytes, void *out, size_t out_bytes, comparison *result) {
    stn_plan *plan = NULL;
    stn_status status = compare_plan(context, problem, strategy, pick, &plan, result);
    if (problem->in_place) memcpy(out, in, out_bytes);
    if (status == STN_OK)
        status = compare_execute(context, plan, problem->in_place ? NULL : in, in_bytes, NULL, out, out_bytes,
                                 &result->error);
    stn_plan_destroy(plan);
    return status;
}

bool compare_drawn_with_host(stn_context *context, stn_pool *pool, const stn_problem *problem, const char *strategy,
                             int pick, bool fused, double (*draw)(dice *), uint64_t seed, comparison *result) {
    memset(result, 0, sizeof *result);
    stn_task task;
    if (stn_task_make(problem, &task, &result->error) != STN_OK) return false;
    dice d = {seed};
    size_t size = stn_dtype_size(task.dtype);
    size_t in_bytes = (size_t)stn_task_span(&task, false) * size, out_bytes = (size_t)stn_task_span(&task, true) * size;
    void *in = malloc(in_bytes), *got = malloc(out_bytes);
    compare_fill(&task, draw, &d, in);
    for (size_t i = 0; i < out_bytes / size; i++) set_element(task.dtype, got, (int64_t)i, NAN);
    stn_dtype expected_dtype;
    void *expected = compare_answer(&task, pool, fused, in, &expected_dtype);
    stn_status status = compare_run(context, problem, strategy, pick, in, in_bytes, got, out_bytes, result);
    if (status == STN_OK) compare_measure(&task, got, expected_dtype, expected, result);
    result->bar = compare_bar(&task, fused);
    /* Subnormal f16 numbers, below 6e-5. */
    if (task.dtype == STN_F16) result->bar = fmax(result->bar, 2 * result->rounding);
    free(in), free(got), free(expected);
    stn_task_clear(&task);
    return status == STN_OK && compare_good(result);
}

bool compare_candidate_with_host(stn_context *context, stn_pool *pool, const stn_problem *problem, const char *strategy,
                                 int pick, bool fused, uint64_t seed, comparison *result) {
    return compare_drawn_with_host(context, pool, problem, strategy, pick, fused, dice_real, seed, result);
}

bool compare_with_host(stn_context *context, stn_pool *pool, const stn_problem *problem, const char *strategy,
                       bool fused, uint64_t seed, comparison *result) {
    return compare_candidate_with_host(context, pool, problem, strategy, -1, fused, seed, result);
}

double compare_plan_with_host(stn_context *context, stn_plan *plan, const stn_problem *p, const double *in,
                              size_t count) {
    stn_context *host = NULL;
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    options.device = STN_DEVICE_HOST;
    stn_plan *definition = NULL;
    stn_plan_options by_steps = STN_PLAN_OPTIONS_INIT;
    by_steps.strategy = "host";
    stn_problem exact = *p;
    exact.dtype = STN_F64;
    size_t bytes = count * stn_dtype_size(p->dtype);
    void *got = malloc(bytes), *from = malloc(bytes);
    double *source = malloc(count * 8), *expected = malloc(count * 8), most = 0, largest = 0;
    long double error = 0, size = 0;
    for (size_t i = 0; i < count; i++) {
        set_element(p->dtype, from, (int64_t)i, in[i]);
        source[i] = element(p->dtype, from, (int64_t)i);
    }
    memset(got, 0xff, bytes);
    bool good = compare_execute(context, plan, from, bytes, NULL, got, bytes, NULL) == STN_OK;
    good = good && stn_context_create(&options, &host, NULL) == STN_OK &&
           stn_plan_create(host, &exact, &by_steps, &definition, NULL) == STN_OK &&
           stn_plan_execute(definition, source, expected, NULL, NULL) == STN_OK;
    for (size_t i = 0; good && i < count; i++) {
        long double off = element(p->dtype, got, (int64_t)i) - expected[i];
        error += off * off;
        size += (long double)expected[i] * expected[i];
        most = fmax(most, (double)fabsl(off));
        largest = fmax(largest, fabs(expected[i]));
    }
    stn_plan_destroy(definition);
    stn_context_destroy(host);
    free(got), free(from), free(source), free(expected);
    return good && isfinite(error) ? fmax((double)sqrtl(error / size), most / largest / COMPARE_POINT) : INFINITY;
}

int64_t nan_reaches(stn_context *context, const stn_problem *p, const char *strategy, size_t column) {
    size_t count = 1, width = 1;
    for (int axis = 0; axis < 3 && p->extent[axis]; axis++) count *= p->extent[axis], width = p->extent[axis];
    double *in = malloc(count * 8), *values = malloc(count * 8);
    stn_plan *plan = NULL;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.strategy = strategy;
    dice d = {column};
    for (size_t i = 0; i < count; i++) in[i] = values[i] = dice_real(&d);
    in[count / width / 2 * width + column] = NAN;
    bool good = stn_plan_create(context, p, &options, &plan, NULL) == STN_OK &&
                compare_execute(context, plan, in, count * 8, NULL, values, count * 8, NULL) == STN_OK;
    int64_t most = good ? 0 : INT64_MAX;
    for (size_t i = 0; good && i < count; i++) {
        int64_t distance = llabs((int64_t)(i % width) - (int64_t)column);
        if (!isfinite(values[i]) && distance > most) most = distance;
    }
    stn_plan_destroy(plan);
    free(in), free(values);
    return most;
}
