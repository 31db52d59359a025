/* Plans that a strategy makes for parts of its work: plan.h. */
#include "base/error.h"
#include "plan/plan.h"

static stn_status build(const stn_plan *parent, const stn_kind *kind, const void *work, uint64_t steps,
                        const char *name, stn_plan **result, stn_error *error) {
    stn_plan *plan;
    *result = NULL;
    STN_TRY(stn_plan_copy(parent, kind, work, steps, &plan, error));
    stn_status status = stn_plan_choose(plan, &(stn_plan_options){.strategy = name}, error);
    if (status == STN_OK) status = stn_plan_prepare(plan, error);
    if (status == STN_OK)
        *result = plan;
    else
        stn_plan_destroy(plan);
    return status;
}

stn_status stn_subplan(const stn_plan *parent, const stn_task *task, const char *name, stn_plan **plan,
                       stn_error *error) {
    return build(parent, stn_kinds[STN_KIND_STENCIL], task, task->steps, name, plan, error);
}

stn_status stn_subplan_fft(const stn_plan *parent, const stn_fft *fft, const char *name, stn_plan **plan,
                           stn_error *error) {
    return build(parent, stn_kinds[STN_KIND_FFT], fft, 1, name, plan, error);
}

stn_status stn_subplan_generic(const stn_plan *parent, const stn_task *task, stn_plan **result, stn_error *error) {
    stn_plan *plan;
    stn_ranked row;
    *result = NULL;
    STN_TRY(stn_plan_copy(parent, stn_kinds[STN_KIND_STENCIL], task, task->steps, &plan, error));
    stn_status status = STN_OK;
    if (stn_plan_generic(plan, &row)) {
        stn_plan_take(plan, &row);
        status = plan->strategy->prepare(plan, error);
    } else
        status =
            stn_fail(error, STN_ERROR_UNSUPPORTED, "no strategy has a kernel for all problems that serves this one");
    if (status == STN_OK)
        *result = plan;
    else
        stn_plan_destroy(plan);
    return status;
}

bool stn_subplan_estimate_generic(const stn_task *task, const stn_machine *machine, stn_estimate *result) {
    const stn_plan plan = {.kind = stn_kinds[STN_KIND_STENCIL], .task = *task, .machine = *machine};
    stn_ranked row;
    if (!stn_plan_generic(&plan, &row)) return false;
    *result = row.estimate;
    return true;
}

/* The plan only borrows its work, so it is never destroyed. */
static bool estimate(stn_plan *plan, const stn_machine *machine, const char *name, stn_estimate *result) {
    plan->machine = *machine;
    stn_plan_rank(plan, name, STN_CANDIDATES);
    if (!plan->ranked || !plan->ranking[0].applies) return false;
    *result = plan->ranking[0].estimate;
    return true;
}

bool stn_subplan_estimate(const stn_task *task, const stn_machine *machine, const char *name, stn_estimate *result) {
    stn_plan plan = {.kind = stn_kinds[STN_KIND_STENCIL], .task = *task};
    return estimate(&plan, machine, name, result);
}

bool stn_subplan_estimate_fft(const stn_fft *fft, const stn_machine *machine, const char *name, stn_estimate *result) {
    stn_plan plan = {.kind = stn_kinds[STN_KIND_FFT], .fft = *fft};
    return estimate(&plan, machine, name, result);
}

stn_status stn_subplan_set_weights(stn_plan *plan, const stn_task *from, stn_error *error) {
    for (size_t i = 0; i < plan->task.ntaps; i++) plan->task.taps[i].weight = from->taps[i].weight;
    return plan->strategy->set_weights(plan, error);
}

void stn_subplan_list_kernels(stn_plan *parent, const stn_plan *plan) {
    for (size_t i = 0; i < plan->nkernels; i++) stn_plan_list_kernel(parent, plan->kernels[i]);
}
