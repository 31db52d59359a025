/* fft_real, conversion of half spectra; see fft_real_kernel.h and the kernel template for the
 * formula. */
#include "strategies/fft/fft_real_kernel.h"

#include "base/arith.h"
#include "context/kernel.h"
#include "render/render.h"
#include "strategies/common/twiddles.h"
#include "strategies/fft/fft_line_kernel.h"

enum { THREADS = 256 };

/* The arguments that fft_real.cu declares. */
typedef struct real_arguments {
    const void *in;
    void *out;
    const void *twiddles;
    int64_t n, in_line[3], out_line[3];
    uint32_t tiles, lines, rows, unused;
} real_arguments;

static int64_t tiles_of(const fft_pass *pass) { return stn_div_up(pass->length / 2 + 1, THREADS); }

int64_t fft_real_blocks(const fft_pass *pass) { return fft_times_loops(pass, tiles_of(pass), 0, 3); }

#define BANDWIDTH 0.8 /* fraction of the copy bandwidth, measured on an H200 */

double fft_real_seconds(const fft_pass *pass, stn_dtype dtype, const stn_machine *machine) {
    return fft_pass_bytes(pass, dtype) / (BANDWIDTH * machine->copy_bandwidth) + machine->launch_seconds;
}

size_t fft_real_twiddles(const fft_pass *pass, stn_dtype dtype, void *to) {
    return stn_twiddle_tables(2 * pass->length, pass->length, dtype, to);
}

void fft_real_params(const fft_pass *pass, stn_dtype dtype, stn_text *params) {
    stn_params_begin_for(params, dtype);
    stn_params_int(params, "THREADS_X", THREADS);
    stn_params_int(params, "FFT_OUTER_LOW", stn_twiddle_low(2 * pass->length));
    stn_params_int(params, "FFT_LOAD_REAL", pass->load_real);
    stn_params_int(params, "FFT_STORE_REAL", pass->store_real);
    stn_params_int(params, "EXPECTED_HEADER", sizeof(real_arguments));
}

stn_status fft_real_launch(const struct stn_kernel *kernel, const fft_pass *pass, const void *from, void *to,
                           const void *twiddles, void *stream, stn_error *error) {
    real_arguments a = {.in = from, .out = to, .twiddles = twiddles, .n = pass->length};
    for (int k = 0; k < 3; k++) a.in_line[k] = pass->loop[k].in, a.out_line[k] = pass->loop[k].out;
    a.tiles = (uint32_t)tiles_of(pass), a.lines = (uint32_t)pass->loop[0].n, a.rows = (uint32_t)pass->loop[1].n;
    return stn_kernel_launch(kernel, fft_real_blocks(pass), THREADS, 0, &a, stream, error);
}
