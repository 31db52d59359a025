/* fft_warp, transforms of one line per warp on tensor cores; see fft_warp_kernel.h and the kernel
 * template. */
#include "strategies/fft/fft_warp_kernel.h"

#include <math.h>

#include "base/arith.h"
#include "context/kernel.h"
#include "render/render.h"

#define STAGES 2 /* lines per warp in shared memory */

/* Tuned on an H200: more warps, or more prefetched lines per warp, access memory in a worse
 * order. */
typedef struct warp_shape {
    int64_t length;
    int warps, blocks;
} warp_shape;
static const warp_shape shapes[] = {{256, 4, 6}, {512, 4, 4}, {1024, 1, 8}};

/* Measured on an H200: seconds before the first line and per wave; fraction of the copy
 * bandwidth. */
static const struct { double start, wave, memory; } rates = {3e-6, 1e-6, 0.925};

static const warp_shape *shape_of(const fft_pass *pass) {
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (shapes[i].length == pass->length) return &shapes[i];
    return NULL;
}

static size_t shared_bytes(const warp_shape *shape) {
    return (size_t)shape->warps * STAGES * (size_t)shape->length * 4;
}

/* Blocks of the launch: no more than are resident at once, since each first loads its twiddles. */
static int64_t grid_of(const fft_pass *pass, const warp_shape *shape, const stn_machine *machine) {
    return stn_min(stn_div_up(pass->loop[0].n, shape->warps), (int64_t)machine->multiprocessors * shape->blocks);
}

bool fft_warp_fits(const stn_fft *fft, const stn_machine *machine, const fft_pass *pass) {
    const warp_shape *shape = shape_of(pass);
    const fft_loop *lines = &pass->loop[0];
    return shape && machine->sm >= 80 && fft->dtype == STN_F16 && fft->alignment % 16 == 0 && pass->loops <= 1 &&
           pass->in_stride == 1 && pass->out_stride == 1 && lines->in % 4 == 0 && lines->out % 4 == 0 &&
           !pass->load_real && !pass->store_real && !pass->outer &&
           shared_bytes(shape) * (size_t)shape->blocks <= machine->shared_per_multiprocessor;
}

/* The arguments that fft_warp.cu declares. */
typedef struct warp_arguments {
    const void *in;
    void *out;
    const void *twiddles;
    int64_t in_line, out_line, lines;
    float scale;
} warp_arguments;

size_t fft_warp_shared(const fft_pass *pass) { return shared_bytes(shape_of(pass)); }

void fft_warp_params(const fft_pass *pass, stn_text *params) {
    const warp_shape *shape = shape_of(pass);
    stn_params_begin(params);
    stn_params_int(params, "WARPS", shape->warps);
    stn_params_int(params, "BLOCKS", shape->blocks);
    stn_params_int(params, "STAGES", STAGES);
    stn_params_int(params, "FFT_LENGTH", (int)pass->length);
    stn_params_int(params, "FFT_INVERSE", pass->inverse);
    stn_params_int(params, "FFT_SCALE", pass->scale != 1);
    stn_params_int(params, "EXPECTED_HEADER", sizeof(warp_arguments));
}

double fft_warp_seconds(const fft_pass *pass, const stn_machine *machine) {
    const warp_shape *shape = shape_of(pass);
    double points = (double)pass->loop[0].n * (double)pass->length;
    double waves = (double)stn_div_up(pass->loop[0].n, grid_of(pass, shape, machine) * shape->warps);
    double waiting = rates.start + rates.wave * waves, moving = 8 * points / (rates.memory * machine->copy_bandwidth);
    return fmax(waiting, moving) + machine->launch_seconds;
}

void fft_warp_twiddles(const fft_pass *pass, float *to) {
    const double turn = 6.283185307179586476925286766559;
    for (int64_t i = 0; i < pass->length; i++) {
        double angle = turn * (double)i / (double)pass->length;
        to[2 * i] = (float)cos(angle), to[2 * i + 1] = (float)-sin(angle);
    }
}

stn_status fft_warp_launch(const struct stn_kernel *kernel, const fft_pass *pass, const stn_machine *machine,
                           const void *from, void *to, const void *twiddles, void *stream, stn_error *error) {
    const warp_shape *shape = shape_of(pass);
    const fft_loop *lines = &pass->loop[0];
    warp_arguments arguments = {.in = from, .out = to, .twiddles = twiddles, .scale = (float)pass->scale};
    arguments.in_line = lines->in, arguments.out_line = lines->out, arguments.lines = lines->n;
    return stn_kernel_launch(kernel, grid_of(pass, shape, machine), 32 * shape->warps, shared_bytes(shape), &arguments,
                             stream, error);
}
