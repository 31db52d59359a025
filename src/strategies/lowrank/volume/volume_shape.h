/* The shape of the kernel lowrank_volume for a core of taps, and its cost. */
#ifndef STN_STRATEGIES_LOWRANK_VOLUME_VOLUME_SHAPE_H
#define STN_STRATEGIES_LOWRANK_VOLUME_VOLUME_SHAPE_H
#include "plan/strategy.h"
#include "strategies/lowrank/volume/core_search.h"

/* Must fit into a stn_candidate. */
typedef struct lowrank_volume_shape {
    /* Most steps of one launch; launches share the task's steps evenly. */
    int fused;
    int launches; /* launches, each of `fused` or `fused` - 1 steps */
    int passes;   /* tensor products for one product of elements: lowrank_products */
    /* Elements of one access along x: 16 bytes, or 1 where rows are unaligned. */
    int vector;
    int tiles, warps_x, warps_y; /* 8-row tiles of a warp, warps of a block */
    int stages, ring, held, blocks;
    /* Fused launches are correct up to the faces: axes wrap, or mirror symmetric taps. */
    int extended;
    int chunk; /* planes that a block marches through */
    /* Products of a warp for one plane, 16 x 8 x 4 in f64, 16 x 8 x 8 in other types. */
    int products;
    int sums;     /* multiply-adds on CUDA cores of a lane for one plane */
    int shared;   /* bytes of dynamic shared memory */
    int form;     /* requested block form; 0: chosen by rule */
    float growth; /* error amplification of the core */
} lowrank_volume_shape;

/* Finds the cheapest core of the taps and its shape, of one form from 1 to lowrank_volume_forms, or
 * of a default form (0); false if the kernel can take none. too_many_terms: input and output;
 * whether cores of spanning slices have too many terms, for these or for fewer fused steps. If it
 * is set, such cores are not tried. */
bool lowrank_volume_fit(const stn_task *task, const stn_machine *machine, const stn_power *taps, int form_asked,
                        bool *too_many_terms, lowrank_core *core, lowrank_volume_shape *shape);
int lowrank_volume_forms(void);
void lowrank_volume_cost(const stn_task *task, const stn_machine *machine, const lowrank_volume_shape *shape,
                         stn_estimate *estimate);
/* A lower bound on the cost of every shape with `fused` steps a launch. */
double lowrank_volume_least_seconds(const stn_task *task, const stn_machine *machine, int fused);
/* Blocks of a launch along z, y and x of one grid. */
void lowrank_volume_tiles(const stn_task *task, const lowrank_volume_shape *shape, int64_t tiles[3]);
#endif
