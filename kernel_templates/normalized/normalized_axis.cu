// One step of a normalized convolution with adjacent taps along one axis.
//
//     value'(i) = sum over taps k of  w[k] * value(i + k)           k = -TAPS_LOW .. TAPS_HIGH
//     share'(i) = (sum over taps k of  w[k] * share(i + k)) * scale         scale = 1 / sum of w
//
// The threads of a block load pairs (value, share), see pair.cuh, into shared memory side by side.
// A thread then computes ROWS points along the axis. It reads each pair once, for all sums that the
// pair contributes to.
//
//     ALONG_X 0: a block                          ALONG_X 1: a warp
//          32 columns, a lane each                  lane 0       lane 1           lane 31
//     +----------------------------+              +-----+------+------+-- ... --+------+-----+
//     |  TAPS_LOW rows             |              | LOW | ROWS | ROWS |         | ROWS | HIGH|
//     +----------------------------+              +-----+------+------+-- ... --+------+-----+
//     |  warp 0: ROWS rows         |
//     |  ..                        |              After each ROWS pairs one place is free, so that
//     |  warp WARPS - 1            |              lanes read from different banks. Results go the
//     +----------------------------+              same way back.
//     |  TAPS_HIGH rows            |
//     +----------------------------+
//
// Reads STORE (of in) and WRITTEN (of out), numbers or pairs, REAL, TAPS_*, WARPS, ROWS, ALONG_X,
// NAN_IS_MISSING.
#include "device/boundary.cuh"
#include "device/launch_checks.cuh"
#include "normalized/pair.cuh"

constexpr int LANES = 32, THREADS = WARPS * LANES;
constexpr int HALO = TAPS_LOW + TAPS_HIGH;
// Points along the axis that a block, or with ALONG_X a warp, computes.
constexpr int TILE = (ALONG_X ? LANES : WARPS) * ROWS;
__device__ constexpr int place(int i) { return ALONG_X ? i + i / ROWS : i * LANES; }
constexpr int PLACES = ALONG_X ? WARPS * (TILE + HALO + (TILE + HALO) / ROWS) : (TILE + HALO) * LANES;
static_assert(shared_bytes_match(PLACES * sizeof(normalized_pair)), "the launcher's size of shared memory");

struct axis_arguments {
    const STORE *in;
    WRITTEN *out;
    // The axis is the second one, or with ALONG_X the last one, which is that of x. Strides in
    // elements; along x they may be more than 1.
    long long n[3], in_stride[3], out_stride[3];
    long long in_batch, out_batch;
    long long lines;  // ALONG_X: all rows of the batch
    long long tiles;  // along the axis
    REAL past[2][2];  // value and share past each side
    REAL scale;
    REAL weight[HALO + 1];
};
static_assert(layout_matches(sizeof(axis_arguments), sizeof(REAL) * (HALO + 6)),
              "the launcher's mirrored struct of the arguments");

// The pair at index i of a line. INSIDE: it is known to lie between the sides.
template <bool INSIDE>
__device__ __forceinline__ normalized_pair load_pair(const axis_arguments &a, const STORE *line, long long i,
                                                     long long n, long long stride) {
    if (INSIDE) return pair_of(line[i * stride]);
    if (i >= n + TAPS_HIGH) return {};  // used by no stored point
    i = fold<TAPS_SIDE_LOW, TAPS_SIDE_HIGH>(i, n);
    if (i >= 0) return pair_of(line[i * stride]);
    return {a.past[i == PAST_HIGH][0], a.past[i == PAST_HIGH][1]};
}

// Loads the pairs of a line that a tile needs. Each of STEP threads takes every STEP-th pair, and
// loads AHEAD of them before it stores the first.
template <bool INSIDE, int STEP>
__device__ __forceinline__ void fill(const axis_arguments &a, const STORE *line, int thread, long long first,
                                     long long n, long long stride, normalized_pair *tile) {
    constexpr int AHEAD = 6;
#pragma unroll 1
    for (int begin = thread; begin < TILE + HALO; begin += AHEAD * STEP) {
        normalized_pair held[AHEAD];
#pragma unroll
        for (int t = 0; t < AHEAD; t++)
            if (begin + t * STEP < TILE + HALO)
                held[t] = load_pair<INSIDE>(a, line, first - TAPS_LOW + begin + t * STEP, n, stride);
#pragma unroll
        for (int t = 0; t < AHEAD; t++)
            if (begin + t * STEP < TILE + HALO) tile[place(begin + t * STEP)] = held[t];
    }
}

// The sums of ROWS points; point 0 reads places from 0 on. Many taps are added in groups, to
// bound the time of compilation.
__device__ __forceinline__ void add_taps(const axis_arguments &a, const normalized_pair *from,
                                         normalized_pair (&sum)[ROWS]) {
    constexpr int GROUP = HALO < 48 ? HALO + 1 : ROWS;
#pragma unroll 1
    for (int first = 0; first <= HALO; first += GROUP) {
#pragma unroll
        for (int i = 0; i < ROWS + GROUP - 1; i++) {
            if (first + i >= ROWS + HALO) continue;
            // Groups begin at multiples of ROWS, so place(first) + place(i) = place(first + i).
            const normalized_pair point = from[place(first) + place(i)];
#pragma unroll
            for (int j = 0; j < ROWS; j++)
                if (i >= j && i - j < GROUP && first + i - j <= HALO) add_tap(sum[j], a.weight[first + i - j], point);
        }
    }
#pragma unroll
    for (int j = 0; j < ROWS; j++) sum[j].share *= a.scale;
}

__device__ __forceinline__ void columns(const axis_arguments &a, normalized_pair *shared) {
    const int lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
    const unsigned tiles_x = static_cast<unsigned>((a.n[2] + LANES - 1) / LANES);
    unsigned block = blockIdx.x;
    const long long x = static_cast<long long>(block % tiles_x) * LANES + lane;
    block /= tiles_x;
    const long long first = block % static_cast<unsigned>(a.tiles) * static_cast<long long>(TILE);
    block /= static_cast<unsigned>(a.tiles);
    const long long other = block % static_cast<unsigned>(a.n[0]), grid = block / static_cast<unsigned>(a.n[0]);
    const STORE *const column = a.in + grid * a.in_batch + other * a.in_stride[0] + x * a.in_stride[2];
    const bool inside = x < a.n[2];
    if (first >= TAPS_LOW && first + TILE + TAPS_HIGH <= a.n[1] && x - lane + LANES <= a.n[2])
        fill<true, WARPS>(a, column, warp, first, a.n[1], a.in_stride[1], shared + lane);
    else if (inside)
        fill<false, WARPS>(a, column, warp, first, a.n[1], a.in_stride[1], shared + lane);
    __syncthreads();
    const long long begin = first + warp * ROWS;
    if (!inside || begin >= a.n[1]) return;
    normalized_pair sum[ROWS] = {};
    add_taps(a, shared + lane + place(warp * ROWS), sum);
    WRITTEN *const to = a.out + grid * a.out_batch + other * a.out_stride[0] + x * a.out_stride[2];
#pragma unroll
    for (int j = 0; j < ROWS; j++)
        if (begin + j < a.n[1]) put_pair(to + (begin + j) * a.out_stride[1], sum[j]);
}

__device__ __forceinline__ void rows(const axis_arguments &a, normalized_pair *shared) {
    const int lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
    const long long first = blockIdx.x % static_cast<unsigned>(a.tiles) * static_cast<long long>(TILE);
    const long long line = blockIdx.x / static_cast<unsigned>(a.tiles) * static_cast<long long>(WARPS) + warp;
    if (line >= a.lines) return;
    const long long y = line % a.n[1], z = line / a.n[1] % a.n[0], grid = line / a.n[1] / a.n[0];
    const STORE *const row = a.in + grid * a.in_batch + z * a.in_stride[0] + y * a.in_stride[1];
    normalized_pair *const tile = shared + warp * (PLACES / WARPS);
    if (first >= TAPS_LOW && first + TILE + TAPS_HIGH <= a.n[2])
        fill<true, LANES>(a, row, lane, first, a.n[2], a.in_stride[2], tile);
    else
        fill<false, LANES>(a, row, lane, first, a.n[2], a.in_stride[2], tile);
    __syncwarp();
    normalized_pair sum[ROWS] = {};
    add_taps(a, tile + place(lane * ROWS), sum);
    __syncwarp();
#pragma unroll
    for (int j = 0; j < ROWS; j++) tile[place(lane * ROWS) + j] = sum[j];
    __syncwarp();
    WRITTEN *const to = a.out + grid * a.out_batch + z * a.out_stride[0] + y * a.out_stride[1];
#pragma unroll
    for (int i = lane; i < TILE; i += LANES)
        if (first + i < a.n[2]) put_pair(to + (first + i) * a.out_stride[2], tile[place(i)]);
}

extern "C" __global__ void __launch_bounds__(THREADS) normalized_axis(const __grid_constant__ axis_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    normalized_pair *const shared = reinterpret_cast<normalized_pair *>(stn_shared);
    if (ALONG_X)
        rows(a, shared);
    else
        columns(a, shared);
}
