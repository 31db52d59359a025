/* Systems as a kind of work: the operations that plans need on a stn_system_task. */
#include <math.h>
#include <stdio.h>

#include "kinds/kinds.h"
#include "plan/error_bound.h"
#include "plan/plan.h"
#include "strategies/table.h"
#include "tune/tuner.h"

stn_status stn_plan_create_system(stn_context *context, const stn_system_problem *problem,
                                  const stn_plan_options *options, stn_plan **plan, stn_error *error) {
    return stn_plan_make(context, &stn_kind_system, problem, options, plan, error);
}

/* ---- the work as a value --------------------------------------------------------------------- */

static stn_status make(stn_plan *plan, const void *given, stn_error *error) {
    return stn_system_task_make(given, &plan->system, error);
}

static stn_status adopt(stn_plan *plan, const void *task, uint64_t steps, stn_error *error) {
    return stn_system_task_copy(task, steps, &plan->system, error);
}

static void clear(stn_plan *plan) { stn_system_task_clear(&plan->system); }

/* One run writes all states of a stack, so .stack is false. */
static stn_work_shape shape(const stn_plan *plan) {
    const stn_system_task *task = &plan->system;
    const int64_t numbers = stn_system_task_numbers(task);
    return (stn_work_shape){.dtype = task->dtype,
                            .in_place = task->in_place,
                            .alignment = task->alignment,
                            .steps = task->steps * task->states,
                            .in_numbers = numbers,
                            .out_numbers = numbers * (int64_t)task->states};
}

/* ---- choosing -------------------------------------------------------------------------------- */

static bool applies(const stn_plan *plan, const stn_strategy *row, char *reason, size_t size) {
    if (plan->system.local && !row->local) {
        snprintf(reason, size,
                 "its errors depend on the whole grid, so it serves neither local accuracy nor a team's parts");
        return false;
    }
    return row->system.applies(&plan->system, &plan->machine, reason, size);
}

STN_KIND_CHOOSING(system)

static double error_bound(const stn_plan *plan) {
    const stn_system_task *task = &plan->system;
    return stn_error_bound_of(task->dtype, task->tolerance, (double)task->steps * (double)task->states);
}

/* ---- description ----------------------------------------------------------------------------- */

static void print(const stn_plan *plan, stn_text *text) { stn_system_task_print(&plan->system, text); }
static void json(const stn_plan *plan, stn_text *text) { stn_system_task_json(&plan->system, text); }

/* The growth factor of a step, where the system's text determines it. */
static void more(const stn_plan *plan, stn_format format, stn_text *text) {
    const double steps = (double)plan->system.steps * (double)plan->system.states;
    double growth = NAN;
    (void)stn_system_growth(plan->system.system, plan->system.rank, NULL, NULL, &growth, NULL);
    const bool grows = growth > 1 + STN_SYSTEM_GROWTH_ERROR;
    if (format == STN_JSON) {
        stn_json_value(text, "step_growth", growth);
    } else if (isnan(growth))
        stn_text_printf(text,
                        "\nstability:  not known: it depends on coefficients that are not given here, or the system is "
                        "not linear");
    else if (grows)
        stn_text_printf(text, "\nstability:  a step multiplies a wave by up to %.7g: unstable, by 10^%.4g in this run",
                        growth, steps * log10(growth));
    else
        stn_text_printf(text, "\nstability:  a step multiplies no wave by more than 1: stable");
}

const stn_kind stn_kind_system = {
    .label = "system:     ",
    .strategy_suffix = " of systems",
    .strategies = stn_system_strategies,
    .tuner = &stn_tuner_default,
    .make = make,
    .adopt = adopt,
    .clear = clear,
    .shape = shape,
    .arrays = stn_system_list_arrays,
    .applies = applies,
    .candidates = candidates,
    .estimate = estimate,
    .error_bound = error_bound,
    .print = print,
    .json = json,
    .more = more,
};
