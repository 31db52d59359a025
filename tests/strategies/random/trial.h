/* Runs one strategy on one random problem; shrinks a failing problem. */
#ifndef STN_TESTS_RANDOM_TRIAL_H
#define STN_TESTS_RANDOM_TRIAL_H
#include "problem.h"

typedef struct random_bench { /* the devices of trials */
    stn_context *context;
    stn_pool *pool;
    /* On a GPU: memory past the grids is checked too; the emulator detects such accesses itself. */
    bool large;
} random_bench;

typedef enum random_verdict { RANDOM_RIGHT, RANDOM_WRONG, RANDOM_REFUSED } random_verdict;
typedef struct random_outcome {
    random_verdict verdict; /* refused: the candidate does not apply, by its status */
    const char *what;       /* what is wrong */
    comparison c;
} random_outcome;

/* Runs candidate `pick` (compare.h); checks every point, the memory between and around the points,
 * and that the input is unchanged. */
void random_trial(const random_bench *bench, const random_problem *r, const char *strategy, int pick,
                  random_outcome *outcome);

/* Writes the names of the strategies that apply, in any order; returns their number, at most
 * `most`. */
#define RANDOM_STRATEGIES 16
/* Instead of a strategy: an ONLINE plan, which changes it between executions. */
#define RANDOM_ONLINE "online"
size_t random_strategies(const random_bench *bench, const random_problem *r, char names[][32], size_t most);
/* The number of a strategy's candidates; all: with those for measuring only. */
int random_candidates(const random_bench *bench, const random_problem *r, const char *strategy, bool all);
/* Draws a candidate of the strategy: mostly the planner's choice or one that it chooses from. */
int random_pick(const random_bench *bench, const random_problem *r, const char *strategy, dice *d);
/* Draws one of all of its candidates whose names contain `words`, separated by |; -1: there is
 * none. */
int random_pick_words(const random_bench *bench, const random_problem *r, const char *strategy, const char *words,
                      dice *d);

/* Makes the problem smaller as long as it fails, in at most `trials` trials. */
void random_shrink(const random_bench *bench, random_problem *r, const char *strategy, int *pick, int trials);
#endif
