/* A tree of boxes: rounds of many steps at once, and the bands at a box's sides, which are boxes
 * themselves. */
#ifndef STN_STRATEGIES_APERIODIC_BAND_TREE_H
#define STN_STRATEGIES_APERIODIC_BAND_TREE_H
#include "launch/driver.h"
#include "plan/plan.h"
#include "strategies/aperiodic/band_cost_model.h"
#include "strategies/common/grid_layout.h"

typedef struct node node;

typedef struct edge {
    band band;
    node *node; /* owned */
    /* Plans that copy one part of the band each, owned. The second is NULL if the first copies both
     * parts. load: from the enclosing box to the band's box; NULL: the node reads the enclosing box
     * in place. store: the corrected points back. */
    stn_plan *load[2];
    stn_plan *store[2];
} edge;

/* Rounds that all make the same number of steps. */
typedef struct stage {
    uint64_t rounds;
    /* Owned. Computes the whole box, by transforms or, if the box is not divided, by steps. */
    stn_plan *plan;
    edge edges[6];
    int count;
} stage;

struct node {
    box box;
    int64_t origin[3]; /* position in the grid */
    stn_grid_layout layout;
    stage stages[2];
    int count;
    /* The box is computed by single steps, and reads the enclosing box in place */
    bool reads_parent;
    /* Byte offsets of its two grids in the workspace; of the root: those that the caller's grids do
     * not replace. */
    size_t grid_offset[2];
};

typedef struct tree {
    node *root;             /* owned */
    stn_plan *load, *store; /* owned; copy the caller's grids; NULL: rounds use those directly */
    uint64_t rounds;        /* rounds of the root */
    /* On a GPU the root's bands of a round run on streams of their own, concurrently with each
     * other and with the round's transforms. */
    bool forks;
    stn_fork *fork;    /* owned; NULL: one after another */
    size_t grid_bytes; /* workspace of all boxes' grids */
    /* The largest workspace of any plan on the main stream (entry 0), and of any plan on each
     * branch. */
    size_t plan_bytes[1 + STN_FORK_BRANCHES];
    int nodes, bands, depth;
} tree;

/* Copies of the whole grid that `rounds` rounds need: none if the caller's grids have the root's
 * own layout, so that rounds use them directly; one if input and output are the same grid and the
 * first round would overwrite its input; otherwise two. */
int aperiodic_tree_copies(const stn_task *task, uint64_t rounds);
/* Grids of the size of the whole one in the workspace. */
int aperiodic_tree_grids(const stn_task *task, uint64_t rounds);
/* Must be cleared even after an error. */
stn_status aperiodic_tree_make(stn_plan *plan, const shape *s, const cost_table *costs, const levels *l, tree *made,
                               stn_error *error);
/* device: NULL on the host. */
stn_status aperiodic_tree_run(const tree *t, stn_device *device, const stn_task *task, const stn_execution *run,
                              stn_error *error);
stn_status aperiodic_tree_set_weights(tree *t, const stn_task *task, stn_error *error);
size_t aperiodic_tree_workspace(const tree *t);
void aperiodic_tree_clear(tree *t);
#endif
