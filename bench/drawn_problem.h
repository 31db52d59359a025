/* Random stencil problems over everything that the header allows, at sizes for a GPU. */
#ifndef STN_BENCH_DRAWN_PROBLEM_H
#define STN_BENCH_DRAWN_PROBLEM_H
#include "../tests/strategies/random/problem.h"

typedef struct drawn_problem {
    random_problem r;
    stn_stencil *stencil; /* owned; r.problem.stencil is the same */
    size_t bytes;         /* of a grid with its batch */
    char label[320];
} drawn_problem;

/* Draws problem `index` of `seed`: 1 to 3 axes; named stencils, and random weights of any shape,
 * sign and symmetry; sides of any kinds; all dtypes; 10^5 to 2*10^8 points, of odd, prime and
 * aligned extents; 1 to 10^5 steps; sometimes a batch, a tolerance, a source, in place. small: for
 * the emulator. */
bool drawn_problem_make(uint64_t seed, uint64_t index, bool small, drawn_problem *p);
void drawn_problem_clear(drawn_problem *p);
/* A deterministic plan of it that allocates no workspace; strategy NULL: the choice. */
stn_status drawn_problem_plan(stn_context *context, const drawn_problem *p, const char *strategy, bool estimate_only,
                              stn_plan **plan, stn_error *error);
#endif
