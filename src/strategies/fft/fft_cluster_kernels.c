/* fft_image and fft_long, transforms in clusters of blocks; see fft_cluster_kernels.h and their
 * kernel templates. */
#include "strategies/fft/fft_cluster_kernels.h"

#include <math.h>

#include "base/arith.h"
#include "context/kernel.h"
#include "render/render.h"

/* Tuned on an H200: with smaller blocks, some blocks hide the latency of others. Blocks of both
 * kernels hold POINTS points in SHARED bytes; those of fft_long also hold 16 x 16 twiddle factors,
 * in rows of 20: ROOTS bytes. */
enum { SIDE = 256, LINES = 16, CLUSTER = 8, WARPS = 4, BLOCKS = 6, POINTS = 8192, SHARED = 4 * POINTS };
enum { ROOTS = 16 * 20 * 8 };

/* Measured on an H200: seconds before the first block computes and per wave of blocks; fractions of
 * the copy bandwidth for images, for lines, and for lines with twiddle factors between passes. */
static const struct { double start, wave, image, line, outer; } rates = {5e-6, 3e-6, 0.74, 0.68, 0.6};

static bool serves(const stn_fft *fft, const stn_machine *machine) {
    return machine->sm >= 90 && fft->dtype == STN_F16 && fft->alignment % 16 == 0 &&
           machine->shared_per_multiprocessor >= (size_t)(SHARED + ROOTS) * BLOCKS;
}

/* ---- images */

/* Whether the rows of a side can be accessed 16 bytes at a time. */
static bool aligned(const stn_fft *fft, const stn_fft_side *side) {
    return side->stride[2] == 1 && side->stride[1] % 4 == 0 && (fft->batch == 1 || side->batch_stride % 4 == 0);
}

bool fft_cluster_image(const stn_fft *fft, const stn_machine *machine, fft_passes *passes) {
    if (!serves(fft, machine) || fft->kind != STN_C2C || fft->rank != 2 || fft->scale <= 0) return false;
    if (fft->n[1] != SIDE || fft->n[2] != SIDE || fft->batch > INT32_MAX / CLUSTER) return false;
    if (!aligned(fft, &fft->in) || !aligned(fft, &fft->out)) return false;
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

/* The arguments that fft_image.cu declares. */
typedef struct image_arguments {
    const void *in;
    void *out;
    int64_t in_row, out_row, in_image, out_image;
    float share;
    int32_t unused;
} image_arguments;

static int64_t blocks_of(const fft_pass *pass) {
    const int64_t points = fft_times_loops(pass, pass->length, 0, 2);
    return points == INT64_MAX ? points : points / POINTS;
}

static stn_launch launch_of(const fft_pass *pass, void *stream) {
    return (stn_launch){.grid = {(unsigned)blocks_of(pass), 1, 1},
                        .block = {32 * WARPS, 1, 1},
                        .shared = fft_cluster_shared(pass),
                        .stream = stream,
                        .cluster = CLUSTER};
}

stn_status fft_image_launch(const struct stn_kernel *kernel, const fft_pass *pass, const void *from, void *to,
                            void *stream, stn_error *error) {
    image_arguments a = {.in = from, .out = to, .share = (float)sqrt(pass->scale)};
    a.in_row = pass->in_stride, a.out_row = pass->out_stride;
    a.in_image = pass->loop[0].in, a.out_image = pass->loop[0].out;
    stn_launch how = launch_of(pass, stream);
    return stn_module_launch(kernel->module, &how, &a, error);
}

/* ---- long lines */

bool fft_cluster_long(const stn_fft *fft, const stn_machine *machine, const fft_pass *pass) {
    const fft_loop *lines = &pass->loop[0], *batch = &pass->loop[1];
    if (!serves(fft, machine) || pass->length != FFT_CLUSTER_LINE || pass->only_real) return false;
    if (pass->load_real || pass->store_real || pass->scale <= 0 || pass->loop[2].n > 1) return false;
    if (lines->n % LINES || lines->out != 1 || pass->out_stride % 4 || batch->in % 4 || batch->out % 4) return false;
    if (blocks_of(pass) > INT32_MAX) return false;
    if (pass->outer)
        return pass->outer_loop == 0 && pass->outer <= INT64_C(1) << 32 && !(pass->outer & (pass->outer - 1)) &&
               lines->in == 1 && pass->in_stride % 4 == 0;
    return pass->in_stride == 1 && lines->in % 4 == 0;
}

/* The arguments that fft_long.cu declares. */
typedef struct long_arguments {
    const void *in;
    void *out;
    int64_t in_stride, out_stride, in_line, in_batch, out_batch;
    uint32_t tiles, outer;
    float share;
    int32_t unused;
} long_arguments;

stn_status fft_long_launch(const struct stn_kernel *kernel, const fft_pass *pass, const void *from, void *to,
                           void *stream, stn_error *error) {
    long_arguments a = {.in = from, .out = to, .in_stride = pass->in_stride, .out_stride = pass->out_stride};
    a.in_line = pass->loop[0].in, a.in_batch = pass->loop[1].in, a.out_batch = pass->loop[1].out;
    a.tiles = (uint32_t)(pass->loop[0].n / LINES);
    a.outer = pass->outer ? (uint32_t)((INT64_C(1) << 32) / pass->outer) : 0;
    a.share = (float)pow(pass->scale, pass->outer ? 1.0 / 3 : 1.0 / 2);
    stn_launch how = launch_of(pass, stream);
    return stn_module_launch(kernel->module, &how, &a, error);
}

/* ---- both kernels */

size_t fft_cluster_shared(const fft_pass *pass) { return pass->length == FFT_CLUSTER_LINE ? SHARED + ROOTS : SHARED; }

void fft_cluster_params(const fft_pass *pass, stn_text *params) {
    stn_params_begin(params);
    stn_params_int(params, "WARPS", WARPS);
    stn_params_int(params, "BLOCKS", BLOCKS);
    stn_params_int(params, "CLUSTER", CLUSTER);
    stn_params_int(params, "FFT_INVERSE", pass->inverse);
    stn_params_int(params, "FFT_OUTER", pass->outer != 0);
    stn_params_int(params, "EXPECTED_HEADER",
                   pass->length == FFT_CLUSTER_LINE ? sizeof(long_arguments) : sizeof(image_arguments));
}

double fft_cluster_seconds(const fft_pass *pass, const stn_machine *machine) {
    double blocks = (double)blocks_of(pass), part = pass->outer                        ? rates.outer
                                                    : pass->length == FFT_CLUSTER_LINE ? rates.line
                                                                                       : rates.image;
    double waves = ceil(blocks / ((double)machine->multiprocessors * BLOCKS));
    double waiting = rates.start + rates.wave * waves, moving = 8 * blocks * POINTS / (part * machine->copy_bandwidth);
    return fmax(waiting, moving) + machine->launch_seconds;
}
