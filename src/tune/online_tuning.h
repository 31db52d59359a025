/* STN_MODE_ONLINE: other candidates are tried in the caller's own executions.
 *
 *     open     chooses the rivals of the plan's own choice; a thread compiles their kernels
 *     run      part by part (an execution, or a chunk of a long one). After a part, the next rival
 *              may have its trial: it repeats the part into a grid of its own, which is compared
 *              with the caller's result; if it is right, both are timed alternately on the same
 *              part. If the rival is faster, it runs the following parts.
 *     close    ends the thread; remembers measured times
 *
 * A trial begins only if an upper bound of its cost, plus the cost of all earlier trials, is at
 * most TUNE_SHARE of the seconds of all parts that are done or known to come. The bound holds if
 * the rival takes at most TUNE_WORST times its estimate.
 *
 * Chunks pass their state on in the output and in one spare grid, so that the last one writes the
 * output:
 *
 *     in -> chunk 0 -> spare -> chunk 1 -> out -> chunk 2 -> spare -> chunk 3 -> out
 *
 * The caller's workspace holds: [largest candidate workspace][grid for trials][spare grid]. There
 * is no spare grid if a part is a whole execution. */
#ifndef STN_TUNE_ONLINE_TUNING_H
#define STN_TUNE_ONLINE_TUNING_H
#include <pthread.h>
#include <sys/types.h>

#include "context/compile_batch.h"
#include "plan/plan.h"
#include "tune/timing_trial.h"

enum { TUNE_RIVALS = 3, TUNE_ROUNDS = 2 };
/* A candidate is a rival only if its estimate is at most this many times the best one. */
#define TUNE_LIKELY 1.5
#define TUNE_WORST 2.5
#define TUNE_SHARE 0.02
/* A rival is faster if its times are below this part of the current candidate's. */
#define TUNE_FASTER 0.98
/* A sample repeats executions for about this long; it has at least one. */
#define TUNE_SAMPLE_SECONDS 1e-4
/* Seconds for loading code at first launches and for waits of the host, as measured on an H200. */
#define TUNE_LOAD_SECONDS 0.3e-3

typedef struct stn_online {
    stn_plan *plan; /* the plan that was opened */
    /* Owned: the work of one part and its ranking, not prepared; candidates are built from it. */
    stn_plan *one_part;
    uint64_t chunks; /* parts of an execution */
    /* [0]: the plan's choice, whose plan is the opened one if a part is a whole execution */
    tune_trial trials[1 + TUNE_RIVALS];
    stn_compile_batch *check_kernels; /* owned: tune_fill and tune_compare, if missing */
    size_t count, current;            /* number of trials; index of the one that runs */
    size_t next;                      /* the rival that is tried next; count: no trial is left */
    double seconds;                   /* of a part of the current trial: estimate, or last time */
    double trial_seconds;             /* seconds of all trials */
    double parts_done;                /* number of parts done */
    double known_parts;               /* least number of parts that will be run; 0: not known */

    pthread_mutex_t lock;               /* held during executions */
    stn_background_compile *background; /* NULL: no thread could be started */
    pid_t owner;
    tune_stage stage;
    stn_timer *trial_timer;           /* times a whole trial */
    size_t candidate_workspace, grid; /* bytes */
} stn_online;

/* As in stn_tuner (plan/plan.h). */
void tune_online_open(stn_plan *plan, const char *strategy, double executions);
uint64_t tune_online_chunks(const stn_plan *plan);
stn_status tune_online_run(stn_plan *plan, stn_part chunks, const stn_execution *run, stn_error *error);
stn_status tune_online_set_weights(stn_plan *plan, size_t count, const double *weights, stn_error *error);
const stn_plan *tune_online_current(const stn_plan *plan);
void tune_online_describe(const stn_plan *plan, stn_format format, stn_text *text);
void tune_online_close(stn_plan *plan);
#endif
