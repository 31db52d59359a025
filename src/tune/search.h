/* Which candidate runs the next unit of a user's own work: the search behind STN_MODE_ONLINE, as
 * arithmetic alone. It knows neither plans nor GPUs, so tests play the GPU.
 *
 * A unit is one execution, or one leg of a long one. Arm 0 is what was ready first and is trusted.
 * Each other arm is
 *
 *     waiting -> ready (its kernels are there) -> checked (its result is right) -> timed by turns with the one that runs
 *                                                   -> the one that runs, or out
 *
 * An arm is tried where it is expected to win more in the units that are left than its trial takes;
 * that goes by how its estimate, and those of the arms that were timed, have fared; first comes
 * what is expected to win the most for what its trial takes. A check costs its run besides the
 * unit's own; a wrong result never reaches the user. What the search loses against the estimate's
 * choice stays within REGRET of the units that are done, or known to come. The one that runs is
 * timed anew beside each challenger: clocks drift by more than candidates differ. Short units are
 * timed several at once, and those of a few microseconds are tried as far as a smaller regret
 * allows. */
#ifndef STN_TUNE_SEARCH_H
#define STN_TUNE_SEARCH_H
#include <stdbool.h>
#include <stddef.h>

enum { TUNE_ARMS = 8, TUNE_ARM_SAMPLES = 7 }; /* a trial ends with so many at most */
/* After TUNE_ARM_LEAST an arm is out that is slower by median and least, and one takes over that is
 * faster by TUNE_ARM_BEHIND; by TUNE_ARM_GAIN one does after TUNE_ARM_SURE, for after three it is
 * chance too often. Where median and least disagree more are taken: they cost what an arm is slower
 * by, a check its whole run (bench/results/2026-11-25-online-played.md). */
enum { TUNE_ARM_LEAST = 3, TUNE_ARM_SURE = 5 };
#define TUNE_REGRET 0.05     /* of the time that the estimate's choice would have taken */
#define TUNE_SURPRISE 2.5    /* a candidate may take so many times what it is expected to: the worst seen was 2.46 */
#define TUNE_ARM_SLOW 2.0    /* times the one that runs: out after one sample */
#define TUNE_ARM_BEHIND 1.03 /* times the one that runs: out after two samples, if both are */
#define TUNE_ARM_GAIN 0.995  /* times the one that runs: below it takes over (bench/results/2026-11-24-regret-6.md) */

/* How far off an estimate is in the mean, as a part, and so many timed arms' worth is that
 * believed: of 87 problems' candidates, each tried against 40 played GPUs, these lose the least,
 * 0.05 to 0.12 and 1 to 4 hardly more (bench/results/2026-11-23-planning-2.md). */
#define TUNE_SPREAD 0.07
#define TUNE_SPREAD_TRUST 4
/* That a strategy's estimates are right in the mean is believed as much as half a timed arm says:
 * arms that were timed first are those whose estimates are the lowest, so that they are off by more
 * than the others are. Of two recordings' candidates 0.64 and 0.81 of what the estimate's choice is
 * off by holds for another of its strategy (bench/results/2026-11-25-online-played.md). */
#define TUNE_FARES_TRUST 0.5
#define TUNE_TRIFLE 3e-3 /* of what is left: a trial that takes no more is made */
/* Of a run whose units are known, what all trials together may take beside the one that runs: of 87
 * problems' candidates 16% of the played runs lost over 2% without this bound, 10% with 0.013 to
 * 0.02 (bench/results/2026-11-23-regret-3.md); since results are compared by a sample 3.6% with
 * 0.014 to 0.017, with fewer and more 4.4 to 5.1 (2026-11-24-first-results-2.md); since samples go
 * on where they disagree 0.013 to 0.016 are alike (2026-11-25-online-played.md). */
#define TUNE_TRIALS 0.014

#define TUNE_TICK 0.5e-6       /* seconds: what events tell no difference below */
#define TUNE_SPAN 100e-6       /* a sample is of so many units in turn as take this: a tick is half a percent of it */
#define TUNE_SHORT 30e-6       /* of a unit: then TUNE_REGRET_SHORT holds */
#define TUNE_REGRET_SHORT 0.01 /* there is little to win, and each check costs as much as several units */

typedef enum tune_arm_state { TUNE_ARM_WAITING, TUNE_ARM_READY, TUNE_ARM_CHECKED, TUNE_ARM_OUT } tune_arm_state;

typedef struct tune_arm {
    double predicted;     /* seconds of a unit */
    const void *strategy; /* whose it is: only compared */
    tune_arm_state state;
    unsigned count;
    double samples[TUNE_ARM_SAMPLES]; /* seconds of a unit */
    double known;                     /* their median, before they were forgotten; 0: never */
} tune_arm;

typedef struct tune_search {
    tune_arm arms[TUNE_ARMS];
    size_t count;
    size_t current;   /* the arm that runs */
    size_t estimated; /* what ESTIMATE would run: losses are counted against it, and it is always tried */
    double compare;   /* seconds of comparing two results, as was guessed, then as checks took */
    double lost;      /* seconds, against the estimate's choice */
    double spent;     /* seconds of trials, beside what ran at the time */
    double units;     /* done */
    double known;     /* units that will be run at least; 0: not known */
    double spread;    /* how far off what is expected of them timed arms were, as a part; 0: none was timed */
    bool frozen;      /* no more trials */
} tune_search;

typedef struct tune_move {
    size_t arm;
    bool check;     /* run it beside the current arm, whose result is the user's */
    bool timed;     /* tell what it took */
    unsigned units; /* that it is, one after the other, timed together */
    double
        whole; /* seconds of all of a check, the run that it was beside and the comparison among them; 0: not known */
} tune_move;

/* Arms are set by the caller, with arm 0 checked. */
tune_move tune_search_next(tune_search *search);
/* A move is done. seconds: of a unit of its arm, 0: not timed or not known. right: its result,
 * where it was checked. */
void tune_search_told(tune_search *search, const tune_move *move, double seconds, bool right);
/* Is an arm worth its trial, and does what all trials may take allow it? False where units are
 * known: it never will be. Arms that wait may be asked for. */
bool tune_search_wants(const tune_search *search, size_t arm);
/* Nothing is left to try: current runs for good. */
bool tune_search_over(const tune_search *search);
/* Seconds of a unit: the median of its samples, else what is expected of it, measured against the
 * one that runs. */
double tune_search_expects(const tune_search *search, size_t arm);
#endif
