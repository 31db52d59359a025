// Extension of an axis past its sides LOW and HIGH for which plain convolution is correct at the
// boundary (symmetric taps, except for wrap):
//
//     wrap              the other end
//     reflect, mirror   the line's mirror image
//     constant          its negated mirror image about the point past the side, which is 0
//     fixed             its negated mirror image about its first point, which is 0
//     nearest           0, at both sides: outputs near them are not correct
#pragma once
#include "device/boundary.cuh"

struct folded {
    long long index;  // Negative: the value is 0.
    bool minus;
};
// i and low_mirror - i are mirror images.
constexpr int low_mirror(int side) { return side == REFLECT ? -1 : side == CONSTANT ? -2 : 0; }
constexpr int high_mirror(int side) {
    // i and 2 n + high_mirror - i are mirror images.
    return side == REFLECT ? -1 : side == CONSTANT ? 0 : -2;
}
constexpr bool is_odd(int side) { return side == CONSTANT || side == FIXED; }

// The image of point i at any distance from the grid, by a division, which is as slow as dozens of
// folds.
template <int LOW, int HIGH>
__device__ __forceinline__ folded extend_far(long long i, long long n) {
    if (LOW == WRAP) return {fold_far<LOW, HIGH>(i, n), false};
    const long long period = 2 * n + high_mirror(HIGH) - low_mirror(LOW),
                    distance = (i < 0 ? period - 1 - i : i) / period, periods = i < 0 ? -distance : distance;
    i -= periods * period;
    const bool minus = is_odd(LOW) != is_odd(HIGH) && (periods & 1);
    return i < n ? folded{i, minus} : folded{2 * n + high_mirror(HIGH) - i, minus != is_odd(HIGH)};
}
// The same, but without the division if one fold suffices, as it nearly always does.
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
