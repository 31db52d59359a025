/* Splits fused taps into separable terms of decreasing width: a pyramid (LoRAStencil, pyramidal
 * adaptation), or the powers of a star. */
#include <math.h>
#include <stdlib.h>

#include "strategies/lowrank/plane/separable_terms.h"

/* Relative to the largest weight: weights that differ by no more count as equal. */
#define EVEN_TOLERANCE 0x1p-60L
#define ZERO_THRESHOLD 0x1p-58L /* on the same scale: a row's remainder below this counts as zero */
/* Most that a term may exceed the remaining taps; otherwise its pivot is too small. */
#define MAX_GROWTH 4

/* ---- pyramid */

/* One quarter of taps that are even in both axes, with the centre. */
typedef struct quarter {
    int rows, columns;
    long double *weight;
} quarter;

static long double largest(const long double *a, int n, int stride) {
    long double most = 0;
    for (int i = 0; i < n; i++) most = fmaxl(most, fabsl(a[i * stride]));
    return most;
}

bool lowrank_take_quarter(const stn_power *taps, long double *weight) {
    int rows = taps->size[1] / 2 + 1, columns = taps->size[2] / 2 + 1;
    long double most = largest(taps->weight, taps->size[1] * taps->size[2], 1);
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

/* The pivot of row y, when all rows beyond it are zero: the outermost column, so that the remainder
 * becomes narrower as well, unless it is so small that the term would exceed the taps. -1 if the
 * row is zero. */
static int find_pivot(const quarter *q, int y, long double nothing) {
    long double row = largest(q->weight + y * q->columns, q->columns, 1);
    long double all = largest(q->weight, (y + 1) * q->columns, 1);
    if (row <= nothing) return -1;
    for (int x = q->columns - 1; x >= 0; x--) {
        long double pivot = fabsl(q->weight[y * q->columns + x]);
        if (pivot > nothing && largest(q->weight + x, y + 1, q->columns) * row <= MAX_GROWTH * all * pivot) return x;
    }
    return -1; /* unreachable: the row's largest weight is such a pivot */
}

/* Subtracts the term with pivot (y, x) from the quarter; row y and column x are zero afterwards. */
static void take_term(quarter *q, int y, int x, const stn_power *taps, double *u, double *v) {
    long double *row = q->weight + y * q->columns, pivot = row[x];
    for (int k = 0; k <= y; k++) {
        long double part = q->weight[k * q->columns + x] / pivot;
        u[taps->low[1] - k] = u[taps->low[1] + k] = (double)part;
        for (int j = 0; j < q->columns && k < y; j++)
            q->weight[k * q->columns + j] = j == x ? 0 : q->weight[k * q->columns + j] - part * row[j];
    }
    for (int j = 0; j < q->columns; j++) {
        v[taps->low[2] - j] = v[taps->low[2] + j] = (double)row[j];
        row[j] = 0;
    }
}

stn_status lowrank_split_pyramid(const stn_power *taps, lowrank_terms *terms, stn_error *error) {
    quarter q = {taps->size[1] / 2 + 1, taps->size[2] / 2 + 1, NULL};
    size_t count = (size_t)q.rows * (size_t)q.columns;
    q.weight = calloc(count, sizeof *q.weight);
    if (!q.weight) return stn_fail_memory(error, "a quarter of fused taps", count * sizeof *q.weight);
    if (lowrank_take_quarter(taps, q.weight)) {
        long double nothing = ZERO_THRESHOLD * largest(q.weight, (int)count, 1);
        for (int y = q.rows - 1; y >= 0; y--) {
            int x = find_pivot(&q, y, nothing), k = terms->count;
            if (x < 0) continue;
            take_term(&q, y, x, taps, terms->u + k * terms->rows, terms->v + k * terms->columns);
            terms->count++;
        }
    }
    free(q.weight);
    return STN_OK;
}

/* ---- star */

/* Powers 0 to `most` of one axis's weights: power[k] is a row of most * (low + high) + 1, centred
 * at k * low. */
static void fill_powers(const long double *axis, int size, int most, long double *power) {
    int pitch = most * (size - 1) + 1;
    power[0] = 1;
    for (int k = 1; k <= most; k++)
        for (int i = 0; i < (k - 1) * (size - 1) + 1; i++)
            for (int j = 0; j < size; j++) power[k * pitch + i + j] += power[(k - 1) * pitch + i] * axis[j];
}

/* The star's weights along axes 1 and 2; half of the centre weight goes to each. */
static void fill_axes(const stn_task *task, long double *const axis[2]) {
    for (size_t k = 0; k < task->ntaps; k++) {
        const stn_tap *tap = &task->taps[k];
        int along = tap->offset[1] ? 0 : 1;
        bool centre = !tap->offset[1] && !tap->offset[2];
        axis[along][tap->offset[along + 1] + task->reach[along + 1][0]] += tap->weight / (centre ? 2 : 1);
        if (centre) axis[0][task->reach[1][0]] += tap->weight / 2;
    }
}

stn_status lowrank_split_star(const stn_task *task, int fused, lowrank_terms *terms, stn_error *error) {
    if (task->pattern != STN_PATTERN_STAR || task->rank != 2) return STN_OK;
    int size[2], pitch[2];
    for (int i = 0; i < 2; i++) {
        size[i] = task->reach[i + 1][0] + task->reach[i + 1][1] + 1;
        pitch[i] = fused * (size[i] - 1) + 1;
    }
    size_t rows = (size_t)fused + 1, count = rows * (size_t)(pitch[0] + pitch[1]) + (size_t)(size[0] + size[1]);
    long double *memory = calloc(count, sizeof *memory);
    if (!memory) return stn_fail_memory(error, "powers of a star", count * sizeof *memory);
    long double *power[2] = {memory, memory + rows * (size_t)pitch[0]};
    long double *const axis[2] = {power[1] + rows * (size_t)pitch[1], power[1] + rows * (size_t)pitch[1] + size[0]};
    fill_axes(task, axis);
    for (int i = 0; i < 2; i++) fill_powers(axis[i], size[i], fused, power[i]);
    long double ways = 1; /* binomial coefficient, fused over k */
    for (int k = 0; k <= fused; k++) {
        int part[2] = {k, fused - k};
        double *to[2] = {terms->u + k * terms->rows, terms->v + k * terms->columns};
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < part[i] * (size[i] - 1) + 1; j++)
                to[i][(fused - part[i]) * task->reach[i + 1][0] + j] =
                    (double)(power[i][part[i] * pitch[i] + j] * (i ? ways : 1));
        ways = ways * (fused - k) / (k + 1);
    }
    terms->count = fused + 1;
    free(memory);
    return STN_OK;
}
