// A Fourier layer along one axis, fused in one kernel or in parts: forward transform with
// truncation to the retained modes, channel mixing, inverse transform.
//
//     Z[b][c][k] = scale * sum over p of  x[b][c][p] * exp(-2 pi i k p / N)            FNO_FORWARD
//                  retained k only
//     S[b][o][k] = sum over c of  weight[c][o] * Z[b][c][k]                            FNO_PRODUCT
//     y[b][o][p] = activation(sum over k of  S[b][o][k] * exp(2 pi i k p / N)
//                             +  bias[o]  +  added[b][o][p])                           FNO_BACK
//
// With the product, a block processes all modes and outputs of several batch items one after
// another, and channels in groups, which are terms of the product's sum. Without it, a block has
// one group of channels of one item.
//
//     x [c][p]  -> FFT -> tile [mode][c]  \                  sums in registers
//     x [c'][p] -> FFT -> tile [mode][c'] -- * weight[c][o] -> [mode][o] -> tile [mode][o] -> FFT
//     ..                                  /                                            -> y [o][p]
//
// Without FNO_FORWARD the input is modes, and without FNO_BACK the output is modes. Modes are
// stored contiguously over channels.
//
// Shared memory: | FFT | weights, if they stay (FNO_HELD) | tile of channels, weights of a group;
// or tile of outputs |
//
// Reads FNO_*, WARPS_M .. TILES_N (fno/mode_product.cuh), BLOCKS and what fno/lines.cuh reads.
#include "fno/arguments.cuh"
#include "fno/mode_product.cuh"
#include "fno/points.cuh"

static_assert(!FNO_PRODUCT || THREADS == 32 * WARPS_M * WARPS_N, "the warps that transform also multiply");
static_assert(!FNO_PRODUCT || CHANNELS % 8 == 0, "products take whole tiles");
static_assert(!FNO_WEIGHT_PAIRS || (sizeof(STORE) == 4 && sizeof(REAL) == 4), "two weights are 16 bytes");
static_assert(FNO_PRODUCT || FNO_FORWARD != FNO_BACK, "without a product it is one transform");

static_assert(!FNO_PRODUCT || MODE_ROWS >= MODES, "all modes are multiplied");

constexpr int OUTPUTS = FNO_PRODUCT ? COLUMNS : CHANNELS;
constexpr int IN_PITCH = tile_pitch(CHANNELS), OUT_PITCH = tile_pitch(OUTPUTS);
constexpr int IN_VALUES = (FNO_PRODUCT ? MODE_ROWS : MODES) * IN_PITCH;
constexpr int OUT_VALUES = FNO_PRODUCT && FNO_BACK ? MODES * OUT_PITCH : 0;
constexpr int HELD_VALUES = FNO_PRODUCT && FNO_HELD ? FNO_HELD * WEIGHT_PITCH : 0;
constexpr int GROUP_VALUES = FNO_PRODUCT && !FNO_HELD ? CHANNELS * WEIGHT_PITCH : 0;
// Chunks are aligned to 16 bytes.
constexpr int FFT_SIZE = round_up(FNO_FORWARD || FNO_BACK ? FFT_VALUES : 0, 2);
constexpr int SHARED_VALUES = FFT_SIZE + HELD_VALUES + larger(IN_VALUES + GROUP_VALUES, OUT_VALUES);

static_assert(shared_bytes_match(SHARED_VALUES * sizeof(value)),
              "the launcher gives the shared memory that this takes");

// The threads share the pairs of adjacent channels of all modes, and call take(mode, first channel)
// for each pair. A thread has the same channels in all its calls.
template <class TAKE>
__device__ __forceinline__ void each_mode_pair(const TAKE &take) {
    constexpr int ACROSS = CHANNELS / 2, DOWN = THREADS / ACROSS;
    static_assert(THREADS % ACROSS == 0, "threads take whole rows of modes");
    const int c = threadIdx.x % ACROSS * 2, first = threadIdx.x / ACROSS;
#pragma unroll 4
    for (int mode = first; mode < MODES; mode += DOWN) take(mode, c);
}
__device__ __forceinline__ void load_modes(const line_arguments &a, const FNO_FROM *in, int c0, value *tile) {
    each_mode_pair([&](int mode, int c) {
        const chunk both = load_mode_pair(a, in, mode, c0 + c);
        *chunk_at(tile, IN_PITCH, mode, c) =
            FNO_BACK && !FNO_PRODUCT ? combine_channels(both, own_negative(mode)) : both;
    });
}

// ---- loads weights of `count` channels from c0 on, zeros past the last channel and output. All
// threads together load whole rows; a thread has the same outputs in all its rows.
__device__ __forceinline__ void load_weights(const line_arguments &a, int c0, int count, value *weights) {
    constexpr int EACH = FNO_WEIGHT_PAIRS ? 2 : 1, ACROSS = COLUMNS / EACH;  // in one access
    constexpr int DOWN = THREADS >= ACROSS ? THREADS / ACROSS : 1,
                  WIDE = THREADS >= ACROSS ? 1 : (ACROSS + THREADS - 1) / THREADS;
#pragma unroll
    for (int w = 0; w < WIDE; w++) {
        const int o = (THREADS >= ACROSS ? threadIdx.x % ACROSS : threadIdx.x + w * THREADS) * EACH;
        int c = THREADS >= ACROSS ? threadIdx.x / ACROSS : 0;
        if (o >= COLUMNS || c >= DOWN) continue;
        value *to = weights + c * WEIGHT_PITCH + o;
        const STORE *from = a.weight + 2 * ((c0 + c) * a.weight_in + o * a.weight_out);
        const long long step = 2 * DOWN * a.weight_in;
        const int loaded = o < a.outputs ? a.channels - c0 : 0;  // channels that exist, from c0 on
#pragma unroll 4
        for (; c < count; c += DOWN, to += DOWN * WEIGHT_PITCH, from += step) {
            if (c < loaded && FNO_WEIGHT_PAIRS)
                copy_async_16(to, from);
            else if (c < loaded)
                copy_value(to, from);
            else
#pragma unroll
                for (int e = 0; e < EACH; e++) to[e] = {REAL(0), REAL(0)};
        }
    }
    copy_async_commit();
}

// ---- output: inverse transforms of all groups of outputs of a tile whose first output is o0
__device__ __forceinline__ void tile_to_points(const line_arguments &a, FNO_TO *out, long long item, int o0,
                                               value *tile, const line_position &position) {
    for (int o = 0; o < OUTPUTS && o0 + o < a.outputs; o += CHANNELS) {
        const int mine = o + PER * position.side;
        if (o0 + mine < a.outputs) tile_to_shared(tile, OUT_PITCH, mine, position.line, position.t);
        line_barrier();
        inverse_stages<fno_line_shape, LAST, 1>(position.line, position.t, a.twiddles);
        store_points(a, out, item, o0 + mine, position, a.twiddles);
        line_barrier();
    }
}

// ---- one group of channels into the tile. Other threads may still read the tile on entry; ends
// with a barrier.
__device__ __forceinline__ void take_group(const line_arguments &a, const FNO_FROM *in, int c0, value *tile,
                                           value *weights, const line_position &position) {
    constexpr bool COPIES = FNO_PRODUCT && !FNO_HELD;  // weights are copied while points are loaded
    if (COPIES) {
        __syncthreads();
        load_weights(a, c0, CHANNELS, weights);
    }
    if (FNO_FORWARD)
        points_to_shared(position.line, position.t, a.twiddles, line_points(a, in, c0 + PER * position.side));
    if (FNO_PRODUCT && !COPIES)
        __syncthreads();
    else
        line_barrier();
    if (FNO_FORWARD) {
        forward_stages<fno_line_shape, 1, LAST>(position.line, position.t, a.twiddles);
        shared_to_tile(position.line, tile, IN_PITCH, PER * position.side, position.t, a.scale,
                       [](REAL v) { return FNO_PRODUCT ? rounded(v) : v; });
    } else {
        load_modes(a, in, c0, tile);
    }
    copy_async_wait<0>();
    __syncthreads();
}

// next: the next item of this block, or NULL. rest: shared memory behind the FFT and the held
// weights.
__device__ __forceinline__ void process_item(const line_arguments &a, const FNO_FROM *in, const FNO_FROM *next,
                                             FNO_TO *out, long long item, value *rest, value *held,
                                             const line_position &position) {
    block_sums sum = {};
    const int warp = threadIdx.x / 32;
    value *const weights = FNO_HELD ? held : rest + IN_VALUES;
#pragma unroll 1
    for (int c0 = 0; c0 < a.channels; c0 += CHANNELS) {
        take_group(a, in, c0, rest, weights, position);
        const bool last = c0 + CHANNELS >= a.channels;
        prefetch_points(a, last ? next : in, last ? 0 : c0 + CHANNELS, position);
        multiply(sum, warp, rest, IN_PITCH, weights + (FNO_HELD ? c0 * WEIGHT_PITCH : 0), CHANNELS);
    }
    if (!FNO_BACK) {
        for_each_sum(sum, warp, [&](int mode, int o, chunk both) { store_mode_pair(a, out, mode, o, both); });
        return;
    }
    __syncthreads();
    for_each_sum(sum, warp, [&](int mode, int o, chunk both) {
        if (mode < MODES) *chunk_at(rest, OUT_PITCH, mode, o) = combine_channels(both, own_negative(mode));
    });
    __syncthreads();
    tile_to_points(a, out, item, 0, rest, position);
}

__device__ __forceinline__ void transform_item(const line_arguments &a, const FNO_FROM *in, FNO_TO *out, long long item,
                                               int c0, value *tile, const line_position &position) {
    take_group(a, in, c0, tile, nullptr, position);
    if (FNO_BACK) return tile_to_points(a, out, item, c0, tile, position);
    each_mode_pair([&](int mode, int c) {
        store_mode_pair(a, out, mode, c0 + c, separate_channels(*chunk_at(tile, IN_PITCH, mode, c)));
    });
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) fno_line(const __grid_constant__ line_arguments a) {
    extern __shared__ __align__(128) unsigned char stn_shared[];
    value *const fft = reinterpret_cast<value *>(stn_shared), *const held = fft + FFT_SIZE;
    value *const rest = held + HELD_VALUES;
    const line_position position = position_of(fft, static_cast<int>(threadIdx.x));
    const auto in_of = [&](long long item) {
        constexpr int NUMBERS = FNO_FORWARD && FNO_REAL ? 1 : 2;
        return a.in + NUMBERS * (item / a.inner * a.in_outer + item % a.inner * a.in_inner);
    };
    const auto out_of = [&](long long item) {
        constexpr int NUMBERS = FNO_BACK && FNO_REAL ? 1 : 2;
        return a.out + NUMBERS * (item / a.inner * a.out_outer + item % a.inner * a.out_inner);
    };
    if constexpr (FNO_PRODUCT) {
        if (FNO_HELD) load_weights(a, 0, FNO_HELD, held);
        const long long first = static_cast<long long>(blockIdx.x) * a.each;
        const long long end = first + a.each < a.items ? first + a.each : a.items;
        for (long long item = first; item < end; item++) {
            const FNO_FROM *const next = item + 1 < end ? in_of(item + 1) : nullptr;
            process_item(a, in_of(item), next, out_of(item), item, rest, held, position);
        }
    } else {
        const unsigned groups = static_cast<unsigned>((a.channels + CHANNELS - 1) / CHANNELS);
        const long long item = blockIdx.x / groups;
        const int c0 = static_cast<int>(blockIdx.x % groups) * CHANNELS;
        transform_item(a, in_of(item), out_of(item), item, c0, rest, position);
    }
}
