// A kernel with known memory requests.
#include "device/ptx.cuh"

struct arguments {
    const void *in;
    void *out;
    int n;
};

extern __shared__ __align__(128) unsigned char stn_shared[];

// One warp writes shared words at stride n; each lane reads a wide word from global memory and
// writes another one at a stride of 32 bytes.
extern "C" __global__ void asks(const __grid_constant__ arguments args) {
    unsigned *const mine = reinterpret_cast<unsigned *>(stn_shared);
    mine[args.n * threadIdx.x] = threadIdx.x;
    __syncthreads();
    double two[2];
    load_run(two, static_cast<const double *>(args.in) + 2 * threadIdx.x);
    static_cast<double *>(args.out)[4 * threadIdx.x] = two[0] + two[1];
}
