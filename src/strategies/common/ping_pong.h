/* A run of fused launches that alternate between two grids (ping-pong). */
#ifndef STN_STRATEGIES_COMMON_TURNS_H
#define STN_STRATEGIES_COMMON_TURNS_H
#include "strategies/common/fused.h"

/* Launch number i: reads launch->in, writes launch->out. `user` is the strategy's argument. */
typedef stn_status (*stn_ping_pong_launch)(const stn_plan *plan, const void *user, uint64_t i,
                                           const stn_fused_launch *launch, stn_error *error);
/* Runs the launches of `part`, alternating between the workspace's first grid and `out` so that the
 * last of all `launches` writes `out`. In place with an odd number of launches, the first one
 * starts from a copy, because it would read what it writes. */
stn_status stn_ping_pong_run(const stn_plan *plan, const stn_layouts *at, uint64_t launches, stn_part part,
                             const stn_execution *run, stn_ping_pong_launch turn, const void *user, stn_error *error);
#endif
