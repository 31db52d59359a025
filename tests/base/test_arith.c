/* Integer division by an invariant divisor (stn_divisor_of) agrees with the division operator. */
#include <criterion/criterion.h>

#include "base/arith.h"

/* The division of kernel_templates/device/divide.cuh. */
static uint32_t divided(uint32_t x, stn_divisor d) {
    return (uint32_t)((uint64_t)(2 * x) * d.multiplier >> (32 + d.shift));
}

Test(arith, a_divisor_divides_every_number_below_2_to_31) {
    static const int64_t divisors[] = {1,     2,     3,       7,          32,         1000,      65535,
                                       65536, 65537, 1000003, 0x3fffffff, 0x7fffffff, 0x80000000};
    for (size_t i = 0; i < sizeof divisors / sizeof *divisors; i++) {
        const int64_t d = divisors[i];
        const stn_divisor by = stn_divisor_of(d);
        /* next to multiples of d, where the quotient changes, from both ends of the range */
        for (int64_t k = 0; k < 5000; k++) {
            const int64_t quotient = k % 2 ? k : (INT64_C(0x7fffffff) / d) - k / 2;
            for (int64_t x = quotient * d - 1; x <= quotient * d + 1; x++)
                if (x >= 0 && x <= 0x7fffffff)
                    cr_assert_eq(divided((uint32_t)x, by), x / d, "%lld / %lld", (long long)x, (long long)d);
        }
    }
}
