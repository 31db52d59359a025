/* Predicted errors: how plans show them, and that a candidate whose predicted error exceeds the
 * bound is not chosen. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../expect.h"
#include "plan/error_bound.h"
#include "plan/plan.h"

/* A plan of star-2d13p for a GPU that is not installed. */
static stn_plan *plan_of(stn_context *context, const char *strategy, uint64_t steps, double tolerance) {
    stn_stencil *stencil = NULL;
    stn_plan *plan = NULL;
    stn_problem problem = STN_PROBLEM_INIT;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    OK(stn_stencil_parse("star-2d13p", &stencil, &error));
    problem.stencil = stencil;
    problem.dtype = STN_F32;
    problem.steps = steps;
    problem.tolerance = tolerance;
    problem.extent[0] = problem.extent[1] = 2048;
    options.strategy = strategy;
    options.estimate_only = 1;
    OK(stn_plan_create(context, &problem, &options, &plan, &error));
    stn_stencil_destroy(stencil);
    return plan;
}

/* The row of a strategy; the first one if there are several. */
static const stn_ranked *row_of(const stn_plan *plan, const char *strategy) {
    for (size_t i = 0; i < plan->ranked; i++)
        if (!strcmp(plan->ranking[i].strategy->name, strategy)) return &plan->ranking[i];
    return NULL;
}

Test(accuracy, bars) {
    stn_task task = {.dtype = STN_F64, .steps = 1024};
    cr_expect_float_eq(stn_error_bound(&task), 1.1e-12, 1e-25);
    task.dtype = STN_F32;
    cr_expect_float_eq(stn_error_bound(&task), 5.75e-5, 1e-15);
    task.dtype = STN_F16;
    cr_expect_float_eq(stn_error_bound(&task), 3.2e-2, 1e-15);
    task.tolerance = 1e-9;
    cr_expect_float_eq(stn_error_bound(&task), 1e-9, 1e-15, "what is asked for, whether it can be met or not");
    task.tolerance = 1e-2;
    cr_expect_float_eq(stn_error_bound(&task), 1e-2, 1e-15);
    stn_estimate e = {.error = 0.02};
    cr_expect(!stn_error_is_within_bound(&task, &e));
    e.error = 0; /* not known */
    cr_expect(stn_error_is_within_bound(&task, &e));
}

Test(accuracy, errors_of_the_same_sign_add_up) {
    cr_expect_float_eq(stn_error_accumulated(1e-8, 0, 100), 1e-6, 1e-15);
    cr_expect_float_eq(stn_error_accumulated(0, 1e-8, 100), 1e-7, 1e-15);
}

/* In so long a run the accumulated error of all launches exceeds the bound. */
Test(accuracy, candidates_above_the_bound_are_not_ranked) {
    stn_context *context = context_of_h200();
    stn_plan *plan = plan_of(context, "auto", 100000, 0);
    const stn_ranked *row = row_of(plan, "lowrank");
    cr_assert(row && !row->applies);
    double least = 0, bound = 0;
    cr_expect_eq(sscanf(row->reason, "its predicted error is %lg at least, and the bound %lg", &least, &bound), 2);
    cr_expect(least > bound && bound > 0, "%s", row->reason);
    cr_expect(stn_error_is_within_bound(&plan->task, &plan->estimate));
    stn_plan_destroy(plan);

    plan = plan_of(context, "auto", 100, 0);
    row = row_of(plan, "lowrank");
    cr_assert(row && row->applies);
    cr_expect(row->estimate.error > 0 && row->estimate.error < stn_error_bound(&plan->task));
    stn_plan_destroy(plan);

    plan = plan_of(context, "auto", 100000, 1e-2); /* a tolerance that allows it */
    row = row_of(plan, "lowrank");
    cr_expect(row && row->applies);
    stn_plan_destroy(plan);
    stn_context_destroy(context);
}

/* A strategy that is selected by name is used, and reports its predicted error. */
Test(accuracy, a_named_strategy_reports_a_large_error) {
    stn_context *context = context_of_h200();
    stn_plan *plan = plan_of(context, "lowrank", 100000, 0);
    cr_expect(!stn_error_is_within_bound(&plan->task, &plan->estimate));
    expect_described(plan, STN_TEXT, "which it exceeds");
    stn_plan_destroy(plan);
    stn_context_destroy(context);
}

/* The predicted error of a chunked run is the error of all chunks together. */
Test(accuracy, of_chunks_is_that_of_the_run) {
    stn_context *context = context_of_h200();
    stn_plan *plan = plan_of(context, "chunked", 1000, 0);
    cr_assert_eq(plan->chosen, STN_CHOSEN_BY_ESTIMATE);
    const int steps = plan->candidate.values[0];
    cr_expect(steps > 1 && steps <= 500, "chunks of %d steps", steps);
    cr_expect(plan->estimate.error > 0 && stn_error_is_within_bound(&plan->task, &plan->estimate));
    stn_plan_destroy(plan);
    stn_context_destroy(context);
}

/* The last snapshot of a stack has the error of all runs before it, and is held to the bound of all
 * steps. */
Test(accuracy, of_a_stack_is_that_of_its_last_snapshot) {
    stn_context *context = context_of_h200();
    stn_stencil *stencil = NULL;
    OK(stn_stencil_parse("star-2d13p", &stencil, &error));
    for (int i = 0; i < 2; i++) {
        const char *const names[] = {"direct", "lowrank"};
        stn_plan *plans[2];
        for (int k = 0; k < 2; k++) {
            stn_problem p = {.stencil = stencil, .dtype = STN_F32, .extent = {2048, 2048}, .steps = k ? 160 : 40};
            stn_plan_options options = STN_PLAN_OPTIONS_INIT;
            options.strategy = names[i], options.estimate_only = 1;
            p.every = k ? 40 : 0;
            OK(stn_plan_create(context, &p, &options, &plans[k], &error));
        }
        cr_expect(plans[0]->estimate.error > 0);
        cr_expect_float_eq(plans[1]->estimate.error / plans[0]->estimate.error, 4, 1e-9, "%s", names[i]);
        const stn_task all = {.dtype = STN_F32, .steps = 160};
        cr_expect_float_eq(plans[1]->kind->error_bound(plans[1]) / stn_error_bound(&all), 1, 1e-12, "%s", names[i]);
        stn_plan_destroy(plans[0]), stn_plan_destroy(plans[1]);
    }
    stn_stencil_destroy(stencil);
    stn_context_destroy(context);
}

/* A symbol far below 1 loses digits if tables hold 1 minus the symbol: transforms predict that
 * error, and are not chosen. */
Test(accuracy, tiny_weights_are_not_transformed) {
    stn_context *places[2] = {context_of_h200(), context_on(STN_DEVICE_HOST)};
    const char *const names[2] = {"spectral", "host-spectral"};
    stn_stencil *tiny = NULL;
    OK(stn_stencil_create(1, 2, (stn_tap[]){{{-1}, 3e-9}, {{2}, -1e-9}}, &tiny, &error));
    for (int i = 0; i < 2; i++) {
        stn_plan *plan = NULL;
        stn_plan_options how = STN_PLAN_OPTIONS_INIT;
        stn_problem p = {.stencil = tiny, .extent = {1 << 16}, .steps = 500};
        how.estimate_only = 1;
        OK(stn_plan_create(places[i], &p, &how, &plan, &error));
        const stn_ranked *row = row_of(plan, names[i]);
        cr_assert(row, "%s", names[i]);
        cr_expect(!row->applies && strstr(row->reason, "predicted error"), "%s: %s", names[i], row->reason);
        stn_plan_destroy(plan);
        stn_context_destroy(places[i]);
    }
    stn_stencil_destroy(tiny);
}

static char *described(stn_context *host, const stn_problem *p, stn_format format) {
    stn_plan *plan;
    char *text;
    OK(stn_plan_create(host, p, NULL, &plan, &error));
    OK(stn_plan_describe(plan, format, &text, &error));
    stn_plan_destroy(plan);
    return text;
}

/* Nonsymmetric taps between fixed boundaries; on a periodic axis; and symmetric ones. */
Test(accuracy, reports_nearly_defective_matrices) {
    stn_context *host = context_on(STN_DEVICE_HOST);
    const stn_tap upwind[3] = {{{-1}, 0.75}, {{0}, 0.2}, {{1}, 0.05}},
                  heat[3] = {{{-1}, 0.25}, {{0}, 0.5}, {{1}, 0.25}};
    for (int i = 0; i < 3; i++) {
        stn_stencil *stencil;
        OK(stn_stencil_create(1, 3, i < 2 ? upwind : heat, &stencil, &error));
        stn_problem p = STN_PROBLEM_INIT;
        p.stencil = stencil, p.extent[0] = 200, p.steps = 100;
        p.boundary[0][0].kind = p.boundary[0][1].kind = i == 1 ? STN_WRAP : STN_FIXED;
        char *text = described(host, &p, STN_TEXT), *json = described(host, &p, STN_JSON);
        cr_expect_eq(strstr(text, "nearly defective") != NULL, i == 0, "%s", text);
        cr_expect_not_null(strstr(json, i ? "\"nearly_defective\":false" : "\"nearly_defective\":true"), "%s", json);
        cr_expect_not_null(strstr(json, i ? "\"log10_above_eigenvalues\":0," : "\"lasting_growth\":0.58729"), "%s",
                           json);
        stn_text_free(text);
        stn_text_free(json);
        stn_stencil_destroy(stencil);
    }
    stn_context_destroy(host);
}
