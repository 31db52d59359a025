/* Functions shared by the tests of strategies: parts that run alone or together, TAP, problems with
 * random boundary conditions. */
#ifndef STN_TESTS_SUITE_H
#define STN_TESTS_SUITE_H
#include "compare.h"

typedef struct suite {
    stn_context *context; /* of a GPU, or of the emulator */
    stn_pool *pool;
    bool full;        /* --full: every case, not CI's slice */
    bool dtype_given; /* --dtype f32, --tolerance 5e-4: instead of the problems' own */
    stn_dtype dtype;
    double tolerance;
    const char *strategy; /* --strategy NAME, for the tests that take it; NULL: their own */
    int run, failed;
    double worst; /* error over bar of the cases that passed */
} suite;

typedef struct suite_part {
    const char *name;
    void (*run)(suite *);
} suite_part;

extern const char *const side_names[6]; /* by stn_boundary_kind */
extern const char *const taps_names[3]; /* by taps_kind */

/* Every pair of kinds of sides on every axis of grids of up to three axes, the other sides random
 * (a side that wraps only with itself): each call finds the next pair, and random numbers that
 * belong to it; false: there is none. Without --full one pair in `share`, in 3D one in
 * `share_3d`. */
typedef struct side_pair {
    int rank, axis, next; /* set rank to the first one, and next to 0 */
    stn_boundary sides[2];
    dice d;
    char what[64];
} side_pair;
bool suite_side_pair(const suite *s, int last_rank, int share, int share_3d, side_pair *pair);
/* Gives the problem the pair, and random other sides. */
void suite_set_sides(side_pair *pair, stn_problem *p);

/* Prints one line of TAP; detail (may be NULL) follows a failure. */
void suite_report(suite *s, bool good, const char *what, const char *detail);
/* The problem with the dtype and tolerance of the command line, if any. */
stn_problem suite_problem(const suite *s, const stn_problem *problem);
/* Compares with the host as compare_with_host does and reports. */
void suite_compare(suite *s, const char *strategy, bool fused, const char *what, const stn_problem *problem,
                   uint64_t seed);
/* For compare_candidate_with_host: the index of the first candidate whose name contains all of
 * `words`, separated by |; if there is none, an index past the last one, which fails. */
int suite_candidate(const suite *s, const stn_problem *problem, const char *strategy, const char *words);
/* Whether the name contains all of `words`, separated by |. */
bool suite_has_words(const char *name, const char *words);
/* The same of "RANKD DTYPE, " and the name of candidate `place` of the plan's ranking. */
bool suite_place_has_words(const stn_plan *plan, size_t place, const char *words);
/* Whether there is such a candidate. */
bool suite_ranks(const suite *s, const stn_problem *problem, const char *strategy, const char *words);
/* suite_compare with that candidate. */
void suite_compare_words(suite *s, const char *strategy, const char *words, const char *what,
                         const stn_problem *problem, uint64_t seed);
/* Compares a run in f64 with a constant source with the host's; pick as in
 * compare_candidate_with_host. */
void suite_compare_source(suite *s, const char *strategy, int pick, const char *what, const stn_problem *problem,
                          uint64_t seed);
/* Reports a comparison; `good` may be less than that of the comparison. */
void suite_report_compared(suite *s, bool good, const char *what, const comparison *c);
/* Describes a failed comparison. */
void suite_detail(const comparison *c, char *detail, size_t size);
/* A problem of this stencil; an extent for each of its axes. */
stn_problem grid_problem(const stn_stencil *stencil, const int *extent, stn_dtype dtype, uint64_t steps);
/* Draws any pair of boundary conditions on each axis; constants are not round numbers. */
void random_sides(dice *d, stn_problem *problem, int rank);
/* Reports that there is no device, and why: as TAP's skipped plan, or as a failure if
 * STENTOR_TESTS_MUST_RUN is set, as it is with the emulator. Returns the exit status. */
int suite_without_device(const char *why);
/* main of such a test: [--full] [--only PART] [--dtype T] [--tolerance X] [--strategy NAME]. An
 * unknown PART fails. */
int suite_main(int argc, char **argv, const suite_part *parts, size_t count);
/* The same on another device than the first GPU; `device` as in stn_context_options. */
int suite_main_on(int device, int argc, char **argv, const suite_part *parts, size_t count);
#endif
