/* lowrank in 3D, as a table of operations. */
#ifndef STN_STRATEGIES_LOWRANK_VOLUME_LOWRANK_VOLUME_H
#define STN_STRATEGIES_LOWRANK_VOLUME_LOWRANK_VOLUME_H
#include "plan/plan.h"

extern const stn_strategy lowrank_volume;
#endif
