// One step of any stencil with few enough taps to unroll, in 2D and 3D.
//
//     out(z, y, x) = sum over taps k of  w[k] * in(z + TAP_Z[k], y + TAP_Y[k], x + TAP_X[k])
//
// A thread computes a 3D block of VECTOR points along x, ROWS along y (1 in 2D, where z and x are
// the axes) and CHUNK along z, and marches through it plane by plane. It loads each plane's window
// from memory, in slots of VECTOR elements:
//
//             low slots     x       x+VECTOR  high slots
//     y-Y_LOW    +------+------+----------+------+
//                |      |      |  centre  |      |
//     y          |      |      +----------+      |
//                |      |      |  points  |      |
//     y+ROWS     |      |      +----------+      |
//                +------+------+----------+------+
//
// The threads of a block (THREADS_X by _Y by _Z) are adjacent, so their windows overlap in L1;
// windows of blocks that run at the same time overlap in L2.
//
// Plane z contributes to the outputs z-Z_HIGH .. z+Z_LOW at once; their partial sums stay in
// registers:
//
//     sum[0] (output z-Z_HIGH, complete after this plane) ... sum[DEPTH-1] (output z+Z_LOW, begun)
//
// The loop has no barrier: with the loop unrolled, the compiler issues the loads of many windows
// before it needs the first.
//
// Near edges the same loop reads folded planes and lines (FOLD_YZ) and folded slots (FOLD_X), still
// without branches (device/boundary.cuh). Since VECTOR divides nx, a slot is folded as a whole, and
// its elements are then permuted or replaced:
//     wrap  unchanged    nearest  one element repeated    reflect  reversed    constant  the value
//     mirror  reversed and shifted by one, so a second slot is read
//
// COLUMN_LOOP 1: blocks that meet an edge along x but none along y or z have an unrolled loop of
// their own. 2: all blocks are at an edge along x, and the interior's loop is left out.
//
// Rows that do not begin and end on 16 bytes are read faster by direct_skew.
#include "direct/plane_sums.cuh"

constexpr int BX = THREADS_X * VECTOR, BY = THREADS_Y * ROWS;
constexpr int LOW_SLOTS = (X_LOW + VECTOR - 1) / VECTOR, HIGH_SLOTS = (X_HIGH + VECTOR - 1) / VECTOR;
constexpr int SLOTS = LOW_SLOTS + 1 + HIGH_SLOTS, SPAN = SLOTS * VECTOR, CENTRE = LOW_SLOTS * VECTOR;
constexpr bool ANY_FIXED = (Z_SIDE_LOW == FIXED && Z_LOW) || (Z_SIDE_HIGH == FIXED && Z_HIGH) ||
                           (Y_SIDE_LOW == FIXED && Y_LOW) || (Y_SIDE_HIGH == FIXED && Y_HIGH) ||
                           (X_SIDE_LOW == FIXED && X_LOW) || (X_SIDE_HIGH == FIXED && X_HIGH);
constexpr bool Z_CONSTANT = (Z_SIDE_LOW == CONSTANT && Z_LOW) || (Z_SIDE_HIGH == CONSTANT && Z_HIGH);
constexpr bool Y_CONSTANT = (Y_SIDE_LOW == CONSTANT && Y_LOW) || (Y_SIDE_HIGH == CONSTANT && Y_HIGH);
static_assert(VECTOR * sizeof(STORE) <= 16, "a thread's points along x are at most one access");

struct tile_arguments {
    const STORE *in;
    STORE *out;
    long long in_z, in_y, out_z, out_y;  // strides in elements; along x they are 1
    long long in_batch, out_batch;
    // Every extent exceeds the reach along it; VECTOR divides nx.
    int nz, ny, nx;
    int tiles_x, tiles_y, tiles_z;  // blocks along each axis; x fastest, then y, z, batch
    REAL constant[3][2];            // value past each side, axes z, y, x
    REAL weight[NTAPS];
};
static_assert(layout_matches(sizeof(tile_arguments), sizeof(tile_arguments::constant) + sizeof(tile_arguments::weight)),
              "the launcher's mirrored struct of the arguments");

// The range of x that each line of a window needs: line i serves row r through the taps with TAP_Y
// = i - Y_LOW - r.
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

// Weights that take more bytes than this are read from shared memory for every plane (held_words in
// one_step_cost_model.c). The compiler loads weights from the arguments before the marching loop,
// and keeps those for which there are no registers in local memory: 343 taps in f32 took 17 ms for
// 36 million points, 125 in f64 2.8 ms for 48 million. The weights in shared memory are volatile;
// otherwise the compiler would load them before the loop too.
constexpr bool SHARED_WEIGHTS = NTAPS * sizeof(REAL) > 512;

// A thread's position and, near an edge, the positions that it reads.
struct thread_tile {
    const STORE *grid;
    const volatile REAL *weight;  // SHARED_WEIGHTS: in shared memory
    int x, y, z;                  // the thread's first point
    // Folded y of each line of the window; PAST_LOW or PAST_HIGH past a constant side.
    int line[LINES];
    int slot[SLOTS];   // folded x of each slot's first element
    bool past[SLOTS];  // the slot lies outside the grid
    // Bit v: point x + v keeps its value because a tap would reach past a fixed side along x.
    unsigned frozen;
};

// The slot of x .. x + VECTOR - 1 lies past the low or high edge: returns the first x of the slot
// that is read for it.
template <int KIND>
__device__ __forceinline__ int fold_slot_low(int x, int nx) {
    if (KIND == WRAP) return x + nx;
    if (KIND == REFLECT) return -x - VECTOR;
    if (KIND == MIRROR) return VECTOR == 1 ? -x : -x - VECTOR;
    return 0;
}
template <int KIND>
__device__ __forceinline__ int fold_slot_high(int x, int nx) {
    if (KIND == WRAP) return x - nx;
    if (KIND == REFLECT) return 2 * nx - x - VECTOR;
    if (KIND == MIRROR) return VECTOR == 1 ? 2 * (nx - 1) - x : 2 * nx - x - VECTOR;
    return nx - VECTOR;
}

// Converts the elements read for a slot past the low edge into its values; `other` is the following
// slot (mirror only).
template <int KIND>
__device__ __forceinline__ void fold_slot_values_low(STORE (&run)[VECTOR], const STORE (&other)[VECTOR], STORE constant,
                                                     bool past) {
    STORE folded[VECTOR];
#pragma unroll
    for (int e = 0; e < VECTOR; e++) {
        folded[e] = run[e];
        if (KIND == CONSTANT) folded[e] = constant;
        if (KIND == NEAREST) folded[e] = run[0];
        if (KIND == REFLECT) folded[e] = run[VECTOR - 1 - e];
        if (KIND == MIRROR && VECTOR > 1) folded[e] = e ? run[VECTOR - e] : other[0];
    }
#pragma unroll
    for (int e = 0; e < VECTOR; e++) run[e] = past ? folded[e] : run[e];
}
// The same for a slot past the high edge; `other` is the preceding slot.
template <int KIND>
__device__ __forceinline__ void fold_slot_values_high(STORE (&run)[VECTOR], const STORE (&other)[VECTOR],
                                                      STORE constant, bool past) {
    STORE folded[VECTOR];
#pragma unroll
    for (int e = 0; e < VECTOR; e++) {
        folded[e] = run[e];
        if (KIND == CONSTANT) folded[e] = constant;
        if (KIND == NEAREST) folded[e] = run[VECTOR - 1];
        if (KIND == REFLECT) folded[e] = run[VECTOR - 1 - e];
        if (KIND == MIRROR && VECTOR > 1)
            folded[e] = e < VECTOR - 1 ? run[VECTOR - 2 - e < 0 ? 0 : VECTOR - 2 - e] : other[VECTOR - 1];
    }
#pragma unroll
    for (int e = 0; e < VECTOR; e++) run[e] = past ? folded[e] : run[e];
}

// Loads one line of a window. `blank`: the plane or the line lies past a constant side, so every
// element is `value`.
template <bool FOLD_X, bool FOLD_YZ>
__device__ __forceinline__ void load_line(const tile_arguments &a, const thread_tile &b, const STORE *row, int line,
                                          bool blank, REAL value, REAL (&window)[SPAN]) {
#pragma unroll
    for (int s = 0; s < SLOTS; s++) {
        // The slot's first x relative to the thread's first point.
        const int low = s * VECTOR - CENTRE;
        if (low + VECTOR <= NEEDED.low[line] || low >= VECTOR + NEEDED.high[line]) continue;
        STORE run[VECTOR], other[VECTOR] = {};
        load_run(run, row + (FOLD_X ? b.slot[s] : s * VECTOR));
        if (FOLD_X && s < LOW_SLOTS) {
            if (X_SIDE_LOW == MIRROR && VECTOR > 1) load_run(other, row + b.slot[s] + (b.past[s] ? VECTOR : 0));
            fold_slot_values_low<X_SIDE_LOW>(run, other, narrow<STORE>(a.constant[2][0]), b.past[s]);
        } else if (FOLD_X && s > LOW_SLOTS) {
            if (X_SIDE_HIGH == MIRROR && VECTOR > 1) load_run(other, row + b.slot[s] - (b.past[s] ? VECTOR : 0));
            fold_slot_values_high<X_SIDE_HIGH>(run, other, narrow<STORE>(a.constant[2][1]), b.past[s]);
        }
#pragma unroll
        for (int e = 0; e < VECTOR; e++)
            window[s * VECTOR + e] = FOLD_YZ && (Z_CONSTANT || Y_CONSTANT) && blank ? value : widen(run[e]);
    }
}

// Whether blocks at edges and in the interior share one loop, in which branches select the loads
// and stores. The code of so many taps takes long to compile, so it is compiled once. Windows of
// several lines do not share a loop, because the loads of later lines would wait for the branches.
constexpr bool ONE_LOOP = LINES == 1 && UNROLL == 1 && COLUMN_LOOP == 0 && NTAPS * ROWS * VECTOR > 400;

// Loads a line of plane z. If FOLD_YZ is false, all lines of the window lie in the grid, and
// `first` points into the first one: to x = 0 if FOLD_X, else to the window's first element.
template <bool FOLD_X, bool FOLD_YZ>
__device__ __forceinline__ void load_line_of(const tile_arguments &a, const thread_tile &b, const STORE *first, int fz,
                                             int line, REAL (&window)[SPAN]) {
    const STORE *row = first + line * a.in_y;
    bool blank = false;
    REAL value = 0;
    if (FOLD_YZ) {
        const int fy = b.line[line];
        row = b.grid + (fz < 0 ? 0 : fz) * a.in_z + (fy < 0 ? 0 : fy) * a.in_y;
        blank = (Z_CONSTANT && fz < 0) || (Y_CONSTANT && fy < 0);
        value = Z_CONSTANT && fz < 0 ? a.constant[0][fz == PAST_HIGH] : a.constant[1][fy == PAST_HIGH];
    }
    // Without this, the optimizer compares the addresses of all unrolled slots with each other.
    if (FOLD_X) hide_from_optimizer(row);
    load_line<FOLD_X, FOLD_YZ>(a, b, row, line, blank, value, window);
}

// Adds the taps that read plane z to sum[d][r][v]. at_edge: see ONE_LOOP.
template <bool FOLD_X, bool FOLD_YZ>
__device__ __forceinline__ void add_plane(const tile_arguments &a, const thread_tile &b, const STORE *first, int z,
                                          bool at_edge, plane_sums &sum) {
    const int fz = FOLD_YZ ? fold<Z_SIDE_LOW, Z_SIDE_HIGH>(z < a.nz + Z_HIGH ? z : 0, a.nz) : z;
#pragma unroll
    for (int line = 0; line < LINES; line++) {
        REAL window[SPAN];
        if (ONE_LOOP && !at_edge)
            load_line_of<false, false>(a, b, first, fz, line, window);
        else
            load_line_of<FOLD_X, FOLD_YZ>(a, b, first, fz, line, window);
#pragma unroll
        for (int k = 0; k < NTAPS; k++) {
            const int r = line - Y_LOW - TAP_Y[k];  // the row that uses this line through tap k
            if (r < 0 || r >= ROWS) continue;
            const REAL weight = SHARED_WEIGHTS ? static_cast<REAL>(b.weight[k]) : a.weight[k];
#pragma unroll
            for (int v = 0; v < VECTOR; v++) sum[Z_HIGH - TAP_Z[k]][r][v] += weight * window[CENTRE + v + TAP_X[k]];
        }
    }
}

// Whether row (z, y) keeps its values because a tap would reach past a fixed side along z or y.
__device__ __forceinline__ bool frozen_row(const tile_arguments &a, int z, int y) {
    return (Z_SIDE_LOW == FIXED && z < Z_LOW) || (Z_SIDE_HIGH == FIXED && z >= a.nz - Z_HIGH) ||
           (Y_SIDE_LOW == FIXED && y < Y_LOW) || (Y_SIDE_HIGH == FIXED && y >= a.ny - Y_HIGH);
}

template <bool FOLD_X, bool FOLD_YZ>
__device__ __forceinline__ void save_plane(const tile_arguments &a, const thread_tile &b, STORE *out, int z,
                                           const REAL (&sum)[ROWS][VECTOR]) {
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        if (FOLD_YZ && (z >= a.nz || b.y + r >= a.ny)) continue;
        STORE result[VECTOR];
#pragma unroll
        for (int v = 0; v < VECTOR; v++) result[v] = narrow<STORE>(sum[r][v]);
        // Frozen points get their old value back, which is still in cache.
        if (FOLD_X && ANY_FIXED) {
            const bool row = FOLD_YZ && frozen_row(a, z, b.y + r);
            STORE before[VECTOR];
            if (!FOLD_YZ || row || b.frozen) load_run(before, b.grid + z * a.in_z + (b.y + r) * a.in_y + b.x);
#pragma unroll
            for (int v = 0; v < VECTOR; v++) result[v] = row || b.frozen >> v & 1 ? before[v] : result[v];
        }
        store_run(out + r * a.out_y, result);
    }
}

// FMAs of the interior's loop if it is unrolled as a whole.
constexpr int WHOLE_FMAS = NTAPS * ROWS * VECTOR * UNROLL;
// The number of planes that the column loop unrolls. Few blocks run this loop, and unrolled as a
// whole it takes twice as long to compile as the interior's loop. So it unrolls DEPTH planes,
// unless it has few FMAs, or so many that NVRTC does not unroll it as a whole.
constexpr int UNROLL_COLUMN = UNROLL > DEPTH &&WHOLE_FMAS > 1500 && WHOLE_FMAS < 2500 ? DEPTH : UNROLL;

template <bool FOLD_X, bool FOLD_YZ>
__device__ __forceinline__ void march(const tile_arguments &a, const thread_tile &b, STORE *out, bool at_edge = true) {
    const STORE *const first =  // load_line_of's `first`, for the first plane
        b.grid + (b.z - Z_LOW) * a.in_z + (b.y - Y_LOW) * a.in_y + (FOLD_X && !ONE_LOOP ? 0 : b.x - CENTRE);
    plane_sums sum = {};
#pragma unroll(FOLD_YZ ? 1 : FOLD_X ? UNROLL_COLUMN : UNROLL)
    for (int p = 0; p < CHUNK + Z_LOW + Z_HIGH; p++) {
        add_plane<FOLD_X, FOLD_YZ>(a, b, first + p * a.in_z, b.z + p - Z_LOW, at_edge, sum);
        if (p >= Z_LOW + Z_HIGH) {
            STORE *const to = out + (p - Z_LOW - Z_HIGH) * a.out_z;
            const int z = b.z + p - Z_LOW - Z_HIGH;
            if (ONE_LOOP && !at_edge)
                save_plane<false, false>(a, b, to, z, sum[0]);
            else
                save_plane<FOLD_X, FOLD_YZ>(a, b, to, z, sum[0]);
        }
        next_plane(sum);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) direct_tile(const __grid_constant__ tile_arguments a) {
    __shared__ REAL weight[SHARED_WEIGHTS ? NTAPS : 1];
    for (int i = threadIdx.x; SHARED_WEIGHTS && i < NTAPS; i += THREADS) weight[i] = a.weight[i];
    if (SHARED_WEIGHTS) __syncthreads();
    unsigned block = blockIdx.x;
    const int x0 = block % a.tiles_x * BX;
    block /= a.tiles_x;
    const int y0 = block % a.tiles_y * BY;
    block /= a.tiles_y;
    const int z0 = block % a.tiles_z * BZ;
    const long long batch = block / a.tiles_z;

    thread_tile b;
    b.weight = weight;
    b.grid = a.in + batch * a.in_batch;
    b.x = x0 + threadIdx.x % THREADS_X * VECTOR;
    b.y = y0 + threadIdx.x / THREADS_X % THREADS_Y * ROWS;
    b.z = z0 + threadIdx.x / (THREADS_X * THREADS_Y) * CHUNK;
    STORE *const out = a.out + batch * a.out_batch + b.z * a.out_z + b.y * a.out_y + b.x;
    const bool inside_x = x0 >= CENTRE && x0 + BX + HIGH_SLOTS * VECTOR <= a.nx;
    const bool inside_yz = y0 >= Y_LOW && y0 + BY + Y_HIGH <= a.ny && z0 >= Z_LOW && z0 + BZ + Z_HIGH <= a.nz;
    if constexpr (COLUMN_LOOP < 2 && !ONE_LOOP)
        if (inside_x && inside_yz) {
            march<false, false>(a, b, out);
            return;
        }
    if (b.x >= a.nx || b.y >= a.ny || b.z >= a.nz) return;
    b.frozen = 0;
#pragma unroll
    for (int v = 0; v < VECTOR; v++)
        if ((X_SIDE_LOW == FIXED && b.x + v < X_LOW) || (X_SIDE_HIGH == FIXED && b.x + v >= a.nx - X_HIGH))
            b.frozen |= 1u << v;
#pragma unroll
    for (int s = 0; s < SLOTS; s++) {
        const int x = b.x + s * VECTOR - CENTRE;
        b.past[s] = x < 0 || x >= a.nx;
        b.slot[s] = x < 0 ? fold_slot_low<X_SIDE_LOW>(x, a.nx) : x >= a.nx ? fold_slot_high<X_SIDE_HIGH>(x, a.nx) : x;
    }
    if (COLUMN_LOOP && inside_yz) {
        march<true, false>(a, b, out);
        return;
    }
#pragma unroll
    for (int i = 0; i < LINES; i++) {
        const int y = b.y + i - Y_LOW;
        b.line[i] = y < a.ny + Y_HIGH ? fold<Y_SIDE_LOW, Y_SIDE_HIGH>(y, a.ny) : 0;
    }
    march<true, true>(a, b, out, !(inside_x && inside_yz));
}
