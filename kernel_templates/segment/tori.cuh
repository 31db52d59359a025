// Tiles of planes and solids that overlap by what a launch's taps reach, where each lies, and where
// the grid's extension has its inputs: segment_torus.cu, segment_plane.cu.
//
//     |<- lead ->|<----- useful ----->|         a tile has N1 x N2 points of a plane, or N1 x N2 x N3 of a solid (y, x, z), and is a torus as it
//     '----------+--------------------+--'      stands: factors need not be coprime. `useful` of an axis are outputs.
//
// Past the sides a grid goes on by the rules of fold.cuh, each axis by its own; where sides are no
// such (nearest), the points that see them are not right, and the faces' launch steps them.
//
// `before`: the first tile's inputs begin so far before the grid, which may be more than `lead` so
// that inputs begin at whole sectors.
//
// TORUS_SHIFTED: what is past all constant sides is one value, and the grid of that value stays as
// it is: then it is taken away from what comes into tiles that see past a side, and added to what
// goes out of them. (Not of others: they would round relative to that value too.)
#pragma once
#include "device/divide.cuh"
#include "device/element.cuh"
#include "device/twins.cuh"
#include "segment/fold.cuh"

struct tile_arguments {
    const STORE *in;
    STORE *out;
    const REAL *operands;  // product.cuh's matrices, and the symbol over LENGTH in the order of its fragments
    const REAL *symbol;
    long long n[3];       // points along z, y, x
    long long in_far[3];  // elements from plane to plane, from row to row, from grid to grid
    long long out_far[3];
    unsigned tiles[3];  // along z, y, x
    unsigned all;
    int lead[3], useful[3], before[3], rest;
    divisor by_tiles[3];
    REAL past, unused;
};
static_assert(is_twin(sizeof(tile_arguments), 2 * sizeof(REAL)), "tile_header of segment/torus.c");

struct area {
    const STORE *in;  // the grid
    STORE *out;
    long long z, y, x;  // of the tile's first input
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
    return inside(s.z, PRODUCT_3, a.n[0]) && inside(s.y, PRODUCT_1, a.n[1]) && inside(s.x, PRODUCT_2, a.n[2]);
}
// Where the grid's extension has the inputs of a slice's column; below 0: they are 0.
struct line {
    const STORE *in;
    folded z, x;
    long long y;  // of row 0
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
// Outputs of a tile end before this one along an axis.
__device__ __forceinline__ int outputs_end(const tile_arguments &a, int axis, long long from) {
    return static_cast<int>(min(static_cast<long long>(a.lead[axis] + a.useful[axis]), a.n[axis] - from));
}
