// Several steps of a stencil on planes and solids in one pass over memory, whatever its weights (FlashFFTStencil in 2D and 3D): tiles that
// overlap by what the steps' taps reach, each convolved with them in shared memory.
//
// A tile (tori.cuh) is the torus of product.cuh as it stands. Two tiles that follow each other are transformed together.
//
//     N3 = 1   inputs of the next pair are on their way to a room of their own; all threads have the only slice
//     N3 > 1   a warp has its slices, from the inputs to the outputs, in one place; the next pair's follow as soon as outputs are given, and are
//              waited for slice by slice. Only what lies along z is exchanged between warps. Other blocks of the multiprocessor work while these wait
//
// Registers are all taken in solids, and what does not fit comes back from far (inputs stream through the first-level cache): so where tiles lie
// and the symbol are in shared memory, and a thread's place is found anew for each slice. Measured: bench/results/2026-11-25-products.md.
#include "segment/product.cuh"
#include "segment/tori.cuh"

constexpr bool IN_PLACE = N3 > 1;
static_assert(is_given(((IN_PLACE ? 2 : 4) * ROOM + TOPS) * sizeof(REAL)), "segment_torus_shared of segment/product.c");
constexpr int TEAM = IN_PLACE ? 32 : THREADS;  // threads of a slice
constexpr int ROWS_AT_ONCE = TEAM / (2 * N2);  // of both tiles side by side
// There are cells that are read and are no points: of f16 all are, for the largest.
constexpr bool PADDED = SCALED || N1 % 16 || N2 % 8 || (N3 > 1 && N3 % 8);
static_assert(ROWS_AT_ONCE > 0 && N1 % ROWS_AT_ONCE == 0, "a team has rows of two tiles");

// A warp's slices, or a turn without one: then all have as many groups of copies under way.
constexpr int SLICES_OF_WARP = IN_PLACE ? (N3 + WARPS - 1) / WARPS : 1;
constexpr int LAST_SLICE = IN_PLACE ? SLICES_OF_WARP * WARPS : 1;

// ---- where a pair of tiles lies: a block's threads find it together

constexpr bool ODD = is_odd(Z_SIDE_LOW) || is_odd(Z_SIDE_HIGH) || is_odd(Y_SIDE_LOW) || is_odd(Y_SIDE_HIGH) ||
                     is_odd(X_SIDE_LOW) || is_odd(X_SIDE_HIGH);
constexpr bool ends(int side) { return side == NEAREST || is_odd(side); }  // points past it, or on it, are 0
constexpr bool ENDS = ends(Z_SIDE_LOW) || ends(Z_SIDE_HIGH) || ends(Y_SIDE_LOW) || ends(Y_SIDE_HIGH) ||
                      ends(X_SIDE_LOW) || ends(X_SIDE_HIGH);
constexpr int NONE = -1, PLACES = N3 + N1 + N2;
struct spot {
    long long from;  // elements to its first point in the input; NONE: it sees past a side, or is no tile
    long long to;    // in the output
    long long grid;  // to its grid's first point in the input
    int left, right, rows, slices;  // outputs are columns from left on, and end before the others; no tile has none
};
struct pair {
    spot at[2];
    // Of a tile that sees past a side: where the grid's extension has its slices, rows and columns, in elements. NONE: it is 0. Below
    // that: minus what lies at -2 less this.
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
            max(a.lead[2], s.x < 0 ? static_cast<int>(-s.x) : 0),
            outputs_end(a, 2, s.x),
            outputs_end(a, 1, s.y),
            outputs_end(a, 0, s.z)};
}
__device__ __forceinline__ void find_pair(const tile_arguments &a, unsigned tile, pair &to) {
#pragma unroll 1
    for (int i = threadIdx.x; i < 2 * PLACES; i += THREADS) {
        const int second = i >= PLACES, k = i - second * PLACES;
        const bool there = tile + second < a.all;
        const area s = find(a, there ? tile + second : 0);
        if (there && !inside(a, s)) to.sources[second][k] = find_source(a, s, k);
        if (k == 0) to.at[second] = there ? find_spot(a, s) : spot{NONE, 0, 0, 0, 0, 0, 0};
    }
}

// ---- inputs

// A thread's column of a pair of tiles.
struct inputs {
    const STORE *from;         // of slice 0, of this thread's first row, in a tile that sees no side; else none
    const STORE *grid;         // of a tile that does; else none
    const long long *sources;  // its own
    int row, x, cell;          // its first row, past the last one where it has none; its column, in both rooms
};
__device__ __forceinline__ inputs find_inputs(const tile_arguments &a, const pair &p, int t) {
    const int row = t / (2 * N2), second = t % (2 * N2) >= N2, x = t % (2 * N2) - second * N2;
    const spot &s = p.at[second];
    return {s.from < 0 ? nullptr : a.in + s.from + row * a.in_far[1] + x,
            s.slices > 0 ? a.in + s.grid : nullptr,
            p.sources[second],
            row < ROWS_AT_ONCE ? row : N1,
            x,
            second * ROOM + x};
}
// A slice's inputs start on their way to both rooms; their sign is for later.
__device__ __forceinline__ void fetch(const tile_arguments &a, const inputs &c, REAL *rooms, int slice) {
    if (c.row >= ROWS_AT_ONCE) return;
    const int first = ROWS_AT_ONCE == 1 ? 0 : c.row;
    REAL *const to = rooms + c.cell + slice_at(slice);
    if (c.from) {
        const STORE *from = c.from + slice * a.in_far[0];
        const long long far = ROWS_AT_ONCE * a.in_far[1];
#pragma unroll 16
        for (int row = 0; row < N1; row += ROWS_AT_ONCE, from += far) copy_element(to + row_at(first + row), from);
        return;
    }
    const long long z = c.sources[slice], x = c.sources[N3 + N1 + c.x];
    const bool there = c.grid && is_point(z) && is_point(x);
    const STORE *const from = c.grid + index_of(z) + index_of(x);
#pragma unroll 16
    for (int row = 0; row < N1; row += ROWS_AT_ONCE) {
        const long long y = c.sources[N3 + first + row];
        if (there && is_point(y))
            copy_element(to + row_at(first + row), from + index_of(y));
        else
            to[row_at(first + row)] = REAL(0);
    }
}
// Past an odd side the grid is minus its mirror image; less what is past constant sides. A thread changes what it has fetched itself.
__device__ __forceinline__ void change(const tile_arguments &a, const inputs &c, REAL *rooms, int slice) {
    if (c.from || !c.grid) return;
    REAL *const at = rooms + c.cell + slice_at(slice);
    const long long z = c.sources[slice], x = c.sources[N3 + N1 + c.x];
    if (!is_point(z) || !is_point(x)) return;
#pragma unroll 1
    for (int row = c.row; row < N1; row += ROWS_AT_ONCE) {
        const long long y = c.sources[N3 + row];
        if (!is_point(y)) continue;
        const REAL value = TORUS_SHIFTED ? at[row_at(row)] - a.past : at[row_at(row)];
        at[row_at(row)] = (is_minus(z) != is_minus(y)) != is_minus(x) ? -value : value;
    }
}

// ---- outputs

// A thread's column of outputs. Of two neighbours a row's lie side by side in memory: threads have them so.
struct outputs {
    long long to;     // elements to slice 0, this thread's first row of all
    unsigned rows;    // FEW_ROWS: bit k: row k of this thread is one of them
    int first, last;  // else rows from first to before last, counted from that one
    int last_slice, cell;
    bool sees_side;
};
constexpr int ROWS_OF_THREAD = N1 / ROWS_AT_ONCE;
constexpr bool FEW_ROWS = ROWS_OF_THREAD <= 16;  // all of them are read before the first is written: a load waits long
// Bits of a thread's rows before this one.
__device__ __forceinline__ unsigned rows_before(int row) {
    return (1u << min(max(row + ROWS_AT_ONCE - 1, 0) / ROWS_AT_ONCE, ROWS_OF_THREAD)) - 1;
}
__device__ __forceinline__ outputs find_outputs(const tile_arguments &a, const pair &p, int t) {
    const int row = t / (2 * N2), second = t % (2 * N2) >= a.useful[2],
              column = a.lead[2] + t % (2 * N2) - second * a.useful[2];
    const spot &s = p.at[second];
    if (row >= ROWS_AT_ONCE || column < s.left || column >= s.right) return {0, 0, 0, 0, 0, 0, false};
    return {s.to + row * a.out_far[1] + column,
            FEW_ROWS ? rows_before(s.rows - row) & ~rows_before(a.lead[1] - row) : 0,
            a.lead[1],
            s.rows - row,
            s.slices,
            second * ROOM + row_at(row) + column,
            TORUS_SHIFTED && s.from < 0};
}
__device__ __forceinline__ void give(const tile_arguments &a, const outputs &c, const REAL *rooms, int slice,
                                     REAL scale) {
    if (slice < a.lead[0] || slice >= c.last_slice) return;
    const REAL past = c.sees_side ? a.past : REAL(0);
    const volatile REAL *const from = rooms + c.cell + slice_at(slice);
    STORE *to = a.out + c.to + slice * a.out_far[0];
    const long long far = ROWS_AT_ONCE * a.out_far[1];
    const auto give_one = [&](REAL value) {
        if (SCALED) value *= scale;
        *to = narrow<STORE>(TORUS_SHIFTED ? value + past : value);
    };
    if (FEW_ROWS) {
        REAL values[ROWS_OF_THREAD];
#pragma unroll
        for (int k = 0; k < ROWS_OF_THREAD; k++) values[k] = from[row_at(k * ROWS_AT_ONCE)];
#pragma unroll
        for (int k = 0; k < ROWS_OF_THREAD; k++, to += far)
            if (c.rows >> k & 1) give_one(values[k]);
        return;
    }
    to += c.first * a.out_far[1];
#pragma unroll 4
    for (int row = c.first; row < c.last; row += ROWS_AT_ONCE, to += far) give_one(from[row_at(row)]);
}

// ---- a pair of tiles

__device__ __forceinline__ void wait_for_team() {
    if (TEAM > 32)
        __syncthreads();
    else
        __syncwarp();
}
__device__ __forceinline__ void fetch_all(const tile_arguments &a, const inputs &c, REAL *rooms, int warp) {
#pragma unroll 1
    for (int slice = first_slice(warp); slice < LAST_SLICE; slice += WARPS) {
        if (slice < N3) fetch(a, c, rooms, slice);
        copy_async_commit();
    }
}
// A slice's inputs have landed; other slices' may still be under way.
__device__ __forceinline__ void receive(const tile_arguments &a, const pair &p, REAL *rooms, int slice, int t) {
    if (slice < WARPS)
        copy_async_wait<SLICES_OF_WARP - 1>();
    else
        copy_async_wait<0>();
    if (ODD || TORUS_SHIFTED) change(a, find_inputs(a, p, t), rooms, slice);
}

constexpr int TURNS = 3;  // pairs that are described: this turn's and the two after it
__device__ __forceinline__ unsigned after(unsigned here) { return here == TURNS - 1 ? 0 : here + 1; }

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) segment_torus(const tile_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    __shared__ pair pairs[TURNS];
    __shared__ REAL eighth[TURNED ? EIGHTH : 1];
    REAL *const raw = reinterpret_cast<REAL *>(stn_shared), *const work = IN_PLACE ? raw : raw + 2 * ROOM;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int t = IN_PLACE ? lane : threadIdx.x;
    for (int i = threadIdx.x; PADDED && i < 2 * ROOM; i += THREADS) raw[i] = REAL(0);  // what no point lies in stays 0
    if (TURNED) load_eighth(eighth, a.symbol);
    for (int i = 0; i < TURNS - 1; i++) find_pair(a, 2 * (blockIdx.x + i * gridDim.x), pairs[i]);
    __syncthreads();
    tile held[BLOCKS_2];
    matrices f = find_matrices(a.operands, warp, lane);
    fetch_all(a, find_inputs(a, pairs[0], t), raw, warp);
    unsigned here = 0;
#pragma unroll 1
    for (unsigned first = 2 * blockIdx.x; first < a.all; first += 2 * gridDim.x, here = after(here)) {
        scales scale = {REAL(1), REAL(1)};
        keep_here(t);
        if (SCALED) {  // all look for the largest
            for (int slice = first_slice(warp); slice < N3; slice += WARPS) receive(a, pairs[here], raw, slice, t);
            __syncthreads();
            scale = find_scales(a.operands, raw, work + 2 * ROOM, threadIdx.x);
        }
        before_slices(f, strip_of(warp), lane);
#pragma unroll 1
        for (int slice = first_slice(warp); slice < N3; slice += WARPS) {
            if (!SCALED) {
                receive(a, pairs[here], raw, slice, t);
                wait_for_team();  // and the last outputs are given
            }
            forward_slice(f, a.symbol, raw, work, held, slice, lane, warp, scale.in);
        }
        if (IN_PLACE) before_middle(f, lane);
        wait_for_all();
        if (IN_PLACE) {
            middle(f, TURNED ? eighth : a.symbol, work, lane, warp);
            __syncthreads();
        } else {
            fetch_all(a, find_inputs(a, pairs[after(here)], t), raw, warp);
        }
        before_slices(f, strip_of(warp), lane);
#pragma unroll 1
        for (int slice = first_slice(warp); slice < LAST_SLICE; slice += WARPS) {
            if (slice < N3) {
                back_slice(f, a.symbol, work, held, slice, lane, warp);
                wait_for_team();
                keep_here(t);
                give(a, find_outputs(a, pairs[here], t), work, slice, scale.out);
            }
            if (!IN_PLACE) continue;
            __syncwarp();
            if (slice < N3) fetch(a, find_inputs(a, pairs[after(here)], t), raw, slice);
            copy_async_commit();
        }
        find_pair(a, first + 4 * gridDim.x,
                  pairs[after(after(here))]);  // nobody reads what it replaces, of the turn before
    }
}
