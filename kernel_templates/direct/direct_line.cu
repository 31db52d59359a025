// One step of a 1D stencil.
//
//     out(x) = sum over taps k of  w[k] * in(x + TAP_X[k])
//
// A thread computes ITEMS runs of VECTOR consecutive points. The runs of a block's threads are
// adjacent, so that accesses coalesce:
//
//     item 0:  | t0 | t1 | t2 | ... | t(THREADS-1) |  item 1:  | t0 | t1 | ...
//
// Each run loads its window from memory in accesses of VECTOR elements; neighbouring windows
// overlap in L1. All windows are loaded before the first is used, to hide latency.
//
//              window:  | SPAN_LOW | VECTOR points | SPAN_HIGH |
//
// A window that meets an edge is read element by element through the folds of device/boundary.cuh.
#include "device/arith.cuh"
#include "device/boundary.cuh"
#include "device/element.cuh"
#include "device/launch_checks.cuh"
#include "params.cuh"

constexpr int THREADS = THREADS_X;
constexpr int SPAN_LOW = round_up(X_LOW, VECTOR), SPAN_HIGH = round_up(X_HIGH, VECTOR);
constexpr int SPAN = SPAN_LOW + VECTOR + SPAN_HIGH;
constexpr int ITEMS = ROWS;
static_assert(VECTOR * sizeof(STORE) <= 16, "a run is at most one access");

struct line_arguments {
    const STORE *in;
    STORE *out;
    long long nx;
    long long in_batch, out_batch;  // elements from one line to the next
    long long tiles;                // blocks for each line
    REAL constant[2];               // value past the low and the high side
    REAL weight[NTAPS];
};
static_assert(layout_matches(sizeof(line_arguments), sizeof(line_arguments::constant) + sizeof(line_arguments::weight)),
              "the launcher's mirrored struct of the arguments");

__device__ __forceinline__ void load_window(const line_arguments &a, const STORE *line, long long x,
                                            STORE (&window)[SPAN]) {
    if (x >= SPAN_LOW && x + VECTOR + SPAN_HIGH <= a.nx) {
#pragma unroll
        for (int s = 0; s < SPAN; s += VECTOR) {
            STORE run[VECTOR];
            load_run(run, line + x - SPAN_LOW + s);
#pragma unroll
            for (int e = 0; e < VECTOR; e++) window[s + e] = run[e];
        }
        return;
    }
#pragma unroll
    for (int s = 0; s < SPAN; s++) {
        const long long i = x - SPAN_LOW + s;
        if (i < -X_LOW || i >= a.nx + X_HIGH) {
            window[s] = narrow<STORE>(REAL(0));  // used by no stored point
            continue;
        }
        const long long f = fold<X_SIDE_LOW, X_SIDE_HIGH>(i, a.nx);
        window[s] = f < 0 ? narrow<STORE>(a.constant[f == PAST_HIGH]) : line[f];
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) direct_line(const __grid_constant__ line_arguments a) {
    const long long tile = blockIdx.x % a.tiles, batch = blockIdx.x / a.tiles;
    const STORE *const line = a.in + batch * a.in_batch;
    STORE *const out = a.out + batch * a.out_batch;
    const long long x0 = (tile * ITEMS * THREADS + threadIdx.x) * VECTOR;

    STORE window[ITEMS][SPAN];
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const long long x = x0 + static_cast<long long>(i) * THREADS * VECTOR;
        if (x < a.nx) load_window(a, line, x, window[i]);
    }
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const long long x = x0 + static_cast<long long>(i) * THREADS * VECTOR;
        if (x >= a.nx) break;
        STORE result[VECTOR];
#pragma unroll
        for (int v = 0; v < VECTOR; v++) {
            REAL sum = 0;
#pragma unroll
            for (int k = 0; k < NTAPS; k++) sum += a.weight[k] * widen(window[i][SPAN_LOW + v + TAP_X[k]]);
            const bool frozen =
                (X_SIDE_LOW == FIXED && x + v < X_LOW) || (X_SIDE_HIGH == FIXED && x + v >= a.nx - X_HIGH);
            result[v] = frozen ? window[i][SPAN_LOW + v] : narrow<STORE>(sum);
        }
        if (x + VECTOR <= a.nx)
            store_run(out + x, result);
        else
            for (int v = 0; v < VECTOR; v++)
                if (x + v < a.nx) out[x + v] = result[v];
    }
}
