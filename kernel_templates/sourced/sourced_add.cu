// Adds a grid and a source into a third grid, each with its own layout; f16 is widened on load and
// rounded once on store.
//
//     out(p) = x(p) + c(p)      p inside the box in which no fixed side freezes points
//     out(p) = x(p)             elsewhere              HAS_GRID 0: x is 0, HAS_SOURCE 0: c is 0
//
// A block has one chunk of one row (device/row_chunk.cuh). Three memory streams and one addition:
// memory bound.
//
// Reads STORE (of x and c), WRITTEN (of out), REAL, THREADS_X, HAS_GRID, HAS_SOURCE.
#include "device/element.cuh"
#include "device/launch_checks.cuh"
#include "device/row_chunk.cuh"
#include "params.cuh"

static_assert(HAS_GRID || HAS_SOURCE, "something is written");

struct add_arguments {
    strided_grid<const STORE> x, c;
    strided_grid<WRITTEN> out;
    long long n[3];
    updated_box updated;
    long long chunks;  // of each row
};
static_assert(layout_matches(sizeof(add_arguments)), "the launcher's mirrored struct of the arguments");

extern "C" __global__ void __launch_bounds__(THREADS_X) sourced_add(const __grid_constant__ add_arguments a) {
    const row_chunk at = find_row_chunk(a.n, a.chunks);
    const bool updated_row = is_updated(a.updated, 0, at.z) && is_updated(a.updated, 1, at.y);
    const STORE *const x = HAS_GRID ? row_of(a.x, at.batch, at.z, at.y) : nullptr;
    const STORE *const c = HAS_SOURCE ? row_of(a.c, at.batch, at.z, at.y) : nullptr;
    WRITTEN *const out = row_of(a.out, at.batch, at.z, at.y);
    REAL sum[PER_THREAD];
#pragma unroll
    for (int k = 0; k < PER_THREAD; k++) {
        const long long i = at.first + k * THREADS_X;
        sum[k] = 0;
        if (i >= a.n[2]) continue;
        if (HAS_GRID) sum[k] = widen(x[i * a.x.stride[2]]);
        if (HAS_SOURCE && updated_row && is_updated(a.updated, 2, i)) sum[k] += widen(c[i * a.c.stride[2]]);
    }
#pragma unroll
    for (int k = 0; k < PER_THREAD; k++) {
        const long long i = at.first + k * THREADS_X;
        if (i < a.n[2]) out[i * a.out.stride[2]] = narrow<WRITTEN>(sum[k]);
    }
}
