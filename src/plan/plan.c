/* The public functions that create and query plans. */
#include "plan/plan.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/versioned_struct.h"
#include "context/context.h"

/* May the generic kernel run before the chosen one, or other candidates be tried later? Only on a
 * GPU that is present. */
static bool may_change_kernels(const stn_plan *plan, const stn_plan_options *options) {
    return !plan->estimate_only && !options->deterministic && plan->machine.is_device && plan->machine.present;
}

static bool is_online(const stn_plan *plan, const stn_plan_options *options) {
    return may_change_kernels(plan, options) && stn_plan_mode_of(options) == STN_MODE_ONLINE &&
           plan->chosen != STN_CHOSEN_BY_MEASURING && plan->chosen != STN_CHOSEN_BY_WISDOM;
}

/* Not for a stack of snapshots, whose later runs may need a plan of their own. */
static bool wants_first_result(const stn_plan *plan, const stn_plan_options *options) {
    const stn_plan_mode mode = stn_plan_mode_of(options);
    return options->first_result && may_change_kernels(plan, options) && !plan->named_strategy &&
           !plan->kind->shape(plan).stack && (mode == STN_MODE_AUTO || mode == STN_MODE_ESTIMATE);
}

/* Trying candidates online needs more grids; where there is no memory for them, none are tried. */
static stn_status make_workspace(stn_plan *plan, const stn_plan_options *options, stn_error *error) {
    const size_t alone = plan->workspace_size;
    if (is_online(plan, options)) plan->kind->tuner->online_open(plan, options->strategy, (double)options->executions);
    const stn_status status = stn_plan_allocate(plan, error);
    if (!plan->online || status != STN_ERROR_OUT_OF_MEMORY) return status;
    plan->kind->tuner->online_close(plan);
    plan->workspace_size = alone;
    return stn_plan_allocate(plan, error);
}

stn_status stn_plan_make(stn_context *context, const stn_kind *kind, const void *work, const stn_plan_options *given,
                         stn_plan **result, stn_error *error) {
    if (!result)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the place for the plan is NULL: pass a stn_plan **");
    *result = NULL;
    if (!context) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "a plan needs a context");
    stn_plan_options options;
    STN_TRY(stn_read_versioned_struct(&stn_layout_plan_options, given, &options, error));
    const stn_strategy *named;
    STN_TRY(stn_plan_find_strategy(kind, options.strategy, &named, error));
    STN_TRY(stn_plan_check_mode(&options, error));
    stn_plan *plan = calloc(1, sizeof *plan);
    if (!plan) return stn_fail_memory(error, "a plan", sizeof *plan);
    plan->context = context;
    plan->kind = kind;
    stn_context_machine_copy(context, options.deterministic != 0, &plan->machine);
    plan->caller_workspace = options.no_auto_workspace != 0;
    plan->estimate_only = options.estimate_only != 0;
    plan->cold = options.tune_cold != 0;
    plan->deterministic = options.deterministic != 0;

    stn_status status;
    STN_TRY_GOTO(status, stn_plan_make_kernels(plan, error), failed);
    STN_TRY_GOTO(status, kind->make(plan, work, error), failed);
    plan->named_strategy = named;
    plan->may_be_chunked = true;
    plan->only_best = !plan->estimate_only;
    if (wants_first_result(plan, &options)) plan->first_result = stn_first_result_begin;
    STN_TRY_GOTO(status, stn_plan_choose(plan, &options, error), failed);
    if (!plan->estimate_only) {
        STN_TRY_GOTO(status, stn_plan_prepare(plan, error), failed);
        STN_TRY_GOTO(status, stn_snapshots_prepare(plan, error), failed);
    }
    STN_TRY_GOTO(status, make_workspace(plan, &options, error), failed);
    *result = plan;
    return STN_OK;
failed:
    stn_plan_destroy(plan);
    return status;
}

size_t stn_plan_workspace_size(const stn_plan *plan) { return plan ? stn_plan_workspace(plan) : 0; }
const char *stn_plan_strategy(const stn_plan *plan) {
    if (!plan) return "";
    return (plan->online ? plan->kind->tuner->online_current(plan) : plan)->strategy->name;
}

double stn_plan_predicted_seconds(const stn_plan *plan) { return plan ? plan->estimate.seconds : 0; }

bool stn_plan_may_start_early(const stn_plan *plan) {
    return plan->machine.sm >= 90 && stn_driver_version(plan->context->driver) >= 12030;
}
