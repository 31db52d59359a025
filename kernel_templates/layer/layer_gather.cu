// Gathers the retained modes of a layer's spectra into one matrix per mode, the operands of a
// batched matrix product.
//
//     to[m][r] = c(m) * from[r][index of mode m]         r: a row, the spectrum of one channel of
//                                                        one batch item
//                                                        LAYER_CONJUGATE: conjugated
//
//     from  row r0 |. m0 m1 m2 . . . .|      to  mode m0 |r0 r1 r2 ..|
//           row r1 |. m0 m1 m2 . . . .|          mode m1 |r0 r1 r2 ..|
//
// Tiles of 32 rows x 32 modes are transposed in shared memory, so that both sides are coalesced. A
// block keeps its modes for all its tiles and computes their indices once.
//
// c(m) is 1; with LAYER_DOUBLED it is 2 for frequencies of the half spectrum whose mirror image is
// not stored. Weights [channel pairs][modes] are gathered by the same kernel, with all modes
// retained. Reads SCALE_FROM, SCALE_TO, REAL, LAYER_DOUBLED, LAYER_CONJUGATE.
#include "device/complex.cuh"
#include "device/launch_checks.cuh"
#include "layer/modes.cuh"
#include "params.cuh"

constexpr int SIDE = 32, STEP = 8;  // side of a tile; rows that the threads load at once
constexpr int THREADS = SIDE * STEP;

struct gather_arguments {
    const SCALE_FROM *from;
    SCALE_TO *to;
    long long rows;  // rows of `from`
    long long row_tiles;
    long long column_tiles;  // tiles along the modes; a divisor of gridDim.x
    layer_axes axes;
};
static_assert(layout_matches(sizeof(gather_arguments)), "the arguments match the launcher's struct");

extern "C" __global__ void __launch_bounds__(THREADS) layer_gather(const __grid_constant__ gather_arguments a) {
    __shared__ complex<REAL> tile[SIDE][SIDE + 1];
    const long long tile_stride = gridDim.x / a.column_tiles, first = blockIdx.x / a.column_tiles;
    const int mode0 = static_cast<int>(blockIdx.x - first * a.column_tiles) * SIDE, mode = mode0 + threadIdx.x;
    const bool kept = mode < a.axes.kept;
    const int index = kept ? index_of(a.axes, mode) : 0;
    const REAL factor = LAYER_DOUBLED && !is_self_conjugate(a.axes, index % a.axes.length) ? 2 : 1;
    for (long long i = first; i < a.row_tiles; i += tile_stride) {
        const long long row0 = i * SIDE, row = row0 + threadIdx.x;
#pragma unroll
        for (int r = threadIdx.y; r < SIDE; r += STEP) {
            if (!kept || row0 + r >= a.rows) continue;
            const complex<REAL> z = factor * load_pair(a.from + 2 * ((row0 + r) * a.axes.spectrum + index));
            tile[r][threadIdx.x] = LAYER_CONJUGATE ? conjugate(z) : z;
        }
        __syncthreads();
#pragma unroll
        for (int m = threadIdx.y; m < SIDE; m += STEP)
            if (mode0 + m < a.axes.kept && row < a.rows)
                store_pair(a.to + 2 * ((mode0 + m) * a.rows + row), tile[threadIdx.x][m]);
        __syncthreads();
    }
}
