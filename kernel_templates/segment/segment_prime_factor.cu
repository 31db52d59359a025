// Overlap-save convolution along x like segment_line.cu, but with dense DFTs on tensor cores
// (FlashFFTStencil, dense_convolution.cuh). A segment has N = N1 N2 N3 points with coprime factors;
// by the prime-factor algorithm its 1D DFT is a 3D DFT:
//
//     point n  ->  (n mod N1, n mod N2, n mod N3)
//     frequency k = k1 N2 N3 + k2 N1 N3 + k3 N1 N2  mod N
//
// A circular convolution of the segment is then a circular convolution of the 3D array along all
// three axes, without twiddle factors or reordering. Neighbours of the line lie on a diagonal of
// the array, which wraps along all three axes. Two neighbouring segments are the real and the
// imaginary part.
//
// The FFTs of segment_line.cu are faster at every length. This kernel is kept to be compared with
// them. For 2D and 3D grids of any taps see segment_dense_tile.cu.
#include "device/launch_checks.cuh"
#include "segment/dense_convolution.cuh"
#include "segment/line.cuh"

static_assert(N1 <= 16 && !DFT_REAL, "a segment's frequencies k and -k differ in all three factors");
static_assert(layout_matches(sizeof(line_arguments), 2 * sizeof(REAL)), "line_header of segment/overlap_save_pass.c");
static_assert(shared_bytes_match((4 * BUFFER + MAXIMA) * sizeof(REAL)), "segment_shared of segment/segment_shape.c");

__device__ __forceinline__ int cell_of(int n) { return row_at(n % N1) + n % N2 + n % N3 * SLICE; }

// The indices in shared memory of points n, n + THREADS, .. The step is a constant, so for each
// axis one comparison decides whether it wraps.
struct diagonal {
    int n1, n2, n3, at;  // at: index of the first one.
    template <int N>
    static __device__ __forceinline__ int step(int n, int by, int pitch) {
        const int far = by % N;
        return far ? far * pitch - (n >= N - far ? N * pitch : 0) : 0;
    }
    __device__ __forceinline__ int cell(int k) const {
        const int by = k * THREADS;
        return at + step<N1>(n1, by, PITCH) + step<N2>(n2, by, 1) + step<N3>(n3, by, SLICE);
    }
};
static_assert(!PERMUTED || THREADS % N1 == 0, "a thread's points lie in one row");
__device__ __forceinline__ diagonal diagonal_from(int n) { return {n % N1, n % N2, n % N3, cell_of(n)}; }
constexpr int OF_THREAD = (LENGTH + THREADS - 1) / THREADS;  // Most points of a segment per thread.

// Whether all inputs of a segment are points of the grid, unchanged.
__device__ __forceinline__ bool is_plain(const line_arguments &a, const segment_position &s) {
    return s.start >= (X_SIDE_LOW == FIXED) && s.start + LENGTH <= a.n - (X_SIDE_HIGH == FIXED);
}

// ---- inputs

// Starts copying a segment's inputs to its buffer, from their images in the line's extension. Signs
// are applied later.
__device__ __forceinline__ void fetch_one(const line_arguments &a, const segment_position &s, bool there, REAL *buffer,
                                          int t) {
#pragma unroll 1
    for (int n = t; n < LENGTH; n += THREADS) {
        const long long from = there ? extend(s.start + n, a.n).index : -1;
        if (from < 0)
            buffer[cell_of(n)] = REAL(0);
        else
            copy_element(buffer + cell_of(n), s.in + from);
    }
}
// Starts copying the inputs of a pair of segments.
__device__ __forceinline__ void fetch(const line_arguments &a, unsigned segment, REAL *buffers, int t) {
    const bool there = segment < a.all, both = segment + 1 < a.all;
    const segment_position first = find(a, there ? segment : 0, LENGTH),
                           second = find(a, both ? segment + 1 : 0, LENGTH);
    if (both && is_plain(a, first) && is_plain(a, second)) {
        const STORE *const from = first.in + first.start + t, *const of_second = second.in + second.start + t;
        // The indices are recomputed, because the matrices leave no registers to keep them.
        hide_from_optimizer(t);
        const diagonal d = diagonal_from(t);
#pragma unroll
        for (int k = 0; k < OF_THREAD; k++) {
            const int n = k * THREADS;
            if (n + THREADS > LENGTH && n + t >= LENGTH) break;
            REAL *const to = buffers + d.cell(k);
            copy_element(to, from + n), copy_element(to + BUFFER, of_second + n);
        }
    } else {
        fetch_one(a, first, there, buffers, t), fetch_one(a, second, both, buffers + BUFFER, t);
    }
    copy_async_commit();
}
// Past an odd side the line is its negated mirror image. A thread negates the inputs that it copied
// itself.
__device__ __forceinline__ void negate_images(const line_arguments &a, unsigned segment, REAL *buffer, int t) {
    if (!(ODD_LOW || ODD_HIGH) || segment >= a.all) return;
    const segment_position s = find(a, segment, LENGTH);
    if (is_plain(a, s)) return;
#pragma unroll 1
    for (int n = t; n < LENGTH; n += THREADS)
        if (extend(s.start + n, a.n).minus) buffer[cell_of(n)] = -buffer[cell_of(n)];
}

// ---- outputs

// Points of either segment that a thread reads before it writes any.
constexpr int POINTS_AT_ONCE = 8;

__device__ __forceinline__ REAL scaled(REAL value, REAL scale) { return SCALED ? value * scale : value; }
__device__ __forceinline__ int outputs_of(const line_arguments &a, const segment_position &s) {
    return static_cast<int>(min(a.n - s.start - a.lead, static_cast<long long>(a.useful)));
}
__device__ __forceinline__ void store_one(const line_arguments &a, const segment_position &s, const REAL *buffer,
                                          REAL scale, int t) {
    const int count = outputs_of(a, s);
    const sides at = find_sides(a, s, static_cast<unsigned>(count));
#pragma unroll 1
    for (int j = a.lead + t; j < a.lead + count; j += THREADS)
        s.out[s.start + j] = narrow<STORE>(with_sides(a, at, scaled(buffer[cell_of(j)], scale), j));
}
__device__ __forceinline__ bool sees_side(const line_arguments &a, const segment_position &s) {
    const sides at = find_sides(a, s, static_cast<unsigned>(a.useful));
    return outputs_of(a, s) < a.useful || (PROFILES && (at.low || at.high));
}
// Stores the outputs of a pair of segments.
__device__ __forceinline__ void store_outputs(const line_arguments &a, unsigned segment, const REAL *buffers,
                                              REAL scale, int t) {
    const bool both = segment + 1 < a.all;
    const segment_position first = find(a, segment, LENGTH), second = find(a, both ? segment + 1 : 0, LENGTH);
    if (both && !sees_side(a, first) && !sees_side(a, second)) {
        hide_from_optimizer(t);
        STORE *const to = first.out + first.start + a.lead + t, *const of_second =
                                                                    second.out + second.start + a.lead + t;
        const diagonal d = diagonal_from(a.lead + t);
        // POINTS_AT_ONCE points are read before any is written, to overlap the loads' latency.
        const volatile REAL *const from = buffers;
#pragma unroll
        for (int all = 0; all < OF_THREAD; all += POINTS_AT_ONCE) {
            REAL values[POINTS_AT_ONCE][2];
#pragma unroll
            for (int k = all; k < all + POINTS_AT_ONCE && k < OF_THREAD; k++)
                values[k - all][0] = from[d.cell(k)], values[k - all][1] = from[d.cell(k) + BUFFER];
#pragma unroll
            for (int k = all; k < all + POINTS_AT_ONCE && k < OF_THREAD; k++) {
                const int j = k * THREADS;
                if (j + t < a.useful) to[j] = narrow<STORE>(scaled(values[k - all][0], scale));
                if (j + t < a.useful) of_second[j] = narrow<STORE>(scaled(values[k - all][1], scale));
            }
        }
    } else {
        store_one(a, first, buffers, scale, t);
        if (both) store_one(a, second, buffers + BUFFER, scale, t);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) segment_prime_factor(const line_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    REAL *const raw = reinterpret_cast<REAL *>(stn_shared), *const work = raw + 2 * BUFFER;
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    unsigned segment = 2 * blockIdx.x;
    matrices f = find_matrices(a.twiddle_table, warp, lane);
    tile held[BLOCKS_2];
    for (int i = t; i < 2 * BUFFER; i += THREADS) raw[i] = REAL(0);  // Padding stays 0.
    wait_for_all();
    fetch(a, segment, raw, t);
#pragma unroll 1
    for (; segment < a.all; segment += 2 * gridDim.x) {
        copy_async_wait<0>();
        negate_images(a, segment, raw, t), negate_images(a, segment + 1, raw + BUFFER, t);
        wait_for_all();  // All inputs have arrived, and the last outputs are written.
        const scales scale = find_scales(a.twiddle_table, raw, work + 2 * BUFFER, t);
        forward(f, a.symbol, raw, work, held, lane, warp, scale.in);
        wait_for_all();
        fetch(a, segment + 2 * gridDim.x, raw, t);
        finish(f, a.symbol, work, held, lane, warp);
        store_outputs(a, segment, work, scale.out, t);
    }
}
