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
    int run, failed;
    double worst; /* error over bar of the cases that passed */
} suite;

typedef struct suite_part {
    const char *name;
    void (*run)(suite *);
} suite_part;

extern const char *const side_names[6]; /* by stn_boundary_kind */
extern const char *const taps_names[3]; /* by taps_kind */

/* Prints one line of TAP; detail (may be NULL) follows a failure. */
void suite_report(suite *s, bool good, const char *what, const char *detail);
/* Compares with the host as compare_with_host does and reports. */
void suite_compare(suite *s, const char *strategy, bool fused, const char *what, const stn_problem *problem,
                   uint64_t seed);
/* For compare_candidate_with_host: the index of the first candidate whose name contains all of
 * `words`, separated by |; if there is none, an index past the last one, which fails. */
int suite_candidate(const suite *s, const stn_problem *problem, const char *strategy, const char *words);
/* Whether "RANKD DTYPE, " and the name of candidate `place` of the plan's ranking contain all of
 * `words`, separated by |. */
bool suite_place_has_words(const stn_plan *plan, size_t place, const char *words);
/* suite_compare with that candidate. */
void suite_compare_words(suite *s, const char *strategy, const char *words, const char *what,
                         const stn_problem *problem, uint64_t seed);
/* Reports a comparison; `good` may be less than that of the comparison. */
void suite_report_compared(suite *s, bool good, const char *what, const comparison *c);
/* Describes a failed comparison. */
void suite_detail(const comparison *c, char *detail, size_t size);
/* A problem of this stencil; an extent for each of its axes. */
stn_problem grid_problem(const stn_stencil *stencil, const int *extent, stn_dtype dtype, uint64_t steps);
/* Describes a problem, and the candidate unless pick is below 0. */
void suite_name(const char *part, const stn_problem *problem, int pick, char *what, size_t size);
/* Reports whether the strategy (NULL: any) that is chosen for a square has this name, or whether
 * the refusal has these words. */
void suite_choice(suite *s, const char *what, const char *stencil, stn_boundary_kind sides, int extent, uint64_t steps,
                  const char *strategy, const char *expected);
/* Draws any pair of boundary conditions on each axis; constants are not round numbers. */
void random_sides(dice *d, stn_problem *problem, int rank);
/* Reports that there is no device, and why: as TAP's skipped plan, or as a failure if
 * STENTOR_TESTS_MUST_RUN is set, as it is with the emulator. Returns the exit status. */
int suite_without_device(const char *why);
/* main of such a test: [--full] [--only PART] [--dtype T] [--tolerance X]. An unknown PART
 * fails. */
int suite_main(int argc, char **argv, const suite_part *parts, size_t count);
/* The same on another device than the first GPU; `device` as in stn_context_options. */
int suite_main_on(int device, int argc, char **argv, const suite_part *parts, size_t count);
#endif
