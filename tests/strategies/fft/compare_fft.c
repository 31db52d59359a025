/* Comparison of transforms by a strategy with their definition; see compare_fft.h. */
#include "compare_fft.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fft_reference.h"
#include "plan/plan.h"

enum { SUM_POINTS = 256 };

double fft_bar(stn_dtype dtype, bool f16_sums, double points) {
    if (dtype == STN_F64) return 1e-15 * fmax(1, log2(points));
    if (dtype == STN_F32) return 1e-6;
    return f16_sums ? 1e-3 * fmax(4, log2(points)) : 1e-3;
}

double relative_l2(const double *got, const double *expected, size_t count) {
    double error = 0, size = 0;
    for (size_t i = 0; i < count; i++) {
        error += (got[i] - expected[i]) * (got[i] - expected[i]);
        size += expected[i] * expected[i];
    }
    return size > 0 ? sqrt(error / size) : sqrt(error);
}

/* The largest error of one element may exceed the bar for the whole by this factor: rounding errors
 * have a tail, and large elements have larger ones. */
enum { WORST = 16 };

static double worst_of(const double *got, const double *expected, size_t count) {
    double worst = 0, size = 0;
    for (size_t i = 0; i < count; i++) {
        worst = fmax(worst, fabs(got[i] - expected[i]));
        size += expected[i] * expected[i];
    }
    return size > 0 ? worst / sqrt(size / (double)count) : worst;
}

void fft_explain(const fft_comparison *c, char *detail, size_t size) {
    snprintf(detail, size, "relative L2 %.3g, bar %.3g, one element %.3g, bar %.3g, %s; %s %s; %.600s", c->relative_l2,
             c->bar, c->worst, WORST * c->bar,
             c->all_written ? "all written" : "an element unwritten or padding touched", c->strategy, c->parameters,
             c->error.status ? c->error.message : "no error");
}

/* ---- numbers of a dtype */

static bool is_poison(stn_dtype dtype, const void *data, int64_t i) {
    static const unsigned char ones[8] = {255, 255, 255, 255, 255, 255, 255, 255};
    size_t size = stn_dtype_size(dtype);
    return !memcmp((const char *)data + (size_t)i * size, ones, size);
}

/* Calls visit for every number of a side, with its index in memory and its index in dense order. */
typedef void (*visit_number)(void *user, int64_t at, int64_t dense);
static void each_number(const stn_fft *fft, const stn_fft_side *side, visit_number visit, void *user) {
    int64_t dense = 0;
    for (int64_t b = 0; b < fft->batch; b++)
        for (int64_t z = 0; z < side->n[0]; z++)
            for (int64_t y = 0; y < side->n[1]; y++)
                for (int64_t x = 0; x < side->n[2]; x++) {
                    int64_t at =
                        b * side->batch_stride + z * side->stride[0] + y * side->stride[1] + x * side->stride[2];
                    if (side->real)
                        visit(user, at, dense++);
                    else {
                        visit(user, 2 * at, dense++);
                        visit(user, 2 * at + 1, dense++);
                    }
                }
}

typedef struct copying {
    stn_dtype dtype;
    void *data;
    double *dense;
    unsigned char *is_point;
    bool unwritten;
} copying;
static void spread(void *user, int64_t at, int64_t dense) { /* also rounds the dense copy */
    copying *c = user;
    set_element(c->dtype, c->data, at, c->dense[dense]);
    c->dense[dense] = element(c->dtype, c->data, at);
}
static void collect(void *user, int64_t at, int64_t dense) {
    copying *c = user;
    c->dense[dense] = element(c->dtype, c->data, at);
    c->is_point[at] = 1;
    if (isnan(c->dense[dense])) c->unwritten = true;
}

static size_t numbers(const stn_fft *fft, const stn_fft_side *side) {
    return (size_t)stn_fft_count(fft, side) * (side->real ? 1 : 2);
}
static size_t span_bytes(const stn_fft *fft, const stn_fft_side *side) {
    return (size_t)stn_fft_span(fft, side) * stn_fft_element(fft, side);
}

/* ---- running */

static stn_status make_plan(suite *s, const stn_transform *transform, const char *strategy, int pick, stn_plan **plan,
                            fft_comparison *result) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.strategy = strategy;
    options.estimate_only = pick >= 0;
    stn_status status = stn_plan_create_fft(s->context, transform, &options, plan, &result->error);
    if (status == STN_OK && pick >= 0) {
        /* including candidates that are only for tuning */
        stn_plan_rank(*plan, strategy, STN_PLAN_RANKING);
        /* The ranking ends with strategies that do not apply, such as the host's for a GPU. */
        if ((size_t)pick >= (*plan)->ranked || !(*plan)->ranking[pick].applies)
            return stn_plan_destroy(*plan), *plan = NULL, STN_ERROR_UNSUPPORTED;
    }
    if (status != STN_OK) return status;
    return compare_build(*plan, pick, result->strategy, result->parameters, &result->error);
}

/* Random numbers. For C2R they need not be the spectrum of a real grid: parts that cannot occur,
 * such as the imaginary part of the mean, are ignored, as in the defining sum. cuFFT does not
 * specify this, and gets the spectrum of a random real grid. */
static void fill(suite *s, const stn_fft *dense, bool hermitian, uint64_t seed, double amplitude, double *x) {
    dice d = {seed};
    size_t count = numbers(dense, &dense->in);
    if (dense->kind != STN_C2R || !hermitian) {
        for (size_t i = 0; i < count; i++) x[i] = amplitude * dice_real(&d);
        return;
    }
    stn_fft forward = *dense;
    forward.kind = STN_R2C;
    forward.inverse = false;
    forward.in = dense->out;
    forward.out = dense->in;
    forward.scale = 1 / sqrt((double)(dense->n[0] * dense->n[1] * dense->n[2]));
    size_t points = numbers(dense, &dense->out);
    double *real = malloc(points * sizeof *real);
    for (size_t i = 0; i < points; i++) real[i] = amplitude * dice_real(&d);
    reference_host(&forward, s->pool, real, x);
    free(real);
}

/* One case: its canonical form and its memory. */
typedef struct trial {
    stn_fft fft, dense;
    size_t in_bytes, out_bytes;
    char *in, *out; /* in the transform's layouts; in place, only out is used */
    double *x, *expected, *got;
} trial;

static void trial_make(suite *s, const stn_fft *fft, bool hermitian, uint64_t seed, trial *t) {
    t->fft = *fft;
    t->dense = dense_f64(fft);
    t->in_bytes = span_bytes(fft, &fft->in);
    t->out_bytes = span_bytes(fft, &fft->out);
    if (fft->in_place && t->in_bytes > t->out_bytes) t->out_bytes = t->in_bytes;
    t->in = malloc(t->in_bytes);
    t->out = malloc(t->out_bytes);
    t->x = malloc(numbers(fft, &fft->in) * sizeof(double));
    t->expected = malloc(numbers(fft, &fft->out) * sizeof(double));
    t->got = malloc(numbers(fft, &fft->out) * sizeof(double));
    double points = (double)(fft->n[0] * fft->n[1] * fft->n[2]);
    fill(s, &t->dense, hermitian, seed, fft->dtype == STN_F16 && points > 1e6 ? 0.0625 : 1, t->x);
    memset(t->in, 255, t->in_bytes);
    memset(t->out, 255, t->out_bytes);
    copying putting = {fft->dtype, fft->in_place ? t->out : t->in, t->x, NULL, false};
    each_number(fft, &fft->in, spread, &putting);
}

static void trial_clear(trial *t) { free(t->in), free(t->out), free(t->x), free(t->expected), free(t->got); }

static bool expect(suite *s, trial *t) {
    if (t->fft.n[0] * t->fft.n[1] * t->fft.n[2] > SUM_POINTS)
        return reference_host(&t->dense, s->pool, t->x, t->expected);
    reference_sum(&t->dense, t->x, t->expected);
    return true;
}

static void compare(trial *t, fft_comparison *result) {
    const stn_fft *fft = &t->fft;
    size_t places = t->out_bytes / stn_dtype_size(fft->dtype), count = numbers(fft, &fft->out);
    copying getting = {fft->dtype, t->out, t->got, calloc(places, 1), false};
    each_number(fft, &fft->out, collect, &getting);
    result->all_written = !getting.unwritten;
    for (size_t i = 0; i < places && !fft->in_place; i++)
        if (!getting.is_point[i] && !is_poison(fft->dtype, t->out, (int64_t)i)) result->all_written = false;
    result->relative_l2 = relative_l2(t->got, t->expected, count);
    result->worst = worst_of(t->got, t->expected, count);
    free(getting.is_point);
}

bool compare_fft(suite *s, const stn_transform *transform, const char *strategy, int pick, uint64_t seed,
                 fft_comparison *result) {
    stn_plan *plan = NULL;
    stn_fft fft;
    memset(result, 0, sizeof *result);
    if (stn_fft_make(transform, &fft, &result->error) != STN_OK) return false;
    stn_status status = make_plan(s, transform, strategy, pick, &plan, result);
    result->served = status != STN_ERROR_UNSUPPORTED;
    double points = (double)(fft.n[0] * fft.n[1] * fft.n[2]);
    result->bar = fft_bar(fft.dtype, fft.f16_sums, points);
    /* cuFFT's f16 is less accurate than our bar: 0.0011 at 256 points, 0.0031 at 2^24 (measured on
     * an H200). */
    if (fft.dtype == STN_F16 && !strcmp(result->strategy, "cufft"))
        result->bar = fmax(result->bar, 2e-4 * log2(points));
    if (status != STN_OK) return stn_plan_destroy(plan), false;
    trial t;
    trial_make(s, &fft, !strcmp(result->strategy, "cufft"), seed, &t);
    status = compare_execute(s->context, plan, fft.in_place ? NULL : t.in, t.in_bytes, NULL, t.out, t.out_bytes,
                             &result->error);
    bool known = status == STN_OK && expect(s, &t);
    if (known) compare(&t, result);
    trial_clear(&t);
    stn_plan_destroy(plan);
    return known && result->all_written && result->relative_l2 <= result->bar && result->worst <= WORST * result->bar;
}

bool run_dense(suite *s, const stn_transform *transform, const char *strategy, const double *in, double *out,
               stn_error *error) {
    stn_plan *plan = NULL;
    stn_fft fft;
    fft_comparison unused = {0};
    if (stn_fft_make(transform, &fft, error) != STN_OK) return false;
    if (make_plan(s, transform, strategy, -1, &plan, &unused) != STN_OK) return *error = unused.error, false;
    size_t in_bytes = span_bytes(&fft, &fft.in), out_bytes = span_bytes(&fft, &fft.out);
    void *from = malloc(in_bytes), *to = malloc(out_bytes);
    for (size_t i = 0; i < numbers(&fft, &fft.in); i++) set_element(fft.dtype, from, (int64_t)i, in[i]);
    memset(to, 255, out_bytes);
    bool good = compare_execute(s->context, plan, from, in_bytes, NULL, to, out_bytes, error) == STN_OK;
    for (size_t i = 0; i < numbers(&fft, &fft.out); i++) out[i] = element(fft.dtype, to, (int64_t)i);
    free(from), free(to);
    stn_plan_destroy(plan);
    return good;
}

void fft_name(const stn_transform *t, char *what, size_t size) {
    static const char *const kinds[] = {"c2c", "r2c", "c2r"};
    size_t used = (size_t)snprintf(what, size, "%s %s%s ", stn_dtype_name(t->dtype), kinds[t->kind],
                                   t->direction == STN_INVERSE ? " inverse" : "");
    for (int a = 0; a < t->rank; a++)
        used += (size_t)snprintf(what + used, size - used, "%s%zu", a ? "x" : "", t->extent[a]);
    snprintf(what + used, size - used, " batch %zu%s%s%s", t->batch ? t->batch : 1, t->in_place ? ", in place" : "",
             t->in_stride[0] ? ", strided" : "", t->f16_sums ? ", f16 sums" : "");
}

stn_transform fft_line(stn_dtype dtype, size_t n, size_t batch) {
    stn_transform t = STN_TRANSFORM_INIT;
    t.rank = 1;
    t.extent[0] = n;
    t.batch = batch;
    t.dtype = dtype;
    return t;
}
