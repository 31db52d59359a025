// The extension of an axis past its sides LOW and HIGH that makes plain convolution right near them
// (of symmetric taps, but for wrap):
//
//   wrap       the other end
//   reflect, mirror   the line mirrored
//   constant   minus the line mirrored about the point past the side, which is 0
//   fixed      minus the line mirrored about its first point, which is 0
//   nearest    0, at both sides: outputs near them are not right
#pragma once
#include "device/index.cuh"

struct folded {
    long long index;  // below 0: the value is 0
    bool minus;
};
constexpr int low_mirror(int side) { return side == REFLECT ? -1 : side == CONSTANT ? -2 : 0; }  // i and low_mirror - i
constexpr int high_mirror(int side) {
    return side == REFLECT ? -1 : side == CONSTANT ? 0 : -2;  // i and 2 n + high_mirror - i
}
constexpr bool is_odd(int side) { return side == CONSTANT || side == FIXED; }

// However far outside: by division, which takes as long as dozens of folds.
template <int LOW, int HIGH>
__device__ __forceinline__ folded extend_far(long long i, long long n) {
    if (LOW == WRAP) return {fold_far<LOW, HIGH>(i, n), false};
    const long long period = 2 * n + high_mirror(HIGH) - low_mirror(LOW),
                    turns = i >= 0 ? i / period : -((period - 1 - i) / period);
    i -= turns * period;
    const bool minus = is_odd(LOW) != is_odd(HIGH) && (turns & 1);
    return i < n ? folded{i, minus} : folded{2 * n + high_mirror(HIGH) - i, minus != is_odd(HIGH)};
}
// The same; all but always one fold is enough.
template <int LOW, int HIGH>
__device__ __forceinline__ folded extend_by(long long i, long long n) {
    folded to = {i, false};
    if (LOW == NEAREST) return {i < 0 || i >= n ? -1 : i, false};
    if (i < 0) {
        to = {LOW == WRAP ? i + n : low_mirror(LOW) - i, is_odd(LOW)};
        if (LOW == CONSTANT && i == -1) return {-1, true};
    } else if (i >= n) {
        to = {LOW == WRAP ? i - n : 2 * n + high_mirror(HIGH) - i, is_odd(HIGH)};
        if (HIGH == CONSTANT && i == n) return {-1, true};
    }
    if (to.index < 0 || to.index >= n) to = extend_far<LOW, HIGH>(i, n);
    if (to.index < (LOW == FIXED) || to.index >= n - (HIGH == FIXED)) to.index = -1;
    return to;
}
