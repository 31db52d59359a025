/* Launches that alternate between two grids. The strategy divides the T steps into launches, and
 * gives their number. */
#include "strategies/common/ping_pong.h"

#include "base/error.h"
#include "context/context.h"

static bool begins_with_copy(const stn_task *task, uint64_t launches) { return task->in_place && launches % 2; }

void stn_ping_pong_add_copy(const stn_task *task, const stn_machine *machine, double launches, stn_estimate *e) {
    const double bytes = 2 * (double)stn_dtype_size(task->dtype) * (double)stn_task_points(task);
    if (!begins_with_copy(task, (uint64_t)launches)) return;
    e->bytes += bytes;
    e->seconds += bytes / machine->copy_bandwidth + machine->launch_seconds;
}

/* Before launch i > 0 the grid is in `out` or the workspace, where launch i - 1 left it; before
 * launch 0 it is the caller's input. In place with an odd number of launches, the first one would
 * read what it writes, so launch 0 starts from a copy. */
stn_status stn_ping_pong_run(const stn_plan *plan, const stn_layouts *at, uint64_t launches, stn_part part,
                             const stn_execution *run, stn_ping_pong_launch launch, stn_error *error) {
    const void *in = run->in;
    void *out = run->out, *workspace = run->workspace, *stream = run->stream;
    stn_fused_launch l = {.from = &at->in, .in = in, .stream = stream};
    l.margins = workspace ? (unsigned char *)workspace + stn_grid_bytes(at) : NULL;
    if (part.first == 0 && begins_with_copy(&plan->task, launches)) {
        STN_TRY(stn_device_copy(plan->context->device, workspace, in, at->work_bytes, stream, error));
        l.from = &at->work, l.in = workspace;
    }
    for (uint64_t i = part.first; i < part.first + part.count; i++) {
        bool to_out = (launches - 1 - i) % 2 == 0;
        if (i > 0) {
            l.from = to_out ? &at->work : &at->out;
            l.in = to_out ? workspace : out;
        }
        l.to = to_out ? &at->out : &at->work;
        l.out = to_out ? out : workspace;
        l.follows = i > part.first;
        STN_TRY(launch(plan, i, &l, error));
    }
    return STN_OK;
}
