/* Finds the core of a 3D stencil's fused taps, on the host and in higher precision than the data.
 */
#ifndef STN_STRATEGIES_LOWRANK_VOLUME_CORE_SEARCH_H
#define STN_STRATEGIES_LOWRANK_VOLUME_CORE_SEARCH_H
#include "strategies/common/stencil_power.h"
#include "strategies/lowrank/volume/tap_core.h"

/* Ways to find a core. */
typedef enum lowrank_core_method {
    /* Vectors through the outermost slices: nested reaches, so stars and symmetric taps stay
     * sparse. */
    LOWRANK_CORE_OUTER,
    LOWRANK_CORE_LARGEST, /* vectors through the largest slices: safe for any weights */
    LOWRANK_CORE_PAIR,    /* one step's taps are two separable terms: f + 1 terms for f steps */
    LOWRANK_CORE_METHODS
} lowrank_core_method;
#define LOWRANK_TOO_MANY_TERMS (-1)
/* False if this method finds no core that is exact to rounding and small enough. *core is then
 * undefined except for `terms`, which is LOWRANK_TOO_MANY_TERMS if its vectors need more than
 * LOWRANK_CORE_TERMS terms. `taps` holds the task's fused taps. */
bool lowrank_core_make(const stn_task *task, const stn_power *taps, lowrank_core_method method, lowrank_core *core);
#endif
