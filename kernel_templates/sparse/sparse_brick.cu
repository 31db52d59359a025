// Several steps of 3D taps at once, a sum of few terms that are separable along x, as chains of two 2:4 sparse products.
//
//     out(z, y, x) = sum over q, d, i, j of  u[q][d][i] v[q][j] in(z + d - Z_LOW, y + i - Y_LOW, x + j - X_LOW)
//
// that is, transposed, T_q(p) = V_q X(p)^T of a plane p, and out(z) = sum over q, d of  U_q,d T_q(z + d - Z_LOW)^T; the products and
// what lanes hold of them are sparse_chain's. A warp has 16 columns and 16 rows and walks along z: T of a plane is made once, and
// added to the sums of all planes that look at it, of which sum[0] is complete then:
//
//     plane p     sum[k], plane p - Z_HIGH + k, += U(PLANES - 1 - k) T(p)
//
// A block's warps lie BESIDE side by side, BELOW below each other. Planes come to STAGES stages of shared memory:
//
//     stage:   LEAD | WIDE outputs | what is right of them | unused      lines are padded as sparse_chain's are
//
// For 1024 points of 27 taps in 3 steps (f16, 3 terms): 216 products and 16 reads of 512 bytes, where sparse_tile takes 392 and 98 and
// reads its 49 left factors anew for each plane.
#include "device/arith.cuh"
#include "device/twins.cuh"
#include "params.cuh"
#include "sparse/factors.cuh"

using STORED = SPARSE_STORE;
constexpr int HALVES = SPARSE_HALVES, HALVES_Y = SPARSE_HALVES_Y, LEAD = SPARSE_LEAD, PARTS = SPARSE_PARTS;
constexpr int THREADS = 32 * WARPS, SLOT = 16 / sizeof(STORED), POINTS_OF_WORD = sparse_words<STORED>::POINTS;
constexpr int BESIDE = 4, BELOW = WARPS / BESIDE, WIDE = 16 * BESIDE, TALL = 16 * BELOW;
constexpr int COLUMNS = WIDE - 16 + 8 * HALVES * POINTS_OF_WORD, SLOTS = COLUMNS / SLOT;
constexpr int LINES = TALL - 16 + 8 * HALVES_Y * POINTS_OF_WORD;
constexpr int BANKS = (HALVES % 8 == 4 ? 8 : 16) * POINTS_OF_WORD;  // from line to line, past whole 128 bytes
constexpr int PITCH = round_up(COLUMNS - BANKS, 32 * POINTS_OF_WORD) + BANKS;
constexpr int STAGE = LINES * PITCH, AHEAD = STAGES - 1;
constexpr int PLANES = Z_LOW + Z_HIGH + 1, PRODUCTS_Y = HALVES_Y / 2;
static_assert(LEAD % SLOT == 0, "copies of 16 bytes");
static_assert(WARPS % BESIDE == 0, "warps in whole rows");
static_assert(AHEAD >= 1, "the next plane arrives while this one is computed on");

struct brick_arguments {
    const STORED *in;
    STORED *out;
    const unsigned *
        table;  // metadata of V and U, then of each term V's left factors, all products and parts, and U's of all planes
    long long nz, ny, nx, in_z, in_y, in_batch, out_z, out_y, out_batch;
    long long walk, walks, steps;  // planes of a block; blocks one behind the other; of all of them
    long long tiles_y, tiles_x;
    REAL scale;  // of all weights
};
static_assert(is_twin(sizeof(brick_arguments), sizeof(brick_arguments::scale)), "the launcher's twin of the arguments");

struct factors {
    row_factors<STORED, HALVES, PARTS, SPARSE_TERMS> rows;
    places<HALVES_Y> y;
    factor<STORED, HALVES_Y, PARTS> u[SPARSE_TERMS][PLANES];

    __device__ __forceinline__ void read(const unsigned *table, int lane) {
        rows.at.read(table, lane);
        y.read(table += places<HALVES>::WORDS, lane);
        table += places<HALVES_Y>::WORDS;
#pragma unroll
        for (int q = 0; q < SPARSE_TERMS; q++) {
            rows.v[q].read(table, lane);
            table += factor<STORED, HALVES, PARTS>::WORDS;
#pragma unroll
            for (int d = 0; d < PLANES; d++, table += factor<STORED, HALVES_Y, PARTS>::WORDS) u[q][d].read(table, lane);
        }
    }
};

// One plane's part of all sums.
__device__ __forceinline__ void add_plane(float (&sum)[PLANES][2][4], const factors &f, const STORED *from) {
    unroll<0, PRODUCTS_Y>([&](auto product) {
        constexpr int K = product;
        unsigned words[SPARSE_TERMS][2][4];
        f.rows.template make_set<PITCH>(words, from + 8 * K * POINTS_OF_WORD * PITCH);
#pragma unroll
        for (int q = 0; q < SPARSE_TERMS; q++)
#pragma unroll
            for (int d = 0; d < PLANES; d++)
#pragma unroll
                for (int i = 0; i < 2; i++) f.u[q][d].template add<K>(sum[PLANES - 1 - d][i], f.y, words[q][i]);
    });
}

constexpr int LATE = late<STORED>(LEAD);
static_assert(is_given((LATE + STAGES * STAGE) * sizeof(STORED)),
              "the launcher gives the shared memory that this takes");
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) sparse_brick(const __grid_constant__ brick_arguments a) {
    let_next_launch_begin();  // the faces, or where there are none the next sweep
    extern __shared__ __align__(128) unsigned char stn_shared[];
    STORED *const shared = reinterpret_cast<STORED *>(stn_shared) + LATE;  // STAGES stages
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    long long b = blockIdx.x;
    const long long x0 = b % a.tiles_x * WIDE;
    b /= a.tiles_x;
    const long long y0 = b % a.tiles_y * TALL;
    b /= a.tiles_y;
    const long long first = b % a.walks * a.walk, last = first + a.walk < a.steps ? first + a.walk : a.steps;
    const STORED *const in = a.in + b / a.walks * a.in_batch;
    STORED *const out = a.out + b / a.walks * a.out_batch;
    line_copies<STORED, SLOTS, THREADS> mine;
    mine.template begin<VECTOR, X_SIDE_LOW, X_SIDE_HIGH>(x0 - LEAD, a.nx);
    factors f;
    f.read(a.table, lane);
    wait_for_launch_before();

    const int row = 16 * (warp / BESIDE), column = 16 * (warp % BESIDE);  // of the warp's outputs in the tile
    const int at = (row + first_line<STORED>(g, HALVES_Y)) * PITCH + column + first_column<STORED>(t, HALVES);
    const auto place = [](int line) { return line * PITCH; };
    long long next = first - Z_LOW;
    int stage = 0, filled = 0;
    float sum[PLANES][2][4] = {};
#pragma unroll 1
    for (long long p = first - Z_LOW - AHEAD; p < last + Z_HIGH; p++) {
        if (p >= first - Z_LOW) {
            copy_async_wait<AHEAD - 1>();
            __syncthreads();  // and all have done with the stage that is filled next
        }
        if (next < last + Z_HIGH) {
            const STORED *const plane = in + fold_far<Z_SIDE_LOW, Z_SIDE_HIGH>(next, a.nz) * a.in_z;
            STORED *const to = shared + filled * STAGE;
            if (!take_lines<LINES, Y_SIDE_LOW, Y_SIDE_HIGH>(mine, to, place, plane, a.in_y, y0 - Y_LOW, a.ny))
                load_lines<LINES, SLOTS, THREADS, VECTOR, X_SIDE_LOW, X_SIDE_HIGH>(
                    to, place,
                    [&](int line) {
                        return plane + fold_far<Y_SIDE_LOW, Y_SIDE_HIGH>(y0 - Y_LOW + line, a.ny) * a.in_y;
                    },
                    x0 - LEAD, a.nx);
        }
        copy_async_commit();
        next++, filled = filled + 1 == STAGES ? 0 : filled + 1;
        if (p < first - Z_LOW) continue;
        add_plane(sum, f, shared + stage * STAGE + at);
        stage = stage + 1 == STAGES ? 0 : stage + 1;
        if (p - Z_HIGH >= first)
            store_block<VECTOR>(out + (p - Z_HIGH) * a.out_z, a.out_y, a.ny, a.nx, static_cast<float>(a.scale),
                                y0 + row, x0 + column, g, t, sum[0]);
#pragma unroll
        for (int k = 0; k < PLANES; k++)
#pragma unroll
            for (int e = 0; e < 8; e++)
                sum[k][e / 4][e % 4] = k + 1 < PLANES ? sum[k + 1 < PLANES ? k + 1 : k][e / 4][e % 4] : 0;
    }
    copy_async_wait<0>();
}
