// Pruned FFTs of lines between points in memory and a tile of retained modes in shared memory; used
// by fno_line and fno_split.
//
//     Z[j] = sum over p of  x[p] * exp(-2 pi i (j - LOW) p / N),      j = 0 .. MODES - 1
//
//     points in memory -> stage 0 -> | FFT | -> .. -> pruned last stage -> | tile [mode][channel] |
//     points in memory <- stage 0 <- | FFT | <- .. <- zero-padded input <- |                      |
//
// The FFT is that of device/shared_fft.cuh: SIDE lines at once, LINE_COUNT interleaved. Truncation
// and zero-padding prune the butterflies of the last stage: results r of a radix R that no retained
// frequency needs are not computed (the compiler removes them), and an inverse butterfly of which
// at most half the inputs are retained is split into two of half its size (pruned_dft).
//
// Reads REAL, STORE, LINE_*, THREADS_X, FNO_GROUPS, FNO_MODES, FNO_LOW, FNO_REAL, FNO_DOUBLED.
#pragma once
#include "device/line_shape.cuh"
#include "device/shared_fft.cuh"
#include "fno/tile.cuh"

using fno_line_shape = line_shape;
static_assert(LINE_SHARES == 1, "a line lies in one block");
static_assert(LINE_STAGES >= 2, "the first stage loads points, the last one yields frequencies");
using first_stage = fft_stage<fno_line_shape, 0>;
using last_stage = fft_stage<fno_line_shape, LINE_STAGES - 1>;

constexpr int N = LINE_POINTS, LAST = LINE_STAGES - 1;
constexpr int R = last_stage::R, P = N / R;    // outputs of the last stage are P apart
constexpr int SIDE = LINE_COUNT * FNO_GROUPS;  // lines that a block transforms at once
constexpr int CHANNELS = SIDE * PER;           // and their channels
constexpr int THREADS = THREADS_X * SIDE;
constexpr int FFT_VALUES = padded_points<fno_line_shape>() * FNO_GROUPS;
constexpr int MODES = FNO_MODES, LOW = FNO_LOW, HIGH = MODES - LOW;
static_assert(!FNO_REAL || (LOW == 0 && 2 * (MODES - 1) <= N), "of a real line, modes of the half spectrum");

// ---- retained frequencies f = 0 .. N - 1: below HIGH, and from N - BELOW on
constexpr int BELOW = FNO_REAL ? HIGH - 1 : LOW;
constexpr int FEW_HIGH = (HIGH + P - 1) / P,
              FEW_LOW = BELOW ? (N - BELOW) / P : R;  // retained results r of the last stage
constexpr int FIRST_RESULT = FEW_LOW % R, RESULTS = FEW_HIGH + R - FEW_LOW < R ? FEW_HIGH + R - FEW_LOW : R;
__device__ __forceinline__ constexpr bool result_kept(int r) { return r < FEW_HIGH || r >= FEW_LOW; }
// Whether butterfly j of the last stage has any retained result.
__device__ __forceinline__ bool butterfly_kept(int j) { return HIGH >= P || BELOW >= P || j < HIGH || j >= P - BELOW; }
// Whether f, result r of the last stage, is below HIGH, or at least N - BELOW. For most r this is a
// compile-time constant.
__device__ __forceinline__ constexpr bool is_high(int r, int f) {
    return r * P < HIGH && ((r + 1) * P <= HIGH || f < HIGH);
}
__device__ __forceinline__ constexpr bool is_low(int r, int f) {
    return (r + 1) * P > N - BELOW && (r * P >= N - BELOW || f >= N - BELOW);
}

// Indices in the tile of the modes of butterfly j of the last stage. If P is a multiple of 4, all
// its rows have the same swizzle, so that one address serves them all.
struct tile_column {
    const int pitch, channel, j;
    const int up = tile_index(pitch, j + LOW, channel), down = tile_index(pitch, N - j, channel + 1);
    __device__ __forceinline__ int mode(int r, int first) const {  // first: 0, or N if negative
        return P % 4 ? tile_index(pitch, j + r * P - first + LOW, channel) : up + (r * P - first) * pitch;
    }
    __device__ __forceinline__ int opposite(int r) const {  // real line: the other channel
        return P % 4 || (r == 0 && j == 0) ? tile_index(pitch, r == 0 && j == 0 ? 0 : N - j - r * P, channel + 1)
                                           : down - r * P * pitch;
    }
};

// ---- a DFT whose only non-zero inputs are FIRST .. FIRST + COUNT - 1 (mod SIZE). If these are at
// most half of all inputs, even and odd outputs are DFTs of half the size, of folded inputs.
template <int SIZE, int FIRST, int COUNT, class T>
__device__ __forceinline__ void pruned_dft(complex<T> (&x)[SIZE]) {
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
        pruned_dft<HALF, FIRST % HALF, COUNT>(even);
        pruned_dft<HALF, FIRST % HALF, COUNT>(odd);
#pragma unroll
        for (int q = 0; q < HALF; q++) x[2 * q] = even[q], x[2 * q + 1] = odd[q];
    }
}

// ---- twiddle factors of stage 0: from memory, or held in registers by a thread with one butterfly
struct own_twiddles {
    value w[first_stage::R > 1 ? first_stage::R - 1 : 1];
    __device__ __forceinline__ own_twiddles(const REAL *twiddles, int j) {
#pragma unroll
        for (int r = 1; r < first_stage::R; r++)
            w[r - 1] = load_pair(twiddles + 2 * ((r - 1) * first_stage::STRIDE + j));
    }
};
__device__ __forceinline__ void apply_first_twiddles(value (&x)[first_stage::R], int j, const REAL *twiddles) {
    apply_twiddles<fno_line_shape, 0>(x, j, twiddles);
}
__device__ __forceinline__ void apply_first_twiddles(value (&x)[first_stage::R], int, const own_twiddles &twiddles) {
#pragma unroll
    for (int r = 1; r < first_stage::R; r++) x[r] = x[r] * twiddles.w[r - 1];
}

// ---- forward. get(j, offset) loads point j + offset of this thread's line; `offset` is a constant
// once loops are unrolled, so that one address serves a butterfly. The caller puts barriers before
// and after each function.
template <class GET>
__device__ __forceinline__ void take_butterfly(value (&x)[first_stage::R], int j, const GET &get) {
#pragma unroll
    for (int r = 0; r < first_stage::R; r++) x[r] = get(j, r * first_stage::STRIDE);
}
template <class ROOTS>
__device__ __forceinline__ void butterfly_to_shared(value (&x)[first_stage::R], int j, value *line,
                                                    const ROOTS &twiddles) {
    dft<first_stage::R>(x);
    apply_first_twiddles(x, j, twiddles);
    store_butterfly<fno_line_shape, 0>(x, line, j);
}
template <class GET>
__device__ __forceinline__ void points_to_shared(value *line, int t, const REAL *twiddles, const GET &get) {
#pragma unroll 1
    for (int j = t; j < first_stage::COUNT; j += THREADS_X) {
        value x[first_stage::R];
        take_butterfly(x, j, get);
        butterfly_to_shared(x, j, line, twiddles);
    }
}
// channel: the line's first channel in the tile; made(number): conversion before it is stored.
template <class MADE>
__device__ __forceinline__ void shared_to_tile(const value *line, value *tile, int pitch, int channel, int t,
                                               REAL scale, const MADE &made) {
#pragma unroll 1
    for (int j = t; j < last_stage::COUNT; j += THREADS_X) {
        value x[R];
        if (!butterfly_kept(j)) continue;
        load_butterfly<fno_line_shape, LAST>(x, line, digit_reversed_first<fno_line_shape>(j));
        dft<R>(x);
        const tile_column at = {pitch, channel, j};
#pragma unroll
        for (int r = 0; r < R; r++) {
            const int f = j + r * P;
            if (!result_kept(r)) continue;
            // Frequencies of the half spectrum stand for two, except those that are their own
            // negatives.
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

// ---- inverse. put(j, offset, z) stores point j + offset.
__device__ __forceinline__ void tile_to_shared(const value *tile, int pitch, int channel, value *line, int t) {
#pragma unroll 1
    for (int j = t; j < last_stage::COUNT; j += THREADS_X) {
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
        if (butterfly_kept(j)) pruned_dft<R, FIRST_RESULT, RESULTS>(x);
        store_butterfly<fno_line_shape, LAST>(x, line, digit_reversed_first<fno_line_shape>(j));
    }
}
template <class ROOTS, class PUT>
__device__ __forceinline__ void shared_to_points(value *line, int t, const ROOTS &twiddles, const PUT &put) {
#pragma unroll 1
    for (int j = t; j < first_stage::COUNT; j += THREADS_X) {
        value x[first_stage::R];
        load_butterfly<fno_line_shape, 0>(x, line, j);
        apply_first_twiddles(x, j, twiddles);
        dft<first_stage::R>(x);
#pragma unroll
        for (int r = 0; r < first_stage::R; r++) put(j, r * first_stage::STRIDE, swapped(x[r]));
    }
}
