// The extension of a line past its sides that makes plain convolution right near them (of symmetric taps, but for wrap):
//
//   wrap       the other end
//   reflect, mirror   the line mirrored
//   constant   minus the line mirrored about the point past the side, which is 0
//   fixed      minus the line mirrored about its first point, which is 0
//   nearest    the last point, at both sides: outputs near them are not right
#pragma once
#include "device/index.cuh"
#include "params.cuh"

constexpr bool ODD_LOW = X_SIDE_LOW == CONSTANT || X_SIDE_LOW == FIXED;
constexpr bool ODD_HIGH = X_SIDE_HIGH == CONSTANT || X_SIDE_HIGH == FIXED;

struct folded {
    long long index;  // below 0: the value is 0
    bool minus;
};
__device__ __forceinline__ folded extend(long long i, long long n) {
    if (X_SIDE_LOW == WRAP || X_SIDE_LOW == NEAREST) return {fold_far<X_SIDE_LOW, X_SIDE_HIGH>(i, n), false};
    bool minus = false;
    if (i < 0 || i >= n) {
        constexpr int LOW = X_SIDE_LOW == REFLECT ? -1 : X_SIDE_LOW == CONSTANT ? -2 : 0;  // i and LOW - i are mirrored
        constexpr int HIGH = X_SIDE_HIGH == REFLECT ? -1 : X_SIDE_HIGH == CONSTANT ? 0 : -2;  // i and 2 n + HIGH - i
        const long long period = 2 * n + HIGH - LOW, turns = i >= 0 ? i / period : -((period - 1 - i) / period);
        i -= turns * period;
        minus = ODD_LOW != ODD_HIGH && (turns & 1);
        if (i >= n) i = 2 * n + HIGH - i, minus = minus != ODD_HIGH;
    }
    if (i < (X_SIDE_LOW == FIXED) || i >= n - (X_SIDE_HIGH == FIXED)) i = -1;
    return {i, minus};
}
// Are points i to i + LENGTH - 1 of the line as they are?
__device__ __forceinline__ bool plain(long long i, int length, long long n) {
    return i >= (X_SIDE_LOW == FIXED) && i + length <= n - (X_SIDE_HIGH == FIXED);
}
