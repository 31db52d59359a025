// Copies two boxes of points: the two ends of a grid into a separate grid, or back.
//
//     out(p) = in(p)     for p in box 0, box 1
//
//     +-----------------------------+
//     |           box 0             |
//     +-----------------------------+
//     |                             |
//     +-----------------------------+
//     |           box 1             |
//     +-----------------------------+
//
// Both boxes are copied in one launch. A thread copies ROWS points along y; threads are ordered
// along x, then y, then z, then the grids of the batch. Both pointers are those of a box's first
// point.
#include "device/element.cuh"
#include "params.cuh"

constexpr int BOXES = 2;
static_assert(ROWS >= 1 && THREADS_X >= 32, "a thread has rows, a block has warps");

struct copy_box {
    const STORE *in;
    STORE *out;
    long long in_stride[3], out_stride[3];  // axes z, y, x
    long long in_batch, out_batch;
    long long extent[3];
    long long threads;  // in all grids of the batch
};
struct copy_arguments {
    copy_box box[BOXES];
    long long boxes;
};

extern "C" __global__ void __launch_bounds__(THREADS_X) faces_copy(const __grid_constant__ copy_arguments a) {
    long long i = static_cast<long long>(blockIdx.x) * THREADS_X + threadIdx.x;
    int which = 0;
    while (which < a.boxes && i >= a.box[which].threads) i -= a.box[which++].threads;
    if (which >= a.boxes) return;
    const copy_box &b = a.box[which];
    const long long groups = (b.extent[1] + ROWS - 1) / ROWS;
    long long group, plane, batch;  // 32-bit divisions are many times cheaper
    if (b.threads <= 0xffffffffLL) {
        group = static_cast<unsigned>(i) / static_cast<unsigned>(b.extent[2]);
        plane = static_cast<unsigned>(group) / static_cast<unsigned>(groups);
        batch = static_cast<unsigned>(plane) / static_cast<unsigned>(b.extent[0]);
    } else {
        group = i / b.extent[2];
        plane = group / groups;
        batch = plane / b.extent[0];
    }
    const long long x = i - group * b.extent[2], y = (group - plane * groups) * ROWS, z = plane - batch * b.extent[0];
    const STORE *const from = b.in + batch * b.in_batch + z * b.in_stride[0] + y * b.in_stride[1] + x * b.in_stride[2];
    STORE *const to = b.out + batch * b.out_batch + z * b.out_stride[0] + y * b.out_stride[1] + x * b.out_stride[2];
    STORE point[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        if (y + r < b.extent[1]) point[r] = from[r * b.in_stride[1]];
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        if (y + r < b.extent[1]) to[r * b.out_stride[1]] = point[r];
}
