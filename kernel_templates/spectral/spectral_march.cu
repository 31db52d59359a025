// The middle pass of `spectral` with tiles: a loop that marches down the columns of the spectrum in
// segments (overlap-save), each transformed as a periodic line.
//
//     v[y] <- scale * sum over k of  K(k)^T V[k] exp(2 pi sqrt(-1) k y / N)
//     V: the FFT of the N points from y0 - MARCH_BEFORE on
//
// MARCH_STEP points of a segment are outputs: the taps at these points do not reach beyond its
// ends. A block marches down LINE_COUNT columns, and keeps the points that two segments share, so
// that every point is read once and written once, in place:
//
//     segment s     |before|        step        |after|             carry: the last N - MARCH_STEP
//     segment s+1                         |before|        step ..   input points of segment s,
//                                         '--- carry ---'           read by segment s + 1
//
//     memory -> stage 0 -> shared memory -> .. -> last stage, symbol, first stage of the inverse,
//     in registers -> .. -> stage 0 -> memory
//
// Past the low side of the axis, the first segment reads the extension's images, which are not yet
// overwritten. Past the high side, the last segments read the first points of the axis if it wraps,
// which the block has kept since the first segment; mirror images lie within the last segments.
//
// For few columns, each is divided into MARCH_CHUNKS chunks, one per block. The points around the
// first point of each chunk are copied to `chunk_halo` before any chunk begins: a chunk begins with
// its own copy, and ends with the next chunk's (with wrap, the last one ends with the first one's).
//
// All segments of a column have the same frequencies. MARCH_FACTORS: their factors K^T are computed
// once in the data's type and kept in shared memory, [k][column].
//
// The columns of a plane form strips of MARCH_WIDTH columns. The first `kept` columns of each strip
// are frequencies, the same ones in every strip; the others are not used.
//
// Reads REAL, BLOCKS, THREADS_X, LINE_*, EXTEND_*, MARCH_*, SYMBOL*.
#include "device/launch_checks.cuh"
#include "device/line_shape.cuh"
#include "device/shared_fft.cuh"
#include "params.cuh"
#include "spectral/extension.cuh"
#include "spectral/symbol_power.cuh"

using column_line = line_shape;
static_assert(LINE_SHARES == 1, "a line lies in one block");
constexpr int N = LINE_POINTS, LAST = LINE_STAGES - 1, THREADS = THREADS_X * LINE_COUNT;
constexpr int CARRY = N - MARCH_STEP, AFTER = CARRY - MARCH_BEFORE;
constexpr int NO_END = 0x3fffffff;
constexpr bool KEEPS_FIRST = EXTEND_REPEATS && MARCH_CHUNKS == 1;  // the first points of the axis
// Points that a block keeps in shared memory: two carries, and the first points of the axis.
constexpr int KEPT_POINTS = (2 * CARRY + (EXTEND_REPEATS ? AFTER : 0)) * LINE_COUNT;
static_assert(LINE_STAGES >= 2, "a column comes from memory in one stage and meets the symbol in another");
static_assert(MARCH_STEP > 0 && AFTER >= 0, "a segment is longer than what reaches into it");
using value = complex<REAL>;
template <bool PLAIN>
struct factor_of_symbol {
    using type = REAL;
};
template <>
struct factor_of_symbol<false> {
    using type = value;
};
using factor = factor_of_symbol<SYMBOL == 0>::type;
static_assert(!MARCH_FACTORS || SYMBOL != 2, "the factors of a line of taps are stored next to the line");
using first_stage = fft_stage<column_line, 0>;
using last_stage = fft_stage<column_line, LAST>;
constexpr int LINE_CELLS = padded_points<column_line>();

struct spectral_march_arguments {
    REAL *spectrum;
    // For each chunk of each plane: CARRY points of all columns, in the layout of the plane.
    const REAL *chunk_halo;
    const REAL *twiddles;  // Twiddle factors of the FFT stages.
    symbol_arguments symbol;
    long long pitch, plane;  // Strides of points and of planes, in complex numbers.
    int tiles, kept;         // Blocks per plane; frequencies of a strip.
    int n, segments;         // Points of a column; segments of a chunk.
    int across, unused;      // `across` is `pitch`, the columns of all strips.
};

static_assert(layout_matches(sizeof(spectral_march_arguments)), "the arguments that are launched");
static_assert(shared_bytes_match(sizeof(value) * (LINE_CELLS * (SYMBOL == 2 ? 2 : 1) + KEPT_POINTS) +
                                 sizeof(factor) * (MARCH_FACTORS ? N * LINE_COUNT : 0)),
              "the shared memory that is given");

struct march {
    value *column;    // In global memory.
    long long pitch;  // Stride between points.
    int n, from;      // Points; the index of the segment's point 0.
    // The first point past the chunk, from which on points are read from `past`.
    int end;
    // fresh: the chunk's first segment. chunk_halo: the chunk begins with points from `begin`.
    bool fresh, chunk_halo;
    const value *carry;   // Of the previous segment.
    value *next, *first;  // The carry for the next segment; the column's first points.
    // Copies around the chunk's first point, and around the one past it.
    const value *begin, *past;
};

__device__ __forceinline__ value from_memory(const march &m, int y) {
    return load_pair(reinterpret_cast<const REAL *>(m.column + y * m.pitch));
}
__device__ __forceinline__ value from_halo(const value *points, int p, long long pitch) {
    return load_pair(reinterpret_cast<const REAL *>(points + p * pitch));
}
// Point p < CARRY of a segment, from the previous segment or the beginning of the chunk.
__device__ __forceinline__ value carried(const march &m, int p) {
    if (MARCH_CHUNKS > 1 && m.fresh) return from_halo(m.begin, p, m.pitch);
    return m.carry[p * LINE_COUNT];
}
// A point past the column's ends: its image, from memory, or from the carry if that row has been
// overwritten.
__device__ __forceinline__ value point_past(const march &m, int y) {
    if (y >= m.n + AFTER) return {REAL(0), REAL(0)};
    if constexpr (EXTEND_REPEATS) {
        if (y < 0 || m.fresh) return from_memory(m, y < 0 ? y + m.n : y - m.n);
        return m.first[(y - m.n) * LINE_COUNT];
    } else {
        const auto image = image_of<EXTEND_REPEATS, EXTEND_LOW, EXTEND_LOW_SIGN, EXTEND_HIGH, EXTEND_HIGH_SIGN>(y, m.n);
        const bool written = (!m.fresh || m.chunk_halo) && image.at < m.from + MARCH_BEFORE;
        const value x = written ? carried(m, image.at - m.from) : from_memory(m, image.at);
        return static_cast<REAL>(image.sign) * x;
    }
}
__device__ __forceinline__ value point_at(const march &m, int p) {
    const int y = m.from + p;
    if (p < CARRY && (!m.fresh || m.chunk_halo)) return carried(m, p);
    if (MARCH_CHUNKS > 1 && y >= m.end && y < m.end + AFTER)
        return from_halo(m.past, y - m.end + MARCH_BEFORE, m.pitch);
    return y >= 0 && y < m.n ? from_memory(m, y) : point_past(m, y);
}
// For a butterfly's points j + r STRIDE, j < STRIDE: whether any j gives a point before p, or one
// from p on.
__device__ __forceinline__ constexpr bool may_precede(int r, int p) { return r * first_stage::STRIDE < p; }
__device__ __forceinline__ constexpr bool may_follow(int r, int p) { return (r + 1) * first_stage::STRIDE > p; }
// Loads a segment that begins with the carry and lies within the chunk, as most do.
__device__ __forceinline__ void load_within(const march &m, value (&x)[first_stage::R], int j) {
    const value *at = m.column + (m.from + j) * m.pitch;
    const long long step = first_stage::STRIDE * m.pitch;
#pragma unroll
    for (int r = 0; r < first_stage::R; r++, at += step) {
        const int p = j + r * first_stage::STRIDE;
        if (may_precede(r, CARRY) && p < CARRY)
            x[r] = carried(m, p);
        else
            x[r] = load_pair(reinterpret_cast<const REAL *>(at));
    }
}
__device__ __forceinline__ void load_segment(const march &m, value *line, int t, const REAL *twiddles, bool active) {
    const bool within = (!m.fresh || m.chunk_halo) && m.from + N <= m.n && m.from + N <= m.end;
#pragma unroll 1
    for (int j = t; j < first_stage::COUNT; j += THREADS_X) {
        value x[first_stage::R];
        if (active && within)
            load_within(m, x, j);
        else {
            // Few segments come here, so one copy of this code for all points suffices, which
            // compiles faster. It puts the points into the line, in the places of the butterfly's
            // results.
#pragma unroll 1
            for (int r = 0; r < first_stage::R; r++)
                line[shared_index<column_line, 0>(j, r)] =
                    active ? point_at(m, j + r * first_stage::STRIDE) : value{REAL(0), REAL(0)};
            load_butterfly<column_line, 0>(x, line, j);
        }
#pragma unroll
        for (int r = 0; r < first_stage::R; r++) {
            const int p = j + r * first_stage::STRIDE;
            if (may_follow(r, MARCH_STEP) && p >= MARCH_STEP) m.next[(p - MARCH_STEP) * LINE_COUNT] = x[r];
            if (KEEPS_FIRST && m.fresh && may_follow(r, MARCH_BEFORE) && may_precede(r, CARRY) && p >= MARCH_BEFORE &&
                p < CARRY)
                m.first[(p - MARCH_BEFORE) * LINE_COUNT] = x[r];
        }
        forward_butterfly<column_line, 0>(x, line, j, twiddles);
    }
}
__device__ __forceinline__ void store_segment(const march &m, const value *line, int t, const REAL *twiddles,
                                              bool active) {
#pragma unroll 1
    for (int j = t; j < first_stage::COUNT; j += THREADS_X) {
        value x[first_stage::R];
        inverse_butterfly<column_line, 0>(x, line, j, twiddles);
        if (!active) continue;
        const int end = m.n - m.from < MARCH_BEFORE + MARCH_STEP ? m.n - m.from : MARCH_BEFORE + MARCH_STEP;
        value *at = m.column + (m.from + j) * m.pitch;
        const long long step = first_stage::STRIDE * m.pitch;
#pragma unroll
        for (int r = 0; r < first_stage::R; r++, at += step) {
            const int p = j + r * first_stage::STRIDE;
            if ((may_precede(r, MARCH_BEFORE) && p < MARCH_BEFORE) || p >= end) continue;
            store_pair(reinterpret_cast<REAL *>(at), swapped(x[r]));
        }
    }
}
// Computes the frequencies of the line of taps, in the layout of the columns' last stage.
__device__ __forceinline__ void transform_taps(value *line, int t0, const REAL *taps, const REAL *twiddles) {
#pragma unroll 1
    for (int j = t0; j < first_stage::COUNT; j += THREADS_X) {
        value x[first_stage::R];
#pragma unroll
        for (int r = 0; r < first_stage::R; r++) x[r] = tap_at<N>(taps, j + r * first_stage::STRIDE);
        forward_butterfly<column_line, 0>(x, line, j, twiddles);
    }
    __syncthreads();
    forward_stages<column_line, 1, LAST>(line, t0, twiddles);
#pragma unroll 1
    for (int j = t0; j < last_stage::COUNT; j += THREADS_X) {
        value x[last_stage::R];
        load_butterfly<column_line, LAST>(x, line, digit_reversed_first<column_line>(j));
        dft<last_stage::R>(x);
        store_butterfly<column_line, LAST>(x, line, digit_reversed_first<column_line>(j));
    }
}
__device__ __forceinline__ REAL narrowed(double x) { return static_cast<REAL>(x); }
__device__ __forceinline__ value narrowed(complex<double> z) {
    return {static_cast<REAL>(z.re), static_cast<REAL>(z.im)};
}
__device__ __forceinline__ void make_factors(const symbol_arguments &a, factor *to, int t0, const symbol_line &symbol) {
#pragma unroll 1
    for (int k = t0; k < N; k += THREADS_X)
        to[k * LINE_COUNT] = narrowed(a.scale * factor_of(one_minus_k_of<N>(symbol, a.angles, k), a));
}
__device__ __forceinline__ void transform_last_stage(const spectral_march_arguments &a, value *line, int t0,
                                                     const symbol_line &symbol, const factor *factors) {
#pragma unroll 1
    for (int t = t0; t < last_stage::COUNT; t += THREADS_X) {
        value x[last_stage::R];
        const int first = digit_reversed_first<column_line>(t);
        load_butterfly<column_line, LAST>(x, line, first);
        dft<last_stage::R>(x);
        if constexpr (SYMBOL == 2) {
            value factor[last_stage::R];
            load_butterfly<column_line, LAST>(factor, line + LINE_CELLS, first);
#pragma unroll
            for (int r = 0; r < last_stage::R; r++)
                x[r] = swapped(static_cast<REAL>(a.symbol.scale) * (x[r] * factor[r]));
        } else if constexpr (MARCH_FACTORS)
#pragma unroll
            for (int r = 0; r < last_stage::R; r++)
                x[r] = swapped(factors[(t + r * (N / last_stage::R)) * LINE_COUNT] * x[r]);
        else if constexpr (SYMBOL == 1) {
            // Complex powers are long, so few copies of this code are compiled.
            store_butterfly<column_line, LAST>(x, line, first);
#pragma unroll 2
            for (int r = 0; r < last_stage::R; r++) {
                value &cell = line[shared_index<column_line, LAST>(first, r)];
                cell = swapped(times_symbol<N>(cell, symbol, t + r * (N / last_stage::R), a.symbol));
            }
            load_butterfly<column_line, LAST>(x, line, first);
        } else
#pragma unroll
            for (int r = 0; r < last_stage::R; r++)
                x[r] = swapped(times_symbol<N>(x[r], symbol, t + r * (N / last_stage::R), a.symbol));
        dft<last_stage::R>(x);
        store_butterfly<column_line, LAST>(x, line, first);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    spectral_march(const __grid_constant__ spectral_march_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    const int lane = static_cast<int>(threadIdx.x) % LINE_COUNT, t = static_cast<int>(threadIdx.x) / LINE_COUNT;
    value *const line = reinterpret_cast<value *>(stn_shared) + lane;
    value *const kept = line + LINE_CELLS * (SYMBOL == 2 ? 2 : 1);
    const unsigned tile = blockIdx.x / MARCH_CHUNKS;
    const int chunk = MARCH_CHUNKS > 1 ? static_cast<int>(blockIdx.x % MARCH_CHUNKS) : 0;
    const long long plane = tile / a.tiles;
    const int c = static_cast<int>(tile % a.tiles) * LINE_COUNT + lane, k = c % MARCH_WIDTH;
    const bool active = c < a.across && k < a.kept;
    const int parts = (active ? k : 0) * SYMBOL_PARTS;
    symbol_line symbol = {a.symbol.parts + parts, {1.0, 0.0}};
    // The coefficients stay in registers for all segments.
    double coefficients[SYMBOL_FEW ? SYMBOL_PARTS : 1];
    if constexpr (SYMBOL_FEW) {
#pragma unroll
        for (int i = 0; i < SYMBOL_PARTS; i++) coefficients[i] = symbol.parts[i];
        symbol.parts = coefficients;
    }

    if constexpr (SYMBOL == 2)  // The taps have the data's own type.
        transform_taps(line + LINE_CELLS, t, reinterpret_cast<const REAL *>(a.symbol.parts) + parts, a.twiddles);
    factor *const factors = reinterpret_cast<factor *>(kept - lane + KEPT_POINTS) + lane;
    // The factors are read after a barrier.
    if constexpr (MARCH_FACTORS) make_factors(a.symbol, factors, t, symbol);
    march m = {reinterpret_cast<value *>(a.spectrum) + plane * a.plane + c, a.pitch, a.n};
    m.from = chunk * a.segments * MARCH_STEP - MARCH_BEFORE, m.end = NO_END;
    m.first = kept + 2 * CARRY * LINE_COUNT;
    if constexpr (MARCH_CHUNKS > 1) {
        const value *const chunk_halo =
            reinterpret_cast<const value *>(a.chunk_halo) + plane * (MARCH_CHUNKS * CARRY * a.pitch) + c;
        const bool last = chunk == MARCH_CHUNKS - 1;
        m.chunk_halo = chunk > 0 || EXTEND_REPEATS;
        m.begin = chunk_halo + chunk * CARRY * a.pitch;
        m.past = chunk_halo + (last ? 0 : chunk + 1) * CARRY * a.pitch;
        if (!last)
            m.end = (chunk + 1) * a.segments * MARCH_STEP;
        else if (EXTEND_REPEATS)
            m.end = a.n;
    }
    const int points = m.end < a.n ? m.end : a.n;  // The end of this chunk's points.
#pragma unroll 1
    for (int s = 0; s < a.segments && m.from + MARCH_BEFORE < points; s++, m.from += MARCH_STEP) {
        m.fresh = s == 0;
        m.carry = kept + s % 2 * CARRY * LINE_COUNT;
        m.next = kept + (s + 1) % 2 * CARRY * LINE_COUNT;
        // No barrier is needed before load_segment: a thread overwrites only elements that it alone
        // has read in store_segment.
        load_segment(m, line, t, a.twiddles, active);
        __syncthreads();
        forward_stages<column_line, 1, LAST>(line, t, a.twiddles);
        transform_last_stage(a, line, t, symbol, factors);
        __syncthreads();
        inverse_stages<column_line, LAST, 1>(line, t, a.twiddles);
        store_segment(m, line, t, a.twiddles, active);
    }
}
