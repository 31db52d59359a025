/* Tests of host-spectral without a reference run, or with several runs; see check_analytic.h. */
#include "check_analytic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "plan/plan.h"

/* Checks that the description of a plan contains `text`. */
static void check_said(suite *s, const char *what, const double weights[3], uint64_t steps, stn_format format,
                       const char *text) {
    const size_t extent = 3;
    stn_stencil *stencil = NULL;
    stn_problem p = STN_PROBLEM_INIT;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_plan *plan = NULL;
    char *said = NULL;
    options.strategy = "host-spectral";
    stn_stencil_create_dense(1, &extent, weights, &stencil, NULL);
    p.stencil = stencil, p.extent[0] = 100, p.steps = steps;
    if (stn_plan_create(s->context, &p, &options, &plan, NULL) == STN_OK) stn_plan_describe(plan, format, &said, NULL);
    suite_report(s, said && strstr(said, text), what, said ? said : "no plan");
    stn_text_free(said);
    stn_plan_destroy(plan);
    stn_stencil_destroy(stencil);
}

void growth_is_told(suite *s) {
    static const double grows[3] = {0.5, 1, 0.5}, stays[3] = {0.25, 0.5, 0.25};
    check_said(s, "growth: told", grows, 100, STN_TEXT, "; grows by up to 10^30");
    check_said(s, "growth: told by the library too", grows, 100, STN_TEXT, "grows without bound");
    check_said(s, "growth: from which step numbers overflow", grows, 100, STN_TEXT,
               "by up to 10^30.1 in this one; numbers of about 1 may overflow f64 from step 1024 on");
    check_said(s, "growth: that step as a number", grows, 100, STN_JSON, "\"overflow_step\":1024");
    check_said(s, "growth: no such step", stays, 100, STN_JSON, "\"overflow_step\":null");
    check_said(s, "growth: none told", stays, 100, STN_JSON, "\"log10_growth\":0");
    check_said(s, "growth: the error that is to be expected", stays, 100, STN_TEXT, "(the bound is 7.6e-13)");
}

/* ---- snapshots ------------------------------------------------------------------------------- */

static stn_status run_stack(suite *s, const stn_problem *p, char *strategy, const double *in, double *stack,
                            stn_error *error) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_execution once = STN_EXECUTION_INIT;
    stn_plan *plan = NULL;
    options.strategy = strategy;
    once.in = in, once.out = stack;
    stn_status status = stn_plan_create(s->context, p, &options, &plan, error);
    if (status == STN_OK) status = stn_plan_run(plan, &once, error);
    stn_plan_destroy(plan);
    return status;
}

/* All snapshots of a stack compared with the host's, and gaps between them, which must not be
 * written. f64, dense grids. */
static void check_stack(suite *s, const char *what, stn_problem *p, uint64_t seed) {
    const int64_t gap = 7;
    int64_t points = stn_max(1, (int64_t)p->batch);
    for (int axis = 0; axis < stn_stencil_rank(p->stencil); axis++) points *= (int64_t)p->extent[axis];
    const int64_t states = (int64_t)(p->steps / p->every), all = states * (points + gap);
    double *in = malloc((size_t)points * 8 + 8);
    double *got = malloc((size_t)all * 8 + 8), *expected = malloc((size_t)all * 8 + 8);
    stn_error error = {.status = STN_OK};
    dice d = {seed};
    for (int64_t i = 0; i < points; i++) in[i] = dice_real(&d);
    for (int64_t i = 0; i < all; i++) got[i] = expected[i] = 1234;
    p->snapshot_stride = points + gap;
    stn_status status = run_stack(s, p, "host", in, expected, &error);
    if (status == STN_OK) status = run_stack(s, p, "host-spectral", in, got, &error);
    double off = 0, largest = 0;
    for (int64_t i = 0; i < all; i++) {
        off = fmax(off, isnan(got[i]) ? INFINITY : fabs(got[i] - expected[i]));
        if (expected[i] != 1234) largest = fmax(largest, fabs(expected[i]));
    }
    char detail[400];
    snprintf(detail, sizeof detail, "off by %.3g of %.3g; %.250s", off, largest, error.message);
    suite_report(s, status == STN_OK && off < 1e-12 * fmax(1, largest), what, detail);
    free(in), free(got), free(expected);
}

/* Grids so large that few frequencies are kept; test_random draws smaller ones. */
void snapshots(suite *s) {
    static const int extents[2][3] = {{331, 401, 0}, {47, 53, 61}};
    static const double drifting[5] = {0, 0, 0.2, 0.5, 0.3};
    stn_stencil *stencil = NULL;
    for (int volume = 0; volume < 2; volume++) {
        stn_stencil_parse(volume ? "heat-3d" : "heat-2d", &stencil, NULL);
        stn_problem p = grid_problem(stencil, extents[volume], STN_F64, 180);
        p.every = volume ? 45 : 60;
        for (int axis = 0; axis < 2 + volume; axis++)
            p.boundary[axis][0].kind = p.boundary[axis][1].kind = volume ? STN_REFLECT : STN_MIRROR;
        check_stack(s, volume ? "snapshots: of a solid" : "snapshots: of a plane", &p, 603);
        stn_stencil_destroy(stencil);
    }
    stn_error error = {.status = STN_OK};
    const size_t taps = 5;
    double in[301] = {0}, stack[602];
    stn_stencil_create_dense(1, &taps, drifting, &stencil, NULL);
    stn_problem p = grid_problem(stencil, (const int[]){301}, STN_F64, 2);
    p.every = 1;
    /* Exact for one step, but not for two. */
    p.boundary[0][0].kind = p.boundary[0][1].kind = STN_REFLECT;
    suite_report(s, run_stack(s, &p, "host-spectral", in, stack, &error) == STN_ERROR_UNSUPPORTED,
                 "snapshots: two steps of slanted taps have no mirror", error.message);
    stn_stencil_destroy(stencil);
}

/* ---- new weights ----------------------------------------------------------------------------- */

void new_weights(suite *s) {
    static const struct {
        const char *what;
        double weights[3];
        bool fits; /* host-spectral can take them */
    } sets[] = {{"weights: that reach less far", {0.1, 0.8, 0.1}, true},
                {"weights: that reach further", {0.45, 0.1, 0.45}, true},
                {"weights: that have no mirror", {0.1, 0.6, 0.3}, false},
                {"weights: those again", {0.2, 0.6, 0.2}, true}};
    enum { SETS = sizeof sets / sizeof *sets, N = 997 };
    const size_t extent = 3;
    double in[N];
    stn_stencil *stencil = NULL;
    stn_plan *plan = NULL;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_error error = {.status = STN_OK};
    dice d = {11};
    options.strategy = "host-spectral";
    for (int i = 0; i < N; i++) in[i] = dice_real(&d);
    stn_stencil_create_dense(1, &extent, sets[SETS - 1].weights, &stencil, NULL);
    stn_problem p = grid_problem(stencil, (const int[]){N}, STN_F64, 100);
    p.boundary[0][0].kind = p.boundary[0][1].kind = STN_REFLECT;
    stn_status status = stn_plan_create(s->context, &p, &options, &plan, &error);
    suite_report(s, status == STN_OK && compare_plan_with_host(s->context, plan, &p, in, N) < 1e-12,
                 "weights: those it was made for", error.message);
    for (int i = 0; i < SETS && status == STN_OK; i++) {
        stn_stencil_destroy(stencil);
        stn_stencil_create_dense(1, &extent, sets[i].weights, &stencil, NULL);
        p.stencil = stencil;
        status = stn_plan_set_weights(plan, 3, sets[i].weights, &error);
        const bool fits = !strcmp(stn_plan_strategy(plan), "host-spectral");
        suite_report(
            s, status == STN_OK && fits == sets[i].fits && compare_plan_with_host(s->context, plan, &p, in, N) < 1e-12,
            sets[i].what, error.message);
    }
    stn_plan_destroy(plan);
    stn_stencil_destroy(stencil);
}

/* ---- the planner ----------------------------------------------------------------------------- */

void choice(suite *s) {
    suite_choice(s, "choice: one step is stepped", "heat-2d", STN_REFLECT, 1024, 1, NULL, "host");
    suite_choice(s, "choice: a few steps are stepped", "heat-2d", STN_REFLECT, 1024, 3, NULL, "host");
    suite_choice(s, "choice: a thousand steps are not", "heat-2d", STN_REFLECT, 1024, 1000, NULL, "host-spectral");
    suite_choice(s, "choice: nor a million of a small grid", "heat-2d", STN_REFLECT, 64, 1000000, NULL,
                 "host-spectral");
}
