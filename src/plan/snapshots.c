/* A stack of snapshots: runs of task.steps steps one after the other, each from the state that the
 * previous one wrote. */
#include <string.h>

#include "base/error.h"
#include "context/context.h"
#include "host/watch.h"
#include "plan/plan.h"

/* Does one call of the strategy's `execute` make the whole stack? */
static bool is_one_run(const stn_plan *plan) { return !plan->kind->shape(plan).stack || plan->strategy->stacks; }

/* The later runs read a state of the stack, so that their input has the layout of the output. */
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
    STN_TRY(stn_subplan_repeat(plan, &task, &plan->repeat, error));
    if (plan->repeat->workspace_size > plan->workspace_size) plan->workspace_size = plan->repeat->workspace_size;
    return STN_OK;
}

/* Reports progress between two runs of the stack, `number` of which are enqueued. *goes_on becomes
 * false where the progress function cancels the execution. */
static stn_status report_progress(stn_plan *plan, const stn_execution *run, uint64_t number, bool *goes_on,
                                  stn_error *error) {
    stn_watch *watch = run->progress_user;
    stn_timer *timer = NULL;
    stn_status status = STN_OK;
    if (plan->context->device) {
        STN_TRY(stn_timer_create(plan->context->device, &timer, error));
        status = stn_timer_mark(timer, run->stream, error);
        if (status == STN_OK) status = stn_stream_wait(timer, watch, error);
        stn_timer_destroy(timer);
    }
    watch->base = watch->done = number * plan->task.steps;
    *goes_on = stn_watch_goes_on(watch);
    return status;
}

stn_status stn_snapshots_run(stn_plan *plan, const stn_execution *run, stn_error *error) {
    STN_TRY(stn_plan_run_whole(plan, run, error));
    if (is_one_run(plan)) return STN_OK;
    stn_plan *next = plan->repeat ? plan->repeat : plan;
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
