/* Checks the arrays of a system's execution: present, aligned, and without overlap of what is
 * written. */
#include <stdio.h>

#include "base/error.h"
#include "plan/plan.h"

/* An array with its name for messages: u, u.prev, c2, amplitudes... */
typedef struct array {
    const void *first;
    size_t bytes;
    bool written;
    const char *name;
    int level;
} array;

#define MOST_ARRAYS (2 * STN_SYSTEM_MAX_ARRAYS + STN_SYSTEM_MAX_COEFFICIENTS + 2)

typedef struct arrays {
    array list[MOST_ARRAYS];
    int count;
} arrays;

static void name_of(const array *a, char name[STN_SYSTEM_NAME + 32]) {
    char level[16] = "";
    if (a->level > 1) snprintf(level, sizeof level, ".prev%d", a->level);
    snprintf(name, STN_SYSTEM_NAME + 32, "the %s array %s%s", a->written ? "output" : "input", a->name,
             a->level == 1 ? ".prev" : level);
}

static stn_status add(arrays *all, const stn_system_task *task, array a, stn_error *error) {
    char name[STN_SYSTEM_NAME + 32];
    name_of(&a, name);
    if (!a.first) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "%s is NULL: give its first number", name);
    if ((uintptr_t)a.first % (uintptr_t)task->alignment)
        return stn_fail(
            error, STN_ERROR_INVALID_ARGUMENT,
            "%s is not a multiple of %d bytes as the plan expects: align it, or plan with a smaller alignment", name,
            task->alignment);
    all->list[all->count++] = a;
    return STN_OK;
}

static stn_status add_fields(arrays *all, const stn_system_task *task, const stn_system_arrays *given,
                             stn_error *error) {
    const size_t bytes = (size_t)stn_system_task_numbers(task) * stn_dtype_size(task->dtype);
    if (!given->in || !given->out)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "stn_system_arrays.%s is NULL: list the arrays of all levels", given->in ? "out" : "in");
    for (int f = 0; f < task->system->nfields; f++)
        for (int level = 0; level < task->system->fields[f].levels; level++) {
            const int i = task->first[f] + level;
            const char *name = task->system->fields[f].name;
            if (task->in_place && given->in[i] != given->out[i])
                return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                                "the plan is in place but in and out of %s differ: list the same arrays for both",
                                name);
            if (!task->in_place) STN_TRY(add(all, task, (array){given->in[i], bytes, false, name, level}, error));
            if (task->stack && !given->out[i]) continue;
            STN_TRY(add(all, task, (array){given->out[i], bytes * (size_t)task->states, true, name, level}, error));
        }
    return STN_OK;
}

static stn_status add_coefficients(arrays *all, const stn_system_task *task, const stn_system_arrays *given,
                                   stn_error *error) {
    const size_t bytes = (size_t)stn_system_task_points(task) * stn_dtype_size(task->dtype);
    for (int i = 0; i < task->system->ncoefficients; i++) {
        const stn_system_variable *c = &task->system->coefficients[i];
        const void *first = given->coefficients ? given->coefficients[i] : NULL;
        if (!task->is_number[i]) {
            STN_TRY(add(all, task, (array){first, bytes, false, c->name, 0}, error));
            continue;
        }
        if (first)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "an array is given for %s, which the plan takes as a number: leave it NULL, or plan with "
                            "is_number 0",
                            c->name);
        if (!given->numbers && !c->has_value)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "the coefficient %s has no number: bring it in stn_system_arrays.numbers", c->name);
    }
    return STN_OK;
}

static stn_status add_points(arrays *all, const stn_system_task *task, const stn_system_arrays *given,
                             stn_error *error) {
    const size_t size = task->dtype == STN_F64 ? 8 : 4;
    const uint64_t steps = task->steps * task->states;
    if (!task->nsources != !given->amplitudes || !task->nreceivers != !given->records)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "stn_system_arrays.amplitudes go with a plan that has sources, and .records with one that has "
                        "receivers: give them then, and only then");
    if (task->nsources) {
        const size_t bytes = steps * (size_t)task->source_channels * size;
        STN_TRY(add(all, task, (array){given->amplitudes, bytes, false, "amplitudes", 0}, error));
    }
    if (!task->nreceivers) return STN_OK;
    const size_t rows = steps / task->record_every * (size_t)task->batch;
    return add(all, task, (array){given->records, rows * (size_t)task->receiver_channels * size, true, "records", 0},
               error);
}

static stn_status check_overlap(const arrays *all, stn_error *error) {
    for (int i = 0; i < all->count; i++)
        for (int k = 0; k < all->count; k++) {
            const array *a = &all->list[i], *b = &all->list[k];
            const uintptr_t first = (uintptr_t)a->first, other = (uintptr_t)b->first;
            if (i == k || !a->written || first >= other + b->bytes || other >= first + a->bytes) continue;
            char one[STN_SYSTEM_NAME + 32], two[STN_SYSTEM_NAME + 32];
            name_of(a, one);
            name_of(b, two);
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "%s and %s overlap: give each memory of its own", one,
                            two);
        }
    return STN_OK;
}

stn_status stn_plan_check_arrays(const stn_plan *plan, const stn_execution *run, stn_error *error) {
    const stn_system_task *task = &plan->system;
    arrays all = {.count = 0};
    if (!run->system)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "a system's plan needs its arrays: bring them in stn_execution.system, with stn_plan_run");
    if (run->in || run->out || run->source || run->weights || run->bias || run->skip || run->gradient ||
        run->bias_gradient || run->skip_gradient)
        return stn_fail(
            error, STN_ERROR_INVALID_ARGUMENT,
            "a system's arrays are those of stn_execution.system alone: leave in, out and the other pointers NULL");
    STN_TRY(add_fields(&all, task, run->system, error));
    STN_TRY(add_coefficients(&all, task, run->system, error));
    STN_TRY(add_points(&all, task, run->system, error));
    return check_overlap(&all, error);
}
