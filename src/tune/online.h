/* STN_MODE_ONLINE: the caller's own executions try candidates. search.h decides; this lets it
 * happen:
 *
 *     open     arms: what was prepared, and the likely others; those whose kernels are missing are compiled on a thread
 *     run      unit by unit (an execution, or a leg of a long one): what is to run, on the caller's stream, with events around it
 *     close    the thread ends, what was measured is remembered
 *
 * Legs pass their state on in the output and in one more grid, so that the last one lands in the
 * output:
 *
 *     in -> leg 0 -> spare -> leg 1 -> out -> leg 2 -> spare -> leg 3 -> out
 *
 * The workspace that the caller sees holds all: [the arms', the largest][grid for checks][spare
 * grid]. */
#ifndef STN_TUNE_ONLINE_H
#define STN_TUNE_ONLINE_H
#include "plan/plan.h"

/* Lets tests play the GPU: what a unit of a candidate takes, and how long legs are. Of a context;
 * NULL: events. */
typedef struct tune_play {
    double (*seconds)(void *user, const stn_strategy *strategy, const stn_candidate *candidate);
    void *user;
    double leg_seconds;
} tune_play;

/* Of a prepared plan; afterwards it has plan->online, or where there is nothing to try it does not.
 * Grows plan->workspace_size. */
void tune_online_open(stn_plan *plan, const char *strategy, double executions);
uint64_t tune_online_legs(const stn_plan *plan);
stn_status tune_online_run(stn_plan *plan, stn_part legs, const stn_execution *run, stn_error *error);
/* All arms get new weights, those that are not built yet when they are. */
stn_status tune_online_set_weights(stn_plan *plan, size_t count, const double *weights, stn_error *error);
/* The plan, or the one made of it, that runs now; its candidate. */
const stn_plan *tune_online_now(const stn_plan *plan);
const stn_strategy *tune_online_strategy(const stn_plan *plan, stn_candidate *candidate);
void tune_online_describe(const stn_plan *plan, stn_format format, stn_text *text);
void tune_online_close(stn_plan *plan);
#endif
