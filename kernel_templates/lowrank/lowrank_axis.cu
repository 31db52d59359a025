// One factor of separable taps, along one axis, as a product with a banded Toeplitz matrix on the
// tensor cores.
//
//     out(p, q) = sum over j of  w[j] * in(p + j - AXIS_LOW, q),   p along the axis, q across it
//
// Points past a side are read through the folded index. A warp owns 16 lines q and marches along p,
// 16 points at a time; it shares only the band with other warps:
//
//     p ->    8 points   8 points        stage s: blocks X(2s) and X(2s+1) of 16 lines
//     line 0  |  2s    |  2s+1  |        sum[e]: tile 2s+1-e, 8 outputs of 16 lines:
//      ..     |        |        |        sum[e] += X(2s) band(e-1) + X(2s+1) band(e)
//     line 15 |        |        |
//
// where band(k) is block k of the band (device/band.cuh). The sums of tiles 2s+1-SEEN and 2s+2-SEEN
// are then complete, and all others move up by two. So every point is read once, whatever the reach
// of the taps. Points arrive in shared memory 16 x 16 at a time, STAGES - 1 stages ahead, in memory
// order: if ALONG_X, a row of a stage is 16 points of a line, otherwise one point of each of the 16
// lines. The last pass of a step keeps points frozen by a fixed side (FROZEN). Types and their
// parts: device/fragment.cuh.
#include "device/band.cuh"
#include "params.cuh"

constexpr int round_up(int a, int b) { return (a + b - 1) / b * b; }
constexpr int THREADS = 32 * WARPS, STEP = tensor<STORE>::STEP;
constexpr int SLOT = 16 / sizeof(STORE);  // elements of one copy
// Points from the first one that is read to the first output.
constexpr int LEAD = ALONG_X ? round_up(AXIS_LOW, SLOT < 4 ? 4 : SLOT) : AXIS_LOW;
// Blocks of 8 that a tile depends on.
constexpr int SEEN = (8 + LEAD + AXIS_HIGH + 7) / 8;
// Row pitch without bank conflicts in a warp's reads.
constexpr int PITCH = ALONG_X ? 24 : 16 + SLOT;
constexpr int STAGE = 16 * PITCH;
constexpr bool SEPARATE_SUMS = needs_separate_sums(DATA_PARTS, BAND_PARTS);
constexpr int GROUP = 4;  // tiles whose independent products alternate
static_assert(STAGES >= 2, "the loop computes on one stage while others arrive");

struct axis_arguments {
    const STORE *in;
    STORE *out;
    const STORE *origin;                      // FROZEN: the grid before this step
    long long n, lines, others;               // along, across, and along the third axis
    long long in_along, in_across, in_other;  // strides in elements
    long long out_along, out_across, out_other;
    long long origin_along, origin_across, origin_other;
    long long in_batch, out_batch, origin_batch;
    // FROZEN: points from low to high - 1 along the three axes are computed
    long long free_low[3], free_high[3];
    long long segment, segments;     // outputs of a segment, a multiple of 16
    long long strips, all_segments;  // strips of 16 lines; segments of the whole batch
    REAL past[2];                    // value of `in` past a constant side
    REAL scale;                      // common factor of all weights; 1 except in f16
    REAL weight[AXIS_LOW + AXIS_HIGH + 1];
};

using data_operand = operand<STORE, DATA_PARTS>;
using band_operand = operand<STORE, BAND_PARTS>;
using band_entry = band<STORE, BAND_PARTS>::entry;

// A warp's work: its first output p0, its first line q0, its index along the third axis (`other`),
// and where the plane of this index begins in each grid.
struct warp_segment {
    long long p0, q0, other;
    const STORE *in;
    STORE *out;
    const STORE *origin;
};

// Loads points `first` to first + 15 of the warp's lines.
__device__ __forceinline__ void load_stage(const axis_arguments &a, const warp_segment &w, long long first,
                                           STORE *stage) {
    const int lane = threadIdx.x % 32;
    if (VECTOR > 1 && first >= 0 && first + 16 <= a.n && w.q0 + 16 <= a.lines) {
        const STORE *const from = w.in + first * a.in_along + w.q0 * a.in_across;
        const long long step = ALONG_X ? a.in_across : a.in_along;
#pragma unroll
        for (int i = lane; i < 256 / SLOT; i += 32) {
            const int row = i / (16 / SLOT), part = i % (16 / SLOT) * SLOT;
            copy_async_16(stage + row * PITCH + part, from + row * step + part);
        }
        return;
    }
#pragma unroll 1
    for (int i = lane; i < 256; i += 32) {
        const int row = i / 16, column = i % 16;
        const long long p = first + (ALONG_X ? column : row), q = w.q0 + (ALONG_X ? row : column);
        STORE *const to = stage + row * PITCH + column;
        // Points further out are multiplied by weights of zero.
        const bool seen = p >= -AXIS_LOW && p < a.n + AXIS_HIGH;
        const long long at = seen ? fold<AXIS_SIDE_LOW, AXIS_SIDE_HIGH>(p, a.n) : PAST_LOW;
        if (at >= 0)
            copy_element(to, w.in + at * a.in_along + (q < a.lines ? q : a.lines - 1) * a.in_across);
        else
            *to = narrow<STORE>(seen ? a.past[at == PAST_HIGH] : REAL(0));
    }
}

__device__ __forceinline__ bool frozen(const axis_arguments &a, const warp_segment &w, long long p, long long q) {
    return p < a.free_low[0] || p >= a.free_high[0] || q < a.free_low[1] || q >= a.free_high[1] ||
           w.other < a.free_low[2] || w.other >= a.free_high[2];
}

// Stores outputs p and p + 1 of lines g and g + 8.
__device__ __forceinline__ void store_tile(const axis_arguments &a, const warp_segment &w, long long p, int g,
                                           const REAL (&tile)[4]) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const long long q = w.q0 + g + 8 * half;
        if (q >= a.lines) continue;
        STORE *const to = w.out + p * a.out_along + q * a.out_across;
        STORE run[2];
        for (int e = 0; e < 2; e++) {
            const REAL sum = sizeof(STORE) == 2 ? tile[2 * half + e] * a.scale : tile[2 * half + e];
            run[e] = narrow<STORE>(sum);
            if (FROZEN && p + e < a.n && frozen(a, w, p + e, q))
                run[e] = w.origin[(p + e) * a.origin_along + q * a.origin_across];
        }
        if (ALONG_X && VECTOR > 1 && p + 2 <= a.n)
            store_run(to, run);
        else
            for (int e = 0; e < 2; e++)
                if (p + e < a.n) to[e * a.out_along] = run[e];
    }
}

// Adds to tiles 2s+1-e, for e = first to first + GROUP - 1, the products of the two blocks of
// points and their blocks of the band. `middle`: middle values of the two blocks, for lines g
// and g + 8; `sums`: the values of fill_sums, from this lane's first output on.
template <class BAND>
__device__ __forceinline__ void add_group(REAL (&sum)[SEEN + 1][4], int first, const data_operand (&top)[2],
                                          const data_operand (&bottom)[2], const REAL (&middle)[2][2],
                                          const float *sums, const BAND &block) {
    band_operand right[GROUP + 1];
    REAL separate[GROUP][4] = {};
#pragma unroll
    for (int i = 0; i <= GROUP; i++) right[i] = block(first + i - 1);
#pragma unroll
    for (int pass = 0; pass < passes(DATA_PARTS, BAND_PARTS); pass++)
#pragma unroll
        for (int h = 0; h < 2; h += STEP)
#pragma unroll
            for (int i = 0; i < GROUP; i++) {
                const int e = first + i;
                if (e > SEEN || (STEP == 1 && (e - 1 + h < 0 || e - 1 + h >= SEEN))) continue;
                data_operand upper[STEP], lower[STEP];
                band_operand blocks[STEP];
                for (int b = 0; b < STEP; b++)
                    upper[b] = top[h + b], lower[b] = bottom[h + b], blocks[b] = right[i + h + b];
                product_pass(pass, SEPARATE_SUMS ? separate[i] : sum[e], upper, lower, blocks);
            }
    if (SEPARATE_SUMS)
#pragma unroll
        for (int i = 0; i < GROUP && first + i <= SEEN; i++) {
            add_tile(sum[first + i], separate[i]);
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const int k = first + i - 1 + h;
                if (k < 0 || k >= SEEN) continue;
                const float even = sums[8 * k], odd = sums[8 * k + 1], weights[4] = {even, odd, even, odd};
                const REAL middles[4] = {middle[h][0], middle[h][0], middle[h][1], middle[h][1]};
                add_middles(sum[first + i], middles, weights);
            }
        }
}

// Computes all outputs of one segment. `ring`: the warp's stages; `sums`: the values of fill_sums;
// block(k): this lane's part of block k of the band.
template <class BAND>
__device__ __forceinline__ void compute_segment(const axis_arguments &a, const warp_segment &w, STORE *ring,
                                                const float *sums, const BAND &block) {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const long long outputs = a.n - w.p0 < a.segment ? a.n - w.p0 : a.segment;
    const int tiles = static_cast<int>((outputs + 7) / 8), steps = (tiles + SEEN) / 2;
    const auto fetch = [&](int s, int slot) {
        if (s < steps) load_stage(a, w, w.p0 - LEAD + 16LL * s, ring + slot * STAGE);
        copy_async_commit();
    };
#pragma unroll
    for (int s = 0; s < STAGES - 1; s++) fetch(s, s);
    REAL sum[SEEN + 1][4] = {};
    int slot = 0;
#pragma unroll 1
    for (int s = 0; s < steps; s++) {
        copy_async_wait<STAGES - 2>();
        __syncwarp();  // stage s has arrived for all lanes, and all have read stage s - 1
        fetch(s + STAGES - 1, slot ? slot - 1 : STAGES - 1);
        const STORE *const mine = ring + slot * STAGE;
        slot = slot + 1 < STAGES ? slot + 1 : 0;
        data_operand top[2], bottom[2];
        REAL middle[2][2] = {};
        constexpr int LINE = ALONG_X ? PITCH : 1, POINT = ALONG_X ? 1 : PITCH;
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const STORE *const upper = mine + g * LINE + 8 * h * POINT, *const lower = upper + 8 * LINE;
            if (SEPARATE_SUMS) middle[h][0] = widen(upper[MIDDLE * POINT]), middle[h][1] = widen(lower[MIDDLE * POINT]);
            if (ALONG_X) {
                load_difference(top[h], upper + 2 * t, middle[h][0]);
                load_difference(bottom[h], lower + 2 * t, middle[h][1]);
            } else {
                load_difference(top[h], upper + 2 * t * PITCH, upper + (2 * t + 1) * PITCH, middle[h][0]);
                load_difference(bottom[h], lower + 2 * t * PITCH, lower + (2 * t + 1) * PITCH, middle[h][1]);
            }
        }
        // Skips tiles before the first output or past the last.
#pragma unroll
        for (int first = 0; first <= SEEN; first += GROUP)
            if (2 * s + 1 >= first && 2 * s + 2 - first - GROUP < tiles)
                add_group(sum, first, top, bottom, middle, sums + 2 * t, block);
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int done = 2 * s + h - (SEEN - 1);
            if (done >= 0 && done < tiles) store_tile(a, w, w.p0 + 8 * done + 2 * t, g, sum[SEEN - h]);
        }
#pragma unroll
        for (int e = SEEN; e >= 0; e--)
            for (int i = 0; i < 4; i++) sum[e][i] = e > 1 ? sum[e > 1 ? e - 2 : 0][i] : 0;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) lowrank_axis(const __grid_constant__ axis_arguments a) {
    extern __shared__ __align__(128) unsigned char stn_shared[];
    __shared__ band_entry padded[band_size(SEEN)];
    __shared__ float sums[sums_size(SEPARATE_SUMS, SEEN)];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    fill_band<0>(padded, band_size(SEEN), a.weight, AXIS_LOW + AXIS_HIGH + 1, LEAD - AXIS_LOW, threadIdx.x, THREADS);
    if (SEPARATE_SUMS)
        fill_sums<0>(sums, 8 * SEEN, a.weight, AXIS_LOW + AXIS_HIGH + 1, LEAD - AXIS_LOW, threadIdx.x, THREADS);
    __syncthreads();
    const long long number = static_cast<long long>(blockIdx.x) * WARPS + warp;
    if (number >= a.all_segments) return;
    const long long part = number / a.strips, plane = part / a.segments, batch = plane / a.others;
    warp_segment w;
    w.q0 = number % a.strips * 16, w.p0 = part % a.segments * a.segment, w.other = plane % a.others;
    w.in = a.in + batch * a.in_batch + w.other * a.in_other;
    w.out = a.out + batch * a.out_batch + w.other * a.out_other;
    w.origin = FROZEN ? a.origin + batch * a.origin_batch + w.other * a.origin_other : nullptr;

    STORE *const ring = reinterpret_cast<STORE *>(stn_shared) + warp * STAGES * STAGE;
    const band_entry *const mine = padded + BAND_PAD + 2 * t - g;
    const band_operand zero = make_operand<STORE, BAND_PARTS>(0, 0);
    band_operand held[HELD ? SEEN : 1];
    if (HELD)
#pragma unroll
        for (int k = 0; k < SEEN; k++) held[HELD ? k : 0] = band_pair(mine + 8 * k);
    compute_segment(a, w, ring, sums, [&](int k) {
        if (k < 0 || k >= SEEN) return zero;
        return HELD ? held[HELD ? k : 0] : band_pair(mine + 8 * k);
    });
}
