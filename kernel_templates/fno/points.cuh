// The assignment of lines to threads, and the output of points; used by fno_line and fno_split.
//
// Reads FNO_*, and what fno/lines.cuh reads.
#pragma once
#include "fno/line_io.cuh"
#include "fno/lines.cuh"

// Barrier of all threads of a line. If a line needs only one warp, the barrier is of that warp, so
// that warps need not wait for each other.
constexpr bool WARP_LINES = LINE_STAGES == 2 && 32 % (LINE_COUNT * THREADS_X) == 0;
__device__ __forceinline__ void line_barrier() {
    if (WARP_LINES)
        __syncwarp();
    else
        __syncthreads();
}

// Whether a mode of a real line is its own negative frequency.
__device__ __forceinline__ bool own_negative(int mode) { return mode == 0 || 2 * mode == N; }

// A thread's position: which line of the SIDE lines, and which thread of that line.
struct line_position {
    int t, side;
    value *line;  // in shared memory
};
__device__ __forceinline__ line_position position_of(value *fft, int thread) {
    const int lane = thread % LINE_COUNT, rest = thread / LINE_COUNT;
    const int group = rest / THREADS_X;
    return {rest % THREADS_X, group * LINE_COUNT + lane, fft + group * padded_points<fno_line_shape>() + lane};
}

// ---- output
// o: first channel of the line
template <class ROOTS>
__device__ __forceinline__ void store_points(const line_arguments &a, FNO_TO *out, long long item, int o,
                                             const line_position &position, const ROOTS &twiddles) {
    shared_to_points(position.line, position.t, twiddles, line_targets(a, out, item, o));
}
// Prefetches the points of a group into L2; `in` is the item, or NULL.
__device__ __forceinline__ void prefetch_points(const line_arguments &a, const FNO_FROM *in, int c0,
                                                const line_position &position) {
    const int c = c0 + PER * position.side + position.t;
    if (!FNO_FORWARD || !in || position.t >= PER || c >= a.channels) return;
    constexpr int NUMBERS = FNO_REAL ? 1 : 2;
    const unsigned long long first = reinterpret_cast<unsigned long long>(in + NUMBERS * (c * a.in_stride));
    const unsigned long long from = (first + 15) / 16 * 16, to = (first + NUMBERS * N * sizeof(FNO_FROM)) / 16 * 16;
    if (from < to) prefetch_l2(reinterpret_cast<const void *>(from), static_cast<unsigned>(to - from));
}
