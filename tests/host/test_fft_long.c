/* Long lines are transformed as four-step FFTs, alone or in a batch: the results must agree with
 * those of a line in one piece. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/fft_by_type.h"
#include "host/fft_line.h"
#include "host/fft_long.h"
#include "host/fft_odd.h"
#include "host_grids.h"

enum { LINES = 3, THREADS = 2 }; /* fewer threads than lines */
/* Some sides have a prime factor above the largest radix: 67, 101, 149, 167, 173, 509, 1021. */
static const int64_t sizes[] = {8192, 8640, 10000, 12005, 16336, 16384, 16867, 20000, 30030, 32768, 34103, 39366};
static const int64_t odd_sizes[] = {729, 1001, 1169, 2187, 3025, 4489, 6561, 9009, 16807, 24883, 25025, 39325};

static double number_of(stn_dtype dtype, const void *numbers, int64_t at) {
    return dtype == STN_F64 ? ((const double *)numbers)[at] : (double)((const float *)numbers)[at];
}

static void *random_numbers(stn_dtype dtype, int64_t count, uint64_t seed) {
    void *numbers = malloc((size_t)count * stn_dtype_size(dtype));
    for (int64_t i = 0; i < count; i++) {
        double value = random_unit(&seed);
        if (dtype == STN_F64)
            ((double *)numbers)[i] = value;
        else
            ((float *)numbers)[i] = (float)value;
    }
    return numbers;
}

static stn_fft make(const stn_transform *t, int64_t batch) {
    stn_transform all = *t;
    stn_fft fft;
    all.batch = (size_t)batch;
    cr_assert_eq(stn_fft_make(&all, &fft, NULL), STN_OK);
    return fft;
}

static void run_fft(const stn_fft *fft, stn_pool *pool, const void *in, void *out) {
    stn_host_fft *host;
    cr_assert_eq(stn_host_fft_create(fft, THREADS, &host, NULL), STN_OK);
    void *workspace = malloc(stn_host_fft_workspace(host) + 1);
    stn_host_fft_run(host, pool, in, out, workspace);
    free(workspace);
    stn_host_fft_destroy(host);
}

/* The numbers of one line, as complex numbers, and the transform of these in one piece: even ones
 * are real parts. */
static double *in_one_piece(const stn_fft *fft, const void *in) {
    const int64_t n = fft->n[2], stride = fft->in.stride[2];
    stn_fft_line *line;
    cr_assert_eq(stn_fft_line_create(n, &line, NULL), STN_OK);
    const int64_t capacity = stn_fft_line_capacity(line);
    double *planes = calloc((size_t)capacity, 4 * sizeof *planes), *made = calloc((size_t)n, 2 * sizeof *made);
    stn_planes x = {planes, planes + capacity}, other = {planes + 2 * capacity, planes + 3 * capacity};
    for (int64_t k = 0; k < n; k++) {
        const bool conjugate = fft->kind == STN_C2R && k > n / 2;
        const int64_t at = (conjugate ? n - k : k) * stride;
        x.re[k] = number_of(fft->dtype, in, fft->in.real ? at : 2 * at);
        x.im[k] = fft->in.real ? 0 : (conjugate ? -1 : 1) * number_of(fft->dtype, in, 2 * at + 1);
        if (fft->kind == STN_C2R && (k == 0 || 2 * k == n)) x.im[k] = 0;
    }
    if (fft->inverse) x = (stn_planes){x.im, x.re}, other = (stn_planes){other.im, other.re};
    x = stn_fft_line_run(line, stn_fft_kernels_best(), x, other, 1);
    if (fft->inverse) x = (stn_planes){x.im, x.re};
    for (int64_t k = 0; k < n; k++) made[2 * k] = fft->scale * x.re[k], made[2 * k + 1] = fft->scale * x.im[k];
    free(planes);
    stn_fft_line_destroy(line);
    return made;
}

/* The relative L2 distance of a line's results from its transform in one piece. */
static double error_of(const stn_fft *fft, const void *in, const void *out) {
    double *expected = in_one_piece(fft, in), difference = 0, length = 0;
    for (int64_t k = 0; k < (fft->kind == STN_R2C ? fft->n[2] / 2 + 1 : fft->n[2]); k++)
        for (int part = 0; part < (fft->out.real ? 1 : 2); part++) {
            const int64_t at = k * fft->out.stride[2];
            const double number = number_of(fft->dtype, out, fft->out.real ? at : 2 * at + part);
            difference += (number - expected[2 * k + part]) * (number - expected[2 * k + part]);
            length += expected[2 * k + part] * expected[2 * k + part];
        }
    free(expected);
    return sqrt(difference / length);
}

/* The relative L2 distance between a batch and the same transforms one by one, and of lines from
 * their transforms in one piece, whichever is larger. */
static double compare(const stn_transform *t, stn_pool *pool) {
    const stn_fft all = make(t, LINES), one = make(t, 1);
    const int64_t size = (int64_t)stn_dtype_size(t->dtype);
    const int64_t in_bytes = all.in.batch_stride * (int64_t)stn_fft_element(&all, &all.in);
    const int64_t out_bytes = all.out.batch_stride * (int64_t)stn_fft_element(&all, &all.out);
    char *in = random_numbers(t->dtype, LINES * in_bytes / size, 5);
    char *together = calloc(LINES, (size_t)out_bytes), *alone = calloc(LINES, (size_t)out_bytes);
    run_fft(&all, pool, in, together);
    if (t->in_place) memcpy(alone, in, (size_t)(LINES * in_bytes));
    for (int i = 0; i < LINES; i++)
        run_fft(&one, pool, (t->in_place ? alone : in) + i * in_bytes, alone + i * out_bytes);
    double difference = 0, length = 0;
    for (int64_t i = 0; i < LINES * out_bytes / size; i++) {
        const double a = number_of(t->dtype, together, i), b = number_of(t->dtype, alone, i);
        /* padding, which is unchanged */
        const bool between = t->in_place && i / 2 % t->in_stride[0];
        if (!between) difference += (a - b) * (a - b), length += a * a;
    }
    double largest = sqrt(difference / length);
    for (int i = 0; i < LINES; i++)
        largest = fmax(largest, error_of(&one, in + i * in_bytes, together + i * out_bytes));
    free(in), free(together), free(alone);
    return largest;
}

static void check(const stn_transform *t, stn_pool *pool) {
    const double bar = t->dtype == STN_F64 ? 2e-15 : 1e-6, difference = compare(t, pool);
    cr_expect(difference <= bar && difference > 0, "%zu points, kind %d, direction %d, stride %ld, %s: %g",
              t->extent[0], t->kind, t->direction, (long)t->in_stride[0], stn_dtype_name(t->dtype), difference);
}

static stn_transform transform(int64_t n, stn_dtype dtype, stn_transform_kind kind, stn_direction direction) {
    stn_transform t = STN_TRANSFORM_INIT;
    t.rank = 1;
    t.extent[0] = (size_t)n;
    t.dtype = dtype;
    t.kind = kind;
    t.direction = direction;
    return t;
}

static void check_all(stn_dtype dtype) {
    stn_pool *pool;
    cr_assert_eq(stn_pool_create(THREADS, &pool, NULL), STN_OK);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        stn_transform t = transform(sizes[i], dtype, STN_C2C, STN_FORWARD);
        check(&t, pool);
        t.direction = STN_INVERSE;
        t.inverse_scale = 1 / (double)sizes[i];
        check(&t, pool);
        t.in_stride[0] = t.out_stride[0] = 3;
        check(&t, pool);
        t.in_place = 1;
        check(&t, pool);
        t = transform(2 * sizes[i], dtype, STN_R2C, STN_FORWARD);
        check(&t, pool);
        t = transform(2 * sizes[i], dtype, STN_C2R, STN_INVERSE);
        check(&t, pool);
    }
    stn_pool_destroy(pool);
}

Test(fft_long, four_step_equals_line_by_line_in_float64) { check_all(STN_F64); }
Test(fft_long, four_step_equals_line_by_line_in_float32) { check_all(STN_F32); }

static void check_odd(stn_dtype dtype) {
    stn_pool *pool;
    cr_assert_eq(stn_pool_create(THREADS, &pool, NULL), STN_OK);
    for (size_t i = 0; i < sizeof odd_sizes / sizeof *odd_sizes; i++) {
        stn_transform t = transform(odd_sizes[i], dtype, STN_R2C, STN_FORWARD);
        const stn_fft fft = make(&t, 1);
        cr_expect(stn_fft_odd_serves(&fft) || dtype != STN_F64);
        check(&t, pool);
        t.in_stride[0] = 3, t.out_stride[0] = 2;
        check(&t, pool);
        t = transform(odd_sizes[i], dtype, STN_C2R, STN_INVERSE);
        t.inverse_scale = 1 / (double)odd_sizes[i];
        check(&t, pool);
        t.in_stride[0] = 2, t.out_stride[0] = 3;
        check(&t, pool);
    }
    stn_pool_destroy(pool);
}

Test(fft_long, odd_lines_of_real_numbers_in_float64) { check_odd(STN_F64); }
Test(fft_long, odd_lines_of_real_numbers_in_float32) { check_odd(STN_F32); }

Test(fft_long, when_four_step_applies) {
    stn_transform t = transform(1 << 20, STN_F64, STN_C2C, STN_FORWARD);
    stn_fft fft = make(&t, 1);
    cr_expect(stn_fft_long_serves(&fft));
    fft = make(&t, LINES);
    cr_expect(stn_fft_long_serves(&fft), "no cache holds several of its lines");
    t.extent[0] = 32768;
    fft = make(&t, LINES);
    cr_expect(stn_fft_long_serves(&fft), "each thread has whole lines of the batch");
    t.extent[0] = 16 * 65537;
    fft = make(&t, 1);
    cr_expect(stn_fft_long_serves(&fft), "a side with a large prime factor");
    t.extent[0] = 1048573; /* a prime */
    fft = make(&t, 1);
    cr_expect(!stn_fft_long_serves(&fft));
    t.extent[0] = 4096;
    fft = make(&t, 1);
    cr_expect(!stn_fft_long_serves(&fft));
}
