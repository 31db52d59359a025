/* A source in all steps at once; see sourced.c. u_T = S^T u_0, from the input to the output by whatever strategy is cheapest, then
 * c = (1 + S + .. + S^(T-1)) b into a grid of the workspace, past sides that are 0, by one that sums powers (task.h), and one addition.
 * f16 is f32 between: the state after all steps and c would be rounded to 11 bits each, where their sum may be less than either. */
#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "strategies/sourced/sourced.h"

static bool widened(const stn_task *task) { return sourced_own_type(task) != task->dtype; }

/* All steps without the source: the caller's grids, or the workspace's. */
static stn_task run_task(const stn_task *task) {
    if (widened(task)) return sourced_packed_task(task, task->steps, false);
    stn_task run = *task;
    run.source = false, run.snapshots = 1;
    return run;
}

/* From the caller's source; where that was widened, in place. */
static stn_task sum_task(const stn_task *task) {
    stn_task sum = sourced_packed_task(task, task->steps, true);
    sum.sum = true;
    if (widened(task)) {
        sum.in_place = true;
        return sum;
    }
    memcpy(sum.in_stride, task->source_stride, sizeof sum.in_stride);
    sum.in_batch_stride = task->source_batch_stride;
    sum.alignment = (int)stn_min(task->alignment, sum.alignment);
    return sum;
}

bool sourced_estimate_whole(const stn_task *task, const stn_machine *machine, stn_estimate *result) {
    const stn_task run = run_task(task), sum = sum_task(task); /* their taps are borrowed */
    const double grid = (double)stn_task_points(task) * (double)stn_dtype_size(sourced_own_type(task));
    stn_estimate own, of_source;
    if (task->steps < 2 || !stn_subplan_estimate(&sum, machine, NULL, &of_source) ||
        !stn_subplan_estimate(&run, machine, NULL, &own))
        return false;
    const double bytes = (widened(task) ? 6 : 3) * grid, adds = widened(task) ? 3 : 1;
    *result = own;
    result->bytes += of_source.bytes + bytes;
    result->flops += of_source.flops;
    result->launches += of_source.launches + adds;
    result->seconds += of_source.seconds + bytes / machine->copy_bandwidth + adds * machine->launch_seconds;
    result->error = hypot(own.error, of_source.error);
    return true;
}

stn_status sourced_prepare_whole(stn_plan *plan, sourced_state *state, size_t *workspace, stn_error *error) {
    const stn_task run = run_task(&plan->task), sum = sum_task(&plan->task);
    STN_TRY(sourced_make_run(plan, &run, &state->run[0], workspace, error));
    STN_TRY(sourced_make_run(plan, &sum, &state->sum, workspace, error));
    state->grids = 1 + state->widened;
    return STN_OK;
}

stn_status sourced_execute_whole(const sourced_job *job, stn_error *error) {
    const sourced_state *state = job->state;
    const sourced_grid in = sourced_grid_at(&state->in, job->at->in), out = sourced_grid_at(&state->out, job->at->out);
    const sourced_grid c = sourced_own_grid(job, 0);
    if (!state->widened) {
        STN_TRY(sourced_run(job, state->run[0], in, out, error));
        STN_TRY(sourced_run(job, state->sum, job->source, c, error));
        return sourced_add(job, SOURCED_LAST, out, c, out, error);
    }
    const sourced_grid after = sourced_own_grid(job, 1);
    STN_TRY(sourced_add(job, SOURCED_LOAD, in, in, c, error));
    STN_TRY(sourced_run(job, state->run[0], c, after, error));
    STN_TRY(sourced_add(job, SOURCED_MASK, job->source, job->source, c, error));
    STN_TRY(sourced_run(job, state->sum, c, c, error));
    return sourced_add(job, SOURCED_LAST, after, c, out, error);
}

void sourced_describe_whole(const stn_plan *plan, stn_format format, stn_text *text) {
    const sourced_state *state = plan->state;
    const char *run = state->run[0]->strategy->name, *sum = state->sum->strategy->name;
    if (format == STN_JSON) {
        stn_json_key(text, "run"), stn_json_string(text, run);
        stn_json_key(text, "sum"), stn_json_string(text, sum);
        return;
    }
    stn_text_printf(text, "all %llu steps by %s, the source's sum over them by %s",
                    (unsigned long long)plan->task.steps, run, sum);
}
