/* One strategy on one problem by chance, and a smaller problem that fails in its place. */
#ifndef STN_TESTS_RANDOM_TRIAL_H
#define STN_TESTS_RANDOM_TRIAL_H
#include "problem.h"

typedef struct random_bench { /* what trials run on */
    stn_context *context;
    stn_pool *pool;
    /* On a GPU: memory past the grids is looked at too; the emulator finds who leaves them */
    bool large;
} random_bench;

typedef enum random_verdict { RANDOM_RIGHT, RANDOM_WRONG, RANDOM_REFUSED } random_verdict;
typedef struct random_outcome {
    random_verdict verdict; /* refused: a status that says that this candidate does not serve */
    const char *what;       /* is wrong */
    comparison c;
} random_outcome;

/* Runs the candidate as compare.h counts them; every point, what lies between and beside the
 * points, and the input are looked at. */
void random_trial(const random_bench *bench, const random_problem *r, const char *strategy, int pick,
                  random_outcome *outcome);

/* The names of the strategies that serve the problem, in the table's order or not; returns how
 * many, at most `most`. */
#define RANDOM_STRATEGIES 16
/* In place of a strategy: a plan that changes it between executions */
#define RANDOM_ONLINE "online"
size_t random_strategies(const random_bench *bench, const random_problem *r, char names[][32], size_t most);
/* How many candidates a strategy has; all: those that are only worth measuring too. */
int random_candidates(const random_bench *bench, const random_problem *r, const char *strategy, bool all);
/* A candidate of that strategy: mostly the planner's choice or one of those that it chooses
 * from. */
int random_pick(const random_bench *bench, const random_problem *r, const char *strategy, dice *d);

/* Makes the problem smaller as long as it fails, in at most `trials` trials. */
void random_shrink(const random_bench *bench, random_problem *r, const char *strategy, int *pick, int trials);
#endif
