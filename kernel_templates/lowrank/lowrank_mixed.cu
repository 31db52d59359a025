// Several steps of a 2D stencil at once, as separable terms that each have their own reach: along y
// sums on the CUDA cores, along x products on the f64 tensor cores, which run concurrently
// (the powers of a star have many narrow terms).
//
//     T_q(y, x)  = sum over i of  u[q][i] * in(y + i - U_LOW, x)             sums
//     out(y, x)  = sum over terms q, j of  v[q][j] * T_q(y, x + j - V_LOW)   products
//
// In the sums x is fixed, so a lane needs its own column only; the products have banded Toeplitz
// matrices V_q of the weights. A term without a reach along x adds T_q directly. Terms are scaled
// so that the middle weight along y is 1, where possible (TERM_UNIT). Of every 4 columns, lane
// 4 g + t holds two rows of column t:
//
//              x ->    t=0 1 2 3 | 0 1 2 3 |
//     g = 0    row 0     . . . . | . . . . |
//              row 1     . . . . | . . . . |
//     g = 1    row 2     ...
//
// Rows 2g and 2g+1 are rows g and g + 8 of a left factor, columns 4k + t its columns: T_q is
// directly a left factor, and every row is read once for all terms.
//
// The columns of the right factor, and so of the sums, are permuted: accumulators 2t and 2t+1 are
// columns t and 4+t, so that T_q and the sums have the same layout. A warp marches along x, 16
// columns at a time, with the BLOCKS_X + 1 incomplete sums of 8 columns. Columns arrive in shared
// memory STAGES - 1 stages ahead; after every two rows 4 elements are unused, so that lanes g =
// 0..3, t = 0..3 read from different banks.
//
// Reads TERMS, TERM_Y_LOW .. TERM_X_HIGH, TERM_UNIT, EVEN; Y_LOW .. X_HIGH, the sides; VECTOR,
// WARPS, STAGES, BLOCKS.
#include "device/arith.cuh"
#include "device/fragment.cuh"
#include "device/launch_checks.cuh"
#include "device/row_loader.cuh"
#include "device/unroll.cuh"
#include "lowrank/plane_march.cuh"
#include "params.cuh"

// Columns from the first one that is read to the first output.
constexpr int LEAD = round_up(X_LOW, 4);
// Blocks of 8 columns that a tile of 8 columns depends on.
constexpr int BLOCKS_X = (LEAD + X_HIGH + 7) / 8 + 1;
constexpr int LINES = 16 * WARPS + Y_LOW + Y_HIGH;
// GROUP: elements of two rows and their padding in a stage.
constexpr int GROUP = 2 * 16 + 4, STAGE = (LINES + 1) / 2 * GROUP;
// 14 zeros before and after, so that every 4 x 8 block of the band can be read
constexpr int BAND = X_LOW + X_HIGH + 1 + 2 * 14;
constexpr int FIRST_BAND = -((X_LOW + 3) / 4), BANDS = (7 + X_HIGH) / 4 - FIRST_BAND + 1;

struct mixed_arguments {
    plane_grids at;
    REAL u[TERMS][WEIGHTS_Y], v[TERMS][WEIGHTS_X];
};

// The index at which a row of a stage begins.
struct row_offset {
    __device__ __forceinline__ constexpr int operator()(int row) const { return row / 2 * GROUP + row % 2 * 16; }
};

// Whether block b of term q's band, rows 4b to 4b + 3 of the window, is nonzero.
__device__ __forceinline__ constexpr bool meets(int q, int b) {
    return 4 * b + 3 >= -TERM_X_LOW[q] && 4 * b <= 7 + TERM_X_HIGH[q];
}

using lane_rows = double[2 + Y_LOW + Y_HIGH];

// T_q in row r, 0 or 1, of this lane.
template <int Q, int R>
__device__ __forceinline__ double sum_rows(const mixed_arguments &a, const lane_rows &in) {
    constexpr int middle = R + Y_LOW, low = TERM_Y_LOW[Q], high = TERM_Y_HIGH[Q];
    double sum = TERM_UNIT[Q] ? in[middle] : a.u[Q][Y_LOW] * in[middle];
    unroll<1, low + 1>(
        [&](auto i) { sum += a.u[Q][Y_LOW - i] * (EVEN ? in[middle - i] + in[middle + i] : in[middle - i]); });
    if (!EVEN) unroll<1, high + 1>([&](auto i) { sum += a.u[Q][Y_LOW + i] * in[middle + i]; });
    return sum;
}

// Adds all terms of columns 4M to 4M + 3 of a stage; sums[j] is the tile that begins
// LEAD + 8 (j - BLOCKS_X + 1) columns after the stage.
template <int M>
__device__ __forceinline__ void add_columns(double (&sums)[BLOCKS_X + 1][4], const mixed_arguments &a,
                                            const lane_rows &in, const double (&band)[TERMS][BANDS]) {
    unroll<0, TERMS>([&](auto q) {
        constexpr int Q = decltype(q)::value;
        const double left[2] = {sum_rows<Q, 0>(a, in), sum_rows<Q, 1>(a, in)};
#pragma unroll
        for (int j = 0; j <= BLOCKS_X; j++) {
            const int b = M - LEAD / 4 - 2 * (j - BLOCKS_X + 1);
            if (!meets(Q, b)) continue;
            if (TERM_X_LOW[Q] + TERM_X_HIGH[Q] > 0)
                product(sums[j], left, band[Q][b - FIRST_BAND]);
            else
#pragma unroll
                for (int h = 0; h < 2; h++) sums[j][2 * h + b % 2] += left[h];
        }
    });
}

// Stores this lane's two rows of a tile: columns x and x + 4.
__device__ __forceinline__ void store_tile(double *to, long long pitch, const double (&tile)[4], int rows,
                                           int columns) {
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
        for (int e = 0; e < 2; e++)
            if (h < rows && 4 * e < columns) {
                const double one[1] = {tile[2 * h + e]};
                store_run(to + h * pitch + 4 * e, one);
            }
}

static_assert(shared_bytes_match(STAGES * STAGE * sizeof(double)), "the launcher gives as much shared memory");
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) lowrank_mixed(const __grid_constant__ mixed_arguments a) {
    let_next_launch_begin();  // the faces' launch may start
    extern __shared__ __align__(128) unsigned char stn_shared[];
    double *const shared = reinterpret_cast<double *>(stn_shared);  // STAGES stages
    __shared__ double bands[TERMS][BAND];
    __shared__ long long row_start[LINES];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    const plane_block b = find_block(a.at);

#pragma unroll 1
    for (int i = threadIdx.x; i < LINES; i += THREADS)
        row_start[i] = fold_far<Y_SIDE_LOW, Y_SIDE_HIGH>(b.y0 - Y_LOW + i, a.at.ny) * a.at.in_y;
#pragma unroll 1
    for (int i = threadIdx.x; i < TERMS * BAND; i += THREADS) {
        const int q = i / BAND, j = i % BAND - 14, size = X_LOW + X_HIGH + 1;
        bands[q][i % BAND] = j >= 0 && j < size ? a.v[q][EVEN && j > X_LOW ? size - 1 - j : j] : 0.0;
    }
    __syncthreads();
    double band[TERMS][BANDS];
    const int column = t - g / 2 - g % 2 * 4;  // column of the input minus column of the output
    unroll<0, TERMS>([&](auto q) {
        unroll<0, BANDS>([&](auto block) {
            if (meets(q, block + FIRST_BAND)) band[q][block] = bands[q][14 + X_LOW + 4 * (block + FIRST_BAND) + column];
        });
    });

    const int steps = static_cast<int>((b.columns + 8 * (BLOCKS_X - 1) + 15) / 16);
    const auto fetch = [&](int s, int slot) {
        if (s < steps)
            load_stage<LINES, THREADS, VECTOR, X_SIDE_LOW, X_SIDE_HIGH>(shared + slot * STAGE, row_offset(), b.grid,
                                                                        row_start, b.x0 - LEAD + 16LL * s, a.at.nx);
        copy_async_commit();
    };
#pragma unroll
    for (int s = 0; s < STAGES - 1; s++) fetch(s, s);
    double sums[BLOCKS_X + 1][4] = {};
    const long long y = b.y0 + 16 * warp + 2 * g;
    // Rows of this lane in the grid.
    const int rows = static_cast<int>(a.at.ny - y < 2 ? a.at.ny - y : 2);
    double *to = b.out + y * a.at.out_y + b.x0 + t - 8 * (BLOCKS_X - 1);
    // left: columns from `to` to the end of the segment.
    int left = static_cast<int>(b.columns) + 8 * (BLOCKS_X - 1) - t, slot = 0;
#pragma unroll 1
    for (int s = 0; s < steps; s++, to += 16, left -= 16) {
        copy_async_wait<STAGES - 2>();
        __syncthreads();  // stage s has arrived for all threads, and all have read stage s - 1
        fetch(s + STAGES - 1, slot ? slot - 1 : STAGES - 1);
        const double *const mine = shared + slot * STAGE + (warp * 8 + g) * GROUP + t;
        slot = slot + 1 < STAGES ? slot + 1 : 0;
        unroll<0, 4>([&](auto m) {
            lane_rows in;
#pragma unroll
            for (int i = 0; i < 2 + Y_LOW + Y_HIGH; i++) in[i] = mine[row_offset()(i) + 4 * m];
            add_columns<decltype(m)::value>(sums, a, in, band);
        });
#pragma unroll
        for (int h = 0; h < 2; h++)
            if (2 * s + h >= BLOCKS_X - 1) store_tile(to + 8 * h, a.at.out_y, sums[h], rows, left - 8 * h);
#pragma unroll
        for (int j = 0; j <= BLOCKS_X; j++)
            for (int e = 0; e < 4; e++) sums[j][e] = j + 2 <= BLOCKS_X ? sums[j + 2 <= BLOCKS_X ? j + 2 : 0][e] : 0;
    }
}
