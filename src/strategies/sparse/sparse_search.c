/* Searches steps a launch, terms and kernel for sparse's cheapest shapes. */
#include "strategies/sparse/sparse_search.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "base/cheapest.h"
#include "strategies/common/ping_pong.h"
#include "strategies/faces/margins.h"
#include "strategies/sparse/rounding_noise.h"
#include "strategies/sparse/sparse_cost_model.h"
#include "strategies/sparse/sparse_terms.h"
#include "strategies/sparse/weight_rounding.h"

#define ERROR_MARGIN 0.97 /* fraction of the error bound: the terms' residual is systematic */
/* If the residual of one step's terms exceeds this, powers of the taps are not sums of few terms
 * either. */
#define MAX_ONE_STEP_RESIDUAL 0.05
#define NOT_PREDICTED (-1.0F) /* the rounding error of a shape whose errors are predicted later */

typedef struct search {
    const stn_task *task;
    const stn_machine *machine;
    sparse_shape *best;
    double costs[STN_CANDIDATES];
    size_t count, most;
    /* Errors are not predicted, so the cheapest shape costs at most as much as the cheapest
     * accurate one. */
    bool costs_alone;
    bool split; /* whether shapes have split elements (sparse_shape.h) */
    /* Where only the cheapest candidate is of interest: the cost of the cheapest accurate shape so
     * far. Errors of more expensive shapes are not predicted. Else infinite. */
    double enough;
    stn_power taps; /* of the current number of fused steps; made by fuse_taps */
    sparse_spectrum spectrum;
    int faces_fused; /* fused steps of a launch whose faces have the cost `faces` */
    stn_faces_cost faces;
} search;

static stn_estimate estimate_of(search *s, const sparse_shape *shape) {
    stn_estimate e = {0};
    if (!shape->extended && s->faces_fused != shape->fused)
        s->faces_fused = shape->fused, s->faces = sparse_faces(s->task, s->machine, shape);
    const stn_faces_cost faces = shape->extended ? (stn_faces_cost){0, false} : s->faces;
    sparse_cost_with_faces(s->task, s->machine, shape, &faces, &e);
    return e;
}

static double cost_of(search *s, const sparse_shape *shape) { return estimate_of(s, shape).seconds; }

/* Called with each shape whose error is known. */
static void use_error(search *s, const sparse_shape *shape) {
    if (!(s->machine->time_limit > 0) || !sparse_is_accurate(s->task, shape, 1)) return;
    stn_estimate e = estimate_of(s, shape);
    stn_ping_pong_add_copy(s->task, s->machine, e.launches, &e);
    s->enough = fmin(s->enough, stn_estimate_cost(&e));
}

static void insert(search *s, sparse_shape shape) {
    const double cost = cost_of(s, &shape);
    if (stn_exceeds_time_limit(s->machine, cost)) return;
    sparse_shape *to = stn_cheapest_insert(s->best, s->costs, sizeof shape, &s->count, s->most, cost);
    if (to) *to = shape;
}

/* Whether a kernel exists for `fused` steps, and the margins of so many steps leave points between
 * them. *cheaper: fewer fused steps in the same number of launches are cheaper. */
static bool fits(const search *s, int fused, int terms, sparse_shape *shape, bool *cheaper) {
    int64_t low[3], high[3];
    if (!sparse_fit(s->task, s->machine, fused, terms, 1, s->split, shape) ||
        !stn_faces_interior(s->task, fused, low, high))
        return false;
    *cheaper = fused > 1 && stn_div_up((int64_t)s->task->steps, shape->launches) != fused;
    return true;
}

/* Makes s->taps the power of the taps for `fused` steps: adds steps to the last power that was
 * made, or starts again from one step if that power has more steps. */
static bool fuse_taps(search *s, int fused) {
    if (s->taps.fused > fused) stn_power_clear(&s->taps);
    if (!s->taps.fused && stn_power_make(s->task, &s->taps, NULL) != STN_OK) return false;
    while (s->taps.fused < fused)
        if (stn_power_fuse(s->task, &s->taps, NULL) != STN_OK) return false;
    return true;
}

/* The spectrum is made for the first shape whose error is predicted. */
static double noise_of(search *s, const sparse_shape *shape, const sparse_terms *terms) {
    if (!s->split && !s->spectrum.count && !sparse_spectrum_make(s->task, &s->spectrum)) return INFINITY;
    return sparse_noise(s->task, &s->spectrum, shape, terms);
}

/* Inserts variants with the same products that load rows in different ways. */
static void insert_tiles(search *s, const sparse_shape *shape) {
    insert(s, *shape);
    for (int stages = 1; stages <= 3; stages++) {
        sparse_shape ring = *shape;
        if (sparse_fit_ring(s->task, s->machine, stages, &ring)) insert(s, ring);
    }
}

/* Tiles (terms 0), or chains for separable taps (1). Costs do not depend on errors, whose
 * prediction takes most of the time: they are predicted last, for the cheapest shapes alone
 * (add_errors). */
static void search_shapes(search *s, int terms, int most_fused) {
    sparse_shape shape;
    bool cheaper;
    for (int fused = 1; (uint64_t)fused <= s->task->steps && fused <= most_fused; fused++) {
        if (!fits(s, fused, terms, &shape, &cheaper)) return;
        for (int parts = !terms && s->split ? 2 : 1; parts <= 2 && !cheaper; parts++) {
            if (!sparse_fit(s->task, s->machine, fused, terms, parts, s->split, &shape)) continue;
            shape.rounding = NOT_PREDICTED;
            if (terms)
                insert(s, shape);
            else
                insert_tiles(s, &shape);
        }
    }
}

/* Predicts the errors of the listed shapes with as many steps, parts of weights, and terms (0 or 1)
 * as `of`. A shape of sparse_march gets the errors of the sparse_tile shape that it comes from. */
static bool add_errors(search *s, const sparse_shape *of) {
    const int fused = of->fused, terms = of->terms, parts = of->parts;
    sparse_shape shape = {0};
    sparse_terms chain;
    sparse_fit(s->task, s->machine, fused, terms, parts, s->split, &shape);
    if (terms) {
        if (sparse_terms_make(s->task, NULL, fused, 1, parts, &chain, NULL) != STN_OK) return false;
        shape.rounding = (float)sparse_terms_rounding(s->task, NULL, &chain, parts, shape.launches);
        shape.noise = (float)noise_of(s, &shape, &chain);
        sparse_terms_clear(&chain);
    } else {
        shape.noise = (float)noise_of(s, &shape, NULL);
        /* Where only an accurate shape is of interest, its noise may exclude it already. */
        if (!(s->machine->time_limit > 0) || s->machine->allowed_error > 0 || sparse_is_accurate(s->task, &shape, 1)) {
            /* Two-part weights have random errors, which do not depend on the taps. */
            if (parts == 1 && !fuse_taps(s, fused)) return false;
            shape.rounding = (float)sparse_rounding(s->task, &s->taps, false, parts, shape.launches);
        }
    }
    for (size_t i = 0; i < s->count; i++)
        if (s->best[i].fused == fused && s->best[i].terms == terms && s->best[i].parts == parts) {
            s->best[i].rounding = shape.rounding, s->best[i].noise = shape.noise;
            use_error(s, &s->best[i]);
        }
    return true;
}

/* The index of the listed shape whose error is predicted next; `count` if there is none. It is the
 * shape with the fewest fused steps, because fuse_taps then only adds steps. With a time limit only
 * the cheapest candidate is of interest: then it is the cheapest shape, unless an accurate one that
 * is cheaper is known. */
static size_t next_without_error(const search *s) {
    size_t next = s->count;
    for (size_t i = 0; i < s->count; i++) {
        if (s->best[i].rounding != NOT_PREDICTED) continue;
        if (s->machine->time_limit > 0) return s->costs[i] > s->enough ? s->count : i;
        if (next == s->count || s->best[i].fused < s->best[next].fused) next = i;
    }
    return next;
}

/* Predicts errors, and drops shapes that need none because an accurate one is cheaper. */
static bool add_all_errors(search *s) {
    for (size_t i; (i = next_without_error(s)) < s->count;)
        if (!add_errors(s, &s->best[i])) return false;
    for (size_t i = 0; i < s->count; i++)
        if (s->best[i].rounding == NOT_PREDICTED) s->count = i;
    return true;
}

#define FEWEST 2 /* terms of a sum; search_shapes handles one */

/* The errors of sums of terms of the task's taps, by the number of terms. add_sum_errors returns
 * false if they cannot be computed. */
typedef struct sum_errors {
    double rounding[SPARSE_MAX_TERMS + 1], noise[SPARSE_MAX_TERMS + 1];
} sum_errors;
static bool add_sum_errors(search *s, int fused, int launches, sum_errors *errors) {
    sparse_shape shapes[SPARSE_MAX_TERMS + 1];
    sparse_terms terms;
    double rounding[SPARSE_MAX_TERMS + 1];
    int end = FEWEST;
    if (!fuse_taps(s, fused)) return false;
    while (end <= SPARSE_MAX_TERMS && sparse_fit(s->task, s->machine, fused, end, 1, false, &shapes[end])) end++;
    if (sparse_terms_make(s->task, &s->taps, fused, SPARSE_MAX_TERMS, 1, &terms, NULL) != STN_OK) return false;
    terms.count = end - 1;
    bool good = sparse_sums_rounding(s->task, &s->taps, &terms, FEWEST, launches, rounding);
    for (terms.count = FEWEST; terms.count < end && good; terms.count++) {
        const int count = terms.count;
        shapes[count].launches = launches;
        errors->rounding[count] = fmax(errors->rounding[count], rounding[count]);
        errors->noise[count] = fmax(errors->noise[count], noise_of(s, &shapes[count], &terms));
    }
    terms.count = SPARSE_MAX_TERMS;
    sparse_terms_clear(&terms);
    return good;
}

/* The cost of the cheapest number of terms, with any error; infinite if no kernel takes them. */
static double least_of_sums(search *s, int fused, sparse_shape *cheapest) {
    double least = INFINITY;
    for (int count = FEWEST; count <= SPARSE_MAX_TERMS; count++) {
        sparse_shape each;
        if (!sparse_fit(s->task, s->machine, fused, count, 1, false, &each)) break;
        const double cost = cost_of(s, &each);
        if (cost < least) least = cost, *cheapest = each;
    }
    return least;
}

/* Whether the noise of sums of so many steps, without that of their terms, is within the error
 * bound. */
static bool noise_is_low(search *s, int fused) {
    sparse_shape each;
    for (int count = FEWEST; count <= SPARSE_MAX_TERMS; count++) {
        if (!sparse_fit(s->task, s->machine, fused, count, 1, false, &each)) break;
        each.noise = (float)noise_of(s, &each, NULL);
        if (sparse_is_accurate(s->task, &each, ERROR_MARGIN)) return true;
    }
    return false;
}

/* Inserts the shape with the fewest terms whose sum is accurate enough in launches of both lengths.
 * Does nothing if even `least`, the cost of the cheapest number of terms, is too high for the list.
 */
static bool insert_sum(search *s, sparse_shape shape, double least) {
    if (s->count == s->most && least >= s->costs[s->count - 1]) return true;
    if (stn_exceeds_time_limit(s->machine, least) || least > s->enough) return true;
    int fused = shape.fused, launches = shape.launches;
    if (s->machine->time_limit > 0 && !noise_is_low(s, fused)) return true;
    sum_errors errors = {{0}, {0}};
    bool two_lengths = stn_fused_lengths(s->task, launches) == 2;
    if (two_lengths && !add_sum_errors(s, fused - 1, launches, &errors)) return false;
    if (!add_sum_errors(s, fused, launches, &errors)) return false;
    for (int count = FEWEST; count <= SPARSE_MAX_TERMS; count++) {
        if (!sparse_fit(s->task, s->machine, fused, count, 1, false, &shape)) break;
        shape.rounding = (float)errors.rounding[count];
        shape.noise = (float)errors.noise[count];
        if (!sparse_is_accurate(s->task, &shape, ERROR_MARGIN)) continue;
        insert(s, shape);
        use_error(s, &shape);
        break;
    }
    return true;
}

/* For taps that are not separable: tries the largest number of fused steps for each length of the
 * windows, with the fewest terms that are accurate enough. Where only the cheapest candidate is of
 * interest, the cheapest sums are tried first. */
static void search_sums(search *s, int most_fused) {
    sparse_shape shape, more, cheapest, sums[SPARSE_MAX_FUSED];
    double least[SPARSE_MAX_FUSED];
    int count = 0;
    bool cheaper, unused;
    if (s->task->rank != 2) return;
    if (!s->costs_alone &&
        (!fuse_taps(s, 1) || sparse_terms_residual(&s->taps, SPARSE_MAX_TERMS) > MAX_ONE_STEP_RESIDUAL))
        return;
    for (int fused = 1; (uint64_t)fused <= s->task->steps && fused <= most_fused; fused++) {
        if (!fits(s, fused, FEWEST, &shape, &cheaper)) break;
        bool last =
            (uint64_t)fused == s->task->steps || fused == most_fused || !fits(s, fused + 1, FEWEST, &more, &unused);
        if (cheaper || (!last && more.halves == shape.halves && more.halves_y == shape.halves_y)) continue;
        least[count] = least_of_sums(s, fused, &cheapest), sums[count++] = shape;
        if (s->costs_alone && least[count - 1] < INFINITY) insert(s, cheapest);
    }
    for (int turn = 0; turn < count && !s->costs_alone; turn++) {
        for (int k = turn + 1; k < count && s->machine->time_limit > 0; k++)
            if (least[k] < least[turn]) {
                const double cost = least[turn];
                shape = sums[turn], sums[turn] = sums[k], sums[k] = shape;
                least[turn] = least[k], least[k] = cost;
            }
        if (!insert_sum(s, sums[turn], least[turn])) return;
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
    else if (s->costs_alone || !(s->machine->time_limit > 0) || add_all_errors(s))
        search_sums(s, most_fused);
}

/* Whether there are kernels with split elements. */
static bool may_split(const stn_task *task) { return task->dtype == STN_F32 && task->rank == 2; }

double sparse_least_seconds(const stn_task *task, const stn_machine *machine) {
    sparse_shape best;
    double least = INFINITY;
    if (task->steps >> 31) return INFINITY; /* as `applies` */
    for (int split = sparse_must_split(task); split <= may_split(task); split++) {
        search s = {.task = task,
                    .machine = machine,
                    .best = &best,
                    .most = 1,
                    .costs_alone = true,
                    .split = split,
                    .enough = INFINITY};
        search_all(&s, INT_MAX);
        if (s.count) least = fmin(least, s.costs[0]);
    }
    return least;
}

/* Searches shapes with split elements, or those without. Returns whether any of them is within the
 * error bound; *good becomes false out of memory. */
static bool search_split(search *s, int most_fused, bool split, bool *good) {
    bool any = false;
    s->split = split, s->count = 0, s->faces_fused = 0, s->enough = INFINITY;
    search_all(s, most_fused);
    *good = add_all_errors(s);
    for (size_t i = 0; i < s->count; i++) any = any || sparse_is_accurate(s->task, &s->best[i], 1);
    return any;
}

/* Where a tolerance permits tf32, but its errors exceed the tolerance, elements are split. */
size_t sparse_search(const stn_task *task, const stn_machine *machine, int most_fused, sparse_shape *best,
                     size_t most) {
    search s = {.task = task, .machine = machine, .best = best, .most = stn_min(most, STN_CANDIDATES)};
    const bool must = sparse_must_split(task);
    sparse_shape plain[STN_CANDIDATES]; /* the best without split elements */
    bool good;
    if (!search_split(&s, most_fused, must, &good) && good && !must && may_split(task)) {
        const size_t count = s.count;
        memcpy(plain, best, count * sizeof *best);
        if (!search_split(&s, most_fused, true, &good)) memcpy(best, plain, count * sizeof *best), s.count = count;
    }
    stn_power_clear(&s.taps);
    sparse_spectrum_clear(&s.spectrum);
    return good ? s.count : 0;
}
