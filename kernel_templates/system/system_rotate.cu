// Rotates the levels of a field that were updated in place: buffer b gets the contents of buffer b
// - by, modulo `count`. A thread has one point of all buffers, which it reads before it writes any.
//
// Reads STORE, THREADS_X.
#include "device/element.cuh"
#include "params.cuh"

constexpr int MOST = 6;
struct rotate_arguments {
    STORE *buffer[MOST];
    long long points;
    int count, by;
};

extern "C" __global__ void __launch_bounds__(THREADS_X) system_rotate(const __grid_constant__ rotate_arguments a) {
    const long long i = static_cast<long long>(blockIdx.x) * THREADS_X + threadIdx.x;
    if (i >= a.points) return;
    STORE held[MOST];
#pragma unroll
    for (int b = 0; b < MOST; b++)
        if (b < a.count) held[b] = a.buffer[b][i];
#pragma unroll
    for (int b = 0; b < MOST; b++)
        if (b < a.count) a.buffer[b + a.by < a.count ? b + a.by : b + a.by - a.count][i] = held[b];
}
