// One step of the slabs along the faces of a grid: boxes of points, each with a grid to read and a grid to write.
//
//     out(p) = sum over taps k of  w[k] * in(p + TAP[k])     for p in box 0, box 1, ...
//
//     +-----------------------------+
//     |           box 0             |      One thread a point, all boxes in one launch, x fastest. Points are numbered as
//     +----+-----------------+------+      in the whole grid, whatever part of it `in` and `out` hold (the host shifts
//     | b4 |    interior     |  b5  |      the pointers), so that folds (device/index.cuh) are those of the whole grid.
//     +----+-----------------+------+
//     |           box 1             |
//     +-----------------------------+
#include "device/element.cuh"
#include "device/index.cuh"
#include "params.cuh"

constexpr int BOXES = 6;
constexpr int UNROLLED = NTAPS <= 64 ? NTAPS : 1;

struct slab_box {
    const STORE *in;  // where point (0, 0, 0) would be
    STORE *out;
    long long in_stride[3], out_stride[3];  // axes z, y, x
    long long in_batch, out_batch;
    long long low[3], extent[3];
    long long points;  // of all grids of the batch
};
struct slab_arguments {
    slab_box box[BOXES];
    long long n[3];
    long long boxes;
    REAL constant[3][2];  // value past each side, axes z, y, x
    REAL weight[NTAPS];
};

__device__ __forceinline__ REAL folded_tap(const slab_arguments &a, const slab_box &b, const STORE *grid, long long z,
                                           long long y, long long x) {
    z = fold<Z_SIDE_LOW, Z_SIDE_HIGH>(z, a.n[0]);
    if (z < 0) return a.constant[0][z == PAST_HIGH];
    y = fold<Y_SIDE_LOW, Y_SIDE_HIGH>(y, a.n[1]);
    if (y < 0) return a.constant[1][y == PAST_HIGH];
    x = fold<X_SIDE_LOW, X_SIDE_HIGH>(x, a.n[2]);
    if (x < 0) return a.constant[2][x == PAST_HIGH];
    return widen(grid[z * b.in_stride[0] + y * b.in_stride[1] + x * b.in_stride[2]]);
}

__device__ __forceinline__ bool frozen(const slab_arguments &a, long long z, long long y, long long x) {
    return (Z_SIDE_LOW == FIXED && z < Z_LOW) || (Z_SIDE_HIGH == FIXED && z >= a.n[0] - Z_HIGH) ||
           (Y_SIDE_LOW == FIXED && y < Y_LOW) || (Y_SIDE_HIGH == FIXED && y >= a.n[1] - Y_HIGH) ||
           (X_SIDE_LOW == FIXED && x < X_LOW) || (X_SIDE_HIGH == FIXED && x >= a.n[2] - X_HIGH);
}

extern "C" __global__ void __launch_bounds__(THREADS_X) slabs_step(const __grid_constant__ slab_arguments a) {
    long long i = static_cast<long long>(blockIdx.x) * THREADS_X + threadIdx.x;
    int which = 0;
    while (which < a.boxes && i >= a.box[which].points) i -= a.box[which++].points;
    if (which >= a.boxes) return;
    const slab_box &b = a.box[which];
    long long row, plane, batch;  // divisions of 32 bits are many times cheaper
    if (b.points <= 0xffffffffLL) {
        row = static_cast<unsigned>(i) / static_cast<unsigned>(b.extent[2]);
        plane = static_cast<unsigned>(row) / static_cast<unsigned>(b.extent[1]);
        batch = static_cast<unsigned>(plane) / static_cast<unsigned>(b.extent[0]);
    } else {
        row = i / b.extent[2];
        plane = row / b.extent[1];
        batch = plane / b.extent[0];
    }
    const long long x = b.low[2] + i - row * b.extent[2], y = b.low[1] + row - plane * b.extent[1];
    const long long z = b.low[0] + plane - batch * b.extent[0];
    const STORE *const grid = b.in + batch * b.in_batch;
    const STORE *const here = grid + z * b.in_stride[0] + y * b.in_stride[1] + x * b.in_stride[2];
    STORE *const to = b.out + batch * b.out_batch + z * b.out_stride[0] + y * b.out_stride[1] + x * b.out_stride[2];
    if (frozen(a, z, y, x)) {
        *to = *here;
        return;
    }
    const bool inside =
        z >= Z_LOW && z < a.n[0] - Z_HIGH && y >= Y_LOW && y < a.n[1] - Y_HIGH && x >= X_LOW && x < a.n[2] - X_HIGH;
    REAL sum = 0;
    if (inside)
#pragma unroll UNROLLED
        for (int k = 0; k < NTAPS; k++)
            sum += a.weight[k] *
                   widen(here[TAP_Z[k] * b.in_stride[0] + TAP_Y[k] * b.in_stride[1] + TAP_X[k] * b.in_stride[2]]);
    else
#pragma unroll 1
        for (int k = 0; k < NTAPS; k++)
            sum += a.weight[k] * folded_tap(a, b, grid, z + TAP_Z[k], y + TAP_Y[k], x + TAP_X[k]);
    *to = narrow<STORE>(sum);
}
