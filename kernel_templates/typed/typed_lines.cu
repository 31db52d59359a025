// One step of taps along axis 1 or along axis 2 of an array of small integers (bytes.cuh).
//
//     out(y, x) = trunc( sum over k of  w[k] * u(y + k, x) )        if taps reach along y
//     out(y, x) = trunc( sum over k of  w[k] * u(y, x + k) )        if taps reach along x
//
// A block makes TYPED_ROWS x 32 UNITS results. It copies its window of u, ROWS_IN rows of 32 WARPS
// columns from LEFT before the results on, to shared memory. Along y each warp makes 32 columns of
// results; along x it makes results 16 x 32 at a time.
//
// A product makes 8 results along the axis of the taps of each of 16 lines (columns or rows):
//
//     16 lines of [a window of 32 SLICES points]   x   [band of weights, 32 x 8 a slice]
//
// The lines are matrix a. Of a slice of a row, lane (g, t) has points 4t .. 4t + 3 and those 16
// further; of a column, points 2t, 2t + 1, 2t + 8, 2t + 9 and those 16 further, as ldmatrix loads
// them, and the rows of the band are in that order.
//
// Reads STORE, UNSIGNED, DIGITS, INTEGERS, NEGATIVE, TOP, ALIGNED (rows of whole runs of 8
// elements, aligned to them), WARPS, BLOCKS, TYPED_ROWS, Y_LOW .. X_SIDE_HIGH.
#include "typed/bytes.cuh"

constexpr bool ALONG_COLUMNS = Y_LOW + Y_HIGH > 0;
constexpr int WIDTH = 32 * WARPS;  // of the window
constexpr int SLICES_Y = (Y_LOW + 8 + Y_HIGH + 31) / 32, SLICES_X = ((X_LOW + 3) / 4 * 4 + 8 + X_HIGH + 31) / 32;
// Columns in shared memory before the results, and before the window of the first of them.
constexpr int LEFT = (X_LOW + 15) / 16 * 16, SKIPPED = LEFT - (X_LOW + 3) / 4 * 4;
constexpr int UNITS = ALONG_COLUMNS ? WARPS : (WIDTH + 8 - SKIPPED - 32 * SLICES_X) / 32;
constexpr int ROWS_IN = ALONG_COLUMNS ? TYPED_ROWS - 8 + 32 * SLICES_Y : TYPED_ROWS;
static_assert(UNITS > 0 && TYPED_ROWS % 16 == 0 && ROWS_IN % WARPS == 0, "the shape of a block");

// A row has 16 bytes more, so that eight rows are in different banks.
using in_tile = STORE[ROWS_IN][WIDTH + 16 / PLANES];
using out_tile = STORE[TYPED_ROWS][WIDTH + 16 / PLANES];
using plane_tile = unsigned[PLANES][TYPED_ROWS][WIDTH / 4 + 4];
using result_tile = unsigned[16][10 * PLANES];
// Along x bytes are used where they are, and larger elements are split by planes first.
constexpr int IN_BYTES = sizeof(in_tile), PLANE_BYTES = PLANES == 2 ? sizeof(plane_tile) : 0;
static_assert(shared_bytes_match(IN_BYTES +
                                 (ALONG_COLUMNS ? sizeof(out_tile) : PLANE_BYTES + WARPS * sizeof(result_tile))),
              "the launcher's size of shared memory");

template <int SLICES>
using band_fragments = unsigned[SLICES][DIGITS][2];
template <int SLICES>
__device__ __forceinline__ void load_bands(const bytes_arguments &a, band_fragments<SLICES> &band) {
#pragma unroll
    for (int i = 0; i < SLICES * DIGITS; i++)
        load_run(band[i / DIGITS][i % DIGITS], a.bands + (i * 32 + threadIdx.x % 32) * 2);
}

// Makes 16 results along the axis of each of 16 lines: result[4 n + 2 h + e] is number
// 8 n + 2 t + e of line g + 8 h. `word(q, plane, h)` is the lane's word of line g + 8 h for 16
// points from 8 q on.
template <int SLICES, class WORD>
__device__ __forceinline__ void multiply(const bytes_arguments &a, const band_fragments<SLICES> &band, WORD word,
                                         unsigned (&result)[8]) {
#pragma unroll
    for (int n = 0; n < 2; n++) {
        int c[LEVELS][4] = {};
#pragma unroll
        for (int s = 0; s < SLICES; s++)
#pragma unroll
            for (int p = 0; p < PLANES; p++) {
                const int q = n + 4 * s;
                const unsigned lines[4] = {word(q, p, 0), word(q, p, 1), word(q + 2, p, 0), word(q + 2, p, 1)};
#pragma unroll
                for (int d = 0; d < DIGITS; d++) multiply_bytes(c[d + p], p, lines, band[s][d], c[d + p]);
            }
#pragma unroll
        for (int i = 0; i < 4; i++) result[4 * n + i] = result_of(a, [&](int m) { return c[m][i]; });
    }
}

// Sets the results in doubt to the host's. `doubts` has a bit for each of the lane's two groups of
// eight. Results of a line whose window has one value are equal: flat(k, h, v) tells whether line h
// of group k has only v. Otherwise eight lanes compute a group; exact(lane, k, i) gives the host's
// sum for result i of a lane's group k, and replace(lane, k, i, bits) writes it.
template <class FLAT, class EXACT, class REPLACE>
__device__ __forceinline__ void correct(const bytes_arguments &a, unsigned doubts, FLAT flat, EXACT exact,
                                        REPLACE replace) {
    const int lane = threadIdx.x % 32;
#pragma unroll 1
    for (int k = 0; k < 2; k++) {
        bool left = doubts >> k & 1u;
        if (!__any_sync(ALL, left)) continue;
        bool all_known = true;
#pragma unroll 1
        for (int h = 0; h < 2; h++) {
            double v;
            const bool known = flat(k, h, v);
            all_known = all_known && known;
            if (!left || !known) continue;
            const unsigned bits = low_bits_of(exact_sum<4>(a, [&](int, int) { return v; }));
#pragma unroll
            for (int i = 0; i < 4; i++) replace(lane, k, i / 2 * 4 + 2 * h + i % 2, bits);
        }
        left = left && !all_known;
        __syncwarp();  // a group may have a line of each kind
#pragma unroll 1
        for (unsigned rest = __ballot_sync(ALL, left); rest;) {
            unsigned mine = 0;
#pragma unroll
            for (int i = 0; i < 4; i++) {
                if (i == lane / 8) mine = rest;
                rest &= rest - 1;
            }
            if (!mine) continue;
            const int of = __ffs(static_cast<int>(mine)) - 1, i = lane % 8;
            replace(of, k, i, low_bits_of(exact(of, k, i)));
        }
        __syncwarp();
    }
}

// Whether a quad's `count` elements have one value, the first; lane t reads every fourth of them.
template <class ELEMENT>
__device__ __forceinline__ bool are_equal(int count, double &first, ELEMENT element) {
    unsigned differ = 0;
    first = element(0);
#pragma unroll 4
    for (int i = threadIdx.x % 4; i < count; i += 4) differ |= element(i) != first;
    differ |= __shfl_xor_sync(ALL, differ, 1);
    differ |= __shfl_xor_sync(ALL, differ, 2);
    return !differ;
}

// Rows of the block that there are, and columns.
__device__ __forceinline__ int rows_of(const bytes_arguments &a, const bytes_tile &place) {
    const long long rows = a.n[1] - place.y * TYPED_ROWS;
    return rows < TYPED_ROWS ? static_cast<int>(rows) : TYPED_ROWS;
}
__device__ __forceinline__ int columns_of(const bytes_arguments &a, const bytes_tile &place) {
    const long long columns = a.n[2] - place.x * (32 * UNITS);
    return columns < 32 * UNITS ? static_cast<int>(columns) : 32 * UNITS;
}

// ---- the window ---------------------------------------------------------------------------------

// Starts copies of a run of 8 elements.
__device__ __forceinline__ void copy_run(STORE *to, const STORE *from) {
    if (PLANES == 2)
        copy_async_16(to, from);
    else
        copy_async_8(to, from);
}

// Copies the window of u; a lane copies a run of 8 columns of every eighth row.
__device__ __forceinline__ void load_window(const bytes_arguments &a, const bytes_tile &place, in_tile &in) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const long long x = place.x * (32 * UNITS) - LEFT + 8 * lane, y = place.y * TYPED_ROWS - Y_LOW;
    const bool whole = ALIGNED && x >= 0 && x + 8 <= a.n[2];
    if (whole && y >= 0 && y + ROWS_IN <= a.n[1]) {
        const STORE *from = place.in + (y + warp) * a.in_stride[1] + x;
#pragma unroll
        for (int row = 0; row < ROWS_IN; row += WARPS, from += WARPS * a.in_stride[1])
            copy_run(&in[row + warp][8 * lane], from);
        return;
    }
    // Columns that no result needs are those of the last one that is needed.
    long long column[8] = {};
#pragma unroll
    for (int i = 0; i < 8 && !whole; i++) column[i] = source_column(x + i, a.n[2]);
#pragma unroll 1
    for (int row = warp; row < ROWS_IN; row += WARPS) {
        const long long at = source_row(y + row, a.n[1]);
        const STORE *const from = place.in + (at < 0 ? 0 : at) * a.in_stride[1];
        STORE *const to = &in[row][8 * lane];
        if (whole && at >= 0) {
            copy_run(to, from + x);
            continue;
        }
#pragma unroll
        for (int i = 0; i < 8; i++)
            put_bits(to + i, at < 0          ? a.past[0][at == PAST_HIGH]
                             : column[i] < 0 ? a.past[1][column[i] == PAST_HIGH]
                                             : bits_at(from + (whole ? x + i : column[i])));
    }
}

// ---- along y ------------------------------------------------------------------------------------

// Result i of group k of lane (g, t) is in row row_of(lane, i) of 16 and column
// column_in(lane, k, i / 2 % 2) of the warp's 32.
__device__ __forceinline__ int row_of(int lane, int i) { return i / 4 * 8 + lane % 4 * 2 + i % 2; }
__device__ __forceinline__ int column_in(int lane, int k, int h) {
    return 16 * k + (PLANES == 2 ? 8 * h + lane / 4 : lane / 4 * 2 + h);
}

__device__ __forceinline__ void correct_columns(const bytes_arguments &a, const in_tile &in, unsigned doubts,
                                                out_tile &out) {
    const int lane = threadIdx.x % 32, unit = threadIdx.x / 32;
#pragma unroll 1
    for (int m = 0; m < TYPED_ROWS / 16; m++, doubts >>= 2) {
        if (!__any_sync(ALL, (doubts & 3u) != 0)) continue;
        const auto element = [&](int row, int column) { return to_double(in[16 * m + row][32 * unit + column]); };
        correct(
            a, doubts,
            [&](int k, int h, double &value) {
                return are_equal(8 + 32 * SLICES_Y, value,
                                 [&](int row) { return element(row, column_in(lane, k, h)); });
            },
            [&](int of, int k, int i) {
                return exact_sum<4>(a, [&](int, int offset) {
                    return element(row_of(of, i) + Y_LOW + offset, column_in(of, k, i / 2 % 2));
                });
            },
            [&](int of, int k, int i, unsigned bits) {
                put_bits(&out[16 * m + row_of(of, i)][32 * unit + column_in(of, k, i / 2 % 2)], bits);
            });
    }
}

// Makes the warp's 32 columns of results.
__device__ __forceinline__ void make_columns(const bytes_arguments &a, const bytes_tile &place, const in_tile &in,
                                             out_tile &out) {
    constexpr int GRANULES = ROWS_IN / 8;  // of 8 rows
    const int lane = threadIdx.x % 32, unit = threadIdx.x / 32, height = rows_of(a, place);
    unsigned doubts = 0;
    band_fragments<SLICES_Y> band;
    load_bands<SLICES_Y>(a, band);
    // 16 columns at a time, in one or two runs of 16 bytes.
#pragma unroll 1
    for (int k = 0; k < 2; k++) {
        unsigned rows[PLANES][(GRANULES + 3) / 4][4];
#pragma unroll
        for (int i = 0; i < (GRANULES + 3) / 4; i++)
#pragma unroll
            for (int p = 0; p < PLANES; p++) {
                const int row = 32 * i + lane;
                load_matrices_transposed(rows[p][i],
                                         &in[row < ROWS_IN ? row : ROWS_IN - 1][32 * unit + 16 * k + 8 * p]);
            }
#pragma unroll
        for (int m = 0; m < TYPED_ROWS / 16; m++) {
            if (16 * m >= height) break;
            unsigned result[8];
            multiply<SLICES_Y>(
                a, band,
                [&](int q, int p, int h) {
                    const int run = PLANES == 2 ? h : 0, from = 2 * m + q;
                    return __byte_perm(rows[run][from / 4][from % 4], rows[run][(from + 1) / 4][(from + 1) % 4],
                                       (PLANES == 2 ? p : h) ? 0x7531 : 0x6420);
                },
                result);
            if (in_doubt(a, result)) doubts |= 1u << (2 * m + k);
#pragma unroll
            for (int i = 0; i < 8; i++) {
                const int row = 16 * m + row_of(lane, i), column = 32 * unit + column_in(lane, k, i / 2 % 2);
                if (PLANES == 2)
                    put_bits(&out[row][column], result[i] >> FRACTION);
                else if (i / 2 % 2 == 0)
                    *reinterpret_cast<unsigned short *>(&out[row][column]) =
                        static_cast<unsigned short>(two_of(result[i], result[i + 2]));
            }
        }
    }
    if (INTEGERS || !__any_sync(ALL, doubts != 0)) return;
    __syncwarp();  // the results are stored
    correct_columns(a, in, doubts, out);
}

// Stores the warp's 32 columns of results.
__device__ __forceinline__ void store_columns(const bytes_arguments &a, const bytes_tile &place, const out_tile &tile) {
    const int g = threadIdx.x % 32 / 4, column = threadIdx.x / 32 * 32 + threadIdx.x % 4 * 8;
    const int height = rows_of(a, place), width = columns_of(a, place);
    STORE *const out = place.out + (place.y * TYPED_ROWS + g) * a.out_stride[1] + place.x * (32 * UNITS) + column;
#pragma unroll
    for (int i = 0; i < TYPED_ROWS; i += 8) {
        unsigned run[2 * PLANES];
#pragma unroll
        for (int k = 0; k < 2 * PLANES; k++) run[k] = reinterpret_cast<const unsigned *>(&tile[i + g][column])[k];
        if (i + g < height) store_words(out + i * a.out_stride[1], run, width - column);
    }
}

// ---- along x ------------------------------------------------------------------------------------

// Splits the window by planes.
__device__ __forceinline__ void split_planes(const in_tile &in, plane_tile &tile) {
    for (int i = threadIdx.x; i < TYPED_ROWS * WIDTH / 4; i += 32 * WARPS) {
        const int row = i / (WIDTH / 4), word = i % (WIDTH / 4);
        const unsigned *const from = reinterpret_cast<const unsigned *>(&in[row][4 * word]);
#pragma unroll
        for (int p = 0; p < PLANES; p++) tile[p][row][word] = plane_of(from[0], from[PLANES - 1], p);
    }
}

// The units of 16 rows and 32 columns that a warp makes.
struct row_unit {
    int top, unit;
};
__device__ __forceinline__ row_unit first_unit() {
    const int warp = threadIdx.x / 32;
    return {warp % (TYPED_ROWS / 16) * 16, warp / (TYPED_ROWS / 16)};
}
__device__ __forceinline__ row_unit next_unit(row_unit at) {
    at.top += WARPS % (TYPED_ROWS / 16) * 16, at.unit += WARPS / (TYPED_ROWS / 16);
    if (at.top >= TYPED_ROWS) at.top -= TYPED_ROWS, at.unit++;
    return at;
}

__device__ __forceinline__ int column_of(int lane, int k, int i) { return 16 * k + i / 4 * 8 + lane % 4 * 2 + i % 2; }

// Result i of group k of lane (g, t) is in row g + i / 2 % 2 * 8 and column column_of(lane, k, i)
// of the unit.
__device__ __forceinline__ void correct_rows(const bytes_arguments &a, const bytes_tile &place, const plane_tile &tile,
                                             unsigned doubts) {
    const int lane = threadIdx.x % 32;
#pragma unroll 1
    for (row_unit at = first_unit(); __any_sync(ALL, doubts != 0); at = next_unit(at), doubts >>= 2) {
        if (!__any_sync(ALL, (doubts & 3u) != 0)) continue;
        const int top = at.top, unit = at.unit;
        correct(
            a, doubts,
            [&](int k, int h, double &value) {
                const int row = top + lane / 4 + 8 * h, column = SKIPPED + 32 * unit + 16 * k;
                return are_equal(8 + 32 * SLICES_X, value, [&](int i) { return element_at(tile, row, column + i); });
            },
            [&](int of, int k, int i) {
                const int row = top + of / 4 + i / 2 % 2 * 8, column = LEFT + 32 * unit + column_of(of, k, i);
                return exact_sum<4>(a, [&](int, int offset) { return element_at(tile, row, column + offset); });
            },
            [&](int of, int k, int i, unsigned bits) {
                const long long x = place.x * (32 * UNITS) + 32 * unit + column_of(of, k, i),
                                y = place.y * TYPED_ROWS + top + of / 4 + i / 2 % 2 * 8;
                if (x < a.n[2] && y < a.n[1]) put_bits(place.out + y * a.out_stride[1] + x, bits);
            });
    }
}

// Makes the warp's share of the results, 16 rows of 32 columns at a time.
__device__ __forceinline__ void make_rows(const bytes_arguments &a, const bytes_tile &place, const plane_tile &tile,
                                          result_tile &staged) {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const int height = rows_of(a, place), width = columns_of(a, place);
    STORE *const out = place.out + (place.y * TYPED_ROWS + g) * a.out_stride[1] + place.x * (32 * UNITS) + 8 * t;
    unsigned doubts = 0;
    band_fragments<SLICES_X> band;
    load_bands<SLICES_X>(a, band);
    int bit = 0;
#pragma unroll 1
    for (row_unit at = first_unit(); 32 * at.unit < width; at = next_unit(at), bit += 2) {
        const int top = at.top, unit = at.unit;
        if (top >= height) continue;
        unsigned words[4 * SLICES_X + 2][PLANES][2];
#pragma unroll
        for (int j = 0; j < (4 * SLICES_X + 2) * PLANES * 2; j++)
            words[j / (2 * PLANES)][j / 2 % PLANES][j % 2] =
                tile[j / 2 % PLANES][top + g + j % 2 * 8][SKIPPED / 4 + 8 * unit + j / (2 * PLANES) * 2 + t];
#pragma unroll
        for (int k = 0; k < 2; k++) {
            unsigned result[8];
            multiply<SLICES_X>(
                a, band, [&](int q, int p, int h) { return words[2 * k + q][p][h]; }, result);
            if (in_doubt(a, result)) doubts |= 1u << (bit + k);
#pragma unroll
            for (int j = 0; j < 8; j += 2) {
                const int row = g + j / 2 % 2 * 8, column = column_of(lane, k, j);
                if (PLANES == 2)
                    staged[row][column / 2] = two_of(result[j], result[j + 1]);
                else
                    reinterpret_cast<unsigned short *>(staged[row])[column / 2] =
                        static_cast<unsigned short>(two_of(result[j], result[j + 1]));
            }
        }
        __syncwarp();
#pragma unroll
        for (int h = 0; h < 2; h++) {
            unsigned run[2 * PLANES];
#pragma unroll
            for (int j = 0; j < 2 * PLANES; j++) run[j] = staged[8 * h + g][2 * PLANES * t + j];
            if (top + 8 * h + g < height)
                store_words(out + (top + 8 * h) * a.out_stride[1] + 32 * unit, run, width - 32 * unit - 8 * t);
        }
        __syncwarp();
    }
    if (!INTEGERS && __any_sync(ALL, doubts != 0)) correct_rows(a, place, tile, doubts);
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, BLOCKS)
    typed_lines(const __grid_constant__ bytes_arguments a) {
    extern __shared__ __align__(128) unsigned char stn_shared[];
    in_tile &in = *reinterpret_cast<in_tile *>(stn_shared);
    const bytes_tile place = tile_of(a);
    load_window(a, place, in);
    copy_async_commit();
    copy_async_wait<0>();
    __syncthreads();
    if (ALONG_COLUMNS) {
        out_tile &out = *reinterpret_cast<out_tile *>(stn_shared + IN_BYTES);
        make_columns(a, place, in, out);
        __syncwarp();
        store_columns(a, place, out);
        return;
    }
    plane_tile &tile = *reinterpret_cast<plane_tile *>(stn_shared + (PLANES == 2 ? IN_BYTES : 0));
    if (PLANES == 2) {
        split_planes(in, tile);
        __syncthreads();
    }
    result_tile *const staged = reinterpret_cast<result_tile *>(stn_shared + IN_BYTES + PLANE_BYTES);
    make_rows(a, place, tile, staged[threadIdx.x / 32]);
}
