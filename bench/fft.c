/* Checks and times transforms by our plans and by cuFFT, and prints a table. */
#include "fft.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { QUICK_POINTS = 1 << 13 };
#define ACCURACY 1.2 /* f16: the largest error allowed, as a multiple of cuFFT's on the same data */

typedef struct fft_buffers {
    void *in, *out;
} fft_buffers;

static stn_status time_plan(bench *machine, stn_plan *plan, const fft_buffers *buffers, double *seconds,
                            stn_error *error) {
    bench_execution e = bench_execution_of(plan, buffers->in, buffers->out, NULL);
    return bench_time_short(machine, bench_execute, &e, seconds, error);
}

static stn_status run_one(bench *machine, const stn_transform *transform, const stn_fft *fft, const fft_sample *sample,
                          const fft_buffers *buffers, fft_timing *timing, stn_error *error) {
    stn_plan *plan = NULL;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.strategy = timing->strategy;
    options.mode = STN_MODE_ESTIMATE; /* compiled before it is measured */
    stn_status status;
    STN_TRY_GOTO(status, stn_plan_create_fft(machine->context, transform, &options, &plan, error), done);
    snprintf(timing->strategy, sizeof timing->strategy, "%s", stn_plan_strategy(plan));
    STN_TRY_GOTO(status, bench_fft_poison(machine, fft, sample, buffers->out, error), done);
    STN_TRY_GOTO(status, stn_plan_execute(plan, buffers->in, buffers->out, NULL, error), done);
    STN_TRY_GOTO(status, stn_synchronize(machine->context, NULL, error), done);
    STN_TRY_GOTO(status, bench_fft_error(machine, fft, sample, buffers->out, &timing->error, error), done);
    STN_TRY_GOTO(status, time_plan(machine, plan, buffers, &timing->seconds, error), done);
done:
    stn_plan_destroy(plan);
    return status;
}

static void measure_one(bench *machine, const stn_transform *transform, const stn_fft *fft, const fft_sample *sample,
                        const fft_buffers *buffers, fft_timing *timing) {
    stn_error failure = {0};
    if (run_one(machine, transform, fft, sample, buffers, timing, &failure) != STN_OK)
        snprintf(timing->problem, sizeof timing->problem, "%.*s", (int)sizeof timing->problem - 1, failure.message);
}

/* Times cuFFT. A multi-dimensional c2r transform destroys its input, so it is timed in place and
 * its result is not checked. */
static void measure_cufft(bench *machine, const stn_transform *transform, const stn_fft *fft, const fft_sample *sample,
                          const fft_buffers *buffers, fft_timing *timing) {
    if (fft->kind != STN_C2R || fft->rank == 1) {
        measure_one(machine, transform, fft, sample, buffers, timing);
        return;
    }
    stn_transform inside = *transform;
    fft_buffers one = {buffers->out, buffers->out};
    stn_plan *plan = NULL;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_error failure = {0};
    inside.in_place = 1;
    options.strategy = timing->strategy;
    options.mode = STN_MODE_ESTIMATE; /* compiled before it is measured */
    timing->error = NAN;
    if (stn_plan_create_fft(machine->context, &inside, &options, &plan, &failure) != STN_OK ||
        time_plan(machine, plan, &one, &timing->seconds, &failure) != STN_OK)
        snprintf(timing->problem, sizeof timing->problem, "%.*s", (int)sizeof timing->problem - 1, failure.message);
    stn_plan_destroy(plan);
}

static double allowance(const stn_fft *fft) {
    double points = (double)fft->n[0] * (double)fft->n[1] * (double)fft->n[2];
    return fft->dtype == STN_F64 ? 1e-15 * log2(points) : fft->dtype == STN_F32 ? 1e-6 : 1e-3;
}

static stn_status measure(bench *machine, const char *strategy, const fft_buffers *buffers, fft_result *result,
                          stn_error *error) {
    stn_fft fft;
    fft_sample sample = {0};
    STN_TRY(stn_fft_make(&result->what.transform, &fft, error));
    result->bytes = stn_fft_bytes(&fft);
    result->flops = stn_fft_flops(&fft);
    result->allowed = allowance(&fft);
    snprintf(result->ours.strategy, sizeof result->ours.strategy, "%s", strategy ? strategy : "auto");
    snprintf(result->cufft.strategy, sizeof result->cufft.strategy, "cufft");
    stn_status status = bench_fft_sample(machine, &fft, &sample, error);
    if (status == STN_OK) {
        measure_one(machine, &result->what.transform, &fft, &sample, buffers, &result->ours);
        if (machine->device)
            measure_cufft(machine, &result->what.transform, &fft, &sample, buffers, &result->cufft);
        else
            snprintf(result->cufft.problem, sizeof result->cufft.problem, "no GPU");
    }
    bench_fft_sample_clear(&sample);
    return status;
}

/* ---- selection ------------------------------------------------------------------------------- */

/* True if the list has the name or its first word: "131072" for "131072 x 512". */
static bool named(const char *names, const char *name) {
    char first[48];
    snprintf(first, sizeof first, "%.*s", (int)strcspn(name, " "), name);
    return bench_listed(names, name) || bench_listed(names, first);
}

static size_t points(const stn_transform *t) {
    size_t product = 1;
    for (int axis = 0; axis < t->rank; axis++) product *= t->extent[axis];
    return product;
}

static size_t select_cases(const bench *machine, const bench_options *options, fft_result *list) {
    fft_case cases[FFT_CASES];
    size_t all = bench_fft_cases(cases), count = 0;
    bool small = machine->quick || !machine->device;
    size_t most = machine->quick ? QUICK_POINTS : (size_t)1 << 22;
    for (size_t i = 0; i < all; i++) {
        fft_case *c = &cases[i];
        if (!bench_listed(options->groups, c->group) || !named(options->cases, c->name)) continue;
        if (!bench_listed(options->dtypes, stn_dtype_name(c->transform.dtype))) continue;
        if (small) { /* smaller batches of the smaller cases, without required values */
            if (points(&c->transform) > most) continue;
            if (points(&c->transform) * c->transform.batch > most) c->transform.batch = most / points(&c->transform);
            if (c->transform.batch > 1) snprintf(c->name + strcspn(c->name, " "), 24, " x %zu", c->transform.batch);
            c->bar = c->of_cufft = c->peer = 0;
        }
        list[count++] = (fft_result){.what = *c};
    }
    return count;
}

/* Measures the cases of a dtype, which share their buffers. */
static stn_status measure_dtype(bench *machine, const bench_options *options, stn_dtype dtype, fft_done done,
                                fft_result *list, size_t count, bool *started, stn_error *error) {
    fft_buffers buffers = {0};
    size_t most = 0;
    for (size_t i = 0; i < count; i++) {
        const stn_transform *t = &list[i].what.transform;
        size_t elements = (points(t) + (t->kind != STN_C2C ? points(t) / t->extent[t->rank - 1] : 0)) * t->batch;
        if (t->dtype == dtype && elements > most) most = elements;
    }
    if (!most) return STN_OK;
    size_t bytes = most * 2 * stn_dtype_size(dtype);
    stn_status status;
    STN_TRY_GOTO(status, stn_memory_alloc(machine->context, bytes, &buffers.in, error), failed);
    STN_TRY_GOTO(status, stn_memory_alloc(machine->context, bytes, &buffers.out, error), failed);
    STN_TRY_GOTO(status, bench_fill(machine, buffers.in, 2 * most, dtype, dtype, error), failed);
    for (size_t i = 0; i < count; i++) {
        if (list[i].what.transform.dtype != dtype) continue;
        list[i].first = *started ? false : (*started = true);
        STN_TRY_GOTO(status, measure(machine, options->strategy, &buffers, &list[i], error), failed);
        if (done) done(machine, &list[i]);
    }
failed:
    stn_memory_free(machine->context, buffers.in);
    stn_memory_free(machine->context, buffers.out);
    return status;
}

/* Compiles the kernels of all cases in parallel: compiling takes much longer than measuring. */
typedef struct warming {
    bench *machine;
    const bench_options *options;
    const fft_result *list;
} warming;

static void warm_up(void *user, int64_t begin, int64_t end) {
    const warming *w = user;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.strategy = w->options->strategy;
    options.mode = STN_MODE_ESTIMATE;
    options.no_auto_workspace = 1;
    for (int64_t i = begin; i < end; i++) {
        stn_plan *plan = NULL;
        if (stn_plan_create_fft(w->machine->context, &w->list[i].what.transform, &options, &plan, NULL) == STN_OK)
            stn_plan_destroy(plan);
    }
}

stn_status bench_fft_run(bench *machine, const bench_options *options, fft_done done, fft_result **list, size_t *count,
                         stn_error *error) {
    *count = 0;
    *list = calloc(FFT_CASES, sizeof **list);
    if (!*list) return stn_fail_memory(error, "the results", FFT_CASES * sizeof **list);
    *count = select_cases(machine, options, *list);
    bool started = false;
    warming w = {machine, options, *list};
    if (machine->device) stn_pool_for(machine->pool, (int64_t)*count, 1, warm_up, &w);
    for (int dtype = STN_F64; dtype <= STN_F16; dtype++)
        STN_TRY(measure_dtype(machine, options, (stn_dtype)dtype, done, *list, *count, &started, error));
    return STN_OK;
}

/* ---- report ---------------------------------------------------------------------------------- */

bool bench_fft_right(const fft_result *result) {
    return !*result->ours.problem && result->ours.error <= result->allowed;
}

static double rate(const fft_result *result, const fft_timing *timing) {
    return *timing->problem ? NAN : 1e-9 * result->bytes / timing->seconds;
}

static const char *verdict(const fft_result *r) {
    if (*r->ours.problem) return "not run";
    if (!bench_fft_right(r)) return "WRONG";
    bool has_cufft = !*r->cufft.problem;
    bool asked = r->what.bar || r->what.of_cufft;
    if (has_cufft && asked && r->what.transform.dtype == STN_F16 && !(r->ours.error <= ACCURACY * r->cufft.error))
        return "less exact than cuFFT";
    if (r->what.bar && rate(r, &r->ours) < r->what.bar) return "short";
    if (r->what.of_cufft && has_cufft && r->ours.seconds * r->what.of_cufft > r->cufft.seconds) return "short";
    return r->what.bar || (r->what.of_cufft && has_cufft) ? "pass" : "";
}

static void print_head(const bench *machine) {
    printf(
        "%s, copy %.0f GB/s (read + write), medians of %d, out of place, random input, checked by sample; GB/s for one "
        "read and one write\n\n"
        "| transform | | strategy | ms | TFLOPS | GB/s | %% of copy | L2 error | cuFFT GB/s | its L2 error | times as "
        "fast | bar | |\n|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|\n",
        machine->context->machine.name, 1e-9 * machine->copy_bandwidth, machine->repeat);
}

void bench_fft_row(const bench *machine, const fft_result *r) {
    if (r->first) print_head(machine);
    printf("| %s | %s %s | %s ", r->what.name, stn_dtype_name(r->what.transform.dtype),
           stn_transform_kind_name(r->what.transform.kind), r->ours.strategy);
    if (*r->ours.problem)
        printf("| | | | | ");
    else
        printf("| %.4f | %.1f | %.0f | %.1f | %.1e ", 1e3 * r->ours.seconds, 1e-12 * r->flops / r->ours.seconds,
               rate(r, &r->ours), 1e11 * rate(r, &r->ours) / machine->copy_bandwidth, r->ours.error);
    if (*r->cufft.problem)
        printf("| | | | ");
    else
        printf("| %.0f | %.1e | %.2f | ", rate(r, &r->cufft), r->cufft.error,
               *r->ours.problem ? NAN : r->cufft.seconds / r->ours.seconds);
    if (r->what.bar) printf("%.0f GB/s (%.0f) ", r->what.bar, r->what.peer);
    if (r->what.of_cufft) printf("%.2f of cuFFT ", r->what.of_cufft);
    printf("| %s |\n", verdict(r));
    fflush(stdout);
}

void bench_fft_problems(const bench *machine, const fft_result *list, size_t count, stn_text *text) {
    for (size_t i = 0; i < count; i++) {
        const fft_result *r = &list[i];
        if (*r->ours.problem) stn_text_printf(text, "\n%s: %s\n", r->what.name, r->ours.problem);
        if (machine->device && *r->cufft.problem)
            stn_text_printf(text, "\n%s, cuFFT: %s\n", r->what.name, r->cufft.problem);
    }
}

static void json_timing(const fft_result *r, const fft_timing *timing, const char *key, stn_text *text) {
    stn_json_key(text, key);
    stn_text_printf(text, "{");
    stn_json_key(text, "strategy"), stn_json_string(text, timing->strategy);
    stn_json_key(text, "problem"), stn_json_string(text, *timing->problem ? timing->problem : NULL);
    if (!*timing->problem) {
        stn_json_key(text, "seconds"), stn_json_number(text, timing->seconds);
        stn_json_key(text, "bytes_per_second"), stn_json_number(text, 1e9 * rate(r, timing));
        stn_json_key(text, "relative_error"), stn_json_number(text, timing->error);
    }
    stn_text_printf(text, "}");
}

void bench_fft_json(const fft_result *list, size_t count, stn_text *text) {
    stn_text_printf(text, "[");
    for (size_t i = 0; i < count; i++) {
        const fft_result *r = &list[i];
        stn_json_comma(text);
        stn_text_printf(text, "{");
        stn_json_key(text, "group"), stn_json_string(text, r->what.group);
        stn_json_key(text, "case"), stn_json_string(text, r->what.name);
        stn_json_key(text, "kind"), stn_json_string(text, stn_transform_kind_name(r->what.transform.kind));
        stn_json_key(text, "dtype"), stn_json_string(text, stn_dtype_name(r->what.transform.dtype));
        json_timing(r, &r->ours, "ours", text);
        json_timing(r, &r->cufft, "cufft", text);
        stn_json_key(text, "allowed_error"), stn_json_number(text, r->allowed);
        stn_json_key(text, "bar_bytes_per_second"), stn_json_number(text, r->what.bar ? 1e9 * r->what.bar : NAN);
        stn_json_key(text, "bar_of_cufft"), stn_json_number(text, r->what.of_cufft ? r->what.of_cufft : NAN);
        stn_json_key(text, "verdict"), stn_json_string(text, verdict(r));
        stn_text_printf(text, "}");
    }
    stn_text_printf(text, "]");
}
