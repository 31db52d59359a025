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
// A block adds to one tile: CHUNK terms of one side after the other come to shared memory, of each its part of the plane and a number for each of the
// tile's points across, while those before are added up in registers. At some depth and deeper only the first terms are not 0 (counts), so a block
// takes as many as the nearest of its points has. Points that are frozen are written afterwards (segment_source.cu). Reads STORE, REAL, SOLID_ROWS,
// SOLID_SLICES.
#include "device/element.cuh"
#include "device/twins.cuh"

constexpr int EACH = 4, WIDE = 2, CHUNK = 4;
constexpr int TILE_X = 32 * WIDE, TILE_Y = EACH * SOLID_ROWS, TILE_Z = EACH * SOLID_SLICES;
constexpr int THREADS = 32 * SOLID_ROWS * SOLID_SLICES;
constexpr int tile_of(int axis) { return axis == 0 ? TILE_Z : axis == 1 ? TILE_Y : TILE_X; }
// Of one term: its part of a plane, rows and columns, then its numbers.
constexpr int rows_of(int across) { return across == 0 ? TILE_Y : TILE_Z; }
constexpr int columns_of(int across) { return across == 2 ? TILE_Y : TILE_X; }
constexpr int slice_of(int across) { return rows_of(across) * columns_of(across); }
constexpr int most(int a, int b) { return a > b ? a : b; }
constexpr int STAGE = CHUNK * most(most(slice_of(0) + TILE_Z, slice_of(1) + TILE_Y), slice_of(2) + TILE_X);

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
static_assert(is_given(2 * STAGE * sizeof(REAL)), "shared_of of segment/solid.c");

struct tile {
    int first[3];
    long long grid;
};
// Terms j to j + CHUNK - 1 of a side, of `count` that the tile takes; across == 3: there are no more.
struct chunk {
    int across, side, j, count;
};
__device__ __forceinline__ int count_of(const solid_arguments &a, const tile &t, int across, int side) {
    const int n = a.n[across], first = t.first[across], last = min(first + tile_of(across), n) - 1;
    const int nearest = side ? n - 1 - last : first;
    return a.side[across][side].counts && nearest < a.width[across] ? a.side[across][side].counts[nearest] : 0;
}
// Sides are numbered 2 across + side.
__device__ __forceinline__ chunk first_chunk(const solid_arguments &a, const tile &t, int number) {
    for (; number < 6; number++) {
        const int count = count_of(a, t, number / 2, number % 2);
        if (count) return {number / 2, number % 2, 0, count};
    }
    return {3, 0, 0, 0};
}
__device__ __forceinline__ chunk after(const solid_arguments &a, const tile &t, chunk c) {
    c.j += CHUNK;
    return c.j < c.count ? c : first_chunk(a, t, 2 * c.across + c.side + 1);
}

// Points past the grid are its last ones again.
template <int ACROSS>
__device__ __forceinline__ void fetch_from(const solid_arguments &a, const tile &t, const chunk &c, REAL *stage) {
    constexpr int R = rows_of(ACROSS), C = columns_of(ACROSS), T = tile_of(ACROSS), ROWS = ACROSS == 0 ? 1 : 0,
                  COLUMNS = ACROSS == 2 ? 1 : 2, EVERY = 16 / sizeof(REAL);
    const long long plane = static_cast<long long>(a.rows[ACROSS]) * a.pitch[ACROSS];
    const REAL *const from = a.plane[ACROSS] + ((2 * t.grid + c.side) * a.terms[ACROSS] + c.j) * plane;
    const int terms = min(CHUNK, c.count - c.j), row = t.first[ROWS], column = t.first[COLUMNS];
    const auto at = [&](int k) {
        return from + k / (R * C) * plane + min(row + k / C % R, a.n[ROWS] - 1) * a.pitch[ACROSS];
    };
    if (column + C <= a.n[COLUMNS]) {
#pragma unroll 4
        for (int k = EVERY * threadIdx.x; k < terms * R * C; k += EVERY * THREADS)
            copy_async_16(stage + k, at(k) + column + k % C);
    } else
#pragma unroll 1
        for (int k = threadIdx.x; k < terms * R * C; k += THREADS)
            copy_element(stage + k, at(k) + min(column + k % C, a.n[COLUMNS] - 1));
    const REAL *const depth = a.side[ACROSS][c.side].depth;
    for (int k = threadIdx.x; k < terms * T; k += THREADS) {
        const int point = t.first[ACROSS] + k % T, d = c.side ? a.n[ACROSS] - 1 - point : point;
        const bool has = d >= 0 && d < a.width[ACROSS];
        REAL *const to = stage + CHUNK * R * C + k;
        if (has)
            copy_element(to, depth + (c.j + k / T) * a.width[ACROSS] + d);
        else
            *to = REAL(0);
    }
}
__device__ __forceinline__ void fetch(const solid_arguments &a, const tile &t, const chunk &c, REAL *stage) {
    if (c.across == 0)
        fetch_from<0>(a, t, c, stage);
    else if (c.across == 1)
        fetch_from<1>(a, t, c, stage);
    else if (c.across == 2)
        fetch_from<2>(a, t, c, stage);
    copy_async_commit();
}

// A thread's points: EACH slices from z on, EACH rows from y on, columns x and x + 32 of the tile.
using sums = REAL[EACH][EACH][WIDE];
template <int ACROSS>
__device__ __forceinline__ void add_from(const REAL *stage, int terms, int z, int y, int x, sums &sum) {
    constexpr int C = columns_of(ACROSS), T = tile_of(ACROSS);
    const REAL *factor = stage + CHUNK * slice_of(ACROSS) + (ACROSS == 0 ? z : ACROSS == 1 ? y : x);
    const REAL *slice = stage + (ACROSS == 0 ? y : z) * C + (ACROSS == 2 ? y : x);
#pragma unroll 1
    for (int j = 0; j < terms; j++, slice += slice_of(ACROSS), factor += T) {
        REAL f[EACH];
#pragma unroll
        for (int i = 0; i < (ACROSS == 2 ? WIDE : EACH); i++) f[i] = factor[ACROSS == 2 ? 32 * i : i];
#pragma unroll
        for (int r = 0; r < EACH; r++)
#pragma unroll
            for (int c = 0; c < (ACROSS == 2 ? EACH : WIDE); c++) {
                const REAL value = slice[r * C + (ACROSS == 2 ? c : 32 * c)];
#pragma unroll
                for (int i = 0; i < (ACROSS == 2 ? WIDE : EACH); i++) {
                    REAL &to = ACROSS == 0   ? sum[i][r][c % WIDE]
                               : ACROSS == 1 ? sum[r][i][c % WIDE]
                                             : sum[r][c][i % WIDE];
                    to += f[i] * value;
                }
            }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 512 / THREADS) segment_solid(const solid_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    REAL *const stages = reinterpret_cast<REAL *>(stn_shared);
    unsigned i = blockIdx.x;
    tile t;
    t.first[2] = static_cast<int>(i % a.tiles_x) * TILE_X, i /= a.tiles_x;
    t.first[1] = static_cast<int>(i % a.tiles_y) * TILE_Y, i /= a.tiles_y;
    t.first[0] = static_cast<int>(i % a.tiles_z) * TILE_Z, t.grid = i / a.tiles_z;
    const int warp = static_cast<int>(threadIdx.x / 32), x = static_cast<int>(threadIdx.x % 32),
              y = EACH * (warp % SOLID_ROWS), z = EACH * (warp / SOLID_ROWS);
    sums sum = {};
    chunk now = first_chunk(a, t, 0);
    fetch(a, t, now, stages);
#pragma unroll 1
    for (int stage = 0; now.across < 3; stage = 1 - stage) {
        const chunk next = after(a, t, now);
        fetch(a, t, next, stages + (1 - stage) * STAGE);
        copy_async_wait<1>();
        __syncthreads();
        const REAL *const own = stages + stage * STAGE;
        const int terms = min(CHUNK, now.count - now.j);
        if (now.across == 0)
            add_from<0>(own, terms, z, y, x, sum);
        else if (now.across == 1)
            add_from<1>(own, terms, z, y, x, sum);
        else
            add_from<2>(own, terms, z, y, x, sum);
        __syncthreads();  // it is free
        now = next;
    }
    STORE *const out = a.out + t.grid * a.out_batch;
#pragma unroll
    for (int k = 0; k < EACH; k++)
#pragma unroll
        for (int r = 0; r < EACH; r++)
#pragma unroll
            for (int e = 0; e < WIDE; e++) {
                const int at[3] = {t.first[0] + z + k, t.first[1] + y + r, t.first[2] + x + 32 * e};
                if (at[0] >= a.n[0] || at[1] >= a.n[1] || at[2] >= a.n[2]) continue;
                STORE *const to = out + at[0] * a.out_z + at[1] * a.out_y + at[2];
                *to = narrow<STORE>(widen(*to) + sum[k][r][e]);
            }
}
