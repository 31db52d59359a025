// CUDA's built-in functions: kernels with a known answer, on the emulator and on a GPU.
#include "device/ptx.cuh"

struct arguments {
    const void *in;
    void *out;
    int n;
};

extern __shared__ __align__(128) unsigned char stn_shared[];

constexpr int weights[4] = {1, 2, 3, 4};
__constant__ int table[8];

// out[i] = in[n - 1 - i] through shared memory
extern "C" __global__ void __launch_bounds__(256) reverse(const __grid_constant__ arguments args) {
    double *tile = reinterpret_cast<double *>(stn_shared);
    const int i = threadIdx.x + blockDim.x * threadIdx.y;
    tile[i] = static_cast<const double *>(args.in)[i];
    __syncthreads();
    static_cast<double *>(args.out)[i] = tile[args.n - 1 - i];
}

// Inclusive sums of doubles within each block: __shfl_up_sync within warps, block sums through
// shared memory.
extern "C" __global__ void block_scan(const __grid_constant__ arguments args) {
    double *sums = reinterpret_cast<double *>(stn_shared);
    const int i = threadIdx.x, lane = i & 31, warp = i >> 5;
    double v = static_cast<const double *>(args.in)[i];
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        const double below = __shfl_up_sync(0xffffffffu, v, d);
        if (lane >= d) v += below;
    }
    if (lane == 31) sums[warp] = v;
    __syncthreads();
    for (int w = 0; w < warp; w++) v += sums[w];
    static_cast<double *>(args.out)[i] = v;
}

// 12 shuffle results of each lane of one warp
extern "C" __global__ void shuffles(const __grid_constant__ arguments args) {
    const int lane = threadIdx.x;
    int *out = static_cast<int *>(args.out) + 12 * lane;
    const unsigned all = 0xffffffffu;
    out[0] = __shfl_sync(all, lane * 3, (lane + 5) & 31);
    out[1] = __shfl_sync(all, lane * 3, 9, 8);
    out[2] = __shfl_up_sync(all, lane, 3, 16);
    out[3] = __shfl_down_sync(all, lane, 7);
    out[4] = __shfl_xor_sync(all, lane, 19);
    out[5] = __shfl_xor_sync(all, lane, 12, 8);
    out[6] = static_cast<int>(__ballot_sync(all, lane % 3 == 0));
    out[7] = __all_sync(all, lane < 32) + 2 * __all_sync(all, lane < 31) + 4 * __any_sync(all, lane == 3) +
             8 * __any_sync(all, lane == 40);
    out[8] = -1;
    if (lane % 2 == 0) out[8] = __shfl_sync(0x55555555u, lane, 30);
    out[9] = static_cast<int>(__shfl_sync(all, static_cast<float>(lane) * 0.5f, 31 - lane) * 2.0f);
    out[10] = static_cast<int>(__shfl_down_sync(all, (static_cast<long long>(lane) << 33) + 1, 1) >> 33);
    out[11] = weights[lane & 3] + table[lane & 7];
    __syncwarp();
}

// Counts by all barriers with a reduction, and atomics; block of 64
extern "C" __global__ void votes(const __grid_constant__ arguments args) {
    int *out = static_cast<int *>(args.out);
    const int i = threadIdx.x;
    const int any = __syncthreads_or(i == 63), every = __syncthreads_and(i < 63),
              count = __syncthreads_count(i % 4 == 1);
    if (i == 0 && blockIdx.x == 0) out[0] = (any != 0) + 2 * (every != 0), out[1] = count;
    atomicAdd(&out[2], i);
    atomicMax(&out[3], static_cast<int>(blockIdx.x));
    atomicMin(&out[4], -i);
    atomicOr(&out[5], 1 << (i & 7));
    atomicAdd(reinterpret_cast<double *>(out + 6), 0.5);
    atomicAdd(reinterpret_cast<float *>(out + 8), 0.25f);
    atomicAdd(reinterpret_cast<unsigned long long *>(out + 10), 1ull << 32);
    if (atomicCAS(&out[12], 0, 1 + i) == 0) atomicExch(&out[13], 7);
}

// out[i] = the half with bits i, as a float
extern "C" __global__ void halves(const __grid_constant__ arguments args) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    static_cast<float *>(args.out)[i] = half_to_float(static_cast<half_t>(i));
}

// float -> half and float -> tf32
extern "C" __global__ void roundings(const __grid_constant__ arguments args) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= args.n) return;
    const float f = static_cast<const float *>(args.in)[i];
    unsigned *out = static_cast<unsigned *>(args.out);
    out[2 * i] = float_to_half(f);
    out[2 * i + 1] = float_to_tf32(f) & ~0x1fffu;  // hardware leaves the low bits undefined
}

// Two groups in flight: sums of four tiles of 64 doubles, copied one tile ahead
extern "C" __global__ void pipeline(const __grid_constant__ arguments args) {
    double *tiles = reinterpret_cast<double *>(stn_shared);
    const double *in = static_cast<const double *>(args.in);
    const int i = threadIdx.x;
    double sum = 0;
    copy_async_8(tiles + i, in + i);
    copy_async_commit();
    for (int k = 0; k < args.n; k++) {
        if (k + 1 < args.n) copy_async_8(tiles + 64 * ((k + 1) & 1) + i, in + 64 * (k + 1) + i);
        copy_async_commit();
        copy_async_wait<1>();
        __syncthreads();
        sum += tiles[64 * (k & 1) + 63 - i];
        __syncthreads();
    }
    static_cast<double *>(args.out)[i] = sum;
}

// Indices of block and thread
extern "C" __global__ void places(const __grid_constant__ arguments args) {
    const size_t block =
        blockIdx.x + static_cast<size_t>(gridDim.x) * (blockIdx.y + static_cast<size_t>(gridDim.y) * blockIdx.z);
    const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    static_cast<unsigned *>(args.out)[block * (blockDim.x * blockDim.y * blockDim.z) + thread] =
        static_cast<unsigned>(block) * 1000 + thread;
}

// Threads that leave early do not block a barrier
extern "C" __global__ void early(const __grid_constant__ arguments args) {
    __shared__ int tile[256];
    const int i = threadIdx.x;
    if (i >= args.n) return;
    tile[i] = i;
    __syncthreads();
    static_cast<int *>(args.out)[i] = tile[args.n - 1 - i];
}

// Each block of a cluster of n passes its numbers on: thread i of block b writes the four numbers
// of thread 31 - i of the next block.
extern "C" __global__ void cluster_turn(const __grid_constant__ arguments args) {
    unsigned *mine = reinterpret_cast<unsigned *>(stn_shared);
    const unsigned i = threadIdx.x, count = 4 * blockDim.x, rank = cluster_rank();
    for (unsigned k = 0; k < 4; k++) mine[4 * i + k] = blockIdx.x * count + 4 * i + k;
    cluster_barrier();
    unsigned run[4];
    cluster_load(run, mine + 4 * (blockDim.x - 1 - i), (rank + 1) % args.n);
    store_run(static_cast<unsigned *>(args.out) + blockIdx.x * count + 4 * i, run);
    cluster_barrier();
}

// Sine and cosine of each angle
extern "C" __global__ void waves(const __grid_constant__ arguments args) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= args.n) return;
    const float angle = static_cast<const float *>(args.in)[i];
    static_cast<float *>(args.out)[2 * i] = sin_approx(angle);
    static_cast<float *>(args.out)[2 * i + 1] = cos_approx(angle);
}

// Transposes one warp's matrices of 8 x 8 halves: element i of a matrix is 8 * row + column.
extern "C" __global__ void transpose(const __grid_constant__ arguments args) {
    unsigned four[4];
    load_run(four, static_cast<const unsigned *>(args.in) + 4 * threadIdx.x);
    unsigned *const to = static_cast<unsigned *>(args.out);
    for (int i = 0; i < 4; i++) to[32 * i + threadIdx.x] = transpose_halves(four[i]);
}
