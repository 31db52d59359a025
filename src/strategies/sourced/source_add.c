/* Functions shared by source_whole.c and source_levels.c: plans of runs without the source, and
 * kernels and launches that add, copy and mask grids for runs of few steps. */
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "render/render.h"
#include "strategies/sourced/sourced.h"

/* Mirrors the struct of sourced_add.cu. */
typedef struct add_arguments {
    stn_strided_grid x, c, out;
    int64_t n[3];
    stn_updated_box updated;
    int64_t chunks;
} add_arguments;

static const struct {
    bool grid, source, reads_caller_type, writes_caller_type;
} operations[SOURCED_OPERATIONS] = {[SOURCED_LOAD] = {true, false, true, false},
                                    [SOURCED_COPY] = {true, false, false, false},
                                    [SOURCED_MASK] = {false, true, true, false},
                                    [SOURCED_ADD] = {true, true, false, false},
                                    [SOURCED_LAST] = {true, true, false, true}};

stn_status sourced_make_run(stn_plan *plan, const stn_task *task, stn_plan **run, stn_error *error) {
    STN_TRY(stn_subplan(plan, task, plan->candidate.values[SOURCED_GENERIC] ? STN_GENERIC : NULL, run, error));
    if ((*run)->workspace_size > plan->workspace_size) plan->workspace_size = (*run)->workspace_size;
    return STN_OK;
}

stn_dtype sourced_own_type(const stn_task *task) {
    return task->dtype == STN_F16 && task->steps > 1 ? STN_F32 : task->dtype;
}

double sourced_add_seconds(const stn_task *task, const stn_machine *machine, int grids) {
    return stn_row_seconds(task, machine, sourced_own_type(task), grids);
}

/* The source of level 1 begins with a masked copy of the caller's source, or with a copy if that
 * was masked when it was widened; a higher level begins with a copy of the source below. */
static bool is_used(const sourced_state *state, uint64_t steps, sourced_operation operation) {
    if (steps == 1) return operation == SOURCED_LAST;
    if (operation == SOURCED_LOAD) return !state->reads_input;
    if (operation == SOURCED_COPY) return state->levels > (state->widened ? 1 : 2);
    return operation != SOURCED_MASK || state->levels > 1 || state->widened;
}

stn_status sourced_make_kernels(stn_plan *plan, sourced_state *state, stn_error *error) {
    for (int operation = 0; operation < SOURCED_OPERATIONS; operation++) {
        if (!is_used(state, plan->task.steps, (sourced_operation)operation)) continue;
        stn_text params = STN_TEXT_EMPTY;
        const stn_dtype given = plan->task.dtype, own = sourced_own_type(&plan->task);
        stn_params_begin_for(&params, operations[operation].reads_caller_type ? given : own);
        stn_params_store(&params, "WRITTEN", operations[operation].writes_caller_type ? given : own);
        stn_params_int(&params, "THREADS_X", STN_ROW_THREADS);
        stn_params_int(&params, "HAS_GRID", operations[operation].grid);
        stn_params_int(&params, "HAS_SOURCE", operations[operation].source);
        stn_params_int(&params, "EXPECTED_HEADER", sizeof(add_arguments));
        STN_TRY(stn_kernel_make(plan->kernels, "sourced_add", &params, 0, &state->add[operation], error));
    }
    return STN_OK;
}

stn_strided_grid sourced_own_grid(const sourced_job *job, int number) {
    const unsigned char *grids = job->execution->workspace;
    return stn_strided_grid_at(&job->state->packed, grids + (size_t)number * job->state->grid);
}

stn_status sourced_add(const sourced_job *job, sourced_operation operation, stn_strided_grid x, stn_strided_grid c,
                       stn_strided_grid out, stn_error *error) {
    const stn_task *task = &job->plan->task;
    add_arguments a = {.x = x, .c = c, .out = out, .updated = stn_updated_box_of(task), .chunks = stn_row_chunks(task)};
    memcpy(a.n, task->n, sizeof a.n);
    return stn_kernel_launch(job->state->add[operation], stn_row_blocks(task), STN_ROW_THREADS, 0, &a,
                             job->execution->stream, error);
}
