// The rendered shape of FFTs of lines in shared memory, for shared_fft.cuh.
//
// Reads LINE_*, THREADS_X.
#pragma once
#include "params.cuh"

struct line_shape {
    static constexpr int N = LINE_POINTS, STAGES = LINE_STAGES, THREADS = THREADS_X, LINES = LINE_COUNT, PAD = LINE_PAD,
                         TABLE = LINE_TABLE, SHARES = LINE_SHARES;
    static constexpr __host__ __device__ int radix(int s) { return LINE_RADIX[s]; }
};
