/* How the kernel lowrank_axis is shaped for one axis of separable taps; what that costs; its
 * params.cuh and arguments. */
#ifndef STN_STRATEGIES_LOWRANK_AXES_SHAPE_H
#define STN_STRATEGIES_LOWRANK_AXES_SHAPE_H
#include "plan/strategy.h"
#include "strategies/common/layout.h"
#include "strategies/lowrank/axes/factors.h"

/* One pass over memory: along `axis`, on lines that lie side by side along `across`, in planes
 * along `other`. */
typedef struct lowrank_pass {
    int axis, across, other;
    int products; /* of parts for one of elements: lowrank_products */
    int vector;   /* elements of one access along x: 16 bytes, or 1 where rows are not aligned */
    int seen;     /* blocks of 8 points that 8 outputs see */
    int held, blocks, stages;
    bool frozen; /* the last of a step, and a fixed side has frozen points */
    int64_t segment, segments, strips, walks;
    size_t shared; /* bytes, dynamic */
} lowrank_pass;
enum { LOWRANK_PASS_WARPS = 4 }; /* of a block */

/* The passes of one step, in their order: x, y, z, those along which taps reach at all; returns how
 * many, 1 to 3, or 0 if a constraint does not hold. tally: may be NULL. */
int lowrank_passes(const stn_task *task, const stn_machine *machine, lowrank_pass passes[3], stn_tally *tally);
void lowrank_passes_cost(const stn_task *task, const stn_machine *machine, stn_estimate *estimate);
void lowrank_pass_params(const stn_task *task, const lowrank_pass *pass, stn_text *params);

/* Arguments as the kernel declares them. */
#define LOWRANK_PASS_WORDS 28                                            /* before the values */
#define LOWRANK_PASS_VALUES ((3 + LOWRANK_FACTOR) * (int)sizeof(double)) /* two past the sides, a scale, the weights */
typedef struct lowrank_pass_arguments {
    int64_t words[LOWRANK_PASS_WORDS];
    unsigned char values[LOWRANK_PASS_VALUES];
} lowrank_pass_arguments;
/* The values; `gain`: what the passes before multiply a constant grid by. */
void lowrank_pass_values(const stn_task *task, const lowrank_pass *pass, const lowrank_factors *factors, double gain,
                         unsigned char values[LOWRANK_PASS_VALUES]);
/* A grid of a pass. */
typedef struct lowrank_grid {
    const stn_grid_layout *at;
    const void *data;
} lowrank_grid;
/* `origin`: the grid before the step, for frozen points. Returns how many blocks there are. */
int64_t lowrank_pass_words(const stn_task *task, const lowrank_pass *pass, lowrank_grid in, lowrank_grid out,
                           lowrank_grid origin, int64_t words[LOWRANK_PASS_WORDS]);
#endif
