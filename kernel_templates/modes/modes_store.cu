// The levels of a linear system from their differences: the inverse of modes_load, which stores the
// points of the grid alone. Levels without an array are not stored. Blocks as in modes_load.
//
// Reads STORE, REAL, MODES_*, THREADS_X, THREADS_Y.
#include "device/element.cuh"
#include "device/launch_checks.cuh"
#include "params.cuh"

constexpr int THREADS = THREADS_X * THREADS_Y;

struct store_arguments {
    STORE *out[MODES_WIDTH];  // Dense grids; NULL: the level is not stored.
    const REAL *spectrum;
    long long n[3], length[3];
    long long row, grid, grids;
    long long rows, chunks;  // Rows of the grids.
};
static_assert(layout_matches(sizeof(store_arguments)), "the arguments that are launched");

extern "C" __global__ void __launch_bounds__(THREADS) modes_store(const __grid_constant__ store_arguments a) {
    const int tx = static_cast<int>(threadIdx.x) % THREADS_X, ty = static_cast<int>(threadIdx.x) / THREADS_X;
    const long long group = blockIdx.x / a.chunks, chunk = blockIdx.x - group * a.chunks;
    const long long row = group * THREADS_Y + ty;
    if (row >= a.rows) return;
    const long long y = row % a.n[1], plane = row / a.n[1], z = plane % a.n[0], g = plane / a.n[0];
    const REAL *const from = a.spectrum + g * a.grid + (z * a.length[1] + y) * a.row;
#pragma unroll
    for (int k = 0; k < MODES_RUN; k++) {
        const long long x = chunk * (THREADS_X * MODES_RUN) + k * THREADS_X + tx;
        if (x >= a.n[2]) return;
#pragma unroll
        for (int f = 0; f < MODES_FIELDS; f++) {
            REAL level[MODES_LEVELS];
            const int first = MODES_FIELD[f], count = MODES_FIELD[f + 1] - first;
            int wanted = 0;
#pragma unroll
            for (int l = 0; l < MODES_LEVELS; l++)
                if (l < count && a.out[first + l]) wanted = l + 1;
#pragma unroll
            for (int l = 0; l < MODES_LEVELS; l++)
                if (l < wanted) level[l] = from[(first + l) * a.grids * a.grid + x];
#pragma unroll
            for (int j = MODES_LEVELS - 1; j >= 1; j--)
#pragma unroll
                for (int l = 1; l < MODES_LEVELS; l++)
                    if (l >= j && l < wanted) level[l] = level[l - 1] - level[l];
#pragma unroll
            for (int l = 0; l < MODES_LEVELS; l++)
                if (l < wanted && a.out[first + l]) a.out[first + l][row * a.n[2] + x] = narrow<STORE>(level[l]);
        }
    }
}
