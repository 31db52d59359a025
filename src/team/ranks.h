/* The processes of a team, by MPI: messages that are waited for with a time limit, and agreements,
 * which give all of them the same status.
 *
 * A process that waits or computes says so to all others (a beat) several times within the limit. A
 * process that is waited for and says nothing for as long as the limit has died or hangs: whoever
 * notices tells all others, and every call fails from then on. */
#ifndef STN_TEAM_RANKS_H
#define STN_TEAM_RANKS_H
#include "team/mpi.h"

typedef struct team_ranks team_ranks;

/* communicator: points to an MPI_Comm, or NULL for MPI_COMM_WORLD; it is duplicated. seconds: the
 * limit; 0: $STENTOR_MPI_SECONDS, else 300. */
stn_status team_ranks_open(const void *communicator, double seconds, team_ranks **ranks, stn_error *error);
void team_ranks_close(team_ranks *ranks); /* NULL is fine */
int team_ranks_size(const team_ranks *ranks);
int team_ranks_own(const team_ranks *ranks);
/* The rank that the last failure names; -1: none failed. */
int team_ranks_culprit(const team_ranks *ranks);
/* Does a rank no longer answer, so that nothing can be sent any more? */
bool team_ranks_broken(const team_ranks *ranks);

/* Bytes in host memory to or from another rank. */
typedef struct team_message {
    int peer, tag;
    bool is_sent; /* else received */
    void *bytes;
    size_t size; /* as large on the other side */
} team_message;
/* Sends and receives all of them. */
stn_status team_ranks_transfer(team_ranks *ranks, const team_message *messages, int count, stn_error *error);

/* For long computations, at least every 0.2 s: tells the others that this rank computes. False:
 * another one failed, so stop; team_ranks_transfer and team_ranks_agree say why. */
bool team_ranks_look(team_ranks *ranks);

/* A failure of this rank between two agreements: tells all others, which fail too. Returns the
 * status. */
stn_status team_ranks_fail(team_ranks *ranks, stn_status status, stn_error *error);

enum { TEAM_SHARED = 4200 }; /* bytes that an agreement can carry */
/* All ranks call it, and all get the same result: STN_OK, or the status and sentence of the lowest
 * rank whose `status` is a failure (its sentence is in *error), or, where `hash` differs from rank
 * 0's, STN_ERROR_INVALID_ARGUMENT with both ranks' `words`. shared: rank 0's bytes become all
 * ranks'; NULL: none. */
stn_status team_ranks_agree(team_ranks *ranks, stn_status status, uint64_t hash, const char *words, void *shared,
                            size_t bytes, stn_error *error);
#endif
