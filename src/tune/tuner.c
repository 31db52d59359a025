/* Sorts a plan's ranking by measured times, from wisdom or from a tuning session. */
#include "tune/tuner.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "context/context.h"
#include "tune/online_tuning.h"
#include "tune/plan_wisdom.h"

/* A candidate of a similar problem is not taken if it is estimated at more than this many times the
 * best. */
#define SIMILAR_LIMIT 1.5
enum { WIDE = 48 };

/* ---- the ranking ----------------------------------------------------------------------------- */

static bool is_tuned(const stn_plan *plan, const stn_strategy *strategy) {
    for (size_t i = 0; i < plan->ranked; i++)
        if (plan->ranking[i].strategy == strategy && plan->ranking[i].measured > 0) return true;
    return false;
}

/* What the ranking is sorted by: measured seconds; for a strategy without any, estimates in
 * proportion to the fastest measured row; then the other rows that apply, then the others. */
static double expected_seconds(const stn_plan *plan, const stn_ranked *row, const stn_ranked *fastest) {
    if (!row->applies) return INFINITY;
    if (row->measured > 0) return row->measured;
    if (!fastest) return row->estimate.seconds;
    return is_tuned(plan, row->strategy) ? DBL_MAX
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
            static const char wrong[] = "a candidate gave a wrong result when it was measured";
            memcpy(row->reason, wrong, sizeof wrong);
        }
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
    stn_plan_rank(plan, strategy, WIDE);
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
    plan->chosen = STN_CHOSEN_BY_LIKENESS;
    return true;
}

/* Times of the same problem go into the ranking; of a similar one only the fastest candidate is
 * used. */
static bool use(stn_plan *plan, const char *strategy, const tune_records *records, bool same) {
    if (!same) return take_fastest(plan, strategy, records);
    stn_plan_rank(plan, strategy, WIDE);
    if (!apply(plan, records)) return false;
    set_chosen(plan, STN_CHOSEN_BY_MEMORY);
    return true;
}

static bool recall(stn_plan *plan, const char *strategy) {
    return plan->context->device && tune_recall(plan, strategy, use);
}

/* ---- measuring ------------------------------------------------------------------------------- */

/* Makes the ranking that candidates are taken from; false: there is nothing to measure. */
static bool rank_for(stn_plan *plan, const char *strategy, const tune_order *order) {
    stn_plan_rank(plan, strategy, order->all ? STN_PLAN_RANKING : WIDE);
    return plan->ranked && plan->ranking[0].applies;
}

/* Ranks by estimate if nothing can be measured or remembered. */
static void tune_locked(stn_plan *plan, const char *strategy, const tune_order *order) {
    tune_records *records = calloc(1, sizeof *records);
    stn_error why = {0};
    const bool ready = records && rank_for(plan, strategy, order);
    if (ready) {
        if (tune_session_run(plan, order, records, &why) == STN_OK) {
            if (!order->without_wisdom) tune_remember(plan, records);
        } else
            stn_log(&plan->context->logger, STN_LOG_WARNING, "nothing could be measured, so the estimate decides: %s",
                    why.message);
    }
    if (!ready || !apply(plan, records)) stn_plan_rank(plan, strategy, STN_CANDIDATES);
    set_chosen(plan, STN_CHOSEN_BY_MEASURING);
    free(records);
}

void tune_measure(stn_plan *plan, const char *strategy, const tune_order *order) {
    stn_context *context = plan->context;
    if (!context->device || !plan->kind->reference_candidate) {
        stn_log(&context->logger, STN_LOG_WARNING, "nothing is measured, as %s: the estimate decides",
                context->device              ? "this kind of work is not measured yet"
                : context->machine.is_device ? "the planned GPU is not installed"
                                             : "only plans for GPUs are measured");
        stn_plan_rank(plan, strategy, STN_CANDIDATES);
        return;
    }
    pthread_mutex_lock(&context->tuning);
    tune_locked(plan, strategy, order);
    pthread_mutex_unlock(&context->tuning);
}

static void tune(stn_plan *plan, const char *strategy, double seconds, bool all) {
    tune_measure(plan, strategy, &(tune_order){.seconds = seconds, .all = all});
}

void tune_compile(stn_plan *plan, const char *strategy, const tune_order *order) {
    if (rank_for(plan, strategy, order)) tune_session_compile(plan, order);
}

const stn_tuner stn_tuner_default = {.recall = recall,
                                     .tune = tune,
                                     .open = tune_online_open,
                                     .now = tune_online_now,
                                     .chunks = tune_online_chunks,
                                     .run = tune_online_run,
                                     .set_weights = tune_online_set_weights,
                                     .describe = tune_online_describe,
                                     .close = tune_online_close};
