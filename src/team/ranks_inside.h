/* What ranks.c (messages) and agree.c (agreements) share. */
#ifndef STN_TEAM_RANKS_INSIDE_H
#define STN_TEAM_RANKS_INSIDE_H
#include "team/ranks.h"

enum { TAG_CONTROL = 1, TAG_CLAIM, TAG_VERDICT, TAG_USER = 16, WORDS = 320 };

/* A beat, or what failed. */
typedef struct control {
    int from, is_failure, culprit;
    stn_status status;
    char message[sizeof((stn_error *)0)->message];
} control;

typedef struct claim { /* from each rank to rank 0 */
    stn_status status;
    uint64_t hash;
    char message[sizeof((stn_error *)0)->message], words[WORDS];
} claim;

typedef struct verdict { /* from rank 0 to each rank */
    stn_status status;
    int culprit;
    char message[sizeof((stn_error *)0)->message];
    unsigned char shared[TEAM_SHARED];
} verdict;

struct team_ranks {
    stn_mpi mpi;
    stn_mpi_handle comm, listening; /* of the control message that is received next */
    bool has_comm, listens, broken;
    int size, own, culprit;
    double limit, told; /* seconds; when this rank last sent beats */
    stn_error why;      /* of what is broken */
    control heard, beat, failure;
    double *last;          /* when each rank was heard last */
    stn_mpi_handle *beats; /* being sent to each rank; 0: none */
    claim *claims;         /* of rank 0 */
    verdict verdict;
};

typedef struct pending {
    stn_mpi_handle request;
    int peer;
    bool is_sent, done;
} pending;

/* Starts a message of up to 1 GiB. False: MPI refused. */
bool team_start(const team_ranks *ranks, bool is_sent, int peer, int tag, void *bytes, size_t size, pending *made);
/* Waits for all of them, and gives them up on failure. */
stn_status team_wait_for(team_ranks *ranks, pending *list, int count, stn_error *error);
/* Gives up a rank that has not answered for so many seconds, and tells all others. how: "has not
 * answered for". */
stn_status team_lose(team_ranks *ranks, int peer, const char *how, double seconds, stn_error *error);
/* The failure that broke the team. */
stn_status team_already_broken(const team_ranks *ranks, stn_error *error);
#endif
