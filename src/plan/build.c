/* Creating plans from a plan: for other work, or for one candidate. Destroying any plan. */
#include <stdlib.h>

#include "base/error.h"
#include "context/context.h"
#include "plan/plan.h"

stn_status stn_plan_copy(const stn_plan *like, const stn_kind *kind, const void *work, uint64_t steps,
                         stn_plan **result, stn_error *error) {
    *result = NULL;
    stn_plan *plan = calloc(1, sizeof *plan);
    if (!plan) return stn_fail_memory(error, "a plan", sizeof *plan);
    plan->context = like->context;
    plan->kind = kind;
    plan->machine = like->machine;
    plan->caller_workspace = true;
    plan->inner = true;
    stn_status status = kind->adopt(plan, work, steps, error);
    if (status == STN_OK)
        *result = plan;
    else
        free(plan);
    return status;
}

stn_status stn_plan_build(const stn_plan *like, uint64_t steps, const stn_strategy *strategy,
                          const stn_candidate *candidate, stn_plan **result, stn_error *error) {
    stn_plan *plan;
    *result = NULL;
    STN_TRY(stn_plan_copy(like, like->kind, stn_plan_work(like), steps, &plan, error));
    plan->strategy = strategy;
    plan->candidate = *candidate;
    plan->kind->estimate(plan, strategy, candidate, &plan->estimate);
    stn_status status = stn_plan_call_prepare(plan, error);
    if (status == STN_OK)
        *result = plan;
    else
        stn_plan_destroy(plan);
    return status;
}

static stn_status call(stn_plan *plan, stn_status (*function)(stn_plan *plan, stn_error *error), stn_error *error) {
    stn_kernel_scope scope;
    stn_kernel_scope_begin(plan->context, &scope, &plan->held);
    const stn_status status = function(plan, error);
    stn_kernel_scope_end(plan->context, &scope);
    return status;
}

stn_status stn_plan_call_prepare(stn_plan *plan, stn_error *error) {
    return call(plan, plan->strategy->prepare, error);
}

stn_status stn_plan_call_set_weights(stn_plan *plan, stn_error *error) {
    return call(plan, plan->strategy->set_weights, error);
}

static void free_first_result(struct stn_first *first) {
    if (!first) return;
    stn_background_compile_end(first->background);
    stn_plan_destroy(first->generic);
    pthread_mutex_destroy(&first->lock);
    free(first);
}

void stn_plan_unprepare(stn_plan *plan) {
    if (plan->state && plan->strategy->release) plan->strategy->release(plan);
    free(plan->state);
    plan->state = NULL;
    plan->nkernels = 0;
    stn_held_kernels_release(plan->context, &plan->held);
    plan->workspace_size = 0;
}

void stn_plan_destroy(stn_plan *plan) {
    if (!plan) return;
    plan->kind->tuner->close(plan);
    free_first_result(plan->first);
    stn_plan_destroy(plan->repeat);
    stn_plan_unprepare(plan);
    stn_memory_free(plan->context, plan->workspace);
    if (plan->kind->clear) plan->kind->clear(plan);
    free(plan);
}

void stn_plan_list_kernel(stn_plan *plan, struct stn_kernel *kernel) {
    for (size_t i = 0; i < plan->nkernels; i++)
        if (plan->kernels[i] == kernel) return;
    if (plan->nkernels < STN_PLAN_KERNELS) plan->kernels[plan->nkernels++] = kernel;
}
