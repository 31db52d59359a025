// One step of taps along the rows of an array of small integers (bytes.cuh).
//
//     out(y, x) = trunc( sum over k of  w[k] * u(y, x + k) )
//
// A warp marches along 32 rows, two tiles of 16, 32 columns at a time: the window times a band
// matrix for each of 4 n-tiles.
//
//     rows g, g + 8 of a tile: lane (g, t) loads columns 8t .. 8t + 7 of a slice; they are its
//         columns 4t .. 4t + 3, 4t + 16 .. 4t + 19, and the rows of the bands are ordered likewise
//     column 2t + e of n-tile 2p + b is column 16p + 4t + 2b + e of the result, so that a lane's
//         results are columns 4t .. 4t + 3 and 4t + 16 .. 4t + 19 of its rows
//
// Reads STORE, UNSIGNED, DIGITS, INTEGERS, NEGATIVE, ALIGNED (rows of whole runs of 8 elements,
// aligned to them), WARPS, TAPS_LOW, TAPS_HIGH and their sides.
#include "typed/bytes.cuh"

constexpr int PAD = (TAPS_LOW + 7) / 8 * 8, SLICES = (PAD + 32 + TAPS_HIGH + 31) / 32, RUN = 2 * PLANES;

// A lane's words of a slice from column x on, of its four rows.
__device__ __forceinline__ void load_slice(const bytes_arguments &a, const STORE *const (&row)[4], long long x, int t,
                                           unsigned (&word)[4][RUN]) {
    if (x >= 0 && x + 32 <= a.n[2]) {
#pragma unroll
        for (int h = 0; h < 4; h++) load_words(row[h] + x + 8 * t, word[h]);
        return;
    }
#pragma unroll 1
    for (int i = 0; i < 8; i++) {
        const long long at = source_index(x + 8 * t + i, a.n[2]);
#pragma unroll
        for (int h = 0; h < 4; h++) append_element(word[h], i, at < 0 ? a.past[at == PAST_HIGH] : bits_at(row[h] + at));
    }
}

// Converts these words to fragments, by tile and plane.
__device__ __forceinline__ void convert(const unsigned (&word)[4][RUN], unsigned (&slice)[2][PLANES][4]) {
#pragma unroll
    for (int h = 0; h < 4; h++)
#pragma unroll
        for (int r = 0; r < 2; r++)
#pragma unroll
            for (int p = 0; p < PLANES; p++)
                slice[h / 2][p][h % 2 + 2 * r] =
                    plane_of(word[h][r * PLANES] ^ FLIP, word[h][(r + 1) * PLANES - 1] ^ FLIP, p);
}

extern "C" __global__ void __launch_bounds__(32 * WARPS) typed_rows(const __grid_constant__ bytes_arguments a) {
    const bytes_tile tile = tile_of(a);
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const long long y = (tile.y * WARPS + threadIdx.x / 32) * 32, first = tile.x * a.steps * 32, last = a.n[1] - 1;
    if (y > last) return;
    const STORE *row[4];
#pragma unroll
    for (int h = 0; h < 4; h++) row[h] = tile.in + (y + 8 * h + g < last ? y + 8 * h + g : last) * a.in_stride[1];
    unsigned band[4][SLICES][DIGITS][2], slice[SLICES][2][PLANES][4], word[4][RUN] = {};
#pragma unroll
    for (int i = 0; i < 4 * SLICES * DIGITS; i++)
        load_run(band[i / (SLICES * DIGITS)][i / DIGITS % SLICES][i % DIGITS], a.bands + (i * 32 + lane) * 2);
#pragma unroll
    for (int s = 1; s < SLICES; s++) {
        load_slice(a, row, first + 32 * (s - 1) - PAD, t, word);
        convert(word, slice[s]);
    }
    load_slice(a, row, first + 32 * (SLICES - 1) - PAD, t, word);
#pragma unroll 1
    for (int step = 0; step < a.steps; step++) {
        const long long x0 = first + 32 * step;
        if (x0 >= a.n[2]) break;
        __syncwarp();  // lanes leave `decide` one by one
#pragma unroll
        for (int s = 0; s + 1 < SLICES; s++)
#pragma unroll
            for (int i = 0; i < 8 * PLANES; i++)
                slice[s][i / (4 * PLANES)][i / 4 % PLANES][i % 4] =
                    slice[s + 1][i / (4 * PLANES)][i / 4 % PLANES][i % 4];
        convert(word, slice[SLICES - 1]);
        // The next step's words arrive during this one.
        if (step + 1 < a.steps) load_slice(a, row, x0 + 32 * SLICES - PAD, t, word);
        unsigned unsure = 0;
#pragma unroll
        for (int tall = 0; tall < 2; tall++)
#pragma unroll
            for (int p = 0; p < 2; p++) {
                unsigned run[2][PLANES] = {};
#pragma unroll
                for (int b = 0; b < 2; b++) {
                    int c[LEVELS][4] = {};
#pragma unroll
                    for (int s = 0; s < SLICES; s++)
#pragma unroll
                        for (int d = 0; d < DIGITS * PLANES; d++)
                            if (reaches<PAD>(p, s))
                                mma_s8_m16n8k32(c[d / PLANES + d % PLANES], slice[s][tall][d % PLANES],
                                                band[2 * p + b][s][d / PLANES]);
#pragma unroll
                    for (int i = 0; i < 4; i++)
                        put_element(run[i / 2], 2 * b + i % 2,
                                    truncated(
                                        a, [&](int m) { return c[m][i]; }, unsure));
                }
                const long long x = x0 + 16 * p + 4 * t;
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    const long long at = y + 16 * tall + 8 * h + g;
                    if (at <= last) store_words(tile.out + at * a.out_stride[1] + x, run[h], a.n[2] - x);
                }
            }
        if (INTEGERS || !__any_sync(ALL, unsure != 0)) continue;
        const bool flat = is_flat_warp<8 * SLICES>([&](int p, int i) { return slice[i / 8][i / 4 % 2][p][i % 4]; });
        bool known = false;
        STORE value;
        unsure = __brev(unsure);  // by tall, p, b, h and e
#pragma unroll 1
        for (int k = 0; k < 8; k++) {
            const long long x = x0 + 16 * (k % 2) + 4 * t, at = y + 8 * (k / 2) + g;
            unsigned doubted = 0;
#pragma unroll
            for (int i = 0; i < 4; i++)
                doubted |= (unsure >> (k / 4 * 16 + k % 2 * 8 + i / 2 * 4 + k / 2 % 2 * 2 + i % 2) & 1u) << i;
            if (at > last || x >= a.n[2]) continue;
            if (x + 4 > a.n[2]) doubted &= (1u << (a.n[2] - x)) - 1;
            const STORE *const line = tile.in + at * a.in_stride[1];
            constexpr int LOW = (TAPS_LOW + 3) / 4 * 4, HIGH = (TAPS_HIGH + 3) / 4 * 4;
            decide<4>(
                doubted, tile.out + at * a.out_stride[1] + x,
                [&] {
                    if (flat) return true;
                    if (x < LOW || x + 4 + HIGH > a.n[2]) return false;
                    return are_flat<PLANES>((LOW + 4 + HIGH) / 4, [&](int i, unsigned(&to)[PLANES]) {
                        load_words(line + x - LOW + 4 * i, to);
                    });
                },
                [&](int i) {
                    if (!known) value = exact_element(a, line, x + i, a.n[2], 1), known = flat;
                    return value;
                });
        }
    }
}
