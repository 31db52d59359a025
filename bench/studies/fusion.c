/* Fused steps compared with cuFFT; see fusion.h. */
#include "fusion.h"

#include <string.h>

#include "../options.h"
#include "base/error.h"
#include "plan/plan.h"
#include "strategies/segment/segment_shape.h"
#include "strategies/segment/segment_tables.h"

static const uint64_t lengths[] = {1, 6, 16, 64, 256, 1000, 4000};
enum { LENGTHS = sizeof lengths / sizeof *lengths, QUICK_LENGTHS = 2, CASES = 2 };

typedef struct fusion_case {
    const char *name, *stencil;
    int rank;
    size_t extent[STN_MAX_RANK], quick[STN_MAX_RANK];
} fusion_case;
static const fusion_case cases[CASES] = {
    {"heat-1d", "heat-1d", 1, {(size_t)1 << 27}, {2048}},
    {"box-2d9p-separable", "gaussian-2d:sigma=1,truncate=1", 2, {10240, 10240}, {40, 48}}};

typedef struct fused_run {
    stn_plan *plan;
    double seconds;
    stn_status status;
    stn_error why;
} fused_run;

typedef struct fusion {
    bench *machine;
    const fusion_case *what;
    stn_problem problem;
    size_t points, spectrum; /* spectrum: frequencies of a real transform */
    bench_buffers buffers;   /* out holds a spectrum too */
    const uint64_t *steps;
    int runs;
    fused_run run[LENGTHS];
    /* Seconds of both cuFFT transforms; of the product with the symbol at the copy bandwidth. */
    double transforms, factors;
    size_t cufft_work;
} fusion;

/* ---- cuFFT ----------------------------------------------------------------------------------- */

static stn_status time_transform(fusion *f, bool inverse, double *seconds, stn_error *error) {
    stn_transform t = STN_TRANSFORM_INIT;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_plan *plan = NULL;
    options.strategy = "cufft";
    t.rank = f->what->rank, t.dtype = STN_F64, t.kind = inverse ? STN_C2R : STN_R2C;
    t.direction = inverse ? STN_INVERSE : STN_FORWARD;
    t.in_place = inverse; /* multi-dimensional c2r is in place only */
    memcpy(t.extent, f->problem.extent, sizeof t.extent);
    STN_TRY(stn_plan_create_fft(f->machine->context, &t, &options, &plan, error));
    bench_execution e = bench_execution_of(plan, inverse ? f->buffers.out : f->buffers.in, f->buffers.out, NULL);
    const stn_status status = bench_time(f->machine, bench_execute, &e, seconds, error);
    if (plan->workspace_size > f->cufft_work) f->cufft_work = plan->workspace_size;
    stn_plan_destroy(plan);
    return status;
}

/* The symbol of symmetric taps is real: per frequency 16 bytes are read, 8 of the symbol, and 16
 * written. */
static stn_status time_cufft(fusion *f, stn_error *error) {
    double there, back;
    STN_TRY(time_transform(f, false, &there, error));
    STN_TRY(time_transform(f, true, &back, error));
    f->transforms = there + back;
    f->factors = 40 * (double)f->spectrum / f->machine->copy_bandwidth;
    return STN_OK;
}

/* ---- ours ------------------------------------------------------------------------------------ */

/* Creates plans, on any thread, so that kernels are compiled in parallel. */
static void build(void *user, int64_t begin, int64_t end) {
    fusion *f = user;
    for (int64_t i = begin; i < end; i++) {
        stn_problem problem = f->problem;
        stn_plan_options options = STN_PLAN_OPTIONS_INIT;
        fused_run *r = &f->run[i];
        options.strategy = "segment";
        problem.steps = f->steps[i];
        *r = (fused_run){.plan = NULL};
        r->status = stn_plan_create(f->machine->context, &problem, &options, &r->plan, &r->why);
    }
}

static stn_status measure(fusion *f, int i, stn_error *error) {
    fused_run *r = &f->run[i];
    double found, allowed;
    if (r->status != STN_OK) {
        *error = r->why;
        return r->status;
    }
    f->problem.steps = f->steps[i];
    STN_TRY(bench_check(f->machine, &f->problem, r->plan, &f->buffers, &found, &allowed, error));
    if (!(found <= allowed))
        return stn_fail(error, STN_ERROR_INTERNAL, "%d steps: an error of %.3g, where rounding explains %.3g",
                        (int)f->problem.steps, found, allowed);
    bench_execution e = bench_execution_of(r->plan, f->buffers.in, f->buffers.out, NULL);
    return bench_time(f->machine, bench_execute, &e, &r->seconds, error);
}

/* Memory in addition to two grids: workspace and tables. */
static size_t segment_bytes(const stn_plan *plan) {
    segment_shape shape;
    size_t bytes = plan->workspace_size;
    memcpy(&shape, plan->candidate.values, sizeof shape);
    for (int i = 0; i < shape.passes; i++)
        bytes += sizeof(double) *
                 (segment_roots_size(shape.pass[i].first, STN_F64) + segment_symbol_size(shape.pass[i].first, true));
    return bytes;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void print_times(const fusion *f, stn_text *text) {
    const double whole = f->transforms + f->factors;
    for (int i = 0; i < f->runs; i++) {
        const double updates = 1e-9 * (double)f->points * (double)f->steps[i], ours = f->run[i].seconds;
        stn_text_printf(text, "| %s | %d | %.3f | %.0f | %.3f | %.0f | %.2f |\n", f->what->name, (int)f->steps[i],
                        1e3 * ours, updates / ours, 1e3 * whole, updates / whole, whole / ours);
    }
}

static void print_memory(const fusion *f, stn_text *text) {
    const double grid = 8 * (double)f->points, mega = 1e-6;
    const double ours = 2 * grid + (double)segment_bytes(f->run[f->runs - 1].plan);
    const double theirs = grid + (16 + 8) * (double)f->spectrum + (double)f->cufft_work;
    stn_text_printf(text, "| %s | %.1f | %.1f | %.3f | %.1f | %.2f |\n", f->what->name, mega * grid, mega * ours,
                    mega * (ours - 2 * grid), mega * theirs, theirs / ours);
}

static stn_status run_case(fusion *f, stn_error *error) {
    stn_stencil *stencil = NULL;
    stn_status status;
    STN_TRY(bench_stencil(f->what->stencil, &stencil, error));
    f->problem.stencil = stencil;
    const size_t bytes = sizeof(double) * f->points;
    STN_TRY_GOTO(status, stn_memory_alloc(f->machine->context, bytes, &f->buffers.in, error), done);
    STN_TRY_GOTO(status, stn_memory_alloc(f->machine->context, 16 * f->spectrum, &f->buffers.out, error), done);
    STN_TRY_GOTO(status, bench_fill(f->machine, f->buffers.in, f->points, STN_F64, STN_F64, error), done);
    stn_pool_for(f->machine->pool, f->runs, 1, build, f);
    for (int i = 0; i < f->runs; i++) STN_TRY_GOTO(status, measure(f, i, error), done);
    status = time_cufft(f, error);
done:
    stn_memory_free(f->machine->context, f->buffers.in);
    stn_memory_free(f->machine->context, f->buffers.out);
    stn_stencil_destroy(stencil);
    return status;
}

static void open_case(bench *machine, const fusion_case *what, const uint64_t *steps, int runs, fusion *f) {
    *f = (fusion){.machine = machine, .what = what, .problem = STN_PROBLEM_INIT, .steps = steps, .runs = runs};
    memcpy(f->problem.extent, machine->quick ? what->quick : what->extent, sizeof what->extent);
    f->points = 1;
    for (int axis = 0; axis < what->rank; axis++) f->points *= f->problem.extent[axis];
    const size_t last = f->problem.extent[what->rank - 1];
    f->spectrum = last ? f->points / last * (last / 2 + 1) : 0;
}

stn_status bench_fusion(bench *machine, uint64_t steps, const char *names, stn_text *text, stn_error *error) {
    fusion list[CASES] = {{0}};
    stn_status status = bench_measure_copy(machine, error);
    for (int c = 0; c < CASES && status == STN_OK; c++) {
        if (!bench_listed(names, cases[c].name)) continue;
        open_case(machine, &cases[c], steps ? &steps : lengths,
                  steps            ? 1
                  : machine->quick ? QUICK_LENGTHS
                                   : LENGTHS,
                  &list[c]);
        status = run_case(&list[c], error);
    }
    stn_text_printf(text, "f64, wrap; %s, copy %.0f GB/s, medians of %d\n\n", machine->context->machine.name,
                    machine->copy_bandwidth / 1e9, machine->repeat);
    stn_text_printf(text,
                    "| case | steps | segment, ms | GStencil/s | cuFFT, at least ms | GStencil/s | times faster |\n"
                    "|---|--:|--:|--:|--:|--:|--:|\n");
    for (int c = 0; c < CASES && status == STN_OK; c++) print_times(&list[c], text);
    stn_text_printf(text,
                    "\n| case | a grid, MB | segment with both grids | beside them | cuFFT, inverse in place | times "
                    "as much |\n|---|--:|--:|--:|--:|--:|\n");
    for (int c = 0; c < CASES && status == STN_OK; c++)
        if (list[c].runs) print_memory(&list[c], text);
    for (int c = 0; c < CASES; c++)
        for (int i = 0; i < list[c].runs; i++) stn_plan_destroy(list[c].run[i].plan);
    return status;
}
