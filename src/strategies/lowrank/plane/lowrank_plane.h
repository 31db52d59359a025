/* lowrank in 1D and 2D, as a table of operations. */
#ifndef STN_STRATEGIES_LOWRANK_PLANE_LOWRANK_PLANE_H
#define STN_STRATEGIES_LOWRANK_PLANE_LOWRANK_PLANE_H
#include "plan/plan.h"

extern const stn_strategy lowrank_plane;
#endif
