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
// A block has one chunk of one row; each thread writes PER_THREAD points, THREADS_X apart. Rows
// follow by y, then z, then grids of the batch. Memory bound: each element is read and written
// once.
#include "device/boundary.cuh"
#include "device/element.cuh"
#include "device/launch_checks.cuh"
#include "params.cuh"

constexpr int PER_THREAD = 4, COVERED = THREADS_X * PER_THREAD;

struct padded_source {
    const STORE *at;
    long long stride[3], batch;  // in elements; axes z, y, x
};
struct padded_load_arguments {
    padded_source in, before;
    STORE *out;
    long long out_stride[3], out_batch;
    long long n[3], padded[3], low[3];    // extents of both grids; the grid's first point
    long long live_low[3], live_high[3];  // the box of points that are not frozen
    long long chunks;                     // of each row
    REAL constant[3][2];                  // value past each side
};
static_assert(layout_matches(sizeof(padded_load_arguments), sizeof(padded_load_arguments::constant)),
              "the launcher's mirrored struct of the arguments");

__device__ __forceinline__ bool is_live(const padded_load_arguments &a, int axis, long long i) {
    return i >= a.live_low[axis] && i < a.live_high[axis];
}

extern "C" __global__ void __launch_bounds__(THREADS_X) padded_load(const __grid_constant__ padded_load_arguments a) {
    const long long row = blockIdx.x / a.chunks, first = (blockIdx.x - row * a.chunks) * COVERED + threadIdx.x;
    const long long plane = row / a.padded[1], own_y = row - plane * a.padded[1];
    const long long batch = plane / a.padded[0], own_z = plane - batch * a.padded[0];
    const long long z = own_z - a.low[0], y = own_y - a.low[1];
    const bool far = z >= a.n[0] + Z_HIGH || y >= a.n[1] + Y_HIGH;
    const long long from_z = far ? 0 : fold<Z_SIDE_LOW, Z_SIDE_HIGH>(z, a.n[0]);
    const long long from_y = far ? 0 : fold<Y_SIDE_LOW, Y_SIDE_HIGH>(y, a.n[1]);
    const bool live_row = is_live(a, 0, from_z) && is_live(a, 1, from_y);
    const STORE *const in = a.in.at + batch * a.in.batch + from_z * a.in.stride[0] + from_y * a.in.stride[1];
    const STORE *const before =
        a.before.at + batch * a.before.batch + from_z * a.before.stride[0] + from_y * a.before.stride[1];
    STORE *const out = a.out + batch * a.out_batch + own_z * a.out_stride[0] + own_y * a.out_stride[1];
#pragma unroll
    for (int k = 0; k < PER_THREAD; k++) {
        const long long own_x = first + k * THREADS_X, x = own_x - a.low[2];
        if (own_x >= a.padded[2]) continue;
        const bool outside = far || x >= a.n[2] + X_HIGH;
        const long long from_x = outside ? 0 : fold<X_SIDE_LOW, X_SIDE_HIGH>(x, a.n[2]);
        REAL constant = 0;
        if (from_x < 0) constant = a.constant[2][from_x == PAST_HIGH];
        if (from_y < 0) constant = a.constant[1][from_y == PAST_HIGH];
        if (from_z < 0) constant = a.constant[0][from_z == PAST_HIGH];
        STORE value = narrow<STORE>(constant);
        if (!outside && from_z >= 0 && from_y >= 0 && from_x >= 0) {
            const bool live = live_row && is_live(a, 2, from_x);
            value = live ? before[from_x * a.before.stride[2]] : in[from_x * a.in.stride[2]];
        }
        out[own_x * a.out_stride[2]] = value;
    }
}
