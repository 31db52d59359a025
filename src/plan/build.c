/* A plan of one candidate, for measuring it. */
#include <stdlib.h>

#include "base/error.h"
#include "plan/plan.h"

stn_status stn_plan_build(stn_context *context, const stn_task *task, const stn_strategy *strategy,
                          const stn_candidate *candidate, stn_plan **result, stn_error *error) {
    *result = NULL;
    stn_plan *plan = calloc(1, sizeof *plan);
    if (!plan) return stn_fail_memory(error, "a plan", sizeof *plan);
    plan->context = context;
    plan->machine = *stn_context_machine(context);
    plan->caller_workspace = true;
    plan->strategy = strategy;
    plan->candidate = *candidate;
    stn_status status = stn_task_copy(task, &plan->task, error);
    if (status == STN_OK) {
        strategy->estimate(&plan->task, &plan->machine, candidate, &plan->estimate);
        status = strategy->prepare(plan, error);
    }
    if (status == STN_OK)
        *result = plan;
    else
        stn_plan_destroy(plan);
    return status;
}
