/* Checks and times Fourier layers by the planner's choice and by cuFFT + cuBLAS, and prints a
 * table. */
#include "fno.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "host/fourier_layer.h"

enum { PASSES = 3, ITEMS = 3, QUICK_NUMBERS = 1 << 14, HOST_NUMBERS = 1 << 22 };

/* x, its gradient, y, its gradient, weights, their gradient */
enum { X, DX, Y, DY, W, DW, ARRAYS };

typedef struct setting {
    bench *machine;
    const fno_case *what;
    stn_layer layer; /* forward */
    void *array[ARRAYS];
    stn_plan *plan[PASSES]; /* by stn_layer_pass */
    int passes;             /* 1: forward alone */
    void *workspace;
} setting;

/* ---- running --------------------------------------------------------------------------------- */

static stn_status run_pass(const setting *s, int pass, stn_error *error) {
    stn_execution run = STN_EXECUTION_INIT;
    run.in = s->array[pass == STN_PASS_BACKWARD_X ? DY : X];
    run.out = s->array[pass == STN_PASS_FORWARD ? Y : pass == STN_PASS_BACKWARD_X ? DX : DW];
    if (pass == STN_PASS_BACKWARD_WEIGHTS)
        run.gradient = s->array[DY];
    else
        run.weights = s->array[W];
    run.workspace = s->workspace;
    return stn_plan_run(s->plan[pass], &run, error);
}

static stn_status execute(void *user, stn_error *error) {
    const setting *s = user;
    for (int pass = 0; pass < s->passes; pass++) STN_TRY(run_pass(s, pass, error));
    return STN_OK;
}

static stn_status time_passes(setting *s, int passes, double *seconds, stn_error *error) {
    s->passes = passes;
    return bench_time_short(s->machine, execute, s, seconds, error);
}

/* ---- checking -------------------------------------------------------------------------------- */

typedef struct numbers {
    double *in, *weights, *out, *workspace;
} numbers;

static double *fill(int64_t first, int64_t count, stn_dtype dtype) {
    double *to = malloc((size_t)count * sizeof *to);
    for (int64_t i = 0; to && i < count; i++) to[i] = bench_value((uint64_t)(first + i), dtype);
    return to;
}

/* Compares one item of the batch with the host's float64 result. */
static stn_status check_item(const setting *s, const stn_host_layer *host, int64_t item, double sum[2],
                             stn_error *error) {
    const stn_layer *layer = &s->layer;
    const int64_t in = stn_layer_in_numbers(layer) / layer->batch, out = stn_layer_out_numbers(layer) / layer->batch;
    const size_t size = stn_dtype_size(layer->dtype);
    numbers n = {fill(item * in, in, layer->dtype), fill(0, 2 * stn_layer_weights(layer), layer->dtype),
                 malloc((size_t)out * sizeof(double)),
                 aligned_alloc(256, (stn_host_layer_workspace(host) + 511) / 256 * 256)};
    void *got = malloc((size_t)out * size);
    stn_status status = STN_OK;
    if (!n.in || !n.weights || !n.out || !n.workspace || !got)
        status = stn_fail_memory(error, "an item", (size_t)out * sizeof(double));
    if (status == STN_OK) {
        stn_host_layer_run(host, s->machine->pool,
                           &(stn_execution){.in = n.in, .out = n.out, .weights = n.weights, .workspace = n.workspace});
        status = stn_memory_download(s->machine->context, got, (const char *)s->array[Y] + (size_t)(item * out) * size,
                                     (size_t)out * size, error);
    }
    for (int64_t i = 0; i < out && status == STN_OK; i++) {
        const double d = bench_load(got, (uint64_t)i, layer->dtype) - n.out[i];
        sum[0] += d * d, sum[1] += n.out[i] * n.out[i];
    }
    free(n.in), free(n.weights), free(n.out), free(n.workspace), free(got);
    return status;
}

static int64_t item_at(const setting *s, int i) { return (s->layer.batch - 1) * i / (ITEMS - 1); }

/* Writes NaN to the items that will be checked. */
static stn_status poison(const setting *s, stn_error *error) {
    const size_t bytes = (size_t)(stn_layer_out_numbers(&s->layer) / s->layer.batch) * stn_dtype_size(s->layer.dtype);
    void *ones = malloc(bytes);
    if (!ones) return stn_fail_memory(error, "an item", bytes);
    memset(ones, 0xff, bytes);
    stn_status status = STN_OK;
    for (int i = 0; i < ITEMS && status == STN_OK; i++)
        status = stn_memory_upload(s->machine->context, (char *)s->array[Y] + (size_t)item_at(s, i) * bytes, ones,
                                   bytes, error);
    free(ones);
    return status;
}

/* Checks the first, a middle and the last item of a forward pass. */
static stn_status check(const setting *s, double *relative, stn_error *error) {
    stn_spectral_conv one = s->what->layer;
    stn_layer layer;
    stn_host_layer *host = NULL;
    double sum[2] = {0, 0};
    one.batch = 1, one.dtype = STN_F64;
    STN_TRY(stn_layer_make(&one, &layer, error));
    STN_TRY(poison(s, error));
    STN_TRY(run_pass(s, STN_PASS_FORWARD, error));
    STN_TRY(stn_synchronize(s->machine->context, NULL, error));
    stn_status status = stn_host_layer_create(&layer, stn_pool_threads(s->machine->pool), &host, error);
    for (int i = 0; i < ITEMS && status == STN_OK; i++) status = check_item(s, host, item_at(s, i), sum, error);
    stn_host_layer_destroy(host);
    *relative = sqrt(sum[0] / sum[1]);
    return status;
}

/* ---- one case -------------------------------------------------------------------------------- */

static stn_status make_plans(setting *s, const char *strategy, int passes, stn_error *error) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    size_t most = 0;
    options.strategy = strategy;
    options.mode = STN_MODE_ESTIMATE; /* compiled before it is measured */
    options.no_auto_workspace = 1;
    for (int pass = 0; pass < passes; pass++) {
        stn_spectral_conv layer = s->what->layer;
        layer.pass = (stn_layer_pass)pass;
        STN_TRY(stn_plan_create_spectral_conv(s->machine->context, &layer, &options, &s->plan[pass], error));
        if (stn_plan_workspace_size(s->plan[pass]) > most) most = stn_plan_workspace_size(s->plan[pass]);
    }
    return stn_memory_alloc(s->machine->context, most + 1, &s->workspace, error);
}

static void drop_plans(setting *s) {
    for (int pass = 0; pass < PASSES; pass++) {
        stn_plan_destroy(s->plan[pass]);
        s->plan[pass] = NULL;
    }
    stn_memory_free(s->machine->context, s->workspace);
    s->workspace = NULL;
}

/* Times the forward pass (timing[0]) and, if `all`, all passes (timing[1]). */
static void measure_strategy(setting *s, const char *strategy, bool all, fno_timing timing[2]) {
    stn_error failure = {0};
    stn_status status = make_plans(s, strategy, all ? PASSES : 1, &failure);
    if (status == STN_OK) {
        for (int i = 0; i < 2; i++)
            snprintf(timing[i].strategy, sizeof timing[i].strategy, "%s", stn_plan_strategy(s->plan[0]));
        status = check(s, &timing[0].error, &failure);
        timing[1].error = timing[0].error;
    }
    if (status == STN_OK) status = time_passes(s, 1, &timing[0].seconds, &failure);
    if (status == STN_OK && all) status = time_passes(s, PASSES, &timing[1].seconds, &failure);
    for (int i = 0; i < 2 && status != STN_OK; i++)
        snprintf(timing[i].problem, sizeof timing[i].problem, "%.*s", (int)sizeof timing[i].problem - 1,
                 failure.message);
    drop_plans(s);
}

static bool is_right(const setting *s, const fno_timing *t) {
    return *t->problem || t->error <= fmax(1e-6, s->layer.tolerance);
}

static void print_row(const setting *s, const char *pass, const fno_timing *ours, const fno_timing *cublas,
                      bool with_bars) {
    if (*ours->problem) {
        printf("| %s | %s | not measured: %s |\n", s->what->name, pass, ours->problem);
        return;
    }
    printf("| %s | %s | %.4f | %s | ", s->what->name, pass, 1e3 * ours->seconds, ours->strategy);
    if (*cublas->problem)
        printf("- | - | ");
    else
        printf("%.4f | %.2f | ", 1e3 * cublas->seconds, cublas->seconds / ours->seconds);
    printf("%.2g%s | ", ours->error, is_right(s, ours) && is_right(s, cublas) ? "" : " WRONG");
    const fno_case *c = s->what;
    if (with_bars && c->bar > 0) printf("%.3g ms%s", c->bar, 1e3 * ours->seconds > c->bar ? ", missed" : "");
    if (with_bars && c->of_cublas > 0 && !*cublas->problem)
        printf("%.3g x%s", c->of_cublas, cublas->seconds / ours->seconds < c->of_cublas ? ", missed" : "");
    printf(" |\n");
    fflush(stdout);
}

static stn_status allocate(setting *s, bool all, stn_error *error) {
    const stn_dtype dtype = s->layer.dtype;
    const int64_t in = stn_layer_in_numbers(&s->layer), out = stn_layer_out_numbers(&s->layer),
                  weights = 2 * stn_layer_weights(&s->layer);
    const int64_t count[ARRAYS] = {in, in, out, out, weights, weights};
    for (int i = 0; i < ARRAYS; i++) {
        if (!all && (i == DX || i == DY || i == DW)) continue;
        STN_TRY(stn_memory_alloc(s->machine->context, (size_t)count[i] * stn_dtype_size(dtype), &s->array[i], error));
        if (i == X || i == DY || i == W)
            STN_TRY(bench_fill(s->machine, s->array[i], (uint64_t)count[i], dtype, dtype, error));
    }
    return STN_OK;
}

static stn_status measure_case(bench *machine, const bench_options *options, const fno_case *what, bool *wrong,
                               stn_error *error) {
    setting s = {.machine = machine, .what = what};
    const bool all = !strcmp(what->group, "fno-grid"), small = machine->quick || !machine->device;
    fno_timing ours[2] = {{{0}, 0, 0, {0}}}, cublas[2] = {{{0}, 0, 0, {0}}};
    STN_TRY(stn_layer_make(&what->layer, &s.layer, error));
    stn_status status = allocate(&s, all, error);
    if (status == STN_OK) {
        measure_strategy(&s, options->strategy, all, ours);
        if (machine->device)
            measure_strategy(&s, "cublas", all, cublas);
        else
            snprintf(cublas[0].problem, sizeof cublas[0].problem, "no GPU"), cublas[1] = cublas[0];
        print_row(&s, "forward", &ours[0], &cublas[0], !small);
        if (all) print_row(&s, "forward and backward", &ours[1], &cublas[1], false);
        *wrong = *wrong || *ours[0].problem || !is_right(&s, &ours[0]) || !is_right(&s, &cublas[0]);
    }
    for (int i = 0; i < ARRAYS; i++) stn_memory_free(machine->context, s.array[i]);
    return status;
}

stn_status bench_fno_run(bench *machine, const bench_options *options, size_t *measured, bool *wrong,
                         stn_error *error) {
    fno_case cases[FNO_CASES];
    const size_t all = bench_fno_cases(cases);
    const bool small = machine->quick || !machine->device;
    for (size_t i = 0; i < all; i++) {
        fno_case *c = &cases[i];
        stn_layer layer;
        if (!options->groups || !bench_listed(options->groups, c->group) || !bench_listed(options->cases, c->name))
            continue;
        STN_TRY(stn_layer_make(&c->layer, &layer, error));
        const int64_t item = stn_layer_in_numbers(&layer) / layer.batch;
        const int64_t most = machine->quick ? QUICK_NUMBERS : HOST_NUMBERS;
        if (small && (item > most || 2 * stn_layer_weights(&layer) > 16 * most)) continue;
        if (small && item * layer.batch > most) {
            c->layer.batch = (size_t)(most / item);
            snprintf(strstr(c->name, "-b"), 24, "-b%zu", c->layer.batch);
        }
        if (!*measured)
            printf(
                "| layer | pass | ms | strategy | cuFFT + cuBLAS, ms | times | error | bar |\n"
                "|---|---|--:|---|--:|--:|--:|---|\n");
        STN_TRY(measure_case(machine, options, c, wrong, error));
        ++*measured;
    }
    return STN_OK;
}
