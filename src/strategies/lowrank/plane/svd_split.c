/* Splits fused taps into separable terms by singular value decomposition: cross approximation finds
 * the rank, then one-sided Jacobi rotations. The number of terms is minimal; each is as wide as the
 * taps. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "strategies/lowrank/plane/separable_terms.h"

/* Columns whose inner product is smaller, relative to their lengths, count as orthogonal: its
 * square vanishes in rounding. */
#define ORTHOGONAL 1e-16L
#define SQRT2 1.41421356237309504880168872420969808L
/* Elimination may leave a residual that is larger by this factor than that of the best terms. */
#define SLACK 16

/* W = Q M^T, column by column: q[k] has `rows` numbers, m[k] has `columns`. */
typedef struct factors {
    int rows, columns, count;
    bool quarter; /* W is one quarter of even taps */
    long double *q, *m;
} factors;

static long double dot(const long double *a, const long double *b, int n) {
    long double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static long double norm(const long double *a, int n) { return sqrtl(dot(a, a, n)); }

/* Fills f->q with orthonormal columns that span W: repeatedly takes the residual's column with the
 * largest entry until no entry exceeds `least`. `rest` is a copy of W and is overwritten. */
static void find_columns(factors *f, long double *rest, long double least) {
    int most = f->rows < f->columns ? f->rows : f->columns;
    for (f->count = 0; f->count < most; f->count++) {
        int best = 0;
        for (int i = 1; i < f->rows * f->columns; i++)
            if (fabsl(rest[i]) > fabsl(rest[best])) best = i;
        if (fabsl(rest[best]) <= least) return;
        long double *q = f->q + f->count * f->rows;
        for (int y = 0; y < f->rows; y++) q[y] = rest[y * f->columns + best % f->columns];
        for (int pass = 0; pass < 2; pass++) { /* two passes suffice for full precision */
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

/* ---- lower bound on the number of terms */

/* Elimination with full pivoting leaves nearly as little as the singular vectors do. For even taps
 * one quarter suffices: a submatrix has no larger rank than the whole. */
bool lowrank_svd_exceeds(const stn_power *taps, bool even, double tolerance, int most) {
    int rows = even ? taps->low[1] + 1 : taps->size[1], columns = even ? taps->low[2] + 1 : taps->size[2];
    int all = taps->size[1] * taps->size[2], count = rows * columns;
    long double *rest = calloc((size_t)count, sizeof *rest);
    if (!rest) return false;
    for (int y = 0; y < rows; y++)
        memcpy(rest + y * columns, taps->weight + y * taps->size[2], (size_t)columns * sizeof *rest);
    long double dropped = SLACK * norm(taps->weight, all) * fmaxl(tolerance, LOWRANK_ROUNDING);
    for (int k = 0; k < most; k++) {
        int best = 0;
        for (int i = 1; i < count; i++)
            if (fabsl(rest[i]) > fabsl(rest[best])) best = i;
        if (fabsl(rest[best]) * sqrtl(count) <= dropped) break;
        const long double *row = rest + best / columns * columns, pivot = rest[best];
        for (int y = 0; y < rows; y++) {
            long double part = rest[y * columns + best % columns] / pivot;
            for (int x = 0; x < columns && y != best / columns; x++) rest[y * columns + x] -= part * row[x];
        }
        memset(rest + best / columns * columns, 0, (size_t)columns * sizeof *rest);
    }
    bool exceeds = norm(rest, count) > dropped;
    free(rest);
    return exceeds;
}

/* ---- the terms */

static void rotate(long double *a, long double *b, int n, long double c, long double s) {
    for (int i = 0; i < n; i++) {
        long double x = a[i], y = b[i];
        a[i] = c * x - s * y;
        b[i] = s * x + c * y;
    }
}

/* Rotates columns i and j of M, and of Q alike, so that those of M are orthogonal; updates their
 * squared lengths. */
static bool rotate_pair(factors *f, int i, int j, long double *length2) {
    long double *a = f->m + i * f->columns, *b = f->m + j * f->columns, ab = dot(a, b, f->columns);
    if (fabsl(ab) <= ORTHOGONAL * sqrtl(length2[i] * length2[j])) return false;
    long double tau = (length2[j] - length2[i]) / (2 * ab);
    long double t = (tau < 0 ? -1 : 1) / (fabsl(tau) + sqrtl(1 + tau * tau)), c = 1 / sqrtl(1 + t * t);
    rotate(a, b, f->columns, c, c * t);
    rotate(f->q + i * f->rows, f->q + j * f->rows, f->rows, c, c * t);
    length2[i] = fmaxl(length2[i] - t * ab, 0);
    length2[j] += t * ab;
    return true;
}

/* Rotates all pairs until none changes; the lengths of M's columns are then the singular values.
 * `length2` is scratch. */
static void make_orthogonal(factors *f, long double *length2) {
    bool rotated = true;
    for (int iteration = 0; iteration < 40 && rotated; iteration++) {
        rotated = false;
        for (int k = 0; k < f->count; k++) length2[k] = dot(f->m + k * f->columns, f->m + k * f->columns, f->columns);
        for (int i = 0; i < f->count; i++)
            for (int j = i + 1; j < f->count; j++) rotated = rotate_pair(f, i, j, length2) || rotated;
    }
}

/* Orders the terms by decreasing length of M's columns, and drops the shortest whose norm, together
 * with `left`, does not exceed `dropped`. */
static int order_terms(const factors *f, int *order, long double *length, long double left, long double dropped) {
    for (int k = 0; k < f->count; k++) {
        length[k] = norm(f->m + k * f->columns, f->columns);
        int slot = k;
        for (; slot > 0 && length[order[slot - 1]] < length[k]; slot--) order[slot] = order[slot - 1];
        order[slot] = k;
    }
    int count = f->count;
    long double tail = left * left;
    while (count > 1) {
        tail += length[order[count - 1]] * length[order[count - 1]];
        if (sqrtl(tail) > dropped) break;
        count--;
    }
    return count;
}

/* Relative to the largest weight: weights that differ by no more count as equal. */
#define EVEN_TOLERANCE 0x1p-60L

/* Takes one quarter of taps that are even in both axes, with the centre: weight[y * (columns / 2 +
 * 1) + x]. False if they are not even. */
static bool take_quarter(const stn_power *taps, long double *weight) {
    int rows = taps->size[1] / 2 + 1, columns = taps->size[2] / 2 + 1;
    long double most = 0;
    for (int i = 0; i < taps->size[1] * taps->size[2]; i++) most = fmaxl(most, fabsl(taps->weight[i]));
    if (taps->size[1] != 2 * taps->low[1] + 1 || taps->size[2] != 2 * taps->low[2] + 1) return false;
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < columns; x++) {
            long double sum = 0;
            for (int side = 0; side < 4; side++) {
                int row = taps->low[1] + (side & 1 ? y : -y), column = taps->low[2] + (side & 2 ? x : -x);
                long double one = taps->weight[row * taps->size[2] + column];
                if (side && fabsl(one - sum / side) > most * EVEN_TOLERANCE) return false;
                sum += one;
            }
            weight[y * columns + x] = sum / 4;
        }
    return true;
}

/* Takes the taps. If they are even, takes a quarter of them: weights that represent two or four
 * equal weights are scaled so that the singular values do not change. */
static factors take_weights(const stn_power *taps, long double *weight) {
    factors f = {.rows = taps->size[1], .columns = taps->size[2]};
    if (take_quarter(taps, weight)) {
        f = (factors){.rows = taps->low[1] + 1, .columns = taps->low[2] + 1, .quarter = true};
        for (int y = 0; y < f.rows; y++)
            for (int x = 0; x < f.columns; x++) weight[y * f.columns + x] *= (y ? SQRT2 : 1) * (x ? SQRT2 : 1);
    } else
        memcpy(weight, taps->weight, (size_t)f.rows * (size_t)f.columns * sizeof *weight);
    return f;
}

/* Writes one vector of a term, mirrored if it is that of a quarter. */
static void fill_vector(const factors *f, const long double *from, int count, long double scale, double *to) {
    for (int i = 0; i < count; i++)
        if (f->quarter)
            to[count - 1 - i] = to[count - 1 + i] = (double)(from[i] * scale / (i ? SQRT2 : 1));
        else
            to[i] = (double)(from[i] * scale);
}

static void fill_terms(const factors *f, const int *order, const long double *length, lowrank_terms *terms) {
    for (int q = 0; q < terms->count && f->count; q++) {
        int k = order[q];
        long double root = sqrtl(length[k]); /* splits the singular value evenly between u and v */
        fill_vector(f, f->q + k * f->rows, f->rows, root, terms->u + q * terms->rows);
        fill_vector(f, f->m + k * f->columns, f->columns, 1 / root, terms->v + q * terms->columns);
    }
}

stn_status lowrank_split_svd(const stn_power *taps, double dropped, lowrank_terms *terms, stn_error *error) {
    int most = taps->size[1] < taps->size[2] ? taps->size[1] : taps->size[2];
    size_t all = (size_t)taps->size[1] * (size_t)taps->size[2];
    size_t work = 2 * all + (size_t)most * (size_t)(taps->size[1] + taps->size[2] + 2);
    long double *memory = calloc(work, sizeof *memory);
    if (!memory) return stn_fail_memory(error, "the terms of fused taps", work * sizeof *memory);
    long double *weight = memory, *rest = memory + all;
    factors f = take_weights(taps, weight);
    f.q = rest + all;
    f.m = f.q + most * f.rows;
    long double *length = f.m + most * f.columns;
    int *order = (int *)(length + most);
    size_t count = (size_t)f.rows * (size_t)f.columns;
    memcpy(rest, weight, count * sizeof *rest);
    find_columns(&f, rest, fmaxl(norm(weight, (int)count) * 0x1p-62L, dropped / (SLACK * sqrtl(count))));
    for (int k = 0; k < f.count; k++)
        for (int y = 0; y < f.rows; y++)
            for (int x = 0; x < f.columns; x++)
                f.m[k * f.columns + x] += f.q[k * f.rows + y] * weight[y * f.columns + x];
    make_orthogonal(&f, length);
    terms->count = order_terms(&f, order, length, norm(rest, (int)count), dropped);
    if (terms->count < 1) terms->count = 1;
    fill_terms(&f, order, length, terms);
    free(memory);
    return STN_OK;
}
