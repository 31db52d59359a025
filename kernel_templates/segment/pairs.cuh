// Descriptors, in shared memory, of a pair of tiles (tori.cuh) that are transformed together. A
// block's threads compute them before they are needed. For transposed 3D tiles (product.cuh), they
// include the destination of each lane's outputs.
//
// These outputs go from registers to memory: lane (g, t) of a fragment has rows 2t and 2t+1, and
// columns g and g + 8, of both tiles. To write whole sectors with eight lanes, the columns of a
// tile are rotated within its slices, and lanes write the last columns of a tile together with the
// first ones of the next tile. For tiles of 12 outputs whose first one is the second half of a
// sector (each digit is a pair of columns, bars are sector boundaries):
//
//     outputs in memory   .0|12|34|50|12|34|5.   the first tile's, then the second one's
//     access 0             |12|34|               columns g of the first tile
//     access 1                   |50|12|         columns g + 8 of the first tile if g < 2,
//                                                else g of the second one
//     access 2            .0|             |34|5. columns g + 8 of the second tile if g < 6,
//                                                else of the first one
//     access 3                                   the rest; with 12 outputs nothing
#pragma once
#include "segment/product.cuh"
#include "segment/tori.cuh"

constexpr bool ODD = is_odd(Z_SIDE_LOW) || is_odd(Z_SIDE_HIGH) || is_odd(Y_SIDE_LOW) || is_odd(Y_SIDE_HIGH) ||
                     is_odd(X_SIDE_LOW) || is_odd(X_SIDE_HIGH);
// Points past the side, or on it, are 0.
constexpr bool ends(int side) { return side == NEAREST || is_odd(side); }
constexpr bool ENDS = ends(Z_SIDE_LOW) || ends(Z_SIDE_HIGH) || ends(Y_SIDE_LOW) || ends(Y_SIDE_HIGH) ||
                      ends(X_SIDE_LOW) || ends(X_SIDE_HIGH);
constexpr int NONE = -1, PLACES = N3 + N1 + N2;
struct spot {
    // Element offset of its first point in the input; NONE: it reaches past a side, or there is no
    // tile.
    long long from;
    long long to;         // The same in the output.
    long long grid;       // Element offset of its grid's first point in the input.
    long long rows_from;  // From there to the tile's first row; NONE: rows lie past a side.
    // Outputs are columns from left to right - 1, rows and slices below the others; all 0 for no
    // tile.
    int left, right, rows, slices;
};
// Destination of a lane's outputs of one access, see above.
struct place {
    long long to;  // Element offset of slice 0, row 0. slices is 0 if the lane has no outputs.
    int rows, slices;
};
constexpr int EIGHT = 8, GIVEN = TURNED ? 4 * EIGHT : 1;  // Lanes of four accesses.
struct pair {
    spot at[2];
    unsigned tile;  // The number of the first tile.
    place given[GIVEN];
    // For a tile that reaches past a side: element offsets in the grid of its slices, rows and
    // columns. NONE: the value is 0. -2 - offset: the value is negated.
    long long sources[2][PLACES];
};
__device__ __forceinline__ long long index_of(long long source) { return ODD && source < 0 ? -2 - source : source; }
__device__ __forceinline__ bool is_point(long long source) { return !ENDS || source != NONE; }
__device__ __forceinline__ bool is_minus(long long source) { return ODD && source < NONE; }
__device__ __forceinline__ long long find_source(const tile_arguments &a, const area &s, int i) {
    folded to;
    long long far = 1;
    if (i < N3)
        to = extend_by<Z_SIDE_LOW, Z_SIDE_HIGH>(s.z + i, a.n[0]), far = a.in_far[0];
    else if (i < N3 + N1)
        to = extend_by<Y_SIDE_LOW, Y_SIDE_HIGH>(s.y + i - N3, a.n[1]), far = a.in_far[1];
    else
        to = extend_by<X_SIDE_LOW, X_SIDE_HIGH>(s.x + i - N3 - N1, a.n[2]);
    return to.index < 0 ? NONE : to.minus ? -2 - to.index * far : to.index * far;
}
__device__ __forceinline__ spot find_spot(const tile_arguments &a, const area &s) {
    const long long grid = s.in - a.in;
    return {inside(a, s) ? grid + s.z * a.in_far[0] + s.y * a.in_far[1] + s.x : NONE,
            s.out - a.out + s.z * a.out_far[0] + s.y * a.out_far[1] + s.x,
            grid,
            inside(s.y, N1, a.n[1]) ? s.y * a.in_far[1] : NONE,
            max(a.lead[2], s.x < 0 ? static_cast<int>(-s.x) : 0),
            outputs_end(a, 2, s.x),
            outputs_end(a, 1, s.y),
            outputs_end(a, 0, s.z)};
}

// ---- transposed 3D tiles: the columns that lanes write

struct rotation {
    int first, second;  // The columns stored first in the slices of the two tiles.
    // Lanes g below these write the last columns of the first tile, and of the second one.
    int last, next;
};
constexpr int SECTOR = 32 / static_cast<int>(sizeof(STORE));
__device__ __forceinline__ rotation find_rotation(const tile_arguments &a) {
    const int half = (a.before[2] - a.lead[2]) % SECTOR, last = min(max(a.useful[2] - half - 8, 0), 8);
    return {a.lead[2] + half, a.lead[2] - last, last, 8 - half};
}
// The tile and the rotated column that lane g writes in access k.
struct column_of {
    bool second;
    int column;
};
__device__ __forceinline__ column_of find_column(const rotation &at, int k, int g) {
    const bool last = g < at.last, next = g < at.next;
    const bool second = k == 1 ? !last : k == 2 ? next : k == 3 && (last || !next);
    const int right = k == 1 ? last : k == 2 ? 1 : k == 3 && !last;  // Columns g + 8.
    return {second, ((second ? at.second : at.first) + g + 8 * right) & (N2 - 1)};
}

// ---- computing the descriptors of a pair

__device__ __forceinline__ bool is_pair(const pair &p) { return p.at[0].slices > 0; }
// For transposed 3D tiles, one warp does it: the first to arrive at the block's barrier.
constexpr int FINDERS = TURNED ? 32 : THREADS, FINDERS_OF_TILE = FINDERS / 2;
__device__ __forceinline__ void find_pair(const tile_arguments &a, unsigned tile, pair &to) {
    const int finder = threadIdx.x % FINDERS, second = finder / FINDERS_OF_TILE, first = finder % FINDERS_OF_TILE;
    const bool there = tile + second < a.all;
    const area s = find(a, there ? tile + second : 0);
#pragma unroll 1
    for (int k = there && !inside(a, s) ? first : PLACES; k < PLACES; k += FINDERS_OF_TILE)
        to.sources[second][k] = find_source(a, s, k);
    if (first == 0) to.at[second] = there ? find_spot(a, s) : spot{NONE, 0, 0, NONE, 0, 0, 0, 0};
    if (finder == 0) to.tile = tile;
    if (!TURNED) return;
    __syncwarp();
    const column_of c = find_column(find_rotation(a), finder / EIGHT, finder % EIGHT);
    const spot &of = to.at[c.second];
    to.given[finder] = {of.to + c.column, of.rows, c.column >= of.left && c.column < of.right ? of.slices : 0};
}
