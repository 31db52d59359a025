/* Spanning slices of fused taps, by pivoted Gram-Schmidt orthogonalisation. */
#include "strategies/lowrank/volume/spanning_slices.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A slice is linearly independent of the pivots if its residual is larger than this, relative to
 * the norm of all weights. */
#define INDEPENDENT 0x1p-51L

static long double dot(const long double *a, const long double *b, int n) {
    long double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static bool cut_slices(const stn_power *taps, int axis, lowrank_slices *s) {
    *s = (lowrank_slices){.count = taps->size[axis], .length = taps->size[(axis + 1) % 3] * taps->size[(axis + 2) % 3]};
    if (s->count < 1 || s->length < 1) return false; /* impossible; for the static analyser */
    /* Slices, q, one vector more, and space for the slices' residuals. */
    size_t vectors = 3 * (size_t)s->count + 1;
    s->slice = calloc(vectors * (size_t)s->length, sizeof *s->slice);
    if (!s->slice) return false;
    s->q = s->slice + (size_t)s->count * (size_t)s->length;
    for (int z = 0, i = 0; z < taps->size[0]; z++)
        for (int y = 0; y < taps->size[1]; y++)
            for (int x = 0; x < taps->size[2]; x++, i++) {
                int at = axis ? x : z, place = axis ? z * taps->size[1] + y : y * taps->size[2] + x;
                s->slice[at * s->length + place] = taps->weight[i];
            }
    return true;
}

/* The residual of slice i, orthogonalised twice against all q, which suffices for full precision.
 */
static long double residual_of(lowrank_slices *s, int i, long double *rest, long double along[LOWRANK_CORE_SIDE]) {
    memcpy(rest, s->slice + i * s->length, (size_t)s->length * sizeof *rest);
    memset(along, 0, LOWRANK_CORE_SIDE * sizeof *along);
    for (int turn = 0; turn < 2; turn++)
        for (int k = 0; k < s->rank; k++) {
            long double *q = s->q + k * s->length, part = dot(rest, q, s->length);
            for (int j = 0; j < s->length; j++) rest[j] -= part * q[j];
            along[k] += part;
        }
    return sqrtl(dot(rest, rest, s->length));
}

/* The pivot that slice i equals; -1 if none. */
static int same_pivot(const lowrank_slices *s, int i) {
    for (int k = 0; k < s->rank; k++) {
        const long double *a = s->slice + i * s->length, *b = s->slice + s->pivot[k] * s->length;
        bool equal = true;
        for (int j = 0; j < s->length && equal; j++) equal = fabsl(a[j] - b[j]) <= 0x1p-58L * fabsl(b[j]);
        if (equal) return k;
    }
    return -1;
}

bool lowrank_fibre_is_zero(const stn_power *taps, int z, int x) {
    for (int y = 0; y < taps->size[1]; y++)
        if (*stn_power_at(taps, z, y, x) != 0) return false;
    return true;
}

/* Counts the terms that pivot number k adds to the core: one for each pivot along z that it crosses
 * in a fibre of the taps that is not zero. */
static void count_terms(const stn_power *taps, const lowrank_slices *along_z, int k, lowrank_slices *s) {
    for (int i = 0; along_z && i < along_z->rank; i++)
        s->terms += !lowrank_fibre_is_zero(taps, along_z->pivot[i], s->pivot[k]);
}

/* Adds slice i to the pivots if its residual exceeds `least`. */
static void take_pivot(lowrank_slices *s, int i, long double least) {
    long double *const along = s->dropped[i].along, *rest = s->q + s->rank * s->length;
    if (same_pivot(s, i) >= 0) return;
    long double left = residual_of(s, i, rest, along);
    s->dropped[i].of = s->rank;
    if (left <= least) return;
    for (int j = 0; j < s->length; j++) rest[j] /= left;
    for (int k = 0; k < s->rank; k++) s->upper[k][s->rank] = along[k];
    s->upper[s->rank][s->rank] = left;
    s->pivot[s->rank++] = i;
}

/* Adds slices from the outermost inwards. */
static void find_outer(const stn_power *taps, const lowrank_slices *along_z, lowrank_slices *s, int low,
                       long double least) {
    for (int reach = s->count; reach >= 0; reach--)
        for (int side = reach ? 1 : -1; side >= -1 && s->terms <= LOWRANK_CORE_TERMS; side -= 2) {
            const int i = low + side * reach, before = s->rank;
            if (i >= 0 && i < s->count) take_pivot(s, i, least);
            if (s->rank > before) count_terms(taps, along_z, before, s);
        }
}

/* Adds the slice with the largest residual first. `left` holds the residuals of all slices,
 * accurate enough to choose by. */
static void find_largest(const stn_power *taps, const lowrank_slices *along_z, lowrank_slices *s, long double *left,
                         long double least) {
    memcpy(left, s->slice, (size_t)s->count * (size_t)s->length * sizeof *left);
    for (int turn = 0; turn < s->count; turn++) {
        int best = -1, before = s->rank;
        long double most = least * least;
        for (int i = 0; i < s->count; i++) {
            long double size = dot(left + i * s->length, left + i * s->length, s->length);
            if (size > most) best = i, most = size;
        }
        if (best >= 0) take_pivot(s, best, least);
        if (s->rank == before) return;
        count_terms(taps, along_z, before, s);
        if (s->terms > LOWRANK_CORE_TERMS) return;
        const long double *q = s->q + before * s->length;
        for (int i = 0; i < s->count; i++) {
            long double *rest = left + i * s->length, part = dot(rest, q, s->length);
            for (int j = 0; j < s->length; j++) rest[j] = i == best ? 0 : rest[j] - part * q[j];
        }
    }
}

static void find_pivots(const stn_power *taps, const lowrank_slices *along_z, bool outer_first, int low,
                        lowrank_slices *s) {
    const long double least = INDEPENDENT * sqrtl(dot(s->slice, s->slice, s->count * s->length));
    if (outer_first)
        find_outer(taps, along_z, s, low, least);
    else
        find_largest(taps, along_z, s, s->q + (size_t)(s->count + 1) * (size_t)s->length, least);
    if (s->rank) return;
    s->pivot[s->rank++] = low; /* all slices are zero */
    memset(s->q, 0, (size_t)s->length * sizeof *s->q);
    s->upper[0][0] = 1;
}

/* Writes every slice as a combination of the pivots. A slice equal to a pivot gets coefficient 1
 * exactly; coefficients of the size of rounding are dropped. */
void lowrank_slices_divide(lowrank_slices *s) {
    long double *rest = s->q + (size_t)s->count * (size_t)s->length;
    for (int i = 0; i < s->count; i++) {
        long double *const along = s->dropped[i].along;
        int same = same_pivot(s, i);
        if (same >= 0) {
            s->part[same][i] = 1;
            continue;
        }
        if (s->dropped[i].of != s->rank) residual_of(s, i, rest, along);
        for (int k = s->rank - 1; k >= 0; k--) {
            long double value = along[k];
            for (int j = k + 1; j < s->rank; j++) value -= s->upper[k][j] * s->part[j][i];
            s->part[k][i] = value / s->upper[k][k];
        }
        for (int k = 0; k < s->rank; k++)
            if (fabsl(s->part[k][i]) < 0x1p-52L) s->part[k][i] = 0;
    }
}

bool lowrank_slices_make(const stn_power *taps, int axis, bool outer_first, const lowrank_slices *along_z,
                         lowrank_slices *slices) {
    if (!cut_slices(taps, axis, slices)) return false;
    find_pivots(taps, along_z, outer_first, taps->low[axis], slices);
    return slices->terms <= LOWRANK_CORE_TERMS;
}

void lowrank_slices_clear(lowrank_slices *slices) {
    free(slices->slice);
    slices->slice = NULL;
}
