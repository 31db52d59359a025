// Several steps of separable 2D taps at once, as chains of two 2:4 sparse products on the tensor cores.
//
//     out(y, x) = sum over i, j of  u[i] v[j] in(y + i - Y_LOW, x + j - X_LOW)        transposed: T = V X^T, out = U T^T
//
// U and V: bands of 16 outputs, half of them zeros, encoded by the launcher. A block has a tile of WIDE columns and 64 rows, each
// warp 16 of the columns and all rows, 16 rows at a time. Of the window of rows that those see, eight rows make a right factor of
// V; its sums, 16 columns x of those eight rows y, are words of the right factor of U as they stand:
//
//            row y ->                            lane 4 g + t of V's sums:  (x g, rows 2t, 2t + 1), (x g + 8, the same)
//     x 0   |     |     |     |     |            of U's right factor:       column g, words of t
//     ..    |  8 rows   ..    8 rows
//     x 15  |     |     |     |     |            so rows go to the eight columns as U's groups want them (device/sparse.cuh)
//
// and nothing is moved between lanes. x is ordered so that a lane ends with four neighbours of rows g and g + 8. A block walks
// down from tile to tile; each lies in one stage of shared memory, with what the taps reach, while the next arrive:
//
//     stage:   LEAD | WIDE outputs | what is right of them | unused      lines are padded so that two neighbouring lines'
//                                                                        words lie in different banks
#include "device/arith.cuh"
#include "device/sparse.cuh"
#include "device/twins.cuh"
#include "device/unroll.cuh"
#include "params.cuh"
#include "sparse/stage.cuh"

using STORED = SPARSE_STORE;
constexpr int HALVES = SPARSE_HALVES, HALVES_Y = SPARSE_HALVES_Y, LEAD = SPARSE_LEAD, PARTS = SPARSE_PARTS;
constexpr int THREADS = 32 * WARPS, SLOT = 16 / sizeof(STORED), POINTS_OF_WORD = sparse_words<STORED>::POINTS;
constexpr int TALL = 64, WIDE = 16 * WARPS, AHEAD = STAGES - 1;
constexpr int COLUMNS = WIDE - 16 + 8 * HALVES * POINTS_OF_WORD, SLOTS = COLUMNS / SLOT;
constexpr int LINES = TALL - 16 + 8 * HALVES_Y * POINTS_OF_WORD;
constexpr int BANKS = (HALVES == 4 ? 8 : 16) * POINTS_OF_WORD;  // from line to line, past whole 128 bytes
constexpr int PITCH = round_up(COLUMNS - BANKS, 32 * POINTS_OF_WORD) + BANKS;
constexpr int STAGE = LINES * PITCH, FRAGMENT = 128;
static_assert(LEAD % SLOT == 0, "copies of 16 bytes");

struct chain_arguments {
    const STORED *in;
    STORED *out;
    const unsigned *table;  // of V, then of U: metadata, then left factors of all products and parts
    long long ny, nx, in_y, in_batch, out_y, out_batch;
    long long walk, walks, steps;  // tiles of a block; blocks one below the other; tiles of all of them
    long long tiles_x;
    REAL scale;  // of all weights
};
static_assert(is_twin(sizeof(chain_arguments), sizeof(chain_arguments::scale)), "the launcher's twin of the arguments");

// A band as a left factor.
template <int HALVES>
struct factor {
    static constexpr int PRODUCTS = (HALVES + 1) / 2, REGISTERS = (HALVES / 2 + 1) / 2 + HALVES % 2;
    static constexpr int WORDS = 32 * REGISTERS + PRODUCTS * PARTS * FRAGMENT;  // of the table
    unsigned meta[REGISTERS], word[PRODUCTS][PARTS][4];

    __device__ __forceinline__ void read(const unsigned *table, int lane) {
#pragma unroll
        for (int i = 0; i < REGISTERS; i++) meta[i] = table[32 * i + lane];
#pragma unroll
        for (int k = 0; k < PRODUCTS; k++)
#pragma unroll
            for (int part = 0; part < PARTS; part++)
                load_run(word[k][part], table + 32 * REGISTERS + (k * PARTS + part) * FRAGMENT + 4 * lane);
    }
    // Words of a right factor that a lane holds for product k.
    static constexpr int words(int k) { return 2 * k + 1 < HALVES ? 4 : 2; }
    // sum += product K of this and b.
    template <int K, int COUNT>
    __device__ __forceinline__ void add(float (&sum)[4], const unsigned (&b)[COUNT]) const {
#pragma unroll
        for (int part = PARTS - 1; part >= 0; part--)
            sparse_product<COUNT == 4 ? K % 2 : 0>(static_cast<const STORED *>(nullptr), sum, word[K][part], b,
                                                   meta[COUNT == 4 ? K / 2 : REGISTERS - 1]);
    }
};

// Where a lane begins to read: its line of the eight, and its words of the line, of whole products and of half ones.
struct lane_start {
    int line[2], column[2];
};
__device__ __forceinline__ lane_start find_start(int lane) {
    const int g = lane / 4, t = lane % 4, lane_of_u = g / 2;  // that gets lines g and g ^ 1
    lane_start start;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int words = half ? 2 : 4;
        start.line[half] = (words * (lane_of_u / 2) + lane_of_u % 2 * 4 * HALVES_Y) * POINTS_OF_WORD + g % 2;
        start.column[half] = (words * (t / 2) + t % 2 * 4 * HALVES) * POINTS_OF_WORD;
    }
    return start;
}

// Sums of eight lines, `first` and those that a lane's start says: 16 columns.
__device__ __forceinline__ void sum_columns(float (&sum)[4], const factor<HALVES> &v, const STORED *stage, int line,
                                            const lane_start &start) {
    unroll<0, factor<HALVES>::PRODUCTS>([&](auto product) {
        constexpr int K = product, COUNT = factor<HALVES>::words(K);
        unsigned b[COUNT];
        load_words(b, stage + line * PITCH + start.column[COUNT == 2] + 8 * K * POINTS_OF_WORD);
        v.template add<K>(sum, b);
    });
}

// Words that the sums of two lines of a column are, from register `at` on.
template <int COUNT>
__device__ __forceinline__ void take_words(unsigned (&to)[COUNT], int at, float first, float second, const half_t *) {
    to[at] = floats_to_half2(first, second);
}
template <int COUNT>
__device__ __forceinline__ void take_words(unsigned (&to)[COUNT], int at, float first, float second, const float *) {
    to[at] = float_to_tf32(first), to[at + 1] = float_to_tf32(second);
}

// 16 rows of outputs, whose window begins at `stage`: sum[0] of columns 0, 1, 4, 5, .., sum[1] of the others.
__device__ __forceinline__ void sum_rows(float (&sum)[2][4], const factor<HALVES> &v, const factor<HALVES_Y> &u,
                                         const STORED *stage, const lane_start &start) {
    unroll<0, factor<HALVES_Y>::PRODUCTS>([&](auto product) {
        constexpr int K = product, COUNT = factor<HALVES_Y>::words(K), STEP = 2 / POINTS_OF_WORD;
        unsigned words[2][COUNT];
        unroll<0, COUNT / STEP>([&](auto eight) {
            constexpr int AT = eight * STEP;
            float columns[4] = {};
            sum_columns(columns, v, stage, start.line[COUNT == 2] + (8 * K + AT) * POINTS_OF_WORD, start);
            take_words(words[0], AT, columns[0], columns[1], static_cast<const STORED *>(nullptr));
            take_words(words[1], AT, columns[2], columns[3], static_cast<const STORED *>(nullptr));
        });
        u.template add<K>(sum[0], words[0]);
        u.template add<K>(sum[1], words[1]);
    });
}

__device__ __forceinline__ void store_row(const chain_arguments &a, STORED *grid, long long y, long long x, float c0,
                                          float c1, float c2, float c3) {
    if (y >= a.ny) return;
    STORED *const to = grid + y * a.out_y + x;
    const float value[4] = {c0, c1, c2, c3};
    STORED run[4];
    for (int e = 0; e < 4; e++) run[e] = narrow<STORED>(static_cast<float>(value[e] * a.scale));
    if (VECTOR > 1 && x + 4 <= a.nx)
        store_run(to, run);
    else
        for (int e = 0; e < 4; e++)
            if (x + e < a.nx) to[e] = run[e];
}

static_assert(is_given(STAGES * STAGE * sizeof(STORED)), "the launcher gives the shared memory that this takes");
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) sparse_chain(const __grid_constant__ chain_arguments a) {
    let_next_launch_begin();  // the faces
    extern __shared__ __align__(128) unsigned char stn_shared[];
    STORED *const shared = reinterpret_cast<STORED *>(stn_shared);  // STAGES stages
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    const long long block = blockIdx.x, x0 = block % a.tiles_x * WIDE, walk = block / a.tiles_x % a.walks;
    const long long first = walk * a.walk, last = first + a.walk < a.steps ? first + a.walk : a.steps;
    const STORED *const in = a.in + block / a.tiles_x / a.walks * a.in_batch;
    STORED *const out = a.out + block / a.tiles_x / a.walks * a.out_batch;
    long long next = first;
    int filled = 0;  // the stage that is filled next
    const auto load_next = [&] {
        if (next < last)
            load_lines<LINES, SLOTS, THREADS, VECTOR, X_SIDE_LOW, X_SIDE_HIGH>(
                shared + filled * STAGE, [](int line) { return line * PITCH; },
                [&](int line, long long &) {
                    return in + fold_far<Y_SIDE_LOW, Y_SIDE_HIGH>(next * TALL - Y_LOW + line, a.ny) * a.in_y;
                },
                x0 - LEAD, a.nx);
        copy_async_commit();
        next++, filled = filled + 1 == STAGES ? 0 : filled + 1;
    };
    for (int i = 0; i < AHEAD; i++) load_next();

    factor<HALVES> v;
    factor<HALVES_Y> u;
    v.read(a.table, lane);
    u.read(a.table + factor<HALVES>::WORDS, lane);
    const lane_start start = find_start(lane);
    int stage = 0;
    for (long long tile = first; tile < last; tile++) {
        copy_async_wait<AHEAD - 1>();
        __syncthreads();  // and all have done with the stage that is filled next
        load_next();
#pragma unroll 1
        for (int row = 0; row < TALL; row += 16) {
            float sum[2][4] = {};
            sum_rows(sum, v, u, shared + stage * STAGE + row * PITCH + 16 * warp, start);
            const long long y = tile * TALL + row + g, x = x0 + 16 * warp + 4 * t;
            store_row(a, out, y, x, sum[0][0], sum[0][1], sum[1][0], sum[1][1]);
            store_row(a, out, y + 8, x, sum[0][2], sum[0][3], sum[1][2], sum[1][3]);
        }
        stage = stage + 1 == STAGES ? 0 : stage + 1;
    }
    copy_async_wait<0>();
}
