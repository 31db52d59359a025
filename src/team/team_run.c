/* Execution of a team's plan: halo exchanges and runs of several steps alternate. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "plan/plan.h"
#include "team/team_fft.h"
#include "team/team_spectral.h"

/* The caller's grids: parts on the devices of this process's members, or whole grids in host memory
 * (in a team of processes: this one's part). `in` NULL: the run continues from the plan's own
 * grids; `out` NULL: the result stays there. */
typedef struct grids {
    bool whole;
    const void *const *in, *const *source; /* whole: one pointer each */
    void *const *out;
} grids;

/* The index of a member's pointer among the caller's. */
static int pointer_of(const stn_team_plan *plan, bool whole, int m) { return whole || plan->team->ranks ? 0 : m; }

stn_status team_copy_rows(const team_member *member, bool on_host, bool comes, void *to, const void *from, size_t bytes,
                          stn_error *error) {
    if (!member->lane) {
        memcpy(to, from, bytes);
        return STN_OK;
    }
    if (on_host)
        return comes ? stn_memory_upload(member->context, to, from, bytes, error)
                     : stn_memory_download(member->context, to, from, bytes, error);
    return stn_device_copy(member->context->device, to, from, bytes, stn_lane_stream(member->lane), error);
}

/* Copies a part's own rows of all grids of the batch: from the caller's array `given` to the
 * member's grid, or, if `given` is NULL, from the grid to the caller's array `back`. */
static stn_status move_part(const stn_team_plan *plan, int m, bool whole, const void *given, void *back, void *grid,
                            stn_error *error) {
    const team_part *part = &plan->part[m];
    const team_member *member = &plan->team->member[m];
    const size_t bytes = (size_t)(part->rows * plan->row_bytes);
    for (int64_t b = 0; b < plan->batch; b++) {
        unsigned char *const own = (unsigned char *)grid + team_offset(plan, part, b, 0);
        const int64_t at =
            whole && !plan->team->ranks ? (b * plan->rows + part->first) * plan->row_bytes : b * (int64_t)bytes;
        if (given)
            STN_TRY(team_copy_rows(member, whole, true, own, (const unsigned char *)given + at, bytes, error));
        else if (back)
            STN_TRY(team_copy_rows(member, whole, false, (unsigned char *)back + at, own, bytes, error));
    }
    return STN_OK;
}

/* Records a failure of this process. With NCCL alone it cannot be reported to the other processes
 * now, so this process continues the exchanges, without computation, until the agreement at the end
 * of the run. */
stn_status team_record_failure(stn_team_plan *plan, stn_status status) {
    const team_ranks *ranks = plan->team->ranks;
    if (!ranks || ranks->has_mpi || ranks->broken) return status;
    if (status != STN_OK) plan->failed = status;
    return STN_OK;
}

static stn_status load_parts(stn_team_plan *plan, const grids *caller, stn_error *error) {
    for (int m = 0; m < plan->members; m++) {
        const int at = pointer_of(plan, caller->whole, m);
        if (!team_is_here(plan->team, m)) continue;
        if (caller->in) STN_TRY(move_part(plan, m, caller->whole, caller->in[at], NULL, plan->part[m].grid[0], error));
        if (plan->has_source)
            STN_TRY(move_part(plan, m, caller->whole, caller->source[at], NULL, plan->part[m].source, error));
    }
    return STN_OK;
}

static stn_status load(stn_team_plan *plan, const grids *caller, stn_error *error) {
    if (caller->in) plan->at = 0;
    plan->failed = STN_OK;
    STN_TRY(team_record_failure(plan, load_parts(plan, caller, error)));
    STN_TRY(team_mark(plan, error));
    return plan->has_source ? team_exchange(plan, 2, error) : STN_OK;
}

/* Runs a plan of member m. It reads the part's grid number plan->at from row `row` on and writes to
 * `out`. */
static stn_status run_plan(const stn_team_plan *plan, int m, stn_plan *own, int64_t row, void *out,
                           const stn_lane *lane, stn_error *error) {
    const team_part *part = &plan->part[m];
    const int64_t offset = team_offset(plan, part, 0, row);
    stn_execution run = STN_EXECUTION_INIT;
    if (plan->kind) return plan->kind->run(plan, m, own, lane, error);
    team_watch_member(plan, m, &run);
    run.in = (unsigned char *)part->grid[plan->at] + offset, run.out = out;
    run.source = part->source ? (unsigned char *)part->source + offset : NULL;
    run.stream = lane ? stn_lane_stream(lane) : NULL;
    return stn_plan_run(own, &run, error);
}

stn_status team_step(stn_team_plan *plan, bool is_rest, stn_error *error) {
    const int from = plan->at;
    STN_TRY(team_exchange(plan, from, error));
    for (int m = 0; m < plan->members; m++) {
        const team_part *part = &plan->part[m];
        if (team_is_here(plan->team, m) && plan->failed == STN_OK)
            STN_TRY(team_record_failure(plan, run_plan(plan, m, part->plan[is_rest], -part->halo[0], part->grid[!from],
                                                       plan->team->member[m].lane, error)));
    }
    plan->at = !from;
    return team_mark(plan, error);
}

/* ---- runs ------------------------------------------------------------------------------------ */

static stn_status run_steps(stn_team_plan *plan, const grids *caller, stn_error *error) {
    const uint64_t launches = plan->steps / plan->steps_per_exchange;
    const uint64_t all = launches + (plan->steps % plan->steps_per_exchange > 0);
    STN_TRY(load(plan, caller, error));
    if (plan->spectral) {
        STN_TRY(team_spectral_run(plan, error));
        plan->at = !plan->at;
    }
    for (uint64_t i = 0; i < all && !plan->spectral; i++) {
        STN_TRY(team_step(plan, i == launches, error));
        STN_TRY(team_record_failure(plan, team_watch_reach(plan, team_steps_of(plan, i), error)));
    }
    /* A download to host memory does not wait for other streams, so this waits for them. */
    return caller->whole || plan->team->ranks ? team_wait(plan, error) : STN_OK;
}

/* A process without a part exchanges nothing, so it waits here for the whole run. */
stn_status team_agree_at_end(stn_team_plan *plan, uint64_t steps, stn_error *error) {
    if (plan->team->ranks && plan->team->own >= plan->members)
        plan->team->ranks->patience = 1 + ceil((double)steps / (double)plan->steps_per_exchange);
    const stn_status status = team_agree(plan->team, plan->failed, 0, "the end of an execution", NULL, 0, error);
    if (plan->team->ranks) plan->team->ranks->patience = 1;
    return status;
}

/* No process writes its output before all have computed all steps. */
static stn_status run_all(stn_team_plan *plan, const grids *caller, stn_error *error) {
    const stn_status status = team_watch_cancelled(plan, run_steps(plan, caller, error), error);
    if (plan->team->ranks && status != STN_OK) return team_ranks_fail(plan->team->ranks, status, error);
    STN_TRY(status);
    STN_TRY(team_agree_at_end(plan, plan->steps, error));
    for (int m = 0; m < plan->members && caller->out; m++)
        if (team_is_here(plan->team, m))
            STN_TRY(move_part(plan, m, caller->whole, NULL, caller->out[pointer_of(plan, caller->whole, m)],
                              plan->part[m].grid[plan->at], error));
    return STN_OK;
}

static stn_status run_and_wait(stn_team_plan *plan, const grids *caller, stn_error *error) {
    team_watch_begin(plan, plan->steps);
    const stn_status status = team_watch_end(plan, run_all(plan, caller, error), error);
    plan->has_grids = status == STN_OK;
    const stn_status waited = team_wait(plan, status == STN_OK ? error : NULL);
    return status == STN_OK ? waited : status;
}

/* ---- the caller's grids ---------------------------------------------------------------------- */

static stn_status check_given(const stn_team_plan *plan, bool has_input, bool has_source, stn_error *error) {
    if (plan->kind)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the plan is of a system: execute it by stn_team_plan_execute_system or .._system_host");
    if (plan->has_source != has_source)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        plan->has_source ? "the plan has a constant source but none is given: give it in `source`"
                                         : "a source is given but the plan has none: set problem.has_source");
    if (has_input || plan->has_grids) return STN_OK;
    return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                    "a team's run continues from the result of the previous one, and there was none: give the input");
}

static stn_status check_parts(const stn_team_plan *plan, const grids *caller, stn_error *error) {
    STN_TRY(check_given(plan, caller->in != NULL, caller->source != NULL, error));
    for (int m = 0; m < plan->members; m++) {
        const int at = pointer_of(plan, false, m);
        if (!team_is_here(plan->team, m)) continue;
        if ((caller->in && !caller->in[at]) || (caller->out && !caller->out[at]) ||
            (caller->source && !caller->source[at]))
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "member %d of the team has rows, but no pointer to them",
                            m);
    }
    return STN_OK;
}

static stn_status agree_to_run(const stn_team_plan *plan, stn_status status, bool has_input, stn_error *error) {
    return team_agree(plan->team, status, 1 + has_input,
                      has_input ? "an execution from an input" : "an execution that goes on", NULL, 0, error);
}

stn_status stn_team_plan_execute(stn_team_plan *plan, const void *const *in, void *const *out,
                                 const void *const *source, stn_error *error) {
    stn_error spare = {0}; /* for the other processes if the caller passes no error */
    if (!error) error = &spare;
    if (!plan) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_team_plan_execute needs a plan");
    if (plan->fft && source)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "a transform has no source: leave it NULL");
    if (plan->fft) return team_fft_execute(plan, in, out, error);
    const grids caller = {.in = in, .out = out, .source = source};
    STN_TRY(agree_to_run(plan, check_parts(plan, &caller, error), in != NULL, error));
    return run_and_wait(plan, &caller, error);
}

stn_status stn_team_plan_execute_host(stn_team_plan *plan, const void *in, void *out, const void *source,
                                      stn_error *error) {
    stn_error spare = {0};
    if (!error) error = &spare;
    if (!plan) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_team_plan_execute_host needs a plan");
    if (plan->fft && source)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "a transform has no source: leave it NULL");
    if (plan->fft) return team_fft_execute_host(plan, in, out, error);
    const grids caller = {true, in ? &in : NULL, &source, out ? &out : NULL};
    STN_TRY(agree_to_run(plan, check_given(plan, in != NULL, source != NULL, error), in != NULL, error));
    return run_and_wait(plan, &caller, error);
}
