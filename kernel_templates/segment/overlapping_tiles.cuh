// Tiles of 2D and 3D grids that overlap by the reach of a launch's taps: their addresses, and the
// points of the extended grid that are their inputs; for segment_dense_tile.cu and
// segment_dense_plane.cu.
//
//     |<- lead ->|<----- useful ----->|        a tile: N1 x N2 points (y, x) of a 2D grid, or
//     '----------+--------------------+--'     N1 x N2 x N3 points (y, x, z) of a 3D grid
//
// Along each axis, `lead` points precede the `useful` outputs. A tile is transformed as a periodic
// domain of two or three axes, so N1, N2 and N3 need not be coprime as in segment_prime_factor.cu.
//
// Past its sides a grid is extended by fold.cuh along each axis. At sides without such an extension
// (nearest) the outputs near the side are wrong, and strategies/faces computes them by steps.
//
// `before`: the number of points by which the first tile's inputs begin before the grid. Along x it
// may exceed `lead`, so that the tiles' inputs and outputs touch fewer memory sectors.
//
// TILE_SHIFTED: all constant sides have one value, and a grid of that value does not change. The
// value is subtracted from the inputs of tiles that reach past a side, and added to their outputs.
// (Not for other tiles, which would round relative to that value too.)
#pragma once
#include "device/divide.cuh"
#include "device/element.cuh"
#include "device/launch_checks.cuh"
#include "segment/fold.cuh"

struct tile_arguments {
    const STORE *in;
    STORE *out;
    // The matrices of dense_convolution.cuh, and the symbol divided by LENGTH in the order of its
    // fragments.
    const REAL *operands;
    const REAL *symbol;
    long long n[3];       // Points along z, y, x.
    long long in_far[3];  // Strides of planes, rows and grids, in elements.
    long long out_far[3];
    unsigned tiles[3];  // Numbers of tiles along z, y, x.
    unsigned all;       // Number of tiles of all grids.
    int lead[3], useful[3], before[3], padding;
    divisor by_tiles[3];
    REAL past, unused;  // past: the value past constant sides.
};
static_assert(layout_matches(sizeof(tile_arguments), 2 * sizeof(REAL)), "tile_header of segment/dense_tile.c");

struct area {
    const STORE *in;  // The grid.
    STORE *out;
    long long z, y, x;  // Of the tile's first input.
};
__device__ __forceinline__ area find(const tile_arguments &a, unsigned tile) {
    const unsigned row = tile / a.by_tiles[2], plane = row / a.by_tiles[1], grid = plane / a.by_tiles[0];
    const unsigned x = tile - row * a.tiles[2], y = row - plane * a.tiles[1], z = plane - grid * a.tiles[0];
    return {
        a.in + grid * a.in_far[2], a.out + grid * a.out_far[2], static_cast<long long>(z) * a.useful[0] - a.before[0],
        static_cast<long long>(y) * a.useful[1] - a.before[1], static_cast<long long>(x) * a.useful[2] - a.before[2]};
}
__device__ __forceinline__ bool inside(long long from, int length, long long n) {
    return from >= 0 && from + length <= n;
}
__device__ __forceinline__ bool inside(const tile_arguments &a, const area &s) {
    return inside(s.z, DFT_N3, a.n[0]) && inside(s.y, DFT_N1, a.n[1]) && inside(s.x, DFT_N2, a.n[2]);
}
// Grid indices of the inputs of a slice's column; negative: they are 0.
struct line {
    const STORE *in;
    folded z, x;
    long long y;  // Of row 0.
};
__device__ __forceinline__ line find_line(const tile_arguments &a, const area &s, int slice, int x) {
    return {s.in, extend_by<Z_SIDE_LOW, Z_SIDE_HIGH>(s.z + slice, a.n[0]),
            extend_by<X_SIDE_LOW, X_SIDE_HIGH>(s.x + x, a.n[2]), s.y};
}
__device__ __forceinline__ folded source_of(const tile_arguments &a, const line &l, int row) {
    const folded y = extend_by<Y_SIDE_LOW, Y_SIDE_HIGH>(l.y + row, a.n[1]);
    if (l.z.index < 0 || y.index < 0 || l.x.index < 0) return {-1, false};
    return {l.z.index * a.in_far[0] + y.index * a.in_far[1] + l.x.index, (l.z.minus != y.minus) != l.x.minus};
}
// The end of a tile's outputs along an axis.
__device__ __forceinline__ int outputs_end(const tile_arguments &a, int axis, long long from) {
    return static_cast<int>(min(static_cast<long long>(a.lead[axis] + a.useful[axis]), a.n[axis] - from));
}
