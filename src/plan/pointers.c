/* Checks the arrays of an execution: present, aligned, and no array that is written overlaps
 * another. */
#include <stdio.h>

#include "base/error.h"
#include "plan/plan.h"

/* The most rows that the overlap check compares where the address ranges of two grids interleave.
 * On the host the check is short compared with the run; on a GPU it must not delay an enqueue of
 * microseconds. */
enum { MOST_ROWS_ON_HOST = 1 << 16, MOST_ROWS_ON_DEVICE = 64 };
enum { WORKSPACE_ALIGNMENT = 256 };

typedef struct array {
    const char *kind, *name; /* kind: "" or "the input array " */
    int level;               /* of a field of a system: 1 is its .prev */
    const void *first;
    bool written;
    int alignment;
    stn_points points;
} array;

enum {
    SIDES = 3,
    MOST_ARRAYS = 2 * STN_SYSTEM_MAX_ARRAYS + STN_SYSTEM_MAX_COEFFICIENTS + 2,
    NAME = STN_SYSTEM_NAME + 32
};
_Static_assert(SIDES + STN_OPERANDS <= MOST_ARRAYS, "a list holds the arrays of any execution");

/* The arrays of an execution. Only `count` is set to 0 at first; the list is not cleared, which
 * saves time, because an execution is enqueued in microseconds. */
typedef struct arrays {
    array list[MOST_ARRAYS];
    int count;
} arrays;

static const char *name_of(const array *a, char name[NAME]) {
    char level[16] = "";
    if (a->level > 1) snprintf(level, sizeof level, ".prev%d", a->level);
    snprintf(name, NAME, "%s%s%s", a->kind, a->name, a->level == 1 ? ".prev" : level);
    return name;
}

static stn_status add(arrays *all, array a, stn_error *error) {
    char name[NAME];
    if (!a.first)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "%s is NULL: give the pointer to its first number",
                        name_of(&a, name));
    if (a.alignment > 1 && (uintptr_t)a.first % (uintptr_t)a.alignment)
        return stn_fail(
            error, STN_ERROR_INVALID_ARGUMENT,
            "%s is not a multiple of %d bytes as the plan expects: align it, or plan with a smaller alignment",
            name_of(&a, name), a.alignment);
    all->list[all->count++] = a;
    return STN_OK;
}

static stn_status check_overlap(const stn_plan *plan, const arrays *all, stn_error *error) {
    const int64_t most_rows = plan->machine.is_device ? MOST_ROWS_ON_DEVICE : MOST_ROWS_ON_HOST;
    for (int i = 0; i < all->count; i++)
        for (int k = 0; k < all->count; k++) {
            const array *written = &all->list[i], *other = &all->list[k];
            char one[NAME], two[NAME];
            if (i == k || !written->written || !stn_points_overlap(&written->points, &other->points, most_rows))
                continue;
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "%s and %s overlap, %td bytes apart: give each memory of its own", name_of(other, two),
                            name_of(written, one), (ptrdiff_t)((uintptr_t)written->first - (uintptr_t)other->first));
        }
    return STN_OK;
}

/* ---- one input and one output ---------------------------------------------------------------- */

static stn_status check_taken(const char *name, bool taken, bool given, stn_error *error) {
    if (taken == given) return STN_OK;
    return taken
               ? stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                          "the plan needs %s and got NULL: bring it in stn_execution.%s, with stn_plan_run", name, name)
               : stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                          "stn_execution.%s is given to a plan that takes none: leave it NULL", name);
}

static stn_status add_operands(arrays *all, const stn_plan *plan, const stn_work_shape *shape, const stn_execution *run,
                               stn_error *error) {
    const struct {
        const char *name;
        const void *first;
    } operands[STN_OPERANDS] = {
        [STN_OPERAND_WEIGHTS] = {"weights", run->weights},
        [STN_OPERAND_BIAS] = {"bias", run->bias},
        [STN_OPERAND_SKIP] = {"skip", run->skip},
        [STN_OPERAND_GRADIENT] = {"gradient", run->gradient},
        [STN_OPERAND_BIAS_GRADIENT] = {"bias_gradient", run->bias_gradient},
        [STN_OPERAND_SKIP_GRADIENT] = {"skip_gradient", run->skip_gradient},
    };
    int64_t numbers[STN_OPERANDS] = {0};
    if (plan->kind->operands) plan->kind->operands(plan, numbers);
    for (int i = 0; i < STN_OPERANDS; i++) {
        const array a = {"",
                         operands[i].name,
                         0,
                         operands[i].first,
                         stn_operand_is_written(i),
                         shape->alignment,
                         stn_points_contiguous(operands[i].first, numbers[i], shape->dtype)};
        STN_TRY(check_taken(a.name, numbers[i] > 0, a.first != NULL, error));
        if (a.first) STN_TRY(add(all, a, error));
    }
    return STN_OK;
}

static stn_status check_sides(const stn_plan *plan, const stn_execution *run, stn_error *error) {
    const stn_work_shape shape = plan->kind->shape(plan);
    arrays all;
    all.count = 0;
    const struct {
        const char *name;
        const void *first;
        int size; /* of an element, where pointers must be aligned to it */
    } sides[SIDES] = {{"in", run->in, shape.in_size}, {"out", run->out, shape.out_size}, {"source", run->source, 0}};
    STN_TRY(check_taken("system", false, run->system != NULL, error));
    STN_TRY(check_taken("source", shape.source, run->source != NULL, error));
    for (int i = 0; i < (shape.source ? SIDES : SIDES - 1); i++) {
        array a = {.kind = "", .name = sides[i].name, .first = sides[i].first, .written = i == STN_WORK_OUT};
        a.alignment = sides[i].size > shape.alignment ? sides[i].size : shape.alignment;
        a.points = plan->kind->points(plan, (stn_work_side)i, a.first);
        STN_TRY(add(&all, a, error));
    }
    if (shape.in_place != (run->in == run->out))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        shape.in_place ? "the plan is in place but in and out differ: give one pointer for both"
                                       : "in and out are the same pointer: make the plan with in_place = 1");
    STN_TRY(add_operands(&all, plan, &shape, run, error));
    if (shape.in_place) all.list[0] = all.list[--all.count]; /* the output stands for both */
    return check_overlap(plan, &all, error);
}

/* ---- systems --------------------------------------------------------------------------------- */

static stn_status add_numbers(arrays *all, const stn_system_task *task, array a, int64_t numbers, stn_dtype dtype,
                              stn_error *error) {
    a.kind = a.written ? "the output array " : "the input array ";
    a.alignment = task->alignment;
    a.points = stn_points_contiguous(a.first, numbers, dtype);
    return add(all, a, error);
}

static stn_status add_fields(arrays *all, const stn_system_task *task, const stn_system_arrays *given,
                             stn_error *error) {
    const int64_t numbers = stn_system_task_numbers(task);
    if (!given->in || !given->out)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "stn_system_arrays.%s is NULL: list the arrays of all levels", given->in ? "out" : "in");
    for (int f = 0; f < task->system->nfields; f++)
        for (int level = 0; level < task->system->fields[f].levels; level++) {
            const int i = task->first[f] + level;
            const array in = {.name = task->system->fields[f].name, .level = level, .first = given->in[i]};
            const array out = {.name = in.name, .level = level, .first = given->out[i], .written = true};
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

static stn_status add_coefficients(arrays *all, const stn_system_task *task, const stn_system_arrays *given,
                                   stn_error *error) {
    for (int i = 0; i < task->system->ncoefficients; i++) {
        const stn_system_variable *c = &task->system->coefficients[i];
        const array a = {.name = c->name, .first = given->coefficients ? given->coefficients[i] : NULL};
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
                            "the coefficient %s has no number: bring it in stn_system_arrays.numbers", c->name);
    }
    return STN_OK;
}

static stn_status add_points(arrays *all, const stn_system_task *task, const stn_system_arrays *given,
                             stn_error *error) {
    const stn_dtype dtype = task->dtype == STN_F64 ? STN_F64 : STN_F32;
    const int64_t steps = (int64_t)(task->steps * task->states);
    const array in = {.name = "amplitudes", .first = given->amplitudes};
    const array out = {.name = "records", .first = given->records, .written = true};
    if (!task->nsources != !given->amplitudes || !task->nreceivers != !given->records)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "stn_system_arrays.amplitudes go with a plan that has sources, and .records with one that has "
                        "receivers: give them then, and only then");
    if (task->nsources) STN_TRY(add_numbers(all, task, in, steps * task->source_channels, dtype, error));
    if (!task->nreceivers) return STN_OK;
    const int64_t rows = steps / (int64_t)task->record_every * task->batch;
    return add_numbers(all, task, out, rows * task->receiver_channels, dtype, error);
}

stn_status stn_plan_check_arrays(const stn_plan *plan, const stn_execution *run, stn_error *error) {
    const stn_system_task *task = &plan->system;
    arrays all;
    all.count = 0;
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
    return check_overlap(plan, &all, error);
}

/* ---- any execution --------------------------------------------------------------------------- */

stn_status stn_plan_check_pointers(const stn_plan *plan, const stn_execution *run, stn_error *error) {
    STN_TRY(plan->kind->check ? plan->kind->check(plan, run, error) : check_sides(plan, run, error));
    if (plan->workspace_size && !run->workspace)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the plan needs a workspace of %zu bytes but got NULL",
                        plan->workspace_size);
    if ((uintptr_t)run->workspace % WORKSPACE_ALIGNMENT)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the workspace is not a multiple of %d bytes: align it, as stn_memory_alloc does",
                        WORKSPACE_ALIGNMENT);
    if (plan->machine.present || !plan->machine.is_device) return STN_OK;
    return stn_fail(error, STN_ERROR_NO_DEVICE,
                    "this plan was made for %s, which is not here: it can be looked at but not run",
                    plan->machine.arch);
}
