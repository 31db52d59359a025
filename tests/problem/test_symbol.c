/* max |symbol| against closed forms, invariances, and brute force. */
#include <complex.h>
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "problem/stencil.h"

static void expect_symbol(const char *spec, double expected, double tolerance) {
    stn_stencil *stencil = NULL;
    cr_assert_eq(stn_stencil_parse(spec, &stencil, NULL), STN_OK, "%s", spec);
    double value = stn_stencil_max_symbol(stencil);
    cr_expect(fabs(value - expected) <= tolerance, "%s: %.17g is not %.17g", spec, value, expected);
    stn_stencil_destroy(stencil);
}

Test(symbol, closed_forms) {
    expect_symbol("heat-2d:alpha=0.2", 1, 0);
    expect_symbol("heat-2d:alpha=0.3", 1.4, 1e-14); /* |1 - 8 alpha| at k = (pi, pi) */
    expect_symbol("heat-1d:alpha=0.75", 2, 1e-14);
    expect_symbol("heat-3d:alpha=-0.1", 2.2, 1e-14);
    expect_symbol("laplace-2d", 8, 0);
    expect_symbol("laplace-1d:order=4", 16. / 3, 1e-14);
    expect_symbol("laplace-3d:order=4", 16, 1e-13);
    expect_symbol("heat-1d:alpha=0", 1, 0);
}

/* Maxima at neither 0 nor pi, which the search must find. */
Test(symbol, peaks_between_samples) {
    /* 1/2 + (cos k - cos 2k): at cos k = 1/4 it is 1/2 + 1/4 + 7/8 */
    const stn_tap two[] = {{{-2}, -0.5}, {{-1}, 0.5}, {{0}, 0.5}, {{1}, 0.5}, {{2}, -0.5}};
    cr_expect_float_eq(stn_taps_max_symbol(5, two), 1.625, 1e-7);
    /* centred first difference of an advection step: sqrt(1 + c^2 sin^2 k) */
    const stn_tap upwind[] = {{{0, -1}, 0.4}, {{0, 0}, 1}, {{0, 1}, -0.4}};
    cr_expect_float_eq(stn_taps_max_symbol(3, upwind), sqrt(1.64), 1e-7);
    /* a separable stencil: the product of the maxima */
    stn_tap product[25];
    for (int i = 0; i < 25; i++)
        product[i] = (stn_tap){{two[i / 5].offset[0], two[i % 5].offset[0]}, two[i / 5].weight * two[i % 5].weight};
    cr_expect_float_eq(stn_taps_max_symbol(25, product), 1.625 * 1.625, 3e-7);
}

/* The widest possible stencils, whose |K| oscillates fastest. */
Test(symbol, the_widest_taps) {
    const stn_tap wide[] = {{{-64}, 1}, {{0}, 0.5}, {{63}, -1}};
    double best = 0;
    for (int i = 0; i < 2000000; i++) {
        double k = M_PI * i / 2000000;
        best = fmax(best, cabs(cexp(-64 * I * k) + 0.5 - cexp(63 * I * k)));
    }
    cr_expect_float_eq(stn_taps_max_symbol(3, wide), best, 1e-6);
    const stn_tap corner[] = {{{-64, -64, -64}, 1}, {{64, 64, 64}, 2}};
    cr_expect_float_eq(stn_taps_max_symbol(2, corner), 3, 1e-12);
}

static double brute(size_t ntaps, const stn_tap *taps, int samples) {
    double best = 0;
    for (int a = 0; a <= samples / 2; a++)
        for (int b = 0; b < samples; b++) {
            double complex sum = 0;
            for (size_t i = 0; i < ntaps; i++)
                sum += taps[i].weight *
                       cexp(2 * M_PI * I * (a * (double)taps[i].offset[0] + b * (double)taps[i].offset[1]) / samples);
            best = fmax(best, cabs(sum));
        }
    return best;
}

static double any(unsigned *seed) { return 2.0 * rand_r(seed) / RAND_MAX - 1; }

Test(symbol, random_taps_against_brute_force) {
    unsigned seed = 7;
    for (int round = 0; round < 12; round++) {
        stn_tap taps[25] = {{{0}, 0}};
        int width = 3 + 2 * (round % 2), radius = width / 2;
        size_t ntaps = (size_t)(width * width);
        for (size_t i = 0; i < ntaps; i++) {
            taps[i].offset[0] = (int)i / width - radius;
            taps[i].offset[1] = (int)i % width - radius;
            taps[i].weight = any(&seed);
        }
        double value = stn_taps_max_symbol(ntaps, taps), samples = brute(ntaps, taps, 256);
        /* the samples are below the maximum by at most a fraction (radius pi / 256)^2 of it, the
         * search by 1e-6 */
        cr_expect_geq(value, samples * (1 - 1e-9), "round %d", round);
        cr_expect_leq(value, samples * (1 + 2 * radius * radius * 1.6e-4), "round %d", round);
    }
}

Test(symbol, moving_all_taps_or_swapping_axes_changes_nothing) {
    unsigned seed = 3;
    stn_tap taps[27], moved[27], swapped[27];
    for (int i = 0; i < 27; i++) {
        taps[i] = (stn_tap){{i / 9 - 1, i / 3 % 3 - 1, i % 3 - 1}, any(&seed)};
        moved[i] = swapped[i] = taps[i];
        for (int axis = 0; axis < 3; axis++) {
            moved[i].offset[axis] += 5 * axis + 1;
            swapped[i].offset[axis] = taps[i].offset[(axis + 1) % 3];
        }
    }
    double value = stn_taps_max_symbol(27, taps);
    cr_expect_float_eq(stn_taps_max_symbol(27, moved), value, 1e-6 * value);
    cr_expect_float_eq(stn_taps_max_symbol(27, swapped), value, 1e-6 * value);
}

Test(symbol, degenerate_weights) {
    cr_expect_eq(stn_taps_max_symbol(1, &(stn_tap){{0}, 0}), 0);
    cr_expect_eq(stn_taps_max_symbol(1, &(stn_tap){{9, -4}, -2.5}), 2.5);
    const stn_tap huge[] = {{{0}, 1.7e308}, {{1}, -1.7e308}, {{2}, 1.7e308}};
    cr_expect_eq(stn_taps_max_symbol(3, huge), INFINITY);
    const stn_tap zeros[] = {{{0}, 0}, {{1}, 0}, {{0, 1}, 0}};
    cr_expect_eq(stn_taps_max_symbol(3, zeros), 0);
}
