/* Choosing: ranks the candidates of all strategies by measured times where wisdom has them, else by
 * their estimates, and prepares the first that can be prepared. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "context/compile_batch.h"
#include "context/context.h"
#include "plan/plan.h"

#define MAX_CANDIDATES 64
#define TUNE_SECONDS 10

static bool is_named(const char *name, const stn_strategy *strategy) {
    return !name || !strcmp(name, "auto") || !strcmp(name, strategy->name);
}

stn_status stn_plan_find_strategy(const stn_kind *kind, const char *name, const stn_strategy **strategy,
                                  stn_error *error) {
    char known[256] = "auto";
    *strategy = NULL;
    if (!name || !strcmp(name, "auto")) return STN_OK;
    for (size_t i = 0; kind->strategies[i]; i++) {
        if (!strcmp(name, kind->strategies[i]->name)) {
            *strategy = kind->strategies[i];
            return STN_OK;
        }
        strncat(known, ", ", sizeof known - strlen(known) - 1);
        strncat(known, kind->strategies[i]->name, sizeof known - strlen(known) - 1);
    }
    return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "there is no strategy '%.40s'%s: use one of %s", name,
                    kind->strategy_suffix, known);
}

double stn_estimate_seconds(const stn_estimate *estimate, const stn_machine *machine) {
    double memory = estimate->bytes / machine->copy_bandwidth;
    double arithmetic = estimate->flops / machine->flops[estimate->unit];
    return fmax(memory, arithmetic) + estimate->launches * machine->launch_seconds;
}

void stn_estimate_memory(const stn_task *task, double bytes, stn_estimate *estimate) {
    estimate->memory = bytes;
    estimate->grids = bytes / ((double)stn_task_points(task) * (double)stn_dtype_size(task->dtype));
}

/* A workspace of more than SMALL_WORKSPACE bytes and two of the problem's grids raises the cost
 * above the predicted seconds: by 3% for each grid beyond two, and by 25% beyond four. */
#define SMALL_WORKSPACE 64e6
#define COST_PER_GRID 0.03
double stn_estimate_cost(const stn_estimate *estimate) {
    if (estimate->memory <= SMALL_WORKSPACE || estimate->grids <= 2) return estimate->seconds;
    return estimate->seconds *
           (estimate->grids > 4 ? STN_MAX_COST_PER_SECOND : 1 + COST_PER_GRID * (estimate->grids - 2));
}

/* Inserts a row at `index`. If the ranking is full, its last row is dropped. */
static void insert_row(stn_plan *plan, size_t index, const stn_ranked *row) {
    if (plan->ranked < STN_PLAN_RANKING) plan->ranked++;
    memmove(plan->ranking + index + 1, plan->ranking + index, (plan->ranked - 1 - index) * sizeof *row);
    plan->ranking[index] = *row;
}

/* The predicted cost; strategies that do not apply come last. */
static double order_of(const stn_ranked *row) {
    return row->applies ? fmin(stn_estimate_cost(&row->estimate), DBL_MAX) : INFINITY;
}

static void insert_ranked(stn_plan *plan, const stn_ranked *entry) {
    size_t index = plan->ranked;
    while (index > 0 && order_of(&plan->ranking[index - 1]) > order_of(entry)) index--;
    if (index < STN_PLAN_RANKING) insert_row(plan, index, entry);
}

/* If no candidate of any strategy is within the error bound, candidates are admitted up to this
 * factor times the least predicted error. */
#define MIN_ERROR_FACTOR 1.5

/* Inserts the strategy's candidates whose predicted error is at most the problem's bound or
 * `allowed_error`, whichever is larger. If it has none, the strategy is inserted as not applicable.
 * Returns the least error of the rejected candidates; infinity if none was rejected. */
static double rank_strategy(stn_plan *plan, const stn_strategy *strategy, size_t most, double allowed_error) {
    const stn_kind *kind = plan->kind;
    stn_ranked entry = {.strategy = strategy};
    stn_candidate list[MAX_CANDIDATES];
    memset(list, 0, most * sizeof *list); /* candidates are compared as bytes */
    const double error_bound = fmax(allowed_error, kind->error_bound ? kind->error_bound(plan) : INFINITY);
    double least_rejected_error = INFINITY;
    entry.applies = kind->applies(plan, strategy, entry.reason, 0);
    size_t count = entry.applies ? kind->candidates(plan, strategy, list, most) : 0, accepted = 0;
    if (!count && !(plan->machine.time_limit > 0))
        entry.applies = kind->applies(plan, strategy, entry.reason, sizeof entry.reason);
    for (size_t c = 0; c < count; c++) {
        entry.candidate = list[c];
        entry.estimate = (stn_estimate){0};
        kind->estimate(plan, strategy, &list[c], &entry.estimate);
        if (entry.estimate.error > error_bound) {
            least_rejected_error = fmin(least_rejected_error, entry.estimate.error);
            continue;
        }
        insert_ranked(plan, &entry);
        accepted++;
    }
    if (entry.applies && accepted) return least_rejected_error;
    if (entry.applies && !count)
        snprintf(entry.reason, sizeof entry.reason, "it has no candidate for a problem of this size");
    else if (entry.applies)
        snprintf(entry.reason, sizeof entry.reason, "its predicted error is %.2g at least, and the bound %.2g",
                 least_rejected_error, error_bound);
    entry.applies = false;
    insert_ranked(plan, &entry);
    return least_rejected_error;
}

/* Sets the limit at which strategies may end a search for candidates, plan->machine.time_limit: the
 * lower one of `limit` and the cost of the cheapest candidate so far; 0 if there is no limit. */
static void set_time_limit(stn_plan *plan, double limit) {
    const bool any = plan->ranked && plan->ranking[0].applies;
    const double most = fmin(limit, any ? stn_estimate_cost(&plan->ranking[0].estimate) : INFINITY);
    plan->machine.time_limit = most < INFINITY ? most : 0;
}

/* Ranks candidates, and returns the least error of the rejected ones.
 *     name           of a strategy; NULL: all
 *     most           candidates of each strategy
 *     allowed_error  as in rank_strategy
 *     best, limit    if `best`, only the cheapest candidate is needed, if it costs at most `limit`:
 *                    strategies with `least_seconds` are skipped or come late, `compose` last
 *     errors         least error of the rejected candidates, by strategy; 0 before the first call.
 *                    If `best`, a strategy whose entry exceeds allowed_error is skipped */
static double rank_strategies(stn_plan *plan, const char *name, size_t most, double allowed_error, bool best,
                              double limit, double *errors) {
    const stn_strategy *strategy;
    double least = INFINITY;
    plan->machine.allowed_error = allowed_error;
    for (int pass = 0; pass < (best ? 3 : 1); pass++)
        for (size_t i = 0; (strategy = plan->kind->strategies[i]); i++) {
            const int own_pass = strategy->compose ? 2 : strategy->least_seconds ? 1 : 0;
            if (!is_named(name, strategy)) continue;
            if (best && (own_pass != pass || errors[i] > allowed_error)) continue;
            if (best) set_time_limit(plan, limit);
            if (own_pass == 1 && plan->machine.time_limit > 0 &&
                stn_exceeds_time_limit(&plan->machine, plan->kind->least_seconds(plan, strategy)))
                continue;
            errors[i] = rank_strategy(plan, strategy, most, allowed_error);
            least = fmin(least, errors[i]);
        }
    plan->machine.time_limit = 0;
    return least;
}

/* The first pass admits candidates within the error bound. If there are none, the second pass
 * admits those whose predicted error is at most MIN_ERROR_FACTOR times the least one. */
static void rank(stn_plan *plan, const char *name, size_t most, bool best, double limit) {
    double allowed_error = 0, errors[STN_PLAN_RANKING] = {0};
    for (int pass = 0; pass < 2; pass++) {
        plan->ranked = 0;
        allowed_error = MIN_ERROR_FACTOR * rank_strategies(plan, name, most, allowed_error, best, limit, errors);
        if (plan->ranked && plan->ranking[0].applies) return;
    }
}

void stn_plan_rank(stn_plan *plan, const char *name, size_t most) {
    plan->only_best = false;
    rank(plan, name, most < MAX_CANDIDATES ? most : MAX_CANDIDATES, false, INFINITY);
}

void stn_plan_rank_best(stn_plan *plan, const char *name, stn_rank_limit limit) {
    double errors[STN_PLAN_RANKING] = {0};
    const bool limited = limit.cost > 0;
    plan->ranked = 0;
    if (limited) (void)rank_strategies(plan, name, STN_CANDIDATES, 0, true, limit.cost, errors);
    if (limited && (limit.within_bound || (plan->ranked && plan->ranking[0].applies))) return;
    /* If no candidate is within the bound, the least error of all strategies decides which are
     * admitted, so no cost limit may exclude one. */
    rank(plan, name, STN_CANDIDATES, true, INFINITY);
}

void stn_plan_take(stn_plan *plan, const stn_ranked *row) {
    plan->strategy = row->strategy;
    plan->candidate = row->candidate;
    plan->estimate = row->estimate;
    plan->measured = row->measured;
}

stn_plan_mode stn_plan_mode_of(const stn_plan_options *options) {
    return options->tune && !options->mode ? STN_MODE_MEASURE : (stn_plan_mode)options->mode;
}

stn_status stn_plan_check_mode(const stn_plan_options *options, stn_error *error) {
    if (options->mode < STN_MODE_AUTO || options->mode > STN_MODE_WISDOM_ONLY)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "mode %d does not exist: use one of stn_plan_mode",
                        options->mode);
    const stn_plan_mode mode = stn_plan_mode_of(options);
    if (options->deterministic && mode != STN_MODE_AUTO && mode != STN_MODE_ESTIMATE)
        return stn_fail(
            error, STN_ERROR_INVALID_ARGUMENT,
            "deterministic means that the estimate alone chooses, but the mode asks for measured times: leave one out");
    if (!(options->tune_seconds >= 0))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "tune_seconds is %g: give 0 for the default, or more",
                        options->tune_seconds);
    return STN_OK;
}

/* Fills the ranking by measuring, by wisdom, or by estimate, as the mode says. */
static stn_status rank_by_mode(stn_plan *plan, const stn_plan_options *options, stn_error *error) {
    const char *name = options->strategy;
    const stn_plan_mode mode = stn_plan_mode_of(options);
    const bool all = mode == STN_MODE_PATIENT;
    const double limit = options->tune_seconds > 0 ? options->tune_seconds : all ? INFINITY : TUNE_SECONDS;
    if (all || mode == STN_MODE_MEASURE)
        plan->kind->tuner->tune(plan, name, limit, all);
    else if (options->deterministic || !plan->kind->tuner->recall(plan, name)) {
        if (mode == STN_MODE_WISDOM_ONLY)
            return stn_fail(
                error, STN_ERROR_UNSUPPORTED,
                "wisdom has no times of this problem on this device: measure it with STN_MODE_MEASURE, or import "
                "wisdom that has them");
        if (plan->only_best) stn_plan_rank_best(plan, name, (stn_rank_limit){0});
        if (!plan->only_best || !plan->ranked || !plan->ranking[0].applies) stn_plan_rank(plan, name, STN_CANDIDATES);
    }
    return STN_OK;
}

void stn_plan_complete_ranking(stn_plan *plan) {
    if (plan->only_best) stn_plan_rank(plan, plan->named_strategy ? plan->named_strategy->name : NULL, STN_CANDIDATES);
}

stn_status stn_plan_choose(stn_plan *plan, const stn_plan_options *options, stn_error *error) {
    STN_TRY(rank_by_mode(plan, options, error));
    if (plan->ranked && plan->ranking[0].applies) {
        stn_plan_take(plan, &plan->ranking[0]);
        return STN_OK;
    }
    if (plan->ranked == 1)
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "strategy %s cannot run this problem: %s; use strategy auto",
                        plan->ranking[0].strategy->name, plan->ranking[0].reason);
    char reasons[800] = "";
    for (size_t i = 0, used = 0; i < plan->ranked; i++, used = strlen(reasons))
        snprintf(reasons + used, sizeof reasons - used, "%s%s: %s", i ? "; " : "", plan->ranking[i].strategy->name,
                 plan->ranking[i].reason);
    return stn_fail(error, STN_ERROR_UNSUPPORTED, "no strategy can run this problem: %s", reasons);
}

/* The error message where there is no compiler and no stored kernel runs the problem. */
static stn_status fail_not_stored(const stn_plan *plan, const stn_error *why, stn_error *error) {
    stn_text problem = STN_TEXT_EMPTY;
    char *text = NULL;
    plan->kind->print(plan, &problem);
    STN_TRY(stn_text_take(&problem, &text, error));
    stn_status status = stn_fail(
        error, STN_ERROR_NO_COMPILER,
        "no stored kernel can run this problem (%.300s) on %s, and none can be compiled: %s; or make a pack elsewhere, "
        "with 'stentor pack build --arch %s --problems LIST.json -o FILE.stnpack', and name it with --pack here",
        text, plan->machine.arch, why->message, plan->machine.arch);
    stn_text_free(text);
    return status;
}

/* Prepares a candidate. The first `prepare` records missing kernels, also of subplans; they are
 * compiled as one batch (context/compile_batch.h), and the second `prepare` finds them. */
static stn_status prepare_row(stn_plan *plan, const stn_ranked *row, stn_error *error) {
    const stn_strategy *strategy = row->strategy;
    stn_plan_take(plan, row);
    if (!plan->machine.is_device || plan->is_subplan) return strategy->prepare(plan, error);
    stn_compile_batch *batch = plan->kernels->batch = stn_compile_batch_create(plan->context);
    plan->kernels->workspace_unknown = false;
    stn_status status = strategy->prepare(plan, error);
    plan->kernels->batch = NULL;
    if (batch && batch->count) {
        const size_t workspace = plan->workspace_size;
        const bool may_defer_compile = status == STN_OK && plan->first_result && !plan->kernels->workspace_unknown;
        stn_plan_unprepare(plan);
        if (may_defer_compile && plan->first_result(plan, batch, workspace)) return STN_OK;
        (void)stn_compile_batch_try(batch, NULL);
        status = strategy->prepare(plan, error);
    }
    stn_compile_batch_free(batch);
    return status;
}

bool stn_plan_generic(const stn_plan *plan, stn_ranked *row) {
    const stn_strategy *strategy;
    for (size_t i = 0; (strategy = plan->kind->strategies[i]); i++) {
        *row = (stn_ranked){.strategy = strategy};
        if (plan->named_strategy && strategy != plan->named_strategy) continue;
        if (!strategy->generic || !plan->kind->applies(plan, strategy, row->reason, sizeof row->reason)) continue;
        if (!strategy->generic(&plan->task, &row->candidate)) continue;
        plan->kind->estimate(plan, strategy, &row->candidate, &row->estimate);
        row->applies = !plan->kind->error_bound || row->estimate.error <= plan->kind->error_bound(plan);
        if (row->applies) return true;
    }
    return false;
}

/* Prepares the generic kernel, which may be stored even if no kernel of the ranked candidates is.
 * It is the last resort, because it is slower than all of them. */
static bool prepare_generic(stn_plan *plan, const stn_error *why) {
    stn_ranked generic;
    if (plan->is_subplan || !stn_plan_generic(plan, &generic)) return false;
    if (prepare_row(plan, &generic, NULL) != STN_OK) {
        stn_plan_unprepare(plan);
        return false;
    }
    insert_row(plan, 0, &generic);
    plan->chosen = STN_CHOSEN_AS_LAST_RESORT;
    stn_log(&plan->context->logger, STN_LOG_WARNING, "the generic kernel runs, which is slower: %s", why->message);
    return true;
}

void stn_ranked_exclude(stn_ranked *row, const char *why) {
    row->applies = false;
    snprintf(row->reason, sizeof row->reason, "%.199s", why);
}

/* Moves a row that cannot be used behind all others. */
static void drop_row(stn_plan *plan, stn_ranked *row, const char *why) {
    stn_ranked dropped = *row;
    stn_ranked_exclude(&dropped, why);
    memmove(row, row + 1, (size_t)(plan->ranking + plan->ranked - 1 - row) * sizeof *row);
    plan->ranking[plan->ranked - 1] = dropped;
}

/* All candidates are tried, because the kernels of a pack were chosen for a typical GPU of the
 * architecture, whose ranking may differ from that of this GPU. */
stn_status stn_plan_prepare(stn_plan *plan, stn_error *error) {
    stn_error first = {0}, why = {0};
    for (size_t i = 0; i < plan->ranked && plan->ranking[i].applies;) {
        stn_status status = prepare_row(plan, &plan->ranking[i], &why);
        if (status == STN_OK) return STN_OK;
        stn_plan_unprepare(plan);
        stn_plan_complete_ranking(plan); /* its first row stays the same */
        if (!first.status) first = why;
        if (status == STN_ERROR_UNSUPPORTED) /* This candidate cannot run here; another may. */
            drop_row(plan, &plan->ranking[i], why.message);
        else if (status == STN_ERROR_NO_COMPILER)
            i++;
        else
            return stn_fail(error, status, "%s", why.message);
    }
    if (first.status != STN_ERROR_NO_COMPILER) return stn_fail(error, first.status, "%s", first.message);
    return prepare_generic(plan, &first) ? STN_OK : fail_not_stored(plan, &first, error);
}
