// How far a candidate's grid is from the trusted one, for the relative L2 error.
//
//     sums[0] = sum of (got[i] - want[i])^2,   sums[1] = sum of want[i]^2,   sums[2] = how many want[i] are infinite
//
// Each block sums its elements (as in tune_fill) and leaves its three sums in out[block]; the host adds those up:
//
//     threads  | s s s s s s s s |  ->  | s s s s |  ->  | s s |  ->  | s |  ->  out[block]
//
// NaN in both grids is equal (elements between rows, which nobody writes); in one of them it makes sums[0] NaN.
// Reads STORE, REAL, THREADS_X.
#include "device/element.cuh"
#include "params.cuh"

static_assert((THREADS_X & (THREADS_X - 1)) == 0, "halves of halves");

struct compare_arguments {
    const STORE *got, *want;
    double *out;  // [blocks][3]
    long long count;
};

extern "C" __global__ void __launch_bounds__(THREADS_X) tune_compare(const __grid_constant__ compare_arguments a) {
    __shared__ double shared[3][THREADS_X];
    const int me = threadIdx.x;
    double sums[3] = {0, 0, 0};
    const long long step = static_cast<long long>(gridDim.x) * THREADS_X;
    for (long long i = static_cast<long long>(blockIdx.x) * THREADS_X + me; i < a.count; i += step) {
        const double got = widen(a.got[i]), want = widen(a.want[i]);
        const bool same = got == want || (got != got && want != want), finite = want - want == 0;
        if (!same) sums[0] += (got - want) * (got - want);
        if (finite) sums[1] += want * want;
        if (!finite && want == want) sums[2] += 1;
    }
    for (int k = 0; k < 3; k++) shared[k][me] = sums[k];
    for (int half = THREADS_X / 2; half > 0; half /= 2) {
        __syncthreads();
        for (int k = 0; k < 3; k++)
            if (me < half) shared[k][me] += shared[k][me + half];
    }
    __syncthreads();
    if (me < 3) a.out[blockIdx.x * 3ll + me] = shared[me][0];
}
