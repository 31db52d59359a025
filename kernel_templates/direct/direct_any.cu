// One step of any stencil on any grid; taps, reaches, sides and strides are all data.
//
//     out(z, y, x) = sum over taps k of  w[k] * in(z + tap.z, y + tap.y, x + tap.x)
//
//     taps (device memory)   [offset w z y x] [offset w z y x] ...     read in this order
//     one thread a point     x fastest, then y, z, batch; a grid-stride loop covers the rest
//
// Only the types are compiled in, so one kernel each for f64, f32 and f16 serves all problems; it
// compiles in less than 0.1 s and is usually in the cache already. A run starts with it while
// better kernels compile. Therefore hardly anything is unrolled, and boundary kinds are tested at
// run time.
#include "device/boundary.cuh"
#include "device/element.cuh"
#include "device/launch_checks.cuh"
#include "params.cuh"

struct any_tap {
    long long offset;  // elements from the point to the tap's point
    REAL weight;
    int z, y, x;
};
struct any_arguments {
    const STORE *in;
    STORE *out;
    const any_tap *taps;
    long long n[3], in_stride[3], out_stride[3];  // axes z, y, x; strides in elements
    long long in_batch, out_batch;
    long long points;  // points in all grids of the batch
    int reach[3][2];   // reach of the taps towards each side
    int side[3][2];    // boundary_kind
    int ntaps, unused;
    REAL constant[3][2];  // value past each side
};
static_assert(layout_matches(sizeof(any_arguments), sizeof(any_arguments::constant)),
              "the launcher's mirrored struct of the arguments");

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

__device__ REAL tap_near_a_side(const any_arguments &a, const STORE *grid, const long long (&at)[3]) {
    long long offset = 0;
#pragma unroll 1
    for (int axis = 0; axis < 3; axis++) {
        const long long i = fold_by(a.side[axis], at[axis], a.n[axis]);
        if (i < 0) return a.constant[axis][i == PAST_HIGH];
        offset += i * a.in_stride[axis];
    }
    return widen(grid[offset]);
}

// The indices of point number i along each axis, and the number of its grid in the batch. 64-bit
// divisions take four times as long as 32-bit ones.
__device__ void places(const any_arguments &a, long long i, long long (&at)[3], long long &grid_number) {
    if (a.points >> 32) {
#pragma unroll
        for (int axis = 2; axis >= 0; axis--) at[axis] = i % a.n[axis], i /= a.n[axis];
        grid_number = i;
        return;
    }
    unsigned rest = static_cast<unsigned>(i);
#pragma unroll
    for (int axis = 2; axis >= 0; axis--) {
        const unsigned n = static_cast<unsigned>(a.n[axis]);
        at[axis] = rest % n, rest /= n;
    }
    grid_number = rest;
}

extern "C" __global__ void __launch_bounds__(THREADS_X) direct_any(const __grid_constant__ any_arguments a) {
    long long i = static_cast<long long>(blockIdx.x) * THREADS_X + threadIdx.x;
    const long long step = static_cast<long long>(gridDim.x) * THREADS_X;
    for (; i < a.points; i += step) {
        long long at[3], grid_number, from = 0, to = 0;
        places(a, i, at, grid_number);
        bool inside = true, frozen = false;
#pragma unroll
        for (int axis = 2; axis >= 0; axis--) {
            from += at[axis] * a.in_stride[axis];
            to += at[axis] * a.out_stride[axis];
            const bool low = at[axis] < a.reach[axis][0], high = at[axis] >= a.n[axis] - a.reach[axis][1];
            inside = inside && !low && !high;
            frozen = frozen || (low && a.side[axis][0] == FIXED) || (high && a.side[axis][1] == FIXED);
        }
        const STORE *const grid = a.in + grid_number * a.in_batch;
        REAL sum = 0;
        if (frozen) {
            a.out[grid_number * a.out_batch + to] = grid[from];
            continue;
        }
        if (inside) {
#pragma unroll 4
            for (int k = 0; k < a.ntaps; k++) sum += a.taps[k].weight * widen(grid[from + a.taps[k].offset]);
        } else {
#pragma unroll 1
            for (int k = 0; k < a.ntaps; k++) {
                const any_tap tap = a.taps[k];
                const long long point[3] = {at[0] + tap.z, at[1] + tap.y, at[2] + tap.x};
                sum += tap.weight * tap_near_a_side(a, grid, point);
            }
        }
        a.out[grid_number * a.out_batch + to] = narrow<STORE>(sum);
    }
}
