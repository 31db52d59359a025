// A few rows of taps as 2:4 sparse products, as sparse_walk's, straight from memory: no shared memory, no barrier. Many small blocks that know nothing of each other, in the order in which the grid lies in memory, wait for it best: stencils of
// CUDA cores that work so have 95% of what copies have, blocks that walk through shared memory 80 to 86%
// (bench/results/2026-11-20-direct-step.md, 2026-11-23-sparse-3.md).
//
//     out(y, x) = sum over i of  K(i) X(y + i - Y_LOW)
//
// In planes a warp has 8 rows of 128 columns, in lines 8 times 128 neighbours, one after the other; a product's columns are blocks of 16
// outputs side by side:
//
//            16 columns | 16 columns | ..    column g of the right factor: row s, columns from 16 g on
//     row m  |  g = 0   |  g = 1     | ..    sum m: row m
//
// Each lane reads its own words of the right factor, 16 bytes of a row. Two lanes read the same where windows overlap, and two warps the
// rows that both look at: the first level cache has those. All rows are asked for before the first is needed.
//
// BESIDE warps of a block lie side by side, the others below. SPARSE_WALKS: in planes a block goes on downwards for a few tiles; while
// a warp waits for its rows it has L2 fetch those of its next tile (not measured yet).
#include "sparse/rows.cuh"

constexpr int COUNT = SPARSE_ROW_COUNT[0], READ = COUNT + RUN - 1;  // rows of taps, rows that a warp reads
constexpr int SEGMENT_POINTS = 128;
constexpr bool LINE = RANK == 1;
static_assert(!EXPECTED_HEADER || (VECTOR > 1 && !mirrors<X_SIDE_LOW, X_SIDE_HIGH>()), "16 bytes lie side by side");
static_assert(!LINE || !SPARSE_WALKS, "tiles of a plane");
static_assert(WARPS % BESIDE == 0 && (!LINE || BESIDE == 1), "warps in whole rows");

// Words that a lane reads of a row for product k, and the point of the window that they begin at.
__device__ __forceinline__ constexpr int words_of(int k) { return 2 * k + 1 < HALVES ? 4 : 2; }
__device__ __forceinline__ int point_of(int k, int t) {
    return (t / 2 * words_of(k) + t % 2 * 4 * HALVES + 8 * k) * POINTS_OF_WORD;
}

// What a warp reads.
struct row_words {
    unsigned word[READ][PRODUCTS][4];
    template <int COUNT_OF>
    __device__ __forceinline__ void read(int row, int k, const STORED *from) {
        unsigned run[COUNT_OF];
        load_run(run, reinterpret_cast<const unsigned *>(from));
#pragma unroll
        for (int i = 0; i < COUNT_OF; i++) word[row][k][i] = run[i];
    }
    // `from(row, k)`: where a lane's words are.
    template <class FROM>
    __device__ __forceinline__ void read_all(FROM from) {
        unroll<0, READ * PRODUCTS>([&](auto each) {
            constexpr int ROW = each / PRODUCTS, K = each % PRODUCTS;
            read<words_of(K)>(ROW, K, from(ROW, K));
        });
    }
};

// The point of a grid nx wide that x stands for, or what may be read in its place.
__device__ __forceinline__ long long inside_of(long long x, long long nx) {
    if (x >= 0 && x < nx) return x;
    return repeats<X_SIDE_LOW, X_SIDE_HIGH>() ? fold_far<X_SIDE_LOW, X_SIDE_HIGH>(x, nx) : x < 0 ? 0 : nx - SLOT;
}

// x: of the warp's first output; y: of the first row that it reads.
__device__ __forceinline__ void read_rows(row_words &rows, const tile_arguments &a, const STORED *in, long long x,
                                          long long y, int g, int t) {
    constexpr int POINTS = SEGMENT_POINTS - 16 + 8 * HALVES * POINTS_OF_WORD + (LINE ? (RUN - 1) * SEGMENT_POINTS : 0);
    const long long begin = x - LEAD;
    long long at[PRODUCTS];
#pragma unroll
    for (int k = 0; k < PRODUCTS; k++) at[k] = begin + 16 * g + point_of(k, t);
    const bool inside = begin >= 0 && begin + POINTS <= a.nx;
    if (LINE && inside)
        rows.read_all([&](int row, int k) { return in + at[k] + row * SEGMENT_POINTS; });
    else if (LINE)
        rows.read_all([&](int row, int k) { return in + inside_of(at[k] + row * SEGMENT_POINTS, a.nx); });
    else {
        if (!inside)
#pragma unroll
            for (int k = 0; k < PRODUCTS; k++) at[k] = inside_of(at[k], a.nx);
        if (y >= 0 && y + READ <= a.ny) {
            int none = 0;
            keep_here(none);  // or all multiples of the pitch would be kept from tile to tile
            const long long pitch = a.in_y + none;
            const STORED *from = in + y * a.in_y;
            rows.read_all([&](int row, int k) {
                if (row && !k) from += pitch;
                return from + at[k];
            });
        } else
            rows.read_all(
                [&](int row, int k) { return in + fold_far<Y_SIDE_LOW, Y_SIDE_HIGH>(y + row, a.ny) * a.in_y + at[k]; });
    }
}

__device__ __forceinline__ void add_rows(float (&sum)[RUN][4], const fragments<COUNT> &held,
                                         const unsigned (&meta)[REGISTERS], const row_words &rows) {
    unroll<0, READ * PRODUCTS>([&](auto each) {
        constexpr int S = each / PRODUCTS, K = each % PRODUCTS, WORDS = words_of(K);
        window_words<WORDS> b;
        b.take(rows.word[S][K]);
        add_window<K, S>(sum, held, b, meta[WORDS == 4 ? K / 2 : REGISTERS - 1]);
    });
}

// The outputs of a line's warp, from x on.
__device__ __forceinline__ void store_segments(const tile_arguments &a, STORED *line, long long x, int g, int t,
                                               const float (&sum)[RUN][4]) {
    const float scale = static_cast<float>(a.scale);
    const bool inside = x + RUN * SEGMENT_POINTS <= a.nx;
    x += 16 * column_of<STORED>(g, t) + 4 * four_of<STORED>(g, t);
#pragma unroll
    for (int m = 0; m < RUN; m++, x += SEGMENT_POINTS) {
        const four_outputs<STORED> four = gather(line, sum[m], scale, g);
        if (inside)
            store_four(line + x, four);
        else
            store_some(line + x, four, a.nx - x);
    }
}

// The rows of the warp's next tile that no tile above has asked for, each by a lane: they are in L2 when they are needed.
__device__ __forceinline__ void ask_for(const tile_arguments &a, const STORED *in, long long x, long long y, int lane) {
    const long long row = y + Y_HIGH + lane;
    if (lane < RUN && row < a.ny && x + SEGMENT_POINTS <= a.nx)
        prefetch_far(in + row * a.in_y + x, SEGMENT_POINTS * sizeof(STORED));
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    sparse_straight(const __grid_constant__ tile_arguments a) {
    let_next_launch_begin();  // the faces
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    // Blocks are fewer than 2^31, and numbers of 32 bits divide in a quarter of the time.
    const unsigned across = LINE ? 1 : static_cast<unsigned>(a.tiles_x), down = static_cast<unsigned>(a.walks);
    const unsigned row = blockIdx.x / across, batch = row / down;
    const STORED *const in = a.in + batch * a.in_batch;
    STORED *const out = a.out + batch * a.out_batch;
    const long long tile_x = LINE ? 0 : static_cast<long long>(blockIdx.x - row * across) * WIDE;
    const long long first = (row - batch * down) * a.walk, last = first + a.walk < a.steps ? first + a.walk : a.steps;
    long long tile = first,
              x = LINE ? (tile * WARPS + warp) * RUN * SEGMENT_POINTS : tile_x + SEGMENT_POINTS * (warp % BESIDE);
    long long y = LINE ? 0 : tile * TALL + RUN * (warp / BESIDE);
    row_words rows;
    const auto read = [&] { read_rows(rows, a, in, x, y - Y_LOW + SPARSE_ROW_FIRST[0], g, t); };
    if constexpr (!SPARSE_WALKS) read();  // ahead of the left factors
    unsigned meta[REGISTERS];
#pragma unroll
    for (int i = 0; i < REGISTERS; i++) meta[i] = a.table[32 * i + lane];
    fragments<COUNT> held;
    read_fragments(held, a.table, 0, lane);
#pragma unroll 1
    while (true) {
        const bool more = SPARSE_WALKS && tile + 1 < last;
        if constexpr (SPARSE_WALKS) read();
        if (more) ask_for(a, in, x, y + TALL, lane);
        float sum[RUN][4] = {};
        add_rows(sum, held, meta, rows);
        if constexpr (LINE)
            store_segments(a, out, x, g, t, sum);
        else
            store_tile<true>(a, out, tile * TALL, tile_x, warp, g, t, sum);
        if (!more) break;
        tile++, y += TALL;
    }
}
