/* Creating plans from a plan: for other work, or for one candidate. Destroying any plan. */
#include <stdlib.h>

#include "base/error.h"
#include "context/context.h"
#include "plan/plan.h"

stn_status stn_plan_make_kernels(stn_plan *plan, stn_error *error) {
    plan->kernels = calloc(1, sizeof *plan->kernels);
    if (!plan->kernels) return stn_fail_memory(error, "a plan", sizeof *plan->kernels);
    plan->kernels->context = plan->context;
    return STN_OK;
}

stn_status stn_plan_allocate(stn_plan *plan, stn_error *error) {
    const size_t size = stn_plan_workspace(plan);
    if (!size || plan->caller_workspace || (plan->machine.is_device && !plan->machine.present)) return STN_OK;
    return stn_memory_alloc(plan->context, size, &plan->workspace, error);
}

stn_status stn_plan_copy(const stn_plan *like, const stn_kind *kind, const void *work, uint64_t steps,
                         stn_plan **result, stn_error *error) {
    *result = NULL;
    stn_plan *plan = calloc(1, sizeof *plan);
    if (!plan) return stn_fail_memory(error, "a plan", sizeof *plan);
    plan->context = like->context;
    plan->kind = kind;
    plan->machine = like->machine;
    plan->caller_workspace = true;
    stn_status status = kind->adopt(plan, work, steps, error);
    if (status != STN_OK) free(plan), plan = NULL;
    *result = plan;
    return status;
}

stn_status stn_plan_build(const stn_plan *like, uint64_t steps, const stn_strategy *strategy,
                          const stn_candidate *candidate, stn_compile_batch *batch, stn_plan **result,
                          stn_error *error) {
    STN_TRY(stn_plan_copy(like, like->kind, stn_plan_work(like), steps, result, error));
    stn_plan *plan = *result;
    plan->strategy = strategy;
    plan->candidate = *candidate;
    plan->kind->estimate(plan, strategy, candidate, &plan->estimate);
    stn_status status = stn_plan_make_kernels(plan, error);
    if (status == STN_OK) {
        plan->kernels->batch = batch;
        status = strategy->prepare(plan, error);
        plan->kernels->batch = NULL;
    }
    if (status != STN_OK) stn_plan_destroy(plan), *result = NULL;
    return status;
}

static void free_first_result(struct stn_first *first) {
    if (!first) return;
    stn_background_compile_end(first->background, true);
    stn_compile_batch_free(first->batch);
    stn_plan_destroy(first->generic);
    pthread_mutex_destroy(&first->lock);
    free(first);
}

void stn_plan_unprepare(stn_plan *plan) {
    if (plan->state && plan->strategy->release) plan->strategy->release(plan);
    free(plan->state), plan->state = NULL;
    if (plan->kernels && !plan->is_subplan) stn_kernel_set_clear(plan->kernels);
    plan->workspace_size = 0;
}

void stn_plan_destroy(stn_plan *plan) {
    if (!plan) return;
    plan->kind->tuner->online_close(plan);
    free_first_result(plan->first);
    stn_plan_destroy(plan->later_snapshots);
    stn_plan_unprepare(plan);
    if (!plan->is_subplan) free(plan->kernels);
    stn_memory_free(plan->context, plan->workspace);
    if (plan->kind->clear) plan->kind->clear(plan);
    free(plan);
}
