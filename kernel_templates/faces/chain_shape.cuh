// Extents of the matrices that faces_chain.cu multiplies, where they lie among its tables, which of their blocks hold anything, and
// where a warp works. Reads FUSED, the sides and the reaches of params.cuh.
#pragma once
#include "device/fragment.cuh"
#include "device/twins.cuh"
#include "faces/sides.cuh"

constexpr int FACES = 6, LEVELS = FUSED - 1;  // at least 1: a frozen row has as many columns
__device__ constexpr int most(int a, int b) { return a > b ? a : b; }
__device__ constexpr int blocks_of(int count) { return (count + 7) / 8; }

struct chain_face {
    const double *tables;
    long long first, tiles;  // of its warps, among those of a grid; along axis 1
    long long segment;       // points of a walk along axis 2
    int axis, side, rows, frozen;
};
struct chain_arguments {
    const double *in;
    double *out;
    long long in_stride[3], out_stride[3], in_batch, out_batch;
    long long n[3], low[3], high[3];  // the points from which FUSED steps stay within an axis: low <= index < high
    long long warps, batch, faces;    // warps of a grid
    chain_face at[FACES];
};
static_assert(is_twin(sizeof(chain_arguments)), "the launcher's twin of the arguments");

// The chain for faces normal to AXIS: extents of its matrices, and where they lie among the tables.
template <int AXIS>
struct chain {
    static constexpr int AXIS_1 = AXIS == 2 ? 1 : 2, AXIS_2 = 3 - AXIS - AXIS_1;
    static constexpr int LOW_1 = TAPS_REACH[AXIS_1][0], HIGH_1 = TAPS_REACH[AXIS_1][1];
    static constexpr int LOW_2 = TAPS_REACH[AXIS_2][0], HIGH_2 = TAPS_REACH[AXIS_2][1];
    static constexpr int BANDS = blocks_of(16 + FUSED * (LOW_1 + HIGH_1));  // of 8 points of axis 1
    static constexpr int DEPTH = FUSED * (TAPS_REACH[AXIS][0] + TAPS_REACH[AXIS][1]), DEPTHS = blocks_of(DEPTH);
    static constexpr int ROWS =
        FUSED * most(has_face(AXIS, 0) ? TAPS_REACH[AXIS][0] : 0, has_face(AXIS, 1) ? TAPS_REACH[AXIS][1] : 0);
    static constexpr int OUTS = blocks_of(ROWS);
    static constexpr int FROZEN =
        most(SIDE[AXIS][0] == FIXED ? TAPS_REACH[AXIS][0] : 0, SIDE[AXIS][1] == FIXED ? TAPS_REACH[AXIS][1] : 0);
    static constexpr int COLUMNS = blocks_of(ROWS + FROZEN * LEVELS);  // of Z, in blocks
    static constexpr int MIXED = FROZEN ? ROWS / 8 : OUTS;             // the first one that not only has rows
    static constexpr int TAPS_L = LEVELS * (LOW_1 + HIGH_1) + 1, HANKEL = blocks_of(TAPS_L);
    static constexpr int TAPS_2 = FUSED * (LOW_2 + HIGH_2) + 1;
    static constexpr bool WALKS = TAPS_2 > 1, CONSTANTS = SIDE[AXIS][0] == CONSTANT || SIDE[AXIS][1] == CONSTANT;
    static_assert(!WALKS || COLUMNS == 1, "a walk keeps one block of columns for every tap along axis 2");
    // A walk's points of one line in shared memory: rows along x, padded so that lanes meet in no bank.
    static constexpr int PITCH = AXIS == 2 ? 8 * DEPTHS + 2 : 8 * (BANDS + (BANDS + 1) % 2);
    static constexpr int LINE = (AXIS == 2 ? 8 * BANDS : 8 * DEPTHS) * PITCH;
    // Among the tables:
    static constexpr int BAND_AT = 0, TAPS_AT = BAND_AT + 8 * BANDS + 16, VALUE_AT = TAPS_AT + (WALKS ? 8 * TAPS_2 : 0);
    static constexpr int M_AT = VALUE_AT + 8 * OUTS, F_AT = M_AT + 64 * DEPTHS * OUTS;
    static constexpr int L_AT = F_AT + (FROZEN ? 64 * COLUMNS * OUTS : 0);
};

// Two elements of a block of a right factor.
struct pair {
    double e[2];
};
__device__ __forceinline__ pair read_pair(const double *at) {
    pair p;
    load_run(p.e, at);
    return p;
}
__device__ __forceinline__ void multiply(double (&sum)[4], const pair &top, const pair &bottom, const pair &right) {
    const double left[4] = {top.e[0], bottom.e[0], top.e[1], bottom.e[1]};
    product(sum, left, right.e);
}
__device__ __forceinline__ void multiply(double (&sum)[4], const double (&left)[4], const pair &right) {
    const double a[4] = {left[0], left[2], left[1], left[3]};
    product(sum, a, right.e);
}

// Whether a block of M, F or L holds anything: what does not is skipped, so that a NaN stays near.
template <int AXIS>
__device__ constexpr bool m_used(int depth, int out) {  // no row looks further from the face than so many
    return 8 * depth <= 8 * out + 7 + FUSED * most(TAPS_REACH[AXIS][0], TAPS_REACH[AXIS][1]);
}
template <int AXIS>
__device__ constexpr int first_column(int frozen, int column) {  // of a frozen row's levels within a block of columns
    return most(8 * column, chain<AXIS>::ROWS + frozen * LEVELS);
}
template <int AXIS>
__device__ constexpr int end_column(int frozen, int column) {
    const int end = chain<AXIS>::ROWS + (frozen + 1) * LEVELS;
    return end < 8 * column + 8 ? end : 8 * column + 8;
}
template <int AXIS>
__device__ constexpr bool l_used(int frozen, int column, int k) {
    const int end = end_column<AXIS>(frozen, column), level = end - chain<AXIS>::ROWS - frozen * LEVELS;
    return first_column<AXIS>(frozen, column) < end && 8 * k + 7 >= (LEVELS - level) * chain<AXIS>::LOW_1 &&
           8 * k <= LEVELS * chain<AXIS>::LOW_1 + level * chain<AXIS>::HIGH_1;
}

// Where a warp works: pointers are to row 0 of the margin, at its first point of axis 2 and 0 of axis 1.
struct warp_tile {
    const double *tables, *in;
    double *out;
    long long in_row, out_row, in_walk, out_walk;  // to the next row inwards, to the next point of axis 2
    long long in_x, out_x;                         // to the next point of axis 1
    int window, x, end;  // along axis 1: the first point read, the first one written, past the last one of all tiles
    int last;            // the grid's last one
    int deepest;         // for faces normal to x: the last point, as an access begins there, from row 0 on
    int count, rows, frozen;
    int lane, g, t;
};
