// The terms that fixed and constant sides add to a grid at each step (as spectral_source.cu), and
// the points that fixed sides freeze:
//
//     b(p) = sum over taps o of  w_o g(p + o)
//     g: a frozen point's value, a constant past its side, 0 elsewhere
//
// b is nonzero only at points next to a fixed or constant side. `at` holds the index of these
// points along the side's axis; it is -1 if the side is neither. A point next to several such sides
// belongs to the first of them. The results are planes of `rows` rows of `pitch` points, padded
// with 0:
//
//     z low (y, x) | z high | y low (z, x) | y high | x low (z, y) | x high
//
// In 2D there is one z, so these are lines, and there are no z sides.
//
// SOURCE_BACK = 0: computes planes of b, and of the values at the sides, from a grid. 1: writes
// these values of fixed sides to a grid. One thread per point of a plane. Reads STORE, REAL,
// THREADS_X, and the reaches and sides Z_*, Y_*, X_*.
#include "device/boundary.cuh"
#include "device/element.cuh"
#include "device/launch_checks.cuh"
#include "params.cuh"

struct source_tap {
    double weight;
    // towards: a bit for each side that the tap points to, in the order z low, z high, y low, ..
    int z, y, x, towards;
};
struct source_arguments {
    const STORE *in;
    STORE *out;
    // b, and the values at the sides: first the planes normal to z of all grids, then to y and x.
    REAL *source, *kept;
    const source_tap *taps;
    long long in_z, in_y, in_batch, out_z, out_y, out_batch;  // Strides, in elements.
    long long points;                                         // Of all planes.
    double constant[3][2];                                    // Value past each side of z, y, x.
    int n[3], at[3][2];
    int rows[3], pitch[3];  // Of the planes normal to z, y, x; 0: there are none.
    int ntaps, tiles;       // tiles: blocks of a grid.
    unsigned grids;
};

static_assert(layout_matches(sizeof(source_arguments)), "source_header of segment/segment_boundary_source.c");

__device__ __forceinline__ bool frozen(const source_arguments &a, long long z, long long y, long long x) {
    return (Z_SIDE_LOW == FIXED && z < Z_LOW) || (Z_SIDE_HIGH == FIXED && z >= a.n[0] - Z_HIGH) ||
           (Y_SIDE_LOW == FIXED && y < Y_LOW) || (Y_SIDE_HIGH == FIXED && y >= a.n[1] - Y_HIGH) ||
           (X_SIDE_LOW == FIXED && x < X_LOW) || (X_SIDE_HIGH == FIXED && x >= a.n[2] - X_HIGH);
}
__device__ __forceinline__ double boundary_at(const source_arguments &a, const STORE *grid, long long z, long long y,
                                              long long x) {
    z = fold<Z_SIDE_LOW, Z_SIDE_HIGH>(z, a.n[0]);
    if (z < 0) return a.constant[0][z == PAST_HIGH];
    y = fold<Y_SIDE_LOW, Y_SIDE_HIGH>(y, a.n[1]);
    if (y < 0) return a.constant[1][y == PAST_HIGH];
    x = fold<X_SIDE_LOW, X_SIDE_HIGH>(x, a.n[2]);
    if (x < 0) return a.constant[2][x == PAST_HIGH];
    return frozen(a, z, y, x) ? static_cast<double>(widen(grid[z * a.in_z + y * a.in_y + x])) : 0.0;
}
// The sides of an axis that may add terms at index i, one bit for each: fixed sides whose frozen
// points a tap may reach from there, and constant sides past which it may reach.
template <int LOW, int HIGH, int SIDE_LOW, int SIDE_HIGH>
__device__ __forceinline__ int near(long long i, int n) {
    constexpr bool HAS_TERM_LOW = SIDE_LOW == FIXED || SIDE_LOW == CONSTANT,
                   HAS_TERM_HIGH = SIDE_HIGH == FIXED || SIDE_HIGH == CONSTANT;
    return (HAS_TERM_LOW && i < 2 * LOW) + 2 * (HAS_TERM_HIGH && i >= n - 2 * HIGH);
}
__device__ __forceinline__ REAL source_at(const source_arguments &a, const STORE *grid, long long z, long long y,
                                          long long x) {
    if (z < 0 || y < 0 || x < 0 || frozen(a, z, y, x)) return REAL(0);
    double sum = 0.0;
    const int sides = near<Z_LOW, Z_HIGH, Z_SIDE_LOW, Z_SIDE_HIGH>(z, a.n[0]) +
                      4 * near<Y_LOW, Y_HIGH, Y_SIDE_LOW, Y_SIDE_HIGH>(y, a.n[1]) +
                      16 * near<X_LOW, X_HIGH, X_SIDE_LOW, X_SIDE_HIGH>(x, a.n[2]);
    for (int k = 0; k < a.ntaps; k++) {
        if (!(a.taps[k].towards & sides)) continue;
        const source_tap o = a.taps[k];
        sum += o.weight * boundary_at(a, grid, z + o.z, y + o.y, x + o.x);
    }
    return static_cast<REAL>(sum);
}

extern "C" __global__ void __launch_bounds__(THREADS_X) segment_source(const source_arguments a) {
    const long long grid = blockIdx.x / a.tiles;
    const long long i = static_cast<long long>(blockIdx.x % a.tiles) * THREADS_X + threadIdx.x;
    if (i >= a.points) return;
    int axis = 0;
    long long within = i, plane = 0, before = 0;
    for (;; axis++) {
        plane = static_cast<long long>(a.rows[axis]) * a.pitch[axis];
        if (within < 2 * plane) break;
        within -= 2 * plane, before += 2 * plane;
    }
    const long long to = before * a.grids + grid * 2 * plane + within;
    const int side = within >= plane;
    const long long row = (within - side * plane) / a.pitch[axis], column = within - side * plane - row * a.pitch[axis];
    const bool inside = row < a.n[axis == 0] && column < a.n[axis == 2 ? 1 : 2];
    // The side's own point, and the point next to it.
    const long long end = side * (a.n[axis] - 1LL), adjacent = a.at[axis][side];
    const long long z = axis == 0 ? end : row,
                    y = axis == 0   ? row
                        : axis == 1 ? end
                                    : column,
                    x = axis == 2 ? end : column;
    if (SOURCE_BACK) {
        const bool fixed = axis == 0   ? (side ? Z_SIDE_HIGH : Z_SIDE_LOW) == FIXED
                           : axis == 1 ? (side ? Y_SIDE_HIGH : Y_SIDE_LOW) == FIXED
                                       : (side ? X_SIDE_HIGH : X_SIDE_LOW) == FIXED;
        if (fixed && inside) a.out[grid * a.out_batch + z * a.out_z + y * a.out_y + x] = narrow<STORE>(a.kept[to]);
        return;
    }
    const STORE *const in = a.in + grid * a.in_batch;
    const bool taken =
        (axis > 0 && (z == a.at[0][0] || z == a.at[0][1])) || (axis > 1 && (y == a.at[1][0] || y == a.at[1][1]));
    a.kept[to] = inside ? widen(in[z * a.in_z + y * a.in_y + x]) : REAL(0);
    a.source[to] = taken || !inside
                       ? REAL(0)
                       : source_at(a, in, axis == 0 ? adjacent : z, axis == 1 ? adjacent : y, axis == 2 ? adjacent : x);
}
