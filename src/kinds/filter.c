/* The public functions that filter once on the host, without a plan: a problem of one step, and
 * boxes. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/versioned_struct.h"
#include "context/context.h"
#include "host/integer_box.h"
#include "host/moving_average.h"
#include "host/point_axes.h"
#include "host/separable.h"
#include "host/stencil_run.h"
#include "host/watch.h"
#include "problem/stencil.h"
#include "problem/task.h"

static stn_status check(const stn_problem *problem, const stn_filter_taps *taps, stn_error *error) {
    if (problem->stencil || problem->steps > 1 || problem->in_place || problem->has_source || problem->every)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the problem of a filter has a stencil, several steps, a source or snapshots, or is in place: "
                        "make a plan for it");
    if (problem->normalized)
        return stn_fail(error, STN_ERROR_UNSUPPORTED,
                        "the problem of a filter is normalized, which only plans on GPUs are: filter the values, with "
                        "0 for missing ones, and the mask of the others, and divide the results");
    if (taps->rank < 1 || taps->rank > STN_MAX_RANK || taps->axes < 1 || taps->axes > taps->rank)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the taps of a filter have %d of %d axes: give 1 to 3 axes, and 1 or more of them to the taps",
                        taps->axes, taps->rank);
    if (!taps->count || taps->count > STN_MAX_TAPS || !taps->offsets || !taps->weights)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "a filter has %zu taps%s: give 1 to %d, with offsets and weights", taps->count,
                        taps->offsets && taps->weights ? "" : " and no offsets or no weights", STN_MAX_TAPS);
    return STN_OK;
}

/* Taps in the library's form, without those of weight 0. Offsets must ascend: then they differ. */
static stn_status fill(const stn_filter_taps *given, stn_stencil *stencil, stn_error *error) {
    stn_tap last = {0};
    for (size_t i = 0; i < given->count; i++) {
        stn_tap tap = {.weight = given->weights[i]};
        int order = i ? 0 : 1;
        for (int axis = 0; axis < given->axes; axis++) {
            const int64_t offset = given->offsets[i * (size_t)given->axes + (size_t)axis];
            if (offset > STN_MAX_HOST_RADIUS || offset < -STN_MAX_HOST_RADIUS)
                return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                                "tap %zu of a filter has the offset %lld: the furthest possible is %d either way", i,
                                (long long)offset, STN_MAX_HOST_RADIUS);
            if (!order) order = (offset > last.offset[axis]) - (offset < last.offset[axis]);
            tap.offset[axis] = offset;
        }
        if (order < 1)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "tap %zu of a filter does not follow tap %zu: sort the taps by offset, each once", i,
                            i - 1);
        last = tap;
        if (tap.weight != 0) stencil->taps[stencil->ntaps++] = tap;
    }
    if (!stencil->ntaps) stencil->taps[stencil->ntaps++] = (stn_tap){.weight = 0};
    return STN_OK;
}

/* The task of one filter of the problem. */
static stn_status make_task(stn_problem *problem, const stn_filter_taps *taps, stn_task *task, stn_error *error) {
    STN_TRY(check(problem, taps, error));
    stn_stencil stencil = {.rank = taps->rank};
    stencil.taps = malloc(taps->count * sizeof *stencil.taps);
    if (!stencil.taps) return stn_fail_memory(error, "the taps of a filter", taps->count * sizeof *stencil.taps);
    stn_status status;
    STN_TRY_GOTO(status, fill(taps, &stencil, error), done);
    problem->stencil = &stencil;
    STN_TRY_GOTO(status, stn_task_make(problem, task, error), done);
done:
    problem->stencil = NULL;
    free(stencil.taps);
    return status;
}

stn_status stn_filter_run(stn_context *context, const stn_problem *problem, const stn_filter_taps *taps, const void *in,
                          void *out, stn_error *error) {
    if (!context || !problem || !taps || !in || !out)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the context, problem, taps or an array of a filter is NULL: give all five");
    stn_problem copy;
    stn_pool *pool;
    stn_task task = {0}, next = {0};
    STN_TRY(stn_read_versioned_struct(&stn_layout_problem, problem, &copy, error));
    STN_TRY(stn_context_pool(context, &pool, error));
    stn_status status;
    STN_TRY_GOTO(status, make_task(&copy, taps, &task, error), done);
    if (!taps->next) {
        stn_host_move_point_axes(&task);
        stn_host_run(&task, pool, in, out, NULL);
        goto done;
    }
    copy.in_element = copy.out_element;
    copy.alignment = 0; /* the intermediate result, which may be wider, is never in memory */
    STN_TRY_GOTO(status, make_task(&copy, taps->next, &next, error), done);
    if (taps->next->next || taps->next->rank != taps->rank || !stn_host_separable_applies(&task, &next))
        status =
            stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                     "the two filters of one call are not along a slower and the last axis of dense arrays without "
                     "fixed sides and divisor, or have more than %d taps: run one after the other",
                     STN_SEPARABLE_TAPS);
    else
        status = stn_host_separable(&task, &next, pool, in, out, error);
done:
    stn_task_clear(&next);
    stn_task_clear(&task);
    return status;
}

/* ---- boxes ----------------------------------------------------------------------------------- */

static stn_status check_box(const stn_box_filter *box, stn_error *error) {
    if (!box->outer || !box->points || !box->inner || !box->size || box->before >= box->size)
        return stn_fail(
            error, STN_ERROR_INVALID_ARGUMENT,
            "a box of %zu points, %zu before its point, on %zu x %zu x %zu points: give a size of 1 or more, "
            "`before` below it, and no empty axis",
            box->size, box->before, box->outer, box->points, box->inner);
    if (box->dtype != STN_F64 && box->dtype != STN_F32 && box->dtype != STN_F16)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "dtype %d is none of f64, f32 and f16", (int)box->dtype);
    const stn_boundary_kind low = box->sides[0].kind, high = box->sides[1].kind;
    if (low < STN_WRAP || low >= STN_FIXED || high < STN_WRAP || high >= STN_FIXED ||
        (low == STN_WRAP) != (high == STN_WRAP))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the boundary kinds of a box are %d and %d: give two of STN_WRAP to STN_MIRROR, and STN_WRAP "
                        "on both sides or on none",
                        (int)low, (int)high);
    if (box->element && (!stn_element_is_whole(box->element) || box->element > STN_ELEMENT_BOOL))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "stn_box_filter.element is %d: give an integer type, STN_ELEMENT_BOOL, or 0 for the dtype",
                        (int)box->element);
    return STN_OK;
}

/* The second filter of a call, which was checked by itself. */
static stn_status check_next(const stn_box_filter *box, const stn_box_filter *next, stn_error *error) {
    const bool whole_lines = next->inner == 1 && box->inner % next->points == 0 &&
                             next->outer == box->outer * box->points * (box->inner / next->points);
    if (next->next || !whole_lines || next->dtype != box->dtype || next->element != box->element ||
        (box->element ? !stn_host_integer_box_applies(box) : box->dtype == STN_F16))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the second box of one call is along lines of %zu of %zu numbers, or has a next one, another "
                        "type, type f16, or integers other than means of STN_ELEMENT_U8 or STN_ELEMENT_U16 with sums "
                        "below 2^32: give all whole lines of the last axis, or run one box after the other",
                        next->points, box->inner);
    return STN_OK;
}

stn_status stn_box_filter_run(stn_context *context, const stn_box_filter *filter, const void *in, void *out,
                              stn_error *error) {
    stn_pool *pool;
    stn_box_filter box, next;
    if (!filter || !in || !out)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the box filter or an array is NULL: give all three");
    STN_TRY(stn_read_versioned_struct(&stn_layout_box_filter, filter, &box, error));
    STN_TRY(check_box(&box, error));
    if (box.next) {
        STN_TRY(stn_read_versioned_struct(&stn_layout_box_filter, box.next, &next, error));
        STN_TRY(check_box(&next, error));
        box.next = &next;
        STN_TRY(check_next(&box, &next, error));
    }
    if (!context) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the context is NULL: create one first");
    STN_TRY(stn_context_pool(context, &pool, error));
    if (!box.progress) return stn_host_box(pool, &box, in, out, error);
    const stn_execution run = {.progress = box.progress, .progress_user = box.progress_user};
    stn_watch watch;
    stn_watch_begin(&watch, &run, 1);
    stn_pool_watch(pool, &watch);
    const stn_status status = stn_host_box(pool, &box, in, out, error);
    stn_pool_unwatch(pool, &watch);
    return stn_watch_end(&watch, status, error);
}
