/* stentor-bench: times each case and compares it with the copy bandwidth of the same run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "bench.h"
#include "fft.h"
#include "fno.h"
#include "online.h"
#include "options.h"
#include "studies/rows.h"

enum { ONLINE_SECONDS = 3, QUICK_STEPS = 10, WRONG = 1, DTYPES = 3, WHOLE_GRID_REPEAT = 3 };
static const double host_bar = 50; /* percent of copy for one step of heat-2d in f64 */

static void resolve(const bench *machine, const bench_options *options, const bench_case *what, stn_dtype dtype,
                    bench_result *result) {
    *result = (bench_result){.what = what, .dtype = dtype, .boundary = options->boundary, .steps = what->steps};
    if (!result->boundary) result->boundary = what->boundary ? what->boundary : "fixed";
    memcpy(result->extent, what->extent, sizeof result->extent);
    bool full = machine->device && !machine->quick;
    if (machine->quick)
        bench_extent_quick(what->rank, result->extent);
    else if (!machine->device)
        bench_extent_host(what->rank, result->extent);
    if (!full && result->steps > QUICK_STEPS) result->steps = QUICK_STEPS;
    if (options->rank) memcpy(result->extent, options->extent, sizeof result->extent);
    if (options->steps) result->steps = options->steps;
    bool as_stated = full && !options->rank && !options->steps;
    if (as_stated) result->bar = dtype == STN_F64 ? what->bar_f64 : dtype == STN_F32 ? what->bar_f32 : what->bar_f16;
    if (!machine->device && !machine->quick && result->steps == 1 && dtype == STN_F64 && !strcmp(what->name, "heat-2d"))
        result->bar = host_bar;
    const char *strategy = options->strategy ? options->strategy : machine->device ? what->strategy : NULL;
    snprintf(result->strategy, sizeof result->strategy, "%s", strategy ? strategy : "auto");
}

static size_t points(const bench_result *result) {
    size_t count = 1;
    for (int axis = 0; axis < result->what->rank; axis++) count *= result->extent[axis];
    return count;
}

typedef struct execution {
    stn_plan *plan;
    const bench_buffers *buffers;
} execution;

static stn_status execute(void *user, stn_error *error) {
    execution *work = user;
    return bench_run(work->plan, work->buffers->in, work->buffers->in, work->buffers->out, error);
}

/* Times cufft-spectral (transform of the whole grid, product with the symbol's power, inverse) for
 * comparison with spectral. Does nothing without cuFFT, or if sides do not wrap. */
static void time_whole_grid(bench *machine, const stn_problem *problem, const bench_buffers *buffers,
                            bench_result *result) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    execution work = {NULL, buffers};
    const int repeat = machine->repeat;
    if (!machine->device || strcmp(result->what->group, "spectral") != 0 || strcmp(result->boundary, "wrap") != 0)
        return;
    options.strategy = "cufft-spectral", options.mode = STN_MODE_ESTIMATE;
    if (stn_plan_create(machine->context, problem, &options, &work.plan, NULL) != STN_OK) return;
    machine->repeat = repeat < WHOLE_GRID_REPEAT ? repeat : WHOLE_GRID_REPEAT;
    if (bench_time(machine, execute, &work, &result->whole_grid, NULL) != STN_OK) result->whole_grid = 0;
    machine->repeat = repeat;
    stn_plan_destroy(work.plan);
}

/* Checks and times one case. */
static stn_status measure(bench *machine, const bench_buffers *buffers, bench_result *result, stn_error *error) {
    stn_stencil *stencil = NULL;
    execution work = {NULL, buffers};
    stn_problem problem = STN_PROBLEM_INIT;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_status status;
    STN_TRY_GOTO(status, bench_stencil(result->what->stencil, &stencil, error), done);
    problem.stencil = stencil;
    problem.dtype = result->dtype;
    problem.steps = result->steps;
    problem.tolerance = machine->tolerance;
    problem.has_source = !strcmp(result->what->group, "source");
    memcpy(problem.extent, result->extent, sizeof problem.extent);
    STN_TRY_GOTO(status, bench_boundary(result->boundary, result->what->rank, problem.boundary, error), done);
    options.strategy = result->strategy;
    /* A fixed choice. */
    options.mode = machine->tune ? STN_MODE_MEASURE : STN_MODE_ESTIMATE;
    STN_TRY_GOTO(status, stn_plan_create(machine->context, &problem, &options, &work.plan, error), done);
    snprintf(result->strategy, sizeof result->strategy, "%s", stn_plan_strategy(work.plan));
    STN_TRY_GOTO(status, bench_check(machine, &problem, work.plan, buffers, &result->error, &result->allowed, error),
                 done);
    bench_rest(machine);
    STN_TRY_GOTO(status, bench_time(machine, execute, &work, &result->seconds, error), done);
    double updates = (double)points(result) * (double)result->steps;
    result->gstencils = 1e-9 * updates / result->seconds;
    result->bandwidth = 2 * (double)stn_dtype_size(result->dtype) * updates / result->seconds;
    result->percent_of_copy = 100 * result->bandwidth / machine->copy_bandwidth;
    stn_plan_destroy(work.plan); /* frees its workspace before the next one is allocated */
    work.plan = NULL;
    time_whole_grid(machine, &problem, buffers, result);
done:
    stn_plan_destroy(work.plan);
    stn_stencil_destroy(stencil);
    return status;
}

/* All results of one dtype share their buffers: the input is a function of the index. rows: the
 * number of printed rows; NULL: print none. */
static stn_status measure_all(bench *machine, bench_result *results, size_t count, stn_dtype dtype, size_t *rows,
                              stn_error *error) {
    bench_buffers buffers = {0};
    size_t most = 0;
    for (size_t i = 0; i < count; i++) {
        if (results[i].dtype != dtype) continue;
        if (points(&results[i]) > most) most = points(&results[i]);
    }
    if (!most) return STN_OK;
    size_t bytes = most * stn_dtype_size(dtype);
    stn_status status;
    STN_TRY_GOTO(status, stn_memory_alloc(machine->context, bytes, &buffers.in, error), done);
    STN_TRY_GOTO(status, stn_memory_alloc(machine->context, bytes, &buffers.out, error), done);
    STN_TRY_GOTO(status, bench_fill(machine, buffers.in, most, dtype, dtype, error), done);
    for (size_t i = 0; i < count; i++) {
        stn_error failure = {0};
        if (results[i].dtype != dtype) continue;
        results[i].status = measure(machine, &buffers, &results[i], &failure);
        if (results[i].status != STN_OK)
            snprintf(results[i].problem, sizeof results[i].problem, "%.*s", (int)sizeof results[i].problem - 1,
                     failure.message);
        if (rows) bench_report_row(machine, &results[i], (*rows)++ == 0);
    }
done:
    stn_memory_free(machine->context, buffers.in);
    stn_memory_free(machine->context, buffers.out);
    return status;
}

static size_t select_cases(const bench *machine, const bench_options *options, bench_result *results) {
    static const stn_dtype dtypes[DTYPES] = {STN_F64, STN_F32, STN_F16};
    size_t count = 0;
    for (size_t i = 0; i < bench_case_count; i++)
        for (int d = 0; d < DTYPES; d++) {
            const bench_case *what = &bench_cases[i];
            if (!bench_listed(options->groups, what->group) || !bench_listed(options->cases, what->name)) continue;
            if (!bench_listed(options->dtypes ? options->dtypes : "f64,f32", stn_dtype_name(dtypes[d]))) continue;
            if (options->rank && options->rank != what->rank) continue;
            resolve(machine, options, what, dtypes[d], &results[count++]);
        }
    return count;
}

static void list_cases(void) {
    for (size_t i = 0; i < bench_case_count; i++) {
        const bench_case *what = &bench_cases[i];
        printf("%-8s %-20s %llu steps, bar %.3g%s\n", what->group, what->name, (unsigned long long)what->steps,
               what->bar_f64,
               what->unit == BAR_MS                ? " ms"
               : what->unit == BAR_PERCENT_OF_COPY ? "% of copy"
                                                   : " GStencil/s in f64");
    }
    fft_case transforms[FFT_CASES];
    size_t count = bench_fft_cases(transforms);
    for (size_t i = 0; i < count; i++) {
        const fft_case *what = &transforms[i];
        printf("%-9s %-20s %s %s, bar %.0f GB/s, %.2f of cuFFT\n", what->group, what->name,
               stn_dtype_name(what->transform.dtype), stn_transform_kind_name(what->transform.kind), what->bar,
               what->of_cufft);
    }
    fno_case layers[FNO_CASES];
    count = bench_fno_cases(layers);
    for (size_t i = 0; i < count; i++)
        printf("%-9s %s, bar %.3g ms, %.2f of cuBLAS\n", layers[i].group, layers[i].name, layers[i].bar,
               layers[i].of_cublas);
}

static void report(const bench_options *options, const bench *machine, const bench_result *results, size_t count,
                   const fft_result *transforms, size_t transform_count, stn_text *text) {
    stn_text array = STN_TEXT_EMPTY;
    if (options->json) {
        bench_fft_json(transforms, transform_count, &array);
        bench_report_json(machine, results, count, array.data, NULL, text);
        stn_text_clear(&array);
        return;
    }
    bench_report_problems(results, count, text);
    bench_fft_problems(machine, transforms, transform_count, text);
}

static stn_status run_cases(const bench_options *options, stn_text *text, bool *wrong, stn_error *error) {
    bench machine = {
        .quick = options->quick, .tune = options->tune, .tolerance = options->tolerance, .repeat = options->repeat};
    bench_result *results = NULL;
    fft_result *transforms = NULL;
    size_t count, rows = 0, transform_count = 0, most = bench_case_count * DTYPES;
    stn_status status;
    STN_TRY_GOTO(status, bench_open(options->device, options->threads, NULL, &machine, error), done);
    results = calloc(most, sizeof *results);
    if (!results) {
        status = stn_fail_memory(error, "the results", most * sizeof *results);
        goto done;
    }
    count = select_cases(&machine, options, results);
    STN_TRY_GOTO(status, bench_measure_copy(&machine, error), done);
    if (!options->rank)
        STN_TRY_GOTO(status,
                     bench_fft_run(&machine, options, options->json ? NULL : bench_fft_row, &transforms,
                                   &transform_count, error),
                     done);
    size_t layers = 0;
    if (!options->rank && !options->json)
        STN_TRY_GOTO(status, bench_fno_run(&machine, options, &layers, wrong, error), done);
    if (!count && !transform_count && !layers) {
        status = stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "no case has these names: see stentor-bench --list");
        goto done;
    }
    if (count && transform_count && !options->json) puts("");
    for (int dtype = STN_F64; dtype <= STN_F16; dtype++)
        STN_TRY_GOTO(
            status, measure_all(&machine, results, count, (stn_dtype)dtype, options->json ? NULL : &rows, error), done);
    size_t measured = layers;
    for (size_t i = 0; i < count; i++) {
        measured += results[i].status == STN_OK;
        /* An internal error means that the reference is wrong. */
        *wrong |=
            results[i].status == STN_OK ? !bench_result_right(&results[i]) : results[i].status == STN_ERROR_INTERNAL;
    }
    for (size_t i = 0; i < transform_count; i++) {
        measured += !*transforms[i].ours.problem;
        *wrong |= !*transforms[i].ours.problem && !bench_fft_right(&transforms[i]);
    }
    *wrong |= !measured;
    report(options, &machine, results, count, transforms, transform_count, text);
done:
    free(transforms);
    free(results);
    bench_close(&machine);
    return status;
}

static stn_status run_overhead(const bench_options *options, stn_text *text, stn_error *error) {
    bench_overhead overhead;
    STN_TRY(bench_measure_overhead(options->device, &overhead, error));
    if (options->json) {
        bench none = {0};
        bench_report_json(&none, NULL, 0, NULL, &overhead, text);
    } else
        bench_report_overhead(&overhead, text);
    return STN_OK;
}

/* The options that print while they measure. */
static stn_status run_listed(const bench_options *options, stn_error *error) {
    bench machine = {.quick = options->quick, .tune = options->tune, .repeat = options->rows ? options->repeat : 1};
    /* Without earlier wisdom. */
    const char *folder = options->online ? ":memory:" : NULL;
    stn_status status = bench_open(options->device, options->threads, folder, &machine, error);
    if (status == STN_OK)
        status = options->online ? bench_online(&machine, options->quick ? 0.2 : ONLINE_SECONDS, options->cases, error)
                                 : bench_rows(&machine, options, error);
    bench_close(&machine);
    return status;
}

int main(int argc, char **argv) {
    bench_options options;
    int exit_code;
    if (!bench_options_parse(argc, argv, &options, &exit_code)) return exit_code;
    if (options.list) {
        list_cases();
        return 0;
    }
    stn_text text = STN_TEXT_EMPTY;
    stn_error error = {0};
    bool wrong = false;
    stn_status status = options.online || options.rows ? run_listed(&options, &error)
                        : options.overhead             ? run_overhead(&options, &text, &error)
                                                       : run_cases(&options, &text, &wrong, &error);
    if (status != STN_OK)
        fprintf(stderr, "stentor-bench: %s\n", error.message);
    else if (text.data)
        fputs(text.data, stdout);
    stn_text_clear(&text);
    return status != STN_OK ? stn_status_exit_code(status) : wrong ? WRONG : 0;
}
