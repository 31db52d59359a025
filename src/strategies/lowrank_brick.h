/* How the kernel lowrank_brick is shaped for a core of taps; what that costs; its params.cuh and arguments. */
#ifndef STN_STRATEGIES_LOWRANK_BRICK_H
#define STN_STRATEGIES_LOWRANK_BRICK_H
#include "plan/strategy.h"
#include "strategies/lowrank_core.h"
#include "strategies/slabs.h"

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
} lowrank_brick;
_Static_assert(sizeof(lowrank_brick) <= sizeof(stn_candidate), "a brick is a candidate");

/* The cheapest core of the cube and the brick for it, of one form from 1 to lowrank_brick_forms, or of the usual one (0);
 * false if the kernel can take none. */
bool lowrank_brick_fit(const stn_task *task, const stn_machine *machine, const lowrank_cube *cube, int form_asked,
                       lowrank_core *core, lowrank_brick *brick);
int lowrank_brick_forms(void);
void lowrank_brick_cost(const stn_task *task, const stn_machine *machine, const lowrank_brick *brick,
                        stn_estimate *estimate);
void lowrank_brick_params(const stn_task *task, const lowrank_cube *cube, const lowrank_core *core,
                          const lowrank_brick *brick, stn_text *params);

/* The launch of one sweep: `arguments` as the kernel declares them. */
#define LOWRANK_BRICK_HEADER 15                                                /* words before the weights */
#define LOWRANK_BRICK_VALUES ((LOWRANK_CORE_VALUES + 1) * (int)sizeof(double)) /* bytes; the first is a scale */
typedef struct lowrank_brick_arguments {
    int64_t words[LOWRANK_BRICK_HEADER];
    unsigned char values[LOWRANK_BRICK_VALUES];
} lowrank_brick_arguments;
/* The vectors, packed as the kernel declares them. */
void lowrank_brick_values(const stn_task *task, const lowrank_cube *cube, const lowrank_core *core, int passes,
                          unsigned char values[LOWRANK_BRICK_VALUES]);
/* Everything before them; returns how many blocks there are. */
int64_t lowrank_brick_words(const stn_task *task, const lowrank_brick *brick, const stn_fused_launch *launch,
                            int64_t words[LOWRANK_BRICK_HEADER]);
#endif
