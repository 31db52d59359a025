// Common parts of sparse_tile and sparse_march: arguments, a block's position, left factors of rows
// of taps, stores of outputs.
#pragma once
#include "device/arith.cuh"
#include "device/launch_checks.cuh"
#include "device/sparse.cuh"
#include "params.cuh"
#include "sparse/stage.cuh"

using STORED = SPARSE_STORE;
constexpr int RANK = SPARSE_RANK, HALVES = SPARSE_HALVES, LEAD = SPARSE_LEAD, PARTS = SPARSE_PARTS;
constexpr int THREADS = 32 * WARPS, SLOT = 16 / sizeof(STORED), POINTS_OF_WORD = sparse_words<STORED>::POINTS;
// RUN: accumulators of a warp. BELOW: runs of RUN rows in the height of a tile.
constexpr int RUN = 8, BELOW = SPARSE_ADJACENT_WARPS ? WARPS / SPARSE_ADJACENT_WARPS : 8;
constexpr int TALL = RUN * BELOW, WIDE = SPARSE_ADJACENT_WARPS ? 128 * SPARSE_ADJACENT_WARPS : 16 * WARPS;
constexpr int PRODUCTS = (HALVES + 1) / 2, REGISTERS = (HALVES / 2 + 1) / 2 + HALVES % 2;
constexpr int COLUMNS = WIDE - 16 + 8 * HALVES * POINTS_OF_WORD, SLOTS = COLUMNS / SLOT;
constexpr int LINES = TALL + Y_LOW + Y_HIGH;
constexpr int FRAGMENT = 128;  // words of a left factor
static_assert(sizeof(STORED) <= 4, "f32 and f16");
static_assert(LEAD % SLOT == 0, "copies of 16 bytes");

struct tile_arguments {
    const STORED *in;
    STORED *out;
    const unsigned *table;  // metadata, then left factors of all rows, products and parts
    long long nz, ny, nx, in_z, in_y, in_batch, out_z, out_y, out_batch;
    // iterations: of a block. march_blocks: blocks along the marching axis. steps: iterations of
    // all these blocks together.
    long long iterations, march_blocks, steps;
    long long tiles_y, tiles_x;
    REAL scale;  // common factor of all weights; 1 except in f16
};
static_assert(layout_matches(sizeof(tile_arguments), sizeof(tile_arguments::scale)),
              "the launcher's mirrored struct of the arguments");

// A block's position.
struct tile_position {
    long long batch, y, x;  // grid of the batch, first row (in 3D), first column
    long long first, last;  // its iterations (in 3D its planes) are first to last - 1
};
__device__ __forceinline__ tile_position find_tile(const tile_arguments &a) {
    // There are fewer than 2^31 blocks, so 32-bit divisions suffice, which take a quarter of the
    // time.
    const unsigned across = static_cast<unsigned>(a.tiles_x), along = static_cast<unsigned>(a.tiles_y),
                   march_blocks = static_cast<unsigned>(a.march_blocks);
    unsigned b = blockIdx.x;
    tile_position at;
    at.x = static_cast<long long>(b % across) * WIDE, b /= across;
    at.y = static_cast<long long>(b % along) * TALL, b /= along;
    at.first = b % march_blocks * a.iterations, at.batch = b / march_blocks;
    at.last = at.first + a.iterations < a.steps ? at.first + a.iterations : a.steps;
    return at;
}

// Left factors of COUNT rows of taps.
template <int COUNT>
struct fragments {
    unsigned word[COUNT][PRODUCTS][PARTS][4];
};
template <int COUNT>
__device__ __forceinline__ void read_fragments(fragments<COUNT> &to, const unsigned *table, int row, int lane) {
#pragma unroll
    for (int i = 0; i < COUNT; i++)
#pragma unroll
        for (int k = 0; k < PRODUCTS; k++)
#pragma unroll
            for (int part = 0; part < PARTS; part++)
                load_run(to.word[i][k][part],
                         table + 32 * REGISTERS + (((row + i) * PRODUCTS + k) * PARTS + part) * FRAGMENT + 4 * lane);
}

// A lane's words of a window. SPLIT: f32 elements are split into two parts of 11 bits, as weights
// are; three of the four products are computed, because the fourth is below f32's accuracy.
constexpr bool SPLIT = SPARSE_SPLIT;
static_assert(!SPLIT || (PARTS == 2 && sizeof(STORED) == 4), "f32 in two parts");
template <int WORDS>
struct window_words {
    unsigned high[WORDS], low[SPLIT ? WORDS : 1];
    __device__ __forceinline__ void load(const STORED *from) {
        if constexpr (SPLIT)
            load_parts(high, low, from);
        else
            load_words(high, from);
    }
};

// add_window for both parts. Tensor cores truncate a sum, of products and accumulator, some 22 bits
// below its largest number. So the three products of a left factor have an accumulator of their
// own, to which the smaller ones are added first; then this is added to the sum with rounding.
template <int COUNT, int WORDS>
__device__ __forceinline__ void add_split(float (&sum)[RUN][4], const fragments<COUNT> &a, const window_words<WORDS> &b,
                                          unsigned meta, int k, int s) {
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        if (s - i >= 0 && s - i < RUN) {
            float own[4] = {};
            add_product(static_cast<const STORED *>(nullptr), own, a.word[i][k][0], b.low, meta, k);
            add_product(static_cast<const STORED *>(nullptr), own, a.word[i][k][PARTS - 1], b.high, meta, k);
            add_product(static_cast<const STORED *>(nullptr), own, a.word[i][k][0], b.high, meta, k);
#pragma unroll
            for (int e = 0; e < 4; e++) sum[s - i >= 0 ? s - i : 0][e] += own[e];
        }
}

// Multiplies product k of the window of row s by the rows of taps that meet it: row i of the taps
// contributes to sum s - i, if there is such a sum. s counts rows from the first one read.
template <int COUNT, int WORDS>
__device__ __forceinline__ void add_window(float (&sum)[RUN][4], const fragments<COUNT> &a,
                                           const window_words<WORDS> &b, unsigned meta, int k, int s) {
    if constexpr (SPLIT) {
        add_split(sum, a, b, meta, k, s);
        return;
    }
#pragma unroll
    for (int part = PARTS - 1; part >= 0; part--)
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            if (s - i >= 0 && s - i < RUN)
                add_product(static_cast<const STORED *>(nullptr), sum[s - i >= 0 ? s - i : 0], a.word[i][k][part],
                            b.high, meta, k);
}

// Stores a warp's outputs, from `row` and x on of the block's tile. ADJACENT: as drawn in
// sparse_tile.cu and sparse_march.cu.
constexpr int ACROSS = SPARSE_ADJACENT_WARPS ? SPARSE_ADJACENT_WARPS : 1;
template <bool ADJACENT>
__device__ __forceinline__ void store_tile(const tile_arguments &a, STORED *grid, long long row, long long x, int warp,
                                           int g, int t, const float (&sum)[RUN][4]) {
    const float scale = static_cast<float>(a.scale);
    const int column = column_of<STORED>(g, t), down = 8 * (ADJACENT ? warp / ACROSS : column);
    const int right = (ADJACENT ? warp % ACROSS * 128 + 16 * column : 16 * warp) + 4 * four_of<STORED>(g, t);
    const bool inside = VECTOR > 1 && x + WIDE <= a.nx && row + TALL <= a.ny;
    STORED *to = grid + (row + down) * a.out_y + x + right;
    if (inside) {
#pragma unroll
        for (int m = 0; m < RUN; m++, to += a.out_y) store_four(to, gather(grid, sum[m], scale, g));
        return;
    }
    const bool four_left = VECTOR > 1 && x + right + 4 <= a.nx;
#pragma unroll
    for (int m = 0; m < RUN; m++, to += a.out_y) {
        const four_outputs<STORED> four = gather(grid, sum[m], scale, g);
        if (row + down + m >= a.ny) continue;
        if (four_left)
            store_four(to, four);
        else
            store_some(to, four, a.nx - x - right);
    }
}
