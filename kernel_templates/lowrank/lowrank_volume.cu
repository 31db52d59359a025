// Several steps of a 3D stencil at once: planes of tensor products, summed along z on the CUDA
// cores (LoRAStencil).
//
//     out(z, y, x) = sum over dz, dy, dx of  W[dz][dy][dx] * in(z + dz, y + dy, x + dx)
//     W[dz][dy][dx] = sum over terms r of   c[TERM_SUM(r)][dz] * v[r][dy] * u[TERM_X(r)][dx]
//
// A block marches along z. For every plane X that arrives, with banded Toeplitz U_l (along x) and
// V_r (along y),
//
//     T_l = U_l X^T                          K_SLICES_ROW products of 16 x 8 x K_SLICE for 8 rows;
//                                            x factor 0 may be the identity
//     Y_k = sum over r with TERM_SUM(r) = k of  T_TERM_X(r) V_r
//                                            about (8 + reach) / K_SLICE products for 8 rows
//     sums(z - dz) += c[k][dz] Y_k           on the CUDA cores
//
// so a plane contributes to all its outputs at once, and only a queue of partial sums is kept from
// plane to plane. A warp owns 16 columns (the rows of its fragments) and TILES tiles of 8 rows:
//
//              x ->  16 columns
//     y   rows of T  | block 0 |  begins LEAD_Y (LEAD_PLAIN) rows before tile 0
//     |   tile 0     | block 1 |
//     v   tile 1     | block 2 |
//
// K_SLICE is the depth of a product (device/k_slice.cuh). f64, K_SLICE 4: half 0 of a fragment's
// registers holds rows 0 .. 3 of 8 rows y, half 1 the rows 4 .. 7, so that each half is directly
// the left factor of one product. Other types, K_SLICE 8: all 8 rows belong to one product.
//
// If V_r has only its middle weight, no product is needed: T's own registers are added to the sums.
// LEAD_Y is then a multiple of K_SLICE, so that halves of T's blocks are halves of tiles; if LEAD_Y
// is an odd multiple of 4, half 0 of a block is half 1 of a tile (SWAPPED). Planes are copied to
// shared memory with their margins, STAGES - 1 planes ahead; their rows are PITCH elements apart.
// Types and their parts: device/fragment.cuh; constants: lowrank/volume_constants.cuh.
//
// Reads STORE, DATA_PARTS, BAND_PARTS, X_FACTORS, CORE_TERMS, SUMS, IDENTITY, TERM_*, SUM_USED,
// Z_LOW .. X_HIGH (of the fused taps), the sides, VECTOR, TILES, WARPS_X, WARPS_Y, STAGES, RING,
// HELD, BLOCKS.
#include "device/launch_checks.cuh"
#include "lowrank/volume_constants.cuh"

constexpr bool SEPARATE_SUMS = needs_separate_sums(DATA_PARTS, BAND_PARTS);
constexpr int PASSES = passes(BAND_PARTS, DATA_PARTS);
// Independent accumulators of T's products.
constexpr int CHAINS = SEPARATE_SUMS ? K_SLICES_ROW : K_SLICE == 8 ? 2 : 1;
using data_slice = k_slice<STORE, DATA_PARTS>::operand;
using band_slice = k_slice<STORE, BAND_PARTS>::operand;

struct volume_arguments {
    const STORE *in;
    STORE *out;
    long long nz, ny, nx;
    // Strides in elements; along x they are 1.
    long long in_z, in_y, out_z, out_y, in_batch, out_batch;
    long long chunk;                      // planes that a block marches through
    long long tiles_z, tiles_y, tiles_x;  // blocks of one grid
    REAL scale;                           // common factor of all v; 1 except in f16
    REAL c[SUMS][SIDE_Z], u[BANDS][SIDE_X], v[CORE_TERMS][SIDE_Y];
};
static_assert(layout_matches(sizeof(volume_arguments), sizeof(volume_arguments::scale) + sizeof(volume_arguments::c) +
                                                           sizeof(volume_arguments::u) + sizeof(volume_arguments::v)),
              "the launcher's mirrored struct of the arguments");

// The row, of a block of 8 along y, that register `half` of lane t holds: row_of in a block of T,
// row_out in a tile of outputs. With these orders a warp's loads have no bank conflicts, except
// two-way conflicts in f32 when it loads single elements.
__device__ __forceinline__ int row_of(int half, int t) { return K_SLICE == 8 ? 2 * t + half : half ? 4 + (t ^ 2) : t; }
__device__ __forceinline__ int row_out(int half, int t) { return SWAPPED ? half ? 4 + t : t ^ 2 : row_of(half, t); }

// The bands in shared memory, and a lane's operands, which are loaded from them: once for all x
// factors (HELD), or for each x factor before it is used.
using band_entry = band<STORE, BAND_PARTS>::entry;
struct bands {
    band_entry u[BANDS][BAND_X], v[CORE_TERMS][BAND_Y];
};
struct lane_bands {
    band_slice u[BANDS][K_SLICES_ROW], v[CORE_TERMS][LAST + 1];
};
// Loads the operands of x factor l and of its terms. If UNIFORM, one loop runs over all x factors:
// l is 0, and the operands of x factor n and term n are loaded.
__device__ __forceinline__ void hold_bands(lane_bands &to, const bands &b, int l, int n, int g, int t) {
    if (!IDENTITY || l)
#pragma unroll
        for (int s = 0; s < K_SLICES_ROW; s++) {
            // If ODD, the last k-slice meets only rows 8 .. 15 of the band. They equal rows 0 .. 7
            // of the previous block.
            const int block = 8 * (s / K_SLICES),
                      first = ODD && s == K_SLICES_ROW - 1 ? block - 8 + t : block + 2 * t + s % K_SLICES;
            to.u[l - IDENTITY][s] = b.u[l - IDENTITY + n][BAND_PAD + first - g];
        }
#pragma unroll
    for (int r = 0; r < CORE_TERMS; r++) {
        if (TERM_X[r] != l) continue;
        const band_entry *const v = b.v[r + n] + BAND_PAD + ROW_FIRST - (is_plain(r) ? LEAD_PLAIN : LEAD_Y);
#pragma unroll
        for (int m = 0; m <= LAST; m++)
            if (PATTERN.meets[r][m])
                to.v[r][m] = v[8 * (m / K_SLICES) + row_of(m % K_SLICES, t) - row_out(g % 2, g / 2)];
    }
}

// A thread's copies of every plane: SLOT columns of some rows.
struct copier {
    const STORE *grid;
    const long long *row_start, *column;  // starts of rows and columns, in shared memory
    bool whole;                           // the thread's columns are one aligned access
};
__device__ __forceinline__ void load_stage(const volume_arguments &a, const copier &c, long long z, STORE *stage) {
    const int row = threadIdx.x / SLOTS, slot = threadIdx.x % SLOTS;
    if (row >= ROWS_AT_ONCE) return;
    const STORE *const plane = c.grid + fold_far<Z_SIDE_LOW, Z_SIDE_HIGH>(z, a.nz) * a.in_z;
    STORE *const to = stage + SKIP_Y * PITCH + SLOT * slot;
    if (!c.whole) {
#pragma unroll 1
        for (int i = row; i < COPIED; i += ROWS_AT_ONCE)
            for (int e = 0; e < SLOT; e++)
                copy_element(to + i * PITCH + e, plane + c.row_start[i] + c.column[SLOT * slot + e]);
        return;
    }
    const STORE *const from = plane + c.column[SLOT * slot];
#pragma unroll
    for (int k = 0; k < (COPIED + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE; k++) {
        const int i = row + k * ROWS_AT_ONCE;
        if (i < COPIED) copy_async_16(to + i * PITCH, from + c.row_start[i]);
    }
}

// Computes 8 rows of T for one band; the first is at `from`. If not WHOLE, only rows 0 .. 3 are
// needed, and the lanes of rows 4 .. 7 read rows 0 .. 3 as well.
template <bool WHOLE>
__device__ __forceinline__ void left_products(REAL (&rows)[4], const STORE *from,
                                              const band_slice (&band)[K_SLICES_ROW], int g, int t) {
    data_slice x[K_SLICES_ROW];
    load_k_slices<DATA_PARTS>(x, from + (WHOLE ? row_of(g % 2, g / 2) : g / 2) * PITCH, t);
    REAL sum[CHAINS][4] = {};
#pragma unroll
    for (int pass = 0; pass < PASSES; pass++)
#pragma unroll
        for (int s = 0; s < K_SLICES_ROW; s++) {
            // The band is Toeplitz: rows 8 .. 15 of a block equal rows 0 .. 7 of the block before.
            band_slice top = {}, bottom = {};
            const bool lone = ODD && s == K_SLICES_ROW - 1;
            if (!lone && (ODD || s < K_SLICES_ROW - K_SLICES)) top = band[s];
            if (lone || s >= K_SLICES) bottom = band[lone ? s : s >= K_SLICES ? s - K_SLICES : 0];
            k_slice_product(pass, sum[s % CHAINS], top, bottom, x[s]);
        }
    for (int e = 0; e < 4; e++) rows[e] = sum[0][e];
    for (int c = 1; c < CHAINS; c++) add_tile(rows, sum[c]);
}

using tile_sums = REAL[TILES][4];

// Accumulator of term r's part of tile i: the partial sum of its only output, or a separate sum.
__device__ __forceinline__ REAL (&target(tile_sums (&sums)[DEPTH], tile_sums (&y)[SUMS], int r, int i))[4] {
    const int k = TERM_SUM[r], d = PATTERN.only[k];
    return d >= 0 ? sums[d >= 0 ? d : 0][i] : y[k][i];
}

// Multiplies k-slice q of block j of T (of X if the x factor is the identity) by V_r, and adds the
// products to all tiles that it meets.
__device__ __forceinline__ void right_products(tile_sums (&sums)[DEPTH], tile_sums (&y)[SUMS], const data_slice &top,
                                               const data_slice &bottom, const band_slice (&band)[LAST + 1], int r,
                                               int j, int q) {
    tile_sums separate = {};
#pragma unroll
    for (int pass = 0; pass < PASSES; pass++)
#pragma unroll
        for (int i = 0; i < TILES; i++) {
            const int m = K_SLICES * (j - i) + q, inside = m > 0 && m <= LAST ? m : 0;
            if (m < 0 || m > LAST || !PATTERN.meets[r][inside]) continue;
            k_slice_product(pass, SEPARATE_SUMS ? separate[i] : target(sums, y, r, i), top, bottom, band[inside]);
            if (SEPARATE_SUMS && pass == PASSES - 1) add_tile(target(sums, y, r, i), separate[i]);
        }
}

// A term with a single weight: adds T's registers where they are rows of a tile.
__device__ __forceinline__ void add_single(tile_sums (&sums)[DEPTH], tile_sums (&y)[SUMS], const REAL (&rows)[4], int r,
                                           int j, REAL weight) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int first = 8 * j + 4 * half - LEAD_Y;
        if (first < 0 || first >= WARP_ROWS) continue;
        REAL(&to)[4] = target(sums, y, r, first >= 0 && first < WARP_ROWS ? first / 8 : 0);
#pragma unroll
        for (int e = 0; e < 4; e += 2) to[first / 4 % 2 + e] += weight * rows[half + e];
    }
}

// Adds this plane's contributions through x factor l (if UNIFORM, through x factor n) to all
// outputs in the queue.
__device__ __forceinline__ void add_x_factor(const volume_arguments &a, tile_sums (&sums)[DEPTH], const STORE *mine,
                                             int l, int n, const lane_bands &held, int g, int t) {
    const bool plain = IDENTITY && l == 0;
    const int delay = plain ? DELAY_PLAIN : DELAY_T, seen = plain ? K_SLICES_X : K_SLICES_T;
    tile_sums y[SUMS];
#pragma unroll
    for (int j = 0; j < TILES + delay; j++) {
        if (j < TILES)
#pragma unroll
            for (int k = 0; k < SUMS; k++)
                for (int e = 0; e < 4; e++) y[k][j < TILES ? j : 0][e] = 0;
        REAL rows[4];
        if (plain)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                if (K_SLICES * j + e % K_SLICES < K_SLICES_X)
                    rows[e] = widen(mine[(8 * j - LEAD_PLAIN + row_of(e % 2, t)) * PITCH + LEAD_X + g + e / 2 * 8]);
            }
        else if (K_SLICES * (j + 1) <= K_SLICES_T)
            left_products<true>(rows, mine + (8 * j - LEAD_Y) * PITCH, held.u[plain ? 0 : l - IDENTITY], g, t);
        else if (K_SLICES * j < K_SLICES_T)
            left_products<false>(rows, mine + (8 * j - LEAD_Y) * PITCH, held.u[plain ? 0 : l - IDENTITY], g, t);
#pragma unroll
        for (int q = 0; q < K_SLICES; q++) {
            if (K_SLICES * j + q >= seen) continue;
            data_slice top, bottom;
            take_k_slice<DATA_PARTS>(top, bottom, rows, q);
#pragma unroll
            for (int r = 0; r < CORE_TERMS; r++)
                if (TERM_X[r] == l && !is_single(r)) right_products(sums, y, top, bottom, held.v[r], r, j, q);
        }
        const int i = j < delay ? 0 : j - delay;  // the completed tile
#pragma unroll
        for (int r = 0; r < CORE_TERMS; r++) {
            if (TERM_X[r] != l || !is_single(r) || !PATTERN.inner[TERM_SUM[r]]) continue;
            if (!plain && K_SLICES * j < seen) add_single(sums, y, rows, r, j, a.v[r][Y_LOW]);
            if (plain && j >= delay)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    target(sums, y, r, i)[e] +=
                        a.v[r][Y_LOW] * widen(mine[(8 * i + row_out(e % 2, t)) * PITCH + LEAD_X + g + e / 2 * 8]);
        }
        if (j < delay) continue;
#pragma unroll
        for (int k = 0; k < SUMS; k++) {
            if (!PATTERN.uses[l][k] || PATTERN.only[k] >= 0) continue;
#pragma unroll
            for (int d = 0; d < DEPTH; d++)
                if (PATTERN.goes[k][d])
                    for (int e = 0; e < 4; e++) sums[d][i][e] += a.c[k + n][Z_LOW + INNER.high - d] * y[k][i][e];
        }
    }
}

// RING: adds a plane that only single weights reach, at tap offset dz outside of the queue. It is o
// planes after the plane that the queue takes in; `mine` is its stage.
__device__ __forceinline__ void add_outer(const volume_arguments &a, tile_sums (&sums)[DEPTH], const STORE *mine, int o,
                                          int g, int t) {
    const int dz = o < 0 ? o - INNER.low : o + INNER.high, d = o < 0 ? DEPTH - 1 : 0;
#pragma unroll
    for (int r = 0; r < CORE_TERMS; r++) {
        const int k = TERM_SUM[r];
        if (!is_plain(r) || !is_single(r) || !SUM_USED[k * SIDE_Z + Z_LOW + dz]) continue;
#pragma unroll
        for (int i = 0; i < TILES; i++)
            for (int e = 0; e < 4; e++) {
                const REAL x = widen(mine[(8 * i + row_out(e % 2, t)) * PITCH + LEAD_X + g + e / 2 * 8]);
                sums[d][i][e] += a.c[k][Z_LOW + dz] * (a.v[r][Y_LOW] * x);
            }
    }
}

// The block's outputs: their origin and the number of planes.
struct volume_block {
    long long x0, y0, z0, batch, planes;
};
__device__ __forceinline__ volume_block find_block(const volume_arguments &a) {
    volume_block at;
    long long number = blockIdx.x;
    at.x0 = number % a.tiles_x * TILE_X;
    number /= a.tiles_x;
    at.y0 = number % a.tiles_y * TILE_Y;
    number /= a.tiles_y;
    at.z0 = number % a.tiles_z * a.chunk, at.batch = number / a.tiles_z;
    at.planes = at.z0 + a.chunk < a.nz ? a.chunk : a.nz - at.z0;
    return at;
}

// Fills the zero-padded bands, and the starts of rows and columns, also past the sides. These loops
// run once in a block, and compile faster if they are not unrolled.
__device__ __forceinline__ void fill_tables(const volume_arguments &a, const volume_block &at, bands &b,
                                            long long *row_start, long long *column, STORE *shared) {
#pragma unroll 1
    for (int i = threadIdx.x; i < COPIED; i += THREADS)
        row_start[i] = fold_far<Y_SIDE_LOW, Y_SIDE_HIGH>(at.y0 - Y_LOW + i, a.ny) * a.in_y;
    if (COPIED < LINES)
        for (int i = threadIdx.x; i < STAGES * STAGE; i += THREADS) shared[i] = 0;
#pragma unroll 1
    for (int l = 0; l < X_FACTORS - IDENTITY; l++)
        fill_band<0>(b.u[l], BAND_X, a.u[l], SIDE_X, LEAD_X - X_LOW, threadIdx.x, THREADS);
#pragma unroll 1
    for (int r = 0; r < CORE_TERMS; r++) fill_band<0>(b.v[r], BAND_Y, a.v[r], SIDE_Y, SKIP_Y, threadIdx.x, THREADS);
#pragma unroll 1
    for (int i = threadIdx.x; i < WIDTH; i += THREADS)
        column[i] = fold_column<X_SIDE_LOW, X_SIDE_HIGH>(at.x0 - SKIP_X - LEAD_X + i, a.nx);
}

// Adds to the sums of all outputs in the queue: one plane through its x factors, and (RING) planes
// before and after it.
__device__ __forceinline__ void add_plane(const volume_arguments &a, tile_sums (&sums)[DEPTH], const STORE *mine,
                                          int slot, const bands &b, lane_bands &held, int g, int t) {
    if (UNIFORM) {
#pragma unroll 1
        for (int n = 0; n < X_FACTORS; n++) {
            if (!HELD) hold_bands(held, b, 0, n, g, t);
            add_x_factor(a, sums, mine + slot * STAGE, 0, n, held, g, t);
        }
    } else
#pragma unroll
        for (int l = X_FACTORS - 1; l >= 0; l--) {
            if (!HELD) hold_bands(held, b, l, 0, g, t);
            add_x_factor(a, sums, mine + slot * STAGE, l, 0, held, g, t);
        }
#pragma unroll
    for (int o = -BACK; o <= AHEAD; o++)
        if (o) {
            const int other = slot + o < 0 ? slot + o + STAGES : slot + o >= STAGES ? slot + o - STAGES : slot + o;
            add_outer(a, sums, mine + other * STAGE, o, g, t);
        }
}

// Stores the oldest output of the queue if it is valid; the others move up.
__device__ __forceinline__ void store_oldest(const volume_arguments &a, tile_sums (&sums)[DEPTH], STORE *to,
                                             const long long (&out_row)[2], bool complete, int rows_left,
                                             int columns_left, int t) {
#pragma unroll
    for (int i = 0; i < TILES; i++, to += 8 * a.out_y) {
        if (complete)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const REAL sum = sizeof(STORE) == 2 ? sums[0][i][e] * a.scale : sums[0][i][e];
                if (8 * i + row_out(e % 2, t) < rows_left && e / 2 * 8 < columns_left)
                    store_run(to + out_row[e % 2] + e / 2 * 8, {narrow<STORE>(sum)});
            }
#pragma unroll
        for (int d = 0; d < DEPTH; d++)
            for (int e = 0; e < 4; e++) sums[d][i][e] = d + 1 < DEPTH ? sums[d + 1 < DEPTH ? d + 1 : d][i][e] : 0;
    }
}

// f16 rows are an odd multiple of 16 bytes apart, so a pad would only align every second one.
constexpr int ALIGNMENT_PAD = sizeof(STORE) > 2 ? alignment_pad<STORE>(SKIP_X + LEAD_X) : 0;
static_assert(shared_bytes_match((ALIGNMENT_PAD + STAGES * STAGE) * sizeof(STORE)),
              "the launcher gives as much shared memory");
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    lowrank_volume(const __grid_constant__ volume_arguments a) {
    let_next_launch_begin();  // the faces' launch may start
    extern __shared__ __align__(128) unsigned char stn_shared[];
    STORE *const shared = reinterpret_cast<STORE *>(stn_shared) + ALIGNMENT_PAD;  // STAGES stages
    __shared__ bands b;
    __shared__ long long row_start[COPIED], column[WIDTH];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    const int warp_x = warp % WARPS_X * 16, warp_y = warp / WARPS_X * WARP_ROWS;
    const volume_block at = find_block(a);
    fill_tables(a, at, b, row_start, column, shared);
    __syncthreads();
    const long long *const mine_x = column + threadIdx.x % SLOTS * SLOT;
    copier c = {a.in + at.batch * a.in_batch, row_start, column, VECTOR == SLOT && mine_x[0] % SLOT == 0};
    for (int e = 1; e < SLOT; e++) c.whole = c.whole && mine_x[e] == mine_x[0] + e;
    lane_bands held;
    if (HELD)
#pragma unroll
        for (int l = 0; l < X_FACTORS; l++) hold_bands(held, b, l, 0, g, t);

    const int steps = static_cast<int>(at.planes) + DEPTH - 1, arriving = static_cast<int>(at.planes) + SIDE_Z - 1;
#pragma unroll
    for (int s = 0; s < STAGES - 1; s++) {
        if (s < arriving) load_stage(a, c, at.z0 - Z_LOW + s, shared + s * STAGE);
        copy_async_commit();
    }
    const int columns_left = static_cast<int>(a.nx - at.x0 < TILE_X ? a.nx - at.x0 : TILE_X) - warp_x - g;
    const int rows_left = static_cast<int>(a.ny - at.y0 < TILE_Y ? a.ny - at.y0 : TILE_Y) - warp_y;
    STORE *out = a.out + at.batch * a.out_batch + (at.z0 + 1 - DEPTH) * a.out_z + (at.y0 + warp_y) * a.out_y + at.x0 +
                 warp_x + g;
    const long long out_row[2] = {row_out(0, t) * a.out_y, row_out(1, t) * a.out_y};
    const STORE *const mine = shared + (ROW_FIRST + warp_y) * PITCH + SKIP_X + warp_x;
    tile_sums sums[DEPTH] = {};
    int slot = BACK;
#pragma unroll 1
    for (int step = 0; step < steps; step++, out += a.out_z) {
        copy_async_wait<STAGES - 2 - BACK - AHEAD>();
        // This plane and the AHEAD next ones have arrived for all threads. The BACK previous planes
        // are still needed; no thread reads the plane before those any more, so its stage is free.
        __syncthreads();
        const int next = step + STAGES - 1, freed = slot > BACK ? slot - BACK - 1 : slot - BACK - 1 + STAGES;
        if (next < arriving) load_stage(a, c, at.z0 - Z_LOW + next, shared + freed * STAGE);
        copy_async_commit();
        add_plane(a, sums, mine, slot, b, held, g, t);
        slot = slot + 1 < STAGES ? slot + 1 : 0;
        store_oldest(a, sums, out, out_row, step >= DEPTH - 1, rows_left, columns_left, t);
    }
}
