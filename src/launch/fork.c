/* Fork and join of streams with events, for independent work of one execution; see driver.h. */
#include <pthread.h>
#include <stdlib.h>

#include "launch/launch_internal.h"

struct stn_fork {
    stn_device *device; /* outlives the fork */
    /* Held from begin to the last join. An event keeps only its last record, so that a record of
     * another thread could replace this thread's before a stream is told to wait for it. */
    pthread_mutex_t lock;
    int branches;
    stn_cu_event begun;
    stn_cu_stream stream[STN_FORK_BRANCHES];
    stn_cu_event done[STN_FORK_BRANCHES];
};

static stn_status make(stn_fork *fork, stn_error *error) {
    const stn_driver *driver = fork->device->driver;
    STN_TRY(STN_CU(driver, cuEventCreate, (&fork->begun, STN_CU_EVENT_DISABLE_TIMING), error));
    for (int i = 0; i < fork->branches; i++) {
        STN_TRY(STN_CU(driver, cuStreamCreate, (&fork->stream[i], STN_CU_STREAM_NON_BLOCKING), error));
        STN_TRY(STN_CU(driver, cuEventCreate, (&fork->done[i], STN_CU_EVENT_DISABLE_TIMING), error));
    }
    return STN_OK;
}

stn_status stn_fork_create(stn_device *device, int branches, stn_fork **fork, stn_error *error) {
    *fork = NULL;
    stn_fork *made = calloc(1, sizeof *made);
    if (!made) return stn_fail_memory(error, "streams", sizeof *made);
    pthread_mutex_init(&made->lock, NULL);
    made->device = device, made->branches = branches < STN_FORK_BRANCHES ? branches : STN_FORK_BRANCHES;
    stn_status status = stn_device_enter(device, error);
    if (status == STN_OK) {
        status = make(made, error);
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
        for (int i = 0; i < fork->branches; i++) {
            if (fork->stream[i]) call->cuStreamDestroy(fork->stream[i]);
            if (fork->done[i]) call->cuEventDestroy(fork->done[i]);
        }
        if (fork->begun) call->cuEventDestroy(fork->begun);
        stn_device_leave(fork->device);
    }
    pthread_mutex_destroy(&fork->lock);
    free(fork);
}

void stn_fork_lock(stn_fork *fork) { pthread_mutex_lock(&fork->lock); }
void stn_fork_unlock(stn_fork *fork) { pthread_mutex_unlock(&fork->lock); }
void *stn_fork_stream(const stn_fork *fork, int branch) { return fork->stream[branch]; }

/* The `later` streams wait for the work enqueued on `earlier` so far. */
static stn_status order(const stn_fork *fork, stn_cu_event event, stn_cu_stream earlier, const stn_cu_stream *later,
                        int count, stn_error *error) {
    const stn_driver *driver = fork->device->driver;
    STN_TRY(stn_device_push(fork->device, error));
    stn_status status = STN_CU(driver, cuEventRecord, (event, earlier), error);
    for (int i = 0; i < count && status == STN_OK; i++)
        status = STN_CU(driver, cuStreamWaitEvent, (later[i], event, 0), error);
    stn_device_pop(fork->device);
    return status;
}

stn_status stn_fork_begin(stn_fork *fork, void *stream, stn_error *error) {
    return order(fork, fork->begun, (stn_cu_stream)stream, fork->stream, fork->branches, error);
}

stn_status stn_fork_join(stn_fork *fork, int branch, void *stream, stn_error *error) {
    const stn_cu_stream later = (stn_cu_stream)stream;
    return order(fork, fork->done[branch], fork->stream[branch], &later, 1, error);
}
