/* lowrank plans in 2D that get new weights, of every structure, against the host. Prints TAP.
 * Usage: test_new_weights [--dtype T] [--tolerance X]. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../suite.h"
#include "structure.h"

enum { NY = 50, NX = 66 };

static const double *data(void) {
    static double in[NY * NX];
    dice d = {99};
    for (size_t i = 0; i < NY * NX && !in[NY * NX - 1]; i++) in[i] = dice_real(&d);
    return in;
}

static double bar_of(const stn_problem *p) {
    return fmax(p->dtype == STN_F64 ? 5e-13 : p->dtype == STN_F32 ? 4e-6 : 1e-3, p->tolerance);
}

/* Sets the plan's weights to `w`; it must agree with the host's result for them. */
static void check_weights(suite *s, stn_plan *plan, const stn_problem *p, const size_t extent[2], double *w,
                          const char *name) {
    const size_t taps = extent[0] * extent[1];
    stn_stencil *fresh = NULL;
    stn_error error = {0};
    char what[160], detail[1200];
    for (size_t i = 0; i < taps; i++)
        if (w[i] == 0) w[i] = 1e-15; /* keeps the tap */
    stn_stencil_create_dense(2, extent, w, &fresh, NULL);
    stn_problem q = *p;
    q.stencil = fresh;
    bool set = stn_plan_set_weights(plan, taps, w, &error) == STN_OK;
    double off = set ? compare_plan_with_host(s->context, plan, &q, data(), NY * NX) : INFINITY;
    snprintf(what, sizeof what, "new weights, %s", name);
    snprintf(detail, sizeof detail, "error %.3g, bar %.3g; %s", off, bar_of(p), set ? "no error" : error.message);
    suite_report(s, off < bar_of(p), what, detail);
    stn_stencil_destroy(fresh);
}

static stn_plan *plan_for(suite *s, const stn_problem *p, const char *name) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_plan *plan = NULL;
    stn_error error = {0};
    char what[160];
    options.strategy = "lowrank";
    stn_plan_create(s->context, p, &options, &plan, &error);
    snprintf(what, sizeof what, "a plan for %s weights, %s", name, stn_dtype_name(p->dtype));
    suite_report(s, plan != NULL, what, error.message);
    return plan;
}

/* A plan made for weights of one structure gets others with the same taps: of the same rank and
 * pattern, of lower and of higher ones. Sides have faces or not, depending on the weights. */
static void new_weights_after(suite *s, structure first, int side, uint64_t steps, const structure *kinds,
                              size_t count) {
    dice d = {99 + (uint64_t)side};
    size_t extent[2] = {(size_t)side, (size_t)side};
    double w[49];
    fill_weights(&d, first, side, w);
    stn_stencil *stencil = NULL;
    stn_stencil_create_dense(2, extent, w, &stencil, NULL);
    stn_problem p = grid_problem(stencil, (int[]){NY, NX}, STN_F64, steps);
    p.boundary[0][0].kind = p.boundary[0][1].kind = STN_REFLECT;
    p = suite_problem(s, &p);
    stn_plan *plan = plan_for(s, &p, structure_names[first]);
    for (size_t k = 0; plan && k < count; k++) {
        fill_weights(&d, kinds[k], side, w);
        check_weights(s, plan, &p, extent, w, structure_names[kinds[k]]);
    }
    stn_plan_destroy(plan);
    stn_stencil_destroy(stencil);
}

/* The margins have weights of their own, however they are stepped. */
static void margins_follow(suite *s) {
    for (int frozen = 0; frozen < 2; frozen++) {
        const size_t extent[2] = {3, 1};
        const char *const name = frozen ? "along y, frozen margins" : "along y, margins";
        double w[][3] = {{0.3, -0.4, 0.25}, {0.2, -0.5, 0.25}, {0.4, 0.35, -0.2}};
        stn_stencil *stencil = NULL;
        stn_stencil_create_dense(2, extent, w[0], &stencil, NULL);
        stn_problem p = grid_problem(stencil, (int[]){NY, NX}, STN_F64, 8);
        p.boundary[0][0].kind = p.boundary[0][1].kind = frozen ? STN_FIXED : STN_NEAREST;
        p = suite_problem(s, &p);
        stn_plan *plan = plan_for(s, &p, name);
        for (int turn = 1; plan && turn < 3; turn++) check_weights(s, plan, &p, extent, w[turn], name);
        stn_plan_destroy(plan);
        stn_stencil_destroy(stencil);
    }
}

/* Weights that need a kernel which fails to compile are refused, and the plan keeps its old
 * weights. */
static void refused_weights(suite *s) {
    enum { SIDE = 5, TAPS = SIDE * SIDE };
    const char *driver = getenv("STENTOR_CUDA_PATH");
    /* Only the emulator's compiler fails on request. */
    if (!driver || !strstr(driver, "emulated")) return;
    dice d = {91};
    size_t extent[2] = {SIDE, SIDE};
    double old[TAPS], new[TAPS];
    fill_weights(&d, SEPARABLE, SIDE, old);
    fill_weights(&d, ONE_SIDED, SIDE, new);
    stn_context_options fresh = STN_CONTEXT_OPTIONS_INIT;
    fresh.cache_dir = ":memory:";
    stn_context *context = NULL;
    stn_stencil *stencil = NULL;
    stn_plan *plan = NULL;
    stn_error error = {0};
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.strategy = "lowrank";
    stn_stencil_create_dense(2, extent, old, &stencil, NULL);
    stn_problem p = grid_problem(stencil, (int[]){NY, NX}, STN_F64, 6);
    bool made = stn_context_create(&fresh, &context, &error) == STN_OK &&
                stn_plan_create(context, &p, &options, &plan, &error) == STN_OK;
    if (made) {
        char *before = NULL, *after = NULL;
        stn_plan_describe(plan, STN_JSON, &before, NULL);
        setenv("STENTOR_EMULATOR_FAIL", "nvrtcCompileProgram:*", 1);
        bool set = stn_plan_set_weights(plan, TAPS, new, &error) == STN_OK;
        unsetenv("STENTOR_EMULATOR_FAIL");
        suite_report(s, !set, "weights that need a kernel which does not compile are refused", "they were taken");
        stn_plan_describe(plan, STN_JSON, &after, NULL);
        bool same = before && after && !strcmp(before, after);
        double relative = compare_plan_with_host(context, plan, &p, data(), NY * NX);
        suite_report(s, same && relative < 5e-13, "a plan that refused new weights has its old ones",
                     same ? "it gives another result" : "it describes itself otherwise");
        stn_text_free(before);
        stn_text_free(after);
    } else
        suite_report(s, false, "a plan for separable weights", error.message);
    stn_plan_destroy(plan);
    stn_context_destroy(context);
    stn_stencil_destroy(stencil);
}

static void new_weights(suite *s) {
    if (s->dtype == STN_F64) refused_weights(s);
    margins_follow(s);
    static const structure after_separable[] = {SEPARABLE, UNIFORM, SYMMETRIC, ZERO_CENTRE, SEPARABLE, SYMMETRIC};
    new_weights_after(s, SEPARABLE, 3, 10, after_separable, sizeof after_separable / sizeof *after_separable);
    static const structure after_symmetric[] = {
        SYMMETRIC,         EVEN_ZERO_CORNERS, EVEN_ZERO_CENTRE, EVEN_RANK_TWO, EVEN_ROWS,
        EVEN_TINY_CORNERS, ONE_SIDED,         EVEN_COLUMNS,     SYMMETRIC,     UNIFORM};
    for (int side = 3; side <= 7; side += 2)
        new_weights_after(s, SYMMETRIC, side, 3, after_symmetric, sizeof after_symmetric / sizeof *after_symmetric);
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"new-weights", new_weights}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
