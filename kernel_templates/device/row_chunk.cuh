// Kernels that copy or combine grids of any layout row by row.
//
//     row   |<- COVERED ->|<- COVERED ->|<-    |
//           | block 0     | block 1     | ...  |
//
// A block has one chunk of one row; each thread takes PER_THREAD points, THREADS_X apart. Rows
// follow by y, then z, then grids of the batch.
#pragma once
#include "params.cuh"

constexpr int PER_THREAD = 8, COVERED = THREADS_X * PER_THREAD;

template <typename S>
struct strided_grid {
    S *at;
    long long stride[3], batch;  // in elements; axes z, y, x
};
template <typename S>
__device__ __forceinline__ S *row_of(const strided_grid<S> &g, long long batch, long long z, long long y) {
    return g.at + batch * g.batch + z * g.stride[0] + y * g.stride[1];
}

// The points that no fixed side freezes: low to high - 1 along each axis.
struct updated_box {
    long long low[3], high[3];  // axes z, y, x
};
__device__ __forceinline__ bool is_updated(const updated_box &box, int axis, long long i) {
    return i >= box.low[axis] && i < box.high[axis];
}

// The row of this block, and the first point of this thread.
struct row_chunk {
    long long batch, z, y, first;
};
// n: extents of the grid whose rows are divided; chunks: number of chunks of each row. The numbers
// of blocks and of rows are below 2^31.
__device__ __forceinline__ row_chunk find_row_chunk(const long long (&n)[3], long long chunks) {
    const unsigned per_row = static_cast<unsigned>(chunks), rows = static_cast<unsigned>(n[1]);
    const unsigned planes = static_cast<unsigned>(n[0]), row = blockIdx.x / per_row, plane = row / rows;
    const long long first = static_cast<long long>(blockIdx.x - row * per_row) * COVERED + threadIdx.x;
    return {plane / planes, plane % planes, row - plane * rows, first};
}
