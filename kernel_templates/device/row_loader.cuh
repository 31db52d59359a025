// Loads rows of a 2D grid into shared memory, 16 columns at a time, for kernels whose blocks stream
// along x.
#pragma once
#include "device/boundary.cuh"
#include "device/element.cuh"

// The block's threads copy columns x to x + 15 of all LINES rows asynchronously: row i begins at
// grid + row_start[i] and goes to stage + place(i). They copy 16 bytes at a time, but single
// elements where rows are not aligned (VECTOR 1), past a mirrored side, and where a row ends within
// 16 bytes.
template <int LINES, int THREADS, int VECTOR, int LOW, int HIGH, class STORE, class PLACE>
__device__ __forceinline__ void load_stage(STORE *stage, PLACE place, const STORE *grid, const long long *row_start,
                                           long long x, long long nx) {
    // SLOTS: 16-byte pieces of a row's 16 columns. SKIP: rows that are copied at once.
    constexpr int SLOTS = sizeof(STORE), SKIP = THREADS / SLOTS;
    const bool inside = x >= 0 && x + 16 <= nx;
    if (VECTOR == 1 || (!inside && (mirrors<LOW, HIGH>() || nx % (16 / SLOTS)))) {
#pragma unroll 1
        for (int i = threadIdx.x; i < LINES * 16; i += THREADS)
            copy_element(stage + place(i / 16) + i % 16,
                         grid + row_start[i / 16] + fold_column<LOW, HIGH>(x + i % 16, nx));
        return;
    }
    const int row = threadIdx.x / SLOTS, column = threadIdx.x % SLOTS * (16 / SLOTS);
    STORE *const to = stage + place(row) + column;
    const STORE *const from = grid + (inside ? x + column : fold_column<LOW, HIGH>(x + column, nx));
    // Row starts are loaded in groups of 5, before their copies: a load cannot overtake an earlier
    // copy.
    constexpr int AT_ONCE = 5 * SKIP;
#pragma unroll
    for (int first = 0; first < LINES; first += AT_ONCE) {
        long long start[5];
#pragma unroll
        for (int i = first; i < first + AT_ONCE && i < LINES; i += SKIP)
            if (i + SKIP <= LINES || row < LINES - i) start[(i - first) / SKIP] = row_start[row + i];
#pragma unroll
        for (int i = first; i < first + AT_ONCE && i < LINES; i += SKIP)
            if (i + SKIP <= LINES || row < LINES - i) copy_async_16(to + place(i), from + start[(i - first) / SKIP]);
    }
}
