/* Slabs alone against host: after a launch of f steps that leaves the interior out, every point of the margins is right and
 * none of the interior is touched. Prints TAP. Usage: test_slabs [--full]. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "host/host.h"
#include "strategies/slabs.h"

static const char *const side_names[] = {"wrap", "constant", "nearest", "reflect", "mirror", "fixed"};

typedef struct tally {
    double worst;
    int wrong, touched; /* points */
} tally;

/* `got` was all NaN before. */
static tally count_wrong(const stn_task *task, int fused, const double *got, const double *want) {
    int64_t low[3], high[3];
    tally t = {0};
    stn_slabs_interior(task, fused, low, high);
    for (int64_t b = 0; b < task->batch; b++)
        for (int64_t z = 0; z < task->n[0]; z++)
            for (int64_t y = 0; y < task->n[1]; y++)
                for (int64_t x = 0; x < task->n[2]; x++) {
                    int64_t i = b * task->out_batch_stride + z * task->out_stride[0] + y * task->out_stride[1] + x;
                    bool inner = z >= low[0] && z < high[0] && y >= low[1] && y < high[1] && x >= low[2] && x < high[2];
                    double difference = fabs(got[i] - want[i]);
                    if (inner)
                        t.touched += !isnan(got[i]);
                    else if (!(difference < 1e-12))
                        t.wrong++;
                    else if (difference > t.worst)
                        t.worst = difference;
                }
    return t;
}

/* An interior that is left out, so that a point of it that slabs touch shows. */
static stn_status nothing(const stn_plan *plan, const void *user, const stn_fused_launch *launch, stn_error *error) {
    (void)plan, (void)user, (void)launch, (void)error;
    return STN_OK;
}

static stn_status run_slabs(stn_plan *plan, const double *in, double *out, size_t bytes, stn_error *error) {
    stn_context *context = plan->context;
    int fused = (int)plan->task.steps;
    const stn_task *task = &plan->task;
    void *device_in = NULL, *device_out = NULL, *workspace = NULL;
    stn_slabs *slabs = NULL;
    stn_grid_layout from = {{task->in_stride[0], task->in_stride[1], task->in_stride[2]}, task->in_batch_stride};
    stn_grid_layout to = {{task->out_stride[0], task->out_stride[1], task->out_stride[2]}, task->out_batch_stride};
    stn_status status = stn_slabs_create(plan, fused, &slabs, error);
    if (status == STN_OK) status = stn_memory_alloc(context, bytes, &device_in, error);
    if (status == STN_OK) status = stn_memory_alloc(context, bytes, &device_out, error);
    if (status == STN_OK) status = stn_memory_alloc(context, stn_slabs_workspace(slabs), &workspace, error);
    if (status == STN_OK) status = stn_memory_upload(context, device_in, in, bytes, error);
    if (status == STN_OK) status = stn_memory_upload(context, device_out, out, bytes, error);
    if (status == STN_OK)
        status = stn_slabs_run(plan, slabs, nothing, NULL, &(stn_fused_launch){&from, &to, device_in, device_out, NULL},
                               workspace, error);
    if (status == STN_OK) status = stn_synchronize(context, NULL, error);
    if (status == STN_OK) status = stn_memory_download(context, out, device_out, bytes, error);
    stn_slabs_destroy(plan, slabs);
    stn_memory_free(context, device_in);
    stn_memory_free(context, device_out);
    stn_memory_free(context, workspace);
    return status;
}

static bool check(stn_context *context, stn_pool *pool, const stn_problem *problem, uint64_t seed, tally *t,
                  stn_error *error) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_plan *plan = NULL;
    options.strategy = "direct";
    options.estimate_only = 1; /* for its task and context */
    if (stn_plan_create(context, problem, &options, &plan, error) != STN_OK) return false;
    dice d = {seed};
    size_t count = (size_t)stn_task_span(&plan->task, false), bytes = count * sizeof(double);
    double *in = malloc(bytes), *got = malloc(bytes), *want = malloc(bytes);
    void *workspace = malloc(stn_host_workspace(&plan->task) + 1);
    for (size_t i = 0; i < count; i++) in[i] = dice_real(&d), got[i] = NAN;
    stn_host_run(&plan->task, pool, in, want, workspace);
    stn_status status = run_slabs(plan, in, got, bytes, error);
    *t = count_wrong(&plan->task, (int)plan->task.steps, got, want);
    free(in), free(got), free(want), free(workspace);
    stn_plan_destroy(plan);
    return status == STN_OK && !t->wrong && !t->touched;
}

int main(int argc, char **argv) {
    bool full = argc > 1 && !strcmp(argv[1], "--full");
    stn_context *context;
    stn_pool *pool;
    stn_error error = {0};
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    options.device = STN_DEVICE_CUDA(0);
    options.cache_dir = ":memory:";
    if (stn_context_create(&options, &context, &error) != STN_OK) {
        printf("1..0 # SKIP %s\n", error.message);
        return 0;
    }
    if (stn_pool_create(2, &pool, &error) != STN_OK) return 1;
    int run = 0, failed = 0;
    for (int c = 0; c < (full ? 120 : 18); c++) {
        dice d = {(uint64_t)(4000 + c)};
        int rank = 1 + c % 3, radius = dice_int(&d, 1, rank == 3 ? 2 : 3), fused = dice_int(&d, 1, 5);
        stn_stencil *stencil = random_stencil(&d, rank, (taps_kind)dice_int(&d, 0, 2), radius);
        stn_problem p = STN_PROBLEM_INIT;
        p.stencil = stencil;
        p.steps = (uint64_t)fused;
        p.batch = c % 4 == 1 ? 2 : 1;
        for (int axis = 0; axis < rank; axis++) {
            int low = dice_int(&d, 0, 5), high = low ? dice_int(&d, 1, 5) : 0;
            p.extent[axis] = (size_t)dice_int(&d, 2 * radius + 2, rank == 3 ? 24 : 60);
            p.boundary[axis][0] = (stn_boundary){(stn_boundary_kind)low, low == STN_CONSTANT ? 0.7 : 0};
            p.boundary[axis][1] = (stn_boundary){(stn_boundary_kind)high, high == STN_CONSTANT ? -1.3 : 0};
        }
        tally t = {0};
        bool good = check(context, pool, &p, d.state, &t, &error);
        run++, failed += !good;
        printf("%s %d - %dD radius %d, %d steps, axis 0 %s:%s\n", good ? "ok" : "not ok", run, rank, radius, fused,
               side_names[p.boundary[0][0].kind], side_names[p.boundary[0][1].kind]);
        if (!good)
            printf("# %d wrong, %d of the interior touched, worst of the others %.3g; %s\n", t.wrong, t.touched,
                   t.worst, error.status ? error.message : "no error");
        stn_stencil_destroy(stencil);
    }
    printf("1..%d\n", run);
    stn_pool_destroy(pool);
    stn_context_destroy(context);
    return failed != 0;
}
