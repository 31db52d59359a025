// Differences between a candidate's grid and the reference grid, for the relative L2 error.
//
//     sum of (got[i] - want[i])^2,   sum of want[i]^2,   number of infinite want[i]
//
// Squares of float64 may overflow or underflow where the numbers themselves do not, so each sum has
// three accumulators (Blue 1978), for numbers that are
//
//     below 2^-450: scaled by 2^600  |  in between: unscaled  |  from 2^450: scaled by 2^-600
//
// A difference is classified by the larger of its two operands, which exceeds the difference by a
// factor of 2^53 at most, so it stays exact, denormal numbers included. Smaller types need no
// scaling. Each block sums its elements in a grid-stride loop and stores the sums in out[block];
// the host adds those:
//
//     threads  | s s s s s s s s |  ->  | s s s s |  ->  | s s |  ->  | s |  ->  out[block]
//
// NaN in both grids counts as equal (padding between rows is never written); NaN in one of them
// makes the first sum NaN. Reads STORE, REAL, THREADS_X.
#include "device/element.cuh"
#include "params.cuh"

static_assert((THREADS_X & (THREADS_X - 1)) == 0, "halves of halves");

constexpr double HUGE_FROM = 0x1p450, HUGE_TIMES = 0x1p-600, TINY_BELOW = 0x1p-450, TINY_TIMES = 0x1p600;
enum place { DIFFERENCE = 0, WANTED = 3, INFINITE = 6, NUMBERS = 7 };

struct compare_arguments {
    const STORE *got, *want;
    double *out;  // [blocks][NUMBERS]: DIFFERENCE and WANTED for tiny, medium and huge numbers
    long long count;
};

__device__ __forceinline__ double magnitude(double v) { return v < 0 ? -v : v; }

// Adds (a - b)^2; `larger`, the larger magnitude of both, selects the accumulator.
__device__ __forceinline__ void add_square(double *sums, double a, double b, double larger) {
    const bool can = sizeof(STORE) == sizeof(double), huge = can && larger >= HUGE_FROM,
               tiny = can && larger < TINY_BELOW;
    const double times = huge   ? HUGE_TIMES
                         : tiny ? TINY_TIMES
                                : 1,
                 scaled = a * times - b * times, square = scaled * scaled;
    if (tiny)
        sums[0] += square;
    else if (huge)
        sums[2] += square;
    else
        sums[1] += square;
}

extern "C" __global__ void __launch_bounds__(THREADS_X) tune_compare(const __grid_constant__ compare_arguments a) {
    __shared__ double shared[NUMBERS][THREADS_X];
    const int me = threadIdx.x;
    double sums[NUMBERS] = {0};
    const long long step = static_cast<long long>(gridDim.x) * THREADS_X;
    for (long long i = static_cast<long long>(blockIdx.x) * THREADS_X + me; i < a.count; i += step) {
        const double got = widen(a.got[i]), want = widen(a.want[i]), size = magnitude(want);
        const bool same = got == want || (got != got && want != want), finite = want - want == 0;
        if (!same) add_square(sums + DIFFERENCE, got, want, magnitude(got) > size ? magnitude(got) : size);
        if (finite) add_square(sums + WANTED, want, 0, size);
        if (!finite && want == want) sums[INFINITE] += 1;
    }
    for (int k = 0; k < NUMBERS; k++) shared[k][me] = sums[k];
    for (int half = THREADS_X / 2; half > 0; half /= 2) {
        __syncthreads();
        for (int k = 0; k < NUMBERS; k++)
            if (me < half) shared[k][me] += shared[k][me + half];
    }
    __syncthreads();
    if (me < NUMBERS) a.out[blockIdx.x * static_cast<long long>(NUMBERS) + me] = shared[me][0];
}
