// Division of numbers below 2^31 by a divisor known at launch, as a multiplication and a shift
// (three instructions instead of about twenty):
//
//     x / d = (2 x) m / 2^(32 + shift),  m = ceil(2^(31 + shift) / d),  2^shift >= d
//
// stn_divisor_of (src/base/arith.h) computes m and shift.
#pragma once

struct divisor {
    unsigned multiplier, shift;
};
__device__ __forceinline__ unsigned operator/(unsigned x, divisor d) {
    return __umulhi(2 * x, d.multiplier) >> d.shift;
}
