/* A grid over several devices, of this process or of several: members, their parts, and the
 * exchange of halos. */
#ifndef STN_TEAM_TEAM_H
#define STN_TEAM_TEAM_H
#include "context/context.h"
#include "launch/driver.h"
#include "problem/system_task.h"
#include "problem/transform.h"
#include "team/ranks.h"

enum { TEAM_MAX_DEVICES = 64, TEAM_MAX_RANKS = 4096 };

/* Seconds that a GPU idles between two launches with an exchange between them: it waits for the
 * last blocks of the first launch, then for halos, and starts the blocks of the next launch.
 * Measured on two H200s, without the time of the copies. */
#define TEAM_IDLE 12e-6

typedef struct team_member {
    stn_context *context; /* owned */
    stn_lane *lane;       /* owned; NULL on the host */
    stn_lane *copy_lane;  /* owned; of transforms' exchanges; NULL on the host, and with ranks */
} team_member;

struct stn_team {
    int count;
    /* This process's member if each member is a process; else 0. */
    int own;
    team_ranks *ranks;           /* owned; the members' processes; NULL: only this one */
    bool on_host;                /* the members of this process compute on the host */
    double link_bandwidth;       /* bytes/s from one member to another */
    double latency;              /* seconds of the smallest exchange, with its waits */
    int gpus;                    /* GPUs that this process enqueues work on */
    uint64_t steps_per_exchange; /* for measurements: of all plans; 0: chosen */
    bool transforms;             /* for tests: use transforms for all runs that allow them */
    int fft_chunks;              /* for measurements: chunks of transforms' exchanges; 0: chosen */
    team_member *member;         /* owned; those of other processes are empty */
};

static inline bool team_is_here(const stn_team *team, int member) { return !team->ranks || member == team->own; }

/* A member's rows, and its two grids, which have halo[0] rows before its own rows and halo[1]
 * rows after them. */
typedef struct team_part {
    int64_t first, rows;
    int64_t halo[2];
    int neighbour[2]; /* the members that the halos are copies of; -1: a side of the grid */
    /* On the member's device: ping-pong grids, and the source if there is one. */
    void *grid[2];
    void *source;
    /* Owned host memory: halos to and from other processes; NULL: they are contiguous anyway. */
    void *leaving[2], *coming[2];
    /* plan[0] computes the steps between two exchanges, plan[1] the remaining steps (NULL if there
     * are none). They compute the part with its halos. */
    stn_plan *plan[2];
} team_part;

/* Functions for plans of other work than a stencil (team_system.c). */
typedef struct team_kind {
    /* The plan of member m's part with its halos. */
    stn_status (*plan_part)(const stn_team_plan *plan, stn_context *context, int m, uint64_t steps,
                            const stn_plan_options *options, stn_plan **made, stn_error *error);
    /* Memory of a member besides its grids. */
    stn_status (*make_part)(stn_team_plan *plan, int m, stn_error *error);
    /* Enqueues a run of member m's plan: it reads grids number plan->at, and writes the others. */
    stn_status (*run)(const stn_team_plan *plan, int m, stn_plan *own, const stn_lane *lane, stn_error *error);
    void (*destroy)(stn_team_plan *plan);
} team_kind;

struct stn_team_plan {
    stn_team *team;        /* borrowed */
    const team_kind *kind; /* NULL: a stencil */
    int rank, members;
    bool has_source, in_place;
    int64_t batch, row_bytes; /* row: one index of the slowest axis, one grid */
    int64_t rows, reach;      /* rows of the whole grid; reach of one step along the slowest axis */
    bool wraps;               /* the first member and the last one are neighbours */
    uint64_t steps;           /* of the run */
    uint64_t steps_per_exchange;
    uint64_t most;    /* the most steps per exchange that are allowed; 0: any number */
    double predicted; /* seconds */
    int at;           /* index of the grids with the last result */
    bool has_grids;   /* a run has succeeded */
    /* The failure of this process in a run that continues for the other processes */
    stn_status failed;
    /* Owned; one per member. Only this process's members have grids and plans. */
    team_part *part;
    struct team_system *system; /* owned; of a system (team_system.h), else NULL */
    /* Owned: all steps by transforms (team_spectral.h), or a transform, which has no `part`
     * (team_fft.h); else NULL. */
    struct team_spectral *spectral;
    struct team_fft *fft;
    struct team_watch *watch; /* owned; of a plan with a progress function, else NULL */
};

/* Rows of a part's grid, with halos. */
static inline int64_t team_rows(const team_part *part) { return part->halo[0] + part->rows + part->halo[1]; }
/* The byte offset of a row of grid `batch` in a part's grid with halos; row 0 is the part's first
 * own row. */
static inline int64_t team_offset(const stn_team_plan *plan, const team_part *part, int64_t batch, int64_t row) {
    return (batch * team_rows(part) + part->halo[0] + row) * plan->row_bytes;
}

/* ---- team_plan.c
 * A plan with the parts, the steps between two exchanges and the predicted seconds, which cannot be
 * executed. Only member 0 needs a context. */
stn_status team_predict(stn_team *team, const stn_problem *problem, const stn_plan_options *options,
                        stn_team_plan **plan, stn_error *error);

stn_status team_plan_begin(stn_team *team, stn_team_plan **plan, stn_error *error);
/* Divides the rows among the members, once steps, batch, rows, reach and row_bytes are set. */
void team_plan_divide(stn_team_plan *plan);
/* Ends the creation of a plan, in all processes: they agree on `status`, the outcome so far, on the
 * hash and on the steps between exchanges, and make their members' plans. problem: NULL for a
 * system. `made` may be NULL after a failure; it is destroyed unless it becomes *plan. */
stn_status team_plan_finish(stn_team *team, stn_team_plan *made, const stn_problem *problem,
                            const stn_plan_options *options, stn_status status, uint64_t hash, const char *words,
                            stn_team_plan **plan, stn_error *error);

/* ---- digest.c
 * A hash of the problem and the options, which must be equal in all processes, and a description of
 * them in a few words. */
uint64_t team_digest(const stn_problem *problem, const stn_plan_options *options, char *words, size_t size);
uint64_t team_digest_system(const stn_system_task *task, const stn_plan_options *options, char *words, size_t size);
uint64_t team_digest_fft(const stn_fft *fft, const stn_plan_options *options, char *words, size_t size);

/* ---- team.c
 * The status that all processes agree on, by team_ranks_agree (ranks.h), which explains the
 * arguments; the given one if all members are in this process. */
stn_status team_agree(const stn_team *team, stn_status status, uint64_t hash, const char *words, void *shared,
                      size_t bytes, stn_error *error);
/* For stn_execution.progress, with the team's ranks as its user: sends heartbeats to the other
 * ranks; a failure of one ends this computation. */
int team_poll_ranks(void *user, uint64_t done, uint64_t total);

/* ---- team_watch.c
 * Progress and cancellation of an execution. Without a progress function all do nothing, but for
 * the heartbeats of team_watch_member. */
typedef struct team_watch team_watch;
/* Starts the progress of an execution of `total` steps. */
void team_watch_begin(const stn_team_plan *plan, uint64_t total);
/* Sets run->progress for a run of member m. On the host it calls the progress function; if there is
 * none, or on a GPU, it only sends heartbeats in a team by MPI without NCCL. */
void team_watch_member(const stn_team_plan *plan, int m, stn_execution *run);
/* Adds `steps` to the enqueued steps, waits for the GPUs about every 50 ms, and calls the progress
 * function. STN_ERROR_CANCELLED if the function cancels. */
stn_status team_watch_reach(const stn_team_plan *plan, uint64_t steps, stn_error *error);
/* Returns `status`, the result of the steps. If it is a cancellation, the message says how many
 * steps were made. */
stn_status team_watch_cancelled(const stn_team_plan *plan, stn_status status, stn_error *error);
/* Returns `status`, the result of the execution, and reports its end if it succeeded. */
stn_status team_watch_end(const stn_team_plan *plan, stn_status status, stn_error *error);

/* ---- team_run.c */
/* Records a failure of this process, and returns STN_OK if the run must continue because the
 * failure cannot be reported to the other processes now. */
stn_status team_record_failure(stn_team_plan *plan, stn_status status);
/* Steps of launch number i. */
static inline uint64_t team_steps_of(const stn_team_plan *plan, uint64_t launch) {
    return launch < plan->steps / plan->steps_per_exchange ? plan->steps_per_exchange
                                                           : plan->steps % plan->steps_per_exchange;
}
/* Copies `bytes` bytes to the member's grid (if `comes`) or from it. on_host: the caller's pointer
 * is in host memory; such a copy is complete on return, and does not wait for the member's stream.
 * Otherwise it is in memory of the member's device, and the copy is enqueued on its stream. */
stn_status team_copy_rows(const team_member *member, bool on_host, bool comes, void *to, const void *from, size_t bytes,
                          stn_error *error);
/* Exchanges halos, then runs each member's plan[0], or plan[1] if `is_rest`. */
stn_status team_step(stn_team_plan *plan, bool is_rest, stn_error *error);
/* Waits until every process has ended an execution of `steps` steps, or fails with plan->failed. */
stn_status team_agree_at_end(stn_team_plan *plan, uint64_t steps, stn_error *error);

/* ---- halo_exchange.c */
/* Records an event on each member's stream after its earlier work. */
stn_status team_mark(const stn_team_plan *plan, stn_error *error);
/* Fills the halos of every member's grid number `which` (2: the source) with the neighbours' rows,
 * in order of the streams, after the neighbours' events. */
stn_status team_exchange(const stn_team_plan *plan, int which, stn_error *error);
/* Waits for the work of all members. */
stn_status team_wait(const stn_team_plan *plan, stn_error *error);
/* Predicted seconds of an exchange of so many bytes between neighbours. */
double team_exchange_seconds(const stn_team *team, double bytes);
#endif
