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
#include "device/boundary.cuh"
#include "device/launch_checks.cuh"
#include "device/number.cuh"
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

// Same as fold of device/boundary.cuh, with boundary kinds that are data.
__device__ long long fold_by(const int (&side)[2], long long i, long long n) {
#pragma unroll 1
    for (int turn = 0; turn < 3 && (i < 0 || i >= n); turn++) {
        const bool high = i >= 0;
        const int kind = side[high];
        if (kind == WRAP)
            i += high ? -n : n;
        else if (kind == NEAREST)
            i = high ? n - 1 : 0;
        else if (kind == REFLECT)
            i = (high ? 2 * n : 0) - 1 - i;
        else if (kind == MIRROR)
            i = n == 1 ? 0 : (high ? 2 * (n - 1) : 0) - i;
        else
            return high ? PAST_HIGH : PAST_LOW;
    }
    return i;
}

__device__ double tap_near_a_side(const point_arguments &a, const STORE *grid, const long long (&at)[3],
                                  const point_tap &tap) {
    const long long where[3] = {at[0] + tap.z, at[1] + tap.y, at[2] + tap.x};
    long long offset = 0;
#pragma unroll 1
    for (int axis = 0; axis < 3; axis++) {
        const long long i = fold_by(a.side[axis], where[axis], a.n[axis]);
        if (i < 0) return a.constant[axis][i == PAST_HIGH];
        offset += i * a.in_stride[axis];
    }
    return to_double(grid[offset]);
}

// The sum over the taps; `value` gives the value that a tap reads.
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
        long long at[3], rest = i, from = 0, to = 0;
        bool inside = true, frozen = false;
#pragma unroll
        for (int axis = 2; axis >= 0; axis--) {
            at[axis] =
                a.points >> 32 ? rest % a.n[axis] : static_cast<unsigned>(rest) % static_cast<unsigned>(a.n[axis]);
            rest = a.points >> 32 ? rest / a.n[axis] : static_cast<unsigned>(rest) / static_cast<unsigned>(a.n[axis]);
            from += at[axis] * a.in_stride[axis];
            to += at[axis] * a.out_stride[axis];
            const bool low = at[axis] < a.reach[axis][0], high = at[axis] >= a.n[axis] - a.reach[axis][1];
            inside = inside && !low && !high;
            frozen = frozen || (low && a.side[axis][0] == FIXED) || (high && a.side[axis][1] == FIXED);
        }
        const STORE *const grid = a.in + rest * a.in_batch;
        WRITTEN *const result = a.out + rest * a.out_batch + to;
        if (frozen) {
            copy_number(result, grid + from);
            continue;
        }
        const double sum = inside ? sum_of(a, [&](const point_tap &tap) { return to_double(grid[from + tap.offset]); })
                                  : sum_of(a, [&](const point_tap &tap) { return tap_near_a_side(a, grid, at, tap); });
        put(result, a.divisor != 1 ? __ddiv_rn(sum, a.divisor) : sum);
    }
}
