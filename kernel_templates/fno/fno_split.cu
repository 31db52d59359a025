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
// Reads FNO_* (FNO_WHOLE: the channels of a tile, if it holds all), WARPS_M .. TILES_N
// (fno/mode_product.cuh), BLOCKS and what fno/lines.cuh reads: THREADS threads transform LINE_COUNT
// x FNO_GROUPS lines (CHANNELS channels) at once; 32 x WARPS_M x WARPS_N others multiply.
#include "fno/mode_product.cuh"
#include "fno/points.cuh"

constexpr int BLOCK_THREADS = THREADS + 32 * WARPS_M * WARPS_N;  // threads of a block
constexpr int PITCH = tile_pitch(larger(FNO_WHOLE, COLUMNS)), TILE_VALUES = MODE_ROWS * PITCH;
constexpr int FFT_SIZE = round_up(FFT_VALUES, 2);  // chunks are aligned to 16 bytes

static_assert(!FNO_WHOLE || (WARP_LINES && THREADS % 32 == 0), "a warp needs no other for its lines");
static_assert(FNO_WHOLE % CHANNELS == 0 && CHANNELS % 8 == 0,
              "a tile has whole groups of channels, products whole steps");
static_assert(MODE_ROWS >= MODES, "all modes are multiplied");
static_assert(shared_bytes_match((FFT_SIZE + 2 * TILE_VALUES) * sizeof(value)),
              "the launcher gives the shared memory that this takes");

// Iterates over the addresses of items: item i is i / inner in an outer loop and i % inner in an
// inner one.
template <class T>
struct item_iterator {
    T *at;
    int inner;
    // Distance to the next item of the inner loop; additional distance at the end of that loop
    long long along, back;
    __device__ __forceinline__ item_iterator(const line_arguments &a, T *first, long long item, long long outer_step,
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
__device__ __forceinline__ void block_barrier() { __syncthreads(); }

// ---- the transforming warps. If a thread has at most one first-stage butterfly per line, its
// points are prefetched into registers.
constexpr bool PREFETCHES = first_stage::COUNT <= THREADS_X && sizeof(REAL) == 4;
struct prefetched_points {
    value x[first_stage::R];
};
template <class ROOTS>
__device__ __forceinline__ void group_to_tile(const line_arguments &a, const FNO_FROM *in, int c,
                                              prefetched_points &prefetched, value *tile, const line_position &position,
                                              const ROOTS &twiddles) {
    if constexpr (PREFETCHES) {
        if (position.t < first_stage::COUNT) butterfly_to_shared(prefetched.x, position.t, position.line, twiddles);
    } else {
        points_to_shared(position.line, position.t, a.twiddles, line_points(a, in, c + PER * position.side));
    }
    line_barrier();
    shared_to_tile(position.line, tile, PITCH, c + PER * position.side, position.t, a.scale,
                   [](REAL v) { return rounded(v); });
    line_barrier();
}
template <class ROOTS>
__device__ __forceinline__ void tile_to_group(const line_arguments &a, FNO_TO *out, int inner, int o, const value *tile,
                                              const line_position &position, const ROOTS &twiddles) {
    const int mine = o + PER * position.side;
    if (mine < a.outputs) tile_to_shared(tile, PITCH, mine, position.line, position.t);
    line_barrier();
    store_points(a, out, inner, mine, position, twiddles);
    line_barrier();
}
// Stores the groups of one item and loads those of another one into their place; NULL: none. after:
// the item to prefetch next.
template <class ROOTS>
__device__ __forceinline__ void transform_groups(const line_arguments &a, const FNO_FROM *in, const FNO_FROM *after,
                                                 FNO_TO *out, int inner, value *tile, const line_position &position,
                                                 const ROOTS &twiddles) {
    const int most = a.channels > a.outputs ? a.channels : a.outputs;
#pragma unroll 1
    for (int c = 0; c < most; c += CHANNELS) {
        const bool has_input = in && c < a.channels;
        prefetched_points prefetched;
        if constexpr (PREFETCHES)
            if (has_input && position.t < first_stage::COUNT)
                take_butterfly(prefetched.x, position.t, line_points(a, in, c + PER * position.side));
        const bool last = c + CHANNELS >= a.channels;
        if (has_input) prefetch_points(a, last ? after : in, last ? 0 : c + CHANNELS, position);
        if (out && c < a.outputs) tile_to_group(a, out, inner, c, tile, position, twiddles);
        if (has_input) group_to_tile(a, in, c, prefetched, tile, position, twiddles);
    }
}
// Stores the item of two iterations ago and loads the next one into its tile.
template <class ROOTS>
__device__ __forceinline__ void transform_items(const line_arguments &a, long long first, int count, value *tiles,
                                                const line_position &position, const ROOTS &twiddles) {
    item_iterator<const FNO_FROM> next(a, a.in, first, a.in_outer, a.in_inner);
    item_iterator<FNO_TO> out(a, a.out, first, a.out_outer, a.out_inner);
#pragma unroll 1
    for (int iteration = 0; iteration < count + 2; iteration++) {
        const FNO_FROM *const in = iteration < count ? next.at : nullptr;
        next.step(a);
        transform_groups(a, in, iteration + 1 < count ? next.at : nullptr, iteration >= 2 ? out.at : nullptr, out.inner,
                         tiles + iteration % 2 * TILE_VALUES, position, twiddles);
        if (iteration >= 2) out.step(a);
        block_barrier();
        block_barrier();
    }
}

// ---- the multiplying warps
using raw_weights = value[TILES_N][2];  // of a lane: two channels for each of its outputs

struct mixer {
    const line_arguments &a;
    const int warp, lane = threadIdx.x % 32, k = 2 * (lane % 4), column = warp / WARPS_M * TILES_N * 8 + lane / 4;

    // Loads the weights of channels c + k and c + k + 1.
    __device__ __forceinline__ void load(raw_weights &raw, int c) const {
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
            load(raw, c + 8 < a.channels ? c + 8 : 0);
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
    mine.load(raw, 0);
    block_barrier();
    block_barrier();
#pragma unroll 1
    for (int item = 0; item < count; item++) {
        value *const tile = tiles + item % 2 * TILE_VALUES;
        block_sums sum = {};
        mine.multiply_item(sum, raw, tile);
        block_barrier();
        for_each_sum(sum, warp, [&](int mode, int o, chunk both) {
            if (mode < MODES) *chunk_at(tile, PITCH, mode, o) = combine_channels(both, own_negative(mode));
        });
        block_barrier();
    }
    block_barrier();
    block_barrier();
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, BLOCKS)
    fno_split(const __grid_constant__ line_arguments a) {
    extern __shared__ __align__(128) unsigned char stn_shared[];
    value *const fft = reinterpret_cast<value *>(stn_shared), *const tiles = fft + FFT_SIZE;
    const int thread = threadIdx.x;
    const long long first = static_cast<long long>(blockIdx.x) * a.each;
    const int count = static_cast<int>(first + a.each < a.items ? a.each : a.items - first);
    if (thread < THREADS) {
        const line_position position = position_of(fft, thread);
        if constexpr (PREFETCHES && first_stage::WHOLE_TABLE)
            transform_items(a, first, count, tiles, position,
                            own_twiddles(a.twiddles, position.t % first_stage::COUNT));
        else
            transform_items(a, first, count, tiles, position, a.twiddles);
    } else {
        multiply_items(a, (thread - THREADS) / 32, count, tiles);
    }
}
