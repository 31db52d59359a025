// The middle passes of `spectral`: columns of the spectrum, forward FFT, multiplication by the
// symbol, inverse FFT.
//
//     v[i] <- scale * sum over k of  K(k)^T V[k] w^(-k i)        w = exp(-2 pi sqrt(-1) / N)
//     V[k] = sum over i < N of  v[i] w^(k i)
//
// for each column, extended at both ends. DIRECTION 0: forward only (all axes but the last), 1:
// inverse only, 2: all.
//
//     a column's points are in groups of SPECTRUM_GROUP neighbours, `pitch` columns apart:
//     [i / SPECTRUM_GROUP][column < pitch][i % SPECTRUM_GROUP]
//
//     column 0 1 2 ..       LINE_COUNT columns are a block's, THREADS_X threads each:
//     i = 0, 1  | | | |     memory -> stage 0 -> shared memory -> .. -> last stage, symbol, first
//     i = 2, 3  | | | |     stage of the inverse, in registers -> .. -> stage 0 -> memory, in place
//
// SOURCES (fixed and constant sides): a constant source next to the faces is added at every step.
// Over T steps it contributes (1 + K + .. + K^(T-1)) b, where b is its transform at frequency k of
// the column. b is a sum over the low and the high face j of the column's own axis and of each
// other axis f:
//
//     row_response[k][j] row[j][column] + sum over f of  values_f[k][j] unit_response_f[column][j]
//
// row_response and unit_response are the transforms of a unit value next to a face; row and values
// are the transforms of the source on a face. SOURCES 1 and 2: the number of other axes.
//
// COLUMNS_DECAYED: in columns whose factors all round to 0 (decayed modes) only the source
// contributes, and the forward FFT is omitted; the other columns are called those with points.
// COLUMNS_DECAYED 2: the blocks here have only columns with points, and spectral_decayed_modes.cu
// computes the others.
//
// SPECTRUM_ELSEWHERE: each snapshot's results are written to another array; 2: whose rows and
// planes have strides result_pitch and result_plane.
//
// COLUMN_SLABS: the columns are those of a slab, some neighbouring frequencies along x from `first`
// on with all frequencies along y, in rows of slab_width.
//
//     rows' spectrum [z][y][x]  -- DIRECTION 0, along y -->  slab [z][frequency along y][some x]
//     -- DIRECTION 2 along z, in place; DIRECTION 1 along y -->  back
//
// A column longer than a block holds is shared by LINE_SHARES blocks of a cluster.
//
// COLUMN_PARTS above 1: a block has one column, and its lines are parts of that column, each
// transformed as a periodic line with COLUMN_STEP outputs (overlap-save). Such lines have fewer
// stages, and share one line of taps. All parts are read before any is written:
//
//     part 0   |before|   step   |after|               before, after: reach of the taps
//     part 1              |before|   step   |after|
//
// SYMBOL_ANGLE_SUM: columns are the rows of a four-step FFT, contiguous in memory
// (spectral_four_step.cu), each a plane of its own. SOURCES 3: the source is at few points p of the
// line of L points, those next to sides and their images. Each contributes its value, with
// the image's sign, times exp(-2 pi sqrt(-1) (k1 / L + k / N) p) to frequency k of row k1.
//
// Reads REAL, BLOCKS, THREADS_X, LINE_*, SPECTRUM_GROUP, DIRECTION, SPECTRUM_ELSEWHERE, EXTEND_*,
// LINE_WHOLE, SYMBOL*, SOURCES, COLUMNS_DECAYED, COLUMN_*.
#include "device/launch_checks.cuh"
#include "device/line_shape.cuh"
#include "device/shared_fft.cuh"
#include "params.cuh"
#include "spectral/extension.cuh"
#include "spectral/faces.cuh"
#include "spectral/symbol_power.cuh"

using column_line = line_shape;
constexpr int N = LINE_POINTS, LAST = LINE_STAGES - 1, THREADS = THREADS_X * LINE_COUNT;
// Number of a butterfly's frequencies whose powers are computed in one iteration of a loop. One
// frequency an iteration gives the shortest code, but each iteration moves all of the butterfly's
// values.
constexpr int together(int radix) {
    if (SYMBOL == 1 || SOURCES) return radix % 2 ? 1 : 2;
    for (int count = 5; count > 2; count--)
        if (radix % count == 0) return count;
    return radix % 7 ? radix : 7;
}
constexpr bool IN_PARTS = COLUMN_PARTS > 1;
// The line of taps: one for each column, or one for all parts of a column, computed by all threads.
struct taps_line : column_line {
    static constexpr int THREADS = IN_PARTS ? ::THREADS : THREADS_X, LINES = IN_PARTS ? 1 : LINE_COUNT;
};
static_assert(LINE_STAGES >= 2, "a column comes from memory in one stage and meets the symbol in another");
static_assert(!COLUMN_SLABS || (SPECTRUM_GROUP == 1 && !SYMBOL_ANGLE_SUM && !IN_PARTS), "slabs are of 3D grids");
static_assert(SYMBOL != 2 || (LINE_SHARES == 1 && DIRECTION == 2 && !SOURCES), "one step, within a block");
static_assert(!IN_PARTS ||
                  (COLUMN_PARTS == LINE_COUNT && SYMBOL == 2 && !COLUMNS_DECAYED && !SYMBOL_ANGLE_SUM && !LINE_WHOLE),
              "a block's lines are the parts of one column");
using value = complex<REAL>;
using first_stage = fft_stage<column_line, 0>;
using last_stage = fft_stage<column_line, LAST>;

struct source_image {
    int point, side;  // p modulo N; the side whose value it is.
};
struct four_step_rows {
    const double *half_angles;  // cos and sin of pi k1 / L for each row.
    const source_image *image;
    // exp(-2 pi i k1 p / L) for each image and row, times twice the image's sign.
    const double *row;
    const int *images;  // Window w has images images[w] to images[w + 1] - 1.
    // The first window of this launch, counted over all grids; windows of a grid.
    long long first, windows;
    int rows, unused;
};
struct spectral_columns_arguments {
    REAL *spectrum;
    const REAL *twiddles;  // Twiddle factors of the FFT stages.
    symbol_arguments symbol;
    // Columns; stride of planes (or of grids, for the slowest axis), in complex numbers.
    long long pitch, plane;
    int columns, tiles;  // Columns of a plane that are computed, and blocks for them.
    // kept: frequencies |k| < kept are retained. with_points: DIRECTION 0: |k| < with_points are
    // stored; 2: see has_points.
    int kept, with_points;
    extension along;
    const REAL *row, *row_response;
    long long row_grid, row_next;  // Strides of grids and faces, in complex numbers.
    source_faces faces[2];
    int width, across;  // SOURCES 1, 2: columns lie in `across` rows of `width`.
    int with_points_across;
    // COLUMN_SLABS: the first frequency along x; stride of the slab's rows.
    int first, slab_width, unused;
    // SPECTRUM_ELSEWHERE: where results are written, in the layout of the spectrum, or of the
    // faces' values if these are transformed.
    REAL *result;
    long long result_pitch, result_plane;  // SPECTRUM_ELSEWHERE 2.
    long long uneven;                      // COLUMN_ODD_ROWS: 1 + elements before the first row.
    four_step_rows four_step;              // SYMBOL_ANGLE_SUM.
};

static_assert(layout_matches(sizeof(spectral_columns_arguments)), "the arguments that are launched");
static_assert(shared_bytes_match(sizeof(value) *
                                 (padded_points<column_line>() + (SYMBOL == 2 ? padded_points<taps_line>() : 0))),
              "the shared memory that is given");

// The source at a column: the parts of its transform that are the same for all frequencies k.
// source_at adds those of frequency k.
constexpr int OTHERS = SOURCES == 2 ? 2 : 1;
struct source_line {
    value row[2], unit_response[OTHERS][2];
    const REAL *values[OTHERS];
};
__device__ __forceinline__ source_line source_of(const spectral_columns_arguments &a, long long grid, int c) {
    source_line s;
    const int slow = SOURCES == 2 ? c / a.width : 0, fast = SOURCES == 2 ? c % a.width : c;
#pragma unroll
    for (int j = 0; j < 2; j++) s.row[j] = load_pair(a.row + 2 * (grid * a.row_grid + j * a.row_next + c));
#pragma unroll
    for (int f = 0; f < OTHERS; f++) {
        // Faces normal to the slower of the other axes; else to x.
        const bool of_slow = SOURCES == 2 && f == 0;
        const REAL *const from = a.faces[f].unit_response + 4 * static_cast<long long>(of_slow ? slow : fast);
#pragma unroll
        for (int j = 0; j < 2; j++) s.unit_response[f][j] = load_pair(from + 2 * j);
        s.values[f] = a.faces[f].values + 2 * (grid * a.faces[f].grid + (of_slow ? fast : 2 * slow));
    }
    return s;
}
__device__ __forceinline__ value source_at(const spectral_columns_arguments &a, const source_line &s, int k) {
    const REAL *const response = a.row_response + 4 * static_cast<long long>(k);
    value sum = load_pair(response) * s.row[0] + load_pair(response + 2) * s.row[1];
#pragma unroll
    for (int f = 0; f < OTHERS; f++)
#pragma unroll
        for (int j = 0; j < 2; j++)
            sum = sum + load_pair(s.values[f] + 2 * (k * a.faces[f].frequency_stride + j * a.faces[f].face_stride)) *
                            s.unit_response[f][j];
    return sum;
}

// The source of a row of a four-step FFT: the values of its images, and their factors for the row.
struct source_row {
    int from, to, row;
    const REAL *values;  // Of both sides.
};
__device__ __forceinline__ source_row source_of_row(const spectral_columns_arguments &a, long long plane) {
    const long long number = a.four_step.first + plane / a.four_step.rows, window = number % a.four_step.windows;
    return {a.four_step.images[window], a.four_step.images[window + 1], static_cast<int>(plane % a.four_step.rows),
            a.row + 2 * (number / a.four_step.windows * a.row_grid)};
}
__device__ __forceinline__ value source_at(const spectral_columns_arguments &a, const source_row &s, int k) {
    complex<double> sum = {0.0, 0.0};
#pragma unroll 1
    for (int i = s.from; i < s.to; i++) {
        const source_image image = a.four_step.image[i];
        const complex<double> row =
            load_pair(a.four_step.row + 2 * (static_cast<long long>(i) * a.four_step.rows + s.row));
        const complex<double> half = load_pair(a.symbol.angles + 2 * (static_cast<long long>(k) * image.point % N));
        const complex<double> twiddle = conjugate(half * half);
        sum = sum + static_cast<double>(s.values[2 * image.side]) * (row * twiddle);
    }
    return {static_cast<REAL>(sum.re), static_cast<REAL>(sum.im)};
}

struct no_source {};
__device__ __forceinline__ value source_at(const spectral_columns_arguments &, no_source, int) {
    return {REAL(0), REAL(0)};
}

// Address of point or frequency i of the column that begins at `column`.
__device__ __forceinline__ REAL *address_of(value *column, int i, long long pitch) {
    return reinterpret_cast<REAL *>(column + i / SPECTRUM_GROUP * (pitch * SPECTRUM_GROUP) + i % SPECTRUM_GROUP);
}
// Address of a point in a row's spectrum. COLUMN_ODD_ROWS: rows begin at any element, and their
// complex numbers at the next even one; `pitch` and `before` count elements.
__device__ __forceinline__ REAL *point_address(value *column, int i, long long pitch, long long before) {
    if (COLUMN_ODD_ROWS) return reinterpret_cast<REAL *>(column + ((before + i * pitch) >> 1));
    return address_of(column, i, pitch);
}
// Stride between points in the destination.
__device__ __forceinline__ long long pitch_to(const spectral_columns_arguments &a) {
    return SPECTRUM_ELSEWHERE == 2 ? a.result_pitch : a.pitch;
}
// Point i of a column, extended past its ends. NEAR: it lies less than n points past them.
template <bool NEAR>
__device__ __forceinline__ value point_at(value *column, int i, const spectral_columns_arguments &a, long long before) {
    if (LINE_WHOLE) return load_pair(point_address(column, i, a.pitch, before));
    const auto from =
        NEAR ? near_image_of<EXTEND_REPEATS, EXTEND_LOW, EXTEND_LOW_SIGN, EXTEND_HIGH, EXTEND_HIGH_SIGN>(i, a.along.n)
             : image_of<EXTEND_REPEATS, EXTEND_LOW, EXTEND_LOW_SIGN, EXTEND_HIGH, EXTEND_HIGH_SIGN>(i, a.along.n);
    if (!from.sign) return {REAL(0), REAL(0)};
    return static_cast<REAL>(from.sign) * load_pair(point_address(column, from.at, a.pitch, before));
}
// Index of frequency k among the retained ones, 0 .. kept - 1, then -(kept - 1) .. -1; negative:
// not retained.
__device__ __forceinline__ int index_of(int k, int kept) {
    if (2 * kept > N) return k;
    if (k < kept) return k;
    return k > N - kept ? k - N + 2 * kept - 1 : -1;
}

// COLUMNS_DECAYED: whether column c has points: frequencies below `with_points` along x, and below
// +- `with_points_across` along y.
__device__ __forceinline__ bool has_points(const spectral_columns_arguments &a, int c) {
    if (COLUMNS_DECAYED != 1) return true;
    const int y = c / a.width, x = c % a.width;
    return x < a.with_points && (y < a.with_points_across || y > a.across - a.with_points_across);
}

// The column's point at which a line begins.
__device__ __forceinline__ int first_of(const spectral_columns_arguments &a) {
    if (!IN_PARTS) return -a.along.before;
    return static_cast<int>(threadIdx.x) % LINE_COUNT * COLUMN_STEP - a.along.before;
}
__device__ __forceinline__ void load_points(const spectral_columns_arguments &a, value *line, int t, int share,
                                            value *column, bool active, long long before) {
    const int first = first_of(a);
    const bool near = LINE_WHOLE || is_near(first, N, a.along.n);
#pragma unroll 1
    for (int j = t; j < first_stage::COUNT; j += THREADS_X) {
        value x[first_stage::R] = {};
        const int q = j + share * first_stage::COUNT;
        const auto index = [&](int r) { return first + q + r * first_stage::STRIDE; };
        if (active && near) {
#pragma unroll
            for (int r = 0; r < first_stage::R; r++) x[r] = point_at<true>(column, index(r), a, before);
        } else if (active)
            fill_in_loop(x, [&](int r) { return point_at<false>(column, index(r), a, before); });
        dft<first_stage::R>(x);
        apply_twiddles<column_line, 0>(x, q, a.twiddles);
        store_butterfly_in_cluster<column_line>(x, line, q);
    }
}
// SYMBOL 2: the line of taps.
__device__ __forceinline__ void load_taps(const spectral_columns_arguments &a, value *line, int t, const REAL *taps) {
#pragma unroll 1
    for (int j = t; j < first_stage::COUNT; j += taps_line::THREADS) {
        value x[first_stage::R];
#pragma unroll
        for (int r = 0; r < first_stage::R; r++) x[r] = tap_at<N>(taps, j + r * first_stage::STRIDE);
        forward_butterfly<taps_line, 0>(x, line, j, a.twiddles);
    }
}
// Rows kept by fixed sides: if the output stores a part of its own spectrum, these rows already
// have their results.
constexpr int KEPT_LOW = SPECTRUM_ELSEWHERE == 2 && !EXTEND_REPEATS && EXTEND_LOW == 0 && EXTEND_LOW_SIGN < 0;
constexpr int KEPT_HIGH = SPECTRUM_ELSEWHERE == 2 && !EXTEND_REPEATS && EXTEND_HIGH == 0 && EXTEND_HIGH_SIGN < 0;
__device__ __forceinline__ void store_points(const spectral_columns_arguments &a, value *line, int t, int share,
                                             value *column, bool active, long long before) {
    const int first = first_of(a);
#pragma unroll 1
    for (int j = t; j < first_stage::COUNT; j += THREADS_X) {
        value x[first_stage::R];
        const int q = j + share * first_stage::COUNT;
        load_butterfly_in_cluster<column_line>(x, line, q);
        apply_twiddles<column_line, 0>(x, q, a.twiddles);
        dft<first_stage::R>(x);
        if (!active) continue;
#pragma unroll
        for (int r = 0; r < first_stage::R; r++) {
            const int p = q + r * first_stage::STRIDE, i = first + p;
            if (IN_PARTS && (p < a.along.before || p >= a.along.before + COLUMN_STEP)) continue;
            if (LINE_WHOLE || (i >= KEPT_LOW && i < a.along.n - KEPT_HIGH))
                store_pair(point_address(column, i, pitch_to(a), before), swapped(x[r]));
        }
    }
}
// A thread's column: its number among all columns, and the offset of its first element in complex
// numbers. With COLUMNS_DECAYED 2, blocks are counted over the columns with points only.
struct numbered_column {
    int column;
    bool active;
    long long offset;
};
__device__ __forceinline__ numbered_column column_of(const spectral_columns_arguments &a, int tile, int lane) {
    const int c = IN_PARTS ? tile : tile * LINE_COUNT + lane;
    if (COLUMNS_DECAYED != 2 && (!COLUMN_SLABS || DIRECTION != 2))
        return {c, c < a.columns, static_cast<long long>(c) * SPECTRUM_GROUP};
    const int count = COLUMNS_DECAYED == 2 ? a.with_points : a.columns, each = (count + LINE_COUNT - 1) / LINE_COUNT;
    const int x = tile % each * LINE_COUNT + lane, row = tile / each;
    const int y = COLUMNS_DECAYED != 2 || row < a.with_points_across ? row : a.across - (a.tiles / each - row);
    if (COLUMN_SLABS) return {y * a.width + a.first + x, x < count, static_cast<long long>(y) * a.slab_width + x};
    return {y * a.width + x, x < count, static_cast<long long>(y * a.width + x) * SPECTRUM_GROUP};
}
// The last stage of columns without points: only the source contributes. There is no loop for a
// power, so many loads are in flight at once.
template <class SOURCE>
__device__ __forceinline__ void source_at_last_stage(const spectral_columns_arguments &a, value *line, int t0,
                                                     int share, const symbol_line &symbol, const SOURCE &source) {
#pragma unroll 1
    for (int j = t0; j < last_stage::COUNT; j += THREADS_X) {
        value x[last_stage::R];
        const int t = frequency_of<column_line>(j, static_cast<unsigned>(share));
#pragma unroll
        for (int r = 0; r < last_stage::R; r++) {
            const int k = t + r * (N / last_stage::R);
            x[r] = swapped(decayed<N>(source_at(a, source, k), symbol, k, a.symbol));
        }
        dft<last_stage::R>(x);
        store_butterfly<column_line, LAST>(x, line, digit_reversed_first<column_line>(t));
    }
}
// The value of frequency k after all steps, swapped.
template <class SOURCE>
__device__ __forceinline__ value times_factors(const spectral_columns_arguments &a, value x, const symbol_line &symbol,
                                               const SOURCE &source, int k) {
    if constexpr (SOURCES)
        return swapped(times_symbol_with<N>(x, source_at(a, source, k), symbol, k, a.symbol));
    else
        return swapped(times_symbol<N>(x, symbol, k, a.symbol));
}
// The last stage, and the processing of its frequencies.
__device__ __forceinline__ void transform_last_stage(const spectral_columns_arguments &a, value *line, int t0,
                                                     int share, value *column, const value *taps,
                                                     const symbol_line &symbol, long long plane, int c, bool active,
                                                     bool decay_bound) {
    auto source = [&] {
        if constexpr (SOURCES == 3)
            return source_of_row(a, plane);
        else if constexpr (SOURCES > 0)
            return source_of(a, plane, active ? c : 0);
        else
            return no_source{};
    }();
    if (COLUMNS_DECAYED == 1 && decay_bound) {
        source_at_last_stage(a, line, t0, share, symbol, source);
        return;
    }
#pragma unroll 1
    for (int j = t0; j < last_stage::COUNT; j += THREADS_X) {
        value x[last_stage::R];
        const int t = frequency_of<column_line>(j, static_cast<unsigned>(share)),
                  first = digit_reversed_first<column_line>(t);
        if constexpr (DIRECTION != 1) {
            load_butterfly<column_line, LAST>(x, line, first);
            dft<last_stage::R>(x);
        }
        value factor[last_stage::R];
        if constexpr (SYMBOL == 2) {
            load_butterfly<taps_line, LAST>(factor, taps, first);
            dft<last_stage::R>(factor);
        }
#pragma unroll
        for (int r = 0; r < last_stage::R; r++) {
            const int k = t + r * (N / last_stage::R), index = index_of(k, a.kept);
            if constexpr (DIRECTION == 0) {
                const bool stored = index >= 0 && (k < a.with_points || k > N - a.with_points);
                if (active && stored) store_pair(address_of(column, index, pitch_to(a)), x[r]);
            } else if constexpr (DIRECTION == 1) {
                x[r] = {REAL(0), REAL(0)};
                if (active && index >= 0) x[r] = swapped(load_pair(address_of(column, index, a.pitch)));
            } else if constexpr (SYMBOL == 2)
                x[r] = swapped(static_cast<REAL>(a.symbol.scale) * (x[r] * factor[r]));
        }
        if constexpr (DIRECTION == 2 && SYMBOL != 2) {
            constexpr int EACH = together(last_stage::R), STEP = N / last_stage::R;
#pragma unroll 1
            for (int first_r = 0; first_r < last_stage::R; first_r += EACH) {
                value product[EACH];
#pragma unroll
                for (int r = 0; r < EACH; r++)
                    product[r] = times_factors(a, x[r], symbol, source, t + (first_r + r) * STEP);
#pragma unroll
                for (int r = 0; r < last_stage::R; r++)
                    x[r] = r + EACH < last_stage::R ? x[r + EACH] : product[r + EACH - last_stage::R];
            }
        }
        if constexpr (DIRECTION != 0) {
            dft<last_stage::R>(x);
            store_butterfly<column_line, LAST>(x, line, first);
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    spectral_columns(const __grid_constant__ spectral_columns_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    // spectral_decayed_modes.cu, if it is the next launch, waits where necessary.
    if (COLUMN_SLABS && DIRECTION != 2) let_next_launch_begin();
    const int lane = static_cast<int>(threadIdx.x) % LINE_COUNT, t = static_cast<int>(threadIdx.x) / LINE_COUNT;
    value *const line = reinterpret_cast<value *>(stn_shared) + lane;
    const unsigned tile = blockIdx.x / LINE_SHARES;
    const int share = LINE_SHARES > 1 ? static_cast<int>(cluster_rank()) : 0;
    const long long plane = tile / a.tiles;
    const numbered_column number = column_of(a, static_cast<int>(tile % a.tiles), lane);
    const int c = number.column;
    const bool active = number.active;
    constexpr bool FROM_UNEVEN = COLUMN_ODD_ROWS && DIRECTION == 0, TO_UNEVEN = COLUMN_ODD_ROWS && DIRECTION == 1;
    const long long plane_from = plane * a.plane,
                    plane_to = plane * (SPECTRUM_ELSEWHERE == 2 ? a.result_plane : a.plane);
    const long long before = COLUMN_ODD_ROWS ? a.uneven + (DIRECTION == 0 ? plane_from : plane_to) : 0;
    value *const column = reinterpret_cast<value *>(a.spectrum) + (FROM_UNEVEN ? 0 : plane_from) + number.offset;
    value *const to =
        SPECTRUM_ELSEWHERE ? reinterpret_cast<value *>(a.result) + (TO_UNEVEN ? 0 : plane_to) + number.offset : column;
    symbol_line symbol = {a.symbol.parts + static_cast<long long>(active ? c : 0) * SYMBOL_PARTS, {1.0, 0.0}};
    double coefficients[SYMBOL_FEW ? SYMBOL_PARTS : 1];  // In registers, for all frequencies.
    if constexpr (SYMBOL_FEW && DIRECTION == 2) {
#pragma unroll
        for (int i = 0; i < SYMBOL_PARTS; i++) coefficients[i] = symbol.parts[i];
        symbol.parts = coefficients;
    }
    if constexpr (SYMBOL_ANGLE_SUM)
        symbol.half_angle = load_pair(a.four_step.half_angles + 2 * (plane % a.four_step.rows));

    value *const taps = line + padded_points<column_line>() - (IN_PARTS ? lane : 0);
    bool decay_bound = COLUMNS_DECAYED == 1;
#pragma unroll
    for (int i = 0; COLUMNS_DECAYED == 1 && i < LINE_COUNT; i++)
        decay_bound = decay_bound && !has_points(a, c - lane + i);  // All columns of the block.
    if (DIRECTION != 1 && !decay_bound) {
        // Waits until all blocks have started.
        if (LINE_SHARES > 1) line_barrier_in_cluster<column_line>();
        load_points(a, line, t, share, column, active && has_points(a, c), before);
        if constexpr (SYMBOL == 2) {
            const int each = IN_PARTS ? static_cast<int>(threadIdx.x) : t;
            load_taps(
                a, taps, each,
                reinterpret_cast<const REAL *>(a.symbol.parts) + static_cast<long long>(active ? c : 0) * SYMBOL_PARTS);
            __syncthreads();
            forward_stages<taps_line, 1, LAST>(taps, each, a.twiddles);
        }
        line_barrier_in_cluster<column_line>();
        forward_stages<column_line, 1, LAST>(line, t, a.twiddles);
    }
    transform_last_stage(a, line, t, share, DIRECTION == 0 ? to : column, taps, symbol, plane, c, active, decay_bound);
    if constexpr (DIRECTION != 0) {
        __syncthreads();
        inverse_stages<column_line, LAST, 1>(line, t, a.twiddles);
        if (LINE_SHARES > 1) line_barrier_in_cluster<column_line>();
        store_points(a, line, t, share, to, active, before);
        // Waits until no block reads this block's memory.
        if (LINE_SHARES > 1) line_barrier_in_cluster<column_line>();
    }
}
