/* Cost model of the passes by fft_line, fft_shared and fft_real. */
#include "strategies/fft/fft_cost_model.h"

#include <math.h>

/* Measured on an H200; the fractions of the copy bandwidth are in fft_radices.c and
 * fft_line_kernel.c. */
static const struct {
    double first_wait, instructions; /* seconds until the first blocks compute; per point */
    double real;                     /* fft_real: fraction of the copy bandwidth */
    /* fft_shared: seconds until the first blocks compute; per wave */
    double shared_wait, shared_wave;
} rates = {1.5e-6, 40, 0.8, 3e-6, 2e-6};

double fft_pass_bytes(const fft_pass *pass, stn_dtype dtype) {
    double lines = (double)pass->loop[0].n * (double)pass->loop[1].n * (double)pass->loop[2].n;
    return lines * (double)(2 * pass->length + pass->load_real + pass->store_real) * 2 * (double)stn_dtype_size(dtype);
}

/* The first blocks wait for memory; then all blocks compute, in as many waves as needed. */
double fft_line_seconds(const fft_pass *pass, const fft_line_shape *shape, stn_dtype dtype,
                        const stn_machine *machine) {
    double blocks = (double)fft_line_blocks(pass, shape), each = ceil(blocks / machine->multiprocessors);
    double resident = fmin(each, shape->blocks), waves = ceil(each / resident);
    double points = resident * shape->lines * shape->length; /* on a multiprocessor */
    double waiting = rates.first_wait + waves * points * rates.instructions / machine->lanes / machine->clock;
    double moving = fft_pass_bytes(pass, dtype) / (machine->copy_bandwidth * fft_line_bandwidth(pass, shape, dtype));
    return fmax(waiting, moving) + machine->launch_seconds;
}

double fft_shared_seconds(const fft_pass *pass, const stn_shared_fft *shape, stn_dtype dtype,
                          const stn_machine *machine) {
    double waves = ceil((double)fft_shared_blocks(pass, shape) / machine->multiprocessors / shape->blocks);
    double moving = fft_pass_bytes(pass, dtype) / (machine->copy_bandwidth * fft_shared_bandwidth(pass, shape, dtype));
    return fmax(rates.shared_wait + rates.shared_wave * waves, moving) + machine->launch_seconds;
}

double fft_real_seconds(const fft_pass *pass, stn_dtype dtype, const stn_machine *machine) {
    return fft_pass_bytes(pass, dtype) / (rates.real * machine->copy_bandwidth) + machine->launch_seconds;
}
