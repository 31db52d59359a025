// The extension of a line past its sides (fold.cuh), applied to the inputs of a segment.
#pragma once
#include "params.cuh"
#include "segment/fold.cuh"

constexpr bool ODD_LOW = is_odd(X_SIDE_LOW), ODD_HIGH = is_odd(X_SIDE_HIGH);
constexpr int LOW_MIRROR = low_mirror(X_SIDE_LOW), HIGH_MIRROR = high_mirror(X_SIDE_HIGH);

__device__ __forceinline__ folded extend(long long i, long long n) { return extend_by<X_SIDE_LOW, X_SIDE_HIGH>(i, n); }
// Of `length` inputs from point i on, those from first to last - 1 are points of the grid,
// unchanged. If there are none, both are 0.
struct run {
    int first, last;
};
__device__ __forceinline__ run plain(long long i, int length, long long n) {
    const long long first = max((X_SIDE_LOW == FIXED) - i, 0LL),
                    last = min(n - (X_SIDE_HIGH == FIXED) - i, static_cast<long long>(length));
    return first < last ? run{static_cast<int>(first), static_cast<int>(last)} : run{0, 0};
}

// Those inputs of a segment that lie past a side and are images of points in the same segment. They
// are not loaded, but read from those points. The point about which a line is mirrored at an odd
// side is 0 and is its own image.
//
//     input       0 ..       first ..             last ..        length
//                 low - j  | points unchanged   | high - j
//                 <--------'                    '------->
struct images {
    // true: all inputs past sides that outputs need are such images. false: all inputs are loaded,
    // `first` is 0, and `last` is the number of inputs.
    bool own;
    int first, last;  // Inputs first to last - 1 are points of the grid, unchanged.
    int low, high;    // Input j < first is the image of input low - j, input j >= last of high - j.
};
constexpr bool MIRRORED_LOW = X_SIDE_LOW != WRAP && X_SIDE_LOW != NEAREST;
constexpr bool MIRRORED_HIGH = X_SIDE_HIGH != WRAP && X_SIDE_HIGH != NEAREST;
constexpr bool MIRRORED = MIRRORED_LOW || MIRRORED_HIGH;

// The images of a segment of `length` inputs from point `start` of the line on. No output depends
// on inputs from number `needed` on.
__device__ __forceinline__ images find_images(run points, long long start, int length, long long n, int needed) {
    images m = {points.last > 0, points.first, points.last, 0, 0};
    if (m.own && m.first > 0) {
        m.low = LOW_MIRROR - 2 * static_cast<int>(start);
        m.own = MIRRORED_LOW && m.low < m.last;
    }
    if (m.own && m.last < length) {
        m.high = 2 * static_cast<int>(n - start) + HIGH_MIRROR;
        m.own = MIRRORED_HIGH && (m.last >= needed || m.high - needed + 1 >= m.first);
    }
    return m.own ? m : images{false, 0, length, 0, 0};
}
// The inputs first to last - 1 that are loaded or set to 0.
__device__ __forceinline__ run held(const images &m, int length) {
    return {m.first - (ODD_LOW && m.first > 0), m.last + (ODD_HIGH && m.last < length)};
}

struct source {
    int at;  // Index of the input of which this input is an image.
    bool minus, none;
};
// Inputs that reach no output are set to 0: other values there could be large compared with the
// smoothed results, and transforms round relative to the largest value. The point that is 0 at an
// odd side is its own image.
__device__ __forceinline__ source find_source(const images &m, int j) {
    const bool below = j < m.first, above = j >= m.last;
    const int mirrored = (below ? m.low : m.high) - j, at = below || above ? mirrored : j;
    const int least = m.first - (ODD_LOW && m.first > 0);  // The first input that is stored.
    return {max(at, least), (ODD_LOW && below) || (ODD_HIGH && above), at < least};
}
// The value of an input. `value` is read in any case, which avoids a branch.
template <class T>
__device__ __forceinline__ T value_of(const source &from, T value) {
    return from.none ? T(0) : from.minus ? -value : value;
}
