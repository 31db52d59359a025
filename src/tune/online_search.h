/* Decides which candidate runs the next unit of a user's own work (STN_MODE_ONLINE). Plain
 * arithmetic: it knows neither plans nor GPUs, so that tests can simulate the GPU.
 *
 * A unit is one execution, or one chunk of a long one. Candidate 0 is the estimate's choice: it is
 * trusted, and losses are counted against it.
 * The states of each other candidate:
 *
 *     waiting -> ready    its kernels are compiled
 *             -> checked  its result is right; it is timed alternately with the current one
 *             -> current, or out
 *
 * A candidate is tried if its expected gain in the remaining units exceeds the cost of its trial;
 * the one with the largest gain per cost comes first. The expected time is its estimate, corrected
 * by the bias that the strategy's timed candidates show. A check costs one more run; a wrong result
 * never reaches the user. The loss against the estimate's choice stays within TUNE_REGRET of the
 * units that are done or known to come. The current candidate is timed anew next to each
 * challenger, because clocks drift by more than candidates differ. Several short units are timed as
 * one sample; units of a few microseconds have the smaller bound TUNE_REGRET_SHORT. */
#ifndef STN_TUNE_ONLINE_SEARCH_H
#define STN_TUNE_ONLINE_SEARCH_H
#include <stdbool.h>
#include <stddef.h>

/* The most candidates of a plan, and the most samples of one trial. */
enum { TUNE_CANDIDATES = 8, TUNE_CANDIDATE_SAMPLES = 7 };
/* After TUNE_SAMPLES_LEAST samples a candidate is out if both its median and its minimum are
 * slower, and it takes over if it is faster by TUNE_BEHIND_RATIO. After TUNE_SAMPLES_SURE samples
 * TUNE_FASTER_RATIO suffices. If median and minimum disagree, more samples are taken: they cost
 * only the difference of the two times, while a check costs a whole run. */
enum { TUNE_SAMPLES_LEAST = 3, TUNE_SAMPLES_SURE = 5 };
/* The largest loss of a search, as a part of the time that the estimate's choice would take. */
#define TUNE_REGRET 0.05
/* The true time may be this many times the expected one: the worst seen was 2.46. */
#define TUNE_WORST_RATIO 2.5
/* Ratios of a candidate's time to that of the current one. Above TUNE_SLOW_RATIO the candidate is
 * out after one sample, above TUNE_BEHIND_RATIO after two samples; below TUNE_FASTER_RATIO it takes
 * over. */
#define TUNE_SLOW_RATIO 2.0
#define TUNE_BEHIND_RATIO 1.03
#define TUNE_FASTER_RATIO 0.995

/* Mean relative error of an estimate. Fitted on recorded candidates of 87 problems; 0.05 to 0.12
 * lose hardly more. */
#define TUNE_SPREAD 0.07
/* Weight of the prior that a strategy's estimates have no bias, in timed candidates. The candidates
 * that are timed first have the lowest estimates and thus a larger bias than the others. Fitted on
 * recordings. */
#define TUNE_BIAS_WEIGHT 0.5
/* A trial that costs at most this part of the remaining time is always made. */
#define TUNE_NEGLIGIBLE 3e-3
/* If the number of units is known, the largest part of the run's time for all trials together.
 * Fitted on recorded candidates of 87 problems; 0.013 to 0.017 are alike. */
#define TUNE_TRIALS 0.014

#define TUNE_TICK 0.5e-6 /* resolution of the timing by events, in seconds */
/* Least seconds of a sample, which consists of as many consecutive units as necessary: then
 * TUNE_TICK is half a percent of it. */
#define TUNE_SPAN 100e-6
/* Units shorter than this many seconds have the bound TUNE_REGRET_SHORT. */
#define TUNE_SHORT 30e-6
/* The bound for short units, on which little can be gained, while a check costs as much as several
 * of them. */
#define TUNE_REGRET_SHORT 0.01

typedef enum tune_candidate_state {
    TUNE_CANDIDATE_WAITING,
    TUNE_CANDIDATE_READY,
    TUNE_CANDIDATE_CHECKED,
    TUNE_CANDIDATE_OUT
} tune_candidate_state;

typedef struct tune_candidate {
    double predicted;     /* seconds of a unit */
    const void *strategy; /* identifies the strategy; it is only compared */
    tune_candidate_state state;
    unsigned count;
    double samples[TUNE_CANDIDATE_SAMPLES]; /* seconds of a unit */
    /* Seconds of a unit: those of its check, or the median of discarded samples; 0: not known. */
    double known;
} tune_candidate;

typedef struct tune_search {
    tune_candidate candidates[TUNE_CANDIDATES];
    size_t count;
    size_t current; /* index of the candidate that runs */
    double compare; /* estimated seconds of a comparison of two results */
    double lost;    /* seconds lost so far, compared with the estimate's choice */
    double spent;   /* seconds of all trials, less the current candidate's for their units */
    double units;   /* number of units done */
    double known;   /* least number of units that will be run; 0: not known */
    bool frozen;    /* no more trials */
} tune_search;

typedef struct tune_move {
    size_t candidate;
    bool check;     /* Run it next to the current candidate, whose result is the user's. */
    bool timed;     /* Report the time it took. */
    unsigned units; /* Consecutive units that are timed together. */
    /* Seconds of a whole check, with the run next to it and the comparison; 0: not known. */
    double whole;
} tune_move;

/* Median and minimum of at most TUNE_SAMPLES samples; INFINITY if there is none. */
enum { TUNE_SAMPLES = 8 };
double tune_median(const double *samples, size_t count);
double tune_least(const double *samples, size_t count);

/* Returns what the next unit runs. Before the first call, the caller sets the candidates, with
 * candidate 0 in the state TUNE_CANDIDATE_CHECKED. */
tune_move tune_search_next(tune_search *search);
/* Updates the search with a finished move. seconds: of one unit; 0: not timed or not known. right:
 * the result of the check. */
void tune_search_update(tune_search *search, const tune_move *move, double seconds, bool right);
/* Is a candidate worth its trial, within the bound on all trials? If the number of units is known,
 * a candidate for which this is false will never be worth it. The candidate may be in any state. */
bool tune_search_wants(const tune_search *search, size_t candidate);
/* True if no trial is left: then the current candidate runs all further units. */
bool tune_search_over(const tune_search *search);
/* Expected seconds of a unit: the median of its samples, else the estimate corrected by its
 * bias. */
double tune_search_expects(const tune_search *search, size_t candidate);
#endif
