// Sums over a batch: of partial products, and of frequency 0 for the gradient of the bias. The
// output is a matrix with `width` columns; element (i, o) has LAYER_PARTS numbers p.
//
//     to[(i * width + o) * LAYER_PARTS + p] =
//         sum over s < count of  from[s * stride + i * step_i + o * step_o + p]
//
// A block computes 32 outputs; 8 warps share the terms of each. Sums are in f64, so that long
// batches lose no precision. Reads SCALE_FROM, SCALE_TO, LAYER_PARTS.
#include "device/element.cuh"
#include "device/launch_checks.cuh"
#include "params.cuh"

constexpr int WIDE = 32, SHARES = 8;
constexpr int THREADS = WIDE * SHARES;

struct sums_arguments {
    const SCALE_FROM *from;
    SCALE_TO *to;
    long long outputs, width, count;   // outputs: in numbers
    long long stride, step_i, step_o;  // in numbers
};
static_assert(layout_matches(sizeof(sums_arguments)), "the arguments match the launcher's struct");

__device__ __forceinline__ void store_sum(double *to, double v) { *to = v; }
__device__ __forceinline__ void store_sum(float *to, double v) { *to = static_cast<float>(v); }
__device__ __forceinline__ void store_sum(half_t *to, double v) { *to = narrow<half_t>(static_cast<float>(v)); }

extern "C" __global__ void __launch_bounds__(THREADS) layer_sums(const __grid_constant__ sums_arguments a) {
    __shared__ double shares[SHARES][WIDE];
    const long long at = static_cast<long long>(blockIdx.x) * WIDE + threadIdx.x, element = at / LAYER_PARTS;
    const long long i = element / a.width, o = element - i * a.width;
    const SCALE_FROM *const from = a.from + i * a.step_i + o * a.step_o + at % LAYER_PARTS;
    double sum = 0;
    for (long long s = threadIdx.y; at < a.outputs && s < a.count; s += SHARES) sum += widen(from[s * a.stride]);
    shares[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y || at >= a.outputs) return;
    for (int s = 1; s < SHARES; s++) sum += shares[s][threadIdx.x];
    store_sum(a.to + at, sum);
}
