// Index of the point that a tap past an edge reads: an axis index, folded back by the boundary rule
// of the side that it left. Must agree with stn_fold on the host.
//
//   wrap       ... c d | a b c d | a b ...        reflect   ... b a | a b c d | d c ...
//   nearest    ... a a | a b c d | d d ...        mirror    ... c b | a b c d | c b ...
//   constant, fixed: no such point: PAST_LOW or PAST_HIGH (past a fixed side it is never used)
#pragma once
enum boundary_kind { WRAP = 0, CONSTANT = 1, NEAREST = 2, REFLECT = 3, MIRROR = 4, FIXED = 5 };
constexpr int PAST_LOW = -1, PAST_HIGH = -2;

// One fold past the low side (i < 0), or past the high side (i >= n).
template <int KIND>
__device__ __forceinline__ long long fold_low(long long i, long long n) {
    if (KIND == WRAP) return i + n;
    if (KIND == NEAREST) return 0;
    if (KIND == REFLECT) return -1 - i;
    if (KIND == MIRROR) return n == 1 ? 0 : -i;
    return PAST_LOW;
}
template <int KIND>
__device__ __forceinline__ long long fold_high(long long i, long long n) {
    if (KIND == WRAP) return i - n;
    if (KIND == NEAREST) return n - 1;
    if (KIND == REFLECT) return 2 * n - 1 - i;
    if (KIND == MIRROR) return n == 1 ? 0 : 2 * (n - 1) - i;
    return PAST_HIGH;
}

// i lies at most n points past an edge. A fold then overshoots the other side by at most one point,
// so three folds suffice.
template <int LOW, int HIGH>
__device__ __forceinline__ long long fold(long long i, long long n) {
    if (i >= 0 && i < n) return i;
    if (i < 0) {
        i = fold_low<LOW>(i, n);
        if (LOW == CONSTANT || LOW == FIXED || i < n) return i;
        i = fold_high<HIGH>(i, n);
        if (HIGH == CONSTANT || HIGH == FIXED || i >= 0) return i;
        return fold_low<LOW>(i, n);
    }
    i = fold_high<HIGH>(i, n);
    if (HIGH == CONSTANT || HIGH == FIXED || i >= 0) return i;
    i = fold_low<LOW>(i, n);
    if (LOW == CONSTANT || LOW == FIXED || i < n) return i;
    return fold_high<HIGH>(i, n);
}

// The same for an index that lies less than n points outside: one fold, without a branch.
template <int LOW, int HIGH>
__device__ __forceinline__ int fold_once(int i, int n) {
    const int low = LOW == WRAP ? i + n : LOW == NEAREST ? 0 : LOW == REFLECT ? -1 - i : LOW == MIRROR ? -i : PAST_LOW;
    const int high = HIGH == WRAP      ? i - n
                     : HIGH == NEAREST ? n - 1
                     : HIGH == REFLECT ? 2 * n - 1 - i
                     : HIGH == MIRROR  ? 2 * (n - 1) - i
                                       : PAST_HIGH;
    return i < 0 ? low : i >= n ? high : i;
}

// Whether both sides mirror the grid.
template <int LOW, int HIGH>
__device__ constexpr bool mirrors() {
    return (LOW == REFLECT || LOW == MIRROR) && (HIGH == REFLECT || HIGH == MIRROR);
}
// Whether fold_far continues the grid past both sides, however far. If the axis wraps, or the taps
// are symmetric, this continuation is the same in every step.
template <int LOW, int HIGH>
__device__ constexpr bool repeats() {
    return LOW == WRAP || mirrors<LOW, HIGH>();
}

// The index that is read for index i, however far it lies outside: folded where the axis repeats,
// otherwise clamped.
template <int LOW, int HIGH>
__device__ __forceinline__ long long fold_far(long long i, long long n) {
    if (i >= 0 && i < n) return i;
    if (!repeats<LOW, HIGH>()) return i < 0 ? 0 : n - 1;
    const long long period = LOW == WRAP ? n : 2 * n - (LOW == MIRROR) - (HIGH == MIRROR);
    if (period == 0) return 0;  // one point between two mirrors
    i %= period;
    if (i < 0) i += period;
    return i < n ? i : HIGH == REFLECT ? 2 * n - 1 - i : 2 * (n - 1) - i;
}

// The same for an index that lies less than n points outside, without a branch.
template <int LOW, int HIGH>
__device__ __forceinline__ int fold_near(int i, int n) {
    constexpr bool FOLDS = repeats<LOW, HIGH>();
    const int low = !FOLDS ? 0 : LOW == WRAP ? i + n : LOW == REFLECT ? -1 - i : -i;
    i = i < 0 ? low : i;
    const int high = !FOLDS ? n - 1 : HIGH == WRAP ? i - n : HIGH == REFLECT ? 2 * n - 1 - i : 2 * (n - 1) - i;
    return i >= n ? high : i;
}

// The same for columns, several of which one vector access reads: where the axis does not repeat,
// columns past a side are replaced by columns among the first or last ones with the same alignment.
// (Not by columns of the other end: NaN times a weight of 0 is NaN.)
template <int LOW, int HIGH>
__device__ __forceinline__ long long fold_column(long long i, long long n) {
    if ((i >= 0 && i < n) || repeats<LOW, HIGH>()) return fold_far<LOW, HIGH>(i, n);
    return n < 8 ? (i & 7) % n : (i & 7) + (i < 0 ? 0 : (n - 8) & ~7LL);
}
