/* Margins at faces alone against the host: after a launch of f steps without the interior, every
 * margin point is right and no interior point is changed. Also with new weights, captured in a
 * graph, and from two threads at once. Prints TAP. Usage: test_faces [--full]. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "margin_fixture.h"
#include "strategies/faces/tile/faces_tile.h"

static const char *const side_names[] = {"wrap", "constant", "nearest", "reflect", "mirror", "fixed"};

/* A random problem, determined by its number. The caller destroys the stencil. */
static stn_stencil *random_case(int c, stn_problem *p, uint64_t *seed, char *name, size_t size) {
    dice d = {(uint64_t)(4000 + c)};
    int rank = 1 + c % 3, radius = dice_int(&d, 1, rank == 3 ? 2 : 3), fused = dice_int(&d, 1, 5);
    if (c % 12 == 1) radius = 6, fused = 2; /* in 2D: too many taps for faces_tile.cu */
    if (c % 12 == 6) radius = dice_int(&d, 33, STN_MAX_RADIUS), fused = dice_int(&d, 1, 3); /* 1D */
    *p = (stn_problem)STN_PROBLEM_INIT;
    stn_stencil *stencil = c % 4 == 3 ? product_stencil(&d, rank, radius)
                                      : random_stencil(&d, rank, (taps_kind)dice_int(&d, 0, 2), radius);
    p->stencil = stencil;
    p->steps = (uint64_t)fused;
    p->batch = c % 4 == 1 ? 2 : 1;
    p->dtype = c % 5 == 3 ? STN_F32 : c % 7 == 5 ? STN_F16 : STN_F64;
    for (int axis = 0; axis < rank; axis++) {
        int low = dice_int(&d, radius > 32, 5), high = low ? dice_int(&d, 1, 5) : 0;
        /* Long enough to be shortened, or short enough to be taken whole. */
        int longest = rank == 3 ? 24 : c % 2 ? 60 : radius > 32 ? 900 : 140;
        p->extent[axis] = (size_t)dice_int(&d, low || high ? 2 * radius + 2 : 1, longest);
        p->boundary[axis][0] = (stn_boundary){(stn_boundary_kind)low, low == STN_CONSTANT ? 0.7 : 0};
        /* Corners of equal constants, and of different ones. */
        double value = c % 7 == 0 ? 0.7 : -1.3;
        p->boundary[axis][1] = (stn_boundary){(stn_boundary_kind)high, high == STN_CONSTANT ? value : 0};
    }
    *seed = d.state;
    snprintf(name, size, "%dD radius %d, %d steps, %s, axis 0 %s:%s", rank, radius, fused, stn_dtype_name(p->dtype),
             side_names[p->boundary[0][0].kind], side_names[p->boundary[0][1].kind]);
    return stencil;
}

static void check_case(fixture *r, int c) {
    stn_problem p;
    uint64_t seed;
    char name[128];
    stn_stencil *stencil = random_case(c, &p, &seed, name, sizeof name);
    fixture_check(r, &p, seed, NULL, name);
    stn_stencil_destroy(stencil);
}

/* So many steps that patches are large, with inner points that no other patch reads. */
static void check_large_patches(fixture *r) {
    static const char *const stencils[] = {"gaussian-2d:sigma=1,truncate=1", "box-2d9p"};
    const char *driver = getenv("STENTOR_CUDA_PATH");
    for (int i = 0; i < 2; i++) {
        stn_problem p = STN_PROBLEM_INIT;
        stn_stencil *stencil = NULL;
        stn_task task;
        faces_tile tile = {0};
        stn_error error = {0};
        stn_stencil_parse(stencils[i], &stencil, &error);
        p.stencil = stencil;
        p.steps = 45;
        p.extent[0] = 141, p.extent[1] = 139;
        for (int side = 0; side < 4; side++) p.boundary[side / 2][side % 2].kind = side == 1 ? STN_CONSTANT : STN_FIXED;
        if (driver && strstr(driver, "emulated") &&
            stn_task_make(&p, &task, &error) == STN_OK) { /* the emulated GPU has a known shape */
            faces_tile_choose(&task, &r->context->machine, 45, &tile);
            stn_task_clear(&task);
            fixture_report(tile.rows > 2 && tile.points > 2, &(tally){0}, &error, "45 steps take large patches");
        }
        fixture_check(r, &p, 9, NULL, stencils[i]);
        stn_stencil_destroy(stencil);
    }
}

/* A grid with strips along every axis. */
static stn_stencil *plain_case(stn_problem *p) {
    dice d = {77};
    *p = (stn_problem)STN_PROBLEM_INIT;
    stn_stencil *stencil = random_stencil(&d, 2, TAPS_BOX, 1);
    p->stencil = stencil;
    p->steps = 4;
    p->extent[0] = 61, p->extent[1] = 47;
    for (int i = 0; i < 4; i++) p->boundary[i / 2][i % 2].kind = i < 2 ? STN_FIXED : STN_REFLECT;
    return stencil;
}

/* ---- in a graph */

#define CU(call) (device_call = (call), device_call == 0)

/* Captured once, launched twice; meanwhile the same margins run in a stream that is not captured.
 */
static stn_status run_captured(const fixture *r, grids g[2], tally t[3], stn_error *error) {
    const stn_driver_functions *call = stn_driver_table(r->context->driver);
    stn_cu_stream stream = NULL;
    stn_cu_stream other = NULL;
    stn_cu_graph graph = NULL;
    stn_cu_graph_exec exec = NULL;
    stn_cu_result device_call = 0;
    stn_status status = grids_make(r, &g[0], error);
    if (status == STN_OK) status = grids_make(r, &g[1], error);
    bool good = CU(call->cuStreamCreate(&stream, STN_CU_STREAM_NON_BLOCKING)) &&
                CU(call->cuStreamCreate(&other, STN_CU_STREAM_NON_BLOCKING)) &&
                CU(call->cuStreamBeginCapture(stream, STN_CU_STREAM_CAPTURE_MODE_RELAXED));
    if (good && status == STN_OK) status = fixture_launch(r, &g[0], stream, error);
    if (good && status == STN_OK) status = fixture_launch(r, &g[0], stream, error);
    if (good && status == STN_OK) status = fixture_launch(r, &g[1], other, error);
    good = good && CU(call->cuStreamEndCapture(stream, &graph)) && CU(call->cuStreamSynchronize(other));
    if (good && status == STN_OK) status = fixture_check_output(r, &g[1], &t[2], error);
    good = good && CU(call->cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 2 && good && status == STN_OK; i++) {
        good = CU(call->cuGraphLaunch(exec, stream)) && CU(call->cuStreamSynchronize(stream));
        if (good) status = fixture_check_output(r, &g[0], &t[i], error);
    }
    if (status == STN_OK) status = stn_driver_check(r->context->driver, "a call around a graph", device_call, error);
    if (exec) call->cuGraphExecDestroy(exec);
    if (graph) call->cuGraphDestroy(graph);
    if (stream) call->cuStreamDestroy(stream);
    if (other) call->cuStreamDestroy(other);
    return status;
}

static void check_graph(fixture *r) {
    stn_problem p;
    stn_stencil *stencil = plain_case(&p);
    grids g[2] = {{0}};
    tally t[3] = {{.wrong = -1}, {.wrong = -1}, {.wrong = -1}};
    stn_error error = {0};
    stn_status status = fixture_make(r, &p, 5, &error);
    if (status == STN_OK) status = stn_device_enter(r->context->device, &error);
    if (status == STN_OK) {
        status = run_captured(r, g, t, &error);
        stn_device_leave(r->context->device);
    }
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = {"a graph's first launch", "its second", "beside its capture"};
        fixture_report(status == STN_OK && right(&t[i]), &t[i], &error, names[i]);
    }
    grids_clear(r, &g[0]);
    grids_clear(r, &g[1]);
    fixture_clear(r);
    stn_stencil_destroy(stencil);
}

/* ---- from two threads */

typedef struct caller {
    const fixture *fixture;
    grids grids;
    void *source; /* contents of `in`, device memory */
    tally worst;
    stn_status status;
    stn_error error;
} caller;

/* The input of each run arrives just before it, in its stream. */
static stn_status call_often(caller *c, stn_cu_stream stream) {
    const fixture *r = c->fixture;
    stn_device *device = r->context->device;
    for (int i = 0; i < 20; i++) {
        tally t;
        /* NaN */
        STN_TRY(stn_device_copy(device, c->grids.in, c->grids.out, r->bytes, stream, &c->error));
        STN_TRY(stn_synchronize(r->context, stream, &c->error));
        STN_TRY(stn_device_copy(device, c->grids.in, c->source, r->bytes, stream, &c->error));
        STN_TRY(fixture_launch(r, &c->grids, stream, &c->error));
        STN_TRY(stn_synchronize(r->context, stream, &c->error));
        STN_TRY(fixture_check_output(r, &c->grids, &t, &c->error));
        if (i == 0 || !right(&t)) c->worst = t;
    }
    return STN_OK;
}

static void *call_from_thread(void *argument) {
    caller *c = argument;
    stn_device *device = c->fixture->context->device;
    const stn_driver_functions *call = stn_driver_table(c->fixture->context->driver);
    stn_cu_stream stream = NULL;
    c->status = stn_device_enter(device, &c->error);
    if (c->status != STN_OK) return NULL;
    if (call->cuStreamCreate(&stream, STN_CU_STREAM_NON_BLOCKING) == 0) {
        c->status = call_often(c, stream);
        call->cuStreamDestroy(stream);
    }
    stn_device_leave(device);
    return NULL;
}

static void check_threads(fixture *r) {
    stn_problem p;
    stn_stencil *stencil = plain_case(&p);
    caller callers[2] = {{.fixture = r, .worst = {.wrong = -1}}, {.fixture = r, .worst = {.wrong = -1}}};
    pthread_t threads[2];
    stn_error error = {0};
    stn_status status = fixture_make(r, &p, 6, &error);
    for (int i = 0; i < 2 && status == STN_OK; i++) {
        status = grids_make(r, &callers[i].grids, &error);
        if (status == STN_OK) status = stn_memory_alloc(r->context, r->bytes, &callers[i].source, &error);
        if (status == STN_OK) status = stn_memory_upload(r->context, callers[i].source, r->in, r->bytes, &error);
    }
    for (int i = 0; i < 2 && status == STN_OK; i++) pthread_create(&threads[i], NULL, call_from_thread, &callers[i]);
    for (int i = 0; i < 2; i++) {
        if (status == STN_OK) pthread_join(threads[i], NULL);
        bool good = status == STN_OK && callers[i].status == STN_OK && right(&callers[i].worst);
        fixture_report(good, &callers[i].worst, status == STN_OK ? &callers[i].error : &error, "one of two threads");
        grids_clear(r, &callers[i].grids);
        stn_memory_free(r->context, callers[i].source);
    }
    fixture_clear(r);
    stn_stencil_destroy(stencil);
}

int main(int argc, char **argv) {
    bool full = argc > 1 && !strcmp(argv[1], "--full");
    fixture r = {0};
    if (!fixture_open(&r)) return fixture_failed;
    check_graph(&r);
    check_threads(&r);
    check_large_patches(&r);
    for (int c = 0; c < (full ? 90 : 24); c++) check_case(&r, c);
    return fixture_close(&r);
}
