// The inverse of layer_gather: scatters retained modes, one matrix each, into zero-padded spectra.
//
//     to[r][k] = from[mode of k][r]        k is retained, otherwise 0
//     to[r][k] = (from[mode of k][r] + conj(from[mode of -k][r])) / 2
//                                          LAYER_HALF, at frequencies 0 and n/2 of the last axis
//
// The second line makes the half spectrum exactly that of a real grid, so that the result does not
// depend on how a library's C2R transform treats other input. Tiles are those of layer_gather.
// Reads SCALE_FROM, SCALE_TO, REAL, LAYER_HALF.
#include "device/complex.cuh"
#include "device/launch_checks.cuh"
#include "layer/modes.cuh"
#include "params.cuh"

constexpr int SIDE = 32, STEP = 8;  // side of a tile; frequencies that the threads load at once
constexpr int THREADS = SIDE * STEP;

struct scatter_arguments {
    const SCALE_FROM *from;
    SCALE_TO *to;
    long long rows;  // rows of `to`
    long long row_tiles;
    long long column_tiles;  // tiles along the spectra; a divisor of gridDim.x
    layer_axes axes;
};
static_assert(layout_matches(sizeof(scatter_arguments)), "the arguments match the launcher's struct");

// The modes from which a frequency's value is computed (-1: none), and whether it is their average.
struct source {
    int here, opposite;
    bool averaged;
};

__device__ __forceinline__ source source_of(const layer_axes &axes, int index) {
    if (index >= axes.spectrum) return {-1, -1, false};
    const int line = index / axes.length, x = index - line * axes.length, z = line / axes.n[1],
              y = line - z * axes.n[1];
    const int here = mode_at(axes, z, y, x);
    if (!LAYER_HALF || !is_self_conjugate(axes, x)) return {here, -1, false};
    return {here, mode_at(axes, z ? axes.n[0] - z : 0, y ? axes.n[1] - y : 0, x), true};
}

__device__ __forceinline__ complex<REAL> mode_of(const scatter_arguments &a, int mode, long long row) {
    if (mode < 0) return {0, 0};
    return load_pair(a.from + 2 * (mode * a.rows + row));
}

__device__ __forceinline__ complex<REAL> value_of(const scatter_arguments &a, const source &s, long long row) {
    const complex<REAL> z = mode_of(a, s.here, row);
    return s.averaged ? REAL(0.5) * (z + conjugate(mode_of(a, s.opposite, row))) : z;
}

extern "C" __global__ void __launch_bounds__(THREADS) layer_scatter(const __grid_constant__ scatter_arguments a) {
    __shared__ complex<REAL> tile[SIDE][SIDE + 1];
    const long long tile_stride = gridDim.x / a.column_tiles, first = blockIdx.x / a.column_tiles;
    const int index0 = static_cast<int>(blockIdx.x - first * a.column_tiles) * SIDE, index = index0 + threadIdx.x;
    source from[SIDE / STEP];
#pragma unroll
    for (int i = 0; i < SIDE / STEP; i++) from[i] = source_of(a.axes, index0 + threadIdx.y + i * STEP);
    for (long long t = first; t < a.row_tiles; t += tile_stride) {
        const long long row0 = t * SIDE, row = row0 + threadIdx.x;
#pragma unroll
        for (int i = 0; i < SIDE / STEP; i++)
            if (row < a.rows) tile[threadIdx.x][threadIdx.y + i * STEP] = value_of(a, from[i], row);
        __syncthreads();
#pragma unroll
        for (int r = threadIdx.y; r < SIDE; r += STEP)
            if (index < a.axes.spectrum && row0 + r < a.rows)
                store_pair(a.to + 2 * ((row0 + r) * a.axes.spectrum + index), tile[r][threadIdx.x]);
        __syncthreads();
    }
}
