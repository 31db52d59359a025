// All steps of a linear system at once along the slowest axis, between transforms along the other
// axes: columns of the spectra are transformed, multiplied by the power of the matrix of a step,
// and transformed back, in place.
//
//     v[i] <- scale sum over k of  M(k)^steps V[k] exp(2 pi i k i / N)
//     V[k] = sum over i < N of  v[i] exp(-2 pi i k i / N)
//
// v[i] has MODES_WIDTH complex numbers: of each field the backward differences of its levels. M is
// the matrix of modes_power.cu, whose pass over the spectra this kernel saves. `levels`: the
// results are levels.
//
//     column 0 1 2 ..      MODES_COLUMNS neighbouring columns are a block's, each as MODES_WIDTH
//     i = 0    | | |       lines in shared memory, THREADS_X threads a line:
//     i = 1    | | |       memory -> stage 0 -> .. -> last stage -> power, a thread for the numbers
//     ..                   of a frequency -> last stage of the inverse -> .. -> stage 0 -> memory
//
// MODES_EVEN_LINE: the matrices of k and -k are the same, and a thread computes one for both.
//
// A column longer than a block holds is shared by LINE_SHARES blocks of a cluster, each with a part
// of the frequencies; -k may be another block's.
//
// Reads REAL, BLOCKS, THREADS_X, LINE_*, MODES_*, modes_matrix.
#include "device/launch_checks.cuh"
#include "device/shared_fft.cuh"
#include "modes/matrix.cuh"
#include "params.cuh"

struct column_line {
    static constexpr int N = LINE_POINTS, STAGES = LINE_STAGES, THREADS = THREADS_X, LINES = LINE_COUNT, PAD = LINE_PAD,
                         TABLE = LINE_TABLE, SHARES = LINE_SHARES;
    static constexpr __host__ __device__ int radix(int s) { return LINE_RADIX[s]; }
};
constexpr int N = LINE_POINTS, LAST = LINE_STAGES - 1, THREADS = THREADS_X * LINE_COUNT;
static_assert(LINE_COUNT == MODES_WIDTH * MODES_COLUMNS, "a line for each number of the state");
static_assert(LINE_STAGES >= 2, "a column comes from memory in one stage and goes back there in another");
using value = complex<REAL>;
using first_stage = fft_stage<column_line, 0>;
using last_stage = fft_stage<column_line, LAST>;

struct columns_arguments {
    REAL *spectrum;     // [number of the state][grid][i][column].
    const REAL *roots;  // Twiddle factors of the FFT stages.
    symbol_tables tables;
    long long grids, columns, pitch;  // Columns of a grid; frequencies along x.
    long long tiles;                  // Blocks, or clusters, of a grid.
    unsigned long long steps;
    double scale;
    long long levels;           // 1: levels are stored, not their differences.
    wide values[MODES_VALUES];  // As in modes_power.cu.
};
static_assert(layout_matches(sizeof(columns_arguments)), "the arguments that are launched");
static_assert(shared_bytes_match(sizeof(value) * padded_points<column_line>() + sizeof(wide) * MODES_COLUMNS * SLOTS),
              "the shared memory that is given");

// Frequency k of a line in shared memory.
struct cell {
    int index;
    unsigned block;  // Of the cluster.
};
__device__ __forceinline__ cell cell_of(int k) {
    constexpr int P = N / last_stage::R;
    const int t = k % P;
    const int index = shared_index<column_line, LAST>(digit_reversed_first<column_line>(t), k / P);
    if constexpr (LINE_SHARES == 1)
        return {index, 0u};
    else
        return {index, cluster_stage<column_line>::block(t % LINE_RADIX[0])};
}
__device__ __forceinline__ value load_cell(const value *line, cell c, unsigned rank) {
    if constexpr (LINE_SHARES > 1)
        if (c.block != rank) {
            words_of<REAL> words;
            cluster_load(words.word, reinterpret_cast<const unsigned *>(line + c.index), c.block);
            return from_words<REAL>(words.word);
        }
    return line[c.index];
}
__device__ __forceinline__ void store_cell(value *line, cell c, unsigned rank, value z) {
    if constexpr (LINE_SHARES > 1)
        if (c.block != rank) {
            words_of<REAL> words;
            to_words(z, words.word);
            cluster_store(reinterpret_cast<unsigned *>(line + c.index), words.word, c.block);
            return;
        }
    line[c.index] = z;
}

constexpr int UNROLLED_REACH = MODES_REACH <= 8 ? 8 : 1;

// Powers for the levels of one field, whose products do not cancel, are applied in the data's type.
using applied = chosen<MODES_TRACE, REAL, double>::type;
using factors = matrix<chosen<MODES_REAL, applied, complex<applied>>::type>;

__device__ __forceinline__ void apply_at(const columns_arguments &a, const factors &power, value *lines, cell at,
                                         unsigned rank, bool first) {
    complex<applied> in[MODES_WIDTH], made[MODES_WIDTH];
#pragma unroll UNROLLED_SIZE
    for (int i = 0; i < MODES_WIDTH; i++) {
        const value z = load_cell(lines + i * MODES_COLUMNS, at, rank);
        in[i] = {static_cast<applied>(z.re), static_cast<applied>(z.im)};
    }
    apply(power, in, first, made);
    if (a.levels) to_levels(made);
#pragma unroll UNROLLED_SIZE
    for (int i = 0; i < MODES_WIDTH; i++) store_cell(lines + i * MODES_COLUMNS, at, rank, swapped(rounded(made[i])));
}

// Element e of this block: its frequency.
__device__ __forceinline__ int frequency_at(int e, unsigned rank) {
    if constexpr (LINE_SHARES == 1) return e;
    return frequency_of<column_line>(e % last_stage::COUNT, rank) + e / last_stage::COUNT * (N / last_stage::R);
}
// Applies the powers at all frequencies of the block, or at those up to N / 2 and their mirror
// images.
__device__ __forceinline__ void apply_powers(const columns_arguments &a, value *lines, const wide *terms,
                                             long long first_column, unsigned rank) {
    constexpr int COUNT = LINE_SHARES == 1 && MODES_EVEN_LINE ? N / 2 + 1 : N / LINE_SHARES;
    frequency f;
    f.values = a.values;
    f.cosine[0] = {1.0, 0.0}, f.sine[0] = {0.0, 0.0};
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x); i < COUNT * MODES_COLUMNS; i += THREADS) {
        const int column = i % MODES_COLUMNS, k = frequency_at(i / MODES_COLUMNS, rank), mirror = k ? N - k : 0;
        if (MODES_EVEN_LINE && k > mirror && k) continue;
        f.terms = terms + column * SLOTS;
        f.first = !k && !(first_column + column);
        int multiple = 0;
#pragma unroll UNROLLED_REACH
        for (int o = 1; o <= MODES_REACH; o++) {
            multiple += multiple + k < N ? k : k - N;
            const wide_complex turn = root(a.tables.axis[2], multiple);
            f.cosine[o] = turn.re, f.sine[o] = turn.im;
        }
        exact step = {};
        modes_matrix(f, step);
        const factors power = scaled<applied>(power_of(step, a.steps), a.scale);
        apply_at(a, power, lines + column, cell_of(k), rank, f.first);
        if (MODES_EVEN_LINE && k != mirror) apply_at(a, power, lines + column, cell_of(mirror), rank, false);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    modes_columns(const __grid_constant__ columns_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    const int lane = static_cast<int>(threadIdx.x) % LINE_COUNT, t = static_cast<int>(threadIdx.x) / LINE_COUNT;
    value *const lines = reinterpret_cast<value *>(stn_shared), *const line = lines + lane;
    // Of each column.
    wide *const terms = reinterpret_cast<wide *>(lines + padded_points<column_line>());
    const long long tile = blockIdx.x / LINE_SHARES, grid = tile / a.tiles,
                    first_column = tile % a.tiles * MODES_COLUMNS, own = first_column + lane % MODES_COLUMNS;
    const unsigned rank = LINE_SHARES > 1 ? cluster_rank() : 0u;
    const bool active = own < a.columns;
    value *const column =
        reinterpret_cast<value *>(a.spectrum) + (lane / MODES_COLUMNS * a.grids + grid) * (N * a.columns) + own;
    for (int i = static_cast<int>(threadIdx.x); i < MODES_COLUMNS * MODES_TERMS; i += THREADS) {
        const long long c = first_column + i / SLOTS;
        if (c < a.columns) terms[i] = term_of(a.tables, i % SLOTS, c / a.pitch, c % a.pitch);
    }
    // Until all blocks have started.
    if (LINE_SHARES > 1) line_barrier_in_cluster<column_line>();
#pragma unroll 1
    for (int j = t; j < first_stage::COUNT; j += THREADS_X) {
        value x[first_stage::R];
        const int q = j + static_cast<int>(rank) * first_stage::COUNT;
#pragma unroll
        for (int r = 0; r < first_stage::R; r++)
            x[r] = active
                       ? load_pair(reinterpret_cast<const REAL *>(column + (q + r * first_stage::STRIDE) * a.columns))
                       : value{REAL(0), REAL(0)};
        dft<first_stage::R>(x);
        apply_twiddles<column_line, 0>(x, q, a.roots);
        store_butterfly_in_cluster<column_line>(x, line, q);
    }
    line_barrier_in_cluster<column_line>();
    forward_stages<column_line, 1, LINE_STAGES>(line, t, a.roots);
    if (LINE_SHARES > 1 && MODES_EVEN_LINE) line_barrier_in_cluster<column_line>();
    apply_powers(a, lines, terms, first_column, rank);
    if (LINE_SHARES > 1 && MODES_EVEN_LINE)
        line_barrier_in_cluster<column_line>();
    else
        __syncthreads();
    inverse_stages<column_line, LINE_STAGES, 1>(line, t, a.roots);
    if (LINE_SHARES > 1) line_barrier_in_cluster<column_line>();
#pragma unroll 1
    for (int j = t; j < first_stage::COUNT; j += THREADS_X) {
        value x[first_stage::R];
        const int q = j + static_cast<int>(rank) * first_stage::COUNT;
        load_butterfly_in_cluster<column_line>(x, line, q);
        apply_twiddles<column_line, 0>(x, q, a.roots);
        dft<first_stage::R>(x);
        if (!active) continue;
#pragma unroll
        for (int r = 0; r < first_stage::R; r++)
            store_pair(reinterpret_cast<REAL *>(column + (q + r * first_stage::STRIDE) * a.columns), swapped(x[r]));
    }
    // Until no block reads this block's memory.
    if (LINE_SHARES > 1) line_barrier_in_cluster<column_line>();
}
