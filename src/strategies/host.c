/* The host strategy: the definition of right, on the CPU's threads. */
#include "host/host.h"

#include <stdio.h>

#include "context/context.h"
#include "plan/accuracy.h"
#include "plan/plan.h"

static bool applies(const stn_task *task, const stn_machine *machine, char *reason, size_t reason_size) {
    (void)task;
    if (!machine->is_device) return true;
    snprintf(reason, reason_size, "it works on host memory, and this context's plans take device pointers");
    return false;
}

static size_t candidates(const stn_task *task, const stn_machine *machine, stn_candidate *list, size_t most) {
    (void)task;
    (void)machine;
    if (!most) return 0;
    list[0] = (stn_candidate){{0}};
    return 1;
}

static void estimate(const stn_task *task, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *estimate) {
    (void)candidate;
    stn_unit unit = task->dtype == STN_F64 ? STN_UNIT_FMA_F64 : STN_UNIT_FMA_F32;
    double updates = (double)stn_task_points(task) * (double)task->steps;

    *estimate = (stn_estimate){.unit = unit, .launches = (double)task->steps};
    estimate->bytes = updates * 2 * (double)stn_dtype_size(task->dtype);
    estimate->flops = updates * 2 * (double)task->ntaps;
    double moving = estimate->bytes / machine->copy_bandwidth, working = estimate->flops / machine->flops[unit];
    estimate->error = stn_error_stepping(task);
    estimate->stepping = true;
    estimate->seconds = (moving > working ? moving : working) + estimate->launches * machine->launch_seconds;
}

/* The state is the context's pool, borrowed. */
static stn_status prepare(stn_plan *plan, stn_error *error) {
    stn_pool *pool;
    stn_status status = stn_context_pool(plan->context, &pool, error);
    if (status != STN_OK) return status;
    plan->state = pool;
    plan->workspace_size = stn_host_workspace(&plan->task);
    return STN_OK;
}

static stn_status execute(stn_plan *plan, const stn_execution *run, stn_error *error) {
    (void)error;
    stn_host_run_source(&plan->task, plan->state, run->in, run->source, run->out, run->workspace);
    return STN_OK;
}

static uint64_t launches(const stn_plan *plan) { return stn_host_passes(&plan->task); }

static stn_status execute_part(stn_plan *plan, stn_part part, const stn_execution *run, stn_error *error) {
    (void)error;
    stn_host_run_part(&plan->task, plan->state, part.first, part.count, run->in, run->source, run->out, run->workspace);
    return STN_OK;
}

/* Weights are read from the task by each execution. */
static stn_status set_weights(stn_plan *plan, stn_error *error) {
    (void)plan;
    (void)error;
    return STN_OK;
}

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    if (!plan->state) return;
    int threads = stn_pool_threads(plan->state);
    if (format == STN_JSON) {
        stn_json_key(text, "threads");
        stn_json_number(text, threads);
    } else
        stn_text_printf(text, "step by step on %d thread%s", threads, threads == 1 ? "" : "s");
}

static void release(stn_plan *plan) { plan->state = NULL; }

const stn_strategy stn_strategy_host = {
    .name = "host",
    .applies = applies,
    .candidates = candidates,
    .estimate = estimate,
    .prepare = prepare,
    .execute = execute,
    .set_weights = set_weights,
    .describe = describe,
    .release = release,
    .launches = launches,
    .execute_part = execute_part,
    .sources = true,
};
