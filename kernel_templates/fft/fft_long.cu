// Lines of 4096 f16 points on tensor cores. A cluster of eight blocks holds 16 lines at a time,
// 8192 points per block. A transform of 4096 N2 points takes two launches (four-step FFT):
// FFT_OUTER 1 is the first; if N2 = 4096, this kernel with FFT_OUTER 0 is the second.
//
//     X[k1 + 16 k2 + 256 k3] = sum over n3 of w16^(n3 k3) w4096^(n3 (k1 + 16 k2))
//                              sum over n2 of w16^(n2 k2) w256^(n2 k1)
//                              sum over n1 of w16^(n1 k1) x[256 n1 + 16 n2 + n3]
//
//     w_M = exp(-2 pi i / M), of inverse transforms its conjugate; w16, w256, w4096 likewise.
//     M = 4096 N2 is the number of points of the whole transform.
//
//     FFT_OUTER 1: lines are strided; block b has n3 = 2b, 2b + 1 of all 16 lines (columns below:
//                  lines c), and outputs are multiplied by w_M^(k (16 tile + c))
//     FFT_OUTER 0: lines are contiguous; block b has two whole lines, l = 0, 1 (columns below: n3)
//
//     1. over n1, for each n2     in place, times w256^(k1 n2)
//     2. over n2, for each k1     in place, times those factors above, and of w_M, that do not
//                                 depend on k3
//                                 ---- cluster barrier ----
//     3. over n3, for each k1 and k2 with k1 = 2b, 2b + 1: read from all blocks, stored to memory,
//        16 lines side by side
//
// Shared memory: part[l][p], n2 or k2 = 2p and 2p + 1, has 16 rows (n1 or k1) of 8 chunks of 4
// columns. Chunk h of n2 = 2p is at h ^ swizzle(row) ^ p, and chunk h of n2 = 2p + 1 at (h + 4) ^
// swizzle(row) ^ p, which avoids bank conflicts.
//
// Reads WARPS, BLOCKS, CLUSTER, FFT_OUTER and FFT_INVERSE.
#include "device/dft16.cuh"
#include "device/launch_checks.cuh"
#include "params.cuh"

constexpr int LINES = 16, MINE = 16 / WARPS;  // MINE: units of 16 x 32 points per warp and step
static_assert(CLUSTER == 8 && 16 % WARPS == 0, "column g of a tile of step 3 is block g's");

struct fft_arguments {
    const unsigned *in;  // points: two halves
    unsigned *out;
    long long in_stride, out_stride;  // points between points of a line
    long long in_line;                // points between input lines; strided lines and outputs: 1
    long long in_batch, out_batch;
    unsigned tiles;  // groups of 16 lines in a batch
    unsigned outer;  // 2^32 / M
    // Square root of the scale, or with FFT_OUTER its cube root, applied in two or three steps
    float share;
    int unused;
};
static_assert(layout_matches(sizeof(fft_arguments)), "the arguments match the launcher's struct");

using parts = chunk (*)[8][16][8];
__device__ __forceinline__ chunk *at(parts part, int l, int p, int row, int index) {
    return &part[l][p][row][index ^ swizzle(row) ^ p];
}

// Requests the input of one unit of step 1: l and p, 32 columns.
__device__ __forceinline__ void request_unit(parts part, const unsigned *in, const fft_arguments &a, int l, int p,
                                             int rank, int lane) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int h = lane % 4, half = lane / 4 % 2, row = lane / 8 + 4 * i;
        const int column = 32 * p + 16 * half;
        const long long from = FFT_OUTER ? (256 * row + column + 2 * rank + l) * a.in_stride
                                         : (2 * rank + l) * a.in_line + 256 * row + column;
        copy_async_16(at(part, l, p, row, 4 * half + h), in + from + 4 * h);
    }
}

// exp(-+ 2 pi i turn / 2^32)
__device__ __forceinline__ complex<float> root(unsigned turn) { return root_of_unity<FFT_INVERSE>(turn); }

__device__ __forceinline__ void over_n1(const dft16_matrix &f, parts part, const fft_arguments &a, int l, int p, int g,
                                        int t) {
    chunk x[4], result[2][2];
    complex<float> twiddle[2];
#pragma unroll
    for (int m = 0; m < 2; m++) {
        const unsigned turn = static_cast<unsigned>((2 * g + m) * (2 * p + t / 2)) << 24;
        twiddle[m] = a.share * root(turn);
    }
#pragma unroll
    for (int s = 0; s < 4; s++) x[s] = *at(part, l, p, 4 * t + s, g);
    dft16_columns(f, x, result, [&](int m, int, int, complex<float> y) { return y * twiddle[m]; });
    __syncwarp();
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int e = 0; e < 2; e++) *at(part, l, p, 2 * g + m, 2 * t + e) = result[m][e];
}

// Step 2 for k1 = j (columns 0 to 15) and k1 = j + 8.
__device__ __forceinline__ void over_n2(const dft16_matrix &f, parts part, const fft_arguments &a, int l, int j, int n3,
                                        unsigned tile, int g, int t) {
    chunk x[4], result[2][2];
#pragma unroll
    for (int s = 0; s < 4; s++) x[s] = *at(part, l, 2 * t + s / 2, j + g / 4 * 8, s % 2 * 4 + g % 4);
    // Columns 8 (t % 2) + 4 e + i: the twiddle factor of the first column times powers of the ratio
    // of neighbouring columns. k12 = k1 + 16 k2.
    complex<float> first[2][2], power[2][4];
    const int k1 = j + t / 2 * 8;
#pragma unroll
    for (int m = 0; m < 2; m++) {
        const unsigned k12 = k1 + 16 * (2 * g + m), step = FFT_OUTER ? a.outer : 1u << 20;
        const unsigned turn = (FFT_OUTER ? LINES * tile * step : 0) + (static_cast<unsigned>(n3) << 20);
        first[m][0] = a.share * root(k12 * (turn + t % 2 * 8 * step));
        first[m][1] = first[m][0] * root(k12 * 4 * step);
        power[m][1] = root(k12 * step);
        power[m][2] = power[m][1] * power[m][1];
        power[m][3] = power[m][1] * power[m][2];
    }
    dft16_columns(f, x, result, [&](int m, int e, int i, complex<float> y) {
        return y * (i ? first[m][e] * power[m][i] : first[m][e]);
    });
    __syncwarp();
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int e = 0; e < 2; e++) *at(part, l, g, k1, 4 * m + (2 * t + e) % 4) = result[m][e];
}

// Loads the input of step 3 for k1 and k2 = 2p, 2p + 1.
__device__ __forceinline__ void request_third(chunk (&x)[4], parts part, int k1, int p, int g, int t) {
#pragma unroll
    for (int s = 0; s < 4; s++) {
        if (FFT_OUTER)  // n3 = 4t + s, chunk g / 2 of the lines
            cluster_load(x[s].point, at(part, s % 2, p, k1, g % 2 * 4 + g / 2)->point, 2 * t + s / 2);
        else  // n3 = 4t .. 4t + 3 of line 2g + s % 2
            cluster_load(x[s].point, at(part, s % 2, p, k1, s / 2 * 4 + t)->point, g);
    }
}

// The twiddle factors of step 3 with FFT_OUTER, share * w_M^(256 k3 (16 tile + c)), as [k3][c].
using third_twiddles = complex<float> (*)[LINES + 4];

__device__ __forceinline__ void over_n3(const dft16_matrix &f, const chunk (&x)[4], third_twiddles third_twiddle,
                                        unsigned *out, long long stride, int k1, int p, int g, int t) {
    if constexpr (FFT_OUTER) {
        chunk result[2][2];
        dft16_columns(f, x, result,
                      [&](int m, int, int i, complex<float> y) { return y * third_twiddle[2 * g + m][4 * t + i]; });
        const int k = k1 + 32 * p + 512 * g;
#pragma unroll
        for (int m = 0; m < 2; m++)
#pragma unroll
            for (int e = 0; e < 2; e++) store_run(out + (k + 16 * e + 256 * m) * stride + 4 * t, result[m][e].point);
    } else {
#pragma unroll
        for (int q = 0; q < 2; q++) {
            chunk result[2];
#pragma unroll
            for (int i = 0; i < 2; i++) {
                complex<float> y[2][2];
                dft16(f, x[2 * q + i].point, y);
#pragma unroll
                for (int m = 0; m < 2; m++)
#pragma unroll
                    for (int e = 0; e < 2; e++) put(&result[m].point[2 * e + i], y[m][e]);
            }
            const int k = k1 + 16 * (2 * p + q) + 512 * g;
#pragma unroll
            for (int m = 0; m < 2; m++) store_run(out + (k + 256 * m) * stride + 4 * t, result[m].point);
        }
    }
}

template <int I>
__device__ __forceinline__ void first_step(const dft16_matrix &f, parts part, const fft_arguments &a, int warp, int g,
                                           int t) {
    copy_async_wait<MINE - 1 - I>();
    __syncwarp();
    const int unit = warp + WARPS * I;
    over_n1(f, part, a, unit / 8, unit % 8, g, t);
    if constexpr (I + 1 < MINE) first_step<I + 1>(f, part, a, warp, g, t);
}

static_assert(shared_bytes_match(2 * sizeof(*parts{}) + 16 * sizeof(*third_twiddles{})),
              "the launcher gives the shared memory that this takes");
extern "C" __global__ void __launch_bounds__(32 * WARPS, BLOCKS) fft_long(const __grid_constant__ fft_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    const parts part = reinterpret_cast<parts>(stn_shared);
    const third_twiddles third_twiddle = reinterpret_cast<third_twiddles>(stn_shared + 2 * sizeof *part);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    const int rank = static_cast<int>(cluster_rank());
    const unsigned group = blockIdx.x / CLUSTER, batch = group / a.tiles, tile = group - batch * a.tiles;
    const unsigned *const in = a.in + batch * a.in_batch + tile * LINES * a.in_line;
    unsigned *const out = a.out + batch * a.out_batch + tile * LINES;

#pragma unroll
    for (int i = 0; i < MINE; i++) {
        const int unit = warp + WARPS * i;
        request_unit(part, in, a, unit / 8, unit % 8, rank, lane);
        copy_async_commit();
    }
    dft16_matrix f;
    set_dft16<FFT_INVERSE>(f, g, t);
    if (FFT_OUTER)
        for (unsigned i = threadIdx.x; i < 16 * LINES; i += 32 * WARPS)
            third_twiddle[i / LINES][i % LINES] =
                a.share * root(256 * (i / LINES) * (LINES * tile + i % LINES) * a.outer);
    first_step<0>(f, part, a, warp, g, t);
    __syncthreads();
#pragma unroll 1
    for (int unit = warp; unit < 16; unit += WARPS)
        over_n2(f, part, a, unit / 8, unit % 8, FFT_OUTER ? 2 * rank + unit / 8 : 0, tile, g, t);
    cluster_barrier();

    chunk x[4], next[4];
    request_third(x, part, 2 * rank + warp / 8, warp % 8, g, t);
#pragma unroll 1
    for (int unit = warp; unit < 16; unit += WARPS) {
        const int after = unit + WARPS;
        if (after < 16) request_third(next, part, 2 * rank + after / 8, after % 8, g, t);
        over_n3(f, x, third_twiddle, out, a.out_stride, 2 * rank + unit / 8, unit % 8, g, t);
#pragma unroll
        for (int s = 0; s < 4; s++) x[s] = next[s];
    }
    cluster_barrier();  // no block may exit while others still read its shared memory
}
