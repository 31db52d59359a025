/* The host strategy of systems: the definition of right, on the CPU's threads. */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "context/context.h"
#include "host/system.h"
#include "plan/plan.h"
#include "strategies/common/system_cost.h"
#include "strategies/table.h"

typedef struct host_state {
    stn_pool *pool; /* the context's */
    stn_host_system *host;
} host_state;

static bool applies(const stn_system_task *task, const stn_machine *machine, char *reason, size_t reason_size) {
    (void)task;
    if (!machine->is_device) return true;
    snprintf(reason, reason_size, "it works on host memory, and this context's plans take device pointers");
    return false;
}

static size_t candidates(const stn_system_task *task, const stn_machine *machine, stn_candidate *list, size_t most) {
    (void)task;
    (void)machine;
    if (!most) return 0;
    list[0] = (stn_candidate){{0}};
    return 1;
}

/* Rows of results go through a cache: an operation takes a few times as long as a fused
 * multiply-add of registers. */
#define ROW_COST 4.0

static void estimate(const stn_system_task *task, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *result) {
    (void)candidate;
    stn_system_cost(task, result);
    result->flops *= ROW_COST;
    result->seconds = stn_estimate_seconds(result, machine);
    result->flops /= ROW_COST;
}

static stn_status prepare(stn_plan *plan, stn_error *error) {
    host_state *state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    plan->state = state;
    STN_TRY(stn_context_pool(plan->context, &state->pool, error));
    STN_TRY(stn_host_system_create(&plan->system, stn_pool_threads(state->pool), &state->host, error));
    plan->workspace_size = stn_host_system_workspace(state->host);
    return STN_OK;
}

static stn_status execute(stn_plan *plan, const stn_execution *run, stn_error *error) {
    (void)error;
    const host_state *state = plan->state;
    stn_host_system_run(state->host, state->pool, run->system, run->workspace);
    return STN_OK;
}

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const host_state *state = plan->state;
    if (!state || !state->pool) return;
    const int threads = stn_pool_threads(state->pool);
    if (format == STN_JSON)
        stn_json_integer(text, "threads", threads);
    else
        stn_text_printf(text, "step by step, row by row on %d thread%s", threads, threads == 1 ? "" : "s");
}

static void release(stn_plan *plan) {
    host_state *state = plan->state;
    if (!state) return;
    stn_host_system_destroy(state->host);
    free(state);
    plan->state = NULL;
}

const stn_strategy stn_system_strategy_host = {
    .name = "host",
    .system.applies = applies,
    .system.candidates = candidates,
    .system.estimate = estimate,
    .prepare = prepare,
    .execute = execute,
    .describe = describe,
    .release = release,
    .local = true,
    .counts_steps = true,
};
