// Lines of a grid on their way into shared memory, 16 bytes at a time, for the kernels of sparse.
#pragma once
#include "device/element.cuh"
#include "device/index.cuh"

// The block's threads ask for LINES lines of SLOTS * 16 bytes from column x0 on: line i of the grid begins at line(i, x), which
// may move x, and goes to stage + place(i). Element by element where rows are not aligned (VECTOR 1), past mirrors, and where a grid
// ends within 16 bytes: a thread's elements are waited for together.
template <int LINES, int SLOTS, int THREADS, int VECTOR, int LOW, int HIGH, class STORED, class PLACE, class LINE>
__device__ __forceinline__ void load_lines(STORED *stage, PLACE place, LINE line, long long x0, long long nx) {
    constexpr int SLOT = 16 / sizeof(STORED);
    const bool whole = !mirrors<LOW, HIGH>() && nx % SLOT == 0;  // past a side all 16 bytes lie side by side
    for (int i = threadIdx.x; i < LINES * SLOTS; i += THREADS) {
        const int row = i / SLOTS, column = i % SLOTS * SLOT;
        long long x = x0 + column;
        const STORED *const from = line(row, x);
        STORED *const to = stage + place(row) + column;
        if (VECTOR > 1 && x >= 0 && x + SLOT <= nx)
            copy_async_16(to, from + x);
        else if (VECTOR > 1 && whole)
            copy_async_16(to, from + (repeats<LOW, HIGH>() ? fold_far<LOW, HIGH>(x, nx) : x < 0 ? 0 : nx - SLOT));
        else {
            STORED run[SLOT];
#pragma unroll
            for (int e = 0; e < SLOT; e++) run[e] = from[fold_far<LOW, HIGH>(x + e, nx)];
#pragma unroll
            for (int e = 0; e < SLOT; e++) to[e] = run[e];
        }
    }
}
