/* The arms of an online plan come to be. Compiling takes long and concerns no device, so it is a
 * thread's; loading modules, tables and memory would end the capture of any stream, or wait for
 * one, so an execution does that when it finds an arm compiled. */
#include <unistd.h>

#include "base/error.h"
#include "base/thread.h"
#include "context/context.h"
#include "tune/compare.h"
#include "tune/online_state.h"

void tune_online_build(stn_online *o, online_arm *arm) {
    const uint64_t steps = o->plan->kind->shape(o->unit).steps;
    stn_status status = stn_plan_build(o->unit, steps, arm->strategy, &arm->candidate, &arm->plan, &arm->why);
    if (arm->plan && arm->plan->workspace_size > o->inner) {
        if (!o->plan->online)
            o->inner = arm->plan->workspace_size;
        else { /* with other weights than it was made for */
            status = stn_fail(&arm->why, STN_ERROR_UNSUPPORTED, "it wants a larger workspace than the plan has");
            stn_plan_destroy(arm->plan);
            arm->plan = NULL;
        }
    }
    atomic_store(&arm->built, status == STN_OK ? TUNE_BUILT : TUNE_FAILED);
}

static void look_at_arm(stn_online *o, online_arm *arm) {
    stn_compile_batch_free(arm->gather);
    arm->gather = stn_compile_batch_begin(o->plan->context);
    tune_online_build(o, arm);
    const size_t missing = stn_compile_batch_end(arm->gather);
    if (!missing) return;
    if (arm->plan && arm->plan->workspace_size > o->inner && !o->plan->online) o->inner = arm->plan->workspace_size;
    stn_plan_destroy(arm->plan); /* it has stand-ins */
    arm->plan = NULL;
    arm->why = (stn_error){0};
    atomic_store(&arm->built, TUNE_UNBUILT);
}

static void look_at_compare(stn_online *o) {
    if (o->compare_gather) return;
    o->compare_gather = stn_compile_batch_begin(o->plan->context);
    (void)tune_kernel(o->plan->context, o->plan->kind->shape(o->plan).dtype, "tune_compare", &o->compare, NULL);
    stn_compile_batch_end(o->compare_gather);
    o->compare = NULL; /* it may be a stand-in: executions ask again */
}

void tune_online_look(stn_online *o, size_t from) {
    look_at_compare(o);
    for (size_t i = from; i < o->search.count; i++)
        if (!o->arms[i].plan && atomic_load(&o->arms[i].built) == TUNE_UNBUILT) look_at_arm(o, &o->arms[i]);
}

/* ---- the thread
 * -------------------------------------------------------------------------------------------------- */

static void compile_arm(const stn_online *o, online_arm *arm) {
    stn_error why = {0};
    if (!arm->gather || stn_compile_batch_try(arm->gather, &why) == STN_OK)
        atomic_store(&arm->built, TUNE_COMPILED);
    else if (!atomic_load(&o->stop)) {
        arm->why = why;
        stn_log(&o->plan->context->logger, STN_LOG_INFO, "a candidate of strategy %s is passed over: %s",
                arm->strategy->name, why.message);
        atomic_store(&arm->built, TUNE_FAILED);
    }
}

static void *compile_all(void *user) {
    stn_online *o = user;
    if (o->compare_gather && stn_compile_batch_try(o->compare_gather, NULL) != STN_OK)
        atomic_store(&o->stop, true); /* nothing can be checked, so nothing is tried */
    else
        atomic_store(&o->comparable, true);
    for (size_t i = 1; i < o->search.count && !atomic_load(&o->stop); i++)
        if (atomic_load(&o->arms[i].built) == TUNE_UNBUILT) compile_arm(o, &o->arms[i]);
    return NULL;
}

void tune_online_start(stn_online *o) {
    atomic_store(&o->stop, false);
    o->has_builder = !stn_thread_start(&o->builder, compile_all, o);
    if (!o->has_builder) atomic_store(&o->stop, true);
}

void tune_online_halt(stn_online *o) {
    atomic_store(&o->stop, true);
    stn_compile_batch_cancel(o->compare_gather);
    for (size_t i = 1; i < o->search.count; i++) stn_compile_batch_cancel(o->arms[i].gather);
}

void tune_online_end(stn_online *o) {
    tune_online_halt(o);
    if (o->has_builder && o->owner == getpid()) pthread_join(o->builder, NULL);
    o->has_builder = false;
}
