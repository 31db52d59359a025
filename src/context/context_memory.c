/* Allocating and copying memory on the context's device, and waiting for its streams, for programs
 * without CUDA code. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "context/context.h"

enum { HOST_ALIGNMENT = 256 }; /* as of cudaMalloc and of workspaces */

static stn_status check_place(const stn_context *context, const char *function, stn_error *error) {
    if (!context) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "%s needs a context", function);
    if (!context->machine.is_device || context->device) return STN_OK;
    return stn_fail(error, STN_ERROR_NO_DEVICE,
                    "%s: this context plans for a GPU of %s, which is not here, so there is no memory", function,
                    context->machine.arch);
}

static stn_status check_copy(const stn_context *context, const char *function, const void *to, const void *from,
                             size_t bytes, stn_error *error) {
    STN_TRY(check_place(context, function, error));
    if (bytes && (!to || !from))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "%s: the %s pointer is NULL", function,
                        to ? "source" : "target");
    return STN_OK;
}

stn_status stn_memory_alloc(stn_context *context, size_t bytes, void **pointer, stn_error *error) {
    if (!pointer) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_memory_alloc needs a place for the pointer");
    *pointer = NULL;
    STN_TRY(check_place(context, "stn_memory_alloc", error));
    if (context->device) return stn_device_alloc(context->device, bytes, pointer, error);
    size_t padded = bytes ? bytes : 1;
    if (padded > SIZE_MAX - HOST_ALIGNMENT) return stn_fail_memory(error, "a grid", bytes);
    /* The size that aligned_alloc takes is a multiple of the alignment. */
    padded = (padded + HOST_ALIGNMENT - 1) / HOST_ALIGNMENT * HOST_ALIGNMENT;
    if (!(*pointer = aligned_alloc(HOST_ALIGNMENT, padded))) return stn_fail_memory(error, "a grid", bytes);
    return STN_OK;
}

void stn_memory_free(stn_context *context, void *pointer) {
    if (!pointer || !context) return;
    if (context->device)
        stn_device_free(context->device, pointer);
    else
        free(pointer);
}

stn_status stn_memory_upload(stn_context *context, void *to, const void *from_host, size_t bytes, stn_error *error) {
    STN_TRY(check_copy(context, "stn_memory_upload", to, from_host, bytes, error));
    if (context->device) return stn_device_upload(context->device, to, from_host, bytes, error);
    if (bytes) memmove(to, from_host, bytes);
    return STN_OK;
}

stn_status stn_memory_download(stn_context *context, void *to_host, const void *from, size_t bytes, stn_error *error) {
    STN_TRY(check_copy(context, "stn_memory_download", to_host, from, bytes, error));
    if (context->device) return stn_device_download(context->device, to_host, from, bytes, error);
    if (bytes) memmove(to_host, from, bytes);
    return STN_OK;
}

stn_status stn_context_wait(stn_context *context, stn_error *error) {
    return context->device ? stn_device_synchronize_all(context->device, error) : STN_OK;
}

stn_status stn_synchronize(stn_context *context, void *stream, stn_error *error) {
    STN_TRY(check_place(context, "stn_synchronize", error));
    if (context->device) return stn_device_synchronize(context->device, stream, error);
    return STN_OK; /* executions on the host are complete when their call returns */
}

/* ---- waiting with a progress function -------------------------------------------------------- */

#define POLL_SECONDS 5e-4 /* between two polls of the GPU */

stn_status stn_stream_wait(stn_timer *timer, stn_watch *watch, bool cancels, stn_error *error) {
    for (;;) {
        bool reached;
        STN_TRY(stn_timer_reached(timer, &reached, error));
        if (reached) return STN_OK;
        if (!stn_watch_continues(watch) && cancels)
            return stn_fail(error, STN_ERROR_CANCELLED,
                            "the progress function ended the wait for a stream, whose work goes on");
        nanosleep(&(struct timespec){.tv_nsec = (long)(1e9 * POLL_SECONDS)}, NULL);
    }
}

stn_status stn_synchronize_with_progress(stn_context *context, void *stream, stn_progress_fn progress, void *user,
                                         stn_error *error) {
    stn_watch watch;
    stn_timer *timer = NULL;
    if (!progress || !context || !context->device) return stn_synchronize(context, stream, error);
    stn_watch_begin(&watch, &(stn_execution){.progress = progress, .progress_user = user}, 1);
    STN_TRY(stn_timer_create(context->device, &timer, error));
    stn_status status = stn_timer_mark(timer, stream, error);
    if (status == STN_OK) status = stn_stream_wait(timer, &watch, true, error);
    stn_timer_destroy(timer);
    return status;
}
