/* Online plans, whose candidates are tried in the caller's own executions: opening, executing one
 * unit after the other, new weights, description, closing. See online_tuning.h. */
#include "tune/online_tuning.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "context/compile_batch.h"
#include "context/context.h"
#include "tune/plan_wisdom.h"
#include "tune/timing_trial.h"

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
/* Work that the GPU must still have while the host waits for a timed unit: longer than a wait takes
 * to return. */
#define LAG_SECONDS 0.2e-3
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

static void add_candidate(stn_online *o, const stn_strategy *strategy, const stn_candidate *config, double seconds) {
    o->candidates[o->search.count].strategy = strategy;
    o->candidates[o->search.count].config = *config;
    o->search.candidates[o->search.count].strategy = strategy;
    o->search.candidates[o->search.count++].predicted = seconds;
}

/* Adds the plan's own candidate, then others that are likely to be fast. */
static void choose_candidates(stn_online *o) {
    const stn_plan *plan = o->plan, *unit = o->unit;
    const stn_ranked *rows[TUNE_CANDIDATES];
    stn_estimate own = {0};
    plan->kind->estimate(unit, plan->strategy, &plan->candidate, &own);
    add_candidate(o, plan->strategy, &plan->candidate, own.seconds);
    o->search.candidates[0].state = TUNE_CANDIDATE_CHECKED;
    const size_t count = tune_select(unit, plan->strategy, DOMINATED, LIKELY, TUNE_CANDIDATES, rows);
    for (size_t i = 0; i < count && o->search.count < TUNE_CANDIDATES; i++)
        if (rows[i]->strategy != plan->strategy ||
            memcmp(&rows[i]->candidate, &plan->candidate, sizeof plan->candidate))
            add_candidate(o, rows[i]->strategy, &rows[i]->candidate, rows[i]->estimate.seconds);
}

/* ---- building ---------------------------------------------------------------------------------
 * Compiling takes long and needs no device, so a thread does it. Loading modules and allocating
 * memory would break a stream capture or wait for one, so an execution, which knows whether its
 * stream is captured, does that for a candidate whose kernels are compiled. */

/* Builds a candidate; candidate->why has a failure. With a batch, missing kernels are added to it,
 * and the candidate stays unbuilt where there are some. */
static void build_candidate(stn_online *o, online_candidate *candidate, stn_compile_batch *batch) {
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

/* Builds the candidates that lack no kernels, and collects the kernels that the others lack. */
static void collect_kernels(stn_online *o) {
    collect_compare(o);
    for (size_t i = 1; i < o->search.count; i++) {
        online_candidate *candidate = &o->candidates[i];
        if (!tune_online_is_unbuilt(candidate)) continue;
        stn_compile_batch_free(candidate->batch);
        candidate->batch = stn_compile_batch_create(o->plan->context);
        build_candidate(o, candidate, candidate->batch);
    }
}

static void start_compiling(stn_online *o) {
    stn_compile_batch *batches[TUNE_CANDIDATES] = {o->compare_batch};
    for (size_t i = 1; i < o->search.count; i++)
        if (tune_online_is_unbuilt(&o->candidates[i])) batches[i] = o->candidates[i].batch;
    o->background = stn_background_compile_start(batches, o->search.count);
}

static void cancel_compiling(stn_online *o) {
    stn_compile_batch_cancel(o->compare_batch);
    for (size_t i = 1; i < o->search.count; i++) stn_compile_batch_cancel(o->candidates[i].batch);
}

static void end_compiling(stn_online *o) {
    stn_background_compile_end(o->background, true);
    o->background = NULL;
}

/* ---- opening --------------------------------------------------------------------------------- */

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
    build_candidate(o, &o->candidates[0], NULL);
    return o->candidates[0].plan != NULL;
}

/* False if there is no other candidate, or if memory or a timer is missing. */
static bool prepare(stn_online *o) {
    stn_plan *plan = o->plan;
    stn_device *device = plan->context->device;
    if (o->search.count < 2 || !prepare_first(o)) return false;
    collect_kernels(o);
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
    start_compiling(o);
}

/* ---- results of a timed move ----------------------------------------------------------------- */

static void log_wrong(const stn_online *o, double difference) {
    stn_log(&o->plan->context->logger, STN_LOG_WARNING,
            "strategy %s gives a wrong result on this GPU (relative L2 difference %.3g) and is not used: please report "
            "this",
            o->candidates[o->timed_move.candidate].strategy->name, difference);
}

static bool is_right(const stn_online *o) {
    double difference;
    if (tune_compare_read(o->plan->context, o->sums, o->compared, &difference, NULL) != STN_OK) return false;
    const uint64_t steps = o->plan->kind->shape(o->unit).steps;
    const bool right = difference <= o->plan->kind->allowed_difference(o->plan, steps);
    if (!right && o->compared.every == 1) log_wrong(o, difference);
    return right;
}

/* A sample of a mostly empty grid may hold too few values to compare rounding. From here on whole
 * results are compared, beginning with this candidate. */
static void compare_whole(stn_online *o) {
    if (o->compared.every == 1) return;
    o->search.compare *= (double)o->compared.every;
    o->compared.every = 1;
    o->search.candidates[o->timed_move.candidate].state = TUNE_CANDIDATE_READY;
}

/* Updates the search with the move in flight, if it has finished. */
static void finish_move(stn_online *o, bool wait) {
    const tune_simulation *play = o->plan->context->play;
    double took = 0, done = 0;
    stn_timer *last = o->timed_move.check ? o->done : o->took;
    if (!o->in_flight) return;
    const stn_status status = stn_timer_read(last, wait, &done, NULL);
    if (status == STN_OK && !(done > 0)) return; /* still running */
    o->in_flight = false;
    if (status == STN_OK && stn_timer_read(o->took, false, &took, NULL) != STN_OK) took = 0;
    took /= o->timed_move.units;
    const online_candidate *candidate = &o->candidates[o->timed_move.candidate];
    o->timed_move.whole = o->timed_move.check && !play ? done : 0;
    if (play) took = play->seconds(play->user, candidate->strategy, &candidate->config);
    const size_t before = o->search.current;
    const bool right = status == STN_OK && (!o->timed_move.check || is_right(o));
    tune_search_update(&o->search, &o->timed_move, took, right);
    if (status == STN_OK && !right) compare_whole(o);
    if (o->search.current != before)
        stn_log(&o->plan->context->logger, STN_LOG_INFO, "online: strategy %s takes over from %s",
                o->candidates[o->search.current].strategy->name, o->candidates[before].strategy->name);
}

/* ---- one unit -------------------------------------------------------------------------------- */

static bool is_compiled(const stn_compile_batch *batch) { return !batch || atomic_load(&batch->finished); }

static void take_compiled(stn_online *o, online_candidate *own) {
    if (!own->batch || stn_compile_batch_result(own->batch, &own->why) == STN_OK) {
        build_candidate(o, own, NULL);
        return;
    }
    stn_log(&o->plan->context->logger, STN_LOG_INFO, "a candidate of strategy %s is skipped: %s", own->strategy->name,
            own->why.message);
}

static void take_built(stn_online *o) {
    const bool comparable = is_compiled(o->compare_batch);
    /* No thread compiles, or no candidate can be checked. */
    const bool lost = !o->background ||
                      (comparable && o->compare_batch && stn_compile_batch_result(o->compare_batch, NULL) != STN_OK);
    for (size_t i = 1; i < o->search.count; i++) {
        tune_candidate *candidate = &o->search.candidates[i];
        online_candidate *own = &o->candidates[i];
        if (candidate->state != TUNE_CANDIDATE_WAITING) continue;
        if (lost || (comparable && own->why.status)) candidate->state = TUNE_CANDIDATE_OUT;
        if (lost || !comparable) continue;
        if (own->plan) candidate->state = TUNE_CANDIDATE_READY;
        if (!tune_online_is_unbuilt(own) || !is_compiled(own->batch)) continue;
        /* Is it worth the time to load its code and tables? */
        if (o->search.known > 0 && !tune_search_wants(&o->search, i)) continue;
        take_compiled(o, own);
        return; /* One for each execution: loading takes a moment. */
    }
}

static stn_status run_candidate(const stn_online *o, size_t candidate, const stn_execution *each, stn_error *error) {
    return stn_plan_run_whole(o->candidates[candidate].plan ? o->candidates[candidate].plan : o->plan, each, error);
}

static stn_status run_current(stn_online *o, const stn_execution *each, stn_error *error) {
    const tune_move move = {.candidate = o->search.current, .units = 1};
    STN_TRY(run_candidate(o, move.candidate, each, error));
    tune_search_update(&o->search, &move, 0, true);
    return STN_OK;
}

/* The comparison kernel; it is compiled by now. */
static stn_status get_compare(stn_online *o, stn_error *error) {
    if (o->compare) return STN_OK;
    const stn_dtype dtype = o->plan->kind->shape(o->plan).dtype;
    return tune_kernel(&o->kernels, dtype, "tune_compare", &o->compare, error);
}

/* Runs a candidate next to the current one, whose result the caller gets. */
static stn_status check(stn_online *o, const stn_execution *each, stn_error *error) {
    stn_execution checked = *each;
    checked.out = (char *)each->workspace + o->inner;
    stn_status status = stn_timer_start(o->done, each->stream, error);
    if (status == STN_OK) status = stn_timer_start(o->took, each->stream, error);
    if (status == STN_OK) status = run_candidate(o, o->timed_move.candidate, &checked, error);
    if (status == STN_OK) status = stn_timer_mark(o->took, each->stream, error);
    STN_TRY(run_candidate(o, o->search.current, each, error));
    if (status == STN_OK) status = get_compare(o, error);
    if (status == STN_OK)
        status = tune_compare_start(o->compare, checked.out, each->out, o->sums, o->compared, each->stream, error);
    if (status == STN_OK) status = stn_timer_mark(o->done, each->stream, error);
    o->in_flight = status == STN_OK;
    if (!o->in_flight) tune_search_update(&o->search, &o->timed_move, 0, false);
    return STN_OK;
}

/* Runs one of the units that are timed together; the last one puts the move in flight. */
static stn_status run_timed(stn_online *o, const stn_execution *each, stn_error *error) {
    const bool first = o->left == o->timed_move.units;
    stn_status status = first ? stn_timer_start(o->took, each->stream, error) : STN_OK;
    if (status == STN_OK) status = run_candidate(o, o->timed_move.candidate, each, error);
    if (status == STN_OK && --o->left) return STN_OK;
    if (status == STN_OK) status = stn_timer_mark(o->took, each->stream, error);
    o->left = 0;
    o->in_flight = status == STN_OK;
    if (o->in_flight || o->timed_move.candidate == o->search.current) return status;
    /* The trusted candidate repeats the unit. */
    o->search.candidates[o->timed_move.candidate].state = TUNE_CANDIDATE_OUT;
    return run_current(o, each, error);
}

/* Is enough work enqueued behind the timed move? Callers enqueue hundreds of executions in the time
 * of one, all run by the current candidate. Waiting for the timed move then leaves the GPU busy. */
static bool far_ahead(const stn_online *o) {
    return o->behind >= 2 && o->behind * tune_search_expects(&o->search, o->search.current) >= LAG_SECONDS;
}

static stn_status run_unit(stn_online *o, const stn_execution *each, stn_error *error) {
    if (o->search.frozen || o->over) return run_current(o, each, error);
    if (o->left) return run_timed(o, each, error);
    take_built(o);
    finish_move(o, far_ahead(o));
    o->over = tune_search_over(&o->search) && !o->in_flight;
    if (o->over) cancel_compiling(o); /* Cancels compilations that no trial needs any more. */
    if (o->in_flight) {
        o->behind++;
        return run_current(o, each, error);
    }
    o->behind = 0;
    const tune_move move = tune_search_next(&o->search);
    if (!move.timed) return run_current(o, each, error);
    o->timed_move = move;
    if (move.check) return check(o, each, error);
    o->left = move.units;
    return run_timed(o, each, error);
}

/* ---- all units ------------------------------------------------------------------------------- */

/* The buffer that holds the state after a chunk; after the last chunk it is the output. */
static void *state_after(const stn_online *o, uint64_t chunk, const stn_execution *run) {
    return (o->chunks - 1 - chunk) % 2 ? (char *)run->workspace + o->spare : run->out;
}

/* Waits for the last chunk: otherwise all chunks would be enqueued before the first result is
 * known, and no decision could use it. */
static stn_status await(stn_online *o, const stn_execution *run, stn_error *error) {
    if (o->chunks == 1 || o->search.frozen || o->over) return STN_OK;
    if (!o->in_flight) return stn_synchronize(o->plan->context, run->stream, error);
    finish_move(o, true);
    return STN_OK;
}

stn_status tune_online_run(stn_plan *plan, stn_part part, const stn_execution *run, stn_error *error) {
    stn_online *o = plan->online;
    stn_status status = STN_OK;
    pthread_mutex_lock(&o->lock);
    if (!o->over && stn_device_capturing(plan->context->device, run->stream)) {
        o->search.frozen = true; /* A captured graph keeps its kernels, so the choice is final. */
        cancel_compiling(o);
        o->in_flight = false;
        o->left = 0;
    }
    for (uint64_t chunk = part.first; chunk < part.first + part.count && status == STN_OK; chunk++) {
        stn_execution each = *run;
        each.in = chunk ? state_after(o, chunk - 1, run) : run->in;
        each.out = state_after(o, chunk, run);
        status = run_unit(o, &each, error);
        if (status == STN_OK) status = await(o, run, error);
    }
    pthread_mutex_unlock(&o->lock);
    return status;
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
    end_compiling(o);
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
    end_compiling(o);
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
    collect_kernels(o);
    start_compiling(o);
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
