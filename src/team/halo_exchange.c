/* The exchange of halos: each member gets its neighbours' nearest rows.
 *
 *     member m's grid:   | halo 0 |   own rows   | halo 1 |
 *                            ^                        ^
 *     last rows of the neighbour below      first rows of the neighbour above
 *
 * In one process a member's copies wait for its neighbours' events, recorded after the steps that
 * wrote the rows. Two launches later the neighbour overwrites the grid that was read. Before that
 * launch its exchange waits for an event that this member records after the copies, so two grids
 * are enough.
 *
 * Between processes the rows are messages of host memory. Rows of a batch, or on a GPU, are first
 * packed into separate host memory. By NCCL they are messages of device memory, one for each grid,
 * on the stream that computes. */
#include <string.h>

#include "base/error.h"
#include "plan/plan.h"
#include "team/nccl.h"
#include "team/team.h"

double team_exchange_seconds(const stn_team *team, double bytes) {
    return team->latency + bytes / team->link_bandwidth;
}

stn_status team_mark(const stn_team_plan *plan, stn_error *error) {
    for (int m = 0; m < plan->members && !plan->team->on_host; m++)
        if (team_is_here(plan->team, m)) STN_TRY(stn_lane_mark(plan->team->member[m].lane, error));
    return STN_OK;
}

static unsigned char *grid_of(const team_part *part, int which) {
    return which == 2 ? part->source : part->grid[which];
}

/* A halo: rows of member `m` on its `side`, and the rows of its neighbour of which they are
 * copies. */
typedef struct halo {
    int m, side, neighbour;
    int64_t depth, to_row, from_row;
} halo;

static halo halo_of(const stn_team_plan *plan, int m, int side) {
    const team_part *part = &plan->part[m];
    const int neighbour = part->neighbour[side];
    const int64_t depth = neighbour < 0 ? 0 : part->halo[side];
    return (halo){m,
                  side,
                  neighbour,
                  depth,
                  side ? part->rows : -depth,
                  neighbour < 0 || side ? 0 : plan->part[neighbour].rows - depth};
}

static stn_status copy_halo(const stn_team_plan *plan, const halo *h, int which, stn_error *error) {
    const team_part *part = &plan->part[h->m], *from = &plan->part[h->neighbour];
    const size_t bytes = (size_t)(h->depth * plan->row_bytes);
    const team_member *own = &plan->team->member[h->m], *other = &plan->team->member[h->neighbour];
    if (!plan->team->on_host) STN_TRY(stn_lane_await(own->lane, other->lane, error));
    for (int64_t b = 0; b < plan->batch; b++) {
        unsigned char *const to = grid_of(part, which) + team_offset(plan, part, b, h->to_row);
        const unsigned char *const source = grid_of(from, which) + team_offset(plan, from, b, h->from_row);
        if (plan->team->on_host)
            memcpy(to, source, bytes);
        else
            STN_TRY(stn_lane_copy(own->lane, to, other->lane, source, bytes, error));
    }
    return STN_OK;
}

/* Copies rows of this process's member to (packs) or from the packed memory. */
static stn_status pack(const stn_team_plan *plan, int which, int64_t row, int64_t depth, bool packs, void *packed,
                       stn_error *error) {
    const team_part *part = &plan->part[plan->team->own];
    stn_context *const context = plan->team->member[plan->team->own].context;
    const size_t bytes = (size_t)(depth * plan->row_bytes);
    for (int64_t b = 0; b < plan->batch; b++) {
        unsigned char *const rows = grid_of(part, which) + team_offset(plan, part, b, row);
        unsigned char *const at = (unsigned char *)packed + b * (int64_t)bytes;
        STN_TRY(packs ? stn_memory_download(context, at, rows, bytes, error)
                      : stn_memory_upload(context, rows, at, bytes, error));
    }
    return STN_OK;
}

/* A message's memory: the rows themselves, or the packed copy. */
static stn_status message_of(const stn_team_plan *plan, const halo *h, int which, team_message *message,
                             stn_error *error) {
    const int own = plan->team->own;
    const team_part *part = &plan->part[own];
    const bool is_sent = h->m != own;
    void *const packed = is_sent ? part->leaving[h->side] : part->coming[h->side];
    const int64_t row = is_sent ? h->from_row : h->to_row;
    *message = (team_message){.peer = is_sent ? h->m : h->neighbour,
                              .tag = h->side,
                              .is_sent = is_sent,
                              .bytes = packed ? packed : grid_of(part, which) + team_offset(plan, part, 0, row),
                              .size = (size_t)(plan->batch * h->depth * plan->row_bytes)};
    return packed && is_sent ? pack(plan, which, row, h->depth, true, packed, error) : STN_OK;
}

static stn_status exchange_by_nccl(const stn_team_plan *plan, team_nccl *nccl, int which, stn_error *error) {
    const int own = plan->team->own;
    const team_part *part = &plan->part[own];
    STN_TRY(team_nccl_begin(nccl, error));
    for (int m = 0; m < plan->members; m++) /* The same order in all processes. */
        for (int side = 0; side < 2; side++) {
            const halo h = halo_of(plan, m, side);
            const bool sends = h.neighbour == own;
            for (int64_t b = 0; h.depth && (m == own || sends) && b < plan->batch; b++)
                team_nccl_add(nccl, &(team_message){.peer = sends ? m : h.neighbour,
                                                    .is_sent = sends,
                                                    .bytes = grid_of(part, which) +
                                                             team_offset(plan, part, b, sends ? h.from_row : h.to_row),
                                                    .size = (size_t)(h.depth * plan->row_bytes)});
        }
    return team_nccl_end(nccl, error);
}

/* Receives this process's halos, and sends its rows that are halos of other processes. */
static stn_status exchange_with_processes(const stn_team_plan *plan, int which, stn_error *error) {
    const int own = plan->team->own;
    team_message messages[4];
    int count = 0;
    if (own >= plan->members) return STN_OK;
    if (plan->team->ranks->nccl) return exchange_by_nccl(plan, plan->team->ranks->nccl, which, error);
    STN_TRY(team_wait(plan, error)); /* the host reads a GPU's rows */
    for (int m = 0; m < plan->members; m++)
        for (int side = 0; side < 2; side++) {
            const halo h = halo_of(plan, m, side);
            if (h.depth && (m == own || h.neighbour == own))
                STN_TRY(message_of(plan, &h, which, &messages[count++], error));
        }
    STN_TRY(team_ranks_transfer(plan->team->ranks, messages, count, error));
    for (int side = 0; side < 2; side++) {
        const halo h = halo_of(plan, own, side);
        if (h.depth && plan->part[own].coming[side])
            STN_TRY(pack(plan, which, h.to_row, h.depth, false, plan->part[own].coming[side], error));
    }
    return STN_OK;
}

stn_status team_exchange(const stn_team_plan *plan, int which, stn_error *error) {
    if (plan->team->ranks) return exchange_with_processes(plan, which, error);
    for (int m = 0; m < plan->members; m++)
        for (int side = 0; side < 2; side++) {
            const halo h = halo_of(plan, m, side);
            if (h.depth) STN_TRY(copy_halo(plan, &h, which, error));
        }
    return STN_OK;
}

stn_status team_wait(const stn_team_plan *plan, stn_error *error) {
    stn_status status = STN_OK;
    if (plan->team->ranks && plan->team->ranks->nccl) return team_nccl_wait(plan->team->ranks->nccl, error);
    for (int m = 0; m < plan->members && !plan->team->on_host; m++) {
        const team_member *member = &plan->team->member[m];
        if (!team_is_here(plan->team, m)) continue;
        const stn_lane *lanes[] = {member->lane, member->copy_lane};
        for (int i = 0; i < 2 && lanes[i]; i++) {
            const stn_status own = stn_device_synchronize(member->context->device, stn_lane_stream(lanes[i]),
                                                          status == STN_OK ? error : NULL);
            if (status == STN_OK) status = own;
        }
    }
    return status;
}
