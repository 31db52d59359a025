/* See line_kernels.h. */
#include "strategies/modes/line_kernels.h"

#include <stdlib.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "render/render.h"

size_t modes_line_shared(const modes_lines *made, const modes_linear *l, int pass) {
    const size_t fft = stn_shared_fft_bytes(&made->line[pass], modes_is_f64(l));
    if (pass != MODES_POWER) return fft;
    return fft + (size_t)(made->columns * (int)stn_max(1, made->power.shape.slots)) * sizeof(modes_value);
}

static stn_status make_kernel(stn_plan *plan, const modes_linear *l, const modes_line_kernels *kernels, int pass,
                              const stn_text *symbols, modes_lines *made, stn_error *error) {
    stn_text params = STN_TEXT_EMPTY;
    stn_params_begin(&params);
    stn_params_type(&params, "REAL", modes_is_f64(l) ? "double" : "float");
    modes_render_fields(l, &params);
    stn_params_int(&params, "MODES_PASS", pass);
    stn_params_int(&params, "MODES_COLUMNS", pass == MODES_POWER ? made->columns : 1);
    stn_shared_fft_params(&made->line[pass], &params);
    stn_params_int(&params, "EXPECTED_HEADER",
                   (int64_t)(kernels->arguments + (size_t)stn_max(made->power.nvalues, 1) * sizeof(modes_value)));
    stn_text_append(&params, symbols->data, symbols->size);
    return stn_kernel_make(plan->kernels, kernels->name, &params, modes_line_shared(made, l, pass), &made->kernel[pass],
                           error);
}

static stn_status make_tables(const stn_plan *plan, const modes_linear *l, int half, modes_lines *made,
                              stn_error *error) {
    const bool wide = modes_is_f64(l);
    size_t bytes = 0;
    for (int pass = 0; pass < MODES_LINES_PASSES; pass++) {
        made->twiddles[pass] = bytes;
        bytes += (size_t)stn_round_up((int64_t)stn_shared_fft_twiddles(&made->line[pass], wide, NULL), 16);
    }
    made->half_twiddles = bytes;
    bytes += stn_shared_fft_half_twiddles(&made->line[half], wide, NULL);
    char *tables = malloc(bytes);
    if (!tables) return stn_fail_memory(error, "the tables of a plan", bytes);
    for (int pass = 0; pass < MODES_LINES_PASSES; pass++)
        (void)stn_shared_fft_twiddles(&made->line[pass], wide, tables + made->twiddles[pass]);
    (void)stn_shared_fft_half_twiddles(&made->line[half], wide, tables + made->half_twiddles);
    stn_status status = stn_device_replace(plan->context->device, &made->tables, 0, tables, bytes, error);
    free(tables);
    return status;
}

stn_status modes_line_kernels_make(stn_plan *plan, const modes_linear *l, const modes_line_kernels *kernels,
                                   modes_lines *made, stn_error *error) {
    stn_text symbols = STN_TEXT_EMPTY;
    stn_status status = modes_power_symbols(plan, l, kernels->term_axis, &made->power, &symbols, error);
    for (int pass = 0; pass < MODES_LINES_PASSES && status == STN_OK; pass++)
        if (made->line[pass].points) status = make_kernel(plan, l, kernels, pass, &symbols, made, error);
    if (status == STN_OK && plan->machine.present) status = make_tables(plan, l, kernels->half, made, error);
    stn_text_clear(&symbols);
    return status;
}

stn_status modes_line_no_room(stn_error *error) {
    return stn_fail(error, STN_ERROR_UNSUPPORTED, "a block has no room for lines of these grids");
}

void modes_lines_clear(const stn_plan *plan, modes_lines *made) {
    modes_power_clear(plan, &made->power);
    stn_device_free(plan->context->device, made->tables);
    made->tables = NULL;
}
