/* The exchange of halos: each member pulls its neighbours' nearest rows.
 *
 *     member m's grid:   | halo 0 |   own rows   | halo 1 |
 *                            ^                        ^
 *     last rows of the neighbour below      first rows of the neighbour above
 *
 * A member's copies wait for its neighbours' marks, which follow the steps that wrote the rows. A
 * neighbour writes into the grid that was read only after its own next exchange, which waits for
 * this member's next mark: so two grids are enough. */
#include <string.h>

#include "base/error.h"
#include "plan/plan.h"
#include "team/team.h"

#define LATENCY 20e-6 /* seconds that an exchange takes at least, with its waits */

double team_exchange_seconds(const stn_team *team, double bytes) { return LATENCY + bytes / team->link_bandwidth; }

stn_status team_mark(const stn_team_plan *plan, stn_error *error) {
    for (int m = 0; m < plan->members && !plan->team->on_host; m++)
        STN_TRY(stn_lane_mark(plan->team->member[m].lane, error));
    return STN_OK;
}

static unsigned char *grid_of(const team_part *part, int which) {
    return which == 2 ? part->source : part->grid[which];
}

static stn_status copy_halo(const stn_team_plan *plan, int m, int side, int which, stn_error *error) {
    const team_part *part = &plan->part[m], *from = &plan->part[part->neighbour[side]];
    const int64_t depth = part->halo[side], to_row = side ? part->rows : -depth,
                  from_row = side ? 0 : from->rows - depth;
    const size_t bytes = (size_t)(depth * plan->row_bytes);
    const team_member *own = &plan->team->member[m], *other = &plan->team->member[part->neighbour[side]];
    for (int64_t b = 0; b < plan->batch; b++) {
        unsigned char *const to = grid_of(part, which) + team_offset(plan, part, b, to_row);
        const unsigned char *const source = grid_of(from, which) + team_offset(plan, from, b, from_row);
        if (plan->team->on_host)
            memcpy(to, source, bytes);
        else
            STN_TRY(stn_lane_copy(own->lane, to, other->lane, source, bytes, error));
    }
    return STN_OK;
}

stn_status team_exchange(const stn_team_plan *plan, int which, stn_error *error) {
    for (int m = 0; m < plan->members; m++)
        for (int side = 0; side < 2; side++) {
            const int neighbour = plan->part[m].neighbour[side];
            if (neighbour < 0 || !plan->part[m].halo[side]) continue;
            if (!plan->team->on_host)
                STN_TRY(stn_lane_await(plan->team->member[m].lane, plan->team->member[neighbour].lane, error));
            STN_TRY(copy_halo(plan, m, side, which, error));
        }
    return STN_OK;
}

stn_status team_wait(const stn_team_plan *plan, stn_error *error) {
    stn_status status = STN_OK;
    for (int m = 0; m < plan->members && !plan->team->on_host; m++) {
        const team_member *member = &plan->team->member[m];
        const stn_status own = stn_device_synchronize(member->context->device, stn_lane_stream(member->lane),
                                                      status == STN_OK ? error : NULL);
        if (status == STN_OK) status = own;
    }
    return status;
}
