/* Trials: one candidate each, run for a few launches on grids like the plan's own, compared with
 * the trusted one, timed. */
#ifndef STN_TUNE_TRIAL_H
#define STN_TUNE_TRIAL_H
#include "context/kernel.h"
#include "plan/plan.h"

/* What all trials of one plan's work share. */
typedef struct tune_stage {
    stn_context *context;
    const stn_plan *plan; /* whose work trials do: the whole run, or a transform; borrowed */
    stn_plan *calmed;     /* owned: what `plan` is where the given one's values would overflow; else NULL */
    stn_kernel *fill, *compare;
    stn_timer *timer;
    void *source;          /* NULL: none */
    void *in, *out, *want; /* want: what the trusted candidate made of `in`; in place there is no `in` */
    /* Likewise what an execution brings besides, and of that which is written, what the trusted
     * candidate made. */
    void *operand[STN_OPERANDS], *want_operand[STN_OPERANDS];
    int64_t operand_numbers[STN_OPERANDS];
    void *sweep;     /* written before each sample where the L2 cache shall be cold; else NULL */
    void *sums;      /* of the comparison's blocks */
    void *workspace; /* as large as a trial has needed so far */
    size_t workspace_size;
    stn_work_shape shape;      /* of the plan's work */
    int which;                 /* of the kind's judges */
    const stn_strategy *judge; /* what it says is right */
    stn_candidate trusted;     /* of the judge */
    uint64_t want_steps;       /* that `want` holds, 1 of a transform; 0: nothing yet */
} tune_stage;

typedef enum tune_state { TUNE_NEW, TUNE_SKIPPED, TUNE_WRONG, TUNE_GOOD } tune_state;
enum { TUNE_SAMPLES = 8 };

typedef struct tune_trial {
    const stn_strategy *strategy;
    stn_candidate candidate; /* of the whole run */
    double predicted;        /* seconds of the whole run */
    stn_plan *plan;          /* owned: the candidate, shortened; NULL when it was skipped */
    double scale;            /* from the trial's seconds to those of the whole run */
    double once;             /* seconds of one execution, roughly */
    int repeats;             /* executions that one sample times together */
    tune_state state;
    size_t count;
    double samples[TUNE_SAMPLES]; /* seconds of the whole run */
    stn_error why;                /* it was skipped */
} tune_trial;

/* Kernels, grids with random content, timer. On failure nothing is left to close. */
stn_status tune_stage_open(const stn_plan *plan, tune_stage *stage, stn_error *error);
void tune_stage_close(tune_stage *stage);

/* That the candidate is run for: a few launches' worth. */
uint64_t tune_trial_steps(const stn_plan *plan, const tune_trial *trial);
/* Compiles. From any thread; what fails is in the trial. */
void tune_trial_build(const stn_plan *plan, tune_trial *trial);
/* Runs it once, compares every point with the trusted candidate, and runs it again to know how long
 * it takes: the trial is then good, wrong or skipped. *difference: relative L2. */
void tune_trial_check(tune_stage *stage, tune_trial *trial, double *difference);
/* From now on a sample takes about so long, or one execution. */
void tune_trial_lengthen(tune_trial *trial, double seconds);
/* Adds a sample. */
void tune_trial_time(tune_stage *stage, tune_trial *trial);
/* The same in two halves, so that several trials follow each other with no wait between: the runs,
 * with events around them, and what they took. */
void tune_trial_start(tune_stage *stage, tune_trial *trial, stn_timer *timer);
void tune_trial_take(tune_trial *trial, stn_timer *timer);
/* Of its samples; INFINITY where there is none. */
double tune_trial_median(const tune_trial *trial);
double tune_trial_least(const tune_trial *trial);
void tune_trial_clear(tune_trial *trial);
/* Counts one that was not measured, by what it ran into, in plan->skips. */
void tune_count_skip(stn_plan *plan, const tune_trial *trial);
#endif
