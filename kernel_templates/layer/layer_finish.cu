// Last step of a Fourier layer: adds the skip connection and the bias, applies the activation, and
// converts between types.
//
//     to[i] = activation(from[i] + add[i] + bias[channel])   complex: real and imaginary part each
//
//     Lines have `length` numbers. Lines of `from` are `pitch` numbers apart (an in-place C2R
//     transform leaves room for the half spectrum); `add` and `to` are dense. A channel has `lines`
//     lines; lines are fastest, then channels, then batch items.
//
// 64 threads work on a line; the kernel is bound by memory bandwidth. `to` may be `from` or `add`.
// Reads SCALE_FROM, SCALE_TO, REAL, LAYER_PARTS (numbers per element), LAYER_ADD, LAYER_BIAS,
// LAYER_ACTIVATION (0 none, 1 GELU, 2 ReLU).
#include "device/element.cuh"
#include "device/launch_checks.cuh"
#include "params.cuh"

constexpr int WIDE = 64, LINES_AT_ONCE = 4;
constexpr int THREADS = WIDE * LINES_AT_ONCE;

struct finish_arguments {
    const SCALE_FROM *from, *add;
    const SCALE_TO *bias;
    SCALE_TO *to;
    long long all, lines, channels;  // lines in all, lines per channel
    long long length, pitch;         // in numbers
};
static_assert(layout_matches(sizeof(finish_arguments)), "the arguments match the launcher's struct");

__device__ __forceinline__ float error_function(float x) { return erff(x); }
__device__ __forceinline__ double error_function(double x) { return erf(x); }

__device__ __forceinline__ REAL activated(REAL x) {
    if (LAYER_ACTIVATION == 1) return REAL(0.5) * x * (1 + error_function(x * REAL(0.70710678118654752440)));
    return LAYER_ACTIVATION == 2 && x < 0 ? REAL(0) : x;
}

extern "C" __global__ void __launch_bounds__(THREADS) layer_finish(const __grid_constant__ finish_arguments a) {
    const long long step = static_cast<long long>(gridDim.x) * LINES_AT_ONCE;
    for (long long line = static_cast<long long>(blockIdx.x) * LINES_AT_ONCE + threadIdx.y; line < a.all;
         line += step) {
        const long long channel = line / a.lines % a.channels;
        for (long long i = threadIdx.x; i < a.length; i += WIDE) {
            REAL sum = widen(a.from[line * a.pitch + i]);
            if (LAYER_ADD) sum += widen(a.add[line * a.length + i]);
            if (LAYER_BIAS) sum += widen(a.bias[channel * LAYER_PARTS + i % LAYER_PARTS]);
            a.to[line * a.length + i] = narrow<SCALE_TO>(activated(sum));
        }
    }
}
