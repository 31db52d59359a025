/* A problem's sides past which no mirror goes on, and how far in what they do is felt. */
#ifndef STN_STRATEGIES_APERIODIC_SHAPE_H
#define STN_STRATEGIES_APERIODIC_SHAPE_H
#include "plan/strategy.h"

/* At most so many different numbers of steps at once: the run's, half of them, a quarter, ... */
#define SHAPE_HALVINGS 24
/* How often bands may have bands of their own; the candidate says by how many steps at each
 * level. */
#define SHAPE_LEVELS 3

typedef struct shape {
    const stn_task *task;
    bool stepped[3][2]; /* sides that transforms cannot serve: points near them are advanced by steps */
    double growth;      /* of the bound on the depths, for each step: shape_guess's */
    int halvings;
    uint64_t steps[SHAPE_HALVINGS];
    /* Of so many steps at once: points nearer to the side than this see what lies past it. */
    int64_t depth[SHAPE_HALVINGS][3][2];
} shape;

/* A box of the grid, and the sides where it was cut out of it: what lies past those is not
 * known. */
typedef struct box {
    int64_t n[3];
    bool cut[3][2];
} box;

/* Rows along a band's axis, as the box that it is cut out of counts them, and as its own box
 * does. */
typedef struct rows {
    int64_t from, at, count;
} rows;

/* The points near a side that a run of the box's own leaves wrong, and what they need around them;
 * or those near both sides of an axis, in one box, each half seen by the other as a cut is: what
 * passes the seam between them comes as far as what would come from a cut. So half as many launches
 * have twice the blocks. */
typedef struct band {
    box box;
    int axis, parts;        /* 1; 2: both sides' */
    rows seen[2], right[2]; /* what its box is made of, and what it makes right */
} band;

/* False: there is nothing for this strategy to do; the reason is one phrase. */
bool shape_sides(const stn_task *task, shape *made, char *reason, size_t reason_size);
/* Fills the depths, which takes milliseconds; or about so, to choose by, at once. */
void shape_depths(shape *made);
void shape_guess(shape *made);
/* Whether there is any number of steps whose bands leave something between them; needs no
 * depths. */
bool shape_has_room(const shape *s);
/* The bands of a box of so many steps at once, at most 6; -1: one of them would be no smaller than
 * the box. */
int shape_bands(const shape *s, const box *of, uint64_t steps, band bands[6]);
box shape_whole(const shape *s);

/* A task of a box: packed, without snapshots, not in place, its taps borrowed. By transforms: sides
 * that they cannot serve are replaced by ones that they can. By steps: nothing lies past a cut. */
stn_task shape_by_transforms(const shape *s, const box *of, uint64_t steps);
stn_task shape_by_steps(const shape *s, const box *of, uint64_t steps);
#endif
