// Fourier transforms of f16 images of 256 x 256 points on tensor cores, each read once and written
// once: a cluster of CLUSTER blocks holds an image in its shared memory.
//
//     X[k, l] = sum over n of w256^(k n)  sum over c of w256^(l c)  x[n, c]
//
//     w256 = exp(-2 pi i / 256), of inverse transforms its conjugate
//
//     n = t + 16 r        block b holds the rows t = LOCAL b .. LOCAL b + LOCAL - 1, with all r
//
//     block 0  [rows of t = 0, 1  ]   1. rows: two 16-point DFTs in a warp's registers
//     block 1  [rows of t = 2, 3  ]      (device/dft16.cuh)
//        :                            2. columns, first half: over r, for each t, in place, then
//     block 7  [rows of t = 14, 15]      twiddle factors w256^(t k1)
//                                     ---- cluster barrier ----
//                                     3. columns, second half: over t, read from all blocks:
//                                        k = k1 + 16 k2, stored to memory
//
// Shared memory: row (t, r) has 64 chunks of 4 points. Before step 1 they lie as request_row copies
// them. After step 1 the chunk of columns 32 G + 16 q + 4 j, q = 0, 1, j = 0 .. 3, is at
// 8 G + ((2 j + (q ^ G % 2)) ^ swizzle(r)), which avoids bank conflicts and lets step 3 store 64
// bytes of a row at once.
//
// Reads WARPS, BLOCKS, CLUSTER and FFT_INVERSE.
#include "device/dft16.cuh"
#include "device/launch_checks.cuh"
#include "params.cuh"

constexpr int LOCAL = 16 / CLUSTER, ROWS_OF_WARP = 16 * LOCAL / WARPS;
static_assert(16 % CLUSTER == 0 && 16 * LOCAL % WARPS == 0 && 8 * LOCAL % WARPS == 0, "equal shares");

struct fft_arguments {
    const unsigned *in;  // points: two halves
    unsigned *out;
    long long in_row, out_row;      // points between rows
    long long in_image, out_image;  // points between images
    float share;                    // square root of the scale, which is applied in two steps
    int unused;
};
static_assert(layout_matches(sizeof(fft_arguments)), "the arguments match the launcher's struct");

// w256^i
__device__ __forceinline__ complex<float> root(int i) {
    return root_of_unity<FFT_INVERSE>(static_cast<unsigned>(i) << 24);
}

struct alignas(8) two_points {
    unsigned first, second;
};
// Copies a row asynchronously; chunk q goes to q ^ 2 (q / 16).
__device__ __forceinline__ void request_row(chunk *chunks, const unsigned *in, int lane) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const int q = lane + 32 * i;
        copy_async_16(chunks + (q ^ q / 16 * 2), in + 4 * q);
    }
}

// Step 1 for row r, which lies in `chunks`, in place.
__device__ __forceinline__ void transform_row(const dft16_matrix &f, const complex<float> (&twiddle)[2][2][2],
                                              chunk *chunks, int r, int g, int t) {
    unsigned x[2][4], middle[2][4];
    chunk last[2];
#pragma unroll
    for (int s = 0; s < 4; s++) {  // points 16 (4t + s) + 2g + i
        const unsigned *two = chunks[(16 * t + 4 * s + g / 2) ^ 2 * t].point + g % 2 * 2;
        const two_points both = *reinterpret_cast<const two_points *>(two);
        x[0][s] = both.first, x[1][s] = both.second;
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 2; i++) {
        complex<float> y[2][2];
        dft16(f, x[i], y);
#pragma unroll
        for (int m = 0; m < 2; m++)
#pragma unroll
            for (int e = 0; e < 2; e++) put(&middle[m][2 * e + i], y[m][e] * twiddle[i][m][e]);
    }
#pragma unroll
    for (int m = 0; m < 2; m++) {  // columns 16 (2g + m') + 4t + 2e + m
        complex<float> y[2][2];
        dft16(f, middle[m], y);
#pragma unroll
        for (int high = 0; high < 2; high++)
#pragma unroll
            for (int e = 0; e < 2; e++) put(&last[high].point[2 * e + m], y[high][e]);
    }
#pragma unroll
    for (int high = 0; high < 2; high++) {
        const int at = (2 * t + (high ^ g % 2)) ^ swizzle(r);
        chunks[8 * g + at] = last[high];
    }
}

// Step 1 for the warp's rows from FIRST on, each as soon as its copy has arrived.
template <int FIRST>
__device__ __forceinline__ void transform_rows(const dft16_matrix &f, const complex<float> (&twiddle)[2][2][2],
                                               chunk (*row)[64], int warp, int g, int t) {
    copy_async_wait<ROWS_OF_WARP - 1 - FIRST>();
    __syncwarp();
    const int mine = warp + WARPS * FIRST;
    transform_row(f, twiddle, row[mine], mine % 16, g, t);
    if constexpr (FIRST + 1 < ROWS_OF_WARP) transform_rows<FIRST + 1>(f, twiddle, row, warp, g, t);
}

static_assert(shared_bytes_match(256 * 256 * sizeof(unsigned) / CLUSTER),
              "the launcher gives the shared memory that this takes");
extern "C" __global__ void __launch_bounds__(32 * WARPS, BLOCKS) fft_image(const __grid_constant__ fft_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    chunk(*const row)[64] = reinterpret_cast<chunk(*)[64]>(stn_shared);  // 16 t + r
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    const int rank = static_cast<int>(cluster_rank());
    const unsigned *const in = a.in + blockIdx.x / CLUSTER * a.in_image;
    unsigned *const out = a.out + blockIdx.x / CLUSTER * a.out_image;

#pragma unroll
    for (int i = 0; i < ROWS_OF_WARP; i++) {
        const int mine = warp + WARPS * i;
        request_row(row[mine], in + (rank * LOCAL + mine / 16 + mine % 16 * 16) * a.in_row, lane);
        copy_async_commit();
    }
    dft16_matrix f;
    set_dft16<FFT_INVERSE>(f, g, t);
    {
        complex<float> twiddle[2][2][2];  // [i][m][e]: point 4t + 2e + i, coefficient 2g + m
#pragma unroll
        for (int i = 0; i < 2; i++)
#pragma unroll
            for (int m = 0; m < 2; m++)
#pragma unroll
                for (int e = 0; e < 2; e++) twiddle[i][m][e] = a.share * root((2 * g + m) * (4 * t + 2 * e + i));
        transform_rows<0>(f, twiddle, row, warp, g, t);
    }
    __syncthreads();

#pragma unroll 1
    for (int unit = warp; unit < 8 * LOCAL; unit += WARPS) {  // step 2: over r, for one t
        const int mine = unit / 8, first = unit % 8 * 8;
        chunk(*const part)[64] = row + 16 * mine, x[4], result[2][2];
#pragma unroll
        for (int s = 0; s < 4; s++) x[s] = part[4 * t + s][first + (g ^ swizzle(4 * t + s))];
        complex<float> twiddle[2];
#pragma unroll
        for (int m = 0; m < 2; m++) twiddle[m] = a.share * root((rank * LOCAL + mine) * (2 * g + m));
        dft16_columns(f, x, result, [&](int m, int, int, complex<float> y) { return y * twiddle[m]; });
        __syncwarp();
#pragma unroll
        for (int m = 0; m < 2; m++)
#pragma unroll
            for (int e = 0; e < 2; e++) part[2 * g + m][first + ((2 * t + e) ^ swizzle(2 * g + m))] = result[m][e];
    }
    cluster_barrier();

#pragma unroll 1
    for (int unit = warp; unit < 8 * LOCAL; unit += WARPS) {  // step 3: over t, for one k1
        const int group = unit % 8, k1 = rank * LOCAL + unit / 8;
        chunk x[4], result[2][2];
#pragma unroll
        for (int s = 0; s < 4; s++) {
            const int from = 4 * t + s;
            cluster_load(x[s].point, row[from % LOCAL * 16 + k1][8 * group + (g ^ swizzle(k1))].point, from / LOCAL);
        }
        dft16_columns(f, x, result, [](int, int, int, complex<float> y) { return y; });
        unsigned *const to = out + k1 * a.out_row + 32 * group + 4 * t;
#pragma unroll
        for (int m = 0; m < 2; m++)
#pragma unroll
            for (int e = 0; e < 2; e++)
                store_run(to + 16 * (2 * g + m) * a.out_row + 16 * (e ^ group % 2), result[m][e].point);
    }
    cluster_barrier();  // no block may exit while others still read its shared memory
}
