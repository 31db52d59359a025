/* See turns.h. */
#include "strategies/turns.h"

#include "base/error.h"
#include "context/context.h"

stn_status stn_take_turns(const stn_plan *plan, const stn_layouts *at, uint64_t launches, const void *in, void *out,
                          void *workspace, void *stream, stn_turn turn, const void *user, stn_error *error) {
    stn_fused_launch l = {.from = &at->in, .in = in, .stream = stream};
    if (plan->task.in_place && launches % 2) {
        STN_TRY(stn_device_copy(plan->context->device, workspace, in, at->work_bytes, stream, error));
        l.from = &at->work, l.in = workspace;
    }
    for (uint64_t i = 0; i < launches; i++) {
        bool to_out = (launches - 1 - i) % 2 == 0;
        l.to = to_out ? &at->out : &at->work;
        l.out = to_out ? out : workspace;
        STN_TRY(turn(plan, user, i, &l, error));
        l.from = l.to, l.in = l.out;
    }
    return STN_OK;
}
