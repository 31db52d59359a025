/* Transforms of taps by sums along one axis after another, compared with the definition. */
#include <math.h>
#include <stdlib.h>

#include "strategies/common/stencil_symbol.h"
#include "strategies/segment/taps_dft.h"
#include "tasks.h"

/* Random taps of a box that reaches low and high points along each axis; some are left out. */
static stn_task random_task(int rank, const int low[3], const int high[3], unsigned seed) {
    stn_tap *taps = malloc((size_t)STN_MAX_TAPS * sizeof *taps);
    size_t count = 0;
    int64_t o[3] = {0, 0, 0};
    srand(seed);
    for (o[0] = -low[0]; o[0] <= high[0]; o[0]++)
        for (o[1] = rank > 1 ? -low[1] : 0; o[1] <= (rank > 1 ? high[1] : 0); o[1]++)
            for (o[2] = rank > 2 ? -low[2] : 0; o[2] <= (rank > 2 ? high[2] : 0); o[2]++)
                if (count == 0 || rand() % 8)
                    taps[count++] = (stn_tap){{o[0], o[1], o[2]}, 2.0 * rand() / RAND_MAX - 1};
    stn_stencil *stencil;
    OK(stn_stencil_create(rank, count, taps, &stencil, &error));
    const stn_task task = task_of(stencil);
    stn_stencil_destroy(stencil);
    free(taps);
    return task;
}

/* The sum of weights times exp(2 pi i k.o / n) over all taps, or over those with offset `only`
 * along axis `along` if that is not negative. */
static cplx defined(const stn_task *task, const int64_t n[3], const int64_t k[3], int along, int64_t only) {
    cplx sum = {0, 0};
    for (size_t i = 0; i < task->ntaps; i++) {
        const int64_t *o = task->taps[i].offset;
        if (along >= 0 && o[along] != only) continue;
        cplx root = {task->taps[i].weight, 0};
        for (int axis = 0; axis < 3; axis++)
            if (axis != along)
                root = product(root, root_of(((k[axis] * o[axis]) % n[axis] + n[axis]) % n[axis], n[axis]));
        sum.re += root.re, sum.im += root.im;
    }
    return sum;
}

/* The sum of taps times exp(2 pi i k d / n) over the offsets d = -half .. half. */
static cplx transform_at(const cplx *taps, int half, int k, int n) {
    cplx sum = {0, 0};
    for (int d = -half; d <= half; d++) {
        const cplx term = product(taps[half + d], root_of(((int64_t)k * d % n + n) % n, n));
        sum.re += term.re, sum.im += term.im;
    }
    return sum;
}

static long double size_of(const stn_task *task) {
    long double size = 0;
    for (size_t i = 0; i < task->ntaps; i++) size += fabs(task->taps[i].weight);
    return size;
}

Test(taps_dft, equals_the_definition) {
    static const struct {
        int rank, low[3], high[3], n[3];
    } cases[] = {{2, {2, 3}, {2, 3}, {1, 16, 32}},       {2, {0, 5}, {4, 1}, {1, 15, 9}},
                 {2, {0, 0}, {0, 0}, {1, 8, 1}},         {2, {7, 0}, {1, 6}, {1, 48, 7}},
                 {3, {1, 2, 0}, {1, 0, 3}, {10, 8, 9}},  {3, {0, 0, 2}, {3, 0, 2}, {16, 1, 16}},
                 {3, {3, 3, 3}, {3, 3, 3}, {16, 16, 16}}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        stn_task task = random_task(cases[c].rank, cases[c].low, cases[c].high, (unsigned)c);
        const int *n = cases[c].n;
        const int64_t length[3] = {n[0], n[1], n[2]};
        cplx *symbol = segment_taps_dft(&task, n);
        cr_assert_not_null(symbol);
        int k[3];
        for (k[0] = 0; k[0] < n[0]; k[0]++)
            for (k[1] = 0; k[1] < n[1]; k[1]++)
                for (k[2] = 0; k[2] < n[2]; k[2]++) {
                    const cplx is = segment_taps_dft_at(symbol, n, k),
                               expected = defined(&task, length, (int64_t[3]){k[0], k[1], k[2]}, -1, 0);
                    cr_expect(hypotl(is.re - expected.re, is.im - expected.im) <= 0x1p-62L * size_of(&task),
                              "case %zu, frequency %d %d %d", c, k[0], k[1], k[2]);
                }
        free(symbol);
        stn_task_clear(&task);
    }
}

/* Lines along the middle axis of an array: random taps at offsets -period / 2 .. period / 2, whose
 * transform is known at the frequencies of one period. */
Test(taps_dft, interpolates_between_the_frequencies_of_a_period) {
    enum { SLOWER = 2, FASTER = 3, LINES = SLOWER * FASTER, MAX_PERIOD = 64 };
    static const int sizes[][2] = {{1, 16}, {2, 5}, {5, 256}, {8, 24}, {63, 256}, {64, 48}};
    srand(3);
    for (size_t c = 0; c < sizeof sizes / sizeof *sizes; c++) {
        const int period = sizes[c][0], length = sizes[c][1], half = period / 2;
        cplx taps[LINES][MAX_PERIOD + 1], *at_period = calloc((size_t)(LINES * period), sizeof *at_period);
        for (int i = 0; i < LINES; i++)
            for (int d = -half; d <= half; d++) {
                taps[i][half + d] = (cplx){2.0 * rand() / RAND_MAX - 1, 2.0 * rand() / RAND_MAX - 1};
                if (2 * d == period) taps[i][half + d] = taps[i][0];
            }
        for (int i = 0; i < LINES * period; i++) {
            const int line = i / (FASTER * period) * FASTER + i % FASTER, k = i / FASTER % period;
            at_period[i] = transform_at(taps[line], half, k, period);
        }
        cplx *at_length = segment_interpolate(period, length, SLOWER, FASTER, at_period);
        cr_assert_not_null(at_length);
        for (int i = 0; i < LINES * length; i++) {
            const int line = i / (FASTER * length) * FASTER + i % FASTER, k = i / FASTER % length;
            const cplx expected = transform_at(taps[line], half, k, length);
            cr_expect(hypotl(at_length[i].re - expected.re, at_length[i].im - expected.im) <= 0x1p-58L * period,
                      "period %d, length %d, line %d, frequency %d", period, length, line, k);
        }
        free(at_length);
    }
    cr_expect_null(segment_interpolate(4, 8, 1, 1, NULL), "without memory before, without a result");
}

/* The weights along an axis, to be transformed: in f64 the doubles nearest to the sums, else as
 * good as sums of double. */
Test(taps_dft, weights_along_an_axis_equal_the_definition) {
    static const struct {
        int rank, low[3], high[3];
        int64_t length[3];
    } cases[] = {{2, {5, 3}, {4, 6}, {1, 40, 36}},
                 {2, {8, 0}, {0, 2}, {1, 30, 25}},
                 {2, {6, 6}, {6, 6}, {1, 64, 64}},
                 {3, {4, 1, 2}, {5, 2, 1}, {20, 9, 12}},
                 {3, {9, 0, 3}, {0, 1, 3}, {16, 8, 15}}};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        const size_t c = i / 2;
        stn_task task = random_task(cases[c].rank, cases[c].low, cases[c].high, 100 + (unsigned)c);
        const long double sums = (i % 2 ? 0x1p-48L : 0x1p-62L) * size_of(&task);
        if (i % 2) task.dtype = STN_F32;
        const int64_t *n = cases[c].length;
        const int axis = 3 - task.rank, first = axis ? 0 : 1;
        const stn_symbol symbol = stn_symbol_form(&task, axis, n, true);
        cr_assert(symbol.taps);
        const int64_t lines = n[first] * n[2];
        int64_t *const place = malloc(2 * (size_t)lines * sizeof *place);
        double *const parts = malloc((size_t)(lines * symbol.parts) * sizeof *parts);
        for (int64_t k = 0; k < lines; k++) place[k] = k / n[2], place[lines + k] = k % n[2];
        cr_assert(stn_symbol_parts(&symbol, &task, lines, (const int64_t *[]){place, place + lines}, parts));
        for (int64_t line = 0; line < lines; line++)
            for (int d = -symbol.low; d <= symbol.high; d++) {
                int64_t k[3] = {0, 0, 0};
                k[first] = place[line], k[2] = place[lines + line];
                const cplx expected = defined(&task, n, k, axis, d);
                const double *is = parts + line * symbol.parts + 2 * (d + symbol.low);
                const long double much = 0x1p-53L * hypotl(expected.re, expected.im) + sums;
                cr_expect(fabsl(is[0] - expected.re) <= much && fabsl(is[1] - expected.im) <= much,
                          "case %zu, line %d, offset %d", c, (int)line, d);
            }
        free(place), free(parts);
        stn_task_clear(&task);
    }
}
