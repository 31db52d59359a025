/* The shape of the kernel lowrank_axis for one axis of separable taps, its cost, its params.cuh and
 * its arguments. */
#ifndef STN_STRATEGIES_LOWRANK_AXES_AXIS_PASS_H
#define STN_STRATEGIES_LOWRANK_AXES_AXIS_PASS_H
#include "plan/strategy.h"
#include "strategies/common/grid_layout.h"
#include "strategies/lowrank/axes/tap_factors.h"

/* One pass over memory: along `axis`, on lines that are adjacent along `across`, in planes along
 * `other`. */
typedef struct lowrank_pass {
    int axis, across, other;
    int products;          /* tensor products for one product of elements: lowrank_products */
    int vector;            /* elements of an access along x: 16 bytes, or 1 in unaligned rows */
    int input_blocks;      /* blocks of 8 points that 8 outputs depend on */
    int band_in_registers; /* 0: the band is read again for every product */
    int blocks;            /* resident on a multiprocessor */
    int stages;            /* in shared memory */
    bool frozen;           /* the last pass of a step, with points frozen by a fixed side */
    int64_t segment;       /* outputs of a warp's march along a line */
    int64_t segments;      /* of a line */
    int64_t strips;        /* of 16 lines, of a plane */
    int64_t all_segments;  /* of the whole batch */
    size_t shared;         /* bytes of dynamic shared memory */
} lowrank_pass;
enum { LOWRANK_PASS_WARPS = 4 }; /* warps of a block */

/* Lists the passes of one step in order (x, y, z, only axes along which taps reach; if there is
 * none, one pass along x) and returns their number, 1 to 3, or 0 if a constraint does not hold. */
int lowrank_passes(const stn_task *task, const stn_machine *machine, lowrank_pass passes[3]);
void lowrank_passes_cost(const stn_task *task, const stn_machine *machine, stn_estimate *estimate);
void lowrank_pass_params(const stn_task *task, const lowrank_pass *pass, stn_text *params);

/* Arguments as the kernel declares them: words of 8 bytes, then values in the dtype of the
 * arithmetic (two past the sides, a scale, the weights). */
#define LOWRANK_PASS_WORDS 28
#define LOWRANK_PASS_VALUES ((3 + LOWRANK_FACTOR) * (int)sizeof(double))
typedef struct lowrank_pass_arguments {
    int64_t words[LOWRANK_PASS_WORDS];
    unsigned char values[LOWRANK_PASS_VALUES];
} lowrank_pass_arguments;
/* Writes the values. gain: the factor by which earlier passes multiply a constant grid. */
void lowrank_pass_values(const stn_task *task, const lowrank_pass *pass, const lowrank_factors *factors, double gain,
                         unsigned char values[LOWRANK_PASS_VALUES]);
/* A grid of a pass. */
typedef struct lowrank_grid {
    const stn_grid_layout *at;
    const void *data;
} lowrank_grid;
/* Writes the words and returns the number of blocks. origin: the grid before the step, for
 * frozen points. */
int64_t lowrank_pass_words(const stn_task *task, const lowrank_pass *pass, lowrank_grid in, lowrank_grid out,
                           lowrank_grid origin, int64_t words[LOWRANK_PASS_WORDS]);
#endif
