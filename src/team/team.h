/* A grid over several devices: members, their parts, and the exchange of halos. */
#ifndef STN_TEAM_TEAM_H
#define STN_TEAM_TEAM_H
#include "context/context.h"
#include "launch/driver.h"

enum { TEAM_MOST = 64 };

typedef struct team_member {
    stn_context *context; /* owned */
    stn_lane *lane;       /* owned; NULL on the host */
} team_member;

struct stn_team {
    int count;
    bool on_host;
    double link_bandwidth; /* bytes/s from one member to another */
    team_member member[TEAM_MOST];
};

/* A member's rows, and its two grids, which have halo[0] rows before its own and halo[1] after
 * them. */
typedef struct team_part {
    int64_t first, rows;
    int64_t halo[2];
    int neighbour[2]; /* the members that the halos are copies of; -1: a side of the grid */
    void *grid[2];    /* on the member's device, steps go from one to the other; a source's is the third */
    void *source;
    stn_plan *plan[2]; /* of f steps, and of the rest; the second is NULL where there is none */
} team_part;

struct stn_team_plan {
    stn_team *team; /* borrowed */
    int rank, members;
    bool has_source, in_place;
    int64_t batch, row_bytes; /* of a row: one index of the slowest axis, of one grid */
    int64_t rows;             /* of the whole grid */
    uint64_t steps, between;  /* of the run, and between two exchanges */
    double predicted;         /* seconds */
    int at;                   /* the grids that the last run ended in */
    bool has_grids;           /* there was one, and it did not fail */
    team_part part[TEAM_MOST];
};

/* Where a row of grid `batch` lies in a grid of a part with halos; row 0 is the part's first own
 * one. */
static inline int64_t team_offset(const stn_team_plan *plan, const team_part *part, int64_t batch, int64_t row) {
    const int64_t all = part->halo[0] + part->rows + part->halo[1];
    return (batch * all + part->halo[0] + row) * plan->row_bytes;
}

/* ---- exchange.c */
/* Fills the halos of every member's grid number `which` (2: the source's) from its neighbours. Each
 * member's work before is marked on its lane by team_mark; what follows on a lane waits for the
 * halos. */
stn_status team_mark(const stn_team_plan *plan, stn_error *error);
stn_status team_exchange(const stn_team_plan *plan, int which, stn_error *error);
/* Waits for all members. */
stn_status team_wait(const stn_team_plan *plan, stn_error *error);
/* Of so many bytes between neighbours. */
double team_exchange_seconds(const stn_team *team, double bytes);
#endif
