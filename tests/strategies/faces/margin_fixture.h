/* Test fixture: margins at faces alone against the host. After a launch of f steps without the
 * interior, every margin point must be right and no interior point changed. */
#ifndef STN_TESTS_FACES_MARGIN_FIXTURE_H
#define STN_TESTS_FACES_MARGIN_FIXTURE_H
#include "../compare.h"
#include "context/context.h"
#include "strategies/faces/margins.h"

typedef struct tally {
    double worst;
    int wrong, touched; /* wrong margin points; changed interior points */
} tally;
bool right(const tally *t);

/* Margins at faces, and grids for one caller at a time. */
typedef struct fixture {
    stn_context *context;
    stn_pool *pool;
    stn_plan *plan; /* provides task and context */
    stn_faces *faces;
    stn_grid_layout from, to;
    size_t bytes;
    void *in, *want, *poison; /* host memory */
} fixture;
typedef struct grids {
    void *in, *out, *workspace; /* device memory */
} grids;

/* Creates a context on the GPU and a pool; returns false, with a TAP line, if there is no GPU. */
bool fixture_open(fixture *r);
int fixture_close(fixture *r); /* ends the TAP output; the result of main */
/* Fills a rig that has context and pool. The problem must outlive it. */
stn_status fixture_make(fixture *r, const stn_problem *problem, uint64_t seed, stn_error *error);
void fixture_clear(fixture *r);
stn_status grids_make(const fixture *r, grids *g, stn_error *error);
void grids_clear(const fixture *r, grids *g);
stn_status fixture_launch(const fixture *r, const grids *g, void *stream, stn_error *error);
/* Counts errors in `out`, then fills it with NaN again. */
stn_status fixture_check_output(const fixture *r, const grids *g, tally *t, stn_error *error);
/* One run, then one with new weights: random `weights`, or those of another stencil with the same
 * number of taps. */
stn_status fixture_run_twice(fixture *r, grids *g, uint64_t seed, const stn_stencil *other, tally t[2],
                             stn_error *error);

/* Numbers of TAP lines printed, and of those that failed. */
extern int fixture_tests, fixture_failed;
void fixture_report(bool good, const tally *t, const stn_error *error, const char *what);
/* Both runs of a problem, as one TAP line. */
void fixture_check(fixture *r, const stn_problem *p, uint64_t seed, const stn_stencil *other, const char *name);
#endif
