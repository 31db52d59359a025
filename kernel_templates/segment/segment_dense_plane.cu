// Dense-DFT tiles of 2D grids in f64 with real (Hartley) matrices, where a warp has a whole tile in
// registers from input to output, so that no warp waits for another one; a special case of
// segment_dense_tile.cu.
//
//     C = F X      inputs are right operands; each thread reads the elements that it copied, so
//                  shared memory only buffers the next tile
//     Y = F C^T    the transpose of an accumulator is a right operand: a lane's two neighbouring
//                  elements of a row are in its rows t and t + 4 of eight
//     Z = F P^T    P: Y times the symbol, element by element
//     W = F Z^T    Y and W have rows n2 and columns n1
//
// F is the symmetric matrix of cos + sin. Its columns are permuted as the rows of right operands
// are: 2t and 2t + 1 of eight become t and t + 4. It stays in registers. Below, lane 4 g + t has
// PTX's groupID g and its threadID_in_group t.
#include "device/fragment.cuh"
#include "params.cuh"
#include "segment/overlapping_tiles.cuh"

constexpr int N = DFT_N1, ROW_STRIPS = N / 16, EIGHTS = N / 8;
constexpr int CELLS = N * N, OF_LANE = CELLS / 32;  // Elements of a tile per lane.
static_assert(!EXPECTED_SHARED || (DFT_REAL && DFT_N2 == N && DFT_N3 == 1), "squares that real products transform");
static_assert(N % 16 == 0, "whole fragments");
static_assert(shared_bytes_match((WARPS + 1) * CELLS * sizeof(REAL)),
              "segment_dense_tile_block_of of segment/dense_tile_search.c");

struct square {  // Accumulators of 16 x 8: (g, 2t) (g, 2t+1) (g+8, 2t) (g+8, 2t+1).
    REAL at[ROW_STRIPS][EIGHTS][4];
};
__device__ __forceinline__ square load_matrix(const REAL *operands, int lane) {
    square f;  // As left operands, from the table of right ones.
#pragma unroll
    for (int r = 0; r < ROW_STRIPS; r++)
#pragma unroll
        for (int s = 0; s < EIGHTS; s++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                f.at[r][s][e] = operands[CELLS + ((s * EIGHTS + 2 * r + e % 2) * 32 + lane) * 2 + e / 2];
    return f;
}

// ---- products

// The position, among 32 elements, of the element (row t, column g) that a lane copies and reads.
// Four elements of a row are adjacent, so that copies fill whole sectors and half a warp has no
// bank conflicts.
__device__ __forceinline__ int own_cell(int lane) { return lane % 4 * 8 + (lane / 4 ^ lane % 4 / 2 * 4); }
// F X of a buffer.
__device__ __forceinline__ square transform_inputs(const square &f, const REAL *buffer, int lane) {
    square c = {};
#pragma unroll
    for (int j = 0; j < EIGHTS; j += 2)
#pragma unroll
        for (int s = 0; s < EIGHTS; s++)
#pragma unroll
            for (int i = j; i < j + 2; i++) {
                const REAL *const from = buffer + (s * EIGHTS + i) * 64 + own_cell(lane);
                const REAL x[2] = {from[0], from[32]};
#pragma unroll
                for (int r = 0; r < ROW_STRIPS; r++) product(c.at[r][i], f.at[r][s], x);
            }
    return c;
}
// F X^T. A strip of X is two blocks of 8 columns.
__device__ __forceinline__ square transform_transposed(const square &f, const square &x) {
    square y = {};
#pragma unroll
    for (int r = 0; r < ROW_STRIPS; r++)
#pragma unroll
        for (int s = 0; s < EIGHTS; s++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const REAL b[2] = {x.at[r][s][2 * half], x.at[r][s][2 * half + 1]};
#pragma unroll
                for (int p = 0; p < ROW_STRIPS; p++) product(y.at[p][2 * r + half], f.at[p][s], b);
            }
    return y;
}
__device__ __forceinline__ void times_symbol(square &y, const REAL *symbol, int lane) {
#pragma unroll
    for (int i = 0; i < OF_LANE; i++) y.at[i / 4 / EIGHTS][i / 4 % EIGHTS][i % 4] *= symbol[i * 32 + lane];
}
// Loads the symbol in the order of lanes. The table (segment_tables.c) is in blocks of 8 rows and 8
// columns, row by row, of the tile; Y is its transpose.
__device__ __forceinline__ void load_symbol(REAL *to, const REAL *symbol, int warp, int lane) {
    for (int i = warp; i < OF_LANE; i += WARPS) {
        const int row = i / 4 / EIGHTS * 16 + i % 4 / 2 * 8, column = i / 4 % EIGHTS * 8;
        const int block = (column / 16 * EIGHTS + row / 8) * 2 + column / 8 % 2;
        to[i * 32 + lane] = symbol[block * 64 + (lane % 4 * 2 + i % 2) * 8 + lane / 4];
    }
}

// ---- inputs and outputs

// Starts copying a point's input, or sets it to 0. Past an odd side the grid is its negated mirror
// image.
__device__ __forceinline__ void fetch_point(const tile_arguments &a, const line &l, int row, REAL *to) {
    const folded from = source_of(a, l, row);
    if (from.index < 0) {
        *to = REAL(0);
    } else if (from.minus || TILE_SHIFTED) {
        const REAL value = TILE_SHIFTED ? l.in[from.index] - a.past : l.in[from.index];
        *to = from.minus ? -value : value;
    } else {
        copy_element(to, l.in + from.index);
    }
}
// This lane's rows of block s are 8 s + 2 t and the next one; its column of block j is 8 j + g.
__device__ __forceinline__ void fetch_inside(const tile_arguments &a, const STORE *from, REAL *to) {
#pragma unroll
    for (int s = 0; s < EIGHTS; s++)
#pragma unroll
        for (int e = 0; e < 2; e++)
#pragma unroll
            for (int j = 0; j < EIGHTS; j++)
                copy_element(to + (s * EIGHTS + j) * 64 + e * 32, from + (8 * s + e) * a.in_far[1] + 8 * j);
}
__device__ __forceinline__ void fetch_beyond(const tile_arguments &a, const area &s, int lane, REAL *to) {
#pragma unroll 1
    for (int j = 0; j < EIGHTS; j++) {
        const line l = find_line(a, s, 0, 8 * j + lane / 4);
#pragma unroll 1
        for (int i = 0; i < 2 * EIGHTS; i++)
            fetch_point(a, l, i / 2 * 8 + lane % 4 * 2 + i % 2, to + (i / 2 * EIGHTS + j) * 64 + i % 2 * 32);
    }
}
// Starts copying a tile's inputs; does nothing past the last tile.
__device__ __forceinline__ void fetch(const tile_arguments &a, unsigned tile, REAL *buffer, int lane) {
    if (tile < a.all) {
        const area s = find(a, tile);
        if (inside(a, s))
            fetch_inside(a, s.in + s.z * a.in_far[0] + (s.y + lane % 4 * 2) * a.in_far[1] + s.x + lane / 4,
                         buffer + own_cell(lane));
        else
            fetch_beyond(a, s, lane, buffer + own_cell(lane));
    }
    copy_async_commit();
}
__device__ __forceinline__ void store_outputs(const tile_arguments &a, unsigned tile, const square &w, int lane) {
    const area s = find(a, tile);
    const REAL past = TILE_SHIFTED && !inside(a, s) ? a.past : REAL(0);
    const int rows = outputs_end(a, 1, s.y) - a.lead[1], columns = outputs_end(a, 2, s.x);
    const int first = max(a.lead[2], s.x < 0 ? static_cast<int>(-s.x) : 0);
    const int row = lane % 4 * 2 - a.lead[1], column = lane / 4;
    STORE *const to = s.out + s.z * a.out_far[0] + (s.y + lane % 4 * 2) * a.out_far[1] + s.x + column;
#pragma unroll
    for (int m = 0; m < EIGHTS; m++)
#pragma unroll
        for (int e = 0; e < 2; e++) {
            if (static_cast<unsigned>(row + 8 * m + e) >= static_cast<unsigned>(rows)) continue;
#pragma unroll
            for (int i = 0; i < EIGHTS; i++) {
                const REAL value = w.at[i / 2][m][i % 2 * 2 + e];
                if (static_cast<unsigned>(column + 8 * i - first) < static_cast<unsigned>(columns - first))
                    to[(8 * m + e) * a.out_far[1] + 8 * i] = TILE_SHIFTED ? value + past : value;
            }
        }
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, BLOCKS) segment_dense_plane(const tile_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    REAL *const symbol = reinterpret_cast<REAL *>(stn_shared), *const buffer = symbol + (warp + 1) * CELLS;
    unsigned tile = blockIdx.x * WARPS + warp;
    fetch(a, tile, buffer, lane);
    const square f = load_matrix(a.operands, lane);
    load_symbol(symbol, a.symbol, warp, lane);
    __syncthreads();
#pragma unroll 1
    for (; tile < a.all; tile += gridDim.x * WARPS) {
        copy_async_wait<0>();
        square x = transform_inputs(f, buffer, lane);
        __syncwarp();
        fetch(a, tile + gridDim.x * WARPS, buffer, lane);
        x = transform_transposed(f, x);
        times_symbol(x, symbol, lane);
        x = transform_transposed(f, x);
        x = transform_transposed(f, x);
        store_outputs(a, tile, x, lane);
    }
}
