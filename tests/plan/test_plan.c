/* Plans: choosing, running, new weights, workspaces, graphs, and every wrong call. On the host, and
 * with a GPU or the emulator (those cases are skipped without one). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../expect.h"
#include "context/context.h"
#include "stentor.h"

enum { NY = 20, NX = 24, N = NY * NX };

static stn_problem problem_of(const stn_stencil *stencil, uint64_t steps) {
    stn_problem p = STN_PROBLEM_INIT;
    p.stencil = stencil;
    p.extent[0] = NY, p.extent[1] = NX;
    p.steps = steps;
    for (int axis = 0; axis < 2; axis++)
        for (int side = 0; side < 2; side++) p.boundary[axis][side].kind = STN_REFLECT;
    return p;
}

static void ramp(double *grid) {
    for (int i = 0; i < N; i++) grid[i] = sin(0.37 * i) + 0.01 * i;
}

static stn_context *host;
static stn_stencil *stencil;

static void start(void) { host = context_on(STN_DEVICE_HOST), stencil = stencil_of("heat-2d:alpha=0.2"); }
static void end(void) {
    stn_stencil_destroy(stencil);
    stn_context_destroy(host);
}
TestSuite(plan, .init = start, .fini = end);

/* The host's result for the ramp. */
static void expected(const stn_problem *p, double *out) {
    double in[N];
    ramp(in);
    stn_plan *plan = new_plan(host, p, NULL);
    OK(stn_plan_execute(plan, in, out, NULL, &error));
    stn_plan_destroy(plan);
}

static void near(const double *got, const double *want) {
    for (int i = 0; i < N; i++) cr_assert(fabs(got[i] - want[i]) <= 1e-13 * (1 + fabs(want[i])), "point %d", i);
}

Test(plan, ranks_and_describes) {
    stn_problem p = problem_of(stencil, 10);
    stn_plan *plan = new_plan(host, &p, NULL);
    cr_assert_str_eq(stn_plan_strategy(plan), "host");
    cr_assert(stn_plan_predicted_seconds(plan) > 0);
    expect_described(plan, STN_TEXT, "direct");
    expect_described(plan, STN_TEXT, "does not apply");
    expect_described(plan, STN_JSON, "\"strategy\":\"host\"");
    expect_described(plan, STN_JSON, "\"max_symbol\":1");
    stn_plan_destroy(plan);
}

Test(plan, refuses_wrong_calls) {
    stn_problem p = problem_of(stencil, 1);
    stn_plan *plan = NULL;
    double in[N], out[N], weights[5] = {1, 2, 3, 4, NAN};
    ramp(in);
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.strategy = "fast";
    REFUSED(stn_plan_create(host, &p, &options, &plan, &error), "auto, host, direct");
    cr_assert_null(plan);
    const char *const on_gpus[] = {"direct", "lowrank", "sparse", "segment", "spectral"};
    for (size_t i = 0; i < sizeof on_gpus / sizeof *on_gpus; i++) {
        options.strategy = on_gpus[i];
        FAILS(stn_plan_create(host, &p, &options, &plan, &error), STN_ERROR_UNSUPPORTED,
              "it needs a GPU and this context is for the host");
    }
    options.strategy = NULL;
    options.struct_size = 4096;
    REFUSED(stn_plan_create(host, &p, &options, &plan, &error), "stn_plan_options");
    REFUSED(stn_plan_create(NULL, &p, NULL, &plan, &error), "context");
    REFUSED(stn_plan_create(host, &p, NULL, NULL, &error), "place");
    REFUSED(stn_plan_create(host, NULL, NULL, &plan, &error), "problem");
    plan = new_plan(host, &p, NULL);
    REFUSED(stn_plan_execute(NULL, in, out, NULL, &error), "plan");
    REFUSED(stn_plan_execute(plan, NULL, out, NULL, &error), "in is NULL");
    REFUSED(stn_plan_execute(plan, in, NULL, NULL, &error), "out is NULL");
    REFUSED(stn_plan_execute(plan, in, in, NULL, &error), "in_place");
    REFUSED(stn_plan_set_weights(plan, 4, weights, &error), "5");
    REFUSED(stn_plan_set_weights(plan, 5, weights, &error), "weight at offset (1, 0)");
    REFUSED(stn_plan_set_weights(plan, 5, NULL, &error), "weights");
    REFUSED(stn_plan_describe(NULL, STN_TEXT, NULL, &error), "plan");
    stn_plan_destroy(plan);
    stn_plan_destroy(NULL);
}

Test(plan, refuses_grids_that_overlap_and_pointers_below_the_alignment) {
    stn_problem p = problem_of(stencil, 1);
    stn_plan *plan = NULL;
    _Alignas(16) double room[3 * N], want[N];
    plan = new_plan(host, &p, NULL);
    REFUSED(stn_plan_execute(plan, room, room + 2, NULL, &error), "overlap");
    REFUSED(stn_plan_execute(plan, room + N - 2, room, NULL, &error), "overlap");
    REFUSED(stn_plan_execute(plan, room + 1, room + 2 * N, NULL, &error), "in is not");
    REFUSED(stn_plan_execute(plan, room, room + 2 * N + 1, NULL, &error), "alignment");
    ramp(room);
    expected(&p, want);
    OK(stn_plan_execute(plan, room, room + N, NULL, &error));
    near(room + N, want);
    stn_plan_destroy(plan);

    p.alignment = 8;
    /* Every second number of out's memory, in which in begins too. */
    p.out_stride[0] = 2 * NX, p.out_stride[1] = 2;
    plan = new_plan(host, &p, NULL);
    REFUSED(stn_plan_execute(plan, room, room + 1, NULL, &error), "overlap");
    stn_plan_destroy(plan);
    p.in_stride[0] = 2 * NX, p.in_stride[1] = 2;
    plan = new_plan(host, &p, NULL);
    double in[N];
    ramp(in);
    for (int i = 0; i < N; i++) room[2 * i] = in[i];
    OK(stn_plan_execute(plan, room, room + 1, NULL, &error));
    for (int i = 0; i < N; i++) in[i] = room[2 * i + 1];
    near(in, want);
    REFUSED(stn_plan_execute(plan, room, room + 2, NULL, &error), "overlap");
    stn_plan_destroy(plan);

    p = problem_of(stencil, 2);
    p.has_source = 1, p.every = 1; /* out is a stack of two grids */
    plan = new_plan(host, &p, NULL);
    stn_execution run = STN_EXECUTION_INIT;
    double grid[N] = {0};
    run.in = room + 2 * N - 2, run.out = room, run.source = grid;
    REFUSED(stn_plan_run(plan, &run, &error), "in and out overlap");
    run.in = grid, run.source = room + 2 * N - 2;
    REFUSED(stn_plan_run(plan, &run, &error), "source and out overlap");
    run.source = room + 2 * N + 1;
    REFUSED(stn_plan_run(plan, &run, &error), "source is not");
    run.source = room + 2 * N;
    memset(room, 0, sizeof room);
    OK(stn_plan_run(plan, &run, &error));
    run.source = grid; /* Both are only read. */
    OK(stn_plan_run(plan, &run, &error));
    stn_plan_destroy(plan);
}

/* Large enough for the thread pool to split. */
Test(plan, on_the_host_survives_a_fork, .timeout = 60) {
    const stn_context_options options = {.device = STN_DEVICE_HOST, .threads = 4, .cache_dir = ":memory:"};
    stn_context_destroy(host);
    OK(stn_context_create(&options, &host, &error));
    stn_problem p = problem_of(stencil, 3);
    enum { SIDE = 300 };
    p.extent[0] = p.extent[1] = SIDE;
    double *in = calloc(3 * SIDE * SIDE, sizeof *in), *out = in + SIDE * SIDE, *again = out + SIDE * SIDE;
    for (int i = 0; i < SIDE * SIDE; i++) in[i] = sin(0.37 * i);
    stn_plan *plan = new_plan(host, &p, NULL);
    OK(stn_plan_execute(plan, in, out, NULL, &error));
    pid_t child = fork();
    if (!child) {
        bool same = stn_plan_execute(plan, in, again, NULL, NULL) == STN_OK;
        same = same && !memcmp(out, again, SIDE * SIDE * sizeof *out);
        stn_plan_destroy(plan);
        stn_context_destroy(host);
        _exit(same ? 0 : 1);
    }
    int status = -1;
    for (int i = 0; i < 2000 && waitpid(child, &status, WNOHANG) == 0; i++) usleep(10000);
    cr_assert_eq(status, 0, "the child hung or failed: %x", (unsigned)status);
    OK(stn_plan_execute(plan, in, again, NULL, &error));
    cr_assert_eq(memcmp(out, again, SIDE * SIDE * sizeof *out), 0);
    stn_plan_destroy(plan);
    free(in);
}

Test(plan, of_a_transform_refuses_overlap_too) {
    stn_transform t = STN_TRANSFORM_INIT;
    t.rank = 1;
    t.extent[0] = 16;
    t.kind = STN_R2C;
    stn_plan *plan = NULL;
    _Alignas(16) double room[64] = {0}; /* in: 16 numbers, out: 9 complex ones */
    OK(stn_plan_create_fft(host, &t, NULL, &plan, &error));
    REFUSED(stn_plan_execute(plan, room, room + 14, NULL, &error), "overlap");
    REFUSED(stn_plan_execute(plan, room + 16, room, NULL, &error), "overlap");
    REFUSED(stn_plan_execute(plan, room + 1, room + 20, NULL, &error), "in is not");
    OK(stn_plan_execute(plan, room, room + 16, NULL, &error));
    OK(stn_plan_execute(plan, room + 18, room, NULL, &error));
    stn_plan_destroy(plan);
}

Test(plan, without_a_gpu_is_only_estimated) {
    stn_context *context = context_of_h200();
    stn_problem p = problem_of(stencil, 1);
    stn_plan_options estimate = STN_PLAN_OPTIONS_INIT;
    estimate.estimate_only = 1;
    _Alignas(16) double in[N], out[N];
    stn_plan *plan = new_plan(context, &p, &estimate);
    cr_assert_str_eq(stn_plan_strategy(plan), "direct");
    cr_assert_neq(stn_plan_execute(plan, in, out, NULL, &error), STN_OK);
    stn_plan_destroy(plan);
    stn_context_destroy(context);
}

Test(plan, of_the_most_steps_is_estimated, .timeout = 60) {
    static const uint64_t steps[] = {UINT64_C(1) << 40, UINT64_MAX / 4 + 1, UINT64_MAX / 2, UINT64_MAX / 2 + 1,
                                     UINT64_MAX};
    stn_context *context = context_of_h200();
    stn_plan_options estimate = STN_PLAN_OPTIONS_INIT;
    estimate.estimate_only = 1;
    for (int i = 0; i < 15; i++) {
        stn_problem p = problem_of(stencil, steps[i / 3]);
        p.in_place = i % 3 == 1, p.has_source = i % 3 == 2;
        p.extent[0] = p.extent[1] = p.has_source ? 64 : 33; /* chunks pad rows of 33 points */
        stn_plan *plan = new_plan(context, &p, &estimate);
        stn_plan_destroy(plan);
    }
    stn_context_destroy(context);
}

/* A device plan with its grids. */
static struct {
    stn_context *context;
    stn_problem problem;
    stn_plan *plan;
    void *in, *out;
} b;

static void open_bench(void) {
    double in[N];
    start();
    b.context = context_on(STN_DEVICE_CUDA(0));
    ramp(in);
    b.in = uploaded(b.context, in, sizeof in);
    OK(stn_memory_alloc(b.context, sizeof in, &b.out, &error));
}

static void close_bench(void) {
    stn_memory_free(b.context, b.in);
    stn_memory_free(b.context, b.out);
    stn_plan_destroy(b.plan);
    stn_context_destroy(b.context);
    end();
}
TestSuite(plan_on_device, .init = open_bench, .fini = close_bench);

static void bench_plan(uint64_t steps, const stn_plan_options *options) {
    b.problem = problem_of(stencil, steps);
    stn_plan_destroy(b.plan);
    b.plan = new_plan(b.context, &b.problem, options);
}

static void bench_check(const stn_problem *p) {
    double got[N], want[N];
    expected(p, want);
    OK(stn_memory_download(b.context, got, b.out, sizeof got, &error));
    near(got, want);
}

Test(plan_on_device, checks_alignment_and_overlap) {
    bench_plan(1, NULL);
    REFUSED(stn_plan_execute(b.plan, (char *)b.in + 8, b.out, NULL, &error), "alignment");
    REFUSED(stn_plan_execute(b.plan, b.in, (char *)b.out + 8, NULL, &error), "out is not");
    REFUSED(stn_plan_execute(b.plan, b.in, (char *)b.in + 64, NULL, &error), "overlap");
}

Test(plan_on_device, takes_new_weights) {
    bench_plan(3, NULL);
    double weights[5] = {0.1, 0.15, 0.4, 0.2, 0.05};
    OK(stn_plan_execute(b.plan, b.in, b.out, NULL, &error));
    OK(stn_plan_set_weights(b.plan, 5, weights, &error));
    OK(stn_plan_execute(b.plan, b.in, b.out, NULL, &error));
    stn_tap taps[5];
    memcpy(taps, stn_stencil_taps(stencil), sizeof taps);
    for (int k = 0; k < 5; k++) taps[k].weight = weights[k];
    stn_stencil *other;
    OK(stn_stencil_create(2, 5, taps, &other, &error));
    stn_problem p = b.problem;
    p.stencil = other;
    bench_check(&p);
    stn_stencil_destroy(other);
}

Test(plan_on_device, takes_the_callers_workspace) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.no_auto_workspace = 1, options.strategy = "direct";
    bench_plan(41, &options); /* too many steps for one launch */
    size_t size = stn_plan_workspace_size(b.plan);
    cr_assert(size > 0);
    REFUSED(stn_plan_execute(b.plan, b.in, b.out, NULL, &error), "stn_plan_execute_with");
    REFUSED(stn_plan_execute_with(b.plan, b.in, b.out, NULL, NULL, &error), "workspace");
    void *workspace;
    OK(stn_memory_alloc(b.context, size, &workspace, &error));
    OK(stn_plan_execute_with(b.plan, b.in, b.out, workspace, NULL, &error));
    bench_check(&b.problem);
    REFUSED(stn_plan_execute_with(b.plan, b.in, b.out, (char *)workspace + 16, NULL, &error), "256");
    stn_memory_free(b.context, workspace);
}

/* A warm execution is captured, and the graph replays it: any allocation, copy or wait inside would
 * invalidate the capture. */
Test(plan_on_device, is_captured_in_a_graph) {
    bench_plan(5, NULL);
    const stn_driver_functions *cu = stn_driver_table(b.context->driver);
    OK(stn_plan_execute(b.plan, b.in, b.out, NULL, &error));
    stn_cu_stream stream;
    stn_cu_graph graph;
    stn_cu_graph_exec exec;
    OK(stn_device_enter(b.context->device, &error));
    cr_assert_eq(cu->cuStreamCreate(&stream, 1), 0);
    cr_assert_eq(cu->cuStreamBeginCapture(stream, 0), 0);
    OK(stn_plan_execute(b.plan, b.in, b.out, stream, &error));
    cr_assert_eq(cu->cuStreamEndCapture(stream, &graph), 0);
    cr_assert_eq(cu->cuGraphInstantiateWithFlags(&exec, graph, 0), 0);
    cr_assert_eq(cu->cuMemsetD8Async((uintptr_t)b.out, 255, N * sizeof(double), stream), 0);
    cr_assert_eq(cu->cuGraphLaunch(exec, stream), 0);
    cr_assert_eq(cu->cuStreamSynchronize(stream), 0);
    bench_check(&b.problem);
    cu->cuGraphExecDestroy(exec);
    cu->cuGraphDestroy(graph);
    cu->cuStreamDestroy(stream);
    stn_device_leave(b.context->device);
}

/* On the emulator kernels are compiled when they are launched, so that thousands of plans are made.
 * The old plan's kernels were released once, and are held again. */
Test(plan_on_device, keeps_its_kernels_while_others_are_unloaded, .timeout = 60) {
    setenv("STENTOR_EMULATOR_LATE", "1", 1);
    const stn_plan_options options = {.strategy = "spectral", .deterministic = 1};
    for (int i = 0; i < 2; i++) bench_plan(100, &options);
    for (size_t n = 8; n < 3000 && clock() < CLOCKS_PER_SEC * 3 / 2; n++) {
        stn_problem p = b.problem;
        stn_plan *plan;
        p.extent[0] = 8 + n % 97, p.extent[1] = n;
        if (stn_plan_create(b.context, &p, &options, &plan, NULL) == STN_OK) stn_plan_destroy(plan);
    }
    OK(stn_plan_execute(b.plan, b.in, b.out, NULL, &error));
    bench_check(&b.problem);
}

Test(plan_on_device, two_plans_share_one_kernel) {
    stn_cache_stats before, stats;
    const stn_plan_options options = {.deterministic = 1}; /* nothing compiles in the background */
    bench_plan(2, NULL);
    bench_plan(2, &options);
    stn_context_cache_stats(b.context, &before);
    stn_plan *second = new_plan(b.context, &b.problem, &options);
    stn_context_cache_stats(b.context, &stats);
    cr_assert_geq(before.misses, 1u);
    cr_assert_eq(stats.misses, before.misses);
    cr_assert_eq(stats.memory_hits - before.memory_hits,
                 /* The second plan takes all kernels from memory. */
                 stn_plan_kernel_count(b.plan));
    OK(stn_plan_execute(second, b.in, b.out, NULL, &error));
    bench_check(&b.problem);
    stn_plan_destroy(second);
}
