// Overlap-save convolution of 2D grids by FFT tiles: any number of steps of a stencil of any
// weights in one pass over memory. Overlapping tiles are transformed as periodic domains in the
// shared memory of one block, or of the SHARES blocks of a cluster:
//
//     out = inverse FFT of (FFT of in, times K^f)      K: the symbol of the taps
//                                                      f: the number of steps
//
//     tile    |<-- 2 N = 16 A ------>|      T R rows of N complex points: the even and the odd ones
//             |  . . . . . . . . .   |      of 2 N real points. The first LEAD rows and columns are
//     T R     |  . outputs       .   |      not outputs, nor are the last ones within the reach of
//             |  . . . . . . . . .   |      f steps
//
//     rows, forward      radix A from global to shared memory, radix 8 in place: element 8 d + e
//                        of a row has frequency d + A e
//     columns, forward   radix T in place, radix R to registers: frequency t + T r
//     symbol             combines frequency k with -k, which is in the lane 16 further (mix)
//     columns, rows      the inverse, in reverse order
//
// The pitch of rows is odd, so lanes on neighbouring rows, or on neighbouring elements, have no
// bank conflicts. Tiles of a plane are numbered along x first. A block has one tile; other blocks
// of the multiprocessor compute while it loads.
//
// The rows of a tile are q + R r with q < R and r < T. A block of a cluster has the rows of
// EACH = R / SHARES values of q, and thus whole butterflies of radix T. Only the last stage of
// columns needs rows of other blocks: for each frequency t of the first stage, it transforms the
// points of all q.
//
//     block 0   q = 0, 1 | 2, 3 = block 1          R = 4, SHARES = 2, T rows each
//               t = 0  x x | x x                   read from all blocks, and written back in
//               t = 1  x x | x x                   place: no transposition, and two cluster
//                                                  barriers suffice, before and after this stage
//
// Its butterflies are distributed over the blocks in groups of sixteen. (SHARES - 1) / SHARES of
// the tile go from block to block, twice.
//
// Reads STORE, REAL, VECTOR, BLOCKS, THREADS_X, X_SIDE_*, Y_SIDE_*, SYMBOL_REAL and TILE_A, TILE_T,
// TILE_R, TILE_SHARES.
#include "device/boundary.cuh"
#include "device/launch_checks.cuh"
#include "device/shared_fft.cuh"
#include "params.cuh"

using value = complex<REAL>;
constexpr int A = TILE_A, T = TILE_T, R = TILE_R, THREADS = THREADS_X, SHARES = TILE_SHARES;
constexpr int N = 8 * A, HEIGHT = T * R, PITCH = N + 1;
constexpr int EACH = R / SHARES, OWN = T * EACH;  // OWN: rows of a block.
// GROUPS: groups of 8 columns, of which two mirrored ones count once. UNITS: the columns in them.
constexpr int GROUPS = A / 2 + 1, UNITS = 8 * GROUPS;
static_assert(T % 2 == 0 && R % 2 == 0 && THREADS % 32 == 0,
              "a frequency and its mirror image are in different lanes and registers");
static_assert(R % SHARES == 0, "each block has whole butterflies of radix T");

struct row_line {
    static constexpr int N = ::N, STAGES = 2, THREADS = THREADS_X, LINES = 1, PAD = 0, TABLE = 1024, SHARES = 1;
    static constexpr __host__ __device__ int radix(int s) { return s ? 8 : A; }
};
struct column_line {
    static constexpr int N = HEIGHT, STAGES = 2, THREADS = THREADS_X, LINES = PITCH, PAD = 0, TABLE = 1024, SHARES = 1;
    static constexpr __host__ __device__ int radix(int s) { return s ? R : T; }
};
struct block_line {  // The part of a column that a block has.
    static constexpr int N = OWN, STAGES = 2, THREADS = THREADS_X, LINES = PITCH, PAD = 0, TABLE = 1024, SHARES = 1;
    static constexpr __host__ __device__ int radix(int s) { return s ? EACH : T; }
};

struct tile_arguments {
    const STORE *in;
    STORE *out;
    const REAL *row_twiddles, *column_twiddles;  // Twiddle factors of the FFT stages.
    const REAL *half_angles;                     // Sine and cosine of pi k / N, by unit.
    // Half the sums and differences of K^f at k and k + N, [row][unit]; without SYMBOL_REAL all
    // sums, then all differences.
    const REAL *symbol;
    long long ny, nx;
    long long in_far[3], out_far[3];  // Strides of rows, planes and grids, in elements.
    unsigned tiles_x, tiles_y, planes;
    int lead_y, lead_x, useful_y, useful_x, padding;
};

static_assert(layout_matches(sizeof(tile_arguments)), "tile_header of segment/fft_tile.c");
static_assert(shared_bytes_match(OWN * PITCH * sizeof(value)), "segment_fft_tile_shared of segment/fft_tile_search.c");

struct tile_position {
    const STORE *in;  // The plane.
    STORE *out;
    long long y, x;  // Of the tile's first input.
    // Columns of the tile: all inside the grid, or less than nx points outside.
    bool inside, near;
    int rank;  // Of the block in its cluster.
};
__device__ __forceinline__ tile_position find(const tile_arguments &a) {
    const unsigned tile = blockIdx.x / SHARES, row = tile / a.tiles_x, plane = row / a.tiles_y, grid = plane / a.planes;
    const long long y = static_cast<long long>(row - plane * a.tiles_y) * a.useful_y - a.lead_y,
                    x = static_cast<long long>(tile - row * a.tiles_x) * a.useful_x - a.lead_x;
    const unsigned z = plane - grid * a.planes;
    const bool near = x > -a.nx && x + 2 * N < 2 * a.nx && a.nx < (1 << 30);
    return {a.in + z * a.in_far[1] + grid * a.in_far[2],
            a.out + z * a.out_far[1] + grid * a.out_far[2],
            y,
            x,
            x >= 0 && x + 2 * N <= a.nx,
            near,
            SHARES > 1 ? static_cast<int>(cluster_rank()) : 0};
}
// The row of the tile that is row i of this block.
__device__ __forceinline__ int row_of(const tile_position &s, int i) {
    return SHARES > 1 ? i / EACH * R + s.rank * EACH + i % EACH : i;
}
// Barrier of all blocks that share the tile.
__device__ __forceinline__ void wait_for_tile() {
    if (SHARES > 1)
        cluster_barrier();
    else
        __syncthreads();
}

// ---- rows
// Loads the points of butterfly j of the first stage from a row of the grid. Points past a side are
// folded.
__device__ __forceinline__ void load_points(const tile_arguments &a, const tile_position &s, const STORE *row, int j,
                                            value (&x)[A]) {
    if (s.inside) {
        const STORE *const first = row + s.x + 2 * j;
#pragma unroll
        for (int r = 0; r < A; r++)
            x[r] = VECTOR > 1 ? load_pair(first + 16 * r) : value{widen(first[16 * r]), widen(first[16 * r + 1])};
    } else if (s.near) {
        const int nx = static_cast<int>(a.nx), first = static_cast<int>(s.x) + 2 * j;
        const auto at = [&](int i) { return widen(row[fold_near<X_SIDE_LOW, X_SIDE_HIGH>(i, nx)]); };
#pragma unroll
        for (int r = 0; r < A; r++) x[r] = {at(first + 16 * r), at(first + 16 * r + 1)};
    } else {
        const auto at = [&](long long i) { return widen(row[fold_far<X_SIDE_LOW, X_SIDE_HIGH>(i, a.nx)]); };
        const long long first = s.x + 2 * j;
        fill_in_loop(x, [&](int r) { return value{at(first + 16 * r), at(first + 16 * r + 1)}; });
    }
}
// The first stage of all rows.
__device__ __forceinline__ void load_rows(const tile_arguments &a, const tile_position &s, value *tile) {
#pragma unroll 1
    for (int i = threadIdx.x; i < 8 * OWN; i += THREADS) {
        const int y = row_of(s, i / 8), j = i % 8;
        value x[A];
        load_points(a, s, s.in + fold_far<Y_SIDE_LOW, Y_SIDE_HIGH>(s.y + y, a.ny) * a.in_far[0], j, x);
        forward_butterfly<row_line, 0>(x, tile + i / 8 * PITCH, j, a.row_twiddles);
    }
    __syncthreads();
}
// The second stage, the same forward and inverse, as it has no twiddle factors. Neighbouring lanes
// have neighbouring rows.
__device__ __forceinline__ void transform_rows(value *tile) {
#pragma unroll 1
    for (int i = threadIdx.x; i < A * OWN; i += THREADS) {
        value *const row = tile + i % OWN * PITCH;
        const int first = fft_stage<row_line, 1>::first(i / OWN);
        value x[8];
        load_butterfly<row_line, 1>(x, row, first);
        dft<8>(x);
        store_butterfly<row_line, 1>(x, row, first);
    }
    __syncthreads();
}
__device__ __forceinline__ void store_rows(const tile_arguments &a, const tile_position &s, value *tile) {
    const unsigned rows = static_cast<unsigned>(min(static_cast<long long>(a.useful_y), a.ny - s.y - a.lead_y)),
                   columns = static_cast<unsigned>(min(static_cast<long long>(a.useful_x), a.nx - s.x - a.lead_x));
#pragma unroll 1
    for (int i = threadIdx.x; i < 8 * OWN; i += THREADS) {
        const int y = row_of(s, i / 8), j = i % 8;
        if (static_cast<unsigned>(y - a.lead_y) >= rows) continue;
        STORE *const row = s.out + (s.y + y) * a.out_far[0] + s.x;
        value x[A];
        inverse_butterfly<row_line, 0>(x, tile + i / 8 * PITCH, j, a.row_twiddles);
#pragma unroll
        for (int r = 0; r < A; r++) {
            const int at = 2 * (j + 8 * r);
            const bool even = static_cast<unsigned>(at - a.lead_x) < columns,
                       odd = static_cast<unsigned>(at + 1 - a.lead_x) < columns;
            if (VECTOR > 1 && even && odd)
                store_pair(row + at, swapped(x[r]));
            else {
                if (even) row[at] = narrow<STORE>(x[r].im);
                if (odd) row[at + 1] = narrow<STORE>(x[r].re);
            }
        }
    }
}

// ---- columns
template <bool BACK>
__device__ __forceinline__ void transform_columns(const tile_arguments &a, const tile_position &s, value *tile) {
#pragma unroll 1
    for (int i = threadIdx.x; i < N * EACH; i += THREADS) {
        value *const column = tile + i % N;
        const int first = i / N, q = s.rank * EACH + first;
        value x[T];
        load_butterfly<block_line, 0>(x, column, first);
        if (BACK) apply_twiddles<column_line, 0>(x, q, a.column_twiddles);
        dft<T>(x);
        if (!BACK) apply_twiddles<column_line, 0>(x, q, a.column_twiddles);
        store_butterfly<block_line, 0>(x, column, first);
    }
}

// Frequency k of the complex transform Z, and -k of the other lane, make up frequencies k and k + N
// of the real points. With s and d half the sum and half the difference of K^f at these, and t = pi
// k / N along x:
//
//     Z'[k]  = (s - d sin t) Z[k] + i d cos t conj(Z[-k])
//     Z'[-k] = conj(s + d sin t) Z[-k] + i conj(d) cos t conj(Z[k])
//
// -k is in the lane 16 further, which has the mirrored column. If this lane has frequency t + T r
// along y, the other one has T - t + T (R - 1 - r), or T (R - r) if t = 0.
__device__ __forceinline__ value shuffled(value z) {
    const int lane = threadIdx.x % 32 ^ 16;
    return {__shfl_sync(~0u, z.re, lane), __shfl_sync(~0u, z.im, lane)};
}
struct mixing {
    const REAL *symbol;  // Entry of this unit and row t; the same for both lanes of a pair.
    REAL sine, cosine;   // sine: negated in the second lane.
    bool second;
};
__device__ __forceinline__ value mixed(const mixing &m, int row, value own, value other) {
    const REAL *const at = m.symbol + static_cast<long long>(row) * UNITS * 2;
    const value first = load_pair(at);
    if (SYMBOL_REAL) return swapped((first.re - m.sine * first.im) * own + (m.cosine * first.im) * swapped(other));
    value d = load_pair(at + 2 * HEIGHT * UNITS), even = first - m.sine * d;
    if (m.second) d = conjugate(d), even = conjugate(even);
    return swapped(even * own + (m.cosine * d) * swapped(other));
}
__device__ __forceinline__ void mix(value (&x)[R], int t, const mixing &m) {
    const bool zero = t == 0;
    const int step = m.second ? -T : T, from = !m.second ? 0 : zero ? HEIGHT : HEIGHT - T;
    const auto row = [&](int r) {  // As counted by the first lane of the pair.
        const int at = from + step * r;
        return at == HEIGHT ? 0 : at;
    };
    value before = x[0];
#pragma unroll
    for (int r = 0; r < R / 2; r++) {
        const int s = R - 1 - r;
        const value low = shuffled(zero ? before : x[s]), high = shuffled(zero ? x[r + 1] : x[r]);
        before = x[s];
        x[r] = mixed(m, row(r), x[r], low), x[s] = mixed(m, row(s), x[s], high);
    }
}
// Points of frequency t of a column for the last stage: point q is in block q / EACH.
__device__ __forceinline__ void load_last_stage(value (&x)[R], const value *column, int t) {
    if constexpr (SHARES == 1)
        load_butterfly<column_line, 1>(x, column, t * R);
    else
#pragma unroll
        for (int q = 0; q < R; q++) {
            words_of<REAL> words;
            const value *const from = column + (t * EACH + q % EACH) * PITCH;
            cluster_load(words.word, reinterpret_cast<const unsigned *>(from), q / EACH);
            x[q] = from_words<REAL>(words.word);
        }
}
__device__ __forceinline__ void store_last_stage(const value (&x)[R], value *column, int t) {
    if constexpr (SHARES == 1)
        store_butterfly<column_line, 1>(x, column, t * R);
    else
#pragma unroll
        for (int q = 0; q < R; q++) {
            words_of<REAL> words;
            to_words(x[q], words.word);
            value *const to = column + (t * EACH + q % EACH) * PITCH;
            cluster_store(reinterpret_cast<unsigned *>(to), words.word, q / EACH);
        }
}
// The last stage of all columns and the first of the inverse, in groups of sixteen. A warp's first
// 16 lanes have columns of two groups, the others their mirror images.
__device__ __forceinline__ void convolve_columns(const tile_arguments &a, const tile_position &s, value *tile) {
    static_assert(T * UNITS % 16 == 0, "whole sixteens");
    const bool second = threadIdx.x % 32 >= 16;
    const int step = THREADS / 32 * SHARES;
#pragma unroll 1
    for (int group_of_16 = threadIdx.x / 32 * SHARES + s.rank; group_of_16 < T * UNITS / 16; group_of_16 += step) {
        const int i = 16 * group_of_16 + threadIdx.x % 16, unit = i % UNITS, t = i / UNITS, d = unit / 8, e = unit % 8;
        const bool middle = 2 * d == A, self_mirrored = d == 0 || middle;
        // The mirrored column is in group A - d.
        const int mirror_e = d == 0 ? (8 - e) % 8 : 7 - e;
        const bool same_rows = t == 0 || 2 * t == T, active = !self_mirrored || (same_rows ? e <= mirror_e : 2 * t < T);
        const bool writes = active && !(second && self_mirrored && same_rows && e == mirror_e);
        const int group = second ? (A - d) % A : d, column = 8 * group + (second ? mirror_e : e);
        const int own = second ? (T - t) % T : t;
        value *const line = tile + column;
        const value half_angle = load_pair(a.half_angles + 2 * unit);
        value x[R] = {};
        if (active) load_last_stage(x, line, own);
        dft<R>(x);
        mix(x, t, {a.symbol + 2 * (t * UNITS + unit), second ? -half_angle.re : half_angle.re, half_angle.im, second});
        dft<R>(x);
        __syncwarp();  // A column that is its own mirror image is read twice.
        if (writes) store_last_stage(x, line, own);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    segment_fft_tile(const __grid_constant__ tile_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    value *const tile = reinterpret_cast<value *>(stn_shared);
    const tile_position s = find(a);
    load_rows(a, s, tile);
    transform_rows(tile);
    transform_columns<false>(a, s, tile);
    wait_for_tile();
    convolve_columns(a, s, tile);
    // No block accesses another's memory after this, so each may exit at any time.
    wait_for_tile();
    transform_columns<true>(a, s, tile);
    __syncthreads();
    transform_rows(tile);
    store_rows(a, s, tile);
}
