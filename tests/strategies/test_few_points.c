/* Runs whose taps mix few points, with elements of 11 bits: points with equal values have equal
 * rounding errors. No error exceeds its prediction, and no chosen plan is predicted to exceed the
 * error bound. Prints TAP. */
#include <stdio.h>

#include "plan/error_bound.h"
#include "plan/plan.h"
#include "suite.h"

typedef struct few {
    const char *strategy, *stencil; /* NULL: three taps along y */
    double middle, neighbour;       /* their weights */
    size_t batch, extent[3];
    stn_boundary_kind side;
    uint64_t steps;
    stn_dtype dtype;
    double tolerance;
} few;

static stn_stencil *stencil_of(const few *f) {
    stn_stencil *stencil = NULL;
    const stn_tap taps[3] = {{{0, -1, 0}, f->neighbour}, {{0, 0, 0}, f->middle}, {{0, 1, 0}, f->neighbour}};
    if (f->stencil)
        stn_stencil_parse(f->stencil, &stencil, NULL);
    else
        stn_stencil_create(3, 3, taps, &stencil, NULL);
    return stencil;
}

/* Checks the candidates that a plan chooses from, and its choice. */
static bool none_misses(suite *s, const stn_problem *p) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_plan *plan = NULL;
    stn_error error;
    options.estimate_only = 1;
    bool good = stn_plan_create(s->context, p, &options, &plan, &error) == STN_OK;
    for (size_t i = 0; good && i < plan->ranked; i++)
        good = !plan->ranking[i].applies || stn_error_is_within_bound(&plan->task, &plan->ranking[i].estimate);
    stn_plan_destroy(plan);
    return good;
}

static void look_at(suite *s, const few *f, bool positive) {
    stn_problem p = STN_PROBLEM_INIT;
    char what[200], detail[1400];
    comparison c;
    stn_stencil *stencil = stencil_of(f);
    p.stencil = stencil, p.steps = f->steps, p.dtype = f->dtype, p.tolerance = f->tolerance, p.batch = f->batch;
    for (int axis = 0; axis < stn_stencil_rank(stencil); axis++) {
        p.extent[axis] = f->extent[axis];
        for (int side = 0; side < 2; side++) p.boundary[axis][side].kind = f->side;
    }
    compare_drawn_with_host(s->context, s->pool, &p, f->strategy, -1, true, positive ? dice_positive : dice_real, 3,
                            &c);
    snprintf(what, sizeof what, "%s, %s, %zu x %zu x %zu, %s, %d steps, %s: %.3g found, %.3g predicted", f->strategy,
             f->stencil ? f->stencil : "along y", f->extent[0], f->extent[1], f->extent[2], side_names[f->side],
             (int)f->steps, stn_dtype_name(f->dtype), c.relative_l2, c.predicted);
    suite_detail(&c, detail, sizeof detail);
    suite_report(s, c.error.status == STN_OK && c.all_written && c.relative_l2 <= c.predicted && none_misses(s, &p),
                 what, detail);
    stn_stencil_destroy(stencil);
}

static const few cases[] = {
    {"lowrank", NULL, -0.184853, -0.417846, 1, {29, 2, 9}, STN_MIRROR, 99, STN_F16, 0},
    {"lowrank", NULL, 0.42, 0.3, 1, {29, 2, 9}, STN_REFLECT, 150, STN_F16, 0},
    {"lowrank", NULL, 0.42, 0.3, 1, {29, 3, 9}, STN_WRAP, 150, STN_F16, 0},
    {"lowrank", NULL, -0.184853, -0.417846, 1, {29, 2, 9}, STN_MIRROR, 99, STN_F32, 3e-2},
    {"lowrank", NULL, 0.42, 0.3, 1, {29, 1, 9}, STN_REFLECT, 99, STN_F16, 0},
    {"lowrank", NULL, 0.5, 0.25, 1, {29, 2, 9}, STN_REFLECT, 200, STN_F16, 0},
    {"lowrank", "heat-2d", 0, 0, 4, {5, 6, 1}, STN_REFLECT, 300, STN_F16, 0},
    {"sparse", "heat-2d", 0, 0, 4, {5, 6, 1}, STN_REFLECT, 300, STN_F16, 0},
    {"lowrank", "heat-2d", 0, 0, 4, {5, 4, 1}, STN_CONSTANT, 60, STN_F16, 0},
    {"sparse", "heat-2d", 0, 0, 4, {5, 4, 1}, STN_FIXED, 200, STN_F16, 0},
    {"lowrank", "heat-1d", 0, 0, 50, {12, 1, 1}, STN_REFLECT, 300, STN_F16, 0},
    /* Tensor cores truncate sums; with a single tap the error is the same in each step. */
    {"lowrank", NULL, -1.0340389514050972, 0, 1, {1, 544, 1}, STN_MIRROR, 200, STN_F32, 0},
};

static void few_points(suite *s) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int positive = 0; positive < 2; positive++) look_at(s, &cases[i], positive);
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"few-points", few_points}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
