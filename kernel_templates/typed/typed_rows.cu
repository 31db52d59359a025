// One step of taps along the rows of an array of bytes (bytes.cuh).
//
//     out(y, x) = trunc( sum over k of  w[k] * u(y, x + k) )
//
// A warp marches along 16 rows, 32 columns at a time: a window of NK k-slices of 16 columns, the
// last two of which are new in each iteration, times a band matrix for each of 4 n-tiles:
//
//     rows g, g + 8: lane (g, t) loads columns 4t .. 4t + 3 of a k-slice; they are its columns
//                    2t, 2t + 1, 2t + 8, 2t + 9, and the rows of the bands are ordered likewise
//     column 2t + e of n-tile j is column 8t + 2j + e of the result, so that a lane's results are 8
//     bytes of rows g and g + 8
//
// Reads KT (k-slices that the taps reach to each side), WARPS, CHUNK (iterations of a warp),
// INTEGERS, TAPS_LOW, TAPS_HIGH and their sides.
#include "typed/bytes.cuh"

constexpr int NK = 2 + 2 * KT;

__device__ __forceinline__ unsigned word_at(const bytes_arguments &a, const unsigned char *row, long long x) {
    if (x >= 0 && x < a.n[2]) return *reinterpret_cast<const unsigned *>(row + x);
    unsigned word = 0;
#pragma unroll 1
    for (int i = 0; i < 4; i++) {
        const long long at = source_index(x + i, a.n[2]);
        word |= (at < 0 ? static_cast<unsigned>(a.past[at == PAST_HIGH]) & 0xffu : row[at]) << (8 * i);
    }
    return word;
}

// The words of one k-slice, columns x to x + 15, of rows g and g + 8.
__device__ __forceinline__ void load_words(const bytes_arguments &a, const unsigned char *const (&row)[2], long long x,
                                           int t, unsigned (&word)[2]) {
    const bool inside = x >= 0 && x + 16 <= a.n[2];
#pragma unroll
    for (int h = 0; h < 2; h++)
        word[h] = inside ? *reinterpret_cast<const unsigned *>(row[h] + x + 4 * t) : word_at(a, row[h], x + 4 * t);
}

// Their fragment.
__device__ __forceinline__ void convert(const unsigned (&word)[2], unsigned (&slice)[4]) {
#pragma unroll
    for (int h = 0; h < 2; h++) {
        slice[h] = centred(__byte_perm(word[h], 0x64u, 0x4140));
        slice[h + 2] = centred(__byte_perm(word[h], 0x64u, 0x4342));
    }
}

extern "C" __global__ void __launch_bounds__(32 * WARPS) typed_rows(const __grid_constant__ bytes_arguments a) {
    const bytes_tile tile = tile_of(a);
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const long long y = (tile.y * WARPS + threadIdx.x / 32) * 16, first = tile.x * CHUNK * 32, last = a.n[1] - 1;
    if (y > last) return;
    const unsigned char *const row[2] = {tile.in + (y + g < last ? y + g : last) * a.in_stride[1],
                                         tile.in + (y + g + 8 < last ? y + g + 8 : last) * a.in_stride[1]};
    unsigned band[PARTS][4][NK][2], slice[NK][4];
#pragma unroll
    for (int i = 0; i < PARTS * 4 * NK * 2; i++)
        band[i / (8 * NK)][i / (2 * NK) % 4][i / 2 % NK][i % 2] = a.bands[(i / 2 * 32 + lane) * 2 + i % 2];
    unsigned word[2][2];
#pragma unroll
    for (int k = 2; k < NK; k++) {
        load_words(a, row, first + 16 * (k - 2 - KT), t, word[0]);
        convert(word[0], slice[k]);
    }
#pragma unroll
    for (int i = 0; i < 2; i++) load_words(a, row, first + 16 * (KT + i), t, word[i]);
#pragma unroll 1
    for (int step = 0; step < CHUNK; step++) {
        const long long x0 = first + 32 * step, x = x0 + 8 * t;
        if (x0 >= a.n[2]) break;
        __syncwarp();  // lanes leave store_bytes one by one
#pragma unroll
        for (int k = 0; k + 2 < NK; k++)
#pragma unroll
            for (int i = 0; i < 4; i++) slice[k][i] = slice[k + 2][i];
#pragma unroll
        for (int i = 0; i < 2; i++) {
            convert(word[i], slice[NK - 2 + i]);
            // The next iteration's words arrive during this one.
            if (step + 1 < CHUNK) load_words(a, row, x0 + 32 + 16 * (KT + i), t, word[i]);
        }
        float c[4][4] = {};
        // The small parts of the weights first, while the sums are small.
#pragma unroll
        for (int part = PARTS - 1; part >= 0; part--)
#pragma unroll
            for (int k = 0; k < NK; k++)
#pragma unroll
                for (int j = 0; j < 4; j++) mma_f16_m16n8k16(c[j], slice[k], band[part][j][k]);
        unsigned char *const to[2] = {tile.out + (y + g) * a.out_stride[1] + x,
                                      tile.out + (y + g + 8) * a.out_stride[1] + x};
        const bool stored[2] = {x < a.n[2] && y + g <= last, x < a.n[2] && y + g + 8 <= last};
        store_bytes<4 * NK>(
            a, [&](int h, int i) { return c[i / 2][2 * h + i % 2]; }, to, stored,
            [&](int i) { return slice[i / 4][i % 4]; },
            [&](int h, int i) { return exact_byte(a, h ? row[1] : row[0], x + i, a.n[2], 1); });
    }
}
