// Copies a grid into a larger one, with the values past its sides around it.
//
//     out(p) = state(fold(q))   q = p - low in the grid, or within the taps' reach of a side that
//                               folds (device/boundary.cuh)
//     out(p) = constant         q within the taps' reach past a constant side
//     out(p) = 0                q farther outside
//     state(q) = in(q)          at points that a fixed side freezes
//     state(q) = before(q)      at other points
//
//          |<- low ->|<-        n         ->|<- reach ->|
//     row  | folded  | points of the grid   | folded    | 0 0 0 |
//
// `before` is the result of the previous step: `in` itself, or the interior of a padded grid.
// A block has one chunk of one row of the larger grid (device/row_chunk.cuh). Memory bound.
#include "device/boundary.cuh"
#include "device/element.cuh"
#include "device/launch_checks.cuh"
#include "device/row_chunk.cuh"
#include "params.cuh"

struct padded_load_arguments {
    strided_grid<const STORE> in, before;
    strided_grid<STORE> out;
    long long n[3], padded[3], low[3];  // extents of both grids; widths of the low halos
    updated_box updated;
    long long chunks;     // of each row
    REAL constant[3][2];  // value past each side
};
static_assert(layout_matches(sizeof(padded_load_arguments), sizeof(padded_load_arguments::constant)),
              "the launcher's mirrored struct of the arguments");

// Value at a point whose row is at (z, y) of the state; negative: past a side of that axis.
// in, before: that row of both grids. frozen: a fixed side freezes the row.
__device__ __noinline__ STORE value_at(const padded_load_arguments &a, const STORE *in, const STORE *before,
                                       long long z, long long y, long long x, bool frozen) {
    const long long from = fold<X_SIDE_LOW, X_SIDE_HIGH>(x, a.n[2]);
    REAL constant = 0;
    if (from < 0) constant = a.constant[2][from == PAST_HIGH];
    if (y < 0) constant = a.constant[1][y == PAST_HIGH];
    if (z < 0) constant = a.constant[0][z == PAST_HIGH];
    if (z < 0 || y < 0 || from < 0) return narrow<STORE>(constant);
    return frozen || !is_updated(a.updated, 2, from) ? in[from * a.in.stride[2]] : before[from * a.before.stride[2]];
}

extern "C" __global__ void __launch_bounds__(THREADS_X) padded_load(const __grid_constant__ padded_load_arguments a) {
    const row_chunk to = find_row_chunk(a.padded, a.chunks);
    if (to.first >= a.padded[2]) return;
    const long long z = to.z - a.low[0], y = to.y - a.low[1], first = to.first - a.low[2];
    const bool far = z >= a.n[0] + Z_HIGH || y >= a.n[1] + Y_HIGH;
    const long long from_z = far ? 0 : fold<Z_SIDE_LOW, Z_SIDE_HIGH>(z, a.n[0]);
    const long long from_y = far ? 0 : fold<Y_SIDE_LOW, Y_SIDE_HIGH>(y, a.n[1]);
    const bool updated_row = is_updated(a.updated, 0, from_z) && is_updated(a.updated, 1, from_y);
    const STORE *const in = row_of(a.in, to.batch, from_z, from_y);
    const STORE *const before = row_of(a.before, to.batch, from_z, from_y);
    const STORE *from = before + first * a.before.stride[2];
    STORE value[PER_THREAD];
#pragma unroll
    for (int k = 0; k < PER_THREAD; k++, from += THREADS_X * a.before.stride[2]) {
        const long long x = first + k * THREADS_X;
        value[k] = narrow<STORE>(static_cast<REAL>(0));
        if (far || x >= a.n[2] + X_HIGH) continue;
        if (updated_row && is_updated(a.updated, 2, x))
            value[k] = *from;
        else
            value[k] = value_at(a, in, before, from_z, from_y, x, !updated_row);
    }
    STORE *out = row_of(a.out, to.batch, to.z, to.y) + to.first * a.out.stride[2];
#pragma unroll
    for (int k = 0; k < PER_THREAD; k++, out += THREADS_X * a.out.stride[2])
        if (to.first + k * THREADS_X < a.padded[2]) *out = value[k];
}
