// FUSED steps of a 1D stencil in one launch.
//
//     u(t+1, x) = sum over taps k of  w[k] * u(t, x + TAP_X[k]),   t = 0 .. FUSED-1
//
// A warp (its own block) holds 32 * POINTS consecutive points in registers, POINTS for each lane,
// and steps them in place; shuffles bring the neighbours' X_REACH points. Each step invalidates
// X_REACH more points at either end, so tiles overlap:
//
//     | MARGIN |        OWN points, stored        | MARGIN |
//                                          | MARGIN |        OWN points of the next warp  ...
//
// Shared memory transposes between coalesced accesses and a lane's run of points. Before every step
// of a tile at an edge, points past the edge take, also through shared memory, the values of the
// points that they fold to; frozen points keep their value.
#include "device/arith.cuh"
#include "device/boundary.cuh"
#include "device/element.cuh"
#include "device/launch_checks.cuh"
#include "params.cuh"

constexpr int WIDTH = 32 * POINTS;
constexpr int MARGIN = round_up(FUSED * X_REACH, VECTOR);
constexpr int OWN = WIDTH - 2 * MARGIN;
constexpr int SIDE = 2 * X_REACH + 1;
constexpr int SKEW = 16 / sizeof(STORE);  // elements between lanes' runs, to avoid bank conflicts
static_assert(X_REACH >= 1 && X_REACH <= POINTS && OWN > X_REACH, "a lane's neighbours hold its halo");
static_assert(POINTS % VECTOR == 0 && VECTOR * sizeof(STORE) <= 16, "a lane's points are whole accesses");

struct line_arguments {
    const STORE *in;
    STORE *out;
    long long nz, ny, nx;
    long long in_z, in_y, out_z, out_y;
    long long in_batch, out_batch;
    long long tiles;  // in all grids of the batch; x fastest
    int tiles_x, tiles_y, tiles_z;
    int chunk;
    REAL constant[3][2];  // value past each side, axes z, y, x
    REAL weight[SIDE];    // of every offset, 0 where there is no tap
};
static_assert(layout_matches(sizeof(line_arguments), sizeof(line_arguments::constant) + sizeof(line_arguments::weight)),
              "the launcher's mirrored struct of the arguments");

struct tap_map {
    bool has[SIDE];
};
constexpr tap_map find_taps() {
    tap_map m{};
    for (int k = 0; k < NTAPS; k++) m.has[TAP_X[k] + X_REACH] = true;
    return m;
}
constexpr tap_map TAPS = find_taps();

__device__ __forceinline__ int place(int point) { return point + point / POINTS * SKEW; }

// Loads the tile into shared memory; points outside the grid become 0 or, if the sides wrap, the
// points of the other end.
__device__ __forceinline__ void load_tile(const line_arguments &a, const STORE *line, long long first, bool inside,
                                          STORE *tile) {
    const int lane = threadIdx.x;
#pragma unroll
    for (int i = 0; i < POINTS / VECTOR; i++) {
        const int point = (i * 32 + lane) * VECTOR;
        STORE run[VECTOR];
        if (inside)
            load_run(run, line + first + point);
        else
#pragma unroll
            for (int e = 0; e < VECTOR; e++) {
                long long x = first + point + e;
                if (X_SIDE_LOW == WRAP) {
                    x %= a.nx;
                    if (x < 0) x += a.nx;
                }
                run[e] = x >= 0 && x < a.nx ? line[x] : narrow<STORE>(REAL(0));
            }
#pragma unroll
        for (int e = 0; e < VECTOR; e++) tile[place(point) + e] = run[e];
    }
}

__device__ __forceinline__ void store_tile(const line_arguments &a, STORE *out, long long first, const STORE *tile) {
    const int lane = threadIdx.x;
#pragma unroll
    for (int i = 0; i < POINTS / VECTOR; i++) {
        const int point = (i * 32 + lane) * VECTOR;
        if (point < MARGIN || point >= MARGIN + OWN) continue;
        STORE run[VECTOR];
#pragma unroll
        for (int e = 0; e < VECTOR; e++) run[e] = tile[place(point) + e];
        if (first + point + VECTOR <= a.nx)
            store_run(out + first + point, run);
        else
            for (int e = 0; e < VECTOR; e++)
                if (first + point + e < a.nx) out[first + point + e] = run[e];
    }
}

// Where the line begins and ends, relative to the tile's first point, clamped to 32 bits.
struct line_ends {
    int low, high;
};
__device__ __forceinline__ int cut(long long i) {
    constexpr int FAR = 1 << 24;
    return i < -FAR ? -FAR : i > FAR ? FAR : static_cast<int>(i);
}

// Points past an edge take the value of the point that they fold to; only lanes near an edge hold
// such points.
__device__ __forceinline__ void refresh(const line_arguments &a, line_ends line, REAL *cells, REAL (&u)[POINTS]) {
    const int own = threadIdx.x * POINTS;
    const bool near_low = own <= line.low + X_REACH && own + POINTS > line.low - X_REACH;
    const bool near_high = own < line.high + X_REACH && own + POINTS >= line.high - X_REACH;
    const bool near_side = near_low || near_high;
    __syncwarp();
    if (near_side)
#pragma unroll
        for (int v = 0; v < POINTS; v++) cells[own + v] = u[v];
    __syncwarp();
    if (!near_side) return;
#pragma unroll
    for (int v = 0; v < POINTS; v++) {
        const int i = own + v - line.low, n = line.high - line.low;
        const bool before = i < 0 && i >= -X_REACH, after = i >= n && i < n + X_REACH;
        if (!before && !after) continue;
        const int from = static_cast<int>(before ? fold_low<X_SIDE_LOW>(i, n) : fold_high<X_SIDE_HIGH>(i, n));
        if (from < 0)
            u[v] = a.constant[2][after];
        else if (from + line.low >= 0 && from + line.low < WIDTH)
            u[v] = cells[from + line.low];
    }
}

template <bool EDGE>
__device__ __forceinline__ void step(const line_arguments &a, line_ends line, REAL (&u)[POINTS]) {
    REAL window[POINTS + 2 * X_REACH];
#pragma unroll
    for (int v = 0; v < POINTS; v++) window[X_REACH + v] = u[v];
#pragma unroll
    for (int k = 0; k < X_REACH; k++) {
        window[k] = __shfl_up_sync(0xffffffffu, u[POINTS - X_REACH + k], 1);
        window[X_REACH + POINTS + k] = __shfl_down_sync(0xffffffffu, u[k], 1);
    }
#pragma unroll
    for (int v = 0; v < POINTS; v++) {
        REAL sum = 0;
        if (MIRROR_X) {
#pragma unroll
            for (int k = X_REACH; k >= 0; k--)
                if (TAPS.has[X_REACH + k])
                    sum += a.weight[X_REACH + k] *
                           (k ? window[X_REACH + v - k] + window[X_REACH + v + k] : window[X_REACH + v]);
        } else {
#pragma unroll
            for (int k = 0; k < SIDE; k++)
                if (TAPS.has[k]) sum += a.weight[k] * window[v + k];
        }
        const int i = threadIdx.x * POINTS + v;
        const bool frozen = EDGE && ((X_SIDE_LOW == FIXED && i < line.low + X_LOW) ||
                                     (X_SIDE_HIGH == FIXED && i >= line.high - X_HIGH));
        if (!frozen) u[v] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(32, BLOCKS) direct_time_line(const __grid_constant__ line_arguments a) {
    constexpr int BYTES = (WIDTH + 32 * SKEW) * sizeof(STORE) > WIDTH * sizeof(REAL)
                              ? (WIDTH + 32 * SKEW) * sizeof(STORE)
                              : WIDTH * sizeof(REAL);
    __shared__ __align__(16) unsigned char shared[BYTES];
    const long long first = static_cast<long long>(blockIdx.x % a.tiles_x) * OWN - MARGIN;
    const long long batch = blockIdx.x / a.tiles_x;
    const bool inside = first >= X_REACH && first + WIDTH + X_REACH <= a.nx;
    STORE *const tile = reinterpret_cast<STORE *>(shared);
    const int lane = threadIdx.x;

    load_tile(a, a.in + batch * a.in_batch, first, inside, tile);
    __syncwarp();
    REAL u[POINTS];
#pragma unroll
    for (int v = 0; v < POINTS; v++) u[v] = widen(tile[place(lane * POINTS) + v]);
    __syncwarp();
    const line_ends line = {cut(-first), cut(a.nx - first)};
    if (inside || X_SIDE_LOW == WRAP) {
#pragma unroll(UNROLL)
        for (int t = 0; t < FUSED; t++) step<false>(a, line, u);
    } else {
#pragma unroll 1
        for (int t = 0; t < FUSED; t++) {
            refresh(a, line, reinterpret_cast<REAL *>(shared), u);
            step<true>(a, line, u);
        }
        __syncwarp();
    }
#pragma unroll
    for (int v = 0; v < POINTS; v++) tile[place(lane * POINTS) + v] = narrow<STORE>(u[v]);
    __syncwarp();
    store_tile(a, a.out + batch * a.out_batch, first, tile);
}
