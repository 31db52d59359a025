/* Plans that a strategy makes for parts of its work: plan.h. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "context/search_cache.h"
#include "plan/plan.h"

static bool is_generic(const char *name) { return name && !strcmp(name, STN_GENERIC); }

/* The first row of the ranking. The plan only borrows its work, so it is never destroyed. */
static stn_ranked rank(const stn_kind *kind, const void *work, const stn_machine *machine, const char *name,
                       stn_rank_limit limit) {
    stn_plan plan = {.kind = kind, .machine = *machine};
    if (kind == stn_kinds[STN_KIND_STENCIL])
        plan.task = *(const stn_task *)work;
    else
        plan.fft = *(const stn_fft *)work;
    if (is_generic(name))
        plan.ranked = stn_plan_generic(&plan, &plan.ranking[0]);
    else
        stn_plan_rank_best(&plan, name, limit);
    return plan.ranked ? plan.ranking[0] : (stn_ranked){.applies = false};
}

/* Appends the properties that differ between the machines of one context, or that measuring
 * changes, and the kind of work and the strategy's name. */
static void put_search(const stn_kind *kind, const stn_machine *machine, const char *name, stn_text *key) {
    const double numbers[] = {kind == stn_kinds[STN_KIND_FFT],
                              machine->is_device,
                              machine->present,
                              machine->sm,
                              machine->threads,
                              machine->multiprocessors,
                              machine->copy_bandwidth,
                              machine->clock,
                              machine->launch_seconds};
    stn_text_append(key, (const char *)numbers, sizeof numbers);
    stn_text_append(key, (const char *)machine->flops, sizeof machine->flops);
    stn_text_printf(key, "%s", name ? name : "auto");
}

static bool is_within(const stn_ranked *row, stn_rank_limit limit) {
    return row->applies && (!(limit.cost > 0) || stn_estimate_cost(&row->estimate) <= limit.cost);
}

/* Whether `row`, the result of a search within the limit `known`, is also the result of a search
 * within the limit `asked`: it is the cheapest of all candidates, or `asked` is no wider. */
static bool also_answers(const stn_ranked *row, stn_rank_limit known, stn_rank_limit asked) {
    if (is_within(row, known)) return true;
    const bool no_higher = !(known.cost > 0) || (asked.cost > 0 && asked.cost <= known.cost);
    return no_higher && (!known.within_bound || asked.within_bound);
}

/* Finds the cheapest candidate; false where there is none within the limit. Results are cached,
 * because a strategy that divides a run asks for the same parts for each of its candidates, and
 * once more when it makes the plans of the parts. */
static bool cheapest(const stn_kind *kind, const void *work, const stn_machine *machine, const char *name,
                     stn_rank_limit limit, stn_ranked *row) {
    struct {
        stn_ranked row;
        stn_rank_limit limit;
    } known;
    stn_text key = STN_TEXT_EMPTY;
    if (kind == stn_kinds[STN_KIND_STENCIL])
        stn_task_key(work, &key);
    else
        stn_fft_key(work, &key);
    put_search(kind, machine, name, &key);
    stn_search_cache *searches = key.failed ? NULL : machine->searches;
    if (!stn_search_cache_lookup(searches, STN_SEARCH_CACHE_SUBPLAN, key.data, key.size, &known, sizeof known) ||
        !also_answers(&known.row, known.limit, limit)) {
        memset(&known, 0, sizeof known);
        known.row = rank(kind, work, machine, name, limit);
        known.limit = limit;
        stn_search_cache_store(searches, STN_SEARCH_CACHE_SUBPLAN, key.data, key.size, &known, sizeof known);
    }
    stn_text_clear(&key);
    *row = known.row;
    return is_within(row, limit);
}

/* In general the parent's estimate has found the candidate already. All candidates are ranked only
 * if that one cannot be prepared, if wisdom has times of this work, or if it may be chunked. */
static stn_status choose(stn_plan *plan, const char *name, stn_error *error) {
    if (is_generic(name)) {
        stn_ranked row;
        if (!stn_plan_generic(plan, &row))
            return stn_fail(error, STN_ERROR_UNSUPPORTED, "no strategy's generic kernel supports this problem");
        stn_plan_take(plan, &row);
        return plan->strategy->prepare(plan, error);
    }
    if (!plan->may_be_chunked && !plan->kind->tuner->recall(plan, name) &&
        cheapest(plan->kind, stn_plan_work(plan), &plan->machine, name, (stn_rank_limit){0}, &plan->ranking[0])) {
        plan->ranked = 1;
        if (stn_plan_prepare(plan, NULL) == STN_OK) return STN_OK;
    }
    STN_TRY(stn_plan_choose(plan, &(stn_plan_options){.strategy = name}, error));
    return stn_plan_prepare(plan, error);
}

static stn_status build(const stn_plan *parent, const stn_kind *kind, const void *work, uint64_t steps,
                        const char *name, bool may_be_chunked, stn_plan **result, stn_error *error) {
    STN_TRY(stn_plan_copy(parent, kind, work, steps, result, error));
    stn_plan *plan = *result;
    plan->may_be_chunked = may_be_chunked;
    plan->kernels = parent->kernels;
    plan->is_subplan = true;
    const stn_status status = choose(plan, name, error);
    if (status != STN_OK) stn_plan_destroy(plan), *result = NULL;
    return status;
}

stn_status stn_subplan(const stn_plan *parent, const stn_task *task, const char *name, stn_plan **plan,
                       stn_error *error) {
    return build(parent, stn_kinds[STN_KIND_STENCIL], task, task->steps, name, false, plan, error);
}

stn_status stn_subplan_repeat(const stn_plan *parent, const stn_task *task, stn_plan **plan, stn_error *error) {
    const stn_kind *kind = stn_kinds[STN_KIND_STENCIL];
    stn_error why = {0};
    stn_status status =
        build(parent, kind, task, task->steps, parent->strategy->name, parent->may_be_chunked, plan, &why);
    if (status == STN_ERROR_UNSUPPORTED) return build(parent, kind, task, task->steps, NULL, false, plan, error);
    return status == STN_OK ? STN_OK : stn_fail(error, status, "%s", why.message);
}

stn_status stn_subplan_fft(const stn_plan *parent, const stn_fft *fft, const char *name, stn_plan **plan,
                           stn_error *error) {
    return build(parent, stn_kinds[STN_KIND_FFT], fft, 1, name, false, plan, error);
}

bool stn_subplan_estimate(const stn_task *task, const stn_machine *machine, const char *name, stn_estimate *result) {
    return stn_subplan_estimate_below(task, machine, name, INFINITY, false, result);
}

bool stn_subplan_estimate_below(const stn_task *task, const stn_machine *machine, const char *name, double most,
                                bool within_bound, stn_estimate *result) {
    const bool limited = most < INFINITY || within_bound;
    const stn_rank_limit limit = {limited ? fmin(most * STN_MAX_COST_PER_SECOND, DBL_MAX) : 0, within_bound};
    stn_ranked row;
    /* If the cheapest candidate is above the cost limit, every candidate takes more than `most`
     * seconds. */
    if (!cheapest(stn_kinds[STN_KIND_STENCIL], task, machine, name, limit, &row)) return false;
    *result = row.estimate;
    return result->seconds <= most;
}

bool stn_subplan_estimate_fft(const stn_fft *fft, const stn_machine *machine, const char *name, stn_estimate *result) {
    stn_ranked row;
    const bool found = cheapest(stn_kinds[STN_KIND_FFT], fft, machine, name, (stn_rank_limit){0}, &row);
    if (found) *result = row.estimate;
    return found;
}

stn_status stn_subplan_set_weights(stn_plan *plan, const stn_task *from, stn_error *error) {
    for (size_t i = 0; i < plan->task.ntaps; i++) plan->task.taps[i].weight = from->taps[i].weight;
    return plan->strategy->set_weights(plan, error);
}
