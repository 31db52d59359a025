// Any number of steps of a stencil along x in one pass over memory, by overlapping segments as segment_line.cu has them, whose transforms are
// products on tensor cores (FlashFFTStencil). A segment has N = N1 N2 N3 points, coprime, so that its circle is a torus:
//
//     point n  ->  (n mod N1, n mod N2, n mod N3)             frequency k = k1 N2 N3 + k2 N1 N3 + k3 N1 N2  mod N
//
// and a circular convolution is one along each axis: no twiddles, nothing is reordered. F_i: the transform of N_i points, a dense matrix.
//
//                 n2 ->              a slice n3: 16 rows of PITCH cells, of which N1 x N2 are points. Neighbours of the line lie on its
//     n1  | 0 .  .  .                diagonal, which wraps at three places; slices lie SLICE_GAP further apart, so that half a warp
//      |  | .  1  .  .               of them meets once in a bank, not more. The four rows by four columns that it reads for a
//      v  | .  .  2  .               fragment, or writes, do not meet.
//
//     a warp, a slice       (F1 X) F2     left factor F1, then right factor F2: an accumulator is the next product's left factor
//     a warp, 16 (k1, k2)   ((Y F3) K^f) F3      both ways in registers
//     a warp, a slice       (F1 Z) F2     back
//
// f64 by products of f64, in fragments of PRODUCT_ROWS x 8 x PRODUCT_DEPTH; f32 and f16 by three of tf32, of the upper and the lower 11 bits of either
// factor (3xTF32).
//
// N3 = 1: a warp has all of it, ((F1 X) F2 K^f) F2, and after one exchange F1 Z. An inverse transform is a forward one between two swaps of re and
// im. Two neighbouring segments are the real and the imaginary part, for the taps are real. Rows and columns past N_i are 0 in F_i.
//
// Lines alone are served. A plane's tile is such a torus as it stands, (F1 X) F2 of its rows and columns, but it overlaps on four sides:
// 100 steps of heat-2d reach 40 points, so a tile would be 128 x 128 to leave 48 x 48, and that is 256 KB. Taps that are products take a pass
// an axis, whose transforms are the same and whose overlaps are an axis's own; the FFT words have those (segment_columns.cu), at
// 77 operations a point where these products take 273 and more. Other taps take the tori of spectral. Measured beside the FFT words, products
// lose at every length: bench/results/2026-11-23-segment-forms.md.
#include "device/complex.cuh"
#include "device/fragment.cuh"
#include "device/twins.cuh"
#include "segment/line.cuh"

constexpr int N1 = PRODUCT_1, N2 = PRODUCT_2, N3 = PRODUCT_3, LENGTH = N1 * N2 * N3, THREADS = 32 * WARPS;
constexpr int BLOCKS_1 = (N1 + 7) / 8, BLOCKS_2 = (N2 + 7) / 8, BLOCKS_3 = (N3 + 7) / 8;  // of 8
constexpr int PITCH = 8 * BLOCKS_2 + 4, SLICE = 16 * PITCH + SLICE_GAP, ROOM = N3 * SLICE;
constexpr int STACKS = BLOCKS_2 == 2 ? N1 : (N1 + 1) / 2;  // of 16 pairs (k1, k2)
constexpr int RUN = 64;                                    // numbers of a warp's access, two a lane
constexpr int OPERAND_2 = BLOCKS_1 * 4 * RUN, OPERAND_3 = OPERAND_2 + BLOCKS_2 * BLOCKS_2 * 2 * RUN;
static_assert(N1 <= 16 && N2 <= 16 && N3 <= 16, "a factor is a row of fragments");
static_assert(N3 > 1 || WARPS == 1, "a warp has a segment, or a block");
static_assert(is_twin(sizeof(line_arguments), 2 * sizeof(REAL)), "line_header of segment/pass.c");
static_assert(is_given(4 * ROOM * sizeof(REAL)), "segment_shared of segment/shape.c");

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

// ---- transforms

struct tile {  // an accumulator: (g, 2t) (g, 2t+1) (g+8, 2t) (g+8, 2t+1)
    REAL re[4], im[4];
};
__device__ __forceinline__ void multiply(double (&c)[4], const double (&a)[4], const double (&b)[2]) {
    const double first[2] = {a[0], a[1]}, second[2] = {a[2], a[3]};
    if (PRODUCT_DEPTH == 8)
        product(c, a, b);
    else if (PRODUCT_ROWS == 16)
        product(c, first, b[0]), product(c, second, b[1]);
    else
        product_of_eights(c, a, b);
}
// The lower part is rounded too: cut off, it would all err one way.
__device__ __forceinline__ void split(float value, unsigned &high, unsigned &low) {
    high = tf32_part<0, 2>(value), low = float_to_tf32(value - __uint_as_float(high));
}
__device__ __forceinline__ void multiply(float (&c)[4], const float (&a)[4], const float (&b)[2]) {
    unsigned high[4], low[4], high_b[2], low_b[2];
#pragma unroll
    for (int e = 0; e < 4; e++) split(a[e], high[e], low[e]);
#pragma unroll
    for (int e = 0; e < 2; e++) split(b[e], high_b[e], low_b[e]);
    mma_tf32_m16n8k8(c, low, high_b), mma_tf32_m16n8k8(c, high, low_b), mma_tf32_m16n8k8(c, high, high_b);
}
__device__ __forceinline__ void add_product(tile &c, const REAL (&a)[4], const REAL (&a_im)[4], const REAL (&b)[2],
                                            const REAL (&b_im)[2]) {
    const REAL minus[2] = {-b_im[0], -b_im[1]};
    multiply(c.re, a, b), multiply(c.im, a, b_im);
    multiply(c.re, a_im, minus), multiply(c.im, a_im, b);
}
__device__ __forceinline__ void load_four(REAL (&to)[4], const REAL *from) {
    REAL half[2];
    load_run(half, from), to[0] = half[0], to[1] = half[1];
    load_run(half, from + RUN), to[2] = half[0], to[3] = half[1];
}

// c = F1 X of a slice, columns 8 j .. of it in c[j].
__device__ __forceinline__ void transform_rows(tile (&c)[BLOCKS_2], const REAL *re, const REAL *im,
                                               const REAL *operands, int lane) {
    int at = 2 * lane;
    keep_here(at);
    const REAL *const from = operands + at;
    const int first = lane % 4 * PITCH + lane / 4;
#pragma unroll
    for (int j = 0; j < BLOCKS_2; j++) c[j] = {};
#pragma unroll
    for (int s = 0; s < BLOCKS_1; s++) {
        REAL f[4], f_im[4];
        load_four(f, from + s * 4 * RUN), load_four(f_im, from + (s * 4 + 2) * RUN);
#pragma unroll
        for (int j = 0; j < BLOCKS_2; j++) {
            const int cell = first + 8 * s * PITCH + 8 * j;
            const REAL x[2] = {re[cell], re[cell + 4 * PITCH]}, x_im[2] = {im[cell], im[cell + 4 * PITCH]};
            add_product(c[j], f, f_im, x, x_im);
        }
    }
}
// x F: the operand's rows are in the order in which accumulators hold columns.
template <int BLOCKS_N>
__device__ __forceinline__ void transform_columns(tile (&x)[BLOCKS_N], const REAL *operand, int lane) {
    tile y[BLOCKS_N] = {};
    int at = 2 * lane;
    keep_here(at);
#pragma unroll
    for (int j = 0; j < BLOCKS_N; j++) {
        const REAL a[4] = {x[j].re[0], x[j].re[2], x[j].re[1], x[j].re[3]};
        const REAL a_im[4] = {x[j].im[0], x[j].im[2], x[j].im[1], x[j].im[3]};
#pragma unroll
        for (int m = 0; m < BLOCKS_N; m++) {
            REAL f[2], f_im[2];
            const REAL *const from = operand + at + (j * BLOCKS_N + m) * 2 * RUN;
            load_run(f, from), load_run(f_im, from + RUN);
            add_product(y[m], a, a_im, f, f_im);
        }
    }
#pragma unroll
    for (int m = 0; m < BLOCKS_N; m++) x[m] = y[m];
}
// Times the symbol, re and im swapped.
template <int BLOCKS_N>
__device__ __forceinline__ void times_symbol(tile (&x)[BLOCKS_N], const REAL *symbol, int lane) {
    constexpr int PARTS = SYMBOL_REAL ? 1 : 2;
#pragma unroll
    for (int m = 0; m < BLOCKS_N; m++) {
        REAL s[4], s_im[4] = {REAL(0), REAL(0), REAL(0), REAL(0)};
        load_four(s, symbol + m * PARTS * 2 * RUN + 2 * lane);
        if (!SYMBOL_REAL) load_four(s_im, symbol + (m * PARTS + 1) * 2 * RUN + 2 * lane);
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const complex<REAL> z = {x[m].re[e], x[m].im[e]},
                                scaled = SYMBOL_REAL ? s[e] * z : z * complex<REAL>{s[e], s_im[e]};
            x[m].re[e] = scaled.im, x[m].im[e] = scaled.re;
        }
    }
}

// ---- a torus

// A slice's fragments to shared memory: every second row its second column first, so that rows do not meet in a bank.
__device__ __forceinline__ void put(const tile (&c)[BLOCKS_2], REAL *re, REAL *im, int lane) {
#pragma unroll
    for (int m = 0; m < BLOCKS_2; m++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int cell = (lane / 4 + 8 * half) * PITCH + 8 * m + lane % 4 * 2, odd = lane / 4 % 2;
            const REAL r[2] = {c[m].re[2 * half], c[m].re[2 * half + 1]},
                       i[2] = {c[m].im[2 * half], c[m].im[2 * half + 1]};
            const REAL first = odd ? r[1] : r[0], second = odd ? r[0] : r[1];
            const REAL first_im = odd ? i[1] : i[0], second_im = odd ? i[0] : i[1];
            re[cell + odd] = first, im[cell + odd] = first_im;
            re[cell + 1 - odd] = second, im[cell + 1 - odd] = second_im;
        }
}
__device__ __forceinline__ void forward(const line_arguments &a, const REAL *raw, REAL *work, int lane, int warp) {
#pragma unroll 1
    for (int slice = warp; slice < N3; slice += WARPS) {
        tile c[BLOCKS_2];
        transform_rows(c, raw + slice * SLICE, raw + ROOM + slice * SLICE, a.roots, lane);
        transform_columns(c, a.roots + OPERAND_2, lane);
        if (N3 == 1) {
            times_symbol(c, a.symbol, lane);
            transform_columns(c, a.roots + OPERAND_2, lane);
        }
        put(c, work + slice * SLICE, work + ROOM + slice * SLICE, lane);
    }
}
// Along the third axis, there and back: a thread writes what it has read.
__device__ __forceinline__ void middle(const line_arguments &a, REAL *work, int lane, int warp) {
    const auto cell = [&](int i, int j, int e) {
        const int column = 8 * j + lane % 4 * 2 + e % 2, g = lane / 4;
        const int row = BLOCKS_2 == 2 ? i * PITCH + g + e / 2 * 8 : (2 * i + e / 2) * PITCH + g;
        return column < N3 ? row + column * SLICE : -1;
    };
#pragma unroll 1
    for (int i = warp; i < STACKS; i += WARPS) {
        tile c[BLOCKS_3];
#pragma unroll
        for (int k = 0; k < 4 * BLOCKS_3; k++) {
            const int from = cell(i, k / 4, k % 4);
            c[k / 4].re[k % 4] = from < 0 ? REAL(0) : work[from];
            c[k / 4].im[k % 4] = from < 0 ? REAL(0) : work[ROOM + from];
        }
        transform_columns(c, a.roots + OPERAND_3, lane);
        times_symbol(c, a.symbol + i * BLOCKS_3 * (SYMBOL_REAL ? 2 : 4) * RUN, lane);
        transform_columns(c, a.roots + OPERAND_3, lane);
#pragma unroll
        for (int k = 0; k < 4 * BLOCKS_3; k++) {
            const int to = cell(i, k / 4, k % 4);
            if (to >= 0) work[to] = c[k / 4].re[k % 4], work[ROOM + to] = c[k / 4].im[k % 4];
        }
    }
}
__device__ __forceinline__ void back(const line_arguments &a, REAL *work, int lane, int warp) {
#pragma unroll 1
    for (int slice = warp; slice < N3; slice += WARPS) {
        tile c[BLOCKS_2];
        transform_rows(c, work + slice * SLICE, work + ROOM + slice * SLICE, a.roots, lane);
        if (N3 > 1) transform_columns(c, a.roots + OPERAND_2, lane);
        __syncwarp();  // all have read it
        put(c, work + ROOM + slice * SLICE, work + slice * SLICE, lane);
    }
}

// ---- outputs

template <bool SIDES>
__device__ __forceinline__ void give_to(const line_arguments &a, STORE *to, int count, const sides &at,
                                        const REAL *room, int t) {
#pragma unroll 4
    for (int j = a.lead + t; j < a.lead + count; j += THREADS) {
        const REAL value = room[cell_of(j)];
        to[j] = narrow<STORE>(SIDES ? with_sides(a, at, value, j) : value);
    }
}
__device__ __forceinline__ void give(const line_arguments &a, unsigned segment, const REAL *room, int t) {
    if (segment >= a.all) return;
    const place s = find(a, segment, LENGTH);
    const int count = static_cast<int>(min(a.n - s.start - a.lead, static_cast<long long>(a.useful)));
    const sides at = find_sides(a, s, static_cast<unsigned>(count));
    if (PROFILES && (at.low || at.high))
        give_to<true>(a, s.out + s.start, count, at, room, t);
    else
        give_to<false>(a, s.out + s.start, count, at, room, t);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) segment_product(const line_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    REAL *const raw = reinterpret_cast<REAL *>(stn_shared), *const work = raw + 2 * ROOM;
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    unsigned segment = 2 * blockIdx.x;
    for (int i = t; i < 2 * ROOM; i += THREADS) raw[i] = REAL(0);  // what no point lies in stays 0
    __syncthreads();
    fetch(a, segment, raw, t), fetch(a, segment + 1, raw + ROOM, t);
#pragma unroll 1
    for (; segment < a.all; segment += 2 * gridDim.x) {
        copy_async_wait<0>();
        turn_signs(a, segment, raw, t), turn_signs(a, segment + 1, raw + ROOM, t);
        __syncthreads();  // all inputs have landed, and the last outputs are given
        forward(a, raw, work, lane, warp);
        __syncthreads();
        fetch(a, segment + 2 * gridDim.x, raw, t), fetch(a, segment + 2 * gridDim.x + 1, raw + ROOM, t);
        if (N3 > 1) {
            middle(a, work, lane, warp);
            __syncthreads();
        }
        back(a, work, lane, warp);
        __syncthreads();
        give(a, segment, work, t), give(a, segment + 1, work + ROOM, t);
    }
}
