/* Parameters and launches of fno_line and fno_split; see fno_pass.h. */
#include "strategies/fno/fno_pass.h"

#include <string.h>

#include "base/arith.h"
#include "render/render.h"

/* The arguments that fno_line.cu declares; the scale follows in its arithmetic type. */
typedef struct line_arguments {
    const void *in;
    void *out;
    const void *weight, *bias, *added, *twiddles;
    fno_side from, to;
    int64_t weight_in, weight_out, items;
    int32_t inner, each, channels, outputs;
} line_arguments;

static void put_pass_params(const fno_pass *pass, fno_numbers numbers, stn_text *params) {
    stn_params_int(params, "FNO_FORWARD", pass->forward);
    stn_params_int(params, "FNO_PRODUCT", pass->product);
    stn_params_int(params, "FNO_BACK", pass->back);
    stn_params_int(params, "FNO_REAL", pass->real);
    stn_params_int(params, "FNO_MODES", pass->modes);
    stn_params_int(params, "FNO_LOW", pass->low);
    stn_params_int(params, "FNO_CONJUGATE", pass->conjugate);
    stn_params_int(params, "FNO_WEIGHT_PAIRS",
                   pass->product && pass->aligned && numbers.dtype == STN_F32 && pass->weight_out == 1 &&
                       pass->weight_in % 2 == 0);
    stn_params_int(params, "FNO_DOUBLED", pass->doubled);
    stn_params_int(params, "FNO_BIAS", pass->bias);
    stn_params_int(params, "FNO_ADDED", pass->added);
    stn_params_int(params, "FNO_ACTIVATION",
                   pass->activation == STN_ACTIVATION_GELU   ? 1
                   : pass->activation == STN_ACTIVATION_RELU ? 2
                                                             : 0);
}

/* Whether each pair of channels of a mode is aligned to its size. */
static bool pairs_are_aligned(const fno_side *side, int64_t channels) {
    return (side->outer | side->inner | side->stride | channels) % 2 == 0;
}

static void put_shape_params(const fno_pass *pass, const fno_line_shape *shape, stn_text *params) {
    stn_shared_fft_params(&shape->line, params);
    stn_params_int(params, "FNO_GROUPS", shape->groups);
    stn_params_int(params, "FNO_HELD", shape->held);
    stn_params_int(params, "FNO_WHOLE", shape->whole);
    stn_params_int(params, "WARPS_M", pass->product ? shape->warps[0] : 1);
    stn_params_int(params, "WARPS_N", pass->product ? shape->warps[1] : 1);
    stn_params_int(params, "TILES_M", pass->product ? shape->tiles[0] : 1);
    stn_params_int(params, "TILES_N", pass->product ? shape->tiles[1] : 1);
}

void fno_pass_params(const fno_pass *pass, fno_numbers numbers, stn_text *params) {
    static const char *const store[] = {"double", "float", "unsigned short"}; /* by stn_dtype */
    const char *real = fno_wide(numbers) ? "double" : "float";
    stn_params_begin_for(params, numbers.dtype);
    put_pass_params(pass, numbers, params);
    stn_params_type(params, "FNO_FROM", pass->in_is_dtype ? store[numbers.dtype] : real);
    stn_params_type(params, "FNO_TO", pass->out_is_dtype ? store[numbers.dtype] : real);
    stn_params_type(params, "FNO_FACTOR", fno_factor(numbers));
    stn_params_int(params, "FNO_PARTS", numbers.parts);
    stn_params_int(params, "FNO_CHUNKS_IN", !pass->forward && pairs_are_aligned(&pass->in, pass->channels));
    stn_params_int(params, "FNO_CHUNKS_OUT", !pass->back && pairs_are_aligned(&pass->out, pass->outputs));
    stn_params_int(params, "EXPECTED_HEADER", sizeof(line_arguments));
}

stn_status fno_pass_prepare(stn_kernel_set *kernels, const fno_pass *pass, fno_numbers numbers,
                            const fno_line_shape *shape, stn_kernel **kernel, stn_error *error) {
    stn_text params = STN_TEXT_EMPTY;
    fno_pass_params(pass, numbers, &params);
    put_shape_params(pass, shape, &params);
    return stn_kernel_make(kernels, shape->mixers ? "fno_split" : "fno_line", &params,
                           fno_line_shared(pass, numbers, shape), kernel, error);
}

stn_status fno_pass_launch_as(const stn_kernel *kernel, const fno_pass *pass, fno_numbers numbers, fno_blocks blocks,
                              const fno_pointers *at, void *stream, stn_error *error) {
    line_arguments a = {.in = at->in, .out = at->out, .weight = at->weights, .bias = at->bias, .added = at->out};
    a.twiddles = at->twiddles, a.from = pass->in, a.to = pass->out;
    a.weight_in = pass->weight_in, a.weight_out = pass->weight_out, a.items = pass->items;
    a.inner = (int32_t)pass->inner, a.each = (int32_t)blocks.each;
    a.channels = (int32_t)pass->channels, a.outputs = (int32_t)pass->outputs;
    _Alignas(16) unsigned char arguments[sizeof a + sizeof(double)];
    memcpy(arguments, &a, sizeof a);
    stn_put_real(numbers.dtype, pass->scale, arguments + sizeof a);
    return stn_kernel_launch(kernel, blocks.count, blocks.threads, blocks.shared, arguments, stream, error);
}

stn_status fno_pass_launch(const stn_kernel *kernel, const fno_pass *pass, fno_numbers numbers,
                           const fno_line_shape *shape, const stn_machine *machine, const fno_pointers *at,
                           void *stream, stn_error *error) {
    fno_blocks blocks = {.threads = shape->threads, .shared = fno_line_shared(pass, numbers, shape)};
    blocks.count = fno_line_blocks(pass, shape, machine, &blocks.each);
    return fno_pass_launch_as(kernel, pass, numbers, blocks, at, stream, error);
}
