/* Concurrent executions of a plan; see streams.h. */
#include "streams.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context/context.h"
#include "launch/driver_functions.h"

enum { NY = 150, NX = 131, POINTS = NY * NX, RUNS = 4 };

typedef struct runs {
    suite *s;
    stn_plan *plan;
    const stn_driver_functions *call;
    stn_cu_stream stream[2];
    void *in, *out[RUNS], *workspace[2];
    stn_error error;
} runs;

static bool cu(runs *r, stn_cu_result result) {
    return stn_driver_check(r->s->context->driver, "a call around runs", result, &r->error) == STN_OK;
}

static bool launch(runs *r, int run, int stream) {
    stn_execution e = STN_EXECUTION_INIT;
    e.in = r->in, e.out = r->out[run], e.workspace = r->workspace[stream], e.stream = r->stream[stream];
    return stn_plan_run(r->plan, &e, &r->error) == STN_OK;
}

static bool make(runs *r, const stn_problem *p) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.strategy = "aperiodic";
    double *grid = malloc(POINTS * sizeof *grid);
    dice d = {11};
    for (int i = 0; i < POINTS && grid; i++) grid[i] = dice_real(&d);
    bool good = grid && stn_plan_create(r->s->context, p, &options, &r->plan, &r->error) == STN_OK;
    good = good && stn_memory_alloc(r->s->context, POINTS * sizeof *grid, &r->in, &r->error) == STN_OK &&
           stn_memory_upload(r->s->context, r->in, grid, POINTS * sizeof *grid, &r->error) == STN_OK;
    for (int i = 0; i < RUNS && good; i++)
        good = stn_memory_alloc(r->s->context, POINTS * sizeof *grid, &r->out[i], &r->error) == STN_OK;
    for (int i = 0; i < 2 && good; i++)
        good = stn_memory_alloc(r->s->context, stn_plan_workspace_size(r->plan), &r->workspace[i], &r->error) == STN_OK;
    free(grid);
    return good;
}

/* Runs on two streams at the same time; then captures one stream while the plan runs on the other,
 * and launches the graph. */
static bool run(runs *r) {
    const stn_driver_functions *call = r->call;
    stn_cu_graph graph = NULL;
    stn_cu_graph_exec exec = NULL;
    bool good =
        cu(r, call->cuStreamCreate(&r->stream[0], STN_CU_STREAM_NON_BLOCKING)) &&
        cu(r, call->cuStreamCreate(&r->stream[1], STN_CU_STREAM_NON_BLOCKING)) && launch(r, 0, 0) && launch(r, 1, 1) &&
        cu(r, call->cuStreamSynchronize(r->stream[0])) && cu(r, call->cuStreamSynchronize(r->stream[1])) &&
        cu(r, call->cuStreamBeginCapture(r->stream[0], STN_CU_STREAM_CAPTURE_MODE_RELAXED)) && launch(r, 2, 0) &&
        launch(r, 3, 1) && cu(r, call->cuStreamEndCapture(r->stream[0], &graph)) &&
        cu(r, call->cuStreamSynchronize(r->stream[1])) && cu(r, call->cuGraphInstantiateWithFlags(&exec, graph, 0)) &&
        cu(r, call->cuGraphLaunch(exec, r->stream[0])) && cu(r, call->cuStreamSynchronize(r->stream[0]));
    if (exec) call->cuGraphExecDestroy(exec);
    if (graph) call->cuGraphDestroy(graph);
    return good;
}

static void clear(runs *r) {
    for (int i = 0; i < 2; i++) {
        if (r->stream[i]) r->call->cuStreamDestroy(r->stream[i]);
        stn_memory_free(r->s->context, r->workspace[i]);
    }
    for (int i = 0; i < RUNS; i++) stn_memory_free(r->s->context, r->out[i]);
    stn_memory_free(r->s->context, r->in);
    stn_plan_destroy(r->plan);
}

/* The host's result is the last of these. */
static void compare(runs *r, const stn_problem *p) {
    static const char *const names[] = {"beside another stream's", "the other's", "in a graph", "beside a capture"};
    static double got[POINTS], in[POINTS], first[POINTS];
    suite *s = r->s;
    for (int i = 0; i < RUNS; i++) {
        const bool read = stn_memory_download(s->context, i ? got : first, r->out[i], sizeof got, &r->error) == STN_OK;
        char what[100];
        snprintf(what, sizeof what, "streams: %s", names[i]);
        suite_report(s, read && (!i || !memcmp(first, got, sizeof got)), what, r->error.message);
    }
    dice d = {11};
    for (int i = 0; i < POINTS; i++) in[i] = dice_real(&d);
    suite_report(s, compare_plan_with_host(s->context, r->plan, p, in, POINTS) < 1e-12, "streams: as the host does",
                 "");
}

void streams(suite *s) {
    runs r = {.s = s, .error = {.status = STN_OK}};
    stn_stencil *stencil = NULL;
    stn_stencil_parse("star-2d13p", &stencil, NULL);
    stn_problem p = STN_PROBLEM_INIT;
    p.stencil = stencil, p.dtype = STN_F64, p.steps = 24, p.extent[0] = NY, p.extent[1] = NX;
    for (int side = 0; side < 4; side++) p.boundary[side / 2][side % 2].kind = STN_FIXED;
    r.call = stn_driver_table(s->context->driver);
    bool good = make(&r, &p) && stn_device_enter(s->context->device, &r.error) == STN_OK;
    if (good) {
        good = run(&r);
        if (good) stn_device_leave(s->context->device);
    }
    if (good)
        compare(&r, &p);
    else
        suite_report(s, false, "streams", r.error.message);
    clear(&r);
    stn_stencil_destroy(stencil);
}
