/* Measured times into a plan's ranking: those that are remembered, or those of trials made now.
 *
 *     candidates, best estimate first -> compiled together -> checked, timed -> the slow drop out -> finalists by turns
 *
 * Every candidate is treated alike: the same input, checked before it is timed, the median of its samples. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "context/context.h"
#include "tune/notes.h"
#include "tune/online.h"
#include "tune/seeds.h"
#include "tune/trial.h"

#define HOPELESS 3.0  /* times the best estimate: not tried, unless it is the best of its strategy */
#define LIKE 1.5      /* times the best estimate: not taken over from a problem like this */
#define STALE 1.15    /* nor from seeds that were measured with other templates: so far estimates are off anyway */
#define TOO_SLOW 2.0  /* times the best median: no more samples */
#define FINALIST 1.15 /* times the best median */
#define FIRST_SECONDS 1e-3
#define FINAL_SECONDS 20e-3 /* long enough that clocks settle where a long run's do */
enum {
    TRIALS = STN_PLAN_RANKING,
    LIKELY = 32,
    FINALISTS = 6,
    FIRST_SAMPLES = 3,
    FINAL_SAMPLES = 5,
    BATCH = 8,
    WIDE = 48
};

/* ---- the ranking ------------------------------------------------------------------------------------------------- */

static bool is_tuned(const stn_plan *plan, const stn_strategy *strategy) {
    for (size_t i = 0; i < plan->ranked; i++)
        if (plan->ranking[i].strategy == strategy && plan->ranking[i].measured > 0) return true;
    return false;
}

static const stn_ranked *fastest_of(const stn_plan *plan) {
    const stn_ranked *fastest = NULL;
    for (size_t i = 0; i < plan->ranked; i++) {
        const stn_ranked *row = &plan->ranking[i];
        if (row->measured > 0 && (!fastest || row->measured < fastest->measured)) fastest = row;
    }
    return fastest;
}

typedef struct place {
    const stn_ranked *row;
    int class;
    double seconds;
} place;

/* Times are only compared with times, estimates with estimates: a row of a strategy that was never measured comes before all
 * that was only if the fastest of those was also estimated to be slower than it. */
static place place_of(const stn_plan *plan, const stn_ranked *row, const stn_ranked *fastest) {
    if (!row->applies) return (place){row, 3, 0};
    if (row->measured > 0) return (place){row, 1, row->measured};
    bool first = fastest && row->estimate.seconds < fastest->estimate.seconds && !is_tuned(plan, row->strategy);
    return (place){row, first ? 0 : 2, row->estimate.seconds};
}

static int compare_places(const void *a, const void *b) {
    const place *x = a, *y = b;
    if (x->class != y->class) return x->class - y->class;
    if (x->seconds != y->seconds) return x->seconds < y->seconds ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row; /* as they were */
}

static void reorder(stn_plan *plan) {
    stn_ranked before[STN_PLAN_RANKING];
    place places[STN_PLAN_RANKING];
    const stn_ranked *fastest = fastest_of(plan);
    for (size_t i = 0; i < plan->ranked; i++) places[i] = place_of(plan, &plan->ranking[i], fastest);
    if (plan->ranked) qsort(places, plan->ranked, sizeof *places, compare_places);
    for (size_t i = 0; i < plan->ranked; i++) before[i] = *places[i].row;
    memcpy(plan->ranking, before, plan->ranked * sizeof *before);
}

/* Writes what is known into the rows. True if any is. */
static bool apply(stn_plan *plan, const tune_records *records) {
    bool any = false;
    for (size_t i = 0; i < plan->ranked; i++) {
        stn_ranked *row = &plan->ranking[i];
        const tune_record *known =
            row->applies ? tune_record_find(records, row->strategy->name, &row->candidate) : NULL;
        if (!known) continue;
        any = true;
        row->measured = known->seconds;
        row->applies = known->seconds > 0;
        if (!row->applies) {
            static const char wrong[] = "a candidate gave a wrong result when it was measured here";
            memcpy(row->reason, wrong, sizeof wrong);
        }
    }
    reorder(plan);
    return any;
}

static void settle(stn_plan *plan, stn_chosen chosen) {
    plan->chosen = plan->ranked && plan->ranking[0].measured > 0 ? chosen : STN_CHOSEN_BY_ESTIMATE;
}

/* ---- what is remembered ------------------------------------------------------------------------------------------ */

static bool recall_own(stn_plan *plan, const char *strategy, tune_records *records) {
    stn_key key;
    if (tune_key(plan, &key, NULL) != STN_OK || !tune_recall(plan, &key, records)) return false;
    stn_plan_rank(plan, strategy, WIDE);
    if (!apply(plan, records)) return false;
    settle(plan, STN_CHOSEN_BY_MEMORY);
    return true;
}

/* The row that was the fastest for a problem like this one, first: its time is not this one's. Not one that is estimated to take
 * `most` times the best here. */
static bool take_fastest(stn_plan *plan, const char *strategy, const tune_records *records, double most,
                         stn_chosen chosen) {
    const tune_record *fastest = NULL;
    size_t place = 0;
    stn_plan_rank(plan, strategy, WIDE);
    for (size_t i = 0; i < plan->ranked && plan->ranking[i].applies; i++) {
        const stn_ranked *row = &plan->ranking[i];
        const tune_record *known = tune_record_find(records, row->strategy->name, &row->candidate);
        if (!known || !(known->seconds > 0) || row->estimate.seconds > most * plan->ranking[0].estimate.seconds)
            continue;
        if (!fastest || known->seconds < fastest->seconds) fastest = known, place = i;
    }
    if (!fastest) return false;
    const stn_ranked first = plan->ranking[place];
    memmove(plan->ranking + 1, plan->ranking, place * sizeof first);
    plan->ranking[0] = first;
    plan->chosen = chosen;
    return true;
}

static bool recall_like(stn_plan *plan, const char *strategy, tune_records *records) {
    stn_key key;
    return tune_class_key(plan, &key, NULL) == STN_OK && tune_recall(plan, &key, records) &&
           take_fastest(plan, strategy, records, LIKE, STN_CHOSEN_BY_LIKENESS);
}

static bool recall_seed(stn_plan *plan, const char *strategy, tune_records *records) {
    bool fresh;
    return tune_seed_recall(plan, records, &fresh) &&
           take_fastest(plan, strategy, records, fresh ? LIKE : STALE, STN_CHOSEN_BY_SEEDS);
}

static bool recall(stn_plan *plan, const char *strategy) {
    /* a kind without a key is never measured */
    if (!plan->kind->key || !plan->context->device) return false;
    const bool notes = stn_cache_has_notes(plan->context->cache);
    tune_records *records = malloc(sizeof *records);
    const bool known =
        records && ((notes && (recall_own(plan, strategy, records) || recall_like(plan, strategy, records))) ||
                    recall_seed(plan, strategy, records));
    free(records);
    return known;
}

/* ---- trials ------------------------------------------------------------------------------------------------------ */

typedef struct session {
    stn_plan *plan;
    tune_stage stage;
    tune_trial trials[TRIALS];
    size_t count;
    bool all;              /* no candidate is left out */
    double deadline, best; /* best: the least median so far */
} session;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool has_trial(const session *s, const stn_strategy *strategy) {
    for (size_t i = 0; i < s->count; i++)
        if (s->trials[i].strategy == strategy) return true;
    return false;
}

static void add_trial(session *s, const stn_ranked *row) {
    if (s->count < (s->all ? TRIALS : LIKELY))
        s->trials[s->count++] =
            (tune_trial){.strategy = row->strategy, .candidate = row->candidate, .predicted = row->estimate.seconds};
}

/* The best estimate of each strategy, then all others that have a chance, best estimate first. */
static void choose_trials(session *s) {
    const stn_ranked *rows = s->plan->ranking;
    bool taken[STN_PLAN_RANKING] = {false};
    for (size_t i = 0; i < s->plan->ranked && rows[i].applies; i++)
        if (!has_trial(s, rows[i].strategy)) add_trial(s, &rows[i]), taken[i] = true;
    for (size_t i = 0; i < s->plan->ranked && rows[i].applies; i++)
        if (!taken[i] && (s->all || rows[i].estimate.seconds <= HOPELESS * rows[0].estimate.seconds))
            add_trial(s, &rows[i]);
}

static void build_some(void *user, int64_t begin, int64_t end) {
    session *s = user;
    for (int64_t i = begin; i < end; i++) tune_trial_build(s->stage.plan, &s->trials[i]);
}

typedef struct batch {
    session *s;
    size_t first;
} batch;

static void build_batch(void *user, int64_t begin, int64_t end) {
    const batch *part = user;
    build_some(part->s, (int64_t)part->first + begin, (int64_t)part->first + end);
}

static void tell(const session *s, const tune_trial *trial, double difference) {
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

static void note_best(session *s, const tune_trial *trial) {
    if (trial->state == TUNE_GOOD) s->best = fmin(s->best, tune_trial_median(trial));
}

static void measure_one(session *s, tune_trial *trial) {
    double difference;
    tune_trial_check(&s->stage, trial, &difference);
    tune_trial_lengthen(trial, FIRST_SECONDS);
    for (int i = 0; i < FIRST_SAMPLES && trial->state == TUNE_GOOD; i++) {
        tune_trial_time(&s->stage, trial);
        note_best(s, trial);
        if (tune_trial_median(trial) > TOO_SLOW * s->best) break;
    }
    tell(s, trial, difference);
}

/* Batch after batch, each compiled by all threads, until all are measured or time is up; the first one is measured in any case. */
static void measure_all(session *s) {
    stn_pool *pool = NULL;
    (void)stn_context_pool(s->plan->context, &pool, NULL); /* without threads one after the other */
    const size_t wide = pool ? (size_t)stn_pool_threads(pool) : 1, batch_size = wide > BATCH ? wide : BATCH;
    for (size_t first = 0; first < s->count; first += batch_size) {
        size_t count = s->count - first < batch_size ? s->count - first : batch_size;
        if (first && now() > s->deadline) break;
        if (pool)
            stn_pool_for(pool, (int64_t)count, 1, build_batch, &(batch){s, first});
        else
            build_some(s, (int64_t)first, (int64_t)(first + count));
        for (size_t i = first; i < first + count && (i == 0 || now() < s->deadline); i++) measure_one(s, &s->trials[i]);
        for (size_t i = first; i < first + count; i++) /* plans hold memory */
            if (tune_trial_median(&s->trials[i]) > FINALIST * s->best) tune_trial_clear(&s->trials[i]);
    }
}

static int by_median(const void *a, const void *b) {
    double x = tune_trial_median(*(tune_trial *const *)a), y = tune_trial_median(*(tune_trial *const *)b);
    return (x > y) - (x < y);
}

/* By turns, with no wait between, so that what changes with time (clocks, heat) meets all alike; earlier samples do not count. */
static void measure_finalists(session *s) {
    tune_trial *order[TRIALS] = {NULL};
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++)
        if (s->trials[i].plan && s->trials[i].state == TUNE_GOOD) order[count++] = &s->trials[i];
    qsort(order, count, sizeof *order, by_median);
    while (count && (count > FINALISTS || tune_trial_median(order[count - 1]) > FINALIST * s->best)) count--;
    if (count < 2 || now() > s->deadline) return;
    for (size_t i = 0; i < count; i++) tune_trial_lengthen(order[i], FINAL_SECONDS);
    stn_timer *timers[FINALISTS] = {NULL};
    bool timed = true;
    for (size_t i = 0; i < count; i++)
        timed = stn_timer_create(s->plan->context->device, &timers[i], NULL) == STN_OK && timed;
    for (int round = 0; timed && round <= FINAL_SAMPLES && (round <= 1 || now() < s->deadline); round++) {
        for (size_t i = 0; i < count; i++) {
            if (round <= 1) order[i]->count = 0; /* round 0 warms up */
            tune_trial_start(&s->stage, order[i], timers[i]);
        }
        for (size_t i = 0; i < count; i++) tune_trial_take(order[i], timers[i]);
    }
    for (size_t i = 0; i < count; i++) stn_timer_destroy(timers[i]);
}

static void record_trials(const session *s, tune_records *records) {
    for (size_t i = 0; i < s->count; i++) {
        const tune_trial *trial = &s->trials[i];
        bool measured = trial->state == TUNE_GOOD && trial->count;
        if (measured || trial->state == TUNE_WRONG)
            tune_record_set(records, trial->strategy->name, &trial->candidate, measured ? tune_trial_median(trial) : 0);
    }
}

/* Fails only where nothing could be measured. */
static stn_status run_session(stn_plan *plan, double seconds, bool all, tune_records *records, stn_error *error) {
    session *s = calloc(1, sizeof *s);
    if (!s) return stn_fail_memory(error, "measuring", sizeof *s);
    s->plan = plan;
    s->all = all;
    s->deadline = now() + seconds;
    s->best = INFINITY;
    stn_status status = tune_stage_open(plan, &s->stage, error);
    if (status == STN_OK) {
        choose_trials(s);
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

/* Ranks by estimate where nothing can be measured or remembered. */
static void tune_locked(stn_plan *plan, const char *strategy, double seconds, bool all) {
    tune_records *records = malloc(sizeof *records);
    stn_error why = {0};
    stn_key key;
    bool ready = records && tune_key(plan, &key, &why) == STN_OK;
    if (ready) {
        (void)tune_recall(plan, &key, records);
        stn_plan_rank(plan, strategy, all ? STN_PLAN_RANKING : WIDE);
        if (!plan->ranked || !plan->ranking[0].applies)
            ready = false;
        else if (run_session(plan, seconds, all, records, &why) == STN_OK)
            tune_remember(plan, &key, records);
        else
            stn_log(&plan->context->logger, STN_LOG_WARNING, "nothing could be measured, so the estimate decides: %s",
                    why.message);
    }
    if (!ready || !apply(plan, records)) stn_plan_rank(plan, strategy, STN_CANDIDATES);
    settle(plan, STN_CHOSEN_BY_MEASURING);
    free(records);
}

static void tune(stn_plan *plan, const char *strategy, double seconds, bool all) {
    stn_context *context = plan->context;
    if (!context->device || !plan->kind->judge) {
        stn_log(&context->logger, STN_LOG_WARNING, "nothing is measured, as %s: the estimate decides",
                context->device              ? "this kind of work is not measured yet"
                : context->machine.is_device ? "the GPU that is planned for is not here"
                                             : "plans of the host have no choice");
        stn_plan_rank(plan, strategy, STN_CANDIDATES);
        return;
    }
    pthread_mutex_lock(&context->tuning);
    tune_locked(plan, strategy, seconds, all);
    pthread_mutex_unlock(&context->tuning);
}

const stn_tuner stn_tuner_default = {.recall = recall,
                                     .tune = tune,
                                     .open = tune_online_open,
                                     .follow = tune_online_follow,
                                     .now = tune_online_now,
                                     .legs = tune_online_legs,
                                     .run = tune_online_run,
                                     .set_weights = tune_online_set_weights,
                                     .strategy = tune_online_strategy,
                                     .describe = tune_online_describe,
                                     .close = tune_online_close};
