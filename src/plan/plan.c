/* Plans as a caller has them: made, executed, given new weights. */
#include "plan/plan.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/grown.h"

stn_status stn_plan_make(stn_context *context, const stn_kind *kind, const void *work, const stn_plan_options *given,
                         stn_plan **result, stn_error *error) {
    if (!result) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "a plan is to be made but has no place to go");
    *result = NULL;
    if (!context) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "a plan needs a context");
    stn_plan_options options;
    STN_TRY(stn_read_grown("stn_plan_options", given, &options, sizeof options, error));
    STN_TRY(stn_plan_check_name(kind, options.strategy, error));
    if (!(options.tune_seconds >= 0))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "tune_seconds is %g: give 0 for the default, or more",
                        options.tune_seconds);
    stn_plan *plan = calloc(1, sizeof *plan);
    if (!plan) return stn_fail_memory(error, "a plan", sizeof *plan);
    plan->context = context;
    plan->kind = kind;
    plan->machine = *stn_context_machine(context);
    plan->caller_workspace = options.no_auto_workspace != 0;
    plan->estimate_only = options.estimate_only != 0;

    stn_status status;
    STN_TRY_GOTO(status, kind->make(plan, work, error), failed);
    STN_TRY_GOTO(status, stn_plan_choose(plan, &options, error), failed);
    if (!plan->estimate_only) STN_TRY_GOTO(status, stn_plan_prepare(plan, error), failed);
    if (!plan->estimate_only) STN_TRY_GOTO(status, stn_snapshots_prepare(plan, error), failed);
    if (plan->workspace_size && !plan->caller_workspace && (plan->machine.present || !plan->machine.is_device))
        STN_TRY_GOTO(status, stn_memory_alloc(context, plan->workspace_size, &plan->workspace, error), failed);
    *result = plan;
    return STN_OK;
failed:
    stn_plan_destroy(plan);
    return status;
}

stn_status stn_plan_execute(stn_plan *plan, const void *in, void *out, void *stream, stn_error *error) {
    if (!plan) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_plan_execute needs a plan");
    if (plan->caller_workspace && plan->workspace_size)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "this plan was made without a workspace: use stn_plan_execute_with and bring %zu bytes",
                        plan->workspace_size);
    return stn_plan_execute_with(plan, in, out, plan->workspace, stream, error);
}

static stn_status check_prepared(const stn_plan *plan, stn_error *error) {
    if (!plan->estimate_only) return STN_OK;
    return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                    "this plan was made with estimate_only: make one without it to execute it or set its weights");
}

static stn_status run_checked(stn_plan *plan, const stn_execution *run, stn_error *error) {
    STN_TRY(check_prepared(plan, error));
    STN_TRY(stn_plan_check_pointers(plan, run, error));
    return stn_snapshots_run(plan, run, error);
}

stn_status stn_plan_execute_with(stn_plan *plan, const void *in, void *out, void *workspace, void *stream,
                                 stn_error *error) {
    if (!plan) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_plan_execute_with needs a plan");
    return run_checked(plan, &(stn_execution){.in = in, .out = out, .workspace = workspace, .stream = stream}, error);
}

stn_status stn_plan_run(stn_plan *plan, const stn_execution *execution, stn_error *error) {
    if (!plan || !execution)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_plan_run needs a plan and a stn_execution");
    stn_execution run;
    STN_TRY(stn_read_grown("stn_execution", execution, &run, sizeof run, error));
    if (!run.workspace) run.workspace = plan->workspace;
    return run_checked(plan, &run, error);
}

/* A stack's snapshots are runs of their own. */
static bool has_parts(const stn_plan *plan) {
    return !plan->estimate_only && plan->task.snapshots <= 1 && plan->strategy->launches &&
           plan->strategy->execute_part;
}

uint64_t stn_plan_launches(const stn_plan *plan) { return has_parts(plan) ? plan->strategy->launches(plan) : 1; }

stn_status stn_plan_execute_part(stn_plan *plan, stn_part part, const stn_execution *run, stn_error *error) {
    uint64_t launches = stn_plan_launches(plan);
    if (part.first > launches || part.count > launches - part.first)
        return stn_fail(error, STN_ERROR_INTERNAL, "a run of %" PRIu64 " launches is asked for those past its last",
                        launches);
    if (part.count == launches) return run_checked(plan, run, error);
    STN_TRY(check_prepared(plan, error));
    STN_TRY(stn_plan_check_pointers(plan, run, error));
    return part.count ? plan->strategy->execute_part(plan, part, run, error) : STN_OK;
}

size_t stn_plan_workspace_size(const stn_plan *plan) { return plan ? plan->workspace_size : 0; }
const char *stn_plan_strategy(const stn_plan *plan) { return plan ? plan->strategy->name : ""; }
double stn_plan_predicted_seconds(const stn_plan *plan) { return plan ? plan->estimate.seconds : 0; }

stn_status stn_plan_set_weights(stn_plan *plan, size_t count, const double *weights, stn_error *error) {
    if (!plan || !weights)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_plan_set_weights needs a plan and weights");
    if (!plan->kind->set_weights)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "a transform has no weights to set");
    STN_TRY(check_prepared(plan, error));
    return plan->kind->set_weights(plan, count, weights, error);
}
