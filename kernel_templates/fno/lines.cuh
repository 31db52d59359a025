// Lines of points, kept frequencies of theirs, and the tile between: what fno_line is made of.
//
//     Z[j] = sum over p of  x[p] * exp(-2 pi i (j - LOW) p / N),      j = 0 .. MODES - 1: modes of the frequencies -LOW ..
//
//     points in memory -> rung 0 -> | ladder | -> .. -> the foot, only kept frequencies -> | tile [mode][channel] |
//     points in memory <- rung 0 <- | ladder | <- .. <- the foot, all others are zero   <- |                      |
//
// The ladder is device/ladder.cuh's: SIDE lines at once, LINE_COUNT side by side. Truncation and
// padding are pruned butterflies of the foot: results r of a radix R that no kept frequency needs
// are not computed (they are dead code), and an inverse one of which at most half the inputs are
// kept falls apart into two of half its size (dft_of_few).
//
// Reads REAL, STORE, LINE_*, THREADS_X, FNO_GROUPS, FNO_MODES, FNO_LOW, FNO_REAL, FNO_DOUBLED.
#pragma once
#include "device/ladder.cuh"
#include "fno/tile.cuh"

struct fno_ladder {
    static constexpr int N = LINE_POINTS, STAGES = LINE_STAGES, THREADS = THREADS_X, LINES = LINE_COUNT, PAD = LINE_PAD,
                         TABLE = LINE_TABLE, SHARES = 1;
    static constexpr __host__ __device__ int radix(int s) { return LINE_RADIX[s]; }
};
static_assert(LINE_STAGES >= 2, "points come in by one rung and frequencies leave by another");
using top = rung<fno_ladder, 0>;
using foot = rung<fno_ladder, LINE_STAGES - 1>;

constexpr int N = LINE_POINTS, LAST = LINE_STAGES - 1;
constexpr int R = foot::R, P = N / R;          // the foot's results are P frequencies apart
constexpr int SIDE = LINE_COUNT * FNO_GROUPS;  // lines that a block transforms at once
constexpr int CHANNELS = SIDE * PER;           // and their channels
constexpr int THREADS = THREADS_X * SIDE;
constexpr int LADDER_CELLS = ladder_cells<fno_ladder>() * FNO_GROUPS;
constexpr int MODES = FNO_MODES, LOW = FNO_LOW, HIGH = MODES - LOW;
static_assert(!FNO_REAL || (LOW == 0 && 2 * (MODES - 1) <= N), "of a real line, modes of the half spectrum");

// ---- kept frequencies f = 0 .. N - 1: below HIGH, and from N - BELOW on
constexpr int BELOW = FNO_REAL ? HIGH - 1 : LOW;
constexpr int FEW_HIGH = (HIGH + P - 1) / P,
              FEW_LOW = BELOW ? (N - BELOW) / P : R;  // results r of the foot below, from
constexpr int FIRST_RESULT = FEW_LOW % R, RESULTS = FEW_HIGH + R - FEW_LOW < R ? FEW_HIGH + R - FEW_LOW : R;
__device__ __forceinline__ constexpr bool result_kept(int r) { return r < FEW_HIGH || r >= FEW_LOW; }
// Whether butterfly j of the foot has any.
__device__ __forceinline__ bool butterfly_kept(int j) { return HIGH >= P || BELOW >= P || j < HIGH || j >= P - BELOW; }
// Whether f, which result r of the foot is, is one of those below HIGH, or from N - BELOW on: known
// of most results as they stand.
__device__ __forceinline__ constexpr bool is_high(int r, int f) {
    return r * P < HIGH && ((r + 1) * P <= HIGH || f < HIGH);
}
__device__ __forceinline__ constexpr bool is_low(int r, int f) {
    return (r + 1) * P > N - BELOW && (r * P >= N - BELOW || f >= N - BELOW);
}

// Where the modes of butterfly j of the foot lie in the tile. Where P is a multiple of 4 chunks
// change places alike in all of its results' rows, so that one address serves them all.
struct tile_column {
    const int pitch, channel, j;
    const int up = tile_cell(pitch, j + LOW, channel), down = tile_cell(pitch, N - j, channel + 1);
    __device__ __forceinline__ int mode(int r, int first) const {  // first: 0, or N for negative frequencies
        return P % 4 ? tile_cell(pitch, j + r * P - first + LOW, channel) : up + (r * P - first) * pitch;
    }
    __device__ __forceinline__ int opposite(int r) const {  // of a real line, whose other channel has it
        return P % 4 || (r == 0 && j == 0) ? tile_cell(pitch, r == 0 && j == 0 ? 0 : N - j - r * P, channel + 1)
                                           : down - r * P * pitch;
    }
};

// ---- a transform of which inputs FIRST .. FIRST + COUNT - 1 (mod SIZE) alone are not zero: where they are at most half, even
// and odd outputs are transforms of half the size, of inputs folded without a clash.
template <int SIZE, int FIRST, int COUNT, class T>
__device__ __forceinline__ void dft_of_few(complex<T> (&x)[SIZE]) {
    if constexpr (SIZE % 2 || 64 % SIZE || 2 * COUNT > SIZE) {
        dft<SIZE>(x);
    } else {
        constexpr int HALF = SIZE / 2;
        complex<T> even[HALF], odd[HALF];
#pragma unroll
        for (int i = 0; i < HALF; i++) even[i] = odd[i] = {T(0), T(0)};
#pragma unroll
        for (int c = 0; c < COUNT; c++) {
            const int r = (FIRST + c) % SIZE;
            even[r % HALF] = x[r];
            odd[r % HALF] = times_root64(x[r], r * (64 / SIZE));
        }
        dft_of_few<HALF, FIRST % HALF, COUNT>(even);
        dft_of_few<HALF, FIRST % HALF, COUNT>(odd);
#pragma unroll
        for (int q = 0; q < HALF; q++) x[2 * q] = even[q], x[2 * q + 1] = odd[q];
    }
}

// ---- the roots of rung 0, by which butterfly j's results are turned: in memory, or a thread's own, of its only butterfly
struct own_roots {
    value w[top::R > 1 ? top::R - 1 : 1];
    __device__ __forceinline__ own_roots(const REAL *roots, int j) {
#pragma unroll
        for (int r = 1; r < top::R; r++) w[r - 1] = load_pair(roots + 2 * ((r - 1) * top::STRIDE + j));
    }
};
__device__ __forceinline__ void turn_top(value (&x)[top::R], int j, const REAL *roots) {
    turn_rung<fno_ladder, 0>(x, j, roots);
}
__device__ __forceinline__ void turn_top(value (&x)[top::R], int, const own_roots &roots) {
#pragma unroll
    for (int r = 1; r < top::R; r++) x[r] = x[r] * roots.w[r - 1];
}

// ---- down: get(j, apart) is point j + apart of this thread's line, where `apart` is known when the loops are unrolled: one
// address serves a butterfly. Barriers around each.
template <class GET>
__device__ __forceinline__ void take_butterfly(value (&x)[top::R], int j, const GET &get) {
#pragma unroll
    for (int r = 0; r < top::R; r++) x[r] = get(j, r * top::STRIDE);
}
template <class ROOTS>
__device__ __forceinline__ void butterfly_to_ladder(value (&x)[top::R], int j, value *line, const ROOTS &roots) {
    dft<top::R>(x);
    turn_top(x, j, roots);
    put_cells<fno_ladder, 0>(x, line, j);
}
template <class GET>
__device__ __forceinline__ void points_to_ladder(value *line, int t, const REAL *roots, const GET &get) {
#pragma unroll 1
    for (int j = t; j < top::COUNT; j += THREADS_X) {
        value x[top::R];
        take_butterfly(x, j, get);
        butterfly_to_ladder(x, j, line, roots);
    }
}
// channel: the line's first in the tile; made(number): as the tile shall have it
template <class MADE>
__device__ __forceinline__ void ladder_to_tile(const value *line, value *tile, int pitch, int channel, int t,
                                               REAL scale, const MADE &made) {
#pragma unroll 1
    for (int j = t; j < foot::COUNT; j += THREADS_X) {
        value x[R];
        if (!butterfly_kept(j)) continue;
        take_cells<fno_ladder, LAST>(x, line, foot_of<fno_ladder>(j));
        dft<R>(x);
        const tile_column at = {pitch, channel, j};
#pragma unroll
        for (int r = 0; r < R; r++) {
            const int f = j + r * P;
            if (!result_kept(r)) continue;
            // of the half spectrum, all frequencies but their own negatives stand for two
            const REAL share = FNO_DOUBLED && f && 2 * f != N ? scale + scale : scale;
            const value z = {made(share * x[r].re), made(share * x[r].im)};
            if (is_high(r, f))
                tile[at.mode(r, 0)] = z;
            else if (!FNO_REAL && is_low(r, f))
                tile[at.mode(r, N)] = z;
            if (FNO_REAL && ((r == 0 && j == 0) || is_low(r, f))) tile[at.opposite(r)] = conjugate(z);
        }
    }
}

// ---- up: put(j, apart, z) takes point j + apart
__device__ __forceinline__ void tile_to_ladder(const value *tile, int pitch, int channel, value *line, int t) {
#pragma unroll 1
    for (int j = t; j < foot::COUNT; j += THREADS_X) {
        value x[R];
        const tile_column at = {pitch, channel, j};
#pragma unroll
        for (int r = 0; r < R; r++) {
            const int f = j + r * P;
            x[r] = {REAL(0), REAL(0)};
            if (is_high(r, f))
                x[r] = swapped(tile[at.mode(r, 0)]);
            else if (is_low(r, f))
                x[r] = swapped(tile[FNO_REAL ? at.opposite(r) : at.mode(r, N)]);
        }
        if (butterfly_kept(j)) dft_of_few<R, FIRST_RESULT, RESULTS>(x);
        put_cells<fno_ladder, LAST>(x, line, foot_of<fno_ladder>(j));
    }
}
template <class ROOTS, class PUT>
__device__ __forceinline__ void ladder_to_points(value *line, int t, const ROOTS &roots, const PUT &put) {
#pragma unroll 1
    for (int j = t; j < top::COUNT; j += THREADS_X) {
        value x[top::R];
        take_cells<fno_ladder, 0>(x, line, j);
        turn_top(x, j, roots);
        dft<top::R>(x);
#pragma unroll
        for (int r = 0; r < top::R; r++) put(j, r * top::STRIDE, swapped(x[r]));
    }
}
