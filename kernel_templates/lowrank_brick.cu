// Several steps of a 3D stencil at once: planes of tensor products, summed along z on the CUDA cores (LoRAStencil).
//
//     out(z, y, x) = sum over dz, dy, dx of  W[dz][dy][dx] * in(z + dz, y + dy, x + dx)
//     W[dz][dy][dx] = sum over rights r of   c[SUM(r)][dz] * v[r][dy] * u[LEFT(r)][dx]
//
// A block walks along z. For every plane X that arrives, with banded Toeplitz U_l (along x) and V_r (along y),
//
//     T_l = U_l X^T                          STEPS products of 16 x 8 x 4 for 8 rows; left 0 may be the identity
//     Y_k = sum over r with SUM(r) = k of  T_LEFT(r) V_r      about (8 + reach) / 4 products for 8 rows
//     sums(z - dz) += c[k][dz] Y_k           on the CUDA cores
//
// so all outputs that a plane touches take it in at once, and the only state of the walk is a queue of their partial
// sums. A warp owns 16 columns (the rows of its fragments) and TILES tiles of 8 rows:
//
//              x ->  16 columns                        registers of a fragment: half 0 holds rows 0 .. 3 of 8 rows y,
//     y   rows of T  | block 0 |  starts LEAD before     half 1 the rows 4 .. 7, so that each half is the left factor
//     |   tile 0     | block 1 |                         of one product as it stands
//     v   tile 1     | block 2 |
//
// V_r with a single weight in its middle costs no product: T's own registers are added. For that T's blocks begin a
// multiple of 4 rows before the tile; where it is an odd one, halves change places (SWAPPED). Planes come to shared
// memory with their margins, STAGES - 1 ahead; rows are PITCH doubles long, so that rows 4 apart lie in different banks.
//
// Reads LEFTS, RIGHTS, SUMS, IDENTITY, RIGHT_*, SUM_USED, Z_LOW .. X_HIGH (of the fused taps), the sides, VECTOR, TILES,
// WARPS_X, WARPS_Y, STAGES, RING, HELD, BLOCKS.
#include "device/band.cuh"
#include "params.cuh"

constexpr int round_up(int a, int b) { return (a + b - 1) / b * b; }
constexpr int larger(int a, int b) { return a > b ? a : b; }
constexpr int THREADS = 32 * WARPS_X * WARPS_Y;
constexpr int SIDE_Z = Z_LOW + Z_HIGH + 1;
constexpr int SIDE_Y = Y_LOW + Y_HIGH + 1, SIDE_X = X_LOW + X_HIGH + 1;
constexpr int BANDS = larger(LEFTS - IDENTITY, 1);  // lefts that are bands
constexpr int WARP_ROWS = 8 * TILES;                // of a warp

// What the rights need of T: rows past the tile, and whether any adds T's own registers.
struct reach {
    int low, high;
    bool banded, single;
};
constexpr bool is_single(int r) { return RIGHT_LOW[r] == 0 && RIGHT_HIGH[r] == 0; }
constexpr bool is_plain(int r) { return IDENTITY && RIGHT_LEFT[r] == 0; }
constexpr reach find_reach(bool plain) {
    reach m{};
    for (int r = 0; r < RIGHTS; r++) {
        if (is_plain(r) != plain) continue;
        m.low = larger(m.low, RIGHT_LOW[r]), m.high = larger(m.high, RIGHT_HIGH[r]);
        m.banded = m.banded || !is_single(r), m.single = m.single || is_single(r);
    }
    return m;
}
constexpr reach OF_BANDS = find_reach(false), OF_PLAIN = find_reach(true);
// Planes that only single weights reach, at either end (RING), never enter the queue: they are read where they lie in
// shared memory, as an output begins and as it is completed.
struct inner_reach {
    int low, high;
};
constexpr inner_reach find_inner() {
    if (!RING) return {Z_LOW, Z_HIGH};
    inner_reach m{};
    for (int r = 0; r < RIGHTS; r++)
        for (int dz = -Z_LOW; dz <= Z_HIGH; dz++)
            if (!(is_plain(r) && is_single(r)) && SUM_USED[RIGHT_SUM[r] * SIDE_Z + dz + Z_LOW])
                m.low = larger(m.low, -dz), m.high = larger(m.high, dz);
    return m;
}
constexpr inner_reach INNER = find_inner();
constexpr int DEPTH = INNER.low + INNER.high + 1;                     // of the queue
constexpr int BACK = Z_LOW - INNER.low, AHEAD = Z_HIGH - INNER.high;  // stages that stay, and that must be there
constexpr int LEAD_Y = OF_BANDS.single ? round_up(OF_BANDS.low, 4) : OF_BANDS.low;
constexpr int LEAD_PLAIN = OF_PLAIN.low;
constexpr int LEAD_X = round_up(X_LOW, 2);
constexpr bool SWAPPED = OF_BANDS.single && LEAD_Y % 8 == 4;
constexpr int halves(int lead, int high) { return (WARP_ROWS + lead + high + 3) / 4; }  // of 4 rows, that a warp sees
constexpr int HALVES_T = OF_BANDS.banded || OF_BANDS.single ? halves(LEAD_Y, OF_BANDS.high) : 0;
constexpr int HALVES_X = OF_PLAIN.banded ? halves(LEAD_PLAIN, OF_PLAIN.high) : 0;
constexpr int STEPS = (16 + LEAD_X + X_HIGH + 3) / 4, PAIRS = STEPS / 2;
constexpr int last_half(int lead, int high) { return (7 + lead + high) / 4; }  // that a tile meets
constexpr int LAST_T = HALVES_T ? last_half(LEAD_Y, OF_BANDS.high) : 0;
constexpr int LAST_PLAIN = HALVES_X ? last_half(LEAD_PLAIN, OF_PLAIN.high) : 0, LAST = larger(LAST_T, LAST_PLAIN);
constexpr int DELAY_T = LAST_T / 2, DELAY_PLAIN = LAST_PLAIN / 2;  // blocks from a tile's first to its last

constexpr int TILE_X = 16 * WARPS_X, TILE_Y = WARP_ROWS * WARPS_Y;
constexpr int ROW_FIRST = larger(LEAD_Y, larger(LEAD_PLAIN, Y_LOW));  // rows in shared memory before the block's
constexpr int LINES =
    ROW_FIRST + TILE_Y + larger(larger(HALVES_T * 4 - LEAD_Y, HALVES_X * 4 - LEAD_PLAIN) - WARP_ROWS, 0);
constexpr int WIDTH = TILE_X - 16 + 4 * STEPS;
constexpr int PITCH = (WIDTH + 11) / 16 * 16 + 4, STAGE = LINES * PITCH;
constexpr int COPIED = TILE_Y + Y_LOW + Y_HIGH;  // rows; the others are zeros
constexpr int SLOTS = WIDTH / 2, ROWS_AT_ONCE = THREADS / SLOTS;
constexpr int SKIP_Y = ROW_FIRST - Y_LOW;
constexpr int BAND_Y = 2 * BAND_PAD + ROW_FIRST + Y_HIGH + 9, BAND_X = band_size(PAIRS) + 4;
static_assert(STAGES >= BACK + AHEAD + 2, "the walk computes on some stages while others arrive");
static_assert(SKIP_Y + COPIED <= LINES, "");
static_assert(ROWS_AT_ONCE >= 1, "the threads of a block copy whole rows");

struct brick_arguments {
    const double *in;
    double *out;
    long long nz, ny, nx;
    long long in_z, in_y, out_z, out_y, in_batch, out_batch;  // strides, elements; along x they are 1
    long long chunk;                                          // planes of a block's walk
    long long tiles_z, tiles_y, tiles_x;                      // blocks of one grid
    double c[SUMS][SIDE_Z], u[BANDS][SIDE_X], v[RIGHTS][SIDE_Y];
};

// What is known of the pattern before any weight. Output d of the queue has the tap dz = INNER.high - d.
struct pattern {
    bool goes[SUMS][DEPTH];        // does sum k go to output d?
    bool inner[SUMS];              // to any of them?
    int only[SUMS];                // the one output that it goes to: then it is added there at once; -1: several
    bool uses[LEFTS][SUMS];        // does left l give to sum k?
    bool meets[RIGHTS][LAST + 1];  // does half m, counted from the lead of a tile, meet the weights of right r?
};
constexpr pattern find_pattern() {
    pattern p{};
    for (int k = 0; k < SUMS; k++) {
        int count = 0, last = -1;
        for (int dz = -Z_LOW; dz <= Z_HIGH; dz++) {
            if (!SUM_USED[k * SIDE_Z + dz + Z_LOW]) continue;
            count++;
            if (dz < -INNER.low || dz > INNER.high) continue;
            last = INNER.high - dz;
            p.goes[k][last] = p.inner[k] = true;
        }
        p.only[k] = count == 1 ? last : -1;
    }
    for (int r = 0; r < RIGHTS; r++) {
        p.uses[RIGHT_LEFT[r]][RIGHT_SUM[r]] = true;
        for (int m = 0; m <= LAST; m++) {
            const int first = 4 * m - (is_plain(r) ? LEAD_PLAIN : LEAD_Y);
            p.meets[r][m] = !is_single(r) && first + 3 >= -RIGHT_LOW[r] && first <= 7 + RIGHT_HIGH[r];
        }
    }
    return p;
}
constexpr pattern PATTERN = find_pattern();
// Terms of the same form, one left, right and sum each, are one loop.
constexpr bool find_uniform() {
    if (IDENTITY || LEFTS == 1 || LEFTS != RIGHTS || LEFTS != SUMS) return false;
    for (int r = 0; r < RIGHTS; r++) {
        if (RIGHT_LEFT[r] != r || RIGHT_SUM[r] != r || is_single(r)) return false;
        if (RIGHT_LOW[r] != RIGHT_LOW[0] || RIGHT_HIGH[r] != RIGHT_HIGH[0] || PATTERN.only[r] >= 0) return false;
    }
    return true;
}
constexpr bool UNIFORM = find_uniform();
static_assert(!UNIFORM || !HELD, "the bands of a loop's terms are read as their turn comes");

// Rows of 8 along y: a half's rows lie so that its loads do not meet in a bank.
__device__ __forceinline__ int row_of(int half, int t) { return half ? 4 + (t ^ 2) : t; }
__device__ __forceinline__ int row_out(int half, int t) { return SWAPPED ? half ? 4 + t : t ^ 2 : row_of(half, t); }

// The bands, and what a lane holds of them: of all lefts all the time, or of one left while it is its turn.
struct bands {
    double u[BANDS][BAND_X], v[RIGHTS][BAND_Y];
};
struct lane_bands {
    double u[BANDS][PAIRS + 1][2], v[RIGHTS][LAST + 1];
};
// Left l and its rights; of UNIFORM ones the n-th takes the first one's place.
__device__ __forceinline__ void hold_bands(lane_bands &to, const bands &b, int l, int n, int g, int t) {
    if (!IDENTITY || l)
#pragma unroll
        for (int s = 0; s < PAIRS + STEPS % 2; s++)
            for (int e = 0; e < 2; e++) {
                const int first =
                    s < PAIRS ? 8 * s + 2 * t + e : 8 * (PAIRS - 1) + t;  // of the last four, rows 8 .. 15
                to.u[l - IDENTITY][s][e] = b.u[l - IDENTITY + n][BAND_PAD + first - g];
            }
#pragma unroll
    for (int r = 0; r < RIGHTS; r++) {
        if (RIGHT_LEFT[r] != l) continue;
        const int lead = is_plain(r) ? LEAD_PLAIN : LEAD_Y;
#pragma unroll
        for (int m = 0; m <= LAST; m++)
            if (PATTERN.meets[r][m])
                to.v[r][m] = b.v[r + n][BAND_PAD + ROW_FIRST - lead + 4 * m + row_of(m % 2, t) - m % 2 * 4 -
                                        row_out(g % 2, g / 2)];
    }
}

// What a thread copies of every plane: two columns of some rows.
struct copier {
    const double *grid;
    const long long *row_start;  // in shared memory
    long long column[2];
    bool whole;  // the two are one aligned access
};
__device__ __forceinline__ void load_stage(const brick_arguments &a, const copier &c, long long z, double *stage) {
    const int row = threadIdx.x / SLOTS, slot = threadIdx.x % SLOTS;
    if (row >= ROWS_AT_ONCE) return;
    const double *const plane = c.grid + fold_far<Z_SIDE_LOW, Z_SIDE_HIGH>(z, a.nz) * a.in_z;
    double *const to = stage + SKIP_Y * PITCH + 2 * slot;
#pragma unroll
    for (int k = 0; k < (COPIED + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE; k++) {
        const int i = row + k * ROWS_AT_ONCE;
        if (i >= COPIED) break;
        const double *const from = plane + c.row_start[i];
        if (c.whole)
            copy_async_16(to + i * PITCH, from + c.column[0]);
        else
            for (int e = 0; e < 2; e++) copy_async_8(to + i * PITCH + e, from + c.column[e]);
    }
}

// Two neighbours in shared memory, the first at a multiple of 16 bytes.
struct __align__(16) double_pair {
    double value[2];
};
__device__ __forceinline__ void load_pair(double *to, const double *from) {
    const double_pair both = *reinterpret_cast<const double_pair *>(from);
    to[0] = both.value[0], to[1] = both.value[1];
}

// 8 rows of T for band l, from row `from` on. Where only the first half is wanted (WHOLE 0), the other's lanes read it too.
template <bool WHOLE>
__device__ __forceinline__ void left_products(double (&rows)[4], const double *from, const double (&band)[PAIRS + 1][2],
                                              int g, int t) {
    const double *const mine = from + (WHOLE ? row_of(g % 2, g / 2) : g / 2) * PITCH;
    double x[STEPS];
#pragma unroll
    for (int s = 0; s < PAIRS; s++) load_pair(x + 2 * s, mine + 8 * s + 2 * t);
    if (STEPS % 2) x[STEPS - 1] = mine[8 * PAIRS + t];
    for (int e = 0; e < 4; e++) rows[e] = 0;
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
        const int pair = s / 2, e = s % 2;
        double left[2] = {0, 0};  // rows 8 .. 15 of a pair's band are rows 0 .. 7 of the one before
        if (pair == PAIRS)
            left[1] = band[PAIRS][0];
        else if (STEPS % 2 || pair < PAIRS - 1)
            left[0] = band[pair][e];
        if (pair > 0 && pair < PAIRS) left[1] = band[pair - 1][e];
        product(rows, left, x[s]);
    }
}

using tile_sums = double[TILES][4];

// Where right r's part of tile i is gathered: the partial sum of the one output it goes to, or a sum of its own.
__device__ __forceinline__ double (&target(tile_sums (&sums)[DEPTH], tile_sums (&y)[SUMS], int r, int i))[4] {
    const int k = RIGHT_SUM[r], d = PATTERN.only[k];
    return d >= 0 ? sums[d >= 0 ? d : 0][i] : y[k][i];
}

// Half `half` of block j, registers of T or of X, to all tiles that it meets.
__device__ __forceinline__ void right_products(tile_sums (&sums)[DEPTH], tile_sums (&y)[SUMS], const double (&rows)[4],
                                               const double (&band)[LAST + 1], int r, int j, int half) {
    const double left[2] = {rows[half], rows[half + 2]};
#pragma unroll
    for (int i = 0; i < TILES; i++) {
        const int m = 2 * (j - i) + half;
        if (m < 0 || m > LAST) continue;
        const int inside = m > 0 && m <= LAST ? m : 0;
        if (PATTERN.meets[r][inside]) product(target(sums, y, r, i), left, band[inside]);
    }
}

// A right with a single weight: T's registers where they are rows of a tile.
__device__ __forceinline__ void add_single(tile_sums (&sums)[DEPTH], tile_sums (&y)[SUMS], const double (&rows)[4],
                                           int r, int j, double weight) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int first = 8 * j + 4 * half - LEAD_Y;
        if (first < 0 || first >= WARP_ROWS) continue;
        double(&to)[4] = target(sums, y, r, first >= 0 && first < WARP_ROWS ? first / 8 : 0);
#pragma unroll
        for (int e = 0; e < 4; e += 2) to[first / 4 % 2 + e] += weight * rows[half + e];
    }
}

// All that left l (of UNIFORM ones the n-th) gives to the outputs that this plane touches.
__device__ __forceinline__ void add_left(const brick_arguments &a, tile_sums (&sums)[DEPTH], const double *mine, int l,
                                         int n, const lane_bands &held, int g, int t) {
    const bool plain = IDENTITY && l == 0;
    const int delay = plain ? DELAY_PLAIN : DELAY_T, seen = plain ? HALVES_X : HALVES_T;
    tile_sums y[SUMS];
#pragma unroll
    for (int j = 0; j < TILES + delay; j++) {
        if (j < TILES)
#pragma unroll
            for (int k = 0; k < SUMS; k++)
                for (int e = 0; e < 4; e++) y[k][j < TILES ? j : 0][e] = 0;
        double rows[4];
        if (plain)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                if (2 * j + e % 2 < HALVES_X)
                    rows[e] = mine[(8 * j - LEAD_PLAIN + row_of(e % 2, t)) * PITCH + LEAD_X + g + e / 2 * 8];
            }
        else if (2 * j + 1 < HALVES_T)
            left_products<true>(rows, mine + (8 * j - LEAD_Y) * PITCH, held.u[plain ? 0 : l - IDENTITY], g, t);
        else if (2 * j < HALVES_T)
            left_products<false>(rows, mine + (8 * j - LEAD_Y) * PITCH, held.u[plain ? 0 : l - IDENTITY], g, t);
#pragma unroll
        for (int half = 0; half < 2; half++)
#pragma unroll
            for (int r = 0; r < RIGHTS; r++)
                if (RIGHT_LEFT[r] == l && !is_single(r) && 2 * j + half < seen)
                    right_products(sums, y, rows, held.v[r], r, j, half);
        const int i = j < delay ? 0 : j - delay;  // the tile that is complete
#pragma unroll
        for (int r = 0; r < RIGHTS; r++) {
            if (RIGHT_LEFT[r] != l || !is_single(r) || !PATTERN.inner[RIGHT_SUM[r]]) continue;
            if (!plain && 2 * j < seen) add_single(sums, y, rows, r, j, a.v[r][Y_LOW]);
            if (plain && j >= delay)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    target(sums, y, r, i)[e] +=
                        a.v[r][Y_LOW] * mine[(8 * i + row_out(e % 2, t)) * PITCH + LEAD_X + g + e / 2 * 8];
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

// The single weights of the planes outside of the queue: `mine` lies o planes from the one that the queue takes in.
__device__ __forceinline__ void add_outer(const brick_arguments &a, tile_sums (&sums)[DEPTH], const double *mine, int o,
                                          int g, int t) {
    const int dz = o < 0 ? o - INNER.low : o + INNER.high, d = o < 0 ? DEPTH - 1 : 0;
#pragma unroll
    for (int r = 0; r < RIGHTS; r++) {
        const int k = RIGHT_SUM[r];
        if (!is_plain(r) || !is_single(r) || !SUM_USED[k * SIDE_Z + Z_LOW + dz]) continue;
#pragma unroll
        for (int i = 0; i < TILES; i++)
            for (int e = 0; e < 4; e++) {
                const double x = mine[(8 * i + row_out(e % 2, t)) * PITCH + LEAD_X + g + e / 2 * 8];
                sums[d][i][e] += a.c[k][Z_LOW + dz] * (a.v[r][Y_LOW] * x);
            }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) lowrank_brick(const __grid_constant__ brick_arguments a) {
    extern __shared__ __align__(128) unsigned char stn_shared[];
    double *const shared = reinterpret_cast<double *>(stn_shared);  // STAGES stages
    __shared__ bands b;
    __shared__ long long row_start[COPIED];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    const int warp_x = warp % WARPS_X * 16, warp_y = warp / WARPS_X * WARP_ROWS;
    long long number = blockIdx.x;
    const long long x0 = number % a.tiles_x * TILE_X;
    number /= a.tiles_x;
    const long long y0 = number % a.tiles_y * TILE_Y;
    number /= a.tiles_y;
    const long long z0 = number % a.tiles_z * a.chunk, batch = number / a.tiles_z;
    const long long planes = z0 + a.chunk < a.nz ? a.chunk : a.nz - z0;

    for (int i = threadIdx.x; i < COPIED; i += THREADS)
        row_start[i] = fold_far<Y_SIDE_LOW, Y_SIDE_HIGH>(y0 - Y_LOW + i, a.ny) * a.in_y;
    if (COPIED < LINES)
        for (int i = threadIdx.x; i < STAGES * STAGE; i += THREADS) shared[i] = 0;
    for (int l = 0; l < LEFTS - IDENTITY; l++)
        fill_band<0>(b.u[l], BAND_X, a.u[l], SIDE_X, LEAD_X - X_LOW, threadIdx.x, THREADS);
    for (int r = 0; r < RIGHTS; r++) fill_band<0>(b.v[r], BAND_Y, a.v[r], SIDE_Y, SKIP_Y, threadIdx.x, THREADS);
    copier c = {a.in + batch * a.in_batch, row_start, {}, false};
    for (int e = 0; e < 2; e++)
        c.column[e] = fold_far<X_SIDE_LOW, X_SIDE_HIGH>(x0 - LEAD_X + threadIdx.x % SLOTS * 2 + e, a.nx);
    c.whole = VECTOR == 2 && c.column[1] == c.column[0] + 1 && c.column[0] % 2 == 0;
    __syncthreads();
    lane_bands held;
    if (HELD)
#pragma unroll
        for (int l = 0; l < LEFTS; l++) hold_bands(held, b, l, 0, g, t);

    const int steps = static_cast<int>(planes) + DEPTH - 1, arriving = static_cast<int>(planes) + SIDE_Z - 1;
#pragma unroll
    for (int s = 0; s < STAGES - 1; s++) {
        if (s < arriving) load_stage(a, c, z0 - Z_LOW + s, shared + s * STAGE);
        copy_async_commit();
    }
    const int columns_left = static_cast<int>(a.nx - x0 < TILE_X ? a.nx - x0 : TILE_X) - warp_x - g;
    const int rows_left = static_cast<int>(a.ny - y0 < TILE_Y ? a.ny - y0 : TILE_Y) - warp_y;
    double *out = a.out + batch * a.out_batch + (z0 + 1 - DEPTH) * a.out_z + (y0 + warp_y) * a.out_y + x0 + warp_x + g;
    const long long out_row[2] = {row_out(0, t) * a.out_y, row_out(1, t) * a.out_y};
    const double *const mine = shared + (ROW_FIRST + warp_y) * PITCH + warp_x;
    tile_sums sums[DEPTH] = {};
    int slot = BACK;
#pragma unroll 1
    for (int step = 0; step < steps; step++, out += a.out_z) {
        copy_async_wait<STAGES - 2 - BACK - AHEAD>();
        __syncthreads();  // the stages up to AHEAD are here for all, and the one before BACK has been read by all
        const int next = step + STAGES - 1;
        if (next < arriving)
            load_stage(a, c, z0 - Z_LOW + next,
                       shared + (slot > BACK ? slot - BACK - 1 : slot - BACK - 1 + STAGES) * STAGE);
        copy_async_commit();
        if (UNIFORM) {
#pragma unroll 1
            for (int n = 0; n < LEFTS; n++) {
                if (!HELD) hold_bands(held, b, 0, n, g, t);
                add_left(a, sums, mine + slot * STAGE, 0, n, held, g, t);
            }
        } else
#pragma unroll
            for (int l = LEFTS - 1; l >= 0; l--) {
                if (!HELD) hold_bands(held, b, l, 0, g, t);
                add_left(a, sums, mine + slot * STAGE, l, 0, held, g, t);
            }
#pragma unroll
        for (int o = -BACK; o <= AHEAD; o++)
            if (o)
                add_outer(a, sums,
                          mine + (slot + o < 0         ? slot + o + STAGES
                                  : slot + o >= STAGES ? slot + o - STAGES
                                                       : slot + o) *
                                     STAGE,
                          o, g, t);
        slot = slot + 1 < STAGES ? slot + 1 : 0;
        double *to = out;
#pragma unroll
        for (int i = 0; i < TILES; i++, to += 8 * a.out_y) {
            if (step >= DEPTH - 1)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    if (8 * i + row_out(e % 2, t) < rows_left && e / 2 * 8 < columns_left)
                        store_run(to + out_row[e % 2] + e / 2 * 8, {sums[0][i][e]});
#pragma unroll
            for (int d = 0; d < DEPTH; d++)
                for (int e = 0; e < 4; e++) sums[d][i][e] = d + 1 < DEPTH ? sums[d + 1 < DEPTH ? d + 1 : d][i][e] : 0;
        }
    }
}
