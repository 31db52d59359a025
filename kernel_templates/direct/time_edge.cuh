// Boundary handling of direct_time_tile in tiles that meet an edge of the grid.
#pragma once
#include "direct/time_tile.cuh"

// The index that i folds to: i itself where no folding is needed, PAST_* past a constant or fixed
// side, UNUSED where no tap reads.
constexpr int UNUSED = -3;
template <int LOW, int HIGH>
__device__ __forceinline__ int source(int i, int n, int reach) {
    if (LOW == WRAP || lies_in(i, n)) return i;
    if (i < -reach || i >= n + reach) return UNUSED;
    return static_cast<int>(i < 0 ? fold_low<LOW>(i, n) : fold_high<HIGH>(i, n));
}

// Finds, for each of this lane's points, the index in `exchange` from which every plane reads it:
// its own; for a point past an edge along x or y that of the point that it folds to, or of the
// side's constant value. This is computed once, because it takes many times as long as a step.
__device__ __forceinline__ void find_fold_sources(const tile_arguments &a, const tile &t, shared_type &shared) {
    const int lane_x = threadIdx.x % LANES_X * POINTS, lane_y = threadIdx.x / LANES_X * ROWS;
    const int first_x = t.x - lane_x, first_y = t.y - lane_y;
    constexpr int PAST_Y = HEIGHT * WIDTH, PAST_X = PAST_Y + 2;
    static_assert(!REFRESH || PAST_X + 2 <= 65536, "cells are counted in 16 bits");
    if (threadIdx.x < 4) shared.exchange[PAST_Y + threadIdx.x] = a.constant[1 + threadIdx.x / 2][threadIdx.x % 2];
#pragma unroll 1
    for (int i = 0; i < ROWS * POINTS; i++) {
        const int own_y = t.y + i / POINTS, own_x = t.x + i % POINTS;
        const int y = source<Y_SIDE_LOW, Y_SIDE_HIGH>(own_y, static_cast<int>(a.ny), Y_REACH);
        const int x = source<X_SIDE_LOW, X_SIDE_HIGH>(own_x, static_cast<int>(a.nx), X_REACH);
        const bool outside_y = Y_SIDE_LOW != WRAP && y < 0, outside_x = X_SIDE_LOW != WRAP && x < 0;
        int cell = (own_y - first_y) * WIDTH + own_x - first_x;
        if ((outside_y && y == UNUSED) || (outside_x && x == UNUSED))
            ;  // no tap reads there
        else if (outside_y)
            cell = PAST_Y + (own_y >= 0);
        else if (outside_x)
            cell = PAST_X + (own_x >= 0);
        else if (lies_in(y - first_y, HEIGHT) && lies_in(x - first_x, WIDTH))
            cell = (y - first_y) * WIDTH + x - first_x;
        shared.source[i][threadIdx.x] = static_cast<unsigned short>(cell);
    }
}

// Refreshes points past an edge along x or y from the points of the same plane that they fold to.
__device__ __forceinline__ void refresh_plane(shared_type &shared, patch &plane) {
    const int lane_x = threadIdx.x % LANES_X * POINTS, lane_y = threadIdx.x / LANES_X * ROWS;
    synchronize();
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int v = 0; v < POINTS; v++) shared.exchange[(lane_y + r) * WIDTH + lane_x + v] = plane[r][v];
    synchronize();
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int v = 0; v < POINTS; v++) plane[r][v] = shared.exchange[shared.source[r * POINTS + v][threadIdx.x]];
}

// Sets the points of a plane that lie past an edge, before the plane is used.
template <bool EDGE>
__device__ __forceinline__ void complete_edges(const tile_arguments &a, const tile &t, int z, shared_type &shared,
                                               patch &plane) {
    if (!EDGE) return;
    if (REFRESH && !t.inside) refresh_plane(shared, plane);
    if (past_z(z, a.nz))
#pragma unroll
        for (int r = 0; r < ROWS; r++)
#pragma unroll
            for (int v = 0; v < POINTS; v++) plane[r][v] = value_past_z(z, a.constant[0]);
}

// The lane's points that keep their value in output d (numbered as in device/edge.cuh), one bit
// each, in the order of tile::frozen.
template <bool EDGE>
__device__ __forceinline__ unsigned kept_points(const tile &t, unsigned outputs, int d) {
    if (!EDGE) return 0;
    return ANY_FIXED_Z && (outputs >> d & 1) ? ~0u : FREEZES_XY ? t.frozen : 0;
}

// Adds the plane in `window`, which is near an edge along z, once for each plane past the edge that
// folds to it. `plane` holds the sums of output d = 0; `sums`, those of the following outputs.
__device__ __forceinline__ void add_folded(const tile_arguments &a, const tile &t, const window_type &window,
                                           unsigned folded, unsigned outputs, patch &plane, sums_type &sums) {
#pragma unroll 1
    for (int g = -2 * Z_REACH; g <= 2 * Z_REACH; g++) {
        if (!(folded >> (2 * Z_REACH + g) & 1)) continue;
#pragma unroll
        for (int d = 0; d < DEPTH; d++) {
            const int tap = DEPTH - 1 - d + g;
            if (tap < 0 || tap >= DEPTH || (outputs >> d & 1)) continue;
            patch &sum = d ? sums[d ? d - 1 : 0] : plane;
            patch more;
#pragma unroll
            for (int r = 0; r < ROWS; r++)
#pragma unroll
                for (int v = 0; v < POINTS; v++) more[r][v] = sum[r][v];
#pragma unroll
            for (int i = 0; i < SIDE_Y; i++)
#pragma unroll
                for (int k = 0; k < SIDE_X; k++) {
                    // 0 times infinity would be NaN, so absent taps are skipped
                    if (!(TAPS.planes[i][k] >> tap & 1)) continue;
                    const REAL weight = a.weight[tap][i][k];
#pragma unroll
                    for (int r = 0; r < ROWS; r++)
#pragma unroll
                        for (int v = 0; v < POINTS; v++) more[r][v] += weight * window[r + i][v + k];
                }
#pragma unroll
            for (int r = 0; r < ROWS; r++)
#pragma unroll
                for (int v = 0; v < POINTS; v++)
                    if (!FREEZES_XY || !(t.frozen >> (r * POINTS + v) & 1)) sum[r][v] = more[r][v];
        }
    }
}
