/* Messages between the processes of a team: heartbeats, failures, and transfers that are waited for
 * with a time limit. */
#include "team/ranks.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/number.h"
#include "base/text.h"

#define LIMIT_SECONDS 300.0
#define HEARTBEATS 8      /* heartbeats sent within the time limit */
#define CALLS_APART 10.0  /* ranks that wait in different calls fail after so many time limits */
#define TELL_SECONDS 0.5  /* seconds to send a failure's message */
enum { PIECE = 1 << 30 }; /* bytes of a message; counts are ints */

typedef struct pending {
    stn_mpi_handle request;
    int peer;
    bool is_sent, done;
} pending;

void team_rest(unsigned polls) {
    const struct timespec pause = {0, 100000};
    if (polls > 2000)
        nanosleep(&pause, NULL);
    else if (polls > 20)
        sched_yield();
}

/* ---- control messages ------------------------------------------------------------------------ */

static bool listen_on(team_ranks *ranks) {
    ranks->listens = !ranks->mpi.call.irecv(&ranks->heard, sizeof ranks->heard, ranks->mpi.byte, ranks->mpi.any_source,
                                            TAG_CONTROL, ranks->comm, &ranks->listening);
    return ranks->listens;
}

static void break_up(team_ranks *ranks, int failed_rank, const stn_error *why) {
    if (ranks->broken) return;
    ranks->broken = true, ranks->failed_rank = failed_rank, ranks->why = *why;
    stn_mpi_keep_open();
}

/* True if the request has ended. If it failed, *problem has the error. */
static bool is_done(const team_ranks *ranks, stn_mpi_handle *request, int *problem) {
    int flag = 0;
    *problem = ranks->mpi.call.test(request, &flag, ranks->mpi.ignore);
    return flag || *problem;
}

static void receive_control(team_ranks *ranks) {
    int problem;
    while (ranks->listens && is_done(ranks, &ranks->listening, &problem)) {
        const control *heard = &ranks->heard;
        ranks->listens = false;
        if (!problem && heard->from >= 0 && heard->from < ranks->size) {
            ranks->last[heard->from] = stn_clock_seconds();
            if (heard->is_failure) {
                stn_error why = {.status = heard->status};
                memcpy(why.message, heard->message, sizeof why.message);
                break_up(ranks, heard->failed_rank, &why);
            }
        }
        if (!problem) (void)listen_on(ranks);
    }
}

static void send_heartbeats(team_ranks *ranks) {
    int problem;
    const double t = stn_clock_seconds();
    if (t - ranks->last_heartbeat < ranks->limit / HEARTBEATS) return;
    ranks->last_heartbeat = t;
    for (int r = 0; r < ranks->size; r++) {
        if (r == ranks->own || (ranks->heartbeats[r] && !is_done(ranks, &ranks->heartbeats[r], &problem))) continue;
        if (ranks->mpi.call.isend(&ranks->heartbeat, offsetof(control, message), ranks->mpi.byte, r, TAG_CONTROL,
                                  ranks->comm, &ranks->heartbeats[r]))
            ranks->heartbeats[r] = 0;
    }
}

bool team_ranks_poll(team_ranks *ranks) {
    if (!ranks->has_mpi) return !ranks->broken;
    if (!ranks->broken) send_heartbeats(ranks);
    receive_control(ranks);
    return !ranks->broken;
}

/* Sends the failure to all ranks but the failed one, and waits for the messages a short time. */
static void tell_failure(team_ranks *ranks) {
    if (!ranks->has_mpi) return;
    stn_mpi_handle *requests = calloc((size_t)ranks->size, sizeof *requests);
    int problem, left = 0;
    control *told = &ranks->failure;
    *told =
        (control){.from = ranks->own, .is_failure = 1, .failed_rank = ranks->failed_rank, .status = ranks->why.status};
    memcpy(told->message, ranks->why.message, sizeof told->message);
    for (int r = 0; requests && r < ranks->size; r++)
        if (r != ranks->own && (r != ranks->failed_rank) &&
            !ranks->mpi.call.isend(told, sizeof *told, ranks->mpi.byte, r, TAG_CONTROL, ranks->comm, &requests[r]))
            left++;
    for (const double begin = stn_clock_seconds(); left && stn_clock_seconds() - begin < TELL_SECONDS; team_rest(3000))
        for (int r = 0; r < ranks->size; r++)
            if (requests[r] && is_done(ranks, &requests[r], &problem)) requests[r] = 0, left--;
    free(requests);
}

stn_status team_ranks_fail(team_ranks *ranks, stn_status status, stn_error *error) {
    if (ranks->broken) {
        if (error) *error = ranks->why;
        return ranks->why.status;
    }
    stn_error why = {.status = status};
    (void)stn_fail(&why, status, "rank %d of %d failed: %s", ranks->own, ranks->size, error ? error->message : "");
    break_up(ranks, ranks->own, &why);
    tell_failure(ranks);
    if (error) *error = why;
    return status;
}

/* ---- waiting --------------------------------------------------------------------------------- */

stn_status team_already_broken(const team_ranks *ranks, stn_error *error) {
    if (error) *error = ranks->why;
    return ranks->why.status;
}

stn_status team_lose(team_ranks *ranks, int peer, const char *how, double seconds, stn_error *error) {
    stn_error why = {0};
    (void)stn_fail(&why, STN_ERROR_IO,
                   "rank %d of %d %s %.4g s: it died, hangs, or makes other calls than rank %d does", peer, ranks->size,
                   how, seconds, ranks->own);
    break_up(ranks, peer, &why);
    tell_failure(ranks);
    return team_already_broken(ranks, error);
}

static stn_status check_peer(team_ranks *ranks, int peer, double begin, stn_error *error) {
    const double t = stn_clock_seconds();
    if (t - fmax(begin, ranks->last[peer]) > ranks->limit)
        return team_lose(ranks, peer, "has not answered for", ranks->limit, error);
    if (t - begin > CALLS_APART * ranks->limit)
        return team_lose(ranks, peer, "has not come to the same call for", CALLS_APART * ranks->limit, error);
    return STN_OK;
}

static stn_status check_time(team_ranks *ranks, const pending *list, int count, double begin, stn_error *error) {
    for (int i = 0; i < count; i++)
        if (!list[i].done) STN_TRY(check_peer(ranks, list[i].peer, begin, error));
    return STN_OK;
}

/* Fails because awaited ranks did not answer. Without heartbeats a rank that waits for another one
 * looks like one that has died, so the message names all awaited ranks. */
static stn_status lose_one_of(team_ranks *ranks, const bool *awaited, stn_error *error) {
    stn_text names = STN_TEXT_EMPTY;
    stn_error why = {0};
    int count = 0, last = -1;
    for (int r = 0; r < ranks->size; r++)
        if (awaited[r]) stn_text_printf(&names, count++ ? " or %d" : "%d", last = r);
    (void)stn_fail(&why, STN_ERROR_IO,
                   "rank %.100s of %d has not answered rank %d for %.4g s: it died, hangs, makes other calls, or waits "
                   "for a rank that does",
                   names.data ? names.data : "?", ranks->size, ranks->own, ranks->patience * ranks->limit);
    stn_text_clear(&names);
    break_up(ranks, count == 1 ? last : -1, &why);
    return team_already_broken(ranks, error);
}

stn_status team_ranks_check(team_ranks *ranks, const bool *awaited, double begin, stn_error *error) {
    if (!team_ranks_poll(ranks)) return team_already_broken(ranks, error);
    if (!ranks->has_mpi)
        return stn_clock_seconds() - begin > ranks->patience * ranks->limit ? lose_one_of(ranks, awaited, error)
                                                                            : STN_OK;
    for (int r = 0; r < ranks->size; r++)
        if (awaited[r]) STN_TRY(check_peer(ranks, r, begin, error));
    return STN_OK;
}

/* Cancels messages; afterwards their memory may be freed. */
static void give_up(team_ranks *ranks, pending *list, int count) {
    int problem;
    for (int i = 0; i < count; i++) {
        if (list[i].done || !list[i].request) continue;
        if (!list[i].is_sent) (void)ranks->mpi.call.cancel(&list[i].request);
        if (!is_done(ranks, &list[i].request, &problem)) (void)ranks->mpi.call.request_free(&list[i].request);
    }
}

/* Waits for all messages of the list. On failure, cancels those that have not ended. */
static stn_status wait_for(team_ranks *ranks, pending *list, int count, stn_error *error) {
    const double begin = stn_clock_seconds();
    stn_status status = STN_OK;
    for (unsigned polls = 0; status == STN_OK; polls++) {
        int left = 0, problem = 0;
        for (int i = 0; i < count && status == STN_OK; i++) {
            if (list[i].done) continue;
            list[i].done = is_done(ranks, &list[i].request, &problem);
            left += !list[i].done;
            if (problem)
                status = team_lose(ranks, list[i].peer, "cannot be reached, after", stn_clock_seconds() - begin, error);
        }
        if (status != STN_OK || !left) break;
        if (polls % 16 == 15) {
            if (!team_ranks_poll(ranks))
                status = team_already_broken(ranks, error);
            else
                status = check_time(ranks, list, count, begin, error);
        }
        team_rest(polls);
    }
    if (status != STN_OK) give_up(ranks, list, count);
    return status;
}

/* Starts a message of up to 1 GiB. False: MPI refused. */
static bool start(const team_ranks *ranks, bool is_sent, int peer, int tag, void *bytes, size_t size, pending *made) {
    *made = (pending){.peer = peer, .is_sent = is_sent};
    return is_sent ? !ranks->mpi.call.isend(bytes, (int)size, ranks->mpi.byte, peer, tag, ranks->comm, &made->request)
                   : !ranks->mpi.call.irecv(bytes, (int)size, ranks->mpi.byte, peer, tag, ranks->comm, &made->request);
}

stn_status team_ranks_transfer(team_ranks *ranks, const team_message *messages, int count, stn_error *error) {
    size_t pieces = 0;
    if (ranks->broken) return team_already_broken(ranks, error);
    if (!ranks->has_mpi) return ranks->transfer(ranks->nccl, messages, count, error);
    for (int i = 0; i < count; i++) pieces += messages[i].size / PIECE + 1;
    if (pieces > 1 << 20) return team_ranks_fail(ranks, stn_fail_memory(error, "messages", pieces), error);
    pending *list = calloc(pieces + 1, sizeof *list);
    if (!list) return team_ranks_fail(ranks, stn_fail_memory(error, "messages", pieces * sizeof *list), error);
    int started = 0;
    stn_status status = STN_OK;
    for (int i = 0; i < count && status == STN_OK; i++)
        for (size_t at = 0; at < messages[i].size && status == STN_OK; at += PIECE) {
            const team_message *m = &messages[i];
            const size_t size = m->size - at < PIECE ? m->size - at : PIECE;
            if (start(ranks, m->is_sent, m->peer, TAG_USER + m->tag, (unsigned char *)m->bytes + at, size,
                      &list[started]))
                started++;
            else
                status = team_lose(ranks, m->peer, "cannot be reached, after", 0, error);
        }
    if (status == STN_OK)
        status = wait_for(ranks, list, started, error);
    else
        give_up(ranks, list, started);
    free(list);
    return status;
}

/* ---- opening --------------------------------------------------------------------------------- */

static stn_status limit_of(double seconds, double *limit, stn_error *error) {
    const char *text = secure_getenv("STENTOR_MPI_SECONDS");
    *limit = seconds ? seconds : LIMIT_SECONDS;
    if (!seconds && text && *text && !stn_number_parse(text, strlen(text), limit)) *limit = -1;
    if (*limit > 0 && *limit < 1e9) return STN_OK;
    return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                    "the time limit of a team of processes is %.40s: give seconds, more than 0",
                    seconds ? "not above 0" : text);
}

/* Duplicates the communicator, so that messages are separate from the caller's. */
static stn_status duplicate(team_ranks *ranks, stn_mpi_handle from, stn_error *error) {
    stn_mpi_handle request = 0;
    int problem = ranks->mpi.call.comm_idup(from, &ranks->comm, &request);
    const double begin = stn_clock_seconds();
    for (unsigned polls = 0; !problem && !is_done(ranks, &request, &problem); polls++) {
        if (stn_clock_seconds() - begin > ranks->limit) {
            stn_mpi_keep_open();
            return stn_fail(error, STN_ERROR_IO,
                            "not all %d ranks came to make a team within %.4g s: one of them died or hangs",
                            ranks->size, ranks->limit);
        }
        team_rest(polls);
    }
    if (problem || ranks->mpi.call.comm_set_errhandler(ranks->comm, ranks->mpi.errors_return))
        return stn_fail(error, STN_ERROR_IO, "MPI could not duplicate the communicator (error %d)", problem);
    ranks->has_comm = true;
    return STN_OK;
}

static stn_status make_lists(team_ranks *ranks, stn_error *error) {
    ranks->last = calloc((size_t)ranks->size, sizeof *ranks->last);
    ranks->heartbeats = calloc((size_t)ranks->size, sizeof *ranks->heartbeats);
    ranks->votes = calloc(ranks->own ? 1 : (size_t)ranks->size, sizeof *ranks->votes);
    if (ranks->last && ranks->heartbeats && ranks->votes) return STN_OK;
    return stn_fail_memory(error, "a team's ranks", (size_t)ranks->size * sizeof *ranks->votes);
}

static stn_status open_ranks(team_ranks *ranks, const void *communicator, stn_error *error) {
    STN_TRY(stn_mpi_open(&ranks->mpi, error));
    ranks->has_mpi = true;
    stn_mpi_handle from = ranks->mpi.world;
    if (communicator) { /* MPICH's handles are ints */
        from = 0;
        memcpy(&from, communicator, ranks->mpi.world == 0x44000000 ? sizeof(int) : sizeof from);
    }
    if (ranks->mpi.call.comm_size(from, &ranks->size) || ranks->mpi.call.comm_rank(from, &ranks->own))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the communicator of a team is none of this MPI's");
    STN_TRY(make_lists(ranks, error));
    ranks->heartbeat.from = ranks->own;
    STN_TRY(duplicate(ranks, from, error));
    ranks->last_heartbeat = stn_clock_seconds();
    return listen_on(ranks) ? STN_OK : stn_fail(error, STN_ERROR_IO, "MPI could not receive");
}

stn_status team_ranks_make(int own, int size, double seconds, team_ranks **ranks, stn_error *error) {
    *ranks = NULL;
    team_ranks *made = calloc(1, sizeof *made);
    if (!made) return stn_fail_memory(error, "a team's ranks", sizeof *made);
    made->failed_rank = -1, made->patience = 1, made->own = own, made->size = size;
    stn_status status = limit_of(seconds, &made->limit, error);
    if (status == STN_OK && size) status = make_lists(made, error);
    if (status == STN_OK)
        *ranks = made;
    else
        team_ranks_close(made);
    return status;
}

stn_status team_ranks_open(const void *communicator, double seconds, team_ranks **ranks, stn_error *error) {
    STN_TRY(team_ranks_make(0, 0, seconds, ranks, error));
    const stn_status status = open_ranks(*ranks, communicator, error);
    if (status == STN_OK) return STN_OK;
    team_ranks_close(*ranks);
    *ranks = NULL;
    return status;
}

void team_ranks_close(team_ranks *ranks) {
    int problem, over = 0;
    if (!ranks) return;
    /* If the caller has finalised MPI, no other function of MPI may be called. */
    if (ranks->has_comm && !ranks->mpi.call.finalized(&over) && over) ranks->listens = false, ranks->broken = true;
    if (ranks->listens) {
        pending control = {.request = ranks->listening};
        give_up(ranks, &control, 1);
    }
    for (int r = 0; ranks->heartbeats && r < ranks->size; r++)
        if (!over && ranks->heartbeats[r] && !is_done(ranks, &ranks->heartbeats[r], &problem)) ranks->broken = true;
    if (ranks->has_comm && !ranks->broken) (void)ranks->mpi.call.comm_free(&ranks->comm);
    free(ranks->last), free(ranks->heartbeats), free(ranks->votes);
    /* MPI may still access the memory of pending messages. */
    if (!ranks->broken || !ranks->has_mpi) free(ranks);
}

int team_ranks_size(const team_ranks *ranks) { return ranks->size; }
int team_ranks_own(const team_ranks *ranks) { return ranks->own; }
int team_ranks_failed(const team_ranks *ranks) { return ranks->failed_rank; }
bool team_ranks_broken(const team_ranks *ranks) { return ranks->broken; }
