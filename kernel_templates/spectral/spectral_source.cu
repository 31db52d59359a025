// The constant source of fixed and constant sides: the terms that frozen points and values past
// sides add to a point at each step,
//
//     b(p) = sum over taps o of  w_o g(p + o)
//     g: a frozen point's value, a constant past its side, 0 elsewhere
//
// It is nonzero only at points next to such a side. at_z, at_y and at_x are the indices of these
// points along the side's axis (-1: no such side). There are two faces per axis; a point on several
// faces belongs to the first of them:
//
//     z faces [2][ny][nx]    y faces [nz][2][nx]    real numbers
//     x faces [nz][rows][2]                         complex numbers, imaginary part 0; rows >= ny
//
//         x low         x high
//         |   y low     |            2D: one plane, no z faces
//         +-------------+
//         |             |
//         +-------------+
//         |   y high    |
//
// One thread per point. Reads STORE, REAL, THREADS_X, and the reaches and sides Z_*, Y_*, X_*.
#include "device/boundary.cuh"
#include "device/complex.cuh"
#include "device/launch_checks.cuh"
#include "params.cuh"

struct source_tap {
    double weight;
    int z, y, x, unused;
};
struct spectral_source_arguments {
    const STORE *in;
    REAL *z_faces, *y_faces, *x_faces;
    const source_tap *taps;
    // Strides, in elements; of x faces in complex numbers.
    long long in_z, in_y, in_x, in_batch, z_batch, y_batch, x_batch;
    double constant[3][2];                                          // Value past each side.
    long long z_points, y_points, x_points;                         // Of a grid.
    int nz, ny, nx, rows, ntaps, tiles, at_z[2], at_y[2], at_x[2];  // tiles: blocks of a grid.
};

static_assert(layout_matches(sizeof(spectral_source_arguments)), "the arguments that are launched");

__device__ __forceinline__ bool frozen(const spectral_source_arguments &a, long long z, long long y, long long x) {
    return (Z_SIDE_LOW == FIXED && z < Z_LOW) || (Z_SIDE_HIGH == FIXED && z >= a.nz - Z_HIGH) ||
           (Y_SIDE_LOW == FIXED && y < Y_LOW) || (Y_SIDE_HIGH == FIXED && y >= a.ny - Y_HIGH) ||
           (X_SIDE_LOW == FIXED && x < X_LOW) || (X_SIDE_HIGH == FIXED && x >= a.nx - X_HIGH);
}
__device__ __forceinline__ double boundary_at(const spectral_source_arguments &a, const STORE *grid, long long z,
                                              long long y, long long x) {
    z = fold<Z_SIDE_LOW, Z_SIDE_HIGH>(z, a.nz);
    if (z < 0) return a.constant[0][z == PAST_HIGH];
    y = fold<Y_SIDE_LOW, Y_SIDE_HIGH>(y, a.ny);
    if (y < 0) return a.constant[1][y == PAST_HIGH];
    x = fold<X_SIDE_LOW, X_SIDE_HIGH>(x, a.nx);
    if (x < 0) return a.constant[2][x == PAST_HIGH];
    return frozen(a, z, y, x) ? static_cast<double>(widen(grid[z * a.in_z + y * a.in_y + x * a.in_x])) : 0.0;
}
__device__ __forceinline__ REAL source_at(const spectral_source_arguments &a, const STORE *grid, long long z,
                                          long long y, long long x) {
    if (z < 0 || y < 0 || x < 0 || frozen(a, z, y, x)) return REAL(0);
    double sum = 0.0;
    for (int k = 0; k < a.ntaps; k++)
        sum += a.taps[k].weight * boundary_at(a, grid, z + a.taps[k].z, y + a.taps[k].y, x + a.taps[k].x);
    return static_cast<REAL>(sum);
}

extern "C" __global__ void __launch_bounds__(THREADS_X)
    spectral_source(const __grid_constant__ spectral_source_arguments a) {
    const long long grid = blockIdx.x / a.tiles;
    long long i = static_cast<long long>(blockIdx.x % a.tiles) * THREADS_X + threadIdx.x;
    const STORE *const in = a.in + grid * a.in_batch;
    if (i < a.z_points) {
        const long long x = i % a.nx, row = i / a.nx;
        a.z_faces[grid * a.z_batch + i] = source_at(a, in, a.at_z[row / a.ny], row % a.ny, x);
        return;
    }
    i -= a.z_points;
    if (i < a.y_points) {
        const long long x = i % a.nx, row = i / a.nx, z = row / 2;
        const bool taken = z == a.at_z[0] || z == a.at_z[1];
        a.y_faces[grid * a.y_batch + i] = taken ? REAL(0) : source_at(a, in, z, a.at_y[row % 2], x);
        return;
    }
    i -= a.y_points;
    if (i < a.x_points) {
        const long long row = i / 2, y = row % a.ny, z = row / a.ny;
        const bool taken = z == a.at_z[0] || z == a.at_z[1] || y == a.at_y[0] || y == a.at_y[1];
        const complex<REAL> b = {taken ? REAL(0) : source_at(a, in, z, y, a.at_x[i % 2]), REAL(0)};
        store_pair(a.x_faces + 2 * (grid * a.x_batch + (z * a.rows + y) * 2 + i % 2), b);
    }
}
