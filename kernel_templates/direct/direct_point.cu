// One step of planes and solids with hardly any code: every tap is written out, and read from the first level cache.
//
//     out(z, y, x) = sum over taps k of  w[k] * in(z + TAP_Z[k], y + TAP_Y[k], x + TAP_X[k])
//
//     a thread     CHUNK points below each other along z, so that what serves several of them is read once
//     a block      THREADS_X of them along x, THREADS_Y along y, THREADS_Z along z
//
// It compiles in half the time that direct_tile takes, with hardly any optimizations (src/compile/compile.c), and a few taps run at the copy's pace: a run
// begins with it while better kernels compile. Near a side indices are folded (device/index.cuh), one tap after the other.
#include "device/element.cuh"
#include "device/index.cuh"
#include "device/twins.cuh"
#include "params.cuh"

constexpr int THREADS = THREADS_X * THREADS_Y * THREADS_Z;

struct point_arguments {
    const STORE *in;
    STORE *out;
    long long in_z, in_y, out_z, out_y;  // strides, elements; along x they are 1
    long long in_batch, out_batch;
    int nz, ny, nx;                 // every extent is larger than the reach along it
    int tiles_x, tiles_y, tiles_z;  // blocks along each axis; x fastest, then y, z, batch
    REAL constant[3][2];            // value past each side, axes z, y, x
    REAL weight[NTAPS];
};
static_assert(is_twin(sizeof(point_arguments), sizeof(point_arguments::constant) + sizeof(point_arguments::weight)),
              "the launcher's twin of the arguments");

__device__ __forceinline__ bool frozen(const point_arguments &a, int z, int y, int x) {
    return (Z_SIDE_LOW == FIXED && z < Z_LOW) || (Z_SIDE_HIGH == FIXED && z >= a.nz - Z_HIGH) ||
           (Y_SIDE_LOW == FIXED && y < Y_LOW) || (Y_SIDE_HIGH == FIXED && y >= a.ny - Y_HIGH) ||
           (X_SIDE_LOW == FIXED && x < X_LOW) || (X_SIDE_HIGH == FIXED && x >= a.nx - X_HIGH);
}

__device__ __forceinline__ bool inside(const point_arguments &a, int z, int y, int x, int planes) {
    return z >= Z_LOW && z + planes <= a.nz - Z_HIGH && y >= Y_LOW && y < a.ny - Y_HIGH && x >= X_LOW &&
           x < a.nx - X_HIGH;
}

// All planes of a thread, so that a tap's loads are on their way together; past the last plane that one once more.
__device__ __forceinline__ void sum_folded(const point_arguments &a, const STORE *grid, int z, int y, int x,
                                           REAL (&sum)[CHUNK]) {
#pragma unroll 1
    for (int k = 0; k < NTAPS; k++) {
        const int fy = fold_once<Y_SIDE_LOW, Y_SIDE_HIGH>(y + TAP_Y[k], a.ny);
        const int fx = fold_once<X_SIDE_LOW, X_SIDE_HIGH>(x + TAP_X[k], a.nx);
        const REAL past = fy < 0 ? a.constant[1][fy == PAST_HIGH] : fx < 0 ? a.constant[2][fx == PAST_HIGH] : REAL(0);
#pragma unroll
        for (int c = 0; c < CHUNK; c++) {
            const int fz = fold_once<Z_SIDE_LOW, Z_SIDE_HIGH>(min(z + c, a.nz - 1) + TAP_Z[k], a.nz);
            const REAL value = fz < 0             ? a.constant[0][fz == PAST_HIGH]
                               : fy < 0 || fx < 0 ? past
                                                  : widen(grid[fz * a.in_z + fy * a.in_y + fx]);
            sum[c] += a.weight[k] * value;
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) direct_point(const __grid_constant__ point_arguments a) {
    const unsigned row = blockIdx.x / a.tiles_x, plane = row / a.tiles_y, batch = plane / a.tiles_z;
    const unsigned lane = threadIdx.x % THREADS_X, line = threadIdx.x / THREADS_X;
    const int x = (blockIdx.x % a.tiles_x) * THREADS_X + lane, y = (row % a.tiles_y) * THREADS_Y + line % THREADS_Y;
    const int z = ((plane % a.tiles_z) * THREADS_Z + line / THREADS_Y) * CHUNK;
    const STORE *const grid = a.in + batch * a.in_batch, *const here = grid + z * a.in_z + y * a.in_y + x;
    STORE *const out = a.out + batch * a.out_batch + z * a.out_z + y * a.out_y + x;
    if (x >= a.nx || y >= a.ny) return;
    REAL sum[CHUNK] = {};
    if (!inside(a, z, y, x, CHUNK)) {
        bool kept = true;
#pragma unroll
        for (int c = 0; c < CHUNK; c++) kept = kept && (z + c >= a.nz || frozen(a, z + c, y, x));
        if (!kept) sum_folded(a, grid, z, y, x, sum);
#pragma unroll
        for (int c = 0; c < CHUNK; c++)
            if (z + c < a.nz) out[c * a.out_z] = frozen(a, z + c, y, x) ? here[c * a.in_z] : narrow<STORE>(sum[c]);
        return;
    }
#pragma unroll
    for (int k = 0; k < NTAPS; k++)
#pragma unroll
        for (int c = 0; c < CHUNK; c++)
            sum[c] += a.weight[k] * widen(here[(TAP_Z[k] + c) * a.in_z + TAP_Y[k] * a.in_y + TAP_X[k]]);
#pragma unroll
    for (int c = 0; c < CHUNK; c++) out[c * a.out_z] = narrow<STORE>(sum[c]);
}
