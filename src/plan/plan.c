/* Plans: rank every strategy's candidates by their estimate, let the cheapest build what it needs, run it. */
#include "plan/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/grown.h"

/* Every strategy; one row each. */
static const stn_strategy *const strategies[] = {&stn_strategy_host, &stn_strategy_direct, &stn_strategy_lowrank};
#define STRATEGY_COUNT (sizeof strategies / sizeof *strategies)
#define CANDIDATES_OF_ONE 16

static bool wanted(const char *name, const stn_strategy *strategy) {
    return !name || !strcmp(name, "auto") || !strcmp(name, strategy->name);
}

static stn_status check_name(const char *name, stn_error *error) {
    for (size_t i = 0; i < STRATEGY_COUNT; i++)
        if (wanted(name, strategies[i])) return STN_OK;
    char known[256] = "auto";
    for (size_t i = 0; i < STRATEGY_COUNT; i++) {
        strncat(known, ", ", sizeof known - strlen(known) - 1);
        strncat(known, strategies[i]->name, sizeof known - strlen(known) - 1);
    }
    return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "there is no strategy '%.40s': use one of %s", name, known);
}

double stn_estimate_seconds(const stn_estimate *estimate, const stn_machine *machine) {
    double memory = estimate->bytes / machine->copy_bandwidth;
    double arithmetic = estimate->flops / machine->flops[estimate->unit];
    return fmax(memory, arithmetic) + estimate->launches * machine->launch_seconds;
}

/* Inserts in order of predicted time, those that do not apply last; the ranking is full: the dearest falls out. */
static void insert_ranked(stn_plan *plan, const stn_ranked *entry) {
    size_t place = plan->ranked;
    while (place > 0) {
        const stn_ranked *before = &plan->ranking[place - 1];
        if (before->applies && (!entry->applies || before->estimate.seconds <= entry->estimate.seconds)) break;
        if (!before->applies && !entry->applies) break;
        place--;
    }
    if (place == STN_PLAN_RANKING) return;
    size_t kept = plan->ranked < STN_PLAN_RANKING ? plan->ranked : STN_PLAN_RANKING - 1;
    memmove(plan->ranking + place + 1, plan->ranking + place, (kept - place) * sizeof *plan->ranking);
    plan->ranking[place] = *entry;
    plan->ranked = kept + 1;
}

static void rank(stn_plan *plan, const char *name) {
    for (size_t i = 0; i < STRATEGY_COUNT; i++) {
        if (!wanted(name, strategies[i])) continue;
        stn_ranked entry = {.strategy = strategies[i]};
        entry.applies = strategies[i]->applies(&plan->task, &plan->machine, entry.reason, sizeof entry.reason);
        if (!entry.applies) {
            insert_ranked(plan, &entry);
            continue;
        }
        stn_candidate list[CANDIDATES_OF_ONE] = {0};
        size_t count = strategies[i]->candidates(&plan->task, &plan->machine, list, CANDIDATES_OF_ONE);
        for (size_t c = 0; c < count; c++) {
            entry.candidate = list[c];
            strategies[i]->estimate(&plan->task, &plan->machine, &list[c], &entry.estimate);
            insert_ranked(plan, &entry);
        }
    }
}

static stn_status choose(stn_plan *plan, const char *name, stn_error *error) {
    rank(plan, name);
    if (plan->ranked && plan->ranking[0].applies) {
        plan->strategy = plan->ranking[0].strategy;
        plan->candidate = plan->ranking[0].candidate;
        plan->estimate = plan->ranking[0].estimate;
        return STN_OK;
    }
    const stn_ranked *first = &plan->ranking[0];
    return stn_fail(error, STN_ERROR_UNSUPPORTED, "strategy %s cannot run this problem: %s; use strategy auto",
                    first->strategy->name, first->reason);
}

/* What is missing where only stored kernels can run, and how to get it. */
static stn_status fail_not_stored(const stn_plan *plan, const stn_error *why, stn_error *error) {
    stn_text problem = STN_TEXT_EMPTY;
    char *text = NULL;
    stn_task_print(&plan->task, &problem);
    STN_TRY(stn_text_take(&problem, &text, error));
    stn_status status = stn_fail(
        error, STN_ERROR_NO_COMPILER,
        "no stored kernel serves this problem (%.300s) on %s, and none can be compiled: %s; or make a pack elsewhere, "
        "with 'stentor pack build --arch %s --problems LIST.json -o FILE.stnpack', and name it with --pack here",
        text, plan->machine.arch, why->message, plan->machine.arch);
    stn_text_free(text);
    return status;
}

/* Lets the cheapest candidate build what it needs. Where there is no compiler, the cheapest whose kernels are stored: a
 * pack's were chosen for a typical GPU of the architecture, whose ranking may differ from this one's. */
static stn_status prepare(stn_plan *plan, stn_error *error) {
    stn_error first = {0}, why = {0};
    for (size_t i = 0; i < plan->ranked && plan->ranking[i].applies; i++) {
        plan->strategy = plan->ranking[i].strategy;
        plan->candidate = plan->ranking[i].candidate;
        plan->estimate = plan->ranking[i].estimate;
        stn_status status = plan->strategy->prepare(plan, &why);
        if (status == STN_OK) return STN_OK;
        if (status != STN_ERROR_NO_COMPILER) return stn_fail(error, status, "%s", why.message);
        if (!first.status) first = why;
        plan->strategy->release(plan);
        plan->nkernels = 0;
        plan->workspace_size = 0;
    }
    return fail_not_stored(plan, &first, error);
}

stn_status stn_plan_create(stn_context *context, const stn_problem *problem, const stn_plan_options *given,
                           stn_plan **result, stn_error *error) {
    if (!result) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_plan_create needs a place for the plan");
    *result = NULL;
    if (!context) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_plan_create needs a context");
    stn_plan_options options;
    STN_TRY(stn_read_grown("stn_plan_options", given, &options, sizeof options, error));
    STN_TRY(check_name(options.strategy, error));
    stn_plan *plan = calloc(1, sizeof *plan);
    if (!plan) return stn_fail_memory(error, "a plan", sizeof *plan);
    plan->context = context;
    plan->machine = *stn_context_machine(context);
    plan->caller_workspace = options.no_auto_workspace != 0;
    plan->estimate_only = options.estimate_only != 0;

    stn_status status;
    STN_TRY_GOTO(status, stn_task_make(problem, &plan->task, error), failed);
    STN_TRY_GOTO(status, choose(plan, options.strategy, error), failed);
    if (!plan->estimate_only) STN_TRY_GOTO(status, prepare(plan, error), failed);
    if (plan->workspace_size && !plan->caller_workspace && (plan->machine.present || !plan->machine.is_device))
        STN_TRY_GOTO(status, stn_memory_alloc(context, plan->workspace_size, &plan->workspace, error), failed);
    *result = plan;
    return STN_OK;
failed:
    stn_plan_destroy(plan);
    return status;
}

void stn_plan_destroy(stn_plan *plan) {
    if (!plan) return;
    if (plan->strategy) plan->strategy->release(plan);
    stn_memory_free(plan->context, plan->workspace);
    stn_task_clear(&plan->task);
    free(plan);
}

stn_status stn_plan_execute(stn_plan *plan, const void *in, void *out, void *stream, stn_error *error) {
    if (!plan) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_plan_execute needs a plan");
    if (plan->caller_workspace && plan->workspace_size)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "this plan was made without a workspace: use stn_plan_execute_with and bring %zu bytes",
                        plan->workspace_size);
    return stn_plan_execute_with(plan, in, out, plan->workspace, stream, error);
}

static stn_status check_prepared(const stn_plan *plan, stn_error *error) {
    if (!plan->estimate_only) return STN_OK;
    return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                    "this plan was made with estimate_only: make one without it to execute it or set its weights");
}

/* The pointers against what the plan was made for. */
static stn_status check_pointers(const stn_plan *plan, const void *in, const void *out, const void *workspace,
                                 stn_error *error) {
    if (!in || !out)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the %s pointer is NULL: give the grid's first point",
                        in ? "out" : "in");
    if (plan->task.in_place != (in == out))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        plan->task.in_place ? "the plan is in place but in and out differ: give one pointer for both"
                                            : "in and out are the same grid: make the plan with problem.in_place = 1");
    if (plan->workspace_size && !workspace)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the plan needs a workspace of %zu bytes but got NULL",
                        plan->workspace_size);
    uintptr_t alignment = (uintptr_t)plan->task.alignment;
    if (plan->machine.is_device && ((uintptr_t)in % alignment || (uintptr_t)out % alignment))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the %s pointer is not a multiple of %d bytes as the plan expects: align it, or plan with a "
                        "smaller problem.alignment",
                        (uintptr_t)in % alignment ? "in" : "out", plan->task.alignment);
    if (!plan->machine.present && plan->machine.is_device)
        return stn_fail(error, STN_ERROR_NO_DEVICE,
                        "this plan was made for %s, which is not here: it can be looked at but not run",
                        plan->machine.arch);
    return STN_OK;
}

stn_status stn_plan_execute_with(stn_plan *plan, const void *in, void *out, void *workspace, void *stream,
                                 stn_error *error) {
    if (!plan) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_plan_execute_with needs a plan");
    STN_TRY(check_prepared(plan, error));
    STN_TRY(check_pointers(plan, in, out, workspace, error));
    return plan->strategy->execute(plan, in, out, workspace, stream, error);
}

size_t stn_plan_workspace_size(const stn_plan *plan) { return plan ? plan->workspace_size : 0; }
const char *stn_plan_strategy(const stn_plan *plan) { return plan ? plan->strategy->name : ""; }
double stn_plan_predicted_seconds(const stn_plan *plan) { return plan ? plan->estimate.seconds : 0; }

stn_status stn_plan_set_weights(stn_plan *plan, size_t count, const double *weights, stn_error *error) {
    if (!plan || !weights)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_plan_set_weights needs a plan and weights");
    STN_TRY(check_prepared(plan, error));
    STN_TRY(stn_task_set_weights(&plan->task, count, weights, error));
    return plan->strategy->set_weights(plan, error);
}
