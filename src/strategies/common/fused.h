/* A launch that makes several steps: a strategy computes the interior of a grid, and margins may
 * complete it at the faces. */
#ifndef STN_STRATEGIES_COMMON_FUSED_H
#define STN_STRATEGIES_COMMON_FUSED_H
#include "plan/plan.h"
#include "strategies/common/grid_layout.h"

/* One launch of f steps from grid `in` to grid `out`, which must not overlap. */
typedef struct stn_fused_launch {
    const stn_grid_layout *from, *to;
    const void *in;
    void *out;
    void *stream;
} stn_fused_launch;
/* A strategy's own part of the launch, with its argument `user`. The caller specifies which points
 * it must write. */
typedef stn_status (*stn_interior)(const stn_plan *plan, const void *user, const stn_fused_launch *launch,
                                   stn_error *error);

/* Helper for a strategy's `shorten`: limits *launches to `most`, of `fused` steps each, and returns
 * their steps. */
static inline uint64_t stn_fused_shorten(const stn_task *task, int fused, uint64_t most, int *launches) {
    if (most >= (uint64_t)*launches) return task->steps;
    *launches = (int)most;
    return most * (uint64_t)fused;
}
#endif
