/* A launch of several steps in one, which a strategy does in the interior of a grid and others may
 * complete at its faces. */
#ifndef STN_STRATEGIES_COMMON_FUSED_H
#define STN_STRATEGIES_COMMON_FUSED_H
#include "plan/plan.h"
#include "strategies/common/layout.h"

/* One launch of f steps from grid `in` to grid `out`, which must not overlap. */
typedef struct stn_fused_launch {
    const stn_grid_layout *from, *to;
    const void *in;
    void *out;
    void *stream;
} stn_fused_launch;
/* A strategy's own part of it; `user` is the strategy's. What it must write, the caller says. */
typedef stn_status (*stn_interior)(const stn_plan *plan, const void *user, const stn_fused_launch *launch,
                                   stn_error *error);

/* For a strategy's `shorten`: *launches becomes at most `most`, of `fused` steps each. Returns
 * their steps. */
static inline uint64_t stn_fused_shorten(const stn_task *task, int fused, uint64_t most, int *launches) {
    if (most >= (uint64_t)*launches) return task->steps;
    *launches = (int)most;
    return most * (uint64_t)fused;
}
#endif
