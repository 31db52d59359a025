/* A run of fused launches, which take their input and output by turns. */
#ifndef STN_STRATEGIES_COMMON_TURNS_H
#define STN_STRATEGIES_COMMON_TURNS_H
#include "strategies/common/fused.h"

/* Launch number i: reads launch->in, writes launch->out. `user` is the strategy's. */
typedef stn_status (*stn_turn)(const stn_plan *plan, const void *user, uint64_t i, const stn_fused_launch *launch,
                               stn_error *error);
/* Launches by turns between the workspace's first grid and out, so that the last of all `launches`
 * lands in out: those of `part`. In place and odd, the first would read what it writes: it starts
 * from a copy. */
stn_status stn_take_turns(const stn_plan *plan, const stn_layouts *at, uint64_t launches, stn_part part,
                          const stn_execution *run, stn_turn turn, const void *user, stn_error *error);
#endif
