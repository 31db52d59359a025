/* Builds the candidates of an online plan. Compiling takes long and needs no device, so a thread
 * does it. Loading modules and allocating memory would break a stream capture or wait for one, so
 * an execution does that for a candidate whose kernels are compiled. */
#include <unistd.h>

#include "base/error.h"
#include "base/thread.h"
#include "context/context.h"
#include "tune/compare_results.h"
#include "tune/online_tuning.h"

void tune_online_build(stn_online *o, online_candidate *candidate) {
    const uint64_t steps = o->plan->kind->shape(o->unit).steps;
    stn_status status =
        stn_plan_build(o->unit, steps, candidate->strategy, &candidate->config, &candidate->plan, &candidate->why);
    if (candidate->plan && candidate->plan->workspace_size > o->inner) {
        if (!o->plan->online)
            o->inner = candidate->plan->workspace_size;
        else { /* The new weights need a larger workspace than the old ones. */
            status = stn_fail(&candidate->why, STN_ERROR_UNSUPPORTED, "it wants a larger workspace than the plan has");
            stn_plan_destroy(candidate->plan);
            candidate->plan = NULL;
        }
    }
    atomic_store(&candidate->built, status == STN_OK ? TUNE_BUILT : TUNE_FAILED);
}

static void build_or_collect(stn_online *o, online_candidate *candidate) {
    stn_compile_batch_free(candidate->missing_kernels);
    candidate->missing_kernels = stn_compile_batch_begin(o->plan->context);
    tune_online_build(o, candidate);
    const size_t missing = stn_compile_batch_end(candidate->missing_kernels);
    if (!missing) return;
    if (candidate->plan && candidate->plan->workspace_size > o->inner && !o->plan->online)
        o->inner = candidate->plan->workspace_size;
    stn_plan_destroy(candidate->plan); /* It was built with placeholders of kernels. */
    candidate->plan = NULL;
    candidate->why = (stn_error){0};
    atomic_store(&candidate->built, TUNE_UNBUILT);
}

static void collect_compare(stn_online *o) {
    if (o->compare_kernel_batch) return;
    o->compare_kernel_batch = stn_compile_batch_begin(o->plan->context);
    (void)tune_kernel(o->plan->context, o->plan->kind->shape(o->plan).dtype, "tune_compare", &o->compare, NULL);
    stn_compile_batch_end(o->compare_kernel_batch);
    o->compare = NULL; /* It may be a placeholder: executions ask again. */
}

void tune_online_collect(stn_online *o, size_t from) {
    collect_compare(o);
    for (size_t i = from; i < o->search.count; i++)
        if (!o->candidates[i].plan && atomic_load(&o->candidates[i].built) == TUNE_UNBUILT)
            build_or_collect(o, &o->candidates[i]);
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void compile_candidate(const stn_online *o, online_candidate *candidate) {
    stn_error why = {0};
    if (!candidate->missing_kernels || stn_compile_batch_try(candidate->missing_kernels, &why) == STN_OK)
        atomic_store(&candidate->built, TUNE_COMPILED);
    else if (!atomic_load(&o->stop)) {
        candidate->why = why;
        stn_log(&o->plan->context->logger, STN_LOG_INFO, "a candidate of strategy %s is skipped: %s",
                candidate->strategy->name, why.message);
        atomic_store(&candidate->built, TUNE_FAILED);
    }
}

static void *compile_all(void *user) {
    stn_online *o = user;
    if (o->compare_kernel_batch && stn_compile_batch_try(o->compare_kernel_batch, NULL) != STN_OK)
        /* Without the comparison no candidate can be checked, so none is tried. */
        atomic_store(&o->stop, true);
    else
        atomic_store(&o->comparable, true);
    for (size_t i = 1; i < o->search.count && !atomic_load(&o->stop); i++)
        if (atomic_load(&o->candidates[i].built) == TUNE_UNBUILT) compile_candidate(o, &o->candidates[i]);
    return NULL;
}

void tune_online_start(stn_online *o) {
    atomic_store(&o->stop, false);
    o->has_builder = !stn_thread_start(&o->builder, compile_all, o);
    if (!o->has_builder) atomic_store(&o->stop, true);
}

void tune_online_halt(stn_online *o) {
    atomic_store(&o->stop, true);
    stn_compile_batch_cancel(o->compare_kernel_batch);
    for (size_t i = 1; i < o->search.count; i++) stn_compile_batch_cancel(o->candidates[i].missing_kernels);
}

void tune_online_end(stn_online *o) {
    tune_online_halt(o);
    if (o->has_builder && o->owner == getpid()) pthread_join(o->builder, NULL);
    o->has_builder = false;
}
