/* Lists and checks the arrays of an execution of a system: stn_kind.arrays. */
#include "base/error.h"
#include "kinds/kinds.h"
#include "plan/plan.h"

static stn_status add_numbers(stn_run_arrays *all, const stn_system_task *task, stn_run_array a, int64_t numbers,
                              stn_dtype dtype, stn_error *error) {
    a.role = a.written ? "the output array " : "the input array ";
    a.alignment = task->alignment;
    a.points = stn_points_contiguous(a.first, numbers, dtype);
    return stn_run_arrays_add(all, a, error);
}

static stn_status add_fields(stn_run_arrays *all, const stn_system_task *task, const stn_system_arrays *given,
                             stn_error *error) {
    const int64_t numbers = stn_system_task_numbers(task);
    if (!given->in || !given->out)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "stn_system_arrays.%s is NULL: list the arrays of all levels", given->in ? "out" : "in");
    for (int f = 0; f < task->system->nfields; f++)
        for (int level = 0; level < task->system->fields[f].levels; level++) {
            const int i = task->first[f] + level;
            const stn_run_array in = {.name = task->system->fields[f].name, .level = level, .first = given->in[i]};
            const stn_run_array out = {.name = in.name, .level = level, .first = given->out[i], .written = true};
            if (task->in_place && in.first != out.first)
                return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                                "the plan is in place but in and out of %s differ: list the same arrays for both",
                                in.name);
            if (!task->in_place) STN_TRY(add_numbers(all, task, in, numbers, task->dtype, error));
            if (task->stack && !out.first) continue;
            STN_TRY(add_numbers(all, task, out, numbers * (int64_t)task->states, task->dtype, error));
        }
    return STN_OK;
}

static stn_status add_coefficients(stn_run_arrays *all, const stn_system_task *task, const stn_system_arrays *given,
                                   stn_error *error) {
    for (int i = 0; i < task->system->ncoefficients; i++) {
        const stn_system_variable *c = &task->system->coefficients[i];
        const stn_run_array a = {.name = c->name, .first = given->coefficients ? given->coefficients[i] : NULL};
        if (!task->is_number[i]) {
            STN_TRY(add_numbers(all, task, a, stn_system_task_points(task), task->dtype, error));
            continue;
        }
        if (a.first)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "an array is given for %s, which the plan takes as a number: leave it NULL, or plan with "
                            "is_number 0",
                            c->name);
        if (!given->numbers && !c->has_value)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "the coefficient %s has no number: give one in stn_system_arrays.numbers", c->name);
    }
    return STN_OK;
}

static stn_status add_points(stn_run_arrays *all, const stn_system_task *task, const stn_system_arrays *given,
                             stn_error *error) {
    const stn_dtype dtype = task->dtype == STN_F64 ? STN_F64 : STN_F32;
    const int64_t steps = (int64_t)(task->steps * task->states);
    const stn_run_array in = {.name = "amplitudes", .first = given->amplitudes};
    const stn_run_array out = {.name = "records", .first = given->records, .written = true};
    if (!task->nsources != !given->amplitudes || !task->nreceivers != !given->records)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "stn_system_arrays.amplitudes go with a plan that has sources, and .records with one that has "
                        "receivers: give them then, and only then");
    if (task->nsources) STN_TRY(add_numbers(all, task, in, steps * task->source_channels, dtype, error));
    if (!task->nreceivers) return STN_OK;
    const int64_t rows = steps / (int64_t)task->record_every * task->batch;
    return add_numbers(all, task, out, rows * task->receiver_channels, dtype, error);
}

stn_status stn_system_list_arrays(const stn_plan *plan, const stn_execution *run, stn_run_arrays *all,
                                  stn_error *error) {
    const stn_system_task *task = &plan->system;
    if (!run->system)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "a system's plan needs its arrays: give them in stn_execution.system, with stn_plan_run");
    if (run->in || run->out || run->source || run->weights || run->bias || run->skip || run->gradient ||
        run->bias_gradient || run->skip_gradient)
        return stn_fail(
            error, STN_ERROR_INVALID_ARGUMENT,
            "a system's arrays are those of stn_execution.system alone: leave in, out and the other pointers NULL");
    STN_TRY(add_fields(all, task, run->system, error));
    STN_TRY(add_coefficients(all, task, run->system, error));
    return add_points(all, task, run->system, error);
}
