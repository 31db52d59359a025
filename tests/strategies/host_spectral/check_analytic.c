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

/* ---- plans that take new weights ------------------------------------------------------------- */

void new_weights(suite *s) {
    static const double old[3] = {0.2, 0.6, 0.2}, wider[3] = {0.45, 0.1, 0.45}, near[3] = {0.1, 0.8, 0.1},
                        slanted[3] = {0.1, 0.6, 0.3};
    stn_stencil *stencil = NULL, *again = NULL;
    stn_problem p = STN_PROBLEM_INIT;
    stn_plan *plan = NULL;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_error error = {.status = STN_OK};
    options.strategy = "host-spectral";
    double in[997];
    dice d = {11};
    const size_t extent = 3;
    stn_stencil_create_dense(1, &extent, old, &stencil, NULL);
    stn_stencil_create_dense(1, &extent, near, &again, NULL);
    for (int i = 0; i < 997; i++) in[i] = dice_real(&d);
    p.stencil = stencil, p.extent[0] = 997, p.steps = 100;
    p.boundary[0][0].kind = p.boundary[0][1].kind = STN_REFLECT;
    stn_status status = stn_plan_create(s->context, &p, &options, &plan, &error);
    suite_report(s, status == STN_OK && compare_plan_with_host(s->context, plan, &p, in, 997) < 1e-12,
                 "weights: those it was made for", error.message);
    status = stn_plan_set_weights(plan, 3, near, &error);
    p.stencil = again;
    suite_report(s, status == STN_OK && compare_plan_with_host(s->context, plan, &p, in, 997) < 1e-12,
                 "weights: that reach less far", error.message);
    stn_plan_destroy(plan);
    stn_stencil_destroy(stencil), stn_stencil_destroy(again);
    const double *const others[] = {wider, slanted, old};
    const char *const names[] = {"weights: that reach further", "weights: that have no mirror", "weights: those again"};
    stn_stencil_create_dense(1, &extent, old, &stencil, NULL);
    p.stencil = stencil;
    status = stn_plan_create(s->context, &p, &options, &plan, &error);
    for (int i = 0; i < 3 && status == STN_OK; i++) {
        stn_stencil_create_dense(1, &extent, others[i], &again, NULL);
        p.stencil = again;
        status = stn_plan_set_weights(plan, 3, others[i], &error);
        const bool named = !strcmp(stn_plan_strategy(plan), "host-spectral");
        suite_report(
            s, status == STN_OK && named == (i != 1) && compare_plan_with_host(s->context, plan, &p, in, 997) < 1e-12,
            names[i], error.message);
        stn_stencil_destroy(again);
    }
    suite_report(s, status == STN_OK, "weights: a plan that chooses again", error.message);
    stn_plan_destroy(plan);
    stn_stencil_destroy(stencil);
}

/* ---- snapshots ------------------------------------------------------------------------------- */

static stn_status run_stack(suite *s, const stn_problem *p, char *strategy, const double *in, const double *source,
                            double *stack, stn_error *error) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_execution once = STN_EXECUTION_INIT;
    stn_plan *plan = NULL;
    options.strategy = strategy;
    once.in = in, once.out = stack, once.source = source;
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
    double *in = malloc((size_t)points * 8 + 8), *source = malloc((size_t)points * 8 + 8);
    double *got = malloc((size_t)all * 8 + 8), *expected = malloc((size_t)all * 8 + 8);
    stn_error error = {.status = STN_OK};
    dice d = {seed};
    for (int64_t i = 0; i < points; i++) in[i] = dice_real(&d), source[i] = dice_real(&d);
    for (int64_t i = 0; i < all; i++) got[i] = expected[i] = 1234;
    p->snapshot_stride = points + gap;
    const double *added = p->has_source ? source : NULL;
    stn_status status = run_stack(s, p, "host", in, added, expected, &error);
    if (status == STN_OK) status = run_stack(s, p, "host-spectral", in, added, got, &error);
    double off = 0, largest = 0;
    for (int64_t i = 0; i < all; i++) {
        off = fmax(off, isnan(got[i]) ? INFINITY : fabs(got[i] - expected[i]));
        if (expected[i] != 1234) largest = fmax(largest, fabs(expected[i]));
    }
    char detail[400];
    snprintf(detail, sizeof detail, "off by %.3g of %.3g; %.250s", off, largest, error.message);
    suite_report(s, status == STN_OK && off < 1e-12 * fmax(1, largest), what, detail);
    free(in), free(source), free(got), free(expected);
}

/* sides: one kind for all, or for STN_FIXED: fixed and mirror, constant and reflect. weights: NULL:
 * heat. */
static void stack_of(suite *s, const char *what, const int extent[3], const double *weights, uint64_t every,
                     uint64_t states, stn_boundary_kind sides, int way) {
    static const char *const named[] = {"heat-1d", "heat-2d", "heat-3d"};
    const int rank = extent[2] ? 3 : extent[1] ? 2 : 1;
    const size_t taps[3] = {rank == 1 ? 5 : 1, 5, 1};
    stn_stencil *stencil = NULL;
    stn_problem p = STN_PROBLEM_INIT;
    if (weights)
        stn_stencil_create_dense(rank, taps, weights, &stencil, NULL);
    else
        stn_stencil_parse(named[rank - 1], &stencil, NULL);
    p.stencil = stencil, p.every = every, p.steps = every * states, p.batch = way == 1 ? 3 : 1, p.has_source = way == 2;
    for (int axis = 0; axis < rank; axis++) {
        p.extent[axis] = (size_t)extent[axis];
        p.boundary[axis][0].kind = p.boundary[axis][1].kind = sides;
        if (sides == STN_FIXED) p.boundary[axis][1].kind = axis ? STN_REFLECT : STN_MIRROR;
        if (sides == STN_FIXED && axis) p.boundary[axis][0] = (stn_boundary){STN_CONSTANT, 0.4};
    }
    check_stack(s, what, &p, every * 10 + states + (uint64_t)rank);
    stn_stencil_destroy(stencil);
}

void snapshots(suite *s) {
    static const int line[3] = {301, 0, 0}, plane[3] = {37, 41, 0}, volume[3] = {13, 11, 17}, large[3] = {331, 401, 0},
                     prime[3] = {4001, 0, 0};
    static const double drifting[5] = {0, 0, 0.2, 0.5, 0.3}, back[5] = {0.15, 0.05, 0.1, 0.35, 0.35};
    static const char *const ways[] = {"snapshots: alone", "snapshots: a batch", "snapshots: with a source"};
    for (int way = 0; way < 3; way++) {
        stack_of(s, ways[way], line, NULL, 15, 4, STN_FIXED, way);
        stack_of(s, ways[way], plane, NULL, 15, 4, STN_FIXED, way);
        stack_of(s, ways[way], volume, NULL, 9, 3, STN_FIXED, way);
        stack_of(s, ways[way], plane, NULL, 1, 20, STN_REFLECT, way);
        stack_of(s, ways[way], volume, NULL, 1, 5, STN_NEAREST, way);
        stack_of(s, ways[way], prime, drifting, 40, 7, STN_WRAP, way);
        stack_of(s, ways[way], prime, back, 3, 25, STN_WRAP, way);
    }
    static const int many[3] = {47, 53, 61};
    stack_of(s, "snapshots: few frequencies are kept", large, NULL, 60, 3, STN_MIRROR, 0);
    stack_of(s, "snapshots: few frequencies are kept of a solid", many, NULL, 40, 4, STN_REFLECT, 0);
    stn_stencil *stencil = NULL;
    stn_problem p = STN_PROBLEM_INIT;
    stn_error error = {.status = STN_OK};
    const size_t taps = 5;
    double in[301] = {0}, stack[602];
    stn_stencil_create_dense(1, &taps, drifting, &stencil, NULL);
    p.stencil = stencil, p.extent[0] = 301, p.steps = 2, p.every = 1;
    /* Exact for one step, but not for two. */
    p.boundary[0][0].kind = p.boundary[0][1].kind = STN_REFLECT;
    suite_report(s, run_stack(s, &p, "host-spectral", in, NULL, stack, &error) == STN_ERROR_UNSUPPORTED,
                 "snapshots: two steps of slanted taps have no mirror", error.message);
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
