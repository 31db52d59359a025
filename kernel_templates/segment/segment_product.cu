// Any number of steps of a stencil along x in one pass over memory, by overlapping segments as segment_line.cu has them, whose transforms are
// products on tensor cores (FlashFFTStencil, product.cuh). A segment has N = N1 N2 N3 points, coprime, so that its circle is a torus:
//
//     point n  ->  (n mod N1, n mod N2, n mod N3)             frequency k = k1 N2 N3 + k2 N1 N3 + k3 N1 N2  mod N
//
// and a circular convolution is one along each axis: no twiddles, nothing is reordered. Neighbours of the line lie on a diagonal of the torus,
// which wraps at three places. Two neighbouring segments are the real and the imaginary part.
//
// Planes and solids whose taps are no products: segment_torus.cu. Measured beside the FFT words of segment_line.cu, products lose at
// every length: bench/results/2026-11-23-segment-forms.md.
#include "device/twins.cuh"
#include "segment/line.cuh"
#include "segment/product.cuh"

static_assert(N1 <= 16 && !PRODUCT_EVEN, "a segment's frequencies k and -k differ in all three factors");
static_assert(is_twin(sizeof(line_arguments), 2 * sizeof(REAL)), "line_header of segment/pass.c");
static_assert(is_given((4 * ROOM + TOPS) * sizeof(REAL)), "segment_shared of segment/shape.c");

__device__ __forceinline__ int cell_of(int n) { return n % N1 * PITCH + n % N2 + n % N3 * SLICE; }

// The cells of points n, n + THREADS, ..: each from the one before, without a division.
struct diagonal {
    int n1, n2, n3;
};
__device__ __forceinline__ diagonal diagonal_from(int n) { return {n % N1, n % N2, n % N3}; }
template <int N>
__device__ __forceinline__ void step(int &n) {
    n += THREADS % N;
    if (THREADS % N && n >= N) n -= N;
}
__device__ __forceinline__ int take_cell(diagonal &d) {
    const int cell = d.n1 * PITCH + d.n2 + d.n3 * SLICE;
    step<N1>(d.n1), step<N2>(d.n2), step<N3>(d.n3);
    return cell;
}

// ---- inputs

// A segment's inputs start on their way to its room, from where the line's extension has them; their sign is for later.
__device__ __forceinline__ void fetch_one(const line_arguments &a, const place &s, bool there, REAL *room, int t) {
#pragma unroll 1
    for (int n = t; n < LENGTH; n += THREADS) {
        const long long from = there ? extend(s.start + n, a.n).index : -1;
        if (from < 0)
            room[cell_of(n)] = REAL(0);
        else
            copy_element(room + cell_of(n), s.in + from);
    }
}
// Of a pair.
__device__ __forceinline__ void fetch(const line_arguments &a, unsigned segment, REAL *rooms, int t) {
    const bool there = segment < a.all, both = segment + 1 < a.all;
    const place first = find(a, there ? segment : 0, LENGTH), second = find(a, both ? segment + 1 : 0, LENGTH);
    if (both && inside(first, LENGTH) && inside(second, LENGTH)) {
        const STORE *const from = first.in + first.start + t, *const beside = second.in + second.start + t;
        keep_here(t);  // cells are found anew: kept through the run they take registers that matrices have
        diagonal d = diagonal_from(t);
#pragma unroll
        for (int n = 0; n < LENGTH; n += THREADS) {
            REAL *const to = rooms + take_cell(d);
            if (n + THREADS > LENGTH && n + t >= LENGTH) break;
            copy_element(to, from + n), copy_element(to + ROOM, beside + n);
        }
    } else {
        fetch_one(a, first, there, rooms, t), fetch_one(a, second, both, rooms + ROOM, t);
    }
    copy_async_commit();
}
// Past an odd side the line is minus its mirror image. A thread turns those inputs that it has fetched itself.
__device__ __forceinline__ void turn_signs(const line_arguments &a, unsigned segment, REAL *room, int t) {
    if (!(ODD_LOW || ODD_HIGH) || segment >= a.all) return;
    const place s = find(a, segment, LENGTH);
    if (inside(s, LENGTH)) return;
#pragma unroll 1
    for (int n = t; n < LENGTH; n += THREADS)
        if (extend(s.start + n, a.n).minus) room[cell_of(n)] = -room[cell_of(n)];
}

// ---- outputs

__device__ __forceinline__ REAL scaled(REAL value, REAL scale) { return SCALED ? value * scale : value; }
__device__ __forceinline__ int outputs_of(const line_arguments &a, const place &s) {
    return static_cast<int>(min(a.n - s.start - a.lead, static_cast<long long>(a.useful)));
}
__device__ __forceinline__ void give_one(const line_arguments &a, const place &s, const REAL *room, REAL scale, int t) {
    const int count = outputs_of(a, s);
    const sides at = find_sides(a, s, static_cast<unsigned>(count));
#pragma unroll 1
    for (int j = a.lead + t; j < a.lead + count; j += THREADS)
        s.out[s.start + j] = narrow<STORE>(with_sides(a, at, scaled(room[cell_of(j)], scale), j));
}
__device__ __forceinline__ bool sees_side(const line_arguments &a, const place &s) {
    const sides at = find_sides(a, s, static_cast<unsigned>(a.useful));
    return outputs_of(a, s) < a.useful || (PROFILES && (at.low || at.high));
}
// Of a pair.
__device__ __forceinline__ void give(const line_arguments &a, unsigned segment, const REAL *rooms, REAL scale, int t) {
    const bool both = segment + 1 < a.all;
    const place first = find(a, segment, LENGTH), second = find(a, both ? segment + 1 : 0, LENGTH);
    if (both && !sees_side(a, first) && !sees_side(a, second)) {
        STORE *to = first.out + first.start + a.lead + t, *beside = second.out + second.start + a.lead + t;
        diagonal d = diagonal_from(a.lead + t);
#pragma unroll 4
        for (int j = t; j < a.useful; j += THREADS, to += THREADS, beside += THREADS) {
            const REAL *const from = rooms + take_cell(d);
            *to = narrow<STORE>(scaled(from[0], scale)), *beside = narrow<STORE>(scaled(from[ROOM], scale));
        }
    } else {
        give_one(a, first, rooms, scale, t);
        if (both) give_one(a, second, rooms + ROOM, scale, t);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) segment_product(const line_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    REAL *const raw = reinterpret_cast<REAL *>(stn_shared), *const work = raw + 2 * ROOM;
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    unsigned segment = 2 * blockIdx.x;
    matrices f = find_matrices(a.roots, warp, lane);
    for (int i = t; i < 2 * ROOM; i += THREADS) raw[i] = REAL(0);  // what no point lies in stays 0
    __syncthreads();
    fetch(a, segment, raw, t);
#pragma unroll 1
    for (; segment < a.all; segment += 2 * gridDim.x) {
        copy_async_wait<0>();
        turn_signs(a, segment, raw, t), turn_signs(a, segment + 1, raw + ROOM, t);
        __syncthreads();  // all inputs have landed, and the last outputs are given
        const scales scale = find_scales(a.roots, raw, work + 2 * ROOM, t);
        forward(f, a.symbol, raw, work, lane, warp, scale.in);
        __syncthreads();
        fetch(a, segment + 2 * gridDim.x, raw, t);
        finish(f, a.symbol, work, lane, warp);
        give(a, segment, work, scale.out, t);
    }
}
