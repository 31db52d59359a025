// Any number of steps of a stencil along y or z in one pass over memory: segment_line.cu for many columns at once.
//
//                columns   0 1 | 2 3 | ..  2 PAIRS                a tile of a block: LENGTH points of 2 PAIRS neighbouring columns,
//     point 0              re im | re im |                        each two of which are the real and the imaginary part of one
//           1                                                     convolution (convolve.cuh)
//           ..
//
// At the ends thread i has pair i % PAIRS, so that neighbouring threads read and write neighbours in memory; in between it is part of
// convolution i / THREADS: the first exchange takes points from one to the other, and the last one back. A block takes tile after
// tile, of which the next one comes to shared memory while it computes; GROUP tiles side by side, then the next segment of these, so that
// what segments overlap is still in the second-level cache.
#include "device/divide.cuh"
#include "device/twins.cuh"
#include "segment/convolve.cuh"
#include "segment/extend.cuh"

constexpr int PAIRS = SEGMENT_PAIRS, ALL_THREADS = PAIRS * THREADS, WIDTH = 2 * PAIRS;
constexpr int GROUP = 32;
constexpr int BETWEEN =
    (HALVES == 2 || sizeof(REAL) == 4 ? 16 : 8) / PAIRS;  // cells between rooms, against meeting in a bank
constexpr int STRIDE = CELLS + BETWEEN;

struct columns_arguments {
    const STORE *in;
    STORE *out;
    const REAL *roots, *symbol;  // as segment_line's
    long long n, nx;             // points along the axis, columns
    long long in_far[3];         // elements from point to point along the axis, along the third axis, from grid to grid
    long long out_far[3];
    unsigned others;           // points of the third axis
    unsigned segments, tiles;  // along the axis, along x
    unsigned all;              // of both, the third axis and the grids
    int lead, useful;
    int width[3], rest;                              // of profiles: along the axis, along the third axis, along x
    divisor by_plane, by_group, by_last, by_others;  // segments tiles, GROUP segments, the last group's tiles, others
    const REAL *profile[3];  // of the low side from its first point on, of the high side from the last one back
    REAL past, unused;       // past all constant sides
};

static_assert(is_twin(sizeof(columns_arguments), 2 * sizeof(REAL)), "columns_header of segment/pass.c");
static_assert(is_given(PAIRS * (STRIDE * sizeof(cell) + 2 * LENGTH * sizeof(STORE))),
              "segment_shared of segment/shape.c");

struct tile {
    const STORE *in;  // at the thread's own column, point 0
    STORE *out;
    long long start, x;  // the segment's first input; the column
    unsigned other;      // its place along the third axis
    images own;
};

__device__ __forceinline__ tile find(const columns_arguments &a, unsigned i, int pair) {
    const unsigned slice = i / a.by_plane, within = i - slice * a.segments * a.tiles;
    const bool full = within < a.tiles / GROUP * GROUP * a.segments;  // in a whole group
    const unsigned group = full ? within / a.by_group : a.tiles / GROUP, rest = within - group * GROUP * a.segments;
    const unsigned segment = full ? rest / GROUP : rest / a.by_last;
    const unsigned beside = rest - segment * (full ? GROUP : a.tiles % GROUP);
    const long long x = static_cast<long long>(group * GROUP + beside) * WIDTH + 2 * pair;
    const unsigned grid = slice / a.by_others, other = slice - grid * a.others;
    tile t = {a.in + other * a.in_far[1] + grid * a.in_far[2] + x,
              a.out + other * a.out_far[1] + grid * a.out_far[2] + x,
              static_cast<long long>(segment) * a.useful - a.lead,
              x,
              other,
              {}};
    const long long beyond = t.start + a.lead + a.useful - a.n;  // outputs that the column does not have
    t.own = find_images(plain(t.start, LENGTH, a.n), t.start, LENGTH, a.n, LENGTH - static_cast<int>(max(beyond, 0LL)));
    return t;
}

// Two neighbours to shared memory; there are no asynchronous copies of less than 4 bytes.
__device__ __forceinline__ void copy_pair(double *to, const double *from) { copy_async_16(to, from); }
__device__ __forceinline__ void copy_pair(float *to, const float *from) { copy_async_8(to, from); }
__device__ __forceinline__ void copy_pair(half_t *to, const half_t *from) { copy_async_4(to, from); }

// One row of the thread's own two columns; 0 where there is no point.
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

// The thread's own column pair of a tile starts on its way. Rows past a side come from where the extension has them, as they are there: their sign
// is for later.
__device__ __forceinline__ void fetch(const columns_arguments &a, unsigned i, STORE *raw, int pair, int first) {
    if (i >= a.all) return;
    const tile s = find(a, i, pair);
    STORE *const to = raw + 2 * pair;
    const int have = s.x + 1 < a.nx ? 2 : s.x < a.nx;
    const run rows = s.own.own ? held(s.own, LENGTH) : run{0, LENGTH};
    if (VECTOR > 1 && s.own.own && have == 2) {
#pragma unroll 4
        for (int j = first; j < LENGTH; j += THREADS)
            if (!MIRRORED || SEGMENT_COSINES || (j >= s.own.first && j < s.own.last))
                copy_pair(to + WIDTH * j, s.in + (s.start + natural(j)) * a.in_far[0]);
            else if ((ODD_LOW || ODD_HIGH) && j >= rows.first && j < rows.last)
                fetch_row(to + WIDTH * j, s.in, 0);
    } else
#pragma unroll 1
        for (int j = first; j < LENGTH; j += THREADS) {
            if (j < rows.first || j >= rows.last) continue;
            const long long from = extend(s.start + natural(j), a.n).index;
            fetch_row(to + WIDTH * j, s.in + from * a.in_far[0], from < 0 ? 0 : have);
        }
    copy_async_commit();
}

// Past an odd side columns are minus their mirror image. A thread turns those inputs that it reads itself, where all were loaded.
__device__ __forceinline__ void turn_signs(const columns_arguments &a, const tile &s, STORE *at, int first) {
    if (!(ODD_LOW || ODD_HIGH)) return;
#pragma unroll 1
    for (int j = first; j < LENGTH; j += THREADS)
        if (extend(s.start + j, a.n).minus)
            for (int e = 0; e < 2; e++) at[WIDTH * j + e] = narrow<STORE>(-widen(at[WIDTH * j + e]));
}

// Inputs to registers, from the thread's own columns.
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
        if (!m.own) turn_signs(a, s, raw, first);
    }
#pragma unroll
    for (int e = 0; e < 16; e++) x[e] = raw_pair(raw + WIDTH * point_of(first, e));
}

// PROFILES: weights add up to 1 and the same value is past all constant sides; there a point has lost 1 - P of what it would hold along each
// axis alone, P the profile, so it takes the value times 1 - (1 - P)(1 - P')..; what two P make together:
__device__ __forceinline__ REAL joined(REAL p, REAL q) { return p + q - p * q; }
__device__ __forceinline__ REAL profile_of(const REAL *profile, int width, int ahead, int behind) {
    REAL p = ahead < width ? profile[ahead] : REAL(0);
    if (behind < width) p += profile[width + behind];
    return p;
}
// What is further from a side than any profile is wide.
__device__ __forceinline__ int near(long long i) { return static_cast<int>(min(i, 1LL << 30)); }
__device__ __forceinline__ REAL profile_at(const REAL *profile, int width, long long i, long long n) {
    return profile_of(profile, width, near(i), near(n - 1 - i));
}

__device__ __forceinline__ void give(const columns_arguments &a, unsigned i, const point (&x)[16], int pair,
                                     int first) {
    const tile s = find(a, i, pair);
    const long long left = a.n - s.start - a.lead;
    const unsigned count = static_cast<unsigned>(min(left, static_cast<long long>(a.useful)));
    const int have = s.x + 1 < a.nx ? 2 : s.x < a.nx;
    point beside = {REAL(0), REAL(0)}, rest = beside;  // past times what the other axes make, and the rest of it
    const int ahead = near(s.start), behind = near(a.n - 1 - s.start);
    if (PROFILES) {
        const REAL third = profile_at(a.profile[1], a.width[1], s.other, a.others);
        if (have > 0) beside.re = joined(third, profile_at(a.profile[2], a.width[2], s.x, a.nx));
        if (have > 1) beside.im = joined(third, profile_at(a.profile[2], a.width[2], s.x + 1, a.nx));
        beside = a.past * beside;
        rest = {a.past - beside.re, a.past - beside.im};
    }
#pragma unroll
    for (int e = 0; e < 16; e++) {
        const int j = natural(point_of(first, e));
        if (static_cast<unsigned>(j - a.lead) >= count) continue;
        STORE *const to = s.out + (s.start + j) * a.out_far[0];
        point value = swapped(x[e]);
        if (PROFILES) {
            const REAL p = profile_of(a.profile[0], a.width[0], ahead + j, behind - j);
            value = value + beside + p * rest;
        }
        if (VECTOR > 1 && have == 2)
            store_pair(to, value);
        else {
            if (have > 0) to[0] = narrow<STORE>(value.re);
            if (have > 1) to[1] = narrow<STORE>(value.im);
        }
    }
}

extern "C" __global__ void __launch_bounds__(ALL_THREADS, BLOCKS) segment_columns(const columns_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    STORE *const raw = reinterpret_cast<STORE *>(stn_shared);
    cell *const rooms = reinterpret_cast<cell *>(stn_shared + LENGTH * WIDTH * sizeof(STORE));
    fetch(a, blockIdx.x, raw, threadIdx.x % PAIRS, threadIdx.x / PAIRS);
#pragma unroll 1
    for (unsigned i = blockIdx.x; i < a.all; i += gridDim.x) {
        point x[16];
        int thread = threadIdx.x;
        keep_here(thread);
        const int pair = thread % PAIRS, first = thread / PAIRS;
        copy_async_wait<0>();
        __syncthreads();  // all inputs have landed, and the rooms are free
        take(a, i, raw + 2 * pair, x, pair, first);
        __syncthreads();
        fetch(a, i + gridDim.x, raw, pair, first);
        convolve(x, rooms + pair * STRIDE, first, rooms + thread / THREADS * STRIDE, thread % THREADS, a.roots,
                 a.symbol);
        give(a, i, x, pair, first);
    }
}
