// One step of taps along two axes of an array of small integers (bytes.cuh).
//
//     out(y, x) = trunc( (sum over taps of  w * u(y + tap.y, x + tap.x)) / divisor )
//
// A block stages its tile of 16 WARPS x 64 points with the taps' reach around it in shared memory,
// as bytes. A warp makes 32 x 32 results, 16 x 8 by each product. The product's k-slice of 32 is 32
// columns of one row (WINDOW 32), or 16 columns of each of two rows (WINDOW 16, TOGETHER 2):
//
//     rows y + g, y + g + 8 of the tile      row 1    row 2         the band of their weights
//     [columns x - PAD .. x - PAD + 15]   [u u u u|u u u u]   x   [w of row 1, 16 x 8 columns]
//                                                                 [w of row 2                ]
//
// The band is the same for all results. Lanes then exchange results, so that lane (g, t) stores
// columns 8t .. 8t + 7.
//
// Reads STORE, UNSIGNED, DIGITS, INTEGERS, NEGATIVE, TOP, ALIGNED (rows of whole runs of 8
// elements, aligned to them), WARPS, X_LOW, X_HIGH and their sides (along x), Y_LOW .. Y_SIDE_HIGH.
#include "typed/bytes.cuh"

constexpr int PAD = (X_LOW + 3) / 4 * 4, WINDOW = PAD + 8 + X_HIGH <= 16 ? 16 : 32, TOGETHER = 32 / WINDOW;
static_assert(PAD + 8 + X_HIGH <= 32, "the columns of a k-slice");
constexpr int PRODUCTS = (Y_LOW + 1 + Y_HIGH + TOGETHER - 1) / TOGETHER;
// WORDS: words of a row that are read. PITCH: words from row to row, such that eight rows are in
// different banks.
constexpr int TILE_ROWS = 16 * WARPS + TOGETHER * PRODUCTS - 1, WORDS = (56 + WINDOW) / 4,
              PITCH = WINDOW == 16 ? 20 : 28;

using byte_tile = unsigned[PLANES][TILE_ROWS][PITCH];

__device__ __forceinline__ void stage(const bytes_arguments &a, const STORE *in, long long y, long long x,
                                      byte_tile &tile) {
#pragma unroll 4
    for (int i = threadIdx.x; i < TILE_ROWS * WORDS; i += 32 * WARPS) {
        const int row = i / WORDS, column = i % WORDS;
        unsigned four[PLANES] = {};
        load_four(a, in, y - Y_LOW + row, x - PAD + 4 * column, four);
#pragma unroll
        for (int p = 0; p < PLANES; p++) tile[p][row][column] = plane_of(four[0], four[PLANES - 1], p);
    }
}

// The element at a row and a column of a tile of bytes, by plane and row.
__device__ __forceinline__ int element_at(const byte_tile &tile, int row, int column) {
    unsigned bits = 0;
#pragma unroll
    for (int p = 0; p < PLANES; p++) bits |= (tile[p][row][column / 4] >> (column % 4 * 8) & 0xffu) << (8 * p);
    return number_of(bits);
}

// Whether the points that the warp reads for its results in rows `row` to row + 15 are all equal.
__device__ __forceinline__ bool has_one_value(const byte_tile &tile, int row, int word, int lane) {
    constexpr int WIDE = (24 + WINDOW) / 4, COUNT = (15 + TOGETHER * PRODUCTS) * WIDE;
    unsigned differs = 0;
#pragma unroll
    for (int p = 0; p < PLANES; p++) {
        const unsigned first = __byte_perm(tile[p][row][word], 0, 0);
#pragma unroll 1
        for (int i = lane; i < COUNT; i += 32) differs |= tile[p][row + i / WIDE][word + i % WIDE] ^ first;
    }
    return __all_sync(ALL, !differs);
}

// Exchanges unit[i] of lane t of a quad with unit[t] of lane i, for all i and t.
__device__ __forceinline__ void transpose_quad(unsigned (&unit)[4], int t) {
#pragma unroll
    for (int bit = 1; bit <= 2; bit *= 2)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if (i & bit) continue;
            const bool upper = t & bit;
            const unsigned got = __shfl_xor_sync(ALL, upper ? unit[i] : unit[i ^ bit], bit);
            unit[i] = upper ? got : unit[i], unit[i ^ bit] = upper ? unit[i ^ bit] : got;
        }
}

extern "C" __global__ void __launch_bounds__(32 * WARPS) typed_box(const __grid_constant__ bytes_arguments a) {
    __shared__ byte_tile tile;
    const bytes_tile place = tile_of(a);
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4, warp = threadIdx.x / 32;
    const int left = warp % 2 * 32, top = warp / 2 * 32;
    const long long x0 = place.x * 64, y0 = place.y * 16 * WARPS;
    stage(a, place.in, y0, x0, tile);
    __syncthreads();
    if (x0 + left >= a.n[2]) return;
#pragma unroll 1
    for (int from = top; from < top + 32; from += 16) {
        if (y0 + from >= a.n[1]) break;
        int c[4][LEVELS][4];
#pragma unroll
        for (int i = 0; i < 4 * LEVELS * 4; i++) c[i / 4 / LEVELS][i / 4 % LEVELS][i % 4] = start_of(a, i / 4 % LEVELS);
#pragma unroll 2
        for (int q = 0; q < PRODUCTS; q++) {
            unsigned band[DIGITS][2];
#pragma unroll
            for (int d = 0; d < DIGITS; d++) load_run(band[d], a.bands + ((q * DIGITS + d) * 32 + lane) * 2);
#pragma unroll
            for (int j = 0; j < 4; j++) {
                unsigned slice[PLANES][4];
#pragma unroll
                for (int i = 0; i < 4 * PLANES; i++)
                    slice[i / 4][i % 4] =
                        tile[i / 4][from + g + i % 2 * 8 + q * TOGETHER + (TOGETHER == 2 ? i / 2 % 2 : 0)]
                            [left / 4 + 2 * j + t + (TOGETHER == 2 ? 0 : i / 2 % 2 * 4)];
#pragma unroll
                for (int d = 0; d < DIGITS * PLANES; d++)
                    multiply_bytes(c[j][d / PLANES + d % PLANES], d % PLANES, slice[d % PLANES], band[d / PLANES],
                                   c[j][d / PLANES + d % PLANES]);
            }
        }
        unsigned unsure = 0;
#pragma unroll
        for (int h = 0; h < 2; h++) {
            unsigned unit[4];  // results 2t and 2t + 1 of each group of 8 columns
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const unsigned result[2] = {result_of(a, [&](int m) { return c[j][m][2 * h]; }),
                                            result_of(a, [&](int m) { return c[j][m][2 * h + 1]; })};
                unit[j] = two_of(result[0], result[1]);
                unsure |= doubts_of(a, result) << (8 * h + 2 * j);
            }
            transpose_quad(unit, t);
            unsigned run[2 * PLANES];
#pragma unroll
            for (int i = 0; i < 2 * PLANES; i++)
                run[i] = PLANES == 2 ? unit[i] : __byte_perm(unit[2 * i % 4], unit[2 * i % 4 + 1], 0x5410);
            const long long y = y0 + from + 8 * h + g, x = x0 + left + 8 * t;
            if (y < a.n[1]) store_words(place.out + y * a.out_stride[1] + x, run, a.n[2] - x);
        }
        if (INTEGERS || !__any_sync(ALL, unsure != 0)) continue;
        const bool same = has_one_value(tile, from, left / 4, lane);
        __syncwarp();  // the results that are replaced have been stored by other lanes
        bool known = false;
        STORE value{};
#pragma unroll 1
        for (; unsure; unsure &= unsure - 1) {
            const int k = __ffs(static_cast<int>(unsure)) - 1, row = from + k / 8 * 8 + g,
                      column = left + k / 2 % 4 * 8 + 2 * t + k % 2;
            const long long y = y0 + row, x = x0 + column;
            if (y >= a.n[1] || x >= a.n[2]) continue;
            if (!known)
                put(&value, exact_sum<4>(a, a.terms, [&](int dy, int dx) {
                    return element_at(tile, row + Y_LOW + dy, column + PAD + dx);
                }));
            known = same;
            place.out[y * a.out_stride[1] + x] = value;
        }
        __syncwarp();
    }
}
