// Transforms of lines along one axis to the retained modes, or back, as a matrix product with a
// DFT matrix on tensor cores (dense DFT):
//
//     out[line][column] = sum over j of  in[line][j] * table[j][column]
//
// All these are real numbers; a complex number is two of them.
//
//                  in        out       table
//     forward      points    modes     scale * real and imaginary parts of exp(-2 pi i k p / N)
//     back         modes     points    contributions of the parts of a mode to a point; then bias,
//                                      skip connection and activation
//
// For lengths without butterflies, and for few modes of any length: m modes take 2 m multiply-adds
// for each number of a point, whatever the factors of the length.
//
//                  columns 8 8 | 8 8 |  WARPS_N, then the next pass over as many columns
//     lines 16 | sum sum | ..                         in: DEPTH terms in shared memory, the next
//           16 | sum sum | ..  <- a warp                  are copied meanwhile
//              WARPS_M                                table: in fragment order, from the L1 cache
//
// Points are in shared memory as [line][term], modes as [mode][line], as in global memory. Both
// pitches are odd multiples of four pairs, which makes fragment loads (eight lines, four pairs)
// free of bank conflicts.
//
//     table [8 terms][8 columns][lane (g, t)]: terms 2t and 2t + 1 of column g; zero-padded
//
// Reads REAL, STORE, FNO_FROM, FNO_TO, FNO_FORWARD, FNO_REAL, FNO_BIAS, FNO_ADDED, FNO_ACTIVATION,
// FNO_FACTOR, FNO_PARTS, WARPS_M .. TILES_N, BLOCKS, DENSE_*.
#include "device/fragment.cuh"
#include "fno/arguments.cuh"

using factor = operand<FNO_FACTOR, FNO_PARTS>;
constexpr bool SEPARATE_SUMS = needs_separate_sums(FNO_PARTS, FNO_PARTS), FORWARD = FNO_FORWARD != 0;
constexpr int THREADS = 32 * WARPS_M * WARPS_N, LINES = 16 * TILES_M * WARPS_M, ALONG = TILES_N * WARPS_N;
constexpr int STEPS = (DENSE_TERMS + 7) / 8, DEPTH = DENSE_DEPTH, PIECES = (8 * STEPS + DEPTH - 1) / DEPTH;
constexpr int SWEEPS = (DENSE_COLUMNS + 8 * ALONG - 1) / (8 * ALONG);
constexpr int NUMBERS = FNO_REAL ? 1 : 2;                     // per point
constexpr int PITCH = FORWARD ? DEPTH + 8 : 2 * (LINES + 4);  // in numbers
constexpr int STAGE = FORWARD ? LINES * PITCH : DEPTH / 2 * PITCH;
constexpr int INPUT_VALUES = (PIECES > 1 ? 2 : 1) * STAGE;                    // input numbers
constexpr int WIDTH = 8 * TILES_N, OUT_PITCH = TILES_N == 1 ? 8 : WIDTH + 8;  // output columns
static_assert(DEPTH % 32 == 0, "lines in shared memory begin four pairs of banks apart");
static_assert((FORWARD ? DENSE_COLUMNS : DENSE_TERMS) % 2 == 0, "modes are complex");
static_assert(shared_bytes_match((INPUT_VALUES + (FORWARD ? 0 : WARPS_M * WARPS_N * 16 * OUT_PITCH)) * sizeof(REAL)),
              "the launcher gives the shared memory that this takes");

// ---- input
__device__ __forceinline__ void load_points(const line_arguments &a, const FNO_FROM *in, int c0, int first,
                                            REAL *stage) {
    constexpr int ACROSS = DEPTH / NUMBERS;
    for (int i = threadIdx.x; i < LINES * ACROSS; i += THREADS) {
        const int r = i / ACROSS, j = i % ACROSS * NUMBERS, at = first + j;
        if (at >= 8 * STEPS) continue;
        const bool there = c0 + r < a.channels && at < DENSE_TERMS;
        REAL *const to = stage + r * PITCH + j;
        const FNO_FROM *const from = in + NUMBERS * ((c0 + r) * a.in_stride) + at;
        if (there && FNO_REAL)
            copy_element(to, from);
        else if (there)
            copy_value(reinterpret_cast<value *>(to), from);
        else
#pragma unroll
            for (int e = 0; e < NUMBERS; e++) to[e] = 0;
    }
}
__device__ __forceinline__ void load_modes(const line_arguments &a, const FNO_FROM *in, int c0, int first,
                                           REAL *stage) {
    for (int i = threadIdx.x; i < LINES * (DEPTH / 2); i += THREADS) {
        const int m = i / LINES, r = i % LINES, mode = first / 2 + m;
        if (mode >= 4 * STEPS) continue;
        value *const to = reinterpret_cast<value *>(stage + m * PITCH) + r;
        if (2 * mode < DENSE_TERMS && c0 + r < a.channels)
            copy_value(to, in + 2 * (mode * a.in_stride + c0 + r));
        else
            *to = {REAL(0), REAL(0)};
    }
}
__device__ __forceinline__ void load_stage(const line_arguments &a, const FNO_FROM *in, int c0, int first,
                                           REAL *stage) {
    if (FORWARD)
        load_points(a, in, c0, first, stage);
    else
        load_modes(a, in, c0, first, stage);
}

// ---- the product
using warp_sums = REAL[TILES_M][TILES_N][4];

// Terms k + 2t and k + 2t + 1 of a line.
__device__ __forceinline__ factor left_factor(const REAL *stage, int line, int k, int t) {
    const REAL *const at = FORWARD ? stage + line * PITCH + k + 2 * t : stage + (k / 2 + t) * PITCH + 2 * line;
    const value both = *reinterpret_cast<const value *>(at);
    return make_operand<FNO_FACTOR, FNO_PARTS>(both.re, both.im);
}
__device__ __forceinline__ void take_table(REAL (&to)[TILES_N][2], const REAL *table) {
#pragma unroll
    for (int n = 0; n < TILES_N; n++) load_run(to[n], table + n * 64);
}
// Multiplies `count` terms, a multiple of 8. row0: this lane's first line; table: this lane's
// numbers of the first terms.
__device__ __forceinline__ void multiply(warp_sums &sum, const REAL *stage, int row0, const REAL *table, int count) {
    const int t = threadIdx.x % 4;
    REAL ahead[TILES_N][2];
    take_table(ahead, table);
#pragma unroll 1
    for (int k = 0; k < count; k += 8) {
        factor right[TILES_N][1];
#pragma unroll
        for (int n = 0; n < TILES_N; n++) right[n][0] = make_operand<FNO_FACTOR, FNO_PARTS>(ahead[n][0], ahead[n][1]);
        table += SWEEPS * ALONG * 64;
        take_table(ahead, table);  // the table has one more step than is used
#pragma unroll
        for (int m = 0; m < TILES_M; m++) {
            const factor top[1] = {left_factor(stage, row0 + 16 * m, k, t)};
            const factor bottom[1] = {left_factor(stage, row0 + 16 * m + 8, k, t)};
            REAL partial[TILES_N][4] = {};
#pragma unroll
            for (int pass = 0; pass < passes(FNO_PARTS, FNO_PARTS); pass++)
#pragma unroll
                for (int n = 0; n < TILES_N; n++)
                    product_pass(pass, SEPARATE_SUMS ? partial[n] : sum[m][n], top, bottom, right[n]);
            if (SEPARATE_SUMS)
#pragma unroll
                for (int n = 0; n < TILES_N; n++) add_tile(sum[m][n], partial[n]);
        }
    }
}

// ---- output: modes directly from registers; points through shared memory, to store rows of
// columns
__device__ __forceinline__ REAL finished(const line_arguments &a, REAL v, long long item, int line, int column,
                                         const FNO_TO *to) {
    const long long channel = FNO_BIAS == 1 ? line : item % a.inner;
    if (FNO_BIAS) v += load_number(a.bias + NUMBERS * channel + column % NUMBERS);
    if (FNO_ADDED) v += widen(a.added[to - a.out]);
    return activated(v);
}
// Stores 16 lines; `mine` is this warp's shared memory.
__device__ __forceinline__ void store_points(const line_arguments &a, FNO_TO *out, long long item, int line0,
                                             int column0, const REAL (&sum)[TILES_N][4], REAL *mine) {
    const int lane = threadIdx.x % 32;
    __syncwarp();
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
        for (int n = 0; n < TILES_N; n++)
            *reinterpret_cast<value *>(mine + (lane / 4 + 8 * h) * OUT_PITCH + 8 * n + 2 * (lane % 4)) = {
                sum[n][2 * h], sum[n][2 * h + 1]};
    __syncwarp();
#pragma unroll
    for (int i = lane; i < 16 * WIDTH; i += 32) {
        const int r = i / WIDTH, line = line0 + r, column = column0 + i % WIDTH;
        if (line >= a.outputs || column >= DENSE_COLUMNS) continue;
        FNO_TO *const to = out + NUMBERS * (line * a.out_stride) + column;
        store_number(to, finished(a, mine[r * OUT_PITCH + i % WIDTH], item, line, column, to));
    }
}
__device__ __forceinline__ void store_modes(const line_arguments &a, FNO_TO *out, int line0, int column0,
                                            const REAL (&sum)[TILES_N][4]) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
        for (int n = 0; n < TILES_N; n++) {
            const int line = line0 + lane / 4 + 8 * h, column = column0 + 8 * n + 2 * (lane % 4);
            if (line < a.outputs && column < DENSE_COLUMNS)
                store_value(out + 2 * (column / 2 * a.out_stride + line), value{sum[n][2 * h], sum[n][2 * h + 1]});
        }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) fno_dense(const __grid_constant__ line_arguments a) {
    extern __shared__ __align__(128) unsigned char stn_shared[];
    REAL *const stages = reinterpret_cast<REAL *>(stn_shared), *const outgoing = stages + INPUT_VALUES;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row0 = warp % WARPS_M * TILES_M * 16 + lane / 4, tile0 = warp / WARPS_M * TILES_N;
    const unsigned groups = static_cast<unsigned>((a.channels + LINES - 1) / LINES);
    const long long item = blockIdx.x / groups;
    const int c0 = static_cast<int>(blockIdx.x % groups) * LINES;
    const FNO_FROM *const in =
        a.in + (FORWARD ? NUMBERS : 2) * (item / a.inner * a.in_outer + item % a.inner * a.in_inner);
    FNO_TO *const out = a.out + (FORWARD ? 2 : NUMBERS) * (item / a.inner * a.out_outer + item % a.inner * a.out_inner);
    load_stage(a, in, c0, 0, stages);
    copy_async_commit();
    int slot = 0;
#pragma unroll 1
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        const int tile = sweep * ALONG + tile0;
        warp_sums sum = {};
#pragma unroll 1
        for (int stage = 0; stage < PIECES; stage++) {
            const int next = stage + 1 < PIECES ? stage + 1 : 0;
            if (PIECES > 1 && (next || sweep + 1 < SWEEPS))
                load_stage(a, in, c0, next * DEPTH, stages + (1 - slot) * STAGE);
            copy_async_commit();
            copy_async_wait<1>();
            __syncthreads();
            const int left = 8 * STEPS - stage * DEPTH;
            multiply(sum, stages + slot * STAGE, row0,
                     a.twiddles + ((stage * (DEPTH / 8) * SWEEPS * ALONG + tile) * 32 + lane) * 2,
                     left < DEPTH ? left : DEPTH);
            if (PIECES > 1) {
                __syncthreads();
                slot = 1 - slot;
            }
        }
#pragma unroll
        for (int m = 0; m < TILES_M; m++) {
            const int line0 = c0 + (warp % WARPS_M * TILES_M + m) * 16;
            if (FORWARD)
                store_modes(a, out, line0, 8 * tile, sum[m]);
            else
                store_points(a, out, item, line0, 8 * tile, sum[m], outgoing + warp * 16 * OUT_PITCH);
        }
    }
}
