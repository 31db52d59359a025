/* The inner loops of host stencils: all instruction sets are bit-identical to plain C. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "host/stencil_kernels.h"
#include "host_grids.h"

#define MOST 700 /* points: more than are summed at once */
#define SLACK 8  /* elements past the end, which must not be written */
#define LINES 12

static double lines[LINES][MOST], weights[64];

static float floats[LINES][MOST];

static double expected(const stn_terms *terms, size_t x) {
    double u = -0.0;
    for (size_t k = 0; k < terms->single; k++) u += terms->weights[k] * lines[k][x];
    for (size_t k = 0; k < terms->pairs; k++) {
        const double a = lines[terms->single + 2 * k][x], b = lines[terms->single + 2 * k + 1][x];
        u += terms->weights[terms->single + k] * (terms->odd ? a - b : a + b);
    }
    return u;
}

static void fill(uint64_t *state) {
    for (int k = 0; k < LINES; k++)
        for (int i = 0; i < MOST; i++) lines[k][i] = floats[k][i] = (float)random_unit(state);
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) weights[i] = random_unit(state);
}

static void check_terms(size_t single, size_t pairs, bool odd, uint64_t *state) {
    static double got[MOST + SLACK], again[MOST + SLACK];
    static float rounded[MOST + SLACK], stored[MOST + SLACK];
    const void *at[LINES], *of_floats[LINES];
    const stn_terms terms = {.lines = at, .weights = weights, .single = single, .pairs = pairs, .odd = odd};
    stn_terms terms_f32 = terms;
    terms_f32.lines = of_floats;
    const stn_kernels *kernels;
    for (int k = 0; k < LINES; k++) at[k] = lines[k], of_floats[k] = floats[k];
    fill(state);
    for (int set = 0; (kernels = stn_kernels_at(set)); set++)
        for (size_t count = 0; count <= MOST; count += count < 150 ? 1 : 77) {
            got[count] = again[count] = rounded[count] = stored[count] = 3;
            kernels->sum(got, &terms, count);
            kernels->sum_float(rounded, &terms_f32, count);
            for (size_t x = 0; x < count; x++)
                cr_assert_eq(got[x], expected(&terms, x), "%d lines, %d pairs, %d points", (int)single, (int)pairs,
                             (int)count);
            for (size_t x = 0; x < count; x++) cr_assert_eq(rounded[x], (float)got[x]);
            cr_assert(got[count] == 3 && rounded[count] == 3);
            kernels->sum_rounded(got, &terms, count);
            kernels->sum_float_rounded(again, &terms_f32, count);
            kernels->sum_to_float(stored, &terms, count);
            for (size_t x = 0; x < count; x++)
                cr_assert(got[x] == rounded[x] && again[x] == rounded[x] && stored[x] == rounded[x]);
            cr_assert(got[count] == 3 && again[count] == 3 && stored[count] == 3);
        }
}

Test(kernels, sums_follow_the_order_of_terms) {
    uint64_t state = 11;
    for (size_t single = 0; single <= 3; single++)
        for (size_t pairs = single ? 0 : 1; pairs <= 4; pairs++) {
            check_terms(single, pairs, false, &state);
            check_terms(single, pairs, true, &state);
        }
}

/* The terms of a symmetric filter whose taps are lines 0 to 2 * pairs. */
static stn_terms symmetric(const void *const *lines, size_t pairs, const void **ordered) {
    ordered[0] = lines[pairs];
    for (size_t k = 0; k < pairs; k++) ordered[1 + 2 * k] = lines[k], ordered[2 + 2 * k] = lines[2 * pairs - k];
    return (stn_terms){.lines = ordered, .weights = weights, .single = 1, .pairs = pairs};
}

/* Several rows at once have the sums of each row. */
Test(kernels, columns_have_the_sums_of_lines) {
    static double got[STN_KERNEL_COLUMN_ROWS][MOST + SLACK], one[MOST + SLACK];
    double *rows[STN_KERNEL_COLUMN_ROWS];
    const void *at[LINES], *ordered[LINES];
    uint64_t state = 31;
    const stn_kernels *kernels;
    fill(&state);
    for (int k = 0; k < LINES; k++) at[k] = floats[k];
    for (int r = 0; r < STN_KERNEL_COLUMN_ROWS; r++) rows[r] = got[r];
    for (int set = 0; (kernels = stn_kernels_at(set)); set++)
        for (size_t pairs = 1; pairs <= STN_KERNEL_FEW_PAIRS; pairs++)
            for (size_t count = STN_KERNEL_MIN; count <= MOST; count += count < 40 ? 1 : 77) {
                for (int r = 0; r < STN_KERNEL_COLUMN_ROWS; r++) got[r][count] = 3;
                kernels->sum_columns(rows, at, weights, pairs, count);
                for (size_t r = 0; r < STN_KERNEL_COLUMN_ROWS; r++) {
                    const stn_terms terms = symmetric(at + r, pairs, ordered);
                    kernels->sum_float_rounded(one, &terms, count);
                    cr_assert_arr_eq(got[r], one, count * sizeof *one);
                    cr_assert_eq(got[r][count], 3);
                }
            }
}

/* A filter along a row has the sums of shifted lines, at any address, and reads no further than it
 * says. */
Test(kernels, rows_have_the_sums_of_shifted_lines) {
    static double got[MOST + SLACK], one[MOST + SLACK];
    static float got_floats[MOST + SLACK], one_floats[MOST + SLACK];
    const void *at[LINES], *ordered[LINES];
    uint64_t state = 41;
    const stn_kernels *kernels;
    fill(&state);
    for (int set = 0; (kernels = stn_kernels_at(set)); set++)
        for (size_t pairs = 1; pairs <= STN_KERNEL_FEW_PAIRS; pairs++)
            for (size_t count = STN_KERNEL_MIN; count <= MOST; count += count < 40 ? 1 : 77) {
                const size_t size = count + 2 * STN_KERNEL_MIN;
                double *row = malloc(size * sizeof *row);
                for (size_t x = 0; x < size; x++) row[x] = random_unit(&state);
                for (size_t k = 0; k <= 2 * pairs; k++) at[k] = row + k;
                const stn_terms terms = symmetric(at, pairs, ordered);
                got[count] = 3, got_floats[count] = 3;
                kernels->sum(one, &terms, count);
                kernels->sum_row(got, row, weights, pairs, count);
                kernels->sum_to_float(one_floats, &terms, count);
                kernels->sum_row_to_float(got_floats, row, weights, pairs, count);
                cr_assert_arr_eq(got, one, count * sizeof *one);
                cr_assert_arr_eq(got_floats, one_floats, count * sizeof *one_floats);
                cr_assert(got[count] == 3 && got_floats[count] == 3);
                free(row);
            }
}

/* What `bound` excludes cannot be rounded or truncated in two ways. */
Test(kernels, bounds_of_results_are_sharp) {
    enum { COUNT = 16 };
    double values[COUNT], low[COUNT], high[COUNT];
    uint64_t state = 37;
    const stn_kernels *kernels;
    for (int set = 0; (kernels = stn_kernels_at(set)); set++)
        for (int round = 0; round < 20000; round++) {
            const bool whole = round % 2, is_relative = round % 3 == 0;
            const double least = whole ? 0x1p-40 : 0x1p-55;
            const double absolute = is_relative ? 0 : least * (1 + fabs(random_unit(&state))),
                         relative = is_relative ? least : 0;
            bool expected = false;
            for (int x = 0; x < COUNT; x++) {
                values[x] = random_unit(&state) * 100;
                if (round % 5 == 0 && x == round % COUNT) /* near an integer or half a float */
                    values[x] = (whole ? floor(values[x]) : (float)values[x] + 0.5 * ldexp(1, ilogb(values[x]) - 23)) +
                                2 * least * random_unit(&state);
            }
            if (round % 7 == 0) values[3] = 0;
            const bool open = kernels->bound(low, high, values, COUNT, absolute, relative, whole);
            for (int x = 0; x < COUNT; x++) {
                const double margin = absolute + relative * values[x];
                const float rounded[2] = {(float)low[x], (float)high[x]};
                cr_assert(low[x] == values[x] - margin && high[x] == values[x] + margin);
                expected |= whole ? (int)low[x] != (int)high[x] : memcmp(&rounded[0], &rounded[1], sizeof(float)) != 0;
            }
            cr_assert(open || !expected);
            cr_assert(round % 5 == 0 || round % 7 == 0 || !open || expected, "nothing is close");
        }
}

/* Sums of bytes are those of doubles, truncated: with weights of thirds, a third of them is within
 * rounding of a whole number; constant areas take theirs from a table. */
Test(kernels, sums_of_bytes_are_those_of_doubles) {
    static uint8_t bytes[LINES][MOST], got[MOST + SLACK], constants[256];
    static double sums[MOST];
    const void *at[LINES], *of_doubles[LINES];
    uint64_t state = 29;
    const stn_kernels *kernels;
    for (int round = 0; round < 60; round++) {
        const size_t single = (size_t)round % 3 + (round % 5 == 0), pairs = single ? (size_t)round % 5 : 4;
        const stn_terms terms = {at, weights, single, pairs, round % 2, 2e-3F, constants};
        stn_terms doubles = terms;
        doubles.lines = of_doubles;
        fill(&state);
        for (size_t i = 0; i < sizeof weights / sizeof *weights; i++)
            weights[i] = round % 4 ? (double)random_int(&state, -9, 9) / 3 : random_unit(&state);
        for (int k = 0; k < LINES; k++) {
            at[k] = bytes[k];
            of_doubles[k] = lines[k];
            for (int x = 0; x < MOST; x++) lines[k][x] = bytes[k][x] = (uint8_t)random_int(&state, 0, 255);
            memset(bytes[k] + 128, 9, 128); /* constant */
            for (int x = 128; x < 256; x++) lines[k][x] = 9;
        }
        double all = 0;
        for (size_t k = 0; k < single + (doubles.odd ? 0 : pairs); k++) all += weights[k] * (k < single ? 1 : 2);
        for (int i = 0; i < 256; i++) constants[i] = (uint8_t)(int64_t)(all * i + (all < 0 ? -1e-9 : 1e-9));
        for (int set = 0; (kernels = stn_kernels_at(set)); set++)
            for (size_t count = 0; count <= MOST; count += count < 130 ? 1 : 95) {
                got[count] = 3;
                kernels->sum_byte(got, &terms, count);
                for (size_t x = 0; x < count; x++) sums[x] = expected(&doubles, x);
                uint8_t whole[MOST];
                kernels->store[STN_ELEMENT_U8](whole, sums, count);
                for (size_t x = 0; x < count; x++)
                    cr_assert(got[x] == whole[x] || (bytes[0][x] == 9 && got[x] == constants[9]),
                              "%d lines, %d pairs, set %d, point %d: %d for %g", (int)single, (int)pairs, set, (int)x,
                              got[x], sums[x]);
                cr_assert_eq(got[count], 3);
            }
    }
}

/* A sum of negative zeros is a negative zero. */
Test(kernels, negative_zero_is_kept) {
    const double zeros[20] = {0}, minus = -1;
    const void *line = zeros;
    const stn_terms terms = {.lines = &line, .weights = &minus, .single = 1};
    const stn_kernels *kernels;
    for (int set = 0; (kernels = stn_kernels_at(set)); set++) {
        double got[20];
        kernels->sum(got, &terms, 20);
        for (int x = 0; x < 20; x++) cr_assert(signbit(got[x]));
    }
}

/* If all weights are floats, products are exact, and may be added without being rounded. */
static void check_rows(size_t planes, size_t height, size_t width, bool exact, uint64_t *state) {
    static double got[STN_KERNEL_ROWS][MOST + SLACK];
    const size_t seen = height + STN_KERNEL_ROWS - 1;
    static float rounded[STN_KERNEL_ROWS][MOST + SLACK], stored[STN_KERNEL_ROWS][MOST + SLACK];
    const void *rows[LINES], *of_floats[LINES];
    double *sums[STN_KERNEL_ROWS];
    float *sums_f32[STN_KERNEL_ROWS], *stored_f32[STN_KERNEL_ROWS];
    const stn_dense dense = {rows, weights, planes, height, width, exact};
    const stn_dense dense_f32 = {of_floats, weights, planes, height, width, exact};
    const stn_kernels *kernels;
    for (size_t k = 0; k < planes * seen; k++) rows[k] = lines[k], of_floats[k] = floats[k];
    for (int r = 0; r < STN_KERNEL_ROWS; r++) sums[r] = got[r], sums_f32[r] = rounded[r], stored_f32[r] = stored[r];
    fill(state);
    for (size_t i = 0; exact && i < sizeof weights / sizeof *weights; i++) weights[i] = (float)weights[i];
    for (int set = 0; (kernels = stn_kernels_at(set)); set++)
        for (size_t count = STN_KERNEL_MIN; count + width <= MOST; count += count < 90 ? 1 : 77) {
            for (int r = 0; r < STN_KERNEL_ROWS; r++) got[r][count] = rounded[r][count] = stored[r][count] = 3;
            kernels->sum_rows(sums, &dense, count);
            kernels->sum_rows_to_float(stored_f32, &dense, count);
            kernels->sum_rows_float(sums_f32, &dense_f32, count);
            for (size_t r = 0; r < STN_KERNEL_ROWS; r++) {
                cr_assert(got[r][count] == 3 && rounded[r][count] == 3 && stored[r][count] == 3);
                for (size_t x = 0; x < count; x++) {
                    double u = -0.0;
                    for (size_t p = 0; p < planes; p++)
                        for (size_t k = 0; k < height * width; k++)
                            u += weights[p * height * width + k] * lines[p * seen + r + k / width][x + k % width];
                    cr_assert(rounded[r][x] == (float)u && stored[r][x] == (float)u);
                    cr_assert_eq(got[r][x], u, "%d x %d x %d taps, %d points", (int)planes, (int)height, (int)width,
                                 (int)count);
                }
            }
        }
}

Test(kernels, row_sums_follow_the_order_of_taps) {
    uint64_t state = 13;
    for (int exact = 0; exact < 2; exact++) {
        check_rows(1, 3, 3, exact, &state);
        check_rows(1, 3, 1, exact, &state);
        check_rows(1, 4, 5, exact, &state);
        check_rows(1, 9, 7, exact, &state);
        check_rows(2, 3, 4, exact, &state);
    }
}

/* Number i of an array of floats or, if it is wide, of doubles. */
static double number_at(const void *array, bool wide, int64_t i) {
    float narrow;
    double number;
    memcpy(&narrow, (const char *)array + i * 4, 4);
    memcpy(&number, (const char *)array + i * (wide ? 8 : 0), 8);
    return wide ? number : (double)narrow;
}

/* wide: of doubles. */
static void check_averages(const stn_kernels *kernels, bool wide) {
    enum { SIZE = 5, COUNT = 4, COLUMNS = STN_AVERAGE_COLUMNS };
    static double got[COUNT * COLUMNS + SLACK], ends[SIZE * COLUMNS], sums[MOST + SLACK], begins[MOST + SLACK];
    const int size = wide ? 8 : 4;
    static double means[MOST + SLACK], rows[(SIZE + COUNT - 1) * COLUMNS];
    const void *const from[] = {wide ? (const void *)lines[1] : floats[1], wide ? (const void *)lines[3] : floats[3]};
#define NUMBER(i, x) (wide ? lines[i][x] : (double)floats[i][x])
#define RESULT(array, x) number_at(array, wide, (int64_t)(x))
#define ROUNDED(mean) (wide ? (mean) : (double)(float)(mean))
    for (int i = 0; i < SIZE + COUNT - 1; i++)
        for (int x = 0; x < COLUMNS; x++)
            memcpy((char *)rows + (i * COLUMNS + x) * size, wide ? (const void *)&lines[i][x] : &floats[i][x],
                   (size_t)size);
    const void *const next = (const char *)rows + SIZE * COLUMNS * size;
    memset(got, 1, sizeof got);
    const double guard = RESULT(got, COUNT * COLUMNS);
    cr_assert(kernels->average[wide](got, rows, next, SIZE, COUNT, 3.7, ends));
    cr_assert_eq(RESULT(got, COUNT * COLUMNS), guard);
    for (int i = 0; i < COUNT; i++)
        for (int x = 0; x < COLUMNS; x++) {
            double end = 0, begin = 0;
            for (int k = SIZE - 1; k >= i; k--) end += NUMBER(k, x);
            for (int k = SIZE; k < SIZE + i; k++) begin += NUMBER(k, x);
            cr_assert_eq(RESULT(got, i * COLUMNS + x), ROUNDED(wide ? (end + begin) / 3.7 : (end + begin) * (1 / 3.7)));
        }
    for (size_t count = 0; count <= MOST; count += count < 50 ? 1 : 65) {
        sums[count] = 3;
        memset(means, 1, sizeof means);
        kernels->add_row[wide](sums, lines[0], from[0], count);
        memcpy(begins, sums, sizeof begins);
        cr_assert(kernels->mean_row[wide](means, lines[2], begins, from[1], count, 3.7));
        cr_assert(sums[count] == 3 && begins[count] == 3 && RESULT(means, count) == guard);
        for (size_t x = 0; x < count; x++) {
            cr_assert_eq(sums[x], lines[0][x] + NUMBER(1, x));
            cr_assert_eq(begins[x], sums[x] + NUMBER(3, x));
            const double sum = lines[2][x] + begins[x];
            cr_assert_eq(RESULT(means, x), ROUNDED(wide ? sum / 3.7 : sum * (1 / 3.7)));
        }
        for (size_t x = 0; wide && x < count; x++) { /* any double that is not finite is noticed */
            memcpy(begins, sums, sizeof begins);
            begins[x] = INFINITY;
            cr_assert_not(kernels->mean_row[wide](means, lines[2], begins, from[1], count, 3.7));
        }
    }
}

static void check_transposes(const stn_kernels *kernels, bool wide, int64_t rows, int64_t columns) {
    static double to[MOST];
    const int64_t from_stride = columns + rows % 3, to_stride = rows + columns % 3, all = to_stride * columns;
    const void *from = wide ? (const void *)lines[0] : floats[0];
    memset(to, 1, sizeof to);
    const double guard = RESULT(to, 0);
    kernels->transpose[wide](from, from_stride, rows, columns, to, to_stride);
    for (int64_t i = 0; i < all + 1; i++) {
        const int64_t row = i % to_stride, column = i / to_stride;
        const bool inside = row < rows && column < columns;
        cr_assert_eq(RESULT(to, i), inside ? NUMBER(0, row * from_stride + column) : guard);
    }
}

Test(kernels, moving_averages_follow_their_order) {
    uint64_t state = 29;
    const stn_kernels *kernels;
    fill(&state);
    for (int set = 0; (kernels = stn_kernels_at(set)); set++)
        for (int wide = 0; wide < 2; wide++) {
            check_averages(kernels, wide);
            for (int64_t rows = 1; rows < 14; rows++)
                for (int64_t columns = 1; columns < 14; columns++) check_transposes(kernels, wide, rows, columns);
        }
}
#undef NUMBER
#undef RESULT
#undef ROUNDED

/* Storing a double as an integer: truncated if it fits, otherwise wrapped. */
/* Lines are the rows, of real and imaginary parts; all sets differ by rounding alone. */
Test(kernels, spectra_are_sums_of_products) {
    enum { POINTS = 5, REALS = POINTS * STN_SPECTRA_LANES };
    static double got[STN_SPECTRA_ROWS][2 * REALS + SLACK], pairs[POINTS * LINES * 2];
    double *sums[STN_SPECTRA_ROWS];
    const double *rows[STN_SPECTRA_ROWS + LINES];
    uint64_t state = 3;
    const stn_kernels *kernels;
    fill(&state);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) pairs[i] = random_unit(&state);
    for (int q = 0; q < STN_SPECTRA_ROWS + LINES; q++) rows[q] = lines[q % LINES] + q;
    for (size_t count = STN_SPECTRA_LANES; count <= LINES; count++)
        for (int set = 0; (kernels = stn_kernels_at(set)); set++) {
            for (int r = 0; r < STN_SPECTRA_ROWS; r++) sums[r] = got[r], got[r][2 * REALS] = 3;
            kernels->sum_spectra(sums, rows, pairs, count, POINTS);
            for (size_t r = 0; r < STN_SPECTRA_ROWS; r++)
                for (size_t x = 0; x < REALS; x++) {
                    const double *w = pairs + x / STN_SPECTRA_LANES * 2 * count;
                    double re = 0, im = 0;
                    for (size_t q = 0; q < count; q++) {
                        const double *row = rows[r + q];
                        re += w[2 * q] * row[x] - w[2 * q + 1] * row[REALS + x];
                        im += w[2 * q] * row[REALS + x] + w[2 * q + 1] * row[x];
                    }
                    cr_assert(fabs(got[r][x] - re) < 1e-13 && fabs(got[r][REALS + x] - im) < 1e-13);
                    cr_assert_eq(got[r][2 * REALS], 3);
                }
        }
}

Test(kernels, integers_truncate_and_wrap) {
    static const struct {
        double value;
        int64_t whole;
    } rows[] = {{2.9, 2},
                {-2.9, -2},
                {300.5, 300},
                {-129, -129},
                {70000.25, 70000},
                {-0.5, 0},
                {5e9, 5000000000},
                {-5e9, -5000000000},
                {9e18, 9000000000000000000},
                {1e300, INT64_MIN},
                {-INFINITY, INT64_MIN},
                {NAN, INT64_MIN}};
    static const stn_element numbers[] = {STN_ELEMENT_I8,  STN_ELEMENT_U8,  STN_ELEMENT_I16, STN_ELEMENT_U16,
                                          STN_ELEMENT_I32, STN_ELEMENT_U32, STN_ELEMENT_I64, STN_ELEMENT_U64};
    const stn_kernels *kernels;
    for (int set = 0; (kernels = stn_kernels_at(set)); set++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++) {
                double in[40];
                char got[40 * 8];
                const size_t size = stn_element_size(numbers[n]);
                for (int x = 0; x < 40; x++) in[x] = rows[i].value;
                kernels->store[numbers[n]](got, in, 40);
                for (size_t x = 0; x < 40; x++) /* little endian: the lowest bits come first */
                    cr_assert_arr_eq(got + x * size, &rows[i].whole, size, "%g as type %d", rows[i].value,
                                     (int)numbers[n]);
            }
}

Test(kernels, stored_numbers_load_unchanged) {
    uint64_t state = 19;
    const stn_kernels *kernels;
    for (int set = 0; (kernels = stn_kernels_at(set)); set++)
        for (int number = STN_ELEMENT_F64; number < STN_ELEMENTS; number++) {
            double in[100], got[100];
            char stored[100 * 8];
            for (int x = 0; x < 100; x++)
                in[x] = number == STN_ELEMENT_BOOL ? x % 2 : (double)random_int(&state, 0, 100);
            kernels->store[number](stored, in, 100);
            kernels->load[number](got, stored, 100);
            cr_assert_arr_eq(got, in, sizeof in, "type %d", number);
        }
}

Test(kernels, booleans_are_nonzero_after_truncation) {
    const double in[4] = {0.9, 1.5, -3, 0};
    uint8_t got[4];
    const stn_kernels *kernels;
    for (int set = 0; (kernels = stn_kernels_at(set)); set++) {
        kernels->store[STN_ELEMENT_BOOL](got, in, 4);
        cr_assert(got[0] == 0 && got[1] == 1 && got[2] == 1 && got[3] == 0);
    }
}

Test(kernels, every_half_converts) {
    static uint16_t halves[65536], back[65536];
    static double got[65536];
    for (int i = 0; i < 65536; i++) halves[i] = (uint16_t)i;
    const stn_kernels *kernels;
    for (int set = 0; (kernels = stn_kernels_at(set)); set++) {
        kernels->load[STN_ELEMENT_F16](got, halves, 65536);
        kernels->store[STN_ELEMENT_F16](back, got, 65536);
        for (int i = 0; i < 65536; i++) {
            int exponent = i >> 10 & 31, mantissa = i & 1023;
            double magnitude = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
            if (exponent == 31) magnitude = mantissa ? NAN : INFINITY;
            double expected = i >> 15 ? -magnitude : magnitude;
            cr_assert(isnan(expected) ? isnan(got[i]) : got[i] == expected && !signbit(got[i]) == !(i >> 15), "%#x", i);
            cr_assert(isnan(expected) ? (back[i] & 0x7fff) > 0x7c00 : back[i] == i, "%#x came back as %#x", i, back[i]);
        }
    }
}

Test(kernels, floats_round_to_the_nearest_half) {
    enum { COUNT = 60000 };
    static double in[COUNT];
    static uint16_t got[COUNT];
    uint64_t state = 17;
    for (int i = 0; i < COUNT; i++) in[i] = (float)ldexp(random_unit(&state), (int)random_int(&state, -28, 18));
    for (int i = 0; i < 2000; i++) /* halfway between two halves */
        in[i] = 0.5f * (stn_half_to_float((uint16_t)(15 * i)) + stn_half_to_float((uint16_t)(15 * i + 1)));
    const stn_kernels *kernels;
    for (int set = 0; (kernels = stn_kernels_at(set)); set++) {
        kernels->store[STN_ELEMENT_F16](got, in, COUNT);
        for (int i = 0; i < COUNT; i++) {
            float value = stn_half_to_float(got[i]), up = stn_half_to_float((uint16_t)(got[i] + 1));
            float down = got[i] & 0x7fff ? stn_half_to_float((uint16_t)(got[i] - 1)) : value;
            if (isinf(value)) {
                cr_assert_geq(fabs(in[i]), 65520.0);
                continue;
            }
            double own = fabs(value - in[i]),
                   other = fmin(fabs(up - in[i]), down == value ? INFINITY : fabs(down - in[i]));
            if (isinf(up)) other = fabs(down - in[i]);
            cr_assert(own < other || (own == other && got[i] % 2 == 0), "%g became %g", in[i], value);
        }
    }
}

/* Quotients are rounded down for every sum, next to multiples of the divisor too. */
Test(kernels, sums_of_integers_are_exact) {
    enum { COUNT = 203 };
    uint64_t state = 23;
    const stn_kernels *kernels;
    for (int set = 0; (kernels = stn_kernels_at(set)); set++)
        for (int kind = 0; kind < STN_INTEGERS; kind++)
            for (int round = 0; round < 300; round++) {
                const uint32_t most = kind == STN_SHORTS ? UINT16_MAX : UINT8_MAX;
                const uint32_t largest = kind == STN_SMALL_BYTES ? 257 : 65536; /* divisor */
                const uint32_t divisor = (uint32_t)random_int(&state, 1, round % 2 ? 40 : largest);
                uint32_t sums[COUNT + 1], seen[COUNT], numbers[2][COUNT];
                uint16_t small[COUNT + 1], got[COUNT + 1], shorts[2][COUNT];
                uint8_t bytes[2][COUNT];
                void *const at = kind == STN_SMALL_BYTES ? (void *)small : sums;
                const void *const rows[2] = {kind == STN_SHORTS ? (void *)shorts[0] : bytes[0],
                                             kind == STN_SHORTS ? (void *)shorts[1] : bytes[1]};
                for (int x = 0; x < COUNT; x++) {
                    const uint32_t mean = (uint32_t)random_int(&state, 0, most - 1);
                    sums[x] = mean * divisor + (x % 3 ? (uint32_t)(x % 3 - 1) * (divisor - 1) : 0);
                }
                sums[0] = most * divisor;
                for (int x = 0; x < COUNT; x++) seen[x] = sums[x], small[x] = (uint16_t)sums[x];
                for (int with = 0; with < 2; with++) { /* sums to be subtracted */
                    uint32_t leave[COUNT];
                    uint16_t small_leave[COUNT];
                    for (int x = 0; x < COUNT && with; x++) {
                        small_leave[x] = (uint16_t)(leave[x] = (uint32_t)random_int(&state, 0, 65535));
                        sums[x] += leave[x], small[x] = (uint16_t)(small[x] + small_leave[x]);
                    }
                    const void *less = !with ? NULL : at == small ? (void *)small_leave : leave;
                    kernels->quotients[kind](got, at, less, COUNT, divisor);
                    for (int x = 0; x < COUNT; x++)
                        cr_assert_eq(kind == STN_SHORTS ? got[x] : ((uint8_t *)got)[x], seen[x] / divisor);
                }
                for (int x = 0; x < COUNT; x++) {
                    for (int k = 0; k < 2; k++) {
                        numbers[k][x] = (uint32_t)random_int(&state, 0, most);
                        shorts[k][x] = (uint16_t)numbers[k][x], bytes[k][x] = (uint8_t)numbers[k][x];
                    }
                    sums[x] = small[x] = 300;
                }
                sums[COUNT] = small[COUNT] = 7;
                kernels->slide[kind](at, rows[0], rows[1], COUNT);
                for (int x = 0; x < COUNT; x++)
                    cr_assert_eq(at == small ? small[x] : sums[x], 300U + numbers[0][x] - numbers[1][x]);
                const size_t used = (size_t)random_int(&state, 1, STN_KERNEL_MEANS);
                const void *means_of[STN_KERNEL_MEANS];
                for (size_t k = 0; k < used; k++) means_of[k] = rows[k * k % 3 % 2];
                if (kernels->means[kind]) kernels->means[kind](got, means_of, used, COUNT);
                for (int x = 0; x < COUNT && kernels->means[kind]; x++) {
                    size_t sum = 0;
                    for (size_t k = 0; k < used; k++) sum += numbers[k * k % 3 % 2][x];
                    cr_assert_eq(kind == STN_SHORTS ? got[x] : ((uint8_t *)got)[x], sum / used);
                }
                sums[0] = small[0] = 65000;
                kernels->accumulate[kind](at, rows[0], COUNT - 1);
                for (uint32_t x = 0, sum = 65000; x < COUNT; sum += numbers[0][x++])
                    cr_assert_eq(at == small ? small[x] : sums[x], at == small ? (uint16_t)sum : sum);
                cr_assert(sums[COUNT] == 7 && small[COUNT] == 7);
            }
}
