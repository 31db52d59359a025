/* Cosine and sine transforms on the host against their definitions: every type, lengths that are
 * even, odd, prime and long, one to three axes, batches, strides, in place, and large numbers. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/fft_by_type.h"
#include "host/fft_cosine.h"
#include "host/fft_long.h"
#include "host/fft_odd.h"
#include "host_grids.h"

enum { THREADS = 2, SAMPLES = 12 };
static const stn_transform_kind kinds[] = {STN_DCT1, STN_DCT2, STN_DCT3, STN_DCT4,
                                           STN_DST1, STN_DST2, STN_DST3, STN_DST4};

/* The factor of in[j] in out[k]. */
static long double entry(stn_transform_kind kind, bool orthogonal, int64_t n, int64_t j, int64_t k) {
    const long double pi = acosl(-1), root = sqrtl(2);
    const bool ends_in = j == 0 || j == n - 1, ends_out = k == 0 || k == n - 1;
    switch (kind) {
        case STN_DCT1:
            return cosl(pi * (long double)(j * k % (2 * n - 2)) / (long double)(n - 1)) * (ends_in ? 1 : 2) *
                   (orthogonal && ends_in ? root : 1) / (orthogonal && ends_out ? root : 1);
        case STN_DST1:
            return 2 * sinl(pi * (long double)((j + 1) * (k + 1) % (2 * n + 2)) / (long double)(n + 1));
        case STN_DCT2:
            return 2 * cosl(pi * (long double)((2 * j + 1) * k % (4 * n)) / (long double)(2 * n)) /
                   (orthogonal && k == 0 ? root : 1);
        case STN_DST2:
            return 2 * sinl(pi * (long double)((2 * j + 1) * (k + 1) % (4 * n)) / (long double)(2 * n)) /
                   (orthogonal && k == n - 1 ? root : 1);
        case STN_DCT3:
            return cosl(pi * (long double)((2 * k + 1) * j % (4 * n)) / (long double)(2 * n)) * (j            ? 2
                                                                                                 : orthogonal ? root
                                                                                                              : 1);
        case STN_DST3:
            return sinl(pi * (long double)((2 * k + 1) * (j + 1) % (4 * n)) / (long double)(2 * n)) * (j < n - 1 ? 2
                                                                                                       : orthogonal
                                                                                                           ? root
                                                                                                           : 1);
        case STN_DCT4:
            return 2 * cosl(pi * (long double)((2 * j + 1) * (2 * k + 1) % (8 * n)) / (long double)(4 * n));
        default:
            return 2 * sinl(pi * (long double)((2 * j + 1) * (2 * k + 1) % (8 * n)) / (long double)(4 * n));
    }
}

static stn_fft make(const stn_transform *t) {
    stn_fft fft;
    cr_assert_eq(stn_fft_make(t, &fft, NULL), STN_OK);
    return fft;
}

static void run_fft(const stn_fft *fft, const void *in, void *out) {
    stn_pool *pool;
    stn_host_fft *host;
    cr_assert_eq(stn_pool_create(THREADS, &pool, NULL), STN_OK);
    cr_assert_eq(stn_host_fft_create(fft, THREADS, &host, NULL), STN_OK);
    const size_t bytes = stn_host_fft_workspace(host);
    char *workspace = malloc(bytes + 1);
    workspace[bytes] = 77;
    memset(workspace, 255, bytes); /* NaN */
    stn_host_fft_run(host, pool, in, out, workspace);
    cr_expect_eq(workspace[bytes], 77);
    free(workspace);
    stn_host_fft_destroy(host);
    stn_pool_destroy(pool);
}

static int64_t offset(const stn_fft_side *side, int64_t batch, const int64_t at[3]) {
    return batch * side->batch_stride + at[0] * side->stride[0] + at[1] * side->stride[1] + at[2] * side->stride[2];
}

/* Transforms along one axis, in long double, of all lines of a dense grid. */
static void along(const stn_fft *fft, long double *grid, int axis) {
    const int64_t n = fft->n[axis];
    int64_t inner = 1;
    for (int a = axis + 1; a < 3; a++) inner *= fft->n[a];
    const int64_t outer = fft->batch * fft->n[0] * fft->n[1] * fft->n[2] / n / inner;
    long double *made = calloc((size_t)n, sizeof *made), *table = calloc((size_t)(n * n), sizeof *table);
    for (int64_t k = 0; k < n; k++)
        for (int64_t j = 0; j < n; j++) table[k * n + j] = entry(fft->kind, fft->orthogonal, n, j, k);
    for (int64_t line = 0; line < outer * inner; line++) {
        long double *x = grid + line / inner * n * inner + line % inner;
        for (int64_t k = 0; k < n; k++) {
            made[k] = 0;
            for (int64_t j = 0; j < n; j++) made[k] += table[k * n + j] * x[j * inner];
        }
        for (int64_t k = 0; k < n; k++) x[k * inner] = made[k];
    }
    free(made), free(table);
}

/* The relative L2 error of a transform of random numbers; also checks that the input and the gaps
 * of the output keep their values. */
static double error_of(const stn_transform *t, uint64_t seed) {
    const stn_fft fft = make(t);
    const int64_t points = fft.n[0] * fft.n[1] * fft.n[2], in_span = stn_fft_span(&fft, &fft.in);
    const int64_t out_span = stn_fft_span(&fft, &fft.out);
    const size_t size = stn_dtype_size(t->dtype);
    char *in = calloc((size_t)in_span, size), *kept = malloc((size_t)in_span * size);
    char *out = calloc((size_t)out_span, size), *before = malloc((size_t)out_span * size);
    long double *exact = calloc((size_t)(points * fft.batch), sizeof *exact), difference = 0, length = 0;
    for (int64_t i = 0; i < in_span; i++) set(t->dtype, in, i, random_unit(&seed));
    memcpy(kept, in, (size_t)in_span * size);
    memset(out, 99, (size_t)out_span * size);
    if (t->in_place) memcpy(out, in, (size_t)in_span * size);
    memcpy(before, out, (size_t)out_span * size);
    run_fft(&fft, t->in_place ? out : in, out);
    cr_expect(!memcmp(in, kept, (size_t)in_span * size));
    for (int64_t i = 0; i < points * fft.batch; i++) {
        const int64_t at[] = {i / (fft.n[1] * fft.n[2]) % fft.n[0], i / fft.n[2] % fft.n[1], i % fft.n[2]};
        exact[i] = fft.scale * get(t->dtype, in, offset(&fft.in, i / points, at));
    }
    for (int axis = 3 - fft.rank; axis < 3; axis++) along(&fft, exact, axis);
    for (int64_t i = 0; i < points * fft.batch; i++) {
        const int64_t at[] = {i / (fft.n[1] * fft.n[2]) % fft.n[0], i / fft.n[2] % fft.n[1], i % fft.n[2]};
        const int64_t place = offset(&fft.out, i / points, at);
        const long double d = get(t->dtype, out, place) - exact[i];
        difference += d * d, length += exact[i] * exact[i];
        memcpy(out + (size_t)place * size, before + (size_t)place * size, size);
    }
    cr_expect(!memcmp(out, before, (size_t)out_span * size), "gaps of the output were written to");
    free(in), free(kept), free(out), free(before), free(exact);
    return (double)sqrtl(difference / length);
}

static double bar(stn_dtype dtype) { return dtype == STN_F64 ? 1e-15 : dtype == STN_F32 ? 5e-7 : 1e-3; }

static void check(const stn_transform *t, uint64_t seed) {
    if (t->kind == STN_DCT1)
        for (int axis = 0; axis < t->rank; axis++)
            if (t->extent[axis] == 1) return;
    const double error = error_of(t, seed);
    cr_expect(error < bar(t->dtype), "%s%s %zu x %zu x %zu, batch %zu, stride %ld, %s: %g",
              stn_transform_kind_name(t->kind), t->orthogonal ? " orthogonal" : "", t->extent[0], t->extent[1],
              t->extent[2], t->batch, (long)t->in_stride[0], stn_dtype_name(t->dtype), error);
}

static stn_transform line(int64_t n, stn_dtype dtype, stn_transform_kind kind) {
    stn_transform t = STN_TRANSFORM_INIT;
    t.rank = 1, t.extent[0] = (size_t)n, t.dtype = dtype, t.kind = kind;
    return t;
}

static void check_lines(stn_dtype dtype) {
    static const int64_t lengths[] = {61, 64, 67, 74, 97, 125, 128, 135, 142};
    for (int64_t i = 1; i <= 34; i++)
        for (int kind = 0; kind < 8; kind++) {
            const int64_t n = i <= 25 ? i : lengths[i - 26];
            stn_transform t = line(n, dtype, kinds[kind]);
            check(&t, (uint64_t)i);
            t.orthogonal = 1, t.forward_scale = sqrt(0.5 / (double)n), t.batch = 37;
            check(&t, (uint64_t)i);
            t.in_stride[0] = 3, t.out_stride[0] = 2; /* rows with gaps */
            check(&t, (uint64_t)i);
            t.batch = 19, t.in_stride[0] = t.out_stride[0] = 20,
            t.in_batch_stride = t.out_batch_stride = 1; /* columns */
            check(&t, (uint64_t)i);
            t.in_place = 1;
            check(&t, (uint64_t)i);
        }
}

Test(fft_cosine, lines_match_the_definition_in_float64) { check_lines(STN_F64); }
Test(fft_cosine, lines_match_the_definition_in_float32) { check_lines(STN_F32); }
Test(fft_cosine, lines_match_the_definition_in_float16) { check_lines(STN_F16); }

static void check_grids(stn_dtype dtype) {
    static const size_t shapes[][3] = {{5, 5, 7}, {8, 16, 8}, {1, 9, 4}, {6, 1, 1}, {2, 37, 21}, {16, 10, 2}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int kind = 0; kind < 8; kind++)
            for (int rank = 2; rank <= 3; rank++) {
                stn_transform t = line(1, dtype, kinds[kind]);
                t.rank = rank, t.orthogonal = rank == 2, t.forward_scale = 0.01;
                memcpy(t.extent, shapes[i] + 3 - rank, (size_t)rank * sizeof *t.extent);
                check(&t, i);
                t.batch = 3, t.in_place = 1;
                check(&t, i);
                t.in_place = 0;
                for (int axis = rank - 1, next = 2; axis >= 0; axis--)
                    t.in_stride[axis] = next, next *= (int)t.extent[axis];
                check(&t, i);
            }
}

Test(fft_cosine, grids_match_the_definition_in_float64) { check_grids(STN_F64); }
Test(fft_cosine, grids_match_the_definition_in_float32) { check_grids(STN_F32); }

/* Some results of long lines, whose inner transform takes two passes, alone and in a batch. */
static void check_long(stn_dtype dtype) {
    static const int64_t lengths[] = {729, 1001, 9009, 16384, 16385, 20000, 30031, 34001};
    const size_t size = stn_dtype_size(dtype);
    int took_two = 0;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int kind = 0; kind < 8; kind++)
            for (int batch = 1; batch <= 3; batch += 2) {
                const int64_t n = lengths[i], gap = batch;
                stn_transform t = line(n, dtype, kinds[kind]);
                t.batch = (size_t)batch, t.orthogonal = batch == 1;
                t.in_stride[0] = t.out_stride[0] = gap;
                /* A row of a grid of one. */
                const bool row = n == 16384 && gap == 1 && t.kind != STN_DCT1;
                if (row) t.rank = 2, t.extent[0] = 1, t.extent[1] = (size_t)n, t.in_stride[0] = t.out_stride[0] = 0;
                const long double factor = row ? entry(t.kind, t.orthogonal, 1, 0, 0) : 1;
                const stn_fft fft = make(&t), inner = stn_fft_cosine_inner(&fft, n);
                took_two += (stn_fft_long_serves(&inner) || stn_fft_odd_serves(&inner)) && dtype == STN_F64;
                char *x = calloc((size_t)(n * gap * batch), size), *made = malloc((size_t)(n * gap * batch) * size);
                uint64_t seed = i;
                for (int64_t j = 0; j < n * gap * batch; j++) set(dtype, x, j, random_unit(&seed));
                memcpy(made, x, (size_t)(n * gap * batch) * size);
                run_fft(&fft, batch == 1 ? x : made, made); /* in place for batches */
                long double difference = 0, length = 0;
                for (int sample = 0; sample < SAMPLES; sample++) {
                    const int64_t k = sample < 4 ? sample : sample < 8 ? n - 1 - sample % 4 : sample * n / SAMPLES;
                    const int64_t first = (sample % batch) * (int64_t)fft.in.batch_stride;
                    long double exact = 0;
                    for (int64_t j = 0; j < n; j++)
                        exact += entry(t.kind, t.orthogonal, n, j, k) * get(dtype, x, first + j * gap);
                    exact *= factor;
                    const long double d = get(dtype, made, first + k * gap) - exact;
                    difference += d * d, length += exact * exact;
                }
                free(x), free(made);
                cr_expect(sqrtl(difference / length) < 2 * bar(dtype), "%s, %ld points, %d lines: %Lg",
                          stn_transform_kind_name(t.kind), (long)n, batch, sqrtl(difference / length));
            }
    cr_expect(took_two > 40 || dtype != STN_F64);
}

Test(fft_cosine, long_lines_match_the_definition_in_float64) { check_long(STN_F64); }
Test(fft_cosine, long_lines_match_the_definition_in_float32) { check_long(STN_F32); }

/* A NaN affects its line only, and large numbers whose results fit do not overflow. */
Test(fft_cosine, nan_and_large_numbers) {
    static const int64_t lengths[] = {2, 9, 16, 729, 16384};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int kind = 0; kind < 8; kind++) {
            const int64_t n = lengths[i];
            stn_transform t = line(n, STN_F64, kinds[kind]);
            t.batch = 5, t.forward_scale = 0.2 / (double)n;
            const stn_fft fft = make(&t);
            double *x = calloc((size_t)(5 * n), sizeof *x), *small = calloc((size_t)(5 * n), sizeof *x);
            double *made = malloc((size_t)(5 * n) * sizeof *x);
            uint64_t seed = i;
            for (int64_t j = 0; j < 5 * n; j++) small[j] = random_unit(&seed), x[j] = ldexp(small[j], 1023);
            run_fft(&fft, x, made);
            run_fft(&fft, small, x);
            for (int64_t j = 0; j < 5 * n; j++)
                cr_assert(fabs(ldexp(made[j], -1023) - x[j]) < 1e-15, "%s, %ld points: %g",
                          stn_transform_kind_name(t.kind), (long)n, made[j]);
            small[3 * n] = NAN;
            run_fft(&fft, small, made);
            for (int64_t j = 0; j < 5 * n; j++)
                cr_assert(j / n == 3 || made[j] == x[j], "%s, %ld points", stn_transform_kind_name(t.kind), (long)n);
            cr_assert(isnan(made[3 * n]) && isnan(made[4 * n - 1]));
            free(x), free(small), free(made);
        }
}
