/* What compiling weighs in the choice of a plan: a run of milliseconds takes the candidate that is compiled soonest, a long one and one
 * whose kernels are stored do not. Stand-in driver and NVRTC. */
#include <criterion/criterion.h>
#include <string.h>

#include "context/compile_cost.h"
#include "context/context.h"
#include "context/kernel.h"
#include "plan/plan.h"
#include "stand_ins.h"

static stn_error error;
#define OK(call) cr_assert_eq((call), STN_OK, "%s", error.message)
static stn_context *context;
static stn_stencil *stencil;

static void start(void) {
    stand_ins_start();
    const stn_context_options options = {.arch = "sm_90", .threads = 2};
    OK(stn_context_create(&options, &context, &error));
    OK(stn_stencil_parse("heat-2d", &stencil, &error));
}
static void end(void) {
    stn_stencil_destroy(stencil);
    stn_context_destroy(context);
    stand_ins_end();
}
TestSuite(weighed, .init = start, .fini = end);

static stn_plan *plan_for(uint64_t executions) {
    stn_plan *plan;
    stn_problem problem = STN_PROBLEM_INIT;
    problem.stencil = stencil;
    problem.extent[0] = problem.extent[1] = 4096;
    problem.steps = 100;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.executions = executions;
    OK(stn_plan_create(context, &problem, &options, &plan, &error));
    return plan;
}

static double guess(const stn_plan *plan) {
    double seconds = 0;
    for (size_t i = 0; i < plan->nkernels; i++)
        seconds += stn_compile_guess(plan->kernels[i]->name, plan->kernels[i]->params, false);
    return seconds;
}

Test(weighed, once_compiles_little_and_often_runs_fast) {
    stn_plan *once = plan_for(1), *often = plan_for(1000000), *unknown = plan_for(0);
    cr_expect_eq(once->chosen, STN_CHOSEN_BY_START);
    cr_expect_eq(often->chosen, STN_CHOSEN_BY_ESTIMATE);
    cr_expect_eq(often->strategy, unknown->strategy);
    cr_expect_lt(often->estimate.seconds, once->estimate.seconds);
    cr_expect_lt(guess(once), guess(often), "%s: %g, %s: %g", once->strategy->name, guess(once), often->strategy->name,
                 guess(often));
    stn_plan *again = plan_for(1);
    cr_expect_eq(again->strategy, often->strategy, "all kernels are stored now, so the fastest costs no compile");
    cr_expect_eq(again->chosen, STN_CHOSEN_BY_ESTIMATE);
    stn_plan_destroy(again);
    stn_plan_destroy(unknown);
    stn_plan_destroy(often);
    stn_plan_destroy(once);
}
