/* Inputs of the kernel lowrank_volume: its params.cuh, its weights, its arguments. */
#ifndef STN_STRATEGIES_LOWRANK_VOLUME_VOLUME_ARGUMENTS_H
#define STN_STRATEGIES_LOWRANK_VOLUME_VOLUME_ARGUMENTS_H
#include "strategies/common/fused.h"
#include "strategies/lowrank/volume/volume_shape.h"

void lowrank_volume_params(const stn_task *task, const stn_power *taps, const lowrank_core *core,
                           const lowrank_volume_shape *shape, stn_text *params);

/* The arguments of one launch, as the kernel declares them. */
/* Words before the weights. */
#define LOWRANK_VOLUME_HEADER 15
/* Bytes; the first value is a scale. */
#define LOWRANK_VOLUME_VALUES ((LOWRANK_CORE_VALUES + 1) * (int)sizeof(double))
typedef struct lowrank_volume_arguments {
    int64_t words[LOWRANK_VOLUME_HEADER];
    unsigned char values[LOWRANK_VOLUME_VALUES];
} lowrank_volume_arguments;
/* Packs the vectors as the kernel declares them. */
void lowrank_volume_values(const stn_task *task, const stn_power *taps, const lowrank_core *core, int passes,
                           unsigned char values[LOWRANK_VOLUME_VALUES]);
/* Fills the header words and returns the number of blocks. */
int64_t lowrank_volume_words(const stn_task *task, const lowrank_volume_shape *shape, const stn_fused_launch *launch,
                             int64_t words[LOWRANK_VOLUME_HEADER]);
#endif
