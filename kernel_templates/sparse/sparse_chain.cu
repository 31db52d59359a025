// Several steps of a 2D stencil at once. The taps of all these steps in one are a sum of a few
// separable terms, each of which is a chain of two 2:4 sparse products on the tensor cores.
//
//     out(y, x) = sum over q, i, j of  u[q][i] v[q][j] in(y + i - Y_LOW, x + j - X_LOW)
//
// that is, transposed, T_q = V_q X^T and out = sum over q of U_q T_q^T, where U and V are banded
// matrices with one row for each of 16 outputs. The launcher orders their columns so that at most
// half of each group is nonzero, and encodes them (encode.h). A block marches down WIDE columns, 16
// for each warp, 16 rows an iteration. Eight rows make a right factor of V; its sums, 16 columns
// x of those eight rows y, are directly words of the right factor of U:
//
//            row y ->
//     x 0   |     |     |     |     |     lane 4 g + t of V's sums:  (x g, rows 2t, 2t + 1),
//     ..    |  8 rows   ..    8 rows                                 (x g + 8, the same)
//     x 15  |     |     |     |     |     of U's right factor:       column g, words of t
//
// The eight rows are not adjacent: they are chosen so that each lane computes the very words that
// it needs for U (device/sparse.cuh), and nothing moves between lanes. x is ordered so that a lane
// ends with four adjacent outputs of rows g and g + 8. Product K of U for a block of 16 rows takes
// the same words as product K - SETS for the next block. So an iteration's words, of 16 rows from
// each half of U's window (in f16 one set, in f32 two), are computed once and added to the sums of
// DEPTH blocks; each row of T is computed twice, once for either half. In iteration s, sum[d]
// belongs to block s - d, which then lacks DEPTH - 1 - d iterations. With T(s) for the words of
// iteration s, and U(d) for the SETS products of U that take them for block s - d:
//
//     iteration s    sum[0], block s, += U(0) T(s)     sum[1], block s - 1, += U(1) T(s)
//                    ..    sum[DEPTH - 1] is complete
//
// Rows arrive in a ring of STAGES chunks of 32 rows in shared memory, each row once; AHEAD chunks
// arrive while WINDOW chunks are computed on. A row of a chunk:
//
//     LEAD | WIDE outputs | columns right of them | unused
//
// Lines are padded so that the words of two neighbouring lines are in different banks.
//
// Where rows begin at any element (VECTOR 1), lines are copied as in unaligned.cuh. In f16 the
// eight rows are then all even or all odd, and either kind has its own window of V. Outputs are put
// into shared memory. Half a warp stores a whole row of them to the grid while the next chunk is
// computed. If warps stored their outputs directly, slots of 16 bytes that two warps share would be
// stored in parts, which takes as long as several whole stores. Blocks with columns past sides take
// longer: if SPARSE_SIDE_BLOCKS is not 0, the first and the last two columns of tiles have one more
// block each than the others, so that their blocks have fewer rows.
//
// 1024 points with windows of 64 (15 steps of reach 1, f16) take 96 cycles for the 48 products of a
// term, 128 cycles of shared memory for the 32 reads of 512 bytes of all terms, and 220 cycles of
// memory.
#include "device/arith.cuh"
#include "device/launch_checks.cuh"
#include "params.cuh"
#include "sparse/factors.cuh"
#include "sparse/unaligned.cuh"

using STORED = SPARSE_STORE;
constexpr int HALVES = SPARSE_HALVES, HALVES_Y = SPARSE_HALVES_Y, LEAD = SPARSE_LEAD, PARTS = SPARSE_PARTS;
constexpr int THREADS = 32 * WARPS, SLOT = 16 / sizeof(STORED), POINTS_OF_WORD = sparse_words<STORED>::POINTS;
constexpr int SIDE_BLOCKS = SPARSE_SIDE_BLOCKS;
constexpr int TALL = 64, WIDE = 16 * WARPS, RING_CHUNK = 32;
constexpr bool UNALIGNED = VECTOR == 1;  // rows begin at any element
constexpr int COLUMNS = WIDE - 16 + 8 * HALVES * POINTS_OF_WORD, SLOTS = COLUMNS / SLOT;
constexpr int WINDOWS = UNALIGNED ? POINTS_OF_WORD : 1;  // windows of V: of even and of odd lines
// PITCH modulo PITCH_PERIOD is PITCH_REMAINDER elements. The period is 128 bytes; with two windows
// 64 bytes, because neighbouring lanes then read every second line.
constexpr int PITCH_PERIOD = 32 * POINTS_OF_WORD / WINDOWS;
constexpr int PITCH_REMAINDER = HALVES % 8 == 4 ? PITCH_PERIOD / 4 : PITCH_PERIOD / 2;
using lines = unaligned_lines<STORED, COLUMNS, RING_CHUNK, THREADS, X_LOW, X_HIGH, X_SIDE_LOW, X_SIDE_HIGH>;
using grid = grid_lines<STORED, Y_SIDE_LOW, Y_SIDE_HIGH>;
constexpr int ELEMENTS = UNALIGNED ? lines::ELEMENTS : COLUMNS;  // of a line
constexpr int PITCH = round_up(ELEMENTS - PITCH_REMAINDER, PITCH_PERIOD) + PITCH_REMAINDER;
constexpr int STAGE = RING_CHUNK * PITCH, RING_SIZE = STAGES * STAGE;
// Rows from the first half of U's window to the second half.
constexpr int SECOND = 4 * HALVES_Y * POINTS_OF_WORD;
constexpr int WINDOW = (RING_CHUNK + SECOND + RING_CHUNK - 1) / RING_CHUNK, AHEAD = STAGES - WINDOW;
constexpr int PRODUCTS_Y = HALVES_Y / 2;  // products of U
// A set is all words that one product of U reads; 16 rows make SETS sets.
constexpr int SETS = 2 / POINTS_OF_WORD;
constexpr int DEPTH = (PRODUCTS_Y + SETS - 1) / SETS;
static_assert(LEAD % SLOT == 0, "copies of 16 bytes");
static_assert(HALVES_Y % 2 == 0, "products of one size, which the blocks of rows share");
static_assert(AHEAD >= 1, "the next chunk arrives while this one is computed on");
// UNALIGNED: halves of warps, each of which stores a line at a time.
constexpr int UNITS = 2 * WARPS;
static_assert(!UNALIGNED || UNITS * sizeof(STORED) % 16 == 0, "a thread's lines have the same offset in a word");
// UNALIGNED: blocks of 16 rows of outputs in shared memory, of this chunk and of the previous one.
// Neighbouring rows are in different banks. A row begins in the same word of its slot of 16 bytes
// as in the grid, so unused elements lie before and after it.
constexpr int LEAVING_PITCH = WIDE + 16, LEAVING = 16 * LEAVING_PITCH, LEAVING_BLOCKS = 2 * RING_CHUNK / 16;
static_assert(RING_CHUNK == 32, "a chunk leaves two blocks, or one at the end");

struct chain_arguments {
    const STORED *in;
    STORED *out;
    // Metadata of V and U, then for each term the left factors of V, all products and parts, and
    // those of U.
    const unsigned *table;
    long long ny, nx, in_y, in_batch, out_y, out_batch;
    // iterations: tiles of 64 rows of a block, each of 4 iterations of the marching loop.
    // march_blocks: blocks along y. steps: tiles of all these blocks together.
    long long iterations, march_blocks, steps;
    long long tiles_x;
    REAL scale;  // common factor of all weights
};
static_assert(layout_matches(sizeof(chain_arguments), sizeof(chain_arguments::scale)),
              "the launcher's mirrored struct of the arguments");

// A block's first column; its tiles, first to last - 1; its grid.
struct chain_position {
    long long x0, first, last, batch;
};
__device__ __forceinline__ chain_position find_position(const chain_arguments &a) {
    if constexpr (!UNALIGNED) {
        const long long block = blockIdx.x, x0 = block % a.tiles_x * WIDE,
                        march_block = block / a.tiles_x % a.march_blocks;
        const long long first = march_block * a.iterations,
                        last = first + a.iterations < a.steps ? first + a.iterations : a.steps;
        return {x0, first, last, block / a.tiles_x / a.march_blocks};
    }
    // There are fewer than 2^31 blocks, so 32-bit divisions suffice.
    const unsigned across = static_cast<unsigned>(a.tiles_x), march_blocks = static_cast<unsigned>(a.march_blocks);
    const unsigned others = across * march_blocks, batch = blockIdx.x / (others + SIDE_BLOCKS);
    const unsigned block = blockIdx.x - batch * (others + SIDE_BLOCKS);
    // The further blocks come last: of the first column, of the last one, and of the one before.
    const unsigned further = block - others, column = block < others ? block % across : further ? across - further : 0;
    const unsigned march_block = block < others ? block / across : march_blocks;
    const unsigned steps = static_cast<unsigned>(a.steps), shared = (steps + march_blocks) / (march_blocks + 1);
    const bool at_side = SIDE_BLOCKS && (column == 0 || column + SIDE_BLOCKS > across);
    const unsigned iterations = at_side ? shared : static_cast<unsigned>(a.iterations);
    const unsigned first = march_block * iterations;
    return {static_cast<long long>(column) * WIDE, first, min(first + iterations, steps), batch};
}

struct factors {
    row_factors<STORED, HALVES, PARTS, SPARSE_TERMS, WINDOWS> rows;
    places<HALVES_Y> y;
    factor<STORED, HALVES_Y, PARTS> u[SPARSE_TERMS];

    // window: the numbers of the windows of even and of odd lines.
    __device__ __forceinline__ void read(const unsigned *table, int lane, const int (&window)[WINDOWS]) {
        using of_x = factor<STORED, HALVES, PARTS>;
#pragma unroll
        for (int w = 0; w < WINDOWS; w++) rows.at[w].read(table + window[w] * places<HALVES>::WORDS, lane);
        y.read(table += WINDOWS * places<HALVES>::WORDS, lane);
        table += places<HALVES_Y>::WORDS;
#pragma unroll
        for (int q = 0; q < SPARSE_TERMS; q++) {
#pragma unroll
            for (int w = 0; w < WINDOWS; w++) rows.v[w][q].read(table + window[w] * of_x::WORDS, lane);
            u[q].read(table += WINDOWS * of_x::WORDS, lane);
            table += factor<STORED, HALVES_Y, PARTS>::WORDS;
        }
    }
};

// Adds a set of words to the sums of all blocks that depend on its rows.
template <int SET>
__device__ __forceinline__ void add_set(float (&sum)[DEPTH][2][4], const factors &f, const STORED *from) {
    unsigned words[SPARSE_TERMS][2][4];
    f.rows.template make_set<PITCH>(words, from);
    unroll<0, DEPTH>([&](auto depth) {
        constexpr int D = depth, K = SETS * D + SET;
        if constexpr (K < PRODUCTS_Y)
#pragma unroll
            for (int q = 0; q < SPARSE_TERMS; q++)
#pragma unroll
                for (int i = 0; i < 2; i++) f.u[q].template add<K>(sum[D][i], f.y, words[q][i]);
    });
}

// Loads the next chunk, whose first row is y0, into the ring.
using copies = line_copies<STORED, SLOTS, THREADS>;
__device__ __forceinline__ void load_chunk(const chain_arguments &a, const copies &mine, lines &unaligned,
                                           const STORED *in, long long y0, long long x0, STORED *stage) {
    const auto place = [](int line) { return line * PITCH; };
    const grid g = {in, a.in_y, a.ny, a.nx, y0};
    if constexpr (UNALIGNED)
        unaligned.template copy<PITCH>(stage, g, x0);
    else if (!take_lines<RING_CHUNK, Y_SIDE_LOW, Y_SIDE_HIGH>(mine, stage, place, in, a.in_y, y0, a.ny))
        load_lines<RING_CHUNK, SLOTS, THREADS, VECTOR, X_SIDE_LOW, X_SIDE_HIGH>(
            stage, place, [&](int line) { return g.line(line); }, x0, a.nx);
}

// UNALIGNED: puts a warp's block of 16 x 16 outputs into shared memory, at column 16 warp + 4 t.
__device__ __forceinline__ void put_block(STORED *leaving, float scale, int warp, int g, int t,
                                          const float (&sum)[2][4]) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const four_outputs<STORED> four = gather(leaving, sum[0][2 * half] * scale, sum[0][2 * half + 1] * scale,
                                                 sum[1][2 * half] * scale, sum[1][2 * half + 1] * scale);
        unsigned *const to = reinterpret_cast<unsigned *>(leaving + (g + 8 * half) * LEAVING_PITCH + 16 * warp + 4 * t);
#pragma unroll
        for (int e = 0; e < 4 / POINTS_OF_WORD; e++) to[e] = four.word[e];
    }
}

constexpr int ALIGNMENT_PAD = alignment_pad<STORED>(LEAD);
static_assert(shared_bytes_match((ALIGNMENT_PAD + RING_SIZE + (UNALIGNED ? LEAVING_BLOCKS * LEAVING : 0)) *
                                 sizeof(STORED)),
              "the launcher gives as much shared memory");
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) sparse_chain(const __grid_constant__ chain_arguments a) {
    let_next_launch_begin();  // the launch of the faces, or of the next operator, may start
    extern __shared__ __align__(128) unsigned char stn_shared[];
    STORED *const shared = reinterpret_cast<STORED *>(stn_shared) + ALIGNMENT_PAD;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    const chain_position position = find_position(a);
    const long long x0 = position.x0, first = position.first, last = position.last;
    const STORED *const in = a.in + position.batch * a.in_batch;
    STORED *const out = a.out + position.batch * a.out_batch;
    const int steps = static_cast<int>(last - first) * (TALL / 16) + DEPTH - 1;
    const int chunks = (16 * steps + SECOND + RING_CHUNK - 1) / RING_CHUNK;  // chunks that are read
    copies mine;
    mine.template begin<VECTOR, X_SIDE_LOW, X_SIDE_HIGH>(x0 - LEAD, a.nx);
    lines unaligned;
    if (UNALIGNED) unaligned.template begin<PITCH>(grid{in, a.in_y, a.ny, a.nx, first * TALL - Y_LOW}, x0 - LEAD);
    factors f;
    int window[WINDOWS] = {};
    if (UNALIGNED)
#pragma unroll
        for (int w = 0; w < WINDOWS; w++) window[w] = unaligned.offset_of(w);
    f.read(a.table, lane, window);
    wait_for_previous_launch();

    const int line = first_line<STORED>(g, HALVES_Y, WINDOWS), column = first_column<STORED>(t, HALVES) + 16 * warp;
    // `fill_place`: the chunk of the ring that is filled next.
    int at = line * PITCH + column, next = 0, fill_place = 0, step = 0;
    STORED *const leaving = shared + RING_SIZE;
    // UNALIGNED. filled: chunks whose columns past sides are filled. Iteration s completes 16 rows,
    // from row 16 (s - DEPTH + 1) of the block on. These rows are stored one chunk later, after a
    // barrier; each unit (half a warp) stores every UNITS-th row.
    int filled = 0;
    if (UNALIGNED) unaligned.template clear<PITCH, STAGES>(shared);
    const long long first_row = first * TALL;
    const int rows = static_cast<int>(a.ny - first_row < 16 * steps ? a.ny - first_row : 16 * steps);
    using stores_type = line_stores<STORED, WIDE>;
    stores_type stores;
    STORED *const first_left = out + (first_row - 16 * (DEPTH - 1) - RING_CHUNK) * a.out_y + x0;
    const int unit = threadIdx.x / stores_type::LANES,
              row_offset = stores_type::word_offset_in_slot(first_left + g * a.out_y);
    stores.begin(first_left + unit * a.out_y, static_cast<int>(a.nx - x0 < WIDE ? a.nx - x0 : WIDE));
    const auto store_left = [&](int s) {
        stores.store<16 / UNITS, UNITS, UNITS * LEAVING_PITCH>(
            leaving + (s + LEAVING_BLOCKS) % LEAVING_BLOCKS * LEAVING + unit * LEAVING_PITCH, UNITS * a.out_y,
            16 * (s - DEPTH + 1) + unit, rows);
    };
    float sum[DEPTH][2][4] = {};
#pragma unroll 1
    for (int chunk = 1 - STAGES; 2 * chunk < steps; chunk++) {
        if (chunk >= 0) {
            copy_async_wait<AHEAD - 1>();
            if (UNALIGNED && !unaligned.inside)
#pragma unroll 1
                for (; filled < chunk + WINDOW && filled < chunks; filled++) {
                    const grid g = {in, a.in_y, a.ny, a.nx, first_row - Y_LOW + RING_CHUNK * filled};
                    unaligned.template fill<PITCH>(shared + filled % STAGES * STAGE, g, x0 - LEAD);
                }
            __syncthreads();  // also: all threads have finished with the chunk that is filled next
        }
        if (next < chunks)
            load_chunk(a, mine, unaligned, in, first * TALL - Y_LOW + RING_CHUNK * next, x0 - LEAD,
                       shared + fill_place * STAGE);
        copy_async_commit();
        next++, fill_place = fill_place + 1 == STAGES ? 0 : fill_place + 1;
        if (chunk < 0) continue;
#pragma unroll 1
        for (int turn = 0; turn < RING_CHUNK / 16 && step < steps; turn++, step++) {
            if (UNALIGNED) store_left(step - RING_CHUNK / 16);
            unroll<0, SETS>([&](auto set) {
                int from = at + 8 * set * PITCH;
                if (set > 0 && from >= RING_SIZE) from -= RING_SIZE;
                add_set<decltype(set)::value>(sum, f, shared + from);
            });
            at += 16 * PITCH;
            if (at >= RING_SIZE) at -= RING_SIZE;
            if constexpr (UNALIGNED)
                put_block(leaving + step % LEAVING_BLOCKS * LEAVING + row_offset, static_cast<float>(a.scale), warp, g,
                          t, sum[DEPTH - 1]);
            else if (step >= DEPTH - 1)
                store_block<VECTOR>(out, a.out_y, a.ny, a.nx, static_cast<float>(a.scale),
                                    first * TALL + 16LL * (step - (DEPTH - 1)), x0 + 16 * warp, g, t, sum[DEPTH - 1]);
#pragma unroll
            for (int d = DEPTH - 1; d >= 0; d--)
#pragma unroll
                for (int e = 0; e < 8; e++) sum[d][e / 4][e % 4] = d ? sum[d ? d - 1 : 0][e / 4][e % 4] : 0;
        }
    }
    copy_async_wait<0>();
    if constexpr (UNALIGNED) {
        __syncthreads();
        for (int s = step - RING_CHUNK / 16; s < step; s++) store_left(s);
    }
}
