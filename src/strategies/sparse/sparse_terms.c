/* Splits fused 2D taps into separable terms by power iteration. */
#include "strategies/sparse/sparse_terms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "strategies/sparse/weight_rounding.h"

/* Most power iterations. Terms of similar size, which converge slowly, need not be separated. */
#define MAX_ITERATIONS 24
#define CONVERGED 1e-14      /* change of a vector below which the iteration has converged */
#define ZERO_THRESHOLD 1e-15 /* relative to the taps: rounding */

bool sparse_separable(const stn_task *task, double factors[3][STN_TASK_FACTORS]) {
    return task->rank == 2 && stn_task_is_separable(task, factors);
}

/* ---- one term */

static stn_status make_row(int fused, int size, int low, stn_power *row, stn_error *error) {
    *row = (stn_power){.fused = fused, .size = {1, 1, size}, .low = {0, 0, low}};
    row->weight = calloc((size_t)size + 1, sizeof *row->weight);
    return row->weight ? STN_OK : stn_fail_memory(error, "a factor's weights", (size_t)size * sizeof *row->weight);
}

/* The f-th power of separable taps' factor along axis 1 (y) or 2 (x). */
static stn_status make_factor(const stn_task *task, const double *factor, int fused, int axis, stn_power *power,
                              stn_error *error) {
    int low = task->reach[axis][0], one = low + task->reach[axis][1] + 1;
    STN_TRY(make_row(fused, fused * (one - 1) + 1, fused * low, power, error));
    power->weight[0] = 1;
    for (int f = 0, last = 0; f < fused; f++, last += one - 1)
        for (int i = last + one - 1; i >= 0; i--) { /* in place, from the end */
            long double sum = 0;
            for (int j = 0; j < one; j++)
                if (i - j >= 0 && i - j <= last) sum += factor[j] * power->weight[i - j];
            power->weight[i] = sum;
        }
    return STN_OK;
}

/* ---- several terms */

/* rest = rest - u v^T with |v| = 1 and u = rest v: the largest such term, by power iteration from
 * the row with the largest element. */
typedef struct split {
    int rows, columns;
    double *rest, *u, *v; /* rest is owned and followed by u and v */
} split;

static void times_rest(const split *s) {
    for (int y = 0; y < s->rows; y++) {
        s->u[y] = 0;
        for (int x = 0; x < s->columns; x++) s->u[y] += s->rest[y * s->columns + x] * s->v[x];
    }
}

static double make_unit(double *v, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++) sum += v[i] * v[i];
    const double length = sqrt(sum);
    for (int i = 0; i < count && length > 0; i++) v[i] /= length;
    return length;
}

static void find_term(const split *s) {
    int best = 0;
    for (int i = 1; i < s->rows * s->columns; i++)
        if (fabs(s->rest[i]) > fabs(s->rest[best])) best = i;
    memcpy(s->v, s->rest + best / s->columns * s->columns, (size_t)s->columns * sizeof *s->v);
    make_unit(s->v, s->columns);
    double last = 0, size = 1;
    for (int i = 0; i < MAX_ITERATIONS && fabs(size - last) > CONVERGED * size; i++) {
        times_rest(s);
        last = size;
        memset(s->v, 0, (size_t)s->columns * sizeof *s->v);
        for (int y = 0; y < s->rows; y++)
            for (int x = 0; x < s->columns; x++) s->v[x] += s->u[y] * s->rest[y * s->columns + x];
        size = make_unit(s->v, s->columns); /* converges to the square of the term's size */
    }
    times_rest(s);
    for (int y = 0; y < s->rows; y++)
        for (int x = 0; x < s->columns; x++) s->rest[y * s->columns + x] -= s->u[y] * s->v[x];
}

static double norm_of(const split *s) {
    double sum = 0;
    for (int i = 0; i < s->rows * s->columns; i++) sum += s->rest[i] * s->rest[i];
    return sqrt(sum);
}

static bool begin_split(const stn_power *taps, split *s) {
    *s = (split){.rows = taps->size[1], .columns = taps->size[2]};
    size_t all = (size_t)s->rows * (size_t)s->columns;
    s->rest = calloc(all + (size_t)(s->rows + s->columns), sizeof *s->rest);
    if (!s->rest) return false;
    s->u = s->rest + all;
    s->v = s->u + s->rows;
    for (size_t i = 0; i < all; i++) s->rest[i] = (double)taps->weight[i];
    return true;
}

double sparse_terms_residual(const stn_power *taps, int count) {
    split s;
    if (!begin_split(taps, &s)) return INFINITY;
    double whole = norm_of(&s), left = whole;
    for (int q = 0; q < count && left > ZERO_THRESHOLD * whole; q++) {
        find_term(&s);
        left = norm_of(&s);
    }
    free(s.rest);
    return whole > 0 ? left / whole : 0;
}

static stn_status split_taps(const stn_power *taps, sparse_terms *terms, stn_error *error) {
    split s;
    if (!begin_split(taps, &s)) return stn_fail_memory(error, "the terms of fused taps", sizeof s);
    double least = ZERO_THRESHOLD * norm_of(&s);
    stn_status status = STN_OK;
    for (int q = 0; q < terms->count && status == STN_OK; q++) {
        stn_power *y = &terms->factor[q][0], *x = &terms->factor[q][1];
        status = make_row(taps->fused, s.rows, taps->low[1], y, error);
        if (status == STN_OK) status = make_row(taps->fused, s.columns, taps->low[2], x, error);
        if (status != STN_OK || norm_of(&s) <= least) continue;
        find_term(&s);
        for (int i = 0; i < s.rows; i++) y->weight[i] = s.u[i];
        for (int i = 0; i < s.columns; i++) x->weight[i] = s.v[i];
    }
    free(s.rest);
    return status;
}

/* ---- rounding of all terms */

static long double sum_of(const stn_power *factor) {
    long double sum = 0;
    for (int i = 0; i < factor->size[2]; i++) sum += factor->weight[i];
    return sum;
}

/* The sum of a factor of term q after rounding; NaN if out of memory. */
static double rounded_sum(const stn_task *task, const sparse_terms *terms, int q, int axis) {
    size_t size = (size_t)terms->factor[q][axis].size[2];
    float *rounded = malloc(size * sizeof *rounded);
    double sum = 0;
    if (!rounded) return NAN;
    sparse_terms_round(task, terms, q, axis, 1, rounded);
    for (size_t i = 0; i < size; i++) sum += rounded[i];
    free(rounded);
    return sum * (axis == 0 ? terms->scale : 1);
}

/* Rounding the weights along x and those of other terms changes the sum of all weights; the first
 * term's weights along y, some of which are finer, compensate, because the error of that sum is the
 * same in every launch. */
static void keep_sums(const stn_task *task, sparse_terms *terms) {
    stn_power *y = &terms->factor[0][0], *x = &terms->factor[0][1];
    long double first = sum_of(y) * rounded_sum(task, terms, 0, 1), left = sum_of(y) * sum_of(x);
    for (int q = 1; q < terms->count; q++) {
        long double exact = sum_of(&terms->factor[q][0]) * sum_of(&terms->factor[q][1]);
        left += exact - (long double)rounded_sum(task, terms, q, 0) * rounded_sum(task, terms, q, 1);
    }
    /* A correction larger than rounding means that the first term contributes little to the sum;
     * then no correction is made. */
    if (first == 0 || !(fabsl(left - first) <= 0x1p-11L * fabsl(first))) return;
    for (int i = 0; i < y->size[2]; i++) y->weight[i] *= left / first;
}

/* Moves the magnitude of the weights along x into those along y; terms->scale follows from the
 * largest weight along y of all terms. */
static void share_scales(const stn_task *task, sparse_terms *terms) {
    terms->scale = 0;
    for (int q = 0; q < terms->count; q++) {
        stn_power *y = &terms->factor[q][0], *x = &terms->factor[q][1];
        double scale = sparse_scale(task, x, true);
        for (int i = 0; i < x->size[2]; i++) x->weight[i] /= scale;
        for (int i = 0; i < y->size[2]; i++) y->weight[i] *= scale;
        terms->scale = fmax(terms->scale, q && !sparse_any_weight(y) ? 0 : sparse_scale(task, y, false));
    }
}

stn_status sparse_terms_make(const stn_task *task, const stn_power *taps, int fused, int count, int parts,
                             sparse_terms *terms, stn_error *error) {
    double factors[3][STN_TASK_FACTORS];
    stn_status status = STN_OK;
    *terms = (sparse_terms){.count = count};
    if (count == 1 && !sparse_separable(task, factors))
        return stn_fail(error, STN_ERROR_UNSUPPORTED,
                        "these weights are not products of one factor for each axis, which the kernel requires: make "
                        "a new plan with strategy auto");
    for (int axis = 0; axis < 2 && count == 1 && status == STN_OK; axis++)
        status = make_factor(task, factors[axis + 1], fused, axis + 1, &terms->factor[0][axis], error);
    if (count > 1) status = split_taps(taps, terms, error);
    if (status == STN_OK) share_scales(task, terms);
    if (status == STN_OK && parts == 1) keep_sums(task, terms);
    if (status != STN_OK) sparse_terms_clear(terms);
    return status;
}

void sparse_terms_clear(sparse_terms *terms) {
    for (int q = 0; q < terms->count; q++)
        for (int axis = 0; axis < 2; axis++) stn_power_clear(&terms->factor[q][axis]);
    terms->count = 0;
}

void sparse_terms_round(const stn_task *task, const sparse_terms *terms, int q, int axis, int parts, float *to) {
    sparse_round(task, &terms->factor[q][axis], axis == 0 ? terms->scale : 1, parts, to);
}

/* Symbols of all terms' factors along y and x. */
typedef double complex term_symbols[SPARSE_MAX_TERMS][2][SPARSE_MAX_FREQUENCIES];

static bool find_symbols(const stn_task *task, const sparse_terms *terms, const sparse_frequencies along[3],
                         term_symbols symbols) {
    for (int axis = 0; axis < 2; axis++) {
        size_t size = (size_t)terms->factor[0][axis].size[2];
        float *rounded = calloc(size, sizeof *rounded);
        if (!rounded) return false;
        for (int q = 0; q < terms->count; q++) {
            sparse_terms_round(task, terms, q, axis, 1, rounded);
            for (int i = 0; i < along[axis + 1].count; i++) {
                double complex sum = 0;
                /* Horner's scheme. */
                for (size_t k = size; k-- > 0;) sum = sum * along[axis + 1].root[i] + rounded[k];
                symbols[q][axis][i] = sum;
            }
        }
        free(rounded);
    }
    return true;
}

bool sparse_sums_rounding(const stn_task *task, const stn_power *taps, const sparse_terms *terms, int fewest,
                          double launches, double error[SPARSE_MAX_TERMS + 1]) {
    sparse_frequencies along[3];
    term_symbols of;
    for (int axis = 0; axis < 3; axis++) sparse_frequencies_of(taps, axis, &along[axis]);
    const size_t all = sparse_frequencies_count(along), lines = (size_t)along[1].count;
    sparse_symbol *symbols = sparse_symbols_make(taps, NULL, 1, along);
    const bool found = symbols && find_symbols(task, terms, along, of);
    for (int q = 0; q < terms->count && found; q++) {
        for (size_t i = 0; i < all; i++) symbols[i].rounded += terms->scale * of[q][0][i % lines] * of[q][1][i / lines];
        if (q + 1 >= fewest) error[q + 1] = sparse_symbols_differ(symbols, all, launches);
    }
    free(symbols);
    return found;
}

double sparse_terms_rounding(const stn_task *task, const stn_power *taps, const sparse_terms *terms, int parts,
                             double launches) {
    double error[SPARSE_MAX_TERMS + 1];
    if (terms->count == 1)
        return sparse_rounding(task, &terms->factor[0][0], false, parts, launches) +
               sparse_rounding(task, &terms->factor[0][1], true, parts, launches);
    return sparse_sums_rounding(task, taps, terms, terms->count, launches, error) ? error[terms->count] : INFINITY;
}
