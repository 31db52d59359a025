/* How a plan is chosen in each mode: refused options, deterministic choices, and the cost of
 * compiling. For a GPU that is not installed. */
#include <string.h>

#include "../expect.h"
#include "plan/plan.h"

static stn_context *context;
static stn_stencil *stencil;
static stn_problem problem;

static void start(void) {
    context = context_of_h200();
    OK(stn_stencil_parse("heat-2d", &stencil, &error));
    problem = (stn_problem)STN_PROBLEM_INIT;
    problem.stencil = stencil;
    problem.extent[0] = problem.extent[1] = 2048;
    problem.steps = 1000;
}
static void end(void) {
    stn_stencil_destroy(stencil);
    stn_context_destroy(context);
}
TestSuite(modes, .init = start, .fini = end);

static stn_plan *plan_with(stn_plan_options options) {
    options.estimate_only = 1;
    return new_plan(context, &problem, &options);
}
static void expect_refused(stn_plan_options options, stn_status status, const char *word) {
    stn_plan *plan;
    options.estimate_only = 1;
    cr_expect_eq(stn_plan_create(context, &problem, &options, &plan, &error), status, "%s", word);
    cr_expect_null(plan);
    cr_expect_not_null(strstr(error.message, word), "%s", error.message);
}

Test(modes, are_checked) {
    expect_refused((stn_plan_options){.mode = -1}, STN_ERROR_INVALID_ARGUMENT, "stn_plan_mode");
    expect_refused((stn_plan_options){.mode = STN_MODE_WISDOM_ONLY + 1}, STN_ERROR_INVALID_ARGUMENT, "stn_plan_mode");
    for (int mode = STN_MODE_MEASURE; mode <= STN_MODE_WISDOM_ONLY; mode++)
        expect_refused((stn_plan_options){.mode = mode, .deterministic = 1}, STN_ERROR_INVALID_ARGUMENT,
                       "deterministic");
    expect_refused((stn_plan_options){.tune = 1, .deterministic = 1}, STN_ERROR_INVALID_ARGUMENT, "deterministic");
    expect_refused((stn_plan_options){.mode = STN_MODE_WISDOM_ONLY}, STN_ERROR_UNSUPPORTED, "wisdom has no times");
}

Test(modes, a_mode_is_more_than_tune) {
    cr_expect_eq(stn_plan_mode_of(&(stn_plan_options){.tune = 1}), STN_MODE_MEASURE);
    cr_expect_eq(stn_plan_mode_of(&(stn_plan_options){.tune = 0}), STN_MODE_AUTO);
    for (int mode = STN_MODE_ESTIMATE; mode <= STN_MODE_WISDOM_ONLY; mode++)
        for (int tune = 0; tune < 2; tune++)
            cr_expect_eq((int)stn_plan_mode_of(&(stn_plan_options){.tune = tune, .mode = mode}), mode);
    stn_plan *plan = plan_with((stn_plan_options){.mode = STN_MODE_ESTIMATE, .deterministic = 1});
    cr_expect_eq(plan->chosen, STN_CHOSEN_BY_ESTIMATE);
    stn_plan_destroy(plan);
}

Test(modes, without_a_device_use_the_estimate) {
    stn_plan *plan = plan_with((stn_plan_options){.deterministic = 1});
    for (int mode = STN_MODE_AUTO; mode <= STN_MODE_ONLINE; mode++) {
        stn_plan *other = plan_with((stn_plan_options){.mode = mode});
        cr_expect_eq(other->strategy, plan->strategy);
        cr_expect_eq(memcmp(&other->candidate, &plan->candidate, sizeof plan->candidate), 0, "mode %d", mode);
        stn_plan_destroy(other);
    }
    stn_plan_destroy(plan);
}
