// Batched f16 Fourier transforms of 256 R points, each in the registers of one warp: a radix-R
// butterfly on the CUDA cores, then two radix-16 products on tensor cores (the merging of tcFFT,
// without intermediate memory traffic).
//
//     X[R (c + 16 d) + k] = sum over b of w16^(bd) w256^(bc)  sum over a of w16^(ac) y_k[16 a + b]
//                  y_k[m] = w_N^(k m)  sum over r of  w_R^(k r) x[256 r + m]              N = 256 R
//
// w_n = exp(-2 pi i / n); w16 and w256 likewise. Inverse transforms exchange the real and imaginary
// parts of points before and after.
//
// The first product C = F Y has twiddles on its left and data on its right; the second D = C' G has
// data on its left, so that the accumulators of the first product, times the twiddles w256^(b c),
// are its operand. Which point an element of a fragment holds is free as long as both operands
// agree; with g = lane / 4 and t = lane % 4:
//
//     F  row g, g + 8  <->  c = 2g, 2g + 1                      summed index s <-> a = s
//     Y  column g of tile j  <->  b = 2g + j                    so loads are of 2 points, 8 lanes
//                                                               in a row
//     C' summed index 2t + i + 8 j  <->  b = 4t + 2 i + j       the columns 2t + i of tile j
//     D  rows as F's, column 2t + i of tile j  <->  d = 8 j + 2t + i  so stores are of 2 R points,
//                                                                     8 lanes in a row
#include "device/fft.cuh"
#include "device/launch_checks.cuh"
#include "params.cuh"

constexpr int N = FFT_LENGTH, R = N / 256;
static_assert(N == 256 * R && (R == 1 || R == 2 || R == 4 || R == 8), "two products of 16 and one butterfly");

struct fft_arguments {
    const unsigned *in;  // points: two halves
    unsigned *out;
    const float *twiddles;        // w_N^i, i < N
    long long in_line, out_line;  // points between lines
    long long lines;
    float scale;
};
static_assert(layout_matches(sizeof(fft_arguments)), "the arguments match the launcher's struct");

// A complex matrix as mma fragments of WORDS registers; products with complex data need the
// imaginary part with both signs.
template <int WORDS>
struct matrix_fragment {
    unsigned re[WORDS], im[WORDS], minus_im[WORDS];
};
template <int WORDS>
__device__ __forceinline__ void set_fragment(matrix_fragment<WORDS> &f, int word, complex<float> first,
                                             complex<float> second) {
    f.re[word] = floats_to_half2(first.re, second.re);
    f.im[word] = floats_to_half2(first.im, second.im);
    f.minus_im[word] = floats_to_half2(-first.im, -second.im);
}

struct alignas(8) two_points {
    unsigned first, second;
};

// Copies a line asynchronously to shared memory, 16 bytes at a time. Chunks of 4 points are
// swizzled within a row of 32, so that the 8-byte reads of read_line are free of bank conflicts.
__device__ __forceinline__ void request_line(unsigned *slot, const unsigned *in, int lane) {
#pragma unroll
    for (int i = 0; i < N / 128; i++) {
        const int row = lane / 8 + 4 * i, chunk = lane % 8;
        copy_async_16(slot + 32 * row + 4 * (chunk ^ row % 4 * 2), in + 32 * row + 4 * chunk);
    }
}
// x[j][e][r]: points 256 r + 16 a + b, a = 2t + e % 2 + 8 (e / 2), b = 2g + j
__device__ __forceinline__ void read_line(unsigned (&x)[2][4][R], const unsigned *slot, int g, int t) {
#pragma unroll
    for (int r = 0; r < R; r++)
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const int row = 8 * r + t + e / 2 * 4, chunk = e % 2 * 4 + g / 2;
            const two_points two =
                *reinterpret_cast<const two_points *>(slot + 32 * row + 4 * (chunk ^ t * 2) + g % 2 * 2);
            x[0][e][r] = two.first, x[1][e][r] = two.second;
        }
}

// Stores points R (c + 16 d) + k of a line, c = 2g and 2g + 1, d = 8 j + 2t + i. With 256 points,
// two lanes share a row and exchange halves, so that accesses are 16 bytes.
__device__ __forceinline__ void store_line(unsigned *to, const unsigned (&x)[2][2][2][R], int g, int t) {
#pragma unroll
    for (int j = 0; j < 2; j++) {
        if constexpr (R == 1) {
            const int odd = g % 2;
            unsigned run[4], got[2];
#pragma unroll
            for (int c = 0; c < 2; c++) got[c] = __shfl_xor_sync(~0u, odd ? x[j][0][c][0] : x[j][1][c][0], 4);
#pragma unroll
            for (int c = 0; c < 2; c++) {
                run[c] = odd ? got[c] : x[j][0][c][0];
                run[2 + c] = odd ? x[j][1][c][0] : got[c];
            }
            store_run(to + 4 * (g / 2) + 16 * (8 * j + 2 * t + odd), run);
        } else {
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int first = 0; first < 2 * R; first += 4) {
                    unsigned run[4];
#pragma unroll
                    for (int e = 0; e < 4; e++) run[e] = x[j][i][(first + e) / R][(first + e) % R];
                    store_run(to + R * (2 * g + 16 * (8 * j + 2 * t + i)) + first, run);
                }
        }
    }
}

// Butterfly over r, and twiddle factors: y[k] = w_N^(k m) sum over r of  w_R^(k r) x[r].
__device__ __forceinline__ void merge(unsigned (&x)[R], complex<float> root, complex<float> (&y)[R]) {
#pragma unroll
    for (int r = 0; r < R; r++) {
        y[r] = {half2_low(x[r]), half2_high(x[r])};
        if (FFT_INVERSE) y[r] = swapped(y[r]);
    }
    dft<R>(y);
    times_powers<R>(y, root);
}

// The twiddles that stay in a lane's registers for all lines.
struct warp_twiddles {
    matrix_fragment<4> left;
    matrix_fragment<2> right[2];
    // twiddle: w256^(b c), with the scale. outer: w_N^m of the points m = 16 a + b with a = 2t;
    // its ratios to the factors of other a are constants
    complex<float> twiddle[2][4], outer[2];
};
__device__ __forceinline__ void load_twiddles(warp_twiddles &f, const fft_arguments &a, int g, int t) {
    const auto root = [&](int numerator, int denominator) {  // w_denominator^numerator
        return load_pair(a.twiddles + 2 * (numerator % denominator * (N / denominator)));
    };
#pragma unroll
    for (int word = 0; word < 4; word++) {
        const int c = 2 * g + word % 2, slot = 2 * t + word / 2 * 8;
        set_fragment(f.left, word, root(c * slot, 16), root(c * (slot + 1), 16));
    }
#pragma unroll
    for (int j = 0; j < 2; j++) {
#pragma unroll
        for (int word = 0; word < 2; word++) {
            const int d = 8 * j + g, b = 4 * t + word;
            set_fragment(f.right[j], word, root(b * d, 16), root((b + 2) * d, 16));
        }
#pragma unroll
        for (int e = 0; e < 4; e++) {
            f.twiddle[j][e] = root((2 * g + e / 2) * (4 * t + 2 * (e % 2) + j), 256);
            if (FFT_SCALE) f.twiddle[j][e] = a.scale * f.twiddle[j][e];
        }
        f.outer[j] = root(32 * t + 2 * g + j, N);
    }
}

// Right operands of the first product, [k][j][word]: results of the butterfly over r.
struct line_operands {
    unsigned re[R][2][2], im[R][2][2];
};
__device__ __forceinline__ void over_r(line_operands &to, unsigned (&x)[2][4][R], const warp_twiddles &f) {
#pragma unroll
    for (int j = 0; j < 2; j++)
#pragma unroll
        for (int word = 0; word < 2; word++) {
            unsigned(&first)[R] = x[j][2 * word], (&second)[R] = x[j][2 * word + 1];
            if constexpr (R == 1) {
                const unsigned low = (first[0] & 0xffffu) | second[0] << 16;
                const unsigned high = first[0] >> 16 | (second[0] & 0xffff0000u);
                to.re[0][j][word] = FFT_INVERSE ? high : low;
                to.im[0][j][word] = FFT_INVERSE ? low : high;
            } else {
                complex<float> y[R], z[R];
                merge(first, times_root64(f.outer[j], word * 8 * (1024 / N)), y);
                merge(second, times_root64(f.outer[j], (word * 8 + 1) * (1024 / N)), z);
#pragma unroll
                for (int k = 0; k < R; k++) {
                    to.re[k][j][word] = floats_to_half2(y[k].re, z[k].re);
                    to.im[k][j][word] = floats_to_half2(y[k].im, z[k].im);
                }
            }
        }
}

// The first product, over a, times w_256^(b c): gives the left operands of the second.
__device__ __forceinline__ void over_a(unsigned (&c_re)[4], unsigned (&c_im)[4], const line_operands &x, int k,
                                       const warp_twiddles &f) {
#pragma unroll
    for (int j = 0; j < 2; j++) {
        float sum_re[4] = {}, sum_im[4] = {};
        mma_f16_m16n8k16(sum_re, f.left.re, x.re[k][j]);
        mma_f16_m16n8k16(sum_im, f.left.re, x.im[k][j]);
        mma_f16_m16n8k16(sum_re, f.left.minus_im, x.im[k][j]);
        mma_f16_m16n8k16(sum_im, f.left.im, x.re[k][j]);
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const complex<float> first = complex<float>{sum_re[2 * half], sum_im[2 * half]} * f.twiddle[j][2 * half];
            const complex<float> second =
                complex<float>{sum_re[2 * half + 1], sum_im[2 * half + 1]} * f.twiddle[j][2 * half + 1];
            c_re[2 * j + half] = floats_to_half2(first.re, second.re);
            c_im[2 * j + half] = floats_to_half2(first.im, second.im);
        }
    }
}

// The second product, over b.
__device__ __forceinline__ void over_b(unsigned (&out)[2][2][2][R], const unsigned (&c_re)[4],
                                       const unsigned (&c_im)[4], int k, const warp_twiddles &f) {
#pragma unroll
    for (int j = 0; j < 2; j++) {
        float sum_re[4] = {}, sum_im[4] = {};
        mma_f16_m16n8k16(sum_re, c_re, f.right[j].re);
        mma_f16_m16n8k16(sum_im, c_re, f.right[j].im);
        mma_f16_m16n8k16(sum_re, c_im, f.right[j].minus_im);
        mma_f16_m16n8k16(sum_im, c_im, f.right[j].re);
#pragma unroll
        for (int e = 0; e < 4; e++)
            out[j][e % 2][e / 2][k] =
                FFT_INVERSE ? floats_to_half2(sum_im[e], sum_re[e]) : floats_to_half2(sum_re[e], sum_im[e]);
    }
}

static_assert(shared_bytes_match(WARPS * STAGES * N * sizeof(unsigned)),
              "the launcher gives the shared memory that this takes");
extern "C" __global__ void __launch_bounds__(32 * WARPS, BLOCKS) fft_warp(const __grid_constant__ fft_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    unsigned *const shared = reinterpret_cast<unsigned *>(stn_shared);  // STAGES lines per warp
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    warp_twiddles f;
    load_twiddles(f, a, g, t);

    const long long warps = static_cast<long long>(gridDim.x) * WARPS;
    const long long start = static_cast<long long>(blockIdx.x) * WARPS + threadIdx.x / 32;
    unsigned *const slots = shared + threadIdx.x / 32 * STAGES * N;
#pragma unroll
    for (int s = 0; s < STAGES - 1; s++) {
        if (start + s * warps < a.lines) request_line(slots + s * N, a.in + (start + s * warps) * a.in_line, lane);
        copy_async_commit();
    }
    int slot = 0;
    for (long long line = start; line < a.lines; line += warps) {
        copy_async_wait<STAGES - 2>();
        __syncwarp();
        unsigned x[2][4][R];
        read_line(x, slots + slot * N, g, t);
        const long long ahead = line + (STAGES - 1) * warps;
        if (ahead < a.lines) request_line(slots + (slot ? slot - 1 : STAGES - 1) * N, a.in + ahead * a.in_line, lane);
        copy_async_commit();
        slot = slot + 1 < STAGES ? slot + 1 : 0;
        line_operands operands;
        over_r(operands, x, f);
        unsigned out[2][2][2][R];  // [j][i][c % 2][k]
#pragma unroll
        for (int k = 0; k < R; k++) {
            unsigned c_re[4], c_im[4];
            over_a(c_re, c_im, operands, k, f);
            over_b(out, c_re, c_im, k, f);
        }
        store_line(a.out + line * a.out_line, out, g, t);
    }
}
