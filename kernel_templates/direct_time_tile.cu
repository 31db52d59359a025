// FUSED steps of a 2D or 3D stencil in one launch.
//
//     u(t+1, z, y, x) = sum over taps k of  w[k] * u(t, z + TAP_Z[k], y + TAP_Y[k], x + TAP_X[k]),   t = 0 .. FUSED-1
//
// A block owns a tile of an x-y plane and walks it along z, a plane a turn, with all FUSED stages in flight:
//
//     plane z           of level 0   read from memory, PREFETCH turns ahead
//     plane z -   REACH of level 1   complete once plane z of level 0 is added to its partial sums
//     plane z - 2 REACH of level 2   ... and so on; the plane of level FUSED goes to memory
//
// Between turns a stage keeps the 2 * Z_REACH planes of partial sums that are not complete, in registers. The lanes lie
// LANES_X by STACK on the tile, and each has ROWS by POINTS points:
//
//     +-----------------------------------+
//     |  margin, FUSED * Y_REACH          |     margins are computed twice;
//     |    +-------------------------+    |     neighbours' points come along x by shuffles, along y by whole rows in
//     |    |  stored                 |    |     shared memory, with corners if a tap is one
//     |    +-------------------------+    |
//     +-----------------------------------+
//
// A 2D problem's axes are z and x: a plane is a row, STACK and ROWS are 1, a block is one warp, and there is no barrier.
// In 3D, if taps off along z are on the axis (EARLY), a point's sum is completed by its own value alone: then all levels'
// planes are known before any neighbour is asked, and a turn needs one barrier. Else every stage waits for its neighbours' rows.
//
// Boundaries: turns that meet an edge take the same steps with these additions, so every level is right at every point.
//   x, y     a plane passes through shared memory, and points past an edge take the value of their fold
//   z        a plane past a constant side has that value; else it never arrives: the plane that it folds to is added in its
//            place too (take_folded)
//   fixed    a frozen point keeps its value;   wrap: margins are read from the other end, and just step
#include "device/element.cuh"
#include "device/index.cuh"
#include "params.cuh"

constexpr int LANES_X = THREADS_X, STACK = THREADS_Y;  // lanes along x and y
constexpr int THREADS = LANES_X * STACK;
constexpr int WIDTH = LANES_X * POINTS, HEIGHT = STACK * ROWS;
constexpr int round_up(int a, int b) { return (a + b - 1) / b * b; }
constexpr int MARGIN_X = round_up(FUSED * X_REACH, VECTOR), MARGIN_Y = FUSED * Y_REACH;
constexpr int OWN_X = WIDTH - 2 * MARGIN_X, OWN_Y = HEIGHT - 2 * MARGIN_Y;  // points that a tile stores
constexpr int DEPTH = 2 * Z_REACH + 1, SIDE_Y = 2 * Y_REACH + 1, SIDE_X = 2 * X_REACH + 1;
static_assert(32 % LANES_X == 0 && THREADS % 32 == 0, "whole warps, whole rows of lanes");
static_assert(FUSED >= 2, "between two uses of a stage's rows in shared memory lies a barrier of another stage");
static_assert(X_REACH >= 1 && Z_REACH >= 1 && (Y_REACH >= 1 || (STACK == 1 && ROWS == 1)), "every axis is coupled");
static_assert(X_REACH <= POINTS && Y_REACH <= ROWS && OWN_X > X_REACH && OWN_Y > Y_REACH, "neighbours hold the halo");
static_assert(POINTS % VECTOR == 0 && VECTOR * sizeof(STORE) <= 16 && ROWS * POINTS <= 32, "whole accesses; bits");
static_assert((MIRROR_X == 0 || MIRROR_X == 1) && (MIRROR_Z == 0 || MIRROR_Z == 1), "flags");

struct tile_arguments {
    const STORE *in;
    STORE *out;
    long long nz, ny, nx;
    long long in_z, in_y, out_z, out_y;
    long long in_batch, out_batch;
    long long tiles;  // of all grids of the batch; x fastest, then y, z; but the first and last along x before all others
    int tiles_x, tiles_y, tiles_z;
    int chunk;                           // planes along z of a tile
    REAL constant[3][2];                 // value past each side, axes z, y, x
    REAL weight[DEPTH][SIDE_Y][SIDE_X];  // of every offset, 0 where there is no tap
};

// Which offsets are taps; only those cost anything.
struct tap_map {
    bool has[DEPTH][SIDE_Y][SIDE_X];
    bool any[SIDE_Y][SIDE_X];  // in any plane
    bool plane[DEPTH];         // any in this plane
    bool corner;               // a tap is off both x and y
    bool axis;                 // no tap is off z and another axis
};
constexpr tap_map find_taps() {
    tap_map m{};
    m.axis = true;
    for (int k = 0; k < NTAPS; k++) {
        m.has[TAP_Z[k] + Z_REACH][TAP_Y[k] + Y_REACH][TAP_X[k] + X_REACH] = true;
        m.any[TAP_Y[k] + Y_REACH][TAP_X[k] + X_REACH] = true;
        m.plane[TAP_Z[k] + Z_REACH] = true;
        if (TAP_Y[k] && TAP_X[k]) m.corner = true;
        if (TAP_Z[k] && (TAP_Y[k] || TAP_X[k])) m.axis = false;
    }
    return m;
}
constexpr tap_map TAPS = find_taps();
constexpr bool EARLY = Y_REACH > 0 && TAPS.axis && !MIRROR_Z;
constexpr bool folds(int kind) { return kind == NEAREST || kind == REFLECT || kind == MIRROR; }
constexpr bool FOLDS_Z = folds(Z_SIDE_LOW) || folds(Z_SIDE_HIGH);
constexpr bool REFRESH = folds(Y_SIDE_LOW) || folds(Y_SIDE_HIGH) || folds(X_SIDE_LOW) || folds(X_SIDE_HIGH) ||
                         Y_SIDE_LOW == CONSTANT || Y_SIDE_HIGH == CONSTANT || X_SIDE_LOW == CONSTANT ||
                         X_SIDE_HIGH == CONSTANT;
constexpr bool FREEZES = (X_SIDE_LOW == FIXED && X_LOW) || (X_SIDE_HIGH == FIXED && X_HIGH) ||
                         (Y_SIDE_LOW == FIXED && Y_LOW) || (Y_SIDE_HIGH == FIXED && Y_HIGH) ||
                         (Z_SIDE_LOW == FIXED && Z_LOW) || (Z_SIDE_HIGH == FIXED && Z_HIGH);

typedef REAL patch[ROWS][POINTS];
typedef REAL window_type[ROWS + 2 * Y_REACH][POINTS + 2 * X_REACH];

// ---- shared memory: what lanes hold as they access it, one access of all lanes after another, so that no two meet a bank
constexpr int PIECE = POINTS * sizeof(REAL) > 16 ? 16 / sizeof(REAL) : POINTS;
constexpr int PIECES = POINTS / PIECE, RUNS = POINTS / VECTOR, SLOTS = PREFETCH + 1;
struct alignas(PIECE * sizeof(REAL)) piece {
    REAL at[PIECE];
};
struct alignas(VECTOR * sizeof(STORE)) run {
    STORE at[VECTOR];
};
typedef run slot_type[ROWS][RUNS][THREADS];                                      // a plane of level 0
typedef piece rows_type[STACK][Y_REACH ? 2 * Y_REACH : 1][PIECES][LANES_X];      // every lane's first and last rows
struct shared_type {
    slot_type slot[SLOTS];
    REAL exchange[REFRESH ? HEIGHT * WIDTH : 2];  // a plane by its own indices
    rows_type rows[EARLY ? 2 : 1][Y_REACH ? FUSED : 1];  // EARLY: of this turn, and of the last, which may still be read
};

struct tile {
    const STORE *grid;
    int y, x;         // of this lane's first point
    bool inside;      // no point of the tile lies past an edge along x or y, or is frozen because of one
    unsigned frozen;  // bit r * POINTS + v: this lane's point (r, v) is
    unsigned exists;  // bit r * RUNS + s: run s of row r lies in the grid; no run lies half in it
    unsigned stored;  // ... and this lane stores it
};
constexpr bool WRAPS_XY = X_SIDE_LOW == WRAP || (Y_REACH && Y_SIDE_LOW == WRAP);

__device__ __forceinline__ bool inside(int i, int n) { return i >= 0 && i < n; }
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

// ---- planes from and to memory

__device__ __forceinline__ void copy_run(run &to, const STORE *from) {
    if (sizeof(run) == 16)
        copy_async_16(&to, from);
    else if (sizeof(run) == 8)
        copy_async_8(&to, from);
    else if (sizeof(run) == 4)
        copy_async_4(&to, from);
    else
        to.at[0] = from[0];
}

// This lane's points of a plane of level 0 set out for their slot; what no boundary rule can use stays as it is.
__device__ __forceinline__ void fetch_plane(const tile_arguments &a, const tile &t, int z, slot_type &slot) {
    const int nz = static_cast<int>(a.nz), ny = static_cast<int>(a.ny), nx = static_cast<int>(a.nx);
    if (!inside(z, nz)) {
        if (Z_SIDE_LOW != WRAP) return;
        z = wrapped(z, nz);
    }
    const STORE *const from = t.grid + z * a.in_z;
    const bool wraps = WRAPS_XY && !t.inside;
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int s = 0; s < RUNS; s++) {
            if (wraps) {
                const int y = Y_SIDE_LOW == WRAP ? wrapped(t.y + r, ny) : t.y + r;
                const int x = X_SIDE_LOW == WRAP ? wrapped(t.x + s * VECTOR, nx) : t.x + s * VECTOR;
                if (inside(y, ny) && inside(x, nx)) copy_run(slot[r][s][threadIdx.x], from + y * a.in_y + x);
            } else if (t.exists >> (r * RUNS + s) & 1)
                copy_run(slot[r][s][threadIdx.x], from + t.y * a.in_y + t.x + (r * a.in_y + s * VECTOR));
        }
}

__device__ __forceinline__ void receive_plane(const slot_type &slot, patch &plane) {
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int s = 0; s < RUNS; s++) {
            const run got = slot[r][s][threadIdx.x];
#pragma unroll
            for (int e = 0; e < VECTOR; e++) plane[r][s * VECTOR + e] = widen(got.at[e]);
        }
}

__device__ __forceinline__ void store_plane(const tile_arguments &a, const tile &t, STORE *out, int z,
                                            const patch &plane) {
    STORE *const to = out + z * a.out_z + t.y * a.out_y + t.x;
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int s = 0; s < RUNS; s++) {
            STORE values[VECTOR];
#pragma unroll
            for (int e = 0; e < VECTOR; e++) values[e] = narrow<STORE>(plane[r][s * VECTOR + e]);
            if (t.stored >> (r * RUNS + s) & 1) store_run(to + r * a.out_y + s * VECTOR, values);
        }
}

// ---- neighbours' points

// This lane's first and last rows, for the lanes below and above.
__device__ __forceinline__ void leave_rows(const patch &plane, rows_type &rows) {
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

// A row's neighbours along x.
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

// The rows above and below; the outermost lanes take their own, which spoils margins.
__device__ __forceinline__ void others_rows(const rows_type &rows, window_type &window) {
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

// ---- at edges

// Where i folds to: i itself if that needs nothing, PAST_* past a constant or fixed side, UNUSED if no tap looks there.
constexpr int UNUSED = -3;
template <int LOW, int HIGH>
__device__ __forceinline__ int source(int i, int n, int reach) {
    if (LOW == WRAP || inside(i, n)) return i;
    if (i < -reach || i >= n + reach) return UNUSED;
    return static_cast<int>(i < 0 ? fold_low<LOW>(i, n) : fold_high<HIGH>(i, n));
}

// Points past an edge along x or y, from the points of the same plane that they fold to.
__device__ __forceinline__ void refresh_plane(const tile_arguments &a, const tile &t, REAL *exchange, patch &plane) {
    const int lane_x = threadIdx.x % LANES_X * POINTS, lane_y = threadIdx.x / LANES_X * ROWS;
    const int first_x = t.x - lane_x, first_y = t.y - lane_y;
    synchronize();
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int v = 0; v < POINTS; v++) exchange[(lane_y + r) * WIDTH + lane_x + v] = plane[r][v];
    synchronize();
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const int y = source<Y_SIDE_LOW, Y_SIDE_HIGH>(t.y + r, static_cast<int>(a.ny), Y_REACH);
        const bool no_y = Y_SIDE_LOW != WRAP && y < 0;
#pragma unroll
        for (int v = 0; v < POINTS; v++) {
            const int x = source<X_SIDE_LOW, X_SIDE_HIGH>(t.x + v, static_cast<int>(a.nx), X_REACH);
            const bool no_x = X_SIDE_LOW != WRAP && x < 0;
            if ((y == t.y + r && x == t.x + v) || (no_y && y == UNUSED) || (no_x && x == UNUSED)) continue;
            if (no_y)
                plane[r][v] = a.constant[1][t.y + r >= 0];
            else if (no_x)
                plane[r][v] = a.constant[2][t.x + v >= 0];
            else if (inside(y - first_y, HEIGHT) && inside(x - first_x, WIDTH))
                plane[r][v] = exchange[(y - first_y) * WIDTH + x - first_x];
        }
    }
}

// A plane of its level before it is taken: points past an edge have their values.
template <bool EDGE>
__device__ __forceinline__ void settle_plane(const tile_arguments &a, const tile &t, int z, REAL *exchange,
                                             patch &plane) {
    if (!EDGE) return;
    if (REFRESH && !t.inside) refresh_plane(a, t, exchange, plane);
    const bool low = Z_SIDE_LOW == CONSTANT && z < 0, high = Z_SIDE_HIGH == CONSTANT && z >= a.nz;
    if (low || high)
#pragma unroll
        for (int r = 0; r < ROWS; r++)
#pragma unroll
            for (int v = 0; v < POINTS; v++) plane[r][v] = a.constant[0][high];
}

__device__ __forceinline__ bool frozen_plane(const tile_arguments &a, int z) {
    return (Z_SIDE_LOW == FIXED && z < Z_LOW) || (Z_SIDE_HIGH == FIXED && z >= static_cast<int>(a.nz) - Z_HIGH);
}

// The lane's points of plane z that keep their value, as in `frozen`.
template <bool EDGE>
__device__ __forceinline__ unsigned kept_points(const tile_arguments &a, const tile &t, int z) {
    if (!EDGE || !FREEZES) return 0;
    return frozen_plane(a, z) ? ~0u : t.frozen;
}

// ---- a stage takes a plane of its level and gives the plane, Z_REACH earlier, of the next

// The taps of plane `j` of the stencil at point (r, v), added to `sum`, or if they begin it, alone.
__device__ __forceinline__ REAL add_taps(const tile_arguments &a, const window_type &window, int j, int r, int v,
                                         REAL sum, bool begin) {
#pragma unroll
    for (int i = 0; i < SIDE_Y; i++)
#pragma unroll
        for (int k = -X_REACH; k <= X_REACH; k++) {
            if (!TAPS.has[j][i][X_REACH + k] || (MIRROR_X && k < 0)) continue;
            const REAL *const centre = &window[r + i][X_REACH + v];
            const REAL value = MIRROR_X && k > 0 ? centre[-k] + centre[k] : centre[k];
            sum = begin ? a.weight[j][i][X_REACH + k] * value : sum + a.weight[j][i][X_REACH + k] * value;
            begin = false;
        }
    return sum;
}

// The plane's taps added to the sums that it belongs to: next[d] is of the output whose tap plane DEPTH-1-d this plane is.
template <int FIRST>
__device__ __forceinline__ void add_plane(const tile_arguments &a, const window_type &window, int r, int v,
                                          REAL (&next)[DEPTH]) {
    if (!MIRROR_Z) {
#pragma unroll
        for (int d = FIRST; d < DEPTH; d++)
            next[d] = add_taps(a, window, DEPTH - 1 - d, r, v, next[d], d == DEPTH - 1);
        return;
    }
    next[Z_REACH] = add_taps(a, window, Z_REACH, r, v, next[Z_REACH], false);
#pragma unroll
    for (int d = 0; d < Z_REACH; d++) {
        if (!TAPS.plane[d]) continue;
        const REAL both = add_taps(a, window, d, r, v, REAL(0), true);
        next[d] += both;
        next[DEPTH - 1 - d] = d == 0 ? both : next[DEPTH - 1 - d] + both;
    }
}

typedef patch sums_type[DEPTH - 1];

// next[0], which is complete, becomes the plane of the next level; FIRST is 1 where that is done already.
template <bool EDGE, int FIRST>
__device__ __forceinline__ void take_plane(const tile_arguments &a, const tile &t, const window_type &window, int z,
                                           patch &plane, sums_type &sums) {
    unsigned kept[Z_REACH + 1];
#pragma unroll
    for (int d = 0; d <= Z_REACH; d++) kept[d] = kept_points<EDGE>(a, t, z - Z_REACH + d);
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int v = 0; v < POINTS; v++) {
            REAL next[DEPTH];
#pragma unroll
            for (int d = FIRST; d < DEPTH; d++) next[d] = d < DEPTH - 1 ? sums[d < DEPTH - 1 ? d : 0][r][v] : REAL(0);
            add_plane<FIRST>(a, window, r, v, next);
#pragma unroll
            for (int d = FIRST; d <= Z_REACH; d++)
                if (EDGE && FREEZES && (kept[d] >> (r * POINTS + v) & 1))
                    next[d] = d == Z_REACH ? plane[r][v] : sums[d < DEPTH - 1 ? d : 0][r][v];
            if (FIRST == 0) plane[r][v] = next[0];
#pragma unroll
            for (int d = 0; d < DEPTH - 1; d++) sums[d][r][v] = next[d + 1];
        }
}

// EARLY: the plane of the next level.
template <bool EDGE>
__device__ __forceinline__ void complete_plane(const tile_arguments &a, const tile &t, int z, const patch &plane,
                                               const sums_type &sums, patch &complete) {
    const unsigned kept = kept_points<EDGE>(a, t, z - Z_REACH);
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int v = 0; v < POINTS; v++) {
            complete[r][v] = sums[0][r][v] + a.weight[DEPTH - 1][Y_REACH][X_REACH] * plane[r][v];
            if (EDGE && FREEZES && (kept >> (r * POINTS + v) & 1)) complete[r][v] = sums[0][r][v];
        }
}

template <bool EDGE>
__device__ __forceinline__ void take_early_turn(const tile_arguments &a, const tile &t, shared_type &shared,
                                                rows_type (&rows)[Y_REACH ? FUSED : 1], int z, patch &plane,
                                                sums_type (&sums)[FUSED]) {
    patch planes[FUSED + 1];
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int v = 0; v < POINTS; v++) planes[0][r][v] = plane[r][v];
#pragma unroll
    for (int s = 0; s < FUSED; s++) {
        settle_plane<EDGE>(a, t, z - s * Z_REACH, shared.exchange, planes[s]);
        leave_rows(planes[s], rows[Y_REACH ? s : 0]);
        complete_plane<EDGE>(a, t, z - s * Z_REACH, planes[s], sums[s], planes[s + 1]);
    }
    synchronize();
#pragma unroll
    for (int s = 0; s < FUSED; s++) {
        window_type window;
        own_rows(planes[s], window);
        others_rows(rows[Y_REACH ? s : 0], window);
        take_plane<EDGE, 1>(a, t, window, z - s * Z_REACH, planes[s], sums[s]);
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int v = 0; v < POINTS; v++) plane[r][v] = planes[FUSED][r][v];
}

// A plane of its level and its neighbours.
template <bool EDGE>
__device__ __forceinline__ void ready_plane(const tile_arguments &a, const tile &t, shared_type &shared, rows_type &rows,
                                            int z, patch &plane, window_type &window) {
    settle_plane<EDGE>(a, t, z, shared.exchange, plane);
    leave_rows(plane, rows);
    own_rows(plane, window);
    if (Y_REACH) synchronize();
    others_rows(rows, window);
}

// ---- at an edge along z where planes fold

// Where the plane past an edge z folds to, if a plane of its level stands for it; else negative.
__device__ __forceinline__ int stand_in(int z, int nz) {
    if (inside(z, nz) || Z_SIDE_LOW == WRAP) return -1;
    return static_cast<int>(z < 0 ? fold_low<Z_SIDE_LOW>(z, nz) : fold_high<Z_SIDE_HIGH>(z, nz));
}

// As take_plane, for plane z of its level, with every rule.
__device__ __forceinline__ void take_folded(const tile_arguments &a, const tile &t, const window_type &window, int z,
                                            patch &plane, sums_type &sums) {
    const int nz = static_cast<int>(a.nz);
    const bool arrives = inside(z, nz) || (Z_SIDE_LOW == CONSTANT && z < 0) || (Z_SIDE_HIGH == CONSTANT && z >= nz);
    patch complete;
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int v = 0; v < POINTS; v++) {
            complete[r][v] = sums[0][r][v];
#pragma unroll
            for (int d = 0; d < DEPTH - 1; d++)
                sums[d][r][v] = d + 1 < DEPTH - 1 ? sums[d + 1 < DEPTH - 1 ? d + 1 : d][r][v] : REAL(0);
        }
#pragma unroll 1
    for (int g = -2 * Z_REACH; g <= 2 * Z_REACH; g++) {  // as itself, and as each plane past an edge that folds to it
        if (g == 0 ? !arrives : !inside(z, nz) || stand_in(z + g, nz) != z) continue;
#pragma unroll
        for (int d = 0; d < DEPTH; d++) {
            const int tap = DEPTH - 1 - d + g;
            if (tap < 0 || tap >= DEPTH || frozen_plane(a, z - Z_REACH + d)) continue;
#pragma unroll
            for (int r = 0; r < ROWS; r++)
#pragma unroll
                for (int v = 0; v < POINTS; v++) {
                    if (t.frozen >> (r * POINTS + v) & 1) continue;
                    REAL &sum = d ? sums[d ? d - 1 : 0][r][v] : complete[r][v];
#pragma unroll
                    for (int i = 0; i < SIDE_Y; i++)
#pragma unroll
                        for (int k = 0; k < SIDE_X; k++)
                            if (TAPS.any[i][k]) sum += a.weight[tap][i][k] * window[r + i][v + k];
                }
        }
    }
    const unsigned kept = kept_points<true>(a, t, z);
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int v = 0; v < POINTS; v++) {
            if (kept >> (r * POINTS + v) & 1) sums[Z_REACH - 1][r][v] = plane[r][v];
            plane[r][v] = complete[r][v];
        }
}

// All stages; the plane of the last level takes the plane's place.
template <bool EDGE, bool FOLDED>
__device__ __forceinline__ void take_turn(const tile_arguments &a, const tile &t, shared_type &shared, int parity, int z,
                                          patch &plane, sums_type (&sums)[FUSED]) {
    if (EARLY && !FOLDED) {
        take_early_turn<EDGE>(a, t, shared, shared.rows[EARLY ? parity : 0], z, plane, sums);
        return;
    }
#pragma unroll
    for (int s = 0; s < FUSED; s++) {
        window_type window;
        ready_plane<EDGE>(a, t, shared, shared.rows[EARLY ? parity : 0][Y_REACH ? s : 0], z - s * Z_REACH, plane, window);
        if (FOLDED)
            take_folded(a, t, window, z - s * Z_REACH, plane, sums[s]);
        else
            take_plane<EDGE, 0>(a, t, window, z - s * Z_REACH, plane, sums[s]);
    }
}

// ---- a block's tile

// The tiles at the edges along x take longest, so they come first; then the others, side by side.
__device__ __forceinline__ int tile_column(const tile_arguments &a, long long &number) {
    const int edges = min(a.tiles_x, 2);
    const long long early = a.tiles / a.tiles_x * edges;
    const bool is_early = number < early;
    const int columns = is_early ? edges : a.tiles_x - edges;
    if (!is_early) number -= early;
    const int column = static_cast<int>(number % columns);
    number /= columns;
    return is_early ? column * (a.tiles_x - 1) : column + 1;
}

__device__ __forceinline__ void place_lane(const tile_arguments &a, int own_y, int own_x, tile &t) {
    const int ny = static_cast<int>(a.ny), nx = static_cast<int>(a.nx);
    const int first_y = own_y - MARGIN_Y, first_x = own_x - MARGIN_X;
    t.y = first_y + threadIdx.x / LANES_X * ROWS;
    t.x = first_x + threadIdx.x % LANES_X * POINTS;
    t.inside = first_x >= X_REACH && first_x + WIDTH + X_REACH <= nx && first_y >= Y_REACH &&
               first_y + HEIGHT + Y_REACH <= ny;
    t.frozen = t.exists = t.stored = 0;
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int v = 0; v < POINTS; v++) {
            const int y = t.y + r, x = t.x + v;
            if ((X_SIDE_LOW == FIXED && x < X_LOW) || (X_SIDE_HIGH == FIXED && x >= nx - X_HIGH) ||
                (Y_SIDE_LOW == FIXED && y < Y_LOW) || (Y_SIDE_HIGH == FIXED && y >= ny - Y_HIGH))
                t.frozen |= 1u << (r * POINTS + v);
            if (v % VECTOR || !inside(y, ny) || !inside(x, nx)) continue;
            t.exists |= 1u << (r * RUNS + v / VECTOR);
            if (inside(y - own_y, OWN_Y) && inside(x - own_x, OWN_X)) t.stored |= 1u << (r * RUNS + v / VECTOR);
        }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) direct_time_tile(const __grid_constant__ tile_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    shared_type &shared = *reinterpret_cast<shared_type *>(stn_shared);
    long long number = blockIdx.x;
    const int column = tile_column(a, number), nz = static_cast<int>(a.nz);
    const int own_y = static_cast<int>(number % a.tiles_y) * OWN_Y;
    number /= a.tiles_y;
    const int z0 = static_cast<int>(number % a.tiles_z) * a.chunk;
    number /= a.tiles_z;
    tile t;
    t.grid = a.in + number * a.in_batch;
    place_lane(a, own_y, column * OWN_X, t);
    STORE *const out = a.out + number * a.out_batch;
    const int z1 = min(z0 + a.chunk, nz), last = z1 + FUSED * Z_REACH;

    sums_type sums[FUSED] = {};
    int z = z0 - FUSED * Z_REACH, slot = 0, parity = 0;
#pragma unroll
    for (int p = 0; p < PREFETCH; p++) {
        fetch_plane(a, t, z + p, shared.slot[p]);
        copy_async_commit();
    }
#pragma unroll 1
    for (; z < last; z++) {
        copy_async_wait<PREFETCH - 1>();
        const int ready = slot;
        if (z + PREFETCH < last) fetch_plane(a, t, z + PREFETCH, shared.slot[slot ? slot - 1 : PREFETCH]);
        copy_async_commit();
        slot = slot < PREFETCH ? slot + 1 : 0;

        patch plane;
        const bool inside_z = Z_SIDE_LOW == WRAP || (z >= (FUSED + 1) * Z_REACH && z + 2 * Z_REACH < nz);
        const bool inside_xy = (X_SIDE_LOW == WRAP && (Y_REACH == 0 || Y_SIDE_LOW == WRAP)) || t.inside;
        receive_plane(shared.slot[ready], plane);
        if (inside_z && inside_xy)
            take_turn<false, false>(a, t, shared, parity, z, plane, sums);
        else if (inside_z || !FOLDS_Z)
            take_turn<true, false>(a, t, shared, parity, z, plane, sums);
        else
            take_turn<true, true>(a, t, shared, parity, z, plane, sums);
        const int done = z - FUSED * Z_REACH;
        if (done >= z0) store_plane(a, t, out, done, plane);
        parity ^= 1;
    }
}
