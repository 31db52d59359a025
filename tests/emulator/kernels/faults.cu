// Kernels with one fault each, which the emulator must find. Not for a GPU.
#include "device/ptx.cuh"

struct arguments {
    const void *in;
    void *out;
    int n;
};

extern __shared__ __align__(128) unsigned char stn_shared[];

extern "C" __global__ void fine(const __grid_constant__ arguments args) {
    static_cast<int *>(args.out)[threadIdx.x] = threadIdx.x;
}
extern "C" __global__ void reads_past_end(const __grid_constant__ arguments args) {
    static_cast<int *>(args.out)[threadIdx.x] = static_cast<const int *>(args.in)[args.n + threadIdx.x];
}
extern "C" __global__ void writes_before(const __grid_constant__ arguments args) {
    static_cast<int *>(args.out)[-1 - static_cast<int>(threadIdx.x)] = 1;
}
extern "C" __global__ void shared_past_end(const __grid_constant__ arguments args) {
    reinterpret_cast<int *>(stn_shared)[args.n + threadIdx.x] = 1;
}
extern "C" __global__ void shared_slack(const __grid_constant__ arguments args) {
    if (threadIdx.x == 0) stn_shared[args.n] = 1;
}
extern "C" __global__ void reads_poison(const __grid_constant__ arguments args) {
    static_cast<double *>(args.out)[threadIdx.x] = reinterpret_cast<double *>(stn_shared)[threadIdx.x] + 1.0;
}
extern "C" __global__ void missing_lane(const __grid_constant__ arguments args) {
    if (threadIdx.x == 7) return;
    static_cast<int *>(args.out)[threadIdx.x] = __shfl_sync(0xffffffffu, threadIdx.x, 0);
}
// A block of 16 has no lanes 16 to 31; in a block of 32 they wait at another operation.
extern "C" __global__ void absent_lane(const __grid_constant__ arguments args) {
    static_cast<int *>(args.out)[threadIdx.x] =
        threadIdx.x < 16 ? __shfl_sync(0xffffffffu, threadIdx.x, 0) : 0 * __syncthreads_count(1);
}
extern "C" __global__ void foreign_mask(const __grid_constant__ arguments args) {
    static_cast<int *>(args.out)[threadIdx.x] = __shfl_sync(0x0000ffffu, threadIdx.x, 0);
}
extern "C" __global__ void divergent_barrier(const __grid_constant__ arguments args) {
    if (threadIdx.x < 16)
        __syncthreads();
    else
        __syncthreads();
    static_cast<int *>(args.out)[threadIdx.x] = 1;
}
// No barrier between a write and the read of the element that another thread, n further, wrote. Any
// fixed order of warps and lanes hides the race in one direction.
extern "C" __global__ void races(const __grid_constant__ arguments args) {
    double *tile = reinterpret_cast<double *>(stn_shared);
    const int i = threadIdx.x, other = i + args.n;
    tile[i] = i;
    static_cast<double *>(args.out)[i] = other >= 0 && other < static_cast<int>(blockDim.x) ? tile[other] : 0.0;
}
// Blocks that read the output of the block n further.
extern "C" __global__ void races_between_blocks(const __grid_constant__ arguments args) {
    double *out = static_cast<double *>(args.out);
    const int b = blockIdx.x, other = b + args.n;
    if (threadIdx.x == 0) out[b] = other >= 0 && other < static_cast<int>(gridDim.x) ? out[other] + 1.0 : 1.0;
}
extern "C" __global__ void forgets_wait(const __grid_constant__ arguments args) {
    double *tile = reinterpret_cast<double *>(stn_shared);
    copy_async_8(tile + threadIdx.x, static_cast<const double *>(args.in) + threadIdx.x);
    copy_async_commit();
    __syncthreads();
    static_cast<double *>(args.out)[threadIdx.x] = tile[threadIdx.x];
}
extern "C" __global__ void waits_for_too_few(const __grid_constant__ arguments args) {
    double *tile = reinterpret_cast<double *>(stn_shared);
    copy_async_8(tile + threadIdx.x, static_cast<const double *>(args.in) + threadIdx.x);
    copy_async_commit();
    copy_async_wait<1>();
    __syncthreads();
    static_cast<double *>(args.out)[threadIdx.x] = tile[threadIdx.x];
}
extern "C" __global__ void copies_past_end(const __grid_constant__ arguments args) {
    copy_async_16(stn_shared + 16 * threadIdx.x, static_cast<const char *>(args.in) + 16 * (threadIdx.x + args.n));
    copy_async_commit();
    copy_async_wait<0>();
}
extern "C" __global__ void misaligned(const __grid_constant__ arguments args) {
    const double *p = reinterpret_cast<const double *>(static_cast<const char *>(args.in) + args.n);
    static_cast<double *>(args.out)[threadIdx.x] = p[threadIdx.x];
}
extern "C" __global__ void misaligned_run(const __grid_constant__ arguments args) {
    double run[2];
    load_run(run, static_cast<const double *>(args.in) + args.n);
    store_run(static_cast<double *>(args.out), run);
}
extern "C" __global__ void shared_run(const __grid_constant__ arguments args) {
    extern __shared__ __align__(128) unsigned char stn_shared[];
    const double *const in = static_cast<const double *>(args.in);
    double run[2];
    load_run(run, args.n ? reinterpret_cast<const double *>(stn_shared) : in);
    store_run(static_cast<double *>(args.out), run);
}
extern "C" __global__ void outside_array(const __grid_constant__ arguments args) {
    int local[4] = {1, 2, 3, 4};
    for (int i = 0; i < 4; i++) local[i] += args.n;
    static_cast<int *>(args.out)[threadIdx.x] = local[args.n];
}
extern "C" __global__ void fails_assert(const __grid_constant__ arguments args) { assert(args.n == 0); }

// A launch, and a dependent one that waits for it (0), does not wait (1), or reads before it waits
// (2).
extern "C" __global__ void fills(const __grid_constant__ arguments args) {
    let_next_launch_begin();
    static_cast<double *>(args.out)[blockIdx.x * blockDim.x + threadIdx.x] = 5.0;
}
extern "C" __global__ void copies_early(const __grid_constant__ arguments args) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (args.n == 0) wait_for_previous_launch();
    const double value = static_cast<const double *>(args.in)[i];
    __syncthreads();
    if (args.n == 2) wait_for_previous_launch();
    static_cast<double *>(args.out)[i] = value;
}

// Clusters of two blocks, each with a fault of kind n (0: none).
extern "C" __global__ void cluster_faults(const __grid_constant__ arguments args) {
    unsigned *mine = reinterpret_cast<unsigned *>(stn_shared), run[4];
    const unsigned i = threadIdx.x, rank = cluster_rank();
    for (int k = 0; k < 4; k++) mine[4 * i + k] = i;
    if (args.n != 1) cluster_barrier();          // 1: the other block may not have started.
    if (args.n == 2 && i == 0) __syncthreads();  // The others wait for it at the next barrier.
    cluster_load(run, mine + 4 * i + (args.n == 3 ? 128 : args.n == 4), args.n == 5 ? 2 : 1 - rank);
    if (args.n != 6) cluster_barrier();  // 6: the other block may have ended.
    store_run(static_cast<unsigned *>(args.out) + 4 * i, run);
}

// Clusters of two whose blocks exchange numbers; with n they do not wait for the exchange.
extern "C" __global__ void cluster_hand_over(const __grid_constant__ arguments args) {
    unsigned *mine = reinterpret_cast<unsigned *>(stn_shared), run[4];
    const unsigned i = threadIdx.x, rank = cluster_rank();
    for (unsigned k = 0; k < 4; k++) run[k] = 4 * i + k, mine[4 * i + k] = 0;
    cluster_barrier();
    cluster_store(mine + 4 * i, run, 1 - rank);
    if (args.n)
        __syncthreads();
    else
        cluster_barrier();
    for (unsigned k = 0; k < 4; k++)
        static_cast<unsigned *>(args.out)[4 * (blockIdx.x * blockDim.x + i) + k] = mine[4 * i + k];
    cluster_barrier();
}

// Each lane reads its neighbour's value through shared memory, dynamic or static (what & 1).
// Between write and read, and between iterations, lanes only exchange registers, which orders no
// memory (what & 6: a shuffle, a ballot, a matrix product), unless what & 8. what & 16: neighbours
// are in another warp, which needs a barrier (32). what & 64: asynchronous copies write the values.
extern "C" __global__ void neighbours(const __grid_constant__ arguments args) {
    __shared__ __align__(16) double fixed[64];
    const int i = threadIdx.x, from = args.n & 16 ? (i + 32) % 64 : i ^ 1;
    double *const tile = args.n & 1 ? fixed : reinterpret_cast<double *>(stn_shared), sum[2] = {0, 0};
    for (int turn = 0; turn < 2; turn++) {
        if (args.n & 64) {
            copy_async_8(tile + i, static_cast<const double *>(args.in) + i);
            copy_async_commit();
            copy_async_wait<0>();
        } else
            tile[i] = i + turn;
        if ((args.n & 6) == 2) sum[1] += __shfl_xor_sync(0xffffffffu, sum[0], 1);
        if ((args.n & 6) == 4) sum[1] += __ballot_sync(0xffffffffu, i & 1);
        if ((args.n & 6) == 6) mma_m8n8k4(sum, 1.0, 1.0);
        if (args.n & 8) __syncwarp();
        if (args.n & 32) __syncthreads();
        sum[0] += tile[from];
        if (args.n & 8) __syncwarp();
        if (args.n & 32) __syncthreads();
    }
    static_cast<double *>(args.out)[i] = sum[0] + sum[1];
}
