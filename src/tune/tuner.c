/* Sorts a plan's ranking by measured times, from wisdom or from a tuning session. */
#include "tune/tuner.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "context/compile_batch.h"
#include "context/context.h"
#include "tune/online_tuning.h"
#include "tune/plan_wisdom.h"
#include "tune/timing_trial.h"

/* A candidate of a similar problem is not taken if it is estimated at more than this many times the
 * best. */
#define SIMILAR_LIMIT 1.5
enum { RANKED_FOR_TUNING = 48 }; /* candidates of each strategy */

/* ---- the ranking ----------------------------------------------------------------------------- */

static bool is_measured(const stn_plan *plan, const stn_strategy *strategy) {
    for (size_t i = 0; i < plan->ranked; i++)
        if (plan->ranking[i].strategy == strategy && plan->ranking[i].measured > 0) return true;
    return false;
}

/* The ranking is sorted by this: measured seconds; for strategies without a measurement the
 * estimate, scaled by measured / estimated seconds of the fastest row. Unmeasured rows of measured
 * strategies follow, and last the rows that do not apply. */
static double expected_seconds(const stn_plan *plan, const stn_ranked *row, const stn_ranked *fastest) {
    if (!row->applies) return INFINITY;
    if (row->measured > 0) return row->measured;
    if (!fastest) return row->estimate.seconds;
    return is_measured(plan, row->strategy) ? DBL_MAX
                                            : row->estimate.seconds * fastest->measured / fastest->estimate.seconds;
}

static int by_expected_seconds(const void *a, const void *b) {
    const stn_ranked *x = a, *y = b;
    const double one = x->expected != y->expected ? x->expected : x->estimate.seconds,
                 two = x->expected != y->expected ? y->expected : y->estimate.seconds;
    return (one > two) - (one < two);
}

static void reorder(stn_plan *plan) {
    const stn_ranked *fastest = NULL;
    for (const stn_ranked *row = plan->ranking; row < plan->ranking + plan->ranked; row++)
        if (row->measured > 0 && (!fastest || row->measured < fastest->measured)) fastest = row;
    for (stn_ranked *row = plan->ranking; row < plan->ranking + plan->ranked; row++)
        row->expected = expected_seconds(plan, row, fastest);
    if (plan->ranked) qsort(plan->ranking, plan->ranked, sizeof *plan->ranking, by_expected_seconds);
}

/* Writes known times into the rows. True if there was one. */
static bool add_known_times(stn_plan *plan, const tune_records *records) {
    bool any = false;
    for (size_t i = 0; i < plan->ranked; i++) {
        stn_ranked *row = &plan->ranking[i];
        const tune_record *known =
            row->applies ? tune_record_find(records, row->strategy->name, &row->candidate) : NULL;
        if (!known) continue;
        any = true;
        row->measured = known->seconds;
        if (!(known->seconds > 0)) stn_ranked_exclude(row, "a candidate gave a wrong result when it was measured");
    }
    reorder(plan);
    return any;
}

static void set_chosen(stn_plan *plan, stn_chosen chosen) {
    plan->chosen = plan->ranked && plan->ranking[0].measured > 0 ? chosen : STN_CHOSEN_BY_ESTIMATE;
}

/* ---- from wisdom ----------------------------------------------------------------------------- */

/* Moves the row that was the fastest for a similar problem to the front, without its time. */
static bool take_fastest(stn_plan *plan, const char *strategy, const tune_records *records) {
    const tune_record *fastest = NULL;
    size_t index = 0;
    stn_plan_rank(plan, strategy, RANKED_FOR_TUNING);
    for (size_t i = 0; i < plan->ranked && plan->ranking[i].applies; i++) {
        const stn_ranked *row = &plan->ranking[i];
        const tune_record *known = tune_record_find(records, row->strategy->name, &row->candidate);
        if (!known || !(known->seconds > 0) ||
            row->estimate.seconds > SIMILAR_LIMIT * plan->ranking[0].estimate.seconds)
            continue;
        if (!fastest || known->seconds < fastest->seconds) fastest = known, index = i;
    }
    if (!fastest) return false;
    const stn_ranked first = plan->ranking[index];
    memmove(plan->ranking + 1, plan->ranking, index * sizeof first);
    plan->ranking[0] = first;
    plan->chosen = STN_CHOSEN_BY_SIMILAR_WISDOM;
    return true;
}

/* Times of the same problem go into the ranking; of a similar one only the fastest candidate is
 * used. */
static bool try_entry(stn_plan *plan, const char *strategy, const tune_records *records, bool same) {
    if (!same) return take_fastest(plan, strategy, records);
    stn_plan_rank(plan, strategy, RANKED_FOR_TUNING);
    if (!add_known_times(plan, records)) return false;
    set_chosen(plan, STN_CHOSEN_BY_WISDOM);
    return true;
}

static bool recall(stn_plan *plan, const char *strategy) {
    return plan->context->device && tune_recall(plan, strategy, try_entry);
}

/* ---- a tuning session over a plan's ranking -------------------------------------------------
 *
 *     candidates, best estimate first -> compiled together -> checked and timed
 *                                     -> slow ones drop out -> finalists timed alternately
 *
 * All candidates have the same input and are checked before they are timed. First samples are
 * compared by their minimum, finalists by their median. The estimate's choice is favoured. */

/* A candidate that is estimated at more than this many times the best is not tried, unless it is
 * the best of its strategy. */
#define DOMINATED 3.0
#define TOO_SLOW 2.0  /* A candidate slower than this many times the best gets no more samples. */
#define FINALIST 1.15 /* Finalists are within this many times the best. */
#define FIRST_SECONDS 1e-3
#define FINAL_SECONDS 20e-3 /* Long enough for clocks to settle as in a long run. */
#define LONG_SECONDS 10e-3  /* Of one execution: the noise is small, so few samples suffice. */
enum { TRIALS = STN_PLAN_RANKING, MAX_LIKELY = 32, FINALISTS = TUNE_ALTERNATE, BATCH = 8 };
enum { FIRST_SAMPLES = 3, FINAL_SAMPLES = 5, FIRST_SAMPLES_LONG = 1, FINAL_SAMPLES_LONG = 3 };

typedef struct session {
    stn_plan *plan;
    tune_stage stage;
    tune_trial trials[TRIALS];
    size_t count, strategies; /* the first `strategies` trials are the best of each strategy */
    int64_t first;            /* index of the first trial of the current batch */
    double deadline, best;    /* best: the smallest sample so far. */
} session;

/* The best of each strategy comes first. Both there and among the others, trials with the same
 * number of steps follow each other, so that the reference candidate is run less often. */
static void choose_trials(session *s, const tune_request *request) {
    const stn_ranked *rows[TRIALS];
    const double within = request->within > 0 ? request->within : request->all ? INFINITY : DOMINATED;
    s->count = tune_select(s->plan, NULL, INFINITY, within, request->all ? TRIALS : MAX_LIKELY, rows, &s->strategies);
    for (size_t i = 0; i < s->count; i++) {
        const tune_trial trial = {.row = s->plan->ranking + (rows[i] - s->plan->ranking),
                                  .strategy = rows[i]->strategy,
                                  .candidate = rows[i]->candidate,
                                  .predicted = rows[i]->estimate.seconds,
                                  .is_estimates_choice = rows[i] == s->plan->ranking};
        size_t at = i;
        for (size_t k = i < s->strategies ? 0 : s->strategies; k < i; k++)
            if (tune_trial_steps(s->plan, &s->trials[k]) == tune_trial_steps(s->plan, &trial)) at = k + 1;
        memmove(&s->trials[at + 1], &s->trials[at], (i - at) * sizeof trial);
        s->trials[at] = trial;
    }
}

/* ---- building -------------------------------------------------------------------------------- */

static void build_some(void *user, int64_t begin, int64_t end) {
    session *s = user;
    for (int64_t i = s->first + begin; i < s->first + end; i++) tune_trial_build(s->stage.plan, &s->trials[i]);
}

/* Builds trials from number `first` on, after compiling the kernels that they lack together. */
static void build_trials(session *s, stn_pool *pool, size_t first, size_t count) {
    stn_compile_batch *missing[TRIALS];
    s->first = (int64_t)first;
    stn_pool_for(pool, (int64_t)count, 1, build_some, s);
    for (size_t i = 0; i < count; i++) missing[i] = s->trials[first + i].missing;
    stn_compile_batches_run(s->plan->context, missing, count);
    stn_pool_for(pool, (int64_t)count, 1, build_some, s);
}

/* ---- measuring the trials -------------------------------------------------------------------- */

static void measure_one(session *s, tune_trial *trial) {
    double difference;
    tune_trial_check(&s->stage, trial, &difference);
    tune_trial_time_once(&s->stage, trial);
    tune_trial_lengthen(trial, FIRST_SECONDS);
    const int samples = trial->run_seconds > LONG_SECONDS ? FIRST_SAMPLES_LONG : FIRST_SAMPLES;
    for (int i = 0; i < samples && trial->state == TUNE_GOOD; i++) {
        tune_time_alternately(&s->stage, &trial, 1, 1, INFINITY);
        /* First samples are compared by their minimum: disturbances only lengthen a sample. */
        if (trial->state == TUNE_GOOD) s->best = fmin(s->best, tune_trial_least(trial));
        if (trial->count > 1 && tune_trial_least(trial) > TOO_SLOW * s->best) break;
    }
    tune_log_trial(s->plan, trial, difference);
}

static stn_pool *pool_of(const session *s) {
    stn_pool *pool = NULL;
    /* Without a pool: one after the other. */
    (void)stn_context_pool(s->plan->context, &pool, NULL);
    return pool;
}

/* The estimate's choice may be up to TOO_SLOW times as slow as the best and still be a finalist:
 * its first samples come right after the long run of the reference candidate, which may leave lower
 * clocks (a third slower was seen). */
static bool is_finalist(const session *s, const tune_trial *trial) {
    const double most = trial->is_estimates_choice ? TOO_SLOW : FINALIST;
    return trial->plan && trial->state == TUNE_GOOD && tune_trial_least(trial) <= most * s->best;
}

/* Whether a trial is measured even if time is up: the best of a strategy unless it is estimated to
 * be much slower than the best of all. */
static bool is_due(const session *s, size_t i) {
    return i < s->strategies && s->trials[i].predicted <= DOMINATED * s->plan->ranking[0].estimate.seconds;
}

/* Compiles batch after batch with all threads and measures it, until all candidates are measured or
 * time is up. */
static void measure_all(session *s) {
    stn_pool *pool = pool_of(s);
    const size_t wide = pool ? (size_t)stn_pool_threads(pool) : 1, batch_size = wide > BATCH ? wide : BATCH;
    for (size_t first = 0; first < s->count; first += batch_size) {
        size_t count = s->count - first < batch_size ? s->count - first : batch_size;
        if (first && stn_clock_seconds() > s->deadline) break;
        build_trials(s, pool, first, count);
        for (size_t i = first; i < first + count; i++)
            if (is_due(s, i) || stn_clock_seconds() < s->deadline) measure_one(s, &s->trials[i]);
        for (size_t i = first; i < first + count; i++) /* Frees the plans' memory. */
            if (!is_finalist(s, &s->trials[i])) tune_trial_clear(&s->trials[i]);
    }
}

/* The estimate's choice is first; then by the least sample: the last ones are dropped. */
static int by_preference(const void *a, const void *b) {
    const tune_trial *x = *(tune_trial *const *)a, *y = *(tune_trial *const *)b;
    if (x->is_estimates_choice != y->is_estimates_choice) return y->is_estimates_choice - x->is_estimates_choice;
    return (tune_trial_least(x) > tune_trial_least(y)) - (tune_trial_least(x) < tune_trial_least(y));
}

/* First samples, taken one candidate after the other, are off by some percent. The candidates with
 * the least first samples are timed again, alternately and in longer runs, after a round for
 * warming up; the new samples replace the old ones. Longer runs have lower clocks, so no other
 * trial counts as faster than the slowest finalist. */
static void measure_finalists(session *s) {
    tune_trial *finalists[TRIALS] = {NULL};
    size_t count = 0;
    double slowest = 0;
    for (size_t i = 0; i < s->count; i++)
        if (is_finalist(s, &s->trials[i])) finalists[count++] = &s->trials[i];
    qsort(finalists, count, sizeof *finalists, by_preference);
    for (; count > FINALISTS; count--) tune_trial_clear(finalists[count - 1]);
    if (count < 2 || stn_clock_seconds() > s->deadline) return;
    for (size_t i = 0; i < count; i++) tune_trial_lengthen(finalists[i], FINAL_SECONDS);
    for (int warm = 1; warm >= 0; warm--) {
        for (size_t i = 0; i < count; i++) finalists[i]->count = 0;
        const int samples = finalists[0]->run_seconds > LONG_SECONDS ? FINAL_SAMPLES_LONG : FINAL_SAMPLES;
        tune_time_alternately(&s->stage, finalists, count, warm ? 1 : samples, s->deadline);
    }
    for (size_t i = 0; i < count; i++)
        if (finalists[i]->count) slowest = fmax(slowest, tune_trial_median(finalists[i]));
    for (size_t i = 0; i < s->count; i++)
        for (size_t k = 0; k < s->trials[i].count && !s->trials[i].plan; k++)
            s->trials[i].samples[k] = fmax(s->trials[i].samples[k], slowest);
}

/* NULL when out of memory. */
static session *open_session(stn_plan *plan, const tune_request *request) {
    session *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->plan = plan;
    s->stage.plan = plan;
    s->best = INFINITY;
    choose_trials(s, request);
    return s;
}

/* Fails only if nothing could be measured. */
static stn_status measure(stn_plan *plan, const tune_request *request, tune_records *records, stn_error *error) {
    session *s = open_session(plan, request);
    if (!s) return stn_fail_memory(error, "measuring", sizeof *s);
    s->deadline = stn_clock_seconds() + request->seconds;
    stn_status status = tune_stage_open(plan, &s->stage, error);
    if (status == STN_OK) {
        measure_all(s);
        measure_finalists(s);
        tune_record_trials(s->trials, s->count, records);
        for (tune_trial *each = s->trials; each < s->trials + s->count; each++) {
            if (each->state == TUNE_SKIPPED) stn_ranked_exclude(each->row, each->why.message);
            tune_trial_clear(each);
        }
        tune_stage_close(&s->stage);
    }
    free(s);
    return status;
}

/* ---- measuring a plan ------------------------------------------------------------------------ */

/* Makes the ranking that candidates are taken from; false: there is nothing to measure. */
static bool rank_for(stn_plan *plan, const char *strategy, const tune_request *request) {
    stn_plan_rank(plan, strategy, request->all ? STN_PLAN_RANKING : RANKED_FOR_TUNING);
    return plan->ranked && plan->ranking[0].applies;
}

/* Ranks by estimate if nothing can be measured or remembered. */
static void tune_locked(stn_plan *plan, const char *strategy, const tune_request *request) {
    tune_records *records = calloc(1, sizeof *records);
    stn_error why = {0};
    const bool ready = records && rank_for(plan, strategy, request);
    if (ready) {
        if (measure(plan, request, records, &why) == STN_OK) {
            if (!request->without_wisdom) tune_remember(plan, records);
        } else
            stn_log(&plan->context->logger, STN_LOG_WARNING, "nothing could be measured, so the estimate decides: %s",
                    why.message);
    }
    if (!ready || !add_known_times(plan, records)) stn_plan_rank(plan, strategy, STN_CANDIDATES);
    set_chosen(plan, STN_CHOSEN_BY_MEASURING);
    free(records);
}

void tune_measure(stn_plan *plan, const char *strategy, const tune_request *request) {
    stn_context *context = plan->context;
    if (!context->device || !plan->kind->reference_candidate) {
        stn_log(&context->logger, STN_LOG_WARNING, "nothing is measured, because %s: the estimate decides",
                context->device              ? "this kind of work is not measured yet"
                : context->machine.is_device ? "the planned GPU is not installed"
                                             : "only plans for GPUs are measured");
        stn_plan_rank(plan, strategy, STN_CANDIDATES);
        return;
    }
    pthread_mutex_lock(&context->tuning);
    tune_locked(plan, strategy, request);
    pthread_mutex_unlock(&context->tuning);
}

static void tune(stn_plan *plan, const char *strategy, double seconds, bool all) {
    tune_measure(plan, strategy, &(tune_request){.seconds = seconds, .all = all});
}

void tune_compile(stn_plan *plan, const char *strategy, const tune_request *request) {
    session *s = rank_for(plan, strategy, request) ? open_session(plan, request) : NULL;
    if (!s) return;
    build_trials(s, pool_of(s), 0, s->count);
    for (size_t i = 0; i < s->count; i++) tune_trial_clear(&s->trials[i]);
    free(s);
}

const stn_tuner stn_tuner_default = {.recall = recall,
                                     .tune = tune,
                                     .online_open = tune_online_open,
                                     .online_current = tune_online_current,
                                     .online_chunks = tune_online_chunks,
                                     .online_run = tune_online_run,
                                     .online_set_weights = tune_online_set_weights,
                                     .online_describe = tune_online_describe,
                                     .online_close = tune_online_close};
