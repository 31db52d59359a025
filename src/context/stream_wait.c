/* Polling a stream, and the public stn_synchronize_with_progress. */
#include <time.h>

#include "base/error.h"
#include "context/context.h"

#define POLL_SECONDS 5e-4 /* between two polls of the GPU */

/* cancels: a progress function that cancels ends the wait. */
static stn_status wait_for(stn_timer *timer, stn_watch *watch, bool cancels, stn_error *error) {
    for (;;) {
        bool reached;
        STN_TRY(stn_timer_reached(timer, &reached, error));
        if (reached) return STN_OK;
        if (!stn_watch_goes_on(watch) && cancels)
            return stn_fail(error, STN_ERROR_CANCELLED,
                            "the progress function ended the wait for a stream, whose work goes on");
        nanosleep(&(struct timespec){.tv_nsec = (long)(1e9 * POLL_SECONDS)}, NULL);
    }
}

stn_status stn_stream_wait(stn_timer *timer, stn_watch *watch, stn_error *error) {
    return wait_for(timer, watch, false, error);
}

stn_status stn_synchronize_with_progress(stn_context *context, void *stream, stn_progress_fn progress, void *user,
                                         stn_error *error) {
    stn_watch watch;
    stn_timer *timer = NULL;
    if (!progress || !context || !context->device) return stn_synchronize(context, stream, error);
    stn_watch_begin(&watch, &(stn_execution){.progress = progress, .progress_user = user}, 1);
    STN_TRY(stn_timer_create(context->device, &timer, error));
    stn_status status = stn_timer_mark(timer, stream, error);
    if (status == STN_OK) status = wait_for(timer, &watch, true, error);
    stn_timer_destroy(timer);
    return status;
}
