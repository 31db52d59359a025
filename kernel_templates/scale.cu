// Elements from one layout to another, times a factor: around a transform by a library that has no scale factors and
// ruins inputs.
//
//     to = factor * from      for the `per` numbers (2 of a complex element) of every element of a batch of boxes
//
//     number i = ((((b * n[0] + z) * n[1] + y) * n[2] + x) * per + part)      One thread takes the numbers i, i + all
//     lies at    (b * batch_stride + z * stride[0] + y * stride[1]            threads, ...; the host hands dense batches
//                 + x * stride[2]) * per + part                               over as one long line, n = {1, 1, count}.
//
// `from` and `to` may be the same. Reads STORE, REAL, THREADS_X.
#include "device/element.cuh"
#include "params.cuh"

struct scale_arguments {
    const STORE *from;
    STORE *to;
    long long n[3], per, count;            // elements of a box, axes z, y, x; numbers of an element, of all
    long long from_stride[3], from_batch;  // elements
    long long to_stride[3], to_batch;
    REAL factor;
};

extern "C" __global__ void __launch_bounds__(THREADS_X) scale(const __grid_constant__ scale_arguments a) {
    const long long threads = static_cast<long long>(gridDim.x) * THREADS_X;
    for (long long i = static_cast<long long>(blockIdx.x) * THREADS_X + threadIdx.x; i < a.count; i += threads) {
        const long long element = i / a.per, row = element / a.n[2], plane = row / a.n[1], b = plane / a.n[0];
        const long long z = plane - b * a.n[0], y = row - plane * a.n[1], x = element - row * a.n[2];
        const long long part = i - element * a.per;
        const long long from = b * a.from_batch + z * a.from_stride[0] + y * a.from_stride[1] + x * a.from_stride[2];
        const long long to = b * a.to_batch + z * a.to_stride[0] + y * a.to_stride[1] + x * a.to_stride[2];
        a.to[to * a.per + part] = narrow<STORE>(a.factor * widen(a.from[from * a.per + part]));
    }
}
