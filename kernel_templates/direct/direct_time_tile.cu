// FUSED steps of a 2D or 3D stencil in one launch.
//
//     u(t+1, z, y, x) = sum over taps k of  w[k] * u(t, z + TAP_Z[k], y + TAP_Y[k], x + TAP_X[k]),
//     t = 0 .. FUSED-1
//
// A block owns a tile of an x-y plane and marches along z, one plane an iteration, with all FUSED
// stages in flight:
//
//     plane z           of level 0   read from memory, PREFETCH iterations ahead
//     plane z -   Z_REACH of level 1   complete once plane z of level 0 is added to its sums
//     plane z - 2 Z_REACH of level 2   ... and so on; the plane of level FUSED is stored
//
// Between iterations a stage keeps its 2 * Z_REACH planes of incomplete partial sums in registers.
// LANES_X lanes along x and STACK along y cover the tile, each with POINTS points along x and ROWS
// along y:
//
//     +-----------------------------------+
//     |  margin, FUSED * Y_REACH          |
//     |    +-------------------------+    |
//     |    |  stored                 |    |
//     |    +-------------------------+    |
//     +-----------------------------------+
//
// Margins are computed by both neighbouring tiles. Lanes get their neighbours' points along x by
// shuffles, and along y from whole rows in shared memory. If a tap is diagonal in the plane, these
// rows also supply the corners.
//
// A 2D problem's axes are z and x: a plane is a row, STACK and ROWS are 1, a block is one warp, and
// there is no barrier. In 3D, if all taps with a z offset are on the z axis and MIRROR_Z is 0
// (ONE_BARRIER), only the tap at +Z_REACH is missing from a sum when its last plane arrives, and it
// reads the lane's own point. So a lane completes one plane of every level without its neighbours'
// values, and an iteration that meets no edge has one barrier. Otherwise every stage waits for its
// neighbours' rows.
//
// Boundaries: iterations that meet an edge do more, so that every level is correct at every point.
//   x, y   A plane passes through shared memory. Each point past an edge gets the value of the
//          point to which its index folds, or that of a constant side. Frozen points keep their
//          values. If a side wraps, margins are read from the other end of the grid.
//   z      device/edge.cuh
// If SPANS (2D only), one tile covers whole rows of the grid: its margins hold only the points past
// the edges, and no value of a row comes from another tile.
#include "device/launch_checks.cuh"
#include "direct/time_edge.cuh"
#include "direct/time_tile.cuh"
#include "params.cuh"

static_assert(32 % LANES_X == 0 && THREADS % 32 == 0, "whole warps, whole rows of lanes");
static_assert(FUSED >= 2, "between two uses of a stage's rows in shared memory lies a barrier of another stage");
static_assert(X_REACH >= 1 && Z_REACH >= 1 && (Y_REACH >= 1 || (STACK == 1 && ROWS == 1)), "every axis is coupled");
static_assert(X_REACH <= POINTS && Y_REACH <= ROWS && OWN_X > X_REACH && OWN_Y > Y_REACH, "neighbours hold the halo");
static_assert(POINTS % VECTOR == 0 && VECTOR * sizeof(STORE) <= 16 && ROWS * POINTS <= 32, "whole accesses; bits");
static_assert(!SPANS || X_SIDE_LOW != WRAP, "points past an end fold to points of the row");
static_assert((MIRROR_X == 0 || MIRROR_X == 1) && (MIRROR_Z == 0 || MIRROR_Z == 1), "flags");

// ---- a stage takes plane z of its level and produces plane z - Z_REACH of the next level

// Adds the taps of stencil plane `j` at point (r, v) to `sum`, or begins the sum with them.
__device__ __forceinline__ REAL add_taps(const tile_arguments &a, const window_type &window, int j, int r, int v,
                                         REAL sum, bool begin) {
#pragma unroll
    for (int i = 0; i < SIDE_Y; i++)
#pragma unroll
        for (int k = -X_REACH; k <= X_REACH; k++) {
            if (!TAPS.has[j][i][X_REACH + k] || (MIRROR_X && k < 0)) continue;
            const REAL *const centre = &window[r + i][X_REACH + v];
            const REAL value = MIRROR_X && k > 0 ? centre[-k] + centre[k] : centre[k];
            sum = begin ? a.weight[j][i][X_REACH + k] * value : sum + a.weight[j][i][X_REACH + k] * value;
            begin = false;
        }
    return sum;
}

// Adds the products of plane z to the sums of all output planes that read it: next[d] is the sum of
// output plane z - Z_REACH + d, which reads plane z by its taps of z offset Z_REACH - d.
template <int FIRST>
__device__ __forceinline__ void add_plane(const tile_arguments &a, const window_type &window, int r, int v,
                                          REAL (&next)[DEPTH]) {
    if (!MIRROR_Z) {
#pragma unroll
        for (int d = FIRST; d < DEPTH; d++) next[d] = add_taps(a, window, DEPTH - 1 - d, r, v, next[d], d == DEPTH - 1);
        return;
    }
    next[Z_REACH] = add_taps(a, window, Z_REACH, r, v, next[Z_REACH], false);
#pragma unroll
    for (int d = 0; d < Z_REACH; d++) {
        if (!TAPS.plane[d]) continue;
        const REAL both = add_taps(a, window, d, r, v, REAL(0), true);
        next[d] += both;
        next[DEPTH - 1 - d] = d == 0 ? both : next[DEPTH - 1 - d] + both;
    }
}

// Adds plane z to the sums of one step. FIRST 0: next[0] becomes complete and is the plane of the
// next level. 1: complete_plane has computed that plane already.
template <bool EDGE, int FIRST>
__device__ __forceinline__ void take_plane(const tile_arguments &a, const tile &t, const window_type &window, int z,
                                           patch &plane, sums_type &sums) {
    const unsigned outputs = EDGE ? frozen_outputs(z, a.nz) : 0;
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int v = 0; v < POINTS; v++) {
            REAL next[DEPTH];
#pragma unroll
            for (int d = FIRST; d < DEPTH; d++) next[d] = d < DEPTH - 1 ? sums[d < DEPTH - 1 ? d : 0][r][v] : REAL(0);
            add_plane<FIRST>(a, window, r, v, next);
#pragma unroll
            for (int d = FIRST; d <= Z_REACH; d++)
                if (kept_points<EDGE>(t, outputs, d) >> (r * POINTS + v) & 1)
                    next[d] = d == Z_REACH ? plane[r][v] : sums[d < DEPTH - 1 ? d : 0][r][v];
            if (FIRST == 0) plane[r][v] = next[0];
#pragma unroll
            for (int d = 0; d < DEPTH - 1; d++) sums[d][r][v] = next[d + 1];
        }
}

// ONE_BARRIER: computes the plane of the next level from a lane's own points.
template <bool EDGE>
__device__ __forceinline__ void complete_plane(const tile_arguments &a, const tile &t, int z, const patch &plane,
                                               const sums_type &sums, patch &complete) {
    const unsigned kept = kept_points<EDGE>(t, EDGE ? frozen_outputs(z, a.nz) : 0, 0);
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int v = 0; v < POINTS; v++) {
            complete[r][v] = sums[0][r][v];
            // 0 times infinity would be NaN, so an absent tap is skipped
            if (TAPS.has[DEPTH - 1][Y_REACH][X_REACH])
                complete[r][v] += a.weight[DEPTH - 1][Y_REACH][X_REACH] * plane[r][v];
            if (kept >> (r * POINTS + v) & 1) complete[r][v] = sums[0][r][v];
        }
}

template <bool EDGE>
__device__ __forceinline__ void advance_one_barrier(const tile_arguments &a, const tile &t, shared_type &shared,
                                                    rows_type (&rows)[Y_REACH ? FUSED : 1], int z, patch &plane,
                                                    sums_type (&sums)[FUSED]) {
    patch planes[FUSED + 1];
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int v = 0; v < POINTS; v++) planes[0][r][v] = plane[r][v];
#pragma unroll
    for (int s = 0; s < FUSED; s++) {
        complete_edges<EDGE>(a, t, z - s * Z_REACH, shared, planes[s]);
        publish_rows(planes[s], rows[Y_REACH ? s : 0]);
        complete_plane<EDGE>(a, t, z - s * Z_REACH, planes[s], sums[s], planes[s + 1]);
    }
    synchronize();
#pragma unroll
    for (int s = 0; s < FUSED; s++) {
        window_type window;
        own_rows(planes[s], window);
        fetch_rows(rows[Y_REACH ? s : 0], window);
        take_plane<EDGE, 1>(a, t, window, z - s * Z_REACH, planes[s], sums[s]);
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int v = 0; v < POINTS; v++) plane[r][v] = planes[FUSED][r][v];
}

// Sets the plane's points past edges, and fetches the neighbours' points into the window.
template <bool EDGE>
__device__ __forceinline__ void prepare_plane(const tile_arguments &a, const tile &t, shared_type &shared,
                                              rows_type &rows, int z, patch &plane, window_type &window) {
    complete_edges<EDGE>(a, t, z, shared, plane);
    publish_rows(plane, rows);
    own_rows(plane, window);
    if (Y_REACH) synchronize();
    fetch_rows(rows, window);
}

// Runs all stages; the plane of the last level replaces the input plane.
template <bool EDGE, bool FOLDED>
__device__ __forceinline__ void advance(const tile_arguments &a, const tile &t, shared_type &shared, int parity, int z,
                                        patch &plane, sums_type (&sums)[FUSED]) {
    if (ONE_BARRIER && !FOLDED) {
        advance_one_barrier<EDGE>(a, t, shared, shared.rows[ONE_BARRIER ? parity : 0], z, plane, sums);
        return;
    }
#pragma unroll
    for (int s = 0; s < FUSED; s++) {
        window_type window;
        prepare_plane<EDGE>(a, t, shared, shared.rows[ONE_BARRIER ? parity : 0][Y_REACH ? s : 0], z - s * Z_REACH,
                            plane, window);
        take_plane<EDGE, 0>(a, t, window, z - s * Z_REACH, plane, sums[s]);
        if (!FOLDED) continue;
        const unsigned folded = folded_rows(z - s * Z_REACH, a.nz), outputs = frozen_outputs(z - s * Z_REACH, a.nz);
        if (folded) add_folded(a, t, window, folded, outputs, plane, sums[s]);
    }
}

// Tiles at the edges along x take longest, so they are scheduled first; then the others in order.
__device__ __forceinline__ int tile_column(const tile_arguments &a, long long &number) {
    const int edges = min(a.tiles_x, 2);
    const long long edge_blocks = a.tiles / a.tiles_x * edges;
    const bool is_edge = number < edge_blocks;
    const int columns = is_edge ? edges : a.tiles_x - edges;
    if (!is_edge) number -= edge_blocks;
    const int column = static_cast<int>(number % columns);
    number /= columns;
    return is_edge ? column * (a.tiles_x - 1) : column + 1;
}

// Fills t (struct tile of time_tile.cuh); `in` and `out` are the tile's grids. changed: 1 is for
// planes whose rows begin in the other half of a word than in plane 0.
__device__ __forceinline__ void place_lane(const tile_arguments &a, const STORE *in, const STORE *out, int own_y,
                                           int own_x, tile &t) {
    const int ny = static_cast<int>(a.ny), nx = static_cast<int>(a.nx);
    const int first_y = own_y - MARGIN_Y, first_x = own_x - MARGIN_X;
    t.y = first_y + threadIdx.x / LANES_X * ROWS;
    t.x = first_x + threadIdx.x % LANES_X * POINTS;
    t.run_y = first_y + threadIdx.x / COPY_LANES * COPY_ROWS;
    t.run_x = first_x + threadIdx.x % COPY_LANES * (TRANSPOSED ? RUN : POINTS);
    t.inside =
        first_x >= X_REACH && first_x + WIDTH + X_REACH <= nx && first_y >= Y_REACH && first_y + HEIGHT + Y_REACH <= ny;
    if constexpr (OTHER_ROWS)
#pragma unroll
        for (int r = 0; r < ROWS; r++) t.source_row[r] = (wrapped_once(t.run_y + r, ny) - t.run_y) * a.in_y;
    if constexpr (WRAPPED && !WORDS)
        if (!t.inside) {
#pragma unroll
            for (int r = 0; r < COPY_ROWS; r++) t.source_y[r] = WRAPS_Y ? wrapped(t.run_y + r, ny) : t.run_y + r;
#pragma unroll
            for (int s = 0; s < COPIES; s++) {
                const int x = t.run_x + s * RUN_STEP;
                t.source_x[s] = WRAPS_X ? wrapped(x, nx) : x;
            }
        }
    t.frozen = t.places = 0;
    t.in_odd = static_cast<int>(a.in_z) & 1, t.out_odd = static_cast<int>(a.out_z) & 1;
    if (WORDS) hide_from_optimizer(t.in_odd), hide_from_optimizer(t.out_odd);
    const auto copied_place = [&](int y) {
        return place_of(in + (WRAPS_Y ? wrapped_once(y, ny) : y) * a.in_y + first_x);
    };
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        t.places |= copied_place(t.y + r) << (PLACE_BIT + 5 * r);
#pragma unroll
        for (int v = 0; v < POINTS; v++) {
            const int y = t.y + r, x = t.x + v;
            if ((X_SIDE_LOW == FIXED && x < X_LOW) || (X_SIDE_HIGH == FIXED && x >= nx - X_HIGH) ||
                (Y_SIDE_LOW == FIXED && y < Y_LOW) || (Y_SIDE_HIGH == FIXED && y >= ny - Y_HIGH))
                t.frozen |= 1u << (r * POINTS + v);
        }
    }
    const int end = min(own_x + OWN_X, nx);
    t.store_shift = place_of(out + t.run_y * a.out_y + first_x) << PLACE_BIT;
    t.odd_row_shift = (static_cast<unsigned>(a.out_y) & 1) << PLACE_BIT;
#pragma unroll
    for (int changed = 0; changed < 1 + WORDS; changed++) {
        t.exists[changed] = t.partial[changed] = t.stored[changed] = t.partial_stored[changed] = 0;
#pragma unroll
        for (int r = 0; r < COPY_ROWS; r++) {
            const int y = t.run_y + r;
            const bool stores = lies_in(y, ny) && lies_in(y - own_y, OWN_Y);
            const int place = copied_place(y) ^ changed, stored_place = place_of(out + y * a.out_y + first_x) ^ changed;
            if (WORDS && stores) {
                const int last_alone = end == own_x + OWN_X ? LAST_ALONE : END_ALONE;
                if (lies_in(own_x - t.x, POINTS) && (own_x - first_x + stored_place) % 2)
                    t.stored[changed] |= 1u << (FIRST_ALONE + r);
                if (lies_in(end - 1 - t.x, POINTS) && (end - first_x + stored_place) % 2)
                    t.stored[changed] |= 1u << (last_alone + r);
            }
#pragma unroll
            for (int s = 0; s < COPIES; s++) {
                const int x = t.run_x + s * RUN_STEP, in_x = x - (WORDS ? place : 0),
                          out_x = x - (WORDS ? stored_place : 0);
                const bool whole = in_x >= 0 && in_x + RUN <= nx, stored_whole = out_x >= own_x && out_x + RUN <= end;
                const unsigned bit = 1u << (r * COPIES + s);
                if (!(WORDS && WRAPS_Y ? lies_in(y + MARGIN_Y, ny + 2 * MARGIN_Y) : lies_in(y, ny))) continue;
                if (whole) t.exists[changed] |= bit;
                if (!whole && in_x + RUN > 0 && in_x < nx) t.partial[changed] |= bit;
                if (stores && stored_whole) t.stored[changed] |= bit;
                if (stores && !stored_whole && out_x + RUN > own_x && out_x < end) t.partial_stored[changed] |= bit;
            }
        }
    }
}

static_assert(shared_bytes_match(sizeof(shared_type), 63), "the launcher gives as much shared memory");
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    direct_time_tile(const __grid_constant__ tile_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    shared_type &shared = *reinterpret_cast<shared_type *>(stn_shared);
    long long number = blockIdx.x;
    const int column = tile_column(a, number), nz = static_cast<int>(a.nz);
    const int own_y = static_cast<int>(number % a.tiles_y) * OWN_Y;
    number /= a.tiles_y;
    const int z0 = static_cast<int>(number % a.tiles_z) * a.chunk;
    number /= a.tiles_z;
    tile t;
    const STORE *const in = a.in + number * a.in_batch;
    STORE *const out = a.out + number * a.out_batch;
    place_lane(a, in, out, own_y, column * OWN_X, t);
    if (REFRESH && !t.inside) find_fold_sources(a, t, shared);
    const int z1 = min(z0 + a.chunk, nz), last = z1 + FUSED * Z_REACH;

    sums_type sums[FUSED] = {};
    int z = z0 - FUSED * Z_REACH, slot = 0, parity = 0;
    // If z wraps, the plane of the grid from which plane z is copied.
    int source_z = WORDS && Z_SIDE_LOW == WRAP ? wrapped(z, nz) : z;
    far_words far;  // of the newest plane that was fetched
#pragma unroll
    for (int i = 0; i < FAR; i++) far.index[i] = -1;
    // This lane's first runs of the planes that are fetched and stored next.
    const STORE *from = in + z * a.in_z + t.run_y * a.in_y + t.run_x;
    STORE *to = out + (z - FUSED * Z_REACH) * a.out_z + t.run_y * a.out_y + t.run_x;
#pragma unroll(FAR ? 1 : PREFETCH)
    for (int p = 0; p < PREFETCH; p++, from += a.in_z) {
        if (FAR && p > 0 && !t.inside) store_far(far, shared.slot[p - 1]);
        fetch_plane(a, t, z + p, from, shared.slot[p], far);
        copy_async_commit();
    }
    held_plane held;
    const auto await_plane = [] {
        copy_async_wait<PREFETCH - 1>();
        if (TRANSPOSED || WORDS)
            // Other lanes' copies are complete, and they have read the slot that is filled next.
            __syncwarp();
    };
    if (READS_EARLY) await_plane(), read_slot(shared.slot[0], held);
#pragma unroll 1
    for (; z < last; z++, from += a.in_z, to += a.out_z) {
        if (!READS_EARLY) await_plane();
        const int ready = slot;
        if (FAR && !t.inside) store_far(far, shared.slot[slot < 2 ? slot + PREFETCH - 1 : slot - 2]);
        if (z + PREFETCH < last) fetch_plane(a, t, z + PREFETCH, from, shared.slot[slot ? slot - 1 : PREFETCH], far);
        copy_async_commit();
        slot = slot < PREFETCH ? slot + 1 : 0;

        patch plane;
        const bool inside_z = Z_SIDE_LOW == WRAP || (z >= (FUSED + 1) * Z_REACH && z + 2 * Z_REACH < nz);
        const bool inside_xy = (X_SIDE_LOW == WRAP && (Y_REACH == 0 || Y_SIDE_LOW == WRAP)) || t.inside;
        if (!READS_EARLY) read_slot(shared.slot[ready], held);
        widen_plane(t, held, changes_place(source_z, t.in_odd), plane);
        if (WORDS && ++source_z == nz && Z_SIDE_LOW == WRAP) source_z = 0;
        if (inside_z && inside_xy)
            advance<false, false>(a, t, shared, parity, z, plane, sums);
        else if (inside_z || !FOLDS_Z)
            advance<true, false>(a, t, shared, parity, z, plane, sums);
        else
            advance<true, true>(a, t, shared, parity, z, plane, sums);
        if (READS_EARLY) await_plane(), read_slot(shared.slot[slot], held);
        if (z - FUSED * Z_REACH >= z0)
            store_plane(a, t, z - FUSED * Z_REACH, to, shared.slot[SLOTS + TRANSPOSED - 1], plane);
        parity ^= 1;
    }
}
