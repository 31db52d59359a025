// One step of any stencil on any grid; taps, reaches, sides and strides are all data.
//
//     out(z, y, x) = sum over taps k of  w[k] * in(z + tap.z, y + tap.y, x + tap.x)
//
//     taps (device memory)   [offset w z y x] [offset w z y x] ...     read in this order
//     one thread a point     x fastest, then y, z, batch; a grid-stride loop covers the rest
//
// One kernel for each dtype serves all problems. It compiles in less than 0.1 s, because hardly
// anything is unrolled, and is usually in the cache already. With options.first_result the first
// execution may use it while the chosen kernels compile; without a compiler it is the last resort.
// Unlike direct_gather, it takes the taps' reaches and the kinds of sides as arguments.
#include "device/element.cuh"
#include "device/launch_checks.cuh"
#include "device/point_place.cuh"
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

extern "C" __global__ void __launch_bounds__(THREADS_X) direct_any(const __grid_constant__ any_arguments a) {
    long long i = static_cast<long long>(blockIdx.x) * THREADS_X + threadIdx.x;
    const long long step = static_cast<long long>(gridDim.x) * THREADS_X;
    for (; i < a.points; i += step) {
        const point_place p = place_of(a, i);
        const STORE *const grid = a.in + p.grid_number * a.in_batch;
        STORE *const result = a.out + p.grid_number * a.out_batch + p.to;
        REAL sum = 0;
        if (p.frozen) {
            *result = grid[p.from];
            continue;
        }
        if (p.inside) {
#pragma unroll 4
            for (int k = 0; k < a.ntaps; k++) sum += a.taps[k].weight * widen(grid[p.from + a.taps[k].offset]);
        } else {
#pragma unroll 1
            for (int k = 0; k < a.ntaps; k++) {
                const any_tap tap = a.taps[k];
                const long long point[3] = {p.at[0] + tap.z, p.at[1] + tap.y, p.at[2] + tap.x};
                sum +=
                    tap.weight * read_past_sides<REAL>(a, point, [&](long long offset) { return widen(grid[offset]); });
            }
        }
        *result = narrow<STORE>(sum);
    }
}
