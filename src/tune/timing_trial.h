/* Trials: one candidate each, run for a few launches on grids like the plan's own, compared with
 * the reference candidate, and timed. */
#ifndef STN_TUNE_TIMING_TRIAL_H
#define STN_TUNE_TIMING_TRIAL_H
#include "context/kernel.h"
#include "plan/plan.h"
#include "tune/online_search.h"

/* Shared by all trials of one plan. */
typedef struct tune_stage {
    stn_context *context;
    /* The plan whose work trials do: the whole run, or a transform; borrowed. */
    const stn_plan *plan;
    /* Owned: a copy of the plan with its taps rescaled against overflow, else NULL. */
    stn_plan *rescaled;
    stn_kernel_set kernels; /* the following two */
    stn_kernel *fill, *compare;
    stn_timer *timer;
    void *source;          /* NULL: none */
    void *in, *out, *want; /* want: the reference candidate's result. `in` is NULL if in place. */
    /* The other arrays of an execution; want_operand: the reference results for those that are
     * written */
    void *operand[STN_OPERANDS], *want_operand[STN_OPERANDS];
    int64_t operand_numbers[STN_OPERANDS];
    /* Written before each sample to flush the L2 cache; NULL: samples may find a warm cache. */
    void *flush;
    void *sums;      /* partial sums of a comparison */
    void *workspace; /* as large as the largest trial so far */
    size_t workspace_size;
    stn_work_shape shape;          /* shape of the plan's work */
    int which;                     /* index of the kind's reference candidate */
    const stn_strategy *reference; /* strategy of the reference candidate */
    stn_candidate trusted;         /* the reference candidate */
    /* Steps of the result in `want`, 1 for a transform; 0: none yet. */
    uint64_t want_steps;
} tune_stage;

typedef enum tune_state { TUNE_NEW, TUNE_SKIPPED, TUNE_WRONG, TUNE_GOOD } tune_state;

typedef struct tune_trial {
    const stn_strategy *strategy;
    stn_candidate candidate; /* the candidate for the whole run */
    double predicted;        /* seconds of the whole run */
    bool estimated;          /* it is the one that STN_MODE_ESTIMATE would run */
    stn_plan *plan;          /* Owned: the candidate with fewer steps; NULL if it was skipped. */
    double scale;            /* Factor from the trial's seconds to those of the whole run. */
    double once;             /* seconds of one execution, roughly */
    int repeats;             /* Executions that one sample times together. */
    tune_state state;
    size_t count;
    double samples[TUNE_SAMPLES]; /* seconds of the whole run */
    stn_error why;                /* why it was skipped */
} tune_trial;

/* Lists rows of the plan's ranking that are to be tried, at most `most`: the best row of each
 * strategy but `had`, up to `dominated` times the best estimate; then all others up to `likely`
 * times it. Both are sorted by estimate. Returns their number. */
size_t tune_select(const stn_plan *plan, const stn_strategy *had, double dominated, double likely, size_t most,
                   const stn_ranked **rows);

/* Makes the kernels, the grids with random content, and the timer. After a failure there is nothing
 * to close. */
stn_status tune_stage_open(const stn_plan *plan, tune_stage *stage, stn_error *error);
void tune_stage_close(tune_stage *stage);

/* Steps of the trial: a few launches. */
uint64_t tune_trial_steps(const stn_plan *plan, const tune_trial *trial);
/* Compiles and builds, from any thread; a failure is kept in the trial. With a batch, missing
 * kernels are added to it, and the trial stays new where there are some. */
void tune_trial_build(const stn_plan *plan, stn_compile_batch *batch, tune_trial *trial);
/* Runs the trial once, compares every point with the reference candidate, and runs it again to time
 * it roughly. Its state is then TUNE_GOOD, TUNE_WRONG or TUNE_SKIPPED. *difference: relative L2. */
void tune_trial_check(tune_stage *stage, tune_trial *trial, double *difference);
/* Sets the repeats so that a sample takes about this long, or one execution. */
void tune_trial_lengthen(tune_trial *trial, double seconds);
/* Adds a sample, in two halves, so that several trials can follow each other without waits: start
 * enqueues the runs between two events, take reads the time. */
void tune_trial_start(tune_stage *stage, tune_trial *trial, stn_timer *timer);
void tune_trial_take(tune_trial *trial, stn_timer *timer);
/* Median and minimum of the samples; INFINITY if there is none. */
double tune_trial_median(const tune_trial *trial);
double tune_trial_least(const tune_trial *trial);
void tune_trial_clear(tune_trial *trial);
/* Counts a trial that was not measured in plan->skips, by the reason. */
void tune_count_skip(stn_plan *plan, const tune_trial *trial);
#endif
