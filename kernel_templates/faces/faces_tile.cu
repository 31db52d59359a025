// FUSED steps of the margins at the faces of a grid. A launch of another strategy applies the
// weights of FUSED steps at once (the operator); its results in the margins are wrong. This launch
// starts before that one ends, and replaces them.
//
//     u(t+1, p) = sum over taps k of  w[k] * u(t, p + TAP[k]),   t = 0 .. FUSED-1,   p in a margin:
//
//     +------------------------------+
//     |   margin of a face           |     margins: FUSED * reach points inside each side that
//     +---+----------------------+---+     does not wrap; they are disjoint, because those of the
//     |   |  the operator's      |   |     slower axis include the corners
//     |   |  own points          |   |
//     +---+----------------------+---+
//
// A block owns a tile of one margin, as deep as the margin, and holds the box of all points that
// its tile depends on: FUSED reaches more on every side but the face's own, where points past the
// face have their boundary values.
//
//        past the face        . . . . . . . . . . .        each step, the valid region
//        the face         ----+---+-----------+---+----    shrinks by a reach from
//                             | \ |  tile     | / |        the sides that are not faces
//                             |  \+-----------+/  |
//                             +-------------------+
//
// A thread holds a patch of ROWS x POINTS points of one plane of the box in registers; all threads
// write the points that neighbours read to shared memory. Its layout puts the first points of all
// patches first, then all second points, and so on, so that adjacent threads have no bank
// conflicts.
//
// The extents of the box depend on the axis that the face is normal to: BOX_Z[axis] x BOX_Y[axis] x
// BOX_X[axis].
#include "device/launch_checks.cuh"
#include "faces/box.cuh"

constexpr int WINDOW = POINTS + X_LOW + X_HIGH;

// The last step in which points first .. first + count - 1 of an axis are needed: FUSED less their
// distance from the block's own points in reaches.
__device__ __forceinline__ int last_step(int first, int count, const range &own, int reach) {
    const int gap = first >= own.end ? first - own.end + 1 : own.low - first - count + 1;
    return gap <= 0 ? FUSED : reach == 0 ? 0 : FUSED - (gap + reach - 1) / reach;
}

// The multiply-adds of one step of a patch: each tap for each row of the patch, ordered by the
// plane and row that the tap reads, so that few points are held at a time. A dense list compiles
// quickly; the compiler would otherwise unroll every combination of plane, row and tap before
// dropping the unused ones. MIRROR_X: points at opposite x offsets have the same weight and are
// added first, so one tap stands for both.
struct patch_taps {
    int count, tap[ROWS * NTAPS], row[ROWS * NTAPS];
    constexpr patch_taps() : count(0), tap(), row() {
        for (int dz = -Z_LOW; dz <= Z_HIGH; dz++)
            for (int i = -Y_LOW; i < ROWS + Y_HIGH; i++)
                for (int k = 0; k < NTAPS; k++) {
                    const int r = i - TAP_Y[k];
                    if (TAP_Z[k] == dz && r >= 0 && r < ROWS && (!MIRROR_X || TAP_X[k] <= 0))
                        tap[count] = k, row[count++] = r;
                }
    }
};
constexpr patch_taps PATCH{};

// Whether the taps of all planes have the same offsets along y and x, in the same order. The planes
// are then a loop that is not unrolled, if the code of all of them would be long.
constexpr int PLANE_COUNT = Z_LOW + Z_HIGH + 1;
constexpr bool planes_are_alike() {
    const int each = NTAPS / PLANE_COUNT;
    if (PLANE_COUNT == 1 || NTAPS % PLANE_COUNT) return false;
    for (int k = 0; k < NTAPS; k++)
        if (TAP_Z[k] != k / each - Z_LOW || TAP_Y[k] != TAP_Y[k % each] || TAP_X[k] != TAP_X[k % each]) return false;
    return true;
}
constexpr bool LOOP_OF_PLANES = PATCH.count * POINTS > 200 && planes_are_alike();

// next = the patch one step later; the patch's first point is at `cells`.
template <int AXIS>
__device__ __forceinline__ void step_patch(const face_arguments &a, const REAL *cells, const patch &own, patch &next) {
    constexpr int UNROLLED = LOOP_OF_PLANES ? PATCH.count / PLANE_COUNT : PATCH.count;
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int v = 0; v < POINTS; v++) next[r][v] = 0;
#pragma unroll 1
    for (int plane = 0; plane < (LOOP_OF_PLANES ? PLANE_COUNT : 1); plane++) {
        const REAL *const weights = a.weight + plane * (NTAPS / PLANE_COUNT);
        const REAL *const from = cells + plane * box<AXIS>::offset(1, 0, 0);
#pragma unroll
        for (int n = 0; n < UNROLLED; n++) {
            const int k = PATCH.tap[n], r = PATCH.row[n], i = r + TAP_Y[k], dx = TAP_X[k];
            // With Z_REACH the points of all patches are in shared memory.
            const bool inside = !LOOP_OF_PLANES && TAP_Z[k] == 0 && i >= 0 && i < ROWS;
            const REAL weight = weights[k], *const row = from + box<AXIS>::offset(TAP_Z[k], i, 0);
            const auto point = [&](int column) {
                const bool mine = inside && column >= 0 && column < POINTS;
                return mine ? own[mine ? i : 0][mine ? column : 0] : row[box<AXIS>::offset(0, 0, column)];
            };
#pragma unroll
            for (int v = 0; v < POINTS; v++)
                next[r][v] += weight * (MIRROR_X && dx ? point(v + dx) + point(v - dx) : point(v + dx));
        }
    }
}

// The same for separable weights, whose z and x factors are 1 at offset 0: sums planes first, then
// columns, then rows.
template <int AXIS>
__device__ __forceinline__ void step_separably(const face_arguments &a, const REAL *cells, const patch &own,
                                               patch &next) {
    constexpr int FIRST_Z = Z_LOW, FIRST_Y = FIRST_Z + Z_HIGH + 1 + Y_LOW, FIRST_X = FIRST_Y + Y_HIGH + 1 + X_LOW;
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int v = 0; v < POINTS; v++) next[r][v] = 0;
#pragma unroll
    for (int i = -Y_LOW; i < ROWS + Y_HIGH; i++) {
        REAL window[WINDOW];
#pragma unroll
        for (int x = 0; x < WINDOW; x++) {
            const int column = x - X_LOW;
            const bool mine = i >= 0 && i < ROWS && column >= 0 && column < POINTS;
            window[x] = mine ? own[mine ? i : 0][mine ? column : 0] : cells[box<AXIS>::offset(0, i, column)];
#pragma unroll
            for (int dz = -Z_LOW; dz <= Z_HIGH; dz++)
                if (dz) window[x] += a.weight[FIRST_Z + dz] * cells[box<AXIS>::offset(dz, i, column)];
        }
#pragma unroll
        for (int v = 0; v < POINTS; v++) {
            REAL sum = window[X_LOW + v];
#pragma unroll
            for (int dx = -X_LOW; dx <= X_HIGH; dx++)
                if (dx) sum += a.weight[FIRST_X + dx] * window[X_LOW + v + dx];
#pragma unroll
            for (int dy = -Y_LOW; dy <= Y_HIGH; dy++)
                if (i - dy >= 0 && i - dy < ROWS)
                    next[i - dy >= 0 && i - dy < ROWS ? i - dy : 0][v] += a.weight[FIRST_Y + dy] * sum;
        }
    }
}

// Whether index i of axis A is not past a face.
template <int A>
__device__ __forceinline__ bool lies_within(const tile &t, int i) {
    return SIDE[A][0] == WRAP || t.grid[A].has(i);
}

// The distance from i to the point that it folds to; outside every box if there is none.
template <int A>
__device__ __forceinline__ int shift(const tile &t, int i) {
    if (lies_within<A>(t, i)) return 0;
    const bool is_high = i >= t.grid[A].end;
    const int past = is_high ? i - t.grid[A].end + 1 : t.grid[A].low - i;
    const int side = is_high ? SIDE[A][1] : SIDE[A][0], reach = is_high ? TAPS_REACH[A][1] : TAPS_REACH[A][0];
    if (!folds(side) || past > reach) return -(1 << 24);
    const int by = side == NEAREST ? past : side == REFLECT ? 2 * past - 1 : 2 * past;
    return is_high ? -by : by;
}

// Refreshes points past a face along axis A from the points that they fold to; points past a slower
// axis's face are already refreshed.
template <int AXIS, int A>
__device__ __forceinline__ void refresh_axis(const tile &t, REAL *cells) {
    constexpr int LOW = TAPS_REACH[A][0], LAYERS = LOW + TAPS_REACH[A][1];
    constexpr int HEIGHT = A == 1 ? 1 : box<AXIS>::HEIGHT, WIDTH = A == 2 ? 1 : box<AXIS>::WIDTH;
    constexpr int LAYER = (A == 0 ? 1 : box<AXIS>::PLANES) * HEIGHT * WIDTH;
    for (int i = threadIdx.x; i < LAYERS * LAYER; i += THREADS_X) {
        const int layer = i / LAYER;
        int to[3] = {A == 0 ? 0 : i % LAYER / (HEIGHT * WIDTH), i / WIDTH % HEIGHT, i % WIDTH};
        to[A] = layer < LOW ? t.grid[A].low + layer - LOW : t.grid[A].end + layer - LOW;
        if (!folds(SIDE[A][layer >= LOW])) continue;
        // A point past a face of a slower axis is refreshed already.
        bool here = (A < 1 || lies_within<0>(t, to[0])) && (A < 2 || lies_within<1>(t, to[1]));
        const int by[3] = {A < 1 ? shift<0>(t, to[0]) : 0, A < 2 ? shift<1>(t, to[1]) : 0, shift<2>(t, to[2])};
        // Nothing depends on points that fold to outside the box, or they lie past a constant side
        // too.
#pragma unroll
        for (int k = 0; k < 3; k++) {
            const range extent = {0, box<AXIS>::extent(k)};
            here = here && extent.has(to[k]) && extent.has(to[k] + by[k]);
        }
        if (here)
            cells[box<AXIS>::cell(to[0], to[1], to[2])] =
                cells[box<AXIS>::cell(to[0] + by[0], to[1] + by[1], to[2] + by[2])];
    }
}

// A patch of the box and its position.
struct patch_position {
    int z, y, x, cell;
    unsigned changes;  // bit r * POINTS + v: steps change that point
    int last;          // the last step in which it is needed
};

template <int AXIS>
__device__ __forceinline__ patch_position find_patch(const tile &t) {
    typedef box<AXIS> box;
    const int lane = threadIdx.x, x = lane % box::LANES_X * POINTS, y = lane / box::LANES_X % box::LANES_Y * ROWS;
    const int z = lane / (box::LANES_X * box::LANES_Y);
    patch_position p = {z, y, x, box::cell(z, y, x), 0, 0};
    if (lane >= box::LANES || !t.stepped[0].has(z)) return p;
    unsigned columns = 0;
#pragma unroll
    for (int v = 0; v < POINTS; v++) columns |= t.stepped[2].has(x + v) ? 1u << v : 0;
#pragma unroll
    for (int r = 0; r < ROWS; r++) p.changes |= t.stepped[1].has(y + r) ? columns << r * POINTS : 0;
    if (p.changes)
        p.last = min(min(last_step(z, 1, t.own[0], Z_REACH), last_step(y, ROWS, t.own[1], Y_REACH)),
                     last_step(x, POINTS, t.own[2], X_REACH));
    return p;
}

// Loads the box as it is before the first step.
template <int AXIS>
__device__ __forceinline__ void load_box(const face_arguments &a, const STORE *grid, const tile &t, REAL *cells) {
    typedef box<AXIS> box;
    const bool inside = t.grid[0].has(0, box::PLANES) && t.grid[1].has(0, box::HEIGHT) && t.grid[2].has(0, box::WIDTH);
    for_points<box::PLANES, box::HEIGHT, box::WIDTH>(
        a.in_stride, first_position(t, a.in_stride), [&](int z, int y, int x, long long at) {
            REAL *const cell = cells + box::cell(z, y, x);
            if (!inside && (!t.grid[0].has(z) || !t.grid[1].has(y) || !t.grid[2].has(x)))
                *cell = first_value(a, grid, t.origin[0] + z, t.origin[1] + y, t.origin[2] + x);
            else
                copy_element(cell, grid + at);
        });
    copy_async_commit();
    copy_async_wait<0>();
}

// Stores the tile's own points after the last step.
template <int AXIS>
__device__ __forceinline__ void store_tile(const face_arguments &a, const tile &t, const REAL *cells, STORE *out) {
    typedef box<AXIS> box;
    constexpr int DEPTH = FUSED * REACH[AXIS];
    const int z0 = t.own[0].low, y0 = t.own[1].low, x0 = t.own[2].low;
    const long long first = z0 * a.out_stride[0] + y0 * a.out_stride[1] + x0 * a.out_stride[2];
    for_points<AXIS == 0 ? DEPTH : box::PLANES - 2 * FUSED * Z_REACH,
               AXIS == 1 ? DEPTH : box::HEIGHT - 2 * FUSED * Y_REACH,
               AXIS == 2 ? DEPTH : box::WIDTH - 2 * FUSED * X_REACH>(
        a.out_stride, first_position(t, a.out_stride) + first, [&](int z, int y, int x, long long at) {
            if (z0 + z < t.own[0].end && y0 + y < t.own[1].end && x0 + x < t.own[2].end)
                out[at] = narrow<STORE>(cells[box::cell(z0 + z, y0 + y, x0 + x)]);
        });
}

// Whether other patches, or a boundary rule, may read a point of a patch.
__device__ constexpr bool is_seen(int r, int v) {
    return FOLDS || Z_REACH > 0 || r < Y_HIGH || r >= ROWS - Y_LOW || v < X_HIGH || v >= POINTS - X_LOW;
}

template <int AXIS, bool WHOLE>
__device__ __forceinline__ void publish_patch(const patch &own, REAL *cells) {
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int v = 0; v < POINTS; v++)
            if (WHOLE || is_seen(r, v)) cells[box<AXIS>::offset(0, r, v)] = own[r][v];
}

// Reloads from shared memory the points whose bit in `changes` is 0.
template <int AXIS>
__device__ __forceinline__ void restore(patch &own, const REAL *cells, unsigned changes) {
    if (changes == ALL) return;
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int v = 0; v < POINTS; v++)
            if (!(changes >> (r * POINTS + v) & 1)) own[r][v] = cells[box<AXIS>::offset(0, r, v)];
}

template <int AXIS>
__device__ __forceinline__ void step_tile(const face_arguments &a, const tile &t, const STORE *grid, STORE *out,
                                          REAL *cells) {
    load_box<AXIS>(a, grid, t, cells);
    const patch_position p = find_patch<AXIS>(t);
    const bool has_patch = threadIdx.x < box<AXIS>::LANES;
    patch own;
    __syncthreads();
#pragma unroll 1
    for (int s = 1; s <= FUSED; s++) {
        // The first step loads all points, later ones those that the boundary rule replaced.
        if (has_patch && (FOLDS || s == 1)) restore<AXIS>(own, cells + p.cell, s == 1 ? 0 : p.changes);
        if (s <= p.last) {
            patch next;
            if constexpr (SEPARABLE)
                step_separably<AXIS>(a, cells + p.cell, own, next);
            else
                step_patch<AXIS>(a, cells + p.cell, own, next);
#pragma unroll
            for (int r = 0; r < ROWS; r++)
#pragma unroll
                for (int v = 0; v < POINTS; v++) own[r][v] = next[r][v];
            restore<AXIS>(own, cells + p.cell, p.changes);
        }
        __syncthreads();  // all threads have finished reading
        if (s == FUSED) break;
        if (s <= p.last) publish_patch<AXIS, false>(own, cells + p.cell);
        __syncthreads();
        if (!FOLDS) continue;
        if constexpr (folds_along(0)) refresh_axis<AXIS, 0>(t, cells);
        if constexpr (folds_along(1)) refresh_axis<AXIS, 1>(t, cells);
        if constexpr (folds_along(2)) refresh_axis<AXIS, 2>(t, cells);
        __syncthreads();
    }
    if (p.last == FUSED) publish_patch<AXIS, true>(own, cells + p.cell);
    __syncthreads();
    wait_for_previous_launch();  // the operator's launch may write invalid values in the margins
    store_tile<AXIS>(a, t, cells, out);
}

// Elements of the largest box.
constexpr int most_cells() {
    const int cells[3] = {TILED[0] ? box<0>::CELLS : 0, TILED[1] ? box<1>::CELLS : 0, TILED[2] ? box<2>::CELLS : 0};
    int most = 0;
    for (int axis = 0; axis < 3; axis++) most = cells[axis] > most ? cells[axis] : most;
    return most;
}
static_assert(shared_bytes_match(most_cells() * sizeof(REAL)), "the launcher gives as much shared memory");
extern "C" __global__ void __launch_bounds__(THREADS_X, BLOCKS) faces_tile(const __grid_constant__ face_arguments a) {
    let_next_launch_begin();  // the operator's next launch may start
    extern __shared__ __align__(16) unsigned char stn_shared[];
    REAL *const cells = reinterpret_cast<REAL *>(stn_shared);
    const long long batch = blockIdx.x / a.blocks;
    const int number = static_cast<int>(blockIdx.x - batch * a.blocks);
    int which = 0;
    while (which + 1 < a.pieces && number >= a.at[which + 1].first) which++;
    const piece &f = a.at[which];
    const STORE *const grid = a.in + batch * a.in_batch;
    STORE *const out = a.out + batch * a.out_batch;
    const tile t = locate_tile(a, f, number - f.first);
    if constexpr (TILED[0])
        if (f.axis == 0) step_tile<0>(a, t, grid, out, cells);
    if constexpr (TILED[1])
        if (f.axis == 1) step_tile<1>(a, t, grid, out, cells);
    if constexpr (TILED[2])
        if (f.axis == 2) step_tile<2>(a, t, grid, out, cells);
}
