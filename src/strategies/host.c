/* The host strategy: the definition of right, on the CPU's threads. */
#include "host/host.h"

#include <math.h>
#include <stdio.h>

#include "context/context.h"
#include "host/step.h"
#include "plan/accuracy.h"
#include "plan/plan.h"
#include "strategies/table.h"

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

/* What a step takes, fitted to 102 timed runs of one core:
 * bench/results/2026-11-23-host-costs.md. */
static const struct {
    double flops_f64, flops_f32; /* of the flops that a core is assumed to have: sums of lines that lie in a cache */
    double cached, memory;       /* of its copy bandwidth, where all grids lie in a cache and where they do not */
    double cached_bytes;
    double sum;      /* seconds: what the sums of up to 9 taps of a row take besides */
    double end;      /* a line beside an end of a row, of which a part lies past it */
    double gathered; /* a byte of a short row, which is copied with what is past its ends */
    double half;     /* a number of a line, from half precision */
} costs = {1.85, 2.5, 14, 2, 24e6, 15e-9, 16e-9, 3e-11, 1.9e-10};

/* Lines that the sums of a row read: one for each row that taps see; where a round of taps ends,
 * one again. */
static double lines_of(const stn_task *task, double rounds) {
    double lines = rounds - 1;
    for (size_t k = 0; k < task->ntaps; k++) {
        const int64_t *at = task->taps[k].offset;
        lines += !k || at[0] != task->taps[k - 1].offset[0] || at[1] != task->taps[k - 1].offset[1];
    }
    return lines;
}

/* Seconds of one core for what a step does besides sums: lines are made for them. */
static double lines_cost(const stn_task *task, double live) {
    const double rounds = ceil((double)task->ntaps / 9);
    const double lines = lines_of(task, rounds), rows = live / (double)task->n[2];
    const bool open =
        stn_task_reach(task, 2) && (task->boundary[2][0].kind != STN_FIXED || task->boundary[2][1].kind != STN_FIXED);
    double seconds = rows * rounds * costs.sum;
    if (task->dtype == STN_F16)
        seconds += live * lines * costs.half;
    else if (open && task->n[2] <= 128)
        seconds += live * lines * (double)stn_dtype_size(task->dtype) * costs.gathered;
    else if (open)
        seconds += 2 * rows * lines * costs.end;
    return seconds;
}

static void estimate(const stn_task *task, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *estimate) {
    (void)candidate;
    const stn_unit unit = task->dtype == STN_F64 ? STN_UNIT_FMA_F64 : STN_UNIT_FMA_F32;
    const double points = (double)stn_task_points(task), steps = (double)task->steps;
    const double size = (double)stn_dtype_size(task->dtype);
    double live = points;
    for (int axis = 0; axis < 3; axis++) {
        double frozen = 0;
        for (int side = 0; side < 2; side++)
            if (task->boundary[axis][side].kind == STN_FIXED) frozen += task->reach[axis][side];
        live *= fmax(1 - frozen / (double)task->n[axis], 0);
    }
    *estimate = (stn_estimate){.unit = unit, .launches = steps};
    estimate->bytes = steps * points * 2 * size;
    estimate->flops = steps * live * 2 * (double)task->ntaps;
    estimate->error = stn_error_stepping(task);
    estimate->stepping = true;
    const bool cached = 2 * points * size < costs.cached_bytes;
    const double core = machine->threads > 0 ? machine->threads : 1;
    estimate->seconds =
        estimate->flops / (machine->flops[unit] * (unit == STN_UNIT_FMA_F64 ? costs.flops_f64 : costs.flops_f32)) +
        estimate->bytes / (machine->copy_bandwidth * (cached ? costs.cached : costs.memory)) +
        steps * lines_cost(task, live) / core + steps * machine->launch_seconds;
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
    .local = true,
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
    .counts_steps = true,
};
