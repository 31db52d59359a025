// One or several steps as 2:4 sparse products on the tensor cores (SPTCStencil): a sum over rows of
// taps.
//
//     out(z, y, x) = sum over d, i of  K(d, i) X(z + d - Z_LOW, y + i - Y_LOW)
//
// K(d, i): a row of taps as a banded matrix with a row for each of 16 outputs, half of it zeros,
// which the launcher encodes (encode.h). X: a window of HALVES * 8 words of each of 8 rows. A block
// has a tile of WIDE columns and 64 rows, each warp 16 of the columns and all rows; products take
// rows that are 8 apart, so that a window read once serves every tap that reads its rows:
//
//            16 columns                     column g of the right factor: row s + 8 g
//     row 0  |  m = 0  |                    X of row s, times K(i), is added to sum m = s - i
//     row 1  |  m = 1  |
//     ..                                    sum m: rows m, m + 8, .., m + 56 of the outputs
//     row 8  |  m = 0  |
//     ..
//
// SPARSE_ADJACENT_COLUMNS 8 (ADJACENT): the same tile transposed: each warp has 8 of the rows and
// all columns, which products take 16 apart. Then a warp stores 512 adjacent bytes of a row (256 in
// f16), whole memory lines, instead of 32 or 64 bytes of each of 8 rows:
//
//            16 columns | 16 columns | ..    column g: row s, columns from 16 g on
//     row m  |  g = 0   |  g = 1     | ..    sum m: row m
//
// A block marches in 3D along z, from plane to plane, in 2D down from tile to tile. Each plane, or
// tile, with the reach of the taps, is one stage of shared memory; AHEAD further stages arrive
// meanwhile.
//
//     stage:   LEAD | WIDE outputs | columns right of them
//
// 16 words of padding (8 if HALVES % 8 is 4) follow each 8 rows, so that lanes that read rows 8
// apart use different banks; ADJACENT needs no padding.
#include "device/unroll.cuh"
#include "sparse/rows.cuh"

constexpr int PLANES = Z_LOW + Z_HIGH + 1, AHEAD = STAGES - PLANES;
// With as many warps as columns of a product, the transposed tile has the same size.
constexpr bool ADJACENT = SPARSE_ADJACENT_COLUMNS == 8 && WARPS == 8;
// Elements from a row to the row 8 below.
constexpr int GROUP_STRIDE = 8 * COLUMNS + (ADJACENT ? 0 : HALVES % 8 == 4 ? 8 : 16) * POINTS_OF_WORD;
constexpr int STAGE = (LINES + 7) / 8 * GROUP_STRIDE;
constexpr bool ALL_HELD = PLANES == 1 && SPARSE_ROW_COUNT[0] <= SPARSE_HELD;
static_assert(AHEAD >= 1, "the next stage arrives while this one is computed on");

using copies = line_copies<STORED, SLOTS, THREADS>;

// Loads plane, or tile, p into its stage.
__device__ __forceinline__ void load_plane(const tile_arguments &a, const tile_position &at, const copies &mine,
                                           long long p, STORED *stage) {
    const auto place = [](int line) { return line / 8 * GROUP_STRIDE + line % 8 * COLUMNS; };
    const STORED *grid = a.in + at.batch * a.in_batch;
    if (RANK == 3) grid += fold_far<Z_SIDE_LOW, Z_SIDE_HIGH>(p, a.nz) * a.in_z;
    const long long y0 = (RANK == 3 ? at.y : TALL * p) - Y_LOW;
    if (take_lines<LINES, Y_SIDE_LOW, Y_SIDE_HIGH>(mine, stage, place, grid, a.in_y, y0, a.ny)) return;
    load_lines<LINES, SLOTS, THREADS, VECTOR, X_SIDE_LOW, X_SIDE_HIGH>(
        stage, place, [&](int row) { return grid + fold_far<Y_SIDE_LOW, Y_SIDE_HIGH>(y0 + row, a.ny) * a.in_y; },
        at.x - LEAD, a.nx);
}

// Where a lane's words in row g of eight rows begin: those of whole products, and those of the half
// product at the end of the window.
struct lane_start {
    const STORED *whole, *half;
};

// Adds COUNT rows of taps, the first of which reads row LINE of the stage for the outputs of row 0.
template <int LINE, int COUNT>
__device__ __forceinline__ void add_rows(float (&sum)[RUN][4], const fragments<COUNT> &a,
                                         const unsigned (&meta)[REGISTERS], const lane_start &start) {
#pragma unroll
    for (int s = 0; s < COUNT + RUN - 1; s++) {
        const int at = (LINE + s) / 8 * GROUP_STRIDE + (LINE + s) % 8 * COLUMNS;
#pragma unroll
        for (int k = 0; k < HALVES / 2; k++) {
            window_words<4> b;
            b.load(start.whole + at + 8 * k * POINTS_OF_WORD);
            add_window(sum, a, b, meta[k / 2], k, s);
        }
        if constexpr (HALVES % 2) {
            window_words<2> b;
            b.load(start.half + at + 8 * (PRODUCTS - 1) * POINTS_OF_WORD);
            add_window(sum, a, b, meta[REGISTERS - 1], PRODUCTS - 1, s);
        }
    }
}

constexpr int rows_before(int plane) { return plane ? rows_before(plane - 1) + SPARSE_ROW_COUNT[plane - 1] : 0; }

// Adds all rows of taps of one plane, SPARSE_HELD of them in registers at a time.
template <int PLANE, int COUNT>
__device__ __forceinline__ void add_plane(float (&sum)[RUN][4], const fragments<COUNT> &held,
                                          const unsigned (&meta)[REGISTERS], const unsigned *table,
                                          const lane_start &start, int lane) {
    if constexpr (ALL_HELD)
        add_rows<SPARSE_ROW_FIRST[PLANE]>(sum, held, meta, start);
    else
        unroll<0, (SPARSE_ROW_COUNT[PLANE] + SPARSE_HELD - 1) / SPARSE_HELD>([&](auto chunk) {
            constexpr int FIRST = chunk * SPARSE_HELD, LEFT = SPARSE_ROW_COUNT[PLANE] - FIRST;
            fragments<(LEFT < SPARSE_HELD ? LEFT : SPARSE_HELD)> read;
            int again = lane;
            // This stops the compiler from hoisting these loads, which would spill registers.
            hide_from_optimizer(again);
            read_fragments(read, table, rows_before(PLANE) + FIRST, again);
            add_rows<SPARSE_ROW_FIRST[PLANE] + FIRST>(sum, read, meta, start);
        });
}

constexpr int ALIGNMENT_PAD = alignment_pad<STORED>(LEAD);
static_assert(shared_bytes_match((ALIGNMENT_PAD + STAGES * STAGE) * sizeof(STORED)),
              "the launcher gives as much shared memory");
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) sparse_tile(const __grid_constant__ tile_arguments a) {
    let_next_launch_begin();  // the launch of the faces, or of the next operator, may start
    extern __shared__ __align__(128) unsigned char stn_shared[];
    STORED *const shared = reinterpret_cast<STORED *>(stn_shared) + ALIGNMENT_PAD;  // STAGES stages
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    const tile_position at = find_tile(a);
    long long next = at.first - Z_LOW;
    int filled = 0;  // the stage that is filled next
    copies mine;
    mine.template begin<VECTOR, X_SIDE_LOW, X_SIDE_HIGH>(at.x - LEAD, a.nx);
    const auto load_next = [&] {
        if (next < at.last + Z_HIGH) load_plane(a, at, mine, next, shared + filled * STAGE);
        copy_async_commit();
        next++;
        filled = filled + 1 == STAGES ? 0 : filled + 1;
    };
    unsigned meta[REGISTERS];
#pragma unroll
    for (int i = 0; i < REGISTERS; i++) meta[i] = a.table[32 * i + lane];
    fragments<ALL_HELD ? SPARSE_ROW_COUNT[0] : 1> held;
    if constexpr (ALL_HELD) read_fragments(held, a.table, 0, lane);
    const int below = ADJACENT ? warp : g, along = ADJACENT ? g : warp;
    const int begin = below * GROUP_STRIDE + 16 * along + t % 2 * 4 * HALVES * POINTS_OF_WORD;
    const int whole = begin + 4 * (t / 2) * POINTS_OF_WORD, half = begin + 2 * (t / 2) * POINTS_OF_WORD;
    int stage = 0;  // of the iteration's first plane
    wait_for_previous_launch();
#pragma unroll 1
    for (long long p = at.first - (STAGES - 1); p < at.last; p++) {
        if (p >= at.first) {
            copy_async_wait<AHEAD - 1>();
            __syncthreads();  // also: all threads have finished with the stage that is filled next
        }
        load_next();
        if (p < at.first) continue;
        float sum[RUN][4] = {};
        unroll<0, PLANES>([&](auto plane) {
            const int of = stage + plane < STAGES ? stage + plane : stage + plane - STAGES;
            const lane_start start = {shared + of * STAGE + whole, shared + of * STAGE + half};
            add_plane<decltype(plane)::value>(sum, held, meta, a.table, start, lane);
        });
        STORED *const grid = a.out + at.batch * a.out_batch + (RANK == 3 ? p * a.out_z : 0);
        store_tile<ADJACENT>(a, grid, RANK == 3 ? at.y : TALL * p, at.x, warp, g, t, sum);
        stage = stage + 1 == STAGES ? 0 : stage + 1;
    }
    copy_async_wait<0>();
}
