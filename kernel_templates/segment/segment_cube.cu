// segment_torus.cu's tiles of 16^3 points by real products of f64, each in the shared memory of one block, where it stays from the inputs to the
// outputs: other blocks of the multiprocessor work while one waits.
//
//     a warp, slices of one z     F over y                                      its inputs are right factors: each thread reads what it has
//                                                                               copied itself
//     a warp, planes of one ky    F over z, F over x, times the symbol, F over kz
//     a warp, slices of one z     F over ky, F over kx                          from registers to the grid; of outputs alone. The next tile's
//                                                                               slice follows once this one is read
//
// Accumulators as they stand are right factors transposed: a product takes the axis that lies along a lane's threads of four (t) and turns it to
// lie along its eights (g). F is the matrix of sums of cos + sin, symmetric and the same of all axes: it stays in registers.
#include "device/fragment.cuh"
#include "params.cuh"
#include "segment/tori.cuh"

constexpr int N = 16, SLICE = N * N, SLICES = N / WARPS;  // a warp's slices: z, or ky, is warp, warp + WARPS ..
static_assert(!EXPECTED_SHARED || (PRODUCT_EVEN && PRODUCT_1 == N && PRODUCT_2 == N && PRODUCT_3 == N),
              "cubes that real products transform");
static_assert(is_given(N * SLICE * sizeof(REAL)), "segment_torus_shared of segment/torus_shape.c");

struct
    plane {  // (8 i + 2 t + e, 8 h + g) in [i][2 h + e]: a right factor's row and column, an accumulator's column and row
    REAL at[2][4];
};
__device__ __forceinline__ plane load_matrix(const REAL *operands, int lane) {
    plane f;  // as left factors, from the right ones
#pragma unroll
    for (int k = 0; k < 8; k++)
        f.at[k / 4][k % 4] = operands[SLICE + ((k / 4 * 2 + k % 2) * 32 + lane) * 2 + k / 2 % 2];
    return f;
}
// F X, turned.
__device__ __forceinline__ plane transform(const plane &f, const plane &x) {
    plane y = {};
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const REAL b[2] = {x.at[i][2 * h], x.at[i][2 * h + 1]};
            product(y.at[h], f.at[i], b);
        }
    return y;
}

// ---- cells

// Of (z, y, x): a row's 16 cells are all banks. With x ^ bits(z) ^ bits(y) half a warp, four by four of any two axes, does not meet in one.
constexpr int FAR_Y = N, FAR_Z = SLICE;
__device__ __forceinline__ int bits(int i) { return (i & 5) | (i & 2) << 2; }
// A plane whose index along t lies FAR apart, along g is x. other: its index of the third axis.
template <int FAR>
__device__ __forceinline__ plane take(const REAL *room, int other, int lane) {
    const int t = lane % 4 * 2, g = lane / 4, x = g ^ bits(t) ^ bits(other);
    const REAL *const from = room + other * (FAR_Y + FAR_Z - FAR) + t * FAR;
    plane p;
#pragma unroll
    for (int k = 0; k < 8; k++) p.at[k / 4][k % 4] = from[(k / 4 * 8 + k % 2) * FAR + (x ^ (k / 2 % 2 * 8 + k % 2))];
    return p;
}
// Along t is x, along g it lies FAR apart.
template <int FAR>
__device__ __forceinline__ void put(const plane &p, REAL *room, int other, int lane) {
    const int t = lane % 4 * 2, g = lane / 4, x = t ^ bits(g) ^ bits(other);
    REAL *const to = room + other * (FAR_Y + FAR_Z - FAR) + g * FAR;
#pragma unroll
    for (int k = 0; k < 8; k++) to[k / 2 % 2 * 8 * FAR + (x ^ (k / 4 * 8 + k % 2))] = p.at[k / 4][k % 4];
}
// Inputs lie in their slice as lanes have them, see own_cell of tori.cuh: number k of a plane in the k-th 32 cells.
__device__ __forceinline__ plane take_inputs(const REAL *slice, int lane) {
    plane p;
#pragma unroll
    for (int k = 0; k < 8; k++) p.at[k / 4][k % 4] = slice[k * 32 + own_cell(lane)];
    return p;
}

// ---- the symbol

__device__ __forceinline__ plane load_symbol(const REAL *symbol, int ky, int lane) {
    plane s;
#pragma unroll
    for (int k = 0; k < 8; k += 2) {
        REAL pair[2];
        load_run(pair, symbol + ky * SLICE + k * 32 + lane * 2);
        s.at[k / 4][k % 4] = pair[0], s.at[k / 4][k % 4 + 1] = pair[1];
    }
    return s;
}

// ---- inputs and outputs

// A lane's part of a tile in memory.
struct inputs {
    const STORE *from;  // of slice 0, its first row and column, in a tile that sees no side; else none
    unsigned tile;
};
__device__ __forceinline__ inputs find_inputs(const tile_arguments &a, unsigned tile, int lane) {
    inputs in = {nullptr, tile};
    if (tile >= a.all) return in;
    const area s = find(a, tile);
    if (inside(a, s)) in.from = s.in + s.z * a.in_far[0] + (s.y + lane % 4 * 2) * a.in_far[1] + s.x + lane / 4;
    return in;
}
// A slice's inputs start on their way; of no tile nothing does.
__device__ __forceinline__ void fetch(const tile_arguments &a, const inputs &in, REAL *room, int z, int lane) {
    REAL *const to = room + z * SLICE + own_cell(lane);
    if (in.from) {
        const STORE *const from = in.from + z * a.in_far[0];
#pragma unroll
        for (int k = 0; k < 8; k++) copy_element(to + k * 32, from + (k / 4 * 8 + k % 2) * a.in_far[1] + k / 2 % 2 * 8);
    } else if (in.tile < a.all) {
        const area s = find(a, in.tile);
#pragma unroll 1
        for (int k = 0; k < 8; k++)
            fetch_point(a, find_line(a, s, z, k / 2 % 2 * 8 + lane / 4), k / 4 * 8 + lane % 4 * 2 + k % 2, to + k * 32);
    }
    copy_async_commit();
}
struct outputs {
    STORE *to;                       // of slice 0, its first row and column
    int first, last;                 // slices
    int row, rows, column, columns;  // its first ones, counted from the first that are outputs; how many are
    REAL past;
};
__device__ __forceinline__ outputs find_outputs(const tile_arguments &a, unsigned tile, int lane) {
    const area s = find(a, tile);
    const int first = max(a.lead[2], s.x < 0 ? static_cast<int>(-s.x) : 0), row = lane % 4 * 2, column = lane / 4;
    return {s.out + s.z * a.out_far[0] + (s.y + row) * a.out_far[1] + s.x + column,
            a.lead[0],
            outputs_end(a, 0, s.z),
            row - a.lead[1],
            outputs_end(a, 1, s.y) - a.lead[1],
            column - first,
            outputs_end(a, 2, s.x) - first,
            TORUS_SHIFTED && !inside(a, s) ? a.past : REAL(0)};
}
__device__ __forceinline__ void give(const tile_arguments &a, const outputs &out, const plane &w, int z) {
    STORE *const to = out.to + z * a.out_far[0];
#pragma unroll
    for (int k = 0; k < 8; k++) {
        const int row = k / 4 * 8 + k % 2, column = k / 2 % 2 * 8;
        const REAL value = TORUS_SHIFTED ? w.at[k / 4][k % 4] + out.past : w.at[k / 4][k % 4];
        if (static_cast<unsigned>(out.row + row) < static_cast<unsigned>(out.rows) &&
            static_cast<unsigned>(out.column + column) < static_cast<unsigned>(out.columns))
            to[row * a.out_far[1] + column] = value;
    }
}

// ---- a tile

// Before each phase: what is found from it would be kept through all of them, in registers that are not there.
__device__ __forceinline__ int again(int lane) {
    keep_here(lane);
    return lane % 32u;
}

// Groups of copies are waited for by slices, one after the other.
template <int I = 0>
__device__ __forceinline__ void transform_inputs(const plane &f, REAL *room, int warp, int lane) {
    if constexpr (I < SLICES) {
        const int z = warp + I * WARPS;
        copy_async_wait<SLICES - 1 - I>();
        const plane x = take_inputs(room + z * SLICE, lane);
        __syncwarp();  // what is put lies where others' inputs are
        put<FAR_Y>(transform(f, x), room, z, lane);
        transform_inputs<I + 1>(f, room, warp, again(lane));
    }
}
// A plane's symbol is on its way while the one before it is transformed.
__device__ __forceinline__ void convolve(const plane &f, const REAL *symbol, REAL *room, int warp, int lane) {
    plane s = load_symbol(symbol, warp, lane);
#pragma unroll 1
    for (int ky = warp; ky < N; ky += WARPS) {
        plane x = take<FAR_Z>(room, ky, lane);
        __syncwarp();
        x = transform(f, transform(f, x));
#pragma unroll
        for (int k = 0; k < 8; k++) x.at[k / 4][k % 4] *= s.at[k / 4][k % 4];
        s = load_symbol(symbol, ky + WARPS < N ? ky + WARPS : ky, lane);  // behind the last one nothing needs it
        put<FAR_Z>(transform(f, x), room, ky, lane);
    }
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, BLOCKS) segment_cube(const tile_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    REAL *const room = reinterpret_cast<REAL *>(stn_shared);
    const int warp = threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    unsigned tile = blockIdx.x;
    const inputs first = find_inputs(a, tile, lane);
#pragma unroll 1
    for (int z = warp; z < N; z += WARPS) fetch(a, first, room, z, lane);
    const plane f = load_matrix(a.operands, lane);
#pragma unroll 1
    for (; tile < a.all; tile += gridDim.x) {
        transform_inputs(f, room, warp, again(lane));
        __syncthreads();
        convolve(f, a.symbol, room, warp, again(lane));
        __syncthreads();
        lane = again(lane);
        const inputs next = find_inputs(a, tile + gridDim.x, lane);
        const outputs out = find_outputs(a, tile, lane);
#pragma unroll 1
        for (int z = warp; z < N; z += WARPS) {
            const bool given = z >= out.first && z < out.last;
            const plane x = take<FAR_Y>(room, z, lane);
            __syncwarp();
            fetch(a, next, room, z, lane);
            if (given) give(a, out, transform(f, transform(f, x)), z);
        }
    }
}
