/* See fft_cluster.h, and kernel_templates/fft_image.cu for how it works. */
#include "strategies/fft_cluster.h"

#include <math.h>

#include "base/arith.h"
#include "context/kernel.h"
#include "render/render.h"

/* Found by timing on an H200: the smaller the blocks, the better some hide what others wait for. */
enum { SIDE = 256, CLUSTER = 8, WARPS = 4, BLOCKS = 6, SHARED = SIDE * SIDE * 4 / CLUSTER };

/* Are its rows read, or written, 16 bytes at a time? */
static bool aligned(const stn_fft *fft, const stn_fft_side *side) {
    return side->stride[2] == 1 && side->stride[1] % 4 == 0 && (fft->batch == 1 || side->batch_stride % 4 == 0);
}

bool fft_cluster_image(const stn_fft *fft, const stn_machine *machine, fft_passes *passes) {
    if (machine->sm < 90 || fft->dtype != STN_F16 || fft->kind != STN_C2C || fft->alignment % 16 != 0) return false;
    if (fft->rank != 2 || fft->n[1] != SIDE || fft->n[2] != SIDE || fft->scale <= 0) return false;
    if (!aligned(fft, &fft->in) || !aligned(fft, &fft->out)) return false;
    if (fft->batch > INT32_MAX / CLUSTER || machine->shared_per_multiprocessor < (size_t)SHARED * BLOCKS) return false;
    *passes = (fft_passes){.count = 1};
    passes->pass[0] =
        (fft_pass){.from = FFT_IN,
                   .to = FFT_OUT,
                   .length = SIDE * SIDE,
                   .in_stride = fft->in.stride[1],
                   .out_stride = fft->out.stride[1],
                   .loop = {{fft->batch, fft->in.batch_stride, fft->out.batch_stride}, {1, 0, 0}, {1, 0, 0}},
                   .loops = 1,
                   .inverse = fft->inverse,
                   .scale = fft->scale};
    return true;
}

void fft_cluster_params(stn_text *params) {
    stn_params_begin(params);
    stn_params_int(params, "WARPS", WARPS);
    stn_params_int(params, "BLOCKS", BLOCKS);
    stn_params_int(params, "CLUSTER", CLUSTER);
}

double fft_cluster_seconds(const fft_pass *pass, const stn_machine *machine) {
    double images = (double)pass->loop[0].n, points = images * (double)pass->length;
    double turns = ceil(images * CLUSTER / ((double)machine->multiprocessors * BLOCKS));
    double waiting = 5e-6 + 3e-6 * turns, moving = 8 * points / (0.65 * machine->copy_bandwidth);
    return fmax(waiting, moving) + machine->launch_seconds;
}

size_t fft_cluster_roots(const fft_pass *pass, float *to) {
    const double turn = 6.283185307179586476925286766559 / SIDE;
    for (int i = 0; to && i < SIDE; i++) {
        to[2 * i] = (float)cos(turn * i);
        to[2 * i + 1] = (float)(pass->inverse ? sin(turn * i) : -sin(turn * i));
    }
    return SIDE;
}

/* As fft_image.cu declares them. */
typedef struct image_arguments {
    const void *in;
    void *out;
    const void *roots;
    int64_t in_row, out_row, in_image, out_image;
    float share;
    int32_t unused;
} image_arguments;

stn_status fft_cluster_launch(const struct stn_kernel *kernel, const fft_pass *pass, const void *from, void *to,
                              const void *roots, void *stream, stn_error *error) {
    image_arguments a = {.in = from, .out = to, .roots = roots, .share = (float)sqrt(pass->scale)};
    a.in_row = pass->in_stride, a.out_row = pass->out_stride;
    a.in_image = pass->loop[0].in, a.out_image = pass->loop[0].out;
    stn_launch how = {.grid = {(unsigned)(pass->loop[0].n * CLUSTER), 1, 1}, .block = {32 * WARPS, 1, 1}};
    how.shared = SHARED, how.stream = stream, how.cluster = CLUSTER;
    return stn_module_launch(kernel->module, &how, &a, error);
}
