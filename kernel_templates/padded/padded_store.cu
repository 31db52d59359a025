// Copies the interior of a padded grid to the output.
//
//     out(p) = result(p)   `result` begins at the grid's first point in the padded grid
//     out(p) = in(p)       points that a fixed side freezes
//
//     row   |<- COVERED ->|<- COVERED ->|<-    |
//           | block 0     | block 1     | ...  |
//
// A block has one chunk of one row; each thread copies PER_THREAD points, THREADS_X apart. Rows
// follow by y, then z, then grids of the batch. `in` may be `out`. Memory bound.
#include "device/element.cuh"
#include "device/launch_checks.cuh"
#include "params.cuh"

constexpr int PER_THREAD = 4, COVERED = THREADS_X * PER_THREAD;

template <typename S>
struct padded_grid {
    S *at;
    long long stride[3], batch;  // in elements; axes z, y, x
};
struct padded_store_arguments {
    padded_grid<const STORE> in, result;
    padded_grid<STORE> out;
    long long n[3], live_low[3], live_high[3];  // the box of points that are not frozen
    long long chunks;                           // of each row
};
static_assert(layout_matches(sizeof(padded_store_arguments)), "the launcher's mirrored struct of the arguments");

template <typename S>
__device__ __forceinline__ S *row_of(const padded_grid<S> &g, long long batch, long long z, long long y) {
    return g.at + batch * g.batch + z * g.stride[0] + y * g.stride[1];
}

extern "C" __global__ void __launch_bounds__(THREADS_X) padded_store(const __grid_constant__ padded_store_arguments a) {
    const long long row = blockIdx.x / a.chunks, first = (blockIdx.x - row * a.chunks) * COVERED + threadIdx.x;
    const long long plane = row / a.n[1], y = row - plane * a.n[1], batch = plane / a.n[0], z = plane - batch * a.n[0];
    const bool live_row = z >= a.live_low[0] && z < a.live_high[0] && y >= a.live_low[1] && y < a.live_high[1];
    const STORE *const in = row_of(a.in, batch, z, y), *const result = row_of(a.result, batch, z, y);
    STORE *const out = row_of(a.out, batch, z, y);
#pragma unroll
    for (int k = 0; k < PER_THREAD; k++) {
        const long long x = first + k * THREADS_X;
        if (x >= a.n[2]) continue;
        const bool live = live_row && x >= a.live_low[2] && x < a.live_high[2];
        out[x * a.out.stride[2]] = live ? result[x * a.result.stride[2]] : in[x * a.in.stride[2]];
    }
}
