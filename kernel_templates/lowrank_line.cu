// Several steps of a 1D stencil at once, as one product with a banded Toeplitz matrix on the f64 tensor cores.
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
// band stays in registers. Reads: 16-byte slots; slots of odd segments have their halves of 128 bytes swapped, so that
// two segments never meet in a bank.
#include "device/band.cuh"
#include "params.cuh"

constexpr int round_up(int a, int b) { return (a + b - 1) / b * b; }
constexpr int THREADS = 32 * WARPS;
constexpr int LEAD = round_up(X_LOW, 4);                 // the chunk begins LEAD points before its first output
constexpr int BLOCKS_IN = (16 + LEAD + X_HIGH + 7) / 8;  // of 8 points, that a tile sees
constexpr int TILES = SEGMENT / 16;
constexpr int OUTPUTS = WARPS * 8 * SEGMENT;           // outputs of a chunk
constexpr int INPUTS = OUTPUTS + 8 * (BLOCKS_IN - 2);  // inputs of a chunk
constexpr int STAGE = round_up(INPUTS, 16);            // with room for swapped halves
constexpr int SLOTS_A_SEGMENT = SEGMENT / 2;
static_assert(SEGMENT % 16 == 0, "a segment is whole tiles");
static_assert(STAGES == 1 || STAGES == 2, "one or two chunks in shared memory");

struct line_arguments {
    const double *in;
    double *out;
    long long nx, in_batch, out_batch;
    long long chunks;      // of one grid
    long long all_chunks;  // of the batch
    double weight[X_LOW + X_HIGH + 1];
};

__device__ __forceinline__ int slot_place(int slot) { return slot ^ ((slot / SLOTS_A_SEGMENT & 1) << 2); }

__device__ __forceinline__ void load_chunk(const line_arguments &a, long long chunk, double *stage) {
    const double *const line = a.in + chunk / a.chunks * a.in_batch;
    const long long x0 = chunk % a.chunks * OUTPUTS - LEAD;
    if (VECTOR == 2 && x0 >= 0 && x0 + INPUTS <= a.nx) {
        const double *from = line + x0;
        for (int slot = threadIdx.x; slot < INPUTS / 2; slot += THREADS)
            copy_async_16(stage + 2 * slot_place(slot), from + 2 * slot);
    } else
#pragma unroll 1
        for (int i = threadIdx.x; i < INPUTS; i += THREADS)
            copy_async_8(stage + 2 * slot_place(i / 2) + i % 2, line + fold_far<X_SIDE_LOW, X_SIDE_HIGH>(x0 + i, a.nx));
    copy_async_commit();
}

__device__ __forceinline__ void compute_chunk(const line_arguments &a, long long chunk, const double *stage,
                                              const double (&half)[BLOCKS_IN - 1][2]) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    double sum[TILES][4] = {};
    const double zero[2] = {0, 0};
#pragma unroll
    for (int block = 0; block < 2 * (TILES - 1) + BLOCKS_IN; block++) {
        const int slot = (warp * 8 + g) * SLOTS_A_SEGMENT + 4 * block + t;
        const double *const from = stage + 2 * slot_place(slot);
        const double in[2] = {from[0], from[1]};
#pragma unroll
        for (int tile = 0; tile < TILES; tile++) {
            const int k = block - 2 * tile;
            if (k < 0 || k >= BLOCKS_IN) continue;
            double left[4];
            join_halves(left, k < BLOCKS_IN - 1 ? half[k < BLOCKS_IN - 1 ? k : 0] : zero,
                        k ? half[k ? k - 1 : 0] : zero);
            product(sum[tile], left, in);
        }
    }
    double *const out = a.out + chunk / a.chunks * a.out_batch;
    const long long x0 = chunk % a.chunks * OUTPUTS + (warp * 8 + 2 * t) * SEGMENT + g;
    const bool whole = (chunk % a.chunks + 1) * OUTPUTS <= a.nx;
#pragma unroll
    for (int tile = 0; tile < TILES; tile++)
#pragma unroll
        for (int e = 0; e < 4; e++) {  // (g, 2t) (g, 2t+1) (g+8, 2t) (g+8, 2t+1)
            const long long x = x0 + e % 2 * SEGMENT + 16 * tile + e / 2 * 8;
            if (whole || x < a.nx) out[x] = sum[tile][e];
        }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) lowrank_line(const __grid_constant__ line_arguments a) {
    extern __shared__ __align__(128) unsigned char stn_shared[];
    double *const shared = reinterpret_cast<double *>(stn_shared);  // STAGES stages
    __shared__ double band[band_size(BLOCKS_IN)];
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;

    fill_band<0>(band, band_size(BLOCKS_IN), a.weight, X_LOW + X_HIGH + 1, LEAD - X_LOW, threadIdx.x, THREADS);
    long long chunk = blockIdx.x;
    if (STAGES == 2 && chunk < a.all_chunks) load_chunk(a, chunk, shared);
    __syncthreads();
    double half[BLOCKS_IN - 1][2];
#pragma unroll
    for (int k = 0; k < BLOCKS_IN - 1; k++) {
        half[k][0] = band[BAND_PAD + 8 * k + 2 * t - g];
        half[k][1] = band[BAND_PAD + 8 * k + 2 * t + 1 - g];
    }
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
        compute_chunk(a, chunk, shared + stage * STAGE, half);
        __syncthreads();  // the next load overwrites what was read here
        stage = (STAGES - 1) - stage * (STAGES - 1);
    }
}
