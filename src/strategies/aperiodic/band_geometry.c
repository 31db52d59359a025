/* Sides without a symmetric extension, the depths of their bands, and the tasks of boxes. */
#include "strategies/aperiodic/band_geometry.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "strategies/common/extension.h"
#include "strategies/common/grid_layout.h"
#include "strategies/common/reach.h"

/* Whether this side has an equivalent symmetric extension, whatever the other side is. */
static bool has_mirror(const stn_task *task, int axis, int side) {
    stn_task both = *task; /* with borrowed taps */
    stn_extension e;
    char reason[160];
    both.boundary[axis][0] = both.boundary[axis][1] = task->boundary[axis][side];
    return stn_extension_sides(&both, axis, &e, reason, sizeof reason);
}

bool aperiodic_shape_sides(const stn_task *task, shape *s, char *reason, size_t size) {
    bool any = false;
    *s = (shape){.task = task};
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++) {
            s->stepped[axis][side] = !has_mirror(task, axis, side);
            any = any || s->stepped[axis][side];
        }
    if (task->steps > 1 && any) return true;
    snprintf(reason, size, "%s", any ? "a single step has nothing to divide" : "transforms alone serve all sides");
    return false;
}

/* ---- depths */

/* A wrong value at a side affects, t steps later, the points within reach of t steps' taps. This
 * reach need not grow with t if taps drift. The errors of all steps add up, so each may contribute
 * only its share. */
static void depths_of(shape *s, int axis, double tail) {
    const bool drifts = !stn_task_is_symmetric(s->task, axis);
    int64_t most[2] = {0, 0};
    for (int k = s->step_counts - 1; k >= 0; k--) {
        const uint64_t steps = s->steps[k];
        const stn_reach reach = drifts ? stn_reach_of_all(s->task, axis, 1, steps, tail / (double)s->steps[0])
                                       : stn_reach_find(s->task, axis, steps, tail / (double)steps);
        for (int side = 0; side < 2; side++) {
            most[side] = stn_max(most[side], reach.side[side]);
            s->depth[k][axis][side] = most[side] + s->task->reach[axis][side];
        }
    }
}

/* Lists the step counts and finds the depths of each axis with a stepped side, by `of`. Axes along
 * which the taps have the same reach share their depths. */
static void find_depths(shape *s, void (*of)(shape *s, int axis, double tail)) {
    const double tail = stn_reach_tail(s->task->dtype);
    s->step_counts = 0;
    for (uint64_t steps = s->task->steps; steps > 1 && s->step_counts < SHAPE_STEP_COUNTS; steps /= 2)
        s->steps[s->step_counts++] = steps;
    for (int axis = 0; axis < 3; axis++) {
        if (!s->stepped[axis][0] && !s->stepped[axis][1]) continue;
        int like = axis - 1;
        while (like >= 0 && !((s->stepped[like][0] || s->stepped[like][1]) && stn_reach_similar(s->task, axis, like)))
            like--;
        if (like < 0) of(s, axis, tail);
        for (int k = 0; k < s->step_counts && like >= 0; k++)
            memcpy(s->depth[k][axis], s->depth[k][like], sizeof s->depth[k][axis]);
    }
}

void aperiodic_shape_depths(shape *s) { find_depths(s, depths_of); }

/* Treats the taps of t steps as a normal distribution and bounds its tails by Chernoff's bound with
 * their mean and variance. */
static void guesses_of(shape *s, int axis, double tail) {
    const stn_task *task = s->task;
    double sum = 0, mean = 0, variance = 0;
    for (size_t i = 0; i < task->ntaps; i++) {
        const double weight = fabs(task->taps[i].weight), at = (double)task->taps[i].offset[axis];
        sum += weight, mean += weight * at, variance += weight * at * at;
    }
    if (sum > 0) mean /= sum, variance = fmax(0, variance / sum - mean * mean);
    const double grows = s->growth;
    for (int k = 0; k < s->step_counts; k++) {
        const double steps = (double)s->steps[k], rare = log(steps / tail) + steps * grows;
        for (int side = 0; side < 2; side++) {
            const double drift = side ? mean : -mean, reach = (double)task->reach[axis][side];
            double t = steps; /* the step at which the effect reaches deepest */
            if (drift < 0) t = fmin(t, rare * variance / (2 * drift * drift));
            const double most = fmin(steps * reach, fmax(0, drift * t + sqrt(2 * rare * variance * t)));
            s->depth[k][axis][side] = (int64_t)(most + reach);
        }
    }
}

/* The logarithm of (sum of |w|) / max |K|: the cancellation between taps of both signs in each
 * step. */
static double growth_of(const stn_task *task) {
    double sum = 0, all = 0;
    for (size_t i = 0; i < task->ntaps; i++) sum += fabs(task->taps[i].weight), all += task->taps[i].weight;
    if (fabs(all) >= sum) return 0;
    return log(fmax(sum, DBL_MIN) / fmax(stn_reach_max_symbol(task->searches, task->ntaps, task->taps), DBL_MIN));
}

void aperiodic_shape_guess(shape *s) {
    s->growth = growth_of(s->task);
    find_depths(s, guesses_of);
}

bool aperiodic_shape_has_room(const shape *s) {
    shape least = *s;
    band unused[6];
    const box whole = aperiodic_shape_whole(s);
    least.step_counts = 1;
    for (least.steps[0] = s->task->steps; least.steps[0] > 3;) least.steps[0] /= 2;
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++)
            least.depth[0][axis][side] = (int64_t)(least.steps[0] + 1) * s->task->reach[axis][side];
    return aperiodic_shape_bands(&least, &whole, least.steps[0], unused) >= 0;
}

/* ---- bands */

/* The next larger length that is good for transforms. */
static int64_t good_length(int64_t least) {
    for (int64_t slots = stn_div_up(least, 16);; slots++) {
        int64_t rest = slots;
        for (int p = 2; p <= 7; p++)
            while (rest % p == 0) rest /= p;
        if (rest == 1) return slots * 16;
    }
}

/* Whether this side of the box has points that its band corrects. */
static bool has_band(const shape *s, const box *of, int k, int axis, int side) {
    return s->stepped[axis][side] && !of->cut[axis][side] && s->depth[k][axis][side] > 0;
}

/* The box of a band. Sides of later axes may stay wrong in it: their own bands are made later and
 * correct these points too. */
static box box_of_band(const shape *s, const box *of, int k, int axis, int64_t wide) {
    box own = *of;
    own.n[axis] = wide;
    for (int later = axis + 1; later < 3; later++)
        for (int side = 0; side < 2; side++)
            if (has_band(s, of, k, later, side)) own.cut[later][side] = true;
    return own;
}

/* Makes one side's band; false if its box would be no smaller than `of`. */
static bool make_band(const shape *s, const box *of, int k, int axis, int side, band *b) {
    const int64_t *depth = s->depth[k][axis], own = depth[side], n = of->n[axis];
    const int64_t wide = depth[0] + depth[1] < n ? good_length(depth[0] + depth[1]) : n;
    *b = (band){.box = box_of_band(s, of, k, axis, wide), .axis = axis, .parts = 1};
    b->box.cut[axis][!side] = true;
    b->seen[0] = (rows){side ? n - wide : 0, 0, wide};
    b->corrected[0] = (rows){side ? n - own : 0, side ? wide - own : 0, own};
    return wide < n;
}

/* Makes one band for both sides of an axis, half of the box for each. */
static bool make_shared_band(const shape *s, const box *of, int k, int axis, band *b) {
    const int64_t *depth = s->depth[k][axis];
    const int64_t n = of->n[axis], least = 2 * (depth[0] + depth[1]), wide = least < n ? good_length(least) : n;
    *b = (band){.box = box_of_band(s, of, k, axis, wide), .axis = axis, .parts = 2};
    b->seen[0] = (rows){0, 0, wide / 2}, b->seen[1] = (rows){n - wide / 2, wide / 2, wide / 2};
    b->corrected[0] = (rows){0, 0, depth[0]}, b->corrected[1] = (rows){n - depth[1], wide - depth[1], depth[1]};
    return wide < n;
}

/* A shared band needs two boxes of the source, which is not copied; so a task with a source has a
 * band for each side. */
int aperiodic_shape_bands(const shape *s, const box *of, uint64_t steps, band bands[6]) {
    int count = 0, k = s->step_counts - 1;
    while (k > 0 && s->steps[k] < steps) k--;
    for (int axis = 0; axis < 3; axis++) {
        const bool has[2] = {has_band(s, of, k, axis, 0), has_band(s, of, k, axis, 1)};
        if (has[0] && has[1] && !s->task->source && make_shared_band(s, of, k, axis, &bands[count])) {
            count++;
            continue;
        }
        for (int side = 0; side < 2; side++)
            if (has[side] && !make_band(s, of, k, axis, side, &bands[count++])) return -1;
    }
    return count;
}

box aperiodic_shape_whole(const shape *s) {
    box whole = {.cut = {{false}}};
    memcpy(whole.n, s->task->n, sizeof whole.n);
    return whole;
}

/* ---- tasks */

static stn_task task_of(const shape *s, const box *of, uint64_t steps) {
    stn_task own = *s->task;
    memcpy(own.n, of->n, sizeof own.n);
    const stn_grid_layout packed = stn_packed_layout(own.n, own.dtype);
    memcpy(own.in_stride, packed.stride, sizeof own.in_stride);
    memcpy(own.out_stride, packed.stride, sizeof own.out_stride);
    own.in_batch_stride = own.out_batch_stride = packed.batch;
    own.steps = steps, own.snapshots = 1, own.in_place = false;
    /* The source stays in the caller's grid. */
    if (!own.source || own.alignment > 16) own.alignment = 16;
    return own;
}

stn_task aperiodic_shape_by_transforms(const shape *s, const box *of, uint64_t steps) {
    stn_task own = task_of(s, of, steps);
    for (int axis = 0; axis < 3; axis++) {
        const bool lost[2] = {s->stepped[axis][0] || of->cut[axis][0], s->stepped[axis][1] || of->cut[axis][1]};
        for (int side = 0; side < 2; side++)
            if (lost[side]) own.boundary[axis][side] = (stn_boundary){lost[!side] ? STN_WRAP : STN_REFLECT, 0};
    }
    return own;
}

stn_task aperiodic_shape_by_steps(const shape *s, const box *of, uint64_t steps) {
    stn_task own = task_of(s, of, steps);
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++)
            if (of->cut[axis][side]) own.boundary[axis][side] = (stn_boundary){STN_CONSTANT, 0};
    return own;
}
