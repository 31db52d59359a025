/* What a division costs, and which one is cheapest. */
#ifndef STN_STRATEGIES_APERIODIC_COST_H
#define STN_STRATEGIES_APERIODIC_COST_H
#include "strategies/aperiodic/shape.h"

/* What a candidate says: at each level, how many steps are made at once; 0: no such level.
 * `always`: bands are divided wherever they can be, not only where that is cheaper: for
 * measuring. */
typedef struct levels {
    int steps[SHAPE_LEVELS];
    int always;
} levels;

/* Seconds against points of a box, as the strategies say of some boxes of this grid, the largest
 * first; straight lines between those. */
#define COST_SAMPLES 4
typedef struct curve {
    int count;
    double points[COST_SAMPLES], seconds[COST_SAMPLES];
} curve;

/* Of one pass over a box by transforms, of one step of it, of a copy. */
typedef struct rates {
    curve transform, step;
    double copy_point, copy_start;
    double bytes_point, flops_point; /* of a pass by transforms */
    double step_launches;
    double transform_error, step_error; /* of a pass; of all steps */
    stn_unit unit;
} rates;

/* The cheapest strategy of those that transform whole grids, or that step, for this task; NULL:
 * none serves it. */
const char *cost_transforms(const stn_task *task, const stn_machine *machine, stn_estimate *estimate);
const char *cost_steps(const stn_task *task, const stn_machine *machine, stn_estimate *estimate);

/* False: nothing transforms this grid, or nothing steps it. */
bool cost_rates(const shape *s, const stn_machine *machine, rates *made);

/* How a box's steps are made: `steps` at once, so many rounds of them, then `rest` once; or one
 * after the other, with steps 0. */
typedef struct division {
    uint64_t steps, rounds, rest;
    double seconds; /* of all, bands and copies too */
    double passes;  /* by transforms, in points of boxes: of all, bands too */
    double launches;
} division;
/* The box's own bands are at `level`. divided: it is not to be stepped whole. */
division cost_divide(const shape *s, const rates *r, const levels *l, const box *of, uint64_t steps, bool divided);

/* Times the estimate, on a GPU, of several levels: beside each other they are not timed yet, one
 * level is (bench/results/2026-11-23-aperiodic.md). And of lines, whose bands run beside the whole
 * grid's transforms since they were timed. */
double cost_untimed(const stn_machine *machine, const stn_task *task, const levels *l);

/* Fills the cheapest levels, cheapest first; returns how many, at most `most`. */
size_t cost_search(const shape *s, const stn_machine *machine, const rates *r, levels *list, size_t most);
#endif
