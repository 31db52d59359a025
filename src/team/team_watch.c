/* Progress and cancellation of a team's executions: members on the host call the caller's function
 * while they compute; launches of GPUs are waited for about every 50 ms. */
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "host/watch.h"
#include "team/team.h"

#define CHUNK_SECONDS 0.05 /* seconds between two waits for launches of GPUs */

struct team_watch {
    stn_progress_fn progress;
    void *user;
    stn_watch watch;
    team_ranks *ranks;      /* NULL: the team is in one process */
    bool has_gpus;          /* members of this process are GPUs */
    uint64_t reached, more; /* steps before the present launch; steps of this launch */
    int member, members;    /* the member that computes; the number of members of this process */
    uint64_t each, since;   /* launches between two waits; launches since the last wait */
    double begun;
};

stn_status stn_team_plan_set_progress(stn_team_plan *plan, stn_progress_fn progress, void *user, stn_error *error) {
    if (!plan) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_team_plan_set_progress needs a plan");
    if (plan->fft && progress)
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "a transform has no steps to report: leave progress NULL");
    free(plan->watch);
    plan->watch = NULL;
    if (!progress) return STN_OK;
    plan->watch = calloc(1, sizeof *plan->watch);
    if (!plan->watch) return stn_fail_memory(error, "a progress function", sizeof *plan->watch);
    plan->watch->progress = progress, plan->watch->user = user;
    return STN_OK;
}

void team_watch_begin(const stn_team_plan *plan, uint64_t total) {
    team_watch *w = plan->watch;
    stn_execution run = STN_EXECUTION_INIT;
    if (!w) return;
    run.progress = w->progress, run.progress_user = w->user;
    stn_watch_begin(&w->watch, &run, total);
    w->ranks = plan->team->ranks, w->has_gpus = !plan->team->on_host;
    w->members = w->ranks ? 1 : plan->members;
    w->reached = 0, w->each = 1, w->since = 0, w->begun = stn_clock_seconds();
}

/* stn_execution.progress of members on the host. */
static int watch_member(void *user, uint64_t done, uint64_t total) {
    team_watch *w = user;
    if (w->ranks && !team_ranks_poll(w->ranks)) return 1;
    const double part = (w->member + (double)done / (double)total) / w->members;
    w->watch.done = w->reached + (uint64_t)((double)w->more * part);
    return !stn_watch_continues(&w->watch);
}

void team_watch_member(const stn_team_plan *plan, int m, stn_execution *run) {
    team_watch *w = plan->watch;
    if (w && !w->has_gpus) {
        w->member = w->ranks ? 0 : m;
        w->more = w->watch.total - w->reached < plan->steps_per_exchange ? w->watch.total - w->reached
                                                                         : plan->steps_per_exchange;
        run->progress = watch_member, run->progress_user = w;
    } else if (plan->team->ranks && !plan->team->ranks->nccl)
        run->progress = team_poll_ranks, run->progress_user = plan->team->ranks;
}

stn_status team_watch_cancelled(const stn_team_plan *plan, stn_status status, stn_error *error) {
    team_watch *w = plan->watch;
    if (!w || status != STN_ERROR_CANCELLED || !atomic_load(&w->watch.cancelled)) return status;
    if (!w->ranks) return stn_watch_end(&w->watch, STN_OK, error);
    return stn_fail(error, status, "the progress function cancelled the execution after about %llu of %llu steps",
                    (unsigned long long)w->watch.done, (unsigned long long)w->watch.total);
}

stn_status team_watch_reach(const stn_team_plan *plan, uint64_t steps, stn_error *error) {
    team_watch *w = plan->watch;
    if (!w) return STN_OK;
    w->reached += steps;
    if (w->has_gpus) {
        if (++w->since < w->each) return STN_OK;
        STN_TRY(team_wait(plan, error));
        const double now = stn_clock_seconds(), wanted = (double)w->each * CHUNK_SECONDS / fmax(now - w->begun, 1e-6);
        w->each = (uint64_t)fmax(1, fmin(wanted, 2 * (double)w->each));
        w->since = 0, w->begun = now;
    }
    w->watch.done = w->reached;
    return stn_watch_continues(&w->watch) ? STN_OK : team_watch_cancelled(plan, STN_ERROR_CANCELLED, error);
}

stn_status team_watch_end(const stn_team_plan *plan, stn_status status, stn_error *error) {
    team_watch *w = plan->watch;
    return w && status == STN_OK ? stn_watch_end(&w->watch, status, error) : status;
}
