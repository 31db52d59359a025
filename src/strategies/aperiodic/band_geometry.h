/* The sides of a problem without a symmetric extension, and the depth to which they affect the
 * result. */
#ifndef STN_STRATEGIES_APERIODIC_BAND_GEOMETRY_H
#define STN_STRATEGIES_APERIODIC_BAND_GEOMETRY_H
#include "plan/strategy.h"

/* Maximum number of step counts tried: the run's, a half, a quarter, ... */
#define SHAPE_STEP_COUNTS 24
/* Maximum nesting of bands; the candidate contains the steps of each level. */
#define SHAPE_LEVELS 3

typedef struct shape {
    const stn_task *task;
    /* Sides that transforms cannot serve: bands near them are recomputed. */
    bool stepped[3][2];
    double growth;   /* per step, of the bound that aperiodic_shape_guess uses */
    int step_counts; /* number of elements of `steps` */
    uint64_t steps[SHAPE_STEP_COUNTS];
    /* For each step count: points nearer to the side than this depend on values past it. */
    int64_t depth[SHAPE_STEP_COUNTS][3][2];
} shape;

/* A box of the grid, and the sides at which it was cut out; values past a cut are unknown. */
typedef struct box {
    int64_t n[3];
    bool cut[3][2];
} box;

/* Rows along a band's axis: first index in the enclosing box and in the band's own box, and count.
 */
typedef struct rows {
    int64_t from, at, count;
} rows;

/* The points near a side for which a run of the box gives wrong values, with the points that these
 * depend on. One band may serve both sides of an axis: its two halves are adjacent, and wrong
 * values cross the seam between them as far as they would enter from a cut. This halves the number
 * of launches and doubles their blocks. */
typedef struct band {
    box box;
    int axis, parts; /* parts 1: one side; 2: both sides */
    /* For each part: rows that are copied into the band's box; rows that the band corrects. */
    rows seen[2], corrected[2];
} band;

/* False if the strategy has nothing to do; the reason is one phrase. */
bool aperiodic_shape_sides(const stn_task *task, shape *made, char *reason, size_t reason_size);
/* Fill `depth`. aperiodic_shape_depths computes the depths, which takes milliseconds;
 * aperiodic_shape_guess approximates them at once, for choosing. */
void aperiodic_shape_depths(shape *made);
void aperiodic_shape_guess(shape *made);
/* Whether the bands of the fewest steps at once leave points between them; needs no depths. */
bool aperiodic_shape_has_room(const shape *s);
/* Writes the bands of a box for `steps` steps at once and returns their number, at most 6; -1 if
 * one of them is no smaller than the box. */
int aperiodic_shape_bands(const shape *s, const box *of, uint64_t steps, band bands[6]);
box aperiodic_shape_whole(const shape *s);

/* Steps of a box as a task: packed, without snapshots, not in place, with borrowed taps.
 * by_transforms replaces the sides that transforms cannot serve. by_steps needs no values past a
 * cut. */
stn_task aperiodic_shape_by_transforms(const shape *s, const box *of, uint64_t steps);
stn_task aperiodic_shape_by_steps(const shape *s, const box *of, uint64_t steps);
#endif
