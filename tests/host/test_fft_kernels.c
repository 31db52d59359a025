/* FFTs of lines on the host: all instruction sets are bit-identical to plain C, lines are
 * independent, and the results agree with the defining sum. Compiled for float64 and for
 * float32. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/fft_cosine.h"
#include "host/fft_line.h"
#include "host_grids.h"

enum { MOST = 2500 * STN_FFT_LANES };
static const int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 16, 32, 60, 61, 67, 97, 128, 360, 512, 1009, 1024};
static const int64_t lanes_of[] = {1, STN_FFT_LANES / 2, STN_FFT_LANES};
static const long double bar = STN_FFT_DTYPE == STN_F64 ? 1e-15L : 5e-7L;

typedef struct buffers {
    stn_fft_number x[2][MOST], other[2][MOST];
} buffers;

static stn_planes planes(stn_fft_number numbers[2][MOST]) { return (stn_planes){numbers[0], numbers[1]}; }

static void fill(buffers *b, int64_t count, uint64_t seed) {
    for (int64_t i = 0; i < count; i++)
        for (int part = 0; part < 2; part++) b->x[part][i] = (stn_fft_number)random_unit(&seed);
}

static stn_planes transform(int64_t n, const stn_fft_kernels *words, buffers *b, int64_t lanes) {
    stn_fft_line *line;
    cr_assert_eq(stn_fft_line_create(n, &line, NULL), STN_OK);
    cr_assert(stn_fft_line_capacity(line) * lanes <= MOST);
    stn_planes result = stn_fft_line_run(line, words, planes(b->x), planes(b->other), lanes);
    stn_fft_line_destroy(line);
    return result;
}

static buffers one, two;

Test(fft_kernels, instruction_sets_are_bit_identical) {
    const stn_fft_kernels *words;
    for (int set = 1; (words = stn_fft_kernels_at(set)); set++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (int l = 0; l < 3; l++) {
                int64_t count = sizes[i] * lanes_of[l];
                fill(&one, count, 7 + i), fill(&two, count, 7 + i);
                stn_planes a = transform(sizes[i], stn_fft_kernels_at(0), &one, lanes_of[l]);
                stn_planes b = transform(sizes[i], words, &two, lanes_of[l]);
                cr_assert(!memcmp(a.re, b.re, (size_t)count * sizeof(stn_fft_number)) &&
                              !memcmp(a.im, b.im, (size_t)count * sizeof(stn_fft_number)),
                          "set %d, %ld points, %ld lines", set, (long)sizes[i], (long)lanes_of[l]);
            }
}

Test(fft_kernels, cosine_transforms_are_bit_identical) {
    const stn_fft_kernels *words;
    for (int set = 1; (words = stn_fft_kernels_at(set)); set++)
        for (int kind = STN_DCT2; kind <= STN_DST4; kind++)
            for (int64_t n = 2; n < 30; n++)
                for (int l = 0; l < 3; l++) {
                    const stn_fft fft = {.kind = (stn_transform_kind)kind, .orthogonal = n % 2};
                    const int64_t lanes = lanes_of[l];
                    stn_fft_cosine *c;
                    cr_assert_eq(stn_fft_cosine_create(&fft, n, true, &c, NULL), STN_OK);
                    fill(&one, n * lanes, (uint64_t)n), fill(&two, n * lanes, (uint64_t)n);
                    stn_planes a =
                        stn_fft_cosine_run(c, stn_fft_kernels_at(0), planes(one.x), planes(one.other), lanes);
                    stn_planes b = stn_fft_cosine_run(c, words, planes(two.x), planes(two.other), lanes);
                    cr_assert(!memcmp(a.re, b.re, (size_t)(n * lanes) * sizeof(stn_fft_number)),
                              "set %d, kind %d, %ld points, %ld lines", set, kind, (long)n, (long)lanes);
                    stn_fft_cosine_destroy(c);
                }
}

Test(fft_kernels, lines_match_the_defining_sum) {
    const stn_fft_kernels *words = stn_fft_kernels_best();
    for (size_t i = 0; i < 200 + sizeof sizes / sizeof *sizes; i++)
        for (int l = 0; l < 3; l++) {
            int64_t n = i < 200 ? (int64_t)i + 1 : sizes[i - 200], lanes = lanes_of[l];
            fill(&one, n * lanes, 3 + i), fill(&two, n * lanes, 3 + i);
            stn_planes got = transform(n, words, &one, lanes);
            int64_t line = lanes - 1;
            long double error = 0, size = 0;
            for (int64_t k = 0; k < n; k++) {
                long double re = 0, im = 0;
                for (int64_t j = 0; j < n; j++) {
                    long double turn = -2 * acosl(-1) * (long double)(j * k % n) / (long double)n;
                    long double c = cosl(turn), s = sinl(turn), x = two.x[0][j * lanes + line];
                    re += x * c - two.x[1][j * lanes + line] * s, im += x * s + two.x[1][j * lanes + line] * c;
                }
                long double dr = got.re[k * lanes + line] - re, di = got.im[k * lanes + line] - im;
                error += dr * dr + di * di, size += re * re + im * im;
            }
            cr_expect(sqrtl(error / size) < bar, "%ld points, %ld lines: %Lg", (long)n, (long)lanes,
                      sqrtl(error / size));
        }
}

Test(fft_kernels, real_lines_match_complex_lines) {
    const stn_fft_kernels *words;
    for (int set = 0; (words = stn_fft_kernels_at(set)); set++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (int l = 0; l < 3; l++) {
                const int64_t lanes = lanes_of[l], count = sizes[i] * lanes;
                stn_fft_line *line;
                cr_assert_eq(stn_fft_line_create(sizes[i], &line, NULL), STN_OK);
                fill(&one, count, 7 + i);
                memset(one.x[1], 0, sizeof one.x[1]);
                two = one;
                stn_planes a = stn_fft_line_run(line, words, planes(one.x), planes(one.other), lanes);
                stn_planes b = stn_fft_line_run_real(line, words, planes(two.x), planes(two.other), lanes);
                stn_fft_line_destroy(line);
                for (int64_t k = 0; k < count; k++)
                    cr_assert(a.re[k] == b.re[k] && a.im[k] == b.im[k], "%ld points", (long)sizes[i]);
            }
}

Test(fft_kernels, lines_are_independent) {
    const stn_fft_kernels *words = stn_fft_kernels_best();
    for (size_t i = 1; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t n = sizes[i], lanes = STN_FFT_LANES;
        fill(&one, n * lanes, 5), fill(&two, n * lanes, 5);
        two.x[0][n / 2 * lanes + 3] = NAN;
        stn_planes a = transform(n, words, &one, lanes), b = transform(n, words, &two, lanes);
        for (int64_t k = 0; k < n * lanes; k++)
            if (k % lanes == 3)
                cr_assert(isnan(b.re[k]), "%ld points", (long)n);
            else
                cr_assert(a.re[k] == b.re[k] && a.im[k] == b.im[k], "%ld points", (long)n);
    }
}
