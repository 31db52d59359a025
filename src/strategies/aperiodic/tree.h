/* A box and all that is made of it: rounds of many steps at once, and the bands at its sides, which
 * are boxes themselves. */
#ifndef STN_STRATEGIES_APERIODIC_TREE_H
#define STN_STRATEGIES_APERIODIC_TREE_H
#include "launch/driver.h"
#include "plan/plan.h"
#include "strategies/aperiodic/cost.h"
#include "strategies/common/layout.h"

typedef struct node node;

typedef struct edge {
    band band;
    node *node; /* owned */
    /* Owned; the second is NULL where the first takes both parts. */
    stn_plan *load[2];  /* what the band's box is made of, out of the other; NULL: the node reads it there */
    stn_plan *store[2]; /* what it made right, into the other */
} edge;

/* So many rounds of the same steps. */
typedef struct stage {
    uint64_t rounds;
    stn_plan *plan; /* owned; of the whole box, by transforms or, where it is all there is, by steps */
    edge edges[6];
    int count;
} stage;

struct node {
    box box;
    int64_t origin[3]; /* in the grid */
    stn_grid_layout layout;
    stage stages[2];
    int count;
    bool reads_other; /* it is stepped whole, out of where it was cut from */
    size_t place[2];  /* of its two grids in the workspace; of the root's, those that the caller's do not stand for */
};

typedef struct tree {
    node *root;             /* owned */
    stn_plan *load, *store; /* owned: of the caller's grids; NULL: rounds read and write those as they are */
    uint64_t rounds;        /* of the root */
    /* On a GPU the root's bands of a round are made beside each other and beside the round's
     * transforms, on streams of their own. */
    bool forks;
    stn_fork *fork; /* owned; NULL: one after the other */
    size_t
        grids; /* bytes of the workspace: of all boxes' grids; then the most that a plan needs, of the whole grid, of each branch */
    size_t plans[1 + STN_FORK_BRANCHES];
    int nodes, bands, depth;
} tree;

/* Copies of the whole grid that so many rounds take: none where the caller's grids lie as the
 * root's own would, so that rounds read and write them; one where they are the same grid and the
 * first round would write over what it reads; else two. */
int tree_copies(const stn_task *task, uint64_t rounds);
/* In any case to be cleared. */
stn_status tree_make(stn_plan *plan, const shape *s, const rates *r, const levels *l, tree *made, stn_error *error);
/* device: NULL on the host. */
stn_status tree_run(const tree *t, stn_device *device, const stn_task *task, const stn_execution *run,
                    stn_error *error);
stn_status tree_set_weights(tree *t, const stn_task *task, stn_error *error);
size_t tree_workspace(const tree *t);
void tree_clear(tree *t);
#endif
