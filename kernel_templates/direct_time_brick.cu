// FUSED steps of a 3D stencil in one launch.
//
//     u(t+1, z, y, x) = sum over taps k of  w[k] * u(t, z + TAP_Z[k], y + TAP_Y[k], x + TAP_X[k]),   t = 0 .. FUSED-1
//
// As direct_time_plane, with planes in place of rows: a block owns a tile of an x-y plane and walks it along z with all
// FUSED stages in flight; what is not complete waits in registers. The lanes lie LANES_X by STACK on the tile, warps one above
// the other, and each has ROWS by POINTS points:
//
//     +-----------------------------------+
//     |  margin, FUSED * Y_REACH          |     margins are computed twice;
//     |    +-------------------------+    |     neighbours' points come by shuffles: first whole rows from the lanes
//     |    |  stored                 |    |     above and below (through shared memory where there are several warps),
//     |    +-------------------------+    |     then columns from the left and the right, with corners if a tap is one
//     +-----------------------------------+
//
// Boundaries as there: along x and y a plane passes through shared memory and points past an edge take the value of their
// fold, and frozen points keep theirs; along z device/edge.cuh.
#include "device/edge.cuh"
#include "device/element.cuh"
#include "device/index.cuh"
#include "params.cuh"

constexpr int LANES_X = THREADS_X, STACK = THREADS_Y;  // lanes along x and y
constexpr int BLOCK_WARPS = LANES_X * STACK / 32;
constexpr int WIDTH = LANES_X * POINTS, HEIGHT = STACK * ROWS;
constexpr int round_up(int a, int b) { return (a + b - 1) / b * b; }
constexpr int MARGIN_X = round_up(FUSED * X_REACH, VECTOR), MARGIN_Y = FUSED * Y_REACH;
constexpr int OWN_X = WIDTH - 2 * MARGIN_X, OWN_Y = HEIGHT - 2 * MARGIN_Y;  // points that a tile stores
constexpr int DEPTH = 2 * Z_REACH + 1, SIDE_Y = 2 * Y_REACH + 1, SIDE_X = 2 * X_REACH + 1;
static_assert(32 % LANES_X == 0 && LANES_X * STACK % 32 == 0, "whole warps, whole rows of lanes");
static_assert(FUSED >= 2, "between two uses of a stage's rows in shared memory lies a barrier of another stage");
static_assert(X_REACH >= 1 && Y_REACH >= 1 && Z_REACH >= 1, "every axis is coupled");
static_assert(X_REACH <= POINTS && Y_REACH <= ROWS && OWN_X > X_REACH && OWN_Y > Y_REACH, "neighbours hold the halo");
static_assert(POINTS % VECTOR == 0 && VECTOR * sizeof(STORE) <= 16 && ROWS * POINTS <= 32, "whole accesses; bits");

struct brick_arguments {
    const STORE *in;
    STORE *out;
    long long nz, ny, nx;
    long long in_z, in_y, out_z, out_y;
    long long in_batch, out_batch;
    long long tiles;  // of all grids of the batch; x fastest, then y, z
    int tiles_x, tiles_y, tiles_z;
    int chunk;                           // planes along z of a tile
    REAL constant[3][2];                 // value past each side, axes z, y, x
    REAL weight[DEPTH][SIDE_Y][SIDE_X];  // of every offset, 0 where there is no tap
};

// Which offsets are taps; only those cost anything.
struct tap_map {
    bool has[DEPTH][SIDE_Y][SIDE_X];
    bool any[SIDE_Y][SIDE_X];  // in any plane
    bool corner;               // a tap is off both x and y
};
constexpr tap_map find_taps() {
    tap_map m{};
    for (int k = 0; k < NTAPS; k++) {
        m.has[TAP_Z[k] + Z_REACH][TAP_Y[k] + Y_REACH][TAP_X[k] + X_REACH] = true;
        m.any[TAP_Y[k] + Y_REACH][TAP_X[k] + X_REACH] = true;
        if (TAP_Y[k] && TAP_X[k]) m.corner = true;
    }
    return m;
}
constexpr tap_map TAPS = find_taps();
constexpr bool ANY_FIXED_XY = (X_SIDE_LOW == FIXED && X_LOW) || (X_SIDE_HIGH == FIXED && X_HIGH) ||
                              (Y_SIDE_LOW == FIXED && Y_LOW) || (Y_SIDE_HIGH == FIXED && Y_HIGH);
constexpr bool FOLDS_X = X_SIDE_LOW != WRAP && !(X_SIDE_LOW == FIXED && X_SIDE_HIGH == FIXED);
constexpr bool FOLDS_Y = Y_SIDE_LOW != WRAP && !(Y_SIDE_LOW == FIXED && Y_SIDE_HIGH == FIXED);

typedef REAL patch[ROWS][POINTS];
typedef REAL window_type[ROWS + 2 * Y_REACH][POINTS + 2 * X_REACH];

struct tile {
    const STORE *grid;
    long long y, x;   // of this lane's first point
    bool inside;      // no point of the tile lies past an edge along x or y, or is frozen because of one
    unsigned frozen;  // bit r * POINTS + v: this lane's point (r, v) is
    REAL *exchange;   // HEIGHT * WIDTH values of shared memory
};

__device__ __forceinline__ long long wrapped(long long i, long long n) {
    i %= n;
    return i < 0 ? i + n : i;
}

// This lane's points of a plane of level 0; what no boundary rule can use stays as it is.
__device__ __forceinline__ void load_plane(const brick_arguments &a, const tile &t, long long z,
                                           STORE (&plane)[ROWS][POINTS]) {
    if (!inside(z, a.nz)) {
        if (Z_SIDE_LOW != WRAP) return;
        z = wrapped(z, a.nz);
    }
    const STORE *const from = t.grid + z * a.in_z;
    if (t.inside) {
#pragma unroll
        for (int r = 0; r < ROWS; r++)
#pragma unroll
            for (int s = 0; s < POINTS; s += VECTOR) {
                STORE run[VECTOR];
                load_run(run, from + (t.y + r) * a.in_y + t.x + s);
#pragma unroll
                for (int e = 0; e < VECTOR; e++) plane[r][s + e] = run[e];
            }
        return;
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const long long y = Y_SIDE_LOW == WRAP ? wrapped(t.y + r, a.ny) : t.y + r;
#pragma unroll
        for (int v = 0; v < POINTS; v++) {
            const long long x = X_SIDE_LOW == WRAP ? wrapped(t.x + v, a.nx) : t.x + v;
            if (inside(y, a.ny) && inside(x, a.nx)) plane[r][v] = from[y * a.in_y + x];
        }
    }
}

__device__ __forceinline__ void synchronize() {
    if (BLOCK_WARPS == 1)
        __syncwarp();
    else
        __syncthreads();
}

// The last rows of every lane, for the lanes above and below. A stage has its own.
typedef REAL rows_type[STACK][2 * Y_REACH][WIDTH];

// The lane's points with the halo that taps reach.
__device__ __forceinline__ void widen_plane(const patch &plane, rows_type &rows, window_type &window) {
    const int x = threadIdx.x % LANES_X * POINTS, lane = threadIdx.x / LANES_X;
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int v = 0; v < POINTS; v++) window[Y_REACH + r][X_REACH + v] = plane[r][v];
    if (BLOCK_WARPS > 1) {
#pragma unroll
        for (int k = 0; k < Y_REACH; k++)
#pragma unroll
            for (int v = 0; v < POINTS; v++) {
                rows[lane][k][x + v] = plane[k][v];
                rows[lane][Y_REACH + k][x + v] = plane[ROWS - Y_REACH + k][v];
            }
        synchronize();
    }
    const int above = lane > 0 ? lane - 1 : 0,
              below = lane < STACK - 1 ? lane + 1 : lane;  // the outermost spoil margins
#pragma unroll
    for (int k = 0; k < Y_REACH; k++)
#pragma unroll
        for (int v = 0; v < POINTS; v++) {
            if (BLOCK_WARPS > 1) {
                window[k][X_REACH + v] = rows[above][Y_REACH + k][x + v];
                window[Y_REACH + ROWS + k][X_REACH + v] = rows[below][k][x + v];
            } else {
                window[k][X_REACH + v] = __shfl_up_sync(0xffffffffu, plane[ROWS - Y_REACH + k][v], LANES_X);
                window[Y_REACH + ROWS + k][X_REACH + v] = __shfl_down_sync(0xffffffffu, plane[k][v], LANES_X);
            }
        }
#pragma unroll
    for (int r = 0; r < ROWS + 2 * Y_REACH; r++) {
        if (!TAPS.corner && (r < Y_REACH || r >= Y_REACH + ROWS)) continue;
#pragma unroll
        for (int k = 0; k < X_REACH; k++) {
            window[r][k] = __shfl_up_sync(0xffffffffu, window[r][POINTS + k], 1);
            window[r][X_REACH + POINTS + k] = __shfl_down_sync(0xffffffffu, window[r][X_REACH + k], 1);
        }
    }
}

// Points past an edge along x or y, from the points of the same plane that they fold to.
__device__ __forceinline__ void refresh_plane(const brick_arguments &a, const tile &t, patch &plane) {
    if (!FOLDS_X && !FOLDS_Y) return;
    const int lane_x = threadIdx.x % LANES_X * POINTS, lane_y = threadIdx.x / LANES_X * ROWS;
    const long long first_x = t.x - lane_x, first_y = t.y - lane_y;
    synchronize();
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int v = 0; v < POINTS; v++) t.exchange[(lane_y + r) * WIDTH + lane_x + v] = plane[r][v];
    synchronize();
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int v = 0; v < POINTS; v++) {
            long long y = t.y + r, x = t.x + v;
            if (inside(y, a.ny) && inside(x, a.nx)) continue;
            if (y < -Y_REACH || y >= a.ny + Y_REACH || x < -X_REACH || x >= a.nx + X_REACH) {
                if ((y < -Y_REACH || y >= a.ny + Y_REACH) && Y_SIDE_LOW != WRAP) continue;
                if ((x < -X_REACH || x >= a.nx + X_REACH) && X_SIDE_LOW != WRAP) continue;
            }
            if (Y_SIDE_LOW != WRAP && !inside(y, a.ny)) {
                y = y < 0 ? fold_low<Y_SIDE_LOW>(y, a.ny) : fold_high<Y_SIDE_HIGH>(y, a.ny);
                if (y < 0) {
                    plane[r][v] = a.constant[1][t.y + r >= 0];
                    continue;
                }
            }
            if (X_SIDE_LOW != WRAP && !inside(x, a.nx)) {
                x = x < 0 ? fold_low<X_SIDE_LOW>(x, a.nx) : fold_high<X_SIDE_HIGH>(x, a.nx);
                if (x < 0) {
                    plane[r][v] = a.constant[2][t.x + v >= 0];
                    continue;
                }
            }
            if (inside(y - first_y, HEIGHT) && inside(x - first_x, WIDTH))
                plane[r][v] = t.exchange[(y - first_y) * WIDTH + x - first_x];
        }
}

// A plane near an edge along z, added in the place of those that fold to it; `plane` is the output that is complete.
__device__ __forceinline__ void add_folded(const brick_arguments &a, const tile &t, const window_type &window,
                                           unsigned folded, unsigned frozen, patch &plane, patch (&sums)[DEPTH - 1]) {
#pragma unroll 1
    for (int g = -2 * Z_REACH; g <= 2 * Z_REACH; g++) {
        if (!(folded >> (2 * Z_REACH + g) & 1)) continue;
#pragma unroll
        for (int d = 0; d < DEPTH; d++) {
            const int tap = DEPTH - 1 - d + g;
            if (tap < 0 || tap >= DEPTH || (frozen >> d & 1)) continue;
#pragma unroll
            for (int r = 0; r < ROWS; r++)
#pragma unroll
                for (int v = 0; v < POINTS; v++) {
                    REAL &sum = d ? sums[d ? d - 1 : 0][r][v] : plane[r][v];
                    REAL more = sum;
#pragma unroll
                    for (int i = 0; i < SIDE_Y; i++)
#pragma unroll
                        for (int k = 0; k < SIDE_X; k++)
                            if (TAPS.any[i][k]) more += a.weight[tap][i][k] * window[r + i][v + k];
                    if (!ANY_FIXED_XY || !(t.frozen >> (r * POINTS + v) & 1)) sum = more;
                }
        }
    }
}

// A stage takes plane z of its level and gives the plane, Z_REACH earlier, of the next.
template <bool EDGE_XY, bool EDGE_Z>
__device__ __forceinline__ void take_plane(const brick_arguments &a, const tile &t, rows_type &rows, long long z,
                                           patch &plane, patch (&sums)[DEPTH - 1]) {
    window_type window;
    const unsigned folded = EDGE_Z ? folded_rows(z, a.nz) : 0, frozen = EDGE_Z ? frozen_outputs(z, a.nz) : 0;
    if (EDGE_XY && !(EDGE_Z && t.inside)) refresh_plane(a, t, plane);
    if (EDGE_Z && past_z(z, a.nz))
#pragma unroll
        for (int r = 0; r < ROWS; r++)
#pragma unroll
            for (int v = 0; v < POINTS; v++) plane[r][v] = value_past_z(z, a.constant[0]);
    widen_plane(plane, rows, window);
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int v = 0; v < POINTS; v++) {
            REAL next[DEPTH];  // next[d] belongs to the output whose tap DEPTH-1-d this plane is
#pragma unroll
            for (int d = 0; d < DEPTH; d++) {
                next[d] = d < DEPTH - 1 ? sums[d < DEPTH - 1 ? d : 0][r][v] : REAL(0);
#pragma unroll
                for (int i = 0; i < SIDE_Y; i++)
#pragma unroll
                    for (int k = 0; k < SIDE_X; k++)
                        if (TAPS.has[DEPTH - 1 - d][i][k])
                            next[d] += a.weight[DEPTH - 1 - d][i][k] * window[r + i][v + k];
            }
            const bool point = EDGE_XY && ANY_FIXED_XY && (t.frozen >> (r * POINTS + v) & 1);
#pragma unroll
            for (int d = 0; d <= Z_REACH; d++)  // a frozen point keeps its value, and nothing is added to it afterwards
                if (point || (frozen >> d & 1))
                    next[d] = d == Z_REACH ? plane[r][v] : sums[d < DEPTH - 1 ? d : 0][r][v];
            plane[r][v] = next[0];
#pragma unroll
            for (int d = 0; d < DEPTH - 1; d++) sums[d][r][v] = next[d + 1];
        }
    if (FOLDS_Z && folded) add_folded(a, t, window, folded, frozen, plane, sums);
}

// Points of the margins are not stored.
__device__ __forceinline__ void store_plane(const brick_arguments &a, const tile &t, STORE *out, long long z,
                                            long long own_y, long long own_x, const patch &plane) {
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const long long y = t.y + r;
        if (y < own_y || y >= own_y + OWN_Y || y >= a.ny) continue;
        STORE *const to = out + z * a.out_z + y * a.out_y;
#pragma unroll
        for (int s = 0; s < POINTS; s += VECTOR) {
            const long long x = t.x + s;
            if (x < own_x || x >= own_x + OWN_X) continue;
            STORE run[VECTOR];
#pragma unroll
            for (int e = 0; e < VECTOR; e++) run[e] = narrow<STORE>(plane[r][s + e]);
            if (x + VECTOR <= a.nx)
                store_run(to + x, run);
            else
#pragma unroll
                for (int e = 0; e < VECTOR; e++)
                    if (x + e < a.nx) to[x + e] = run[e];
        }
    }
}

extern "C" __global__ void __launch_bounds__(32 * BLOCK_WARPS, BLOCKS)
    direct_time_brick(const __grid_constant__ brick_arguments a) {
    __shared__ REAL exchange[HEIGHT * WIDTH];
    __shared__ rows_type rows[FUSED];
    long long number = blockIdx.x;
    const long long own_x = number % a.tiles_x * OWN_X;
    number /= a.tiles_x;
    const long long own_y = number % a.tiles_y * OWN_Y;
    number /= a.tiles_y;
    const long long z0 = number % a.tiles_z * a.chunk, batch = number / a.tiles_z;

    tile t;
    const long long first_x = own_x - MARGIN_X, first_y = own_y - MARGIN_Y;
    t.grid = a.in + batch * a.in_batch;
    t.x = first_x + threadIdx.x % LANES_X * POINTS;
    t.y = first_y + threadIdx.x / LANES_X * ROWS;
    t.inside = first_x >= X_REACH && first_x + WIDTH + X_REACH <= a.nx && first_y >= Y_REACH &&
               first_y + HEIGHT + Y_REACH <= a.ny;
    t.exchange = exchange;
    t.frozen = 0;
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int v = 0; v < POINTS; v++)
            if ((X_SIDE_LOW == FIXED && t.x + v < X_LOW) || (X_SIDE_HIGH == FIXED && t.x + v >= a.nx - X_HIGH) ||
                (Y_SIDE_LOW == FIXED && t.y + r < Y_LOW) || (Y_SIDE_HIGH == FIXED && t.y + r >= a.ny - Y_HIGH))
                t.frozen |= 1u << (r * POINTS + v);
    STORE *const out = a.out + batch * a.out_batch;
    const long long z1 = min(z0 + a.chunk, a.nz), last = z1 + FUSED * Z_REACH;

    patch sums[FUSED][DEPTH - 1] = {};
    STORE ahead[ROWS][POINTS] = {};
    long long z = z0 - FUSED * Z_REACH;
    load_plane(a, t, z, ahead);
#pragma unroll 1
    for (; z < last; z++) {
        patch plane;
#pragma unroll
        for (int r = 0; r < ROWS; r++)
#pragma unroll
            for (int v = 0; v < POINTS; v++) plane[r][v] = widen(ahead[r][v]);
        if (z + 1 < last) load_plane(a, t, z + 1, ahead);

        const bool inside_z = Z_SIDE_LOW == WRAP || (z >= (FUSED + 1) * Z_REACH && z + 2 * Z_REACH < a.nz);
        if (!inside_z) {
#pragma unroll
            for (int s = 0; s < FUSED; s++) take_plane<true, true>(a, t, rows[s], z - s * Z_REACH, plane, sums[s]);
        } else if ((X_SIDE_LOW == WRAP && Y_SIDE_LOW == WRAP) || t.inside) {
#pragma unroll
            for (int s = 0; s < FUSED; s++) take_plane<false, false>(a, t, rows[s], z, plane, sums[s]);
        } else {
#pragma unroll
            for (int s = 0; s < FUSED; s++) take_plane<true, false>(a, t, rows[s], z, plane, sums[s]);
        }
        const long long done = z - FUSED * Z_REACH;
        if (done >= z0) store_plane(a, t, out, done, own_y, own_x, plane);
    }
}
