/* Factorises separable taps: the lines through the largest tap, refined by least squares. */
#include "strategies/lowrank/axes/tap_factors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIN_TOLERANCE 0x1p-50 /* relative residual that rounding of weights to f64 may cause */

static int length(const stn_task *task, int axis) { return task->reach[axis][0] + task->reach[axis][1] + 1; }
static int place(const stn_task *task, const stn_tap *tap, int axis) {
    return (int)tap->offset[axis] + task->reach[axis][0];
}

/* Takes the taps on the three lines through the largest tap as factors. If the stencil is
 * separable, every tap is a product of three of their weights. */
static bool take_lines(const stn_task *task, double weight[3][LOWRANK_FACTOR]) {
    const stn_tap *pivot = task->taps;
    for (size_t k = 0; k < task->ntaps; k++)
        if (fabs(task->taps[k].weight) > fabs(pivot->weight)) pivot = &task->taps[k];
    if (pivot->weight == 0) return false;
    for (size_t k = 0; k < task->ntaps; k++) {
        const stn_tap *tap = &task->taps[k];
        for (int axis = 0; axis < 3; axis++) {
            bool line = true;
            for (int other = 0; other < 3; other++)
                line = line && (other == axis || tap->offset[other] == pivot->offset[other]);
            if (line) weight[axis][place(task, tap, axis)] = tap->weight / (axis == 1 ? 1 : pivot->weight);
        }
    }
    return true;
}

/* Whether there are as many nonzero products of factor weights as nonzero taps. If there are more,
 * some product is nonzero where the stencil has no tap. */
static bool same_zeros(const stn_task *task, double weight[3][LOWRANK_FACTOR]) {
    size_t products = 1, taps = 0;
    for (int axis = 0; axis < 3; axis++) {
        size_t count = 0;
        for (int i = 0; i < length(task, axis); i++) count += weight[axis][i] != 0;
        products *= count;
    }
    for (size_t k = 0; k < task->ntaps; k++) taps += task->taps[k].weight != 0;
    return products == taps;
}

static long double product(const stn_task *task, double weight[3][LOWRANK_FACTOR], const stn_tap *tap) {
    long double all = 1;
    for (int axis = 0; axis < 3; axis++) all *= weight[axis][place(task, tap, axis)];
    return all;
}

/* Fits the factor along one axis to the others, each of its weights by least squares. This reduces
 * the error of weights that were rounded by the caller. */
static void fit_factor(const stn_task *task, double weight[3][LOWRANK_FACTOR], int axis) {
    long double dot[LOWRANK_FACTOR] = {0}, size[LOWRANK_FACTOR] = {0};
    for (size_t k = 0; k < task->ntaps; k++) {
        long double rest = 1;
        for (int other = 0; other < 3; other++)
            if (other != axis) rest *= weight[other][place(task, &task->taps[k], other)];
        int i = place(task, &task->taps[k], axis);
        dot[i] += rest * task->taps[k].weight;
        size[i] += rest * rest;
    }
    for (int i = 0; i < length(task, axis); i++)
        if (weight[axis][i] != 0 && size[i] > 0) weight[axis][i] = (double)(dot[i] / size[i]);
}

/* Scales the factors of axes 1 and 2 such that the sum of their absolute weights is in [1/2, 1),
 * and the factor of axis 0 inversely. Powers of two scale exactly. */
static void make_bounded(const stn_task *task, double weight[3][LOWRANK_FACTOR]) {
    for (int axis = 2; axis > 0; axis--) {
        double sum = 0;
        int exponent;
        for (int i = 0; i < length(task, axis); i++) sum += fabs(weight[axis][i]);
        frexp(sum, &exponent);
        for (int i = 0; i < length(task, axis); i++) weight[axis][i] = ldexp(weight[axis][i], -exponent);
        for (int i = 0; i < length(task, axis - 1); i++) weight[axis - 1][i] = ldexp(weight[axis - 1][i], exponent);
    }
}

/* Multiplies the factors of axes with one weight into that of the slowest axis with several. */
static void gather_single(const stn_task *task, double weight[3][LOWRANK_FACTOR]) {
    int slowest = 0;
    while (slowest < 2 && length(task, slowest) == 1) slowest++;
    for (int axis = 0; axis < 3; axis++) {
        if (axis == slowest || length(task, axis) > 1) continue;
        for (int i = 0; i < length(task, slowest); i++) weight[slowest][i] *= weight[axis][0];
        weight[axis][0] = 1;
    }
}

bool lowrank_factors_make(const stn_task *task, lowrank_factors *factors) {
    double rounding = task->dtype == STN_F64 ? MIN_TOLERANCE : task->dtype == STN_F32 ? 0x1p-24 : 0x1p-13;
    long double off = 0, all = 0;
    memset(factors, 0, sizeof *factors);
    if (!take_lines(task, factors->weight) || !same_zeros(task, factors->weight)) return false;
    for (int axis = 0; axis < 3 && task->dtype != STN_F64; axis++) fit_factor(task, factors->weight, axis);
    for (size_t k = 0; k < task->ntaps; k++) {
        long double rest = task->taps[k].weight - product(task, factors->weight, &task->taps[k]);
        off += rest * rest;
        all += (long double)task->taps[k].weight * task->taps[k].weight;
    }
    factors->residual = (double)sqrtl(off / all);
    if (!(factors->residual <= fmax(rounding / (double)task->steps, MIN_TOLERANCE))) return false;
    make_bounded(task, factors->weight);
    gather_single(task, factors->weight);
    return true;
}
