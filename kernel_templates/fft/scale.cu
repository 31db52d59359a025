// Copies elements between layouts and types, multiplied by a factor. This kernel runs before and
// after a library's transform that has no scale factor, does not support every layout and type, or
// overwrites its input.
//
//     to = factor * from      for all numbers (2 for a complex element) of a batch of boxes
//
//     a row of n[2] elements:  |<- TILE numbers, one block ->|<- TILE ->|  ..
//     rows are numbered over y, then z, then the batch; number i of a row is at
//     (b * batch_stride + z * stride[0] + y * stride[1] + i / per * stride[2]) * per + i % per
//
// A block takes every gridDim.x-th tile and divides indices once per tile. The host passes a dense
// batch as one long row. `from` and `to` may be the same. Reads SCALE_FROM, SCALE_TO, REAL,
// THREADS_X.
#include "device/element.cuh"
#include "device/launch_checks.cuh"
#include "params.cuh"

constexpr long long TILE = 8 * THREADS_X;

struct scale_arguments {
    const SCALE_FROM *from;
    SCALE_TO *to;
    // Extents of a box (axes z, y, x) in elements; numbers per element; tiles per row; tiles in
    // all.
    long long n[3], per, tiles, all;
    long long from_stride[3], from_batch;  // in elements
    long long to_stride[3], to_batch;
    REAL factor;
};
static_assert(layout_matches(sizeof(scale_arguments), sizeof(REAL)), "the arguments match the launcher's struct");

extern "C" __global__ void __launch_bounds__(THREADS_X) scale(const __grid_constant__ scale_arguments a) {
    const long long numbers = a.n[2] * a.per;
    const int halves = a.per == 2;  // log2 of the numbers per element
    for (long long tile = blockIdx.x; tile < a.all; tile += gridDim.x) {
        const long long row = tile / a.tiles, first = (tile - row * a.tiles) * TILE;
        const long long plane = row / a.n[1], b = plane / a.n[0], z = plane - b * a.n[0], y = row - plane * a.n[1];
        const SCALE_FROM *const from =
            a.from + (b * a.from_batch + z * a.from_stride[0] + y * a.from_stride[1]) * a.per;
        SCALE_TO *const to = a.to + (b * a.to_batch + z * a.to_stride[0] + y * a.to_stride[1]) * a.per;
        const long long last = first + TILE < numbers ? first + TILE : numbers;
        for (long long i = first + threadIdx.x; i < last; i += THREADS_X) {
            const long long x = i >> halves, part = i - (x << halves);
            to[((x * a.to_stride[2]) << halves) + part] =
                narrow<SCALE_TO>(a.factor * widen(from[((x * a.from_stride[2]) << halves) + part]));
        }
    }
}
