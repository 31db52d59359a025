// A few rows of taps as 2:4 sparse products, straight from memory as sparse_straight's, by warps that roll down the plane.
//
//     out(y, x) = sum over i of  K(i) X(y + i - Y_LOW)
//
// A warp has 128 columns and goes down DEEP rows of outputs, a row of the plane at a time. It reads each row once, AHEAD rows before it is needed,
// and multiplies it with all COUNT rows of taps at once, for as many rows of outputs; one of those is complete then:
//
//     row s of the plane        sum(s)     += K(0) X(s)           began here
//                               sum(s - 1) += K(1) X(s)
//                               ..
//                               sum(s - COUNT + 1) += ..          complete, stored
//
// Warps of sparse_straight hold 8 + COUNT - 1 rows at once and wait for all of them, then compute, then store: with 7 rows of taps
// registers hold 16 such warps, of which too few wait for memory at a time, and each row is read nearly twice. Here a warp has AHEAD rows
// on their way all the time; left factors are read once for DEEP rows, and rows besides DEEP only COUNT - 1.
//
// A block's warps lie side by side, so that rows are read in long pieces; they do not wait for each other. Registers: words of AHEAD rows,
// COUNT sums and COUNT left factors, each in its place by the number of its row: AHEAD steps are unrolled.
#include "sparse/rows.cuh"

constexpr int COUNT = SPARSE_ROW_COUNT[0], AHEAD = STAGES, DEEP = SPARSE_ROWS;
constexpr int READ = DEEP + COUNT - 1;  // rows that a warp reads
static_assert(!EXPECTED_HEADER || (VECTOR > 1 && !mirrors<X_SIDE_LOW, X_SIDE_HIGH>()), "16 bytes lie side by side");
static_assert(!EXPECTED_HEADER || BESIDE == WARPS, "side by side");
static_assert(AHEAD % COUNT == 0 && READ % AHEAD == 0, "sums and words have the same places in each turn");

using row_words = unsigned[PRODUCTS][4];

// Reads one row after the other, without a branch: the launcher sees to it that taps reach less than ny, which is below 2^30.
struct row_reader {
    const STORED *column[PRODUCTS];  // of a lane's words in row 0
    long long pitch;
    int y, ny;  // y: of the next row

    // From output (first, x) on.
    __device__ __forceinline__ void begin(const tile_arguments &a, const STORED *grid, int first, long long x, int g,
                                          int t) {
        pitch = a.in_y, ny = static_cast<int>(a.ny), y = first - Y_LOW + SPARSE_ROW_FIRST[0];
#pragma unroll
        for (int k = 0; k < PRODUCTS; k++) column[k] = grid + inside_of(x - LEAD + 16 * g + point_of(k, t), a.nx);
    }
    __device__ __forceinline__ void next(row_words &to) {
        const int last = ny - 1 + Y_HIGH;  // rows below are for outputs that the grid has not
        const long long row = fold_near<Y_SIDE_LOW, Y_SIDE_HIGH>(y < last ? y : last, ny) * pitch;
        unroll<0, PRODUCTS>([&](auto product) {
            constexpr int K = product;
            unsigned run[words_of(K)];
            load_run_here(run, reinterpret_cast<const unsigned *>(column[K] + row));
#pragma unroll
            for (int i = 0; i < words_of(K); i++) to[K][i] = run[i];
        });
        keep_here(++y);
    }
};

// Row S of a turn into all sums that look at it.
template <int S>
__device__ __forceinline__ void add_row(float (&sum)[COUNT][4], const fragments<COUNT> &held,
                                        const unsigned (&meta)[REGISTERS], const row_words &row) {
#pragma unroll
    for (int e = 0; e < 4; e++) sum[S % COUNT][e] = 0;
    unroll<0, PRODUCTS>([&](auto product) {
        constexpr int K = product, WORDS = words_of(K);
        window_words<WORDS> b;
        b.take(row[K]);
        unroll<0, COUNT * PARTS>([&](auto each) {
            constexpr int PART = PARTS - 1 - each / COUNT, I = each % COUNT;
            sparse_product<WORDS == 4 ? K % 2 : 0>(static_cast<const STORED *>(nullptr), sum[(S + COUNT - I) % COUNT],
                                                   held.word[I][K][PART], b.high,
                                                   meta[WORDS == 4 ? K / 2 : REGISTERS - 1]);
        });
    });
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) sparse_roll(const __grid_constant__ tile_arguments a) {
    let_next_launch_begin();  // the faces
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    const unsigned across = static_cast<unsigned>(a.tiles_x), down = static_cast<unsigned>(a.walks);
    const unsigned block_row = blockIdx.x / across, batch = block_row / down;
    const long long x = static_cast<long long>(blockIdx.x - block_row * across) * WIDE + SEGMENT_POINTS * warp;
    const int y = static_cast<int>(block_row - batch * down) * DEEP;
    if (x >= a.nx) return;
    row_reader reader;
    reader.begin(a, a.in + batch * a.in_batch, y, x, g, t);
    row_words row[AHEAD];
    unroll<0, AHEAD>([&](auto s) { reader.next(row[s]); });
    unsigned meta[REGISTERS];
#pragma unroll
    for (int i = 0; i < REGISTERS; i++) meta[i] = a.table[32 * i + lane];
    fragments<COUNT> held;
    read_fragments(held, a.table, 0, lane);
    const long long column = x + 16 * column_of<STORED>(g, t) + 4 * four_of<STORED>(g, t);
    STORED *to = a.out + batch * a.out_batch + y * a.out_y + column;
    const bool mine = column < a.nx;  // rows are whole 16 bytes
    const int below = static_cast<int>(a.ny) - y;
    const unsigned left = below < DEEP ? below : DEEP;
    const float scale = static_cast<float>(a.scale);
    float sum[COUNT][4] = {};
    const auto turn = [&](auto more, int first) {
        unroll<0, AHEAD>([&](auto step) {
            constexpr int S = step;
            add_row<S>(sum, held, meta, row[S]);
            if constexpr (decltype(more)::value) reader.next(row[S]);
            if (static_cast<unsigned>(first + S - (COUNT - 1)) <
                left) {  // a branch, so that no step mixes with the next
                const four_outputs<STORED> four = gather(to, sum[(S + 1) % COUNT], scale, g);
                if (mine) store_four(to, four);
                to += a.out_y;
            }
        });
    };
#pragma unroll 1
    for (int first = 0; first < READ - AHEAD; first += AHEAD) turn(index<1>(), first);
    turn(index<0>(), READ - AHEAD);
}
