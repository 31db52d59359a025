/* A plan of one candidate, for measuring it. */
#include <stdlib.h>

#include "base/error.h"
#include "plan/plan.h"

stn_status stn_plan_build(const stn_plan *like, uint64_t steps, const stn_strategy *strategy,
                          const stn_candidate *candidate, stn_plan **result, stn_error *error) {
    *result = NULL;
    stn_plan *plan = calloc(1, sizeof *plan);
    if (!plan) return stn_fail_memory(error, "a plan", sizeof *plan);
    plan->context = like->context;
    plan->kind = like->kind;
    plan->fft = like->fft;
    plan->machine = like->machine;
    plan->caller_workspace = true;
    plan->strategy = strategy;
    plan->candidate = *candidate;
    stn_status status = STN_OK;
    if (plan->kind == STN_PLAN_STENCIL) {
        status = stn_task_copy(&like->task, &plan->task, error);
        plan->task.steps = steps;
    }
    if (status == STN_OK) {
        stn_plan_estimate(plan, strategy, candidate, &plan->estimate);
        status = strategy->prepare(plan, error);
    }
    if (status == STN_OK)
        *result = plan;
    else
        stn_plan_destroy(plan);
    return status;
}
