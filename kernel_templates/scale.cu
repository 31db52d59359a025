// Numbers times a factor, where they lie: after a transform by a library that knows no scale factors.
//
//     x = factor * x      for the `per` numbers (2 of a complex element) of every element of a batch of boxes
//
//     number i = ((((b * n[0] + z) * n[1] + y) * n[2] + x) * per + part)      One thread takes the numbers i, i + all
//     lies at    (b * batch_stride + z * stride[0] + y * stride[1]            threads, ...; the host hands a dense batch
//                 + x * stride[2]) * per + part                               over as one long line, n = {1, 1, count}.
//
// Reads STORE, REAL, THREADS_X.
#include "device/element.cuh"
#include "params.cuh"

struct scale_arguments {
    STORE *data;
    long long n[3], stride[3], batch_stride;  // elements; axes z, y, x
    long long per, count;                     // numbers of an element, of all
    REAL factor;
};

extern "C" __global__ void __launch_bounds__(THREADS_X) scale(const __grid_constant__ scale_arguments a) {
    const long long threads = static_cast<long long>(gridDim.x) * THREADS_X;
    for (long long i = static_cast<long long>(blockIdx.x) * THREADS_X + threadIdx.x; i < a.count; i += threads) {
        const long long element = i / a.per, row = element / a.n[2], plane = row / a.n[1], batch = plane / a.n[0];
        const long long z = plane - batch * a.n[0], y = row - plane * a.n[1], x = element - row * a.n[2];
        const long long place = batch * a.batch_stride + z * a.stride[0] + y * a.stride[1] + x * a.stride[2];
        STORE &number = a.data[place * a.per + i - element * a.per];
        number = narrow<STORE>(a.factor * widen(number));
    }
}
