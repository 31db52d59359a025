/* Predicted errors: how plans show them, and that a candidate whose predicted error exceeds the
 * bound is not chosen. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../expect.h"
#include "plan/error_bound.h"
#include "plan/plan.h"

static stn_context *h200, *host;
static stn_stencil *star, *other;
static stn_plan *plan;

static void start(void) {
    h200 = context_of_h200(), host = context_on(STN_DEVICE_HOST);
    star = stencil_of("star-2d13p");
}
static void end(void) {
    stn_plan_destroy(plan);
    stn_stencil_destroy(star), stn_stencil_destroy(other);
    stn_context_destroy(h200), stn_context_destroy(host);
}
TestSuite(accuracy, .init = start, .fini = end);

static void take_taps(size_t ntaps, const stn_tap *taps) {
    stn_stencil_destroy(other);
    OK(stn_stencil_create(1, ntaps, taps, &other, &error));
}

static void make(stn_context *context, const stn_problem *p, const char *strategy) {
    stn_plan_destroy(plan);
    plan = new_plan(context, p, &(stn_plan_options){.strategy = strategy, .estimate_only = 1});
}

/* A plan of star-2d13p for a GPU that is not installed. */
static void make_star(const char *strategy, uint64_t steps, uint64_t every, double tolerance) {
    make(h200,
         &(stn_problem){.stencil = star,
                        .dtype = STN_F32,
                        .extent = {2048, 2048},
                        .steps = steps,
                        .every = every,
                        .tolerance = tolerance},
         strategy);
}

/* The row of a strategy; the first one if there are several. */
static const stn_ranked *row_of(const char *strategy) {
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
    make_star("auto", 300000, 0, 0);
    const stn_ranked *row = row_of("lowrank");
    cr_assert(row && !row->applies);
    double least = 0, bound = 0;
    cr_expect_eq(sscanf(row->reason, "its predicted error is %lg at least, and the bound %lg", &least, &bound), 2);
    cr_expect(least > bound && bound > 0, "%s", row->reason);
    cr_expect(stn_error_is_within_bound(&plan->task, &plan->estimate));
    make_star("auto", 100, 0, 0);
    row = row_of("lowrank");
    cr_assert(row && row->applies);
    cr_expect(row->estimate.error > 0 && row->estimate.error < stn_error_bound(&plan->task));
    make_star("auto", 300000, 0, 1e-2); /* a tolerance that allows it */
    row = row_of("lowrank");
    cr_expect(row && row->applies);
}

/* A strategy that is selected by name is used, and reports its predicted error. */
Test(accuracy, a_named_strategy_reports_a_large_error) {
    make_star("lowrank", 300000, 0, 0);
    cr_expect(!stn_error_is_within_bound(&plan->task, &plan->estimate));
    expect_described(plan, STN_TEXT, "which it exceeds");
}

/* The predicted error of a chunked run is the error of all chunks together. */
Test(accuracy, of_chunks_is_that_of_the_run) {
    make_star("chunked", 1000, 0, 0);
    cr_assert_eq(plan->chosen, STN_CHOSEN_BY_ESTIMATE);
    const int steps = plan->candidate.values[0];
    cr_expect(steps > 1 && steps <= 500, "chunks of %d steps", steps);
    cr_expect(plan->estimate.error > 0 && stn_error_is_within_bound(&plan->task, &plan->estimate));
}

/* The last snapshot of a stack has the error of all runs before it, and is held to the bound of all
 * steps. */
Test(accuracy, of_a_stack_is_that_of_its_last_snapshot) {
    const char *const names[] = {"direct", "lowrank"};
    for (int i = 0; i < 2; i++) {
        make_star(names[i], 40, 0, 0);
        const double of_one = plan->estimate.error;
        cr_expect(of_one > 0);
        make_star(names[i], 160, 40, 0);
        cr_expect_float_eq(plan->estimate.error / of_one, 4, 1e-9, "%s", names[i]);
        const stn_task all = {.dtype = STN_F32, .steps = 160};
        cr_expect_float_eq(plan->kind->error_bound(plan) / stn_error_bound(&all), 1, 1e-12, "%s", names[i]);
    }
}

/* A symbol far below 1 loses digits if tables hold 1 minus the symbol: transforms predict that
 * error, and are not chosen. */
Test(accuracy, tiny_weights_are_not_transformed) {
    stn_context *const places[2] = {h200, host};
    const char *const names[2] = {"spectral", "host-spectral"};
    take_taps(2, (stn_tap[]){{{-1}, 3e-9}, {{2}, -1e-9}});
    for (int i = 0; i < 2; i++) {
        make(places[i], &(stn_problem){.stencil = other, .extent = {1 << 16}, .steps = 500}, NULL);
        const stn_ranked *row = row_of(names[i]);
        cr_assert(row, "%s", names[i]);
        cr_expect(!row->applies && strstr(row->reason, "predicted error"), "%s: %s", names[i], row->reason);
    }
}

/* Nonsymmetric taps between fixed boundaries; on a periodic axis; and symmetric ones. */
Test(accuracy, reports_nearly_defective_matrices) {
    const stn_tap upwind[3] = {{{-1}, 0.75}, {{0}, 0.2}, {{1}, 0.05}},
                  heat[3] = {{{-1}, 0.25}, {{0}, 0.5}, {{1}, 0.25}};
    for (int i = 0; i < 3; i++) {
        take_taps(3, i < 2 ? upwind : heat);
        stn_problem p = {.stencil = other, .extent = {200}, .steps = 100};
        p.boundary[0][0].kind = p.boundary[0][1].kind = i == 1 ? STN_WRAP : STN_FIXED;
        char *text, *json;
        make(host, &p, NULL);
        OK(stn_plan_describe(plan, STN_TEXT, &text, &error));
        OK(stn_plan_describe(plan, STN_JSON, &json, &error));
        cr_expect_eq(strstr(text, "nearly defective") != NULL, i == 0, "%s", text);
        cr_expect_not_null(strstr(json, i ? "\"nearly_defective\":false" : "\"nearly_defective\":true"), "%s", json);
        cr_expect_not_null(strstr(json, i ? "\"log10_above_eigenvalues\":0," : "\"lasting_growth\":0.58729"), "%s",
                           json);
        stn_text_free(text);
        stn_text_free(json);
    }
}
