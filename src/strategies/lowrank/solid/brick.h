/* How the kernel lowrank_brick is shaped for a core of taps, and what that costs. */
#ifndef STN_STRATEGIES_LOWRANK_SOLID_BRICK_H
#define STN_STRATEGIES_LOWRANK_SOLID_BRICK_H
#include "plan/strategy.h"
#include "strategies/lowrank/solid/find.h"

/* Fits a stn_candidate. */
typedef struct lowrank_brick {
    int fused;                   /* most steps that one launch does; launches share the task's steps evenly */
    int launches;                /* of `fused` or `fused` - 1 steps */
    int passes;                  /* products of parts for one of elements: lowrank_products */
    int vector;                  /* elements of one access along x: 16 bytes, or 1 where rows are not aligned */
    int tiles, warps_x, warps_y; /* 8-row tiles of a warp, warps of a block */
    int stages, ring, held, blocks;
    int extended; /* fused launches are right up to the faces: axes wrap, or mirror symmetric taps */
    int chunk;    /* planes of a block's walk */
    int products; /* of elements, 16 x 8 x 4 in f64 and 16 x 8 x 8 in other types, of a warp for one plane */
    int sums;     /* of a lane for one plane */
    int shared;   /* bytes, dynamic */
    int form;     /* of the block, as it was asked for; 0: by rule */
    float growth; /* of the core */
} lowrank_brick;
_Static_assert(sizeof(lowrank_brick) <= sizeof(stn_candidate), "a brick is a candidate");

/* The cheapest core of the taps and the brick for it, of one form from 1 to lowrank_brick_forms, or
 * of the usual one (0); false if the kernel can take none. tally: of forms; may be NULL. */
bool lowrank_brick_fit(const stn_task *task, const stn_machine *machine, const stn_power *taps, int form_asked,
                       lowrank_core *core, lowrank_brick *brick, stn_tally *tally);
int lowrank_brick_forms(void);
void lowrank_brick_cost(const stn_task *task, const stn_machine *machine, const lowrank_brick *brick,
                        stn_estimate *estimate);
/* Blocks of a launch along z, y and x of one grid. */
void lowrank_brick_tiles(const stn_task *task, const lowrank_brick *brick, int64_t tiles[3]);
#endif
