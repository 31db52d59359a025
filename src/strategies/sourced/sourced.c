/* Strategy sourced: a constant source, u[t+1] = S u[t] + b, on top of strategies without sources.
 *
 * f steps:   u[t+f] = S^f u[t] + c_f,   c_f = (1 + S + ... + S^(f-1)) b
 *
 * This is a run of f steps without the source, by the cheapest strategy, then one addition. c_f is
 * computed once for each execution:
 *
 *     whole    f is all steps; c by transforms, times the sum of symbol powers   source_whole.c
 *     levels   f is 1, 8 or 64; c by steps from zero                             source_levels.c
 */
#include "strategies/sourced/sourced.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "strategies/table.h"

/* ---- choosing */

static bool applies(const stn_task *task, const stn_machine *machine, char *reason, size_t reason_size) {
    const char *why = NULL;
    stn_estimate unused;
    if (!machine->is_device)
        why = STN_NEEDS_GPU;
    else if (!task->source)
        why = "there is no source";
    else if (!stn_row_blocks_fit(task) && !sourced_estimate_whole(task, machine, &unused))
        why = "a source is added by more blocks than a launch can have";
    if (!why) return true;
    snprintf(reason, reason_size, "%s", why);
    return false;
}

/* values[0]: levels, or SOURCED_WHOLE; single steps are the last candidate. */
static size_t candidates(const stn_task *task, const stn_machine *machine, stn_candidate *list, size_t most) {
    size_t count = 0;
    stn_estimate unused;
    if (most > 0 && !task->local && sourced_estimate_whole(task, machine, &unused))
        list[count++] = (stn_candidate){{SOURCED_WHOLE}};
    for (int levels = SOURCED_LEVELS; levels >= 1 && count < most && stn_row_blocks_fit(task); levels--)
        if (sourced_level_steps(levels - 1) <= task->steps) list[count++] = (stn_candidate){{levels}};
    return count;
}

/* Single steps by the generic kernel, each followed by the addition of the source. */
static bool generic(const stn_task *task, stn_candidate *candidate) {
    *candidate = (stn_candidate){{1, 1}};
    return stn_row_blocks_fit(task);
}

static void estimate(const stn_task *task, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *result) {
    const bool by_generic = candidate->values[SOURCED_GENERIC] != 0;
    const bool served = candidate->values[0] == SOURCED_WHOLE
                            ? sourced_estimate_whole(task, machine, result)
                            : sourced_estimate_levels(task, machine, candidate->values[0], by_generic, result);
    if (!served) result->seconds = INFINITY;
}

/* ---- building */

static stn_status prepare(stn_plan *plan, stn_error *error) {
    sourced_state *state = plan->state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    state->levels = plan->candidate.values[0];
    return (state->levels == SOURCED_WHOLE ? sourced_prepare_whole : sourced_prepare_levels)(plan, state, error);
}

static stn_status set_weights(stn_plan *plan, stn_error *error) {
    sourced_state *state = plan->state;
    for (int level = 0; level < SOURCED_LEVELS; level++) {
        if (state->run[level]) STN_TRY(stn_subplan_set_weights(state->run[level], &plan->task, error));
        if (state->from_zero[level]) STN_TRY(stn_subplan_set_weights(state->from_zero[level], &plan->task, error));
    }
    return state->sum ? stn_subplan_set_weights(state->sum, &plan->task, error) : STN_OK;
}

static void release(stn_plan *plan) {
    sourced_state *state = plan->state;
    for (int level = 0; level < SOURCED_LEVELS; level++) {
        stn_plan_destroy(state->run[level]);
        stn_plan_destroy(state->from_zero[level]);
    }
    stn_plan_destroy(state->sum);
}

/* ---- running */

static stn_status execute(stn_plan *plan, const stn_execution *execution, stn_error *error) {
    const sourced_state *state = plan->state;
    return (state->levels == SOURCED_WHOLE ? sourced_execute_whole : sourced_execute_levels)(plan, execution, error);
}

/* ---- descriptions */

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const sourced_state *state = plan->state;
    if (state->levels == SOURCED_WHOLE)
        sourced_describe_whole(plan, format, text);
    else
        sourced_describe_levels(state, format, text);
}

static void name_candidate(const stn_task *task, const stn_candidate *candidate, stn_text *text) {
    (void)task;
    if (candidate->values[0] == SOURCED_WHOLE) {
        stn_text_printf(text, "all steps at once, and the source's sum");
        return;
    }
    const int steps = (int)sourced_level_steps(candidate->values[0] - 1);
    stn_text_printf(text, "runs of %d step%s%s", steps, steps == 1 ? "" : "s",
                    candidate->values[SOURCED_GENERIC] ? " by the generic kernel" : "");
}

const stn_strategy stn_strategy_sourced = {
    .name = "sourced",
    .local = true,
    .applies = applies,
    .candidates = candidates,
    .estimate = estimate,
    .prepare = prepare,
    .execute = execute,
    .set_weights = set_weights,
    .describe = describe,
    .release = release,
    .name_candidate = name_candidate,
    .generic = generic,
    .sources = true,
};
