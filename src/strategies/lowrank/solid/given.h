/* What the kernel lowrank_brick is given: its params.cuh, its weights, its arguments. */
#ifndef STN_STRATEGIES_LOWRANK_SOLID_GIVEN_H
#define STN_STRATEGIES_LOWRANK_SOLID_GIVEN_H
#include "strategies/common/fused.h"
#include "strategies/lowrank/solid/brick.h"

void lowrank_brick_params(const stn_task *task, const stn_power *taps, const lowrank_core *core,
                          const lowrank_brick *brick, stn_text *params);

/* The launch of one sweep: `arguments` as the kernel declares them. */
#define LOWRANK_BRICK_HEADER 15                                                /* words before the weights */
#define LOWRANK_BRICK_VALUES ((LOWRANK_CORE_VALUES + 1) * (int)sizeof(double)) /* bytes; the first is a scale */
typedef struct lowrank_brick_arguments {
    int64_t words[LOWRANK_BRICK_HEADER];
    unsigned char values[LOWRANK_BRICK_VALUES];
} lowrank_brick_arguments;
/* The vectors, packed as the kernel declares them. */
void lowrank_brick_values(const stn_task *task, const stn_power *taps, const lowrank_core *core, int passes,
                          unsigned char values[LOWRANK_BRICK_VALUES]);
/* Everything before them; returns how many blocks there are. */
int64_t lowrank_brick_words(const stn_task *task, const lowrank_brick *brick, const stn_fused_launch *launch,
                            int64_t words[LOWRANK_BRICK_HEADER]);
#endif
