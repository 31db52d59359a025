/* Checks the pointers of an execution: present, aligned, and without overlap of input and
 * output. */
#include "base/error.h"
#include "plan/plan.h"

/* The most rows that the overlap check compares where the address ranges of two grids interleave.
 * On the host the check is short compared with the run; on a GPU it must not delay an enqueue of
 * microseconds. */
enum { MOST_ROWS_ON_HOST = 1 << 16, MOST_ROWS_ON_DEVICE = 64 };
enum { WORKSPACE_ALIGNMENT = 256 };

typedef struct operand {
    const char *name;
    const void *pointer;
    int64_t numbers; /* of the dtype; 0: the plan takes none */
    bool written;
} operand;

static void list_operands(const stn_plan *plan, const stn_execution *run, operand list[STN_OPERANDS]) {
    const operand named[STN_OPERANDS] = {
        [STN_OPERAND_WEIGHTS] = {"weights", run->weights, 0, false},
        [STN_OPERAND_BIAS] = {"bias", run->bias, 0, false},
        [STN_OPERAND_SKIP] = {"skip", run->skip, 0, false},
        [STN_OPERAND_GRADIENT] = {"gradient", run->gradient, 0, false},
        [STN_OPERAND_BIAS_GRADIENT] = {"bias_gradient", run->bias_gradient, 0, true},
        [STN_OPERAND_SKIP_GRADIENT] = {"skip_gradient", run->skip_gradient, 0, true},
    };
    int64_t numbers[STN_OPERANDS] = {0};
    if (plan->kind->operands) plan->kind->operands(plan, numbers);
    for (int i = 0; i < STN_OPERANDS; i++) {
        list[i] = named[i];
        list[i].numbers = numbers[i];
    }
}

static stn_status check_operand(const operand *o, int alignment, stn_error *error) {
    if (o->numbers && !o->pointer)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the plan needs %s and got NULL: bring it in stn_execution.%s, with stn_plan_run", o->name,
                        o->name);
    if (!o->numbers && o->pointer)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "stn_execution.%s is given to a plan that takes none: leave it NULL", o->name);
    if ((uintptr_t)o->pointer % (uintptr_t)alignment)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the %s pointer is not a multiple of %d bytes as the plan expects: align it, or plan with a "
                        "smaller alignment",
                        o->name, alignment);
    return STN_OK;
}

/* Output arrays must not overlap any other array. Operands are dense. */
static stn_status check_written_overlap(const stn_work_shape *shape, const stn_execution *run,
                                        const operand list[STN_OPERANDS], stn_error *error) {
    const operand all[STN_OPERANDS + 2] = {list[0],
                                           list[1],
                                           list[2],
                                           list[3],
                                           list[4],
                                           list[5],
                                           {"in", run->in, shape->in_numbers, false},
                                           {"out", run->out, shape->out_numbers, true}};
    for (int i = 0; i < STN_OPERANDS + 2; i++)
        for (int k = 0; k < STN_OPERANDS + 2; k++) {
            if (i == k || !all[i].written || !all[i].pointer || !all[k].pointer) continue;
            const stn_points a = stn_points_contiguous(all[i].pointer, all[i].numbers, shape->dtype);
            const stn_points b = stn_points_contiguous(all[k].pointer, all[k].numbers, shape->dtype);
            if (stn_points_overlap(&a, &b, 4))
                return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "%s and %s overlap: give each memory of its own",
                                all[k].name, all[i].name);
        }
    return STN_OK;
}

static stn_status check_operands(const stn_plan *plan, const stn_work_shape *shape, const stn_execution *run,
                                 stn_error *error) {
    operand list[STN_OPERANDS];
    list_operands(plan, run, list);
    for (int i = 0; i < STN_OPERANDS; i++) STN_TRY(check_operand(&list[i], shape->alignment, error));
    return plan->kind->operands ? check_written_overlap(shape, run, list, error) : STN_OK;
}

static stn_status check_present(const stn_work_shape *shape, const stn_execution *run, stn_error *error) {
    if (shape->source != (run->source != NULL))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        shape->source ? "the plan has a constant source but none is given: bring its first point's "
                                        "pointer in stn_execution.source"
                                      : "a source is given to a plan that takes none: set has_source in its problem");
    if (!run->in || !run->out)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the %s pointer is NULL: give the first point's",
                        run->in ? "out" : "in");
    if (shape->in_place != (run->in == run->out))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        shape->in_place ? "the plan is in place but in and out differ: give one pointer for both"
                                        : "in and out are the same pointer: make the plan with in_place = 1");
    return STN_OK;
}

stn_status stn_plan_check_workspace(const stn_plan *plan, const stn_execution *run, stn_error *error) {
    if (plan->workspace_size && !run->workspace)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the plan needs a workspace of %zu bytes but got NULL",
                        plan->workspace_size);
    if ((uintptr_t)run->workspace % WORKSPACE_ALIGNMENT)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the workspace is not a multiple of %d bytes: align it, as stn_memory_alloc does",
                        WORKSPACE_ALIGNMENT);
    return STN_OK;
}

static stn_status check_aligned(const stn_work_shape *shape, const stn_execution *run, stn_error *error) {
    const struct {
        const char *name;
        const void *pointer;
        int element;
    } rows[] = {{"in", run->in, shape->in_size}, {"out", run->out, shape->out_size}, {"source", run->source, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int alignment = rows[i].element > shape->alignment ? rows[i].element : shape->alignment;
        if (alignment > 1 && (uintptr_t)rows[i].pointer % (uintptr_t)alignment)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "the %s pointer is not a multiple of %d bytes as the plan expects: align it, or plan with "
                            "a smaller alignment",
                            rows[i].name, alignment);
    }
    return STN_OK;
}

/* An input that overlaps the output would be read after it was overwritten. */
static stn_status check_overlap(const stn_plan *plan, const stn_work_shape *shape, const stn_execution *run,
                                stn_error *error) {
    const int64_t most_rows = plan->machine.is_device ? MOST_ROWS_ON_DEVICE : MOST_ROWS_ON_HOST;
    const stn_points from = plan->kind->points(plan, STN_WORK_IN, run->in);
    const stn_points to = plan->kind->points(plan, STN_WORK_OUT, run->out);
    if (!shape->in_place && stn_points_overlap(&from, &to, most_rows))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "in and out overlap, out begins %td bytes after in: give out memory of its own, or one pointer "
                        "for both to a plan with in_place = 1",
                        (ptrdiff_t)((uintptr_t)run->out - (uintptr_t)run->in));
    if (!run->source) return STN_OK;
    const stn_points source = plan->kind->points(plan, STN_WORK_SOURCE, run->source);
    if (!stn_points_overlap(&source, &to, most_rows)) return STN_OK;
    return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "source and out overlap: give each memory of its own");
}

static stn_status check_sides(const stn_plan *plan, const stn_execution *run, stn_error *error) {
    const stn_work_shape shape = plan->kind->shape(plan);
    if (run->system)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "stn_execution.system is given to a plan of no system: leave it NULL");
    STN_TRY(check_present(&shape, run, error));
    STN_TRY(check_aligned(&shape, run, error));
    STN_TRY(check_operands(plan, &shape, run, error));
    return check_overlap(plan, &shape, run, error);
}

stn_status stn_plan_check_pointers(const stn_plan *plan, const stn_execution *run, stn_error *error) {
    STN_TRY(plan->kind->check ? plan->kind->check(plan, run, error) : check_sides(plan, run, error));
    STN_TRY(stn_plan_check_workspace(plan, run, error));
    if (plan->machine.present || !plan->machine.is_device) return STN_OK;
    return stn_fail(error, STN_ERROR_NO_DEVICE,
                    "this plan was made for %s, which is not here: it can be looked at but not run",
                    plan->machine.arch);
}
