/* Executions of an online plan, one unit after the other; see online_tuning.h. */

#include "base/error.h"
#include "context/context.h"
#include "tune/compare_results.h"
#include "tune/online_tuning.h"

/* Work that the GPU must still have while the host waits for a timed unit: longer than a wait takes
 * to return. */
#define LAG_SECONDS 0.2e-3

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
        tune_online_build(o, own, NULL);
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
    if (o->over) tune_online_halt(o); /* Cancels compilations that no trial needs any more. */
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
        tune_online_halt(o);
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
