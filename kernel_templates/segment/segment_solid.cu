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
// A block adds to one tile: some terms of one side after the other come to shared memory, of each its part of the plane and a number for each of the
// tile's points across, while those before are added up in registers. At some depth and deeper only the first terms are not 0 (counts), so a block
// takes as many as the nearest of its points has. Points that are frozen are written afterwards (segment_source.cu). Reads STORE, REAL, SOLID_ROWS,
// SOLID_SLICES.
#include "device/element.cuh"
#include "device/twins.cuh"

constexpr int EACH = 4, WIDE = 2, DEEP = 3, LARGEST = 4;  // LARGEST: terms of a chunk of the largest parts of planes
constexpr int TILE_X = 32 * WIDE, TILE_Y = EACH * SOLID_ROWS, TILE_Z = EACH * SOLID_SLICES;
constexpr int THREADS = 32 * SOLID_ROWS * SOLID_SLICES;
constexpr int tile_of(int axis) { return axis == 0 ? TILE_Z : axis == 1 ? TILE_Y : TILE_X; }
// Of one term: its part of a plane, rows and columns, then its numbers.
constexpr int rows_of(int across) { return across == 0 ? TILE_Y : TILE_Z; }
constexpr int columns_of(int across) { return across == 2 ? TILE_Y : TILE_X; }
constexpr int slice_of(int across) { return rows_of(across) * columns_of(across); }
constexpr int most(int a, int b) { return a > b ? a : b; }
constexpr int term_of(int across) { return slice_of(across) + tile_of(across); }
constexpr int STAGE = LARGEST * most(most(term_of(0), term_of(1)), term_of(2));
constexpr int chunk_of(int across) { return STAGE / term_of(across); }

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
    unsigned tiles_x, tiles_y, tiles_z, group_y, group_z, unused;  // groups: of tiles that share parts of planes
};

static_assert(is_twin(sizeof(solid_arguments)), "solid_header of segment/solid.c");
static_assert(is_given(DEEP * STAGE * sizeof(REAL)), "shared_of of segment/solid.c");

struct tile {
    int first[3];
    long long grid;
};
// Terms from j on of a side, of `count` that the tile takes; across == 3: there are no more.
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
    c.j += c.across == 0 ? chunk_of(0) : c.across == 1 ? chunk_of(1) : chunk_of(2);
    return c.j < c.count ? c : first_chunk(a, t, 2 * c.across + c.side + 1);
}

// Points past the grid are its last ones again.
template <int ACROSS>
__device__ __forceinline__ void fetch_from(const solid_arguments &a, const tile &t, const chunk &c, REAL *stage) {
    constexpr int R = rows_of(ACROSS), C = columns_of(ACROSS), T = tile_of(ACROSS), ROWS = ACROSS == 0 ? 1 : 0,
                  COLUMNS = ACROSS == 2 ? 1 : 2, EVERY = 16 / sizeof(REAL);
    const long long plane = static_cast<long long>(a.rows[ACROSS]) * a.pitch[ACROSS];
    const REAL *const from = a.plane[ACROSS] + ((2 * t.grid + c.side) * a.terms[ACROSS] + c.j) * plane;
    const int terms = min(chunk_of(ACROSS), c.count - c.j), row = t.first[ROWS], column = t.first[COLUMNS];
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
        REAL *const to = stage + chunk_of(ACROSS) * R * C + k;
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

struct alignas(16) four {
    REAL of[4];
};

// A thread's points: EACH slices from z on, EACH rows from y on, columns x and x + 32 of the tile. Lanes read what lies along x of a plane or of the numbers side by
// side, and all of them the same of the rest, whole vectors at once.
using sums = REAL[EACH][EACH][WIDE];
template <int ACROSS>
__device__ __forceinline__ void add_from(const REAL *stage, const chunk &chunk, int z, int y, int x, sums &sum) {
    constexpr int C = columns_of(ACROSS), T = tile_of(ACROSS);
    const int terms = min(chunk_of(ACROSS), chunk.count - chunk.j);
    const REAL *factor = stage + chunk_of(ACROSS) * slice_of(ACROSS) + (ACROSS == 0 ? z : ACROSS == 1 ? y : x);
    const REAL *slice = stage + (ACROSS == 0 ? y : z) * C + (ACROSS == 2 ? y : x);
#pragma unroll 1
    for (int j = 0; j < terms; j++, slice += slice_of(ACROSS), factor += T) {
        REAL along[WIDE];
        four same;
        if (ACROSS == 2)
#pragma unroll
            for (int e = 0; e < WIDE; e++) along[e] = factor[32 * e];
        else
            same = *reinterpret_cast<const four *>(factor);
#pragma unroll
        for (int r = 0; r < EACH; r++) {
            if (ACROSS == 2)
                same = *reinterpret_cast<const four *>(slice + r * C);
            else
#pragma unroll
                for (int e = 0; e < WIDE; e++) along[e] = slice[r * C + 32 * e];
#pragma unroll
            for (int i = 0; i < EACH; i++)
#pragma unroll
                for (int e = 0; e < WIDE; e++) (ACROSS == 0 ? sum[i][r][e] : sum[r][i][e]) += same.of[i] * along[e];
        }
    }
}

// The tile of a block: groups of tiles side by side along y and z, so that the parts of planes that they share are still in the second-level cache. False:
// there is none, at the end of the last group.
__device__ __forceinline__ bool find_tile(const solid_arguments &a, unsigned i, tile &t) {
    const unsigned groups_y = (a.tiles_y + a.group_y - 1) / a.group_y,
                   groups_z = (a.tiles_z + a.group_z - 1) / a.group_z;
    const unsigned x = i % a.tiles_x;
    i /= a.tiles_x;
    unsigned y = i % a.group_y;
    i /= a.group_y;
    unsigned z = i % a.group_z;
    i /= a.group_z;
    y += i % groups_y * a.group_y;
    i /= groups_y;
    z += i % groups_z * a.group_z;
    t = {{static_cast<int>(z) * TILE_Z, static_cast<int>(y) * TILE_Y, static_cast<int>(x) * TILE_X}, i / groups_z};
    return y < a.tiles_y && z < a.tiles_z;
}

// Each of a thread's points that the grid has: what(where it is, its sum).
template <class WHAT>
__device__ __forceinline__ void each_point(const solid_arguments &a, const tile &t, int z, int y, int x, sums &sum,
                                           const WHAT &what) {
    STORE *const out = a.out + t.grid * a.out_batch;
#pragma unroll
    for (int k = 0; k < EACH; k++)
#pragma unroll
        for (int r = 0; r < EACH; r++)
#pragma unroll
            for (int e = 0; e < WIDE; e++) {
                const int at_z = t.first[0] + z + k, at_y = t.first[1] + y + r, at_x = t.first[2] + x + 32 * e;
                if (at_z < a.n[0] && at_y < a.n[1] && at_x < a.n[2])
                    what(out + at_z * a.out_z + at_y * a.out_y + at_x, sum[k][r][e]);
            }
}

extern "C" __global__ void __launch_bounds__(THREADS, 512 / THREADS) segment_solid(const solid_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    REAL *const stages = reinterpret_cast<REAL *>(stn_shared);
    tile t;
    if (!find_tile(a, blockIdx.x, t)) return;
    const int warp = static_cast<int>(threadIdx.x / 32), x = static_cast<int>(threadIdx.x % 32),
              y = EACH * (warp % SOLID_ROWS), z = EACH * (warp / SOLID_ROWS);
    sums sum = {};
    chunk now = first_chunk(a, t, 0);
    if (now.across == 3) return;
    chunk next = after(a, t, now);
    fetch(a, t, now, stages);
    fetch(a, t, next, stages + STAGE);
    each_point(a, t, z, y, x, sum, [](const STORE *from, REAL &value) { value = widen(*from); });
#pragma unroll 1
    for (int stage = 0; now.across < 3; stage = (stage + 1) % DEEP) {
        const chunk then = after(a, t, next);
        copy_async_wait<1>();
        __syncthreads();  // the chunk is there, and the one before has been added by all
        fetch(a, t, then, stages + (stage + 2) % DEEP * STAGE);
        const REAL *const own = stages + stage * STAGE;
        if (now.across == 0)
            add_from<0>(own, now, z, y, x, sum);
        else if (now.across == 1)
            add_from<1>(own, now, z, y, x, sum);
        else
            add_from<2>(own, now, z, y, x, sum);
        now = next, next = then;
    }
    each_point(a, t, z, y, x, sum, [](STORE *to, REAL value) { *to = narrow<STORE>(value); });
}
