/* options.first_result: the generic kernel runs one execution while the chosen kernels are compiled
 * in the background.
 *
 *     generic kernel   |execute ......|
 *     chosen kernels   |compile .............|execute|execute|execute
 *
 * This is done where the generic kernel is predicted to be compiled and to finish the whole
 * execution well before the chosen kernels are compiled. The second execution waits for the chosen
 * kernels and runs them. During a capture of the stream the generic kernel runs, since loading a
 * module would end the capture. */
#include <stdlib.h>

#include "base/error.h"
#include "context/context.h"
#include "plan/plan.h"

/* The generic kernel is used if its predicted time, plus the time to compile it if it is not
 * stored, is below this fraction of the predicted time to compile the chosen kernels. It then
 * finishes first even if it takes 4/3 times as long as predicted. If it is not used although it
 * would have finished first, the first result comes at most 4/3 times as late. */
#define LATEST 0.75

bool stn_first_result_begin(stn_plan *plan, stn_compile_batch *batch, size_t workspace) {
    const double latest = LATEST * stn_compile_batch_seconds(batch);
    const uint64_t steps = plan->kind->shape(plan).steps;
    stn_ranked row;
    plan->first_result = NULL; /* it is called only once */
    if (!stn_plan_generic(plan, &row) || row.estimate.seconds >= latest) return false;
    stn_compile_batch *missing = stn_compile_batch_create(plan->context);
    struct stn_first *first = calloc(1, sizeof *first);
    bool begun = missing && first &&
                 !stn_plan_build(plan, steps, row.strategy, &row.candidate, missing, &first->generic, NULL) &&
                 row.estimate.seconds + stn_compile_batch_seconds(missing) < latest &&
                 (first->background = stn_background_compile_start(&batch, 1));
    if (begun && missing->count) { /* not among the kernels that the library contains */
        stn_plan_destroy(first->generic);
        (void)stn_compile_batch_try(missing, NULL);
        begun = !stn_plan_build(plan, steps, row.strategy, &row.candidate, NULL, &first->generic, NULL);
    }
    if (first && !begun) {
        stn_background_compile_end(first->background, false);
        stn_plan_destroy(first->generic);
        free(first);
    }
    stn_compile_batch_free(missing);
    if (!begun) return false;
    first->batch = batch;
    first->workspace = first->generic->workspace_size > workspace ? first->generic->workspace_size : workspace;
    pthread_mutex_init(&first->lock, NULL);
    plan->first = first;
    return true;
}

/* Waits for the background compile and prepares the plan; called with the lock held. */
static void make_ready(stn_plan *plan) {
    struct stn_first *first = plan->first;
    stn_background_compile_end(first->background, false);
    first->background = NULL;
    stn_status status = stn_plan_prepare(plan, &first->failed);
    if (status == STN_OK && plan->workspace_size > first->workspace)
        status = stn_fail(&first->failed, STN_ERROR_UNSUPPORTED,
                          "the candidate that compiles, of strategy %s, needs %zu bytes of workspace, and the plan has "
                          "%zu",
                          plan->strategy->name, plan->workspace_size, first->workspace);
    if (status != STN_OK) {
        stn_plan_unprepare(plan);
        stn_log(&plan->context->logger, STN_LOG_WARNING, "the plan keeps the generic kernel: %s",
                first->failed.message);
    }
    atomic_store(&first->ended, true);
}

static stn_plan *running(stn_plan *plan) { return stn_first_result_now(plan) == plan ? plan : plan->first->generic; }

stn_plan *stn_first_result_next(stn_plan *plan, bool ends, void *stream) {
    struct stn_first *first = plan->first;
    if (!first) return plan;
    if (!atomic_load(&first->ended)) {
        pthread_mutex_lock(&first->lock);
        if (first->served && !atomic_load(&first->ended) && !stn_device_capturing(plan->context->device, stream))
            make_ready(plan);
        first->served = first->served || ends;
        pthread_mutex_unlock(&first->lock);
    }
    return running(plan);
}

stn_plan *stn_first_result_end(stn_plan *plan) {
    struct stn_first *first = plan->first;
    if (!first) return plan;
    pthread_mutex_lock(&first->lock);
    if (!atomic_load(&first->ended)) make_ready(plan);
    pthread_mutex_unlock(&first->lock);
    return running(plan);
}

const stn_plan *stn_first_result_now(const stn_plan *plan) {
    const struct stn_first *first = plan->first;
    return first && (!atomic_load(&first->ended) || first->failed.status) ? first->generic : plan;
}

void stn_first_result_describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const struct stn_first *first = plan->first;
    if (!first) return;
    const bool ended = atomic_load(&first->ended);
    const char *why = ended && first->failed.status ? first->failed.message : NULL;
    if (format == STN_JSON) {
        stn_json_open(text, "first_result", "{");
        stn_json_text(text, "runs", ended && !why ? "chosen" : "generic");
        stn_json_text(text, "error", why);
        stn_text_printf(text, "}");
    } else if (why)
        stn_text_printf(text, "\nfirst:      the generic kernel runs, as the chosen one cannot: %s", why);
    else
        stn_text_printf(text, ended ? "\nfirst:      the generic kernel ran one execution; the chosen kernels run now"
                                    : "\nfirst:      the generic kernel runs one execution, then the chosen kernels");
}
