/* stn_plan_set_weights: new weights for a plan. Where its strategy cannot take them, or its error
 * with them would exceed the bound, the plan chooses again, as if it were made for these weights.
 * The old choice is kept until the new one is prepared. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "context/context.h"
#include "plan/plan.h"

/* Would the plan's candidate be admissible for a new plan with these weights? */
static stn_status check_choice(stn_plan *plan, stn_error *error) {
    char reason[160];
    stn_estimate now = {0};
    if (plan->named_strategy && plan->strategy != plan->named_strategy &&
        plan->kind->applies(plan, plan->named_strategy, reason, sizeof reason))
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "the named strategy %s can use the new weights",
                        plan->named_strategy->name);
    if (!plan->kind->applies(plan, plan->strategy, reason, sizeof reason))
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "%s", reason);
    plan->kind->estimate(plan, plan->strategy, &plan->candidate, &now);
    const double error_bound = plan->kind->error_bound ? plan->kind->error_bound(plan) : INFINITY;
    if (now.error > fmax(error_bound, plan->estimate.error))
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "its predicted error is %.2g, and the bound %.2g", now.error,
                        error_bound);
    plan->estimate.error = now.error;
    return STN_OK;
}

/* Chooses and prepares a candidate of the strategy `name` (NULL: the cheapest). The plan has no
 * state before the call. */
static stn_status choose_once(stn_plan *plan, const char *name, stn_error *error) {
    const stn_plan_options options = {
        .strategy = name, .mode = STN_MODE_ESTIMATE, .deterministic = plan->deterministic};
    plan->strategy = NULL;
    plan->ranked = 0;
    plan->chosen = STN_CHOSEN_BY_ESTIMATE;
    plan->workspace_size = 0;
    STN_TRY(stn_plan_choose(plan, &options, error));
    STN_TRY(stn_plan_prepare(plan, error));
    return stn_snapshots_prepare(plan, error);
}

/* Tries the strategy that the caller named, then the cheapest, then single steps. Where the caller
 * supplies the workspace, those that fit in `available` bytes come first. */
static stn_status choose_any(stn_plan *plan, size_t available, stn_error *error) {
    const char *const names[] = {plan->named_strategy ? plan->named_strategy->name : NULL, NULL,
                                 plan->machine.is_device ? "direct" : "host"};
    stn_error why = {0};
    stn_status status = STN_OK, first = STN_OK;
    for (int pass = plan->caller_workspace ? 0 : 1; pass < 2; pass++)
        for (size_t i = plan->named_strategy ? 0 : 1; i < sizeof names / sizeof *names; i++) {
            status = choose_once(plan, names[i], &why);
            if (status == STN_OK && (pass || plan->workspace_size <= available)) return STN_OK;
            stn_plan_destroy(plan->later_snapshots);
            plan->later_snapshots = NULL;
            if (plan->strategy) stn_plan_unprepare(plan);
            if (status == STN_OK || first) continue;
            first = status;
            if (error) *error = why;
        }
    return first;
}

static stn_status choose_again(stn_plan *plan, size_t count, const double *weights, const char *why, stn_error *error) {
    stn_plan *next;
    plan->kind->tuner->online_close(plan);
    STN_TRY(stn_plan_copy(plan, plan->kind, stn_plan_work(plan), plan->task.steps, &next, error));
    next->task.snapshots = plan->task.snapshots;
    next->caller_workspace = plan->caller_workspace;
    next->named_strategy = plan->named_strategy;
    next->may_be_chunked = plan->may_be_chunked;
    next->deterministic = plan->deterministic;
    next->cold = plan->cold;
    snprintf(next->choice_before, sizeof next->choice_before, "%s: %s", plan->strategy->name, why);
    stn_status status = stn_plan_make_kernels(next, error);
    if (status == STN_OK) status = stn_task_set_weights(&next->task, count, weights, error);
    if (status == STN_OK) status = choose_any(next, stn_plan_workspace(plan), error);
    /* Executions may still read the tables of the old choice, which are freed next. */
    if (status == STN_OK) status = stn_context_wait(plan->context, error);
    if (status == STN_OK) status = stn_plan_allocate(next, error);
    if (status == STN_OK) {
        const stn_plan old = *plan;
        *plan = *next, *next = old;
    }
    stn_plan_destroy(next);
    return status;
}

/* Another choice may succeed after such a failure, but not after a failure of the device or a lack
 * of memory. */
static bool is_refusal(stn_status status) {
    return status == STN_ERROR_UNSUPPORTED || status == STN_ERROR_COMPILE || status == STN_ERROR_NO_COMPILER;
}

static stn_status take_weights(stn_plan *plan, size_t count, const double *weights, const double *before,
                               stn_error *error) {
    stn_error why = {0};
    /* The plan itself; the generic kernel's if the chosen candidate could not be prepared. */
    stn_plan *runs = stn_first_result_end(plan);
    stn_status status = plan->kind->set_weights(runs, count, weights, &why);
    if (status == STN_OK && runs != plan) return stn_task_set_weights(&plan->task, count, weights, error);
    const bool taken = status == STN_OK;
    if (taken) status = check_choice(plan, &why);
    if (status == STN_OK && plan->online) status = plan->kind->tuner->online_set_weights(plan, count, weights, &why);
    if (status == STN_OK) return STN_OK;
    if (is_refusal(status)) {
        const stn_error refusal = why;
        status = choose_again(plan, count, weights, refusal.message, &why);
        if (status == STN_OK) return STN_OK;
    }
    if (taken) { /* back to the old weights */
        plan->kind->tuner->online_close(plan);
        (void)plan->kind->set_weights(plan, count, before, NULL);
    }
    return stn_fail(error, status, "%s", why.message);
}

stn_status stn_plan_set_weights(stn_plan *plan, size_t count, const double *weights, stn_error *error) {
    if (!plan || !weights)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_plan_set_weights needs a plan and weights");
    if (!plan->kind->set_weights)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "this plan has no weights to set: stencils have, and Fourier layers get theirs with each "
                        "execution");
    STN_TRY(stn_plan_check_prepared(plan, error));
    double *before = malloc((plan->task.ntaps + 1) * sizeof *before);
    if (!before) return stn_fail_memory(error, "a copy of the old weights", plan->task.ntaps * sizeof *before);
    for (size_t i = 0; i < plan->task.ntaps; i++) before[i] = plan->task.taps[i].weight;
    const stn_status status = take_weights(plan, count, weights, before, error);
    free(before);
    return status;
}
