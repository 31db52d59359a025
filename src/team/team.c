/* Teams: a context and a stream for each device, and how fast they are linked. */
#include "team/team.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/versioned_struct.h"
#include "plan/plan.h"
#include "team/nccl.h"

#define LINK_BYTES ((size_t)32 << 20) /* size of the copy that is timed */
/* Assumed bytes/s of a copy between members on the host. */
#define HOST_BANDWIDTH 5e9
#define LATENCY 20e-6 /* assumed seconds of an exchange between members on the host */
/* EXCHANGES: exchanges that are timed together. EXCHANGED: the bytes of each, so few that the
 * link's bandwidth does not matter. TRIES: measurements, of which the shortest counts. */
enum { EXCHANGES = 32, EXCHANGED = 64, TRIES = 3 };
#define NCCL_SECONDS 60.0 /* at most, for NCCL to start in processes that have MPI, too */

static stn_status check_devices(int count, const int *devices, stn_error *error) {
    if (count < 1 || count > TEAM_MAX_DEVICES || !devices)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "a team of %d devices was asked for: name 1 to %d devices",
                        devices ? count : 0, TEAM_MAX_DEVICES);
    for (int i = 0; i < count; i++) {
        if (devices[i] == STN_DEVICE_AUTO || devices[i] < STN_DEVICE_HOST)
            return stn_fail(
                error, STN_ERROR_INVALID_ARGUMENT,
                "member %d of a team has no device of its own: name GPUs by their numbers (STN_DEVICE_CUDA(n)), "
                "or the host for all (STN_DEVICE_HOST)",
                i);
        if ((devices[i] == STN_DEVICE_HOST) != (devices[0] == STN_DEVICE_HOST))
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "a team has GPUs or the host as members, not both: leave one kind out");
    }
    return STN_OK;
}

static stn_status open_member(stn_context_options *options, int device, team_member *member, stn_error *error) {
    options->device = device;
    STN_TRY(stn_context_create(options, &member->context, error));
    if (device == STN_DEVICE_HOST) return STN_OK;
    STN_TRY(stn_lane_create(member->context->device, false, &member->lane, error));
    return stn_lane_create(member->context->device, true, &member->copy_lane, error);
}

static stn_status time_copy(const team_member *to, const team_member *from, void *target, const void *source,
                            stn_timer *timer, double *seconds, stn_error *error) {
    void *const stream = stn_lane_stream(to->lane);
    for (int i = 0; i < 2; i++) { /* the first copy sets up the link */
        STN_TRY(stn_timer_start(timer, stream, error));
        STN_TRY(stn_lane_copy(to->lane, target, from->lane, source, LINK_BYTES, error));
        STN_TRY(stn_timer_stop(timer, stream, seconds, error));
    }
    return STN_OK;
}

/* Times exchanges one after the other, with the host's calls; the minimum of several tries. */
static stn_status time_exchange(const team_member *pair[2], unsigned char *memory[2], double *seconds,
                                stn_error *error) {
    *seconds = INFINITY;
    for (int i = 0; i < TRIES; i++) {
        const double begin = stn_clock_seconds();
        for (int k = 0; k < EXCHANGES; k++) {
            for (int m = 0; m < 2; m++) STN_TRY(stn_lane_mark(pair[m]->lane, error));
            for (int m = 0; m < 2; m++) {
                STN_TRY(stn_lane_await(pair[m]->lane, pair[!m]->lane, error));
                STN_TRY(stn_lane_copy(pair[m]->lane, memory[m] + m * EXCHANGED, pair[!m]->lane,
                                      memory[!m] + m * EXCHANGED, EXCHANGED, error));
            }
        }
        for (int m = 0; m < 2; m++)
            STN_TRY(stn_device_synchronize(pair[m]->context->device, stn_lane_stream(pair[m]->lane), error));
        *seconds = fmin(*seconds, (stn_clock_seconds() - begin) / EXCHANGES);
    }
    return STN_OK;
}

/* Times a copy from the last member to the first, and small exchanges between them. */
static stn_status measure_link(stn_team *team, stn_error *error) {
    const team_member *to = &team->member[0], *from = &team->member[team->count - 1];
    void *target = NULL, *source = NULL;
    stn_timer *timer = NULL;
    double seconds = 0;
    if (!to->lane || !from->lane) return STN_OK; /* members on the host */
    stn_status status = stn_device_alloc(to->context->device, LINK_BYTES, &target, error);
    if (status == STN_OK) status = stn_device_alloc(from->context->device, LINK_BYTES, &source, error);
    if (status == STN_OK) status = stn_timer_create(to->context->device, &timer, error);
    if (status == STN_OK) status = time_copy(to, from, target, source, timer, &seconds, error);
    if (status == STN_OK && team->count > 1)
        status = time_exchange((const team_member *[]){to, from}, (unsigned char *[]){target, source}, &team->latency,
                               error);
    if (status == STN_OK && team->count > 1) team->latency += TEAM_IDLE;
    stn_timer_destroy(timer);
    stn_device_free(to->context->device, target);
    stn_device_free(from->context->device, source);
    if (status == STN_OK && seconds > 0) team->link_bandwidth = (double)LINK_BYTES / seconds;
    return status;
}

static stn_status read_options(const stn_context_options *given, stn_context_options *options, stn_error *error) {
    STN_TRY(stn_read_versioned_struct(&stn_layout_context_options, given, options, error));
    if (options->arch)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "a team works on GPUs that are here: leave arch out");
    options->struct_size = sizeof *options;
    return STN_OK;
}

static stn_status make_team(int count, stn_team **team, stn_error *error) {
    stn_team *made = calloc(1, sizeof *made);
    team_member *member = calloc((size_t)count, sizeof *member);
    if (!made || !member) {
        free(made), free(member);
        return stn_fail_memory(error, "a team", sizeof *made + (size_t)count * sizeof *member);
    }
    made->count = count, made->member = member, made->link_bandwidth = HOST_BANDWIDTH, made->latency = LATENCY;
    *team = made;
    return STN_OK;
}

stn_status stn_team_create(const stn_context_options *given, int count, const int *devices, stn_team **team,
                           stn_error *error) {
    stn_context_options options;
    stn_team *made = NULL;
    if (!team) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_team_create needs a place for the team");
    *team = NULL;
    STN_TRY(check_devices(count, devices, error));
    STN_TRY(read_options(given, &options, error));
    STN_TRY(make_team(count, &made, error));
    made->on_host = devices[0] == STN_DEVICE_HOST;
    made->gpus = made->on_host ? 0 : count;
    stn_status status = STN_OK;
    for (int i = 0; i < count && status == STN_OK; i++)
        status = open_member(&options, devices[i], &made->member[i], error);
    for (int i = 0; i < count * count && status == STN_OK && !made->on_host; i++)
        stn_lane_link(made->member[i / count].lane, made->member[i % count].lane);
    if (status == STN_OK) status = measure_link(made, error);
    if (status == STN_OK)
        *team = made;
    else
        stn_team_destroy(made);
    return status;
}

/* ---- one member a process -------------------------------------------------------------------- */

/* This process's share of the host's processors. */
static int share_of_threads(void) {
    int rank;
    cpu_set_t set;
    const int local = stn_mpi_local(&rank), online = (int)sysconf(_SC_NPROCESSORS_ONLN);
    const int bound = sched_getaffinity(0, sizeof set, &set) ? online : CPU_COUNT(&set);
    const int share = online / local < bound ? online / local : bound;
    return share > 1 ? share : 1;
}

/* STN_DEVICE_AUTO distributes the GPUs of a host to its processes in turn. */
static stn_status open_own(stn_context_options *options, stn_team *team, stn_error *error) {
    team_member *own = &team->member[team->own];
    int rank;
    if (!options->threads) options->threads = share_of_threads();
    STN_TRY(stn_context_create(options, &own->context, error));
    const int gpus = own->context->driver ? stn_driver_device_count(own->context->driver) : 0;
    (void)stn_mpi_local(&rank);
    if (rank < 0) rank = team->own;
    if (options->device == STN_DEVICE_AUTO && own->context->device && gpus > 0 && rank % gpus) {
        stn_context_destroy(own->context);
        own->context = NULL;
        options->device = STN_DEVICE_CUDA(rank % gpus);
        STN_TRY(stn_context_create(options, &own->context, error));
    }
    team->on_host = !own->context->device;
    team->gpus = !team->on_host;
    return team->on_host ? STN_OK : stn_lane_create(own->context->device, false, &own->lane, error);
}

/* Every rank exchanges `bytes` bytes with both neighbours of a ring; the minimum of two times. */
static stn_status exchange_once(const stn_team *team, const team_message *messages, int count, stn_error *error) {
    team_nccl *const nccl = team->ranks->nccl;
    if (!nccl) return team_ranks_transfer(team->ranks, messages, count, error);
    STN_TRY(team_nccl_begin(nccl, error));
    for (int i = 0; i < count; i++) team_nccl_add(nccl, &messages[i]);
    return team_nccl_end(nccl, error);
}

static stn_status time_ring(stn_team *team, unsigned char *memory, size_t bytes, double *seconds, stn_error *error) {
    const int before = (team->own + team->count - 1) % team->count, after = (team->own + 1) % team->count;
    const team_message messages[] = {{before, 0, false, memory, bytes},
                                     {after, 1, false, memory + bytes, bytes},
                                     {after, 0, true, memory + 2 * bytes, bytes},
                                     {before, 1, true, memory + 3 * bytes, bytes}};
    /* On a stream, exchanges follow one another without the host. */
    const int repeats = team->ranks->nccl ? EXCHANGES : 1;
    *seconds = INFINITY;
    for (int i = 0; i < TRIES; i++) {
        const double begin = stn_clock_seconds();
        for (int k = 0; k < repeats; k++) STN_TRY(exchange_once(team, messages, 4, error));
        if (team->ranks->nccl) STN_TRY(team_nccl_wait(team->ranks->nccl, error));
        *seconds = fmin(*seconds, (stn_clock_seconds() - begin) / repeats);
    }
    return STN_OK;
}

static stn_status measure_ranks(stn_team *team, stn_error *error) {
    enum { FEW = 8, MANY = 1 << 20 };
    double few, many;
    /* There is a team, but the static analyser cannot see that. */
    if (!team || team->count == 1) return STN_OK;
    /* The exchange is measured in memory of the kind that halos use. */
    stn_device *const device = team->ranks->nccl ? team->member[team->own].context->device : NULL;
    void *memory = NULL;
    stn_status status = STN_OK;
    if (device)
        status = stn_device_alloc(device, 4 * MANY, &memory, error);
    else if (!(memory = calloc(4, MANY)))
        status = stn_fail_memory(error, "a team", 4 * MANY);
    status = team_agree(team, status, 0, "", NULL, 0, error);
    if (status == STN_OK) status = time_ring(team, memory, FEW, &few, error);
    if (status == STN_OK) status = time_ring(team, memory, MANY, &many, error);
    if (device)
        stn_device_free(device, memory);
    else
        free(memory);
    if (status != STN_OK) return status;
    team->latency = few + (device ? TEAM_IDLE : 0);
    team->link_bandwidth = many > few ? 2.0 * MANY / (many - few) : HOST_BANDWIDTH;
    return STN_OK;
}

/* Makes a team of the ranks, which it owns from now on, and opens this process's device. */
static stn_status begin_team(const stn_context_options *given, team_ranks *ranks, stn_team **team, stn_error *error) {
    stn_context_options options;
    const int count = team_ranks_size(ranks);
    STN_TRY(make_team(count, team, error));
    (*team)->ranks = ranks, (*team)->own = team_ranks_own(ranks);
    STN_TRY(read_options(given, &options, error));
    return open_own(&options, *team, error);
}

static stn_status check_size(int count, stn_error *error) {
    if (count > 0 && count <= TEAM_MAX_RANKS) return STN_OK;
    return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "a team of %d ranks: use 1 to %d", count, TEAM_MAX_RANKS);
}

/* All ranks must have the same library. */
static stn_status agree_version(team_ranks *ranks, stn_status status, stn_error *error) {
    char words[64] = "stentor ";
    strncat(words, stn_version(), 40);
    uint64_t version = 0;
    for (const char *c = words; *c; c++) version = version * 257 + (unsigned char)*c;
    return team_ranks_agree(ranks, status, version, words, NULL, 0, error);
}

static stn_status open_nccl(stn_team *team, const stn_nccl_id *id, double seconds, stn_error *error) {
    const team_member *own = &team->member[team->own];
    if (team->on_host)
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "a process of a team by NCCL needs a GPU: name it as device");
    /* A process's own member has a context. NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
    return team_nccl_open(team->ranks, id, seconds, own->context->device, stn_lane_stream(own->lane), error);
}

/* Processes by MPI exchange halos by NCCL if each has a GPU of its own and the same NCCL, else all
 * through host memory. */
static stn_status try_nccl(stn_team *team, stn_error *error) {
    char path[512];
    stn_nccl_id id = {{0}};
    stn_error why = {0};
    int version = 0;
    if (team->count == 1) return STN_OK;
    stn_status status = team->on_host ? STN_ERROR_UNSUPPORTED : team_nccl_find(path, sizeof path, &version, &why);
    if (status == STN_OK && team->own == 0) status = stn_nccl_make_id(&id, &why);
    status = team_ranks_agree(team->ranks, status, (uint64_t)version, "NCCL", &id, sizeof id, &why);
    if (status == STN_OK) {
        status = open_nccl(team, &id, fmin(team->ranks->limit, NCCL_SECONDS), &why);
        status = team_ranks_agree(team->ranks, status, 0, "NCCL", NULL, 0, &why);
    }
    if (status != STN_OK) team_nccl_close(team->ranks);
    if (team_ranks_broken(team->ranks)) return team_already_broken(team->ranks, error);
    team->ranks->failed_rank = -1;
    return STN_OK;
}

static stn_status finish_team(stn_team *made, stn_status status, stn_team **team, stn_error *error) {
    if (status == STN_OK) status = measure_ranks(made, error);
    if (status == STN_OK)
        *team = made;
    else
        stn_team_destroy(made);
    return status;
}

stn_status stn_team_create_mpi(const stn_context_options *given, const void *communicator, double seconds,
                               stn_team **team, stn_error *error) {
    team_ranks *ranks = NULL;
    stn_team *made = NULL;
    stn_error spare = {0}; /* for the other processes if the caller passes no error */
    if (!error) error = &spare;
    if (!team) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_team_create_mpi needs a place for the team");
    *team = NULL;
    STN_TRY(team_ranks_open(communicator, seconds, &ranks, error));
    stn_status status = check_size(team_ranks_size(ranks), error);
    if (status == STN_OK) status = begin_team(given, ranks, &made, error);
    status = agree_version(ranks, status, error);
    if (!made) {
        team_ranks_close(ranks);
        return status;
    }
    if (status == STN_OK) status = try_nccl(made, error);
    return finish_team(made, status, team, error);
}

stn_status stn_team_create_nccl(const stn_context_options *given, const void *id, int rank, int count, double seconds,
                                stn_team **team, stn_error *error) {
    team_ranks *ranks = NULL;
    stn_team *made = NULL;
    stn_nccl_id copy;
    stn_error spare = {0};
    if (!error) error = &spare;
    if (!team || !id)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_team_create_nccl needs an id and a place for the team");
    *team = NULL;
    STN_TRY(check_size(count, error));
    if (rank < 0 || rank >= count)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "rank %d of a team of %d: count from 0", rank, count);
    memcpy(&copy, id, sizeof copy);
    STN_TRY(team_ranks_make(rank, count, seconds, &ranks, error));
    stn_status status = begin_team(given, ranks, &made, error);
    if (!made) {
        team_ranks_close(ranks);
        return status;
    }
    if (status == STN_OK) status = open_nccl(made, &copy, ranks->limit, error);
    if (status == STN_OK) status = agree_version(ranks, STN_OK, error);
    return finish_team(made, status, team, error);
}

stn_status team_agree(const stn_team *team, stn_status status, uint64_t hash, const char *words, void *shared,
                      size_t bytes, stn_error *error) {
    return team->ranks ? team_ranks_agree(team->ranks, status, hash, words, shared, bytes, error) : status;
}

int team_poll_ranks(void *user, uint64_t done, uint64_t total) {
    (void)done, (void)total;
    return !team_ranks_poll(user);
}

void stn_team_destroy(stn_team *team) {
    if (!team) return;
    team_nccl_close(team->ranks);
    for (int i = 0; i < team->count; i++) {
        stn_lane_destroy(team->member[i].lane), stn_lane_destroy(team->member[i].copy_lane);
        stn_context_destroy(team->member[i].context);
    }
    team_ranks_close(team->ranks);
    free(team->member);
    free(team);
}

double stn_team_link_bandwidth(const stn_team *team) { return team ? team->link_bandwidth : 0; }

int stn_team_rank(const stn_team *team) { return team ? team->own : 0; }

int stn_team_failed_rank(const stn_team *team) { return team && team->ranks ? team_ranks_failed(team->ranks) : -1; }

int stn_team_size(const stn_team *team) { return team ? team->count : 0; }

stn_context *stn_team_context(const stn_team *team, int member) {
    return team && member >= 0 && member < team->count ? team->member[member].context : NULL;
}
