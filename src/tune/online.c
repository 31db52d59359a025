/* See online.h. */
#include "tune/online.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "context/compile_batch.h"
#include "context/context.h"
#include "tune/compare.h"
#include "tune/online_state.h"
#include "tune/wisdom.h"

#define LEG_SECONDS 10e-3 /* of work between two decisions: waiting for it costs some microseconds */
/* Of a check beside its work: modules are loaded at a kernel's first launch, and sums are waited
 * for. 0.11 ms of each where the search was measured to take 0.75 ms of 7.3 and 1.4% of 45 and of
 * 141 (bench/results/2026-11-23-regret-2.md). */
#define CHECK_SECONDS 0.15e-3
#define LIKELY 1.5      /* times the best estimate: not tried, unless it is the best of its strategy */
#define HOPELESS 3.0    /* then neither */
#define MEMORY_PART 0.6 /* of the device's, that input, output and what this takes may have together */
enum { LEGS_LEAST = 8, LEGS_MOST = 512, WIDE = 48, ALIGNMENT = 256 };

/* ---- what is tried
 * ----------------------------------------------------------------------------------------------- */

static double leg_seconds(const stn_plan *plan) {
    return plan->context->play ? plan->context->play->leg_seconds : LEG_SECONDS;
}

/* A unit's work, with what its candidates are estimated to take. */
static stn_plan *make_unit(const stn_plan *plan, uint64_t steps, const char *strategy) {
    stn_plan *unit;
    if (stn_plan_copy(plan, plan->kind, stn_plan_work(plan), steps, &unit, NULL) != STN_OK) return NULL;
    stn_plan_rank(unit, strategy, WIDE);
    return unit;
}

static double seconds_in_legs(const stn_plan *plan, stn_plan *unit, uint64_t legs) {
    stn_estimate one = {0};
    plan->kind->estimate(unit, plan->strategy, &plan->candidate, &one);
    return one.seconds * (double)legs;
}

/* Legs of a run that steps: as long as is worth a look, and together hardly longer than the run at
 * once. */
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
    o->search.arms[o->search.count].strategy = strategy;
    o->search.arms[o->search.count++].predicted = seconds;
}

/* What the plan has, the cheapest by estimate, the best of each other strategy, then whatever is
 * likely. */
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
}

/* ---- opening and closing
 * ----------------------------------------------------------------------------------------- */

static void release(stn_online *o) {
    for (size_t i = 0; i < o->search.count; i++) {
        stn_plan_destroy(o->arms[i].plan);
        stn_compile_batch_free(o->arms[i].gather);
    }
    stn_compile_batch_free(o->compare_gather);
    stn_timer_destroy(o->took);
    stn_timer_destroy(o->done);
    stn_memory_free(o->plan->context, o->sums);
    stn_plan_destroy(o->unit);
    pthread_mutex_destroy(&o->lock);
    free(o);
}

static size_t aligned(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

/* Room for what arms need. */
static void measure_up(stn_online *o) {
    const stn_work_shape shape = o->plan->kind->shape(o->plan);
    o->inner = aligned(o->inner);
    o->compared = (tune_compared){shape.out_numbers, tune_sample(shape.out_numbers)};
    o->grid = aligned((size_t)shape.out_numbers * stn_dtype_size(shape.dtype));
    o->spare = o->inner + o->grid;
}

static bool fits(const stn_online *o) {
    return (double)o->inner + 4.0 * (double)o->grid <= MEMORY_PART * (double)o->plan->machine.memory_bytes;
}

/* Arm 0 by units of several legs: what the plan runs is there, so little is missing. */
static bool furnish_first(stn_online *o) {
    o->inner = o->plan->workspace_size;
    if (o->legs == 1) return true;
    tune_online_build(o, &o->arms[0]);
    return o->arms[0].plan != NULL;
}

/* False where there is nothing to try, or nothing to try it with. */
static bool furnish(stn_online *o) {
    stn_plan *plan = o->plan;
    stn_device *device = plan->context->device;
    if (o->search.count < 2 || !furnish_first(o)) return false;
    tune_online_look(o, 1);
    measure_up(o);
    if (!fits(o)) return false;
    o->search.compare = 2.0 * (double)o->grid / (double)o->compared.every / plan->machine.copy_bandwidth +
                        plan->machine.launch_seconds + CHECK_SECONDS;
    return stn_timer_create(device, &o->took, NULL) == STN_OK && stn_timer_create(device, &o->done, NULL) == STN_OK &&
           stn_memory_alloc(plan->context, TUNE_SUMS, &o->sums, NULL) == STN_OK;
}

static stn_online *make(stn_plan *plan) {
    stn_online *o = plan->context->device ? calloc(1, sizeof *o) : NULL;
    if (!o) return NULL;
    pthread_mutex_init(&o->lock, NULL);
    o->plan = plan;
    o->owner = getpid();
    return o;
}

static void begin(stn_online *o) {
    o->plan->online = o;
    tune_online_start(o);
}

void tune_online_open(stn_plan *plan, const char *strategy, double executions) {
    stn_online *o = plan->kind->shape(plan).repeats ? make(plan) : NULL;
    if (!o) return;
    o->legs = choose_legs(plan, strategy, &o->unit);
    if (o->unit) choose_arms(o);
    if (!o->unit || !furnish(o)) {
        release(o);
        return;
    }
    o->search.known = executions * (double)o->legs;
    if (o->legs > 1 && !(executions > 0)) o->search.known = (double)o->legs;
    plan->workspace_size = o->inner + o->grid * (o->legs > 1 ? 2 : 1);
    begin(o);
}

/* ---- the end, and changes
 * -------------------------------------------------------------------------------------- */

/* Seconds of the whole run. */
static void remember(const stn_online *o) {
    tune_records *records = calloc(1, sizeof *records);
    for (size_t i = 0; records && i < o->search.count; i++)
        if (o->search.arms[i].count)
            tune_record_set(records, o->arms[i].strategy->name, &o->arms[i].candidate,
                            tune_search_expects(&o->search, i) * (double)o->legs);
    if (records && records->count > 1) tune_remember(o->plan, records);
    free(records);
}

void tune_online_close(stn_plan *plan) {
    stn_online *o = plan->online;
    if (!o) return;
    plan->online = NULL;
    tune_online_end(o);
    if (o->owner == getpid()) remember(o);
    release(o);
}

uint64_t tune_online_legs(const stn_plan *plan) { return plan->online->legs; }

/* What arms are built like gets the plan's new weights. */
static bool renew_unit(stn_online *o) {
    const stn_plan *plan = o->plan;
    stn_plan *unit;
    const uint64_t steps = plan->kind->shape(o->unit).steps;
    if (stn_plan_copy(plan, plan->kind, stn_plan_work(plan), steps, &unit, NULL) != STN_OK) return false;
    memcpy(unit->ranking, o->unit->ranking, sizeof unit->ranking);
    unit->ranked = o->unit->ranked;
    stn_plan_destroy(o->unit);
    o->unit = unit;
    return true;
}

static void drop_arm(stn_online *o, size_t arm, const char *why) {
    o->search.arms[arm].state = TUNE_ARM_OUT;
    stn_plan_destroy(o->arms[arm].plan);
    o->arms[arm].plan = NULL;
    (void)stn_fail(&o->arms[arm].why, STN_ERROR_UNSUPPORTED, "%s", why);
    atomic_store(&o->arms[arm].built, TUNE_FAILED);
}

/* The one that runs cannot be dropped: the plan's own candidate, which has the new weights, takes
 * its place. */
static void begin_again(stn_online *o) {
    o->search.current = 0;
    o->search.arms[0].state = TUNE_ARM_CHECKED;
}

stn_status tune_online_set_weights(stn_plan *plan, size_t count, const double *weights, stn_error *error) {
    stn_online *o = plan->online;
    tune_online_end(o);
    o->flying = false;
    o->left = 0;
    stn_compile_batch_free(o->compare_gather); /* it is cancelled */
    o->compare_gather = NULL;
    if (!renew_unit(o)) return stn_fail_memory(error, "a plan", sizeof *plan);
    for (size_t i = 0; i < o->search.count; i++) {
        online_arm *arm = &o->arms[i];
        stn_error why = {0};
        if (!arm->plan) {
            if (i && atomic_load(&arm->built) == TUNE_COMPILED) atomic_store(&arm->built, TUNE_UNBUILT);
        } else if (plan->kind->set_weights(arm->plan, count, weights, &why) != STN_OK) {
            if (i == 0) return stn_fail(error, why.status, "%s", why.message);
            drop_arm(o, i, why.message);
            if (o->search.current == i) begin_again(o);
        }
    }
    if (o->search.frozen || o->over) return STN_OK;
    tune_online_look(o, 1);
    tune_online_start(o);
    return STN_OK;
}

const stn_plan *tune_online_now(const stn_plan *plan) {
    const stn_online *o = plan->online;
    const stn_plan *arm = o->arms[o->search.current].plan;
    return arm ? arm : plan;
}

const stn_strategy *tune_online_strategy(const stn_plan *plan, stn_candidate *candidate) {
    const online_arm *arm = &plan->online->arms[plan->online->search.current];
    if (candidate) *candidate = arm->candidate;
    return arm->strategy;
}
