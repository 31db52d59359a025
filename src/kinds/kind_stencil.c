/* Stencils as a kind of work: the operations that plans need on a task. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "base/number.h"
#include "kinds/kinds.h"
#include "plan/error_bound.h"
#include "plan/plan.h"
#include "problem/growth.h"
#include "problem/stencil.h"
#include "strategies/table.h"
#include "tune/tuner.h"

stn_status stn_plan_create(stn_context *context, const stn_problem *problem, const stn_plan_options *options,
                           stn_plan **plan, stn_error *error) {
    return stn_plan_make(context, &stn_kind_stencil, problem, options, plan, error);
}

/* ---- the work as a value --------------------------------------------------------------------- */

static int widest(const stn_task *task) {
    return stn_max(stn_max(stn_task_reach(task, 0), stn_task_reach(task, 1)), stn_task_reach(task, 2));
}

/* On a GPU the reach of the taps must not exceed the length of an axis, nor STN_MAX_RADIUS. */
static stn_status check_reach(const stn_task *task, stn_error *error) {
    for (int axis = 0; axis < 3; axis++) {
        const int reach = stn_task_reach(task, axis);
        if (reach > STN_MAX_RADIUS)
            return stn_fail(
                error, STN_ERROR_UNSUPPORTED,
                "the taps reach %d points along axis %d: on a GPU they reach no further than %d, so compute "
                "on the host, or with a smaller stencil",
                reach, axis - (3 - task->rank), STN_MAX_RADIUS);
        if (reach > task->n[axis])
            return stn_fail(
                error, STN_ERROR_UNSUPPORTED,
                "the taps reach %d points along axis %d, which has only %lld: on a GPU they reach no further than "
                "an axis is long, so compute on the host, on a larger grid, or with a smaller stencil",
                reach, axis - (3 - task->rank), (long long)task->n[axis]);
    }
    return STN_OK;
}

static stn_status make(stn_plan *plan, const void *given, stn_error *error) {
    STN_TRY(stn_task_make(given, &plan->task, error));
    plan->task.searches = plan->machine.searches;
    return plan->machine.is_device ? check_reach(&plan->task, error) : STN_OK;
}

static stn_status adopt(stn_plan *plan, const void *task, uint64_t steps, stn_error *error) {
    STN_TRY(stn_task_copy(task, &plan->task, error));
    plan->task.steps = steps;
    plan->task.snapshots = 1;
    return STN_OK;
}

static void clear(stn_plan *plan) { stn_task_clear(&plan->task); }

/* True if input and output have the same dense layout. */
static bool can_continue(const stn_task *task) {
    if (task->in_place || task->source || task->sum || task->snapshots > 1 || task->alignment > 256) return false;
    return !stn_task_converts(task) && stn_task_same_strides(task) &&
           stn_task_span(task, true) == stn_task_points(task);
}

static int64_t source_numbers(const stn_task *task) {
    int64_t last = (task->batch - 1) * task->source_batch_stride;
    for (int axis = 0; axis < 3; axis++) last += (task->n[axis] - 1) * task->source_stride[axis];
    return task->source ? last + 1 : 0;
}

static stn_work_shape shape(const stn_plan *plan) {
    const stn_task *task = &plan->task;
    return (stn_work_shape){.dtype = task->dtype,
                            .in_place = task->in_place,
                            .alignment = task->alignment,
                            .in_size = (int)stn_element_size(stn_task_element(task, false)),
                            .out_size = (int)stn_element_size(stn_task_element(task, true)),
                            .source = task->source,
                            .can_continue = can_continue(task),
                            .stack = task->snapshots > 1,
                            .steps = task->steps,
                            .in_numbers = stn_task_span(task, false),
                            .out_numbers = stn_task_span(task, true),
                            .source_numbers = source_numbers(task)};
}

static stn_points points(const stn_plan *plan, stn_work_array array, const void *first) {
    if (array == STN_WORK_SOURCE) return stn_points_of_source(&plan->task, first);
    return stn_points_of_task(&plan->task, array == STN_WORK_OUT, first);
}

static stn_status set_weights(stn_plan *plan, size_t count, const double *weights, stn_error *error) {
    size_t taps = plan->task.ntaps;
    double *before = malloc(taps * sizeof *before);
    if (!before) return stn_fail_memory(error, "a copy of the old weights", taps * sizeof *before);
    for (size_t i = 0; i < taps; i++) before[i] = plan->task.taps[i].weight;
    stn_status status = stn_task_set_weights(&plan->task, count, weights, error);
    if (status == STN_OK) {
        status = plan->strategy->set_weights(plan, error);
        if (status == STN_OK && plan->later_snapshots)
            status = set_weights(plan->later_snapshots, count, weights, error);
        if (status != STN_OK && stn_task_set_weights(&plan->task, taps, before, NULL) == STN_OK)
            plan->strategy->set_weights(plan, NULL); /* undoes a partial change */
    }
    free(before);
    return status;
}

/* ---- choosing -------------------------------------------------------------------------------- */

static bool applies(const stn_plan *plan, const stn_strategy *row, char *reason, size_t size) {
    const stn_task *task = &plan->task;
    if (row != &stn_strategy_host && row != &stn_strategy_host_spectral && stn_task_needs_host(task)) {
        snprintf(reason, size,
                 "the taps reach further than an axis is long, or than %d points, which the host's strategies alone "
                 "serve",
                 STN_MAX_RADIUS);
        return false;
    }
    if (task->local && !row->local) {
        snprintf(reason, size, "its errors depend on the whole grid, and accuracy is asked for locally");
        return false;
    }
    if (stn_task_converts(task) && !row->converts) {
        snprintf(reason, size, "it reads and writes numbers of the dtype alone");
        return false;
    }
    if (!task->normalized != !row->normalizes) {
        snprintf(reason, size,
                 row->normalizes ? "no points are missing" : "it does not scale weights by missing points");
        return false;
    }
    const bool sources = !task->source || row->sources, sums = !task->sum || row->sums;
    if (sources && sums) return row->applies(task, &plan->machine, reason, size);
    snprintf(reason, size, sources ? "it sums no powers of steps" : "it adds no constant source");
    return false;
}

static size_t candidates(const stn_plan *plan, const stn_strategy *row, stn_candidate *list, size_t most) {
    if (row->compose) return row->compose(plan, list, most);
    return row->candidates(&plan->task, &plan->machine, list, most);
}

static void estimate(const stn_plan *plan, const stn_strategy *row, const stn_candidate *candidate,
                     stn_estimate *result) {
    row->estimate(&plan->task, &plan->machine, candidate, result);
    if (row->stacks) return;
    const double runs = (double)plan->task.snapshots;
    result->bytes *= runs, result->flops *= runs, result->launches *= runs, result->seconds *= runs;
    result->error *= runs; /* The last snapshot has the errors of all runs. */
}

static double least_seconds(const stn_plan *plan, const stn_strategy *row) {
    const double least = row->least_seconds(&plan->task, &plan->machine);
    return row->stacks ? least : least * (double)plan->task.snapshots;
}

/* ---- description ----------------------------------------------------------------------------- */

static void print(const stn_plan *plan, stn_text *text) { stn_task_print(&plan->task, text); }
static void json(const stn_plan *plan, stn_text *text) { stn_task_json(&plan->task, text); }

static void json_growth(const stn_growth *g, double steps, double overflow, stn_text *text) {
    stn_json_value(text, "max_symbol", g->symbol);
    /* For data of about 1. */
    stn_json_value(text, "overflow_step", isfinite(overflow) ? overflow : NAN);
    stn_json_value(text, "step_growth", g->step);       /* the norm of a step */
    stn_json_value(text, "lasting_growth", g->lasting); /* a bound on the eigenvalues of a step */
    stn_json_value(text, "log10_growth", stn_growth_peak(g, steps));
    /* By how much errors may exceed the predicted ones, as a power of ten. */
    stn_json_value(text, "log10_above_eigenvalues", stn_growth_above_eigenvalues(g, steps));

    stn_json_key(text, "nearly_defective"); /* growth.h */
    stn_text_printf(text, stn_growth_nearly_defective(g) ? "true" : "false");
}

/* The consequences of a symbol above 1. */
static void text_unstable(const stn_growth *g, double steps, double overflow, const stn_task *task, stn_text *text) {
    const char *const leaves =
        " (grows by up to 10^%.4g in this run; in a long one it leaves through constant and fixed sides";
    const char *const stays = " (grows without bound in a long run: by up to 10^%.4g in this one";
    stn_text_printf(text, stn_growth_is_transient(g) ? leaves : stays, stn_growth_peak(g, steps));
    if (isfinite(overflow))
        stn_text_printf(text, "; numbers of about 1 may overflow %s from step %.0f on", stn_dtype_name(task->dtype),
                        overflow);
    stn_text_printf(text, ")");
}

static void text_growth(const stn_growth *g, double steps, double overflow, const stn_task *task, stn_text *text) {
    const double above = stn_growth_above_eigenvalues(g, steps);
    stn_text_printf(text, "\nstability:  max |symbol| %.9g", g->symbol);
    if (!stn_symbol_stable(g->symbol, (uint64_t)steps)) text_unstable(g, steps, overflow, task, text);
    if (g->folds && g->step > g->symbol * (1 + STN_SYMBOL_ERROR) && !stn_symbol_stable(g->step, (uint64_t)steps))
        stn_text_printf(text,
                        "; at sides that fold taps which are not symmetric waves may come back larger: growth by up to "
                        "10^%.4g in this run is not ruled out, the sum of |weights| being %.9g",
                        stn_growth_peak(g, steps), g->step);
    if (above < 1) return;
    stn_text_printf(
        text,
        "\nnormality:  %s: between these sides no eigenvalue is above %.9g, but this run may come to 10^%.4g "
        "times its power, and errors to as much above what is predicted",
        stn_growth_nearly_defective(g) ? "nearly defective" : "far from normal", g->lasting, above);
}

/* Stability: whether a long run stays bounded, and whether the symbol alone determines that. */
static void more(const stn_plan *plan, stn_format format, stn_text *text) {
    const stn_growth g = stn_task_growth(&plan->task);
    const uint64_t steps = plan->task.steps * plan->task.snapshots;
    const bool stable = stn_symbol_stable(g.symbol, steps);
    const double overflow = stable ? INFINITY : stn_growth_overflow(&g, plan->task.dtype, 1);
    if (format == STN_JSON)
        json_growth(&g, (double)steps, overflow, text);
    else
        text_growth(&g, (double)steps, overflow, &plan->task, text);
}

/* ---- measuring ------------------------------------------------------------------------------- */

/* The key holds the mirror symmetry of the weights along each axis, not their values. */
static void key(const stn_plan *plan, const stn_key_sink *to) {
    const stn_task *task = &plan->task;
    to->number(to->user, "rank", task->rank);
    for (int axis = 0; axis < 3; axis++) {
        to->number(to->user, "extent", task->n[axis]);
        to->number(to->user, "in stride", task->in_stride[axis]);
        to->number(to->user, "out stride", task->out_stride[axis]);
        for (int side = 0; side < 2; side++) to->number(to->user, "side", task->boundary[axis][side].kind);
        to->number(to->user, "mirrored", stn_task_is_symmetric(task, axis));
    }
    to->number(to->user, "batch", task->batch);
    to->number(to->user, "in batch stride", task->in_batch_stride);
    to->number(to->user, "out batch stride", task->out_batch_stride);
    to->number(to->user, "dtype", task->dtype);
    if (stn_task_converts(task)) {
        to->number(to->user, "from", task->in_element);
        to->number(to->user, "to", task->out_element);
        to->number(to->user, "divides", task->divisor != 1);
    }
    if (task->normalized) to->number(to->user, "normalized", task->normalized);
    to->number(to->user, "steps", (int64_t)task->steps);
    if (task->snapshots > 1) /* Some strategies compute a whole stack at once. */
        to->number(to->user, "snapshots", (int64_t)task->snapshots);
    for (int axis = 0; task->source && axis < 3; axis++)
        to->number(to->user, "source stride", task->source_stride[axis]);
    if (task->sum) to->number(to->user, "sum", 1);
    to->number(to->user, "in place", task->in_place);
    to->number(to->user, "alignment", task->alignment);
    char tolerance[STN_NUMBER_SIZE];
    stn_number_format(task->tolerance, tolerance);
    to->text(to->user, "tolerance", tolerance);
    if (task->local) to->number(to->user, "local", 1);
    /* Each tap's offsets, less than base / 2 in magnitude, are packed into one number. */
    const int64_t base = widest(task) <= STN_MAX_RADIUS ? 1024 : 4 * STN_MAX_HOST_RADIUS;
    for (size_t k = 0; k < task->ntaps; k++) {
        int64_t packed = 0;
        for (int axis = 0; axis < 3; axis++) packed = packed * base + base / 2 + task->taps[k].offset[axis];
        to->number(to->user, "tap", packed);
    }
}

/* The reference is the first candidate of direct whose launches are single steps. With a source, it
 * is the last candidate of sourced, which makes single steps. */
static stn_status reference_candidate(const stn_plan *plan, int *which, const stn_strategy **chosen,
                                      stn_candidate *candidate, stn_error *error) {
    static const stn_strategy *const by_steps[] = {&stn_strategy_sourced, NULL};
    if (plan->task.source) return stn_reference_candidate(plan, by_steps, which, chosen, candidate, error);
    const stn_strategy *direct = *chosen = &stn_strategy_direct;
    stn_candidate list[STN_CANDIDATES] = {0}, unused;
    char reason[160] = "it offers no single steps";
    size_t count = 0;
    if (stn_task_converts(&plan->task))
        return stn_fail(error, STN_ERROR_UNSUPPORTED,
                        "there is nothing to measure with: trials fill and compare arrays of the dtype");
    if (*which == 0 && direct->applies(&plan->task, &plan->machine, reason, sizeof reason))
        count = direct->candidates(&plan->task, &plan->machine, list, STN_CANDIDATES);
    for (size_t i = 0; i < count; i++)
        if (direct->shorten(&plan->task, &list[i], 1, &unused) == 1) {
            *candidate = list[i];
            return STN_OK;
        }
    return stn_fail(error, STN_ERROR_UNSUPPORTED, "there is nothing to compare with: strategy direct: %s", reason);
}

/* Scales the weights such that no wave grows; the speed of a candidate does not depend on them. */
static void rescale_for_timing(stn_plan *plan) {
    static const double most[] = {1e300, 1e36, 1e4}; /* by stn_dtype */
    stn_task *task = &plan->task;
    const double symbol = stn_taps_max_symbol(task->ntaps, task->taps);
    if (!(pow(symbol, (double)task->steps) > most[task->dtype])) return;
    for (size_t i = 0; i < task->ntaps; i++) task->taps[i].weight /= symbol;
}

/* Ten times the error bound of every strategy; a wrong result differs by far more. */
static double allowed_difference(const stn_plan *plan, uint64_t steps) {
    double T = (double)steps;
    stn_dtype dtype = plan->task.dtype;
    double rounding = dtype == STN_F64   ? 1e-13 * (1 + log2(T))
                      : dtype == STN_F32 ? 1e-6 * (sqrt(T) + log2(T))
                                         : 1e-3 * sqrt(T);
    return 10 * rounding + 2 * plan->task.tolerance;
}

/* The bound for the last snapshot. */
static double error_bound(const stn_plan *plan) {
    const stn_task all = stn_task_whole_run(&plan->task);
    return stn_error_bound(&all);
}

const stn_kind stn_kind_stencil = {
    .label = "problem:    ",
    .strategy_suffix = "",
    .strategies = stn_stencil_strategies,
    .tuner = &stn_tuner_default,
    .make = make,
    .adopt = adopt,
    .clear = clear,
    .shape = shape,
    .points = points,
    .set_weights = set_weights,
    .applies = applies,
    .candidates = candidates,
    .estimate = estimate,
    .least_seconds = least_seconds,
    .error_bound = error_bound,
    .print = print,
    .json = json,
    .more = more,
    .key = key,
    .reference_candidate = reference_candidate,
    .rescale_for_timing = rescale_for_timing,
    .allowed_difference = allowed_difference,
};
