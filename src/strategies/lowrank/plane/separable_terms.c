/* Splits fused taps into separable terms and drops the smallest within a tolerance. */
#include "strategies/lowrank/plane/separable_terms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A larger residual means that pivots were too small, so another splitting is better. */
#define MIN_TOLERANCE 0x1p-50

const char *lowrank_split_name(lowrank_split split) {
    static const char *const names[LOWRANK_SPLITS] = {"svd", "star"};
    return names[split];
}

static long double norm_of(const double *a, int n) {
    long double sum = 0;
    for (int i = 0; i < n; i++) sum += (long double)a[i] * a[i];
    return sqrtl(sum);
}

/* Drops the smallest terms while their total norm does not exceed `dropped`. */
static void drop_small_terms(lowrank_terms *terms, long double dropped) {
    long double total = 0;
    while (terms->count > 1) {
        int least = 0;
        long double least_size = INFINITY;
        for (int q = 0; q < terms->count; q++) {
            long double size = norm_of(terms->u + q * terms->rows, terms->rows) *
                               norm_of(terms->v + q * terms->columns, terms->columns);
            if (size < least_size) least = q, least_size = size;
        }
        if ((total += least_size) > dropped) return;
        size_t after = (size_t)(--terms->count - least);
        memmove(terms->u + least * terms->rows, terms->u + (least + 1) * terms->rows,
                after * (size_t)terms->rows * sizeof *terms->u);
        memmove(terms->v + least * terms->columns, terms->v + (least + 1) * terms->columns,
                after * (size_t)terms->columns * sizeof *terms->v);
    }
}

static double residual_of(const stn_power *taps, const lowrank_terms *terms, long double size) {
    long double sum = 0;
    for (int y = 0; y < taps->size[1]; y++)
        for (int x = 0; x < taps->size[2]; x++) {
            long double rest = taps->weight[y * taps->size[2] + x];
            for (int q = 0; q < terms->count; q++)
                rest -= (long double)terms->u[q * taps->size[1] + y] * terms->v[q * taps->size[2] + x];
            sum += rest * rest;
        }
    return size > 0 ? (double)(sqrtl(sum) / size) : 0;
}

stn_status lowrank_terms_make(const stn_task *task, const stn_power *taps, lowrank_split split, double tolerance,
                              lowrank_terms *terms, stn_error *error) {
    *terms = (lowrank_terms){.rows = taps->size[1], .columns = taps->size[2], .low = {taps->low[1], taps->low[2]}};
    int most = taps->size[1] < taps->size[2] ? taps->size[1] : taps->size[2];
    if (split == LOWRANK_STAR) most = taps->fused + 1;
    terms->u = calloc((size_t)most * (size_t)taps->size[1], sizeof *terms->u);
    terms->v = calloc((size_t)most * (size_t)taps->size[2], sizeof *terms->v);
    stn_status status = STN_OK;
    if (!terms->u || !terms->v) status = stn_fail_memory(error, "the terms of fused taps", sizeof *terms->u);
    long double size = 0;
    for (int i = 0; i < taps->size[1] * taps->size[2]; i++) size += taps->weight[i] * taps->weight[i];
    size = sqrtl(size);
    long double dropped = size * fmaxl(tolerance, LOWRANK_ROUNDING);
    if (status == STN_OK) {
        if (split == LOWRANK_SVD) status = lowrank_split_svd(taps, (double)dropped, terms, error);
        if (split == LOWRANK_STAR) status = lowrank_split_star(task, taps->fused, terms, error);
    }
    if (status != STN_OK) {
        lowrank_terms_clear(terms);
        return status;
    }
    if (split != LOWRANK_SVD) drop_small_terms(terms, dropped);
    terms->residual = terms->count ? residual_of(taps, terms, size) : 0;
    if (split != LOWRANK_SVD && terms->residual > fmax(tolerance, MIN_TOLERANCE)) terms->count = 0;
    return STN_OK;
}

void lowrank_terms_clear(lowrank_terms *terms) {
    free(terms->u);
    free(terms->v);
    memset(terms, 0, sizeof *terms);
}

void lowrank_terms_reach(const lowrank_terms *terms, int q, int axis, int reach[2]) {
    int size = axis == 0 ? terms->rows : terms->columns, low = terms->low[axis];
    const double *vector = (axis == 0 ? terms->u : terms->v) + q * size;
    reach[0] = reach[1] = 0;
    for (int i = 0; i < size; i++)
        if (vector[i] != 0) {
            if (low - i > reach[0]) reach[0] = low - i;
            if (i - low > reach[1]) reach[1] = i - low;
        }
}

double lowrank_terms_growth(const lowrank_terms *terms, const stn_power *taps) {
    long double products = 0, size = 0;
    for (int q = 0; q < terms->count; q++) {
        long double u = 0, v = 0;
        for (int i = 0; i < terms->rows; i++) u += fabs(terms->u[q * terms->rows + i]);
        for (int i = 0; i < terms->columns; i++) v += fabs(terms->v[q * terms->columns + i]);
        products += u * v;
    }
    for (int i = 0; i < taps->size[1] * taps->size[2]; i++) size += fabsl(taps->weight[i]);
    return size > 0 ? (double)fmaxl(products / size, 1) : 1;
}

/* Mean square, in 12ths, of the result for inputs uniform in [0, 1], from the sum and the sum of
 * squares of the weights: mean 1/2, variance 1/12. */
static long double mean_square(long double sum, long double squares) { return 3 * sum * sum + squares; }

static void add_up(const double *vector, int count, long double *sum, long double *squares) {
    *sum = *squares = 0;
    for (int i = 0; i < count; i++) {
        *sum += vector[i];
        *squares += (long double)vector[i] * vector[i];
    }
}

double lowrank_terms_inner(const lowrank_terms *terms, const stn_power *taps) {
    long double sum = 0, squares = 0, inner = 0;
    for (int q = 0; q < terms->count; q++) {
        long double u, u_squares, v, v_squares;
        add_up(terms->u + q * terms->rows, terms->rows, &u, &u_squares);
        add_up(terms->v + q * terms->columns, terms->columns, &v, &v_squares);
        inner += v_squares * mean_square(u, u_squares);
    }
    for (int i = 0; i < taps->size[1] * taps->size[2]; i++) {
        sum += taps->weight[i];
        squares += taps->weight[i] * taps->weight[i];
    }
    const long double answer = mean_square(sum, squares);
    return answer > 0 ? (double)sqrtl(inner / answer) : 0;
}
