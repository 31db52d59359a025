// Strided sums: of partial results, or of one frequency over all items.
//
//     out[i] = sum over j of  in[i / PER * stride + i % PER  +  j * step]
//
//              THREADS_X outputs
//              | | | | |    THREADS_Y partial sums of each output, then a tree reduction in
//              | | | | |    shared memory
//
// Reads REAL, FNO_FROM, FNO_TO, FNO_PER, THREADS_X, THREADS_Y.
#include "device/launch_checks.cuh"
#include "fno/tile.cuh"

constexpr int THREADS = THREADS_X * THREADS_Y;

struct sum_arguments {
    const FNO_FROM *in;
    FNO_TO *out;
    long long stride, step, terms, outputs;  // strides in numbers
};
static_assert(layout_matches(sizeof(sum_arguments)), "the arguments match the launcher's struct");
static_assert((THREADS_Y & (THREADS_Y - 1)) == 0, "halved until one is left");

extern "C" __global__ void __launch_bounds__(THREADS) fno_sum(const __grid_constant__ sum_arguments a) {
    __shared__ REAL part[THREADS];
    const int x = threadIdx.x % THREADS_X, y = threadIdx.x / THREADS_X;
    const long long i = static_cast<long long>(blockIdx.x) * THREADS_X + x;
    REAL sum = 0;
    if (i < a.outputs) {
        const FNO_FROM *const in = a.in + i / FNO_PER * a.stride + i % FNO_PER;
        for (long long j = y; j < a.terms; j += THREADS_Y) sum += load_number(in + j * a.step);
    }
    part[threadIdx.x] = sum;
#pragma unroll 1
    for (int half = THREADS_Y / 2; half > 0; half /= 2) {
        __syncthreads();
        if (y < half) part[threadIdx.x] += part[threadIdx.x + half * THREADS_X];
    }
    if (y == 0 && i < a.outputs) store_number(a.out + i, part[threadIdx.x]);
}
