/* Conversion of binary16: every half, and floats at, next to and between halves. */
#include <criterion/criterion.h>
#include <math.h>

#include "base/half.h"

/* The value of a half by its definition: sign * 2^(e-25) * (1024 + m), or 2^-24 * m for
 * subnormals. */
static double defined(uint16_t h) {
    int exponent = h >> 10 & 31, mantissa = h & 1023;
    double magnitude = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
    if (exponent == 31) magnitude = mantissa ? NAN : INFINITY;
    return h & 0x8000 ? -magnitude : magnitude;
}

Test(half, every_half_has_its_value_and_comes_back) {
    for (unsigned h = 0; h < 65536; h++) {
        float value = stn_half_to_float((uint16_t)h);
        double expected = defined((uint16_t)h);
        if (isnan(expected)) {
            cr_assert(isnan(value), "%#x", h);
            uint16_t back = stn_float_to_half(value);
            cr_assert((back & 0x7c00) == 0x7c00 && (back & 0x3ff) && (back & 0x8000) == (h & 0x8000), "%#x", h);
            continue;
        }
        cr_assert_eq(value, expected, "%#x is %g, not %g", h, value, expected);
        cr_assert_eq(!!signbit(value), h >> 15, "%#x", h);
        cr_assert_eq(stn_float_to_half(value), h, "%#x comes back as %#x", h, stn_float_to_half(value));
    }
}

Test(half, between_two_halves_the_nearer_one_and_in_the_middle_the_even_one) {
    for (unsigned h = 0; h < 0x7bff; h++) {
        float low = stn_half_to_float((uint16_t)h), high = stn_half_to_float((uint16_t)(h + 1));
        float middle = (low + high) / 2; /* exact: a float has 13 more bits */
        unsigned even = h & 1 ? h + 1 : h;
        cr_assert_eq(stn_float_to_half(middle), even, "%#x", h);
        cr_assert_eq(stn_float_to_half(nextafterf(middle, 0)), h, "%#x", h);
        cr_assert_eq(stn_float_to_half(nextafterf(middle, 1e9f)), h + 1, "%#x", h);
        cr_assert_eq(stn_float_to_half(-middle), even | 0x8000, "%#x", h);
    }
}

Test(half, the_ends_of_the_range) {
    cr_expect_eq(stn_float_to_half(65504.f), 0x7bff);
    cr_expect_eq(stn_float_to_half(65519.996f), 0x7bff);
    cr_expect_eq(stn_float_to_half(65520.f), 0x7c00); /* half a step past the largest: infinity */
    cr_expect_eq(stn_float_to_half(-65520.f), 0xfc00);
    cr_expect_eq(stn_float_to_half(INFINITY), 0x7c00);
    cr_expect_eq(stn_float_to_half(-INFINITY), 0xfc00);
    cr_expect_eq(stn_float_to_half(3e38f), 0x7c00);
    cr_expect_eq(stn_float_to_half(0x1p-25f), 0); /* half of the smallest: rounds to even, 0 */
    cr_expect_eq(stn_float_to_half(nextafterf(0x1p-25f, 1)), 1);
    cr_expect_eq(stn_float_to_half(-1e-30f), 0x8000);
    cr_expect_eq(stn_float_to_half(1e-45f), 0);
}
