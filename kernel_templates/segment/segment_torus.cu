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
static_assert(ROWS_AT_ONCE > 0 && N1 % ROWS_AT_ONCE == 0, "a team has rows of two tiles");

// ---- inputs

// A thread's column of a pair of tiles.
struct inputs {
    const STORE *from;  // of slice 0, of this thread's first row, in a tile that sees no side; else none
    unsigned tile;
    int row, cell;  // its first row, past the last one where it has none; its column in both rooms
};
__device__ __forceinline__ inputs find_inputs(const tile_arguments &a, unsigned tile, int t) {
    const int i = t % (2 * N2), row = t / (2 * N2), second = i >= N2, x = i - second * N2;
    inputs c = {nullptr, tile + second, row < ROWS_AT_ONCE ? row : N1, second * ROOM + x};
    if (c.tile >= a.all) return c;
    const area s = find(a, c.tile);
    if (inside(a, s)) c.from = s.in + s.z * a.in_far[0] + (s.y + row) * a.in_far[1] + s.x + x;
    return c;
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
    STORE *to;                    // of slice 0, this thread's first row of all
    int first, last, last_slice;  // its rows from first to before last, counted from that one
    int cell;
    bool sees_side;
};
__device__ __forceinline__ outputs find_outputs(const tile_arguments &a, unsigned tile, int t) {
    const int i = t % (2 * N2), row = t / (2 * N2), second = i >= a.useful[2];
    if (row >= ROWS_AT_ONCE || i >= 2 * a.useful[2] || tile + second >= a.all) return {nullptr, 0, 0, 0, 0, false};
    const area s = find(a, tile + second);
    const int column = a.lead[2] + i - second * a.useful[2];
    const long long x = s.x + column;
    if (x < 0 || x >= a.n[2]) return {nullptr, 0, 0, 0, 0, false};
    return {s.out + s.z * a.out_far[0] + (s.y + row) * a.out_far[1] + x,
            a.lead[1],
            outputs_end(a, 1, s.y) - row,
            outputs_end(a, 0, s.z),
            second * ROOM + row_at(row) + column,
            TORUS_SHIFTED && !inside(a, s)};
}
__device__ __forceinline__ void give(const tile_arguments &a, const outputs &c, const REAL *rooms, int slice,
                                     REAL scale) {
    if (slice < a.lead[0] || slice >= c.last_slice) return;
    const REAL past = c.sees_side ? a.past : REAL(0);
    const REAL *const from = rooms + c.cell + slice_at(slice);
    STORE *to = c.to + slice * a.out_far[0];
    const long long far = ROWS_AT_ONCE * a.out_far[1];
    const auto give_row = [&](int row) {
        const REAL value = SCALED ? from[row_at(row)] * scale : from[row_at(row)];
        *to = narrow<STORE>(TORUS_SHIFTED ? value + past : value);
    };
    if (TURNED) {  // rows lie where the compiler knows
#pragma unroll 16
        for (int row = 0; row < N1; row++, to += far)
            if (static_cast<unsigned>(row - c.first) < static_cast<unsigned>(c.last - c.first)) give_row(row);
        return;
    }
    to += c.first * a.out_far[1];
#pragma unroll 4
    for (int row = c.first; row < c.last; row += ROWS_AT_ONCE, to += far) give_row(row);
}

// ---- a pair of tiles

__device__ __forceinline__ void wait_for_team() {
    if (TEAM > 32)
        __syncthreads();
    else
        __syncwarp();
}
__device__ __forceinline__ void fetch_all(const tile_arguments &a, unsigned tile, REAL *rooms, int t, int warp) {
    const inputs c = find_inputs(a, tile, t);
#pragma unroll 1
    for (int slice = first_slice(warp); slice < N3; slice += WARPS) fetch(a, c, rooms, slice);
    copy_async_commit();
}
// The inputs have landed.
__device__ __forceinline__ void receive(const tile_arguments &a, unsigned tile, REAL *rooms, int t, int warp) {
    copy_async_wait<0>();
    if (ODD || TORUS_SHIFTED) {
        const inputs c = find_inputs(a, tile, t);
#pragma unroll 1
        for (int slice = first_slice(warp); slice < N3; slice += WARPS) change(a, c, rooms, slice);
    }
    if (SCALED)
        __syncthreads();  // all look for the largest
    else
        wait_for_team();
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) segment_torus(const tile_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    REAL *const raw = reinterpret_cast<REAL *>(stn_shared), *const work = IN_PLACE ? raw : raw + 2 * ROOM;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, t = IN_PLACE ? lane : threadIdx.x;
    for (int i = threadIdx.x; i < 2 * ROOM; i += THREADS) raw[i] = REAL(0);  // what no point lies in stays 0
    __syncthreads();
    tile held[BLOCKS_2];
    unsigned tile = 2 * blockIdx.x;
    matrices f = find_matrices(a.operands, warp, lane);
    fetch_all(a, tile, raw, t, warp);
#pragma unroll 1
    for (; tile < a.all; tile += 2 * gridDim.x) {
        receive(a, tile, raw, t, warp);  // and the last outputs are given
        const scales scale = find_scales(a.operands, raw, work + 2 * ROOM, threadIdx.x);
        forward(f, a.symbol, raw, work, held, lane, warp, scale.in);
        if (IN_PLACE)
            __syncthreads();
        else
            wait_for_team();
        if (!IN_PLACE) fetch_all(a, tile + 2 * gridDim.x, raw, t, warp);
        if (IN_PLACE) {
            middle(f, a.symbol, work, lane, warp);
            __syncthreads();
        }
        const outputs given = find_outputs(a, tile, t);
        const inputs next = find_inputs(a, tile + 2 * gridDim.x, t);
        before_slices(f, strip_of(warp), lane);
#pragma unroll 1
        for (int slice = first_slice(warp); slice < N3; slice += WARPS) {
            back_slice(f, a.symbol, work, held, slice, lane, warp);
            wait_for_team();
            give(a, given, work, slice, scale.out);
            if (!IN_PLACE) continue;
            __syncwarp();
            fetch(a, next, raw, slice);
        }
        if (IN_PLACE) copy_async_commit();
    }
}
