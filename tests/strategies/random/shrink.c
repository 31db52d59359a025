/* Shrinks a failing problem: tries one simplification after the other, and keeps each with which
 * the problem still fails. */
#include <string.h>

#include "trial.h"

typedef struct shrinking {
    const random_bench *bench;
    const char *strategy;
    random_problem *best;
    int *pick, left; /* trials */
} shrinking;

/* Replaces the best problem by `next` if that fails. */
static bool keep(shrinking *s, const random_problem *next, int pick) {
    random_outcome outcome;
    if (s->left <= 0 || !next->problem.steps || !random_problem_valid(next)) return false;
    s->left--;
    random_trial(s->bench, next, s->strategy, pick, &outcome);
    if (outcome.verdict != RANDOM_WRONG) return false;
    *s->best = *next;
    *s->pick = pick;
    return true;
}

static void forget_strides(random_problem *r) {
    memset(r->problem.in_stride, 0, sizeof r->problem.in_stride);
    memset(r->problem.out_stride, 0, sizeof r->problem.out_stride);
    r->problem.in_batch_stride = r->problem.out_batch_stride = r->problem.snapshot_stride = 0;
}

/* First removes properties that the command line does not have. */
static void simplify_layout(shrinking *s) {
    random_problem next = *s->best;
    forget_strides(&next);
    next.offset = 0, next.problem.alignment = 0, next.problem.in_place = 0, next.new_weights = false;
    if (keep(s, &next, *s->pick)) return;
    next = *s->best, forget_strides(&next), keep(s, &next, *s->pick);
    next = *s->best, next.problem.in_place = 0, keep(s, &next, *s->pick);
    next = *s->best, next.problem.has_source = 0;
    if (s->best->problem.has_source) keep(s, &next, *s->pick);
    next = *s->best, next.problem.every = 0, next.problem.snapshot_stride = 0;
    if (s->best->problem.every) keep(s, &next, *s->pick);
    next = *s->best, next.new_weights = false, keep(s, &next, *s->pick);
    next = *s->best, next.offset = 0, next.problem.alignment = 0, keep(s, &next, *s->pick);
}

static void simplify_kind(shrinking *s) {
    random_problem next = *s->best;
    if (*s->pick >= 0) keep(s, &next, -1);
    next = *s->best, next.times = 0, next.workspace = false, keep(s, &next, *s->pick);
    next = *s->best, next.times = 0, keep(s, &next, *s->pick);
    next = *s->best, next.positive = true;
    if (!s->best->positive) keep(s, &next, *s->pick);
    next = *s->best, next.problem.batch = 1;
    if (s->best->problem.batch > 1) keep(s, &next, *s->pick);
    next = *s->best, next.problem.tolerance = 0;
    if (s->best->problem.tolerance > 0) keep(s, &next, *s->pick);
    next = *s->best, next.problem.dtype = STN_F64, next.problem.tolerance = 0;
    next.problem.alignment = 0, next.offset = 0;
    if (s->best->problem.dtype != STN_F64) keep(s, &next, *s->pick);
}

/* Keeps the number of snapshots. */
static void set_steps(random_problem *r, uint64_t steps) {
    const uint64_t parts = r->problem.every ? r->problem.steps / r->problem.every : 1;
    if (r->problem.every) r->problem.every = steps / parts;
    r->problem.steps = steps / parts * parts;
}

static void fewer_steps(shrinking *s) {
    for (bool smaller = true; smaller && s->best->problem.steps > 1;) {
        random_problem next = *s->best;
        set_steps(&next, next.problem.steps / 2);
        smaller = keep(s, &next, *s->pick);
        next = *s->best, set_steps(&next, next.problem.steps - 1);
        smaller = smaller || keep(s, &next, *s->pick);
    }
}

static void smaller_extents(shrinking *s) {
    forget_strides(s->best); /* strides depend on extents */
    for (int axis = 0; axis < s->best->rank; axis++)
        for (size_t part = 2; part <= 16;) {
            random_problem next = *s->best;
            size_t n = next.problem.extent[axis], less = n / part;
            if (less < 1) break;
            next.problem.extent[axis] = n - less;
            if (!keep(s, &next, *s->pick)) part *= 2;
        }
}

static void simpler_sides(shrinking *s) {
    static const stn_boundary_kind tried[] = {STN_WRAP, STN_FIXED};
    for (int axis = 0; axis < s->best->rank; axis++)
        for (int i = 0; i < 2; i++) {
            const stn_boundary simple = {tried[i], 0};
            random_problem next = *s->best;
            next.problem.boundary[axis][0] = next.problem.boundary[axis][1] = simple;
            if (next.problem.boundary[axis][0].kind == s->best->problem.boundary[axis][0].kind &&
                next.problem.boundary[axis][1].kind == s->best->problem.boundary[axis][1].kind)
                break;
            if (keep(s, &next, *s->pick)) break;
        }
}

/* Removes half of the taps, then one at a time, until no trials remain. */
static void fewer_taps(shrinking *s) {
    for (size_t part = s->best->ntaps / 2; part > 0; part /= 2)
        for (size_t first = 0; first < s->best->ntaps && s->best->ntaps > 1;) {
            random_problem next = *s->best;
            size_t end = first + part < next.ntaps ? first + part : next.ntaps;
            memmove(next.taps + first, next.taps + end, (next.ntaps - end) * sizeof *next.taps);
            next.ntaps -= end - first;
            if (!next.ntaps || !keep(s, &next, *s->pick)) first += part;
        }
}

void random_shrink(const random_bench *bench, random_problem *r, const char *strategy, int *pick, int trials) {
    shrinking s = {bench, strategy, r, pick, trials};
    simplify_layout(&s);
    simplify_kind(&s);
    fewer_steps(&s);
    const random_problem strided = *r;
    forget_strides(r);
    random_outcome outcome;
    random_trial(bench, r, strategy, *pick, &outcome);
    if (outcome.verdict == RANDOM_WRONG)
        smaller_extents(&s);
    else
        *r = strided;
    simpler_sides(&s);
    fewer_taps(&s);
}
