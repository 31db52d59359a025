/* accuracy LOCAL: infinities and NaNs reach only the points within the reach of the steps, and the
 * error of a value is relative to the values that reach it. Compares every candidate with the
 * host's steps, on a GPU or the emulator; problems are drawn from STENTOR_TEST_SEED or the
 * clock. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../expect.h"
#include "compare.h"
#include "plan/plan.h"

enum { PROBLEMS = 24, MAX_CANDIDATES = 6, MAX_DIRECT_CANDIDATES = 24, MAX_POINTS = 6000 };

static dice state;
static uint64_t draw(uint64_t below) { return dice_next(&state) % below; }

typedef struct trial {
    stn_stencil *stencil;
    stn_problem problem;
    size_t points, size;
    void *in, *want, *got;
    double *most; /* of each point: the sum of the magnitudes that reach it */
} trial;

static stn_boundary draw_side(void) {
    static const double values[] = {0, 2.5, INFINITY, NAN, 1e300};
    return (stn_boundary){(stn_boundary_kind)(1 + draw(5)), values[draw(5)]};
}

/* low: all taps are on the axes, at their low sides. */
static stn_stencil *draw_stencil(int rank, bool low) {
    const bool on_axes = low || draw(3) == 0;
    stn_tap taps[27];
    size_t count = 0;
    stn_stencil *stencil;
    for (int i = 0; i < 27; i++) {
        const int64_t at[3] = {i / 9 - 1, i / 3 % 3 - 1, i % 3 - 1};
        bool inside = true;
        for (int axis = rank; axis < 3; axis++) inside = inside && !at[axis];
        if (on_axes && abs((int)at[0]) + abs((int)at[1]) + abs((int)at[2]) > 1) continue;
        if (low && (at[0] > 0 || at[1] > 0 || at[2] > 0)) continue;
        if (!inside || (i != 13 && !on_axes && draw(2))) continue;
        taps[count] = (stn_tap){.weight = dice_real(&state) / (rank == 1 ? 2 : rank == 2 ? 5 : 12)};
        for (int axis = 0; axis < rank; axis++) taps[count].offset[axis] = at[axis] * (int64_t)(1 + draw(2));
        bool known = false;
        for (size_t k = 0; k < count; k++)
            known = known || !memcmp(taps[k].offset, taps[count].offset, sizeof taps[k].offset);
        count += !known;
    }
    OK(stn_stencil_create(rank, count, taps, &stencil, &error));
    return stencil;
}

static void draw_trial(trial *t, bool low) {
    const int rank = low ? 3 : 1 + (int)draw(3);
    t->problem = (stn_problem)STN_PROBLEM_INIT;
    t->problem.stencil = t->stencil = draw_stencil(rank, low);
    t->problem.dtype = draw(2) ? STN_F64 : STN_F32;
    t->problem.steps = (low ? 4 : 1) + draw(12);
    t->problem.accuracy = STN_ACCURACY_LOCAL;
    t->points = 1;
    for (int axis = 0; axis < rank; axis++) {
        t->problem.extent[axis] = 5 + draw(rank == 1 ? 3000 : rank == 2 ? 60 : 13);
        t->points *= t->problem.extent[axis];
        t->problem.boundary[axis][0] = draw_side(), t->problem.boundary[axis][1] = draw_side();
        if (draw(4) == 0) t->problem.boundary[axis][0] = t->problem.boundary[axis][1] = (stn_boundary){STN_WRAP, 0};
    }
    cr_assert_leq(t->points, MAX_POINTS);
    t->size = t->points * stn_dtype_size(t->problem.dtype);
    t->in = malloc(t->size), t->want = malloc(t->size), t->got = malloc(t->size);
    for (size_t i = 0; i < t->points; i++)
        set_element(t->problem.dtype, t->in, (int64_t)i, draw(3) ? 1e-6 * dice_real(&state) : 0);
    for (uint64_t i = 0; i < 1 + draw(3); i++) {
        static const double odd[] = {NAN, INFINITY, -INFINITY, 1e9};
        set_element(t->problem.dtype, t->in, (int64_t)draw(t->points), odd[draw(4)]);
    }
}

static void end_trial(trial *t) {
    stn_stencil_destroy(t->stencil);
    free(t->in), free(t->want), free(t->got), free(t->most);
}

static void run_on_host(const stn_problem *problem, const void *in, void *out) {
    stn_context *host = context_on(STN_DEVICE_HOST);
    stn_plan *plan = new_plan(host, problem, NULL);
    cr_assert_str_eq(stn_plan_strategy(plan), "host");
    OK(stn_plan_execute(plan, in, out, NULL, &error));
    stn_plan_destroy(plan);
    stn_context_destroy(host);
}

/* The definition, and the same with magnitudes, which bounds rounding errors. */
static void define(trial *t) {
    stn_problem positive = t->problem;
    const size_t count = stn_stencil_tap_count(t->stencil);
    stn_tap *taps = malloc(count * sizeof *taps);
    double *in = malloc(t->points * sizeof *in);
    stn_stencil *stencil;
    t->most = malloc(t->points * sizeof *t->most);
    run_on_host(&t->problem, t->in, t->want);
    memcpy(taps, stn_stencil_taps(t->stencil), count * sizeof *taps);
    for (size_t k = 0; k < count; k++) taps[k].weight = fabs(taps[k].weight);
    OK(stn_stencil_create(stn_stencil_rank(t->stencil), count, taps, &stencil, &error));
    for (size_t i = 0; i < t->points; i++) in[i] = fabs(element(t->problem.dtype, t->in, (int64_t)i));
    positive.stencil = stencil, positive.dtype = STN_F64;
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++)
            positive.boundary[axis][side].value = fabs(positive.boundary[axis][side].value);
    run_on_host(&positive, in, t->most);
    stn_stencil_destroy(stencil);
    free(taps), free(in);
}

static void expect_like(const trial *t, const char *strategy, uint64_t seed) {
    const double unit = (t->problem.dtype == STN_F64 ? 0x1p-53 : 0x1p-24) * 30 * (double)t->problem.steps;
    for (size_t i = 0; i < t->points; i++) {
        const double want = element(t->problem.dtype, t->want, (int64_t)i),
                     got = element(t->problem.dtype, t->got, (int64_t)i);
        const bool same = isnan(want) ? isnan(got) : isinf(want) ? want == got : isfinite(got);
        cr_assert(same && (!isfinite(want) || fabs(got - want) <= unit * t->most[i]),
                  "seed %" PRIu64 ", %s, point %zu: %g and not %g", seed, strategy, i, got, want);
    }
}

/* Runs the first candidates; direct: many of the strategy `direct`. */
static size_t run_all(stn_context *context, const trial *t, bool direct, uint64_t seed) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_plan *ranked, *plan;
    void *in, *out, *workspace = NULL;
    size_t ran = 0;
    options.estimate_only = 1;
    if (direct) options.strategy = "direct";
    ranked = new_plan(context, &t->problem, &options);
    in = uploaded(context, t->in, t->size);
    OK(stn_memory_alloc(context, t->size, &out, &error));
    for (size_t i = 0;
         i < ranked->ranked && ranked->ranking[i].applies && ran < (direct ? MAX_DIRECT_CANDIDATES : MAX_CANDIDATES);
         i++) {
        const stn_ranked *row = &ranked->ranking[i];
        cr_assert(row->strategy->local);
        if (stn_plan_build(ranked, t->problem.steps, row->strategy, &row->candidate, NULL, &plan, NULL) != STN_OK)
            continue;
        if (plan->workspace_size) OK(stn_memory_alloc(context, plan->workspace_size, &workspace, &error));
        OK(stn_plan_execute_with(plan, in, out, workspace, NULL, &error));
        OK(stn_memory_download(context, t->got, out, t->size, &error));
        if (workspace) stn_memory_free(context, workspace);
        workspace = NULL;
        stn_plan_destroy(plan);
        expect_like(t, row->strategy->name, seed);
        ran++;
    }
    stn_memory_free(context, in), stn_memory_free(context, out);
    stn_plan_destroy(ranked);
    return ran;
}

Test(local, every_candidate_keeps_what_is_not_finite_where_steps_leave_it) {
    const uint64_t first = dice_seed();
    stn_context *context = context_on(STN_DEVICE_CUDA(0));
    size_t ran = 0;
    for (uint64_t i = 0; i < PROBLEMS; i++) {
        trial t;
        state.state = first + i;
        /* Tiles of several steps have a form for taps on axes, which may lack the highest one. */
        draw_trial(&t, i < 4);
        define(&t);
        ran += run_all(context, &t, i < 4, first + i);
        end_trial(&t);
    }
    cr_expect_geq(ran, PROBLEMS);
    stn_context_destroy(context);
}
