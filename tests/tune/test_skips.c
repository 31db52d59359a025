/* Candidates that are not measured are shown, with the reason if they cannot be used; none of it is
 * an error. On the emulator. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "context/context.h"
#include "plan_checks.h"
#include "strategies/table.h"

static stn_context *context;
static stn_stencil *stencil;
static warning_count heard;

static void start(void) {
    const stn_context_options options = {
        .device = STN_DEVICE_CUDA(0), .cache_dir = ":memory:", .log = count_warning, .log_user = &heard};
    heard = (warning_count){0};
    OK(stn_context_create(&options, &context, &error));
    OK(stn_stencil_parse("heat-2d", &stencil, &error));
}
static void end(void) {
    stn_stencil_destroy(stencil);
    stn_context_destroy(context);
}
TestSuite(skips, .init = start, .fini = end);

static stn_plan *tuned_in(double seconds) {
    stn_problem problem = STN_PROBLEM_INIT;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_plan *plan;
    problem.stencil = stencil;
    problem.extent[0] = 40, problem.extent[1] = 64;
    problem.steps = 4;
    options.mode = STN_MODE_MEASURE;
    options.tune_seconds = seconds;
    options.strategy = "direct";
    OK(stn_plan_create(context, &problem, &options, &plan, &error));
    return plan;
}

/* The number of candidates that cannot be used for this reason. */
static size_t count(const stn_plan *plan, const char *reason) {
    size_t count = 0;
    for (size_t i = 0; i < plan->ranked; i++)
        count += !plan->ranking[i].applies && strstr(plan->ranking[i].reason, reason);
    return count;
}

/* The candidates that may be used but were not measured. */
static size_t unmeasured(const stn_plan *plan) {
    size_t count = 0;
    for (size_t i = 0; i < plan->ranked; i++) count += plan->ranking[i].applies && !(plan->ranking[i].measured > 0);
    return count;
}

Test(skips, by_time) {
    stn_plan *plan = tuned_in(1e-9);
    cr_expect_eq(measured_rows(plan), 1u);
    cr_expect_gt(unmeasured(plan), 1u);
    cr_expect_eq(plan->chosen, STN_CHOSEN_BY_MEASURING, "the first one is measured in any case");
    stn_plan_destroy(plan);
}

Test(skips, by_a_compile_that_fails) {
    setenv("STENTOR_EMULATOR_FAIL", "nvrtcCompileProgram:8", 1);
    stn_plan *plan = tuned_in(60);
    unsetenv("STENTOR_EMULATOR_FAIL");
    cr_expect_eq(count(plan, "did not compile"), 1u);
    expect_described(plan, STN_TEXT, "does not apply: ");
    expect_described(plan, STN_JSON, "\"does_not_apply\":");
    stn_plan_destroy(plan);
}

/* Values grow by at least 7 a step, beyond f16 after 6 steps. */
Test(skips, none_if_values_would_overflow) {
    stn_problem problem = STN_PROBLEM_INIT;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_plan *plan;
    stn_stencil_destroy(stencil);
    OK(stn_stencil_parse("laplace-1d:order=14", &stencil, &error));
    problem.stencil = stencil;
    problem.extent[0] = 4096;
    problem.steps = 10;
    problem.dtype = STN_F16;
    options.mode = STN_MODE_MEASURE, options.tune_seconds = 400;
    OK(stn_plan_create(context, &problem, &options, &plan, &error));
    cr_expect_eq(plan->chosen, STN_CHOSEN_BY_MEASURING, "%s", heard.last);
    cr_expect_gt(measured_rows(plan), 10u, "%zu", measured_rows(plan));
    cr_expect_eq(heard.warnings, 0u, "%s", heard.last);
    cr_expect_eq(count(plan, "overflow"), 0u);
    stn_plan_destroy(plan);
}

/* None are skipped if a source is added. */
Test(skips, none_with_a_source) {
    stn_problem problem = STN_PROBLEM_INIT;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_plan *plan;
    problem.stencil = stencil;
    problem.extent[0] = 48, problem.extent[1] = 64;
    problem.steps = 9;
    problem.has_source = 1;
    /* long enough for all candidates */
    options.mode = STN_MODE_PATIENT, options.tune_seconds = 400;
    OK(stn_plan_create(context, &problem, &options, &plan, &error));
    cr_expect_eq(plan->chosen, STN_CHOSEN_BY_MEASURING, "%s", heard.last);
    cr_expect_geq(measured_rows(plan), 2u, "%zu: runs of 1 step, and of 8, at least", measured_rows(plan));
    cr_expect_eq(heard.warnings, 0u, "%s", heard.last);
    cr_expect_eq(unmeasured(plan), 0u);
    stn_plan_destroy(plan);
    problem.has_source = 0;
    OK(stn_plan_create(context, &problem, NULL, &plan, &error));
    cr_expect_eq(plan->chosen, STN_CHOSEN_BY_ESTIMATE, "another problem");
    stn_plan_destroy(plan);
}
