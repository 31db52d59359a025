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
    bool inside;      // all its inputs are points as they are
};

__device__ __forceinline__ place find(const line_arguments &a, unsigned segment) {
    unsigned line = 0;
    if (SEGMENT_LINES) line = segment / a.segments, segment -= line * a.segments;
    place s = {a.in, a.out, static_cast<long long>(segment) * a.useful - a.lead, false};
    if (SEGMENT_LINES) {
        const unsigned y = line % a.lines_y, z = line / a.lines_y % a.lines_z, grid = line / a.lines_y / a.lines_z;
        s.in += y * a.in_far[0] + z * a.in_far[1] + grid * a.in_far[2];
        s.out += y * a.out_far[0] + z * a.out_far[1] + grid * a.out_far[2];
    }
    s.inside = plain(s.start, LENGTH, a.n);
    return s;
}

// ---- inputs

__device__ __forceinline__ REAL input(const STORE *line, long long i, long long n) {
    const folded from = extend(i, n);
    return from.index < 0 ? REAL(0) : from.minus ? -widen(line[from.index]) : widen(line[from.index]);
}

// The segment's inputs start on their way to shared memory; near a side, and past the last segment, they are there at once.
__device__ __forceinline__ void fetch(const line_arguments &a, unsigned segment, STORE *raw, int t) {
    const bool there = segment < a.all;
    const place s = find(a, there ? segment : 0);
    const STORE *const from = s.in + s.start;
    if (!there || !s.inside)
#pragma unroll 1
        for (int i = t; i < LENGTH; i += THREADS)
            raw[i] = narrow<STORE>(there ? input(s.in, s.start + i, a.n) : REAL(0));
    else if (VECTOR > 1)
#pragma unroll
        for (int i = SLOT * t; i < LENGTH; i += SLOT * THREADS) copy_async_16(raw + i, from + i);
    else
#pragma unroll 4
        for (int i = t; i < LENGTH; i += THREADS) copy_element(raw + i, from + i);
    copy_async_commit();
}

// ---- outputs

// Registers to the line. A side's value times its profile is added; points that a fixed side freezes keep theirs.
template <bool IM>
__device__ __forceinline__ void give(const line_arguments &a, unsigned segment, const point (&x)[16], int t) {
    if (segment >= a.all) return;
    const place s = find(a, segment);
    const long long first = s.start + a.lead;  // output
    const unsigned count = static_cast<unsigned>(min(a.n - first, static_cast<long long>(a.useful)));
    const bool low = ODD_LOW && first < a.width, high = ODD_HIGH && first + count > a.n - a.width;
    const int ahead = static_cast<int>(low ? s.start : 0), behind = static_cast<int>(high ? a.n - 1 - s.start : 0);
    const REAL at_low = !low ? REAL(0) : X_SIDE_LOW == FIXED ? widen(s.in[0]) : a.past[0];
    const REAL at_high = !high ? REAL(0) : X_SIDE_HIGH == FIXED ? widen(s.in[a.n - 1]) : a.past[1];
    STORE *const to = s.out + s.start;
#pragma unroll
    for (int i = 0; i < 16; i++) {
        const int j = t + THREADS * (i / F) + 256 * (i % F);
        if (static_cast<unsigned>(j - a.lead) >= count) continue;
        REAL value = IM ? x[i].im : x[i].re;
        if (low && ahead + j < a.width) value += a.profile[ahead + j] * at_low;
        if (high && behind - j < a.width) value += a.profile[a.width + behind - j] * at_high;
        if (X_SIDE_LOW == FIXED && low && ahead + j == 0) value = at_low;
        if (X_SIDE_HIGH == FIXED && high && behind - j == 0) value = at_high;
        to[j] = narrow<STORE>(value);
    }
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
