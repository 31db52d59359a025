// One step of taps along an axis across the rows of an array of bytes (bytes.cuh).
//
//     out(y, x) = trunc( sum over k of  w[k] * u(y + k, x) )
//
// A warp marches down 32 columns, 16 rows at a time. Sixteen rows of results are a band matrix
// times a window of NK k-slices of 16 rows, the last of which is new in each iteration:
//
//     16 x 16 NK          16 NK x 8, one of 4
//     [w w w . . .]       [rows y - 16 KT ..     ]
//     [. w w w . .]   x   [                      ]
//     [. . w w w .]       [.. y + 16 (KT + 1) - 1]
//
// Lane (g, t) loads columns 4g .. 4g + 3 of rows 2t, 2t + 1, 2t + 8, 2t + 9: column g of n-tile j
// is column 4g + j, so that a lane's results are 8 bytes of rows g and g + 8.
//
// Reads KT (k-slices that the taps reach to each side), WARPS, CHUNK (iterations of a warp),
// INTEGERS, TAPS_LOW, TAPS_HIGH and their sides.
#include "typed/bytes.cuh"

constexpr int NK = 1 + 2 * KT;

__device__ __forceinline__ unsigned word_at(const bytes_arguments &a, const unsigned char *in, long long y,
                                            long long x) {
    const long long at = source_index(y, a.n[1]);
    if (x >= a.n[2]) return 0;
    if (at < 0) return static_cast<unsigned>(a.past[at == PAST_HIGH]);
    return *reinterpret_cast<const unsigned *>(in + at * a.in_stride[1] + x);
}

// The words of one k-slice, rows y to y + 15.
__device__ __forceinline__ void load_words(const bytes_arguments &a, const unsigned char *in, long long y, long long x,
                                           int t, unsigned (&word)[4]) {
    if (y >= 0 && y + 16 <= a.n[1] && x < a.n[2]) {
        const unsigned char *const at = in + (y + 2 * t) * a.in_stride[1] + x;
#pragma unroll
        for (int i = 0; i < 4; i++)
            word[i] = *reinterpret_cast<const unsigned *>(at + (i % 2 + i / 2 * 8) * a.in_stride[1]);
        return;
    }
#pragma unroll 1
    for (int i = 0; i < 4; i++) {
        const unsigned one = word_at(a, in, y + 2 * t + i % 2 + i / 2 * 8, x);
#pragma unroll
        for (int k = 0; k < 4; k++) word[k] = i == k ? one : word[k];
    }
}

// Their fragments of four n-tiles.
__device__ __forceinline__ void convert(const unsigned (&word)[4], unsigned (&slice)[4][2]) {
#pragma unroll
    for (int j = 0; j < 4; j++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const unsigned both =
                __byte_perm(word[2 * i], word[2 * i + 1], 0x0400u + 0x0101u * static_cast<unsigned>(j));
            slice[j][i] = centred((both & 0x00ff00ffu) | 0x64006400u);
        }
}

extern "C" __global__ void __launch_bounds__(32 * WARPS) typed_columns(const __grid_constant__ bytes_arguments a) {
    const bytes_tile tile = tile_of(a);
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const long long x0 = (tile.x * WARPS + threadIdx.x / 32) * 32, first = tile.y * CHUNK * 16;
    unsigned band[PARTS][NK][4], slice[NK][4][2];
#pragma unroll
    for (int i = 0; i < PARTS * NK * 4; i++)
        band[i / (4 * NK)][i / 4 % NK][i % 4] = a.bands[(i / 4 * 32 + lane) * 4 + i % 4];
    unsigned word[4] = {};
#pragma unroll
    for (int k = 1; k < NK; k++) {
        load_words(a, tile.in, first + 16 * (k - 1 - KT), x0 + 4 * g, t, word);
        convert(word, slice[k]);
    }
    load_words(a, tile.in, first + 16 * KT, x0 + 4 * g, t, word);
#pragma unroll 1
    for (int step = 0; step < CHUNK; step++) {
        const long long y = first + 16 * step;
        if (y >= a.n[1]) break;
        __syncwarp();  // lanes leave store_bytes one by one
#pragma unroll
        for (int k = 0; k + 1 < NK; k++)
#pragma unroll
            for (int i = 0; i < 8; i++) slice[k][i / 2][i % 2] = slice[k + 1][i / 2][i % 2];
        convert(word, slice[NK - 1]);
        // The next iteration's words arrive during this one.
        if (step + 1 < CHUNK) load_words(a, tile.in, y + 16 * (KT + 1), x0 + 4 * g, t, word);
        float c[4][4] = {};
        // The small parts of the weights first, while the sums are small.
#pragma unroll
        for (int part = PARTS - 1; part >= 0; part--)
#pragma unroll
            for (int k = 0; k < NK; k++)
#pragma unroll
                for (int j = 0; j < 4; j++) mma_f16_m16n8k16(c[j], band[part][k], slice[k][j]);
        const long long x = x0 + 8 * t;
        unsigned char *const to[2] = {tile.out + (y + g) * a.out_stride[1] + x,
                                      tile.out + (y + g + 8) * a.out_stride[1] + x};
        const bool stored[2] = {x < a.n[2] && y + g < a.n[1], x < a.n[2] && y + g + 8 < a.n[1]};
        store_bytes<8 * NK>(
            a, [&](int h, int i) { return c[i % 4][2 * h + i / 4]; }, to, stored,
            [&](int i) { return slice[i / 8][i / 2 % 4][i % 2]; },
            [&](int h, int i) { return exact_byte(a, tile.in + x + i, y + g + 8 * h, a.n[1], a.in_stride[1]); });
    }
}
