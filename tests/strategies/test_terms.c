/* Powers of a stencil and their separable terms: ranks that are known, residuals, sums that powers must have. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "strategies/lowrank_terms.h"

static stn_task task_of(const char *name) {
    stn_stencil *stencil = NULL;
    stn_task task;
    stn_error error = {0};
    stn_problem p = STN_PROBLEM_INIT;
    cr_assert_eq(stn_stencil_parse(name, &stencil, &error), STN_OK, "%s", error.message);
    p.stencil = stencil;
    p.extent[0] = p.extent[1] = 100;
    cr_assert_eq(stn_task_make(&p, &task, &error), STN_OK, "%s", error.message);
    stn_stencil_destroy(stencil);
    return task;
}

static lowrank_taps power_of(const stn_task *task, int fused) {
    lowrank_taps taps;
    cr_assert_eq(lowrank_taps_make(task, &taps, NULL), STN_OK);
    while (taps.fused < fused) cr_assert_eq(lowrank_taps_fuse(task, &taps, NULL), STN_OK);
    return taps;
}

/* The number of terms of `fused` steps, its residual checked. */
static int terms_of(const char *name, int fused, double tolerance) {
    stn_task task = task_of(name);
    lowrank_taps taps = power_of(&task, fused);
    lowrank_terms terms;
    cr_assert_eq(lowrank_terms_make(NULL, &taps, LOWRANK_SVD, tolerance, &terms, NULL), STN_OK);
    cr_expect_leq(terms.residual, fmax(tolerance, 3e-16), "%s: residual %g", name, terms.residual);
    int count = terms.count;
    lowrank_terms_clear(&terms);
    lowrank_taps_clear(&taps);
    stn_task_clear(&task);
    return count;
}

Test(terms, ranks_that_are_known) {
    cr_expect_eq(terms_of("gaussian-2d:sigma=1.5", 1, 0), 1);
    cr_expect_eq(terms_of("gaussian-2d:sigma=1.5", 4, 0), 1, "a power of separable taps is separable");
    cr_expect_eq(terms_of("heat-2d", 1, 0), 2, "a star has rank 2");
    cr_expect_eq(terms_of("laplace-2d:order=16", 1, 0), 2, "at any radius");
    for (int fused = 1; fused <= 6; fused++) cr_expect_leq(terms_of("box-2d9p", fused, 0), fused + 1);
    cr_expect_eq(terms_of("box-2d49p", 1, 0), 4, "symmetric in both axes: radius + 1");
}

Test(terms, a_tolerance_saves_terms) { cr_expect_lt(terms_of("box-2d9p", 16, 1e-6), terms_of("box-2d9p", 16, 0)); }

Test(terms, powers_have_the_power_of_the_sum) {
    stn_task task = task_of("laplace-2d:order=4");
    for (size_t k = 0; k < task.ntaps; k++) task.taps[k].weight += 0.1;
    long double sum = 0, fifth = 0;
    for (size_t k = 0; k < task.ntaps; k++) sum += task.taps[k].weight;
    lowrank_taps taps = power_of(&task, 5);
    cr_expect_eq(taps.rows, 21);
    cr_expect_eq(taps.low[1], 10);
    for (int i = 0; i < taps.rows * taps.columns; i++) fifth += taps.weight[i];
    cr_expect_lt(fabsl(fifth / powl(sum, 5) - 1), 1e-15L);
    lowrank_taps_clear(&taps);
    stn_task_clear(&task);
}

Test(terms, zeros_are_one_term_of_zeros) {
    long double weight[6] = {0};
    lowrank_taps taps = {.fused = 1, .rows = 2, .columns = 3, .weight = weight};
    lowrank_terms terms;
    cr_assert_eq(lowrank_terms_make(NULL, &taps, LOWRANK_SVD, 0, &terms, NULL), STN_OK);
    cr_expect_eq(terms.count, 1);
    cr_expect_eq(terms.residual, 0);
    for (int i = 0; i < 2; i++) cr_expect_eq(terms.u[i], 0);
    lowrank_terms_clear(&terms);
}

/* Nearly dependent rows, and numbers sixteen orders apart. */
Test(terms, ill_conditioned_weights_keep_their_residual) {
    long double weight[25];
    for (int y = 0; y < 5; y++)
        for (int x = 0; x < 5; x++)
            weight[y * 5 + x] = 1 / (1.0L + x + y) + (y == x ? 1e-12L : 0) + (y * x == 16 ? 1e8L : 0);
    lowrank_taps taps = {.fused = 1, .rows = 5, .columns = 5, .weight = weight};
    lowrank_terms terms;
    cr_assert_eq(lowrank_terms_make(NULL, &taps, LOWRANK_SVD, 0, &terms, NULL), STN_OK);
    cr_expect_leq(terms.residual, 3e-16);
    cr_expect_leq(terms.count, 5);
    lowrank_terms_clear(&terms);
}
