/* NCCL, opened at run time: messages between the GPUs of a team's processes, on one stream.
 *
 * Communicators are non-blocking and work on the stream is polled, so that the process never waits
 * for another one without a limit. After a failure the communicator is aborted, which ends its work
 * on the GPU. */
#ifndef STN_TEAM_NCCL_H
#define STN_TEAM_NCCL_H
#include "launch/driver.h"
#include "team/ranks.h"

/* The functions of NCCL that are used, under its own names. If its header is installed,
 * tests/launch compares these declarations with it. */
typedef unsigned stn_nccl_result, stn_nccl_type; /* ncclResult_t, ncclDataType_t */
enum { STN_NCCL_SUCCESS = 0, STN_NCCL_IN_PROGRESS = 7, STN_NCCL_INT8 = 0 };
typedef struct stn_nccl_id {
    char bytes[STN_NCCL_ID_BYTES];
} stn_nccl_id;
typedef struct ncclComm *stn_nccl_comm;
/* The members of ncclConfig_t that NCCL 2.14 has; later versions complete them. */
typedef struct stn_nccl_config {
    size_t size;
    unsigned magic, version;
    int blocking;
} stn_nccl_config;
#define STN_NCCL_FUNCTION_LIST(X)                                                                                      \
    X(stn_nccl_result, ncclGetVersion, (int *version))                                                                 \
    X(stn_nccl_result, ncclGetUniqueId, (stn_nccl_id * id))                                                            \
    X(stn_nccl_result, ncclCommInitRankConfig,                                                                         \
      (stn_nccl_comm * comm, int count, stn_nccl_id id, int rank, stn_nccl_config *config))                            \
    X(stn_nccl_result, ncclCommGetAsyncError, (stn_nccl_comm comm, stn_nccl_result * result))                          \
    X(stn_nccl_result, ncclCommFinalize, (stn_nccl_comm comm))                                                         \
    X(stn_nccl_result, ncclCommDestroy, (stn_nccl_comm comm))                                                          \
    X(stn_nccl_result, ncclCommAbort, (stn_nccl_comm comm))                                                            \
    X(stn_nccl_result, ncclGroupStart, (void))                                                                         \
    X(stn_nccl_result, ncclGroupEnd, (void))                                                                           \
    X(stn_nccl_result, ncclSend,                                                                                       \
      (const void *bytes, size_t count, stn_nccl_type type, int peer, stn_nccl_comm comm, stn_cu_stream stream))       \
    X(stn_nccl_result, ncclRecv,                                                                                       \
      (void *bytes, size_t count, stn_nccl_type type, int peer, stn_nccl_comm comm, stn_cu_stream stream))             \
    X(const char *, ncclGetErrorString, (stn_nccl_result result))                                                      \
    X(const char *, ncclGetLastError, (stn_nccl_comm comm))

/* Opens the library ($STENTOR_NCCL_PATH overrides) and gives its file and version (22809).
 * STN_ERROR_UNSUPPORTED: none is usable; the message says how to get it. */
stn_status team_nccl_find(char *path, size_t size, int *version, stn_error *error);

/* Makes ranks->nccl, a communicator that all ranks make with one id, and waits for them for up to
 * `seconds`. The device, the stream and `ranks` must outlive it; its work is done on the stream. */
stn_status team_nccl_open(team_ranks *ranks, const stn_nccl_id *id, double seconds, stn_device *device, void *stream,
                          stn_error *error);
void team_nccl_close(team_ranks *ranks); /* NULL, and ranks without NCCL, are fine */

/* An exchange on the stream: messages of device memory between begin and end. Those between two
 * ranks are in the same order on both. begin waits for older exchanges, so that few are in the
 * driver's queue, because a full queue would block the process. After begin succeeds, end must be
 * called. */
stn_status team_nccl_begin(team_nccl *nccl, stn_error *error);
void team_nccl_add(team_nccl *nccl, const team_message *message);
stn_status team_nccl_end(team_nccl *nccl, stn_error *error);
/* Waits for all work on the stream. */
stn_status team_nccl_wait(team_nccl *nccl, stn_error *error);
/* An exchange of host memory, through a buffer on the device. */
stn_status team_nccl_transfer(team_nccl *nccl, const team_message *messages, int count, stn_error *error);
#endif
