/* A constant source over all steps at once: the cheapest strategy computes S^T u_0 into the output,
 * to which a strategy that sums powers (stn_task.sum) adds (1 + S + .. + S^(T-1)) b. No workspace
 * grids are needed in addition. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "strategies/sourced/sourced.h"

stn_task sourced_run_task(const stn_task *task) {
    stn_task run = *task;
    run.source = false, run.snapshots = 1;
    return run;
}

/* The task whose input is the source and whose sides are 0. */
static stn_task sum_task(const stn_task *task) {
    stn_task sum = sourced_run_task(task);
    sum.sum = true, sum.in_place = false;
    memcpy(sum.in_stride, task->source_stride, sizeof sum.in_stride);
    sum.in_batch_stride = task->source_batch_stride;
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++) sum.boundary[axis][side].value = 0;
    return sum;
}

bool sourced_estimate_whole(const stn_task *task, const stn_machine *machine, stn_estimate *result) {
    const stn_task run = sourced_run_task(task), sum = sum_task(task); /* their taps are borrowed */
    const double most = sourced_most_seconds(machine);
    stn_estimate added;
    if (task->steps < 2 || !stn_subplan_estimate_below(&sum, machine, NULL, most, false, &added) ||
        !stn_subplan_estimate_below(&run, machine, NULL, most - added.seconds, false, result))
        return false;
    result->bytes += added.bytes;
    result->flops += added.flops;
    result->launches += added.launches;
    result->seconds += added.seconds;
    result->error = hypot(result->error, added.error);
    stn_estimate_memory(task, fmax(result->memory, added.memory), result);
    return true;
}

stn_status sourced_prepare_whole(stn_plan *plan, sourced_state *state, stn_error *error) {
    const stn_task run = sourced_run_task(&plan->task), sum = sum_task(&plan->task);
    STN_TRY(sourced_make_run(plan, &run, &state->run[0], error));
    return sourced_make_run(plan, &sum, &state->sum, error);
}

stn_status sourced_execute_whole(stn_plan *plan, const stn_execution *execution, stn_error *error) {
    const sourced_state *state = plan->state;
    stn_execution once = *execution;
    once.source = NULL;
    STN_TRY(stn_plan_run_whole(state->run[0], &once, error));
    once.in = execution->source;
    return stn_plan_run_whole(state->sum, &once, error);
}

void sourced_describe_whole(const stn_plan *plan, stn_format format, stn_text *text) {
    const sourced_state *state = plan->state;
    const char *run = state->run[0]->strategy->name, *sum = state->sum->strategy->name;
    if (format == STN_JSON) {
        stn_json_text(text, "run", run);
        stn_json_text(text, "sum", sum);
        return;
    }
    stn_text_printf(text, "all %llu steps by %s, then the source's sum over them by %s",
                    (unsigned long long)plan->task.steps, run, sum);
}
