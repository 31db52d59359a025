// Common parts of lowrank_plane and lowrank_mixed: a block has 16 * WARPS rows of one grid and
// marches through them along x in stages of 16 columns; `lead` columns precede its first outputs.
//
//            x0 - lead   x0                 x0 + columns
//     y0         |-------|------ march ->--------|
#pragma once
#include "device/launch_checks.cuh"
#include "params.cuh"

static_assert(!EVEN || (Y_LOW == Y_HIGH && X_LOW == X_HIGH), "even weights reach as far to either side");
static_assert(STAGES >= 2, "the loop computes on one stage while others arrive");
constexpr int THREADS = 32 * WARPS;
// Weights of a term that the launcher passes.
constexpr int WEIGHTS_Y = EVEN ? Y_LOW + 1 : Y_LOW + Y_HIGH + 1;
constexpr int WEIGHTS_X = EVEN ? X_LOW + 1 : X_LOW + X_HIGH + 1;

// The grids, as the launcher passes them; the weights follow.
struct plane_grids {
    const STORE *in;
    STORE *out;
    long long ny, nx;
    long long in_y, out_y, in_batch, out_batch;  // strides in elements; along x they are 1
    // Columns that a block marches through, a multiple of 16.
    long long segment;
    long long tiles_y, tiles_x;  // blocks of one grid
};
static_assert(layout_matches(sizeof(plane_grids)), "the launcher's mirrored struct of the arguments");

// This block's region.
struct plane_block {
    const STORE *grid;
    STORE *out;
    long long y0, x0, columns;  // columns: number of output columns
};
__device__ __forceinline__ plane_block find_block(const plane_grids &a) {
    const long long tile_x = blockIdx.x % a.tiles_x, rest = blockIdx.x / a.tiles_x;
    const long long tile_y = rest % a.tiles_y, batch = rest / a.tiles_y;
    plane_block b{a.in + batch * a.in_batch, a.out + batch * a.out_batch, tile_y * 16 * WARPS, tile_x * a.segment, 0};
    b.columns = a.nx - b.x0 < a.segment ? a.nx - b.x0 : a.segment;
    return b;
}
