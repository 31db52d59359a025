// Several steps of a 2D system in one launch.
//
// A pass is one assignment of one step. A block owns a range of columns and marches along the
// slowest axis, FUSED_ROWS rows an iteration, with all passes in flight:
//
//     rows  p           of the inputs: levels of fields and coefficients, read from memory one
//                       iteration ahead
//     rows  p - LAG[1]  of the result of pass 1, from the rows in shared memory
//     rows  p - LAG[2]  of pass 2, ...; results of the last steps are stored
//
// Inputs and results are nodes. Each node has the rows that later passes still read as a ring in
// shared memory, each as wide as the tile:
//
//     |  margin  |  stored                 |  margin  |
//
// Margins are computed by neighbouring tiles as well. A pass computes the points that later passes
// need: columns [NODE_X[n][0], NODE_X[n][1]) of the tile.
//
// A thread has FUSED_VECTOR adjacent columns, which it loads and stores by one access each where no
// side is near. Points past sides along x are computed as well: they are the value of the point
// that they fold to, or its negative, so that reads need no folding. In rows near the ends of the
// march each read is folded. Along an axis on which some array wraps the tile continues past the
// sides, with points of the other end; where arrays with other rules are read past the same sides,
// reads near them are folded, warp by warp.
//
// Reads STORE, REAL, SYSTEM_*, FUSED_*, NODE_*, PASS_*, THREADS_X, BLOCKS, equation.
#include "device/element.cuh"
#include "device/launch_checks.cuh"
#include "params.cuh"
#include "system/fold.cuh"

constexpr int V = FUSED_VECTOR, WIDTH = THREADS_X * V, NODES = FUSED_INPUTS + FUSED_PASSES;
// Along x some arrays wrap and others are read past the sides.
constexpr bool MIXES = FUSED_CONTINUES[2] && !FUSED_WHOLE[2];
static_assert(THREADS_X % 32 == 0, "blocks are whole warps");
static_assert(V == 1 || V * sizeof(STORE) == 4 || V * sizeof(STORE) == 8, "one access");
static_assert(FUSED_MARGIN[0] % V == 0 && FUSED_MARGIN[1] % V == 0, "a thread's columns are all stored or none");

// The columns of a thread in a row. Rows of the grid have a multiple of V points if V > 1, so that
// either all or none of these columns lie past a side.
struct alignas(V * sizeof(STORE)) thread_columns {
    STORE at[V];
};
template <int N>
__device__ __forceinline__ void load_columns(STORE (&to)[N], const STORE *from) {
    if constexpr (N == 1)
        to[0] = *from;
    else
        load_shared_run(to, from);
}
__device__ __forceinline__ void copy_columns(STORE *to, const STORE *from) {
    if constexpr (V == 1)
        copy_element(to, from);
    else if constexpr (V * sizeof(STORE) == 8)
        copy_async_8(to, from);
    else
        copy_async_4(to, from);
}

struct fused_arguments {
    const STORE *input[FUSED_INPUTS];
    STORE *output[FUSED_OUTPUTS];
    long long n[3], points;  // points of one grid; axes z, y, x
    // The points that are not frozen
    long long updated_low[FUSED_EQUATIONS][3], updated_high[FUSED_EQUATIONS][3];
    int tiles, chunks;           // blocks along x, and along the march
    int chunk, unused;           // rows of a block, a multiple of FUSED_ROWS
    REAL values[SYSTEM_VALUES];  // numbers, then the sides' constants
};
static_assert(layout_matches(sizeof(fused_arguments), sizeof(fused_arguments::values)),
              "the launcher's mirrored struct of the arguments");

struct tile {
    const fused_arguments &a;
    STORE *shared;
    long long grid;       // elements before this grid of the batch
    int first, x;         // the block's first row; column where the tile begins
    int own, iterations;  // rows that the block stores; iterations of a chunk
    int column;           // the thread's first one, in the tile
    int ny, nx;           // points of the grid
    bool inside;          // no read of the warp leaves the grid along x
    bool outside;         // the thread's points lie past a side that does not wrap
};
// The same tile, for column c of the thread alone.
__device__ __forceinline__ tile at_column(const tile &t, int c) {
    tile one = t;
    one.column += c;
    return one;
}

__device__ __forceinline__ bool lies_in(int i, int n) { return i >= 0 && i < n; }
__device__ __forceinline__ int wrapped(int i, int n) {
    if (lies_in(i, n)) return i;
    i %= n;
    return i < 0 ? i + n : i;
}
__device__ __forceinline__ long long index_of(const tile &t, int row, int column) {
    return static_cast<long long>(row) * t.nx + column;
}

// The value of a point past a side along x: `sign` times that of column x, or a constant. `exists`:
// an assignment may read it. If the tile continues past the side, the source is the point itself.
struct source_point {
    int x, constant;  // constant: index in values; negative: none
    REAL sign;
    bool exists;
};
template <int N>
__device__ __forceinline__ source_point source_of(const tile &t) {
    using side = rule<NODE_RULE[N], 2>;
    const int x = t.x + t.column;
    if (!t.outside) return {x, -1, REAL(1), true};
    if (x < -FUSED_REACH[4] || x >= t.nx + FUSED_REACH[5]) return {0, -1, REAL(1), false};
    const int from = side::fold(x, t.nx);
    if (from < 0) return {0, SYSTEM_PAST[NODE_RULE[N]][4 + (from == PAST_HIGH)], REAL(1), true};
    return {from, -1, side::sign(x, t.nx), true};
}

// Row d of node N, counted from the iteration's first one. Lags and rings are whole iterations, so
// that the rows of an iteration are adjacent; at[N] is the place of the iteration's first row in
// the ring, in elements. MANY keeps the dividend positive. The minimum reduces a place past the
// ring's end by one ring; for other places place - COUNT * SLOT wraps to a large unsigned number.
template <int N>
__device__ __forceinline__ STORE *row_of(const tile &t, const unsigned (&at)[NODES], int d) {
    constexpr int COUNT = NODE_RING[N] > 0 ? NODE_RING[N] / FUSED_ROWS : 1, MANY = 4096, SLOT = FUSED_ROWS * WIDTH;
    const int by = (d + MANY * FUSED_ROWS) / FUSED_ROWS - MANY, within = d - by * FUSED_ROWS;
    const unsigned place = at[N] + (by % COUNT + COUNT) % COUNT * SLOT;
    return t.shared + (NODE_AT[N] + within) * WIDTH + min(place, place - COUNT * SLOT);
}

// ---- inputs

// Rows of an iteration, from row `first` of the grid on, in one column.
template <int N>
__device__ __forceinline__ void fetch_column(const tile &t, const STORE *array, int first, STORE *to) {
    const source_point from = source_of<N>(t);
    if (!from.exists) return;
    const int x = FUSED_CONTINUES[2] ? wrapped(from.x, t.nx) : from.x;
    if (V == 1 && first >= 0 && first + FUSED_ROWS <= t.ny && from.constant < 0 && from.sign > 0) {
        const STORE *place = array + index_of(t, first, x);
#pragma unroll
        for (int k = 0; k < FUSED_ROWS; k++, place += t.nx) copy_element(to + k * WIDTH, place);
        return;
    }
#pragma unroll 1
    for (int k = 0; k < FUSED_ROWS; k++, to += WIDTH) {
        const int row = FUSED_CONTINUES[1] ? wrapped(first + k, t.ny) : first + k;
        if (!lies_in(row, t.ny)) continue;
        if (from.constant >= 0)
            *to = narrow<STORE>(t.a.values[from.constant]);
        else if (from.sign < 0)
            *to = narrow<STORE>(-widen(array[index_of(t, row, x)]));
        else
            copy_element(to, array + index_of(t, row, x));
    }
}
template <int N, int AHEAD>
__device__ __forceinline__ void fetch_input(const tile &t, const unsigned (&at)[NODES], int iteration) {
    if (iteration < NODE_BEGIN[N] || iteration >= NODE_END[N] + t.iterations) return;
    if (t.column < NODE_X[N][0] || t.column >= NODE_X[N][1]) return;
    const STORE *const array = t.a.input[N] + (NODE_SHARED[N] ? 0 : t.grid);
    const int first = t.first + iteration * FUSED_ROWS - NODE_LAG[N];
    STORE *const to = row_of<N>(t, at, AHEAD * FUSED_ROWS - NODE_LAG[N]) + t.column;
    if (V > 1 && !t.outside && first >= 0 && first + FUSED_ROWS <= t.ny) {
        const STORE *place =
            array + index_of(t, first, FUSED_CONTINUES[2] ? wrapped(t.x + t.column, t.nx) : t.x + t.column);
#pragma unroll
        for (int k = 0; k < FUSED_ROWS; k++, place += t.nx) copy_columns(to + k * WIDTH, place);
        return;
    }
#pragma unroll 1
    for (int c = 0; c < V; c++) fetch_column<N>(at_column(t, c), array, first, to + c);
}
template <int N, int AHEAD>
struct inputs {
    __device__ __forceinline__ static void fetch(const tile &t, const unsigned (&at)[NODES], int iteration) {
        inputs<N - 1, AHEAD>::fetch(t, at, iteration);
        fetch_input<N, AHEAD>(t, at, iteration);
    }
};
template <int AHEAD>
struct inputs<-1, AHEAD> {
    __device__ __forceinline__ static void fetch(const tile &, const unsigned (&)[NODES], int) {}
};

// ---- what an assignment reads

// The points that a pass reads for a thread's columns in an iteration, in registers: each run of V
// columns is loaded at its first read, by one access. After unrolling, all indices and the flags
// `loaded` are constants.
struct window {
    static constexpr int LOW = FUSED_REACH[2], BEFORE = (FUSED_REACH[4] + V - 1) / V;
    static constexpr int ROWS = LOW + FUSED_ROWS + FUSED_REACH[3], RUNS = BEFORE + 1 + (FUSED_REACH[5] + V - 1) / V;
    thread_columns run[SYSTEM_ARRAYS][ROWS][RUNS];
    bool loaded[SYSTEM_ARRAYS][ROWS][RUNS];
};

// The reads of pass J at column c of the thread's columns, on row k of the iteration, if no read of
// the warp leaves the grid.
template <int J>
struct inside_columns {
    const tile &t;
    const unsigned (&at)[NODES];
    window &around;
    int c, k;

    template <int A>
    __device__ __forceinline__ REAL field(int, int y, int x) const {
        constexpr int N = PASS_NODE[J][A] < 0 ? 0 : PASS_NODE[J][A];
        const int column = c + x + window::BEFORE * V, row = k + y + window::LOW;
        thread_columns &run = around.run[A][row][column / V];
        if (!around.loaded[A][row][column / V]) {
            const STORE *const from = row_of<N>(t, at, y + k - NODE_LAG[FUSED_INPUTS + J]) + t.column;
            load_columns(run.at, from + (column / V - window::BEFORE) * V);
            around.loaded[A][row][column / V] = true;
        }
        return widen(run.at[column % V]);
    }
    __device__ __forceinline__ REAL number(int i) const { return t.a.values[i]; }
};

// Points whose reads lie inside the grid.
template <int J>
struct inside {
    const tile &t;
    const unsigned (&at)[NODES];
    int column, k;  // within the tile; row of the iteration

    template <int A>
    __device__ __forceinline__ REAL field(int, int y, int x) const {
        constexpr int N = PASS_NODE[J][A] < 0 ? 0 : PASS_NODE[J][A];
        return widen(row_of<N>(t, at, y + k - NODE_LAG[FUSED_INPUTS + J])[column + x]);
    }
    __device__ __forceinline__ REAL number(int i) const { return t.a.values[i]; }
};

// Any point (y, x) of the grid; the tile holds it at row y + by_row and column x + by_column.
template <int J>
struct near_side {
    const tile &t;
    const unsigned (&at)[NODES];
    int y, x, by_row, by_column;

    template <int A>
    struct load {
        const near_side &from;
        __device__ __forceinline__ REAL operator()(int, int y, int x) const {
            constexpr int N = PASS_NODE[J][A] < 0 ? 0 : PASS_NODE[J][A];
            return widen(row_of<N>(from.t, from.at, y + from.by_row)[x + from.by_column]);
        }
    };
    template <int A>
    __device__ __forceinline__ REAL field(int, int dy, int dx) const {
        return read_folded<A, true>(t.a.n, t.a.values, 0, y, x, 0, dy, dx, load<A>{*this});
    }
    __device__ __forceinline__ REAL number(int i) const { return t.a.values[i]; }
};

// ---- passes

// Stores COUNT rows of results of pass J, from row d of the iteration on, which is row `row` of the
// block. VALUES: of one column or of all columns of the thread.
template <int J, int COUNT, class VALUES>
__device__ __forceinline__ void put(const tile &t, const unsigned (&at)[NODES], int d, int row,
                                    const VALUES (&value)[COUNT]) {
    constexpr int N = FUSED_INPUTS + J;
    const int x = t.x + t.column;
    if (NODE_RING[N]) {
        STORE *const to = row_of<N>(t, at, d) + t.column;
#pragma unroll
        for (int k = 0; k < COUNT; k++) *reinterpret_cast<VALUES *>(to + k * WIDTH) = value[k];
    }
    if (PASS_OUT[J] < 0 || t.column < FUSED_MARGIN[0] || t.column >= WIDTH - FUSED_MARGIN[1] || x >= t.nx) return;
    STORE *to = t.a.output[PASS_OUT[J] < 0 ? 0 : PASS_OUT[J]] + t.grid + index_of(t, t.first + row, x);
#pragma unroll
    for (int k = 0; k < COUNT; k++, to += t.nx)
        if (lies_in(row + k, t.own)) *reinterpret_cast<VALUES *>(to) = value[k];
}

template <int E>
__device__ __forceinline__ bool is_updated(const fused_arguments &a, int y, int x) {
    return !FUSED_FREEZES[E] || (y >= a.updated_low[E][1] && y < a.updated_high[E][1] && x >= a.updated_low[E][2] &&
                                 x < a.updated_high[E][2]);
}

// One point of pass J, which may lie past a side, on row k of the iteration. NEAR: its source is
// near a side, so that each read is folded.
template <int J, bool NEAR>
__device__ __forceinline__ void compute_point(const tile &t, const unsigned (&at)[NODES], int row, int k) {
    constexpr int N = FUSED_INPUTS + J, E = PASS_EQUATION[J], PRESENT = PASS_PRESENT[J] < 0 ? 0 : PASS_PRESENT[J];
    const source_point from = source_of<N>(t);
    const int d = k - NODE_LAG[N], column = from.x - t.x;
    const int y = FUSED_CONTINUES[1] ? wrapped(t.first + row, t.ny) : t.first + row;
    if (!lies_in(y, t.ny) || !from.exists) return;
    if (from.constant >= 0) {
        put<J, 1, STORE>(t, at, d, row, {narrow<STORE>(t.a.values[from.constant])});
        return;
    }
    if (column < NODE_X[N][0] || column >= NODE_X[N][1]) return;  // this pass does not compute it
    const int x = FUSED_CONTINUES[2] ? wrapped(from.x, t.nx) : from.x;
    STORE value;
    if (NEAR)
        value = narrow<STORE>(equation<E>::value(near_side<J>{t, at, y, x, d - y, column - x}));
    else
        value = narrow<STORE>(equation<E>::value(inside<J>{t, at, column, k}));
    if (!is_updated<E>(t.a, y, x)) value = row_of<PRESENT>(t, at, d)[column];
    put<J, 1, STORE>(t, at, d, row, {from.sign < 0 ? narrow<STORE>(-widen(value)) : value});
}

template <int J>
__device__ __forceinline__ void compute(const tile &t, const unsigned (&at)[NODES], int iteration) {
    constexpr int N = FUSED_INPUTS + J, E = PASS_EQUATION[J];
    if (iteration < NODE_BEGIN[N] || iteration >= NODE_END[N] + t.iterations) return;
    if (t.column < NODE_X[N][0] || t.column >= NODE_X[N][1]) return;
    const int row = iteration * FUSED_ROWS - NODE_LAG[N], y = t.first + row;
    const bool inside_march = FUSED_WHOLE[1] || (y >= FUSED_REACH[2] && y + FUSED_ROWS + FUSED_REACH[3] <= t.ny);
    if (t.inside && inside_march) {
        thread_columns value[FUSED_ROWS];
        window around;
        for (int i = 0; i < SYSTEM_ARRAYS * window::ROWS * window::RUNS; i++) (&around.loaded[0][0][0])[i] = false;
#pragma unroll
        for (int k = 0; k < FUSED_ROWS; k++)
#pragma unroll
            for (int c = 0; c < V; c++)
                value[k].at[c] = narrow<STORE>(equation<E>::value(inside_columns<J>{t, at, around, c, k}));
        put<J>(t, at, -NODE_LAG[N], row, value);
        return;
    }
    if (inside_march && !MIXES) {
#pragma unroll 1
        for (int c = 0; c < V; c++)
#pragma unroll
            for (int k = 0; k < FUSED_ROWS; k++) compute_point<J, false>(at_column(t, c), at, row + k, k);
        return;
    }
#pragma unroll 1
    for (int i = 0; i < FUSED_ROWS * V; i++)
        compute_point<J, true>(at_column(t, i / FUSED_ROWS), at, row + i % FUSED_ROWS, i % FUSED_ROWS);
}
template <int J>
struct passes {
    __device__ __forceinline__ static void run(const tile &t, const unsigned (&at)[NODES], int iteration) {
        passes<J - 1>::run(t, at, iteration);
        if (PASS_WAITS[J]) __syncthreads();
        compute<J>(t, at, iteration);
    }
};
template <>
struct passes<-1> {
    __device__ __forceinline__ static void run(const tile &, const unsigned (&)[NODES], int) {}
};

static_assert(shared_bytes_match(sizeof(STORE) * FUSED_SLOTS * WIDTH, 15), "the launcher gives as much shared memory");
extern "C" __global__ void __launch_bounds__(THREADS_X, BLOCKS)
    system_fused(const __grid_constant__ fused_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    const unsigned block = blockIdx.x / a.tiles, batch = block / a.chunks;
    const int ny = static_cast<int>(a.n[1]), nx = static_cast<int>(a.n[2]);
    const int first = static_cast<int>(block - batch * a.chunks) * a.chunk, column = V * static_cast<int>(threadIdx.x);
    const int x =
        static_cast<int>(blockIdx.x - block * a.tiles) * (WIDTH - FUSED_MARGIN[0] - FUSED_MARGIN[1]) - FUSED_MARGIN[0];
    const int warp_x = x + column / (32 * V) * (32 * V);
    const bool is_inside = FUSED_WHOLE[2] || (warp_x >= FUSED_REACH[4] && warp_x + 32 * V + FUSED_REACH[5] <= nx);
    const tile t{a,
                 reinterpret_cast<STORE *>(stn_shared),
                 batch * a.points,
                 first,
                 x,
                 min(ny - first, a.chunk),
                 a.chunk / FUSED_ROWS,
                 column,
                 ny,
                 nx,
                 is_inside,
                 !FUSED_CONTINUES[2] && !lies_in(x + column, nx)};
    unsigned at[NODES];
#pragma unroll
    for (int n = 0; n < NODES; n++) at[n] = NODE_START[n] * FUSED_ROWS * WIDTH;
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
            at[n] += FUSED_ROWS * WIDTH;
            if (at[n] >= NODE_RING[n] * WIDTH) at[n] = 0;
        }
    }
}
