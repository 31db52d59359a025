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
// A thread has one column and FUSED_ROWS rows of each plane. Points whose reads all lie inside the
// grid are computed by a plain sequence of instructions, the others, warp by warp, by folding each
// read. Along an axis on which some array wraps the tile continues past the sides, with points of
// the other end; arrays with other rules are folded at the point's own place.
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
    long long grid;                  // elements before the grid
    int first, y, x;                 // the block's first plane; row and column where the tile begins
    int own, iterations;             // planes that the block stores; iterations of a chunk
    int row, column;                 // of the thread, in the tile
    int extent, across;              // points along the march, and of the axis across
    bool inside;                     // no read of the warp leaves the grid along x or across
    int from_x, from_y[FUSED_ROWS];  // the thread's column and rows in the grid; negative: none
};

__device__ __forceinline__ bool lies_in(int i, int n) { return i >= 0 && i < n; }
__device__ __forceinline__ int wrapped(int i, int n) {
    if (lies_in(i, n)) return i;
    i %= n;
    return i < 0 ? i + n : i;
}
__device__ __forceinline__ int source(int i, int n, bool continues) {
    return lies_in(i, n) ? i : continues ? wrapped(i, n) : -1;
}
__device__ __forceinline__ long long index_of(const fused_arguments &a, int plane, int row, int column) {
    return IS_3D ? (plane * a.n[1] + row) * a.n[2] + column : plane * a.n[2] + column;
}

// Plane d of node N, counted from the iteration's first one. Lags and rings are whole iterations, so
// that the planes of an iteration are adjacent; at[N] is the place of this one's in the ring.
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
    if (t.from_x < 0) return;
    const STORE *const from = t.a.input[N] + (NODE_SHARED[N] ? 0 : t.grid) + t.from_x;
    const int first = t.first + iteration * FUSED_PLANES - NODE_LAG[N];
    const bool inside = first >= 0 && first + FUSED_PLANES <= t.extent;
#pragma unroll
    for (int k = 0; k < FUSED_PLANES; k++) {
        int plane = first + k;
        if (!inside) {
            if (FUSED_CONTINUES[FUSED_MARCH]) plane = wrapped(plane, t.extent);
            if (!lies_in(plane, t.extent)) continue;
        }
        STORE *const to = plane_of<N>(t, at, AHEAD * FUSED_PLANES - NODE_LAG[N] + k) + t.row * WIDTH + t.column;
#pragma unroll
        for (int r = 0; r < FUSED_ROWS; r++)
            if (t.from_y[r] >= 0) copy_element(to + r * WIDTH, from + index_of(t.a, plane, t.from_y[r], 0));
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

template <int J>
__device__ __forceinline__ void compute_near_side(const tile &t, const int (&at)[NODES], int plane, int k, int r) {
    constexpr int N = FUSED_INPUTS + J, E = PASS_EQUATION[J], PRESENT = PASS_PRESENT[J] < 0 ? 0 : PASS_PRESENT[J];
    const int nx = static_cast<int>(t.a.n[2]), row = t.row + r, d = k - NODE_LAG[N];
    const int m = t.first + plane, own_m = FUSED_CONTINUES[FUSED_MARCH] ? wrapped(m, t.extent) : m;
    const int y = t.y + row, own_y = IS_3D && FUSED_CONTINUES[1] ? wrapped(y, t.across) : y;
    const int x = t.x + t.column, own_x = FUSED_CONTINUES[2] ? wrapped(x, nx) : x;
    if (!lies_in(own_m, t.extent) || !lies_in(own_y, t.across) || !lies_in(own_x, nx)) return;
    const int gz = IS_3D ? own_m : 0, gy = IS_3D ? own_y : own_m;
    const near_side<J> around{t, at, gz, gy, own_x, d - own_m, row - own_y, t.column - own_x};
    STORE value = narrow<STORE>(equation<E>::value(around));
    if (!is_live<E>(t.a, gz, gy, own_x)) value = plane_of<PRESENT>(t, at, d)[row * WIDTH + t.column];
    put<J>(t, at, d, plane, r, value);
}

template <int J>
__device__ __forceinline__ void compute(const tile &t, const int (&at)[NODES], int iteration) {
    constexpr int N = FUSED_INPUTS + J, E = PASS_EQUATION[J];
    if (iteration < NODE_BEGIN[N] || iteration >= NODE_END[N] + t.iterations) return;
    if (t.column < NODE_X[N][0] || t.column >= NODE_X[N][1] || t.row < NODE_Y[N][0] || t.row >= NODE_Y[N][1]) return;
    const int plane = iteration * FUSED_PLANES - NODE_LAG[N], m = t.first + plane;
    if (t.inside && (FUSED_WHOLE[FUSED_MARCH] || (m >= FUSED_REACH[2 * FUSED_MARCH] &&
                                                  m + FUSED_PLANES + FUSED_REACH[2 * FUSED_MARCH + 1] <= t.extent))) {
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
#pragma unroll 1
    for (int i = 0; i < FUSED_PLANES * FUSED_ROWS; i++)
        compute_near_side<J>(t, at, plane + i / FUSED_ROWS, i / FUSED_ROWS, i % FUSED_ROWS);
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
           0,
           {0}};
    t.from_x = source(x + in_x, static_cast<int>(a.n[2]), FUSED_CONTINUES[2]);
#pragma unroll
    for (int r = 0; r < FUSED_ROWS; r++) t.from_y[r] = source(y + in_y + r, across, IS_3D && FUSED_CONTINUES[1]);
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
