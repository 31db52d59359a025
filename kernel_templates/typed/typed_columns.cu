// One step of taps along an axis across the rows of an array of small integers (bytes.cuh).
//
//     out(y, x) = trunc( sum over k of  w[k] * u(y + k, x) )
//
// A warp marches down 32 columns, 32 rows at a time: two tiles of 16 rows of results are band
// matrices times the window. Lane (g, t) loads columns 4g .. 4g + 3 of rows 4t .. 4t + 3 and
// 4t + 16 .. 4t + 19 of a slice: column g of n-tile j is column 4g + j, so that a lane's results
// are columns 8t .. 8t + 7 of rows g, g + 8, g + 16, g + 24.
//
// Reads STORE, UNSIGNED, DIGITS, INTEGERS, NEGATIVE, ALIGNED (rows of whole runs of 8 elements,
// aligned to them), WARPS, TAPS_LOW, TAPS_HIGH and their sides.
#include "typed/bytes.cuh"

constexpr int SLICES = (TAPS_LOW + 32 + TAPS_HIGH + 31) / 32;

// The words of a lane's eight rows of a slice that begins with row y.
__device__ __forceinline__ void load_slice(const bytes_arguments &a, const STORE *in, long long y, long long x, int t,
                                           unsigned (&word)[8][PLANES]) {
    const bool whole = x + 4 <= a.n[2];
    if (y >= 0 && y + 32 <= a.n[1] && whole) {
        const STORE *const at = in + (y + 4 * t) * a.in_stride[1] + x;
#pragma unroll
        for (int i = 0; i < 8; i++) load_words(at + (i % 4 + i / 4 * 16) * a.in_stride[1], word[i]);
        return;
    }
#pragma unroll 1
    for (int i = 0; i < 8; i++) {
        const long long at = source_index(y + 4 * t + i % 4 + i / 4 * 16, a.n[1]);
        const STORE *const row = in + at * a.in_stride[1];
        unsigned one[PLANES] = {};
        if (at < 0) {
#pragma unroll
            for (int v = 0; v < PLANES; v++) one[v] = a.past[at == PAST_HIGH];
        } else if (whole)
            load_words(row + x, one);
        else
#pragma unroll
            for (int k = 0; k < 4; k++) put_element(one, k, bits_at(row + (x + k < a.n[2] ? x + k : a.n[2] - 1)));
#pragma unroll
        for (int k = 0; k < 8; k++)
#pragma unroll
            for (int v = 0; v < PLANES; v++) word[k][v] = i == k ? one[v] : word[k][v];
    }
}

// Converts these words to fragments, by n-tile and plane.
__device__ __forceinline__ void convert(const unsigned (&word)[8][PLANES], unsigned (&slice)[4][PLANES][2]) {
#pragma unroll
    for (int r = 0; r < 2; r++)
#pragma unroll
        for (int v = 0; v < PLANES; v++) {
            unsigned four[4];
#pragma unroll
            for (int b = 0; b < 4; b++) four[b] = word[4 * r + b][v] ^ FLIP;
            transpose_bytes(four);
#pragma unroll
            for (int i = 0; i < 4; i++) slice[(4 * v + i) / PLANES][i % PLANES][r] = four[i];
        }
}

extern "C" __global__ void __launch_bounds__(32 * WARPS) typed_columns(const __grid_constant__ bytes_arguments a) {
    const bytes_tile tile = tile_of(a);
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const long long x0 = (tile.x * WARPS + threadIdx.x / 32) * 32, first = tile.y * a.steps * 32;
    if (x0 >= a.n[2]) return;
    // Lanes past the row's end load its last columns.
    const long long from = x0 + 4 * g < a.n[2] ? x0 + 4 * g : a.n[2] < 4 ? 0 : a.n[2] - 4, x = x0 + 8 * t;
    unsigned band[2][SLICES][DIGITS][4], slice[SLICES][4][PLANES][2], word[8][PLANES] = {};
#pragma unroll
    for (int i = 0; i < 2 * SLICES * DIGITS; i++)
        load_run(band[i / (SLICES * DIGITS)][i / DIGITS % SLICES][i % DIGITS], a.bands + (i * 32 + lane) * 4);
#pragma unroll
    for (int s = 1; s < SLICES; s++) {
        load_slice(a, tile.in, first + 32 * (s - 1) - TAPS_LOW, from, t, word);
        convert(word, slice[s]);
    }
    load_slice(a, tile.in, first + 32 * (SLICES - 1) - TAPS_LOW, from, t, word);
#pragma unroll 1
    for (int step = 0; step < a.steps; step++) {
        const long long y = first + 32 * step;
        if (y >= a.n[1]) break;
        __syncwarp();  // lanes leave `decide` one by one
#pragma unroll
        for (int s = 0; s + 1 < SLICES; s++)
#pragma unroll
            for (int i = 0; i < 8 * PLANES; i++)
                slice[s][i / (2 * PLANES)][i / 2 % PLANES][i % 2] =
                    slice[s + 1][i / (2 * PLANES)][i / 2 % PLANES][i % 2];
        convert(word, slice[SLICES - 1]);
        // The next step's words arrive during this one.
        if (step + 1 < a.steps) load_slice(a, tile.in, y + 32 * SLICES - TAPS_LOW, from, t, word);
        unsigned unsure = 0;
#pragma unroll
        for (int tall = 0; tall < 2; tall++) {
            unsigned run[2][2 * PLANES] = {};
#pragma unroll
            for (int j = 0; j < 4; j++) {
                int c[LEVELS][4] = {};
#pragma unroll
                for (int s = 0; s < SLICES; s++)
#pragma unroll
                    for (int d = 0; d < DIGITS * PLANES; d++)
                        if (reaches<TAPS_LOW>(tall, s))
                            mma_s8_m16n8k32(c[d / PLANES + d % PLANES], band[tall][s][d / PLANES],
                                            slice[s][j][d % PLANES]);
#pragma unroll
                for (int i = 0; i < 4; i++)
                    put_element(run[i / 2], i % 2 * 4 + j,
                                truncated(
                                    a, [&](int m) { return c[m][i]; }, unsure));
            }
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const long long row = y + 16 * tall + 8 * h + g;
                if (row < a.n[1]) store_words(tile.out + row * a.out_stride[1] + x, run[h], a.n[2] - x);
            }
        }
        if (INTEGERS || !__any_sync(ALL, unsure != 0)) continue;
        const bool flat = is_flat_warp<8 * SLICES>([&](int p, int i) { return slice[i / 8][i / 2 % 4][p][i % 2]; });
        bool known = false;
        STORE value;
        unsure = __brev(unsure);  // by tall, j, h and half of a run
#pragma unroll 1
        for (int k = 0; k < 4; k++) {
            const long long row = y + 8 * k + g;
            unsigned doubted = 0;
#pragma unroll
            for (int i = 0; i < 8; i++) doubted |= (unsure >> (k / 2 * 16 + i % 4 * 4 + k % 2 * 2 + i / 4) & 1u) << i;
            if (row >= a.n[1] || x >= a.n[2]) continue;
            if (x + 8 > a.n[2]) doubted &= (1u << (a.n[2] - x)) - 1;
            const STORE *const line = tile.in + x;
            decide<8>(
                doubted, tile.out + row * a.out_stride[1] + x,
                [&] {
                    if (flat) return true;
                    if (row < TAPS_LOW || row + TAPS_HIGH >= a.n[1] || x + 8 > a.n[2]) return false;
                    return are_flat<2 * PLANES>(TAPS_LOW + 1 + TAPS_HIGH, [&](int i, unsigned(&to)[2 * PLANES]) {
                        load_words(line + (row - TAPS_LOW + i) * a.in_stride[1], to);
                    });
                },
                [&](int i) {
                    if (!known) value = exact_element(a, line + i, row, a.n[1], a.in_stride[1]), known = flat;
                    return value;
                });
        }
    }
}
