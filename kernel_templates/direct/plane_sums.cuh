// The partial sums of a thread that marches along z (direct_tile, direct_skew): plane z contributes
// to the outputs z-Z_HIGH .. z+Z_LOW, sum[0] .. sum[DEPTH-1].
#pragma once
#include "device/boundary.cuh"
#include "device/element.cuh"
#include "device/launch_checks.cuh"
#include "params.cuh"

constexpr int THREADS = THREADS_X * THREADS_Y * THREADS_Z, BZ = THREADS_Z * CHUNK;
constexpr int DEPTH = Z_LOW + Z_HIGH + 1;
constexpr int LINES = ROWS + Y_LOW + Y_HIGH;  // rows of a window

typedef REAL plane_sums[DEPTH][ROWS][VECTOR];

// Moves to the next plane: sum[0] is complete and drops out, a new output begins at 0.
__device__ __forceinline__ void next_plane(plane_sums &sum) {
#pragma unroll
    for (int d = 0; d < DEPTH; d++)
#pragma unroll
        for (int r = 0; r < ROWS; r++)
#pragma unroll
            for (int v = 0; v < VECTOR; v++)
                sum[d][r][v] = d + 1 < DEPTH ? sum[d + 1 < DEPTH ? d + 1 : d][r][v] : REAL(0);
}
