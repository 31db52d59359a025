// FUSED steps of a 2D stencil in one launch.
//
//     u(t+1, z, x) = sum over taps k of  w[k] * u(t, z + TAP_Z[k], x + TAP_X[k]),   t = 0 .. FUSED-1
//
// A warp, which is a block of its own (so that the compiler knows what all its lanes have in common), owns a tile 32 * POINTS wide, of which the middle is its own and a margin of FUSED * X_REACH on each side is
// computed twice; it walks along z, one row a turn, with all FUSED stages in flight:
//
//     row z           of level 0   read from memory, several turns ahead
//     row z -   REACH of level 1   complete once row z of level 0 is added to its partial sums
//     row z - 2 REACH of level 2   ... and so on; the row of level FUSED goes to memory
//
// A lane holds POINTS consecutive points of a row; its neighbours' come by shuffles. Between turns a stage keeps the
// 2 * Z_REACH rows of partial sums that are not complete, in registers. No shared memory, no barrier, and no copies:
// sums move on by being written one place lower.
//
// Boundaries: turns that meet an edge take the same steps with these additions, so every level is right at every point.
//   along x   a row passes through shared memory, and points past an edge take the value of their fold; frozen points
//             keep theirs;   wrap: margins are read from the other end, and just step
//   along z   device/edge.cuh
// Where one tile SPANS all of a row, nothing comes in from its ends: its margins only hold the points past the edges.
#include "device/edge.cuh"
#include "device/element.cuh"
#include "device/index.cuh"
#include "params.cuh"

constexpr int WIDTH = 32 * POINTS;
constexpr int round_up(int a, int b) { return (a + b - 1) / b * b; }
constexpr int MARGIN = round_up(SPANS ? X_REACH : FUSED * X_REACH, VECTOR);
constexpr int OWN = WIDTH - 2 * MARGIN;  // points along x that a tile stores
constexpr int DEPTH = 2 * Z_REACH + 1;
constexpr int SIDE = 2 * X_REACH + 1;
static_assert(X_REACH >= 1 && Z_REACH >= 1 && X_REACH <= POINTS && OWN > X_REACH, "a lane's neighbours hold its halo");
static_assert(POINTS % VECTOR == 0 && VECTOR * sizeof(STORE) <= 16, "a lane's points are whole accesses");
static_assert(!SPANS || X_SIDE_LOW != WRAP, "what lies past an end is made out of the row itself");
static_assert((MIRROR_X == 0 || MIRROR_X == 1) && (MIRROR_Z == 0 || MIRROR_Z == 1), "flags");

struct plane_arguments {
    const STORE *in;
    STORE *out;
    long long nz, ny, nx;
    long long in_z, in_y, out_z, out_y;
    long long in_batch, out_batch;
    long long tiles;  // of all grids of the batch; x fastest, then z
    int tiles_x, tiles_y, tiles_z;
    int chunk;                 // rows along z of a tile
    REAL constant[3][2];       // value past each side, axes z, y, x
    REAL weight[DEPTH][SIDE];  // of every offset, 0 where there is no tap
};

// Which offsets are taps; only those cost anything.
struct tap_map {
    bool has[DEPTH][SIDE];
    bool row[DEPTH];  // any tap in this row
    bool pair[SIDE];  // MIRROR_X: any tap at this distance from the centre
};
constexpr tap_map find_taps() {
    tap_map m{};
    for (int k = 0; k < NTAPS; k++) {
        m.has[TAP_Z[k] + Z_REACH][TAP_X[k] + X_REACH] = true;
        m.row[TAP_Z[k] + Z_REACH] = true;
        m.pair[TAP_X[k] < 0 ? -TAP_X[k] : TAP_X[k]] = true;
    }
    return m;
}
constexpr tap_map TAPS = find_taps();
constexpr bool ANY_FIXED_X = (X_SIDE_LOW == FIXED && X_LOW) || (X_SIDE_HIGH == FIXED && X_HIGH);

struct tile {
    const STORE *grid;
    long long x;      // of this lane's first point
    bool inside_x;    // no point of the tile lies past an edge along x, or is frozen because of one
    unsigned frozen;  // bit v: this lane's point v is
    REAL *exchange;   // WIDTH values of shared memory for this warp
};

// POINTS values of level 0; what no boundary rule can use stays 0.
__device__ __forceinline__ void load_row(const plane_arguments &a, const tile &t, long long z, STORE (&row)[POINTS]) {
    if (z < 0 || z >= a.nz) {
        if (Z_SIDE_LOW != WRAP) return;
        z %= a.nz;
        if (z < 0) z += a.nz;
    }
    const STORE *const from = t.grid + z * a.in_z;
    if (t.inside_x) {
#pragma unroll
        for (int s = 0; s < POINTS; s += VECTOR) {
            STORE run[VECTOR];
            load_run(run, from + t.x + s);
#pragma unroll
            for (int e = 0; e < VECTOR; e++) row[s + e] = run[e];
        }
        return;
    }
#pragma unroll
    for (int s = 0; s < POINTS; s += VECTOR) {
        STORE run[VECTOR] = {};
        if (t.x + s >= 0 && t.x + s + VECTOR <= a.nx)
            load_run(run, from + t.x + s);
        else
#pragma unroll
            for (int e = 0; e < VECTOR; e++) {
                long long x = t.x + s + e;
                if (X_SIDE_LOW == WRAP) {
                    x %= a.nx;
                    if (x < 0) x += a.nx;
                }
                if (x >= 0 && x < a.nx) run[e] = from[x];
            }
#pragma unroll
        for (int e = 0; e < VECTOR; e++) row[s + e] = run[e];
    }
}

// The row with X_REACH points of each neighbour.
__device__ __forceinline__ void widen_row(const REAL (&row)[POINTS], REAL (&window)[POINTS + 2 * X_REACH]) {
#pragma unroll
    for (int v = 0; v < POINTS; v++) window[X_REACH + v] = row[v];
#pragma unroll
    for (int k = 0; k < X_REACH; k++) {
        window[k] = __shfl_up_sync(0xffffffffu, row[POINTS - X_REACH + k], 1);
        window[X_REACH + POINTS + k] = __shfl_down_sync(0xffffffffu, row[k], 1);
    }
}

// The taps of row `d` of the stencil at point v, added to `sum`.
__device__ __forceinline__ REAL add_taps(const plane_arguments &a, const REAL (&window)[POINTS + 2 * X_REACH],
                                         const REAL (&pairs)[X_REACH + 1][POINTS], int d, int v, REAL sum, bool begin) {
#pragma unroll
    for (int k = -X_REACH; k <= X_REACH; k++) {
        if (!TAPS.has[d][k + X_REACH] || (MIRROR_X && k < 0)) continue;
        const REAL value = MIRROR_X && k > 0 ? pairs[k > 0 ? k : 0][v] : window[X_REACH + v + k];
        sum = begin ? a.weight[d][k + X_REACH] * value : sum + a.weight[d][k + X_REACH] * value;
        begin = false;
    }
    return sum;
}

// Points past an edge along x, from the points of the same row that they fold to.
__device__ __forceinline__ void refresh_row(const plane_arguments &a, const tile &t, REAL (&row)[POINTS]) {
    constexpr bool LOW = X_SIDE_LOW != WRAP && X_SIDE_LOW != FIXED, HIGH = X_SIDE_HIGH != WRAP && X_SIDE_HIGH != FIXED;
    if (!LOW && !HIGH) return;
    const int lane = threadIdx.x;
    __syncwarp();
#pragma unroll
    for (int v = 0; v < POINTS; v++) t.exchange[lane * POINTS + v] = row[v];
    __syncwarp();
    const long long first = t.x - lane * POINTS;
#pragma unroll
    for (int v = 0; v < POINTS; v++) {
        const long long x = t.x + v;
        if (inside(x, a.nx) || x < -X_REACH || x >= a.nx + X_REACH) continue;
        const long long f = x < 0 ? fold_low<X_SIDE_LOW>(x, a.nx) : fold_high<X_SIDE_HIGH>(x, a.nx);
        if (f < 0)
            row[v] = a.constant[2][x >= 0];
        else if (inside(f - first, WIDTH))
            row[v] = t.exchange[f - first];
    }
}

// A row near an edge along z, added in the place of those that fold to it; `row` is the output that is complete.
__device__ __forceinline__ void add_folded(const plane_arguments &a, const tile &t,
                                           const REAL (&window)[POINTS + 2 * X_REACH], unsigned folded, unsigned frozen,
                                           REAL (&row)[POINTS], REAL (&sums)[DEPTH - 1][POINTS]) {
#pragma unroll 1
    for (int g = -2 * Z_REACH; g <= 2 * Z_REACH; g++) {
        if (!(folded >> (2 * Z_REACH + g) & 1)) continue;
#pragma unroll
        for (int d = 0; d < DEPTH; d++) {
            const int tap = DEPTH - 1 - d + g;
            if (tap < 0 || tap >= DEPTH || (frozen >> d & 1)) continue;
#pragma unroll
            for (int v = 0; v < POINTS; v++) {
                REAL &sum = d ? sums[d ? d - 1 : 0][v] : row[v];
                REAL more = sum;
#pragma unroll
                for (int k = 0; k < SIDE; k++) more += a.weight[tap][k] * window[v + k];
                if (!ANY_FIXED_X || !(t.frozen >> v & 1)) sum = more;
            }
        }
    }
}

// A stage takes row z of its level and gives the row, Z_REACH earlier, of the next.
template <bool EDGE_X, bool EDGE_Z>
__device__ __forceinline__ void take_row(const plane_arguments &a, const tile &t, long long z, REAL (&row)[POINTS],
                                         REAL (&sums)[DEPTH - 1][POINTS]) {
    REAL window[POINTS + 2 * X_REACH], pairs[X_REACH + 1][POINTS];
    const unsigned folded = EDGE_Z ? folded_rows(z, a.nz) : 0, frozen = EDGE_Z ? frozen_outputs(z, a.nz) : 0;
    if (EDGE_X && !(EDGE_Z && t.inside_x)) refresh_row(a, t, row);
    if (EDGE_Z && past_z(z, a.nz))
#pragma unroll
        for (int v = 0; v < POINTS; v++) row[v] = value_past_z(z, a.constant[0]);
    widen_row(row, window);
    if (MIRROR_X)
#pragma unroll
        for (int k = 1; k <= X_REACH; k++)
            if (TAPS.pair[k])
#pragma unroll
                for (int v = 0; v < POINTS; v++) pairs[k][v] = window[X_REACH + v - k] + window[X_REACH + v + k];
#pragma unroll
    for (int v = 0; v < POINTS; v++) {
        REAL next[DEPTH];  // next[d] belongs to the output whose tap DEPTH-1-d this row is
#pragma unroll
        for (int d = 0; d < DEPTH; d++) next[d] = d < DEPTH - 1 ? sums[d < DEPTH - 1 ? d : 0][v] : REAL(0);
        if (!MIRROR_Z) {
#pragma unroll
            for (int d = 0; d < DEPTH; d++) next[d] = add_taps(a, window, pairs, DEPTH - 1 - d, v, next[d], false);
        } else {
            next[Z_REACH] = add_taps(a, window, pairs, Z_REACH, v, next[Z_REACH], false);
#pragma unroll
            for (int d = 0; d < Z_REACH; d++) {
                if (!TAPS.row[d]) continue;
                const REAL both = add_taps(a, window, pairs, d, v, REAL(0), true);
                next[d] += both;
                next[DEPTH - 1 - d] += both;
            }
        }
        const bool point = EDGE_X && ANY_FIXED_X && (t.frozen >> v & 1);
#pragma unroll
        for (int d = 0; d <= Z_REACH; d++)  // a frozen point keeps its value, and nothing is added to it afterwards
            if (point || (frozen >> d & 1)) next[d] = d == Z_REACH ? row[v] : sums[d < DEPTH - 1 ? d : 0][v];
        row[v] = next[0];
#pragma unroll
        for (int d = 0; d < DEPTH - 1; d++) sums[d][v] = next[d + 1];
    }
    if (FOLDS_Z && folded) add_folded(a, t, window, folded, frozen, row, sums);
}

// Lanes whose points belong to the margins store nothing.
__device__ __forceinline__ void store_row(const plane_arguments &a, const tile &t, STORE *out, long long z,
                                          long long own, const REAL (&row)[POINTS]) {
    STORE *const to = out + z * a.out_z;
#pragma unroll
    for (int s = 0; s < POINTS; s += VECTOR) {
        const long long x = t.x + s;
        if (x < own || x >= own + OWN) continue;
        STORE run[VECTOR];
#pragma unroll
        for (int e = 0; e < VECTOR; e++) run[e] = narrow<STORE>(row[s + e]);
        if (x + VECTOR <= a.nx)
            store_run(to + x, run);
        else
#pragma unroll
            for (int e = 0; e < VECTOR; e++)
                if (x + e < a.nx) to[x + e] = run[e];
    }
}

extern "C" __global__ void __launch_bounds__(32, BLOCKS) direct_time_plane(const __grid_constant__ plane_arguments a) {
    __shared__ REAL exchange[WIDTH];
    long long number = blockIdx.x;
    // The tiles at the edges along x take longest, so they come first; then the others, side by side.
    const int edges = min(a.tiles_x, 2);
    const long long early = a.tiles / a.tiles_x * edges;
    const bool is_early = number < early;
    const int columns = is_early ? edges : a.tiles_x - edges;
    if (!is_early) number -= early;
    const long long column = number % columns;
    const long long own = (is_early ? column * (a.tiles_x - 1) : column + 1) * OWN, first = own - MARGIN;
    number /= columns;
    const long long z0 = number % a.tiles_z * a.chunk, batch = number / a.tiles_z;

    tile t;
    t.grid = a.in + batch * a.in_batch;
    t.x = first + threadIdx.x * POINTS;
    t.inside_x = first >= X_REACH && first + WIDTH + X_REACH <= a.nx;
    t.exchange = exchange;
    t.frozen = 0;
#pragma unroll
    for (int v = 0; v < POINTS; v++)
        if ((X_SIDE_LOW == FIXED && t.x + v < X_LOW) || (X_SIDE_HIGH == FIXED && t.x + v >= a.nx - X_HIGH))
            t.frozen |= 1u << v;
    STORE *const out = a.out + batch * a.out_batch;
    const long long z1 = min(z0 + a.chunk, a.nz), last = z1 + FUSED * Z_REACH;

    REAL sums[FUSED][DEPTH - 1][POINTS] = {};
    STORE ahead[PREFETCH][POINTS] = {};
    long long z = z0 - FUSED * Z_REACH;
#pragma unroll
    for (int p = 0; p < PREFETCH; p++) load_row(a, t, z + p, ahead[p]);
#pragma unroll 1
    for (; z < last; z++) {
        REAL row[POINTS];
#pragma unroll
        for (int v = 0; v < POINTS; v++) row[v] = widen(ahead[0][v]);
#pragma unroll
        for (int p = 0; p + 1 < PREFETCH; p++)
#pragma unroll
            for (int v = 0; v < POINTS; v++) ahead[p][v] = ahead[p + 1][v];
        if (z + PREFETCH < last) load_row(a, t, z + PREFETCH, ahead[PREFETCH - 1]);

        const bool inside_z = Z_SIDE_LOW == WRAP || (z >= (FUSED + 1) * Z_REACH && z + 2 * Z_REACH < a.nz);
        if (!inside_z) {
#pragma unroll
            for (int s = 0; s < FUSED; s++) take_row<true, true>(a, t, z - s * Z_REACH, row, sums[s]);
        } else if (X_SIDE_LOW == WRAP || t.inside_x) {
#pragma unroll
            for (int s = 0; s < FUSED; s++) take_row<false, false>(a, t, z, row, sums[s]);
        } else {
#pragma unroll
            for (int s = 0; s < FUSED; s++) take_row<true, false>(a, t, z, row, sums[s]);
        }
        const long long done = z - FUSED * Z_REACH;
        if (done >= z0) store_row(a, t, out, done, own, row);
    }
}
