/* lowrank in 3D, as a table of operations. */
#ifndef STN_STRATEGIES_LOWRANK_SOLID_SOLID_H
#define STN_STRATEGIES_LOWRANK_SOLID_SOLID_H
#include "plan/plan.h"

extern const stn_strategy lowrank_solid;
#endif
