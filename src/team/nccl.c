/* Finding NCCL, and exchanges by it. */
#include "team/nccl.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "compile/library.h"

/* OLDEST: the first version that supports CUDA 12.1. AHEAD: the most exchanges in
 * the driver's queue. */
enum { OLDEST = 21800, AHEAD = 4 };
enum { CONFIG_VERSION = 21400, ALIGNMENT = 256 };
#define CONFIG_MAGIC 0xcafebeef

typedef struct functions {
#define FIELD(type, name, arguments) type(*name) arguments;
    STN_NCCL_FUNCTION_LIST(FIELD)
#undef FIELD
} functions;

struct team_nccl {
    functions call;
    team_ranks *ranks;
    stn_device *device;
    void *stream;
    stn_nccl_comm comm;     /* NULL: aborted */
    bool *awaited;          /* the ranks of the last exchange */
    stn_nccl_result result; /* the first failure of the present exchange */
    const char *failed;     /* the function of NCCL that failed */
    stn_timer *done[AHEAD]; /* the ends of the last exchanges */
    uint64_t exchanges;
    unsigned char *buffer; /* on the device, for host memory */
    size_t buffer_size;
};

/* ---- the library ----------------------------------------------------------------------------- */

typedef struct opening {
    functions call;
    int version;
    char *path;
    size_t size;
    stn_text reasons;
} opening;

static bool try_library(void *user, const char *path) {
    static const char *const names[] = {
#define NAME(type, name, arguments) #name,
        STN_NCCL_FUNCTION_LIST(NAME)
#undef NAME
    };
    opening *o = user;
    const char *missing = NULL;
    void *library = stn_library_open(path, &o->reasons);
    if (!library) return false;
    _Static_assert(sizeof o->call == sizeof names, "the table is an array of pointers");
    bool works = stn_library_resolve(library, names, sizeof names / sizeof *names, &o->call, &missing);
    if (!works)
        stn_text_printf(&o->reasons, "%s lacks %s and is no NCCL of version 2.18 or later; ", path, missing);
    else if (o->call.ncclGetVersion(&o->version) || o->version < OLDEST) {
        stn_text_printf(&o->reasons, "%s is NCCL %d.%d, and 2.18 or later is needed; ", path, o->version / 10000,
                        o->version / 100 % 100);
        works = false;
    } else
        snprintf(o->path, o->size, "%s", path);
    dlclose(library);
    return works;
}

static stn_status open_library(char *path, size_t size, functions *call, int *version, stn_error *error) {
    opening o = {.path = path, .size = size, .reasons = STN_TEXT_EMPTY};
    const bool found = stn_library_search(&stn_library_nccl, try_library, &o);
    const stn_status status =
        found ? STN_OK : stn_library_fail(&stn_library_nccl, &o.reasons, STN_ERROR_UNSUPPORTED, error);
    stn_text_clear(&o.reasons);
    *call = o.call, *version = o.version;
    return status;
}

stn_status team_nccl_find(char *path, size_t size, int *version, stn_error *error) {
    functions call;
    return open_library(path, size, &call, version, error);
}

static stn_status check(const functions *call, const char *function, stn_nccl_result result, stn_nccl_comm comm,
                        stn_error *error) {
    enum { CUDA = 1, INVALID = 4, USAGE = 5 };
    if (result == STN_NCCL_SUCCESS) return STN_OK;
    const char *const name = call->ncclGetErrorString(result), *const last = call->ncclGetLastError(comm);
    return stn_fail(
        error,
        result == CUDA                         ? STN_ERROR_DRIVER
        : result == INVALID || result == USAGE ? STN_ERROR_INVALID_ARGUMENT
                                               : STN_ERROR_IO,
        "%s failed: %s%s%.300s: give each process a GPU of its own, and see NCCL's log with NCCL_DEBUG=INFO", function,
        name ? name : "an unknown error", last && *last ? ": " : "", last ? last : "");
}

stn_status stn_nccl_make_id(void *id, stn_error *error) {
    char path[512];
    functions call;
    int version;
    stn_nccl_id made;
    if (!id) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_nccl_make_id needs a place for the id");
    STN_TRY(open_library(path, sizeof path, &call, &version, error));
    STN_TRY(check(&call, "ncclGetUniqueId", call.ncclGetUniqueId(&made), NULL, error));
    memcpy(id, &made, sizeof made);
    return STN_OK;
}

/* ---- the communicator ------------------------------------------------------------------------ */

/* NCCL works on the device of the current context. */
static void abort_comm(team_nccl *n) {
    if (!n->comm || stn_device_enter(n->device, NULL) != STN_OK) return;
    (void)n->call.ncclCommAbort(n->comm);
    n->comm = NULL;
    stn_device_leave(n->device);
}

/* Aborts the communicator after a failure, and reports the failure to the other ranks. */
static stn_status give_up(team_nccl *n, stn_status status, stn_error *error) {
    abort_comm(n);
    return team_ranks_fail(n->ranks, status, error);
}

/* The communicator's state: STN_NCCL_IN_PROGRESS, STN_NCCL_SUCCESS, or a failure. */
static stn_nccl_result state_of(const team_nccl *n) {
    stn_nccl_result state = STN_NCCL_SUCCESS;
    const stn_nccl_result result = n->call.ncclCommGetAsyncError(n->comm, &state);
    return result == STN_NCCL_SUCCESS ? state : result;
}

/* Waits for a call that NCCL's threads may still be executing: until `end`, or as long as the ranks
 * answer. */
static stn_status complete(team_nccl *n, const char *function, stn_nccl_result result, double end, stn_error *error) {
    const double begin = stn_clock_seconds();
    for (unsigned polls = 0; result == STN_NCCL_IN_PROGRESS; polls++) {
        result = state_of(n);
        if (result != STN_NCCL_IN_PROGRESS) break;
        if (stn_clock_seconds() > end)
            return stn_fail(error, STN_ERROR_IO,
                            "not all %d ranks came to make a team within %.4g s: one of them died or hangs",
                            team_ranks_size(n->ranks), end - begin);
        if (end == INFINITY)
            STN_TRY(team_ranks_check(n->ranks, n->awaited, begin, error));
        else
            (void)team_ranks_poll(n->ranks);
        team_rest(polls);
    }
    return check(&n->call, function, result, n->comm, error);
}

static stn_status make_comm(team_nccl *n, const stn_nccl_id *id, double seconds, stn_error *error) {
    stn_nccl_config config = {sizeof config, CONFIG_MAGIC, CONFIG_VERSION, 0};
    const int count = team_ranks_size(n->ranks), own = team_ranks_own(n->ranks);
    for (int i = 0; i < AHEAD; i++) STN_TRY(stn_timer_create(n->device, &n->done[i], error));
    STN_TRY(stn_device_enter(n->device, error));
    const stn_nccl_result result = n->call.ncclCommInitRankConfig(&n->comm, count, *id, own, &config);
    const stn_status status = complete(n, "ncclCommInitRankConfig", result, stn_clock_seconds() + seconds, error);
    stn_device_leave(n->device);
    return status;
}

stn_status team_nccl_open(team_ranks *ranks, const stn_nccl_id *id, double seconds, stn_device *device, void *stream,
                          stn_error *error) {
    char path[512];
    int version;
    team_nccl *made = calloc(1, sizeof *made);
    bool *awaited = calloc((size_t)team_ranks_size(ranks), sizeof *awaited);
    if (!made || !awaited) {
        free(made), free(awaited);
        return stn_fail_memory(error, "NCCL's table", sizeof *made);
    }
    ranks->nccl = made, ranks->transfer = team_nccl_transfer;
    made->ranks = ranks, made->device = device, made->stream = stream, made->awaited = awaited;
    stn_status status = open_library(path, sizeof path, &made->call, &version, error);
    if (status == STN_OK) status = make_comm(made, id, seconds, error);
    if (status == STN_OK) return STN_OK;
    abort_comm(made);
    team_nccl_close(ranks);
    return status;
}

/* Closes the communicator. It is aborted only if this takes too long, because other ranks may not
 * have received the last messages yet. */
static void finalize(team_nccl *n) {
    stn_error why;
    if (!n->comm || stn_device_enter(n->device, NULL) != STN_OK) return;
    const stn_nccl_result result = n->call.ncclCommFinalize(n->comm);
    if (complete(n, "ncclCommFinalize", result, INFINITY, &why) == STN_OK &&
        n->call.ncclCommDestroy(n->comm) == STN_NCCL_SUCCESS)
        n->comm = NULL;
    stn_device_leave(n->device);
    abort_comm(n);
}

void team_nccl_close(team_ranks *ranks) {
    team_nccl *const nccl = ranks ? ranks->nccl : NULL;
    if (!nccl) return;
    ranks->nccl = NULL;
    finalize(nccl);
    for (int i = 0; i < AHEAD; i++) stn_timer_destroy(nccl->done[i]);
    stn_device_free(nccl->device, nccl->buffer);
    free(nccl->awaited);
    free(nccl);
}

/* ---- exchanges ------------------------------------------------------------------------------- */

/* Waits until the stream has reached the timer's mark. */
static stn_status await(team_nccl *n, stn_timer *timer, stn_error *error) {
    const double begin = stn_clock_seconds();
    for (unsigned polls = 0;; polls++) {
        bool reached;
        STN_TRY(stn_timer_reached(timer, &reached, error));
        if (reached || polls % 16 == 15) STN_TRY(check(&n->call, "an exchange by NCCL", state_of(n), n->comm, error));
        if (reached) return STN_OK;
        if (polls % 16 == 15) STN_TRY(team_ranks_check(n->ranks, n->awaited, begin, error));
        team_rest(polls);
    }
}

static stn_status already_failed(team_nccl *n, stn_error *error) {
    abort_comm(n);
    return team_already_broken(n->ranks, error);
}

stn_status team_nccl_begin(team_nccl *n, stn_error *error) {
    if (!n->comm || team_ranks_broken(n->ranks)) return already_failed(n, error);
    stn_status status = n->exchanges < AHEAD ? STN_OK : await(n, n->done[n->exchanges % AHEAD], error);
    if (status == STN_OK) status = stn_device_enter(n->device, error);
    if (status != STN_OK) return give_up(n, status, error);
    memset(n->awaited, 0, (size_t)team_ranks_size(n->ranks) * sizeof *n->awaited);
    n->failed = "ncclGroupStart";
    n->result = n->call.ncclGroupStart();
    return STN_OK;
}

void team_nccl_add(team_nccl *n, const team_message *m) {
    if (n->result != STN_NCCL_SUCCESS) return;
    n->awaited[m->peer] = true;
    n->failed = m->is_sent ? "ncclSend" : "ncclRecv";
    n->result = m->is_sent ? n->call.ncclSend(m->bytes, m->size, STN_NCCL_INT8, m->peer, n->comm, n->stream)
                           : n->call.ncclRecv(m->bytes, m->size, STN_NCCL_INT8, m->peer, n->comm, n->stream);
    if (n->result == STN_NCCL_IN_PROGRESS) n->result = STN_NCCL_SUCCESS;
}

stn_status team_nccl_end(team_nccl *n, stn_error *error) {
    const bool begun = n->result == STN_NCCL_SUCCESS || strcmp(n->failed, "ncclGroupStart") != 0;
    const stn_nccl_result end = begun ? n->call.ncclGroupEnd() : STN_NCCL_SUCCESS;
    stn_status status = n->result == STN_NCCL_SUCCESS ? complete(n, "ncclGroupEnd", end, INFINITY, error)
                                                      : check(&n->call, n->failed, n->result, n->comm, error);
    stn_device_leave(n->device);
    if (status == STN_OK) status = stn_timer_mark(n->done[n->exchanges++ % AHEAD], n->stream, error);
    return status == STN_OK ? STN_OK : give_up(n, status, error);
}

stn_status team_nccl_wait(team_nccl *n, stn_error *error) {
    if (!n->comm || team_ranks_broken(n->ranks)) {
        abort_comm(n); /* ends the remaining work without the other ranks */
        return stn_device_synchronize(n->device, n->stream, error);
    }
    stn_timer *const last = n->done[n->exchanges++ % AHEAD];
    stn_status status = stn_timer_mark(last, n->stream, error);
    if (status == STN_OK) status = await(n, last, error);
    return status == STN_OK ? STN_OK : give_up(n, status, error);
}

static size_t padded(size_t size) { return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

/* Copies messages of one direction between host memory and the buffer. */
static stn_status copy_messages(const team_nccl *n, const team_message *messages, int count, bool sent,
                                stn_error *error) {
    unsigned char *at = n->buffer;
    for (int i = 0; i < count; at += padded(messages[i++].size))
        if (messages[i].is_sent == sent)
            STN_TRY(sent ? stn_device_upload(n->device, at, messages[i].bytes, messages[i].size, error)
                         : stn_device_download(n->device, messages[i].bytes, at, messages[i].size, error));
    return STN_OK;
}

static stn_status make_buffer(team_nccl *n, const team_message *messages, int count, stn_error *error) {
    size_t size = 0;
    for (int i = 0; i < count; i++) size += padded(messages[i].size);
    if (size <= n->buffer_size) return STN_OK;
    stn_device_free(n->device, n->buffer);
    n->buffer = NULL, n->buffer_size = 0;
    void *made;
    STN_TRY(stn_device_alloc(n->device, size, &made, error));
    n->buffer = made, n->buffer_size = size;
    return STN_OK;
}

stn_status team_nccl_transfer(team_nccl *n, const team_message *messages, int count, stn_error *error) {
    stn_status status = make_buffer(n, messages, count, error);
    if (status == STN_OK) status = copy_messages(n, messages, count, true, error);
    if (status != STN_OK) return give_up(n, status, error);
    STN_TRY(team_nccl_begin(n, error));
    unsigned char *at = n->buffer;
    for (int i = 0; i < count; at += padded(messages[i++].size)) {
        team_message on_device = messages[i];
        on_device.bytes = at;
        team_nccl_add(n, &on_device);
    }
    STN_TRY(team_nccl_end(n, error));
    STN_TRY(team_nccl_wait(n, error));
    status = copy_messages(n, messages, count, false, error);
    return status == STN_OK ? STN_OK : give_up(n, status, error);
}
