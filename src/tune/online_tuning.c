/* Opens, closes, changes and describes an online plan (candidates are tried in the caller's own
 * executions); see online_tuning.h. */
#include "tune/online_tuning.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "context/compile_batch.h"
#include "context/context.h"
#include "tune/compare_results.h"
#include "tune/plan_wisdom.h"

/* Work between two decisions, in seconds: each decision costs a wait of some microseconds. */
#define CHUNK_SECONDS 10e-3
/* Overhead of a check besides its work, in seconds: modules are loaded at a kernel's first launch,
 * and the host waits for the sums. Measured: 0.11 ms each. */
#define CHECK_SECONDS 0.15e-3
/* Candidates estimated at more than this many times the best are not tried, unless best of their
 * strategy. */
#define LIKELY 1.5
/* Candidates estimated at more than this many times the best are never tried. */
#define DOMINATED 3.0
/* Largest part of device memory for the input, the output and the online workspace together. */
#define MEMORY_PART 0.6
enum { CHUNKS_LEAST = 8, CHUNKS_MOST = 512, WIDE = 48, ALIGNMENT = 256 };

/* ---- candidates ------------------------------------------------------------------------------ */

static double chunk_seconds(const stn_plan *plan) {
    return plan->context->play ? plan->context->play->chunk_seconds : CHUNK_SECONDS;
}

/* The work of one unit, with the estimates of its candidates. */
static stn_plan *make_unit(const stn_plan *plan, uint64_t steps, const char *strategy) {
    stn_plan *unit;
    if (stn_plan_copy(plan, plan->kind, stn_plan_work(plan), steps, &unit, NULL) != STN_OK) return NULL;
    stn_plan_rank(unit, strategy, WIDE);
    return unit;
}

static double seconds_in_chunks(const stn_plan *plan, stn_plan *unit, uint64_t chunks) {
    stn_estimate one = {0};
    plan->kind->estimate(unit, plan->strategy, &plan->candidate, &one);
    return one.seconds * (double)chunks;
}

/* The number of chunks that a run of many steps is divided into: each long enough to time, all
 * together at most 1% slower than the undivided run by estimate. */
static uint64_t choose_chunks(const stn_plan *plan, const char *strategy, stn_plan **unit) {
    const uint64_t steps = plan->kind->shape(plan).steps;
    const double most = plan->estimate.seconds / chunk_seconds(plan);
    uint64_t chunks = most > CHUNKS_MOST ? CHUNKS_MOST : (uint64_t)most;
    for (; plan->estimate.stepping && chunks >= CHUNKS_LEAST; chunks--) {
        if (steps % chunks) continue;
        *unit = make_unit(plan, steps / chunks, strategy);
        if (*unit && seconds_in_chunks(plan, *unit, chunks) <= 1.01 * plan->estimate.seconds) return chunks;
        stn_plan_destroy(*unit);
    }
    *unit = make_unit(plan, steps, strategy);
    return 1;
}

/* If `config` is NULL, any candidate of the strategy counts. */
static bool has_candidate(const stn_online *o, const stn_strategy *strategy, const stn_candidate *config) {
    for (size_t i = 0; i < o->search.count; i++)
        if (o->candidates[i].strategy == strategy &&
            (!config || !memcmp(&o->candidates[i].config, config, sizeof *config)))
            return true;
    return false;
}

static void add_candidate(stn_online *o, const stn_strategy *strategy, const stn_candidate *config, double seconds) {
    if (o->search.count == TUNE_CANDIDATES) return;
    o->candidates[o->search.count].strategy = strategy;
    o->candidates[o->search.count].config = *config;
    o->search.candidates[o->search.count].strategy = strategy;
    o->search.candidates[o->search.count++].predicted = seconds;
}

/* Adds the plan's own candidate, the cheapest by estimate, the best of each other strategy, then
 * all others that are likely to be fast. */
static void choose_candidates(stn_online *o) {
    const stn_plan *plan = o->plan, *unit = o->unit;
    stn_estimate own = {0};
    plan->kind->estimate(unit, plan->strategy, &plan->candidate, &own);
    add_candidate(o, plan->strategy, &plan->candidate, own.seconds);
    o->search.candidates[0].state = TUNE_CANDIDATE_CHECKED;
    for (int others = 0; others < 2; others++)
        for (size_t i = 0; i < unit->ranked && unit->ranking[i].applies; i++) {
            const stn_ranked *row = &unit->ranking[i];
            const bool first = i == 0 || !has_candidate(o, row->strategy, NULL);
            const double most = (others ? LIKELY : DOMINATED) * unit->ranking[0].estimate.seconds;
            if ((others || first) && row->estimate.seconds <= most && !has_candidate(o, row->strategy, &row->candidate))
                add_candidate(o, row->strategy, &row->candidate, row->estimate.seconds);
        }
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void release(stn_online *o) {
    for (size_t i = 0; i < o->search.count; i++) {
        stn_plan_destroy(o->candidates[i].plan);
        stn_compile_batch_free(o->candidates[i].batch);
    }
    stn_compile_batch_free(o->compare_batch);
    stn_kernel_set_clear(&o->kernels);
    stn_timer_destroy(o->took);
    stn_timer_destroy(o->done);
    stn_memory_free(o->plan->context, o->sums);
    stn_plan_destroy(o->unit);
    pthread_mutex_destroy(&o->lock);
    free(o);
}

static size_t aligned(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

/* Sets the sizes of the workspace that candidates need. */
static void set_sizes(stn_online *o) {
    const stn_work_shape shape = o->plan->kind->shape(o->plan);
    o->inner = aligned(o->inner);
    o->compared = (tune_compared){shape.out_numbers, tune_sample(shape.out_numbers)};
    o->grid = aligned((size_t)shape.out_numbers * stn_dtype_size(shape.dtype));
    o->spare = o->inner + o->grid;
}

static bool fits(const stn_online *o) {
    return (double)o->inner + 4.0 * (double)o->grid <= MEMORY_PART * (double)o->plan->machine.memory_bytes;
}

/* Prepares candidate 0, the plan's own choice. If the run has several chunks, it is built for one
 * chunk; few kernels are missing, because those of the plan are loaded. */
static bool prepare_first(stn_online *o) {
    o->inner = o->plan->workspace_size;
    if (o->chunks == 1) return true;
    tune_online_build(o, &o->candidates[0], NULL);
    return o->candidates[0].plan != NULL;
}

/* False if there is no other candidate, or if memory or a timer is missing. */
static bool prepare(stn_online *o) {
    stn_plan *plan = o->plan;
    stn_device *device = plan->context->device;
    if (o->search.count < 2 || !prepare_first(o)) return false;
    tune_online_collect(o);
    set_sizes(o);
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
    o->kernels.context = plan->context;
    o->owner = getpid();
    return o;
}

void tune_online_open(stn_plan *plan, const char *strategy, double executions) {
    stn_online *o = plan->kind->shape(plan).repeats ? make(plan) : NULL;
    if (!o) return;
    o->chunks = choose_chunks(plan, strategy, &o->unit);
    if (o->unit) choose_candidates(o);
    if (!o->unit || !prepare(o)) {
        release(o);
        return;
    }
    o->search.known = executions * (double)o->chunks;
    if (o->chunks > 1 && !(executions > 0)) o->search.known = (double)o->chunks;
    plan->workspace_size = o->inner + o->grid * (o->chunks > 1 ? 2 : 1);
    plan->online = o;
    tune_online_start(o);
}

/* ---- closing, and new weights ---------------------------------------------------------------- */

/* Remembers the measured times, in seconds of the whole run. */
static void remember(const stn_online *o) {
    tune_records *records = calloc(1, sizeof *records);
    for (size_t i = 0; records && i < o->search.count; i++)
        if (o->search.candidates[i].count)
            tune_record_set(records, o->candidates[i].strategy->name, &o->candidates[i].config,
                            tune_search_expects(&o->search, i) * (double)o->chunks);
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

uint64_t tune_online_chunks(const stn_plan *plan) { return plan->online->chunks; }

/* Drops a candidate that could not take new weights. If it was the running one, candidate 0, which
 * has the new weights, runs from now on. */
static void drop_candidate(stn_online *o, size_t candidate, const stn_error *why) {
    o->search.candidates[candidate].state = TUNE_CANDIDATE_OUT;
    stn_plan_destroy(o->candidates[candidate].plan);
    o->candidates[candidate].plan = NULL;
    o->candidates[candidate].why = *why;
    if (o->search.current != candidate) return;
    o->search.current = 0;
    o->search.candidates[0].state = TUNE_CANDIDATE_CHECKED;
}

stn_status tune_online_set_weights(stn_plan *plan, size_t count, const double *weights, stn_error *error) {
    stn_online *o = plan->online;
    tune_online_end(o);
    o->in_flight = false;
    o->left = 0;
    stn_compile_batch_free(o->compare_batch); /* It was cancelled. */
    o->compare_batch = NULL;
    /* Candidates are built from the unit. */
    STN_TRY(stn_task_set_weights(&o->unit->task, count, weights, error));
    for (size_t i = 0; i < o->search.count; i++) {
        online_candidate *candidate = &o->candidates[i];
        stn_error why = {0};
        if (!candidate->plan || plan->kind->set_weights(candidate->plan, count, weights, &why) == STN_OK) continue;
        if (i == 0) return stn_fail(error, why.status, "%s", why.message);
        drop_candidate(o, i, &why);
    }
    if (o->search.frozen || o->over) return STN_OK;
    tune_online_collect(o);
    tune_online_start(o);
    return STN_OK;
}

const stn_plan *tune_online_now(const stn_plan *plan) {
    const stn_online *o = plan->online;
    const stn_plan *candidate = o->candidates[o->search.current].plan;
    return candidate ? candidate : plan;
}

/* ---- description ----------------------------------------------------------------------------- */

void tune_online_describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const stn_online *o = plan->online;
    const online_candidate *candidate = &o->candidates[o->search.current], *bad = NULL;
    const bool over = tune_search_over(&o->search);
    size_t tried = 0, failed = 0;
    for (size_t i = o->search.count; i-- > 1;) {
        tried += o->search.candidates[i].count > 0 || o->search.candidates[i].known > 0;
        if (o->candidates[i].why.status) failed++, bad = &o->candidates[i];
    }
    if (format == STN_JSON) {
        stn_json_open(text, "online", "{");
        stn_json_text(text, "strategy", candidate->strategy->name);
        stn_json_integer(text, "others", (int64_t)o->search.count - 1);
        stn_json_integer(text, "tried", (int64_t)tried);
        stn_json_integer(text, "skipped", (int64_t)failed);
        stn_json_text(text, "skipped_because", bad ? bad->why.message : NULL);
        stn_json_integer(text, "chunks", (int64_t)o->chunks);
        stn_json_flag(text, "over", over);
        stn_text_printf(text, "}");
        return;
    }
    stn_text_printf(text, "\nonline:     %s", candidate->strategy->name);
    if (candidate->strategy->name_candidate) {
        stn_text_printf(text, ", ");
        candidate->strategy->name_candidate(&o->unit->task, &candidate->config, text);
    }
    stn_text_printf(text, " runs; %zu of %zu others tried%s", tried, o->search.count - 1, over ? ", and no more" : "");
    if (bad) stn_text_printf(text, "; %zu skipped, as %s: %s", failed, bad->strategy->name, bad->why.message);
}
