// Numbers below 2^31 divided by one that a launch is given, in three instructions where a division
// takes a score:
//
//     x / d = (2 x) m / 2^(32 + shift),  m = ceil(2^(31 + shift) / d),  2^shift >= d       stn_divisor_of of src/base/arith.h
#pragma once

struct divisor {
    unsigned multiplier, shift;
};
__device__ __forceinline__ unsigned operator/(unsigned x, divisor d) {
    return __umulhi(2 * x, d.multiplier) >> d.shift;
}
