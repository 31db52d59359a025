/* Finds the cheapest shapes of the lowrank kernels for a task in 1D or 2D. */
#ifndef STN_STRATEGIES_LOWRANK_PLANE_PLANE_SEARCH_H
#define STN_STRATEGIES_LOWRANK_PLANE_PLANE_SEARCH_H
#include "strategies/lowrank/plane/plane_shape.h"

#define LOWRANK_MAX_BEST 4

/* Lists the best shapes with at most `most_fused` steps a launch, cheapest first, at most `most`
 * and LOWRANK_MAX_BEST; returns their number. Plan creation waits for this search. So taps are
 * only split if the results for fewer steps show that the shape can still be among the best. */
size_t lowrank_search(const stn_task *task, const stn_machine *machine, int most_fused, lowrank_shape *best,
                      size_t most);
/* Whether there is any shape. */
bool lowrank_search_any(const stn_task *task, const stn_machine *machine);
#endif
