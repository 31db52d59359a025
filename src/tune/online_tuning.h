/* STN_MODE_ONLINE: candidates are tried in the caller's own executions. online_search.h decides
 * which; this file runs them:
 *
 *     open     candidates: the prepared one and other likely ones; a thread compiles missing ones
 *     run      unit by unit (an execution, or a chunk of a long one), on the caller's stream,
 *              between events
 *     close    ends the thread; remembers measured times
 *
 * Chunks pass their state on in the output and in one spare grid, so that the last one writes the
 * output:
 *
 *     in -> chunk 0 -> spare -> chunk 1 -> out -> chunk 2 -> spare -> chunk 3 -> out
 *
 * The caller's workspace holds: [largest candidate workspace][grid for checks][spare grid]. */
#ifndef STN_TUNE_ONLINE_TUNING_H
#define STN_TUNE_ONLINE_TUNING_H
#include "plan/plan.h"

/* Lets tests simulate the GPU: the seconds of a unit of a candidate, and the length of chunks. A
 * context has NULL for real events. */
typedef struct tune_simulation {
    double (*seconds)(void *user, const stn_strategy *strategy, const stn_candidate *candidate);
    void *user;
    double chunk_seconds;
} tune_simulation;

/* Opens a prepared plan: sets plan->online unless there is no other candidate, and enlarges
 * plan->workspace_size. */
void tune_online_open(stn_plan *plan, const char *strategy, double executions);
uint64_t tune_online_chunks(const stn_plan *plan);
stn_status tune_online_run(stn_plan *plan, stn_part chunks, const stn_execution *run, stn_error *error);
/* Gives all candidates new weights; those not yet built get them when built. */
stn_status tune_online_set_weights(stn_plan *plan, size_t count, const double *weights, stn_error *error);
/* The plan that runs now: the given one, or one made from it. */
const stn_plan *tune_online_now(const stn_plan *plan);
void tune_online_describe(const stn_plan *plan, stn_format format, stn_text *text);
void tune_online_close(stn_plan *plan);
#endif
