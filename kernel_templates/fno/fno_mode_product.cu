// A matrix product for each mode, on tensor cores: Fourier layers with one weight matrix per mode,
// and their gradients.
//
//     out[k][i][l] = scale * sum over j of  left[k][i][j] * right[k][j][l]
//
// k: mode, b: batch item, c: input channel, o: output channel, p: point; g: gradient of the layer's
// output. Z, G and S are spectra: of the input of the pass, of g, and of the result.
//
//                      left       right                  out
//     forward          Z[k][b,c]  weight[c,o,k]          S[k][b,o]
//     backward to x    Z[k][b,o]  conj weight[c,o,k]     S[k][b,c]
//     to weights       Z[k][b,c]  conj G[k][b,o]         conj gradient[c,o,k] (rows c, sum over b)
//     skip             x[b][p,c]  skip[c,o]              y[b][p,o]     (modes are batch items, rows
//                                                                      are points)
//     skip's gradient  x[b][c,p]  conj g[b][p,o]         conj gradient[b][c,o]  (sum over points;
//                                                                        then over b: fno_sum)
//
// FNO_POINTS: the data are real, and two adjacent points form one complex number. 1: the points are
// rows, and the weights are real. 2: the points are terms of the sum, of which only the real part
// is used.
//
// A block has FNO_TOGETHER modes that are contiguous in memory, so that weights are read by whole
// sectors; WARPS_M x WARPS_N warps work on each of them. Factors are double-buffered in shared
// memory, DEPTH terms of the sum at a time.
//
//     left  [mode][row][16]        right  [mode][16][column]
//
// Reads REAL, BLOCKS, FNO_TOGETHER, FNO_POINTS, FNO_ROWS_FAST, FNO_MODES_FAST, FNO_CONJUGATE_OUT
// and what fno/mode_product.cuh reads.
#include "device/launch_checks.cuh"
#include "fno/mode_product.cuh"

constexpr int DEPTH = 16, WARPS_EACH = WARPS_M * WARPS_N, THREADS = 32 * WARPS_EACH * FNO_TOGETHER;
// Complex numbers per mode.
constexpr int LEFT_VALUES = MODE_ROWS * tile_pitch(DEPTH), RIGHT_VALUES = DEPTH * WEIGHT_PITCH;
constexpr int STAGE = FNO_TOGETHER * (LEFT_VALUES + RIGHT_VALUES);
static_assert(!FNO_REAL, "modes are complex numbers");

struct modes_arguments {
    const FNO_FROM *left;
    const FNO_RIGHT *right;
    FNO_TO *out;
    // Strides in complex numbers, or in numbers with FNO_POINTS.
    long long left_mode, left_row, left_term;
    long long right_mode, right_term, right_column;
    long long out_mode, out_row, out_column;
    long long terms;  // of the sum
    int modes, rows, columns;
    int row_blocks, column_blocks, points;  // points: number of real points, with FNO_POINTS
    REAL scale;
};
static_assert(layout_matches(sizeof(modes_arguments), sizeof(REAL)), "the arguments match the launcher's struct");
static_assert(shared_bytes_match(2 * STAGE * sizeof(value)), "the launcher gives the shared memory that this takes");

struct corner {  // first element of a block
    int mode, row, column;
};

template <class FROM>
__device__ __forceinline__ void take_value(value *to, const FROM *from, bool there) {
    if (there)
        copy_value(to, from);
    else
        *to = {REAL(0), REAL(0)};
}
// Takes two real points of a row, at `from`. `points`: the row's points from there on.
template <class FROM>
__device__ __forceinline__ void take_points(value *to, const FROM *from, int points, bool there) {
    *to = {there && points > 0 ? load_number(from) : REAL(0), there && points > 1 ? load_number(from + 1) : REAL(0)};
}
struct triple {  // Coordinates of an index.
    int fast, middle, slow;
};
template <int FAST, int MIDDLE>
__device__ __forceinline__ constexpr triple triple_of(int i) {
    return {i % FAST, i / FAST % MIDDLE, i / (FAST * MIDDLE)};
}
constexpr bool is_power(int n) { return (n & (n - 1)) == 0; }
static_assert(is_power(THREADS) && is_power(MODE_ROWS) && is_power(COLUMNS) && is_power(FNO_TOGETHER),
              "coordinates of threads and of iterations share no bits");
// The threads share the indices 0 .. FAST * MIDDLE * SLOW - 1, and call take(mine, iteration) for
// each. All sizes are powers of two, so that the coordinates of the index are the sums of `mine`,
// which depends on the thread, and of `iteration`, which is a constant of the unrolled loop.
template <int FAST, int MIDDLE, int SLOW, class TAKE>
__device__ __forceinline__ void for_each_index(const TAKE &take) {
    constexpr int ALL = FAST * MIDDLE * SLOW;
    if (ALL < THREADS && static_cast<int>(threadIdx.x) >= ALL) return;
    const triple mine = triple_of<FAST, MIDDLE>(threadIdx.x);
#pragma unroll
    for (int i = 0; i < ALL; i += THREADS) take(mine, triple_of<FAST, MIDDLE>(i));
}

constexpr int LEFT_FAST = FNO_ROWS_FAST ? MODE_ROWS : DEPTH, LEFT_MIDDLE = FNO_ROWS_FAST ? DEPTH : MODE_ROWS;
__device__ __forceinline__ void load_left(const modes_arguments &a, const corner &at, long long j0, value *left) {
    constexpr int NUMBERS = FNO_POINTS ? 1 : 2;
    for_each_index<LEFT_FAST, LEFT_MIDDLE, FNO_TOGETHER>([&](const triple &mine, const triple &iteration) {
        const int row = FNO_ROWS_FAST ? mine.fast : mine.middle, term = FNO_ROWS_FAST ? mine.middle : mine.fast;
        const int row_step = FNO_ROWS_FAST ? iteration.fast : iteration.middle,
                  term_step = FNO_ROWS_FAST ? iteration.middle : iteration.fast;
        const int q = mine.slow + iteration.slow, r = row + row_step, j = term + term_step;
        const bool there = at.mode + q < a.modes && at.row + r < a.rows && j0 + j < a.terms;
        value *const to = left + q * LEFT_VALUES + tile_index(tile_pitch(DEPTH), r, j);
        const FNO_FROM *const first = a.left + NUMBERS * ((at.mode + mine.slow) * a.left_mode +
                                                          (at.row + row) * a.left_row + (j0 + term) * a.left_term);
        const FNO_FROM *const from =
            first + NUMBERS * (iteration.slow * a.left_mode + row_step * a.left_row + term_step * a.left_term);
        if (FNO_POINTS)
            take_points(to, from, a.points - 2 * static_cast<int>(FNO_POINTS == 1 ? at.row + r : j0 + j), there);
        else
            take_value(to, from, there);
    });
}
// Order of the right factor's coordinates: modes, columns, terms; or columns, terms, modes.
constexpr int RIGHT_FAST = FNO_MODES_FAST ? FNO_TOGETHER : COLUMNS, RIGHT_MIDDLE = FNO_MODES_FAST ? COLUMNS : DEPTH;
__device__ __forceinline__ triple right_of(const triple &t) {  // mode, term, column
    return FNO_MODES_FAST ? triple{t.fast, t.slow, t.middle} : triple{t.slow, t.middle, t.fast};
}
__device__ __forceinline__ void load_right(const modes_arguments &a, const corner &at, long long j0, value *right) {
    constexpr int NUMBERS = FNO_POINTS ? 1 : 2;
    for_each_index<RIGHT_FAST, RIGHT_MIDDLE, FNO_TOGETHER * DEPTH * COLUMNS / RIGHT_FAST / RIGHT_MIDDLE>(
        [&](const triple &thread, const triple &step) {
            const triple mine = right_of(thread), iteration = right_of(step);
            const int q = mine.fast + iteration.fast, j = mine.middle + iteration.middle,
                      l = mine.slow + iteration.slow;
            const bool there = at.mode + q < a.modes && at.column + l < a.columns && j0 + j < a.terms;
            value *const to = right + q * RIGHT_VALUES + j * WEIGHT_PITCH + l;
            const FNO_RIGHT *const first =
                a.right + NUMBERS * ((at.mode + mine.fast) * a.right_mode + (j0 + mine.middle) * a.right_term +
                                     (at.column + mine.slow) * a.right_column);
            const FNO_RIGHT *const from =
                first + NUMBERS * (iteration.fast * a.right_mode + iteration.middle * a.right_term +
                                   iteration.slow * a.right_column);
            if (FNO_POINTS == 1)
                *to = {there ? load_number(from) : REAL(0), REAL(0)};
            else if (FNO_POINTS == 2)
                take_points(to, from, a.points - 2 * static_cast<int>(j0 + j), there);
            else
                take_value(to, from, there);
        });
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    fno_mode_product(const __grid_constant__ modes_arguments a) {
    extern __shared__ __align__(128) unsigned char stn_shared[];
    value *const stages = reinterpret_cast<value *>(stn_shared);
    // mine: index of this warp's mode in the block
    const int warp = threadIdx.x / 32 % WARPS_EACH, mine = threadIdx.x / 32 / WARPS_EACH;
    const unsigned rest = blockIdx.x / a.column_blocks;
    const corner at = {static_cast<int>(rest / a.row_blocks) * FNO_TOGETHER,
                       static_cast<int>(rest % a.row_blocks) * MODE_ROWS,
                       static_cast<int>(blockIdx.x % a.column_blocks) * COLUMNS};
    const auto fetch = [&](long long j0, int slot) {
        if (j0 < a.terms) {
            load_left(a, at, j0, stages + slot * STAGE);
            load_right(a, at, j0, stages + slot * STAGE + FNO_TOGETHER * LEFT_VALUES);
        }
        copy_async_commit();
    };
    block_sums sum = {};
    fetch(0, 0);
    int slot = 0;
#pragma unroll 1
    for (long long j0 = 0; j0 < a.terms; j0 += DEPTH) {
        fetch(j0 + DEPTH, 1 - slot);
        copy_async_wait<1>();
        __syncthreads();
        value *const current = stages + slot * STAGE;
        multiply(sum, warp, current + mine * LEFT_VALUES, tile_pitch(DEPTH),
                 current + FNO_TOGETHER * LEFT_VALUES + mine * RIGHT_VALUES, DEPTH);
        __syncthreads();
        slot = 1 - slot;
    }
    if (at.mode + mine >= a.modes) return;
    FNO_TO *const out = a.out + (FNO_POINTS ? 1 : 2) * ((at.mode + mine) * a.out_mode);
    for_each_sum(sum, warp, [&](int row, int column, chunk both) {
#pragma unroll
        for (int h = 0; h < 2; h++) {
            if (at.row + row >= a.rows || at.column + column + h >= a.columns) continue;
            const value z = a.scale * both.of[h];
            const long long to = (at.row + row) * a.out_row + (at.column + column + h) * a.out_column;
            if (FNO_POINTS == 1) {
                store_number(out + to, z.re);
                if (2 * (at.row + row) + 1 < a.points) store_number(out + to + 1, z.im);
            } else if (FNO_POINTS == 2) {
                store_number(out + to, z.re);
            } else {
                store_value(out + 2 * to, FNO_CONJUGATE_OUT ? conjugate(z) : z);
            }
        }
    });
}
