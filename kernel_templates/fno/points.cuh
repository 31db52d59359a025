// Which lines a thread transforms, and their points in memory: of fno_line and fno_split.
//
// Reads FNO_*, and what fno/lines.cuh reads.
#pragma once
#include "fno/arguments.cuh"
#include "fno/lines.cuh"

// Until all threads of a line are here: of its warp where lines need nothing else, so that warps need not wait for each other.
constexpr bool WARP_LINES = LINE_STAGES == 2 && 32 % (LINE_COUNT * THREADS_X) == 0;
__device__ __forceinline__ void wait_for_line() {
    if (WARP_LINES)
        __syncwarp();
    else
        __syncthreads();
}

// Of the modes of a real line.
__device__ __forceinline__ bool own_negative(int mode) { return mode == 0 || 2 * mode == N; }

// What a thread's line is: of which line among SIDE, and which thread of it.
struct place {
    int t, side;
    value *line;  // in its ladder
};
__device__ __forceinline__ place place_of(value *ladder, int thread) {
    const int lane = thread % LINE_COUNT, rest = thread / LINE_COUNT;
    const int group = rest / THREADS_X;
    return {rest % THREADS_X, group * LINE_COUNT + lane, ladder + group * ladder_cells<fno_ladder>() + lane};
}

// ---- in: the points of this thread's line in the group of channels from c0 on; get(j, apart): point j + apart
struct line_points {
    const FNO_FROM *first, *second;  // of real points, two channels
    bool one, two;                   // which are there
    __device__ __forceinline__ line_points(const line_arguments &a, const FNO_FROM *in, int c0, const place &here) {
        const int c = c0 + PER * here.side;
        first = in + (FNO_REAL ? 1 : 2) * (c * a.in_apart), second = first + a.in_apart;
        one = c < a.channels, two = c + 1 < a.channels;
    }
    __device__ __forceinline__ value operator()(int j, int apart) const {
        const long long from = (FNO_REAL ? 1 : 2) * static_cast<long long>(j);
        if (FNO_REAL)
            return {one ? load_number(first + from + apart) : REAL(0),
                    two ? load_number(second + from + apart) : REAL(0)};
        return one ? load_value(first + from + 2 * apart) : value{REAL(0), REAL(0)};
    }
};

// ---- out
// o: the line's first channel
template <class ROOTS>
__device__ __forceinline__ void store_points(const line_arguments &a, FNO_TO *out, long long item, int o,
                                             const place &here, const ROOTS &roots) {
    constexpr int NUMBERS = FNO_REAL ? 1 : 2;
    const long long first = NUMBERS * (o * a.out_apart);
    const bool one = o < a.outputs, two = o + 1 < a.outputs;
    value bias = {REAL(0), REAL(0)};
    if (FNO_BIAS && one) {
        const long long b = FNO_BIAS == 1 ? o : item % a.inner;  // the channel is a line's, or an item's
        const STORE *const from = a.bias + NUMBERS * b;
        bias.re = load_number(from);
        if (!FNO_REAL || two) bias.im = load_number(FNO_REAL && FNO_BIAS == 2 ? from : from + 1);
    }
    FNO_TO *const line = out + first;
    const FNO_TO *const added = FNO_ADDED ? a.added + (line - a.out) : nullptr;
    const long long other = FNO_REAL ? a.out_apart : 1;
    ladder_to_points(here.line, here.t, roots, [&](int j, int apart, value z) {
        if (!one) return;
        const long long at = NUMBERS * static_cast<long long>(j);
        if (FNO_BIAS) z = z + bias;
        if (FNO_ADDED) {
            const FNO_TO *const from = added + at + NUMBERS * apart;
            z = z + value{widen(from[0]), !FNO_REAL || two ? widen(from[other]) : REAL(0)};
        }
        z = activated(z);
        FNO_TO *const to = line + at + NUMBERS * apart;
        if (!FNO_REAL) return store_value(to, z);
        store_number(to, z.re);
        if (two) store_number(to + other, z.im);
    });
}
// Asks for a group's points before they are needed; `in`: of the item, or NULL.
__device__ __forceinline__ void prefetch_points(const line_arguments &a, const FNO_FROM *in, int c0,
                                                const place &here) {
    const int c = c0 + PER * here.side + here.t;
    if (!FNO_FORWARD || !in || here.t >= PER || c >= a.channels) return;
    constexpr int NUMBERS = FNO_REAL ? 1 : 2;
    const unsigned long long first = reinterpret_cast<unsigned long long>(in + NUMBERS * (c * a.in_apart));
    const unsigned long long from = (first + 15) / 16 * 16, to = (first + NUMBERS * N * sizeof(FNO_FROM)) / 16 * 16;
    if (from < to) prefetch_far(reinterpret_cast<const void *>(from), static_cast<unsigned>(to - from));
}
