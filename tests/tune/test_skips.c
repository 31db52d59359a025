/* Candidates that are not measured are shown, with the reason if they cannot be used; none of it is
 * an error. On the emulator. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "context/context.h"
#include "plan_checks.h"
#include "strategies/table.h"

static stn_context *context;
static stn_problem problem;
static stn_plan *plan;
static warning_count heard;

static void set_stencil(const char *spec) {
    stn_stencil_destroy((stn_stencil *)problem.stencil);
    problem.stencil = stencil_of(spec);
}

static void start(void) {
    const stn_context_options options = {
        .device = STN_DEVICE_CUDA(0), .cache_dir = ":memory:", .log = count_warning, .log_user = &heard};
    OK(stn_context_create(&options, &context, &error));
    problem = (stn_problem)STN_PROBLEM_INIT;
    set_stencil("heat-2d");
    problem.extent[0] = 40, problem.extent[1] = 64, problem.steps = 4;
}
static void end(void) {
    stn_plan_destroy(plan);
    stn_stencil_destroy((stn_stencil *)problem.stencil);
    stn_context_destroy(context);
}
TestSuite(skips, .init = start, .fini = end);

static void tune(int mode, const char *strategy, double seconds) {
    const stn_plan_options options = {.mode = mode, .strategy = strategy, .tune_seconds = seconds};
    plan = new_plan(context, &problem, &options);
}

/* The number of candidates that cannot be used for this reason. */
static size_t count(const char *reason) {
    size_t count = 0;
    for (size_t i = 0; i < plan->ranked; i++)
        count += !plan->ranking[i].applies && strstr(plan->ranking[i].reason, reason);
    return count;
}

/* The candidates that may be used but were not measured. */
static size_t unmeasured(void) {
    size_t count = 0;
    for (size_t i = 0; i < plan->ranked; i++) count += plan->ranking[i].applies && !(plan->ranking[i].measured > 0);
    return count;
}

Test(skips, by_time) {
    tune(STN_MODE_MEASURE, "direct", 1e-9);
    cr_expect_eq(measured_rows(plan), 1u);
    cr_expect_gt(unmeasured(), 1u);
    cr_expect_eq(plan->chosen, STN_CHOSEN_BY_MEASURING, "the first one is measured in any case");
}

Test(skips, by_a_compile_that_fails) {
    setenv("STENTOR_EMULATOR_FAIL", "nvrtcCompileProgram:8", 1);
    tune(STN_MODE_MEASURE, "direct", 300);
    unsetenv("STENTOR_EMULATOR_FAIL");
    cr_expect_eq(count("did not compile"), 1u);
    expect_described(plan, STN_TEXT, "does not apply: ");
    expect_described(plan, STN_JSON, "\"does_not_apply\":");
}

/* Values grow by at least 7 a step, beyond f16 after 6 steps. */
Test(skips, none_if_values_would_overflow) {
    set_stencil("laplace-1d:order=14");
    problem.extent[0] = 4096, problem.extent[1] = 0, problem.steps = 10;
    problem.dtype = STN_F16;
    tune(STN_MODE_MEASURE, NULL, 400);
    cr_expect_eq(plan->chosen, STN_CHOSEN_BY_MEASURING, "%s", heard.last);
    cr_expect_gt(measured_rows(plan), 10u, "%zu", measured_rows(plan));
    cr_expect_eq(heard.warnings, 0u, "%s", heard.last);
    cr_expect_eq(count("overflow"), 0u);
}

/* None are skipped if a source is added. */
Test(skips, none_with_a_source) {
    problem.extent[0] = 48, problem.steps = 9;
    problem.has_source = 1;
    tune(STN_MODE_PATIENT, NULL, 400); /* long enough for all candidates */
    cr_expect_eq(plan->chosen, STN_CHOSEN_BY_MEASURING, "%s", heard.last);
    cr_expect_geq(measured_rows(plan), 2u, "%zu: runs of 1 step, and of 8, at least", measured_rows(plan));
    cr_expect_eq(heard.warnings, 0u, "%s", heard.last);
    cr_expect_eq(unmeasured(), 0u);
    stn_plan_destroy(plan), problem.has_source = 0;
    plan = new_plan(context, &problem, NULL);
    cr_expect_eq(plan->chosen, STN_CHOSEN_BY_ESTIMATE, "another problem");
}
