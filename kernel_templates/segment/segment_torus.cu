// Several steps of a stencil on planes and solids in one pass over memory, whatever its weights (FlashFFTStencil in 2D and 3D): tiles that
// overlap by what the steps' taps reach, each convolved with them in shared memory.
//
// A tile (tori.cuh) is the torus of product.cuh as it stands. Two tiles that follow each other are transformed together.
//
//     N3 = 1   inputs of the next pair are on their way to a room of their own; all threads have the only slice
//     N3 > 1   a warp has its slices, from the inputs to the outputs, in one place; the next pair's follow as soon as outputs are given. Only
//              what lies along z is exchanged between warps. Other blocks of the multiprocessor work while these wait
#include "segment/product.cuh"
#include "segment/tori.cuh"

constexpr bool IN_PLACE = N3 > 1;
static_assert(is_given(((IN_PLACE ? 2 : 4) * ROOM + TOPS) * sizeof(REAL)), "segment_torus_shared of segment/product.c");
constexpr int TEAM = IN_PLACE ? 32 : THREADS;  // threads of a slice
constexpr int ROWS_AT_ONCE = TEAM / (2 * N2);  // of both tiles side by side
constexpr bool PADDED = N1 % 16 || N2 % 8 || (N3 > 1 && N3 % 8);  // there are cells that are read and are no points
static_assert(ROWS_AT_ONCE > 0 && N1 % ROWS_AT_ONCE == 0, "a team has rows of two tiles");

// ---- where a tile lies

struct spot {
    long long from, to;  // elements to its first point in the input, below 0 where it sees past a side or is none; and in the output
    int left, right, rows, slices;  // outputs are columns from left on, and end before the others
};
__device__ __forceinline__ spot find_spot(const tile_arguments &a, unsigned tile) {
    if (tile >= a.all) return {-1, 0, 0, 0, 0, 0};
    const area s = find(a, tile);
    return {inside(a, s) ? s.in - a.in + s.z * a.in_far[0] + s.y * a.in_far[1] + s.x : -1,
            s.out - a.out + s.z * a.out_far[0] + s.y * a.out_far[1] + s.x,
            max(a.lead[2], s.x < 0 ? static_cast<int>(-s.x) : 0),
            outputs_end(a, 2, s.x),
            outputs_end(a, 1, s.y),
            outputs_end(a, 0, s.z)};
}

// ---- inputs

// A thread's column of a pair of tiles.
struct inputs {
    const STORE *from;  // of slice 0, of this thread's first row, in a tile that sees no side; else none
    unsigned tile;
    int row, cell;  // its first row, past the last one where it has none; its column in both rooms
};
__device__ __forceinline__ bool has_second_inputs(int t) { return t % (2 * N2) >= N2; }
__device__ __forceinline__ inputs find_inputs(const tile_arguments &a, const spot &s, unsigned tile, int t) {
    const int row = t / (2 * N2), second = has_second_inputs(t), x = t % (2 * N2) - second * N2;
    return {s.from < 0 ? nullptr : a.in + s.from + row * a.in_far[1] + x, tile + second, row < ROWS_AT_ONCE ? row : N1,
            second * ROOM + x};
}
__device__ __forceinline__ line find_line(const tile_arguments &a, const inputs &c, int slice) {
    return find_line(a, find(a, c.tile), slice, c.cell < ROOM ? c.cell : c.cell - ROOM);
}
// Rows that are all points of the grid.
__device__ __forceinline__ void fetch_rows(const tile_arguments &a, const inputs &c, const STORE *from, REAL *to) {
    const long long far = ROWS_AT_ONCE * a.in_far[1];
    if (c.row >= ROWS_AT_ONCE) return;
    const int first = ROWS_AT_ONCE == 1 ? 0 : c.row;
#pragma unroll 16
    for (int row = 0; row < N1; row += ROWS_AT_ONCE, from += far) copy_element(to + row_at(first + row), from);
}
// A slice's inputs start on their way to both rooms; their sign is for later.
__device__ __forceinline__ void fetch(const tile_arguments &a, const inputs &c, REAL *rooms, int slice) {
    REAL *const to = rooms + c.cell + slice_at(slice);
    if (c.from) {
        fetch_rows(a, c, c.from + slice * a.in_far[0], to);
        return;
    }
    const line l = find_line(a, c, slice);
    const bool there = c.tile < a.all && l.z.index >= 0 && l.x.index >= 0;
    const STORE *from = l.in + l.z.index * a.in_far[0] + (l.y + c.row) * a.in_far[1] + l.x.index;
    if (there && l.y >= 0 && l.y + N1 <= a.n[1] - (Y_SIDE_HIGH == FIXED) && (Y_SIDE_LOW != FIXED || l.y > 0)) {
        fetch_rows(a, c, from, to);
        return;
    }
#pragma unroll 1
    for (int row = c.row; row < N1; row += ROWS_AT_ONCE, from += ROWS_AT_ONCE * a.in_far[1]) {
        const long long y = l.y + row;
        const bool plain = y >= (Y_SIDE_LOW == FIXED) && y < a.n[1] - (Y_SIDE_HIGH == FIXED);  // most are
        const folded other = plain || !there ? folded{0, false} : source_of(a, l, row);
        if (!there || other.index < 0)
            to[row_at(row)] = REAL(0);
        else
            copy_element(to + row_at(row), plain ? from : l.in + other.index);
    }
}
// Past an odd side the grid is minus its mirror image; less what is past constant sides. A thread changes what it has fetched itself.
constexpr bool ODD = is_odd(Z_SIDE_LOW) || is_odd(Z_SIDE_HIGH) || is_odd(Y_SIDE_LOW) || is_odd(Y_SIDE_HIGH) ||
                     is_odd(X_SIDE_LOW) || is_odd(X_SIDE_HIGH);
__device__ __forceinline__ void change(const tile_arguments &a, const inputs &c, REAL *rooms, int slice) {
    if (c.from || c.tile >= a.all) return;
    REAL *const at = rooms + c.cell + slice_at(slice);
    const line l = find_line(a, c, slice);
#pragma unroll 1
    for (int row = c.row; row < N1; row += ROWS_AT_ONCE) {
        const folded from = source_of(a, l, row);
        if (from.index < 0) continue;
        const REAL value = TORUS_SHIFTED ? at[row_at(row)] - a.past : at[row_at(row)];
        at[row_at(row)] = from.minus ? -value : value;
    }
}

// ---- outputs

// A thread's column of outputs. Of two neighbours a row's lie side by side in memory: threads have them so.
struct outputs {
    long long to;  // elements to slice 0, this thread's first row of all
    unsigned rows;     // FEW_ROWS: bit k: row k of this thread is one of them
    int first, last;   // else rows from first to before last, counted from that one
    int last_slice, cell;
    bool sees_side;
};
__device__ __forceinline__ bool has_second_outputs(const tile_arguments &a, int t) {
    return t % (2 * N2) >= a.useful[2];
}
constexpr int ROWS_OF_THREAD = N1 / ROWS_AT_ONCE;
constexpr bool FEW_ROWS = ROWS_OF_THREAD <= 16;  // all of them are read before the first is written: a load waits long
// Bits of a thread's rows before this one.
__device__ __forceinline__ unsigned rows_before(int row) {
    return (1u << min(max(row + ROWS_AT_ONCE - 1, 0) / ROWS_AT_ONCE, ROWS_OF_THREAD)) - 1;
}
__device__ __forceinline__ outputs find_outputs(const tile_arguments &a, const spot &s, int t) {
    const int row = t / (2 * N2), second = has_second_outputs(a, t),
              column = a.lead[2] + t % (2 * N2) - second * a.useful[2];
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
__device__ __forceinline__ void fetch_all(const tile_arguments &a, const spot &s, unsigned tile, REAL *rooms, int t,
                                          int warp) {
    const inputs c = find_inputs(a, s, tile, t);
#pragma unroll 1
    for (int slice = first_slice(warp); slice < N3; slice += WARPS) fetch(a, c, rooms, slice);
    copy_async_commit();
}
// The inputs have landed.
__device__ __forceinline__ void receive(const tile_arguments &a, const spot &s, unsigned tile, REAL *rooms, int t,
                                        int warp) {
    copy_async_wait<0>();
    if (ODD || TORUS_SHIFTED) {
        const inputs c = find_inputs(a, s, tile, t);
#pragma unroll 1
        for (int slice = first_slice(warp); slice < N3; slice += WARPS) change(a, c, rooms, slice);
    }
    if (SCALED)
        __syncthreads();  // all look for the largest
    else
        wait_for_team();
}
// Where a pair lies: in a solid two lanes find it for all of a block. Planes' threads find what they need.
struct spots {
    spot *pair;
    __device__ __forceinline__ void put(const tile_arguments &a, unsigned tile, int thread) const {
        if (IN_PLACE && thread < 2) pair[thread] = find_spot(a, tile + thread);
    }
    __device__ __forceinline__ spot get(const tile_arguments &a, unsigned tile, bool second) const {
        return IN_PLACE ? pair[second] : find_spot(a, tile + second);
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) segment_torus(const tile_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    __shared__ spot pairs[2][2];  // this turn's, and the next one's
    REAL *const raw = reinterpret_cast<REAL *>(stn_shared), *const work = IN_PLACE ? raw : raw + 2 * ROOM;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, t = IN_PLACE ? lane : threadIdx.x;
    const bool second_in = has_second_inputs(t), second_out = has_second_outputs(a, t);
    unsigned tile = 2 * blockIdx.x, turn = 0;
    for (int i = threadIdx.x; PADDED && i < 2 * ROOM; i += THREADS) raw[i] = REAL(0);  // what no point lies in stays 0
    spots{pairs[0]}.put(a, tile, threadIdx.x);
    __syncthreads();
    struct tile held[BLOCKS_2];
    matrices f = find_matrices(a.operands, warp, lane);
    fetch_all(a, spots{pairs[0]}.get(a, tile, second_in), tile, raw, t, warp);
#pragma unroll 1
    for (; tile < a.all; tile += 2 * gridDim.x, turn ^= 1) {
        const unsigned next = tile + 2 * gridDim.x;
        const spots here = {pairs[turn]}, there = {pairs[turn ^ 1]};
        receive(a, here.get(a, tile, second_in), tile, raw, t, warp);  // and the last outputs are given
        const scales scale = find_scales(a.operands, raw, work + 2 * ROOM, threadIdx.x);
        forward(f, a.symbol, raw, work, held, lane, warp, scale.in);
        if (IN_PLACE)
            __syncthreads();
        else
            wait_for_team();
        if (!IN_PLACE) fetch_all(a, there.get(a, next, second_in), next, raw, t, warp);
        if (IN_PLACE) {
            there.put(a, next, threadIdx.x);  // all have done with what it replaces
            middle(f, a.symbol, work, lane, warp);
            __syncthreads();
        }
        const outputs given = find_outputs(a, here.get(a, tile, second_out), t);
        const inputs wanted = find_inputs(a, there.get(a, next, second_in), next, t);
        before_slices(f, strip_of(warp), lane);
#pragma unroll 1
        for (int slice = first_slice(warp); slice < N3; slice += WARPS) {
            back_slice(f, a.symbol, work, held, slice, lane, warp);
            wait_for_team();
            give(a, given, work, slice, scale.out);
            if (!IN_PLACE) continue;
            __syncwarp();
            fetch(a, wanted, raw, slice);
        }
        if (IN_PLACE) copy_async_commit();
    }
}
