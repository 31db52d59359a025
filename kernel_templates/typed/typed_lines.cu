// One step of taps along axis 1 or along axis 2 of an array of small integers (bytes.cuh).
//
//     out(y, x) = trunc( (sum over k of  w[k] * u(y + k, x)) / divisor )    if taps reach along y
//     out(y, x) = trunc( (sum over k of  w[k] * u(y, x + k)) / divisor )    if taps reach along x
//
// A block makes TYPED_ROWS x 32 WARPS results. It copies its window of u, ROWS_IN rows of WIDTH
// columns, the first LEFT of them before the results, to shared memory. Along y each warp makes 32
// columns of results; along x it makes results of 16 rows, 32 columns at a time.
//
// A product makes 8 results along the axis of the taps of each of 16 lines (columns or rows):
//
//     16 lines of [a window of 32 SLICES points]   x   [band of weights, 32 x 8 a slice]
//
// The lines are the rows of the left factor. Of each slice of a line, lane (g, t) holds eight
// points: along rows, points 4t .. 4t + 3 and the points 16 further on; along columns, points 2t,
// 2t + 1, 2t + 8, 2t + 9 and the points 16 further on, in the order in which ldmatrix loads them.
// The rows of the band are in the same order.
//
// Reads STORE, UNSIGNED, DIGITS, INTEGERS, NEGATIVE, TOP, ALIGNED (rows of whole runs of 8
// elements, aligned to them), WARPS, BLOCKS, TYPED_ROWS, Y_LOW .. X_SIDE_HIGH.
#include "typed/bytes.cuh"

constexpr bool ALONG_COLUMNS = Y_LOW + Y_HIGH > 0;
constexpr int SLICES = ((ALONG_COLUMNS ? Y_LOW + Y_HIGH : (X_LOW + 3) / 4 * 4 + X_HIGH) + 8 + 31) / 32;
// LEFT: columns in shared memory before the results. SKIPPED: those of them that lie before the
// window of the first results.
constexpr int LEFT = (X_LOW + 7) / 8 * 8, SKIPPED = LEFT - (X_LOW + 3) / 4 * 4;
constexpr int COLUMNS = 32 * WARPS, WIDTH = ALONG_COLUMNS ? COLUMNS : (SKIPPED + COLUMNS + 32 * SLICES - 1) / 8 * 8;
constexpr int ROWS_IN = ALONG_COLUMNS ? TYPED_ROWS - 8 + 32 * SLICES : TYPED_ROWS;
// Columns past a result that its window may include.
constexpr int BEYOND = ALONG_COLUMNS ? 0 : 32 * SLICES;
// Along x, the results are ROWS_OF_16 strips of 16 rows, each of as many units of 32 columns as
// there are warps. WARPS / ROWS_OF_16 warps make a strip, and each of them makes ROWS_OF_16 units
// of it:
//
//     rows  0 .. 15    | warp 0 | warp 0 | warp 2 | warp 2 |      WARPS 4, ROWS_OF_16 2
//     rows 16 .. 31    | warp 1 | warp 1 | warp 3 | warp 3 |
//
// Along both axes a warp makes GROUPS groups of 16 x 16 results.
constexpr int ROWS_OF_16 = TYPED_ROWS / 16, GROUPS = TYPED_ROWS / 8;
static_assert(TYPED_ROWS % 16 == 0 && ROWS_IN % WARPS == 0 && (ALONG_COLUMNS || WARPS % ROWS_OF_16 == 0),
              "the shape of a block");

// A row has 16 bytes more than a multiple of 32, so that eight rows are in different banks.
constexpr int PADDED = (WIDTH + 31) / 32 * 32, PITCH = PADDED + 16 / PLANES;
using in_tile = STORE[ROWS_IN][PITCH];
using out_tile = STORE[TYPED_ROWS][COLUMNS + 16 / PLANES];
using plane_tile = unsigned[PLANES][TYPED_ROWS][PADDED / 4 + 4];
using result_tile = unsigned[16][8 * PLANES + 4];
// A warp's results in doubt. bits: for each group and lane, bit i is set if result i of the lane is
// in doubt. list: results as row << 8 | column; up to 31 may be left from earlier groups when those
// of a group are appended.
struct doubts_of_warp {
    unsigned char bits[GROUPS][32];
    unsigned short list[31 + 16 * 16 + 1];
};
constexpr int TERMS_BYTES = (Y_LOW + Y_HIGH + X_LOW + X_HIGH + 1) * sizeof(bytes_term);
// Along x, elements of one byte are used directly; larger elements are first split into planes of
// bytes.
constexpr int IN_BYTES = sizeof(in_tile), PLANE_BYTES = PLANES == 2 && !ALONG_COLUMNS ? sizeof(plane_tile) : 0,
              OUT_BYTES = ALONG_COLUMNS ? sizeof(out_tile) : WARPS * sizeof(result_tile);
static_assert(shared_bytes_match(IN_BYTES + PLANE_BYTES + OUT_BYTES + WARPS * sizeof(doubts_of_warp) + TERMS_BYTES),
              "the launcher's size of shared memory");

// Words of the windows of 16 lines: words[n][i][p][h] is the lane's word of plane p of line g + 8 h
// for 16 points from 8 n + 16 i on. With one slice, the next 16 results need the second word of a
// window again: it stays, and the new word replaces the first one. So the order of the words
// alternates between two turns, and in turn 1 the halves of the band are exchanged too:
//
//     turn 0    words[n] = points  0 .. 15, 16 .. 31 (+ 8 n)     band = rows 0 .. 15, 16 .. 31
//     turn 1    words[n] = points 32 .. 47, 16 .. 31             band = rows 16 .. 31, 0 .. 15
constexpr int TURNS = SLICES == 1 ? 2 : 1;
struct windows {
    static constexpr int COUNT = 2 * SLICES;
    unsigned words[2][COUNT][PLANES][2];

    // word(n, i, p, h) is the word for 16 points from 8 n + 16 i on.
    template <class WORD>
    __device__ __forceinline__ void fill(WORD word) {
#pragma unroll
        for (int k = 0; k < 2 * COUNT * PLANES * 2; k++)
            words[k / (COUNT * PLANES * 2)][k / (PLANES * 2) % COUNT][k / 2 % PLANES][k % 2] =
                word(k / (COUNT * PLANES * 2), k / (PLANES * 2) % COUNT, k / 2 % PLANES, k % 2);
    }
    // Moves the windows by 16 points; `turn` is the turn of the previous results.
    template <class WORD>
    __device__ __forceinline__ void move(int turn, WORD word) {
#pragma unroll
        for (int k = 0; k < 2 * PLANES * 2; k++) {
            const int n = k / (PLANES * 2), p = k / 2 % PLANES, h = k % 2;
            if (TURNS == 1) {
#pragma unroll
                for (int i = 0; i + 1 < COUNT; i++) words[n][i][p][h] = words[n][i + 1][p][h];
            }
            words[n][TURNS == 1 ? COUNT - 1 : turn][p][h] = word(n, COUNT, p, h);
        }
    }
};

// Fragments of the bands of weights. start: a fragment of error bounds, with which sums begin.
struct weights {
    unsigned band[TURNS][SLICES][DIGITS][2];
    int start[4];

    __device__ __forceinline__ explicit weights(const bytes_arguments &a) {
        constexpr int FRAGMENTS = TURNS * SLICES * DIGITS;
        unsigned doubt[4] = {};
#pragma unroll
        for (int i = 0; i < FRAGMENTS; i++)
            load_run(band[i / DIGITS / SLICES][i / DIGITS % SLICES][i % DIGITS],
                     a.bands + (i * 32 + threadIdx.x % 32) * 2);
        if (!INTEGERS) load_run(doubt, a.bands + FRAGMENTS * 64);
#pragma unroll
        for (int i = 0; i < 4; i++) start[i] = static_cast<int>(doubt[i]);
    }
};

// Makes 16 results along the axis of each of 16 lines: result[4 n + 2 h + e] is number
// 8 n + 2 t + e of line g + 8 h.
__device__ __forceinline__ void multiply(const bytes_arguments &a, const weights &by, int turn, const windows &of,
                                         unsigned (&result)[8]) {
#pragma unroll
    for (int n = 0; n < 2; n++) {
        int c[LEVELS][4];
#pragma unroll
        for (int i = 0; i < LEVELS * 4; i++) c[i / 4][i % 4] = i / 4 == DROPPED ? by.start[i % 4] : 0;
#pragma unroll
        for (int s = 0; s < SLICES; s++)
#pragma unroll
            for (int p = 0; p < PLANES; p++) {
                const auto &first = of.words[n][2 * s][p], &second = of.words[n][2 * s + 1][p];
                const unsigned lines[4] = {first[0], first[1], second[0], second[1]};
#pragma unroll
                for (int d = 0; d < DIGITS; d++)
                    multiply_bytes(c[d + p], p, lines, by.band[turn % TURNS][s][d], c[d + p]);
            }
#pragma unroll
        for (int i = 0; i < 4; i++) result[4 * n + i] = result_of(a, [&](int m) { return c[m][i]; });
    }
}

// ---- results in doubt ---------------------------------------------------------------------------

// Corrects the lane's results in lines whose points are all equal. Returns the bits of `doubts`
// that are still uncertain.
__device__ __forceinline__ unsigned correct_lines(const bytes_arguments &a, const bytes_term *terms, const windows &of,
                                                  unsigned doubts, unsigned (&result)[8]) {
#pragma unroll
    for (int h = 0; h < 2; h++) {
        unsigned value = 0, differ = 0;
#pragma unroll
        for (int p = 0; p < PLANES; p++) {
            const unsigned first = __byte_perm(__shfl_sync(ALL, of.words[0][0][p][h], threadIdx.x & 28), 0, 0);
            value |= (first & 0xffu) << (8 * p);
#pragma unroll
            for (int i = 0; i < 4 * SLICES; i++) differ |= of.words[i % 2][i / 2][p][h] ^ first;
        }
        // The four lanes of a line have different points of its window.
        if ((__ballot_sync(ALL, !differ) >> (threadIdx.x & 28) & 15u) != 15u) continue;
        const int number = number_of(value);
        const unsigned bits =
            PLANES == 1 ? a.of_value[value] : low_bits_of(exact_sum<1>(a, terms, [&](int, int) { return number; }));
#pragma unroll
        for (int i = 0; i < 4; i++) result[i / 2 * 4 + 2 * h + i % 2] = bits << FRACTION;
        doubts &= ~(0x33u << (2 * h));
    }
    return doubts;
}

// Replaces the warp's results that are still in doubt by the host's, 32 at a time; `groups` has a
// bit for each group with such results. place(group, i) is the list's entry for the lane's result
// i, element(row, column, offset) the element at an offset along the axis from a result, and
// replace(row, column, bits) stores a result.
template <class PLACE, class ELEMENT, class REPLACE>
__device__ __forceinline__ void correct_results(const bytes_arguments &a, const bytes_term *terms,
                                                doubts_of_warp &doubts, unsigned groups, PLACE place, ELEMENT element,
                                                REPLACE replace) {
    const int lane = threadIdx.x % 32;
    int listed = 0;
    __syncwarp();  // results and bits are stored
#pragma unroll 1
    for (; groups; groups &= groups - 1) {
        const int group = __ffs(static_cast<int>(groups)) - 1;
        const unsigned bits = doubts.bits[group][lane];
#pragma unroll 1
        for (int i = 0; i < 8; i++) {
            const unsigned all = __ballot_sync(ALL, bits >> i & 1u);
            if (bits >> i & 1u)
                doubts.list[listed + __popc(all & ((1u << lane) - 1))] = static_cast<unsigned short>(place(group, i));
            listed += __popc(all);
        }
        __syncwarp();
        while (listed > (groups & (groups - 1) ? 31 : 0)) {
            const int from = listed < 32 ? 0 : listed - 32;
            if (from + lane < listed) {
                const int row = doubts.list[from + lane] >> 8, column = doubts.list[from + lane] & 255;
                const double sum =
                    exact_sum<4>(a, terms, [&](int, int offset) { return element(row, column, offset); });
                replace(row, column, low_bits_of(sum));
            }
            listed = from;
        }
        __syncwarp();
    }
}

// How many rows of the block lie in the grid, and how many columns.
__device__ __forceinline__ int rows_of(const bytes_arguments &a, const bytes_tile &place) {
    const long long rows = a.n[1] - place.y * TYPED_ROWS;
    return rows < TYPED_ROWS ? static_cast<int>(rows) : TYPED_ROWS;
}
__device__ __forceinline__ int columns_of(const bytes_arguments &a, const bytes_tile &place) {
    const long long columns = a.n[2] - place.x * COLUMNS;
    return columns < COLUMNS ? static_cast<int>(columns) : COLUMNS;
}

// `count` columns, but at most those of the window.
__device__ __forceinline__ int width_of(long long count) { return count < WIDTH ? static_cast<int>(count) : WIDTH; }

// ---- the window ---------------------------------------------------------------------------------

// Eight elements, copied at once.
struct alignas(8 * PLANES) run_of_8 {
    unsigned words[2 * PLANES];
};

// Copies the run at `column` of every STEP-th row of the window from `row` on. The window's first
// element is (y, x).
template <int STEP>
__device__ __forceinline__ void copy_runs(const bytes_arguments &a, const bytes_tile &place, in_tile &in, long long y,
                                          long long x, int row, int column) {
    if (x + column < 0 || x + column >= a.n[2] || column >= WIDTH) return;
    const auto run_at = [&](int k) -> run_of_8 & { return *reinterpret_cast<run_of_8 *>(&in[row + k * STEP][column]); };
    constexpr int COUNT = (ROWS_IN + STEP - 1) / STEP;
    const auto exists = [&](int k) { return ROWS_IN % STEP == 0 || row + k * STEP < ROWS_IN; };
    if (y >= 0 && y + ROWS_IN <= a.n[1]) {
        const STORE *const from = place.in + (y + row) * a.in_stride[1] + x + column;
        const long long stride = STEP * a.in_stride[1];
        run_of_8 runs[COUNT];
#pragma unroll
        for (int k = 0; k < COUNT; k++)
            if (exists(k)) runs[k] = *reinterpret_cast<const run_of_8 *>(from + k * stride);
#pragma unroll
        for (int k = 0; k < COUNT; k++)
            if (exists(k)) run_at(k) = runs[k];
        return;
    }
#pragma unroll 1
    for (int k = 0; k < COUNT && exists(k); k++) {
        const long long at = source_row(y + row + k * STEP, a.n[1]);
        const STORE *const from = place.in + at * a.in_stride[1] + x + column;
        if (at < 0)
            for (int i = 0; i < 2 * PLANES; i++)
                run_at(k).words[i] = a.past[0][at == PAST_HIGH] * (PLANES == 2 ? 0x00010001u : 0x01010101u);
        else if (PLANES == 2)
            copy_async_16(&run_at(k), from);
        else
            copy_async_8(&run_at(k), from);
    }
}

// Copies the window of u, in runs of 8 columns if rows are aligned.
__device__ __forceinline__ void load_window(const bytes_arguments &a, const bytes_tile &place, in_tile &in) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const long long x = place.x * COLUMNS - LEFT, y = place.y * TYPED_ROWS - Y_LOW, rest = a.n[2] - x;
    if (ALIGNED) {
        copy_runs<WARPS>(a, place, in, y, x, warp, 8 * lane);
        // Runs past the first 32 of each row.
        constexpr int MORE = WIDTH <= COLUMNS + 32 ? 4 : WIDTH <= COLUMNS + 64 ? 8 : 16, AT_ONCE = 32 * WARPS / MORE;
        static_assert(WIDTH <= COLUMNS + 8 * MORE, "the width of the window");
        if (WIDTH > COLUMNS)
            copy_runs<AT_ONCE>(a, place, in, y, x, threadIdx.x / MORE, COLUMNS + threadIdx.x % MORE * 8);
    }
    // The other columns that results need: those past the sides, or all if rows are not aligned. A
    // lane loads EACH rows of a column at a time.
    constexpr int EACH = 4;
    const int before = !ALIGNED ? 0
                       : x < 0  ? static_cast<int>(-x)
                                : 0,
              after = !ALIGNED ? 0 : width_of(rest), count = before + width_of(rest + BEYOND) - after;
#pragma unroll 1
    for (int i = lane; i < count; i += 32) {
        const int to = i < before ? i : i - before + after;
        const long long column = source_column(x + to, a.n[2]);
#pragma unroll 1
        for (int row = warp; row < ROWS_IN; row += EACH * WARPS) {
            unsigned bits[EACH];
#pragma unroll
            for (int k = 0; k < EACH; k++) {
                const long long at = source_row(y + row + k * WARPS, a.n[1]);
                const unsigned loaded = bits_at(place.in + (at < 0 || column < 0 ? 0 : at * a.in_stride[1] + column));
                bits[k] = at < 0 ? a.past[0][at == PAST_HIGH] : column < 0 ? a.past[1][column == PAST_HIGH] : loaded;
            }
#pragma unroll
            for (int k = 0; k < EACH; k++)
                if (row + k * WARPS < ROWS_IN) put_bits(&in[row + k * WARPS][to], bits[k]);
        }
    }
}

// ---- along y ------------------------------------------------------------------------------------

// Makes the warp's 32 columns of results.
__device__ __forceinline__ void make_columns(const bytes_arguments &a, const bytes_tile &place, const in_tile &in,
                                             out_tile &out, const weights &by, const bytes_term *terms,
                                             doubts_of_warp &doubts) {
    constexpr int ROWS_OF_8 = ROWS_IN / 8;
    const int lane = threadIdx.x % 32, unit = threadIdx.x / 32, height = rows_of(a, place);
    const auto row_of = [&](int m, int i) { return 16 * m + i / 4 * 8 + lane % 4 * 2 + i % 2; };
    const auto column_of = [&](int k, int i) {
        const int h = i / 2 % 2;
        return 32 * unit + 16 * k + (PLANES == 2 ? 8 * h + lane / 4 : lane / 4 * 2 + h);
    };
    unsigned groups = 0;  // in doubt
    windows of;
    // 16 columns at a time, in one or two runs of 16 bytes.
#pragma unroll 1
    for (int k = 0; k < 2; k++) {
        unsigned rows[PLANES][(ROWS_OF_8 + 3) / 4][4];
#pragma unroll
        for (int i = 0; i < (ROWS_OF_8 + 3) / 4; i++)
#pragma unroll
            for (int p = 0; p < PLANES; p++) {
                const int row = 32 * i + lane;
                load_matrices_transposed(rows[p][i],
                                         &in[row < ROWS_IN ? row : ROWS_IN - 1][32 * unit + 16 * k + 8 * p]);
            }
#pragma unroll
        for (int m = 0; m < TYPED_ROWS / 16; m++) {
            if (16 * m >= height) break;
            const auto word = [&](int n, int i, int p, int h) {
                const int run = PLANES == 2 ? h : 0, from = 2 * (m + i) + n;
                return __byte_perm(rows[run][from / 4][from % 4], rows[run][(from + 1) / 4][(from + 1) % 4],
                                   (PLANES == 2 ? p : h) ? 0x7531 : 0x6420);
            };
            if (m && TURNS == 2)
                of.move((m - 1) % 2, [&](int n, int i, int p, int h) { return word(n, i - 1, p, h); });
            else
                of.fill(word);
            unsigned result[8];
            multiply(a, by, m % 2, of, result);
            if (__any_sync(ALL, in_doubt(a, result))) {
                const unsigned bits = correct_lines(a, terms, of, doubts_of(a, result), result);
                doubts.bits[2 * m + k][lane] = static_cast<unsigned char>(bits);
                if (__any_sync(ALL, bits != 0)) groups |= 1u << (2 * m + k);
            }
#pragma unroll
            for (int i = 0; i < 8; i++) {
                if (PLANES == 2)
                    put_bits(&out[row_of(m, i)][column_of(k, i)], result[i] >> FRACTION);
                else if (i / 2 % 2 == 0)
                    *reinterpret_cast<unsigned short *>(&out[row_of(m, i)][column_of(k, i)]) =
                        static_cast<unsigned short>(two_of(result[i], result[i + 2]));
            }
        }
    }
    if (groups)
        correct_results(
            a, terms, doubts, groups,
            [&](int group, int i) { return row_of(group / 2, i) << 8 | column_of(group % 2, i); },
            [&](int row, int column, int offset) { return number_of(bits_at(&in[row + Y_LOW + offset][column])); },
            [&](int row, int column, unsigned bits) { put_bits(&out[row][column], bits); });
}

// The row, of eight, of which a lane stores 8 columns. Half a warp stores every second row, because
// adjacent rows in shared memory have banks in common.
__device__ __forceinline__ int stored_row() { return threadIdx.x % 16 / 4 * 2 + threadIdx.x % 32 / 16; }

// Stores the warp's 32 columns of results.
__device__ __forceinline__ void store_columns(const bytes_arguments &a, const bytes_tile &place, const out_tile &tile) {
    const int row = stored_row(), column = threadIdx.x / 32 * 32 + threadIdx.x % 4 * 8;
    const int height = rows_of(a, place) - row, width = columns_of(a, place);
    STORE *const out = place.out + (place.y * TYPED_ROWS + row) * a.out_stride[1] + place.x * COLUMNS + column;
#pragma unroll
    for (int i = 0; i < TYPED_ROWS; i += 8) {
        unsigned run[2 * PLANES];
#pragma unroll
        for (int k = 0; k < 2 * PLANES; k++) run[k] = reinterpret_cast<const unsigned *>(&tile[i + row][column])[k];
        if (i < height) store_words(out + i * a.out_stride[1], run, width - column);
    }
}

// ---- along x ------------------------------------------------------------------------------------

// Splits the window into planes of bytes.
__device__ __forceinline__ void split_planes(const in_tile &in, plane_tile &tile) {
    for (int i = threadIdx.x; i < TYPED_ROWS * WIDTH / 4; i += 32 * WARPS) {
        const int row = i / (WIDTH / 4), word = i % (WIDTH / 4);
        const unsigned *const from = reinterpret_cast<const unsigned *>(&in[row][4 * word]);
#pragma unroll
        for (int p = 0; p < PLANES; p++) tile[p][row][word] = plane_of(from[0], from[PLANES - 1], p);
    }
}

// Makes the warp's share of the results, 16 rows of 32 columns at a time.
__device__ __forceinline__ void make_rows(const bytes_arguments &a, const bytes_tile &place, const in_tile &in,
                                          const plane_tile &tile, result_tile &staged, const weights &by,
                                          const bytes_term *terms, doubts_of_warp &doubts) {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4, warp = threadIdx.x / 32;
    const int top = warp % ROWS_OF_16 * 16, first = warp / ROWS_OF_16 * ROWS_OF_16;
    const int height = rows_of(a, place) - top, width = columns_of(a, place);
    STORE *const out = place.out + (place.y * TYPED_ROWS + top) * a.out_stride[1] + place.x * COLUMNS;
    unsigned groups = 0;  // in doubt
    windows of;
    const auto column_of = [&](int k, int i) { return 16 * k + i / 4 * 8 + t * 2 + i % 2; };
    const unsigned(*from)[PADDED / 4 + 4] = &tile[0][top + g];
    const auto load = [&](int n, int i, int p, int h) {
        return from[p * TYPED_ROWS + 8 * h][SKIPPED / 4 + 8 * first + 2 * n + 4 * i + t];
    };
    of.fill(load);
    const int row = stored_row();
    STORE *to = out + row * a.out_stride[1] + 32 * first + 8 * t;
    int left = width - 32 * first;  // columns
#pragma unroll 1
    for (int j = 0; j < ROWS_OF_16 && left > 0 && height > 0; j++, left -= 32, to += 32) {
#pragma unroll TURNS
        for (int k = 0; k < 2; k++) {
            unsigned result[8];
            multiply(a, by, k, of, result);
            if (__any_sync(ALL, in_doubt(a, result))) {
                const unsigned bits = correct_lines(a, terms, of, doubts_of(a, result), result);
                doubts.bits[2 * j + k][lane] = static_cast<unsigned char>(bits);
                if (__any_sync(ALL, bits != 0)) groups |= 1u << (2 * j + k);
            }
            // The move after the last results reads points that no result needs.
            of.move(k, [&](int n, int i, int p, int h) { return load(n, i + 2 * j + k, p, h); });
#pragma unroll
            for (int i = 0; i < 8; i += 2) {
                const int line = g + i / 2 % 2 * 8, column = column_of(k, i);
                if (PLANES == 2)
                    staged[line][column / 2] = two_of(result[i], result[i + 1]);
                else
                    reinterpret_cast<unsigned short *>(staged[line])[column / 2] =
                        static_cast<unsigned short>(two_of(result[i], result[i + 1]));
            }
        }
        __syncwarp();
#pragma unroll
        for (int h = 0; h < 2; h++) {
            unsigned run[2 * PLANES];
#pragma unroll
            for (int i = 0; i < 2 * PLANES; i++) run[i] = staged[8 * h + row][2 * PLANES * t + i];
            if (8 * h + row < height) store_words(to + 8 * h * a.out_stride[1], run, left - 8 * t);
        }
        __syncwarp();
    }
    if (groups)
        correct_results(
            a, terms, doubts, groups,
            [&](int group, int i) {
                return (g + i / 2 % 2 * 8) << 8 | (32 * (first + group / 2) + column_of(group % 2, i));
            },
            [&](int row, int column, int offset) { return number_of(bits_at(&in[top + row][LEFT + column + offset])); },
            [&](int row, int column, unsigned bits) {
                if (row < height && column < width) put_bits(out + row * a.out_stride[1] + column, bits);
            });
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, BLOCKS)
    typed_lines(const __grid_constant__ bytes_arguments a) {
    extern __shared__ __align__(128) unsigned char stn_shared[];
    in_tile &in = *reinterpret_cast<in_tile *>(stn_shared);
    unsigned char *const out = stn_shared + IN_BYTES + PLANE_BYTES;
    doubts_of_warp *const doubts = reinterpret_cast<doubts_of_warp *>(out + OUT_BYTES);
    bytes_term *const terms = reinterpret_cast<bytes_term *>(doubts + WARPS);
    const int warp = threadIdx.x / 32;
    const bytes_tile place = tile_of(a);
    let_next_launch_begin();
#pragma unroll 1
    for (int i = threadIdx.x; i < a.terms_all; i += 32 * WARPS) copy_async_16(&terms[i], &a.terms[i]);
    wait_for_previous_launch();
    const weights by(a);
    load_window(a, place, in);
    copy_async_commit();
    copy_async_wait<0>();
    __syncthreads();
    if (ALONG_COLUMNS) {
        out_tile &results = *reinterpret_cast<out_tile *>(out);
        make_columns(a, place, in, results, by, terms, doubts[warp]);
        __syncwarp();
        store_columns(a, place, results);
        return;
    }
    plane_tile &tile = *reinterpret_cast<plane_tile *>(stn_shared + (PLANES == 2 ? IN_BYTES : 0));
    if (PLANES == 2) {
        split_planes(in, tile);
        __syncthreads();
    }
    make_rows(a, place, in, tile, reinterpret_cast<result_tile *>(out)[warp], by, terms, doubts[warp]);
}
