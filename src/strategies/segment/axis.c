/* Extracts the taps of each axis from a task, and finds the extension of its lines past both
 * sides. */
#include "strategies/segment/axis.h"

#include <math.h>
#include <string.h>

#include "problem/stencil.h"

static bool has_taps(const stn_task *task, int axis) { return task->reach[axis][0] + task->reach[axis][1] > 0; }

/* Permitted drift of a constant value, times 1 + log2 of the steps: a fifth of the tolerance. */
#define DRIFT_F64 2e-14
#define DRIFT_F32 2e-7

bool segment_one_value(const stn_task *task, double *value, double *drift) {
    long double sum = 0;
    bool found = false;
    *value = *drift = 0;
    for (int side = 0; side < 6; side++) {
        const int axis = side / 2;
        const stn_boundary_kind kind = task->boundary[axis][side % 2].kind;
        if (!has_taps(task, axis)) continue;
        if (kind == STN_FIXED) return false;
        if (kind != STN_CONSTANT) continue;
        const double own = stn_task_constant_value(task, axis, side % 2);
        if (found && own != *value) return false;
        found = true, *value = own;
    }
    if (*value == 0) return true;
    for (size_t t = 0; t < task->ntaps; t++) sum += (long double)task->taps[t].weight;
    *drift = (double)(fabsl(sum - 1) * (long double)task->steps);
    return *drift <= (task->dtype == STN_F64 ? DRIFT_F64 : DRIFT_F32) * (1 + log2((double)task->steps));
}

bool segment_has_source(const stn_task *task) {
    double value, drift;
    if (task->rank != 2 || segment_one_value(task, &value, &drift)) return false;
    for (int axis = 1; axis < 3; axis++)
        if (!has_taps(task, axis) || !stn_task_is_symmetric(task, axis)) return false;
    return true;
}

bool segment_only_along_x(const stn_task *task) { return !has_taps(task, 0) && !has_taps(task, 1); }

/* The terms that boundary values add are known in 1D, in 2D (segment_boundary_source.h), and if all
 * constant sides have one value that steps do not change. */
static bool serves_odd(const stn_task *task, const segment_axis *a, int side) {
    double value, drift;
    return segment_only_along_x(task) || a->side[side] == STN_NEAREST || segment_one_value(task, &value, &drift) ||
           segment_has_source(task);
}

/* Symmetric taps of any reach commute with even reflection. For odd reflection, the terms added by
 * a constant or fixed side are known only if one tap reaches past it (segment_tables.c). */
static bool extend(const stn_task *task, segment_axis *a) {
    const stn_boundary *sides = task->boundary[a->axis];
    const bool one_past = a->low == 1 && a->count == 3;
    if (sides[0].kind == STN_WRAP) return true;
    if (!a->symmetric || a->n < 3) return false;
    for (int side = 0; side < 2; side++) {
        if (a->side[side] == STN_REFLECT || a->side[side] == STN_MIRROR) continue;
        if (!one_past || !serves_odd(task, a, side)) return false;
        /* With a reach of one point, `nearest` equals `reflect`. */
        if (a->side[side] == STN_NEAREST) a->side[side] = STN_REFLECT;
    }
    return true;
}

static void begin(const stn_task *task, int axis, segment_axis *a) {
    memset(a, 0, sizeof *a);
    a->axis = axis;
    a->n = task->n[axis];
    a->low = task->reach[axis][0];
    a->count = a->low + task->reach[axis][1] + 1;
    a->symmetric = a->count == 2 * a->low + 1 && stn_task_is_symmetric(task, axis);
    for (int side = 0; side < 2; side++) a->side[side] = task->boundary[axis][side].kind;
    a->exact = extend(task, a);
    if (!a->exact) a->side[0] = a->side[1] = STN_NEAREST;
}

/* Sums the taps over the other axes, each tap with the sign of their factors, and divides the sums
 * by `divisor`. The result is proportional to this axis's factor. If `divisor` is the sum of all
 * |weights|, the absolute values of the result sum to 1. */
static void sum_others(const stn_task *task, double factors[3][STN_TASK_FACTORS], long double divisor,
                       segment_axis *a) {
    for (size_t t = 0; t < task->ntaps; t++) {
        const stn_tap *tap = &task->taps[t];
        int sign = 1;
        for (int k = 0; k < 3; k++)
            if (k != a->axis && factors[k][tap->offset[k] + task->reach[k][0]] < 0) sign = -sign;
        a->weight[a->low + tap->offset[a->axis]] += sign * (long double)tap->weight / divisor;
    }
}

/* The largest absolute value of the axis's symbol; 1 if no weight is negative. */
static double max_symbol(const segment_axis *a) {
    stn_tap taps[SEGMENT_TAPS];
    bool negative = false;
    for (int i = 0; i < a->count; i++) {
        taps[i] = (stn_tap){.offset = {0, 0, i}, .weight = (double)a->weight[i]};
        negative = negative || taps[i].weight < 0;
    }
    return negative ? stn_taps_max_symbol((size_t)a->count, taps) : 1;
}

/* Divides the weights of an axis by its largest |symbol|, and multiplies those of the first axis by
 * it. Otherwise the power of one axis's symbol could overflow and that of another's underflow,
 * although their product does neither. */
static void balance(segment_axis *first, segment_axis *a) {
    const double most = max_symbol(a);
    for (int i = 0; i < a->count; i++) a->weight[i] /= most;
    for (int i = 0; i < first->count; i++) first->weight[i] *= most;
}

bool segment_axes_of(const stn_task *task, segment_axis axes[3], int *count) {
    double factors[3][STN_TASK_FACTORS] = {{0}};
    long double whole = 0;
    *count = 0;
    if (task->rank > 1 && !stn_task_is_separable(task, factors)) return false;
    for (int k = 2; k >= 0; k--)
        if (has_taps(task, k)) begin(task, k, &axes[(*count)++]);
    if (!*count) begin(task, 2, &axes[(*count)++]);
    if (task->rank == 1) {
        for (size_t t = 0; t < task->ntaps; t++)
            axes[0].weight[axes[0].low + task->taps[t].offset[2]] = task->taps[t].weight;
        return true;
    }
    for (size_t t = 0; t < task->ntaps; t++) whole += fabsl((long double)task->taps[t].weight);
    for (int i = 0; i < *count; i++) sum_others(task, factors, i ? whole : 1, &axes[i]);
    for (int i = 1; i < *count; i++) balance(&axes[0], &axes[i]);
    /* The sign of a factor whose axis is not in the list. */
    if (factors[1][0] < 0 && task->reach[1][0] + task->reach[1][1] == 0)
        for (int i = 0; i < axes[0].count; i++) axes[0].weight[i] = -axes[0].weight[i];
    return true;
}

/* In f64 this is as large as the rounding error of the transforms: a segment of 2048 points then
 * has 1536 outputs for 4000 steps of heat-1d, 1504 with a tail of 2^-55. */
double segment_tail(stn_dtype dtype) { return dtype == STN_F64 ? 0x1p-51 : stn_reach_tail(dtype); }

stn_reach segment_axis_reach(const segment_axis *a, const stn_task *task, uint64_t steps) {
    double weights[SEGMENT_TAPS];
    for (int i = 0; i < a->count; i++) weights[i] = (double)a->weight[i];
    return stn_reach_of_line(task->searches, weights, a->count, a->low, steps, segment_tail(task->dtype));
}

/* Points i and mirror - i are mirror images of each other. */
static int64_t mirror_low(const segment_axis *a) {
    return a->side[0] == STN_REFLECT ? -1 : a->side[0] == STN_CONSTANT ? -2 : 0;
}
static int64_t mirror_high(const segment_axis *a) {
    return 2 * a->n + (a->side[1] == STN_REFLECT ? -1 : a->side[1] == STN_CONSTANT ? 0 : -2);
}

int64_t segment_period(const segment_axis *a) {
    if (!a->exact) return 0;
    if (a->side[0] == STN_WRAP) return a->n;
    return (mirror_high(a) - mirror_low(a)) * (segment_side_is_odd(a, 0) == segment_side_is_odd(a, 1) ? 1 : 2);
}

int64_t segment_fold(const segment_axis *a, int64_t i, int *sign) {
    const int64_t n = a->n;
    *sign = 1;
    if (a->side[0] == STN_WRAP) return (i % n + n) % n;
    if (i < 0 || i >= n) {
        const int64_t high = mirror_high(a), period = high - mirror_low(a),
                      periods = i >= 0 ? i / period : -((period - 1 - i) / period);
        i -= periods * period;
        if (segment_side_is_odd(a, 0) != segment_side_is_odd(a, 1) && periods % 2) *sign = -1;
        if (i >= n) {
            i = high - i;
            if (segment_side_is_odd(a, 1)) *sign = -*sign;
        }
    }
    return i < (a->side[0] == STN_FIXED) || i >= n - (a->side[1] == STN_FIXED) ? -1 : i;
}

bool segment_same_weights(const segment_axis *a, const segment_axis *b) {
    long double sums[2] = {0, 0};
    if (a->count != b->count || a->low != b->low) return false;
    for (int i = 0; i < a->count; i++) sums[0] += fabsl(a->weight[i]), sums[1] += fabsl(b->weight[i]);
    for (int i = 0; i < a->count; i++)
        if (!(fabsl(a->weight[i] * sums[1] - b->weight[i] * sums[0]) <= 0x1p-50L * sums[0] * sums[1])) return false;
    return true;
}
