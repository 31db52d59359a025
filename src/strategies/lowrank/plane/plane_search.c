/* Searches steps a launch, splitting and kernel for the cheapest shapes in 1D and 2D. */
#include "strategies/lowrank/plane/plane_search.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "base/cheapest.h"
#include "strategies/faces/margins.h"
#include "strategies/lowrank/lowrank_types.h"

/* A way to split the taps is given up after it has failed for this many consecutive f. */
#define MAX_FAILURES 2
#define MAX_IDLE 4 /* more steps are not tried after 4 consecutive f that cannot be cheaper */

/* Whether the reach of the fused taps fills blocks of 8 rows and columns well. */
static bool worth_trying(const stn_task *task, int fused) {
    int reach = 1;
    for (int axis = 1; axis < 3; axis++)
        for (int side = 0; side < 2; side++) reach = (int)stn_max(reach, task->reach[axis][side]);
    bool whole = reach * fused % 4 == 0 || reach * (fused + 1) / 4 != reach * fused / 4;
    bool fewer = fused == 1 || (task->steps + (uint64_t)fused - 1) / (uint64_t)fused <
                                   (task->steps + (uint64_t)fused - 2) / (uint64_t)(fused - 1);
    return fewer && (whole || fused <= 4 || task->steps <= 128);
}

/* 2D: results so far for one way to split the taps. */
typedef struct attempt {
    lowrank_pattern pattern; /* of the last f that was split */
    int failures;            /* failed splits since then */
    int fused, terms;        /* the last f examined; a lower bound on its terms */
} attempt;

/* Candidates so far, cheapest first, and their problem. */
typedef struct search {
    const stn_task *task;
    const stn_machine *machine;
    lowrank_shape *best;
    size_t count, most; /* at most LOWRANK_MAX_BEST */
    double seconds[LOWRANK_MAX_BEST];
    stn_power taps; /* 2D: the power for the most steps that were needed so far */
    attempt attempts[LOWRANK_SPLITS];
    int faces_fused; /* steps of a launch whose faces have the cost `faces` */
    stn_faces_cost faces;
} search;

/* Whether the cost of the interior alone allows this shape to be among the best; the cost of faces
 * takes longer to compute. */
static bool may_win(const search *s, const lowrank_shape *shape) {
    lowrank_shape bare = *shape;
    stn_estimate e;
    if (s->count < s->most && !(s->machine->time_limit > 0)) return true;
    bare.extended = 1;
    lowrank_cost(s->task, s->machine, &bare, &e);
    return !stn_exceeds_time_limit(s->machine, e.seconds) &&
           (s->count < s->most || e.seconds < s->seconds[s->count - 1]);
}

/* Both ways to split a star may give the same terms. Equal seconds do not show that, because the
 * time of the faces may hide that of the interior. */
static bool same_work(const lowrank_shape *a, const lowrank_shape *b) {
    return a->fused == b->fused && a->mixed == b->mixed && a->terms == b->terms && a->bands == b->bands &&
           a->sums == b->sums && a->segment == b->segment;
}

static void insert_candidate(search *s, const lowrank_shape *shape) {
    stn_estimate own;
    if (!may_win(s, shape)) return;
    if (!shape->extended && s->faces_fused != shape->fused)
        s->faces_fused = shape->fused, s->faces = lowrank_faces(s->task, s->machine, shape);
    const stn_faces_cost faces = shape->extended ? (stn_faces_cost){0, false} : s->faces;
    lowrank_cost_with_faces(s->task, s->machine, shape, &faces, &own);
    for (size_t i = 0; i < s->count; i++)
        if (same_work(&s->best[i], shape)) return;
    lowrank_shape *slot = stn_cheapest_insert(s->best, s->seconds, sizeof *shape, &s->count, s->most, own.seconds);
    if (slot) *slot = *shape;
}

/* Fits lowrank_plane (shapes[0]; for an SVD only) and lowrank_mixed (shapes[1]) to terms of this
 * pattern; bit i of the result is set if shapes[i] fits. */
static unsigned fit_kernels(const search *s, const lowrank_shape *shape, lowrank_split split,
                            const lowrank_pattern *pattern, lowrank_shape shapes[2]) {
    unsigned fits = 0;
    for (int mixed = split == LOWRANK_SVD ? 0 : 1; mixed < 2; mixed++) {
        shapes[mixed] = *shape;
        shapes[mixed].mixed = mixed;
        shapes[mixed].split = (int)split;
        if (lowrank_fit_terms(s->task, s->machine, pattern, &shapes[mixed])) fits |= 1u << mixed;
    }
    return fits;
}

/* Whether kernels for terms of this pattern could be among the best. */
static bool pattern_may_win(const search *s, const lowrank_shape *shape, lowrank_split split,
                            const lowrank_pattern *pattern) {
    lowrank_shape shapes[2];
    unsigned fits = fit_kernels(s, shape, split, pattern, shapes);
    for (int mixed = 0; mixed < 2; mixed++)
        if (fits >> mixed & 1 && may_win(s, &shapes[mixed])) return true;
    return false;
}

/* The reach that the terms of a launch need at least: the outermost taps whose magnitudes together
 * are within the terms' tolerance are left out. */
static int least_reach(const stn_task *task, const lowrank_shape *shape, int axis, int side) {
    const double tolerance = fmax(lowrank_term_tolerance(task, shape), DBL_EPSILON);
    double at[STN_MAX_RADIUS + 1] = {0}, all = 0, beyond = 0;
    for (size_t i = 0; i < task->ntaps; i++) {
        const int64_t offset = side ? task->taps[i].offset[axis] : -task->taps[i].offset[axis];
        at[stn_max(offset, 0)] += fabs(task->taps[i].weight), all += fabs(task->taps[i].weight);
    }
    int reach = task->reach[axis][side];
    while (reach > 0 && beyond + at[reach] <= tolerance * all) beyond += at[reach--];
    return shape->fused * reach;
}

/* SVD: the largest number of terms, each at least as wide as the taps that they need, with which a
 * kernel could be among the best. */
static int affordable_terms(const search *s, const lowrank_shape *shape) {
    lowrank_pattern pattern = {0};
    for (int i = 0; i < LOWRANK_MAX_TERMS; i++) {
        pattern.term[i].central = 1;
        for (int side = 0; side < 2; side++) {
            pattern.term[i].y[side] = i ? pattern.term[0].y[side] : least_reach(s->task, shape, 1, side);
            pattern.term[i].x[side] = i ? pattern.term[0].x[side] : least_reach(s->task, shape, 2, side);
        }
    }
    int least = 0, most = LOWRANK_MAX_TERMS;
    while (least < most) {
        pattern.count = (least + most + 1) / 2;
        if (pattern_may_win(s, shape, LOWRANK_SVD, &pattern))
            least = pattern.count;
        else
            most = pattern.count - 1;
    }
    return least;
}

/* A lower bound on the terms of f - 1 steps, if some launches make one step less than f; 0 if none
 * do, or if no bound is known. */
static int shorter_terms(const search *s, const lowrank_shape *shape, lowrank_split split) {
    const attempt *a = &s->attempts[split];
    bool shorter = stn_fused_lengths(s->task, shape->launches) == 2;
    return shorter && a->fused == shape->fused - 1 ? a->terms : 0;
}

static bool fuse(search *s, int fused) {
    while (s->taps.fused < fused)
        if (stn_power_fuse(s->task, &s->taps, NULL) != STN_OK) return false;
    return true;
}

/* Whether the SVD of the fused taps has more than `most` terms. */
static bool svd_exceeds(search *s, const lowrank_shape *shape, int most) {
    const double tolerance = lowrank_term_tolerance(s->task, shape),
                 numbers[] = {shape->fused, tolerance, most, shape->even};
    bool exceeds;
    if (lowrank_lookup(s->task, STN_SEARCH_CACHE_LOWRANK_SVD, numbers, &exceeds, sizeof exceeds)) return exceeds;
    if (!fuse(s, shape->fused)) return true;
    exceeds = lowrank_svd_exceeds(&s->taps, shape->even, tolerance, most);
    lowrank_store(s->task, STN_SEARCH_CACHE_LOWRANK_SVD, numbers, &exceeds, sizeof exceeds);
    return exceeds;
}

/* The fused taps as a sum of terms; `terms` is 0 where they cannot be split in this way. */
typedef struct sum_of_terms {
    int terms;
    lowrank_pattern pattern;
    double residual, growth, inner;
} sum_of_terms;

static sum_of_terms split_taps(search *s, const lowrank_shape *shape, lowrank_split split) {
    const double tolerance = lowrank_term_tolerance(s->task, shape), numbers[] = {split, shape->fused, tolerance, 0};
    sum_of_terms sum;
    lowrank_terms terms;
    int slot[LOWRANK_MAX_TERMS];
    bool changed;
    if (lowrank_lookup(s->task, STN_SEARCH_CACHE_LOWRANK_TERMS, numbers, &sum, sizeof sum)) return sum;
    memset(&sum, 0, sizeof sum);
    if (!fuse(s, shape->fused) || lowrank_terms_make(s->task, &s->taps, split, tolerance, &terms, NULL) != STN_OK)
        return sum;
    if (terms.count && lowrank_pattern_cover(&sum.pattern, &terms, slot, &changed)) {
        sum.terms = terms.count;
        sum.residual = terms.residual;
        sum.growth = lowrank_terms_growth(&terms, &s->taps);
        sum.inner = lowrank_terms_inner(&terms, &s->taps);
    }
    lowrank_terms_clear(&terms);
    lowrank_store(s->task, STN_SEARCH_CACHE_LOWRANK_TERMS, numbers, &sum, sizeof sum);
    return sum;
}

/* Whether this shape can win with taps split in this way. Terms of stars do not become fewer or
 * narrower with more steps; those of the SVD may, so the expensive splitting is done only after a
 * cheap bound. */
static bool can_win(search *s, const lowrank_shape *shape, lowrank_split split) {
    attempt *a = &s->attempts[split];
    if (a->failures == MAX_FAILURES) return false;
    if (split != LOWRANK_SVD) return !a->pattern.count || pattern_may_win(s, shape, split, &a->pattern);
    int most = affordable_terms(s, shape);
    if (!most || shorter_terms(s, shape, split) > most) return false;
    if (!svd_exceeds(s, shape, most)) return true;
    a->fused = shape->fused, a->terms = most + 1;
    return false;
}

/* Tries the kernels for the fused taps, split in one way. */
static void try_split(search *s, const lowrank_shape *shape, lowrank_split split) {
    attempt *a = &s->attempts[split];
    sum_of_terms sum = split_taps(s, shape, split);
    lowrank_shape shapes[2];
    a->failures++;
    if (!sum.terms) return;
    const int least = (int)stn_min(shorter_terms(s, shape, split), LOWRANK_MAX_TERMS);
    while (sum.pattern.count < least) sum.pattern.term[sum.pattern.count++] = sum.pattern.term[0];
    const unsigned fits = fit_kernels(s, shape, split, &sum.pattern, shapes);
    for (int mixed = 0; mixed < 2; mixed++) {
        shapes[mixed].residual = (float)sum.residual;
        shapes[mixed].growth = (float)sum.growth;
        shapes[mixed].inner = (float)sum.inner;
        if (fits >> mixed & 1) insert_candidate(s, &shapes[mixed]);
    }
    *a = (attempt){.pattern = sum.pattern, .fused = shape->fused, .terms = sum.terms};
}

/* Tries all kernels for this shape's steps; false if none can win. */
static bool try_plane(search *s, const lowrank_shape *shape) {
    bool tried = false;
    for (int split = 0; split < LOWRANK_SPLITS; split++) {
        if (!can_win(s, shape, (lowrank_split)split)) continue;
        try_split(s, shape, (lowrank_split)split);
        tried = true;
    }
    return tried;
}

/* Stops when `enough` shapes are found. */
static size_t find_shapes(const stn_task *task, const stn_machine *machine, int most_fused, lowrank_shape *best,
                          size_t most, size_t enough) {
    search s = {.task = task, .machine = machine, .best = best, .most = most};
    lowrank_shape shape;
    int idle = 0;
    if (stn_power_make(task, &s.taps, NULL) != STN_OK) return 0;
    for (int fused = 1; (uint64_t)fused <= task->steps && fused <= most_fused && s.count < enough; fused++) {
        int64_t low[3], high[3];
        if (!worth_trying(task, fused)) continue;
        if (!lowrank_fit(task, fused, &shape)) break; /* more steps reach further still */
        if (!stn_faces_interior(task, fused, low, high)) break;
        if (task->rank == 1)
            insert_candidate(&s, &shape);
        else
            idle = try_plane(&s, &shape) || (machine->time_limit > 0 && s.count < most) ? 0 : idle + 1;
        if (idle == MAX_IDLE) break;
    }
    stn_power_clear(&s.taps);
    return s.count;
}

size_t lowrank_search(const stn_task *task, const stn_machine *machine, int most_fused, lowrank_shape *best,
                      size_t most) {
    return find_shapes(task, machine, most_fused, best, most < LOWRANK_MAX_BEST ? most : LOWRANK_MAX_BEST, SIZE_MAX);
}

bool lowrank_search_any(const stn_task *task, const stn_machine *machine) {
    lowrank_shape any;
    return find_shapes(task, machine, INT_MAX, &any, 1, 1) > 0;
}
