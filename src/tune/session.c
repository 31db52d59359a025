/* Offline tuning session: compiles, checks and times the candidates of a plan's ranking in rounds.
 * See tuner.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "context/compile_batch.h"
#include "context/context.h"
#include "tune/timing_trial.h"
#include "tune/tuner.h"

/* Candidates estimated at more than this many times the best are not tried, unless best of their
 * strategy. */
#define DOMINATED 3.0
#define TOO_SLOW 2.0  /* A candidate slower than this many times the best gets no more samples. */
#define FINALIST 1.15 /* Finalists are within this many times the best. */
#define FIRST_SECONDS 1e-3
#define SEMI_SECONDS 4e-3
#define FINAL_SECONDS 20e-3 /* Long enough for clocks to settle as in a long run. */
#define LONG_SECONDS 10e-3  /* Of one execution: the noise is small, so few samples suffice. */
enum { TRIALS = STN_PLAN_RANKING, LIKELY = 32, SEMIFINALISTS = 12, FINALISTS = 6, BATCH = 8 };
enum { FIRST_SAMPLES = 3, SEMI_SAMPLES = 3, FINAL_SAMPLES = 5, FIRST_SAMPLES_LONG = 1, FINAL_SAMPLES_LONG = 3 };

typedef struct session {
    stn_plan *plan;
    tune_stage stage;
    tune_trial trials[TRIALS];
    stn_compile_batch *batches[TRIALS]; /* Kernels that each trial's candidate lacks. */
    size_t count;
    int64_t first;         /* index of the first trial of the current batch */
    double deadline, best; /* best: the smallest sample so far. */
} session;

/* ---- candidates ------------------------------------------------------------------------------ */

static void choose_trials(session *s, const tune_order *order) {
    const stn_ranked *rows[TRIALS];
    const double within = order->within > 0 ? order->within : order->all ? INFINITY : DOMINATED;
    s->count = tune_select(s->plan, NULL, INFINITY, within, order->all ? TRIALS : LIKELY, rows);
    for (size_t i = 0; i < s->count; i++)
        s->trials[i] = (tune_trial){.strategy = rows[i]->strategy,
                                    .candidate = rows[i]->candidate,
                                    .predicted = rows[i]->estimate.seconds,
                                    .estimated = rows[i] == s->plan->ranking};
}

/* Groups trials with the same number of steps, so that the reference candidate runs each number of
 * steps once. */
static void group_by_steps(session *s) {
    tune_trial sorted[TRIALS];
    size_t count = 0;
    bool taken[TRIALS] = {false};
    for (size_t i = 0; i < s->count; i++)
        for (size_t j = i; j < s->count && !taken[i]; j++) {
            if (taken[j] || tune_trial_steps(s->plan, &s->trials[j]) != tune_trial_steps(s->plan, &s->trials[i]))
                continue;
            sorted[count++] = s->trials[j];
            taken[j] = j > i;
        }
    memcpy(s->trials, sorted, count * sizeof *sorted);
}

/* ---- building -------------------------------------------------------------------------------- */

/* Builds trials of the current batch whose kernels are all there, and collects the kernels that the
 * others lack. Once these are compiled, a second call builds the others. */
static void build_some(void *user, int64_t begin, int64_t end) {
    session *s = user;
    for (int64_t i = s->first + begin; i < s->first + end; i++) {
        tune_trial *trial = &s->trials[i];
        stn_compile_batch *compiled = s->batches[i];
        if (trial->plan || trial->state != TUNE_NEW) continue;
        if (!compiled) s->batches[i] = stn_compile_batch_create(s->plan->context);
        trial->why = (stn_error){0};
        if (compiled && stn_compile_batch_result(compiled, &trial->why) != STN_OK)
            trial->state = TUNE_SKIPPED;
        else
            tune_trial_build(s->stage.plan, compiled ? NULL : s->batches[i], trial);
    }
}

static void compile_batch(session *s, stn_pool *pool, size_t first, size_t count) {
    s->first = (int64_t)first;
    stn_pool_for(pool, (int64_t)count, 1, build_some, s);
    stn_compile_batches_run(s->plan->context, &s->batches[first], count);
}

static void free_batches(session *s, size_t first, size_t count) {
    for (size_t i = first; i < first + count; i++) stn_compile_batch_free(s->batches[i]), s->batches[i] = NULL;
}

/* ---- measuring ------------------------------------------------------------------------------- */

static void log_trial(const session *s, const tune_trial *trial, double difference) {
    const stn_logger *logger = &s->plan->context->logger;
    const char *strategy = trial->strategy->name;
    stn_text name = STN_TEXT_EMPTY;
    char *words = NULL;
    if (trial->strategy->name_candidate) trial->strategy->name_candidate(&s->plan->task, &trial->candidate, &name);
    if (stn_text_take(&name, &words, NULL) != STN_OK) return;
    if (trial->state == TUNE_WRONG)
        stn_log(
            logger, STN_LOG_WARNING,
            "strategy %s (%s) gives a wrong result on this GPU (relative L2 difference %.3g) and is not used: please "
            "report this",
            strategy, words, difference);
    else if (trial->state == TUNE_SKIPPED)
        stn_log(logger, STN_LOG_INFO, "strategy %s (%s) could not be measured: %s", strategy, words,
                trial->why.message);
    else
        stn_log(logger, STN_LOG_DEBUG, "strategy %s (%s): %.6g s predicted, %.6g s measured", strategy, words,
                trial->predicted, tune_trial_median(trial));
    stn_text_free(words);
}

/* First samples are compared by their minimum: disturbances only lengthen a sample. */
static void note_best(session *s, const tune_trial *trial) {
    if (trial->state == TUNE_GOOD) s->best = fmin(s->best, tune_trial_least(trial));
}

static void measure_one(session *s, tune_trial *trial) {
    double difference;
    tune_trial_check(&s->stage, trial, &difference);
    tune_trial_lengthen(trial, FIRST_SECONDS);
    const int samples = trial->once > LONG_SECONDS ? FIRST_SAMPLES_LONG : FIRST_SAMPLES;
    for (int i = 0; i < samples && trial->state == TUNE_GOOD; i++) {
        tune_trial_start(&s->stage, trial, s->stage.timer);
        tune_trial_take(trial, s->stage.timer);
        note_best(s, trial);
        if (trial->count > 1 && tune_trial_least(trial) > TOO_SLOW * s->best) break;
    }
    log_trial(s, trial, difference);
}

static stn_pool *pool_of(const session *s) {
    stn_pool *pool = NULL;
    /* Without a pool: one after the other. */
    (void)stn_context_pool(s->plan->context, &pool, NULL);
    return pool;
}

/* The estimate's choice is always a finalist: its first samples come right after the long run of
 * the reference candidate, which may leave lower clocks (a third slower was seen). */
static bool is_finalist(const session *s, const tune_trial *trial) {
    const double most = trial->estimated ? TOO_SLOW : FINALIST;
    return trial->plan && trial->state == TUNE_GOOD && tune_trial_least(trial) <= most * s->best;
}

/* Compiles batch after batch with all threads and measures it, until all candidates are measured or
 * time is up. The first batch is always measured. */
static void measure_all(session *s) {
    stn_pool *pool = pool_of(s);
    const size_t wide = pool ? (size_t)stn_pool_threads(pool) : 1, batch_size = wide > BATCH ? wide : BATCH;
    for (size_t first = 0; first < s->count; first += batch_size) {
        size_t count = s->count - first < batch_size ? s->count - first : batch_size;
        if (first && stn_clock_seconds() > s->deadline) break;
        compile_batch(s, pool, first, count);
        stn_pool_for(pool, (int64_t)count, 1, build_some, s);
        free_batches(s, first, count);
        for (size_t i = first; i < first + count && (i == 0 || stn_clock_seconds() < s->deadline); i++)
            measure_one(s, &s->trials[i]);
        for (size_t i = first; i < first + count; i++) /* Frees the plans' memory. */
            if (!is_finalist(s, &s->trials[i])) tune_trial_clear(&s->trials[i]);
    }
}

static int by_least(const void *a, const void *b) {
    double x = tune_trial_least(*(tune_trial *const *)a), y = tune_trial_least(*(tune_trial *const *)b);
    return (x > y) - (x < y);
}

/* Final times come from longer runs at lower clocks than earlier samples. Scales the samples of all
 * trials that were not finalists by the same factor, so that they stay behind the last finalist.
 * before: that one's smallest earlier sample. */
static void rescale_others(session *s, const tune_trial *last, double before, tune_trial *const *turns, size_t count) {
    const double longer = tune_trial_median(last) / before;
    for (size_t i = 0; i < s->count; i++) {
        tune_trial *trial = &s->trials[i];
        bool took_turns = false;
        for (size_t k = 0; k < count; k++) took_turns = took_turns || turns[k] == trial;
        for (size_t k = 0; k < trial->count && !took_turns; k++) trial->samples[k] *= longer;
    }
}

/* Sorts by the smallest sample and keeps `most`, the estimate's choice among them. */
static size_t choose_fastest(tune_trial **order, size_t count, size_t most) {
    qsort(order, count, sizeof *order, by_least);
    for (size_t i = most; i < count; i++)
        if (order[i]->estimated) order[most - 1] = order[i];
    return count < most ? count : most;
}

/* Times the candidates alternately, without waits between, so that changes of clocks and heat
 * affect all alike. Earlier samples are discarded. */
static void time_alternately(session *s, tune_trial **order, size_t count, double seconds, int samples) {
    /* The last one whose earlier samples are reliable. */
    const tune_trial *last = order[count - 1];
    if (last->estimated) last = order[count - 2];
    const double before = tune_trial_least(last);
    stn_timer *timers[SEMIFINALISTS] = {NULL};
    bool timed = true;
    for (size_t i = 0; i < count; i++) {
        tune_trial_lengthen(order[i], seconds);
        timed = stn_timer_create(s->plan->context->device, &timers[i], NULL) == STN_OK && timed;
    }
    for (int round = 0; timed && round <= samples && (round <= 1 || stn_clock_seconds() < s->deadline); round++) {
        for (size_t i = 0; i < count; i++) {
            if (round <= 1) order[i]->count = 0; /* Round 0 is a warm-up. */
            tune_trial_start(&s->stage, order[i], timers[i]);
        }
        for (size_t i = 0; i < count; i++) tune_trial_take(order[i], timers[i]);
    }
    for (size_t i = 0; i < count; i++) stn_timer_destroy(timers[i]);
    if (timed && last->state == TUNE_GOOD) rescale_others(s, last, before, order, count);
}

/* First samples, taken one candidate after the other, are off by some percent. If many candidates
 * are close, a semifinal with shorter samples selects the finalists. */
static void measure_finalists(session *s) {
    tune_trial *order[TRIALS] = {NULL};
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++)
        if (is_finalist(s, &s->trials[i])) order[count++] = &s->trials[i];
    count = choose_fastest(order, count, SEMIFINALISTS);
    if (count < 2 || stn_clock_seconds() > s->deadline) return;
    const bool is_long = order[0]->once > LONG_SECONDS;
    if (count > FINALISTS && !is_long) time_alternately(s, order, count, SEMI_SECONDS, SEMI_SAMPLES);
    if (stn_clock_seconds() > s->deadline) return;
    count = choose_fastest(order, count, FINALISTS);
    time_alternately(s, order, count, FINAL_SECONDS, is_long ? FINAL_SAMPLES_LONG : FINAL_SAMPLES);
}

static void record_trials(const session *s, tune_records *records) {
    for (size_t i = 0; i < s->count; i++) {
        const tune_trial *trial = &s->trials[i];
        bool measured = trial->state == TUNE_GOOD && trial->count;
        if (measured || trial->state == TUNE_WRONG)
            tune_record_set(records, trial->strategy->name, &trial->candidate, measured ? tune_trial_median(trial) : 0);
    }
}

static session *open_session(stn_plan *plan, const tune_order *order, stn_error *error) {
    session *s = calloc(1, sizeof *s);
    if (!s) {
        (void)stn_fail_memory(error, "measuring", sizeof *s);
        return NULL;
    }
    s->plan = plan;
    s->stage.plan = plan;
    s->best = INFINITY;
    choose_trials(s, order);
    group_by_steps(s);
    return s;
}

stn_status tune_session_run(stn_plan *plan, const tune_order *order, tune_records *records, stn_error *error) {
    session *s = open_session(plan, order, error);
    if (!s) return STN_ERROR_OUT_OF_MEMORY;
    s->deadline = stn_clock_seconds() + order->seconds;
    stn_status status = tune_stage_open(plan, &s->stage, error);
    if (status == STN_OK) {
        measure_all(s);
        measure_finalists(s);
        for (size_t i = 0; i < s->count; i++) tune_count_skip(plan, &s->trials[i]);
        record_trials(s, records);
        for (size_t i = 0; i < s->count; i++) tune_trial_clear(&s->trials[i]);
        tune_stage_close(&s->stage);
    }
    free(s);
    return status;
}

void tune_session_compile(stn_plan *plan, const tune_order *order) {
    session *s = open_session(plan, order, NULL);
    if (!s) return;
    compile_batch(s, pool_of(s), 0, s->count);
    for (size_t i = 0; i < s->count; i++) tune_trial_clear(&s->trials[i]);
    free_batches(s, 0, s->count);
    free(s);
}
