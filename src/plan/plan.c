/* Plans: rank every strategy's candidates by their estimate, let the cheapest build what it needs, run it. */
#include "plan/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/grown.h"

#define MOST_CANDIDATES 64
#define TUNE_SECONDS 10

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

static bool wanted(const char *name, const stn_strategy *strategy) {
    return !name || !strcmp(name, "auto") || !strcmp(name, strategy->name);
}

static stn_status check_name(const stn_kind *kind, const char *name, stn_error *error) {
    char known[256] = "auto";
    for (size_t i = 0; kind->strategy(i); i++) {
        if (wanted(name, kind->strategy(i))) return STN_OK;
        strncat(known, ", ", sizeof known - strlen(known) - 1);
        strncat(known, kind->strategy(i)->name, sizeof known - strlen(known) - 1);
    }
    return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "there is no strategy '%.40s'%s: use one of %s", name,
                    kind->of_these, known);
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

/* The strategy's candidates. With a bar, only those whose predicted error meets it; if none does, or there are none,
 * that is why the strategy does not apply. */
static void rank_strategy(stn_plan *plan, const stn_strategy *strategy, size_t most, bool with_bar) {
    const stn_kind *kind = plan->kind;
    stn_ranked entry = {.strategy = strategy};
    stn_candidate list[MOST_CANDIDATES] = {0};
    double least = INFINITY, asked = 0;
    entry.applies = kind->applies(plan, strategy, entry.reason, sizeof entry.reason);
    size_t count = entry.applies ? kind->candidates(plan, strategy, list, most) : 0, met = 0;
    for (size_t c = 0; c < count; c++) {
        entry.candidate = list[c];
        entry.estimate = (stn_estimate){0};
        kind->estimate(plan, strategy, &list[c], &entry.estimate);
        const double bar = kind->bar ? kind->bar(plan, &entry.estimate) : INFINITY;
        if (with_bar && entry.estimate.error > bar) {
            least = fmin(least, entry.estimate.error);
            asked = bar;
            continue;
        }
        insert_ranked(plan, &entry);
        met++;
    }
    if (entry.applies && met) return;
    if (entry.applies && !count)
        snprintf(entry.reason, sizeof entry.reason, "it finds no way to run a problem of this size");
    else if (entry.applies)
        snprintf(entry.reason, sizeof entry.reason, "its predicted error is %.2g at least, and the bar %.2g", least,
                 asked);
    entry.applies = false;
    insert_ranked(plan, &entry);
}

/* Where nothing meets the bar, what there is serves: a plan says what error it expects. */
void stn_plan_rank(stn_plan *plan, const char *name, size_t most) {
    const stn_strategy *strategy;
    if (most > MOST_CANDIDATES) most = MOST_CANDIDATES;
    for (int with_bar = 1; with_bar >= 0; with_bar--) {
        plan->ranked = 0;
        for (size_t i = 0; (strategy = plan->kind->strategy(i)); i++)
            if (wanted(name, strategy)) rank_strategy(plan, strategy, most, with_bar);
        if (plan->ranked && plan->ranking[0].applies) return;
    }
}

static void take(stn_plan *plan, const stn_ranked *row) {
    plan->strategy = row->strategy;
    plan->candidate = row->candidate;
    plan->estimate = row->estimate;
    plan->measured = row->measured;
}

stn_status stn_plan_choose(stn_plan *plan, const stn_plan_options *options, stn_error *error) {
    const char *name = options->strategy;
    if (options->tune && !plan->kind->shape(plan).source)
        stn_tuner_default.tune(plan, name, options->tune_seconds > 0 ? options->tune_seconds : TUNE_SECONDS);
    else if (!stn_tuner_default.recall(plan, name))
        stn_plan_rank(plan, name, STN_CANDIDATES);
    if (plan->ranked && plan->ranking[0].applies) {
        take(plan, &plan->ranking[0]);
        return STN_OK;
    }
    const stn_ranked *first = &plan->ranking[0];
    if (plan->ranked == 1)
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "strategy %s cannot run this problem: %s; use strategy auto",
                        first->strategy->name, first->reason);
    char reasons[800] = "";
    for (size_t i = 0; i < plan->ranked; i++) {
        size_t used = strlen(reasons);
        snprintf(reasons + used, sizeof reasons - used, "%s%s: %s", i ? "; " : "", plan->ranking[i].strategy->name,
                 plan->ranking[i].reason);
    }
    return stn_fail(error, STN_ERROR_UNSUPPORTED, "no strategy can run this problem: %s", reasons);
}

/* What is missing where only stored kernels can run, and how to get it. */
static stn_status fail_not_stored(const stn_plan *plan, const stn_error *why, stn_error *error) {
    stn_text problem = STN_TEXT_EMPTY;
    char *text = NULL;
    plan->kind->print(plan, &problem);
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
stn_status stn_plan_prepare(stn_plan *plan, stn_error *error) {
    stn_error first = {0}, why = {0};
    for (size_t i = 0; i < plan->ranked && plan->ranking[i].applies; i++) {
        take(plan, &plan->ranking[i]);
        stn_status status = plan->strategy->prepare(plan, &why);
        if (status == STN_OK) return STN_OK;
        if (status != STN_ERROR_NO_COMPILER && status != STN_ERROR_UNSUPPORTED)
            return stn_fail(error, status, "%s", why.message);
        if (!first.status) first = why;
        plan->strategy->release(plan);
        plan->nkernels = 0;
        plan->workspace_size = 0;
    }
    if (first.status == STN_ERROR_NO_COMPILER) return fail_not_stored(plan, &first, error);
    return stn_fail(error, first.status, "%s", first.message);
}

stn_status stn_plan_make(stn_context *context, const stn_kind *kind, const void *work, const stn_plan_options *given,
                         stn_plan **result, stn_error *error) {
    if (!result) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "a plan is to be made but has no place to go");
    *result = NULL;
    if (!context) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "a plan needs a context");
    stn_plan_options options;
    STN_TRY(stn_read_grown("stn_plan_options", given, &options, sizeof options, error));
    STN_TRY(check_name(kind, options.strategy, error));
    if (!(options.tune_seconds >= 0))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "tune_seconds is %g: give 0 for the default, or more",
                        options.tune_seconds);
    stn_plan *plan = calloc(1, sizeof *plan);
    if (!plan) return stn_fail_memory(error, "a plan", sizeof *plan);
    plan->context = context;
    plan->kind = kind;
    plan->machine = *stn_context_machine(context);
    plan->caller_workspace = options.no_auto_workspace != 0;
    plan->estimate_only = options.estimate_only != 0;

    stn_status status;
    STN_TRY_GOTO(status, kind->make(plan, work, error), failed);
    STN_TRY_GOTO(status, stn_plan_choose(plan, &options, error), failed);
    if (!plan->estimate_only) STN_TRY_GOTO(status, stn_plan_prepare(plan, error), failed);
    if (!plan->estimate_only) STN_TRY_GOTO(status, stn_snapshots_prepare(plan, error), failed);
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
    stn_plan_destroy(plan->repeat);
    if (plan->strategy) plan->strategy->release(plan);
    stn_memory_free(plan->context, plan->workspace);
    plan->kind->clear(plan);
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

static stn_status run_checked(stn_plan *plan, const stn_execution *run, stn_error *error) {
    STN_TRY(check_prepared(plan, error));
    STN_TRY(stn_plan_check_pointers(plan, run, error));
    return stn_snapshots_run(plan, run, error);
}

stn_status stn_plan_execute_with(stn_plan *plan, const void *in, void *out, void *workspace, void *stream,
                                 stn_error *error) {
    if (!plan) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_plan_execute_with needs a plan");
    return run_checked(plan, &(stn_execution){.in = in, .out = out, .workspace = workspace, .stream = stream}, error);
}

stn_status stn_plan_run(stn_plan *plan, const stn_execution *execution, stn_error *error) {
    if (!plan || !execution)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_plan_run needs a plan and a stn_execution");
    stn_execution run;
    STN_TRY(stn_read_grown("stn_execution", execution, &run, sizeof run, error));
    if (!run.workspace) run.workspace = plan->workspace;
    return run_checked(plan, &run, error);
}

/* A stack's snapshots are runs of their own. */
static bool has_parts(const stn_plan *plan) {
    return !plan->estimate_only && plan->task.snapshots <= 1 && plan->strategy->launches &&
           plan->strategy->execute_part;
}

uint64_t stn_plan_launches(const stn_plan *plan) { return has_parts(plan) ? plan->strategy->launches(plan) : 1; }

stn_status stn_plan_execute_part(stn_plan *plan, stn_part part, const stn_execution *run, stn_error *error) {
    uint64_t launches = stn_plan_launches(plan);
    if (part.first > launches || part.count > launches - part.first)
        return stn_fail(error, STN_ERROR_INTERNAL, "a run of %" PRIu64 " launches is asked for those past its last",
                        launches);
    if (part.count == launches) return run_checked(plan, run, error);
    STN_TRY(check_prepared(plan, error));
    STN_TRY(stn_plan_check_pointers(plan, run, error));
    return part.count ? plan->strategy->execute_part(plan, part, run, error) : STN_OK;
}

size_t stn_plan_workspace_size(const stn_plan *plan) { return plan ? plan->workspace_size : 0; }
const char *stn_plan_strategy(const stn_plan *plan) { return plan ? plan->strategy->name : ""; }
double stn_plan_predicted_seconds(const stn_plan *plan) { return plan ? plan->estimate.seconds : 0; }

stn_status stn_plan_set_weights(stn_plan *plan, size_t count, const double *weights, stn_error *error) {
    if (!plan || !weights)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_plan_set_weights needs a plan and weights");
    if (!plan->kind->set_weights)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "a transform has no weights to set");
    STN_TRY(check_prepared(plan, error));
    return plan->kind->set_weights(plan, count, weights, error);
}

void stn_plan_list_kernel(stn_plan *plan, struct stn_kernel *kernel) {
    for (size_t i = 0; i < plan->nkernels; i++)
        if (plan->kernels[i] == kernel) return;
    if (plan->nkernels < STN_PLAN_KERNELS) plan->kernels[plan->nkernels++] = kernel;
}
