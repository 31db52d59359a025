// Several steps of a 2D or 3D system in one launch.
//
// A pass is one assignment of one step. A block owns a tile of a plane (in 2D: of a row) and
// marches along the slowest axis, FUSED_PLANES planes an iteration, with all passes in flight:
//
//     planes          p           of the inputs: levels of fields and coefficients, read from
//                                 memory one iteration ahead
//     planes          p - LAG[1]  of the result of pass 1, from the planes in shared memory
//     planes          p - LAG[2]  of pass 2, ...; results of the last steps are stored
//
// Inputs and results are nodes. Each node has the planes that later passes still read as a ring in
// shared memory, each a whole tile:
//
//     +-----------------------------------+
//     |  margin, computed by neighbouring |     A pass computes the points that later passes need:
//     |  tiles as well                    |     [NODE_X[n][0], NODE_X[n][1]) of the tile's columns,
//     |    +-------------------------+    |     and the same for rows.
//     |    |  stored                 |    |
//     |    +-------------------------+    |
//     +-----------------------------------+
//
// A thread has one column and FUSED_ROWS rows of each plane. Points past sides along x and across
// are computed as well: they are the value of the point that they fold to, or its negative, so that
// reads need no folding. Planes near the ends of the march fold each read. Along an axis on which
// some array wraps the tile continues past the sides, with points of the other end; where arrays
// with other rules are read past the same sides, reads near them are folded, warp by warp.
//
// Reads STORE, REAL, SYSTEM_*, FUSED_*, NODE_*, PASS_*, THREADS_X, THREADS_Y, BLOCKS, equation.
#include "device/element.cuh"
#include "device/launch_checks.cuh"
#include "params.cuh"
#include "system/fold.cuh"

constexpr int THREADS = THREADS_X * THREADS_Y;
constexpr int WIDTH = THREADS_X, HEIGHT = THREADS_Y * FUSED_ROWS, PLANE = WIDTH * HEIGHT;
constexpr int NODES = FUSED_INPUTS + FUSED_PASSES;
constexpr bool IS_3D = FUSED_MARCH == 0;
// Along x or across, some arrays wrap and others are read past the sides of the same axis.
constexpr bool MIXES = (FUSED_CONTINUES[2] && !FUSED_WHOLE[2]) || (IS_3D && FUSED_CONTINUES[1] && !FUSED_WHOLE[1]);
static_assert(THREADS_X % 32 == 0, "a warp has one row");
static_assert(IS_3D || HEIGHT == 1, "a plane of a 2D grid is a row");

struct fused_arguments {
    const STORE *input[FUSED_INPUTS];
    STORE *output[FUSED_OUTPUTS];
    long long n[3], points;  // points of one grid; axes z, y, x
    long long live_low[FUSED_EQUATIONS][3], live_high[FUSED_EQUATIONS][3];
    int tiles_x, tiles_y, chunks;  // blocks along x, across, and along the march
    int chunk;                     // planes of a block, a multiple of FUSED_PLANES
    REAL values[SYSTEM_VALUES];    // numbers, then the sides' constants
};
static_assert(layout_matches(sizeof(fused_arguments), sizeof(fused_arguments::values)),
              "the launcher's mirrored struct of the arguments");

struct tile {
    const fused_arguments &a;
    STORE *shared;
    long long grid;       // elements before the grid
    int first, y, x;      // the block's first plane; row and column where the tile begins
    int own, iterations;  // planes that the block stores; iterations of a chunk
    int row, column;      // of the thread, in the tile
    int extent, across;   // points along the march, and of the axis across
    bool inside;          // no read of the warp leaves the grid along x or across
    bool outside;         // some point of the thread lies past a side at which the tile ends
};

__device__ __forceinline__ bool lies_in(int i, int n) { return i >= 0 && i < n; }
__device__ __forceinline__ int wrapped(int i, int n) {
    if (lies_in(i, n)) return i;
    i %= n;
    return i < 0 ? i + n : i;
}
__device__ __forceinline__ long long index_of(const fused_arguments &a, int plane, int row, int column) {
    return IS_3D ? (plane * a.n[1] + row) * a.n[2] + column : plane * a.n[2] + column;
}

// Where a point past a side takes its value from: `sign` times that of point (y, x), or a constant.
// Only points that assignments can read exist. Along an axis on which the tile continues, a point
// is its own source.
struct source_point {
    int y, x, constant;  // index in values; negative: none
    REAL sign;
    bool exists;
};
template <int A, int AXIS>
__device__ __forceinline__ bool fold_source(int &i, int n, source_point &from) {
    if (FUSED_CONTINUES[AXIS] || lies_in(i, n)) return true;
    from.exists = i >= -FUSED_REACH[2 * AXIS] && i < n + FUSED_REACH[2 * AXIS + 1];
    const int folded = from.exists ? rule<A, AXIS>::fold(i, n) : 0;
    from.constant = folded < 0 ? SYSTEM_PAST[A][2 * AXIS + (folded == PAST_HIGH)] : -1;
    if (folded < 0 || !from.exists) return false;
    from.sign *= rule<A, AXIS>::sign(i, n);
    i = folded;
    return true;
}
template <int N>
__device__ __forceinline__ source_point source_of(const tile &t, int r) {
    constexpr int A = NODE_RULE[N];
    source_point from{t.y + t.row + r, t.x + t.column, -1, REAL(1), true};
    if (!t.outside) return from;
    if (!IS_3D || fold_source<A, 1>(from.y, t.across, from))
        fold_source<A, 2>(from.x, static_cast<int>(t.a.n[2]), from);
    return from;
}

// Plane d of node N, counted from the iteration's first one. Lags and rings are whole iterations,
// so that the planes of an iteration are adjacent; at[N] is the place of this one's in the ring.
template <int N>
__device__ __forceinline__ STORE *plane_of(const tile &t, const int (&at)[NODES], int d) {
    constexpr int COUNT = NODE_RING[N] > 0 ? NODE_RING[N] / FUSED_PLANES : 1, MANY = 4096;
    const int by = (d + MANY * FUSED_PLANES) / FUSED_PLANES - MANY, within = d - by * FUSED_PLANES;
    int slot = at[N] + (by % COUNT + COUNT) % COUNT;
    slot = slot >= COUNT ? slot - COUNT : slot;
    return t.shared + (NODE_AT[N] + slot * FUSED_PLANES + within) * PLANE;
}

// ---- inputs

template <int N, int AHEAD>
__device__ __forceinline__ void fetch_input(const tile &t, const int (&at)[NODES], int iteration) {
    if (iteration < NODE_BEGIN[N] || iteration >= NODE_END[N] + t.iterations) return;
    if (t.column < NODE_X[N][0] || t.column >= NODE_X[N][1] || t.row < NODE_Y[N][0] || t.row >= NODE_Y[N][1]) return;
    const STORE *const array = t.a.input[N] + (NODE_SHARED[N] ? 0 : t.grid);
    const int first = t.first + iteration * FUSED_PLANES - NODE_LAG[N], nx = static_cast<int>(t.a.n[2]);
    const bool inside = first >= 0 && first + FUSED_PLANES <= t.extent;
#pragma unroll
    for (int r = 0; r < FUSED_ROWS; r++) {
        const source_point from = source_of<N>(t, r);
        if (!from.exists) continue;
        const int y = IS_3D && FUSED_CONTINUES[1] ? wrapped(from.y, t.across) : from.y;
        const int x = FUSED_CONTINUES[2] ? wrapped(from.x, nx) : from.x;
#pragma unroll
        for (int k = 0; k < FUSED_PLANES; k++) {
            int plane = first + k;
            if (!inside) {
                if (FUSED_CONTINUES[FUSED_MARCH]) plane = wrapped(plane, t.extent);
                if (!lies_in(plane, t.extent)) continue;
            }
            STORE *const to =
                plane_of<N>(t, at, AHEAD * FUSED_PLANES - NODE_LAG[N] + k) + (t.row + r) * WIDTH + t.column;
            if (from.constant >= 0)
                *to = narrow<STORE>(from.sign * t.a.values[from.constant]);
            else if (from.sign < 0)
                *to = narrow<STORE>(-widen(array[index_of(t.a, plane, y, x)]));
            else
                copy_element(to, array + index_of(t.a, plane, y, x));
        }
    }
}
template <int N, int AHEAD>
struct inputs {
    __device__ __forceinline__ static void fetch(const tile &t, const int (&at)[NODES], int iteration) {
        inputs<N - 1, AHEAD>::fetch(t, at, iteration);
        fetch_input<N, AHEAD>(t, at, iteration);
    }
};
template <int AHEAD>
struct inputs<-1, AHEAD> {
    __device__ __forceinline__ static void fetch(const tile &, const int (&)[NODES], int) {}
};

// ---- what an assignment reads

// Points whose reads lie inside the grid.
template <int J>
struct inside {
    const tile &t;
    const int (&at)[NODES];
    int point, k;  // within the plane; plane of the iteration

    template <int A>
    __device__ __forceinline__ REAL field(int z, int y, int x) const {
        constexpr int N = PASS_NODE[J][A] < 0 ? 0 : PASS_NODE[J][A];
        const int d = (IS_3D ? z : y) + k - NODE_LAG[FUSED_INPUTS + J];
        return widen(plane_of<N>(t, at, d)[point + (IS_3D ? y * WIDTH : 0) + x]);
    }
    template <int A>
    __device__ __forceinline__ REAL shared(int z, int y, int x) const {
        return field<A>(z, y, x);
    }
    __device__ __forceinline__ REAL number(int i) const { return t.a.values[i]; }
};

// Any point of the grid: (z, y, x), which the tile holds at its place plus `by`.
template <int J>
struct near_side {
    const tile &t;
    const int (&at)[NODES];
    int z, y, x, by_plane, by_row, by_column;

    template <int A>
    struct load {
        const near_side &from;
        __device__ __forceinline__ REAL operator()(int z, int y, int x) const {
            constexpr int N = PASS_NODE[J][A] < 0 ? 0 : PASS_NODE[J][A];
            const int d = (IS_3D ? z : y) + from.by_plane, row = IS_3D ? y + from.by_row : 0;
            return widen(plane_of<N>(from.t, from.at, d)[row * WIDTH + x + from.by_column]);
        }
    };
    template <int A>
    __device__ __forceinline__ REAL field(int dz, int dy, int dx) const {
        return read_folded<A, true>(t.a.n, t.a.values, z, y, x, dz, dy, dx, load<A>{*this});
    }
    template <int A>
    __device__ __forceinline__ REAL shared(int dz, int dy, int dx) const {
        return field<A>(dz, dy, dx);
    }
    __device__ __forceinline__ REAL number(int i) const { return t.a.values[i]; }
};

// ---- passes

// Stores a result of pass J: plane d of the iteration, `plane` of the block.
template <int J>
__device__ __forceinline__ void put(const tile &t, const int (&at)[NODES], int d, int plane, int r, STORE value) {
    constexpr int N = FUSED_INPUTS + J;
    const int row = t.row + r, y = t.y + row, x = t.x + t.column;
    if (NODE_RING[N]) plane_of<N>(t, at, d)[row * WIDTH + t.column] = value;
    if (PASS_OUT[J] < 0 || !lies_in(plane, t.own)) return;
    if (row < FUSED_MARGIN[2] || row >= HEIGHT - FUSED_MARGIN[3] || y >= t.across) return;
    if (t.column < FUSED_MARGIN[4] || t.column >= WIDTH - FUSED_MARGIN[5] || x >= t.a.n[2]) return;
    t.a.output[PASS_OUT[J] < 0 ? 0 : PASS_OUT[J]][t.grid + index_of(t.a, t.first + plane, y, x)] = value;
}

template <int E>
__device__ __forceinline__ bool is_live(const fused_arguments &a, int z, int y, int x) {
    return !FUSED_FREEZES[E] || (z >= a.live_low[E][0] && z < a.live_high[E][0] && y >= a.live_low[E][1] &&
                                 y < a.live_high[E][1] && x >= a.live_low[E][2] && x < a.live_high[E][2]);
}

// Whether pass J computes the source of a point, so that it exists.
template <int J>
__device__ __forceinline__ bool has(const tile &t, const source_point &from) {
    constexpr int N = FUSED_INPUTS + J;
    const int row = from.y - t.y, column = from.x - t.x;
    return from.exists && column >= NODE_X[N][0] && column < NODE_X[N][1] && row >= NODE_Y[N][0] && row < NODE_Y[N][1];
}

// One point of pass J, which may lie past a side, on plane k of the iteration. NEAR: its source is
// near a side, so that each read is folded.
template <int J, bool NEAR>
__device__ __forceinline__ void compute_point(const tile &t, const int (&at)[NODES], int plane, int k, int r) {
    constexpr int N = FUSED_INPUTS + J, E = PASS_EQUATION[J], PRESENT = PASS_PRESENT[J] < 0 ? 0 : PASS_PRESENT[J];
    const source_point from = source_of<N>(t, r);
    const int nx = static_cast<int>(t.a.n[2]), d = k - NODE_LAG[N], m = t.first + plane;
    const int own_m = FUSED_CONTINUES[FUSED_MARCH] ? wrapped(m, t.extent) : m;
    if (!lies_in(own_m, t.extent)) return;
    if (from.constant >= 0) {
        put<J>(t, at, d, plane, r, narrow<STORE>(from.sign * t.a.values[from.constant]));
        return;
    }
    if (!has<J>(t, from)) return;
    const int own_y = IS_3D && FUSED_CONTINUES[1] ? wrapped(from.y, t.across) : from.y;
    const int own_x = FUSED_CONTINUES[2] ? wrapped(from.x, nx) : from.x;
    const int gz = IS_3D ? own_m : 0, gy = IS_3D ? own_y : own_m, point = (from.y - t.y) * WIDTH + from.x - t.x;
    STORE value;
    if (NEAR)
        value = narrow<STORE>(equation<E>::value(
            near_side<J>{t, at, gz, gy, own_x, d - own_m, from.y - t.y - own_y, from.x - t.x - own_x}));
    else
        value = narrow<STORE>(equation<E>::value(inside<J>{t, at, point, k}));
    if (!is_live<E>(t.a, gz, gy, own_x)) value = plane_of<PRESENT>(t, at, d)[point];
    put<J>(t, at, d, plane, r, from.sign < 0 ? narrow<STORE>(-widen(value)) : value);
}

template <int J>
__device__ __forceinline__ void compute(const tile &t, const int (&at)[NODES], int iteration) {
    constexpr int N = FUSED_INPUTS + J, E = PASS_EQUATION[J];
    if (iteration < NODE_BEGIN[N] || iteration >= NODE_END[N] + t.iterations) return;
    if (t.column < NODE_X[N][0] || t.column >= NODE_X[N][1] || t.row < NODE_Y[N][0] || t.row >= NODE_Y[N][1]) return;
    const int plane = iteration * FUSED_PLANES - NODE_LAG[N], m = t.first + plane;
    const bool inside_march =
        FUSED_WHOLE[FUSED_MARCH] ||
        (m >= FUSED_REACH[2 * FUSED_MARCH] && m + FUSED_PLANES + FUSED_REACH[2 * FUSED_MARCH + 1] <= t.extent);
    if (t.inside && inside_march) {
        STORE value[FUSED_PLANES][FUSED_ROWS];
#pragma unroll
        for (int k = 0; k < FUSED_PLANES; k++)
#pragma unroll
            for (int r = 0; r < FUSED_ROWS; r++)
                value[k][r] = narrow<STORE>(equation<E>::value(inside<J>{t, at, (t.row + r) * WIDTH + t.column, k}));
#pragma unroll
        for (int k = 0; k < FUSED_PLANES; k++)
#pragma unroll
            for (int r = 0; r < FUSED_ROWS; r++) put<J>(t, at, k - NODE_LAG[N], plane + k, r, value[k][r]);
        return;
    }
    if (inside_march && !MIXES) {
#pragma unroll
        for (int r = 0; r < FUSED_ROWS; r++)
#pragma unroll
            for (int k = 0; k < FUSED_PLANES; k++) compute_point<J, false>(t, at, plane + k, k, r);
        return;
    }
#pragma unroll 1
    for (int i = 0; i < FUSED_PLANES * FUSED_ROWS; i++)
        compute_point<J, true>(t, at, plane + i / FUSED_ROWS, i / FUSED_ROWS, i % FUSED_ROWS);
}
template <int J>
struct passes {
    __device__ __forceinline__ static void run(const tile &t, const int (&at)[NODES], int iteration) {
        passes<J - 1>::run(t, at, iteration);
        if (PASS_WAITS[J]) __syncthreads();
        compute<J>(t, at, iteration);
    }
};
template <>
struct passes<-1> {
    __device__ __forceinline__ static void run(const tile &, const int (&)[NODES], int) {}
};

static_assert(shared_bytes_match(sizeof(STORE) * FUSED_SLOTS * PLANE, 15), "the launcher gives as much shared memory");
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) system_fused(const __grid_constant__ fused_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    const unsigned row = blockIdx.x / a.tiles_x, tile_x = blockIdx.x - row * a.tiles_x;
    const unsigned chunk = row / a.tiles_y, tile_y = row - chunk * a.tiles_y;
    const unsigned batch = chunk / a.chunks;
    const int extent = static_cast<int>(a.n[FUSED_MARCH]), across = IS_3D ? static_cast<int>(a.n[1]) : 1;
    const int first = (chunk - batch * a.chunks) * a.chunk;
    const int y = static_cast<int>(tile_y) * (HEIGHT - FUSED_MARGIN[2] - FUSED_MARGIN[3]) - FUSED_MARGIN[2];
    const int x = static_cast<int>(tile_x) * (WIDTH - FUSED_MARGIN[4] - FUSED_MARGIN[5]) - FUSED_MARGIN[4];
    const int in_y = threadIdx.y * FUSED_ROWS, in_x = threadIdx.x;
    const int warp_x = x + (in_x & ~31), warp_y = y + in_y;
    const bool is_inside =
        (FUSED_WHOLE[2] || (warp_x >= FUSED_REACH[4] && warp_x + 32 + FUSED_REACH[5] <= a.n[2])) &&
        (!IS_3D || FUSED_WHOLE[1] || (warp_y >= FUSED_REACH[2] && warp_y + FUSED_ROWS + FUSED_REACH[3] <= across));
    tile t{a,
           reinterpret_cast<STORE *>(stn_shared),
           batch * a.points,
           first,
           y,
           x,
           min(extent - first, a.chunk),
           a.chunk / FUSED_PLANES,
           in_y,
           in_x,
           extent,
           across,
           is_inside,
           false};
    t.outside = (!FUSED_CONTINUES[2] && !lies_in(x + in_x, static_cast<int>(a.n[2]))) ||
                (IS_3D && !FUSED_CONTINUES[1] && (y + in_y < 0 || y + in_y + FUSED_ROWS > across));
    int at[NODES];
#pragma unroll
    for (int n = 0; n < NODES; n++) at[n] = NODE_START[n];
    inputs<FUSED_INPUTS - 1, 0>::fetch(t, at, FUSED_BEGIN);
    copy_async_commit();
#pragma unroll 1
    for (int iteration = FUSED_BEGIN; iteration < FUSED_END + t.iterations; iteration++) {
        copy_async_wait<0>();
        __syncthreads();
        inputs<FUSED_INPUTS - 1, 1>::fetch(t, at, iteration + 1);
        copy_async_commit();
        passes<FUSED_PASSES - 1>::run(t, at, iteration);
#pragma unroll
        for (int n = 0; n < NODES; n++) {
            at[n]++;
            if (at[n] >= NODE_RING[n] / FUSED_PLANES) at[n] = 0;
        }
    }
}
