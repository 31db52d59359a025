// Overlap-save convolution along y or z: any number of steps in one pass over memory, as
// segment_line.cu, for many columns at once.
//
//                columns   0 1 | 2 3 | ..  2 PAIRS      a tile of a block: LENGTH points of 2 PAIRS
//     point 0              re im | re im |              neighbouring columns; two columns are the
//           1                                           real and the imaginary part of one
//           ..                                          convolution (fft_convolution.cuh)
//
// At the first and last stage thread i has pair i % PAIRS, so that neighbouring threads access
// neighbouring memory; in between it belongs to convolution i / THREADS. The first exchange
// redistributes the points, and the last one restores them. A block takes tile after tile and
// prefetches the next one to shared memory while it computes. The order of tiles is GROUP tiles
// side by side, then those of the next segment of the same columns, so that the overlap is still in
// L2.
#include "device/divide.cuh"
#include "device/launch_checks.cuh"
#include "segment/extend.cuh"
#include "segment/fft_convolution.cuh"

constexpr int PAIRS = SEGMENT_PAIRS, ALL_THREADS = PAIRS * THREADS, WIDTH = 2 * PAIRS;
constexpr int GROUP = 32;
// Padding between buffers, in elements, against bank conflicts.
constexpr int BETWEEN = (HALVES == 2 || sizeof(REAL) == 4 ? 16 : 8) / PAIRS;
constexpr int STRIDE = CELLS + BETWEEN;

struct columns_arguments {
    const STORE *in;
    STORE *out;
    const REAL *twiddle_table, *symbol;  // As in segment_line.
    long long n, nx;                     // Points along the axis; columns.
    // Strides, in elements, along the axis, along the third axis, and of grids.
    long long in_far[3];
    long long out_far[3];
    unsigned others;           // Points of the third axis.
    unsigned segments, tiles;  // Along the axis; along x.
    unsigned all;              // Number of tiles: segments * tiles * others * grids.
    int lead, useful;          // Points before a segment's first output; its outputs.
    int width[3], padding;     // Points of profiles: along the axis, along the third axis, along x.
    long long skip[3];         // Points between the sides that the tables leave out (profile_at).
    // Divisors: segments * tiles, GROUP * segments, tiles of the last group, others.
    divisor by_plane, by_group, by_last, by_others;
    const REAL *profile[3];
    REAL past, unused;  // Value past all constant sides.
};

static_assert(layout_matches(sizeof(columns_arguments), 2 * sizeof(REAL)),
              "columns_header of segment/overlap_save_pass.c");
static_assert(shared_bytes_match(PAIRS * (STRIDE * sizeof(cell) + 2 * LENGTH * sizeof(STORE))),
              "segment_shared of segment/segment_shape.c");

struct tile {
    const STORE *in;  // At the thread's own column, point 0.
    STORE *out;
    long long start, x;  // The segment's first input; the column.
    unsigned other;      // Index along the third axis.
    images own;          // Inputs that are images of inputs of the same tile.
};

__device__ __forceinline__ tile find(const columns_arguments &a, unsigned i, int pair) {
    const unsigned slice = i / a.by_plane, within = i - slice * a.segments * a.tiles;
    const bool full = within < a.tiles / GROUP * GROUP * a.segments;  // In a whole group.
    const unsigned group = full ? within / a.by_group : a.tiles / GROUP, rest = within - group * GROUP * a.segments;
    const unsigned segment = full ? rest / GROUP : rest / a.by_last;
    const unsigned offset = rest - segment * (full ? GROUP : a.tiles % GROUP);
    const long long x = static_cast<long long>(group * GROUP + offset) * WIDTH + 2 * pair;
    const unsigned grid = slice / a.by_others, other = slice - grid * a.others;
    tile t = {a.in + other * a.in_far[1] + grid * a.in_far[2] + x,
              a.out + other * a.out_far[1] + grid * a.out_far[2] + x,
              static_cast<long long>(segment) * a.useful - a.lead,
              x,
              other,
              {}};
    const long long beyond = t.start + a.lead + a.useful - a.n;  // Outputs past the column's end.
    t.own = find_images(plain(t.start, LENGTH, a.n), t.start, LENGTH, a.n, LENGTH - static_cast<int>(max(beyond, 0LL)));
    return t;
}

// Copies two neighbours to shared memory. There are no asynchronous copies of less than 4 bytes.
__device__ __forceinline__ void copy_pair(double *to, const double *from) { copy_async_16(to, from); }
__device__ __forceinline__ void copy_pair(float *to, const float *from) { copy_async_8(to, from); }
__device__ __forceinline__ void copy_pair(half_t *to, const half_t *from) { copy_async_4(to, from); }

// Copies one row of the thread's two columns. `have`: how many of them exist; the others are 0.
__device__ __forceinline__ void fetch_row(STORE *to, const STORE *from, int have) {
    if (VECTOR > 1 && have == 2) {
        copy_pair(to, from);
        return;
    }
#pragma unroll
    for (int e = 0; e < 2; e++)
        if (e < have)
            copy_element(to + e, from + e);
        else
            to[e] = narrow<STORE>(REAL(0));
}

// Starts copying the thread's pair of columns of a tile. Rows past a side come from their images in
// the extension; signs are applied later.
__device__ __forceinline__ void fetch(const columns_arguments &a, unsigned i, STORE *raw, int pair, int first) {
    if (i >= a.all) return;
    const tile s = find(a, i, pair);
    STORE *const to = raw + 2 * pair;
    const int have = s.x + 1 < a.nx ? 2 : s.x < a.nx;
    const run rows = s.own.own ? held(s.own, LENGTH) : run{0, LENGTH};
    if (VECTOR > 1 && s.own.own && have == 2) {
        const bool all = !MIRRORED || SEGMENT_COSINES;
        const int begin = all ? 0 : s.own.first, end = all ? LENGTH : s.own.last;
        const long long step = THREADS * a.in_far[0];
        const STORE *from = s.in + (s.start + first) * a.in_far[0];
#pragma unroll
        for (int k = 0; k < 16; k++, from += step) {
            const int j = first + THREADS * k;
            if (static_cast<unsigned>(j - begin) < static_cast<unsigned>(end - begin))
                copy_pair(to + WIDTH * j, SEGMENT_COSINES ? s.in + dct_point_of(j) * a.in_far[0] : from);
        }
        if (rows.first < begin && rows.first % THREADS == first) fetch_row(to + WIDTH * rows.first, s.in, 0);
        if (rows.last > end && end % THREADS == first) fetch_row(to + WIDTH * end, s.in, 0);
    } else
#pragma unroll 1
        for (int j = first; j < LENGTH; j += THREADS) {
            if (j < rows.first || j >= rows.last) continue;
            const long long from = extend(s.start + dct_point_of(j), a.n).index;
            fetch_row(to + WIDTH * j, s.in + from * a.in_far[0], from < 0 ? 0 : have);
        }
    copy_async_commit();
}

// Past an odd side a column continues as its negated mirror image. fetch() copies images without
// their signs; here a thread negates the images among the points that it will take.
__device__ __forceinline__ void negate_images(const columns_arguments &a, const tile &s, STORE *at, int first) {
    if (!(ODD_LOW || ODD_HIGH)) return;
#pragma unroll 1
    for (int j = first; j < LENGTH; j += THREADS)
        if (extend(s.start + j, a.n).minus)
            for (int e = 0; e < 2; e++) at[WIDTH * j + e] = narrow<STORE>(-widen(at[WIDTH * j + e]));
}

// Loads inputs from the thread's own columns to registers.
__device__ __forceinline__ void take(const columns_arguments &a, unsigned i, STORE *raw, point (&x)[16], int pair,
                                     int first) {
    if (MIRRORED && !SEGMENT_COSINES) {
        const tile s = find(a, i, pair);
        const images &m = s.own;
        if (m.last - m.first < LENGTH) {
#pragma unroll
            for (int e = 0; e < 16; e++) {
                const source from = find_source(m, point_of(first, e));
                const point value = raw_pair(raw + WIDTH * from.at);
                x[e] = {value_of(from, value.re), value_of(from, value.im)};
            }
            return;
        }
        if (!m.own) negate_images(a, s, raw, first);
    }
#pragma unroll
    for (int e = 0; e < 16; e++) x[e] = raw_pair(raw + WIDTH * point_of(first, e));
}

// PROFILES: the weights sum to 1, and all constant sides have the same value v. Then
//     v (1 - (1 - P)(1 - P') ..)
// is added to the outputs, where P, P', .. are the profiles of the axes: the effect of a value of 1
// past the sides of one axis. joined() returns 1 - (1 - p)(1 - q).
__device__ __forceinline__ REAL joined(REAL p, REAL q) { return p + q - p * q; }
// P at point i. The table has `width` entries for the points near the low side, then one 0 for all
// points in between, if there are any, then the entries for the points near the high side.
__device__ __forceinline__ REAL profile_at(const REAL *profile, int width, long long skip, long long i) {
    return width ? profile[min(i, max(i - skip, static_cast<long long>(width)))] : REAL(0);
}

// A thread adds offset + rest P to the outputs of its two columns, where P is the profile along the
// axis; the profiles of the other axes are contained in `offset` and `rest`. P of output j is entry
// min(ahead + j, max(back + j, width)) of its table.
struct addition {
    point offset, rest;
    int ahead, back;
    bool near;  // Near a side.
};
__device__ __forceinline__ int clamped(long long i) { return static_cast<int>(max(-(1LL << 30), min(i, 1LL << 30))); }
__device__ __forceinline__ addition find_addition(const columns_arguments &a, const tile &s, unsigned count, int have) {
    addition to = {{REAL(0), REAL(0)}, {REAL(0), REAL(0)}, 0, 0, false};
    if (!PROFILES) return to;
    const long long begin = s.start + a.lead;
    const REAL third = profile_at(a.profile[1], a.width[1], a.skip[1], s.other);
    if (have > 0) to.offset.re = joined(third, profile_at(a.profile[2], a.width[2], a.skip[2], s.x));
    if (have > 1) to.offset.im = joined(third, profile_at(a.profile[2], a.width[2], a.skip[2], s.x + 1));
    to.offset = a.past * to.offset;
    to.rest = {a.past - to.offset.re, a.past - to.offset.im};
    to.ahead = clamped(s.start), to.back = clamped(s.start - a.skip[0]);
    to.near = begin < a.width[0] || begin + count > a.n - a.width[0];
    return to;
}
template <bool NEAR>
__device__ __forceinline__ point with_sides(const columns_arguments &a, const addition &to, point value, int j) {
    if (!PROFILES) return value;
    value = value + to.offset;
    return NEAR ? value + a.profile[0][min(to.ahead + j, max(to.back + j, a.width[0]))] * to.rest : value;
}

// Writes rows in memory order: row k of the thread is in register F (k mod COLUMNS) + k / COLUMNS
// (point_of).
template <bool NEAR>
__device__ __forceinline__ void store_rows(const columns_arguments &a, const tile &s, const addition &add,
                                           const point (&x)[16], unsigned count, int first) {
    const long long step = THREADS * a.out_far[0];
    STORE *to = s.out + (s.start + first) * a.out_far[0];
#pragma unroll
    for (int k = 0; k < 16; k++, to += step) {
        const int e = F * (k % COLUMNS) + k / COLUMNS;
        const int j = SEGMENT_COSINES ? dct_point_of(point_of(first, e)) : first + THREADS * k;
        STORE *const at = SEGMENT_COSINES ? s.out + j * a.out_far[0] : to;
        if (static_cast<unsigned>(j - a.lead) < count) store_pair(at, with_sides<NEAR>(a, add, swapped(x[e]), j));
    }
}
// The same for one register, if the second column may be missing, or pairs are not aligned.
__device__ __forceinline__ void store_point(const columns_arguments &a, const tile &s, const addition &add, point z,
                                            int e, unsigned count, int have, int first) {
    const int j = dct_point_of(point_of(first, e));
    if (static_cast<unsigned>(j - a.lead) >= count) return;
    STORE *const to = s.out + (s.start + j) * a.out_far[0];
    const point value = add.near ? with_sides<true>(a, add, swapped(z), j) : with_sides<false>(a, add, swapped(z), j);
    if (have > 0) to[0] = narrow<STORE>(value.re);
    if (have > 1) to[1] = narrow<STORE>(value.im);
}
// If pairs are aligned, this runs for the last column only, and a loop keeps the code short.
__device__ __forceinline__ void store_singly(const columns_arguments &a, const tile &s, const addition &add,
                                             const point (&x)[16], unsigned count, int have, int first) {
    if constexpr (VECTOR == 1) {
#pragma unroll
        for (int e = 0; e < 16; e++) store_point(a, s, add, x[e], e, count, have, first);
        return;
    }
    point next[16];
#pragma unroll
    for (int e = 0; e < 16; e++) next[e] = x[e];
#pragma unroll 1
    for (int e = 0; e < 16; e++) {
        store_point(a, s, add, next[0], e, count, have, first);
#pragma unroll
        for (int k = 0; k < 15; k++) next[k] = next[k + 1];
    }
}
__device__ __forceinline__ void store_outputs(const columns_arguments &a, unsigned i, const point (&x)[16], int pair,
                                              int first) {
    const tile s = find(a, i, pair);
    const long long left = a.n - s.start - a.lead;
    const unsigned count = static_cast<unsigned>(min(left, static_cast<long long>(a.useful)));
    const int have = s.x + 1 < a.nx ? 2 : s.x < a.nx;
    const addition add = find_addition(a, s, count, have);
    if (VECTOR == 1 || have < 2)
        store_singly(a, s, add, x, count, have, first);
    else if (PROFILES && add.near)
        store_rows<true>(a, s, add, x, count, first);
    else
        store_rows<false>(a, s, add, x, count, first);
}

extern "C" __global__ void __launch_bounds__(ALL_THREADS, BLOCKS) segment_columns(const columns_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    STORE *const raw = reinterpret_cast<STORE *>(stn_shared);
    cell *const buffers = reinterpret_cast<cell *>(stn_shared + LENGTH * WIDTH * sizeof(STORE));
    // The first iteration only fetches, so that the long code of fetch() is compiled once.
    unsigned i = blockIdx.x - gridDim.x;
    bool fetched = false;
#pragma unroll 1
    do {
        point x[16] = {};  // Frees the registers of the previous iteration's points.
        int thread = threadIdx.x;
        hide_from_optimizer(thread);
        const int pair = thread % PAIRS, first = thread / PAIRS;
        if (fetched) {
            copy_async_wait<0>();
            __syncthreads();  // All inputs have arrived, and the buffers are free.
            take(a, i, raw + 2 * pair, x, pair, first);
            __syncthreads();
        }
        fetch(a, i + gridDim.x, raw, pair, first);
        if (fetched) {
            convolve(x, buffers + pair * STRIDE, first, buffers + thread / THREADS * STRIDE, thread % THREADS,
                     a.twiddle_table, a.symbol);
            store_outputs(a, i, x, pair, first);
        }
        fetched = true, i += gridDim.x;
    } while (i < a.all);
}
