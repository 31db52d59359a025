/* Functions shared by source_whole.c and source_levels.c: plans of runs without the source, and
 * kernels and launches that add, copy and mask grids for runs of few steps. */
#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "render/render.h"
#include "strategies/sourced/sourced.h"

#define THREADS 256
#define CHUNK (4 * THREADS) /* points of a block, as in sourced_add.cu */
/* Cycles of a multiprocessor for a block, whose 8 warps find their row by three divisions of 64-bit
 * numbers: 172032 rows of 30 points take 0.36 ms, 33135 rows of 53 points 48 us. */
#define BLOCK_CYCLES 400

/* Mirrors the struct of sourced_add.cu. */
typedef struct add_arguments {
    sourced_grid x, c, out;
    int64_t n[3], live_low[3], live_high[3], chunks;
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

static int64_t rows_of(const stn_task *task) { return task->batch * task->n[0] * task->n[1]; }

bool sourced_fits_launch(const stn_task *task) { return rows_of(task) <= INT32_MAX / stn_div_up(task->n[2], CHUNK); }

double sourced_add_seconds(const stn_task *task, const stn_machine *machine, int grids) {
    const double bytes = grids * (double)stn_task_points(task) * (double)stn_dtype_size(sourced_own_type(task));
    const double blocks = (double)(rows_of(task) * stn_div_up(task->n[2], CHUNK));
    return fmax(bytes / machine->copy_bandwidth, BLOCK_CYCLES * blocks / (machine->multiprocessors * machine->clock)) +
           machine->launch_seconds;
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
        stn_params_int(&params, "THREADS_X", THREADS);
        stn_params_int(&params, "HAS_GRID", operations[operation].grid);
        stn_params_int(&params, "HAS_SOURCE", operations[operation].source);
        STN_TRY(stn_kernel_make(plan->kernels, "sourced_add", &params, 0, &state->add[operation], error));
    }
    return STN_OK;
}

sourced_grid sourced_grid_at(const stn_grid_layout *layout, const void *at) {
    sourced_grid g = {.at = at, .batch = layout->batch};
    memcpy(g.stride, layout->stride, sizeof g.stride);
    return g;
}

sourced_grid sourced_own_grid(const sourced_job *job, int number) {
    const unsigned char *grids = job->execution->workspace;
    return sourced_grid_at(&job->state->packed, grids + (size_t)number * job->state->grid);
}

stn_status sourced_add(const sourced_job *job, sourced_operation operation, sourced_grid x, sourced_grid c,
                       sourced_grid out, stn_error *error) {
    const stn_task *task = &job->plan->task;
    add_arguments a = {.x = x, .c = c, .out = out, .chunks = stn_div_up(task->n[2], CHUNK)};
    for (int axis = 0; axis < 3; axis++) {
        const stn_boundary *sides = task->boundary[axis];
        a.n[axis] = task->n[axis];
        a.live_low[axis] = sides[0].kind == STN_FIXED ? task->reach[axis][0] : 0;
        a.live_high[axis] = task->n[axis] - (sides[1].kind == STN_FIXED ? task->reach[axis][1] : 0);
    }
    return stn_kernel_launch(job->state->add[operation], rows_of(task) * a.chunks, THREADS, 0, &a,
                             job->execution->stream, error);
}
