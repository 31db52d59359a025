/* Further shapes worth measuring besides those that the estimate chooses from. */
#ifndef STN_STRATEGIES_DIRECT_DIRECT_VARIANTS_H
#define STN_STRATEGIES_DIRECT_DIRECT_VARIANTS_H
#include "strategies/direct/direct_shape.h"

/* Neighbours of the best of `shapes` (more or fewer blocks, longer or shorter tiles, other
 * points a lane), because estimates do not resolve them. Returns their number, at most `most`. */
size_t direct_variants(const stn_task *task, const stn_machine *machine, const direct_shape *shapes, size_t count,
                       direct_shape *variants, size_t most);
#endif
