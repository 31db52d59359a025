/* A strategy whose candidates are of several kinds, each with a table of operations of its own. */
#ifndef STN_STRATEGIES_COMMON_DISPATCH_H
#define STN_STRATEGIES_COMMON_DISPATCH_H
#include "plan/plan.h"

/* Defines the strategy's functions that take a candidate, and those that take a plan with one.
 * `of` returns the table of a candidate: const stn_strategy *of(const stn_task *, const
 * stn_candidate *). */
#define STN_DISPATCH(of)                                                                                               \
    static const stn_strategy *of_plan(const stn_plan *plan) { return of(&plan->task, &plan->candidate); }             \
    static void estimate(const stn_task *task, const stn_machine *machine, const stn_candidate *candidate,             \
                         stn_estimate *result) {                                                                       \
        of(task, candidate)->estimate(task, machine, candidate, result);                                               \
    }                                                                                                                  \
    static void name_candidate(const stn_task *task, const stn_candidate *candidate, stn_text *text) {                 \
        of(task, candidate)->name_candidate(task, candidate, text);                                                    \
    }                                                                                                                  \
    static uint64_t shorten(const stn_task *task, const stn_candidate *candidate, uint64_t most,                       \
                            stn_candidate *trial) {                                                                    \
        return of(task, candidate)->shorten(task, candidate, most, trial);                                             \
    }                                                                                                                  \
    static stn_status prepare(stn_plan *plan, stn_error *error) { return of_plan(plan)->prepare(plan, error); }        \
    static stn_status set_weights(stn_plan *plan, stn_error *error) {                                                  \
        return of_plan(plan)->set_weights(plan, error);                                                                \
    }                                                                                                                  \
    static void describe(const stn_plan *plan, stn_format format, stn_text *text) {                                    \
        of_plan(plan)->describe(plan, format, text);                                                                   \
    }                                                                                                                  \
    static void release(stn_plan *plan) {                                                                              \
        if (of_plan(plan)->release) of_plan(plan)->release(plan);                                                      \
    }                                                                                                                  \
    static uint64_t launches(const stn_plan *plan) { return of_plan(plan)->launches(plan); }                           \
    static stn_status execute_part(stn_plan *plan, stn_part part, const stn_execution *run, stn_error *error) {        \
        return of_plan(plan)->execute_part(plan, part, run, error);                                                    \
    }

/* Initialises these members of the strategy. */
#define STN_DISPATCHED                                                                                                 \
    .estimate = estimate, .prepare = prepare, .set_weights = set_weights, .describe = describe, .release = release,    \
    .name_candidate = name_candidate, .shorten = shorten, .launches = launches, .execute_part = execute_part
#endif
