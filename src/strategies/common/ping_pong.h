/* The launches of a run, of several steps each, alternate between two grids (ping-pong). The
 * strategy chooses their number. */
#ifndef STN_STRATEGIES_COMMON_PING_PONG_H
#define STN_STRATEGIES_COMMON_PING_PONG_H
#include "strategies/common/launches.h"

/* Launch number i: reads launch->in, writes launch->out. */
typedef stn_status (*stn_ping_pong_launch)(const stn_plan *plan, uint64_t i, const stn_fused_launch *launch,
                                           stn_error *error);
/* Runs the launches of `part`, alternating between the workspace's first grid and `out` so that the
 * last of all `launches` writes `out`. In place with an odd number of launches, the first one
 * starts from a copy, because it would read what it writes. */
stn_status stn_ping_pong_run(const stn_plan *plan, const stn_layouts *at, uint64_t launches, stn_part part,
                             const stn_execution *run, stn_ping_pong_launch launch, stn_error *error);
/* Adds the time of that copy to the estimate of a run of this many launches. */
void stn_ping_pong_add_copy(const stn_task *task, const stn_machine *machine, double launches, stn_estimate *e);
#endif
