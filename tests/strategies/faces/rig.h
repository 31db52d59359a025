/* Margins at faces alone against host: after a launch of f steps that leaves the interior out,
 * every point of the margins must be right and none of the interior made wrong. */
#ifndef STN_TESTS_FACES_RIG_H
#define STN_TESTS_FACES_RIG_H
#include "../compare.h"
#include "context/context.h"
#include "strategies/faces/margins.h"

typedef struct tally {
    double worst;
    int wrong, touched; /* points of the margins, of the interior */
} tally;
bool right(const tally *t);

/* Margins at faces, and grids for one caller of them at a time. */
typedef struct rig {
    stn_context *context;
    stn_pool *pool;
    stn_faces_way way;
    stn_plan *plan; /* for its task and context */
    stn_faces *faces;
    stn_grid_layout from, to;
    size_t bytes;
    void *in, *want, *poison; /* host */
} rig;
typedef struct grids {
    void *in, *out, *workspace; /* device */
} grids;

/* A context on the GPU and a pool; false, and TAP says why, if there is no GPU. */
bool rig_open(rig *r);
int rig_close(rig *r); /* ends the TAP; what main returns */
/* A rig with context and pool gets the rest, but for the caller's choice of a way. Its problem must
 * outlive it. */
stn_status rig_make(rig *r, const stn_problem *problem, uint64_t seed, stn_error *error);
void rig_clear(rig *r);
stn_status grids_make(const rig *r, grids *g, stn_error *error);
void grids_clear(const rig *r, grids *g);
stn_status rig_launch(const rig *r, const grids *g, void *stream, stn_error *error);
/* What `out` holds, counted; then it holds poison again. */
stn_status rig_look(const rig *r, const grids *g, tally *t, stn_error *error);
/* One run, one with new weights: `weights` random ones, or those of another stencil with as many
 * taps. */
stn_status rig_run_twice(rig *r, grids *g, uint64_t seed, const stn_stencil *other, tally t[2], stn_error *error);

/* TAP lines; how many were run, how many of them failed. */
extern int rig_run, rig_failed;
void rig_report(bool good, const tally *t, const stn_error *error, const char *what);
/* Both runs of a problem, one line. */
void rig_check(rig *r, const stn_problem *p, uint64_t seed, const stn_stencil *other, const char *name);
#endif
