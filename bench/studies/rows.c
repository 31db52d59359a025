/* Rows of any length; see rows.h. */
#include "rows.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "plan/plan.h"

enum { LENGTHS = 4, EVEN = 1, RUNNERS_UP = 6 }; /* n - 1, n, n + 1, n + 2; EVEN: the index of n */

typedef struct rows_case {
    const char *name, *stencil;
    int rank;
    stn_dtype dtype;
    uint64_t steps;
} rows_case;
static const rows_case cases[] = {
    {"heat-2d", "heat-2d", 2, STN_F64, 1},        {"heat-2d", "heat-2d", 2, STN_F32, 1},
    {"heat-2d", "heat-2d", 2, STN_F16, 1},        {"star-2d9p", "laplace-2d:order=4", 2, STN_F16, 1},
    {"heat-2d-steps", "heat-2d", 2, STN_F32, 10}, {"heat-2d-steps", "heat-2d", 2, STN_F16, 10},
    {"heat-3d", "heat-3d", 3, STN_F32, 1},        {"heat-3d", "heat-3d", 3, STN_F16, 1},
    {"heat-3d-steps", "heat-3d", 3, STN_F32, 10}, {"heat-3d-steps", "heat-3d", 3, STN_F16, 10},
};
enum { CASES = sizeof cases / sizeof *cases };

typedef struct row_length {
    const rows_case *what;
    stn_problem problem; /* borrows its stencil */
    stn_plan *plan;
    double points, seconds;
    stn_status status;
    stn_error why;
} row_length;

typedef struct rows_study {
    bench *machine;
    const char *strategy, *boundary;
    stn_stencil *stencil[CASES];
    row_length length[CASES * LENGTHS];
    int count;
    bench_buffers buffers;
} rows_study;

/* Creates plans, on any thread, so that kernels are compiled in parallel. */
static void build(void *user, int64_t begin, int64_t end) {
    rows_study *s = user;
    for (int64_t i = begin; i < end; i++) {
        row_length *l = &s->length[i];
        stn_plan_options options = STN_PLAN_OPTIONS_INIT;
        options.strategy = s->strategy;
        options.mode = s->machine->tune ? STN_MODE_MEASURE : STN_MODE_ESTIMATE;
        l->status = stn_plan_create(s->machine->context, &l->problem, &options, &l->plan, &l->why);
    }
}

static stn_status add_case(rows_study *s, const rows_case *what, stn_error *error) {
    static const size_t full[2][STN_MAX_RANK] = {{8192, 8192}, {512, 512, 512}};
    static const size_t quick[2][STN_MAX_RANK] = {{20, 2048}, {7, 9, 512}};
    const size_t *extent = (s->machine->quick ? quick : full)[what->rank - 2];
    const int number = s->count / LENGTHS;
    STN_TRY(bench_stencil(what->stencil, &s->stencil[number], error));
    for (int i = 0; i < LENGTHS; i++) {
        row_length *l = &s->length[s->count++];
        *l = (row_length){.what = what, .problem = STN_PROBLEM_INIT, .points = 1};
        l->problem.stencil = s->stencil[number];
        l->problem.dtype = what->dtype, l->problem.steps = what->steps;
        memcpy(l->problem.extent, extent, what->rank * sizeof *extent);
        l->problem.extent[what->rank - 1] += (size_t)i - EVEN;
        for (int axis = 0; axis < what->rank; axis++) l->points *= (double)l->problem.extent[axis];
        STN_TRY(bench_boundary(s->boundary, what->rank, l->problem.boundary, error));
    }
    return STN_OK;
}

static stn_status measure(rows_study *s, row_length *l, stn_error *error) {
    double found, allowed;
    if (l->status != STN_OK) {
        *error = l->why;
        return l->status;
    }
    STN_TRY(bench_check(s->machine, &l->problem, l->plan, &s->buffers, &found, &allowed, error));
    if (!(found <= allowed))
        return stn_fail(error, STN_ERROR_INTERNAL,
                        "%s %s, %d columns, by %s: an error of %.3g, where rounding explains %.3g", l->what->name,
                        stn_dtype_name(l->what->dtype), (int)l->problem.extent[l->what->rank - 1],
                        stn_plan_strategy(l->plan), found, allowed);
    bench_rest(s->machine);
    bench_execution e = bench_execution_of(l->plan, s->buffers.in, s->buffers.out, NULL);
    return bench_time(s->machine, bench_execute, &e, &l->seconds, error);
}

static double rate(const row_length *l) { return 1e-9 * l->points * (double)l->what->steps / l->seconds; }

static void print(const rows_study *s, const row_length *l, const row_length *even) {
    stn_text name = STN_TEXT_EMPTY;
    const double bytes = 2 * (double)stn_dtype_size(l->what->dtype) * 1e9;
    if (l->plan->strategy->name_candidate)
        l->plan->strategy->name_candidate(&l->plan->task, &l->plan->candidate, &name);
    printf("| %-13s | %s | %2d | %4d | %8.1f | %6.1f | %5.1f | %s: %s |\n", l->what->name,
           stn_dtype_name(l->what->dtype), (int)l->what->steps, (int)l->problem.extent[l->what->rank - 1], rate(l),
           100 * rate(l) / rate(even), 100 * rate(l) * bytes / s->machine->copy_bandwidth, stn_plan_strategy(l->plan),
           name.data ? name.data : "");
    stn_text_clear(&name);
    for (size_t i = 1; i < l->plan->ranked && i < RUNNERS_UP; i++) {
        const stn_ranked *row = &l->plan->ranking[i];
        if (row->measured <= 0) break;
        if (row->strategy->name_candidate) row->strategy->name_candidate(&l->plan->task, &row->candidate, &name);
        printf("| | | | | %8.1f | | | measured; %s: %s |\n", rate(l) * l->seconds / row->measured, row->strategy->name,
               name.data ? name.data : "");
        stn_text_clear(&name);
    }
    fflush(stdout);
}

/* All cases of one dtype share their buffers. */
static stn_status measure_dtype(rows_study *s, stn_dtype dtype, stn_error *error) {
    double most = 0;
    for (int i = 0; i < s->count; i++)
        if (s->length[i].what->dtype == dtype && s->length[i].points > most) most = s->length[i].points;
    if (most == 0) return STN_OK;
    const size_t bytes = (size_t)most * stn_dtype_size(dtype);
    stn_status status;
    STN_TRY_GOTO(status, stn_memory_alloc(s->machine->context, bytes, &s->buffers.in, error), done);
    STN_TRY_GOTO(status, stn_memory_alloc(s->machine->context, bytes, &s->buffers.out, error), done);
    STN_TRY_GOTO(status, bench_fill(s->machine, s->buffers.in, (uint64_t)most, dtype, dtype, error), done);
    for (int i = 0; i < s->count; i += LENGTHS) {
        row_length *of = &s->length[i];
        if (of->what->dtype != dtype) continue;
        for (int k = 0; k < LENGTHS; k++) STN_TRY_GOTO(status, measure(s, &of[k], error), done);
        for (int k = 0; k < LENGTHS; k++) print(s, &of[k], &of[EVEN]);
    }
done:
    stn_memory_free(s->machine->context, s->buffers.in);
    stn_memory_free(s->machine->context, s->buffers.out);
    s->buffers = (bench_buffers){NULL, NULL};
    return status;
}

stn_status bench_rows(bench *machine, const bench_options *options, stn_error *error) {
    rows_study s = {.machine = machine, .strategy = options->strategy};
    s.boundary = options->boundary ? options->boundary : "fixed";
    stn_status status;
    for (int c = 0; c < CASES; c++)
        if (bench_listed(options->cases, cases[c].name)) STN_TRY_GOTO(status, add_case(&s, &cases[c], error), done);
    STN_TRY_GOTO(status, bench_measure_copy(machine, error), done);
    const double begin = bench_now();
    if (machine->tune) /* one after the other, so that measured candidates do not share the GPU */
        build(&s, 0, s.count);
    else
        stn_pool_for(machine->pool, s.count, 1, build, &s);
    printf("%s, copy %.0f GB/s, boundary %s, medians of %d; %d plans in %.1f s\n\n", machine->context->machine.name,
           machine->copy_bandwidth / 1e9, s.boundary, machine->repeat, s.count, bench_now() - begin);
    printf(
        "| case | dtype | steps | columns | GStencil/s | %% of even | %% of copy | candidate |\n"
        "|---|---|--:|--:|--:|--:|--:|---|\n");
    for (int dtype = STN_F64; dtype <= STN_F16; dtype++)
        STN_TRY_GOTO(status, measure_dtype(&s, (stn_dtype)dtype, error), done);
done:
    for (int i = 0; i < s.count; i++) stn_plan_destroy(s.length[i].plan);
    for (int c = 0; c < CASES; c++) stn_stencil_destroy(s.stencil[c]);
    return status;
}
