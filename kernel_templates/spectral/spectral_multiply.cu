// Multiplies half spectra by K^T. The spectra have cuFFT's layout: contiguous rows of n / 2 + 1
// frequencies along x. The kernel runs between cuFFT's two transforms (cufft-spectral).
//
//     a row is divided into chunks of MULTIPLY_CHUNK frequencies, k = chunk * MULTIPLY_CHUNK + i;
//     the half angle pi k / n of a frequency is the sum of the half angles of its chunk's first
//     frequency and of i, so two short tables serve any n (symbol_power.cuh, SYMBOL_ANGLE_SUM)
//
// MULTIPLY_LANES neighbouring threads take one chunk at a time, so that indices are divided once
// per chunk. Reads REAL, SYMBOL_*, MULTIPLY_CHUNK, MULTIPLY_LANES, THREADS_X.
#include "device/complex.cuh"
#include "device/launch_checks.cuh"
#include "params.cuh"
#include "spectral/symbol_power.cuh"

constexpr int TEAMS = THREADS_X / MULTIPLY_LANES;  // Per block.

struct multiply_arguments {
    REAL *spectrum;
    symbol_arguments symbol;    // angles: cos and sin of pi i / n.
    const double *half_angles;  // The same for each chunk's first frequency.
    long long half, lines;      // Frequencies of a row; rows of a grid.
    long long chunks, all;      // Chunks of a row, and of all grids.
};
static_assert(layout_matches(sizeof(multiply_arguments)), "the arguments that are launched");

extern "C" __global__ void __launch_bounds__(THREADS_X)
    spectral_multiply(const __grid_constant__ multiply_arguments a) {
    const int lane = static_cast<int>(threadIdx.x) % MULTIPLY_LANES,
              team = static_cast<int>(threadIdx.x) / MULTIPLY_LANES;
    for (long long each = blockIdx.x * static_cast<long long>(TEAMS) + team; each < a.all;
         each += gridDim.x * static_cast<long long>(TEAMS)) {
        const long long row = each / a.chunks, chunk = each - row * a.chunks, first = chunk * MULTIPLY_CHUNK;
        const long long left = a.half - first;
        const int count = static_cast<int>(left < MULTIPLY_CHUNK ? left : MULTIPLY_CHUNK);
        const symbol_line line = {a.symbol.parts + row % a.lines * SYMBOL_PARTS, load_pair(a.half_angles + 2 * chunk)};
        REAL *const here = a.spectrum + 2 * (row * a.half + first);
        for (int i = lane; i < count; i += MULTIPLY_LANES)
            store_pair(here + 2 * i, times_symbol<0>(load_pair(here + 2 * i), line, i, a.symbol));
    }
}
