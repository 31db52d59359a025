/* Trials: one candidate each, which is run, compared with a reference result, and timed: for a few
 * launches on grids like the plan's own (tuner.c), or on the caller's grids
 * (online_tuning.h). */
#ifndef STN_TUNE_TIMING_TRIAL_H
#define STN_TUNE_TIMING_TRIAL_H
#include "context/kernel.h"
#include "plan/plan.h"
#include "tune/time_record.h"

enum { TUNE_SAMPLES = 8, TUNE_ALTERNATE = 8 };

/* Shared by all trials of one plan. Trials on the caller's grids set in, out, reference,
 * workspace and stream for each trial, and reference_steps to the plan's steps. */
typedef struct tune_stage {
    stn_context *context;
    const stn_plan *plan; /* the plan that is tuned, whose work the trials do; borrowed */
    /* Owned: a copy of the plan with its taps rescaled against overflow, else NULL. */
    stn_plan *rescaled;
    stn_kernel_set kernels; /* `fill` and `compare` */
    stn_kernel *fill, *compare;
    stn_timer *timer;
    void *stream;
    void *source;    /* NULL: none */
    void *in, *out;  /* in: NULL if in place */
    void *reference; /* the reference candidate's result */
    /* The other arrays of an execution; reference_operand: the reference results for those that are
     * written */
    void *operand[STN_OPERANDS], *reference_operand[STN_OPERANDS];
    int64_t operand_numbers[STN_OPERANDS];
    /* Written before each sample to flush the L2 cache; NULL: samples may find a warm cache. */
    void *flush;
    void *sums;      /* partial sums of a comparison */
    void *workspace; /* as large as the largest trial so far */
    size_t workspace_size;
    stn_work_shape shape; /* shape of the plan's work */
    int reference_index;  /* among the kind's reference candidates */
    const stn_strategy *reference_strategy;
    stn_candidate reference_candidate;
    /* Steps of the result in `reference`, 1 for a transform; 0: none yet. */
    uint64_t reference_steps;
} tune_stage;

typedef enum tune_state { TUNE_NEW, TUNE_SKIPPED, TUNE_WRONG, TUNE_GOOD } tune_state;

typedef struct tune_trial {
    stn_ranked *row; /* in the ranking; NULL: none */
    const stn_strategy *strategy;
    stn_candidate candidate;    /* the candidate for the whole run */
    double predicted;           /* seconds of the whole run */
    bool is_estimates_choice;   /* STN_MODE_ESTIMATE would run this candidate */
    stn_plan *plan;             /* Owned: the candidate with fewer steps; NULL: not built. */
    stn_compile_batch *missing; /* owned: kernels that it lacked; NULL: none */
    double scale;               /* Factor from the trial's seconds to those of the whole run. */
    bool whole;                 /* It is run with all steps. */
    size_t workspace;           /* bytes that its plan needs */
    double run_seconds;         /* seconds of one execution, roughly */
    int runs_per_sample;        /* executions that one sample times together */
    tune_state state;
    size_t count;
    double samples[TUNE_SAMPLES]; /* seconds of the whole run */
    stn_error why;                /* why it was skipped */
} tune_trial;

/* Lists rows of the plan's ranking that are to be tried, at most `most`, in two parts, both sorted
 * by estimate: first the best row of all and the best row of each strategy except `except`, up to
 * first_limit times the best estimate; then all other rows, up to other_limit times the best
 * estimate. Returns the number of rows; *first_part: of those in the first part. */
size_t tune_select(const stn_plan *plan, const stn_strategy *except, double first_limit, double other_limit,
                   size_t most, const stn_ranked **rows, size_t *first_part);

/* Makes the kernels, the grids with random content, and the timer. After a failure there is nothing
 * to close. */
stn_status tune_stage_open(const stn_plan *plan, tune_stage *stage, stn_error *error);
void tune_stage_close(tune_stage *stage);

/* Makes the two kernels. Missing ones are added to the batch; NULL: they are compiled. */
stn_status tune_stage_kernels(tune_stage *stage, stn_compile_batch *batch, stn_error *error);

/* The number of steps of the trial: those of a few launches, or all of them if trial->whole or if
 * the strategy has no `shorten`. */
uint64_t tune_trial_steps(const stn_plan *plan, const tune_trial *trial);
/* Builds a new trial, from any thread; a failure is kept in the trial. Where kernels are missing,
 * it stays new; once trial->missing is compiled, another call builds it. */
void tune_trial_build(const stn_plan *plan, tune_trial *trial);
/* Runs the trial once and compares every point with the reference result. Its state is then
 * TUNE_GOOD, TUNE_WRONG or TUNE_SKIPPED. `run_seconds` may include the time of loading its code.
 * *difference: relative L2. */
void tune_trial_check(tune_stage *stage, tune_trial *trial, double *difference);
/* Sets `run_seconds` anew, to the seconds of an execution whose code is loaded. */
void tune_trial_time_once(tune_stage *stage, tune_trial *trial);
/* Sets runs_per_sample so that a sample takes about this long, or one execution, if that
 * takes longer. */
void tune_trial_lengthen(tune_trial *trial, double seconds);
/* Adds a sample to each trial in every round, alternately and without waits within a round, so that
 * changes of clocks and heat affect all alike. After the first round, none begins after the
 * deadline (stn_clock_seconds). At most TUNE_ALTERNATE trials. */
void tune_time_alternately(tune_stage *stage, tune_trial *const *trials, size_t count, int rounds, double deadline);
/* Median and minimum of the samples; INFINITY if there is none. */
double tune_trial_median(const tune_trial *trial);
double tune_trial_least(const tune_trial *trial);
void tune_trial_clear(tune_trial *trial);
/* Adds a record for each timed trial in state TUNE_GOOD, and for each trial in state TUNE_WRONG. */
void tune_record_trials(const tune_trial *trials, size_t count, tune_records *records);
/* Logs the result of a trial of the plan. */
void tune_log_trial(const stn_plan *plan, const tune_trial *trial, double difference);
#endif
