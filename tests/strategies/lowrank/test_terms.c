/* Powers of a stencil and their separable terms: known ranks, residuals, sums of powers. */
#include <math.h>
#include <stdlib.h>

#include "../common/tasks.h"
#include "plan/error_bound.h"
#include "strategies/lowrank/lowrank_types.h"
#include "strategies/lowrank/plane/term_pattern.h"

/* The number of terms of `fused` steps; checks their residual. */
static int terms_of(const char *name, int fused, double tolerance) {
    stn_task task = task_of_name(name);
    stn_power taps = fused_power(&task, fused);
    lowrank_terms terms;
    cr_assert_eq(lowrank_terms_make(NULL, &taps, LOWRANK_SVD, tolerance, &terms, NULL), STN_OK);
    cr_expect_leq(terms.residual, fmax(tolerance, 3e-16), "%s: residual %g", name, terms.residual);
    int count = terms.count;
    lowrank_terms_clear(&terms);
    stn_power_clear(&taps);
    stn_task_clear(&task);
    return count;
}

/* Splits the taps of `fused` steps in one way; the caller owns *terms. */
static void split_of(const char *name, int fused, lowrank_split split, lowrank_terms *terms) {
    stn_task task = task_of_name(name);
    stn_power taps = fused_power(&task, fused);
    cr_assert_eq(lowrank_terms_make(&task, &taps, split, 0, terms, NULL), STN_OK);
    cr_expect_leq(terms->residual, 3e-16, "%s, %d steps, %s: residual %g", name, fused, lowrank_split_name(split),
                  terms->residual);
    stn_power_clear(&taps);
    stn_task_clear(&task);
}

static void expect_reach(const lowrank_terms *terms, int q, int along_y, int along_x) {
    int y[2], x[2];
    lowrank_terms_reach(terms, q, 0, y);
    lowrank_terms_reach(terms, q, 1, x);
    cr_expect(y[0] == along_y && y[1] == along_y, "term %d reaches %d:%d along y, not %d", q, y[0], y[1], along_y);
    cr_expect(x[0] == along_x && x[1] == along_x, "term %d reaches %d:%d along x, not %d", q, x[0], x[1], along_x);
}

Test(terms, powers_of_a_star_share_out_their_reach) {
    for (int fused = 1; fused <= 4; fused++) {
        lowrank_terms terms;
        split_of("star-2d13p", fused, LOWRANK_STAR, &terms);
        cr_assert_eq(terms.count, fused + 1);
        for (int q = 0; q < terms.count; q++) expect_reach(&terms, q, 3 * q, 3 * (fused - q));
        lowrank_terms_clear(&terms);
    }
}

Test(terms, splits_are_for_their_own_taps) {
    lowrank_terms terms;
    split_of("box-2d9p", 2, LOWRANK_STAR, &terms);
    cr_expect_eq(terms.count, 0, "a box is no star");
    lowrank_terms_clear(&terms);
}

/* A kernel for f steps also takes f - 1 steps and other weights. */
Test(pattern, holds_shorter_powers_and_other_weights) {
    static const char *const names[][2] = {{"heat-2d", "heat-2d:alpha=0.05"},
                                           {"star-2d13p", "star-2d13p"},
                                           {"box-2d49p", "box-2d49p"},
                                           {"box-2d9p", "box-2d9p"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int split = LOWRANK_SVD + 1; split < LOWRANK_SPLITS; split++)
            for (int fused = 2; fused <= 4; fused++) {
                lowrank_terms longer, shorter, other;
                int slot[LOWRANK_MAX_TERMS];
                bool changed = false;
                split_of(names[i][0], fused, (lowrank_split)split, &longer);
                split_of(names[i][0], fused - 1, (lowrank_split)split, &shorter);
                split_of(names[i][1], fused, (lowrank_split)split, &other);
                lowrank_pattern pattern = {0};
                cr_assert(lowrank_pattern_cover(&pattern, &longer, slot, &changed));
                cr_expect_eq(pattern.count, longer.count);
                cr_expect_eq(changed, longer.count > 0);
                changed = false;
                cr_assert(lowrank_pattern_cover(&pattern, &shorter, slot, &changed));
                cr_assert(lowrank_pattern_cover(&pattern, &other, slot, &changed));
                cr_expect(!changed, "%s, %d steps, %s", names[i][0], fused, lowrank_split_name((lowrank_split)split));
                for (int q = 0; q < other.count; q++)
                    for (int p = 0; p < q; p++) cr_expect_neq(slot[p], slot[q]);
                lowrank_terms_clear(&longer), lowrank_terms_clear(&shorter), lowrank_terms_clear(&other);
            }
}

Test(pattern, scaling_keeps_the_term) {
    lowrank_span both = {{1, 1}, {1, 1}, 1}, along_y = {{1, 1}, {0, 0}, 1}, hollow = {{1, 1}, {1, 1}, 0};
    const lowrank_span *const places[] = {&both, &along_y, &hollow};
    for (int i = 0; i < 3; i++) {
        double u[3] = {0.5, -2, 0.25}, v[3] = {i == 1 ? 0 : 3, 5, i == 1 ? 0 : 7}, product[9];
        for (int k = 0; k < 9; k++) product[k] = u[k / 3] * v[k % 3];
        lowrank_pattern_scale(places[i], u, 3, 1, v, 3, 1);
        if (i == 0) cr_expect_eq(u[1], 1);
        if (i == 1) v[1] = 1; /* as the kernel takes it */
        for (int k = 0; k < 9; k++) cr_expect_lt(fabs(u[k / 3] * v[k % 3] - product[k]), 1e-15, "place %d", i);
    }
}

Test(pattern, counts_what_the_kernel_does) {
    lowrank_pattern cross = {2, {{{1, 1}, {0, 0}, 0}, {{0, 0}, {1, 1}, 1}}};
    cr_expect_eq(lowrank_pattern_blocks(&cross), 4);
    cr_expect_eq(lowrank_pattern_sums(&cross, true), 4, "a pair, two products, and the sum with the other term");
    cr_expect_eq(lowrank_pattern_sums(&cross, false), 4);
    lowrank_pattern wide = {1, {{{2, 3}, {5, 6}, 0}}};
    cr_expect_eq(lowrank_pattern_blocks(&wide), 6, "columns -5 to 13 touch blocks of four -2 to 3");
    cr_expect_eq(lowrank_pattern_sums(&wide, false), 6);
    wide.term[0].central = 1;
    cr_expect_eq(lowrank_pattern_sums(&wide, false), 5, "the middle row is added as it is");
}

Test(terms, known_ranks) {
    cr_expect_eq(terms_of("gaussian-2d:sigma=1.5", 1, 0), 1);
    cr_expect_eq(terms_of("gaussian-2d:sigma=1.5", 4, 0), 1, "a power of separable taps is separable");
    cr_expect_eq(terms_of("heat-2d", 1, 0), 2, "a star has rank 2");
    cr_expect_eq(terms_of("laplace-2d:order=16", 1, 0), 2, "at any radius");
    for (int fused = 1; fused <= 6; fused++) cr_expect_leq(terms_of("box-2d9p", fused, 0), fused + 1);
    cr_expect_eq(terms_of("box-2d49p", 1, 0), 4, "symmetric in both axes: radius + 1");
}

Test(terms, a_tolerance_saves_terms) { cr_expect_lt(terms_of("box-2d9p", 16, 1e-6), terms_of("box-2d9p", 16, 0)); }

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The norms of the terms, smallest first. */
static int lengths_of(const stn_power *taps, lowrank_split split, double length[LOWRANK_MAX_TERMS]) {
    lowrank_terms terms;
    cr_assert_eq(lowrank_terms_make(NULL, taps, split, 0, &terms, NULL), STN_OK);
    const int count = terms.count;
    for (int q = 0; q < count; q++) {
        double u = 0, v = 0;
        for (int i = 0; i < terms.rows; i++) u += pow(terms.u[q * terms.rows + i], 2);
        for (int i = 0; i < terms.columns; i++) v += pow(terms.v[q * terms.columns + i], 2);
        length[q] = sqrt(u * v);
    }
    lowrank_terms_clear(&terms);
    qsort(length, (size_t)count, sizeof *length, by_size);
    return count;
}

/* Dropped terms together do not exceed the tolerance, and all that it allows are dropped: tested on
 * both sides of each threshold. Terms of an SVD are orthogonal, so their squares add up. */
Test(terms, tolerance_decides_dropped_terms) {
    stn_task task = task_of_name("box-2d49p");
    stn_power taps = fused_power(&task, 2);
    double size = 0, length[LOWRANK_MAX_TERMS], squares = 0;
    for (int i = 0; i < taps.size[1] * taps.size[2]; i++) size += (double)(taps.weight[i] * taps.weight[i]);
    size = sqrt(size);
    const int count = lengths_of(&taps, LOWRANK_SVD, length);
    int bars = 0;
    for (int k = 0; k < count - 1; k++) {
        squares += length[k] * length[k];
        const double bar = sqrt(squares) / size;
        if (bar < 1e-10) continue; /* too near to the rounding threshold */
        for (int above = 0; above < 2; above++, bars++) {
            lowrank_terms terms;
            const double tolerance = bar * (above ? 1 + 1e-4 : 1 - 1e-4);
            cr_assert_eq(lowrank_terms_make(NULL, &taps, LOWRANK_SVD, tolerance, &terms, NULL), STN_OK);
            cr_expect_eq(terms.count, count - k - above, "tolerance %g: %d terms of %d", tolerance, terms.count, count);
            cr_expect_leq(terms.residual, tolerance);
            lowrank_terms_clear(&terms);
        }
    }
    cr_expect_geq(bars, 4);
    stn_power_clear(&taps);
    stn_task_clear(&task);
}

Test(terms, powers_have_the_power_of_the_sum) {
    stn_task task = task_of_name("laplace-2d:order=4");
    for (size_t k = 0; k < task.ntaps; k++) task.taps[k].weight += 0.1;
    long double sum = 0, sizes = 0, fifth = 0;
    for (size_t k = 0; k < task.ntaps; k++) sum += task.taps[k].weight, sizes += fabs(task.taps[k].weight);
    stn_power taps = fused_power(&task, 5);
    cr_expect_eq(taps.size[1], 21);
    cr_expect_eq(taps.low[2], 10);
    for (int i = 0; i < taps.size[1] * taps.size[2]; i++) fifth += taps.weight[i];
    cr_expect_lt(fabsl(fifth - powl(sum, 5)), 1e-19L * powl(sizes, 5), "%Lg of %Lg", fifth - powl(sum, 5),
                 powl(sizes, 5));
    stn_power_clear(&taps);
    stn_task_clear(&task);
}

Test(terms, zeros_are_one_term_of_zeros) {
    long double weight[6] = {0};
    stn_power taps = {.fused = 1, .size = {1, 2, 3}, .weight = weight};
    lowrank_terms terms;
    cr_assert_eq(lowrank_terms_make(NULL, &taps, LOWRANK_SVD, 0, &terms, NULL), STN_OK);
    cr_expect_eq(terms.count, 1);
    cr_expect_eq(terms.residual, 0);
    for (int i = 0; i < 2; i++) cr_expect_eq(terms.u[i], 0);
    lowrank_terms_clear(&terms);
}

/* Nearly dependent rows, and numbers sixteen orders of magnitude apart. */
Test(terms, ill_conditioned_weights_keep_their_residual) {
    long double weight[25];
    for (int y = 0; y < 5; y++)
        for (int x = 0; x < 5; x++)
            weight[y * 5 + x] = 1 / (1.0L + x + y) + (y == x ? 1e-12L : 0) + (y * x == 16 ? 1e8L : 0);
    stn_power taps = {.fused = 1, .size = {1, 5, 5}, .weight = weight};
    lowrank_terms terms;
    cr_assert_eq(lowrank_terms_make(NULL, &taps, LOWRANK_SVD, 0, &terms, NULL), STN_OK);
    cr_expect_leq(terms.residual, 3e-16);
    cr_expect_leq(terms.count, 5);
    lowrank_terms_clear(&terms);
}

/* The error of rounding a term's first product to 11 bits on random data, relative to the result.
 */
static double error_of_rounded(const lowrank_terms *terms, int points) {
    double *grid = malloc((size_t)(points * points) * sizeof *grid), errors = 0, answers = 0;
    unsigned state = 1;
    for (int i = 0; i < points * points; i++)
        grid[i] = (double)((state = state * 1664525u + 1013904223u) >> 8) / 0x1p24;
    for (int y = 0; y < points; y++)
        for (int x = 0; x < points; x++) {
            double answer = 0, error = 0;
            for (int q = 0; q < terms->count; q++)
                for (int j = 0; j < terms->columns; j++) {
                    double product = 0;
                    int exponent;
                    for (int i = 0; i < terms->rows; i++)
                        product += terms->u[q * terms->rows + i] * grid[(y + i) % points * points + (x + j) % points];
                    const double part = frexp(product, &exponent),
                                 rounded = ldexp(rint(ldexp(part, 11)), exponent - 11);
                    answer += terms->v[q * terms->columns + j] * product;
                    error += terms->v[q * terms->columns + j] * (rounded - product);
                }
            errors += error * error;
            answers += answer * answer;
        }
    free(grid);
    return sqrt(errors / answers);
}

/* The error prediction of f16 plans, for weights that smooth and for some whose columns cancel each
 * other. */
Test(terms, amplification_of_first_product_rounding) {
    static const double cancelling[6][3] = {{0, 2, 0.0192}, {1, -2, -0.0409}, {2, -2, -0.0176},
                                            {2, 2, 0.0176}, {3, -2, -0.0501}, {3, 1, 0.0439}};
    for (int cancels = 0; cancels < 2; cancels++) {
        long double weight[20] = {0};
        stn_power taps = {.fused = 1, .size = {1, 4, 5}, .weight = weight};
        for (int i = 0; i < 20; i++) weight[i] = cancels ? 0 : 1.0L / (i + 10);
        for (int i = 0; i < 6 && cancels; i++)
            weight[(int)cancelling[i][0] * 5 + (int)cancelling[i][1] + 2] = cancelling[i][2];
        lowrank_terms terms;
        cr_assert_eq(lowrank_terms_make(NULL, &taps, LOWRANK_SVD, 0, &terms, NULL), STN_OK);
        const double predicted = stn_error_rounding(STN_F16) * lowrank_terms_inner(&terms, &taps);
        const double measured = error_of_rounded(&terms, 48);
        cr_expect(predicted > 0.6 * measured && predicted < 2.5 * measured, "%g predicted, %g measured", predicted,
                  measured);
        lowrank_terms_clear(&terms);
    }
}

Test(terms, products_suffice_for_all_snapshots) {
    stn_task task = task_of_name("heat-2d");
    task.dtype = STN_F16, task.tolerance = 2e-2;
    const int few = lowrank_products(&task, 1), many = lowrank_products(&task, 100);
    cr_expect_eq(few, 1);
    cr_expect_eq(many, 2);
    task.snapshots = 100;
    cr_expect_eq(lowrank_products(&task, 1), many);
    stn_task_clear(&task);
}
