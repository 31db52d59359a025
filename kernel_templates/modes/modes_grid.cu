// Converts levels of a linear system's fields to the state that is transformed, or back. The state
// has the backward differences of each field's levels, continued past mirrors to a whole period of
// each axis.
//
//     levels u, u.prev, u.prev2   ->   u, u - u.prev, (u - u.prev) - (u.prev - u.prev2)
//
// MODES_STORES: the inverse, at the points of the grids alone. Levels without an array are not
// stored.
//
// Threads run along the rows of the periodic extension, or of the grids: THREADS_Y rows of
// THREADS_X * MODES_RUN points in a block. The spectrum's rows have `row` numbers, the last ones of
// which are not written. MODES_FROM is the first level whose difference is written.
//
// Reads STORE, REAL, MODES_*, THREADS_X, THREADS_Y.
#include "device/element.cuh"
#include "device/launch_checks.cuh"
#include "params.cuh"

constexpr int THREADS = THREADS_X * THREADS_Y;

struct grid_arguments {
    STORE *array[MODES_WIDTH];  // Dense grids.
    REAL *spectrum;
    long long n[3], length[3];   // Points of the grid, and of a period.
    long long row, grid, grids;  // Numbers of a row and of a grid of the spectrum.
    long long rows, chunks;      // Rows of all grids; blocks along a row.
};
static_assert(layout_matches(sizeof(grid_arguments)), "the arguments that are launched");

// The point of the grid whose image is point i of a period. part: the number of mirrors between the
// grid and the image, modulo 4; -1: point i lies on a mirror, where the value is 0. MODES_BEYOND is
// the mirror's position in half points beyond the outer point; -1: there is none.
template <int AXIS>
__device__ __forceinline__ long long image(long long i, long long n, int &part) {
    constexpr int BEYOND = MODES_BEYOND[AXIS];
    part = 0;
    if (BEYOND < 0) return i;
    const long long half = n + BEYOND - 1, low = BEYOND == 2 ? i + 1 : i;
    part = static_cast<int>(low / half) % 4;
    const long long at = low % half;
    if (BEYOND == 2) {
        if (at == 0) part = -1;
        return at == 0 ? 0 : part & 1 ? half - 1 - at : at - 1;
    }
    return part & 1 ? (BEYOND == 1 ? half - 1 - at : half - at) : at;
}
// The sign of a field's image along an axis, by the `part` of image().
__device__ __forceinline__ int sign_of(int field, int axis, int part) {
    const int low = MODES_SIGN[6 * field + 2 * axis], high = MODES_SIGN[6 * field + 2 * axis + 1];
    return part < 0 ? 0 : part == 0 ? 1 : part == 1 ? high : part == 2 ? low * high : low;
}

// level[l] for each l < count, as differences.
__device__ __forceinline__ void to_differences(REAL (&level)[MODES_LEVELS], int count) {
#pragma unroll
    for (int j = 1; j < MODES_LEVELS; j++)
#pragma unroll
        for (int l = MODES_LEVELS - 1; l >= j; l--)
            if (l < count) level[l] = level[l - 1] - level[l];
}
__device__ __forceinline__ void to_levels(REAL (&level)[MODES_LEVELS], int count) {
#pragma unroll
    for (int j = MODES_LEVELS - 1; j >= 1; j--)
#pragma unroll
        for (int l = 1; l < MODES_LEVELS; l++)
            if (l >= j && l < count) level[l] = level[l - 1] - level[l];
}

extern "C" __global__ void __launch_bounds__(THREADS) modes_grid(const __grid_constant__ grid_arguments a) {
    const int tx = static_cast<int>(threadIdx.x) % THREADS_X, ty = static_cast<int>(threadIdx.x) / THREADS_X;
    const long long group = blockIdx.x / a.chunks, chunk = blockIdx.x - group * a.chunks;
    const long long row = group * THREADS_Y + ty, *const extent = MODES_STORES ? a.n : a.length;
    if (row >= a.rows) return;
    const long long y = row % extent[1], plane = row / extent[1], z = plane % extent[0], g = plane / extent[0];
    int part[3] = {0, 0, 0};
    const long long from_z = MODES_STORES ? z : image<0>(z, a.n[0], part[0]),
                    from_y = MODES_STORES ? y : image<1>(y, a.n[1], part[1]);
    const long long from = ((g * a.n[0] + from_z) * a.n[1] + from_y) * a.n[2], next = a.grids * a.grid;
    REAL *const line = a.spectrum + g * a.grid + (z * a.length[1] + y) * a.row;
#pragma unroll
    for (int k = 0; k < MODES_RUN; k++) {
        const long long x = chunk * (THREADS_X * MODES_RUN) + k * THREADS_X + tx;
        if (x >= extent[2]) return;
        const long long at = from + (MODES_STORES ? x : image<2>(x, a.n[2], part[2]));
#pragma unroll
        for (int f = 0; f < MODES_FIELDS; f++) {
            REAL level[MODES_LEVELS];
            const int first = MODES_FIELD[f], count = MODES_FIELD[f + 1] - first;
            if constexpr (MODES_STORES) {
                int wanted = 0;
#pragma unroll
                for (int l = 0; l < MODES_LEVELS; l++)
                    if (l < count && a.array[first + l]) wanted = l + 1;
#pragma unroll
                for (int l = 0; l < MODES_LEVELS; l++)
                    if (l < wanted) level[l] = line[(first + l) * next + x];
                to_levels(level, wanted);
#pragma unroll
                for (int l = 0; l < MODES_LEVELS; l++)
                    if (l < wanted && a.array[first + l]) a.array[first + l][at] = narrow<STORE>(level[l]);
            } else {
                const int sign = sign_of(f, 0, part[0]) * sign_of(f, 1, part[1]) * sign_of(f, 2, part[2]);
#pragma unroll
                for (int l = 0; l < MODES_LEVELS; l++)
                    if (l < count) level[l] = static_cast<REAL>(sign) * widen(a.array[first + l][at]);
                to_differences(level, count);
#pragma unroll
                for (int l = 0; l < MODES_LEVELS; l++)
                    if (l < count && l >= MODES_FROM) line[(first + l) * next + x] = level[l];
            }
        }
    }
}
