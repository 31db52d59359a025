/* The cost of a division, and the search for the cheapest. */
#ifndef STN_STRATEGIES_APERIODIC_BAND_COST_MODEL_H
#define STN_STRATEGIES_APERIODIC_BAND_COST_MODEL_H
#include "strategies/aperiodic/band_geometry.h"

/* A candidate's division. steps[i]: the number of steps that a box of nesting level i makes at
 * once; 0: there is no such level. force_division: bands are divided wherever possible, not only
 * where that is cheaper (for measuring). */
typedef struct levels {
    int steps[SHAPE_LEVELS];
    int force_division;
} levels;

/* Seconds as a function of a box's points, sampled from the strategies' estimates for some boxes of
 * this grid, largest first, with linear interpolation. */
#define COST_SAMPLES 4
typedef struct curve {
    int count;
    double points[COST_SAMPLES], seconds[COST_SAMPLES];
} curve;

/* Costs of one transform pass over a box, of one step of a box, and of a copy. */
typedef struct cost_table {
    curve transform, step;
    double copy_seconds_per_point, copy_start;
    double bytes_per_point, flops_per_point; /* of a transform pass */
    double workspace_per_point;              /* bytes of a transform's workspace */
    double step_launches;
    double transform_error, step_error; /* of a transform pass; of all steps */
    stn_unit unit;
} cost_table;

/* The cheapest strategy for this task among those that transform whole grids, or those that compute
 * single steps; NULL if none serves it. */
const char *aperiodic_cheapest_transform(const stn_task *task, const stn_machine *machine, stn_estimate *estimate);
const char *aperiodic_cheapest_stepping(const stn_task *task, const stn_machine *machine, stn_estimate *estimate);
/* The transform of the whole grid by which transforms are estimated. */
stn_task aperiodic_transform_task(const shape *s);

/* False if no strategy transforms this grid, or none computes its single steps. */
bool aperiodic_cost_table(const shape *s, const stn_machine *machine, cost_table *made);

/* How the steps of a box are computed: in `rounds` rounds of `steps` steps at once and then `rest`
 * steps at once; or, if `steps` is 0, one after another. */
typedef struct division {
    uint64_t steps, rounds, rest;
    double seconds;          /* of everything, with bands and copies */
    double transform_points; /* points of all transform passes, with those of bands */
    double launches;
    double workspace; /* bytes, without the grids of the box itself */
} division;
/* Estimates the cheapest division of a box. divided: computing the whole box by single steps is
 * excluded. */
division aperiodic_cost_divide(const shape *s, const cost_table *costs, const levels *l, const box *of, uint64_t steps,
                               bool divided);

/* Factor on the estimate of several levels, whose bands of bands have few points and many
 * launches (2767 x 12809 points, f64: 446, 111 and 13 steps at once take 1.7 times the sum of
 * their parts). */
#define APERIODIC_LEVELS_FACTOR 1.4

/* Lists the cheapest levels, cheapest first; returns their number, at most `most`. */
size_t aperiodic_cost_search(const shape *s, const cost_table *costs, levels *list, size_t most);
#endif
