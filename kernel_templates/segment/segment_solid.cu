// What the sides of a solid add in f steps, from their planes (src/strategies/segment/terms.h):
//
//     out(z, y, x) += sum over axes, sides and terms j of  depth_j(points from the side) plane_j(the other two)
//
//     across x: plane_j(z, y), across y: plane_j(z, x), across z: plane_j(y, x)
//
//                 64 columns x: lane, lane + 32
//               +--------------------------------+
//       4 ROWS  | warp 0 | each has 4 rows y and |     4 SLICES slices z
//       rows y  | warp 1 | 4 slices z of all 64  |
//               +--------------------------------+
//
// A block adds to one tile. At some depth and deeper only the first terms are not 0 (counts), so a warp takes as many as the nearest of its points
// has. Points that are frozen are written afterwards (segment_source.cu). Reads STORE, REAL, SOLID_ROWS, SOLID_SLICES.
#include "device/element.cuh"
#include "device/twins.cuh"

constexpr int EACH = 4, WIDE = 2, TILE_X = 32 * WIDE, TILE_Y = EACH * SOLID_ROWS, TILE_Z = EACH * SOLID_SLICES;

struct solid_side {
    const REAL *depth;  // [term][width]
    const int *counts;  // [width]
};
struct solid_arguments {
    STORE *out;
    long long out_z, out_y, out_batch;
    const REAL *plane[3];   // across z, y, x: [grid][side][term][rows][pitch]
    solid_side side[3][2];  // no counts: that side adds nothing
    int rows[3], pitch[3], n[3], width[3], terms[3];
    unsigned tiles_x, tiles_y, tiles_z;
};

static_assert(is_twin(sizeof(solid_arguments)), "solid_header of segment/solid.c");

// A warp's points along one axis, MANY of them STEP apart; those past the end are the last one again.
template <int MANY>
struct span {
    int at[MANY], first, last;
};
template <int MANY, int STEP>
__device__ __forceinline__ span<MANY> span_of(int first, int own, int length, int n) {
    span<MANY> s;
    s.first = min(first, n - 1), s.last = min(first + length, n) - 1;
#pragma unroll
    for (int i = 0; i < MANY; i++) s.at[i] = min(first + own + STEP * i, n - 1);
    return s;
}

// Of both sides across AXIS, term after term: add(where the term's plane begins, a number for each point of the span).
template <int AXIS, int MANY, class ADD>
__device__ __forceinline__ void each_term(const solid_arguments &a, long long grid, const span<MANY> &s,
                                          const ADD &add) {
    const long long plane = static_cast<long long>(a.rows[AXIS]) * a.pitch[AXIS];
#pragma unroll 1
    for (int side = 0; side < 2; side++) {
        const solid_side own = a.side[AXIS][side];
        const int n = a.n[AXIS], nearest = side ? n - 1 - s.last : s.first;
        if (!own.counts || nearest >= a.width[AXIS]) continue;
        const int count = own.counts[nearest];
        const REAL *from = a.plane[AXIS] + (2 * grid + side) * a.terms[AXIS] * plane;
        const REAL *depth = own.depth;
#pragma unroll 1
        for (int j = 0; j < count; j++, from += plane, depth += a.width[AXIS]) {
            REAL factor[MANY];
#pragma unroll
            for (int i = 0; i < MANY; i++) {
                const int d = side ? n - 1 - s.at[i] : s.at[i];
                factor[i] = d < a.width[AXIS] ? depth[d] : REAL(0);
            }
            add(from, factor);
        }
    }
}

extern "C" __global__ void __launch_bounds__(32 * SOLID_ROWS * SOLID_SLICES, 2) segment_solid(const solid_arguments a) {
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    unsigned tile = blockIdx.x;
    const int x0 = static_cast<int>(tile % a.tiles_x) * TILE_X;
    tile /= a.tiles_x;
    const int y0 = static_cast<int>(tile % a.tiles_y) * TILE_Y + EACH * static_cast<int>(warp % SOLID_ROWS);
    tile /= a.tiles_y;
    const int z0 = static_cast<int>(tile % a.tiles_z) * TILE_Z + EACH * static_cast<int>(warp / SOLID_ROWS);
    const long long grid = tile / a.tiles_z;
    if (y0 >= a.n[1] || z0 >= a.n[0]) return;
    const auto z = span_of<EACH, 1>(z0, 0, EACH, a.n[0]), y = span_of<EACH, 1>(y0, 0, EACH, a.n[1]);
    const auto x = span_of<WIDE, 32>(x0, static_cast<int>(lane), TILE_X, a.n[2]);
    REAL sum[EACH][EACH][WIDE] = {};
    each_term<2>(a, grid, x, [&](const REAL *plane, const REAL(&factor)[WIDE]) {
#pragma unroll
        for (int k = 0; k < EACH; k++)
#pragma unroll
            for (int i = 0; i < EACH; i++) {
                const REAL value = plane[z.at[k] * a.pitch[2] + y.at[i]];
#pragma unroll
                for (int e = 0; e < WIDE; e++) sum[k][i][e] += factor[e] * value;
            }
    });
    each_term<1>(a, grid, y, [&](const REAL *plane, const REAL(&factor)[EACH]) {
#pragma unroll
        for (int k = 0; k < EACH; k++)
#pragma unroll
            for (int e = 0; e < WIDE; e++) {
                const REAL value = plane[z.at[k] * a.pitch[1] + x.at[e]];
#pragma unroll
                for (int i = 0; i < EACH; i++) sum[k][i][e] += factor[i] * value;
            }
    });
    each_term<0>(a, grid, z, [&](const REAL *plane, const REAL(&factor)[EACH]) {
#pragma unroll
        for (int i = 0; i < EACH; i++)
#pragma unroll
            for (int e = 0; e < WIDE; e++) {
                const REAL value = plane[y.at[i] * a.pitch[0] + x.at[e]];
#pragma unroll
                for (int k = 0; k < EACH; k++) sum[k][i][e] += factor[k] * value;
            }
    });
    STORE *const out = a.out + grid * a.out_batch;
#pragma unroll
    for (int k = 0; k < EACH; k++)
#pragma unroll
        for (int i = 0; i < EACH; i++)
#pragma unroll
            for (int e = 0; e < WIDE; e++) {
                if (z0 + k >= a.n[0] || y0 + i >= a.n[1] || x0 + static_cast<int>(lane) + 32 * e >= a.n[2]) continue;
                STORE *const to = out + z.at[k] * a.out_z + y.at[i] * a.out_y + x.at[e];
                *to = narrow<STORE>(widen(*to) + sum[k][i][e]);
            }
}
