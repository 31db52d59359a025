/* Streams beside a caller's own, and the events that tie them to it. */
#include <pthread.h>
#include <stdlib.h>

#include "launch/internal.h"

#define URGENT (-1000) /* the driver takes the nearest priority that the device has */

struct stn_fork {
    stn_device *device; /* outlives the fork */
    pthread_mutex_t taken;
    stn_cu_event begun; /* in the caller's stream */
    int count;
    struct {
        stn_cu_stream stream;
        stn_cu_event done;
    } branch[STN_FORK_BRANCHES];
};

static stn_status create_all(stn_fork *fork, int count, stn_error *error) {
    const stn_driver *driver = fork->device->driver;
    STN_TRY(STN_CU(driver, cuEventCreate, (&fork->begun, STN_CU_EVENT_DISABLE_TIMING), error));
    for (; fork->count < count; fork->count++) {
        stn_cu_stream *stream = &fork->branch[fork->count].stream;
        stn_cu_event *done = &fork->branch[fork->count].done;
        STN_TRY(STN_CU(driver, cuEventCreate, (done, STN_CU_EVENT_DISABLE_TIMING), error));
        STN_TRY(STN_CU(driver, cuStreamCreateWithPriority, (stream, STN_CU_STREAM_NON_BLOCKING, URGENT), error));
    }
    return STN_OK;
}

stn_status stn_fork_create(stn_device *device, int count, stn_fork **fork, stn_error *error) {
    *fork = NULL;
    stn_fork *made = calloc(1, sizeof *made);
    if (!made) return stn_fail_memory(error, "streams beside the caller's", sizeof *made);
    made->device = device;
    pthread_mutex_init(&made->taken, NULL);
    stn_status status = stn_device_enter(device, error);
    if (status == STN_OK) {
        status = create_all(made, count, error);
        stn_device_leave(device);
    }
    if (status == STN_OK)
        *fork = made;
    else
        stn_fork_destroy(made);
    return status;
}

void stn_fork_destroy(stn_fork *fork) {
    if (!fork) return;
    if (stn_device_enter(fork->device, NULL) == STN_OK) {
        const stn_driver_functions *call = &fork->device->driver->call;
        if (fork->begun) call->cuEventDestroy(fork->begun);
        for (int i = 0; i < STN_FORK_BRANCHES; i++) {
            if (fork->branch[i].stream) call->cuStreamDestroy(fork->branch[i].stream);
            if (fork->branch[i].done) call->cuEventDestroy(fork->branch[i].done);
        }
        stn_device_leave(fork->device);
    }
    pthread_mutex_destroy(&fork->taken);
    free(fork);
}

/* A stream stays in a graph's capture until that ends, even when its work was joined: only work of the same capture may
 * enter it then. */
static stn_status may_enter(const stn_fork *fork, void *stream, bool *may, stn_error *error) {
    const stn_driver *driver = fork->device->driver;
    stn_cu_enum own, theirs;
    uint64_t own_capture = 0, capture = 0;
    STN_TRY(STN_CU(driver, cuStreamGetCaptureInfo, ((stn_cu_stream)stream, &own, &own_capture), error));
    *may = true;
    for (int i = 0; i < fork->count && *may; i++) {
        STN_TRY(STN_CU(driver, cuStreamGetCaptureInfo, (fork->branch[i].stream, &theirs, &capture), error));
        if (theirs != STN_CU_STREAM_CAPTURE_STATUS_NONE) *may = own == theirs && own_capture == capture;
    }
    return STN_OK;
}

static stn_status begin(stn_fork *fork, void *stream, bool *taken, stn_error *error) {
    const stn_driver *driver = fork->device->driver;
    STN_TRY(may_enter(fork, stream, taken, error));
    if (!*taken) return STN_OK;
    STN_TRY(STN_CU(driver, cuEventRecord, (fork->begun, (stn_cu_stream)stream), error));
    for (int i = 0; i < fork->count; i++)
        STN_TRY(STN_CU(driver, cuStreamWaitEvent, (fork->branch[i].stream, fork->begun, 0), error));
    return STN_OK;
}

stn_status stn_fork_begin(stn_fork *fork, void *stream, bool *taken, stn_error *error) {
    *taken = false;
    if (pthread_mutex_trylock(&fork->taken)) return STN_OK;
    stn_status status = stn_device_enter(fork->device, error);
    if (status == STN_OK) {
        status = begin(fork, stream, taken, error);
        stn_device_leave(fork->device);
    }
    if (status != STN_OK) *taken = false;
    if (!*taken) pthread_mutex_unlock(&fork->taken);
    return status;
}

void *stn_fork_branch(const stn_fork *fork, int branch) { return fork->branch[branch].stream; }

static stn_status join(stn_fork *fork, void *stream, stn_error *error) {
    const stn_driver *driver = fork->device->driver;
    for (int i = 0; i < fork->count; i++) {
        STN_TRY(STN_CU(driver, cuEventRecord, (fork->branch[i].done, fork->branch[i].stream), error));
        STN_TRY(STN_CU(driver, cuStreamWaitEvent, ((stn_cu_stream)stream, fork->branch[i].done, 0), error));
    }
    return STN_OK;
}

stn_status stn_fork_end(stn_fork *fork, void *stream, stn_error *error) {
    stn_status status = stn_device_enter(fork->device, error);
    if (status == STN_OK) {
        status = join(fork, stream, error);
        stn_device_leave(fork->device);
    }
    pthread_mutex_unlock(&fork->taken);
    return status;
}
