// Copies the interior of a padded grid to the output.
//
//     out(p) = result(p)   `result` begins at the grid's first point in the padded grid
//     out(p) = in(p)       points that a fixed side freezes
//
// A block has one chunk of one row (device/row_chunk.cuh). `in` may be `out`. Memory bound.
#include "device/element.cuh"
#include "device/launch_checks.cuh"
#include "device/row_chunk.cuh"
#include "params.cuh"

struct padded_store_arguments {
    strided_grid<const STORE> in, result;
    strided_grid<STORE> out;
    long long n[3];
    updated_box updated;
    long long chunks;  // of each row
};
static_assert(layout_matches(sizeof(padded_store_arguments)), "the launcher's mirrored struct of the arguments");

extern "C" __global__ void __launch_bounds__(THREADS_X) padded_store(const __grid_constant__ padded_store_arguments a) {
    const row_chunk at = find_row_chunk(a.n, a.chunks);
    if (at.first >= a.n[2]) return;
    const bool updated_row = is_updated(a.updated, 0, at.z) && is_updated(a.updated, 1, at.y);
    const STORE *in = row_of(a.in, at.batch, at.z, at.y) + at.first * a.in.stride[2];
    const STORE *result = row_of(a.result, at.batch, at.z, at.y) + at.first * a.result.stride[2];
    STORE *out = row_of(a.out, at.batch, at.z, at.y) + at.first * a.out.stride[2];
    STORE value[PER_THREAD];
#pragma unroll
    for (int k = 0; k < PER_THREAD; k++) {
        const long long x = at.first + k * THREADS_X;
        if (x < a.n[2]) value[k] = updated_row && is_updated(a.updated, 2, x) ? *result : *in;
        in += THREADS_X * a.in.stride[2], result += THREADS_X * a.result.stride[2];
    }
#pragma unroll
    for (int k = 0; k < PER_THREAD; k++, out += THREADS_X * a.out.stride[2])
        if (at.first + k * THREADS_X < a.n[2]) *out = value[k];
}
