/* Executions with a progress function. On the host, the thread pool calls it between two pieces of
 * any loop. On a GPU, a run is enqueued in chunks of launches. Chunk i is enqueued once chunk i - 2
 * is complete, so that at most two chunks are in flight when the run is cancelled:
 *
 *     enqueued   |chunk 0|chunk 1|       |chunk 2|
 *     GPU        |chunk 0        |chunk 1        |chunk 2
 *                        wait for 0      wait for 1
 */
#include <math.h>

#include "base/clock.h"
#include "base/error.h"
#include "context/context.h"
#include "host/watch.h"
#include "plan/plan.h"

#define CHUNK_SECONDS 0.04 /* the intended length of a chunk */

static stn_status run_host(stn_plan *plan, const stn_execution *run, stn_watch *watch, stn_error *error) {
    stn_pool *pool;
    STN_TRY(stn_context_pool(plan->context, &pool, error));
    if (plan->strategy->counts_steps) watch->span = plan->kind->shape(plan).steps;
    stn_pool_watch(pool, watch);
    const stn_status status = stn_plan_execute_part(plan, (stn_part){0, stn_plan_launches(plan)}, run, error);
    stn_pool_unwatch(pool, watch);
    return status;
}

/* A run in chunks. The events of two timers mark the ends of the last two chunks. */
typedef struct chunks {
    stn_timer *timer[2];
    uint64_t launches, each;
    double begun;
} chunks;

static void adapt(chunks *c) {
    const double took = stn_clock_seconds() - c->begun, wanted = (double)c->each * CHUNK_SECONDS / fmax(took, 1e-6);
    const double next = fmin(fmax(wanted, (double)c->each / 4), 2 * (double)c->each);
    c->each = next < 1 ? 1 : (uint64_t)next;
    c->begun = stn_clock_seconds();
}

static stn_status run_chunks(stn_plan *plan, chunks *c, const stn_execution *run, stn_watch *watch, stn_error *error) {
    uint64_t ends[2] = {0, 0}, number = 0;
    for (uint64_t first = 0; first < c->launches && stn_watch_goes_on(watch); number++) {
        const uint64_t left = c->launches - first, count = left < c->each ? left : c->each;
        STN_TRY(stn_plan_execute_part(plan, (stn_part){first, count}, run, error));
        STN_TRY(stn_timer_mark(c->timer[number % 2], run->stream, error));
        first = ends[number % 2] = first + count;
        if (!number) continue;
        STN_TRY(stn_stream_wait(c->timer[1 - number % 2], watch, error));
        stn_watch_reach(watch, ends[1 - number % 2], c->launches);
        adapt(c);
    }
    return number ? stn_stream_wait(c->timer[1 - number % 2], watch, error) : STN_OK;
}

static stn_status run_device(stn_plan *plan, const stn_execution *run, stn_watch *watch, stn_error *error) {
    stn_device *device = plan->context->device;
    chunks c = {.launches = stn_plan_launches(plan), .begun = stn_clock_seconds()};
    const double share = CHUNK_SECONDS / fmax(plan->estimate.seconds, 1e-9);
    c.each = (uint64_t)fmax(1, 0.25 * fmin(share, 1) * (double)c.launches);
    if (!plan->kind->shape(plan).stack) watch->span = watch->total;
    stn_status status = stn_timer_create(device, &c.timer[0], error);
    if (status == STN_OK) status = stn_timer_create(device, &c.timer[1], error);
    if (status == STN_OK) status = run_chunks(plan, &c, run, watch, error);
    for (int i = 0; i < 2; i++) stn_timer_destroy(c.timer[i]);
    return status;
}

stn_status stn_plan_run_watched(stn_plan *plan, const stn_execution *run, stn_error *error) {
    stn_watch watch;
    stn_execution own = *run;
    const stn_work_shape shape = plan->kind->shape(plan);
    if (plan->context->device && stn_device_capturing(plan->context->device, run->stream))
        return stn_fail(
            error, STN_ERROR_INVALID_ARGUMENT,
            "stn_execution.progress is given for a stream that is being captured, where nothing runs: leave it NULL");
    stn_watch_begin(&watch, run, shape.steps * (shape.stack ? plan->task.snapshots : 1));
    own.progress_user = &watch; /* stn_snapshots_run reads it */
    const stn_status status =
        plan->machine.is_device ? run_device(plan, &own, &watch, error) : run_host(plan, &own, &watch, error);
    return stn_watch_end(&watch, status, error);
}
