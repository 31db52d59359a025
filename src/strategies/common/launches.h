/* How the T steps of a run are divided into launches of several steps, and one such launch: a
 * strategy computes the interior of a grid, and margins may complete it at the faces. */
#ifndef STN_STRATEGIES_COMMON_LAUNCHES_H
#define STN_STRATEGIES_COMMON_LAUNCHES_H
#include "plan/plan.h"
#include "strategies/common/grid_layout.h"

/* One launch of f steps from grid `in` to grid `out`, which must not overlap. */
typedef struct stn_fused_launch {
    const stn_grid_layout *from, *to;
    const void *in;
    void *out;
    void *margins; /* their workspace (faces/margins.h), 256-byte aligned */
    void *stream;
    bool follows; /* the preceding launch on the stream is one of the same run */
} stn_fused_launch;

/* The T steps of a run need not divide evenly into its launches: the first T % launches are then
 * longer by one step than the others. The number of lengths: 1 or 2. */
static inline int stn_fused_lengths(const stn_task *task, int launches) {
    return task->steps % (uint64_t)launches ? 2 : 1;
}
/* The steps of the longer launches (length 0), or of the shorter ones (1). */
static inline int stn_fused_steps(const stn_task *task, int launches, int length) {
    return (int)((task->steps + (length ? 0 : (uint64_t)launches - 1)) / (uint64_t)launches);
}
/* The length of launch number i. */
static inline int stn_fused_length(const stn_task *task, int launches, uint64_t i) {
    return stn_fused_lengths(task, launches) == 2 && i >= task->steps % (uint64_t)launches;
}

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
