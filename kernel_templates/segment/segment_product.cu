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

// ---- inputs

// A segment's inputs start on their way to its room, from where the line's extension has them; their sign is for later.
__device__ __forceinline__ void fetch(const line_arguments &a, unsigned segment, REAL *room, int t) {
    const bool there = segment < a.all;
    const place s = find(a, there ? segment : 0, LENGTH);
    if (there && inside(s, LENGTH)) {
#pragma unroll 4
        for (int n = t; n < LENGTH; n += THREADS) copy_element(room + cell_of(n), s.in + s.start + n);
    } else {
#pragma unroll 1
        for (int n = t; n < LENGTH; n += THREADS) {
            const long long from = there ? extend(s.start + n, a.n).index : -1;
            if (from < 0)
                room[cell_of(n)] = REAL(0);
            else
                copy_element(room + cell_of(n), s.in + from);
        }
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

template <bool SIDES>
__device__ __forceinline__ void give_to(const line_arguments &a, STORE *to, int count, const sides &at,
                                        const REAL *room, REAL scale, int t) {
#pragma unroll 4
    for (int j = a.lead + t; j < a.lead + count; j += THREADS) {
        const REAL value = SCALED ? room[cell_of(j)] * scale : room[cell_of(j)];
        to[j] = narrow<STORE>(SIDES ? with_sides(a, at, value, j) : value);
    }
}
__device__ __forceinline__ void give(const line_arguments &a, unsigned segment, const REAL *room, REAL scale, int t) {
    if (segment >= a.all) return;
    const place s = find(a, segment, LENGTH);
    const int count = static_cast<int>(min(a.n - s.start - a.lead, static_cast<long long>(a.useful)));
    const sides at = find_sides(a, s, static_cast<unsigned>(count));
    if (PROFILES && (at.low || at.high))
        give_to<true>(a, s.out + s.start, count, at, room, scale, t);
    else
        give_to<false>(a, s.out + s.start, count, at, room, scale, t);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) segment_product(const line_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    REAL *const raw = reinterpret_cast<REAL *>(stn_shared), *const work = raw + 2 * ROOM;
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    unsigned segment = 2 * blockIdx.x;
    matrices f = find_matrices(a.roots, warp, lane);
    for (int i = t; i < 2 * ROOM; i += THREADS) raw[i] = REAL(0);  // what no point lies in stays 0
    __syncthreads();
    fetch(a, segment, raw, t), fetch(a, segment + 1, raw + ROOM, t);
#pragma unroll 1
    for (; segment < a.all; segment += 2 * gridDim.x) {
        copy_async_wait<0>();
        turn_signs(a, segment, raw, t), turn_signs(a, segment + 1, raw + ROOM, t);
        __syncthreads();  // all inputs have landed, and the last outputs are given
        const scales scale = find_scales(a.roots, raw, work + 2 * ROOM, t);
        forward(f, a.symbol, raw, work, lane, warp, scale.in);
        __syncthreads();
        fetch(a, segment + 2 * gridDim.x, raw, t), fetch(a, segment + 2 * gridDim.x + 1, raw + ROOM, t);
        finish(f, a.symbol, work, lane, warp);
        give(a, segment, work, scale.out, t), give(a, segment + 1, work + ROOM, scale.out, t);
    }
}
