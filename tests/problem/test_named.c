/* The named stencils against closed forms and published tables; every error of the parser. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "refusal.h"

static stn_stencil *stencil;

static void destroy(void) {
    stn_stencil_destroy(stencil);
    stencil = NULL;
}
TestSuite(named, .fini = destroy);

static void parse(const char *spec) {
    stn_error error = {STN_OK, ""};
    destroy();
    cr_assert_eq(stn_stencil_parse(spec, &stencil, &error), STN_OK, "%s: %s", spec, error.message);
}

static double weight_at(int o0, int o1, int o2) {
    for (size_t i = 0; i < stn_stencil_tap_count(stencil); i++) {
        const stn_tap *tap = &stn_stencil_taps(stencil)[i];
        if (tap->offset[0] == o0 && tap->offset[1] == o1 && tap->offset[2] == o2) return tap->weight;
    }
    return NAN;
}

#define expect_near(value, expected, tolerance)                                                                        \
    cr_expect(fabs((value) - (expected)) <= (tolerance), "%.17g is not %.17g", (double)(value), (double)(expected))

Test(named, heat) {
    const char *const names[] = {"heat-1d:alpha=0.2", "heat-2d:alpha=0.2", "heat-3d:alpha=0.1"};
    for (int rank = 1; rank <= 3; rank++) {
        double alpha = rank == 3 ? 0.1 : 0.2;
        parse(names[rank - 1]);
        cr_expect_eq(stn_stencil_rank(stencil), rank);
        cr_expect_eq(stn_stencil_tap_count(stencil), 1u + 2 * (unsigned)rank);
        expect_near(weight_at(0, 0, 0), 1 - 2 * rank * alpha, 1e-15);
        for (int axis = 0; axis < rank; axis++)
            for (int side = -1; side <= 1; side += 2)
                cr_expect_eq(weight_at(axis == 0 ? side : 0, axis == 1 ? side : 0, axis == 2 ? side : 0), alpha);
    }
}

Test(named, heat_has_a_stable_default) {
    const char *const names[] = {"heat-1d", "heat-2d", "heat-3d"};
    for (int i = 0; i < 3; i++) {
        parse(names[i]);
        cr_expect_eq(weight_at(1, 0, 0), 0.125);
        cr_expect_eq(stn_stencil_max_symbol(stencil), 1);
    }
}

Test(named, heat_keeps_its_taps_when_weights_are_zero) {
    parse("heat-2d:alpha=0.25");
    cr_expect_eq(stn_stencil_tap_count(stencil), 5u);
    cr_expect_eq(weight_at(0, 0, 0), 0);
}

static void averages(const char *name, int rank, size_t ntaps, int radius, int star) {
    parse(name);
    double sum = 0, scale = 0;
    cr_expect_eq(stn_stencil_rank(stencil), rank);
    cr_expect_eq(stn_stencil_tap_count(stencil), ntaps);
    for (size_t i = 0; i < ntaps; i++) {
        const stn_tap *tap = &stn_stencil_taps(stencil)[i];
        int nonzero = 0, square = 0;
        for (int axis = 0; axis < 3; axis++) {
            cr_expect_leq(llabs(tap->offset[axis]), radius);
            nonzero += tap->offset[axis] != 0;
            square += (int)(tap->offset[axis] * tap->offset[axis]);
        }
        cr_expect(!star || nonzero <= 1);
        if (!i) scale = tap->weight * (1 + square);
        expect_near(tap->weight * (1 + square), scale, 1e-15);
        sum += tap->weight;
    }
    expect_near(sum, 1, 1e-14);
    cr_expect_leq(stn_stencil_max_symbol(stencil), 1 + 1e-14);
}

Test(named, averages_have_their_points_and_add_up_to_one) {
    averages("1d5p", 1, 5, 2, 1);
    averages("1d7p", 1, 7, 3, 1);
    averages("box-2d9p", 2, 9, 1, 0);
    averages("box-2d49p", 2, 49, 3, 0);
    averages("box-3d27p", 3, 27, 1, 0);
    averages("star-2d13p", 2, 13, 3, 1);
}

Test(named, laplace_has_fornbergs_coefficients) {
    const double order2[] = {-2, 1};
    const double order4[] = {-5. / 2, 4. / 3, -1. / 12};
    const double order8[] = {-205. / 72, 8. / 5, -1. / 5, 8. / 315, -1. / 560};
    const struct {
        const char *name;
        int radius;
        const double *expected;
    } cases[] = {{"laplace-1d", 1, order2},
                 {"laplace-1d:order=2", 1, order2},
                 {"laplace-1d:order=4", 2, order4},
                 {"laplace-1d:order=8", 4, order8}};
    for (int i = 0; i < 4; i++) {
        parse(cases[i].name);
        cr_expect_eq(stn_stencil_tap_count(stencil), 1 + 2 * (unsigned)cases[i].radius);
        for (int d = -cases[i].radius; d <= cases[i].radius; d++)
            expect_near(weight_at(d, 0, 0), cases[i].expected[abs(d)], 1e-15);
    }
}

/* A stencil of order p is exact on x^k for every k up to p + 1: the second derivative at 0 is 2 for
 * k = 2, else 0. */
Test(named, laplace_is_exact_to_its_order) {
    for (int order = 2; order <= 16; order += 2) {
        char name[32];
        snprintf(name, sizeof name, "laplace-1d:order=%d", order);
        parse(name);
        for (int power = 0; power <= order + 1; power++) {
            long double sum = 0, size = 0;
            for (size_t i = 0; i < stn_stencil_tap_count(stencil); i++) {
                const stn_tap *tap = &stn_stencil_taps(stencil)[i];
                sum += tap->weight * powl(tap->offset[0], power);
                size += fabsl(tap->weight * powl(tap->offset[0], power));
            }
            expect_near((double)sum, power == 2 ? 2 : 0, 1e-15 * (double)size);
        }
    }
}

Test(named, laplace_sums_over_the_axes) {
    double line[9];
    parse("laplace-1d:order=16");
    for (int d = 0; d <= 8; d++) line[d] = weight_at(d, 0, 0);
    parse("laplace-3d:order=16");
    cr_expect_eq(stn_stencil_tap_count(stencil), 49u);
    for (int d = 1; d <= 8; d++)
        cr_expect(weight_at(d, 0, 0) == line[d] && weight_at(0, -d, 0) == line[d] && weight_at(0, 0, d) == line[d]);
    expect_near(weight_at(0, 0, 0), 3 * line[0], 1e-14);
    parse("laplace");
    cr_expect_eq(stn_stencil_rank(stencil), 2);
    cr_expect_eq(weight_at(0, 0, 0), -4);
}

Test(named, gaussian_has_scipys_weights) {
    /* scipy.ndimage's kernel for sigma = 1 and truncate = 4 */
    const double known[] = {3.98943469e-01, 2.41971446e-01, 5.39911274e-02, 4.43186162e-03, 1.33830625e-04};
    parse("gaussian-1d");
    cr_expect_eq(stn_stencil_tap_count(stencil), 9u);
    for (int d = -4; d <= 4; d++) expect_near(weight_at(d, 0, 0), known[abs(d)], 1e-9);
}

static void gaussian(const char *spec, int rank, double sigma, int radius) {
    parse(spec);
    double sum = 0, phi[1300], worst = 0;
    size_t count = 1;
    for (int x = -radius; x <= radius; x++) sum += phi[x + radius] = exp(-0.5 / (sigma * sigma) * x * x);
    for (int axis = 0; axis < rank; axis++) count *= 2 * (size_t)radius + 1;
    cr_expect_eq(stn_stencil_rank(stencil), rank);
    cr_assert_eq(stn_stencil_tap_count(stencil), count, "%s", spec);
    for (size_t i = 0; i < count; i++) {
        const stn_tap *tap = &stn_stencil_taps(stencil)[i];
        double expected = 1;
        for (int axis = 0; axis < rank; axis++) expected *= phi[tap->offset[axis] + radius] / sum;
        worst = fmax(worst, fabs(tap->weight / expected - 1));
    }
    cr_expect_lt(worst, 1e-13, "%s is off by %g", spec, worst);
}

Test(named, gaussian_by_formula) {
    gaussian("gaussian-1d:sigma=2.5", 1, 2.5, 10);
    gaussian("gaussian:sigma=1.5,truncate=3", 2, 1.5, 5);
    gaussian("gaussian-2d:truncate=2,sigma=0.9", 2, 0.9, 2);
    gaussian("gaussian-3d:sigma=1.1,truncate=3.5", 3, 1.1, 4);
    gaussian("gaussian-3d:sigma=4", 3, 4, 16);
    gaussian("gaussian-1d:sigma=16", 1, 16, 64);
    gaussian("gaussian-1d:sigma=150", 1, 150, 600);
    gaussian("gaussian-2d:sigma=1e-200", 2, 1, 0); /* too narrow for a neighbour: the identity */
    gaussian("gaussian-1d:truncate=0", 1, 1, 0);
}

static void refused(const char *spec, const char *first, const char *second) {
    stn_error error;
    stn_stencil *none = (stn_stencil *)&error;
    expect_refusal(stn_stencil_parse(spec, &none, &error), &error, first, second);
    cr_expect_null(none);
}

Test(named, unknown_names_list_the_known_ones) {
    const char *const bad[] = {"", "nope", "Heat-2d", "heat-2", "heat-2dd", " heat-2d", "heat", ":alpha=1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) refused(bad[i], "heat-1d, heat-2d, heat-3d", "gaussian-3d");
    refused("nope:alpha=1", "\"nope\"", "laplace-2d");
    char long_name[5000];
    memset(long_name, 'a', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    refused(long_name, "aaaa", "gaussian-3d");
}

Test(named, bad_parameters_are_refused_by_name) {
    refused("heat-2d:", "\"\"", "alpha=");
    refused("heat-2d:alpha", "\"alpha\"", "key=value");
    refused("heat-2d:alpha=", "\"alpha=\"", "finite number");
    refused("heat-2d:alpha=x", "\"alpha=x\"", "finite number");
    refused("heat-2d:alpha=nan", "\"alpha=nan\"", "finite number");
    refused("heat-2d:alpha=1e999", "\"alpha=1e999\"", "finite number");
    refused("heat-2d:alpha= 0.1", "\"alpha= 0.1\"", "finite number");
    refused("heat-2d:alpha=0.1,", "\"\"", "alpha=");
    refused("heat-2d:alpha=0.1,alpha=0.1", "twice", "heat-2d");
    refused("heat-2d:beta=0.1", "\"beta=0.1\"", "takes alpha=");
    refused("heat-2d:alpha=1e308", "weight", "finite");
    refused("gaussian:width=2", "\"width=2\"", "takes sigma= and truncate=");
    refused("1d5p:alpha=1", "1d5p", "takes none");
    const char *const orders[] = {"0", "1", "3", "18", "-2", "2.5", "1e300"};
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        char spec[64];
        snprintf(spec, sizeof spec, "laplace-3d:order=%s", orders[i]);
        refused(spec, "laplace-3d has the order", "2, 4, 6, 8, 10, 12, 14 or 16");
    }
    refused("gaussian:sigma=0", "sigma 0", "above 0");
    refused("gaussian:sigma=-1", "sigma -1", "above 0");
    refused("gaussian:truncate=-1", "truncate -1", "not be below 0");
    refused("gaussian-1d:sigma=257", "radius 1028", "largest is 1024");
    refused("gaussian-2d:sigma=24", "radius 96", "largest is 94");
    refused("gaussian-3d:sigma=5", "radius 20", "largest is 16");
    refused("gaussian:sigma=1e300,truncate=1e300", "radius inf", "lower sigma");
}

Test(named, null_is_refused) {
    stn_error error;
    expect_refusal(stn_stencil_parse(NULL, &stencil, &error), &error, "name", "NULL");
    expect_refusal(stn_stencil_parse("1d5p", NULL, &error), &error, "place", "NULL");
}
