// Any number of steps of a stencil along x in one pass over memory, by overlapping segments (overlap-save):
//
//     out = inverse transform of (transform of in, times K^f)      K: the symbol of the stencil's taps, f: the steps
//
//     line      |---------------------------------------------------------|    n points
//     segment 0 .. LEAD | useful      | ..                                     LENGTH points: what f steps reach to the low side,
//     segment 1              .. LEAD | useful      | ..                        outputs, what they reach to the high side
//
// Two neighbouring segments are the real and the imaginary part of one convolution (convolve.cuh), for the taps are real. A
// block takes pair after pair, of which the next one comes to shared memory while it computes.
//
// Inputs past a side are the line's extension (extend.cuh). What a constant or a fixed side adds is its value times its profile, what f
// steps make of a value of 1 there.
#include "device/twins.cuh"
#include "segment/convolve.cuh"
#include "segment/extend.cuh"

constexpr int SLOT = 16 / sizeof(STORE);

struct line_arguments {
    const STORE *in;
    STORE *out;
    const REAL *roots;    // exp(-2 pi i k / LENGTH), k = 0 .. 255; of float .. 2047
    const REAL *symbol;   // over LENGTH, as times_symbol reads it
    const REAL *profile;  // of the low side from its first point on, of the high side from the last one back
    long long n;          // points of a line
    long long in_far[3];  // elements from line to line along y, along z, from grid to grid
    long long out_far[3];
    unsigned lines_y, lines_z;  // of a grid
    unsigned segments, all;     // of a line, of all lines
    int lead, useful;
    int width;  // of a profile
    int rest;
    REAL past[2];  // past a constant side
};

static_assert(is_twin(sizeof(line_arguments), 2 * sizeof(REAL)), "line_header of segment/pass.c");
static_assert(is_given(CELLS * sizeof(cell) + 2 * LENGTH * sizeof(STORE)), "segment_shared of segment/shape.c");

struct place {
    const STORE *in;  // the line
    STORE *out;
    long long start;  // of the segment's first input on it
    run plain;        // those of its inputs that are points as they are
};

__device__ __forceinline__ place find(const line_arguments &a, unsigned segment) {
    unsigned line = 0;
    if (SEGMENT_LINES) line = segment / a.segments, segment -= line * a.segments;
    place s = {a.in, a.out, static_cast<long long>(segment) * a.useful - a.lead, {0, 0}};
    if (SEGMENT_LINES) {
        const unsigned y = line % a.lines_y, z = line / a.lines_y % a.lines_z, grid = line / a.lines_y / a.lines_z;
        s.in += y * a.in_far[0] + z * a.in_far[1] + grid * a.in_far[2];
        s.out += y * a.out_far[0] + z * a.out_far[1] + grid * a.out_far[2];
    }
    s.plain = plain(s.start, LENGTH, a.n);
    return s;
}

__device__ __forceinline__ bool inside(const place &s) { return s.plain.last - s.plain.first == LENGTH; }

// ---- inputs

// Inputs before `first` and from `last` on, one by one, from where the line's extension has them; their sign is for later.
__device__ __forceinline__ void fetch_folded(const line_arguments &a, const place &s, STORE *raw, int first, int last,
                                             int t) {
    const int gap = last - first;
#pragma unroll 1
    for (int k = t; k < LENGTH - gap; k += THREADS) {
        const int i = k < first ? k : k + gap;
        const long long from = extend(s.start + i, a.n).index;
        if (from < 0)
            raw[i] = narrow<STORE>(REAL(0));
        else
            copy_element(raw + i, s.in + from);
    }
}

// The segment's inputs start on their way to shared memory: by slots of 16 bytes all that lie inside, whatever the rest does.
__device__ __forceinline__ void fetch(const line_arguments &a, unsigned segment, STORE *raw, int t) {
    const bool there = segment < a.all;
    const place s = find(a, there ? segment : 0);
    const STORE *const from = s.in + s.start;
    if (!there) {
#pragma unroll 1
        for (int i = t; i < LENGTH; i += THREADS) raw[i] = narrow<STORE>(REAL(0));
    } else if (inside(s)) {
        if (VECTOR > 1)
#pragma unroll
            for (int i = SLOT * t; i < LENGTH; i += SLOT * THREADS) copy_async_16(raw + i, from + i);
        else
#pragma unroll 4
            for (int i = t; i < LENGTH; i += THREADS) copy_element(raw + i, from + i);
    } else {
        constexpr int UNIT = VECTOR > 1 ? SLOT : 1;
        const int first = (s.plain.first + UNIT - 1) / UNIT * UNIT, last = max(s.plain.last / UNIT * UNIT, first);
        if (VECTOR > 1)
#pragma unroll 2
            for (int i = first + SLOT * t; i < last; i += SLOT * THREADS) copy_async_16(raw + i, from + i);
        else
#pragma unroll 2
            for (int i = first + t; i < last; i += THREADS) copy_element(raw + i, from + i);
        fetch_folded(a, s, raw, first, last, t);
    }
    copy_async_commit();
}

// Past an odd side the line is minus its mirror image. A thread turns those inputs that it reads itself.
__device__ __forceinline__ void turn_signs(const line_arguments &a, unsigned segment, STORE *raw, int t) {
    if (!(ODD_LOW || ODD_HIGH) || segment >= a.all) return;
    const place s = find(a, segment);
    if (inside(s)) return;
#pragma unroll 1
    for (int i = t; i < LENGTH; i += THREADS)
        if (extend(s.start + i, a.n).minus) raw[i] = narrow<STORE>(-widen(raw[i]));
}

// ---- outputs

// What is added to a segment's outputs near odd sides: numbers from the segment's first input on.
struct sides {
    bool low, high;
    int ahead, behind;  // input j is ahead + j points from the low side, behind - j from the high one
    REAL at_low, at_high;
};
__device__ __forceinline__ sides find_sides(const line_arguments &a, const place &s, unsigned count) {
    const long long first = s.start + a.lead;  // output
    sides at = {PROFILES && ODD_LOW && first < a.width,
                PROFILES && ODD_HIGH && first + count > a.n - a.width,
                0,
                0,
                REAL(0),
                REAL(0)};
    if (at.low) at.ahead = static_cast<int>(s.start), at.at_low = X_SIDE_LOW == FIXED ? widen(s.in[0]) : a.past[0];
    if (at.high) {
        at.behind = static_cast<int>(a.n - 1 - s.start);
        at.at_high = X_SIDE_HIGH == FIXED ? widen(s.in[a.n - 1]) : a.past[1];
    }
    return at;
}
// A side's value times its profile; points that a fixed side freezes keep theirs.
__device__ __forceinline__ REAL with_sides(const line_arguments &a, const sides &at, REAL value, int j) {
    if (at.low && at.ahead + j < a.width) value += a.profile[at.ahead + j] * at.at_low;
    if (at.high && at.behind - j < a.width) value += a.profile[a.width + at.behind - j] * at.at_high;
    if (X_SIDE_LOW == FIXED && at.low && at.ahead + j == 0) value = at.at_low;
    if (X_SIDE_HIGH == FIXED && at.high && at.behind - j == 0) value = at.at_high;
    return value;
}

// Registers to the line; only few segments look for sides.
template <bool IM, bool SIDES>
__device__ __forceinline__ void give_to(const line_arguments &a, STORE *to, unsigned count, const sides &at,
                                        const point (&x)[16], int t) {
#pragma unroll
    for (int i = 0; i < 16; i++) {
        const int j = t + THREADS * (i / F) + 256 * (i % F);
        if (static_cast<unsigned>(j - a.lead) >= count) continue;
        const REAL value = IM ? x[i].im : x[i].re;
        to[j] = narrow<STORE>(SIDES ? with_sides(a, at, value, j) : value);
    }
}
template <bool IM>
__device__ __forceinline__ void give(const line_arguments &a, unsigned segment, const point (&x)[16], int t) {
    if (segment >= a.all) return;
    const place s = find(a, segment);
    const unsigned count = static_cast<unsigned>(min(a.n - s.start - a.lead, static_cast<long long>(a.useful)));
    const sides at = find_sides(a, s, count);
    if (PROFILES && (at.low || at.high))
        give_to<IM, true>(a, s.out + s.start, count, at, x, t);
    else
        give_to<IM, false>(a, s.out + s.start, count, at, x, t);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) segment_line(const line_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    cell *const room = reinterpret_cast<cell *>(stn_shared);
    STORE *const raw = reinterpret_cast<STORE *>(stn_shared + CELLS * sizeof(cell));
    unsigned segment = 2 * blockIdx.x;
    fetch(a, segment, raw, threadIdx.x), fetch(a, segment + 1, raw + LENGTH, threadIdx.x);
#pragma unroll 1
    for (; segment < a.all; segment += 2 * gridDim.x) {
        point x[16];
        int t = threadIdx.x;
        keep_here(t);
        copy_async_wait<0>();
        __syncthreads();  // all inputs have landed, and the room is free
        turn_signs(a, segment, raw, t), turn_signs(a, segment + 1, raw + LENGTH, t);
#pragma unroll
        for (int i = 0; i < 16; i++) {
            const int j = t + THREADS * (i / F) + 256 * (i % F);
            x[i] = {widen(raw[j]), widen(raw[LENGTH + j])};
        }
        __syncthreads();
        fetch(a, segment + 2 * gridDim.x, raw, t), fetch(a, segment + 2 * gridDim.x + 1, raw + LENGTH, t);
        convolve(x, room, t, room, t, a.roots, a.symbol);
        give<true>(a, segment, x, t), give<false>(a, segment + 1, x, t);
    }
}
