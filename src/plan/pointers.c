/* Checks the arrays of an execution: present, aligned, and no array that is written overlaps
 * another. */
#include <stdio.h>

#include "base/error.h"
#include "plan/plan.h"

/* The most rows that the overlap check compares where the address ranges of two grids interleave.
 * On the host the check is short compared with the run; on a GPU it must not delay an enqueue of
 * microseconds. */
enum { MAX_ROWS_ON_HOST = 1 << 16, MAX_ROWS_ON_DEVICE = 64 };
enum { ARRAYS = STN_WORK_SOURCE + 1, WORKSPACE_ALIGNMENT = 256, NAME = STN_SYSTEM_NAME + 32 };
_Static_assert(ARRAYS + STN_OPERANDS <= STN_MAX_RUN_ARRAYS, "a list holds the arrays of any execution");

static const char *name_of(const stn_run_array *a, char name[NAME]) {
    char level[16] = "";
    if (a->level > 1) snprintf(level, sizeof level, ".prev%d", a->level);
    snprintf(name, NAME, "%s%s%s", a->role, a->name, a->level == 1 ? ".prev" : level);
    return name;
}

stn_status stn_run_arrays_add(stn_run_arrays *all, stn_run_array a, stn_error *error) {
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

static stn_status check_overlap(const stn_plan *plan, const stn_run_arrays *all, stn_error *error) {
    const int64_t most_rows = plan->machine.is_device ? MAX_ROWS_ON_DEVICE : MAX_ROWS_ON_HOST;
    for (int i = 0; i < all->count; i++)
        for (int k = 0; k < all->count; k++) {
            const stn_run_array *written = &all->list[i], *other = &all->list[k];
            char one[NAME], two[NAME];
            if (i == k || !written->written || !stn_points_overlap(&written->points, &other->points, most_rows))
                continue;
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "%s and %s overlap, %td bytes apart: give each array memory of its own",
                            name_of(other, two), name_of(written, one),
                            (ptrdiff_t)((uintptr_t)written->first - (uintptr_t)other->first));
        }
    return STN_OK;
}

/* ---- one input and one output ---------------------------------------------------------------- */

static stn_status check_taken(const char *name, bool taken, bool given, stn_error *error) {
    if (taken == given) return STN_OK;
    return taken
               ? stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                          "the plan needs %s and got NULL: give it in stn_execution.%s, with stn_plan_run", name, name)
               : stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                          "stn_execution.%s is given to a plan that takes none: leave it NULL", name);
}

static stn_status add_operands(stn_run_arrays *all, const stn_plan *plan, const stn_work_shape *shape,
                               const stn_execution *run, stn_error *error) {
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
        stn_run_array a = {.role = "", .name = operands[i].name, .first = operands[i].first};
        a.written = stn_operand_is_written(i), a.alignment = shape->alignment;
        a.points = stn_points_contiguous(a.first, numbers[i], shape->dtype);
        STN_TRY(check_taken(a.name, numbers[i] > 0, a.first != NULL, error));
        if (a.first) STN_TRY(stn_run_arrays_add(all, a, error));
    }
    return STN_OK;
}

static stn_status add_arrays(const stn_plan *plan, const stn_execution *run, stn_run_arrays *all, stn_error *error) {
    const stn_work_shape shape = plan->kind->shape(plan);
    const struct {
        const char *name;
        const void *first;
        int size; /* of an element, where pointers must be aligned to it */
    } own[ARRAYS] = {{"in", run->in, shape.in_size}, {"out", run->out, shape.out_size}, {"source", run->source, 0}};
    STN_TRY(check_taken("system", false, run->system != NULL, error));
    STN_TRY(check_taken("source", shape.source, run->source != NULL, error));
    for (int i = 0; i < (shape.source ? ARRAYS : ARRAYS - 1); i++) {
        stn_run_array a = {.role = "", .name = own[i].name, .first = own[i].first, .written = i == STN_WORK_OUT};
        a.alignment = own[i].size > shape.alignment ? own[i].size : shape.alignment;
        a.points = plan->kind->points(plan, (stn_work_array)i, a.first);
        STN_TRY(stn_run_arrays_add(all, a, error));
    }
    if (shape.in_place != (run->in == run->out))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        shape.in_place ? "the plan is in place but in and out differ: give one pointer for both"
                                       : "in and out are the same pointer: make the plan with in_place = 1");
    STN_TRY(add_operands(all, plan, &shape, run, error));
    if (shape.in_place) all->list[0] = all->list[--all->count]; /* the output stands for both */
    return STN_OK;
}

/* ---- any execution --------------------------------------------------------------------------- */

stn_status stn_plan_check_pointers(const stn_plan *plan, const stn_execution *run, stn_error *error) {
    /* Not cleared, which saves time, because an execution is enqueued in microseconds. */
    stn_run_arrays all;
    all.count = 0;
    STN_TRY((plan->kind->arrays ? plan->kind->arrays : add_arrays)(plan, run, &all, error));
    STN_TRY(check_overlap(plan, &all, error));
    if (stn_plan_workspace(plan) && !run->workspace)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the plan needs a workspace of %zu bytes but got NULL",
                        stn_plan_workspace(plan));
    if ((uintptr_t)run->workspace % WORKSPACE_ALIGNMENT)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the address of the workspace is not a multiple of %d bytes: align it, as stn_memory_alloc "
                        "does",
                        WORKSPACE_ALIGNMENT);
    if (plan->machine.present || !plan->machine.is_device) return STN_OK;
    return stn_fail(error, STN_ERROR_NO_DEVICE,
                    "this plan was made for a GPU of %s that is not here: it can be described but not executed",
                    plan->machine.arch);
}
