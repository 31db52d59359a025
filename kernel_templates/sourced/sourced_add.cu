// Adds a grid and a source into a third grid, each with its own layout; f16 is widened on load and
// rounded once on store.
//
//     out(p) = x(p) + c(p)      p inside the box in which no fixed side freezes points
//     out(p) = x(p)             elsewhere              HAS_GRID 0: x is 0, HAS_SOURCE 0: c is 0
//
//     row    |<- COVERED ->|<- COVERED ->|<-    |
//     of x   | block 0     | block 1     | ...  |
//
// A block has one chunk of one row; each thread takes PER_THREAD points, THREADS_X apart. Rows
// follow by y, then z, then grids of the batch. Three memory streams and one addition: memory
// bound.
//
// Reads STORE (of x and c), WRITTEN (of out), REAL, THREADS_X, HAS_GRID, HAS_SOURCE.
#include "device/element.cuh"
#include "params.cuh"

constexpr int PER_THREAD = 4, COVERED = THREADS_X * PER_THREAD;
static_assert(HAS_GRID || HAS_SOURCE, "something is written");

template <typename S>
struct add_grid {
    S *at;
    long long stride[3], batch;  // in elements; axes z, y, x
};
struct add_arguments {
    add_grid<const STORE> x, c;
    add_grid<WRITTEN> out;
    long long n[3], live_low[3], live_high[3];  // live: the box in which no points are frozen
    long long chunks;                           // of each row
};

template <typename S>
__device__ __forceinline__ S *row_of(const add_grid<S> &g, long long batch, long long z, long long y) {
    return g.at + batch * g.batch + z * g.stride[0] + y * g.stride[1];
}

extern "C" __global__ void __launch_bounds__(THREADS_X) sourced_add(const __grid_constant__ add_arguments a) {
    const long long row = blockIdx.x / a.chunks, first = (blockIdx.x - row * a.chunks) * COVERED + threadIdx.x;
    const long long plane = row / a.n[1], y = row - plane * a.n[1], batch = plane / a.n[0], z = plane - batch * a.n[0];
    const bool live = z >= a.live_low[0] && z < a.live_high[0] && y >= a.live_low[1] && y < a.live_high[1];
    const STORE *const x = HAS_GRID ? row_of(a.x, batch, z, y) : nullptr;
    const STORE *const c = HAS_SOURCE ? row_of(a.c, batch, z, y) : nullptr;
    WRITTEN *const out = row_of(a.out, batch, z, y);
    REAL sum[PER_THREAD];
#pragma unroll
    for (int k = 0; k < PER_THREAD; k++) {
        const long long i = first + k * THREADS_X;
        sum[k] = 0;
        if (i >= a.n[2]) continue;
        if (HAS_GRID) sum[k] = widen(x[i * a.x.stride[2]]);
        if (HAS_SOURCE && live && i >= a.live_low[2] && i < a.live_high[2]) sum[k] += widen(c[i * a.c.stride[2]]);
    }
#pragma unroll
    for (int k = 0; k < PER_THREAD; k++) {
        const long long i = first + k * THREADS_X;
        if (i < a.n[2]) out[i * a.out.stride[2]] = narrow<WRITTEN>(sum[k]);
    }
}
