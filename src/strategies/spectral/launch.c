/* Helpers shared by all kernels of rows and columns: the parameters of an extended line, and a
 * launch. */
#include "context/kernel.h"
#include "render/render.h"
#include "strategies/spectral/passes.h"

void spectral_extension_params(const stn_extension *e, stn_text *params) {
    stn_params_int(params, "EXTEND_REPEATS", e->repeats);
    stn_params_int(params, "EXTEND_LOW", e->beyond[0]);
    stn_params_int(params, "EXTEND_LOW_SIGN", e->sign[0]);
    stn_params_int(params, "EXTEND_HIGH", e->beyond[1]);
    stn_params_int(params, "EXTEND_HIGH_SIGN", e->sign[1]);
    stn_params_int(params, "LINE_WHOLE", e->whole);
}

stn_status spectral_launch(const stn_plan *plan, const spectral_state *state, int axis, const stn_kernel *kernel,
                           int64_t blocks, void *arguments, void *stream, stn_error *error) {
    const stn_ladder *line = &state->shape.line[axis];
    stn_launch how = {.grid = {(unsigned)blocks, 1, 1}, .stream = stream};
    how.block[0] = (unsigned)(line->threads * line->lines);
    how.block[1] = how.block[2] = 1;
    how.grid[0] *= (unsigned)line->shares;
    if (line->shares > 1) how.cluster = (unsigned)line->shares;
    how.shared = stn_ladder_shared(line, spectral_wide(&plan->task));
    return stn_module_launch(kernel->module, &how, arguments, error);
}
