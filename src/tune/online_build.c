/* Builds the candidates of an online plan. Compiling takes long and needs no device, so a thread
 * does it. Loading modules and allocating memory would break a stream capture or wait for one, so
 * an execution does that for a candidate whose kernels are compiled. */
#include "base/error.h"
#include "context/context.h"
#include "tune/compare_results.h"
#include "tune/online_tuning.h"

void tune_online_build(stn_online *o, online_candidate *candidate, stn_compile_batch *batch) {
    const uint64_t steps = o->plan->kind->shape(o->unit).steps;
    stn_status status = stn_plan_build(o->unit, steps, candidate->strategy, &candidate->config, batch, &candidate->plan,
                                       &candidate->why);
    if (candidate->plan && candidate->plan->workspace_size > o->inner) {
        if (!o->plan->online)
            o->inner = candidate->plan->workspace_size;
        else /* The new weights need a larger workspace than the old ones. */
            status = stn_fail(&candidate->why, STN_ERROR_UNSUPPORTED, "it wants a larger workspace than the plan has");
    }
    const bool incomplete = batch && batch->count;
    if (incomplete) candidate->why = (stn_error){0};
    if (!incomplete && status == STN_OK) return;
    stn_plan_destroy(candidate->plan);
    candidate->plan = NULL;
}

static void collect_compare(stn_online *o) {
    if (o->compare_batch) return;
    o->compare_batch = o->kernels.batch = stn_compile_batch_create(o->plan->context);
    (void)tune_kernel(&o->kernels, o->plan->kind->shape(o->plan).dtype, "tune_compare", &o->compare, NULL);
    o->kernels.batch = NULL;
    o->compare = NULL; /* It may be a placeholder: executions ask again. */
}

void tune_online_collect(stn_online *o) {
    collect_compare(o);
    for (size_t i = 1; i < o->search.count; i++) {
        online_candidate *candidate = &o->candidates[i];
        if (!tune_online_is_unbuilt(candidate)) continue;
        stn_compile_batch_free(candidate->batch);
        candidate->batch = stn_compile_batch_create(o->plan->context);
        tune_online_build(o, candidate, candidate->batch);
    }
}

void tune_online_start(stn_online *o) {
    stn_compile_batch *batches[TUNE_CANDIDATES] = {o->compare_batch};
    for (size_t i = 1; i < o->search.count; i++)
        if (tune_online_is_unbuilt(&o->candidates[i])) batches[i] = o->candidates[i].batch;
    o->background = stn_background_compile_start(batches, o->search.count);
}

void tune_online_halt(stn_online *o) {
    stn_compile_batch_cancel(o->compare_batch);
    for (size_t i = 1; i < o->search.count; i++) stn_compile_batch_cancel(o->candidates[i].batch);
}

void tune_online_end(stn_online *o) {
    stn_background_compile_end(o->background, true);
    o->background = NULL;
}
