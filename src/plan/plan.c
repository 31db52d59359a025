/* Plans: rank every strategy's candidates by their estimate, let the cheapest build what it needs, run it. */
#include "plan/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/grown.h"

/* Every strategy, of stencils and of transforms; one row each. */
static const stn_strategy *const strategies[] = {&stn_strategy_host, &stn_strategy_direct, &stn_strategy_lowrank};
static const stn_fft_strategy *const fft_strategies[] = {&stn_fft_strategy_host, &stn_fft_strategy_fft,
                                                         &stn_fft_strategy_cufft};
#define MOST_CANDIDATES 64
#define TUNE_SECONDS 10

/* ---- what differs between the kinds of plan ---------------------------------------------------------------------- */

/* Row i of the kind's table; NULL past its end. */
static const stn_strategy *row(stn_plan_kind kind, size_t i) {
    if (kind == STN_PLAN_FFT)
        return i < sizeof fft_strategies / sizeof *fft_strategies ? &fft_strategies[i]->run : NULL;
    return i < sizeof strategies / sizeof *strategies ? strategies[i] : NULL;
}

/* Such a row as what it is: run is its first member. */
static const stn_fft_strategy *fft_row(const stn_strategy *strategy) { return (const stn_fft_strategy *)strategy; }

static bool applies(const stn_plan *plan, const stn_strategy *strategy, char *reason, size_t size) {
    if (plan->kind == STN_PLAN_FFT) return fft_row(strategy)->applies(&plan->fft, &plan->machine, reason, size);
    return strategy->applies(&plan->task, &plan->machine, reason, size);
}

static size_t candidates(const stn_plan *plan, const stn_strategy *strategy, stn_candidate *list, size_t most) {
    if (plan->kind == STN_PLAN_FFT) return fft_row(strategy)->candidates(&plan->fft, &plan->machine, list, most);
    return strategy->candidates(&plan->task, &plan->machine, list, most);
}

void stn_plan_estimate(const stn_plan *plan, const stn_strategy *strategy, const stn_candidate *candidate,
                       stn_estimate *estimate) {
    if (plan->kind == STN_PLAN_FFT)
        fft_row(strategy)->estimate(&plan->fft, &plan->machine, candidate, estimate);
    else
        strategy->estimate(&plan->task, &plan->machine, candidate, estimate);
}

static bool in_place(const stn_plan *plan) {
    return plan->kind == STN_PLAN_FFT ? plan->fft.in_place : plan->task.in_place;
}
static int alignment(const stn_plan *plan) {
    return plan->kind == STN_PLAN_FFT ? plan->fft.alignment : plan->task.alignment;
}

void stn_plan_print_work(const stn_plan *plan, stn_text *text) {
    if (plan->kind == STN_PLAN_FFT)
        stn_fft_print(&plan->fft, text);
    else
        stn_task_print(&plan->task, text);
}

void stn_plan_json_work(const stn_plan *plan, stn_text *text) {
    if (plan->kind == STN_PLAN_FFT)
        stn_fft_json(&plan->fft, text);
    else
        stn_task_json(&plan->task, text);
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

static bool wanted(const char *name, const stn_strategy *strategy) {
    return !name || !strcmp(name, "auto") || !strcmp(name, strategy->name);
}

static stn_status check_name(stn_plan_kind kind, const char *name, stn_error *error) {
    char known[256] = "auto";
    for (size_t i = 0; row(kind, i); i++) {
        if (wanted(name, row(kind, i))) return STN_OK;
        strncat(known, ", ", sizeof known - strlen(known) - 1);
        strncat(known, row(kind, i)->name, sizeof known - strlen(known) - 1);
    }
    return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "there is no strategy '%.40s'%s: use one of %s", name,
                    kind == STN_PLAN_FFT ? " of transforms" : "", known);
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

void stn_plan_rank(stn_plan *plan, const char *name, size_t most) {
    const stn_strategy *strategy;
    if (most > MOST_CANDIDATES) most = MOST_CANDIDATES;
    plan->ranked = 0;
    for (size_t i = 0; (strategy = row(plan->kind, i)); i++) {
        if (!wanted(name, strategy)) continue;
        stn_ranked entry = {.strategy = strategy};
        entry.applies = applies(plan, strategy, entry.reason, sizeof entry.reason);
        if (!entry.applies) {
            insert_ranked(plan, &entry);
            continue;
        }
        stn_candidate list[MOST_CANDIDATES] = {0};
        size_t count = candidates(plan, strategy, list, most);
        for (size_t c = 0; c < count; c++) {
            entry.candidate = list[c];
            stn_plan_estimate(plan, strategy, &list[c], &entry.estimate);
            insert_ranked(plan, &entry);
        }
    }
}

static void take(stn_plan *plan, const stn_ranked *row) {
    plan->strategy = row->strategy;
    plan->candidate = row->candidate;
    plan->estimate = row->estimate;
    plan->measured = row->measured;
}

static stn_status choose(stn_plan *plan, const stn_plan_options *options, stn_error *error) {
    const char *name = options->strategy;
    if (options->tune)
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
    stn_plan_print_work(plan, &problem);
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

/* `work` is the stn_problem or stn_transform that the kind says. */
static stn_status create(stn_context *context, stn_plan_kind kind, const void *work, const stn_plan_options *given,
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
    STN_TRY_GOTO(status,
                 kind == STN_PLAN_FFT ? stn_fft_make(work, &plan->fft, error) : stn_task_make(work, &plan->task, error),
                 failed);
    STN_TRY_GOTO(status, choose(plan, &options, error), failed);
    if (!plan->estimate_only) STN_TRY_GOTO(status, prepare(plan, error), failed);
    if (plan->workspace_size && !plan->caller_workspace && (plan->machine.present || !plan->machine.is_device))
        STN_TRY_GOTO(status, stn_memory_alloc(context, plan->workspace_size, &plan->workspace, error), failed);
    *result = plan;
    return STN_OK;
failed:
    stn_plan_destroy(plan);
    return status;
}

stn_status stn_plan_create(stn_context *context, const stn_problem *problem, const stn_plan_options *options,
                           stn_plan **plan, stn_error *error) {
    return create(context, STN_PLAN_STENCIL, problem, options, plan, error);
}

stn_status stn_plan_create_fft(stn_context *context, const stn_transform *transform, const stn_plan_options *options,
                               stn_plan **plan, stn_error *error) {
    return create(context, STN_PLAN_FFT, transform, options, plan, error);
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
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the %s pointer is NULL: give the first point's",
                        in ? "out" : "in");
    if (in_place(plan) != (in == out))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        in_place(plan) ? "the plan is in place but in and out differ: give one pointer for both"
                                       : "in and out are the same pointer: make the plan with in_place = 1");
    if (plan->workspace_size && !workspace)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the plan needs a workspace of %zu bytes but got NULL",
                        plan->workspace_size);
    uintptr_t multiple = (uintptr_t)alignment(plan);
    if (plan->machine.is_device && ((uintptr_t)in % multiple || (uintptr_t)out % multiple))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the %s pointer is not a multiple of %d bytes as the plan expects: align it, or plan with a "
                        "smaller alignment",
                        (uintptr_t)in % multiple ? "in" : "out", alignment(plan));
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
    if (plan->kind == STN_PLAN_FFT)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "a transform has no weights to set");
    STN_TRY(check_prepared(plan, error));
    size_t taps = plan->task.ntaps;
    double *before = malloc(taps * sizeof *before);
    if (!before) return stn_fail_memory(error, "the weights of before", taps * sizeof *before);
    for (size_t i = 0; i < taps; i++) before[i] = plan->task.taps[i].weight;
    stn_status status = stn_task_set_weights(&plan->task, count, weights, error);
    if (status == STN_OK) {
        status = plan->strategy->set_weights(plan, error);
        if (status != STN_OK && stn_task_set_weights(&plan->task, taps, before, NULL) == STN_OK)
            plan->strategy->set_weights(plan, NULL); /* takes back what was done by half */
    }
    free(before);
    return status;
}

void stn_plan_list_kernel(stn_plan *plan, struct stn_kernel *kernel) {
    for (size_t i = 0; i < plan->nkernels; i++)
        if (plan->kernels[i] == kernel) return;
    if (plan->nkernels < STN_PLAN_KERNELS) plan->kernels[plan->nkernels++] = kernel;
}
