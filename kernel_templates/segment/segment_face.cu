// Adds the term of a fixed or constant side over f steps to a 2D grid with separable weights:
//
//     out(d, j) += sum over k < f of  (A^k e)(d) (B^k b)(j)
//
// A, B: one step across and along the side. e: 1 at d = 0, otherwise 0. b: the side's source, a
// line (segment_source.cu).
//
//              side |  d = 0  1 | 2  3 | ..        d: the depth, in points from the side. Two
//     segment 0  b  | re im | re im |              depths are the real and the imaginary part of
//     segment 1  b  |                              one convolution of b along the side
//
// At each frequency of B, the sum over k multiplies b by one number G(d). Two depths are computed
// at once: the transform of b is multiplied by a table of G(d) + i G(d + 1). G is real and even, so
// the real part of the inverse transform is the term at d, and its imaginary part that at d + 1;
// convolve returns the two parts swapped. A block computes segments at pairs of depths one after
// another; the outputs of a launch are disjoint.
#include "device/element.cuh"
#include "device/launch_checks.cuh"
#include "segment/extend.cuh"
#include "segment/fft_convolution.cuh"

struct face_arguments {
    const REAL *source;
    STORE *out;  // At the side's first point.
    const REAL *twiddle_table, *symbol;
    long long n;  // Points along the side.
    // Strides, in elements, along the side and from the side inwards.
    long long out_along, out_deep;
    long long source_batch, out_batch;  // Strides of grids.
    // Segments along the side; pairs of depths; the product of both and the number of grids.
    unsigned segments, pairs, all;
    int lead, useful;  // Points of a segment before its first output; outputs of a segment.
    int width;         // Number of depths.
};

static_assert(layout_matches(sizeof(face_arguments)), "face_header of segment/segment_boundary_source.c");
static_assert(shared_bytes_match(CELLS * sizeof(cell)), "make_face of segment/segment_boundary_source.c");

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) segment_face(const face_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    cell *const buffer = reinterpret_cast<cell *>(stn_shared);
#pragma unroll 1
    for (unsigned work = blockIdx.x; work < a.all; work += gridDim.x) {
        point x[16];
        int t = threadIdx.x;
        hide_from_optimizer(t);
        const unsigned deep = work % a.pairs, segment = work / a.pairs % a.segments, grid = work / a.pairs / a.segments;
        const long long start = static_cast<long long>(segment) * a.useful - a.lead;
        const REAL *const source = a.source + grid * a.source_batch;
#pragma unroll
        for (int i = 0; i < 16; i++) {
            const folded from = extend(start + point_of(t, i), a.n);
            const REAL value = from.index < 0 ? REAL(0) : source[from.index];
            x[i] = {from.minus ? -value : value, REAL(0)};
        }
        __syncthreads();  // The buffer is free.
        convolve(x, buffer, t, buffer, t, a.twiddle_table,
                 a.symbol + static_cast<long long>(deep) * (2 * SYMBOLS));  // For two depths.
        const unsigned count = static_cast<unsigned>(min(a.n - start - a.lead, static_cast<long long>(a.useful)));
        STORE *const out = a.out + grid * a.out_batch + 2LL * deep * a.out_deep + start * a.out_along;
        const bool both = static_cast<int>(2 * deep + 1) < a.width;
#pragma unroll
        for (int i = 0; i < 16; i++) {
            const int j = point_of(t, i);
            if (static_cast<unsigned>(j - a.lead) >= count) continue;
            STORE *const to = out + j * a.out_along;
            to[0] = narrow<STORE>(widen(to[0]) + x[i].im);
            if (both) to[a.out_deep] = narrow<STORE>(widen(to[a.out_deep]) + x[i].re);
        }
    }
}
