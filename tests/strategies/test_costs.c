/* Predicted times of strategies on a machine like an H200, compared with golden values. Each case
 * is dominated by another part of a cost model (memory, products, one block's marching loop, faces,
 * many launches), so that a wrong constant, and a wrong ranking, is noticed. The values are the
 * model's own; a change of the model must update them. */
#include "../expect.h"
#include "plan/plan.h"

/* Allowed factor in both directions: small corrections of constants pass, wrong units do not. */
#define LEEWAY 1.5

typedef struct cost_case {
    const char *stencil;
    stn_dtype dtype;
    stn_boundary_kind side;
    size_t extent[3];
    uint64_t steps;
    double direct, lowrank; /* seconds */
} cost_case;

static const cost_case cases[] = {
    {"heat-1d", STN_F64, STN_WRAP, {100000000}, 100, 0.00239, 0.000883},
    {"1d7p", STN_F32, STN_WRAP, {100000000}, 100, 0.00253, 0.00236},
    {"1d7p", STN_F16, STN_FIXED, {4096}, 100, 0.000135, 6.5e-5},
    {"heat-2d", STN_F64, STN_WRAP, {10240, 10240}, 100, 0.00863, 0.0149},
    {"heat-2d", STN_F64, STN_FIXED, {512, 512}, 100, 0.000182, 0.00022},
    {"box-2d49p", STN_F64, STN_WRAP, {10240, 10240}, 20, 0.00635, 0.0118},
    {"box-2d49p", STN_F32, STN_FIXED, {10240, 10240}, 20, 0.0034, 0.00794},
    {"star-2d13p", STN_F16, STN_WRAP, {10240, 10240}, 20, 0.002, 0.00196},
    {"gaussian-2d:sigma=3", STN_F32, STN_REFLECT, {4096, 4096}, 1, 0.00645, 7.88e-5},
    {"box-2d49p", STN_F64, STN_WRAP, {10240, 10240}, 1, 0.000654, 0.00059},
    {"box-3d27p", STN_F32, STN_FIXED, {512, 512, 512}, 1, 0.00034, 0.000977},
    {"heat-3d", STN_F64, STN_WRAP, {512, 512, 512}, 20, 0.00787, 0.0088},
    {"box-3d27p", STN_F64, STN_FIXED, {512, 512, 512}, 20, 0.00963, 0.0122},
    {"box-3d27p", STN_F32, STN_WRAP, {96, 96, 96}, 20, 0.000175, 0.000232},
};

static double seconds_of(stn_context *context, const cost_case *c, const char *strategy) {
    stn_stencil *stencil = stencil_of(c->stencil);
    stn_plan *plan = NULL;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.strategy = strategy;
    options.estimate_only = 1;
    stn_problem p = STN_PROBLEM_INIT;
    p.stencil = stencil;
    p.dtype = c->dtype;
    p.steps = c->steps;
    for (int axis = 0; axis < stn_stencil_rank(stencil); axis++) {
        p.extent[axis] = c->extent[axis];
        p.boundary[axis][0].kind = p.boundary[axis][1].kind = c->side;
    }
    cr_assert_eq(stn_plan_create(context, &p, &options, &plan, &error), STN_OK, "%s: %s", c->stencil, error.message);
    double seconds = stn_plan_predicted_seconds(plan);
    stn_plan_destroy(plan);
    stn_stencil_destroy(stencil);
    return seconds;
}

static void expect_near(double got, double golden, const char *stencil, const char *strategy) {
    cr_expect(got > golden / LEEWAY && got < golden * LEEWAY, "%s by %s: %.3g s, was %.3g s", stencil, strategy, got,
              golden);
}

Test(costs, are_what_they_were) {
    stn_context *context = context_of_h200();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const cost_case *c = &cases[i];
        const double direct = seconds_of(context, c, "direct"), lowrank = seconds_of(context, c, "lowrank");
        expect_near(direct, c->direct, c->stencil, "direct");
        expect_near(lowrank, c->lowrank, c->stencil, "lowrank");
        const double apart = c->direct / c->lowrank;
        if (apart > LEEWAY || apart < 1 / LEEWAY)
            cr_expect_eq(direct < lowrank, c->direct < c->lowrank, "%s: the ranking is the other way round",
                         c->stencil);
    }
    stn_context_destroy(context);
}
