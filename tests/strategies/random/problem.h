/* One problem of the random test, as a value: everything that a strategy may be asked to do, drawn
 * from a seed. */
#ifndef STN_TESTS_RANDOM_PROBLEM_H
#define STN_TESTS_RANDOM_PROBLEM_H
#include "../compare.h"

#define RANDOM_TAPS 16641 /* at most: 129 x 129 */

typedef struct random_problem {
    stn_problem problem; /* without the stencil, which random_stencil_of makes from the taps */
    int rank;
    size_t ntaps;
    stn_tap taps[RANDOM_TAPS];
    bool new_weights; /* the plan is made for other weights, then gets these */
    bool any_weights; /* the other weights differ in symmetry, signs and sum */
    bool positive;    /* data in [0, 1), as in `stentor run --size`, instead of [-1, 1) */
    /* Elements from an aligned address to the grids, in multiples of problem.alignment. */
    int offset;
    uint64_t data; /* seed of the data */
    /* Factor of the data, the source and constants past sides; 0 means 1. */
    double amplitude;
    int times;      /* executions, each checked; 0 means 1 */
    bool workspace; /* the caller's workspace, full of NaN */
    bool online;    /* also run a plan of STN_MODE_ONLINE */
} random_problem;

/* Draws problem `index` of `seed`, always a valid one. large: grids for a GPU, not for the
 * emulator; wild: see wild.c. */
void random_problem_draw(uint64_t seed, uint64_t index, bool large, bool wild, random_problem *r);
/* More steps, up to the limit of its work, for strategies that compute many at once. */
void random_problem_lengthen(dice *d, random_problem *r, bool large);
/* Sometimes makes the grid hardly larger than the taps' reach; layouts stay. */
void random_problem_tighten(dice *d, random_problem *r);
/* Points * steps * operations per point, which determines the emulator's time. */
double random_problem_work(const random_problem *r);

/* The reach of the taps: [axis][side]. */
void random_problem_reach(const random_problem *r, int reach[3][2]);
stn_stencil *random_problem_stencil(const random_problem *r);
/* True if the (shrunk) problem is valid. */
bool random_problem_valid(const random_problem *r);

/* ---- taps.c
 * Draws taps of any shape, sign and symmetry, also without reach along some axes; |symbol| <= 1. */
void random_taps_draw(dice *d, random_problem *r, bool large);
/* Divides the weights by the largest |symbol|, so that runs of many steps neither grow nor
 * vanish. */
void random_taps_normalise(random_problem *r);
/* Draws other weights for the same taps, of the same symmetry or not. */
void random_taps_reweigh(dice *d, const random_problem *r, double *weights);

/* ---- wild.c
 * Rare but allowed values, each in some of the problems: few taps at the largest offsets; weights
 * of 0, or of very different sizes; axes of 1 to 5 points, of the taps' reach, of prime lengths or
 * powers of 2; few long rows; hundreds of steps; weights and data near the limits of the type's
 * range; any tolerance; several executions; caller's workspaces. */
void random_wild_taps(dice *d, random_problem *r);
void random_wild_extents(dice *d, random_problem *r);
void random_wild_steps(dice *d, random_problem *r, bool large);
void random_wild_type(dice *d, stn_problem *p); /* and tolerance */
/* Magnitudes of weights and data, which depend on the steps; executions. */
void random_wild_numbers(dice *d, random_problem *r);

/* ---- print.c
 * Prints the problem as a `stentor run` command, after a command that writes its taps; properties
 * that the command line does not have follow as a comment. */
void random_problem_print(const random_problem *r, const char *strategy, int pick);
#endif
