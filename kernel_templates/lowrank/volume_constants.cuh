// Compile-time constants of lowrank_volume that follow from its parameters: reaches, sizes, and the
// products that the pattern of the core needs.
#pragma once
#include "device/arith.cuh"
#include "device/band.cuh"
#include "device/k_slice.cuh"
#include "params.cuh"

constexpr int THREADS = 32 * WARPS_X * WARPS_Y;
constexpr int K_SLICE = k_slice_size<STORE>(), K_SLICES = 8 / K_SLICE;  // k-slices in a block of 8
constexpr int SIDE_Z = Z_LOW + Z_HIGH + 1;
constexpr int SIDE_Y = Y_LOW + Y_HIGH + 1, SIDE_X = X_LOW + X_HIGH + 1;
constexpr int BANDS = larger(X_FACTORS - IDENTITY, 1);  // x factors that are bands
constexpr int WARP_ROWS = 8 * TILES;                    // rows of a warp

// What terms need. low, high: rows of T before and after a tile. banded: some term has several
// weights along y. single: some term has one weight along y, and adds T's own registers.
struct reach {
    int low, high;
    bool banded, single;
};
// Plain terms have the identity as their x factor: they read the plane X itself, not T.
constexpr bool is_single(int r) { return TERM_LOW[r] == 0 && TERM_HIGH[r] == 0; }
constexpr bool is_plain(int r) { return IDENTITY && TERM_X[r] == 0; }
constexpr reach find_reach(bool plain) {
    reach m{};
    for (int r = 0; r < CORE_TERMS; r++) {
        if (is_plain(r) != plain) continue;
        m.low = larger(m.low, TERM_LOW[r]), m.high = larger(m.high, TERM_HIGH[r]);
        m.banded = m.banded || !is_single(r), m.single = m.single || is_single(r);
    }
    return m;
}
constexpr reach OF_BANDS = find_reach(false), OF_PLAIN = find_reach(true);
// RING: planes at either end that only plain terms with a single weight reach bypass the queue:
// they are read from shared memory when an output begins and when it is completed. inner_reach: the
// reach along z of the queue.
struct inner_reach {
    int low, high;
};
constexpr inner_reach find_inner() {
    if (!RING) return {Z_LOW, Z_HIGH};
    inner_reach m{};
    for (int r = 0; r < CORE_TERMS; r++)
        for (int dz = -Z_LOW; dz <= Z_HIGH; dz++)
            if (!(is_plain(r) && is_single(r)) && SUM_USED[TERM_SUM[r] * SIDE_Z + dz + Z_LOW])
                m.low = larger(m.low, -dz), m.high = larger(m.high, dz);
    return m;
}
constexpr inner_reach INNER = find_inner();
constexpr int DEPTH = INNER.low + INNER.high + 1;  // planes in the queue
// BACK: stages of earlier planes that stay in shared memory. AHEAD: stages of later planes that
// must have arrived.
constexpr int BACK = Z_LOW - INNER.low, AHEAD = Z_HIGH - INNER.high;
constexpr int LEAD_Y = OF_BANDS.single ? round_up(OF_BANDS.low, K_SLICE) : OF_BANDS.low;
constexpr int LEAD_PLAIN = OF_PLAIN.low;
constexpr int LEAD_X = round_up(X_LOW, 2);
constexpr bool SWAPPED = OF_BANDS.single && LEAD_Y % 8 == 4;
// k-slices of rows that the outputs of a warp depend on.
constexpr int k_slices(int lead, int high) { return round_up(WARP_ROWS + lead + high, K_SLICE) / K_SLICE; }
constexpr int K_SLICES_T = OF_BANDS.banded || OF_BANDS.single ? k_slices(LEAD_Y, OF_BANDS.high) : 0;
constexpr int K_SLICES_X = OF_PLAIN.banded ? k_slices(LEAD_PLAIN, OF_PLAIN.high) : 0;
// k-slices of a row that 16 output columns depend on.
constexpr int K_SLICES_ROW = round_up(16 + LEAD_X + X_HIGH, K_SLICE) / K_SLICE;
// f64: the number of k-slices is odd, so that the last one has no partner in its block of 8.
constexpr bool ODD = K_SLICES_ROW % K_SLICES != 0;
// Last k-slice that a tile uses.
constexpr int last_k_slice(int lead, int high) { return (7 + lead + high) / K_SLICE; }
constexpr int LAST_T = K_SLICES_T ? last_k_slice(LEAD_Y, OF_BANDS.high) : 0;
constexpr int LAST_PLAIN = K_SLICES_X ? last_k_slice(LEAD_PLAIN, OF_PLAIN.high) : 0, LAST = larger(LAST_T, LAST_PLAIN);
// Blocks of 8 rows from the first to the last block that a tile depends on.
constexpr int DELAY_T = LAST_T / K_SLICES, DELAY_PLAIN = LAST_PLAIN / K_SLICES;

constexpr int TILE_X = 16 * WARPS_X, TILE_Y = WARP_ROWS * WARPS_Y;
// Rows in shared memory before the block's outputs.
constexpr int ROW_FIRST = larger(LEAD_Y, larger(LEAD_PLAIN, Y_LOW));
// Rows past the tile: those of whole k-slices, and all that the taps reach, even if no vector along
// y reaches them (taps of weight 0).
constexpr int ROWS_PAST =
    larger(larger(K_SLICES_T * K_SLICE - LEAD_Y, K_SLICES_X *K_SLICE - LEAD_PLAIN) - WARP_ROWS, Y_HIGH);
constexpr int LINES = ROW_FIRST + TILE_Y + ROWS_PAST;
constexpr int SLOT = 16 / sizeof(STORE);  // elements of one copy
// Columns in shared memory before LEAD_X.
constexpr int SKIP_X = round_up(X_LOW, SLOT) - round_up(X_LOW, 2);
constexpr int WIDTH = round_up(SKIP_X + TILE_X - 16 + K_SLICE * K_SLICES_ROW, SLOT);
// PITCH is a multiple of 16 elements plus BEYOND, which places the rows that a warp reads at once
// in different banks (row_of).
constexpr int BEYOND = sizeof(STORE) == 8 ? 4 : 8;
constexpr int PITCH = round_up(WIDTH - BEYOND, 16) + BEYOND, STAGE = LINES * PITCH;
constexpr int COPIED = TILE_Y + Y_LOW + Y_HIGH;  // copied rows; the others are zeros
constexpr int SLOTS = WIDTH / SLOT, ROWS_AT_ONCE = THREADS / SLOTS;
constexpr int SKIP_Y = ROW_FIRST - Y_LOW;
constexpr int BAND_Y = 2 * BAND_PAD + ROW_FIRST + Y_HIGH + 9, BAND_X = band_size(K_SLICES_ROW * K_SLICE / 8) + 4;
static_assert(STAGES >= BACK + AHEAD + 2, "the loop computes on some stages while others arrive");
static_assert(SKIP_Y + COPIED <= LINES, "all rows that are copied have room");
static_assert(ROWS_AT_ONCE >= 1, "the threads of a block copy whole rows");

// The pattern as known at compile time. Output d of the queue has the tap dz = INNER.high - d.
struct pattern {
    bool goes[SUMS][DEPTH];  // does sum k contribute to output d?
    bool inner[SUMS];        // does sum k contribute to any output of the queue?
    // The only output of sum k, to which it is added directly; -1: it has several outputs.
    int only[SUMS];
    bool uses[X_FACTORS][SUMS];  // does x factor l contribute to sum k?
    // Does k-slice m, counted from a tile's lead, meet weights of term r?
    bool meets[CORE_TERMS][LAST + 1];
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
    for (int r = 0; r < CORE_TERMS; r++) {
        p.uses[TERM_X[r]][TERM_SUM[r]] = true;
        for (int m = 0; m <= LAST; m++) {
            const int first = K_SLICE * m - (is_plain(r) ? LEAD_PLAIN : LEAD_Y);
            p.meets[r][m] = !is_single(r) && first + K_SLICE - 1 >= -TERM_LOW[r] && first <= 7 + TERM_HIGH[r];
        }
    }
    return p;
}
constexpr pattern PATTERN = find_pattern();
// Whether all terms have the same form, with one x factor and one sum each, so that one loop runs
// over them.
constexpr bool find_uniform() {
    if (IDENTITY || X_FACTORS == 1 || X_FACTORS != CORE_TERMS || X_FACTORS != SUMS) return false;
    for (int r = 0; r < CORE_TERMS; r++) {
        if (TERM_X[r] != r || TERM_SUM[r] != r || is_single(r)) return false;
        if (TERM_LOW[r] != TERM_LOW[0] || TERM_HIGH[r] != TERM_HIGH[0] || PATTERN.only[r] >= 0) return false;
    }
    return true;
}
constexpr bool UNIFORM = find_uniform();
static_assert(!UNIFORM || !HELD, "the bands of a loop's terms are read as their turn comes");
