/* Makes the operators (packed weights of fused steps) of a lowrank plan in 1D and 2D. */
#include "strategies/lowrank/plane/plane_operator.h"

#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "strategies/lowrank/lowrank_types.h"

/* Copies a term's vector into the stored vector of the longer operator, which has `count` weights;
 * both are aligned at offset 0. */
static void copy_window(const double *from, int size, int low, double *to, int count, int to_low) {
    int shift = to_low - low;
    for (int i = 0; i < size && i + shift < count; i++) to[i + shift] = from[i];
}

static void fill_line(const stn_task *task, const lowrank_shape *shape, const stn_power *taps, lowrank_operator *to) {
    int shift = lowrank_reach(task, shape, 2, 0) - taps->low[2];
    for (int x = 0; x < taps->size[2]; x++) to->weights[x + shift] = (double)taps->weight[x];
    to->terms = 1;
    if (task->dtype == STN_F32) lowrank_round(24, 1, to->weights, lowrank_window(task, shape, 2), false);
    lowrank_pack(task->dtype, true, to->weights, lowrank_window(task, shape, 2), 0, to->values);
}

/* Scales u, as the kernel gets it, to an absolute sum of at most 1, so that the intermediate sums
 * of columns (T_q in lowrank_plane.cu) do not exceed the grid's values; f16 might not represent
 * them otherwise. */
static void make_bounded(double *u, int rows, bool even, double *v, int columns) {
    double sum = 0;
    for (int i = 0; i < rows; i++) sum += fabs(u[i]) * (even && i < rows - 1 ? 2 : 1);
    if (!(sum > 0) || !isfinite(sum)) return;
    for (int i = 0; i < rows; i++) u[i] /= sum;
    for (int i = 0; i < columns; i++) v[i] *= sum;
}

static void fill_plane(const stn_task *task, const lowrank_shape *shape, const lowrank_pattern *pattern,
                       const lowrank_terms *terms, const int *slot, lowrank_operator *to) {
    int stored[2] = {lowrank_stored_window(task, shape, 1), lowrank_stored_window(task, shape, 2)};
    int low[2] = {lowrank_reach(task, shape, 1, 0), lowrank_reach(task, shape, 2, 0)};
    for (int q = 0; q < terms->count; q++) {
        double *u = to->weights + slot[q] * stored[0];
        double *v = to->weights + shape->terms * stored[0] + slot[q] * stored[1];
        copy_window(terms->u + q * terms->rows, terms->rows, terms->low[0], u, stored[0], low[0]);
        copy_window(terms->v + q * terms->columns, terms->columns, terms->low[1], v, stored[1], low[1]);
        if (task->dtype == STN_F16) make_bounded(u, stored[0], shape->even, v, stored[1]);
        /* Rounding errors of weight sums are the same in every launch. */
        if (task->dtype == STN_F32) {
            lowrank_round(24, 1, u, stored[0], shape->even);
            lowrank_round(24, 1, v, stored[1], shape->even);
        }
        if (shape->mixed) lowrank_pattern_scale(&pattern->term[slot[q]], u, stored[0], low[0], v, stored[1], low[1]);
    }
    to->terms = terms->count;
    to->residual = terms->residual;
    int all = shape->terms * (stored[0] + stored[1]);
    lowrank_pack(task->dtype, !shape->mixed, to->weights, all, shape->terms * stored[0], to->values);
}

stn_status lowrank_fail_terms(int fused, int terms, stn_error *error) {
    return stn_fail(error, STN_ERROR_UNSUPPORTED,
                    "%d fused steps of these weights need %d separable terms, more than the kernel takes: make a new "
                    "plan with strategy auto",
                    fused, terms);
}

/* The terms of one operator, and their slots in the pattern. */
typedef struct placed_terms {
    lowrank_terms terms;
    int slot[LOWRANK_MAX_TERMS];
} placed_terms;

/* Finds slots for the terms of all operators, the longest operator first. No terms, or too many,
 * are an error: the weights do not split like those that the kernel was made for. */
static stn_status assign_slots(const stn_task *task, const stn_machine *machine, lowrank_shape *shape,
                               lowrank_pattern *pattern, placed_terms *made, size_t noperators, bool *pattern_changed,
                               stn_error *error) {
    lowrank_pattern wider = *pattern;
    bool widened = false, good = true;
    for (size_t i = 0; i < noperators && good; i++)
        good = made[i].terms.count && lowrank_pattern_cover(&wider, &made[i].terms, made[i].slot, &widened);
    if (!good || !lowrank_holds(task, machine, shape, &wider))
        return lowrank_fail_terms(shape->fused, made[0].terms.count, error);
    *pattern_changed = shape->mixed ? widened : wider.count > pattern->count;
    *pattern = wider;
    shape->terms = wider.count;
    return STN_OK;
}

stn_status lowrank_operators_make(const stn_task *task, const stn_machine *machine, lowrank_shape *shape,
                                  lowrank_pattern *pattern, lowrank_operator *operators, size_t noperators,
                                  bool *pattern_changed, stn_error *error) {
    stn_power taps;
    placed_terms made[2] = {{.terms = {0}}, {.terms = {0}}};
    stn_status status = stn_power_make(task, &taps, error);
    *pattern_changed = false;
    /* The shorter operator is the last one and is made first. */
    for (size_t i = noperators; i-- > 0 && status == STN_OK;) {
        while (status == STN_OK && taps.fused < operators[i].fused) status = stn_power_fuse(task, &taps, error);
        if (status != STN_OK) break;
        memset(operators[i].weights, 0, sizeof operators[i].weights);
        if (task->rank == 1)
            fill_line(task, shape, &taps, &operators[i]);
        else
            status = lowrank_terms_make(task, &taps, (lowrank_split)shape->split, lowrank_term_tolerance(task, shape),
                                        &made[i].terms, error);
    }
    if (status == STN_OK && task->rank > 1)
        status = assign_slots(task, machine, shape, pattern, made, noperators, pattern_changed, error);
    for (size_t i = 0; i < noperators && status == STN_OK && task->rank > 1; i++)
        fill_plane(task, shape, pattern, &made[i].terms, made[i].slot, &operators[i]);
    for (int i = 0; i < 2; i++) lowrank_terms_clear(&made[i].terms);
    stn_power_clear(&taps);
    return status;
}
