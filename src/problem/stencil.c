/* Stencils from taps or from a dense array of weights: validation, sorting, accessors. */
#include "problem/stencil.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void stn_offset_print(int rank, const int64_t offset[STN_MAX_RANK], char text[STN_OFFSET_TEXT]) {
    int used = snprintf(text, STN_OFFSET_TEXT, "(");
    for (int axis = 0; axis < rank; axis++)
        used += snprintf(text + used, STN_OFFSET_TEXT - (size_t)used, "%s%" PRId64, axis ? ", " : "", offset[axis]);
    snprintf(text + used, STN_OFFSET_TEXT - (size_t)used, ")");
}

/* A tap and its index in the caller's list, which error messages name after sorting. */
typedef struct indexed_tap {
    stn_tap tap;
    size_t index;
} indexed_tap;

static int compare_offsets(const stn_tap *a, const stn_tap *b) {
    for (int axis = 0; axis < STN_MAX_RANK; axis++)
        if (a->offset[axis] != b->offset[axis]) return a->offset[axis] < b->offset[axis] ? -1 : 1;
    return 0;
}

static int compare_taps(const void *a, const void *b) {
    const indexed_tap *first = a, *second = b;
    int order = compare_offsets(&first->tap, &second->tap);
    return order ? order : (first->index > second->index) - (first->index < second->index);
}

static stn_status check_rank(int rank, stn_error *error) {
    if (rank < 1 || rank > STN_MAX_RANK)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "a stencil of rank %d is not possible: use 1, 2 or 3", rank);
    return STN_OK;
}

static stn_status check_tap(int rank, size_t index, const stn_tap *tap, stn_error *error) {
    char offset[STN_OFFSET_TEXT];
    for (int axis = 0; axis < STN_MAX_RANK; axis++) {
        int64_t o = tap->offset[axis];
        if (axis >= rank && o != 0) {
            stn_offset_print(STN_MAX_RANK, tap->offset, offset);
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "tap %zu has the offset %s, but its stencil has rank %d: entries past the rank must be 0",
                            index, offset, rank);
        }
        if (o > STN_MAX_HOST_RADIUS || o < -STN_MAX_HOST_RADIUS)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "tap %zu has the offset %" PRId64 " along axis %d: the furthest possible is %d either way",
                            index, o, axis, STN_MAX_HOST_RADIUS);
    }
    if (isfinite(tap->weight)) return STN_OK;
    stn_offset_print(rank, tap->offset, offset);
    return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                    "tap %zu at offset %s has the weight %g: weights must be finite numbers", index, offset,
                    tap->weight);
}

static stn_status fail_count(size_t ntaps, stn_error *error) {
    return stn_fail(
        error, STN_ERROR_INVALID_ARGUMENT,
        "the stencil has %zu taps: the most possible are %d; in Python stentor.correlate takes more, on the "
        "host and past sides that are not fixed",
        ntaps, STN_MAX_TAPS);
}

static stn_status check_taps(int rank, size_t ntaps, const stn_tap *taps, stn_error *error) {
    STN_TRY(check_rank(rank, error));
    if (!ntaps) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the stencil has no taps: it needs at least one");
    if (!taps)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the list of taps is NULL: pass an array of %zu taps",
                        ntaps);
    if (ntaps > STN_MAX_TAPS) return fail_count(ntaps, error);
    for (size_t i = 0; i < ntaps; i++) STN_TRY(check_tap(rank, i, &taps[i], error));
    return STN_OK;
}

static stn_status check_distinct(int rank, size_t ntaps, const indexed_tap *sorted, stn_error *error) {
    for (size_t i = 1; i < ntaps; i++) {
        if (compare_offsets(&sorted[i - 1].tap, &sorted[i].tap) != 0) continue;
        char offset[STN_OFFSET_TEXT];
        stn_offset_print(rank, sorted[i].tap.offset, offset);
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "taps %zu and %zu are both at offset %s: add their weights into one tap", sorted[i - 1].index,
                        sorted[i].index, offset);
    }
    return STN_OK;
}

stn_status stn_stencil_create(int rank, size_t ntaps, const stn_tap *taps, stn_stencil **stencil, stn_error *error) {
    if (!stencil)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "there is no place for the stencil: pass a stn_stencil **");
    *stencil = NULL;
    STN_TRY(check_taps(rank, ntaps, taps, error));

    stn_status status = STN_OK;
    indexed_tap *sorted = malloc(ntaps * sizeof *sorted);
    stn_stencil *made = calloc(1, sizeof *made);
    if (made) made->taps = malloc(ntaps * sizeof *made->taps);
    if (!sorted || !made || !made->taps) {
        status = stn_fail_memory(error, "a stencil", ntaps * (sizeof *sorted + sizeof *made->taps));
        goto done;
    }
    for (size_t i = 0; i < ntaps; i++) sorted[i] = (indexed_tap){taps[i], i};
    qsort(sorted, ntaps, sizeof *sorted, compare_taps);
    STN_TRY_GOTO(status, check_distinct(rank, ntaps, sorted, error), done);
    for (size_t i = 0; i < ntaps; i++) made->taps[i] = sorted[i].tap;
    made->rank = rank;
    made->ntaps = ntaps;
    *stencil = made;
    made = NULL;
done:
    stn_stencil_destroy(made);
    free(sorted);
    return status;
}

static stn_status check_dense(int rank, const size_t *extent, const double *weights, stn_error *error) {
    STN_TRY(check_rank(rank, error));
    if (!extent || !weights)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the dense stencil's %s are NULL: pass an array",
                        extent ? "weights" : "extents");
    for (int axis = 0; axis < rank; axis++) {
        if (extent[axis] % 2 == 0)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "the dense stencil has %zu weights along axis %d, so it has no centre: "
                            "use an odd extent, padded with zeros if need be",
                            extent[axis], axis);
        if (extent[axis] > 2 * STN_MAX_HOST_RADIUS + 1)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "the dense stencil has %zu weights along axis %d: the most possible are %d", extent[axis],
                            axis, 2 * STN_MAX_HOST_RADIUS + 1);
    }
    return STN_OK;
}

/* The offset of element `index` of a centred dense array in C order. */
static void dense_offset(int rank, const size_t *extent, size_t index, int64_t offset[STN_MAX_RANK]) {
    memset(offset, 0, STN_MAX_RANK * sizeof *offset);
    for (int axis = rank - 1; axis >= 0; axis--) {
        offset[axis] = (int64_t)(index % extent[axis]) - (int64_t)(extent[axis] / 2);
        index /= extent[axis];
    }
}

stn_status stn_stencil_create_dense(int rank, const size_t *extent, const double *weights, stn_stencil **stencil,
                                    stn_error *error) {
    if (!stencil)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "there is no place for the stencil: pass a stn_stencil **");
    *stencil = NULL;
    STN_TRY(check_dense(rank, extent, weights, error));

    size_t total = 1, ntaps = 0;
    for (int axis = 0; axis < rank; axis++) total *= extent[axis]; /* at most 2049^3 */
    for (size_t i = 0; i < total; i++) {
        ntaps += weights[i] != 0.0;
        if (isfinite(weights[i])) continue;
        char offset[STN_OFFSET_TEXT];
        int64_t o[STN_MAX_RANK];
        dense_offset(rank, extent, i, o);
        stn_offset_print(rank, o, offset);
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the dense stencil's element %zu, offset %s, is %g: weights must be finite numbers", i, offset,
                        weights[i]);
    }
    if (ntaps > STN_MAX_TAPS) return fail_count(ntaps, error);
    /* if all are zero, one zero tap remains at the centre */
    stn_tap *taps = calloc(ntaps ? ntaps : 1, sizeof *taps);
    if (!taps) return stn_fail_memory(error, "a stencil", ntaps * sizeof *taps);
    for (size_t i = 0, k = 0; i < total; i++) {
        if (weights[i] == 0.0) continue;
        dense_offset(rank, extent, i, taps[k].offset);
        taps[k++].weight = weights[i];
    }
    stn_status status = stn_stencil_create(rank, ntaps ? ntaps : 1, taps, stencil, error);
    free(taps);
    return status;
}

void stn_stencil_destroy(stn_stencil *stencil) {
    if (!stencil) return;
    free(stencil->taps);
    free(stencil);
}

int stn_stencil_rank(const stn_stencil *stencil) { return stencil ? stencil->rank : 0; }
size_t stn_stencil_tap_count(const stn_stencil *stencil) { return stencil ? stencil->ntaps : 0; }
const stn_tap *stn_stencil_taps(const stn_stencil *stencil) { return stencil ? stencil->taps : NULL; }
double stn_stencil_max_symbol(const stn_stencil *stencil) {
    return stencil ? stn_taps_max_symbol(stencil->ntaps, stencil->taps) : 0;
}
