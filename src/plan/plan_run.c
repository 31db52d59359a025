/* Executing a prepared plan: all of its run, or some of its launches. */
#include <inttypes.h>

#include "base/error.h"
#include "plan/plan.h"

stn_status stn_plan_check_prepared(const stn_plan *plan, stn_error *error) {
    if (!plan->estimate_only) return STN_OK;
    return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                    "this plan was made with estimate_only: make one without it to execute it or set its weights");
}

stn_status stn_plan_run_checked(stn_plan *plan, const stn_execution *run, stn_error *error) {
    STN_TRY(stn_plan_check_prepared(plan, error));
    STN_TRY(stn_plan_check_pointers(plan, run, error));
    if (plan->online) return plan->kind->tuner->run(plan, (stn_part){0, plan->kind->tuner->chunks(plan)}, run, error);
    return stn_snapshots_run(stn_first_result_next(plan, true, run->stream), run, error);
}

/* A stack is several runs, so it has no parts. */
static bool has_parts(const stn_plan *plan) {
    return !plan->estimate_only && !plan->kind->shape(plan).stack && plan->strategy->launches &&
           plan->strategy->execute_part;
}

uint64_t stn_plan_launches(stn_plan *plan) {
    if (plan->online) return plan->kind->tuner->chunks(plan);
    const stn_plan *runs = stn_first_result_next(plan, false, NULL);
    return has_parts(runs) ? runs->strategy->launches(runs) : 1;
}

stn_status stn_plan_execute_part(stn_plan *plan, stn_part part, const stn_execution *run, stn_error *error) {
    uint64_t launches = stn_plan_launches(plan);
    if (part.first > launches || part.count > launches - part.first)
        return stn_fail(error, STN_ERROR_INTERNAL, "a run of %" PRIu64 " launches is asked for those past its last",
                        launches);
    if (part.count == launches) return stn_plan_run_checked(plan, run, error);
    STN_TRY(stn_plan_check_prepared(plan, error));
    STN_TRY(stn_plan_check_pointers(plan, run, error));
    if (!part.count) return STN_OK;
    if (plan->online) return plan->kind->tuner->run(plan, part, run, error);
    stn_plan *runs = stn_first_result_next(plan, part.first + part.count == launches, run->stream);
    return runs->strategy->execute_part(runs, part, run, error);
}
