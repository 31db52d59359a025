/* Test fixture for margins; see margin_fixture.h. */
#include "margin_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "host/stencil_run.h"

/* `got` was filled with NaN before. */
static tally count_wrong(const stn_task *task, int fused, const void *got, const void *want) {
    int64_t low[3], high[3];
    tally t = {0};
    stn_faces_interior(task, fused, low, high);
    const double bar = task->dtype == STN_F64 ? 1e-12 : task->dtype == STN_F32 ? 1e-5 : 1e-3;
    for (int64_t b = 0; b < task->batch; b++)
        for (int64_t z = 0; z < task->n[0]; z++)
            for (int64_t y = 0; y < task->n[1]; y++)
                for (int64_t x = 0; x < task->n[2]; x++) {
                    int64_t i = b * task->out_batch_stride + z * task->out_stride[0] + y * task->out_stride[1] + x;
                    bool inner = z >= low[0] && z < high[0] && y >= low[1] && y < high[1] && x >= low[2] && x < high[2];
                    double value = element(task->dtype, got, i),
                           difference = fabs(value - element(task->dtype, want, i));
                    if (inner)
                        t.touched += !isnan(value) && !(difference < bar);
                    else if (!(difference < bar))
                        t.wrong++;
                    else if (difference > t.worst)
                        t.worst = difference;
                }
    return t;
}

static void rig_expect(fixture *r) {
    void *workspace = malloc(stn_host_workspace(&r->plan->task) + 1);
    stn_host_run(&r->plan->task, r->pool, r->in, r->want, workspace);
    free(workspace);
}

stn_status fixture_make(fixture *r, const stn_problem *problem, uint64_t seed, stn_error *error) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.strategy = "direct";
    options.estimate_only = 1;
    STN_TRY(stn_plan_create(r->context, problem, &options, &r->plan, error));
    const stn_task *task = &r->plan->task;
    STN_TRY(stn_faces_create(r->plan, 1, &r->faces, error));
    r->from = (stn_grid_layout){{task->in_stride[0], task->in_stride[1], task->in_stride[2]}, task->in_batch_stride};
    r->to = (stn_grid_layout){{task->out_stride[0], task->out_stride[1], task->out_stride[2]}, task->out_batch_stride};
    size_t count = (size_t)stn_task_span(task, false), size = stn_dtype_size(task->dtype);
    r->bytes = count * size;
    r->in = malloc(r->bytes), r->want = malloc(r->bytes), r->poison = malloc(r->bytes);
    memset(r->poison, 0xff, r->bytes); /* NaN in all types */
    dice d = {seed};
    for (int64_t i = 0; i < (int64_t)count; i++) set_element(task->dtype, r->in, i, dice_real(&d));
    rig_expect(r);
    return STN_OK;
}

void fixture_clear(fixture *r) {
    stn_faces_destroy(r->faces);
    stn_plan_destroy(r->plan);
    free(r->in), free(r->want), free(r->poison);
    *r = (fixture){.context = r->context, .pool = r->pool};
}

stn_status grids_make(const fixture *r, grids *g, stn_error *error) {
    STN_TRY(stn_memory_alloc(r->context, r->bytes, &g->in, error));
    STN_TRY(stn_memory_alloc(r->context, r->bytes, &g->out, error));
    STN_TRY(stn_memory_alloc(r->context, stn_faces_workspace(r->faces), &g->workspace, error));
    STN_TRY(stn_memory_upload(r->context, g->in, r->in, r->bytes, error));
    return stn_memory_upload(r->context, g->out, r->poison, r->bytes, error);
}

void grids_clear(const fixture *r, grids *g) {
    stn_memory_free(r->context, g->in);
    stn_memory_free(r->context, g->out);
    stn_memory_free(r->context, g->workspace);
    *g = (grids){0};
}

stn_status fixture_launch(const fixture *r, const grids *g, void *stream, stn_error *error) {
    /* Nothing writes the interior, so any interior point that the margins write is detected. */
    const stn_fused_launch l = {&r->from, &r->to, g->in, g->out, g->workspace, stream, false};
    return stn_faces_run(r->plan, r->faces, 0, &l, error);
}

stn_status fixture_check_output(const fixture *r, const grids *g, tally *t, stn_error *error) {
    void *got = malloc(r->bytes);
    stn_status status = stn_memory_download(r->context, got, g->out, r->bytes, error);
    if (status == STN_OK) *t = count_wrong(&r->plan->task, (int)r->plan->task.steps, got, r->want);
    free(got);
    return status == STN_OK ? stn_memory_upload(r->context, g->out, r->poison, r->bytes, error) : status;
}

stn_status fixture_run_twice(fixture *r, grids *g, uint64_t seed, const stn_stencil *other, tally t[2],
                             stn_error *error) {
    STN_TRY(grids_make(r, g, error));
    STN_TRY(fixture_launch(r, g, NULL, error));
    STN_TRY(stn_synchronize(r->context, NULL, error));
    STN_TRY(fixture_check_output(r, g, &t[0], error));
    dice d = {seed};
    double weights[400];
    size_t count = r->plan->task.ntaps;
    for (size_t i = 0; i < count; i++)
        weights[i] = other ? stn_stencil_taps(other)[i].weight : dice_real(&d) / (double)count;
    STN_TRY(stn_task_set_weights(&r->plan->task, count, weights, error));
    STN_TRY(stn_faces_set_weights(r->plan, r->faces, error));
    rig_expect(r);
    STN_TRY(fixture_launch(r, g, NULL, error));
    STN_TRY(stn_synchronize(r->context, NULL, error));
    return fixture_check_output(r, g, &t[1], error);
}

int fixture_tests, fixture_failed;

void fixture_report(bool good, const tally *t, const stn_error *error, const char *what) {
    fixture_tests++, fixture_failed += !good;
    printf("%s %d - %s\n", good ? "ok" : "not ok", fixture_tests, what);
    if (!good)
        printf("# %d wrong, %d of the interior made wrong, worst of the others %.3g; %s\n", t->wrong, t->touched,
               t->worst, error->status ? error->message : "no error");
    fflush(stdout);
}

bool right(const tally *t) { return !t->wrong && !t->touched; }

void fixture_check(fixture *r, const stn_problem *p, uint64_t seed, const stn_stencil *other, const char *name) {
    grids g = {0};
    tally t[2] = {{.wrong = -1}, {.wrong = -1}};
    stn_error error = {0};
    stn_status status = fixture_make(r, p, seed, &error);
    if (status == STN_OK) status = fixture_run_twice(r, &g, seed, other, t, &error);
    bool first = right(&t[0]);
    fixture_report(status == STN_OK && first && right(&t[1]), first ? &t[1] : &t[0], &error, name);
    grids_clear(r, &g);
    fixture_clear(r);
}

bool fixture_open(fixture *r) {
    stn_error error = {0};
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    options.device = STN_DEVICE_CUDA(0);
    options.cache_dir = ":memory:";
    if (stn_context_create(&options, &r->context, &error) != STN_OK) {
        if (getenv("STENTOR_TESTS_MUST_RUN"))
            fixture_report(false, &(tally){0}, &error, "a device, which this test must have");
        else
            printf("1..0 # SKIP %s\n", error.message);
        return false;
    }
    return stn_pool_create(2, &r->pool, &error) == STN_OK;
}

int fixture_close(fixture *r) {
    printf("1..%d\n", fixture_tests);
    stn_pool_destroy(r->pool);
    stn_context_destroy(r->context);
    return fixture_failed != 0;
}
