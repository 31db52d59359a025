// Lines of points, kept frequencies of theirs, and the tile between: what fno_line is made of.
//
//     Z[j] = sum over p of  x[p] * exp(-2 pi i (j - LOW) p / N),      j = 0 .. MODES - 1: modes of the frequencies -LOW ..
//
//     points in memory -> rung 0 -> | ladder | -> .. -> the foot, only kept frequencies -> | tile [mode][channel] |
//     points in memory <- rung 0 <- | ladder | <- .. <- the foot, all others are zero   <- |                      |
//
// The ladder is device/ladder.cuh's: SIDE lines at once, LINE_COUNT side by side. Truncation and padding are pruned butterflies
// of the foot: results r of a radix R that no kept frequency needs are not computed (they are dead code), and an inverse one of
// which at most half the inputs are kept falls apart into two of half its size (dft_of_few).
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
constexpr int PER = FNO_REAL ? 2 : 1;          // channels of a line
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
__device__ __forceinline__ int mode_of(int f) { return f < HIGH ? f + LOW : f - N + LOW; }

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

// ---- down: get(p) is point p of this thread's line. Barriers around each.
template <class GET>
__device__ __forceinline__ void points_to_ladder(value *line, int t, const REAL *roots, const GET &get) {
#pragma unroll 1
    for (int j = t; j < top::COUNT; j += THREADS_X) {
        value x[top::R];
#pragma unroll
        for (int r = 0; r < top::R; r++) x[r] = get(j + r * top::STRIDE);
        dft<top::R>(x);
        turn_rung<fno_ladder, 0>(x, j, roots);
        put_cells<fno_ladder, 0>(x, line, j);
    }
}
// channel: the line's first in the tile
__device__ __forceinline__ void ladder_to_tile(const value *line, value *tile, int pitch, int channel, int t,
                                               REAL scale) {
#pragma unroll 1
    for (int j = t; j < foot::COUNT; j += THREADS_X) {
        value x[R];
        if (!butterfly_kept(j)) continue;
        take_cells<fno_ladder, LAST>(x, line, foot_of<fno_ladder>(j));
        dft<R>(x);
#pragma unroll
        for (int r = 0; r < R; r++) {
            const int f = j + r * P;
            if (!result_kept(r)) continue;
            // of the half spectrum, all frequencies but their own negatives stand for two
            const REAL share = FNO_DOUBLED && f && 2 * f != N ? scale + scale : scale;
            const value z = share * x[r];
            if (FNO_REAL) {
                if (f < HIGH) tile[tile_cell(pitch, f, channel)] = z;
                if (f == 0 || f > N - HIGH) tile[tile_cell(pitch, f ? N - f : 0, channel + 1)] = conjugate(z);
            } else if (f < HIGH || f >= N - LOW) {
                tile[tile_cell(pitch, mode_of(f), channel)] = z;
            }
        }
    }
}

// ---- up: put(p, z) takes point p
__device__ __forceinline__ void tile_to_ladder(const value *tile, int pitch, int channel, value *line, int t) {
#pragma unroll 1
    for (int j = t; j < foot::COUNT; j += THREADS_X) {
        value x[R];
#pragma unroll
        for (int r = 0; r < R; r++) {
            const int f = j + r * P;
            x[r] = {REAL(0), REAL(0)};
            if (!result_kept(r)) continue;
            if (f < HIGH)
                x[r] = swapped(tile[tile_cell(pitch, mode_of(f), channel)]);
            else if (f >= N - BELOW)
                x[r] = swapped(tile[tile_cell(pitch, FNO_REAL ? N - f : mode_of(f), channel + FNO_REAL)]);
        }
        if (butterfly_kept(j)) dft_of_few<R, FIRST_RESULT, RESULTS>(x);
        put_cells<fno_ladder, LAST>(x, line, foot_of<fno_ladder>(j));
    }
}
template <class PUT>
__device__ __forceinline__ void ladder_to_points(value *line, int t, const REAL *roots, const PUT &put) {
#pragma unroll 1
    for (int j = t; j < top::COUNT; j += THREADS_X) {
        value x[top::R];
        take_cells<fno_ladder, 0>(x, line, j);
        turn_rung<fno_ladder, 0>(x, j, roots);
        dft<top::R>(x);
#pragma unroll
        for (int r = 0; r < top::R; r++) put(j + r * top::STRIDE, swapped(x[r]));
    }
}
