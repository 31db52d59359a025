/* Powers of a stencil, and their singular value decomposition: cross approximation to the rank, then one-sided Jacobi. */
#include "strategies/lowrank_terms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- powers ---------------------------------------------------------------------------------------------------- */

static stn_status fail_taps(stn_error *error, size_t bytes) { return stn_fail_memory(error, "fused taps", bytes); }

stn_status lowrank_taps_make(const stn_task *task, lowrank_taps *taps, stn_error *error) {
    *taps = (lowrank_taps){.fused = 1,
                           .rows = task->reach[1][0] + task->reach[1][1] + 1,
                           .columns = task->reach[2][0] + task->reach[2][1] + 1,
                           .low = {task->reach[1][0], task->reach[2][0]}};
    size_t count = (size_t)taps->rows * (size_t)taps->columns;
    taps->weight = calloc(count, sizeof *taps->weight);
    if (!taps->weight) return fail_taps(error, count * sizeof *taps->weight);
    for (size_t k = 0; k < task->ntaps; k++) {
        const stn_tap *tap = &task->taps[k];
        taps->weight[(tap->offset[1] + taps->low[0]) * taps->columns + tap->offset[2] + taps->low[1]] = tap->weight;
    }
    return STN_OK;
}

stn_status lowrank_taps_fuse(const stn_task *task, lowrank_taps *taps, stn_error *error) {
    lowrank_taps next = {.fused = taps->fused + 1,
                         .rows = taps->rows + task->reach[1][0] + task->reach[1][1],
                         .columns = taps->columns + task->reach[2][0] + task->reach[2][1],
                         .low = {taps->low[0] + task->reach[1][0], taps->low[1] + task->reach[2][0]}};
    size_t count = (size_t)next.rows * (size_t)next.columns;
    next.weight = calloc(count, sizeof *next.weight);
    if (!next.weight) return fail_taps(error, count * sizeof *next.weight);
    for (size_t k = 0; k < task->ntaps; k++) {
        const stn_tap *tap = &task->taps[k];
        int64_t dy = tap->offset[1] + task->reach[1][0], dx = tap->offset[2] + task->reach[2][0];
        for (int y = 0; y < taps->rows; y++)
            for (int x = 0; x < taps->columns; x++)
                next.weight[(y + dy) * next.columns + x + dx] += tap->weight * taps->weight[y * taps->columns + x];
    }
    lowrank_taps_clear(taps);
    *taps = next;
    return STN_OK;
}

void lowrank_taps_clear(lowrank_taps *taps) {
    free(taps->weight);
    memset(taps, 0, sizeof *taps);
}

/* ---- terms ----------------------------------------------------------------------------------------------------- */

/* W = Q M^T, column by column: q[k] of `rows` numbers, m[k] of `columns`. */
typedef struct factors {
    int rows, columns, count;
    long double *q, *m;
} factors;

static long double dot(const long double *a, const long double *b, int n) {
    long double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static long double norm(const long double *a, int n) { return sqrtl(dot(a, a, n)); }

/* Columns of W that span it, orthonormal, into f->q: the residual's column with the largest entry, again and again until
 * nothing above `least` is left. `rest` is a copy of W and is used up. */
static void find_columns(factors *f, long double *rest, long double least) {
    int most = f->rows < f->columns ? f->rows : f->columns;
    for (f->count = 0; f->count < most; f->count++) {
        int best = 0;
        for (int i = 1; i < f->rows * f->columns; i++)
            if (fabsl(rest[i]) > fabsl(rest[best])) best = i;
        if (fabsl(rest[best]) <= least) return;
        long double *q = f->q + f->count * f->rows;
        for (int y = 0; y < f->rows; y++) q[y] = rest[y * f->columns + best % f->columns];
        for (int turn = 0; turn < 2; turn++) { /* twice is enough for full precision */
            for (int k = 0; k < f->count; k++) {
                long double along = dot(q, f->q + k * f->rows, f->rows);
                for (int y = 0; y < f->rows; y++) q[y] -= along * f->q[k * f->rows + y];
            }
            long double size = norm(q, f->rows);
            for (int y = 0; y < f->rows; y++) q[y] /= size;
        }
        for (int x = 0; x < f->columns; x++) {
            long double along = 0;
            for (int y = 0; y < f->rows; y++) along += q[y] * rest[y * f->columns + x];
            for (int y = 0; y < f->rows; y++) rest[y * f->columns + x] -= along * q[y];
        }
    }
}

static void rotate(long double *a, long double *b, int n, long double c, long double s) {
    for (int i = 0; i < n; i++) {
        long double x = a[i], y = b[i];
        a[i] = c * x - s * y;
        b[i] = s * x + c * y;
    }
}

/* Turns pairs of columns of M, and of Q alike, until M's are orthogonal: their lengths are the singular values. */
static void make_orthogonal(factors *f) {
    bool turned = true;
    for (int sweep = 0; sweep < 40 && turned; sweep++) {
        turned = false;
        for (int i = 0; i < f->count; i++)
            for (int j = i + 1; j < f->count; j++) {
                long double *a = f->m + i * f->columns, *b = f->m + j * f->columns;
                long double aa = dot(a, a, f->columns), bb = dot(b, b, f->columns), ab = dot(a, b, f->columns);
                if (fabsl(ab) <= 1e-18L * sqrtl(aa * bb)) continue;
                long double tau = (bb - aa) / (2 * ab);
                long double t = (tau < 0 ? -1 : 1) / (fabsl(tau) + sqrtl(1 + tau * tau)), c = 1 / sqrtl(1 + t * t);
                rotate(a, b, f->columns, c, c * t);
                rotate(f->q + i * f->rows, f->q + j * f->rows, f->rows, c, c * t);
                turned = true;
            }
    }
}

/* The factors by falling length of M's columns, the shortest dropped as long as they weigh no more than `dropped`. */
static int order_terms(const factors *f, int *order, long double *length, long double dropped) {
    for (int k = 0; k < f->count; k++) {
        length[k] = norm(f->m + k * f->columns, f->columns);
        int place = k;
        for (; place > 0 && length[order[place - 1]] < length[k]; place--) order[place] = order[place - 1];
        order[place] = k;
    }
    int count = f->count;
    long double tail = 0;
    while (count > 1) {
        tail += length[order[count - 1]] * length[order[count - 1]];
        if (sqrtl(tail) > dropped) break;
        count--;
    }
    return count;
}

static void fill_terms(const factors *f, const int *order, const long double *length, lowrank_terms *terms) {
    for (int q = 0; q < terms->count && f->count; q++) {
        int k = order[q];
        long double root = sqrtl(length[k]); /* shared out evenly */
        for (int y = 0; y < f->rows; y++) terms->u[q * f->rows + y] = (double)(f->q[k * f->rows + y] * root);
        for (int x = 0; x < f->columns; x++) terms->v[q * f->columns + x] = (double)(f->m[k * f->columns + x] / root);
    }
}

static double residual_of(const lowrank_taps *taps, const lowrank_terms *terms, long double size) {
    long double sum = 0;
    for (int y = 0; y < taps->rows; y++)
        for (int x = 0; x < taps->columns; x++) {
            long double rest = taps->weight[y * taps->columns + x];
            for (int q = 0; q < terms->count; q++)
                rest -= (long double)terms->u[q * taps->rows + y] * terms->v[q * taps->columns + x];
            sum += rest * rest;
        }
    return size > 0 ? (double)(sqrtl(sum) / size) : 0;
}

stn_status lowrank_terms_make(const lowrank_taps *taps, double tolerance, lowrank_terms *terms, stn_error *error) {
    memset(terms, 0, sizeof *terms);
    int rows = taps->rows, columns = taps->columns, most = rows < columns ? rows : columns;
    size_t all = (size_t)rows * (size_t)columns, work = all + (size_t)most * (size_t)(rows + columns + 2);
    long double *memory = calloc(work, sizeof *memory);
    terms->u = calloc((size_t)most * (size_t)rows, sizeof *terms->u);
    terms->v = calloc((size_t)most * (size_t)columns, sizeof *terms->v);
    if (!memory || !terms->u || !terms->v) {
        free(memory);
        lowrank_terms_clear(terms);
        return stn_fail_memory(error, "the terms of fused taps", work * sizeof *memory);
    }
    factors f = {rows, columns, 0, memory + all, memory + all + (size_t)most * (size_t)rows};
    long double *length = f.m + (size_t)most * (size_t)columns;
    int *order = (int *)(length + most);
    long double size = norm(taps->weight, (int)all), rounding = 0x1p-54L;
    memcpy(memory, taps->weight, all * sizeof *memory);
    find_columns(&f, memory, size * rounding * 0x1p-8L);
    for (int k = 0; k < f.count; k++)
        for (int y = 0; y < rows; y++)
            for (int x = 0; x < columns; x++) f.m[k * columns + x] += f.q[k * rows + y] * taps->weight[y * columns + x];
    make_orthogonal(&f);
    terms->rows = rows, terms->columns = columns;
    terms->count = order_terms(&f, order, length, size * fmaxl(tolerance, rounding));
    if (terms->count < 1) terms->count = 1;
    fill_terms(&f, order, length, terms);
    terms->residual = residual_of(taps, terms, size);
    free(memory);
    return STN_OK;
}

void lowrank_terms_clear(lowrank_terms *terms) {
    free(terms->u);
    free(terms->v);
    memset(terms, 0, sizeof *terms);
}
