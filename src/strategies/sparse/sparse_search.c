/* Searches steps a launch, terms and kernel for sparse's cheapest shapes. */
#include "strategies/sparse/sparse_search.h"

#include <limits.h>
#include <math.h>

#include "base/arith.h"
#include "base/cheapest.h"
#include "strategies/faces/margins.h"
#include "strategies/sparse/rounding_noise.h"
#include "strategies/sparse/sparse_cost_model.h"
#include "strategies/sparse/sparse_terms.h"
#include "strategies/sparse/weight_rounding.h"

#define ERROR_MARGIN 0.97 /* fraction of the error bound: the terms' residual is systematic */
/* If the residual of one step's terms exceeds this, powers of the taps are not sums of few terms
 * either. */
#define MAX_ONE_STEP_RESIDUAL 0.05

typedef struct search {
    const stn_task *task;
    const stn_machine *machine;
    sparse_shape *best;
    double costs[STN_CANDIDATES];
    size_t count, most;
    bool costs_alone; /* errors are not predicted: `best` is at most as expensive as with them */
    bool split;       /* of the shapes: sparse_shape.h */
    stn_power taps;   /* of the current number of fused steps; made by fuse_taps */
    sparse_spectrum spectrum;
    int faces_fused; /* fused steps of a launch whose faces have the cost `faces` */
    stn_faces_cost faces;
} search;

static double cost_of(search *s, const sparse_shape *shape) {
    stn_estimate e = {0};
    if (!shape->extended && s->faces_fused != shape->fused)
        s->faces_fused = shape->fused, s->faces = sparse_faces(s->task, s->machine, shape);
    const stn_faces_cost faces = shape->extended ? (stn_faces_cost){0, false} : s->faces;
    sparse_cost_with_faces(s->task, s->machine, shape, &faces, &e);
    return e.seconds;
}

static void insert(search *s, sparse_shape shape) {
    const double cost = cost_of(s, &shape);
    if (stn_exceeds_time_limit(s->machine, cost)) return;
    sparse_shape *to = stn_cheapest_insert(s->best, s->costs, sizeof shape, &s->count, s->most, cost);
    if (to) *to = shape;
}

/* Whether a kernel exists for `fused` steps, and their margins leave points between them. *cheaper:
 * fewer fused steps in the same number of launches are cheaper. */
static bool fits(const search *s, int fused, int terms, sparse_shape *shape, bool *cheaper) {
    int64_t low[3], high[3];
    if (!sparse_fit(s->task, s->machine, fused, terms, 1, s->split, shape) ||
        !stn_faces_interior(s->task, fused, low, high))
        return false;
    *cheaper = fused > 1 && stn_div_up((int64_t)s->task->steps, shape->launches) != fused;
    return true;
}

/* Makes the power of the taps; starts again where it has more steps. */
static bool fuse_taps(search *s, int fused) {
    if (s->taps.fused > fused) stn_power_clear(&s->taps);
    if (!s->taps.fused && stn_power_make(s->task, &s->taps, NULL) != STN_OK) return false;
    while (s->taps.fused < fused)
        if (stn_power_fuse(s->task, &s->taps, NULL) != STN_OK) return false;
    return true;
}

/* Inserts variants with the same products that load rows in different ways. */
static void insert_tiles(search *s, const sparse_shape *shape) {
    insert(s, *shape);
    for (int stages = 1; stages <= 3; stages++) {
        sparse_shape ring = *shape;
        if (sparse_fit_ring(s->task, s->machine, stages, &ring)) insert(s, ring);
    }
}

/* Tiles (terms 0), or chains for separable taps (1). The cost does not depend on the errors, which
 * take most of the time: they are predicted at last, for the cheapest shapes alone (add_errors). */
static void search_shapes(search *s, int terms, int most_fused) {
    sparse_shape shape;
    bool cheaper;
    for (int fused = 1; (uint64_t)fused <= s->task->steps && fused <= most_fused; fused++) {
        if (!fits(s, fused, terms, &shape, &cheaper)) return;
        for (int parts = !terms && s->split ? 2 : 1; parts <= 2 && !cheaper; parts++) {
            if (!sparse_fit(s->task, s->machine, fused, terms, parts, s->split, &shape)) continue;
            if (terms)
                insert(s, shape);
            else
                insert_tiles(s, &shape);
        }
    }
}

/* Predicts the errors of all shapes with `fused` steps, weights in `parts` parts, and `terms` (0 or
 * 1) terms. A shape of sparse_march gets the errors of the sparse_tile shape that it comes from. */
static bool add_errors(search *s, int fused, int terms, int parts) {
    sparse_shape shape = {0};
    sparse_terms chain;
    bool any = false;
    for (size_t i = 0; i < s->count; i++)
        any = any || (s->best[i].fused == fused && s->best[i].terms == terms && s->best[i].parts == parts);
    if (!any) return true;
    sparse_fit(s->task, s->machine, fused, terms, parts, s->split, &shape);
    if (terms) {
        if (sparse_terms_make(s->task, NULL, fused, 1, parts, &chain, NULL) != STN_OK) return false;
        shape.rounding = (float)sparse_terms_rounding(s->task, NULL, &chain, parts, shape.launches);
        shape.noise = (float)sparse_noise(s->task, &s->spectrum, &shape, &chain);
        sparse_terms_clear(&chain);
    } else {
        /* Two-part weights have random errors, which do not depend on the taps. */
        if (parts == 1 && !fuse_taps(s, fused)) return false;
        shape.rounding = (float)sparse_rounding(s->task, &s->taps, false, parts, shape.launches);
        shape.noise = (float)sparse_noise(s->task, &s->spectrum, &shape, NULL);
    }
    for (size_t i = 0; i < s->count; i++)
        if (s->best[i].fused == fused && s->best[i].terms == terms && s->best[i].parts == parts)
            s->best[i].rounding = shape.rounding, s->best[i].noise = shape.noise;
    return true;
}

static bool add_all_errors(search *s) {
    int most_fused = 0;
    for (size_t i = 0; i < s->count; i++) most_fused = (int)stn_max(most_fused, s->best[i].fused);
    for (int fused = 1; fused <= most_fused; fused++)
        for (int parts = 1; parts <= 2; parts++)
            for (int terms = 0; terms <= 1; terms++)
                if (!add_errors(s, fused, terms, parts)) return false;
    return true;
}

#define FEWEST 2 /* terms of a sum; search_shapes handles one */

/* The errors of sums of terms of the task's taps, by the number of terms. add_sum_errors returns
 * false if they cannot be computed. */
typedef struct sum_errors {
    double rounding[SPARSE_MOST_TERMS + 1], noise[SPARSE_MOST_TERMS + 1];
} sum_errors;
static bool add_sum_errors(search *s, int fused, int launches, sum_errors *errors) {
    sparse_shape shapes[SPARSE_MOST_TERMS + 1];
    sparse_terms terms;
    double rounding[SPARSE_MOST_TERMS + 1];
    int end = FEWEST;
    if (!fuse_taps(s, fused)) return false;
    while (end <= SPARSE_MOST_TERMS && sparse_fit(s->task, s->machine, fused, end, 1, false, &shapes[end])) end++;
    if (sparse_terms_make(s->task, &s->taps, fused, SPARSE_MOST_TERMS, 1, &terms, NULL) != STN_OK) return false;
    terms.count = end - 1;
    bool good = sparse_sums_rounding(s->task, &s->taps, &terms, FEWEST, launches, rounding);
    for (terms.count = FEWEST; terms.count < end && good; terms.count++) {
        const int count = terms.count;
        shapes[count].launches = launches;
        errors->rounding[count] = fmax(errors->rounding[count], rounding[count]);
        errors->noise[count] = fmax(errors->noise[count], sparse_noise(s->task, &s->spectrum, &shapes[count], &terms));
    }
    terms.count = SPARSE_MOST_TERMS;
    sparse_terms_clear(&terms);
    return good;
}

/* Inserts the fewest terms that are accurate enough in launches of both lengths, if any number of
 * terms can be among the best. */
static bool insert_sum(search *s, sparse_shape shape) {
    sparse_shape cheapest = shape;
    double least = INFINITY;
    for (int count = FEWEST; count <= SPARSE_MOST_TERMS; count++) {
        sparse_shape each;
        if (!sparse_fit(s->task, s->machine, shape.fused, count, 1, false, &each)) break;
        const double cost = cost_of(s, &each);
        if (cost < least) least = cost, cheapest = each;
    }
    if (s->costs_alone) insert(s, cheapest);
    if (s->costs_alone || (s->count == s->most && least >= s->costs[s->count - 1])) return true;
    if (stn_exceeds_time_limit(s->machine, least)) return true;
    int fused = shape.fused, launches = shape.launches;
    sum_errors errors = {{0}, {0}};
    bool uneven = stn_fused_lengths(s->task, launches) == 2;
    if (uneven && !add_sum_errors(s, fused - 1, launches, &errors)) return false;
    if (!add_sum_errors(s, fused, launches, &errors)) return false;
    for (int count = FEWEST; count <= SPARSE_MOST_TERMS; count++) {
        if (!sparse_fit(s->task, s->machine, fused, count, 1, false, &shape)) break;
        shape.rounding = (float)errors.rounding[count];
        shape.noise = (float)errors.noise[count];
        if (!sparse_is_accurate(s->task, &shape, ERROR_MARGIN)) continue;
        insert(s, shape);
        break;
    }
    return true;
}

/* For taps that are not separable: the fewest terms that are accurate enough, with the most steps
 * that each window holds. */
static void search_sums(search *s, int most_fused) {
    sparse_shape shape, more;
    bool cheaper, unused;
    if (s->task->rank != 2) return;
    if (!s->costs_alone &&
        (!fuse_taps(s, 1) || sparse_terms_residual(&s->taps, SPARSE_MOST_TERMS) > MAX_ONE_STEP_RESIDUAL))
        return;
    for (int fused = 1; (uint64_t)fused <= s->task->steps && fused <= most_fused; fused++) {
        if (!fits(s, fused, FEWEST, &shape, &cheaper)) return;
        bool last =
            (uint64_t)fused == s->task->steps || fused == most_fused || !fits(s, fused + 1, FEWEST, &more, &unused);
        if (cheaper || (!last && more.halves == shape.halves && more.halves_y == shape.halves_y)) continue;
        if (!insert_sum(s, shape)) return;
    }
}

bool sparse_search_any(const stn_task *task, const stn_machine *machine) {
    search s = {.task = task, .machine = machine, .split = sparse_must_split(task)};
    double factors[3][STN_TASK_FACTORS];
    sparse_shape shape;
    bool cheaper;
    return fits(&s, 1, 0, &shape, &cheaper) ||
           (!s.split && sparse_separable(task, factors) && fits(&s, 1, 1, &shape, &cheaper));
}

static void search_all(search *s, int most_fused) {
    double factors[3][STN_TASK_FACTORS];
    search_shapes(s, 0, most_fused);
    if (s->split) return; /* chains are not available for two-part elements */
    if (sparse_separable(s->task, factors))
        search_shapes(s, 1, most_fused);
    else
        search_sums(s, most_fused);
}

/* Whether there are kernels with split elements. */
static bool may_split(const stn_task *task) { return task->dtype == STN_F32 && task->rank == 2; }

double sparse_least_seconds(const stn_task *task, const stn_machine *machine) {
    sparse_shape best;
    double least = INFINITY;
    if (task->steps >> 31) return INFINITY; /* as `applies` */
    for (int split = sparse_must_split(task); split <= may_split(task); split++) {
        search s = {.task = task, .machine = machine, .best = &best, .most = 1, .costs_alone = true, .split = split};
        search_all(&s, INT_MAX);
        if (s.count) least = fmin(least, s.costs[0]);
    }
    return least;
}

/* Searches shapes with split elements, or those without. Returns whether any of them is within the
 * error bound; *good becomes false out of memory. */
static bool search_split(search *s, int most_fused, bool split, bool *good) {
    bool any = false;
    s->split = split, s->count = 0, s->faces_fused = 0;
    *good = split || s->spectrum.count || sparse_spectrum_make(s->task, &s->spectrum);
    if (*good) search_all(s, most_fused);
    *good = *good && add_all_errors(s);
    for (size_t i = 0; i < s->count; i++) any = any || sparse_is_accurate(s->task, &s->best[i], 1);
    return any;
}

/* Where a tolerance permits tf32, but its errors exceed the tolerance, elements are split. */
size_t sparse_search(const stn_task *task, const stn_machine *machine, int most_fused, sparse_shape *best,
                     size_t most) {
    search s = {.task = task, .machine = machine, .best = best, .most = stn_min(most, STN_CANDIDATES)};
    const bool must = sparse_must_split(task);
    bool good;
    if (!search_split(&s, most_fused, must, &good) && good && !must && may_split(task))
        if (!search_split(&s, most_fused, true, &good) && good) (void)search_split(&s, most_fused, false, &good);
    stn_power_clear(&s.taps);
    sparse_spectrum_clear(&s.spectrum);
    return good ? s.count : 0;
}
