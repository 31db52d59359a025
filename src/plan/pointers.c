/* What an execution brings, against what the plan was made for: pointers that are there, aligned, and apart. */
#include "base/error.h"
#include "plan/plan.h"

/* Rows that are compared where two grids' memory is not simply one behind the other. A run on the host takes longer by far
 * than so many looks; on a GPU it is enqueued in microseconds. */
enum { LOOKS_ON_HOST = 1 << 16, LOOKS_ON_DEVICE = 64 };

static stn_status check_there(const stn_plan *plan, const stn_work_shape *shape, const stn_execution *run,
                              stn_error *error) {
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
    if (plan->workspace_size && !run->workspace)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the plan needs a workspace of %zu bytes but got NULL",
                        plan->workspace_size);
    return STN_OK;
}

static stn_status check_aligned(const stn_work_shape *shape, const stn_execution *run, stn_error *error) {
    const int alignment = shape->alignment;
    const struct {
        const char *name;
        const void *pointer;
    } rows[] = {{"in", run->in}, {"out", run->out}, {"source", run->source}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if ((uintptr_t)rows[i].pointer % (uintptr_t)alignment)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "the %s pointer is not a multiple of %d bytes as the plan expects: align it, or plan with "
                            "a smaller alignment",
                            rows[i].name, alignment);
    return STN_OK;
}

/* Grids that share memory with the output would be read after they were written. */
static stn_status check_apart(const stn_plan *plan, const stn_work_shape *shape, const stn_execution *run,
                              stn_error *error) {
    const int64_t looks = plan->machine.is_device ? LOOKS_ON_DEVICE : LOOKS_ON_HOST;
    const stn_points from = plan->kind->points(plan, STN_WORK_IN, run->in);
    const stn_points to = plan->kind->points(plan, STN_WORK_OUT, run->out);
    if (!shape->in_place && stn_points_meet(&from, &to, looks))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "in and out overlap, out begins %td bytes after in: give out memory of its own, or one pointer "
                        "for both to a plan with in_place = 1",
                        (ptrdiff_t)((uintptr_t)run->out - (uintptr_t)run->in));
    if (!run->source) return STN_OK;
    const stn_points source = plan->kind->points(plan, STN_WORK_SOURCE, run->source);
    if (!stn_points_meet(&source, &to, looks)) return STN_OK;
    return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "source and out overlap: give each memory of its own");
}

stn_status stn_plan_check_pointers(const stn_plan *plan, const stn_execution *run, stn_error *error) {
    const stn_work_shape shape = plan->kind->shape(plan);
    STN_TRY(check_there(plan, &shape, run, error));
    STN_TRY(check_aligned(&shape, run, error));
    STN_TRY(check_apart(plan, &shape, run, error));
    if (plan->machine.present || !plan->machine.is_device) return STN_OK;
    return stn_fail(error, STN_ERROR_NO_DEVICE,
                    "this plan was made for %s, which is not here: it can be looked at but not run",
                    plan->machine.arch);
}
