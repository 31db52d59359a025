/* Plans of segment in each of its forms: consecutive runs, stacks of snapshots, new weights without
 * compilation; and 1 to 4096 steps of the same problems compared with host; on any device. Prints
 * TAP. Usage: test_segment_plans [--full] [--only PART] [--dtype T]. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../suite.h"
#include "plan/plan.h"

enum { RUNS = 4, MOST_TAPS = 27 };

/* One form of segment. Weights are positive and sum to 1, so that results do not decay to 0. */
typedef struct form {
    /* Substrings of the candidate's name, separated by |; "": the first candidate. */
    const char *words;
    int rank, n[3];
    enum { STAR, PRODUCT, BOX } taps;
    bool even;
    int low, high, steps; /* Sides of all axes; steps of a run. */
    bool more;            /* With --full only. */
} form;
static const form forms[] = {
    {"segments of 256 points", 1, {1009}, PRODUCT, true, STN_FIXED, STN_CONSTANT, 20, false},
    {"segments of 512 points", 1, {2003}, PRODUCT, false, STN_WRAP, STN_WRAP, 20, false},
    {"segments of 1024 points", 1, {3001}, PRODUCT, false, STN_NEAREST, STN_FIXED, 20, false},
    {"segments of 4096 points", 1, {5003}, PRODUCT, true, STN_REFLECT, STN_MIRROR, 100, false},
    {"segments of 8192 points", 1, {9001}, PRODUCT, true, STN_CONSTANT, STN_FIXED, 300, true},
    {"segments of 16384 points", 1, {30011}, PRODUCT, false, STN_WRAP, STN_WRAP, 3000, true},
    {"by dense DFTs of 16 x 15 x 1", 1, {1009}, PRODUCT, false, STN_WRAP, STN_WRAP, 6, false},
    {"by dense DFTs of 15 x 8 x 7", 1, {2003}, PRODUCT, true, STN_FIXED, STN_REFLECT, 20, false},
    {"with a line in the middle", 1, {511}, PRODUCT, true, STN_FIXED, STN_CONSTANT, 20, false},
    {"along axis 1|along axis 0", 2, {61, 90}, PRODUCT, true, STN_REFLECT, STN_MIRROR, 20, false},
    {"sources of sides convolved", 2, {61, 90}, PRODUCT, true, STN_FIXED, STN_CONSTANT, 20, false},
    {"along axis 1|along axis 0", 2, {83, 67}, PRODUCT, false, STN_WRAP, STN_WRAP, 20, true},
    {"along axis 2|along axis 1|along axis 0", 3, {20, 31, 42}, PRODUCT, true, STN_REFLECT, STN_REFLECT, 9, false},
    {"along axis 2|along axis 1|along axis 0", 3, {20, 31, 42}, PRODUCT, false, STN_WRAP, STN_WRAP, 9, true},
    {"tiled FFTs of", 2, {97, 131}, BOX, true, STN_REFLECT, STN_REFLECT, 7, false},
    {"tiled FFTs of", 2, {97, 131}, BOX, false, STN_WRAP, STN_WRAP, 7, false},
    {"tiled FFTs of|margins stepped", 2, {97, 131}, STAR, true, STN_FIXED, STN_NEAREST, 7, false},
    {"in a cluster of", 2, {151, 211}, BOX, true, STN_WRAP, STN_WRAP, 7, false},
    {"tiles of 32 x 32 points", 2, {61, 70}, BOX, true, STN_REFLECT, STN_MIRROR, 3, false},
    {"tiles of 32 x 32 points", 2, {61, 70}, BOX, false, STN_WRAP, STN_WRAP, 3, false},
    {"tiles of 16 x 16 x 16 points", 3, {17, 20, 23}, BOX, true, STN_REFLECT, STN_REFLECT, 2, false},
    {"tiles of 16 x 16 x 16 points", 3, {17, 20, 23}, STAR, false, STN_FIXED, STN_FIXED, 2, true}};

static bool is_left_out(const suite *s, const form *f) { return f->more && !s->full; }

/* Taps of radius 1; `draw` seeds the random weights. */
static stn_stencil *stencil_of(const form *f, bool even, uint64_t draw) {
    dice d = {draw};
    double factor[3][3], own[MOST_TAPS], sum = 0;
    for (int i = 0; i < 9; i++) factor[i / 3][i % 3] = 0.2 + (1 + dice_real(&d)) / 4;
    for (int i = 0; i < MOST_TAPS; i++) own[i] = 0.2 + (1 + dice_real(&d)) / 4;
    for (int axis = 0; even && axis < 3; axis++) factor[axis][2] = factor[axis][0];
    stn_tap taps[MOST_TAPS];
    size_t count = 0;
    for (int i = 0; i < MOST_TAPS; i++) {
        const int at[3] = {i / 9 - 1, i / 3 % 3 - 1, i % 3 - 1};
        const int away = abs(at[0]) + abs(at[1]) + abs(at[2]), first = 3 - f->rank;
        if ((first > 0 && at[0]) || (first > 1 && at[1]) || (f->taps == STAR && away > 1)) continue;
        double weight = f->taps != PRODUCT ? own[even ? 9 * abs(at[0]) + 3 * abs(at[1]) + abs(at[2]) : i] : 1;
        for (int axis = first; f->taps == PRODUCT && axis < 3; axis++) weight *= factor[axis][at[axis] + 1];
        taps[count] = (stn_tap){.weight = weight};
        for (int axis = first; axis < 3; axis++) taps[count].offset[axis - first] = at[axis];
        sum += taps[count++].weight;
    }
    for (size_t i = 0; i < count; i++) taps[i].weight /= sum;
    stn_stencil *stencil = NULL;
    stn_stencil_create(f->rank, count, taps, &stencil, NULL);
    return stencil;
}

static stn_problem problem_of(const suite *s, const form *f, const stn_stencil *stencil, uint64_t steps) {
    stn_problem p = STN_PROBLEM_INIT;
    p.stencil = stencil;
    p.steps = steps;
    p.batch = 2;
    for (int axis = 0; axis < f->rank; axis++) {
        p.extent[axis] = (size_t)f->n[axis];
        p.boundary[axis][0] = (stn_boundary){(stn_boundary_kind)f->low, f->low == STN_CONSTANT ? 0.7 : 0};
        p.boundary[axis][1] = (stn_boundary){(stn_boundary_kind)f->high, f->high == STN_CONSTANT ? -1.3 : 0};
    }
    p = suite_problem(s, &p);
    /* With a smaller tolerance, f32 may be offered FFT forms only: one launch of dense DFTs has
     * larger rounding errors. */
    if (p.dtype == STN_F32 && strstr(f->words, "tiles of")) p.tolerance = fmax(p.tolerance, 2e-5);
    return p;
}

static size_t points_of(const form *f) {
    size_t count = 2;
    for (int axis = 0; axis < f->rank; axis++) count *= (size_t)f->n[axis];
    return count;
}

/* The plan of the form's first candidate; NULL, with the reason in *error. */
static stn_plan *plan_of(const suite *s, stn_context *context, const stn_problem *p, const char *words,
                         stn_error *error) {
    comparison c = {0};
    stn_plan *plan = NULL;
    const int pick = *words ? suite_candidate(s, p, "segment", words) : -1;
    if (compare_plan(context, p, "segment", pick, &plan, &c) == STN_OK) return plan;
    *error = c.error;
    stn_plan_destroy(plan);
    return NULL;
}

static bool runs(stn_context *context, stn_plan *plan, void *in, void *out, void *got, size_t bytes, stn_error *error) {
    return stn_plan_execute(plan, in, out, NULL, error) == STN_OK && stn_synchronize(context, NULL, error) == STN_OK &&
           stn_memory_download(context, got, out, bytes, error) == STN_OK;
}

/* Relative L2 norm of the difference. */
static double apart(stn_dtype dtype, const void *a, const void *b, size_t from, size_t count) {
    double error = 0, size = 0;
    for (size_t i = 0; i < count; i++) {
        const double x = element(dtype, a, (int64_t)i), y = element(dtype, b, (int64_t)(from + i));
        error += (x - y) * (x - y), size += x * x;
    }
    return sqrt(error / size);
}

/* RUNS consecutive runs of one plan, the same steps by one plan, and as a stack of snapshots. */
static void check_runs(suite *s, const form *f, uint64_t seed) {
    stn_stencil *stencil = stencil_of(f, f->even, seed);
    stn_problem few = problem_of(s, f, stencil, (uint64_t)f->steps), all = few;
    all.steps = few.steps * RUNS;
    stn_problem stacked = all;
    stacked.every = few.steps;
    const size_t count = points_of(f), bytes = count * stn_dtype_size(few.dtype);
    stn_error error = {0};
    stn_context *c = s->context;
    /* In f16 each snapshot is rounded, which excludes forms with large errors of their own. */
    stn_plan *plans[3] = {plan_of(s, c, &few, f->words, &error), plan_of(s, c, &all, "", &error),
                          plan_of(s, c, &stacked, few.dtype == STN_F16 ? "" : f->words, &error)};
    void *grid[2] = {NULL, NULL}, *stack = NULL;
    unsigned char *states = calloc(RUNS + 1, bytes), *many = states + RUNS * bytes, *got = calloc(RUNS, bytes);
    dice d = {seed};
    for (size_t i = 0; i < count; i++) set_element(few.dtype, got, (int64_t)i, dice_real(&d));
    bool good = plans[0] && plans[1] && plans[2];
    for (int i = 0; i < 2; i++) good = good && stn_memory_alloc(c, bytes, &grid[i], &error) == STN_OK;
    good = good && stn_memory_alloc(c, RUNS * bytes, &stack, &error) == STN_OK &&
           stn_memory_upload(c, grid[0], got, bytes, &error) == STN_OK &&
           runs(c, plans[1], grid[0], grid[1], many, bytes, &error) &&
           runs(c, plans[2], grid[0], stack, got, RUNS * bytes, &error);
    for (size_t i = 0; i < RUNS && good; i++)
        good = runs(c, plans[0], grid[i % 2], grid[1 - i % 2], states + i * bytes, bytes, &error);
    stn_task task;
    double off = INFINITY, snapshots = 0, bar = 0;
    if (good && stn_task_make(&all, &task, &error) == STN_OK) {
        bar = 2 * fmax(compare_bar(&task, true), few.dtype == STN_F16 ? 2e-3 : 0);
        off = apart(few.dtype, states + (RUNS - 1) * bytes, many, 0, count);
        for (size_t i = 0; i < RUNS; i++)
            snapshots = fmax(snapshots, apart(few.dtype, states + i * bytes, got, i * count, count));
        stn_task_clear(&task);
    }
    char what[240], detail[1200];
    snprintf(detail, sizeof detail, "apart by %.3g, snapshots by %.3g, bar %.3g; %s", off, snapshots, bar,
             error.message);
    snprintf(what, sizeof what, "%s, %dD: %d runs of %d steps are one of %d", f->words, f->rank, RUNS, f->steps,
             RUNS * f->steps);
    suite_report(s, good && off <= bar, what, detail);
    snprintf(what, sizeof what, "%s, %dD: so are %d snapshots", f->words, f->rank, RUNS);
    suite_report(s, good && snapshots <= bar, what, detail);
    for (int i = 0; i < 3; i++) stn_plan_destroy(plans[i]);
    stn_memory_free(c, grid[0]), stn_memory_free(c, grid[1]), stn_memory_free(c, stack);
    free(states), free(got);
    stn_stencil_destroy(stencil);
}

static void follow(suite *s) {
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (!is_left_out(s, &forms[i])) check_runs(s, &forms[i], i + 40);
}

/* Weights at least as symmetric as the plan's own must need no compilation: the compiler is made to
 * fail (in the emulator; elsewhere only the results are checked). */
static void check_weights(suite *s, const form *f, bool to_even, uint64_t seed) {
    stn_stencil *stencil = stencil_of(f, f->even, seed), *fresh = stencil_of(f, to_even, seed + 100);
    stn_problem p = problem_of(s, f, stencil, (uint64_t)f->steps);
    const size_t count = points_of(f), taps = stn_stencil_tap_count(fresh);
    double weights[MOST_TAPS], off = INFINITY;
    for (size_t i = 0; i < taps; i++) weights[i] = stn_stencil_taps(fresh)[i].weight;
    stn_context_options own = STN_CONTEXT_OPTIONS_INIT;
    own.cache_dir = ":memory:";
    stn_context *context = NULL;
    stn_error error = {0};
    stn_task task;
    stn_plan *plan = NULL;
    double *in = malloc(count * sizeof *in), bar = 0;
    dice d = {seed};
    for (size_t i = 0; i < count; i++) in[i] = dice_real(&d);
    if (stn_context_create(&own, &context, &error) == STN_OK) plan = plan_of(s, context, &p, f->words, &error);
    if (plan) {
        setenv("STENTOR_EMULATOR_FAIL", "nvrtcCompileProgram:*", 1);
        const bool set = stn_plan_set_weights(plan, taps, weights, &error) == STN_OK;
        unsetenv("STENTOR_EMULATOR_FAIL");
        p.stencil = fresh;
        if (set) off = compare_plan_with_host(context, plan, &p, in, count);
    }
    if (stn_task_make(&p, &task, NULL) == STN_OK) bar = compare_bar(&task, true), stn_task_clear(&task);
    char what[240], detail[1200];
    snprintf(what, sizeof what, "%s, %dD: %s weights for %s ones", f->words, f->rank, to_even ? "even" : "uneven",
             f->even ? "even" : "uneven");
    snprintf(detail, sizeof detail, "relative L2 %.3g, bar %.3g; %s", off, bar, error.message);
    suite_report(s, off <= bar, what, detail);
    stn_plan_destroy(plan);
    stn_context_destroy(context);
    stn_stencil_destroy(stencil), stn_stencil_destroy(fresh);
    free(in);
}

static void weights(suite *s) {
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (is_left_out(s, &forms[i])) continue;
        check_weights(s, &forms[i], forms[i].even, i + 70);
        if (!forms[i].even) check_weights(s, &forms[i], true, i + 170);
    }
}

/* 1 to 4096 steps, by the first form, on grids of prime extents. */
static void check_steps(suite *s, const form *f, uint64_t steps, uint64_t seed) {
    static const int primes[3][3] = {{1013}, {61, 89}, {19, 31, 43}};
    form prime = *f;
    memcpy(prime.n, primes[f->rank - 1], sizeof prime.n);
    stn_stencil *stencil = stencil_of(&prime, f->even, seed);
    const stn_problem p = problem_of(s, &prime, stencil, steps);
    char what[200];
    snprintf(what, sizeof what, "%dD, %s weights of a %s, %s:%s, %d steps", f->rank, f->even ? "even" : "uneven",
             f->taps == STAR      ? "star"
             : f->taps == PRODUCT ? "product"
                                  : "box",
             side_names[f->low], side_names[f->high], (int)steps);
    suite_compare(s, "segment", true, what, &p, seed);
    stn_stencil_destroy(stencil);
}

static void steps(suite *s) {
    static const int counts[] = {1, 2, 7, 64, 255, 1000, 4096};
    enum { COUNTS = sizeof counts / sizeof *counts };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        for (size_t k = 0; k < COUNTS; k++) {
            /* Tiles take one launch for every few steps. */
            const bool many = counts[k] > (forms[i].taps == PRODUCT ? 4096 : 255) / (forms[i].rank == 3 ? 4 : 1);
            if (!s->full && ((i + k) % 3 || many)) continue;
            check_steps(s, &forms[i], (uint64_t)counts[k], i * COUNTS + k);
        }
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"follow", follow}, {"weights", weights}, {"steps", steps}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
