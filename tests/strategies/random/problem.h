/* One problem of the random test, as a value: all of what may be asked of a strategy, drawn from a
 * seed. */
#ifndef STN_TESTS_RANDOM_PROBLEM_H
#define STN_TESTS_RANDOM_PROBLEM_H
#include "../compare.h"

#define RANDOM_TAPS 2048 /* at most */

typedef struct random_problem {
    stn_problem problem; /* but for the stencil: random_stencil_of makes it from the taps */
    int rank;
    size_t ntaps;
    stn_tap taps[RANDOM_TAPS];
    bool new_weights; /* the plan is made for others, then given these */
    bool any_weights; /* the others have another symmetry, other signs, another sum */
    bool positive;    /* data in [0, 1), as `stentor run --size` makes it, instead of [-1, 1) */
    /* Elements from an aligned address to the grids, in multiples of problem.alignment */
    int offset;
    uint64_t data; /* seed of the data */
    /* That the data, the source and constants past sides are multiplied by; 0: 1 */
    double amplitude;
    int times;      /* executions, each looked at; 0: 1 */
    bool workspace; /* the caller's, full of NaN */
    bool online;    /* a plan of STN_MODE_ONLINE is run as well */
} random_problem;

/* Problem `index` of `seed`. large: grids for a GPU instead of for the emulator; wild: see wild.c.
 * Always valid. */
void random_problem_draw(uint64_t seed, uint64_t index, bool large, bool wild, random_problem *r);
/* Points times steps times what a point takes: the emulator's time. */
double random_problem_work(const random_problem *r);

/* How far the taps reach: [axis][side]. */
void random_problem_reach(const random_problem *r, int reach[3][2]);
stn_stencil *random_problem_stencil(const random_problem *r);
/* Is it one at all? Shrinking asks. */
bool random_problem_valid(const random_problem *r);

/* ---- taps.c
 * Taps of any shape, sign and symmetry, axes without reach among them; the symbol is 1 at most. */
void random_taps_draw(dice *d, random_problem *r, bool large);
/* Divides the weights by the largest |symbol|, so that runs of many steps neither grow nor
 * vanish. */
void random_taps_normalise(random_problem *r);
/* Other weights for the same taps, of the same symmetry or not. */
void random_taps_reweigh(dice *d, const random_problem *r, double *weights);

/* ---- wild.c
 * What is rare in use and allowed all the same, each in some of the problems: few taps as far off
 * as may be, weights that are 0 or lie many orders apart; axes of 1 to 5 points, of as many as taps
 * reach, of prime numbers; hundreds of steps; weights and data near the ends of the type's range;
 * any tolerance; several executions, workspaces of the caller's. */
void random_wild_taps(dice *d, random_problem *r);
void random_wild_extents(dice *d, random_problem *r);
void random_wild_steps(dice *d, random_problem *r, bool large);
void random_wild_type(dice *d, stn_problem *p); /* and tolerance */
/* Sizes of numbers, after the steps are known; executions */
void random_wild_numbers(dice *d, random_problem *r);

/* ---- print.c
 * The problem as a `stentor run` command, after one that writes its taps; what a command line
 * cannot say follows as a comment. */
void random_problem_print(const random_problem *r, const char *strategy, int pick);
#endif
