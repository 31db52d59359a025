// Several steps of a 2D stencil at once, as chains of two products on the f64 tensor cores (LoRAStencil).
//
//     out(y, x) = sum over terms q, i, j of  u[q][i] * v[q][j] * in(y + i - Y_LOW, x + j - X_LOW)
//
// that is, out = sum over q of  U_q X V_q  with banded Toeplitz U_q (rows) and V_q (columns); see device/band.cuh. A
// warp owns 16 rows and walks along x, two columns of 8 at a time; a block's warps lie one below the other:
//
//              x ->   columns of 8
//     warp 0   | j-1 |  j  | j+1 |      T_q = U_q X(:, j)          BLOCKS_Y products, 16 x 8
//     warp 1   |     |     |     |      sum(j - d) += T_q V_q(d)   BLOCKS_X products, for d = 0 .. BLOCKS_X - 1
//     ...
//
// so every column is read once from shared memory for all terms, T_q never leaves its registers, and the only state of
// the walk are BLOCKS_X + 1 partial sums. Columns come to shared memory 16 at a time, STAGES - 1 stages ahead:
//
//     stage:   row 0   | 16 columns | 2 unused |     a row is 18 doubles long: rows 2t apart lie in different banks
//              row 1   | ...
#include "device/band.cuh"
#include "device/walk.cuh"
#include "params.cuh"

constexpr int round_up(int a, int b) { return (a + b - 1) / b * b; }
constexpr int THREADS = 32 * WARPS;
constexpr int LEAD = round_up(X_LOW, 4);                 // the first column read, before the first output
constexpr int BLOCKS_Y = (16 + Y_LOW + Y_HIGH + 7) / 8;  // of 8 rows, that a tile sees
constexpr int BLOCKS_X = (8 + LEAD + X_HIGH + 7) / 8;    // of 8 columns, that a tile sees
constexpr int LINES = 16 * (WARPS - 1) + 8 * BLOCKS_Y;
constexpr int PITCH = 18, STAGE = LINES * PITCH;
constexpr int BAND_Y = band_size(BLOCKS_Y - 1), BAND_X = band_size(BLOCKS_X);
constexpr int WEIGHTS_Y = EVEN ? Y_LOW + 1 : Y_LOW + Y_HIGH + 1;  // given, of a term
constexpr int WEIGHTS_X = EVEN ? X_LOW + 1 : X_LOW + X_HIGH + 1;
static_assert(!EVEN || (Y_LOW == Y_HIGH && X_LOW == X_HIGH), "even weights reach as far to either side");
static_assert(STAGES >= 2, "the walk computes on one stage while others arrive");

struct plane_arguments {
    const double *in;
    double *out;
    long long ny, nx;
    long long in_y, out_y, in_batch, out_batch;  // strides, elements; along x they are 1
    long long segment;                           // columns of a block's walk, a multiple of 16
    long long tiles_y, tiles_x;                  // blocks of one grid
    double u[TERMS][WEIGHTS_Y], v[TERMS][WEIGHTS_X];
};

// Both factors' blocks for one term: in registers, or read from shared memory as they are needed.
struct term_bands {
    double y[BLOCKS_Y - 1][2], x[BLOCKS_X][2];
};
__device__ __forceinline__ void read_bands(term_bands &to, const double *bands, int g, int t) {
#pragma unroll
    for (int k = 0; k < BLOCKS_Y - 1; k++)
        for (int e = 0; e < 2; e++) to.y[k][e] = bands[BAND_PAD + 8 * k + 2 * t + e - g];
#pragma unroll
    for (int d = 0; d < BLOCKS_X; d++)
        for (int e = 0; e < 2; e++) to.x[d][e] = bands[BAND_Y + BAND_PAD + 8 * d + 2 * t + e - g];
}

// One term of the two columns j and j + 1: sum[e] gathers output column j + 1 - e. Products that wait for each other
// alternate with the neighbour's, which do not.
__device__ __forceinline__ void add_term(double (&sum)[BLOCKS_X + 1][4], const double (&in)[2][BLOCKS_Y][2],
                                         const term_bands &bands) {
    const double zero[2] = {0, 0};
    double rows[2][4] = {};
#pragma unroll
    for (int k = 0; k < BLOCKS_Y; k++) {
        double left[4];
        join_halves(left, k < BLOCKS_Y - 1 ? bands.y[k < BLOCKS_Y - 1 ? k : 0] : zero,
                    k ? bands.y[k ? k - 1 : 0] : zero);
        product(rows[0], left, in[0][k]);
        product(rows[1], left, in[1][k]);
    }
    const double left[2][4] = {{rows[0][0], rows[0][2], rows[0][1], rows[0][3]},
                               {rows[1][0], rows[1][2], rows[1][1], rows[1][3]}};
#pragma unroll
    for (int d = 0; d < BLOCKS_X; d++) product(sum[d + 1], left[0], bands.x[d]);
#pragma unroll
    for (int d = 0; d < BLOCKS_X; d++) product(sum[d], left[1], bands.x[d]);
}

// Where a row of a stage begins.
struct row_place {
    __device__ __forceinline__ constexpr int operator()(int row) const { return row * PITCH; }
};

__device__ __forceinline__ void store_tile(const plane_arguments &a, double *out, long long y, long long x,
                                           const double (&tile)[4]) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
        if (y + 8 * half >= a.ny) continue;
        double *const to = out + (y + 8 * half) * a.out_y + x;
        const double run[2] = {tile[2 * half], tile[2 * half + 1]};
        if (VECTOR == 2 && x + 2 <= a.nx)
            store_run(to, run);
        else
            for (int e = 0; e < 2; e++)
                if (x + e < a.nx) to[e] = run[e];
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) lowrank_plane(const __grid_constant__ plane_arguments a) {
    extern __shared__ __align__(128) unsigned char stn_shared[];
    double *const shared = reinterpret_cast<double *>(stn_shared);  // STAGES stages
    __shared__ double bands[TERMS][BAND_Y + BAND_X];
    __shared__ long long row_start[LINES];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    const long long tile_x = blockIdx.x % a.tiles_x, rest = blockIdx.x / a.tiles_x;
    const long long tile_y = rest % a.tiles_y, batch = rest / a.tiles_y;
    const long long y0 = tile_y * 16 * WARPS, x0 = tile_x * a.segment;
    const double *const grid = a.in + batch * a.in_batch;
    double *const out = a.out + batch * a.out_batch;

    for (int i = threadIdx.x; i < LINES; i += THREADS)
        row_start[i] = fold_far<Y_SIDE_LOW, Y_SIDE_HIGH>(y0 - Y_LOW + i, a.ny) * a.in_y;
    for (int q = 0; q < TERMS; q++) {
        fill_band<EVEN>(bands[q], BAND_Y, a.u[q], Y_LOW + Y_HIGH + 1, 0, threadIdx.x, THREADS);
        fill_band<EVEN>(bands[q] + BAND_Y, BAND_X, a.v[q], X_LOW + X_HIGH + 1, LEAD - X_LOW, threadIdx.x, THREADS);
    }
    __syncthreads();
    term_bands held[HELD ? TERMS : 1];
    if (HELD)
#pragma unroll
        for (int q = 0; q < TERMS; q++) read_bands(held[HELD ? q : 0], bands[q], g, t);

    const long long columns = a.nx - x0 < a.segment ? a.nx - x0 : a.segment;
    const int steps = static_cast<int>((columns + 8 * (BLOCKS_X - 1) + 15) / 16);
    const auto fetch = [&](int s, int slot) {
        if (s < steps)
            load_stage<LINES, THREADS, VECTOR, X_SIDE_LOW, X_SIDE_HIGH>(shared + slot * STAGE, row_place(), grid,
                                                                        row_start, x0 - LEAD + 16LL * s, a.nx);
        copy_async_commit();
    };
#pragma unroll
    for (int s = 0; s < STAGES - 1; s++) fetch(s, s);
    double sum[BLOCKS_X + 1][4] = {};
    int slot = 0;
#pragma unroll 1
    for (int s = 0; s < steps; s++) {
        copy_async_wait<STAGES - 2>();
        __syncthreads();  // stage s is here for all, and stage s - 1 has been read by all
        fetch(s + STAGES - 1, slot ? slot - 1 : STAGES - 1);
        const double *const mine = shared + slot * STAGE + (warp * 16 + 2 * t) * PITCH + g;
        slot = slot + 1 < STAGES ? slot + 1 : 0;
        double in[2][BLOCKS_Y][2];
#pragma unroll
        for (int k = 0; k < BLOCKS_Y; k++)
            for (int h = 0; h < 2; h++)
                for (int e = 0; e < 2; e++) in[h][k][e] = mine[(8 * k + e) * PITCH + 8 * h];
        if (HELD) {
#pragma unroll
            for (int q = 0; q < TERMS; q++) add_term(sum, in, held[HELD ? q : 0]);
        } else {
#pragma unroll 1
            for (int q = 0; q < TERMS; q++) {
                term_bands read;
                read_bands(read, bands[q], g, t);
                add_term(sum, in, read);
            }
        }
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int done = 2 * s + h - (BLOCKS_X - 1);
            if (done >= 0 && 8 * done < columns)
                store_tile(a, out, y0 + 16 * warp + g, x0 + 8 * done + 2 * t, sum[BLOCKS_X - h]);
        }
#pragma unroll
        for (int d = BLOCKS_X; d >= 0; d--)
            for (int e = 0; e < 4; e++) sum[d][e] = d > 1 ? sum[d > 1 ? d - 2 : 0][e] : 0;
    }
}
