// Fills a grid with random numbers for measuring candidates; zeros would be cheaper to compute
// with.
//
//     out[i] = low + (high - low) * hash(seed, i),    hash uniform in [0, 1)
//
// A grid-stride loop, one element a thread:  | t0 t1 t2 ... t(N-1) | t0 t1 ...
//
// In a half spectrum with rows of half_row real numbers (0: not a spectrum), the first and the last
// complex number of each row are 0: with random numbers these two columns would not belong to the
// spectrum of a real signal, and inverse transforms may differ. NaN for both limits fills with NaN,
// which shows elements that are never written. Reads STORE, REAL, THREADS_X.
#include "device/element.cuh"
#include "params.cuh"

struct fill_arguments {
    STORE *out;
    long long count;
    unsigned long long seed;
    double low, high;
    long long half_row, half_last;
};

// splitmix64 (Steele, Lea, Flood 2014): consecutive seeds give uncorrelated numbers.
__device__ __forceinline__ double hash(unsigned long long seed, unsigned long long i) {
    unsigned long long z = seed + (i + 1) * 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return static_cast<double>((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

__device__ __forceinline__ bool is_end(const fill_arguments &a, long long i) {
    if (a.half_row == 0) return false;
    const long long at = i % a.half_row;
    return at < 2 || (at >= a.half_last && at < a.half_last + 2);
}

extern "C" __global__ void __launch_bounds__(THREADS_X) tune_fill(const __grid_constant__ fill_arguments a) {
    const long long step = static_cast<long long>(gridDim.x) * THREADS_X;
    for (long long i = static_cast<long long>(blockIdx.x) * THREADS_X + threadIdx.x; i < a.count; i += step)
        a.out[i] = is_end(a, i) ? narrow<STORE>(static_cast<REAL>(0))
                                : narrow<STORE>(static_cast<REAL>(a.low + (a.high - a.low) * hash(a.seed, i)));
}
