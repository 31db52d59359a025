// One step of any stencil with few enough taps to unroll, in 2D and 3D.
//
//     out(z, y, x) = sum over taps k of  w[k] * in(z + TAP_Z[k], y + TAP_Y[k], x + TAP_X[k])
//
// A thread owns a small brick, VECTOR points along x, ROWS along y (1 in 2D, where z and x are the axes), CHUNK along
// z, and walks it plane by plane. It reads the plane's window straight from memory in accesses of VECTOR elements:
//
//            x-SPAN_LOW      x        x+VECTOR
//     y-Y_LOW    +-----------+----------+-----------+
//                |           |  window  |           |      a block's bricks lie side by side (THREADS_X, _Y, _Z of
//                them),
//     y          |           +----------+           |      so their windows overlap in the first level cache, and
//                |           |  points  |           |      blocks that run together overlap in the second
//     y+ROWS     |           +----------+           |
//                +-----------+----------+-----------+
//
// The plane at z adds to the outputs z-Z_HIGH .. z+Z_LOW at once; their partial sums live in registers:
//
//     sum[0] (output z-Z_HIGH, complete after this plane)  ...  sum[DEPTH-1] (output z+Z_LOW, just begun)
//
// No shared memory, no barrier: with the walk unrolled the compiler asks for many windows before it needs the first. (A
// ring of planes in shared memory reached 83% of the copy bandwidth on an H200 where this reaches 95%.)
// A block whose windows meet an edge takes the same walk with every element folded (device/index.cuh); no other pays.
#include "device/element.cuh"
#include "device/index.cuh"
#include "params.cuh"

constexpr int THREADS = THREADS_X * THREADS_Y * THREADS_Z;
constexpr int BX = THREADS_X * VECTOR, BY = THREADS_Y * ROWS, BZ = THREADS_Z * CHUNK;
constexpr int DEPTH = Z_LOW + Z_HIGH + 1;
constexpr int LINES = ROWS + Y_LOW + Y_HIGH;  // rows of a window
constexpr int round_up(int a, int b) { return (a + b - 1) / b * b; }
constexpr int SPAN_LOW = round_up(X_LOW, VECTOR), SPAN = SPAN_LOW + VECTOR + round_up(X_HIGH, VECTOR);
constexpr bool ANY_FIXED = (Z_SIDE_LOW == FIXED && Z_LOW) || (Z_SIDE_HIGH == FIXED && Z_HIGH) ||
                           (Y_SIDE_LOW == FIXED && Y_LOW) || (Y_SIDE_HIGH == FIXED && Y_HIGH) ||
                           (X_SIDE_LOW == FIXED && X_LOW) || (X_SIDE_HIGH == FIXED && X_HIGH);
static_assert(VECTOR * sizeof(STORE) <= 16, "a thread's points along x are at most one access");

struct tile_arguments {
    const STORE *in;
    STORE *out;
    long long nz, ny, nx;
    long long in_z, in_y, out_z, out_y;  // strides, elements; along x they are 1
    long long in_batch, out_batch;
    int tiles_x, tiles_y, tiles_z;  // blocks along each axis; x fastest, then y, z, batch
    int unused;
    REAL constant[3][2];  // value past each side, axes z, y, x
    REAL weight[NTAPS];
};

// The x span that line i of a window needs: it serves row r through the taps with TAP_Y = i - Y_LOW - r.
struct span_table {
    int low[LINES], high[LINES];
};
constexpr span_table needed_spans() {
    span_table s{};
    for (int i = 0; i < LINES; i++) {
        s.low[i] = SPAN, s.high[i] = -SPAN;
        for (int k = 0; k < NTAPS; k++) {
            const int r = i - Y_LOW - TAP_Y[k];
            if (r < 0 || r >= ROWS) continue;
            if (TAP_X[k] < s.low[i]) s.low[i] = TAP_X[k];
            if (TAP_X[k] > s.high[i]) s.high[i] = TAP_X[k];
        }
    }
    return s;
}
constexpr span_table NEEDED = needed_spans();

// Where a thread is: its brick's first point, and for a block at an edge the folded x of every element of a window.
struct brick {
    const STORE *grid;
    long long x, y, z;
    int folded_x[SPAN];
};

// One line of a window. EDGE: each element is folded, and points past a constant side take its value.
template <bool EDGE>
__device__ __forceinline__ void load_line(const tile_arguments &a, const brick &b, const STORE *plane, long long y,
                                          int line, REAL (&window)[SPAN]) {
    long long fy = y;
    if (EDGE) fy = y >= a.ny + Y_HIGH ? 0 : fold<Y_SIDE_LOW, Y_SIDE_HIGH>(y, a.ny);
    const STORE *const row = plane + fy * a.in_y;
#pragma unroll
    for (int s = 0; s < SPAN; s += VECTOR) {
        if (s + VECTOR <= SPAN_LOW + NEEDED.low[line] || s >= SPAN_LOW + VECTOR + NEEDED.high[line]) continue;
        if (!EDGE) {
            STORE run[VECTOR];
            load_run(run, row + b.x - SPAN_LOW + s);
#pragma unroll
            for (int e = 0; e < VECTOR; e++) window[s + e] = widen(run[e]);
        } else {
#pragma unroll
            for (int e = 0; e < VECTOR; e++) {
                const int fx = b.folded_x[s + e];
                window[s + e] = fy < 0   ? a.constant[1][fy == PAST_HIGH]
                                : fx < 0 ? a.constant[2][fx == PAST_HIGH]
                                         : widen(row[fx]);
            }
        }
    }
}

// sum[d][r][v] += the taps that look at plane z.
template <bool EDGE>
__device__ __forceinline__ void add_plane(const tile_arguments &a, const brick &b, long long z,
                                          REAL (&sum)[DEPTH][ROWS][VECTOR]) {
    if (EDGE) z = z >= a.nz + Z_HIGH ? 0 : fold<Z_SIDE_LOW, Z_SIDE_HIGH>(z, a.nz);
    const STORE *const plane = b.grid + z * a.in_z;
#pragma unroll
    for (int line = 0; line < LINES; line++) {
        REAL window[SPAN];
        if (EDGE && z < 0)
#pragma unroll
            for (int s = 0; s < SPAN; s++) window[s] = a.constant[0][z == PAST_HIGH];
        else
            load_line<EDGE>(a, b, plane, b.y + line - Y_LOW, line, window);
#pragma unroll
        for (int k = 0; k < NTAPS; k++) {
            const int r = line - Y_LOW - TAP_Y[k];  // the row that sees this line through tap k
            if (r < 0 || r >= ROWS) continue;
#pragma unroll
            for (int v = 0; v < VECTOR; v++)
                sum[Z_HIGH - TAP_Z[k]][r][v] += a.weight[k] * window[SPAN_LOW + v + TAP_X[k]];
        }
    }
}

// Does point (z, y, x) keep its value, because a tap would reach past a fixed side?
__device__ __forceinline__ bool frozen(const tile_arguments &a, long long z, long long y, long long x) {
    return (Z_SIDE_LOW == FIXED && z < Z_LOW) || (Z_SIDE_HIGH == FIXED && z >= a.nz - Z_HIGH) ||
           (Y_SIDE_LOW == FIXED && y < Y_LOW) || (Y_SIDE_HIGH == FIXED && y >= a.ny - Y_HIGH) ||
           (X_SIDE_LOW == FIXED && x < X_LOW) || (X_SIDE_HIGH == FIXED && x >= a.nx - X_HIGH);
}

template <bool EDGE>
__device__ __forceinline__ void save_plane(const tile_arguments &a, const brick &b, STORE *out, long long z,
                                           const REAL (&sum)[ROWS][VECTOR]) {
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        STORE *const row = out + z * a.out_z + (b.y + r) * a.out_y + b.x;
        STORE result[VECTOR];
#pragma unroll
        for (int v = 0; v < VECTOR; v++) result[v] = narrow<STORE>(sum[r][v]);
        if (!EDGE) {
            store_run(row, result);
            continue;
        }
        if (z >= a.nz || b.y + r >= a.ny) continue;
#pragma unroll
        for (int v = 0; v < VECTOR; v++) {
            if (b.x + v >= a.nx) continue;
            row[v] = ANY_FIXED && frozen(a, z, b.y + r, b.x + v) ? b.grid[z * a.in_z + (b.y + r) * a.in_y + b.x + v]
                                                                 : result[v];
        }
    }
}

template <bool EDGE>
__device__ __forceinline__ void walk(const tile_arguments &a, const brick &b, STORE *out) {
    REAL sum[DEPTH][ROWS][VECTOR] = {};
#pragma unroll(EDGE ? 1 : UNROLL)
    for (int p = 0; p < CHUNK + Z_LOW + Z_HIGH; p++) {
        add_plane<EDGE>(a, b, b.z + p - Z_LOW, sum);
        if (p >= Z_LOW + Z_HIGH) save_plane<EDGE>(a, b, out, b.z + p - Z_LOW - Z_HIGH, sum[0]);
#pragma unroll
        for (int d = 0; d < DEPTH; d++)
#pragma unroll
            for (int r = 0; r < ROWS; r++)
#pragma unroll
                for (int v = 0; v < VECTOR; v++)
                    sum[d][r][v] = d + 1 < DEPTH ? sum[d + 1 < DEPTH ? d + 1 : d][r][v] : REAL(0);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) direct_tile(const __grid_constant__ tile_arguments a) {
    unsigned block = blockIdx.x;
    const long long x0 = static_cast<long long>(block % a.tiles_x) * BX;
    block /= a.tiles_x;
    const long long y0 = static_cast<long long>(block % a.tiles_y) * BY;
    block /= a.tiles_y;
    const long long z0 = static_cast<long long>(block % a.tiles_z) * BZ;
    const long long batch = block / a.tiles_z;

    brick b;
    b.grid = a.in + batch * a.in_batch;
    b.x = x0 + threadIdx.x % THREADS_X * VECTOR;
    b.y = y0 + threadIdx.x / THREADS_X % THREADS_Y * ROWS;
    b.z = z0 + threadIdx.x / (THREADS_X * THREADS_Y) * CHUNK;
    STORE *const out = a.out + batch * a.out_batch;

    const bool inside = x0 >= SPAN_LOW && x0 + BX + SPAN - SPAN_LOW - VECTOR <= a.nx && y0 >= Y_LOW &&
                        y0 + BY + Y_HIGH <= a.ny && z0 >= Z_LOW && z0 + BZ + Z_HIGH <= a.nz;
    if (inside) {
        walk<false>(a, b, out);
        return;
    }
#pragma unroll
    for (int s = 0; s < SPAN; s++) {
        const long long x = b.x - SPAN_LOW + s;
        const bool unused = x < -X_LOW || x >= a.nx + X_HIGH;
        b.folded_x[s] = unused ? 0 : static_cast<int>(fold<X_SIDE_LOW, X_SIDE_HIGH>(x, a.nx));
    }
    walk<true>(a, b, out);
}
