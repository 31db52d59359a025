/* Validation and canonicalisation of a stencil problem: stn_problem, as the caller wrote it,
 * becomes a stn_task on three axes with all defaults filled in. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "base/versioned_struct.h"
#include "problem/grid_layout.h"
#include "problem/stencil.h"
#include "problem/task.h"

/* Copies the problem into this library's struct layout; members unknown to an older caller are
 * 0. */
static stn_status read_problem(const stn_problem *given, stn_problem *problem, stn_error *error) {
    if (!given) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the problem is NULL: pass a stn_problem");
    STN_TRY(stn_read_versioned_struct(&stn_layout_problem, given, problem, error));
    if (!problem->stencil)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the problem's stencil is NULL: make one with stn_stencil_create or stn_stencil_parse");
    return STN_OK;
}

/* The larger, and below it the smaller, of the element sizes of the two arrays, in bytes. */
static int64_t widest(const stn_task *task) {
    return stn_max((int64_t)stn_element_size(stn_task_element(task, false)),
                   (int64_t)stn_element_size(stn_task_element(task, true)));
}
static int64_t narrowest(const stn_task *task) {
    return stn_min((int64_t)stn_element_size(stn_task_element(task, false)),
                   (int64_t)stn_element_size(stn_task_element(task, true)));
}

/* The dtype, element types and divisor of the task must be set. */
static stn_status canonical_normalized(const stn_problem *problem, stn_task *task, stn_error *error) {
    const unsigned given = task->normalized = (unsigned)problem->normalized;
    const bool pairs[] = {given & STN_NORMALIZED_PAIRS_IN, given & STN_NORMALIZED_PAIRS_OUT};
    const bool mixed = (pairs[0] && task->in_element) || (pairs[1] && task->out_element);
    const unsigned all = STN_NORMALIZED | STN_NORMALIZED_NAN | STN_NORMALIZED_PAIRS_IN | STN_NORMALIZED_PAIRS_OUT;
    if (!given) return STN_OK;
    if ((given & ~all) || !(given & STN_NORMALIZED))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the problem's normalized is %u: give STN_NORMALIZED, with other bits of stn_normalized",
                        given);
    if (problem->steps > 1 || task->divisor != 1 || mixed || task->dtype == STN_F16)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "a normalized problem is one step in f64 or f32, without a divisor, and pairs are of the "
                        "dtype: leave steps, divisor and the element type of pairs 0");
    for (int axis = 0; axis < problem->stencil->rank; axis++)
        for (int side = 0; side < 2; side++)
            if (problem->boundary[axis][side].kind == STN_FIXED)
                return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                                "boundary[%d][%d] of a normalized problem is fixed, which keeps values: use another",
                                axis, side);
    return STN_OK;
}

/* The dtype of the task must be set. */
static stn_status canonical_elements(const stn_problem *problem, stn_task *task, stn_error *error) {
    const struct {
        const char *name;
        int given;
        stn_element *to;
    } sides[] = {{"in_element", problem->in_element, &task->in_element},
                 {"out_element", problem->out_element, &task->out_element}};
    for (int i = 0; i < 2; i++) {
        const stn_element given = (stn_element)sides[i].given;
        *sides[i].to = given == stn_element_of(problem->dtype) ? STN_ELEMENT_DTYPE : given;
        if (given && !stn_element_size(given))
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "the problem's %s %d is unknown: use a STN_ELEMENT of stentor.h, or 0 for the dtype's",
                            sides[i].name, sides[i].given);
    }
    const stn_element from = stn_task_element(task, false), to = stn_task_element(task, true);
    task->divisor = problem->divisor != 0 ? problem->divisor : 1;
    if (!isfinite(task->divisor) || (task->divisor != 1 && !stn_element_is_whole(to)))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the problem's divisor is %g with an output of %s: it must be finite, and only integers are "
                        "divided; scale the weights",
                        task->divisor, stn_element_name(to));
    STN_TRY(canonical_normalized(problem, task, error));
    if (stn_task_converts(task) && (problem->in_place || problem->has_source || problem->every))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the problem converts %s to %s and is in place, has a source or keeps snapshots: these keep "
                        "the dtype, so leave in_element, out_element, divisor and normalized 0",
                        stn_element_name(from), stn_element_name(to));
    return STN_OK;
}

static stn_status canonical_scalars(const stn_problem *problem, stn_task *task, stn_error *error) {
    if (!stn_dtype_size(problem->dtype))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the problem's dtype %d is unknown: use STN_F64, STN_F32 or STN_F16", (int)problem->dtype);
    if (!(problem->tolerance >= 0 && isfinite(problem->tolerance)))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the problem's tolerance is %g: it must be finite and not below 0", problem->tolerance);
    if (problem->accuracy != STN_ACCURACY_GLOBAL && problem->accuracy != STN_ACCURACY_LOCAL)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the problem's accuracy is %d: use STN_ACCURACY_GLOBAL or STN_ACCURACY_LOCAL",
                        problem->accuracy);
    task->dtype = problem->dtype;
    STN_TRY(canonical_elements(problem, task, error));
    int alignment = problem->alignment ? problem->alignment : 16, least = (int)narrowest(task);
    if (alignment < least || alignment > 4096 || (alignment & (alignment - 1)))
        return stn_fail(
            error, STN_ERROR_INVALID_ARGUMENT,
            "the problem's alignment is %d bytes: it must be a power of two from %d (one %s) to 4096", alignment, least,
            stn_element_name(stn_task_element(task, (int)stn_element_size(stn_task_element(task, false)) != least)));
    task->alignment = alignment;
    task->rank = problem->stencil->rank;
    task->tolerance = problem->tolerance;
    task->local = problem->accuracy == STN_ACCURACY_LOCAL;
    task->steps = problem->steps ? problem->steps : 1;
    task->in_place = problem->in_place != 0;
    task->source = problem->has_source != 0;
    return STN_OK;
}

static stn_status canonical_extents(const stn_problem *problem, stn_task *task, stn_error *error) {
    size_t batch = problem->batch ? problem->batch : 1;
    int64_t total = stn_max((int64_t)stn_dtype_size(task->dtype), widest(task));
    bool overflow = batch > INT64_MAX || stn_mul_overflows(total, (int64_t)batch, &total);
    for (int axis = 0; axis < 3; axis++) task->n[axis] = 1;
    for (int axis = 0; axis < task->rank; axis++) {
        size_t extent = problem->extent[axis];
        if (!extent)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "extent[%d] is 0: every axis needs at least one point",
                            axis);
        task->n[3 - task->rank + axis] = (int64_t)extent;
        overflow = overflow || extent > INT64_MAX || stn_mul_overflows(total, (int64_t)extent, &total);
    }
    if (overflow)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the grid has more bytes of %s than 63 bits can count: lower the extents or the batch",
                        stn_dtype_name(task->dtype));
    task->batch = (int64_t)batch;
    return STN_OK;
}

/* Weights must fit the dtype's arithmetic, which is float32 for f16. The offset of tap `index` must
 * be set. */
static stn_status check_weight(const stn_task *task, size_t index, double weight, stn_error *error) {
    if (isfinite(weight) && (task->dtype == STN_F64 || fabs(weight) <= FLT_MAX)) return STN_OK;
    char text[STN_OFFSET_TEXT];
    int64_t offset[STN_MAX_RANK] = {0};
    for (int axis = 0; axis < task->rank; axis++) offset[axis] = task->taps[index].offset[3 - task->rank + axis];
    stn_offset_print(task->rank, offset, text);
    if (!isfinite(weight))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the weight at offset %s is %g: weights must be finite numbers", text, weight);
    return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                    "the weight at offset %s is %g, past the range of the float32 arithmetic of %s: use f64", text,
                    weight, stn_dtype_name(task->dtype));
}

static stn_status check_total(const stn_task *task, double total, stn_error *error) {
    if (!task->normalized || total != 0) return STN_OK;
    return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                    "the weights have the sum 0, to which a normalized problem cannot scale them: leave normalized 0");
}

static stn_pattern find_pattern(const stn_task *task) {
    bool star = true;
    int64_t box = 1;
    for (int axis = 0; axis < 3; axis++) box *= task->reach[axis][0] + task->reach[axis][1] + 1;
    for (size_t i = 0; i < task->ntaps && star; i++) {
        const int64_t *o = task->taps[i].offset;
        star = (o[0] != 0) + (o[1] != 0) + (o[2] != 0) <= 1;
    }
    if (star) return STN_PATTERN_STAR;
    /* taps are distinct */
    return (int64_t)task->ntaps == box ? STN_PATTERN_BOX : STN_PATTERN_GENERAL;
}

/* Refuses taps that reach so far past a mirrored side that the mirror image of the grid ends at the
 * opposite side, if that is fixed: past a fixed side there are no values to read. */
static stn_status check_fixed_across(const stn_task *task, int axis, int side, stn_error *error) {
    const stn_boundary *sides = task->boundary[axis];
    const int64_t n = task->n[axis];
    if (sides[!side].kind != STN_FIXED) return STN_OK;
    for (int64_t past = 1; past <= task->reach[axis][side]; past++)
        if (stn_fold(side ? n - 1 + past : -past, n, sides) == (side ? -1 : -2))
            return stn_fail(
                error, STN_ERROR_INVALID_ARGUMENT,
                "the taps reach %d points past the %s side of axis %d; mirrored, they reach past the opposite side, "
                "which is fixed and has no values: use a larger grid, a smaller stencil, or another boundary",
                task->reach[axis][side], side ? "high" : "low", axis - (3 - task->rank));
    return STN_OK;
}

static stn_status canonical_taps(const stn_stencil *stencil, stn_task *task, stn_error *error) {
    task->taps = calloc(stencil->ntaps, sizeof *task->taps);
    if (!task->taps) return stn_fail_memory(error, "the taps of a problem", stencil->ntaps * sizeof *task->taps);
    task->ntaps = stencil->ntaps;
    int missing = 3 - task->rank;
    double total = 0;
    for (size_t i = 0; i < task->ntaps; i++) total += stencil->taps[i].weight;
    STN_TRY(check_total(task, total, error));
    for (size_t i = 0; i < task->ntaps; i++) {
        task->taps[i].weight = stencil->taps[i].weight;
        for (int axis = missing; axis < 3; axis++) {
            int64_t o = stencil->taps[i].offset[axis - missing];
            task->taps[i].offset[axis] = o;
            task->reach[axis][0] = (int)stn_max(task->reach[axis][0], -o);
            task->reach[axis][1] = (int)stn_max(task->reach[axis][1], o);
        }
        STN_TRY(check_weight(task, i, task->taps[i].weight, error));
    }
    for (int axis = missing; axis < 3; axis++)
        for (int side = 0; side < 2; side++) STN_TRY(check_fixed_across(task, axis, side, error));
    task->pattern = find_pattern(task);
    return STN_OK;
}

static stn_status check_side(const stn_boundary *boundary, int axis, int side, stn_error *error) {
    const char *name = side ? "high" : "low";
    if (boundary->kind < STN_WRAP || boundary->kind > STN_FIXED)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the boundary kind %d on the %s side of axis %d is unknown: use STN_WRAP to STN_FIXED",
                        (int)boundary->kind, name, axis);
    return STN_OK;
}

/* Is the value finite after rounding to the dtype? */
static bool is_finite_in(stn_dtype dtype, double value) {
    const double most = dtype == STN_F64 ? DBL_MAX : dtype == STN_F32 ? FLT_MAX : 65504;
    return isfinite(value) && fabs(value) <= most;
}

static stn_status canonical_boundaries(const stn_problem *problem, stn_task *task, stn_error *error) {
    for (int axis = 0; axis < task->rank; axis++) {
        const stn_boundary *sides = problem->boundary[axis];
        for (int side = 0; side < 2; side++) {
            STN_TRY(check_side(&sides[side], axis, side, error));
            stn_boundary *canonical = &task->boundary[3 - task->rank + axis][side];
            canonical->kind = sides[side].kind;
            canonical->value = sides[side].kind == STN_CONSTANT ? sides[side].value : 0;
            /* transforms would spread an infinite value over the whole grid */
            if (!is_finite_in(task->dtype, canonical->value)) task->local = true;
        }
        if ((sides[0].kind == STN_WRAP) != (sides[1].kind == STN_WRAP))
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "axis %d wraps on its %s side only: an axis wraps on both sides or on none", axis,
                            sides[0].kind == STN_WRAP ? "low" : "high");
    }
    return STN_OK;
}

static stn_status canonical_layouts(const stn_problem *problem, stn_task *task, stn_error *error) {
    STN_TRY(stn_layout_canonicalise(task, false, problem->in_stride, problem->in_batch_stride, error));
    STN_TRY(stn_layout_canonicalise(task, true, problem->out_stride, problem->out_batch_stride, error));
    bool same = task->in_batch_stride == task->out_batch_stride;
    for (int axis = 0; axis < 3; axis++) same = same && task->in_stride[axis] == task->out_stride[axis];
    memcpy(task->source_stride, task->in_stride, sizeof task->source_stride);
    task->source_batch_stride = task->in_batch_stride;
    if (task->in_place && !same)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the problem is in place but its input and output strides differ: make them equal");
    return STN_OK;
}

/* The steps between snapshots, their number and stride. Needs the output's layout. */
static stn_status canonical_snapshots(const stn_problem *problem, stn_task *task, stn_error *error) {
    const uint64_t every = problem->every ? problem->every : task->steps;
    task->snapshots = task->steps / every;
    if (task->steps % every)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "every (%" PRIu64 ") does not divide steps (%" PRIu64
                        "): use a divisor, so that the last snapshot is the last step",
                        every, task->steps);
    task->steps = every;
    const int64_t span = stn_task_span(task, true), given = (int64_t)problem->snapshot_stride;
    /* task->out_batch_stride ignores the caller's if there is only one grid. */
    const int64_t batch_stride =
        problem->out_batch_stride ? (int64_t)problem->out_batch_stride : task->out_batch_stride;
    int64_t dense, bytes;
    if (stn_mul_overflows(task->batch, batch_stride, &dense)) dense = span;
    task->snapshot_stride = given && task->snapshots > 1 ? given : stn_max(dense, span);
    if (task->snapshots == 1) return STN_OK;
    if (task->in_place)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the problem is in place, but its output is a stack of %" PRIu64
                        " snapshots: give the stack memory of its own",
                        task->snapshots);
    if (given < 0 || task->snapshot_stride < span)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "snapshot_stride is %" PRId64 ", but a snapshot covers %" PRId64
                        " elements, so snapshots overlap: use a larger one, or 0 for dense",
                        task->snapshot_stride, span);
    if (task->snapshots > INT64_MAX || stn_mul_overflows((int64_t)task->snapshots, task->snapshot_stride, &bytes) ||
        stn_mul_overflows(bytes, (int64_t)stn_dtype_size(task->dtype), &bytes))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "%" PRIu64 " snapshots have more bytes of %s than 63 bits can count: keep fewer of them",
                        task->snapshots, stn_dtype_name(task->dtype));
    return STN_OK;
}

stn_status stn_task_make(const stn_problem *given, stn_task *task, stn_error *error) {
    stn_problem problem;
    stn_status status;
    memset(task, 0, sizeof *task);
    STN_TRY_GOTO(status, read_problem(given, &problem, error), done);
    STN_TRY_GOTO(status, canonical_scalars(&problem, task, error), done);
    STN_TRY_GOTO(status, canonical_extents(&problem, task, error), done);
    STN_TRY_GOTO(status, canonical_boundaries(&problem, task, error), done);
    STN_TRY_GOTO(status, canonical_layouts(&problem, task, error), done);
    STN_TRY_GOTO(status, canonical_taps(problem.stencil, task, error), done);
    STN_TRY_GOTO(status, canonical_snapshots(&problem, task, error), done);
done:
    if (status != STN_OK) stn_task_clear(task);
    return status;
}

stn_status stn_task_set_weights(stn_task *task, size_t count, const double *weights, stn_error *error) {
    if (count != task->ntaps)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "there are %zu new weights for %zu taps: give one for each tap, in the order of "
                        "stn_stencil_taps",
                        count, task->ntaps);
    if (!weights) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the new weights are NULL: pass an array");
    double total = 0;
    for (size_t i = 0; i < count; i++) {
        STN_TRY(check_weight(task, i, weights[i], error));
        total += weights[i];
    }
    STN_TRY(check_total(task, total, error));
    for (size_t i = 0; i < count; i++) task->taps[i].weight = weights[i];
    return STN_OK;
}

stn_status stn_problem_validate(const stn_problem *problem, stn_error *error) {
    stn_task task;
    stn_status status = stn_task_make(problem, &task, error);
    stn_task_clear(&task);
    return status;
}
