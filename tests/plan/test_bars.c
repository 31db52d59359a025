/* For the grids with a performance target, and an H200's rates: the planner chooses the listed
 * strategy, and its estimate meets the target. A wrong cost estimate of a strategy fails these
 * tests. */
#include <math.h>

#include "../expect.h"
#include "context/context.h"
#include "kinds/kinds.h"
#include "plan/plan.h"

typedef struct bar_case {
    const char *stencil, *sides;
    size_t side; /* points along each axis */
    uint64_t steps;
    const char *strategy;
    double bar; /* GStencil/s */
} bar_case;

static const bar_case cases[] = {
    {"heat-1d", "wrap", (size_t)1 << 27, 100, "segment", 16500},
    {"heat-1d", "wrap", (size_t)1 << 27, 1000, "segment", 160000},
    {"heat-1d", "fixed", (size_t)1 << 27, 1000, "segment", 160000},
    {"heat-1d", "wrap", (size_t)1 << 27, 4000, "segment", 600000},
    {"1d5p", "wrap", (size_t)1 << 27, 1000, "segment", 145000},
    {"1d7p", "wrap", (size_t)1 << 27, 1000, "segment", 130000},
    {"heat-2d", "wrap", 10240, 100, "spectral", 2000},
    {"heat-2d", "fixed", 10240, 100, "spectral", 2000},
    {"box-2d9p", "wrap", 10240, 100, "spectral", 2000},
    {"box-2d9p", "reflect", 10240, 100, "spectral", 2000},
    {"box-2d49p", "wrap", 10240, 100, "spectral", 600},
    {"box-2d49p", "fixed", 10240, 100, "aperiodic", 600},
    {"box-3d27p", "wrap", 768, 100, "spectral", 150},
    {"box-3d27p", "fixed", 768, 100, "spectral", 150},
    {"gaussian-2d:sigma=1,truncate=1", "wrap", 10240, 1000, "spectral", 52400},
    {"gaussian-2d:sigma=1,truncate=1", "reflect", 10240, 1000, "spectral", 52400},
    {"gaussian-2d:sigma=1,truncate=1", "fixed", 10240, 1000, "segment", 32750},
    {"gaussian-2d:sigma=1,truncate=1", "constant=0.5", 10240, 1000, "segment", 32750},
    {"gaussian-2d:sigma=1,truncate=3", "wrap", 10240, 1000, "spectral", 41900},
    {"gaussian-3d:sigma=1,truncate=1", "wrap", 512, 1000, "spectral", 38300},
    {"gaussian-3d:sigma=1,truncate=1", "reflect", 512, 1000, "spectral", 38300},
    {"gaussian-3d:sigma=1,truncate=1", "constant=0.5", 512, 1000, "segment", 23900},
};

static void check(stn_context *context, const bar_case *c) {
    stn_stencil *stencil = NULL;
    stn_plan *plan = NULL;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.estimate_only = 1;
    OK(stn_stencil_parse(c->stencil, &stencil, &error));
    stn_problem p = STN_PROBLEM_INIT;
    p.stencil = stencil;
    p.steps = c->steps;
    double updates = (double)c->steps;
    for (int axis = 0; axis < stn_stencil_rank(stencil); axis++) {
        p.extent[axis] = c->side, updates *= (double)c->side;
        OK(stn_boundary_parse(c->sides, p.boundary[axis], &error));
    }
    cr_assert_eq(stn_plan_create(context, &p, &options, &plan, &error), STN_OK, "%s: %s", c->stencil, error.message);
    const double rate = updates / stn_plan_predicted_seconds(plan) / 1e9;
    cr_expect_str_eq(stn_plan_strategy(plan), c->strategy, "%s, %s, %d steps: %s instead of %s", c->stencil, c->sides,
                     (int)c->steps, stn_plan_strategy(plan), c->strategy);
    cr_expect_geq(rate, c->bar, "%s, %s, %d steps by %s: %.0f GStencil/s, the bar is %.0f", c->stencil, c->sides,
                  (int)c->steps, stn_plan_strategy(plan), rate, c->bar);
    stn_plan_destroy(plan);
    stn_stencil_destroy(stencil);
}

Test(bars, are_met_by_the_chosen_strategy) {
    stn_context *context = context_of_h200();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check(context, &cases[i]);
    stn_context_destroy(context);
}

/* With cuFFT, and an H200's rates: its whole-grid transforms are chosen exactly where ours cannot
 * be used. */
static const struct {
    const char *stencil;
    size_t extent[3];
    uint64_t steps;
    bool taken;
} periodic_cases[] = {{"heat-2d", {1024, 1024}, 16, false},     {"heat-2d", {10240, 10240}, 4, false},
                      {"heat-2d", {10240, 10240}, 1000, false}, {"heat-2d", {10239, 10243}, 1000, false},
                      {"heat-2d", {16384, 16384}, 4, false},    {"star-2d13p", {4096, 4096}, 100, false},
                      {"heat-3d", {512, 512, 512}, 4, false},   {"heat-3d", {768, 768, 768}, 1000, false},
                      {"heat-1d", {536870912}, 1000, false},    {"heat-2d", {30000, 30000}, 100000, true},
                      {"heat-2d", {100, 1000000}, 1000, true},  {"heat-2d", {30000, 30000}, 1, false}};

Test(bars, cufft_is_chosen_where_ours_cannot_be_used) {
    stn_context *context = context_of_h200();
    for (size_t i = 0; i < sizeof periodic_cases / sizeof *periodic_cases; i++)
        for (int dtype = 0; dtype < 2; dtype++) {
            stn_stencil *stencil = NULL;
            stn_problem p = STN_PROBLEM_INIT;
            OK(stn_stencil_parse(periodic_cases[i].stencil, &stencil, &error));
            p.stencil = stencil, p.steps = periodic_cases[i].steps, p.dtype = (stn_dtype)dtype;
            for (int axis = 0; axis < stn_stencil_rank(stencil); axis++) {
                p.extent[axis] = periodic_cases[i].extent[axis];
                p.boundary[axis][0].kind = p.boundary[axis][1].kind = STN_WRAP;
            }
            stn_plan plan = {.kind = &stn_kind_stencil, .machine = context->machine};
            plan.machine.present = true;
            OK(stn_task_make(&p, &plan.task, &error));
            stn_plan_rank(&plan, NULL, STN_CANDIDATES);
            const bool taken = !strcmp(plan.ranking[0].strategy->name, "cufft-spectral");
            if (dtype == STN_F64 || !periodic_cases[i].taken) /* `spectral` runs 30000^2 in f32 */
                cr_expect_eq(taken, periodic_cases[i].taken, "%s, %zu x %zu x %zu, %d steps: %s",
                             periodic_cases[i].stencil, p.extent[0], p.extent[1], p.extent[2], (int)p.steps,
                             plan.ranking[0].strategy->name);
            stn_task_clear(&plan.task);
            stn_stencil_destroy(stencil);
        }
    stn_context_destroy(context);
}

/* Five taps along the planes of a thin grid, whose fused steps need other blocks than one step:
 * `lowrank` in three steps a launch is the best of all, and found while only the best counts. */
Test(bars, the_best_by_bounds_is_the_best_of_all) {
    static const double weights[] = {0.33, 0.36, -0.35, 0.41, 0.13};
    stn_context *context = context_of_h200();
    stn_problem p = STN_PROBLEM_INIT;
    stn_stencil *stencil = NULL;
    OK(stn_stencil_create_dense(3, (size_t[]){5, 1, 1}, weights, &stencil, &error));
    p.stencil = stencil, p.steps = 14, p.tolerance = 1e-6;
    p.extent[0] = 15, p.extent[1] = 18, p.extent[2] = 373;
    for (int axis = 0; axis < 3; axis++) p.boundary[axis][0].kind = p.boundary[axis][1].kind = STN_FIXED;
    stn_plan plan = {.kind = &stn_kind_stencil, .machine = context->machine};
    OK(stn_task_make(&p, &plan.task, &error));
    stn_plan_rank(&plan, NULL, STN_CANDIDATES);
    const stn_ranked all = plan.ranking[0];
    cr_assert_str_eq(all.strategy->name, "lowrank");
    stn_plan_rank_best(&plan, NULL, (stn_rank_limit){0});
    cr_expect_str_eq(plan.ranking[0].strategy->name, "lowrank");
    cr_expect_float_eq(plan.ranking[0].estimate.seconds, all.estimate.seconds, 0);
    stn_task_clear(&plan.task);
    stn_stencil_destroy(stencil);
    stn_context_destroy(context);
}

/* The margins of 63 x 63 taps, tap by tap, would take 60 times as long as the interior by
 * transforms. */
Test(bars, dense_stencils_with_sides_cost_a_few_copies_more_than_wrapped_ones) {
    static const stn_boundary_kind kinds[] = {STN_WRAP, STN_CONSTANT, STN_NEAREST, STN_REFLECT, STN_MIRROR, STN_FIXED};
    enum { SIDE = 63, N = 4096 };
    stn_context *context = context_of_h200();
    stn_problem p = STN_PROBLEM_INIT;
    stn_stencil *stencil = NULL;
    double *weights = malloc(sizeof(double[SIDE][SIDE])), wrapped = 0;
    for (int i = 0; i < SIDE * SIDE; i++) weights[i] = sin(i * i) / SIDE;
    OK(stn_stencil_create_dense(2, (size_t[]){SIDE, SIDE}, weights, &stencil, &error));
    p.stencil = stencil, p.dtype = STN_F32, p.extent[0] = p.extent[1] = N;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (int axis = 0; axis < 2; axis++) p.boundary[axis][0].kind = p.boundary[axis][1].kind = kinds[k];
        stn_plan plan = {.kind = &stn_kind_stencil, .machine = context->machine};
        OK(stn_task_make(&p, &plan.task, &error));
        stn_plan_rank_best(&plan, NULL, (stn_rank_limit){0});
        const double seconds = plan.ranking[0].estimate.seconds;
        if (k == 0) wrapped = seconds;
        cr_expect_leq(seconds, 1.5 * wrapped, "sides of kind %d: %g s, wrapped %g s", (int)kinds[k], seconds, wrapped);
        stn_task_clear(&plan.task);
    }
    stn_stencil_destroy(stencil);
    free(weights);
    stn_context_destroy(context);
}
