// A line's extension past its sides (fold.cuh), and which of a segment's inputs are what of it.
#pragma once
#include "params.cuh"
#include "segment/fold.cuh"

constexpr bool ODD_LOW = is_odd(X_SIDE_LOW), ODD_HIGH = is_odd(X_SIDE_HIGH);
constexpr int LOW_MIRROR = low_mirror(X_SIDE_LOW), HIGH_MIRROR = high_mirror(X_SIDE_HIGH);

__device__ __forceinline__ folded extend(long long i, long long n) { return extend_by<X_SIDE_LOW, X_SIDE_HIGH>(i, n); }
// Points of a line from i on that are as they are in the grid: numbers first to last - 1 of
// `length`. None: both are 0.
struct run {
    int first, last;
};
__device__ __forceinline__ run plain(long long i, int length, long long n) {
    const long long first = max((X_SIDE_LOW == FIXED) - i, 0LL),
                    last = min(n - (X_SIDE_HIGH == FIXED) - i, static_cast<long long>(length));
    return first < last ? run{static_cast<int>(first), static_cast<int>(last)} : run{0, 0};
}

// Inputs of a segment past a side that are images of points it holds too: those are not loaded, but
// found among these when they are read. The points that are 0 lie beside the others and are their
// own images.
//
//     number      0 ..       first ..             last ..        length
//                 low - j  | points as they are | high - j
//                 <--------'                    '------->
struct images {
    bool own;         // all that matter are such; else all inputs have been loaded, and first and last say so
    int first, last;  // points as they are
    int low, high;
};
constexpr bool MIRRORED_LOW = X_SIDE_LOW != WRAP && X_SIDE_LOW != NEAREST;
constexpr bool MIRRORED_HIGH = X_SIDE_HIGH != WRAP && X_SIDE_HIGH != NEAREST;
constexpr bool MIRRORED = MIRRORED_LOW || MIRRORED_HIGH;

// Of a segment from `start` on whose inputs from number `needed` on reach no output.
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
// Are a quarter's points outputs?
enum class outputs { none, some, all };
constexpr outputs outputs_of(int quarter) {
    return !SEGMENT_MIDDLE                                         ? outputs::some
           : quarter == 0 || quarter == 3                          ? outputs::none
           : quarter == 1 || (quarter == 2 && SEGMENT_MIDDLE == 2) ? outputs::all
                                                                   : outputs::some;
}
// What is loaded or set to 0 of such a segment: numbers first to last - 1.
__device__ __forceinline__ run held(const images &m, int length) {
    return {m.first - (ODD_LOW && m.first > 0), m.last + (ODD_HIGH && m.last < length)};
}

struct source {
    int at;  // number of the input that it is an image of
    bool minus, none;
};
// What reaches no output is 0: another number, many times over, would be large beside what
// smoothing leaves of the others, and transforms round relative to the largest.
//
// SEGMENT_MIDDLE: a line is one segment, `low` and `high` images around it, and which of these a
// thread's register holds is known from the quarter of the segment that it belongs to, all but the
// third:
//
//     |   images of low   |       points       |  points, images   |   images of high  |
//     0               LENGTH/4             LENGTH/2            3 LENGTH/4           LENGTH
//
// A point that is 0 lies at its own image.
__device__ __forceinline__ source find_source(const images &m, int j, int quarter) {
    if (SEGMENT_MIDDLE && quarter == 0) return {m.low - j, ODD_LOW, false};
    if (SEGMENT_MIDDLE && quarter == 1) return {j, false, false};
    if (SEGMENT_MIDDLE == 2) return quarter == 2 ? source{j, false, false} : source{m.high - j, ODD_HIGH, false};
    const bool below = !SEGMENT_MIDDLE && j < m.first, above = (SEGMENT_MIDDLE && quarter == 3) || j >= m.last;
    const int mirrored = (below ? m.low : m.high) - j, at = below || above ? mirrored : j;
    const int least = m.first - (ODD_LOW && m.first > 0);  // that is held
    return {max(at, least), (ODD_LOW && below) || (ODD_HIGH && above), at < least};
}
// Of the number at from.at, which is there also where none is meant: no branch.
template <class T>
__device__ __forceinline__ T value_of(const source &from, T value) {
    return from.none ? T(0) : from.minus ? -value : value;
}
