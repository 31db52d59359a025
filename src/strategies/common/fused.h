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

/* Defines a strategy's `shorten` for candidates whose parameters, of type `type` and read by
 * `reader`, have `launches` of `fused` steps each. */
#define STN_FUSED_SHORTEN(type, reader)                                                                                \
    static uint64_t shorten(const stn_task *task, const stn_candidate *candidate, uint64_t most,                       \
                            stn_candidate *trial) {                                                                    \
        type shape = reader(candidate);                                                                                \
        const bool whole = most >= (uint64_t)shape.launches;                                                           \
        if (!whole) shape.launches = (int)most;                                                                        \
        *trial = stn_candidate_of(&shape, sizeof shape);                                                               \
        return whole ? task->steps : most * (uint64_t)shape.fused;                                                     \
    }
#endif
