/* See online.h. */
#include "tune/online.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "context/context.h"
#include "plan/gather.h"
#include "tune/compare.h"
#include "tune/notes.h"
#include "tune/online_state.h"

#define LEG_SECONDS 10e-3 /* of work between two decisions: waiting for it costs some microseconds */
#define LIKELY 1.5        /* times the best estimate: not tried, unless it is the best of its strategy */
#define HOPELESS 3.0      /* then neither */
#define MEMORY_PART 0.6   /* of the device's, that input, output and what this takes may have together */
enum { LEGS_LEAST = 8, LEGS_MOST = 512, WIDE = 48, ALIGNMENT = 256 };

/* ---- what is tried ----------------------------------------------------------------------------------------------- */

static double leg_seconds(const stn_plan *plan) {
    return plan->context->play ? plan->context->play->leg_seconds : LEG_SECONDS;
}

/* A unit's work, with what its candidates are estimated to take. */
static stn_plan *make_unit(const stn_plan *plan, uint64_t steps, const char *strategy) {
    stn_plan *unit;
    if (stn_plan_copy(plan, plan->kind, plan->kind->work(plan), steps, &unit, NULL) != STN_OK) return NULL;
    stn_plan_rank(unit, strategy, WIDE);
    return unit;
}

static double seconds_in_legs(const stn_plan *plan, stn_plan *unit, uint64_t legs) {
    stn_estimate one = {0};
    plan->kind->estimate(unit, plan->strategy, &plan->candidate, &one);
    return one.seconds * (double)legs;
}

/* Legs of a run that steps: as long as is worth a look, and together hardly longer than the run at once. */
static uint64_t choose_legs(const stn_plan *plan, const char *strategy, stn_plan **unit) {
    const uint64_t steps = plan->kind->shape(plan).steps;
    const double most = plan->estimate.seconds / leg_seconds(plan);
    uint64_t legs = most > LEGS_MOST ? LEGS_MOST : (uint64_t)most;
    for (; plan->estimate.stepping && legs >= LEGS_LEAST; legs--) {
        if (steps % legs) continue;
        *unit = make_unit(plan, steps / legs, strategy);
        if (*unit && seconds_in_legs(plan, *unit, legs) <= 1.01 * plan->estimate.seconds) return legs;
        stn_plan_destroy(*unit);
    }
    *unit = make_unit(plan, steps, strategy);
    return 1;
}

static bool is_arm(const stn_online *o, const stn_ranked *row) {
    for (size_t i = 0; i < o->search.count; i++)
        if (o->arms[i].strategy == row->strategy &&
            !memcmp(&o->arms[i].candidate, &row->candidate, sizeof row->candidate))
            return true;
    return false;
}

static bool has_strategy(const stn_online *o, const stn_strategy *strategy) {
    for (size_t i = 0; i < o->search.count; i++)
        if (o->arms[i].strategy == strategy) return true;
    return false;
}

static void add_arm(stn_online *o, const stn_strategy *strategy, const stn_candidate *candidate, double seconds) {
    if (o->search.count == TUNE_ARMS) return;
    o->arms[o->search.count].strategy = strategy;
    o->arms[o->search.count].candidate = *candidate;
    o->search.arms[o->search.count++].predicted = seconds;
}

/* What the plan has, the cheapest by estimate, the best of each other strategy, then whatever is likely. */
static void choose_arms(stn_online *o) {
    const stn_plan *plan = o->plan, *unit = o->unit;
    stn_estimate own = {0};
    plan->kind->estimate(unit, plan->strategy, &plan->candidate, &own);
    add_arm(o, plan->strategy, &plan->candidate, own.seconds);
    o->search.arms[0].state = TUNE_ARM_CHECKED;
    for (int others = 0; others < 2; others++)
        for (size_t i = 0; i < unit->ranked && unit->ranking[i].applies; i++) {
            const stn_ranked *row = &unit->ranking[i];
            const bool first = i == 0 || !has_strategy(o, row->strategy);
            const double most = (others ? LIKELY : HOPELESS) * unit->ranking[0].estimate.seconds;
            if ((others || first) && row->estimate.seconds <= most && !is_arm(o, row))
                add_arm(o, row->strategy, &row->candidate, row->estimate.seconds);
        }
    if (plan->chosen == STN_CHOSEN_BY_START && o->search.count > 1 && o->search.arms[1].predicted < own.seconds)
        o->search.estimated = 1;
}

/* ---- building ---------------------------------------------------------------------------------------------------- */

static stn_status build_arm(const stn_online *o, online_arm *arm, stn_error *error) {
    return stn_plan_build(o->unit, o->plan->kind->shape(o->unit).steps, arm->strategy, &arm->candidate, &arm->plan,
                          error);
}

/* With what is stored; learns what is missing, and how much workspace it wants. */
static void look_at_arm(stn_online *o, online_arm *arm) {
    arm->gather = stn_gather_begin(o->plan->context);
    const stn_status status = build_arm(o, arm, NULL);
    const size_t missing = stn_gather_end(arm->gather);
    if (arm->plan && arm->plan->workspace_size > o->inner) o->inner = arm->plan->workspace_size;
    if (missing && arm->plan) {
        stn_plan_destroy(arm->plan);
        arm->plan = NULL;
    } else
        atomic_store(&arm->built, status == STN_OK ? TUNE_BUILT : TUNE_FAILED);
}

static void *build_all(void *user) {
    stn_online *o = user;
    stn_context *context = o->plan->context;
    if (tune_kernel(context, o->plan->kind->shape(o->plan).dtype, "tune_compare", &o->compare, NULL) != STN_OK)
        atomic_store(&o->stop, true); /* nothing can be checked, so nothing is tried */
    else
        atomic_store(&o->comparable, true);
    for (size_t i = 1; i < o->search.count && !atomic_load(&o->stop); i++) {
        online_arm *arm = &o->arms[i];
        stn_error why = {0};
        if (atomic_load(&arm->built) != TUNE_UNBUILT) continue;
        if (arm->gather) stn_gather_compile(arm->gather);
        const stn_status status = build_arm(o, arm, &why);
        if (status != STN_OK)
            stn_log(&context->logger, STN_LOG_INFO, "a candidate of strategy %s is passed over: %s",
                    arm->strategy->name, why.message);
        atomic_store(&arm->built, status == STN_OK ? TUNE_BUILT : TUNE_FAILED);
    }
    return NULL;
}

static void start_builder(stn_online *o) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before); /* an application's handlers stay on its own threads */
    o->has_builder = !pthread_create(&o->builder, NULL, build_all, o);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void end_builder(stn_online *o) {
    atomic_store(&o->stop, true);
    if (o->has_builder && o->owner == getpid()) pthread_join(o->builder, NULL);
    o->has_builder = false;
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

static void release(stn_online *o) {
    for (size_t i = 0; i < o->search.count; i++) {
        stn_plan_destroy(o->arms[i].plan);
        stn_gather_free(o->arms[i].gather);
    }
    stn_timer_destroy(o->took);
    stn_timer_destroy(o->done);
    stn_memory_free(o->plan->context, o->sums);
    stn_plan_destroy(o->unit);
    pthread_mutex_destroy(&o->lock);
    free(o);
}

static size_t aligned(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

/* False where there is nothing to try, or nothing to try it with. */
static bool furnish(stn_online *o) {
    stn_plan *plan = o->plan;
    stn_device *device = plan->context->device;
    if (o->search.count < 2) return false;
    if (o->legs > 1 && build_arm(o, &o->arms[0], NULL) != STN_OK) return false;
    o->inner = plan->workspace_size;
    if (o->arms[0].plan && o->arms[0].plan->workspace_size > o->inner) o->inner = o->arms[0].plan->workspace_size;
    for (size_t i = 1; i < o->search.count; i++) look_at_arm(o, &o->arms[i]);
    o->inner = aligned(o->inner);
    o->numbers = plan->kind->shape(plan).out_numbers;
    o->grid = aligned((size_t)o->numbers * stn_dtype_size(plan->kind->shape(plan).dtype));
    if ((double)o->inner + 4.0 * (double)o->grid > MEMORY_PART * (double)plan->machine.memory_bytes) return false;
    o->search.compare = 2.0 * (double)o->grid / plan->machine.copy_bandwidth + plan->machine.launch_seconds;
    return stn_timer_create(device, &o->took, NULL) == STN_OK && stn_timer_create(device, &o->done, NULL) == STN_OK &&
           stn_memory_alloc(plan->context, TUNE_SUMS, &o->sums, NULL) == STN_OK;
}

void tune_online_open(stn_plan *plan, const char *strategy, double executions) {
    if (!plan->context->device || !plan->kind->shape(plan).repeats) return;
    stn_online *o = calloc(1, sizeof *o);
    if (!o) return;
    pthread_mutex_init(&o->lock, NULL);
    o->plan = plan;
    o->owner = getpid();
    o->legs = choose_legs(plan, strategy, &o->unit);
    if (o->unit) choose_arms(o);
    if (!o->unit || !furnish(o)) {
        release(o);
        return;
    }
    o->search.known = executions * (double)o->legs;
    if (o->legs > 1 && !(executions > 0)) o->search.known = (double)o->legs;
    plan->workspace_size = o->inner + o->grid * (o->legs > 1 ? 2 : 1);
    plan->online = o;
    start_builder(o);
}

/* Seconds of the whole run. */
static void remember(const stn_online *o) {
    stn_key key;
    tune_records *records = calloc(1, sizeof *records);
    for (size_t i = 0; records && i < o->search.count; i++)
        if (o->search.arms[i].count)
            tune_record_set(records, o->arms[i].strategy->name, &o->arms[i].candidate,
                            tune_search_expects(&o->search, i) * (double)o->legs);
    if (records && records->count > 1 && tune_key(o->plan, &key, NULL) == STN_OK) tune_remember(o->plan, &key, records);
    free(records);
}

void tune_online_close(stn_plan *plan) {
    stn_online *o = plan->online;
    if (!o) return;
    plan->online = NULL;
    end_builder(o);
    if (o->owner == getpid()) remember(o);
    release(o);
}

uint64_t tune_online_legs(const stn_plan *plan) { return plan->online->legs; }

void tune_online_set_weights(stn_plan *plan, size_t count, const double *weights) {
    stn_online *o = plan->online;
    end_builder(o);
    o->flying = false;
    for (size_t i = 0; i < o->search.count; i++) {
        stn_plan *arm = o->arms[i].plan;
        if (!arm && i == 0) continue; /* the plan itself */
        if (!arm || plan->kind->set_weights(arm, count, weights, NULL) != STN_OK)
            o->search.arms[i].state = TUNE_ARM_OUT;
    }
}

const stn_strategy *tune_online_strategy(const stn_plan *plan, stn_candidate *candidate) {
    const online_arm *arm = &plan->online->arms[plan->online->search.current];
    if (candidate) *candidate = arm->candidate;
    return arm->strategy;
}

void tune_online_describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const stn_online *o = plan->online;
    const online_arm *arm = &o->arms[o->search.current];
    size_t tried = 0;
    for (size_t i = 1; i < o->search.count; i++) tried += o->search.arms[i].count > 0;
    if (format == STN_TEXT) {
        stn_text_printf(text, "\nonline:     %s, ", arm->strategy->name);
        if (arm->strategy->name_candidate) arm->strategy->name_candidate(&o->unit->task, &arm->candidate, text);
        stn_text_printf(text, " runs; %zu of %zu others tried%s", tried, o->search.count - 1,
                        tune_search_over(&o->search) ? ", and no more" : "");
        return;
    }
    stn_json_key(text, "online");
    stn_text_printf(text, "{");
    stn_json_key(text, "strategy"), stn_json_string(text, arm->strategy->name);
    stn_json_key(text, "others"), stn_text_printf(text, "%zu", o->search.count - 1);
    stn_json_key(text, "tried"), stn_text_printf(text, "%zu", tried);
    stn_json_key(text, "legs"), stn_text_printf(text, "%llu", (unsigned long long)o->legs);
    stn_json_key(text, "over"), stn_text_printf(text, tune_search_over(&o->search) ? "true" : "false");
    stn_text_printf(text, "}");
}
