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
#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "context/compile_batch.h"
#include "context/kernel.h"
#include "plan/plan.h"
#include "tune/compare_results.h"
#include "tune/online_search.h"

/* Lets tests simulate the GPU: the seconds of a unit of a candidate, and the length of chunks. A
 * context has NULL for real events. */
typedef struct tune_simulation {
    double (*seconds)(void *user, const stn_strategy *strategy, const stn_candidate *candidate);
    void *user;
    double chunk_seconds;
} tune_simulation;

typedef struct online_candidate {
    const stn_strategy *strategy;
    stn_candidate config;
    /* Owned: runs one unit. NULL: not built, or candidate 0 if a unit is the whole run. */
    stn_plan *plan;
    stn_compile_batch *batch; /* owned: its missing kernels */
    stn_error why;            /* of a failure; status STN_OK: none */
} online_candidate;

static inline bool tune_online_is_unbuilt(const online_candidate *candidate) {
    return !candidate->plan && !candidate->why.status;
}

typedef struct stn_online {
    stn_plan *plan; /* the plan that was opened */
    /* Owned: the work of one unit and its ranking, not prepared; candidates are built from it. */
    stn_plan *unit;
    uint64_t chunks;
    tune_search search;
    online_candidate candidates[TUNE_CANDIDATES];
    pthread_mutex_t lock; /* held during executions */
    /* Compiles; device work is done by executions. NULL: no thread could be started. */
    stn_background_compile *background;
    stn_compile_batch *compare_batch; /* owned: the comparison kernel, if it was missing */
    pid_t owner;
    stn_kernel_set kernels; /* the comparison kernel */
    stn_kernel *compare;
    void *sums;
    /* Timers of the move in flight. took: the candidate's run; done: a whole check, with the run of
     * the current candidate and the comparison. */
    stn_timer *took, *done;
    bool in_flight, over; /* over: no trial is left, and the current candidate runs all units */
    tune_move timed_move;
    unsigned left; /* Units of the move that must still run before it is in flight. */
    double behind; /* Executions enqueued after the timed one. */
    /* Bytes of the candidates' workspace and of a grid; offset of the spare grid. */
    size_t inner, grid, spare;
    tune_compared compared; /* the sample of two results */
} stn_online;

/* As in stn_tuner (plan/plan.h). */
void tune_online_open(stn_plan *plan, const char *strategy, double executions);
uint64_t tune_online_chunks(const stn_plan *plan);
stn_status tune_online_run(stn_plan *plan, stn_part chunks, const stn_execution *run, stn_error *error);
stn_status tune_online_set_weights(stn_plan *plan, size_t count, const double *weights, stn_error *error);
const stn_plan *tune_online_now(const stn_plan *plan);
void tune_online_describe(const stn_plan *plan, stn_format format, stn_text *text);
void tune_online_close(stn_plan *plan);
#endif
