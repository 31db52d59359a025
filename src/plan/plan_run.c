/* Executing a prepared plan: all of its run or some of its launches, stacks of snapshots, and runs
 * with a progress function. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/versioned_struct.h"
#include "context/context.h"
#include "host/watch.h"
#include "plan/plan.h"

stn_status stn_plan_check_prepared(const stn_plan *plan, stn_error *error) {
    if (!plan->estimate_only) return STN_OK;
    return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                    "this plan was made with estimate_only: make one without it to execute it or set its weights");
}

/* ---- stacks of snapshots -----------------------------------------------------------------------
 * Runs of task.steps steps one after the other, each from the state that the previous one wrote. */

/* Whether one call of the strategy's `execute` writes all snapshots. */
static bool is_one_run(const stn_plan *plan) { return !plan->kind->shape(plan).stack || plan->strategy->stacks; }

/* The later runs read a state of the stack, so their input has the layout of the output. */
stn_status stn_snapshots_prepare(stn_plan *plan, stn_error *error) {
    if (is_one_run(plan)) return STN_OK;
    stn_task task = plan->task;
    task.snapshots = 1;
    memcpy(task.in_stride, task.out_stride, sizeof task.in_stride);
    task.in_batch_stride = task.out_batch_stride;
    bool same = task.in_batch_stride == plan->task.in_batch_stride;
    for (int axis = 0; axis < 3; axis++) same = same && task.in_stride[axis] == plan->task.in_stride[axis];
    /* The states of a stack may be less aligned than the first one. */
    const int64_t bytes = task.snapshot_stride * (int64_t)stn_dtype_size(task.dtype);
    while (bytes % task.alignment) task.alignment /= 2;
    if (same && task.alignment == plan->task.alignment) return STN_OK;
    STN_TRY(stn_subplan_repeat(plan, &task, &plan->later_snapshots, error));
    if (plan->later_snapshots->workspace_size > plan->workspace_size)
        plan->workspace_size = plan->later_snapshots->workspace_size;
    return STN_OK;
}

/* Reports progress between two runs of the stack, `number` of which are enqueued. Sets *goes_on to
 * false if the progress function cancels the execution. */
static stn_status report_progress(stn_plan *plan, const stn_execution *run, uint64_t number, bool *goes_on,
                                  stn_error *error) {
    stn_watch *watch = run->progress_user;
    stn_timer *timer = NULL;
    stn_status status = STN_OK;
    if (plan->context->device) {
        STN_TRY(stn_timer_create(plan->context->device, &timer, error));
        status = stn_timer_mark(timer, run->stream, error);
        if (status == STN_OK) status = stn_stream_wait(timer, watch, false, error);
        stn_timer_destroy(timer);
    }
    watch->base = watch->done = number * plan->task.steps;
    *goes_on = stn_watch_continues(watch);
    return status;
}

/* Runs all steps: one run, or a stack of runs. */
static stn_status run_all(stn_plan *plan, const stn_execution *run, stn_error *error) {
    STN_TRY(stn_plan_run_whole(plan, run, error));
    if (is_one_run(plan)) return STN_OK;
    stn_plan *next = plan->later_snapshots ? plan->later_snapshots : plan;
    const size_t bytes = (size_t)plan->task.snapshot_stride * stn_dtype_size(plan->task.dtype);
    stn_execution each = *run;
    bool goes_on = true;
    for (uint64_t i = 1; i < plan->task.snapshots; i++) {
        if (run->progress) STN_TRY(report_progress(plan, run, i, &goes_on, error));
        if (!goes_on) break;
        each.in = each.out;
        each.out = (char *)each.out + bytes;
        STN_TRY(stn_plan_run_whole(next, &each, error));
    }
    return STN_OK;
}

/* ---- whole runs and parts -------------------------------------------------------------------- */

static stn_status run_checked(stn_plan *plan, const stn_execution *run, stn_error *error) {
    STN_TRY(stn_plan_check_prepared(plan, error));
    STN_TRY(stn_plan_check_pointers(plan, run, error));
    if (plan->online)
        return plan->kind->tuner->online_run(plan, (stn_part){0, plan->kind->tuner->online_chunks(plan)}, run, error);
    return run_all(stn_first_result_next(plan, true, run->stream), run, error);
}

uint64_t stn_plan_launches(stn_plan *plan) {
    if (plan->online) return plan->kind->tuner->online_chunks(plan);
    const stn_plan *runs = stn_first_result_next(plan, false, NULL);
    const bool is_one_part = runs->estimate_only || runs->kind->shape(runs).stack || !runs->strategy->execute_part;
    return is_one_part ? 1 : runs->strategy->launches(runs);
}

stn_status stn_plan_execute_part(stn_plan *plan, stn_part part, const stn_execution *run, stn_error *error) {
    uint64_t launches = stn_plan_launches(plan);
    if (part.first > launches || part.count > launches - part.first)
        return stn_fail(error, STN_ERROR_INTERNAL,
                        "%" PRIu64 " launches from number %" PRIu64 " on were requested of a run of %" PRIu64
                        ": please report this",
                        part.count, part.first, launches);
    if (part.count == launches) return run_checked(plan, run, error);
    STN_TRY(stn_plan_check_prepared(plan, error));
    STN_TRY(stn_plan_check_pointers(plan, run, error));
    if (!part.count) return STN_OK;
    if (plan->online) return plan->kind->tuner->online_run(plan, part, run, error);
    stn_plan *runs = stn_first_result_next(plan, part.first + part.count == launches, run->stream);
    return runs->strategy->execute_part(runs, part, run, error);
}

/* ---- with a progress function -------------------------------------------------------------------
 * On the host, the thread pool calls the function between two pieces of any loop. On a GPU, a run
 * is enqueued in chunks of launches. Chunk i is enqueued once chunk i - 2 is complete, so that at
 * most two chunks are in flight when the run is cancelled:
 *
 *     enqueued   |chunk 0|chunk 1|       |chunk 2|
 *     GPU        |chunk 0        |chunk 1        |chunk 2
 *                        wait for 0      wait for 1
 */

#define CHUNK_SECONDS 0.04 /* the intended length of a chunk */

static stn_status run_host(stn_plan *plan, const stn_execution *run, stn_watch *watch, stn_error *error) {
    stn_pool *pool;
    STN_TRY(stn_context_pool(plan->context, &pool, error));
    if (plan->strategy->counts_steps) watch->span = plan->kind->shape(plan).steps;
    stn_pool_watch(pool, watch);
    const stn_status status = stn_plan_execute_part(plan, (stn_part){0, stn_plan_launches(plan)}, run, error);
    stn_pool_unwatch(pool, watch);
    return status;
}

/* A run in chunks. The events of two timers mark the ends of the last two chunks. */
typedef struct chunks {
    stn_timer *timer[2];
    uint64_t launches, each; /* launches of the run, and of the next chunk */
    double begun;            /* stn_clock_seconds when the current chunk was enqueued */
} chunks;

/* Adapts the launches of a chunk so that it takes about CHUNK_SECONDS. */
static void adapt(chunks *c) {
    const double took = stn_clock_seconds() - c->begun, wanted = (double)c->each * CHUNK_SECONDS / fmax(took, 1e-6);
    const double next = fmin(fmax(wanted, (double)c->each / 4), 2 * (double)c->each);
    c->each = next < 1 ? 1 : (uint64_t)next;
    c->begun = stn_clock_seconds();
}

static stn_status run_chunks(stn_plan *plan, chunks *c, const stn_execution *run, stn_watch *watch, stn_error *error) {
    uint64_t ends[2] = {0, 0}, number = 0;
    for (uint64_t first = 0; first < c->launches && stn_watch_continues(watch); number++) {
        const uint64_t left = c->launches - first, count = left < c->each ? left : c->each;
        STN_TRY(stn_plan_execute_part(plan, (stn_part){first, count}, run, error));
        STN_TRY(stn_timer_mark(c->timer[number % 2], run->stream, error));
        first = ends[number % 2] = first + count;
        if (!number) continue;
        STN_TRY(stn_stream_wait(c->timer[1 - number % 2], watch, false, error));
        stn_watch_set_done(watch, ends[1 - number % 2], c->launches);
        adapt(c);
    }
    return number ? stn_stream_wait(c->timer[1 - number % 2], watch, false, error) : STN_OK;
}

static stn_status run_device(stn_plan *plan, const stn_execution *run, stn_watch *watch, stn_error *error) {
    stn_device *device = plan->context->device;
    chunks c = {.launches = stn_plan_launches(plan), .begun = stn_clock_seconds()};
    const double share = CHUNK_SECONDS / fmax(plan->estimate.seconds, 1e-9);
    c.each = (uint64_t)fmax(1, 0.25 * fmin(share, 1) * (double)c.launches);
    if (!plan->kind->shape(plan).stack) watch->span = watch->total;
    stn_status status = stn_timer_create(device, &c.timer[0], error);
    if (status == STN_OK) status = stn_timer_create(device, &c.timer[1], error);
    if (status == STN_OK) status = run_chunks(plan, &c, run, watch, error);
    for (int i = 0; i < 2; i++) stn_timer_destroy(c.timer[i]);
    return status;
}

static stn_status run_watched(stn_plan *plan, const stn_execution *run, stn_error *error) {
    stn_watch watch;
    stn_execution own = *run;
    const stn_work_shape shape = plan->kind->shape(plan);
    if (plan->context->device && stn_device_capturing(plan->context->device, run->stream))
        return stn_fail(
            error, STN_ERROR_INVALID_ARGUMENT,
            "stn_execution.progress is given for a stream that is being captured, where nothing runs: leave it NULL");
    stn_watch_begin(&watch, run, shape.steps * (shape.stack ? plan->task.snapshots : 1));
    own.progress_user = &watch; /* report_progress reads it */
    const stn_status status =
        plan->machine.is_device ? run_device(plan, &own, &watch, error) : run_host(plan, &own, &watch, error);
    return stn_watch_end(&watch, status, error);
}

/* ---- public ---------------------------------------------------------------------------------- */

stn_status stn_plan_execute(stn_plan *plan, const void *in, void *out, void *stream, stn_error *error) {
    if (!plan) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_plan_execute needs a plan");
    if (plan->caller_workspace && stn_plan_workspace(plan))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "this plan was made without a workspace: use stn_plan_execute_with and give %zu bytes",
                        stn_plan_workspace(plan));
    return stn_plan_execute_with(plan, in, out, plan->workspace, stream, error);
}

stn_status stn_plan_execute_with(stn_plan *plan, const void *in, void *out, void *workspace, void *stream,
                                 stn_error *error) {
    if (!plan) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_plan_execute_with needs a plan");
    return run_checked(plan, &(stn_execution){.in = in, .out = out, .workspace = workspace, .stream = stream}, error);
}

stn_status stn_plan_run(stn_plan *plan, const stn_execution *execution, stn_error *error) {
    if (!plan || !execution)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_plan_run needs a plan and a stn_execution");
    stn_execution run;
    stn_system_arrays arrays;
    STN_TRY(stn_read_versioned_struct(&stn_layout_execution, execution, &run, error));
    if (run.system) {
        STN_TRY(stn_read_versioned_struct(&stn_layout_system_arrays, run.system, &arrays, error));
        run.system = &arrays;
    }
    if (!run.workspace) run.workspace = plan->workspace;
    if (run.progress && !plan->estimate_only) return run_watched(plan, &run, error);
    return run_checked(plan, &run, error);
}
