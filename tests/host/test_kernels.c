/* The inner loops: each instruction set gives the bits of plain C. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "grids.h"
#include "host/kernels.h"

#define MOST 75
#define SLACK 8 /* past the end, to see that it stays untouched */

#define DEFINE_CHECK(name, real, field)                                                                                \
    static void name(const stn_kernels *kernels, stn_terms terms, size_t count, bool add, uint64_t *state) {           \
        static real lines[STN_KERNEL_TAPS][MOST];                                                                      \
        static double weights[STN_KERNEL_TAPS], got[MOST + SLACK], u[MOST];                                            \
        const void *at[STN_KERNEL_TAPS];                                                                               \
        for (int k = 0; k < terms.single + 2 * terms.pairs; k++) {                                                     \
            weights[k] = random_unit(state);                                                                           \
            at[k] = lines[k];                                                                                          \
            for (size_t x = 0; x < count; x++) lines[k][x] = (real)random_unit(state);                                 \
        }                                                                                                              \
        for (size_t x = 0; x < count + SLACK; x++) got[x] = random_unit(state);                                        \
        for (size_t x = 0; x < count; x++) {                                                                           \
            u[x] = add ? got[x] : 0;                                                                                   \
            for (int k = 0; k < terms.single; k++) u[x] += weights[k] * lines[k][x];                                   \
            for (int k = 0; k < terms.pairs; k++) {                                                                    \
                double a = lines[terms.single + 2 * k][x], b = lines[terms.single + 2 * k + 1][x];                     \
                u[x] += weights[terms.single + k] * (terms.odd ? a - b : a + b);                                       \
            }                                                                                                          \
        }                                                                                                              \
        double after = got[count];                                                                                     \
        kernels->field(got, at, weights, terms, count, add);                                                           \
        for (size_t x = 0; x < count; x++)                                                                             \
            cr_assert_eq(got[x], u[x], "%d taps, %d pairs, %d points", terms.single, terms.pairs, (int)count);         \
        cr_assert_eq(got[count], after);                                                                               \
    }
DEFINE_CHECK(check_f64, double, sum_f64)
DEFINE_CHECK(check_f32, float, sum_f32)

/* Sums that are rounded are those that are not, rounded. */
static void check_rounded(const stn_kernels *kernels, stn_terms terms, size_t count, uint64_t *state) {
    static float lines[STN_KERNEL_TAPS][MOST], got[MOST + SLACK];
    static double weights[STN_KERNEL_TAPS], sum[MOST];
    const void *at[STN_KERNEL_TAPS];
    for (int k = 0; k < terms.single + 2 * terms.pairs; k++) {
        weights[k] = random_unit(state);
        at[k] = lines[k];
        for (size_t x = 0; x < count; x++) lines[k][x] = (float)random_unit(state);
    }
    got[count] = 3;
    kernels->sum_f32(sum, at, weights, terms, count, false);
    kernels->sum_float(got, at, weights, terms, count);
    for (size_t x = 0; x < count; x++) cr_assert_eq(got[x], (float)sum[x]);
    cr_assert_eq(got[count], 3);
}

static void check_terms(stn_terms terms, uint64_t *state) {
    const stn_kernels *kernels;
    for (int set = 0; (kernels = stn_kernels_at(set)); set++)
        for (size_t count = 0; count <= MOST; count++) {
            for (int add = 0; add < 2; add++) {
                check_f64(kernels, terms, count, add, state);
                check_f32(kernels, terms, count, add, state);
            }
            check_rounded(kernels, terms, count, state);
        }
}

Test(kernels, sums_are_in_the_order_of_terms) {
    uint64_t state = 11;
    for (int ntaps = 1; ntaps <= STN_KERNEL_TAPS; ntaps++) check_terms((stn_terms){ntaps, 0, false}, &state);
    for (int pairs = 1; pairs <= STN_KERNEL_TAPS / 2; pairs++) {
        check_terms((stn_terms){0, pairs, false}, &state);
        check_terms((stn_terms){1, pairs, false}, &state);
        check_terms((stn_terms){0, pairs, true}, &state);
    }
}

Test(kernels, every_half_converts) {
    static uint16_t halves[65536], back[65536];
    static double got[65536];
    for (int i = 0; i < 65536; i++) halves[i] = (uint16_t)i;
    const stn_kernels *kernels;
    for (int set = 0; (kernels = stn_kernels_at(set)); set++) {
        kernels->from_half(got, halves, 65536);
        kernels->to_half(back, got, 65536);
        for (int i = 0; i < 65536; i++) {
            int exponent = i >> 10 & 31, mantissa = i & 1023;
            double magnitude = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
            if (exponent == 31) magnitude = mantissa ? NAN : INFINITY;
            double expected = i >> 15 ? -magnitude : magnitude;
            cr_assert(isnan(expected) ? isnan(got[i]) : got[i] == expected && !signbit(got[i]) == !(i >> 15), "%#x", i);
            cr_assert(isnan(expected) ? (back[i] & 0x7fff) > 0x7c00 : back[i] == i, "%#x came back as %#x", i, back[i]);
        }
    }
}

Test(kernels, floats_round_to_the_nearest_half) {
    enum { COUNT = 60000 };
    static double in[COUNT];
    static uint16_t got[COUNT];
    uint64_t state = 17;
    for (int i = 0; i < COUNT; i++) in[i] = (float)ldexp(random_unit(&state), (int)random_int(&state, -28, 18));
    for (int i = 0; i < 2000; i++) /* halfway between two halves */
        in[i] = 0.5f * (stn_half_to_float((uint16_t)(15 * i)) + stn_half_to_float((uint16_t)(15 * i + 1)));
    const stn_kernels *kernels;
    for (int set = 0; (kernels = stn_kernels_at(set)); set++) {
        kernels->to_half(got, in, COUNT);
        for (int i = 0; i < COUNT; i++) {
            float value = stn_half_to_float(got[i]), up = stn_half_to_float((uint16_t)(got[i] + 1));
            float down = got[i] & 0x7fff ? stn_half_to_float((uint16_t)(got[i] - 1)) : value;
            if (isinf(value)) {
                cr_assert_geq(fabs(in[i]), 65520.0);
                continue;
            }
            double own = fabs(value - in[i]),
                   other = fmin(fabs(up - in[i]), down == value ? INFINITY : fabs(down - in[i]));
            if (isinf(up)) other = fabs(down - in[i]);
            cr_assert(own < other || (own == other && got[i] % 2 == 0), "%g became %g", in[i], value);
        }
    }
}
