// A tile of direct_time_tile: its layout, its shared memory, loads and stores of planes, and the
// exchange of neighbours' points.
#pragma once
#include "device/arith.cuh"
#include "device/boundary.cuh"
#include "device/edge.cuh"
#include "device/element.cuh"
#include "device/launch_checks.cuh"
#include "params.cuh"

constexpr int LANES_X = THREADS_X, STACK = THREADS_Y;  // lanes along x and y
constexpr int THREADS = LANES_X * STACK;
constexpr int WIDTH = LANES_X * POINTS, HEIGHT = STACK * ROWS;
constexpr int MARGIN_X = round_up(SPANS ? X_REACH : FUSED * X_REACH, VECTOR), MARGIN_Y = FUSED * Y_REACH;
// Points that a tile stores.
constexpr int OWN_X = WIDTH - 2 * MARGIN_X, OWN_Y = HEIGHT - 2 * MARGIN_Y;
constexpr int DEPTH = 2 * Z_REACH + 1, SIDE_Y = 2 * Y_REACH + 1, SIDE_X = 2 * X_REACH + 1;

struct tile_arguments {
    const STORE *in;
    STORE *out;
    long long nz, ny, nx;
    long long in_z, in_y, out_z, out_y;
    long long in_batch, out_batch;
    // Tiles of all grids of the batch: first those at the ends along x, then the others, x fastest.
    long long tiles;
    int tiles_x, tiles_y, tiles_z;
    int chunk;                           // planes along z of a tile
    REAL constant[3][2];                 // value past each side, axes z, y, x
    REAL weight[DEPTH][SIDE_Y][SIDE_X];  // of every offset, 0 where there is no tap
};
static_assert(layout_matches(sizeof(tile_arguments), sizeof(tile_arguments::constant) + sizeof(tile_arguments::weight)),
              "the launcher's mirrored struct of the arguments");

// The offsets that are taps; only those are computed.
static_assert(DEPTH <= 32, "a bit for each plane");
struct tap_map {
    bool has[DEPTH][SIDE_Y][SIDE_X];
    unsigned planes[SIDE_Y][SIDE_X];  // bit d: a tap in plane d
    bool plane[DEPTH];                // the plane has a tap
    bool corner;                      // a tap has offsets along both x and y
    bool axis;                        // every tap with a z offset is on the z axis
};
constexpr tap_map find_taps() {
    tap_map m{};
    m.axis = true;
    for (int k = 0; k < NTAPS; k++) {
        m.has[TAP_Z[k] + Z_REACH][TAP_Y[k] + Y_REACH][TAP_X[k] + X_REACH] = true;
        m.planes[TAP_Y[k] + Y_REACH][TAP_X[k] + X_REACH] |= 1u << (TAP_Z[k] + Z_REACH);
        m.plane[TAP_Z[k] + Z_REACH] = true;
        if (TAP_Y[k] && TAP_X[k]) m.corner = true;
        if (TAP_Z[k] && (TAP_Y[k] || TAP_X[k])) m.axis = false;
    }
    return m;
}
constexpr tap_map TAPS = find_taps();
constexpr bool ONE_BARRIER = Y_REACH > 0 && TAPS.axis && !MIRROR_Z;
constexpr bool REFRESH = folds(Y_SIDE_LOW) || folds(Y_SIDE_HIGH) || folds(X_SIDE_LOW) || folds(X_SIDE_HIGH) ||
                         Y_SIDE_LOW == CONSTANT || Y_SIDE_HIGH == CONSTANT || X_SIDE_LOW == CONSTANT ||
                         X_SIDE_HIGH == CONSTANT;
constexpr bool FREEZES_XY = (X_SIDE_LOW == FIXED && X_LOW) || (X_SIDE_HIGH == FIXED && X_HIGH) ||
                            (Y_SIDE_LOW == FIXED && Y_LOW) || (Y_SIDE_HIGH == FIXED && Y_HIGH);

typedef REAL patch[ROWS][POINTS];
typedef patch sums_type[DEPTH - 1];  // of one stage
typedef REAL window_type[ROWS + 2 * Y_REACH][POINTS + 2 * X_REACH];

// ---- Shared memory: lanes' elements are ordered by access, so that no access has bank conflicts.
// Memory is accessed by runs of VECTOR points. If the points of a lane are several runs
// (TRANSPOSED), adjacent lanes copy adjacent runs, and each lane later reads its own points from
// shared memory. If each lane copied its own runs, one access of a warp would touch more sectors.
constexpr int PIECE = POINTS * sizeof(REAL) > 16 ? 16 / sizeof(REAL) : POINTS;
constexpr int PIECES = POINTS / PIECE, RUNS = POINTS / VECTOR, SLOTS = PREFETCH + 1;
struct alignas(PIECE * sizeof(REAL)) piece {
    REAL at[PIECE];
};
struct alignas(VECTOR * sizeof(STORE)) run {
    STORE at[VECTOR];
};
constexpr bool TRANSPOSED = RUNS > 1;
// A lane reads and writes its points in shared memory by groups of at most 16 bytes.
constexpr int GROUP = POINTS * sizeof(STORE) > 16 ? 16 / sizeof(STORE) : POINTS, GROUPS = POINTS / GROUP;
struct alignas(GROUP * sizeof(STORE)) group {
    run at[GROUP / VECTOR];
};
// Pad, in groups, after the groups of all lanes: the groups of a lane lie in different banks.
constexpr int BANKS = 32, GAP = GROUPS > 1 ? BANKS * 4 / (POINTS * sizeof(STORE)) : 0;
static_assert(LANES_X % RUNS == 0, "all runs that a lane copies have the same index among a lane's runs");
// A plane: group g of row r of every lane.
typedef group slot_type[ROWS][GROUPS][THREADS + GAP];
// Every lane's first and last rows.
typedef piece rows_type[STACK][Y_REACH ? 2 * Y_REACH : 1][PIECES][LANES_X];
struct shared_type {
    // Planes of level 0; if TRANSPOSED, the last one is the plane that is being stored.
    slot_type slot[SLOTS + TRANSPOSED];
    // A plane in row-major order, then the values past its four sides.
    REAL exchange[REFRESH ? HEIGHT * WIDTH + 4 : 2];
    // Rows of each stage; if ONE_BARRIER, those of this iteration and those of the previous one,
    // which may still be read.
    rows_type rows[ONE_BARRIER ? 2 : 1][Y_REACH ? FUSED : 1];
    // Index in `exchange` of every point's source.
    unsigned short source[REFRESH ? ROWS * POINTS : 1][REFRESH ? THREADS : 1];
};

struct tile {
    int y, x;  // position of this lane's first point
    // No point of the tile lies past an edge along x or y, or is frozen because of one.
    bool inside;
    unsigned frozen;  // bit r * POINTS + v: this lane's point (r, v) is frozen
    // X of the first run that this lane copies; its others follow LANES_X runs apart.
    int run_x;
    // Bit r * RUNS + s: run s of row r that this lane copies lies in the grid, as a whole.
    unsigned exists;
    unsigned stored;  // bit r * RUNS + s: this lane stores that run
    // PARTIAL: runs of which the first nx % VECTOR points lie in the grid, in the same way.
    unsigned partial, partial_stored;
};
constexpr bool WRAPS_XY = X_SIDE_LOW == WRAP || (Y_REACH && Y_SIDE_LOW == WRAP);

__device__ __forceinline__ bool lies_in(int i, int n) { return i >= 0 && i < n; }
__device__ __forceinline__ int wrapped(int i, int n) {
    while (i < 0) i += n;
    while (i >= n) i -= n;
    return i;
}
__device__ __forceinline__ void synchronize() {
    if (THREADS == 32)
        __syncwarp();
    else
        __syncthreads();
}

// ---- loads and stores of planes

// Copies a run if `flags` has the bit `flag`. There are no asynchronous copies of two bytes.
template <class RUN>
__device__ __forceinline__ void copy_run(unsigned flags, unsigned flag, RUN &to, const STORE *from) {
    if constexpr (sizeof(RUN) > 2)
        copy_async_if<sizeof(RUN)>(flags, flag, &to, from);
    else if (flags & flag)
        to.at[0] = from[0];
}

// PARTIAL: copies those points of a run at x that lie in the grid, one by one.
__device__ __forceinline__ void copy_points(run &to, const STORE *row, int x, int nx) {
#pragma unroll
    for (int e = 0; e < VECTOR; e++) {
        const int at = X_SIDE_LOW == WRAP ? wrapped(x + e, nx) : x + e;
        if (lies_in(at, nx)) copy_element(&to.at[e], row + at);
    }
}

// The s-th run of row r that this lane copies, in shared memory: run s * LANES_X + lane of a row.
__device__ __forceinline__ run &copied_run(slot_type &slot, int r, int s) {
    constexpr int EACH = GROUP / VECTOR;
    const int lane = threadIdx.x % LANES_X, number = lane % RUNS;
    group *const first = &slot[r][number / EACH][threadIdx.x - lane + lane / RUNS];
    return first[s * (LANES_X / RUNS)].at[number % EACH];
}

// Starts the copies of a level 0 plane into its slot; `from` is this lane's first run of plane z.
// Points outside of the grid are copied only past sides that wrap.
__device__ __forceinline__ void fetch_plane(const tile_arguments &a, const tile &t, int z, const STORE *from,
                                            slot_type &slot) {
    const int nz = static_cast<int>(a.nz), ny = static_cast<int>(a.ny), nx = static_cast<int>(a.nx);
    if (!lies_in(z, nz)) {
        if (Z_SIDE_LOW != WRAP) return;
        from += (wrapped(z, nz) - z) * a.in_z;
    }
    const STORE *const first = from - t.run_x;  // the grid's first point in row t.y
    const bool wraps = WRAPS_XY && !t.inside;
#pragma unroll
    for (int r = 0; r < ROWS; r++, from += a.in_y) {
        hide_from_optimizer(from);  // all runs of a row have constant offsets from one address
#pragma unroll
        for (int s = 0; s < RUNS; s++) {
            run &to = copied_run(slot, r, s);
            if (wraps) {
                const int y = Y_SIDE_LOW == WRAP ? wrapped(t.y + r, ny) : t.y + r;
                const int past = t.run_x + s * LANES_X * VECTOR, x = X_SIDE_LOW == WRAP ? wrapped(past, nx) : past;
                const STORE *const row = first + (y - t.y) * a.in_y;
                if (PARTIAL && (past < 0 || past + VECTOR > nx)) {
                    if (lies_in(y, ny)) copy_points(to, row, past, nx);
                } else
                    copy_run(lies_in(y, ny) && lies_in(x, nx), 1, to, row + x);
            } else
                copy_run(t.exists, 1u << (r * RUNS + s), to, from + s * LANES_X * VECTOR);
        }
    }
    if (!PARTIAL || wraps || !t.partial) return;
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int s = 0; s < RUNS; s++)
            if (t.partial >> (r * RUNS + s) & 1)
                copy_points(copied_run(slot, r, s), first + r * a.in_y, t.run_x + s * LANES_X * VECTOR, nx);
}

__device__ __forceinline__ void receive_plane(const slot_type &slot, patch &plane) {
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int g = 0; g < GROUPS; g++) {
            const group got = slot[r][g][threadIdx.x];
#pragma unroll
            for (int e = 0; e < GROUP; e++) plane[r][g * GROUP + e] = widen(got.at[e / VECTOR].at[e % VECTOR]);
        }
}

// Stores a run if `flags` has the bit `flag`.
template <class RUN>
__device__ __forceinline__ void store_whole_run(unsigned flags, unsigned flag, STORE *to, const RUN &from) {
    if constexpr (sizeof(RUN) == 2)
        store_if(flags, flag, to, from.at[0]);
    else {
        union {
            RUN whole;
            unsigned words[sizeof(RUN) / sizeof(unsigned)];
        } both;
        both.whole = from;
        store_run_if(flags, flag, reinterpret_cast<unsigned *>(to), both.words);
    }
}

// Stores a plane of the last level; `to` is this lane's first run.
__device__ __forceinline__ void store_plane(const tile_arguments &a, const tile &t, STORE *to, slot_type &slot,
                                            const patch &plane) {
    group own[ROWS][GROUPS];
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int g = 0; g < GROUPS; g++) {
#pragma unroll
            for (int e = 0; e < GROUP; e++)
                own[r][g].at[e / VECTOR].at[e % VECTOR] = narrow<STORE>(plane[r][g * GROUP + e]);
            if (TRANSPOSED) slot[r][g][threadIdx.x] = own[r][g];
        }
    if (TRANSPOSED) __syncwarp();
    STORE *row = to;
#pragma unroll
    for (int r = 0; r < ROWS; r++, row += a.out_y) {
        hide_from_optimizer(row);  // all runs of a row have constant offsets from one address
#pragma unroll
        for (int s = 0; s < RUNS; s++) {
            const run leaving = TRANSPOSED ? copied_run(slot, r, s) : own[r][0].at[0];
            store_whole_run(t.stored, 1u << (r * RUNS + s), row + s * LANES_X * VECTOR, leaving);
        }
    }
    if (!PARTIAL || !t.partial_stored) return;
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int s = 0; s < RUNS; s++) {
            if (!(t.partial_stored >> (r * RUNS + s) & 1)) continue;
            const run leaving = TRANSPOSED ? copied_run(slot, r, s) : own[r][0].at[0];
#pragma unroll
            for (int e = 0; e < VECTOR - 1; e++)
                if (e < static_cast<int>(a.nx) % VECTOR) to[r * a.out_y + s * LANES_X * VECTOR + e] = leaving.at[e];
        }
}

// ---- neighbours' points

// Leaves this lane's first rows for the lane above it, and its last rows for the lane below.
__device__ __forceinline__ void publish_rows(const patch &plane, rows_type &rows) {
    const int lane_x = threadIdx.x % LANES_X, lane_y = threadIdx.x / LANES_X;
#pragma unroll
    for (int k = 0; k < Y_REACH; k++)
#pragma unroll
        for (int p = 0; p < PIECES; p++) {
            piece first, last;
#pragma unroll
            for (int e = 0; e < PIECE; e++) {
                first.at[e] = plane[k][p * PIECE + e];
                last.at[e] = plane[ROWS - Y_REACH + k][p * PIECE + e];
            }
            rows[lane_y][k][p][lane_x] = first;
            rows[lane_y][Y_REACH + k][p][lane_x] = last;
        }
}

// Fetches a row's neighbours along x.
__device__ __forceinline__ void widen_row(REAL (&row)[POINTS + 2 * X_REACH]) {
#pragma unroll
    for (int k = 0; k < X_REACH; k++) {
        row[k] = __shfl_up_sync(0xffffffffu, row[POINTS + k], 1);
        row[X_REACH + POINTS + k] = __shfl_down_sync(0xffffffffu, row[X_REACH + k], 1);
    }
}

__device__ __forceinline__ void own_rows(const patch &plane, window_type &window) {
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
#pragma unroll
        for (int v = 0; v < POINTS; v++) window[Y_REACH + r][X_REACH + v] = plane[r][v];
        widen_row(window[Y_REACH + r]);
    }
}

// Fetches the rows above and below; the outermost lanes take their own, which only invalidates
// margins.
__device__ __forceinline__ void fetch_rows(const rows_type &rows, window_type &window) {
    const int lane_x = threadIdx.x % LANES_X, lane_y = threadIdx.x / LANES_X;
    const int above = lane_y > 0 ? lane_y - 1 : 0, below = lane_y < STACK - 1 ? lane_y + 1 : lane_y;
#pragma unroll
    for (int k = 0; k < Y_REACH; k++) {
#pragma unroll
        for (int p = 0; p < PIECES; p++) {
            const piece last = rows[above][Y_REACH + k][p][lane_x], first = rows[below][k][p][lane_x];
#pragma unroll
            for (int e = 0; e < PIECE; e++) {
                window[k][X_REACH + p * PIECE + e] = last.at[e];
                window[Y_REACH + ROWS + k][X_REACH + p * PIECE + e] = first.at[e];
            }
        }
        if (TAPS.corner) {
            widen_row(window[k]);
            widen_row(window[Y_REACH + ROWS + k]);
        }
    }
}
