/* The processes of a team, by MPI or by NCCL alone: messages that are waited for with a time limit,
 * and agreements, which give all of them the same status.
 *
 * A process that waits or computes sends a heartbeat to all others several times within the limit.
 * If a process that another one waits for sends nothing within the limit, it has died or hangs. The
 * process that notices this tells all others, and every call fails from then on.
 *
 * With NCCL alone there are no heartbeats, and no process can report a failure to the others: a
 * process that waits for longer than the limit fails. With MPI, NCCL may carry the exchanges
 * between GPUs. */
#ifndef STN_TEAM_RANKS_H
#define STN_TEAM_RANKS_H
#include "team/mpi.h"

typedef struct team_ranks team_ranks;
typedef struct team_nccl team_nccl; /* nccl.h */
enum { TEAM_SHARED = 4200 };        /* largest `shared` of an agreement in bytes */

/* communicator: points to an MPI_Comm, or NULL for MPI_COMM_WORLD; it is duplicated. seconds: the
 * limit; 0: $STENTOR_MPI_SECONDS, else 300. */
stn_status team_ranks_open(const void *communicator, double seconds, team_ranks **ranks, stn_error *error);
/* Ranks without MPI, which can send nothing before team_nccl_open. */
stn_status team_ranks_make(int own, int size, double seconds, team_ranks **ranks, stn_error *error);
void team_ranks_close(team_ranks *ranks); /* NULL has no effect */
int team_ranks_size(const team_ranks *ranks);
int team_ranks_own(const team_ranks *ranks);
/* The rank that the last failure names; -1: none failed. */
int team_ranks_failed(const team_ranks *ranks);
/* True if a rank has stopped answering: no message can be sent any more. */
bool team_ranks_broken(const team_ranks *ranks);

/* Bytes in host memory to or from another rank. */
typedef struct team_message {
    int peer, tag;
    bool is_sent; /* else received */
    void *bytes;
    size_t size; /* equal on the other side */
} team_message;
/* Sends and receives all `count` messages, and waits until they have ended. */
stn_status team_ranks_transfer(team_ranks *ranks, const team_message *messages, int count, stn_error *error);

/* Sends heartbeats and receives those of others; long computations must call it at least every 0.2
 * s. False: another rank failed, and the computation should stop; the next team_ranks_transfer or
 * team_ranks_agree returns the reason. */
bool team_ranks_poll(team_ranks *ranks);

/* Checks a wait, which began at `begin`, for the ranks r with awaited[r]: fails if one of them has
 * been silent for longer than the limit, or if another rank failed. */
stn_status team_ranks_check(team_ranks *ranks, const bool *awaited, double begin, stn_error *error);
/* The pause between two polls: none at first, then a yield, then a sleep. */
void team_rest(unsigned polls);

/* Reports a failure of this rank between two agreements to all others, which then fail too. Returns
 * the status. */
stn_status team_ranks_fail(team_ranks *ranks, stn_status status, stn_error *error);

/* All ranks call it, and all get the same result: the status and sentence of the lowest rank whose
 * `status` is a failure (its sentence is in *error); STN_ERROR_INVALID_ARGUMENT with the `words` of
 * rank 0 and of a rank whose `hash` differs from that of rank 0; otherwise STN_OK. shared: rank 0's
 * bytes become all ranks'; NULL: none. */
stn_status team_ranks_agree(team_ranks *ranks, stn_status status, uint64_t hash, const char *words, void *shared,
                            size_t bytes, stn_error *error);

/* ---- what ranks.c (messages) and agree.c (agreements) share ---------------------------------- */

/* Tags of MPI. A message's own tag is added to TAG_USER; that of a halo is its side, 0 or 1. */
enum { TAG_CONTROL = 1, TAG_USER = 16 };
enum { TAG_VOTE = 2, TAG_DECISION, WORDS = 320 };

/* A heartbeat, or what failed. */
typedef struct control {
    int from, is_failure, failed_rank;
    stn_status status;
    char message[sizeof((stn_error *)0)->message];
} control;

typedef struct vote { /* from each rank to rank 0 */
    stn_status status;
    uint64_t hash;
    char message[sizeof((stn_error *)0)->message], words[WORDS];
} vote;

typedef struct decision { /* from rank 0 to each rank */
    stn_status status;
    int failed_rank;
    char message[sizeof((stn_error *)0)->message];
    unsigned char shared[TEAM_SHARED];
} decision;

/* For ranks.c and agree.c. */
struct team_ranks {
    bool has_mpi;
    team_nccl *nccl; /* owned by the team; NULL: MPI alone */
    /* Without MPI: team_nccl_transfer. */
    stn_status (*transfer)(team_nccl *nccl, const team_message *messages, int count, stn_error *error);
    stn_mpi mpi;
    stn_mpi_handle comm, listening; /* listening: the request of the next control message */
    bool has_comm, listens, broken;
    int size, own, failed_rank;
    double limit, last_heartbeat; /* seconds; when this rank last sent heartbeats */
    double patience;              /* longest wait by NCCL alone, as a multiple of `limit` */
    stn_error why;                /* the failure that broke the team */
    control heard, heartbeat, failure;
    double *last;               /* when each rank was heard last */
    stn_mpi_handle *heartbeats; /* pending sends to each rank; 0: none */
    vote *votes;                /* on rank 0 */
    decision decision;
};

/* Declares that rank `peer`, which has not answered for `seconds`, is lost, and reports this to all
 * others. how: the verb of the message, such as "has not answered for". */
stn_status team_lose(team_ranks *ranks, int peer, const char *how, double seconds, stn_error *error);
/* The failure that broke the team. */
stn_status team_already_broken(const team_ranks *ranks, stn_error *error);
#endif
