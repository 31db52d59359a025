// One or several steps of a 1D stencil as 2:4 sparse products on the tensor cores (SPTCStencil).
//
//     out(x) = sum over i of  w[i] in(x + i - X_LOW)  =  K X(x)
//
// K is w as a banded matrix with a row for each of 16 outputs, half of it zeros, which the launcher
// encodes (encode.h). A thread block has a tile of WIDE points, and each warp 8 segments of 128 of
// them. Each of the eight columns of a right factor belongs to a group of 16 adjacent outputs.
// Groups of ADJACENT_COLUMNS columns are adjacent, and a column's next group is 16 ADJACENT_COLUMNS
// points further on, so a warp stores 64 or more adjacent bytes. The words of product k of a group,
// a set, are also those of product k - NEXT of the column's next group: each set is read once and
// added to the sums of all groups that depend on it. With ADJACENT_COLUMNS 2:
//
//     points            | g 0 | g 1 | g 0 | g 1 | ..  c = 0, 0, 1, 1, ..    256 points on: g 2, g 3
//     set s             sum[0] += K(s) set s,   sum[1] += K(s - NEXT) set s,  ..
//
// ADJACENT: all eight columns are adjacent, and sum[c] belongs to segment c. Then a warp stores
// whole memory lines, but each group reads its own words.
//
// Each tile, with the reach of the taps, is one stage of shared memory, point after point; AHEAD
// further tiles arrive while one is computed on. A stage begins at a memory line, SKIP points
// before its window, so that eight threads load one line. If ADJACENT in f32, slots of 16 bytes
// that are FLIP slots apart are exchanged in every second run of 128 bytes, which avoids bank
// conflicts.
//
//     stage:   SKIP | LEAD | WIDE outputs | points right of them
//
// A thread block takes every n-th tile, n being the number of blocks, so that concurrent loads of
// all blocks are adjacent, as in a coalesced copy.
#include "device/arith.cuh"
#include "device/launch_checks.cuh"
#include "device/sparse.cuh"
#include "device/unroll.cuh"
#include "params.cuh"
#include "sparse/stage.cuh"

using STORED = SPARSE_STORE;
constexpr int HALVES = SPARSE_HALVES, LEAD = SPARSE_LEAD, PARTS = SPARSE_PARTS;
constexpr int THREADS = 32 * WARPS, SLOT = 16 / sizeof(STORED), POINTS_OF_WORD = sparse_words<STORED>::POINTS;
constexpr int GROUPS_OF_SEGMENT = 8, SEGMENT_POINTS = 16 * GROUPS_OF_SEGMENT, WIDE = 8 * SEGMENT_POINTS * WARPS;
constexpr int PRODUCTS = HALVES / 2, REGISTERS = (PRODUCTS + 1) / 2, FRAGMENT = 128;  // words
// A set is the words that one product reads. SETS: sets from a group of 16 points to the adjacent
// one.
constexpr int POINTS_OF_SET = 8 * POINTS_OF_WORD, SETS = 16 / POINTS_OF_SET;
constexpr bool ADJACENT = SPARSE_ADJACENT_COLUMNS == 8;
// NEXT_GROUP: points from a column's group to its next group.
constexpr int ADJACENT_COLUMNS = SPARSE_ADJACENT_COLUMNS, NEXT_GROUP = 16 * ADJACENT_COLUMNS;
constexpr int POINTS_OF_MEMORY_LINE = 128 / static_cast<int>(sizeof(STORED));
constexpr int SKIP = round_up(LEAD, POINTS_OF_MEMORY_LINE) - LEAD, FLIP = ADJACENT && sizeof(STORED) == 4 ? 2 : 0;
constexpr int STAGE_POINTS = SKIP + WIDE - 16 + 8 * HALVES * POINTS_OF_WORD;
constexpr int STAGE = round_up(STAGE_POINTS, SEGMENT_POINTS), AHEAD = STAGES - 1;
constexpr int AT_ONCE = THREADS * SLOT;  // points that are copied at once
static_assert(HALVES % 2 == 0, "products of one size, which the groups share");
static_assert(!ADJACENT || PRODUCTS == SETS, "two groups of points share no words");
static_assert(ADJACENT || HALVES % (4 * POINTS_OF_WORD) == 2 * POINTS_OF_WORD,
              "the lanes of two columns lie in different banks");
static_assert(AHEAD >= 1, "the next tile arrives while this one is computed on");
static_assert(LEAD % SLOT == 0 && AT_ONCE % SEGMENT_POINTS == 0, "copies of 16 bytes, whole segments at once");

struct line_arguments {
    const STORED *in;
    STORED *out;
    const unsigned *table;  // metadata, then left factors of all products and parts
    // Only nx and the batch strides are used.
    long long nz, ny, nx, in_z, in_y, in_batch, out_z, out_y, out_batch;
    // iterations: of a block. march_blocks: blocks of a line. steps: tiles of a line.
    long long iterations, march_blocks, steps;
    long long tiles_y, tiles_x;
    REAL scale;  // common factor of all weights; 1 except in f16
};
static_assert(layout_matches(sizeof(line_arguments), sizeof(line_arguments::scale)),
              "the launcher's mirrored struct of the arguments");

// The index of a point in the stage.
__device__ __forceinline__ int index_of(int point) { return point ^ (point / (8 * SLOT) % 2 * FLIP * SLOT); }

// The index of a column's first group among its warp's points.
__device__ __forceinline__ int column_start(int column) {
    return column / ADJACENT_COLUMNS * ADJACENT_COLUMNS * SEGMENT_POINTS + column % ADJACENT_COLUMNS * 16;
}

// Loads points x0 to x0 + STAGE_POINTS - 1 of a line of n.
__device__ __forceinline__ void load_tile(STORED *stage, const STORED *line, long long x0, long long n) {
    const int first = threadIdx.x * SLOT;
    STORED *const to = stage + index_of(first);
    const STORED *const from = line + x0 + first;
    if (VECTOR > 1 && x0 >= 0 && x0 + STAGE_POINTS <= n) {
#pragma unroll
        for (int i = 0; i < STAGE_POINTS; i += AT_ONCE)
            if (i + AT_ONCE <= STAGE_POINTS || first < STAGE_POINTS - i) copy_async_16(to + i, from + i);
        return;
    }
#pragma unroll 1
    for (int i = 0; first + i < STAGE_POINTS; i += AT_ONCE) {
        const long long x = x0 + first + i;
        STORED *const here = to + i;
        if (x < 0 || x + SLOT > n) {
#pragma unroll 1
            for (int e = 0; e < SLOT; e++) here[e] = line[fold_far<X_SIDE_LOW, X_SIDE_HIGH>(x + e, n)];
        } else if (VECTOR > 1) {
            copy_async_16(here, from + i);
        } else {
            STORED run[SLOT];
#pragma unroll
            for (int e = 0; e < SLOT; e++) run[e] = from[i + e];
#pragma unroll
            for (int e = 0; e < SLOT; e++) here[e] = run[e];
        }
    }
}

// Elements of long windows are read five times or more, so f32 is rounded to tf32 once, in the
// stage, by the threads that copied it.
constexpr bool ROUNDS = sizeof(STORED) == 4 && !ADJACENT;
__device__ __forceinline__ void round_own(STORED *stage) {
    const int first = threadIdx.x * SLOT;
    STORED *const mine = stage + index_of(first);
#pragma unroll
    for (int i = 0; i < STAGE_POINTS; i += AT_ONCE)
        if (i + AT_ONCE <= STAGE_POINTS || first < STAGE_POINTS - i) round_words(mine + i);
}

struct factor {
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
};

// Adds all sets of a warp's segments. `begin`: the lane's first word.
__device__ __forceinline__ void add_sets(float (&sum)[GROUPS_OF_SEGMENT][4], const factor &f, const STORED *begin) {
    // Sets from a column's group to its next group, and from its first group to its last.
    constexpr int NEXT = NEXT_GROUP / POINTS_OF_SET, LAST = NEXT * (GROUPS_OF_SEGMENT - 1);
    unroll<0, LAST + PRODUCTS>([&](auto set) {
        constexpr int S = set;
        if constexpr ((S < LAST ? S % NEXT : S - LAST) < PRODUCTS) {
            constexpr int FIRST = S < PRODUCTS ? 0 : (S - PRODUCTS) / NEXT + 1;
            constexpr int END = S < LAST ? S / NEXT + 1 : GROUPS_OF_SEGMENT;
            unsigned b[4];
            load_rounded(b, begin + S * POINTS_OF_SET);
#pragma unroll
            for (int c = FIRST; c < END; c++) {
                const int k = S - NEXT * c;
#pragma unroll
                for (int part = PARTS - 1; part >= 0; part--)
                    add_product(static_cast<const STORED *>(nullptr), sum[c], f.word[k][part], b, f.meta[k / 2], k);
            }
        }
    });
}

// The same if ADJACENT: group c lies in segment c. `begin`: the lane's first word for each product.
__device__ __forceinline__ void add_segments(float (&sum)[GROUPS_OF_SEGMENT][4], const factor &f, const STORED *stage,
                                             const int (&begin)[PRODUCTS]) {
#pragma unroll
    for (int c = 0; c < GROUPS_OF_SEGMENT; c++)
#pragma unroll
        for (int k = 0; k < PRODUCTS; k++) {
            unsigned b[4];
            load_words(b, stage + begin[k] + c * SEGMENT_POINTS);
#pragma unroll
            for (int part = PARTS - 1; part >= 0; part--)
                add_product(static_cast<const STORED *>(nullptr), sum[c], f.word[k][part], b, f.meta[k / 2], k);
        }
}

// Stores a warp's outputs, from x on.
__device__ __forceinline__ void store_segments(const line_arguments &a, STORED *line, long long x, int g, int t,
                                               const float (&sum)[GROUPS_OF_SEGMENT][4]) {
    const float scale = static_cast<float>(a.scale);
    const bool inside = VECTOR > 1 && x + 8 * SEGMENT_POINTS <= a.nx;
    x += column_start(column_of<STORED>(g, t)) + 4 * four_of<STORED>(g, t);
#pragma unroll
    for (int c = 0; c < GROUPS_OF_SEGMENT; c++) {
        const four_outputs<STORED> four = gather(line, sum[c], scale, g);
        if (inside)
            store_four(line + x + NEXT_GROUP * c, four);
        else
            store_some(line + x + NEXT_GROUP * c, four, a.nx - x - NEXT_GROUP * c);
    }
}

static_assert(shared_bytes_match(STAGES * STAGE * sizeof(STORED)), "the launcher gives as much shared memory");
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) sparse_line(const __grid_constant__ line_arguments a) {
    let_next_launch_begin();  // the launch of the faces, or of the next operator, may start
    extern __shared__ __align__(128) unsigned char stn_shared[];
    STORED *const shared = reinterpret_cast<STORED *>(stn_shared);  // STAGES stages
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    const long long first = blockIdx.x % a.march_blocks, batch = blockIdx.x / a.march_blocks;
    const long long step = a.march_blocks, last = a.steps;
    const STORED *const in = a.in + batch * a.in_batch;
    STORED *const out = a.out + batch * a.out_batch;
    factor f;
    f.read(a.table, lane);
    const int first_group = 8 * warp * SEGMENT_POINTS + column_start(g);
    const int at = first_group + (4 * (t / 2) + t % 2 * 4 * HALVES) * POINTS_OF_WORD;
    int begin[PRODUCTS];
#pragma unroll
    for (int k = 0; k < PRODUCTS; k++) begin[k] = index_of(SKIP + at + k * POINTS_OF_SET);
    int stage = 0, filled = 0;
    long long next = first;
    wait_for_previous_launch();
#pragma unroll 1
    for (long long tile = first - AHEAD * step; tile < last; tile += step) {
        if (tile >= first) {
            copy_async_wait<AHEAD - 1>();
            if constexpr (ROUNDS) round_own(shared + stage * STAGE);
            __syncthreads();  // also: all threads have finished with the stage that is filled next
        }
        if (next < last) load_tile(shared + filled * STAGE, in, next * WIDE - LEAD - SKIP, a.nx);
        copy_async_commit();
        next += step, filled = filled + 1 == STAGES ? 0 : filled + 1;
        if (tile < first) continue;
        float sum[GROUPS_OF_SEGMENT][4] = {};
        if constexpr (ADJACENT)
            add_segments(sum, f, shared + stage * STAGE, begin);
        else
            add_sets(sum, f, shared + stage * STAGE + SKIP + at);
        store_segments(a, out, tile * WIDE + 8 * SEGMENT_POINTS * warp, g, t, sum);
        stage = stage + 1 == STAGES ? 0 : stage + 1;
    }
    copy_async_wait<0>();
}
