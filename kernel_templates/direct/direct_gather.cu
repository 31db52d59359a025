// One step of any stencil: any number of taps, any strides, any rank.
//
//     out(z, y, x) = sum over taps k of  w[k] * in(z + tap.z, y + tap.y, x + tap.x)
//
// Each thread computes one point, with one iteration for each tap; the taps are a table in device
// memory. Where no tap reaches past a side, the table's linear offset suffices; elsewhere every
// index is folded (device/boundary.cuh). This kernel serves stencils too large to unroll, and grids
// whose fastest axis is strided.
#include "device/boundary.cuh"
#include "device/element.cuh"
#include "device/launch_checks.cuh"
#include "params.cuh"

struct gather_tap {
    long long offset;  // elements from the point to the tap's point
    REAL weight;
    int z, y, x;
};
struct gather_arguments {
    const STORE *in;
    STORE *out;
    const gather_tap *taps;
    long long nz, ny, nx;
    long long in_z, in_y, in_x, out_z, out_y, out_x;  // strides in elements
    long long in_batch, out_batch;
    long long points;  // points in all grids of the batch
    int ntaps, unused;
    REAL constant[3][2];  // value past each side, axes z, y, x
};
static_assert(layout_matches(sizeof(gather_arguments), sizeof(gather_arguments::constant)),
              "the launcher's mirrored struct of the arguments");

__device__ __forceinline__ REAL folded_tap(const gather_arguments &a, const STORE *grid, long long z, long long y,
                                           long long x) {
    z = fold<Z_SIDE_LOW, Z_SIDE_HIGH>(z, a.nz);
    if (z < 0) return a.constant[0][z == PAST_HIGH];
    y = fold<Y_SIDE_LOW, Y_SIDE_HIGH>(y, a.ny);
    if (y < 0) return a.constant[1][y == PAST_HIGH];
    x = fold<X_SIDE_LOW, X_SIDE_HIGH>(x, a.nx);
    if (x < 0) return a.constant[2][x == PAST_HIGH];
    return widen(grid[z * a.in_z + y * a.in_y + x * a.in_x]);
}

__device__ __forceinline__ bool frozen(const gather_arguments &a, long long z, long long y, long long x) {
    return (Z_SIDE_LOW == FIXED && z < Z_LOW) || (Z_SIDE_HIGH == FIXED && z >= a.nz - Z_HIGH) ||
           (Y_SIDE_LOW == FIXED && y < Y_LOW) || (Y_SIDE_HIGH == FIXED && y >= a.ny - Y_HIGH) ||
           (X_SIDE_LOW == FIXED && x < X_LOW) || (X_SIDE_HIGH == FIXED && x >= a.nx - X_HIGH);
}

extern "C" __global__ void __launch_bounds__(THREADS_X) direct_gather(const __grid_constant__ gather_arguments a) {
    long long i = static_cast<long long>(blockIdx.x) * THREADS_X + threadIdx.x;
    const long long step = static_cast<long long>(gridDim.x) * THREADS_X;
    for (; i < a.points; i += step) {
        const long long x = i % a.nx, row = i / a.nx, y = row % a.ny, plane = row / a.ny, z = plane % a.nz;
        const long long batch = plane / a.nz;
        const STORE *const grid = a.in + batch * a.in_batch;
        STORE *const to = a.out + batch * a.out_batch + z * a.out_z + y * a.out_y + x * a.out_x;
        const STORE *const here = grid + z * a.in_z + y * a.in_y + x * a.in_x;
        if (frozen(a, z, y, x)) {
            *to = *here;
            continue;
        }
        const bool inside =
            z >= Z_LOW && z < a.nz - Z_HIGH && y >= Y_LOW && y < a.ny - Y_HIGH && x >= X_LOW && x < a.nx - X_HIGH;
        REAL sum = 0;
        if (inside)
            for (int k = 0; k < a.ntaps; k++) sum += a.taps[k].weight * widen(here[a.taps[k].offset]);
        else
            for (int k = 0; k < a.ntaps; k++)
                sum += a.taps[k].weight * folded_tap(a, grid, z + a.taps[k].z, y + a.taps[k].y, x + a.taps[k].x);
        *to = narrow<STORE>(sum);
    }
}
