/* Radices of fft_line: a measured table for powers of two, a rule for other lengths; see
 * fft_radices.h. */
#include "strategies/fft/fft_radices.h"

#include <string.h>

#include "base/arith.h"

/* Radices for lines of 2^i points, tuned on an H200: as few exchanges as registers allow, and more
 * threads where latencies are longer. */
typedef struct radix_row {
    int points; /* per thread */
    int radix[FFT_MAX_STAGES];
    int threads;        /* minimum per block */
    bool half_exchange; /* exchanges in f16: their gain in speed is worth the rounding error */
    double part;        /* fraction of the copy bandwidth that a large batch reaches */
} radix_row;
static const radix_row f16_rows[] = {
    [1] = {2, {2}, 128, false, 0.7},
    [2] = {4, {4}, 128, false, 0.8},
    [3] = {8, {8}, 128, false, 0.6},
    [4] = {4, {4, 4}, 128, true, 0.93},
    [5] = {8, {8, 4}, 128, true, 0.7},
    [6] = {8, {8, 8}, 128, true, 0.96},
    [7] = {16, {16, 8}, 128, false, 0.89},
    [8] = {16, {16, 16}, 128, false, 0.94},
    [9] = {32, {16, 32}, 128, false, 0.93},
    [10] = {32, {32, 32}, 128, true, 0.945},
    [11] = {16, {8, 16, 16}, 128, true, 0.865},
    [12] = {32, {16, 16, 16}, 128, true, 0.855},
    [13] = {32, {32, 16, 16}, 256, true, 0.79},
    [14] = {32, {16, 32, 32}, 512, true, 0.56},
};
static const radix_row f32_rows[] = {
    [1] = {2, {2}, 256, false, 0.8},
    [2] = {4, {4}, 256, false, 0.8},
    [3] = {8, {8}, 256, false, 0.6},
    [4] = {4, {4, 4}, 256, false, 0.8},
    [5] = {8, {8, 4}, 256, false, 0.8},
    [6] = {8, {8, 8}, 256, false, 0.955},
    [7] = {8, {4, 4, 8}, 128, false, 0.965},
    [8] = {8, {4, 8, 8}, 256, false, 0.97},
    [9] = {16, {2, 16, 16}, 256, false, 0.965},
    [10] = {16, {4, 16, 16}, 256, false, 0.96},
    [11] = {16, {8, 16, 16}, 256, false, 0.96},
    [12] = {16, {16, 16, 16}, 256, false, 0.96},
    [13] = {32, {32, 16, 16}, 256, false, 0.95},
    [14] = {32, {16, 32, 32}, 512, false, 0.79},
};
static const radix_row f64_rows[] = {
    [1] = {2, {2}, 256, false, 0.8},
    [2] = {4, {4}, 256, false, 0.7},
    [3] = {8, {8}, 256, false, 0.5},
    [4] = {4, {4, 4}, 256, false, 0.8},
    [5] = {8, {8, 4}, 256, false, 0.8},
    [6] = {8, {8, 8}, 256, false, 0.965},
    [7] = {8, {4, 4, 8}, 256, false, 0.97},
    [8] = {8, {4, 8, 8}, 256, false, 0.97},
    [9] = {16, {8, 8, 8}, 256, false, 0.97},
    [10] = {16, {16, 4, 16}, 256, false, 0.965},
    [11] = {16, {8, 16, 16}, 256, false, 0.965},
    [12] = {16, {16, 16, 16}, 256, false, 0.96},
    [13] = {16, {2, 16, 16, 16}, 512, false, 0.72},
};
/* The same for strided lines: fewer threads per line, since a tile has many lines. */
static const radix_row f16_columns[] = {
    [7] = {16, {16, 8}, 128, true, 0.88},
    [8] = {16, {16, 16}, 128, true, 0.85},
    [9] = {32, {16, 32}, 128, true, 0.85},
    [10] = {32, {32, 32}, 256, true, 0.72},
};
static const radix_row f32_columns[] = {
    [7] = {16, {16, 8}, 128, false, 0.95},
    [8] = {16, {16, 16}, 256, false, 0.95},
    [9] = {32, {16, 32}, 256, false, 0.94},
    [10] = {32, {32, 32}, 256, false, 0.79},
};
static const radix_row f64_columns[] = {
    [7] = {16, {16, 8}, 64, false, 0.965},
    [8] = {16, {16, 16}, 128, false, 0.965},
    [9] = {16, {2, 16, 16}, 256, false, 0.955},
    [10] = {16, {4, 16, 16}, 256, false, 0.785},
};
#define ROWS_OF(table) table, sizeof table / sizeof *table
static const struct radix_table {
    const radix_row *row;
    size_t count;
} radix_tables[2][3] = {/* contiguous, strided; by stn_dtype */
                        {{ROWS_OF(f64_rows)}, {ROWS_OF(f32_rows)}, {ROWS_OF(f16_rows)}},
                        {{ROWS_OF(f64_columns)}, {ROWS_OF(f32_columns)}, {ROWS_OF(f16_columns)}}};

/* ---- choosing radices */

static const radix_row *row_of(stn_dtype dtype, bool across, int64_t n) {
    const struct radix_table *table = &radix_tables[across][dtype];
    size_t i = (size_t)stn_log2(n);
    if (n != INT64_C(1) << i || i < 1) return NULL;
    if (across && (i >= table->count || !table->row[i].points)) table = &radix_tables[0][dtype];
    return i < table->count ? &table->row[i] : NULL;
}

static void use_row(const radix_row *row, fft_line_shape *shape) {
    shape->line_threads = shape->length / row->points;
    memcpy(shape->radix, row->radix, sizeof shape->radix);
    while (shape->stages < FFT_MAX_STAGES && shape->radix[shape->stages]) shape->stages++;
    shape->half_exchange = row->half_exchange;
    shape->part = row->part;
    shape->measured = true;
}

int fft_points_per_thread(const fft_line_shape *shape) {
    int most = 0;
    for (int s = 0; s < shape->stages; s++) {
        int radix = shape->radix[s], each = (shape->length / radix + shape->line_threads - 1) / shape->line_threads;
        if (each * radix > most) most = each * radix;
    }
    return most;
}

/* Chooses the number of threads per line with the least idle time, at most `most` points each. */
static bool choose_threads(int most, fft_line_shape *shape) {
    int64_t least = INT64_MAX;
    int best = 0, n = shape->length, first = (n + most - 1) / most;
    for (int threads = first; threads <= 2 * first + 4 && threads <= 1024; threads++) {
        int64_t work = 0;
        for (int s = 0; s < shape->stages; s++)
            work += (int64_t)stn_div_up(n / shape->radix[s], threads) * shape->radix[s] * threads;
        shape->line_threads = threads;
        if (fft_points_per_thread(shape) <= most && work < least) least = work, best = threads;
    }
    shape->line_threads = best;
    return best > 0;
}

/* Finds the fewest radices of at most `most` whose product is n, in rising order; among equally
 * many, those with the smallest sum. */
typedef struct search {
    int most, radix[FFT_MAX_STAGES], best[FFT_MAX_STAGES], count, sum;
} search;
static void search_radices(search *s, int64_t n, int from, int depth, int sum) {
    static const int radices[] = {2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 16};
    if (n == 1 && (depth < s->count || (depth == s->count && sum < s->sum))) {
        memcpy(s->best, s->radix, sizeof s->best);
        s->count = depth, s->sum = sum;
    }
    if (n == 1 || depth == FFT_MAX_STAGES || depth >= s->count) return;
    for (size_t i = 0; i < sizeof radices / sizeof *radices; i++)
        if (radices[i] >= from && radices[i] <= s->most && n % radices[i] == 0) {
            s->radix[depth] = radices[i];
            search_radices(s, n / radices[i], radices[i], depth + 1, sum + radices[i]);
        }
}

/* "Even" shapes: the points per thread are a multiple of every radix, and as many as registers
 * allow, so that no thread idles and many loads are in flight. A thread has EVEN_MIN to
 * EVEN_POINTS points; lines have EVEN_SHORTEST to EVEN_ROW points, or, if they are strided, up to
 * EVEN_COLUMN. */
enum { EVEN_POINTS = 24, EVEN_MIN = 16, EVEN_SHORTEST = 160, EVEN_COLUMN = 512, EVEN_ROW = 1024 };

typedef struct even_radices {
    int radix[FFT_MAX_STAGES], stages, points, best[FFT_MAX_STAGES], best_points, best_sum;
} even_radices;

/* Radices of 4 to 12 in rising order that divide `points`; the smallest sum is kept. */
static void search_even_radices(even_radices *s, int64_t rest, int depth, int sum) {
    if (depth == s->stages) {
        if (rest > 1 || (s->best_points == s->points && sum >= s->best_sum)) return;
        memcpy(s->best, s->radix, sizeof s->best);
        s->best_points = s->points, s->best_sum = sum;
        return;
    }
    for (int radix = depth ? s->radix[depth - 1] : 4; radix <= 12; radix++) {
        if (rest % radix || s->points % radix) continue;
        s->radix[depth] = radix;
        search_even_radices(s, rest / radix, depth + 1, sum + radix);
    }
}

static bool find_even(int64_t n, int stages, fft_line_shape *shape) {
    even_radices s = {.stages = stages};
    for (s.points = EVEN_MIN; s.points <= EVEN_POINTS; s.points++)
        if (n % s.points == 0) search_even_radices(&s, n, 0, 0);
    if (!s.best_points) return false;
    memcpy(shape->radix, s.best, sizeof shape->radix);
    shape->stages = stages;
    shape->line_threads = (int)n / s.best_points;
    shape->even = true;
    shape->part = shape->line_threads % 8 ? 0.88 : 0.94; /* measured at 200 and at 384 points */
    return true;
}

/* Lengths 2^a 3^b 5^c 7^d in few stages. An odd radix goes first, since its writes have no bank
 * conflicts. The fractions of the copy bandwidth were measured on columns of 70 and 80 points and
 * rows of 100 and 5120. */
static bool mixed(int64_t n, bool wide, bool across, bool real, fft_line_shape *shape) {
    search s = {.most = wide ? 12 : 16, .count = FFT_MAX_STAGES + 1};
    search_radices(&s, n, 2, 0, 0);
    if (s.count > FFT_MAX_STAGES) return false;
    bool even = !real && n >= EVEN_SHORTEST && n <= (across ? EVEN_COLUMN : EVEN_ROW);
    if (even && find_even(n, s.count, shape)) return true;
    shape->stages = s.count;
    memcpy(shape->radix, s.best, sizeof shape->radix);
    for (int i = 1; i < s.count && shape->radix[0] % 2 == 0; i++)
        if (shape->radix[i] % 2) {
            int first = shape->radix[0];
            shape->radix[0] = shape->radix[i], shape->radix[i] = first;
        }
    shape->part = n < 64 ? 0.6 : n <= 128 ? 0.88 : n > 1024 && !wide ? 0.5 : wide ? 0.47 : 0.7;
    return choose_threads(16, shape) || (!wide && choose_threads(32, shape));
}

int fft_radices_for(int64_t length, stn_dtype dtype, bool across, bool real, fft_line_shape *shape) {
    enum { FEW = 128 };
    const radix_row *row = row_of(dtype, across, length);
    if (!row) return mixed(length, dtype == STN_F64, across, real, shape) ? FEW : 0;
    use_row(row, shape);
    return row->threads;
}
