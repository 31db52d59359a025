/* Kernels whose threads exchange values through shared memory, on the emulator with its race
 * detector (STENTOR_EMULATOR_RACES): no candidate of some small problems may have a data race.
 * Prints TAP. */
#include <stdio.h>
#include <string.h>

#include "plan/plan.h"
#include "suite.h"

#define MOST 6 /* candidates of a problem */

/* Runs it once; other tests check results. */
static stn_status run_once(suite *s, stn_plan *plan, size_t bytes, stn_error *error) {
    void *at[3] = {NULL};
    const size_t sizes[3] = {bytes, bytes, plan->workspace_size + 256};
    stn_status status = STN_OK;
    for (int i = 0; i < 3 && status == STN_OK; i++) status = stn_memory_alloc(s->context, sizes[i], &at[i], error);
    stn_execution e = STN_EXECUTION_INIT;
    e.in = at[0], e.out = at[1], e.workspace = at[2];
    if (status == STN_OK) status = stn_plan_run(plan, &e, error);
    if (status == STN_OK) status = stn_synchronize(s->context, NULL, error);
    for (int i = 0; i < 3; i++) stn_memory_free(s->context, at[i]);
    return status;
}

static void check_all(suite *s, const char *what, const stn_plan *ranked, uint64_t steps, size_t bytes) {
    size_t run = 0;
    for (size_t i = 0; i < ranked->ranked && ranked->ranking[i].applies && run < MOST; i++, run++) {
        const stn_ranked *row = &ranked->ranking[i];
        stn_error error = {0};
        stn_plan *plan = NULL;
        char named[200];
        snprintf(named, sizeof named, "%s, candidate %zu", what, i);
        stn_status status = stn_plan_build(ranked, steps, row->strategy, &row->candidate, NULL, &plan, &error);
        if (status == STN_OK) status = run_once(s, plan, bytes, &error);
        suite_report(s, status == STN_OK, named, error.message);
        stn_plan_destroy(plan);
    }
    if (!run) suite_report(s, false, what, "there is no candidate");
}

static void transforms(suite *s) {
    static const size_t sizes[][2] = {{256, 256}, {20, 256}, {3, 1000}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        stn_transform t = STN_TRANSFORM_INIT;
        stn_plan_options options = STN_PLAN_OPTIONS_INIT;
        stn_plan *plan = NULL;
        stn_error error = {0};
        char what[100];
        t.rank = i == 0 ? 2 : 1, t.dtype = i == 1 ? STN_F32 : STN_F16;
        if (i == 0)
            t.extent[0] = sizes[i][0], t.extent[1] = sizes[i][1];
        else
            t.batch = sizes[i][0], t.extent[0] = sizes[i][1];
        options.strategy = "fft", options.estimate_only = 1;
        snprintf(what, sizeof what, "fft of %zu x %zu", sizes[i][0], sizes[i][1]);
        if (stn_plan_create_fft(s->context, &t, &options, &plan, &error) == STN_OK)
            check_all(s, what, plan, 1, sizes[i][0] * sizes[i][1] * 8);
        else
            suite_report(s, false, what, error.message);
        stn_plan_destroy(plan);
    }
}

static void stencils(suite *s) {
    static const struct {
        const char *stencil, *strategy;
        size_t extent[3];
        uint64_t steps;
        stn_boundary_kind side;
    } cases[] = {{"1d7p", "direct", {1999}, 21, STN_MIRROR},
                 {"heat-1d", "direct", {3000}, 64, STN_MIRROR},
                 {"heat-2d", "direct", {40, 90}, 11, STN_FIXED},
                 {"heat-3d", "direct", {16, 34, 40}, 6, STN_REFLECT},
                 {"1d5p", "lowrank", {9000}, 40, STN_WRAP},
                 {"box-2d9p", "lowrank", {60, 80}, 16, STN_REFLECT},
                 {"box-2d49p", "lowrank", {60, 70}, 8, STN_FIXED},
                 {"box-3d27p", "lowrank", {20, 24, 40}, 4, STN_WRAP},
                 {"heat-2d", "sparse", {70, 90}, 1, STN_WRAP},
                 {"heat-1d", "sparse", {30000}, 1, STN_WRAP},
                 {"gaussian-2d:sigma=1,truncate=1", "sparse", {70, 90}, 1, STN_WRAP}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stn_problem p = STN_PROBLEM_INIT;
        stn_plan_options options = STN_PLAN_OPTIONS_INIT;
        stn_stencil *stencil = NULL;
        stn_plan *plan = NULL;
        stn_error error = {0};
        char what[100];
        size_t points = 1;
        stn_stencil_parse(cases[i].stencil, &stencil, &error);
        p.stencil = stencil, p.steps = cases[i].steps;
        if (!strcmp(cases[i].strategy, "sparse")) p.dtype = STN_F32, p.tolerance = 1e-3;
        for (int axis = 0; axis < 3 && cases[i].extent[axis]; axis++) {
            points *= p.extent[axis] = cases[i].extent[axis];
            p.boundary[axis][0].kind = p.boundary[axis][1].kind = cases[i].side;
        }
        options.strategy = cases[i].strategy, options.estimate_only = 1;
        snprintf(what, sizeof what, "%s by %s", cases[i].stencil, cases[i].strategy);
        if (stn_plan_create(s->context, &p, &options, &plan, &error) == STN_OK)
            check_all(s, what, plan, p.steps, points * 8);
        else
            suite_report(s, false, what, error.message);
        stn_plan_destroy(plan);
        stn_stencil_destroy(stencil);
    }
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"transforms", transforms}, {"stencils", stencils}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
