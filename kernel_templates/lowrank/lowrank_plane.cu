// Several steps of a 2D stencil at once, as chains of two products on the tensor cores
// (LoRAStencil).
//
//     out(y, x) = sum over terms q, i, j of  u[q][i] * v[q][j] * in(y + i - Y_LOW, x + j - X_LOW)
//
// that is, out = sum over q of U_q X V_q with banded Toeplitz U_q (rows) and V_q (columns); see
// device/band.cuh. A warp owns 16 rows and marches along x, two blocks of 8 columns at a time; a
// block's warps are stacked along y:
//
//              x ->   columns of 8
//     warp 0   | j-1 |  j  | j+1 |      T_q = U_q X(:, j)          BLOCKS_Y products, 16 x 8
//     warp 1   |     |     |     |      sum(j - d) += T_q V_q(d)   BLOCKS_X products, d < BLOCKS_X
//     ...
//
// So every column is read once from shared memory for all terms, T_q stays in registers, and only
// BLOCKS_X + 1 partial sums are kept from columns to columns. Columns arrive in shared memory 16 at
// a time, STAGES - 1 stages ahead:
//
//     stage:   row 0   | 16 columns | unused |
//              row 1   | ...
//
// 16 bytes of a row are unused, so that rows 2t, t = 0 .. 3, are in different banks. Types and
// their parts: device/fragment.cuh.
#include "device/arith.cuh"
#include "device/band.cuh"
#include "device/launch_checks.cuh"
#include "device/row_loader.cuh"
#include "lowrank/plane_march.cuh"
#include "params.cuh"

constexpr int STEP = tensor<STORE>::STEP;
constexpr int SLOT = 16 / sizeof(STORE);  // elements of one copy
// Columns from the first one that is read to the first output.
constexpr int LEAD = round_up(X_LOW, SLOT < 4 ? 4 : SLOT);
// Blocks of 8 rows that a tile depends on.
constexpr int BLOCKS_Y = round_up((16 + Y_LOW + Y_HIGH + 7) / 8, STEP);
// Blocks of 8 columns that a tile depends on.
constexpr int BLOCKS_X = (8 + LEAD + X_HIGH + 7) / 8;
constexpr int LINES = 16 * (WARPS - 1) + 8 * BLOCKS_Y;
constexpr int PITCH = 16 + SLOT, STAGE = LINES * PITCH;
constexpr bool SEPARATE_SUMS = needs_separate_sums(DATA_PARTS, BAND_PARTS);
constexpr int CHAINS = sizeof(STORE) == 8 ? 1 : 2;  // independent accumulators of a tile's rows
constexpr int BAND_Y = band_size(BLOCKS_Y - 1), BAND_X = band_size(BLOCKS_X);

struct plane_arguments {
    plane_grids at;
    REAL scale;  // common factor of all v; 1 except in f16
    REAL u[TERMS][WEIGHTS_Y], v[TERMS][WEIGHTS_X];
};

// A lane's blocks of the two bands of a term. HELD: they stay in registers, else they are read from
// shared memory as needed.
using data_operand = operand<STORE, DATA_PARTS>;
using band_operand = operand<STORE, BAND_PARTS>;
using band_entry = band<STORE, BAND_PARTS>::entry;
struct term_bands {
    band_operand y[BLOCKS_Y], x[BLOCKS_X], zero;
    // The part of block k for rows 8 to 15 of a tile equals block k - 1; for block 0 it is zero.
    __device__ __forceinline__ const band_operand &before(int k) const { return k ? y[k ? k - 1 : 0] : zero; }
};
__device__ __forceinline__ void read_bands(term_bands &to, const band_entry *bands, int g, int t) {
    to.zero = make_operand<STORE, BAND_PARTS>(0, 0);
#pragma unroll
    for (int k = 0; k < BLOCKS_Y - 1; k++) to.y[k] = band_pair(bands + BAND_PAD + 8 * k + 2 * t - g);
    to.y[BLOCKS_Y - 1] = to.zero;  // rows 0 to 7 do not reach so far
#pragma unroll
    for (int d = 0; d < BLOCKS_X; d++) to.x[d] = band_pair(bands + BAND_Y + BAND_PAD + 8 * d + 2 * t - g);
}

// T_q of two blocks of columns: U_q times these blocks. `middle`: the row in the middle of the
// first block of rows, from column 2t on; `sums`: the values of fill_sums for U_q, from row g on.
__device__ __forceinline__ void multiply_rows(REAL (&rows)[2][4], const data_operand (&in)[2][BLOCKS_Y],
                                              const STORE *middle, const float *sums, const term_bands &bands) {
    REAL sum[2][CHAINS][4] = {};
#pragma unroll
    for (int turn = 0; turn < BLOCKS_Y; turn += CHAINS * STEP) {
        REAL separate[2][CHAINS][4] = {};
#pragma unroll
        for (int pass = 0; pass < passes(BAND_PARTS, DATA_PARTS); pass++)
#pragma unroll
            for (int c = 0; c < CHAINS; c++)
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    if (turn + c * STEP >= BLOCKS_Y) continue;
                    band_operand top[STEP], bottom[STEP];
                    data_operand right[STEP];
                    for (int b = 0; b < STEP; b++) {
                        const int k = turn + c * STEP + b;
                        top[b] = bands.y[k], bottom[b] = bands.before(k), right[b] = in[h][k];
                    }
                    product_pass(pass, SEPARATE_SUMS ? separate[h][c] : sum[h][c], top, bottom, right);
                }
        if (SEPARATE_SUMS)
            for (int h = 0; h < 2; h++)
                for (int c = 0; c < CHAINS && turn + c < BLOCKS_Y; c++) {
                    const int k = turn + c;
                    const REAL even = widen(middle[8 * k * PITCH + 8 * h]),
                               odd = widen(middle[8 * k * PITCH + 8 * h + 1]);
                    const float top = k < BLOCKS_Y - 1 ? sums[8 * k] : 0, bottom = k ? sums[8 * (k ? k - 1 : 0)] : 0;
                    const REAL middles[4] = {even, odd, even, odd};
                    const float weights[4] = {top, top, bottom, bottom};
                    add_tile(sum[h][c], separate[h][c]);
                    add_middles(sum[h][c], middles, weights);
                }
    }
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
        for (int e = 0; e < 4; e++) rows[h][e] = CHAINS > 1 ? sum[h][0][e] + sum[h][CHAINS - 1][e] : sum[h][0][e];
}

// Adds T_q V_q for blocks j and j + 1 of T_q's columns. sum[e] accumulates block j + 1 - e of the
// outputs: block e - 1 of the band multiplies block j of T_q, and block e multiplies block j + 1.
__device__ __forceinline__ void multiply_columns(int pass, REAL (&sum)[BLOCKS_X + 1][4], const data_operand (&top)[2],
                                                 const data_operand (&bottom)[2], const term_bands &bands) {
#pragma unroll
    for (int h = 0; h < 2; h += STEP)
#pragma unroll
        for (int e = 0; e <= BLOCKS_X; e++) {
            if (STEP == 1 && (e - 1 + h < 0 || e - 1 + h >= BLOCKS_X)) continue;
            data_operand left[2][STEP];
            band_operand right[STEP];
            for (int b = 0; b < STEP; b++) {
                const int d = e - 1 + h + b;
                left[0][b] = top[h + b], left[1][b] = bottom[h + b];
                right[b] = d >= 0 && d < BLOCKS_X ? bands.x[d >= 0 && d < BLOCKS_X ? d : 0] : bands.zero;
            }
            product_pass(pass, sum[e], left[0], left[1], right);
        }
}

// Adds one term of blocks j and j + 1 of the columns. Products that depend on each other alternate
// with others.
__device__ __forceinline__ void add_term(REAL (&sum)[BLOCKS_X + 1][4], const data_operand (&in)[2][BLOCKS_Y],
                                         const STORE *middle, const float *sums, const term_bands &bands, int g,
                                         int t) {
    REAL rows[2][4], separate[BLOCKS_X + 1][4] = {}, middles[2][4] = {};
    multiply_rows(rows, in, middle + 2 * t, sums + g, bands);
    data_operand top[2], bottom[2];
#pragma unroll
    for (int h = 0; h < 2; h++) {
        if (SEPARATE_SUMS)
#pragma unroll
            for (int e = 0; e < 4; e++) {  // the lane that has the row's middle column sends it
                if (e % 2 == 0) middles[h][e] = __shfl_sync(0xffffffffu, rows[h][e], 4 * g + MIDDLE / 2);
                if (e % 2) middles[h][e] = middles[h][e - 1];
                rows[h][e] -= middles[h][e];
            }
        top[h] = make_operand<STORE, DATA_PARTS>(rows[h][0], rows[h][1]);
        bottom[h] = make_operand<STORE, DATA_PARTS>(rows[h][2], rows[h][3]);
    }
#pragma unroll
    for (int pass = 0; pass < passes(DATA_PARTS, BAND_PARTS); pass++)
        multiply_columns(pass, SEPARATE_SUMS ? separate : sum, top, bottom, bands);
    if (SEPARATE_SUMS)
#pragma unroll
        for (int e = 0; e <= BLOCKS_X; e++) {
            add_tile(sum[e], separate[e]);
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const int d = e - 1 + h;
                if (d < 0 || d >= BLOCKS_X) continue;
                const float *const column = sums + 8 * (BLOCKS_Y - 1 + d) + 2 * t;
                const float even = column[0], odd = column[1], weights[4] = {even, odd, even, odd};
                add_middles(sum[e], middles[h], weights);
            }
        }
}

// The index at which a row of a stage begins.
struct row_offset {
    __device__ __forceinline__ constexpr int operator()(int row) const { return row * PITCH; }
};

__device__ __forceinline__ void store_tile(const plane_arguments &a, STORE *out, long long y, long long x,
                                           const REAL (&tile)[4]) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
        if (y + 8 * half >= a.at.ny) continue;
        STORE *const to = out + (y + 8 * half) * a.at.out_y + x;
        STORE run[2];
        for (int e = 0; e < 2; e++)
            run[e] = narrow<STORE>(sizeof(STORE) == 2 ? tile[2 * half + e] * a.scale : tile[2 * half + e]);
        if (VECTOR > 1 && x + 2 <= a.at.nx)
            store_run(to, run);
        else
            for (int e = 0; e < 2; e++)
                if (x + e < a.at.nx) to[e] = run[e];
    }
}

static_assert(shared_bytes_match(STAGES * STAGE * sizeof(STORE)), "the launcher gives as much shared memory");
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) lowrank_plane(const __grid_constant__ plane_arguments a) {
    let_next_launch_begin();  // the faces' launch may start
    extern __shared__ __align__(128) unsigned char stn_shared[];
    STORE *const shared = reinterpret_cast<STORE *>(stn_shared);  // STAGES stages
    __shared__ band_entry bands[TERMS][BAND_Y + BAND_X];
    __shared__ float sums[SEPARATE_SUMS ? TERMS : 1][sums_size(SEPARATE_SUMS, BLOCKS_Y - 1 + BLOCKS_X)];
    __shared__ long long row_start[LINES];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    const plane_block b = find_block(a.at);

#pragma unroll 1
    for (int i = threadIdx.x; i < LINES; i += THREADS)
        row_start[i] = fold_far<Y_SIDE_LOW, Y_SIDE_HIGH>(b.y0 - Y_LOW + i, a.at.ny) * a.at.in_y;
    for (int q = 0; q < TERMS; q++) {
        fill_band<EVEN>(bands[q], BAND_Y, a.u[q], Y_LOW + Y_HIGH + 1, 0, threadIdx.x, THREADS);
        fill_band<EVEN>(bands[q] + BAND_Y, BAND_X, a.v[q], X_LOW + X_HIGH + 1, LEAD - X_LOW, threadIdx.x, THREADS);
        if (!SEPARATE_SUMS) continue;
        float *const of_x = sums[SEPARATE_SUMS ? q : 0] + 8 * (BLOCKS_Y - 1);
        fill_sums<EVEN>(sums[SEPARATE_SUMS ? q : 0], 8 * (BLOCKS_Y - 1), a.u[q], Y_LOW + Y_HIGH + 1, 0, threadIdx.x,
                        THREADS);
        fill_sums<EVEN>(of_x, 8 * BLOCKS_X, a.v[q], X_LOW + X_HIGH + 1, LEAD - X_LOW, threadIdx.x, THREADS);
    }
    __syncthreads();
    term_bands held[HELD ? TERMS : 1];
    if (HELD)
#pragma unroll
        for (int q = 0; q < TERMS; q++) read_bands(held[HELD ? q : 0], bands[q], g, t);

    const int steps = static_cast<int>((b.columns + 8 * (BLOCKS_X - 1) + 15) / 16);
    const auto fetch = [&](int s, int slot) {
        if (s < steps)
            load_stage<LINES, THREADS, VECTOR, X_SIDE_LOW, X_SIDE_HIGH>(shared + slot * STAGE, row_offset(), b.grid,
                                                                        row_start, b.x0 - LEAD + 16LL * s, a.at.nx);
        copy_async_commit();
    };
#pragma unroll
    for (int s = 0; s < STAGES - 1; s++) fetch(s, s);
    REAL sum[BLOCKS_X + 1][4] = {};
    int slot = 0;
#pragma unroll 1
    for (int s = 0; s < steps; s++) {
        copy_async_wait<STAGES - 2>();
        __syncthreads();  // stage s has arrived for all threads, and all have read stage s - 1
        fetch(s + STAGES - 1, slot ? slot - 1 : STAGES - 1);
        const STORE *const mine = shared + slot * STAGE + (warp * 16 + 2 * t) * PITCH + g;
        const STORE *const middle = shared + slot * STAGE + (warp * 16 + MIDDLE) * PITCH;
        slot = slot + 1 < STAGES ? slot + 1 : 0;
        data_operand in[2][BLOCKS_Y];
#pragma unroll
        for (int k = 0; k < BLOCKS_Y; k++)
            for (int h = 0; h < 2; h++) {
                const STORE *const from = mine + 8 * k * PITCH + 8 * h;
                load_difference(in[h][k], from, from + PITCH,
                                SEPARATE_SUMS ? widen(middle[8 * k * PITCH + 8 * h + g]) : REAL(0));
            }
        if (HELD) {
#pragma unroll
            for (int q = 0; q < TERMS; q++)
                add_term(sum, in, middle, sums[SEPARATE_SUMS ? q : 0], held[HELD ? q : 0], g, t);
        } else {
#pragma unroll 1
            for (int q = 0; q < TERMS; q++) {
                term_bands read;
                read_bands(read, bands[q], g, t);
                add_term(sum, in, middle, sums[SEPARATE_SUMS ? q : 0], read, g, t);
            }
        }
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int done = 2 * s + h - (BLOCKS_X - 1);
            if (done >= 0 && 8 * done < b.columns)
                store_tile(a, b.out, b.y0 + 16 * warp + g, b.x0 + 8 * done + 2 * t, sum[BLOCKS_X - h]);
        }
#pragma unroll
        for (int d = BLOCKS_X; d >= 0; d--)
            for (int e = 0; e < 4; e++) sum[d][e] = d > 1 ? sum[d > 1 ? d - 2 : 0][e] : 0;
    }
}
