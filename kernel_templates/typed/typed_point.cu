// One step of any stencil from an array of one number type to an array of another.
//
//     out(z, y, x) = (sum over taps k of  w[k] * in(z + tap.z, y + tap.y, x + tap.x)) / divisor
//
// The sum is the host's to the last bit (src/host/stencil_step.c): in double, without fused
// operations, in this order:
//
//     taps (device memory)   [single] [single] ..  [pair: a b] [pair: a b] ..
//                            w u(tap)              w (u(a) + u(b)), or w (u(a) - u(b))
//
// so that truncation to integers gives the same integers everywhere. One thread a point, x fastest,
// then y, z, batch; a grid-stride loop covers the rest. One tap of weight 1 converts an array.
//
// Reads STORE (of in), WRITTEN (of out), THREADS_X.
#include "device/launch_checks.cuh"
#include "device/number.cuh"
#include "device/point_place.cuh"
#include "params.cuh"

struct point_tap {
    long long offset;  // elements from the point to the tap's point
    double weight;
    int z, y, x, unused;
};
struct point_arguments {
    const STORE *in;
    WRITTEN *out;
    const point_tap *taps;
    long long n[3], in_stride[3], out_stride[3];  // axes z, y, x; strides in elements
    long long in_batch, out_batch;
    long long points;              // points in all grids of the batch
    int reach[3][2];               // reach of the taps towards each side
    int side[3][2];                // boundary_kind
    int singles, pairs, odd, all;  // all: the number of taps
    double constant[3][2];         // value past each side
    double divisor;
};
static_assert(layout_matches(sizeof(point_arguments)), "the launcher's mirrored struct of the arguments");

// The sum over the taps; `value` returns the value that a tap reads.
template <class VALUE>
__device__ __forceinline__ double sum_of(const point_arguments &a, VALUE value) {
    double sum = -0.0;
    int k = 0;
#pragma unroll 4
    for (; k < a.singles; k++) sum = __dadd_rn(sum, __dmul_rn(value(a.taps[k]), a.taps[k].weight));
#pragma unroll 2
    for (; k < a.all; k += 2) {
        const double first = value(a.taps[k]), second = value(a.taps[k + 1]);
        sum = __dadd_rn(sum, __dmul_rn(a.odd ? __dsub_rn(first, second) : __dadd_rn(first, second), a.taps[k].weight));
    }
    return sum;
}

extern "C" __global__ void __launch_bounds__(THREADS_X) typed_point(const __grid_constant__ point_arguments a) {
    long long i = static_cast<long long>(blockIdx.x) * THREADS_X + threadIdx.x;
    const long long step = static_cast<long long>(gridDim.x) * THREADS_X;
    for (; i < a.points; i += step) {
        const point_place p = place_of(a, i);
        const STORE *const grid = a.in + p.grid_number * a.in_batch;
        WRITTEN *const result = a.out + p.grid_number * a.out_batch + p.to;
        if (p.frozen) {
            copy_number(result, grid + p.from);
            continue;
        }
        const double sum =
            p.inside
                ? sum_of(a, [&](const point_tap &tap) { return to_double(grid[p.from + tap.offset]); })
                : sum_of(a, [&](const point_tap &tap) {
                      const long long at[3] = {p.at[0] + tap.z, p.at[1] + tap.y, p.at[2] + tap.x};
                      return read_past_sides<double>(a, at, [&](long long offset) { return to_double(grid[offset]); });
                  });
        put(result, a.divisor != 1 ? __ddiv_rn(sum, a.divisor) : sum);
    }
}
