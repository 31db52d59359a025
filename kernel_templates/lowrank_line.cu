// Several steps of a 1D stencil at once, as one product with a banded Toeplitz matrix on the tensor cores.
//
//     out(x) = sum over j of  w[j] * in(x + j - X_LOW),   w: the stencil convolved with itself, X_LOW + X_HIGH + 1 long
//
// A block brings INPUTS consecutive points to shared memory, while it computes on the chunk before. A warp owns 8
// neighbouring segments of SEGMENT points, one a column of the product; a tile is 16 points of each:
//
//                        segment 0   1   2 .. 7
//     tile 0, rows 0-15     |  x    x+S     |        out(x + i + S n) = sum over j of  band(i, j) * in(x + j + S n)
//     tile 1, rows 16-31    |               |
//
// Eight points j of all 8 segments are one right factor, used for every tile of the segment as soon as it is read; the
// band stays in registers. Types and their parts: device/fragment.cuh. Eight points are 1/2, 1/4 or 1/8 of a line of
// 128 bytes; so many neighbouring segments have theirs at different places of it, and never meet in a bank.
#include "device/band.cuh"
#include "params.cuh"

constexpr int round_up(int a, int b) { return (a + b - 1) / b * b; }
constexpr int THREADS = 32 * WARPS, STEP = tensor<STORE>::STEP;
constexpr int SLOT = 16 / sizeof(STORE);                    // elements of one copy
constexpr int LEAD = round_up(X_LOW, SLOT < 4 ? 4 : SLOT);  // the chunk begins LEAD points before its first output
constexpr int BLOCKS_IN = round_up((16 + LEAD + X_HIGH + 7) / 8, STEP);  // of 8 points, that a tile sees
constexpr int TILES = SEGMENT / 16;
constexpr int OUTPUTS = WARPS * 8 * SEGMENT;           // outputs of a chunk
constexpr int INPUTS = OUTPUTS + 8 * (BLOCKS_IN - 2);  // inputs of a chunk
constexpr int STAGE = round_up(INPUTS, 8 * SLOT);      // whole lines
constexpr bool SPLIT = DATA_PARTS > 1 || BAND_PARTS > 1;
static_assert(SEGMENT % 16 == 0 && SEGMENT % (8 * SLOT) == 0, "a segment is whole tiles and whole lines");
static_assert(STAGES == 1 || STAGES == 2, "one or two chunks in shared memory");

struct line_arguments {
    const STORE *in;
    STORE *out;
    long long nx, in_batch, out_batch;
    long long chunks;      // of one grid
    long long all_chunks;  // of the batch
    REAL scale;            // of all weights; 1 but for f16
    REAL weight[X_LOW + X_HIGH + 1];
};

// Blocks k of the band: rows 0 to 7 of a tile, and rows 8 to 15 where these are not rows 0 to 7 of block k - 1.
using band_operand = operand<STORE, BAND_PARTS>;
struct held_band {
    band_operand top[BLOCKS_IN], bottom[PAIRED ? BLOCKS_IN : 1];
};
__device__ __forceinline__ int output_of_row(int row) { return PAIRED ? 2 * (row % 8) + row / 8 : row; }

__device__ __forceinline__ void read_band(held_band &held, const REAL *band, int g, int t) {
#pragma unroll
    for (int k = 0; k < BLOCKS_IN; k++) {
        const REAL *const top = band + BAND_PAD + 8 * k + 2 * t - output_of_row(g);
        held.top[k] = make_operand<STORE, BAND_PARTS>(top[0], top[1]);
        if (PAIRED) held.bottom[PAIRED ? k : 0] = make_operand<STORE, BAND_PARTS>(top[-1], top[0]);
    }
    if (!PAIRED)
        held.top[BLOCKS_IN - 1] = held.bottom[0] = make_operand<STORE, BAND_PARTS>(0, 0);  // known: no register
}

__device__ __forceinline__ int place(int point) { return point ^ (point / SEGMENT % SLOT * 8); }

__device__ __forceinline__ void load_chunk(const line_arguments &a, long long chunk, STORE *stage) {
    const STORE *const line = a.in + chunk / a.chunks * a.in_batch;
    const long long x0 = chunk % a.chunks * OUTPUTS - LEAD;
    if (VECTOR > 1 && x0 >= 0 && x0 + INPUTS <= a.nx) {
        const STORE *from = line + x0;
        for (int slot = threadIdx.x; slot < INPUTS / SLOT; slot += THREADS)
            copy_async_16(stage + place(SLOT * slot), from + SLOT * slot);
    } else
#pragma unroll 1
        for (int i = threadIdx.x; i < INPUTS; i += THREADS)
            copy_element(stage + place(i), line + fold_far<X_SIDE_LOW, X_SIDE_HIGH>(x0 + i, a.nx));
    copy_async_commit();
}

__device__ __forceinline__ void store_tile(const line_arguments &a, STORE *out, long long x, bool whole,
                                           const tile<REAL, SPLIT> &sum) {
#pragma unroll
    for (int column = 0; column < 2; column++, x += SEGMENT) {  // (g, 2t) (g, 2t+1) (g+8, 2t) (g+8, 2t+1)
        STORE run[2];
        for (int e = 0; e < 2; e++) {
            const REAL value = sum.value(2 * e + column);
            run[e] = narrow<STORE>(sizeof(STORE) == 2 ? value * a.scale : value);
        }
        if (PAIRED && VECTOR > 1 && whole)
            store_run(out + x, run);
        else
            for (int e = 0; e < 2; e++)
                if (whole || x + output_of_row(8 * e) < a.nx) out[x + output_of_row(8 * e)] = run[e];
    }
}

__device__ __forceinline__ void compute_chunk(const line_arguments &a, long long chunk, const STORE *stage,
                                              const held_band &held) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    tile<REAL, SPLIT> sum[TILES] = {};
#pragma unroll
    for (int block = 0; block < 2 * (TILES - 1) + BLOCKS_IN; block += STEP) {
        operand<STORE, DATA_PARTS> in[STEP];
#pragma unroll
        for (int s = 0; s < STEP; s++)
            load_operand(in[s], stage + place((warp * 8 + g) * SEGMENT + 8 * (block + s) + 2 * t));
#pragma unroll
        for (int n = 0; n < TILES; n++) {
            const int k = block - 2 * n;
            if (k < 0 || k >= BLOCKS_IN) continue;
            band_operand top[STEP], bottom[STEP];
            for (int s = 0; s < STEP; s++) {
                top[s] = held.top[k + s];
                bottom[s] = PAIRED  ? held.bottom[PAIRED ? k + s : 0]
                            : k + s ? held.top[k + s ? k + s - 1 : 0]
                                    : held.bottom[0];
            }
            multiply(sum[n], top, bottom, in);
        }
    }
    STORE *const out = a.out + chunk / a.chunks * a.out_batch;
    const long long x0 = chunk % a.chunks * OUTPUTS + (warp * 8 + 2 * t) * SEGMENT + output_of_row(g);
    const bool whole = (chunk % a.chunks + 1) * OUTPUTS <= a.nx;
#pragma unroll
    for (int n = 0; n < TILES; n++) store_tile(a, out, x0 + 16 * n, whole, sum[n]);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) lowrank_line(const __grid_constant__ line_arguments a) {
    extern __shared__ __align__(128) unsigned char stn_shared[];
    STORE *const shared = reinterpret_cast<STORE *>(stn_shared);  // STAGES stages
    __shared__ REAL band[band_size(BLOCKS_IN)];
    const int lane = threadIdx.x % 32;

    fill_band<0>(band, band_size(BLOCKS_IN), a.weight, X_LOW + X_HIGH + 1, LEAD - X_LOW, threadIdx.x, THREADS);
    long long chunk = blockIdx.x;
    if (STAGES == 2 && chunk < a.all_chunks) load_chunk(a, chunk, shared);
    __syncthreads();
    held_band held;
    read_band(held, band, lane / 4, lane % 4);
    int stage = 0;
    for (; chunk < a.all_chunks; chunk += gridDim.x) {
        if (STAGES == 1) {
            load_chunk(a, chunk, shared);
            copy_async_wait<0>();
        } else if (chunk + gridDim.x < a.all_chunks) {
            load_chunk(a, chunk + gridDim.x, shared + (1 - stage) * STAGE);
            copy_async_wait<1>();
        } else
            copy_async_wait<0>();
        __syncthreads();
        compute_chunk(a, chunk, shared + stage * STAGE, held);
        __syncthreads();  // the next load overwrites what was read here
        stage = (STAGES - 1) - stage * (STAGES - 1);
    }
}
