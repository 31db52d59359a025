/* The kernels of kernel_templates/layer: parameters and launches; see cublas_kernels.h. */
#include "strategies/cublas/cublas_kernels.h"

#include <stddef.h>

#include "base/arith.h"
#include "base/error.h"
#include "render/render.h"

enum { SIDE = 32, STEP = 8, WIDE = 64, LINES_AT_ONCE = 4, MAX_BLOCKS = 1 << 20 };

/* The arguments that layer_gather.cu and layer_scatter.cu declare. */
typedef struct tile_arguments {
    const void *from;
    void *to;
    int64_t rows, row_tiles, column_tiles;
    cublas_axes axes;
} tile_arguments;

/* The arguments that layer_pad.cu declares. */
typedef struct pad_arguments {
    void *data;
    int64_t rows, length, kept, n;
} pad_arguments;

cublas_axes cublas_axes_of(const stn_layer *layer) {
    cublas_axes a;
    for (int axis = 0; axis < 3; axis++) {
        a.n[axis] = (int)layer->n[axis];
        a.modes[axis] = (int)layer->modes[axis];
        a.first[axis] = (int)layer->lowest[axis];
    }
    a.length = (int)(layer->real ? layer->n[2] / 2 + 1 : layer->n[2]);
    a.spectrum = (int)stn_layer_spectrum(layer);
    a.kept = (int)stn_layer_modes(layer);
    return a;
}

cublas_axes cublas_axes_whole(int64_t modes) {
    const int m = (int)modes;
    return (cublas_axes){.n = {1, 1, m}, .modes = {1, 1, m}, .length = m, .spectrum = m, .kept = m};
}

/* ---- building */

static const struct {
    const char *name;
    size_t header;
} templates[] = {[CUBLAS_GATHER] = {"layer_gather", sizeof(tile_arguments)},
                 [CUBLAS_SCATTER] = {"layer_scatter", sizeof(tile_arguments)},
                 [CUBLAS_PAD] = {"layer_pad", sizeof(pad_arguments)},
                 [CUBLAS_FINISH] = {"layer_finish", sizeof(cublas_finish_arguments)},
                 [CUBLAS_SUMS] = {"layer_sums", sizeof(cublas_sums_arguments)}};

stn_status cublas_kernel(stn_plan *plan, cublas_template of, const cublas_words *words, stn_kernel **kernel,
                         stn_error *error) {
    static const char *const stored[] = {"double", "float", "unsigned short"}; /* by stn_dtype */
    const bool wide = words->from == STN_F64;
    stn_text params = STN_TEXT_EMPTY;
    stn_params_begin(&params);
    stn_params_type(&params, "STORE", stored[words->to]);
    stn_params_type(&params, "SCALE_FROM", stored[words->from]);
    stn_params_type(&params, "SCALE_TO", stored[words->to]);
    stn_params_type(&params, "REAL", wide ? "double" : "float");
    stn_params_int(&params, "LAYER_HALF", words->half);
    stn_params_int(&params, "LAYER_DOUBLED", words->doubled);
    stn_params_int(&params, "LAYER_CONJUGATE", words->conjugate);
    stn_params_int(&params, "LAYER_PARTS", words->parts);
    stn_params_int(&params, "LAYER_ADD", words->add);
    stn_params_int(&params, "LAYER_BIAS", words->bias);
    stn_params_int(&params, "LAYER_ACTIVATION", words->activation);
    stn_params_int(&params, "EXPECTED_HEADER", (int64_t)templates[of].header);
    return stn_kernel_make(plan->kernels, templates[of].name, &params, 0, kernel, error);
}

/* ---- launching */

/* If there is more work than MAX_BLOCKS blocks, blocks loop. */
static stn_status launch(const stn_kernel *kernel, int64_t blocks, unsigned x, unsigned y, void *arguments,
                         void *stream, stn_error *error) {
    stn_launch how = {.grid = {(unsigned)stn_min(blocks, MAX_BLOCKS), 1, 1}, .block = {x, y, 1}, .stream = stream};
    return stn_module_launch(kernel->module, &how, arguments, error);
}

/* A block keeps its column of tiles; BUSY blocks suffice to use the whole GPU. */
static stn_status launch_tiles(const stn_kernel *kernel, const void *from, void *to, int64_t rows, int64_t along,
                               const cublas_axes *axes, void *stream, stn_error *error) {
    enum { BUSY = 1 << 12 };
    tile_arguments a = {.from = from, .to = to, .rows = rows, .column_tiles = stn_div_up(along, SIDE), .axes = *axes};
    a.row_tiles = stn_div_up(rows, SIDE);
    const int64_t blocks = a.column_tiles * stn_min(a.row_tiles, stn_div_up(BUSY, a.column_tiles));
    stn_launch how = {.grid = {(unsigned)blocks, 1, 1}, .block = {SIDE, STEP, 1}, .stream = stream};
    return stn_module_launch(kernel->module, &how, &a, error);
}

stn_status cublas_gather(const stn_kernel *kernel, const void *from, void *to, int64_t rows, const cublas_axes *axes,
                         void *stream, stn_error *error) {
    return launch_tiles(kernel, from, to, rows, axes->kept, axes, stream, error);
}

stn_status cublas_scatter(const stn_kernel *kernel, const void *from, void *to, int64_t rows, const cublas_axes *axes,
                          void *stream, stn_error *error) {
    return launch_tiles(kernel, from, to, rows, axes->spectrum, axes, stream, error);
}

stn_status cublas_pad(const stn_kernel *kernel, void *data, int64_t rows, const cublas_axes *axes, void *stream,
                      stn_error *error) {
    pad_arguments a = {data, rows, axes->length, axes->kept, axes->n[2]};
    return launch(kernel, stn_div_up(rows, STEP), SIDE, STEP, &a, stream, error);
}

stn_status cublas_finish(const stn_kernel *kernel, const cublas_finish_arguments *what, void *stream,
                         stn_error *error) {
    cublas_finish_arguments a = *what;
    return launch(kernel, stn_div_up(a.all, LINES_AT_ONCE), WIDE, LINES_AT_ONCE, &a, stream, error);
}

stn_status cublas_move(const stn_kernel *kernel, const void *from, void *to, int64_t lines, int64_t length,
                       void *stream, stn_error *error) {
    const cublas_finish_arguments a = {
        .from = from, .to = to, .all = lines, .lines = 1, .channels = 1, .length = length, .pitch = length};
    return cublas_finish(kernel, &a, stream, error);
}

stn_status cublas_sums(const stn_kernel *kernel, const cublas_sums_arguments *what, void *stream, stn_error *error) {
    cublas_sums_arguments a = *what;
    stn_launch how = {
        .grid = {(unsigned)stn_div_up(a.outputs, SIDE), 1, 1}, .block = {SIDE, STEP, 1}, .stream = stream};
    return stn_module_launch(kernel->module, &how, &a, error);
}
