// A Fourier layer along one axis in one warp-specialised kernel: some warps of a block transform
// while the others multiply another batch item. The formula is that of fno_line.cu.
//
//     iteration 0            1                    2                           3
//     lines     x_0 -> A     x_1 -> B             y_0 <- A,  x_2 -> A         y_1 <- B,  x_3 -> B
//     products               A * weight -> A      B * weight -> B             A * weight -> A
//
// Tiles A and B hold the modes of all channels of an item, which are then replaced by the modes of
// its outputs. An iteration has two barriers: one before the sums overwrite the tile, once all
// warps of the product have read it, and one after. A warp keeps its lines in all iterations, so
// that the transforming warps need not wait for each other.
//
// Each warp loads weights as fragments directly from memory (L2), one step of 8 channels before it
// multiplies them.
//
// Shared memory: | FFT | A [mode][channel] | B |
//
// Reads FNO_*, WARPS_M .. TILES_N (fno/product.cuh), BLOCKS and what fno/lines.cuh reads: THREADS
// threads transform LINE_COUNT x FNO_GROUPS lines at once; 32 x WARPS_M x WARPS_N others multiply.
#include "fno/points.cuh"
#include "fno/product.cuh"

constexpr int TOGETHER = THREADS + 32 * WARPS_M * WARPS_N;  // threads of a block
constexpr int PITCH = tile_pitch(larger(FNO_WHOLE, COLUMNS)), TILE_CELLS = MODE_ROWS * PITCH;
constexpr int LADDER = round_up(LADDER_CELLS, 2);  // chunks are aligned to 16 bytes

static_assert(!FNO_WHOLE || (WARP_LINES && THREADS % 32 == 0), "a warp needs no other for its lines");
static_assert(FNO_WHOLE % CHANNELS == 0 && CHANNELS % 8 == 0,
              "a tile has whole groups of channels, products whole steps");
static_assert(MODE_ROWS >= MODES, "all modes are multiplied");
static_assert(is_given((LADDER + 2 * TILE_CELLS) * sizeof(value)),
              "the launcher gives the shared memory that this takes");

// Iterates over the addresses of items: item i is i / inner in an outer loop and i % inner in an
// inner one.
template <class T>
struct walk {
    T *at;
    int inner;
    long long along, back;  // to the next item; after the inner loop, to the next outer one
    __device__ __forceinline__ walk(const line_arguments &a, T *first, long long item, long long outer_step,
                                    long long inner_step)
        : at(first + PART * (item / a.inner * outer_step + item % a.inner * inner_step)),
          inner(static_cast<int>(item % a.inner)),
          along(PART * inner_step),
          back(PART * (outer_step - a.inner * inner_step)) {}
    __device__ __forceinline__ void step(const line_arguments &a) {
        at += along;
        if (++inner == a.inner) inner = 0, at += back;
    }
    static constexpr int PART = FNO_REAL ? 1 : 2;
};

// Barrier of both kinds of warps.
__device__ __forceinline__ void wait_for_all() { __syncthreads(); }

// ---- the transforming warps Whether a thread has at most one first-stage butterfly per line: its
// points are then prefetched into registers.
constexpr bool EARLY = top::COUNT <= THREADS_X && sizeof(REAL) == 4;
struct early_points {
    value x[top::R];
};
template <class ROOTS>
__device__ __forceinline__ void group_to_tile(const line_arguments &a, const FNO_FROM *in, int c, early_points &early,
                                              value *tile, const place &here, const ROOTS &roots) {
    if constexpr (EARLY) {
        if (here.t < top::COUNT) butterfly_to_ladder(early.x, here.t, here.line, roots);
    } else {
        points_to_ladder(here.line, here.t, a.roots, line_points(a, in, c + PER * here.side));
    }
    wait_for_line();
    ladder_to_tile(here.line, tile, PITCH, c + PER * here.side, here.t, a.scale, [](REAL v) { return rounded(v); });
    wait_for_line();
}
template <class ROOTS>
__device__ __forceinline__ void tile_to_group(const line_arguments &a, FNO_TO *out, int inner, int o, const value *tile,
                                              const place &here, const ROOTS &roots) {
    const int mine = o + PER * here.side;
    if (mine < a.outputs) tile_to_ladder(tile, PITCH, mine, here.line, here.t);
    wait_for_line();
    store_points(a, out, inner, mine, here, roots);
    wait_for_line();
}
// Stores the groups of one item and loads those of another one into their place; NULL: none. after:
// the item to prefetch next.
template <class ROOTS>
__device__ __forceinline__ void transform_groups(const line_arguments &a, const FNO_FROM *in, const FNO_FROM *after,
                                                 FNO_TO *out, int inner, value *tile, const place &here,
                                                 const ROOTS &roots) {
    const int most = a.channels > a.outputs ? a.channels : a.outputs;
#pragma unroll 1
    for (int c = 0; c < most; c += CHANNELS) {
        const bool comes = in && c < a.channels;
        early_points early;
        if constexpr (EARLY)
            if (comes && here.t < top::COUNT) take_butterfly(early.x, here.t, line_points(a, in, c + PER * here.side));
        const bool last = c + CHANNELS >= a.channels;
        if (comes) prefetch_points(a, last ? after : in, last ? 0 : c + CHANNELS, here);
        if (out && c < a.outputs) tile_to_group(a, out, inner, c, tile, here, roots);
        if (comes) group_to_tile(a, in, c, early, tile, here, roots);
    }
}
// Stores the item of two iterations ago and loads the next one into its tile.
template <class ROOTS>
__device__ __forceinline__ void transform_items(const line_arguments &a, long long first, int count, value *tiles,
                                                const place &here, const ROOTS &roots) {
    walk<const FNO_FROM> next(a, a.in, first, a.in_outer, a.in_inner);
    walk<FNO_TO> out(a, a.out, first, a.out_outer, a.out_inner);
#pragma unroll 1
    for (int turn = 0; turn < count + 2; turn++) {
        const FNO_FROM *const in = turn < count ? next.at : nullptr;
        next.step(a);
        transform_groups(a, in, turn + 1 < count ? next.at : nullptr, turn >= 2 ? out.at : nullptr, out.inner,
                         tiles + turn % 2 * TILE_CELLS, here, roots);
        if (turn >= 2) out.step(a);
        wait_for_all();
        wait_for_all();
    }
}

// ---- the multiplying warps
using raw_weights = value[TILES_N][2];  // of a lane: two channels for each of its outputs

struct mixer {
    const line_arguments &a;
    const int warp, lane = threadIdx.x % 32, k = 2 * (lane % 4), column = warp / WARPS_M * TILES_N * 8 + lane / 4;

    // Loads the weights of channels c + k and c + k + 1.
    __device__ __forceinline__ void ask(raw_weights &raw, int c) const {
        const STORE *const from = a.weight + 2 * ((c + k) * a.weight_in + column * a.weight_out);
#pragma unroll
        for (int e = 0; e < 2; e++)
#pragma unroll
            for (int n = 0; n < TILES_N; n++) {
                raw[n][e] = {REAL(0), REAL(0)};
                if (c + k + e < a.channels && column + 8 * n < a.outputs)
                    raw[n][e] = load_value(from + 2 * (8 * n * a.weight_out + e * a.weight_in));
            }
    }
    // raw, on entry and on exit: the weights of the first channels.
    __device__ __forceinline__ void multiply_item(block_sums &sum, raw_weights &raw, value *tile) const {
        const int row = warp % WARPS_M * TILES_M * 16 + lane / 4;
#pragma unroll 1
        for (int c = 0; c < a.channels; c += 8) {
            complex_factor right[TILES_N];
#pragma unroll
            for (int n = 0; n < TILES_N; n++) {
                right[n] = make_factor(raw[n][0], raw[n][1]);
                if (FNO_CONJUGATE) right[n].im = negated(right[n].im);
            }
            ask(raw, c + 8 < a.channels ? c + 8 : 0);
#pragma unroll
            for (int m = 0; m < TILES_M; m++) {
                const chunk upper = mode_pair(*chunk_at(tile, PITCH, row + 16 * m, c + k));
                const chunk lower = mode_pair(*chunk_at(tile, PITCH, row + 16 * m + 8, c + k));
                multiply_row(sum[m], make_left(upper), make_left(lower), right);
            }
        }
    }
};
// One item per iteration, from the second iteration to the last but one.
__device__ __forceinline__ void multiply_items(const line_arguments &a, int warp, int count, value *tiles) {
    const mixer mine = {a, warp};
    raw_weights raw;
    mine.ask(raw, 0);
    wait_for_all();
    wait_for_all();
#pragma unroll 1
    for (int item = 0; item < count; item++) {
        value *const tile = tiles + item % 2 * TILE_CELLS;
        block_sums sum = {};
        mine.multiply_item(sum, raw, tile);
        wait_for_all();
        give_sums(sum, warp, [&](int mode, int o, chunk both) {
            if (mode < MODES) *chunk_at(tile, PITCH, mode, o) = put_together(both, own_negative(mode));
        });
        wait_for_all();
    }
    wait_for_all();
    wait_for_all();
}

extern "C" __global__ void __launch_bounds__(TOGETHER, BLOCKS) fno_split(const __grid_constant__ line_arguments a) {
    extern __shared__ __align__(128) unsigned char stn_shared[];
    value *const ladder = reinterpret_cast<value *>(stn_shared), *const tiles = ladder + LADDER;
    const int thread = threadIdx.x;
    const long long first = static_cast<long long>(blockIdx.x) * a.each;
    const int count = static_cast<int>(first + a.each < a.items ? a.each : a.items - first);
    if (thread < THREADS) {
        const place here = place_of(ladder, thread);
        if constexpr (EARLY && top::WHOLE_TABLE)
            transform_items(a, first, count, tiles, here, own_roots(a.roots, here.t % top::COUNT));
        else
            transform_items(a, first, count, tiles, here, a.roots);
    } else {
        multiply_items(a, (thread - THREADS) / 32, count, tiles);
    }
}
