// All steps of a linear system at once on periodic grids of 2 axes, in three passes. The numbers of
// the state lie side by side in the spectrum, so that the block that multiplies by the power of the
// step's matrix has all numbers of a frequency:
//
//     spectrum: [grid][y][kx / GROUP][number][kx % GROUP], 32 bytes of a number side by side
//
//     MODES_PASS 0: levels -> numbers of the state -> real transform of rows along x
//                2: transform along y -> power of the step's matrix -> levels -> inverse along y
//                4: inverse real transform of rows along x -> levels
//
// The numbers are two fields; or, of one field of two levels, the level and its difference from the
// level before it.
//
// Rows of 2N real numbers are N complex points, as in spectral_rows.cu. In pass 2 a thread computes
// butterflies t and P - t of the last stage, of all numbers, and so has frequencies k and -k, which
// share a power:
//
//     t + r P,  N - (t + r P)     r < R,  P = N / R
//
//     block of pass 2:  LINE_COUNT / W neighbouring columns
//     other passes:     LINE_COUNT lines, of the numbers of neighbouring rows
//
// A column that does not fit one block is shared by LINE_SHARES blocks of a cluster
// (device/shared_fft.cuh). Results r and R_0 - r of stage 0, and so k and -k, go to the same block.
//
// Reads REAL, BLOCKS, THREADS_X, LINE_*, MODES_*, modes_matrix.
#include "modes/line_blocks.cuh"

// Frequencies of a number that lie side by side.
constexpr int GROUP = 32 / (2 * static_cast<int>(sizeof(REAL)));
static_assert(!MIDDLE || (LINE_COUNT == W * MODES_COLUMNS && MODES_COLUMNS % GROUP == 0), "all numbers of a column");
static_assert(MIDDLE || LINE_SHARES == 1, "a row lies in one block");
static_assert(W == 2, "one field of two levels, or two fields");

struct plane_arguments {
    const REAL *in[W];
    REAL *out[W];
    REAL *spectrum;
    const REAL *twiddles;       // Twiddle factors of the FFT stages.
    const REAL *half_twiddles;  // exp(-pi i k / N) of rows.
    long long grids, across;    // Grids of a number; rows of a grid.
    long long pitch, width;     // Frequencies of a row, with and without padding.
    long long tiles;            // Blocks, or clusters, of all rows or of a grid's columns.
    symbol_tables tables;
    unsigned long long steps;
    double scale;
    wide values[MODES_VALUES];  // As in modes_power.cu.
};
static_assert(layout_matches(sizeof(plane_arguments)), "the arguments that are launched");

// A line of the spectrum: its first point, or the first frequency of a row. Lines past the last one
// load what another line of the block does, and store nothing, so that all loads are unconditional.
struct spectrum_line {
    value *first;
    long long row;  // Rows: elements of an array before the row.
    int number;     // Rows: which number of the state.
    bool stores;
};
__device__ __forceinline__ spectrum_line line_of(const plane_arguments &a, int lane, long long tile) {
    spectrum_line p = {};
    value *const spectrum = reinterpret_cast<value *>(a.spectrum);
    if constexpr (MIDDLE) {
        const long long begin = tile % a.tiles * LINE_COUNT, c = begin + lane;
        p.stores = c / (W * GROUP) * GROUP + c % GROUP < a.width;
        p.first = spectrum + tile / a.tiles * a.across * a.pitch * W + (p.stores ? c : begin);
    } else {
        const long long line = tile * LINE_COUNT + lane, rows = a.grids * a.across, row = min(line / W, rows - 1);
        p.number = static_cast<int>(line % W), p.stores = line < rows * W;
        p.first = spectrum + row * a.pitch * W + p.number * GROUP, p.row = row * (2 * N);
    }
    return p;
}
// Where frequency k of a row, and point i of a column, are stored.
__device__ __forceinline__ REAL *frequency_address(const spectrum_line &p, int k) {
    return reinterpret_cast<REAL *>(p.first + k / GROUP * (W * GROUP) + k % GROUP);
}
__device__ __forceinline__ REAL *point_address(const plane_arguments &a, const spectrum_line &p, int i) {
    return reinterpret_cast<REAL *>(p.first + i * (a.pitch * W));
}

// ---- rows

// Loads the points of butterfly j of stage 0 of the line's number. Of one field of two levels,
// number 1 is their difference.
__device__ __forceinline__ void load_levels(const plane_arguments &a, const spectrum_line &p, int j,
                                            value (&x)[first_stage::R]) {
    constexpr bool DIFFERENCES = MODES_FIELDS < W;
    const REAL *const level = a.in[DIFFERENCES ? 0 : p.number] + p.row, *const before = a.in[1] + p.row;
#pragma unroll
    for (int r = 0; r < first_stage::R; r++) x[r] = load_pair(level + 2 * (j + r * first_stage::STRIDE));
    if constexpr (DIFFERENCES)
        if (p.number) {
            value y[first_stage::R];
#pragma unroll
            for (int r = 0; r < first_stage::R; r++) y[r] = load_pair(before + 2 * (j + r * first_stage::STRIDE));
#pragma unroll
            for (int r = 0; r < first_stage::R; r++) x[r] = x[r] - y[r];
        }
}
// Stores the frequencies k and N - k times 2; the scale of the power removes this factor.
__device__ __forceinline__ void store_frequencies(const plane_arguments &a, const spectrum_line &p, const value *line,
                                                  int t0) {
#pragma unroll 1
    for (int t = t0; t <= P / 2; t += THREADS_X) {
        value x[R], y[R];
        load_partners<line_shape>(x, y, line, t);
        align_partners(y, t);
#pragma unroll
        for (int r = 0; r < R; r++) {
            const int k = t + r * P;
            const value z = x[r], w = conjugate(y[R - 1 - r]);
            const value s = z + w, d = minus_i(half_twiddle<line_shape, R>(a.half_twiddles, t, r) * (z - w));
            if (p.stores) store_pair(frequency_address(p, k), s + d);
            if (p.stores) store_pair(frequency_address(p, N - k), conjugate(s - d));
        }
    }
}
__device__ __forceinline__ void load_frequencies(const plane_arguments &a, const spectrum_line &p, value *line,
                                                 int t0) {
#pragma unroll 1
    for (int t = t0; t <= P / 2; t += THREADS_X) {
        value x[R], y[R];
#pragma unroll
        for (int r = 0; r < R; r++) {
            x[r] = load_pair(frequency_address(p, t + r * P));
            y[R - 1 - r] = load_pair(frequency_address(p, N - (t + r * P)));
        }
        if (t == 0) x[0].im = y[R - 1].im = REAL(0);  // Rounding errors left by the columns.
#pragma unroll
        for (int r = 0; r < R; r++) {
            const value z = x[r], w = conjugate(y[R - 1 - r]), s = z + w,
                        d = conjugate(half_twiddle<line_shape, R>(a.half_twiddles, t, r)) * (z - w);
            x[r] = swapped(s - minus_i(d)), y[R - 1 - r] = swapped(conjugate(s + minus_i(d)));
        }
        store_partners<line_shape>(x, y, line, t);
    }
}

// ---- stage 0 of columns

// Result r of stage 0 becomes result slot_of(r), so that r and R_0 - r go to the same block.
constexpr int R0 = first_stage::R, EACH = R0 / LINE_SHARES, Q = P / R0;
static_assert(LINE_SHARES == 1 || (EACH % 2 == 0 && Q % 2 == 0), "a block has r and R_0 - r");
__device__ __forceinline__ constexpr int slot_of(int r) {
    if (LINE_SHARES == 1) return r;
    const int pair = r % (R0 / 2) == 0 ? 0 : r < R0 / 2 ? r : R0 - r;
    return 2 * pair + (r >= R0 / 2);
}
__device__ __forceinline__ void forward_first(const plane_arguments &a, const spectrum_line &p, value *line, int t0,
                                              int share) {
#pragma unroll 1
    for (int j = t0; j < first_stage::COUNT; j += THREADS_X) {
        const int q = j + share * first_stage::COUNT;
        value x[R0], to[R0];
#pragma unroll
        for (int r = 0; r < R0; r++) x[r] = load_pair(point_address(a, p, q + r * first_stage::STRIDE));
        dft<R0>(x);
        apply_twiddles<line_shape, 0>(x, q, a.twiddles);
#pragma unroll
        for (int r = 0; r < R0; r++) to[slot_of(r)] = x[r];
        store_butterfly_in_cluster<line_shape>(to, line, q);
    }
}
__device__ __forceinline__ void inverse_first(const plane_arguments &a, const spectrum_line &p, const value *line,
                                              int t0, int share) {
#pragma unroll 1
    for (int j = t0; j < first_stage::COUNT; j += THREADS_X) {
        const int q = j + share * first_stage::COUNT;
        value from[R0], x[R0];
        load_butterfly_in_cluster<line_shape>(from, line, q);
#pragma unroll
        for (int r = 0; r < R0; r++) x[r] = from[slot_of(r)];
        apply_twiddles<line_shape, 0>(x, q, a.twiddles);
        dft<R0>(x);
#pragma unroll
        for (int r = 0; r < R0; r++)
            if (p.stores) store_pair(point_address(a, p, q + r * first_stage::STRIDE), swapped(x[r]));
    }
}

// ---- the power, at the last stage of all numbers of a column

// Butterflies t and P - t of the last stage: where they begin in shared memory, and whether they
// are the same one.
struct butterfly_pair {
    int t, first, partner;
    bool same;
};
// The number of pairs of a block.
__device__ __forceinline__ int pairs_of(int share) {
    return LINE_SHARES == 1 ? P / 2 + 1 : EACH / 2 * Q + (share == 0);
}
__device__ __forceinline__ butterfly_pair pair_of(int j, int share) {
    if constexpr (LINE_SHARES == 1) {
        const bool same = j == 0 || 2 * j == P;
        const int first = digit_reversed_first<line_shape>(j);
        return {j, first, same ? first : digit_reversed_first<line_shape>(P - j), same};
    } else {
        // Slots 2 pair and 2 pair + 1 have t = r + R_0 s and R_0 - r + R_0 (Q - 1 - s). Slots 0 and
        // 1 of block 0 have t = R_0 s and R_0 / 2 + R_0 s, whose partners lie in the same slot.
        const int pair = j / Q, r = share * (EACH / 2) + pair;
        int s = j % Q, slot = 2 * pair, other = slot + 1, partner = Q - 1 - s, t = r + R0 * s;
        bool same = false;
        if (share == 0 && (pair == 0 || j == EACH / 2 * Q)) {
            const bool odd = pair == 0 && s >= Q / 2;
            s = j == EACH / 2 * Q ? Q / 2 : odd ? s - Q / 2 : s;
            slot = other = odd, t = R0 * s + (odd ? R0 / 2 : 0);
            partner = odd ? Q - 1 - s : s ? Q - s : 0;
            same = !odd && (s == 0 || 2 * s == Q);
        }
        return {t, slot * first_stage::STRIDE + digit_reversed_first<line_shape, 1>(s),
                other * first_stage::STRIDE + digit_reversed_first<line_shape, 1>(partner), same};
    }
}

// A power is computed for frequencies k and, if R is even, k + N / 2.
constexpr int HALVES = R % 2 ? 1 : 2, STEPS = R / HALVES;
// The matrix that gives the levels after all steps. flip: the numbers of the state are exchanged.
__device__ __forceinline__ factors levels_of(const double_matrix &power, double scale, bool flip) {
    double_matrix levels = power;
    if constexpr (MODES_FIELDS < W)
#pragma unroll
        for (int j = 0; j < W; j++) levels.at[1][j] = power.at[0][j] - power.at[1][j];
    double_matrix to;
#pragma unroll
    for (int i = 0; i < W; i++)
#pragma unroll
        for (int j = 0; j < W; j++) to.at[i][j] = flip ? levels.at[W - 1 - i][W - 1 - j] : levels.at[i][j];
    return scaled(to, scale);
}
// The levels after all steps, swapped for the inverse.
__device__ __forceinline__ void step_state(const factors &levels, value (&state)[W]) {
    complex<applied> in[W], made[W];
#pragma unroll
    for (int i = 0; i < W; i++) in[i] = {static_cast<applied>(state[i].re), static_cast<applied>(state[i].im)};
    apply(levels, in, false, made);
#pragma unroll
    for (int i = 0; i < W; i++) state[i] = swapped(rounded(made[i]));
}

__device__ __forceinline__ void apply_powers(const plane_arguments &a, value *lines, const wide *terms, int share) {
    frequency f;
    f.values = a.values, f.first = false;
#pragma unroll 1
    for (int j = static_cast<int>(threadIdx.x); j < MODES_COLUMNS * pairs_of(share); j += THREADS) {
        const int c = j % MODES_COLUMNS;
        const butterfly_pair pair = pair_of(j / MODES_COLUMNS, share);
        // Half of the threads access the numbers in reverse order, so that they use other banks.
        const int flip = j / MODES_COLUMNS >> 1 & 1;
        value *const column = lines + c / GROUP * (W * GROUP) + c % GROUP;
        value x[W][R], y[W][R];
        f.terms = terms + c * SLOTS;
#pragma unroll
        for (int i = 0; i < W; i++) {
            load_butterfly<line_shape, LAST>(x[i], column + (i ^ flip) * GROUP, pair.first);
            load_butterfly<line_shape, LAST>(y[i], column + (i ^ flip) * GROUP, pair.partner);
            dft<R>(x[i]);
            dft<R>(y[i]);
            align_partners(y[i], pair.t);
        }
#pragma unroll 1
        for (int r = 0; r < STEPS; r++) {
            double_matrix power[2];
            powers_at<N, HALVES>(a.tables, a.steps, f, pair.t + r * P, power);
            // After each frequency the points of x move down by one index and those of y up, so
            // that all indices are constants.
#pragma unroll
            for (int h = 0; h < HALVES; h++) {
                const factors own = levels_of(power[h], a.scale, flip != 0);
                const int low = h * STEPS, high = R - 1 - low;
                value up[W], down[W];
#pragma unroll
                for (int i = 0; i < W; i++) up[i] = x[i][low], down[i] = y[i][high];
                step_state(own, up);
                step_state(own, down);
#pragma unroll
                for (int i = 0; i < W; i++) {
#pragma unroll
                    for (int s = 0; s + 1 < STEPS; s++)
                        x[i][low + s] = x[i][low + s + 1], y[i][high - s] = y[i][high - s - 1];
                    x[i][low + STEPS - 1] = up[i], y[i][high - STEPS + 1] = down[i];
                }
            }
        }
#pragma unroll
        for (int i = 0; i < W; i++) {
            dft<R>(x[i]);
            store_butterfly<line_shape, LAST>(x[i], column + (i ^ flip) * GROUP, pair.first);
            if (pair.same) continue;
            dft<R>(y[i]);
            store_butterfly<line_shape, LAST>(y[i], column + (i ^ flip) * GROUP, pair.partner);
        }
    }
}

// ---- passes

__device__ __forceinline__ void rows_forward(const plane_arguments &a, const spectrum_line &p, value *line, int t0) {
#pragma unroll 1
    for (int j = t0; j < first_stage::COUNT; j += THREADS_X) {
        value x[first_stage::R];
        load_levels(a, p, j, x);
        forward_butterfly<line_shape, 0>(x, line, j, a.twiddles);
    }
    __syncthreads();
    forward_stages<line_shape, 1, LAST>(line, t0, a.twiddles);
    store_frequencies(a, p, line, t0);
}
__device__ __forceinline__ void rows_back(const plane_arguments &a, const spectrum_line &p, value *line, int t0) {
    load_frequencies(a, p, line, t0);
    __syncthreads();
    inverse_stages<line_shape, LAST, 1>(line, t0, a.twiddles);
    REAL *const out = a.out[p.number];
    if (!p.stores || !out) return;
#pragma unroll 1
    for (int j = t0; j < first_stage::COUNT; j += THREADS_X) {
        value x[first_stage::R];
        inverse_butterfly<line_shape, 0>(x, line, j, a.twiddles);
#pragma unroll
        for (int r = 0; r < first_stage::R; r++)
            store_pair(out + p.row + 2 * (j + r * first_stage::STRIDE), swapped(x[r]));
    }
}
__device__ __forceinline__ void columns_and_powers(const plane_arguments &a, const spectrum_line &p, value *lines,
                                                   value *line, int t0, long long tile, int share) {
    wide *const terms = reinterpret_cast<wide *>(lines + padded_points<line_shape>());
    if (LINE_SHARES > 1) line_barrier_in_cluster<line_shape>();  // All blocks have started.
    forward_first(a, p, line, t0, share);
    for (int i = static_cast<int>(threadIdx.x); i < MODES_COLUMNS * MODES_TERMS; i += THREADS)
        terms[i] = term_of(a.tables, i % SLOTS, 0, min(tile % a.tiles * MODES_COLUMNS + i / SLOTS, a.width - 1));
    line_barrier_in_cluster<line_shape>();
    forward_stages<line_shape, 1, LAST>(line, t0, a.twiddles);
    apply_powers(a, lines, terms, share);
    __syncthreads();
    inverse_stages<line_shape, LAST, 1>(line, t0, a.twiddles);
    if (LINE_SHARES > 1) line_barrier_in_cluster<line_shape>();
    inverse_first(a, p, line, t0, share);
    if (LINE_SHARES > 1) line_barrier_in_cluster<line_shape>();  // The others have read this block.
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) modes_plane(const __grid_constant__ plane_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    const int lane = static_cast<int>(threadIdx.x) % LINE_COUNT, t0 = static_cast<int>(threadIdx.x) / LINE_COUNT;
    value *const lines = reinterpret_cast<value *>(stn_shared), *const line = lines + lane;
    const long long tile = blockIdx.x / LINE_SHARES;
    const spectrum_line p = line_of(a, lane, tile);
    if constexpr (MODES_PASS == 0)
        rows_forward(a, p, line, t0);
    else if constexpr (MIDDLE)
        columns_and_powers(a, p, lines, line, t0, tile, LINE_SHARES > 1 ? static_cast<int>(cluster_rank()) : 0);
    else
        rows_back(a, p, line, t0);
}
