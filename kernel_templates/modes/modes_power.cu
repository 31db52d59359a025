// All steps of a linear system at once, between two transforms of real data: the state at each
// frequency is multiplied by the power of the matrix of a step,
//
//     y(k) = scale M(k)^steps x(k),   M(k) = the step's matrix (modes_matrix in params.cuh)
//
// x(k) has MODES_WIDTH complex numbers: of each field the backward differences of its levels.
// MODES_AFFINE: a step also adds constants, which act at frequency 0 alone; the state has one more
// number there, 1.
//
//                 MODES_ROWS rows of frequencies (kz, ky), THREADS_Y at a time
//               +------------------------------------------------+
//               | THREADS_X   | THREADS_X   | ...                |   along kx
//               +------------------------------------------------+
//                 a block       a block
//
// A block computes the terms of its rows once, in shared memory (matrix.cuh); a thread keeps the
// cosines and sines of its kx. Rows with frequencies k and -k along an axis share a power if the
// matrices at k and -k are equal (MODES_EVEN).
//
// Reads REAL, MODES_*, THREADS_X, THREADS_Y, modes_matrix.
#include "device/launch_checks.cuh"
#include "modes/matrix.cuh"
#include "params.cuh"

constexpr int THREADS = THREADS_X * THREADS_Y;

struct power_arguments {
    REAL *spectrum;  // [number of the state][grid][z][y][x], rows of `pitch` complex numbers.
    REAL *to;        // In the same layout; may be `spectrum`.
    symbol_tables tables;
    long long rows[2];             // Along z and y: number of frequencies whose matrices differ.
    long long pitch, grids, grid;  // grid: complex numbers of one.
    long long chunks;              // Blocks along a row.
    unsigned long long steps;
    double scale;
    int keeps;                  // 1: the result is stored to `spectrum` too.
    int levels;                 // 1: `to` gets the levels, not their differences.
    wide values[MODES_VALUES];  // Constant factors, then what a step adds to each field.
};
static_assert(layout_matches(sizeof(power_arguments)), "the arguments that are launched");

__device__ __forceinline__ void apply_at(const power_arguments &a, const factors &power, long long at, bool first) {
    complex<applied> in[MODES_WIDTH], made[MODES_WIDTH];
    const long long next = a.grids * a.grid;
#pragma unroll UNROLLED_SIZE
    for (int i = 0; i < MODES_WIDTH; i++) {
        const complex<REAL> z = load_pair(a.spectrum + 2 * (at + i * next));
        in[i] = {static_cast<applied>(z.re), static_cast<applied>(z.im)};
    }
    apply(power, in, first, made);
    if (a.keeps)
#pragma unroll UNROLLED_SIZE
        for (int i = 0; i < MODES_WIDTH; i++) store_pair(a.spectrum + 2 * (at + i * next), rounded(made[i]));
    if (a.levels) to_levels(made);
#pragma unroll UNROLLED_SIZE
    for (int i = 0; i < MODES_WIDTH; i++) store_pair(a.to + 2 * (at + i * next), rounded(made[i]));
}

extern "C" __global__ void __launch_bounds__(THREADS) modes_power(const __grid_constant__ power_arguments a) {
    __shared__ wide terms[MODES_ROWS][SLOTS];
    const int x = static_cast<int>(threadIdx.x) % THREADS_X, y = static_cast<int>(threadIdx.x) / THREADS_X;
    const long long group = blockIdx.x / a.chunks, chunk = blockIdx.x - group * a.chunks;
    const long long begin = group * MODES_ROWS, all = a.rows[0] * a.rows[1], kx = chunk * THREADS_X + x;
    for (int i = static_cast<int>(threadIdx.x); i < MODES_ROWS * MODES_TERMS; i += THREADS) {
        const int own = i / SLOTS;
        const long long row = begin + own;
        if (row < all) terms[own][i % SLOTS] = term_of(a.tables, i % SLOTS, row / a.rows[1], row % a.rows[1]);
    }
    __syncthreads();
    if (kx >= a.pitch) return;
    frequency f;
    f.values = a.values;
    for (int o = 0; o <= MODES_REACH; o++) {
        const wide_complex turn = root(a.tables.axis[2], static_cast<unsigned long long>(kx * o) % a.tables.axis[2].n);
        f.cosine[o] = turn.re, f.sine[o] = turn.im;
    }
    for (int own = y; own < MODES_ROWS && begin + own < all; own += THREADS_Y) {
        const long long row = begin + own, z = row / a.rows[1], y0 = row - z * a.rows[1];
        f.terms = terms[own];
        f.first = !row && !kx;
        wide_matrix step = {};
        modes_matrix(f, step);
        const factors power = scaled(power_of(step, a.steps), a.scale);
        const long long mirror_z = MODES_EVEN[0] && z ? a.tables.axis[0].n - z : z;
        const long long mirror_y = MODES_EVEN[1] && y0 ? a.tables.axis[1].n - y0 : y0;
        for (long long g = 0; g < a.grids; g++)
            for (int each = 0; each < 4; each++) {
                if ((each & 1 && mirror_y == y0) || (each & 2 && mirror_z == z)) continue;
                const long long to = (each & 2 ? mirror_z : z) * a.tables.axis[1].n + (each & 1 ? mirror_y : y0);
                apply_at(a, power, g * a.grid + to * a.pitch + kx, f.first);
            }
    }
}
