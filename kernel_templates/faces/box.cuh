// Geometry of faces_tile.cu: margins and their tiles in the grid, the box of a tile in shared
// memory, a thread's patch in the box. Reads the sides, reaches and boxes of params.cuh, ROWS,
// POINTS, THREADS_X, FUSED.
#pragma once
#include "device/element.cuh"
#include "device/launch_checks.cuh"
#include "faces/sides.cuh"

constexpr int PIECES = 6;
constexpr int REACH[3] = {Z_REACH, Y_REACH, X_REACH};  // the larger reach of each axis

__device__ constexpr bool folds(int side) { return side == NEAREST || side == REFLECT || side == MIRROR; }
__device__ constexpr bool folds_along(int axis) {
    return (has_face(axis, 0) && folds(SIDE[axis][0])) || (has_face(axis, 1) && folds(SIDE[axis][1]));
}
constexpr bool FOLDS = folds_along(0) || folds_along(1) || folds_along(2);

typedef long long grid_index;  // an index along an axis

struct piece {  // part of the margin of a face normal to `axis`
    grid_index low[3], end[3];
    int tiles[3];
    int axis, side, first;  // first: number of its first block within a grid
};
struct face_arguments {
    const STORE *in;
    STORE *out;
    long long in_stride[3], out_stride[3], in_batch, out_batch;
    grid_index n[3];
    int pieces, blocks;  // pieces and blocks of one grid
    piece at[PIECES];
    REAL constant[3][2];    // value past each side, axes z, y, x
    REAL weight[NWEIGHTS];  // weights of the taps; SEPARABLE: factors along z, y, x
};
static_assert(layout_matches(sizeof(face_arguments), sizeof(face_arguments::constant) + sizeof(face_arguments::weight)),
              "the launcher's mirrored struct of the arguments");

// The box of a tile at a face normal to AXIS, and its layout in shared memory. Where a row has
// fewer patches than there are banks, SKEW unused elements after each row of patches place the next
// row in the following banks. Patches at the rim also read beyond the box, for points that are not
// needed: these elements, RIM at both ends, are never written.
constexpr int BANKS = 128 / sizeof(REAL);
constexpr int find_skew(int lanes_x) {  // the least skew that avoids bank conflicts
    for (int skew = 0; lanes_x < BANKS && skew < BANKS; skew++) {
        bool taken[BANKS] = {}, apart = true;
        for (int lane = 0; lane < BANKS; lane++) {
            const int bank = (lane / lanes_x * (ROWS * lanes_x + skew) + lane % lanes_x) % BANKS;
            apart = apart && !taken[bank];
            taken[bank] = true;
        }
        if (apart) return skew;
    }
    return 0;
}
// A class is the elements of one column of all patches: those with the same x modulo POINTS.
// Padding after each class places adjacent points along x in different banks too, when a box is
// filled and when a tile is stored.
constexpr int pad_class(int cells) { return cells + (BANKS + BANKS / POINTS - cells % BANKS) % BANKS; }
template <int AXIS>
struct box {
    static constexpr int PLANES = BOX_Z[AXIS], HEIGHT = BOX_Y[AXIS], WIDTH = BOX_X[AXIS];
    static constexpr int LANES_X = WIDTH / POINTS, LANES_Y = HEIGHT / ROWS, LANES = PLANES * LANES_Y * LANES_X;
    static constexpr int SKEW = find_skew(LANES_X), GROUP = ROWS * LANES_X + SKEW, PLANE = LANES_Y * GROUP,
                         CLASS = pad_class(PLANES * PLANE);
    // Patches that the reach of the taps covers.
    static constexpr int PAST_X = (X_REACH + POINTS - 1) / POINTS, PAST_Y = (Y_REACH + ROWS - 1) / ROWS;
    static constexpr int RIM = PAST_Y * GROUP + PAST_X, CELLS = POINTS * CLASS + 2 * RIM;
    static_assert(WIDTH % POINTS == 0 && HEIGHT % ROWS == 0 && LANES <= THREADS_X, "patches tile the box");
    // Index of the point (z, y, x) of the box; y and x may lie past it.
    static __device__ constexpr int cell(int z, int y, int x) { return RIM + offset(z, y, x); }
    static __device__ constexpr int offset(int z, int y, int x) {
        const int row = y + PAST_Y * ROWS, column = x + PAST_X * POINTS;  // not negative
        const int patch = (row / ROWS - PAST_Y) * GROUP + column / POINTS - PAST_X;
        return column % POINTS * CLASS + z * PLANE + patch + row % ROWS * LANES_X;
    }
    static constexpr int extent(int axis) { return axis == 0 ? PLANES : axis == 1 ? HEIGHT : WIDTH; }
};

// The points that a thread holds.
typedef REAL patch[ROWS][POINTS];
constexpr unsigned ALL = ROWS * POINTS == 32 ? ~0u : (1u << (ROWS * POINTS % 32)) - 1;

// Indices of an axis from low to end - 1.
struct range {
    int low, end;
    __device__ bool has(int i) const { return i >= low && i < end; }
    __device__ bool has(int first, int count) const { return first >= low && first + count <= end; }
};

// Ranges count from the origin of the box, which may lie outside the grid.
struct tile {
    grid_index origin[3];
    range own[3], grid[3];
    // Points that steps change: not past a face, and not where a tap would reach past a fixed side.
    range stepped[3];
};

// An index relative to a box, limited to +-2^24, which lies outside of every box.
__device__ __forceinline__ int near(grid_index i) {
    return static_cast<int>(i < -(1 << 24) ? -(1 << 24) : i > 1 << 24 ? 1 << 24 : i);
}

// Extent k of the box of a tile at a face normal to `axis`.
__device__ __forceinline__ int box_extent(int axis, int k) {
    const auto of = [k](int i) { return k == 0 ? BOX_Z[i] : k == 1 ? BOX_Y[i] : BOX_X[i]; };
    return axis == 0 ? of(0) : axis == 1 ? of(1) : of(2);
}

__device__ __forceinline__ tile locate_tile(const face_arguments &a, const piece &f, int number) {
    tile t;
#pragma unroll
    for (int k = 2; k >= 0; k--) {
        const int own = k == f.axis ? near(f.end[k] - f.low[k]) : box_extent(f.axis, k) - 2 * FUSED * REACH[k];
        const grid_index low = f.low[k] + static_cast<grid_index>(number % f.tiles[k]) * own;
        number /= f.tiles[k];
        const bool at_low = k == f.axis && f.side == 0;
        const int before = at_low ? (SIDE[k][0] == FIXED ? 0 : TAPS_REACH[k][0]) : FUSED * REACH[k];
        t.origin[k] = low - before;
        t.own[k] = {before, before + (f.end[k] - low < own ? near(f.end[k] - low) : own)};
        t.grid[k] = {near(-t.origin[k]), near(a.n[k] - t.origin[k])};
        t.stepped[k] = {t.grid[k].low + (SIDE[k][0] == FIXED ? TAPS_REACH[k][0] : 0),
                        t.grid[k].end - (SIDE[k][1] == FIXED ? TAPS_REACH[k][1] : 0)};
        if (SIDE[k][0] == WRAP) t.stepped[k] = {-(1 << 24), 1 << 24};
    }
    return t;
}

// Index i of the box along axis A: returns the grid index whose value it has before the first step;
// PAST_LOW or PAST_HIGH past a constant or fixed side; ABSENT if nothing depends on it.
constexpr grid_index ABSENT = -3;
template <int A>
__device__ __forceinline__ grid_index source(grid_index i, grid_index n) {
    if (i >= 0 && i < n) return i;
    if (SIDE[A][0] == WRAP) return fold_far<WRAP, WRAP>(i, n);
    if (i < -TAPS_REACH[A][0] || i >= n + TAPS_REACH[A][1]) return ABSENT;
    return fold<SIDE[A][0], SIDE[A][1]>(i, n);
}

__device__ __forceinline__ REAL first_value(const face_arguments &a, const STORE *grid, grid_index z, grid_index y,
                                            grid_index x) {
    z = source<0>(z, a.n[0]), y = source<1>(y, a.n[1]), x = source<2>(x, a.n[2]);
    if (z == ABSENT || y == ABSENT || x == ABSENT) return 0;
    if (z < 0) return a.constant[0][z == PAST_HIGH];
    if (y < 0) return a.constant[1][y == PAST_HIGH];
    if (x < 0) return a.constant[2][x == PAST_HIGH];
    return widen(grid[z * a.in_stride[0] + y * a.in_stride[1] + x * a.in_stride[2]]);
}

// Calls visit(z, y, x, where) for all points below the extents; adjacent threads take adjacent
// points of a row. `where` is the offset with the given strides; the first point's is passed in.
template <int PLANES, int HEIGHT, int WIDTH, class VISIT>
__device__ __forceinline__ void for_points(const long long (&stride)[3], long long where, const VISIT &visit) {
    constexpr int LANES = WIDTH < THREADS_X ? WIDTH : THREADS_X, AT_ONCE = THREADS_X / LANES;
    // The distance from one of a thread's rows to its next: UP planes and DOWN rows.
    constexpr int UP = AT_ONCE / HEIGHT, DOWN = AT_ONCE % HEIGHT;
    const int lane = threadIdx.x % LANES, first = threadIdx.x / LANES;
    if (first >= AT_ONCE) return;
    const long long next = UP * stride[0] + DOWN * stride[1], wrapped = stride[0] - HEIGHT * stride[1];
    for (int x = lane; x < WIDTH; x += LANES) {
        int z = first / HEIGHT, y = first % HEIGHT;
        long long at = where + z * stride[0] + y * stride[1] + x * stride[2];
        for (; z < PLANES; z += UP, y += DOWN, at += next) {
            if (y >= HEIGHT) {
                y -= HEIGHT, z++, at += wrapped;
                if (z >= PLANES) break;
            }
            visit(z, y, x, at);
        }
    }
}

__device__ __forceinline__ long long first_position(const tile &t, const long long (&stride)[3]) {
    return t.origin[0] * stride[0] + t.origin[1] * stride[1] + t.origin[2] * stride[2];
}
