// Which lines a thread transforms, and their way out: of fno_line and fno_split.
//
// Reads FNO_*, and what fno/lines.cuh reads.
#pragma once
#include "fno/ends.cuh"
#include "fno/lines.cuh"

// Until all threads of a line are here: of its warp where lines need nothing else, so that warps
// need not wait for each other.
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

// ---- out
// o: the line's first channel
template <class ROOTS>
__device__ __forceinline__ void store_points(const line_arguments &a, FNO_TO *out, long long item, int o,
                                             const place &here, const ROOTS &roots) {
    ladder_to_points(here.line, here.t, roots, line_targets(a, out, item, o));
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
