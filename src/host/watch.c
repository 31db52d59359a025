/* Progress and cancellation of an execution; see watch.h. */
#include "host/watch.h"

#include "base/clock.h"
#include "base/error.h"

#define BETWEEN_SECONDS 0.05 /* between calls of the caller's function */

void stn_watch_begin(stn_watch *watch, const stn_execution *run, uint64_t total) {
    *watch =
        (stn_watch){.progress = run->progress, .user = run->progress_user, .total = total, .thread = pthread_self()};
    watch->last_call = stn_clock_seconds();
}

bool stn_watch_continues(stn_watch *watch) {
    if (!watch) return true;
    if (atomic_load_explicit(&watch->cancelled, memory_order_relaxed)) return false;
    if (!pthread_equal(watch->thread, pthread_self()) || watch->calling) return true;
    if (stn_clock_seconds() - watch->last_call < BETWEEN_SECONDS) return true;
    watch->calling = true;
    if (watch->progress(watch->user, watch->done, watch->total)) atomic_store(&watch->cancelled, true);
    watch->calling = false;
    watch->last_call = stn_clock_seconds();
    return !atomic_load(&watch->cancelled);
}

void stn_watch_set_done(stn_watch *watch, uint64_t passes, uint64_t of) {
    if (!watch || !watch->span) return;
    watch->done = watch->base + (uint64_t)((double)watch->span * ((double)passes / (double)of));
}

stn_status stn_watch_end(stn_watch *watch, stn_status status, stn_error *error) {
    if (status == STN_OK && atomic_load(&watch->cancelled))
        return stn_fail(error, STN_ERROR_CANCELLED,
                        "the progress function cancelled the execution after about %llu of %llu steps: its output "
                        "is undefined; it can be executed again",
                        (unsigned long long)watch->done, (unsigned long long)watch->total);
    if (status == STN_OK) (void)watch->progress(watch->user, watch->total, watch->total);
    return status;
}
