/* Snapshots: every state in the stack equals a separate run, for each strategy and layout. On the
 * host, and on a GPU or the emulator (skipped without one). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../expect.h"
#include "stentor.h"

enum { NY = 21, NX = 26, BATCH = 2, STEPS = 12 };

typedef struct layout {
    ptrdiff_t row, batch, snapshot; /* elements; snapshot 0: dense */
} layout;

static stn_context *host, *gpu;
static stn_stencil *stencil;
static const layout dense = {NX, NX *NY, 0};

static void start(void) {
    host = context_on(STN_DEVICE_HOST);
    stencil = stencil_of("heat-2d:alpha=0.2");
}
static void start_on_device(void) {
    start();
    gpu = context_on(STN_DEVICE_CUDA(0));
}
static void end(void) {
    stn_stencil_destroy(stencil);
    stn_context_destroy(host), stn_context_destroy(gpu);
}
TestSuite(snapshots, .init = start, .fini = end);
TestSuite(snapshots_on_device, .init = start_on_device, .fini = end);

static stn_problem problem_of(layout in, layout out, uint64_t steps, uint64_t every) {
    stn_problem p = STN_PROBLEM_INIT;
    p.stencil = stencil, p.steps = steps, p.every = every, p.batch = BATCH;
    p.extent[0] = NY, p.extent[1] = NX;
    p.in_stride[0] = in.row, p.out_stride[0] = out.row, p.in_stride[1] = p.out_stride[1] = 1;
    p.in_batch_stride = in.batch, p.out_batch_stride = out.batch, p.snapshot_stride = out.snapshot;
    p.boundary[0][0].kind = p.boundary[0][1].kind = STN_REFLECT;
    p.boundary[1][0].kind = p.boundary[1][1].kind = STN_FIXED;
    return p;
}

/* Runs the problem from `in` and returns its output of `size` doubles, which was poisoned
 * before. */
static void run(stn_context *context, const stn_problem *p, const char *strategy, const double *in, size_t in_size,
                double *out, size_t size, const double *weights, size_t nweights) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    void *from, *to;
    options.strategy = strategy;
    stn_plan *plan = new_plan(context, p, &options);
    if (weights) OK(stn_plan_set_weights(plan, nweights, weights, &error));
    OK(stn_memory_alloc(context, in_size * sizeof *in, &from, &error));
    OK(stn_memory_alloc(context, size * sizeof *out, &to, &error));
    memset(out, 0xff, size * sizeof *out);
    OK(stn_memory_upload(context, from, in, in_size * sizeof *in, &error));
    OK(stn_memory_upload(context, to, out, size * sizeof *out, &error));
    OK(stn_plan_execute(plan, from, to, NULL, &error));
    OK(stn_memory_download(context, out, to, size * sizeof *out, &error));
    stn_memory_free(context, from);
    stn_memory_free(context, to);
    stn_plan_destroy(plan);
}

static void check(stn_context *context, const char *strategy, layout in, layout out, uint64_t every, bool new_weights) {
    static const double weights[5] = {0.11, 0.17, 0.3, 0.19, 0.13};
    const double *changed = new_weights ? weights : NULL;
    const size_t count = STEPS / every, apart = (size_t)(out.snapshot ? out.snapshot : BATCH * out.batch);
    const size_t in_size = (size_t)(BATCH * in.batch), size = count * apart, one = (size_t)(BATCH * out.batch);
    double *from = malloc(in_size * sizeof *from), *stack = malloc(size * sizeof *stack),
           *want = malloc(one * sizeof *want);
    for (size_t i = 0; i < in_size; i++) from[i] = sin(0.37 * (double)i);
    stn_problem p = problem_of(in, out, STEPS, every);
    run(context, &p, strategy, from, in_size, stack, size, changed, 5);
    for (size_t s = 0; s < count; s++) {
        stn_problem q = problem_of(in, (layout){out.row, out.batch, 0}, every * (s + 1), 0);
        run(host, &q, "host", from, in_size, want, one, changed, 5);
        for (int b = 0; b < BATCH; b++)
            for (int y = 0; y < NY; y++)
                for (int x = 0; x < NX; x++) {
                    size_t at = (size_t)(b * out.batch + y * out.row + x);
                    cr_assert_float_eq(stack[s * apart + at], want[at], 1e-13,
                                       "%s, snapshot %zu, grid %d, %d %d: %g, not %g", strategy, s, b, y, x,
                                       stack[s * apart + at], want[at]);
                }
    }
    free(from), free(stack), free(want);
}

static void check_all(stn_context *context, const char *strategy) {
    const layout wide = {32, 32 * NY, 0}, odd = {NX + 1, (NX + 1) * NY, BATCH * (NX + 1) * NY + 3};
    check(context, strategy, dense, dense, 4, false);
    check(context, strategy, dense, wide, 3, false);
    check(context, strategy, wide, odd, 6, false);
    check(context, strategy, dense, odd, 4, true);
    check(context, strategy, odd, dense, STEPS, false);
    /* rows are aligned, and every second snapshot is not */
    check(context, strategy, dense, (layout){NX, NX * NY, BATCH * NX * NY + 1}, 4, false);
}

Test(snapshots, host) { check_all(host, "host"); }

Test(snapshots, are_refused_in_place_and_if_they_overlap) {
    stn_problem p = problem_of(dense, dense, STEPS, 5);
    REFUSED(stn_problem_validate(&p, &error), "every (5) does not divide steps");
    p.every = 4, p.in_place = 1;
    REFUSED(stn_problem_validate(&p, &error), "stack of 3 snapshots");
    p.in_place = 0, p.snapshot_stride = BATCH * NX * NY - 1;
    REFUSED(stn_problem_validate(&p, &error), "snapshots overlap");
    p.snapshot_stride = PTRDIFF_MAX / 16;
    REFUSED(stn_problem_validate(&p, &error), "63 bits");
    p.snapshot_stride = 0, p.every = STEPS, p.in_place = 1;
    cr_expect_eq(stn_problem_validate(&p, &error), STN_OK, "one snapshot is a run as any: %s", error.message);
}

Test(snapshots, sources_are_required_if_declared) {
    stn_problem p = problem_of(dense, dense, 1, 0);
    static double in[BATCH * NX * NY], out[BATCH * NX * NY], source[BATCH * NX * NY];
    stn_execution run = {.in = in, .out = out};
    p.has_source = 1;
    stn_plan *plan = new_plan(host, &p, NULL);
    REFUSED(stn_plan_run(plan, &run, &error), "needs source and got NULL");
    cr_expect_eq(stn_plan_execute(plan, in, out, NULL, &error), STN_ERROR_INVALID_ARGUMENT);
    source[NX + 1] = 0.5, run.source = source;
    OK(stn_plan_run(plan, &run, &error));
    cr_expect_eq(out[NX + 1], 0.5);
    cr_expect_eq(out[NX + 2], 0);
    stn_plan_destroy(plan);
    p.has_source = 0;
    plan = new_plan(host, &p, NULL);
    REFUSED(stn_plan_run(plan, &run, &error), "takes none");
    stn_plan_destroy(plan);
}

Test(snapshots_on_device, direct) { check_all(gpu, "direct"); }

Test(snapshots_on_device, lowrank) { check_all(gpu, "lowrank"); }
