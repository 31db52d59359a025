/* Checks a sample of a transform's output before it is timed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "bench.h"
#include "fft.h"
#include "host/fft_by_type.h"

#define LONG_LINE ((int64_t)1 << 22) /* longer lines are checked by sums of single elements */
#define LARGE_GRID ((int64_t)1 << 22)
enum { ELEMENTS = 12, FEW_ELEMENTS = 4, FINE = 1 << 14 };

static int64_t side_elements(const stn_fft_side *side) { return side->n[0] * side->n[1] * side->n[2]; }
static int64_t numbers(const stn_fft_side *side) { return side->real ? 1 : 2; }

/* ---- whole transforms ------------------------------------------------------------------------ */

/* Computes one transform of the batch in float64 on the host. */
static stn_status one_by_host(bench *machine, const stn_fft *one, void *workspace, const stn_host_fft *host,
                              uint64_t first, stn_dtype dtype, double *out, stn_error *error) {
    uint64_t count = (uint64_t)(side_elements(&one->in) * numbers(&one->in));
    double *in = malloc(count * sizeof *in);
    if (!in) return stn_fail_memory(error, "a transform's input", count * sizeof *in);
    for (uint64_t i = 0; i < count; i++) in[i] = bench_value(first + i, dtype);
    stn_host_fft_run(host, machine->pool, in, out, workspace);
    free(in);
    return STN_OK;
}

static stn_status whole(bench *machine, const stn_fft *fft, fft_sample *sample, stn_error *error) {
    stn_transform t = STN_TRANSFORM_INIT;
    stn_fft one;
    t.rank = fft->rank;
    for (int axis = 0; axis < fft->rank; axis++) t.extent[axis] = (size_t)fft->n[3 - fft->rank + axis];
    t.kind = fft->kind;
    t.direction = fft->inverse ? STN_INVERSE : STN_FORWARD;
    STN_TRY(stn_fft_make(&t, &one, error));
    stn_host_fft *host;
    STN_TRY(stn_host_fft_create(&one, stn_pool_threads(machine->pool), &host, error));
    void *workspace = malloc(stn_host_fft_workspace(host) + 1);
    stn_status status = workspace ? STN_OK : stn_fail_memory(error, "a workspace", stn_host_fft_workspace(host));
    int64_t in_numbers = side_elements(&one.in) * numbers(&one.in), length = sample->length * numbers(&one.out);
    for (int run = 0; run < sample->runs && status == STN_OK; run++) {
        int64_t which = sample->start[run] / sample->length;
        status = one_by_host(machine, &one, workspace, host, (uint64_t)(which * in_numbers), fft->dtype,
                             sample->expected + run * length, error);
    }
    free(workspace);
    stn_host_fft_destroy(host);
    return status;
}

/* ---- single elements ------------------------------------------------------------------------- */

/* out[k] = sum over j of in[j] w^(j k); each root is the product of a coarse and a fine root. */
typedef struct summing {
    const double *coarse, *fine;
    int64_t n, k, pieces;
    uint64_t first; /* index of the first input element */
    stn_dtype dtype;
    double *partial; /* two numbers a piece */
} summing;

static void sum_pieces(void *user, int64_t begin, int64_t end) {
    const summing *s = user;
    for (int64_t piece = begin; piece < end; piece++) {
        double re = 0, im = 0;
        for (int64_t j = s->n * piece / s->pieces; j < s->n * (piece + 1) / s->pieces; j++) {
            int64_t turn = (int64_t)((uint64_t)j * (uint64_t)s->k % (uint64_t)s->n);
            const double *a = s->coarse + 2 * (turn / FINE), *b = s->fine + 2 * (turn % FINE);
            double c = a[0] * b[0] - a[1] * b[1], d = a[0] * b[1] + a[1] * b[0];
            double x = bench_value(s->first + 2 * (uint64_t)j, s->dtype);
            double y = bench_value(s->first + 2 * (uint64_t)j + 1, s->dtype);
            re += x * c - y * d;
            im += x * d + y * c;
        }
        s->partial[2 * piece] = re;
        s->partial[2 * piece + 1] = im;
    }
}

static void fill_roots(double *roots, int64_t count, double step) {
    for (int64_t i = 0; i < count; i++) {
        roots[2 * i] = cos(step * (double)i);
        roots[2 * i + 1] = sin(step * (double)i);
    }
}

static stn_status single(bench *machine, const stn_fft *fft, fft_sample *sample, stn_error *error) {
    int64_t n = fft->n[2], coarse = n / FINE + 1;
    enum { PIECES = 256 };
    double *memory = malloc((size_t)(2 * (coarse + FINE + PIECES)) * sizeof *memory);
    if (!memory) return stn_fail_memory(error, "a table of roots", (size_t)coarse * 16);
    double step = (fft->inverse ? 2 : -2) * acos(-1) / (double)n;
    summing s = {memory, memory + 2 * coarse, n, 0, PIECES, 0, fft->dtype, memory + 2 * (coarse + FINE)};
    fill_roots(memory, coarse, step * FINE);
    fill_roots(memory + 2 * coarse, FINE, step);
    for (int run = 0; run < sample->runs; run++) {
        s.k = sample->start[run] % n;
        s.first = (uint64_t)(sample->start[run] - s.k) * 2;
        stn_pool_for(machine->pool, PIECES, 1, sum_pieces, &s);
        double *sum = sample->expected + 2 * run;
        sum[0] = sum[1] = 0;
        for (int piece = 0; piece < PIECES; piece++) {
            sum[0] += s.partial[2 * piece];
            sum[1] += s.partial[2 * piece + 1];
        }
    }
    free(memory);
    return STN_OK;
}

/* ---- single elements of a grid --------------------------------------------------------------- */

/* out[k] = sum over all j of in[j] w0^(j0 k0) w1^(j1 k1) w2^(j2 k2), row by row. The elements of a
 * half spectrum count twice, for their conjugates, except the first one and, if the number of
 * points is even, the last one. */
typedef struct grid_sum {
    const stn_fft *fft;
    const double *circle[3]; /* w^j of each axis */
    int64_t k[3], pieces;
    double *partial; /* two numbers a piece */
} grid_sum;

static void sum_rows(void *user, int64_t begin, int64_t end) {
    const grid_sum *s = user;
    const stn_fft_side *in = &s->fft->in;
    const int64_t *n = s->fft->n;
    int64_t rows = n[0] * n[1], per = numbers(in);
    for (int64_t piece = begin; piece < end; piece++) {
        double sum[2] = {0, 0};
        for (int64_t row = rows * piece / s->pieces; row < rows * (piece + 1) / s->pieces; row++) {
            const double *a = s->circle[0] + 2 * (row / n[1] * s->k[0] % n[0]);
            const double *b = s->circle[1] + 2 * (row % n[1] * s->k[1] % n[1]);
            double re = 0, im = 0;
            for (int64_t j = 0, turn = 0; j < in->n[2]; j++, turn = (turn + s->k[2]) % n[2]) {
                const double *w = s->circle[2] + 2 * turn;
                uint64_t at = (uint64_t)((row * in->n[2] + j) * per);
                double x = bench_value(at, s->fft->dtype), y = in->real ? 0 : bench_value(at + 1, s->fft->dtype);
                double twice = s->fft->kind == STN_C2R && j > 0 && 2 * j != n[2] ? 2 : 1;
                re += twice * (x * w[0] - y * w[1]), im += twice * (x * w[1] + y * w[0]);
            }
            double c = a[0] * b[0] - a[1] * b[1], d = a[0] * b[1] + a[1] * b[0];
            sum[0] += re * c - im * d, sum[1] += re * d + im * c;
        }
        s->partial[2 * piece] = sum[0], s->partial[2 * piece + 1] = sum[1];
    }
}

static stn_status of_grid(bench *machine, const stn_fft *fft, fft_sample *sample, stn_error *error) {
    enum { PIECES = 256 };
    double partial[2 * PIECES], *circle = malloc((size_t)(fft->n[0] + fft->n[1] + fft->n[2]) * 2 * sizeof *circle);
    if (!circle) return stn_fail_memory(error, "tables of roots", (size_t)(fft->n[0] + fft->n[1] + fft->n[2]) * 16);
    grid_sum s = {.fft = fft, .pieces = PIECES, .partial = partial};
    double *next = circle;
    for (int axis = 0; axis < 3; next += 2 * fft->n[axis], axis++) {
        fill_roots(next, fft->n[axis], (fft->inverse ? 2 : -2) * acos(-1) / (double)fft->n[axis]);
        s.circle[axis] = next;
    }
    const stn_fft_side *out = &fft->out;
    for (int run = 0; run < sample->runs; run++) {
        int64_t at = sample->start[run];
        s.k[2] = at % out->n[2], s.k[1] = at / out->n[2] % out->n[1], s.k[0] = at / out->n[2] / out->n[1];
        stn_pool_for(machine->pool, PIECES, 1, sum_rows, &s);
        double re = 0, im = 0;
        for (int piece = 0; piece < PIECES; piece++) re += partial[2 * piece], im += partial[2 * piece + 1];
        sample->expected[run * numbers(out)] = re;
        if (!out->real) sample->expected[2 * run + 1] = im;
    }
    free(circle);
    return STN_OK;
}

/* ---- the sample ------------------------------------------------------------------------------ */

stn_status bench_fft_sample(bench *machine, const stn_fft *fft, fft_sample *sample, stn_error *error) {
    int64_t each = side_elements(&fft->out);
    bool grid = each >= LARGE_GRID && fft->rank > 1 && fft->batch == 1 && fft->dtype != STN_F16;
    bool by_sum = grid || (each >= LONG_LINE && fft->rank == 1 && fft->kind == STN_C2C);
    int runs = grid ? FEW_ELEMENTS : by_sum ? ELEMENTS : (int)(each > 1 << 16 ? 2 : FFT_RUNS);
    if (!by_sum && runs > fft->batch) runs = (int)fft->batch;
    *sample = (fft_sample){.runs = runs, .length = by_sum ? 1 : each};
    for (int run = 0; run < runs; run++) { /* evenly spaced from the first to the last */
        int64_t last = by_sum ? fft->batch * each - 1 : fft->batch - 1;
        int64_t which = runs > 1 ? (int64_t)((double)last * run / (runs - 1)) : 0;
        /* Skips frequency 0, which may be far larger than the others. */
        if (grid) which = each / (2 * runs) * (2 * run + 1) + run;
        sample->start[run] = by_sum ? which : which * each;
    }
    size_t count = (size_t)(runs * sample->length * numbers(&fft->out));
    sample->expected = malloc(count * sizeof *sample->expected);
    if (!sample->expected) return stn_fail_memory(error, "a sample", count * sizeof *sample->expected);
    if (grid) return of_grid(machine, fft, sample, error);
    return by_sum ? single(machine, fft, sample, error) : whole(machine, fft, sample, error);
}

void bench_fft_sample_clear(fft_sample *sample) { free(sample->expected); }

stn_status bench_fft_poison(bench *machine, const stn_fft *fft, const fft_sample *sample, void *out, stn_error *error) {
    size_t element = stn_fft_element(fft, &fft->out), bytes = (size_t)sample->length * element;
    void *ones = malloc(bytes);
    if (!ones) return stn_fail_memory(error, "a sample", bytes);
    memset(ones, 0xff, bytes);
    stn_status status = STN_OK;
    for (int run = 0; run < sample->runs && status == STN_OK; run++)
        status =
            stn_memory_upload(machine->context, (char *)out + (size_t)sample->start[run] * element, ones, bytes, error);
    free(ones);
    return status;
}

stn_status bench_fft_error(bench *machine, const stn_fft *fft, const fft_sample *sample, const void *out,
                           double *relative, stn_error *error) {
    size_t element = stn_fft_element(fft, &fft->out), bytes = (size_t)sample->length * element;
    int64_t count = sample->length * numbers(&fft->out);
    void *got = malloc(bytes);
    if (!got) return stn_fail_memory(error, "a sample", bytes);
    stn_status status = STN_OK;
    double difference = 0, norm = 0;
    for (int run = 0; run < sample->runs && status == STN_OK; run++) {
        status = stn_memory_download(machine->context, got, (const char *)out + (size_t)sample->start[run] * element,
                                     bytes, error);
        for (int64_t i = 0; i < count && status == STN_OK; i++) {
            double expected = sample->expected[run * count + i];
            double d = bench_load(got, (uint64_t)i, fft->dtype) - expected;
            difference += d * d;
            norm += expected * expected;
        }
    }
    *relative = sqrt(difference / norm);
    free(got);
    return status;
}
