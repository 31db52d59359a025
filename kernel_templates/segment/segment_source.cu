// What fixed and constant sides add to a plane in every step (as spectral_source.cu has it, of two axes), and the points that fixed sides freeze:
//
//     b(p) = sum over taps o of  w_o g(p + o),   g: a frozen point's value, a constant past its side, 0 elsewhere
//
// which is 0 but at the points next to such a side, at_* (-1: that side is none). A point next to two sides belongs to the y side. As lines:
//
//     y low (nx points) | y high (nx) | x low (ny) | x high (ny)
//
// SOURCE_BACK = 0: lines of b, and of the values at the sides, from a grid. 1: those values of fixed sides back to a grid. One
// thread a point of a line. Reads STORE, REAL, THREADS_X, Y_* and X_*: reach and sides.
#include "device/element.cuh"
#include "device/index.cuh"
#include "device/twins.cuh"
#include "params.cuh"

struct source_tap {
    double weight;
    int y, x;
};
struct source_arguments {
    const STORE *in;
    STORE *out;
    REAL *source, *kept;  // a grid's lines one after the other
    const source_tap *taps;
    long long in_y, in_batch, out_y, out_batch;  // elements
    double constant[2][2];                       // past each side of y, of x
    int ny, nx, at_y[2], at_x[2], ntaps, tiles;  // tiles: blocks of a grid
};

static_assert(is_twin(sizeof(source_arguments)), "source_header of segment/source.c");

__device__ __forceinline__ bool frozen(const source_arguments &a, long long y, long long x) {
    return (Y_SIDE_LOW == FIXED && y < Y_LOW) || (Y_SIDE_HIGH == FIXED && y >= a.ny - Y_HIGH) ||
           (X_SIDE_LOW == FIXED && x < X_LOW) || (X_SIDE_HIGH == FIXED && x >= a.nx - X_HIGH);
}
__device__ __forceinline__ double boundary_at(const source_arguments &a, const STORE *grid, long long y, long long x) {
    y = fold<Y_SIDE_LOW, Y_SIDE_HIGH>(y, a.ny);
    if (y < 0) return a.constant[0][y == PAST_HIGH];
    x = fold<X_SIDE_LOW, X_SIDE_HIGH>(x, a.nx);
    if (x < 0) return a.constant[1][x == PAST_HIGH];
    return frozen(a, y, x) ? static_cast<double>(widen(grid[y * a.in_y + x])) : 0.0;
}
__device__ __forceinline__ REAL source_at(const source_arguments &a, const STORE *grid, long long y, long long x) {
    if (y < 0 || x < 0 || frozen(a, y, x)) return REAL(0);
    double sum = 0.0;
    for (int k = 0; k < a.ntaps; k++) sum += a.taps[k].weight * boundary_at(a, grid, y + a.taps[k].y, x + a.taps[k].x);
    return static_cast<REAL>(sum);
}

extern "C" __global__ void __launch_bounds__(THREADS_X) segment_source(const source_arguments a) {
    const long long grid = blockIdx.x / a.tiles, points = 2LL * (a.nx + a.ny);
    const long long i = static_cast<long long>(blockIdx.x % a.tiles) * THREADS_X + threadIdx.x;
    if (i >= points) return;
    const bool along_x = i < 2LL * a.nx;
    const long long within = along_x ? i : i - 2LL * a.nx, n = along_x ? a.nx : a.ny;
    const int side = within >= n;
    const long long at = within - side * n, y = along_x ? side * (a.ny - 1LL) : at,
                    x = along_x ? at : side * (a.nx - 1LL);
    if (SOURCE_BACK) {
        const bool fixed =
            along_x ? (side ? Y_SIDE_HIGH : Y_SIDE_LOW) == FIXED : (side ? X_SIDE_HIGH : X_SIDE_LOW) == FIXED;
        if (fixed) a.out[grid * a.out_batch + y * a.out_y + x] = narrow<STORE>(a.kept[grid * points + i]);
        return;
    }
    const STORE *const in = a.in + grid * a.in_batch;
    const bool taken = !along_x && (y == a.at_y[0] || y == a.at_y[1]);
    a.kept[grid * points + i] = widen(in[y * a.in_y + x]);
    a.source[grid * points + i] =
        taken ? REAL(0) : source_at(a, in, along_x ? a.at_y[side] : y, along_x ? x : a.at_x[side]);
}
