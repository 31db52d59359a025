/* Validation and canonicalisation of a Fourier layer (stn_spectral_conv to stn_layer), its sizes,
 * and its description as text and JSON. */
#include "problem/fourier_layer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "base/versioned_struct.h"

static stn_status canonical_options(const stn_spectral_conv *g, stn_layer *layer, stn_error *error) {
    if (g->rank < 1 || g->rank > STN_MAX_RANK)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the layer's rank is %d: it can have 1 to %d axes", g->rank,
                        STN_MAX_RANK);
    if (g->mode_choice != STN_MODES_BOTH_SIGNS && g->mode_choice != STN_MODES_LOW)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the layer's mode_choice %d is unknown: use STN_MODES_BOTH_SIGNS or STN_MODES_LOW",
                        (int)g->mode_choice);
    if (g->activation < STN_ACTIVATION_NONE || g->activation > STN_ACTIVATION_RELU)
        return stn_fail(
            error, STN_ERROR_INVALID_ARGUMENT,
            "the layer's activation %d is unknown: use STN_ACTIVATION_NONE, STN_ACTIVATION_GELU or STN_ACTIVATION_RELU",
            (int)g->activation);
    if (g->pass < STN_PASS_FORWARD || g->pass > STN_PASS_BACKWARD_WEIGHTS)
        return stn_fail(
            error, STN_ERROR_INVALID_ARGUMENT,
            "the layer's pass %d is unknown: use STN_PASS_FORWARD, STN_PASS_BACKWARD_X or STN_PASS_BACKWARD_WEIGHTS",
            (int)g->pass);
    if (g->activation != STN_ACTIVATION_NONE && g->pass != STN_PASS_FORWARD)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "a backward pass has an activation: give it the gradient of what the activation is applied to, "
                        "and STN_ACTIVATION_NONE");
    if (!stn_dtype_size(g->dtype))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the layer's dtype %d is unknown: use STN_F64, STN_F32 or STN_F16", (int)g->dtype);
    if (!(g->tolerance >= 0) || !isfinite(g->tolerance))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the layer's tolerance is %g: give a relative error of 0 or more", g->tolerance);
    layer->rank = g->rank;
    layer->real = !g->complex_data;
    layer->shared = g->shared_weights != 0;
    layer->has_bias = g->has_bias != 0, layer->has_skip = g->has_skip != 0;
    layer->activation = g->activation, layer->pass = g->pass;
    layer->dtype = g->dtype, layer->tolerance = g->tolerance;
    return STN_OK;
}

static stn_status canonical_alignment(const stn_spectral_conv *g, stn_layer *layer, stn_error *error) {
    int least = 2 * (int)stn_dtype_size(g->dtype), alignment = g->alignment ? g->alignment : 16;
    if (alignment < least || alignment > 4096 || (alignment & (alignment - 1)))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the layer's alignment is %d bytes: it must be a power of two from %d (one complex %s) to 4096",
                        alignment, least, stn_dtype_name(g->dtype));
    layer->alignment = alignment;
    return STN_OK;
}

static stn_status canonical_axis(const stn_spectral_conv *g, int own, stn_layer *layer, stn_error *error) {
    const int axis = 3 - g->rank + own;
    const size_t n = g->extent[own];
    if (!n)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "extent[%d] is 0: every axis needs at least one point", own);
    if (n > INT32_MAX)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "extent[%d] is %zu: an axis of a layer has at most %d points", own, n, INT32_MAX);
    const bool half = layer->real && axis == 2;
    const size_t all = half ? n / 2 + 1 : n;
    if (g->modes[own] > all)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "modes[%d] is %zu but %zu %spoints have %zu frequencies along that axis: keep at most so many",
                        own, g->modes[own], n, half ? "real " : "", all);
    layer->n[axis] = (int64_t)n;
    layer->modes[axis] = (int64_t)(g->modes[own] ? g->modes[own] : all);
    layer->lowest[axis] = half || g->mode_choice == STN_MODES_LOW ? 0 : -(layer->modes[axis] / 2);
    return STN_OK;
}

/* Do all arrays of the layer, counted as complex float64, have sizes below 2^63 bytes? */
static bool fits(const stn_layer *layer) {
    int64_t grid, weights, channels = stn_max(layer->c_in, layer->c_out);
    bool over = stn_mul_overflows(16, layer->n[0] + 1, &grid);
    over = over || stn_mul_overflows(grid, layer->n[1] + 1, &grid) || stn_mul_overflows(grid, layer->n[2] + 2, &grid);
    weights = grid;
    over = over || stn_mul_overflows(grid, layer->batch, &grid) || stn_mul_overflows(grid, channels, &grid);
    over = over || stn_mul_overflows(weights, layer->c_in, &weights);
    return !over && !stn_mul_overflows(weights, layer->c_out, &weights);
}

static stn_status canonical_sizes(const stn_spectral_conv *g, stn_layer *layer, stn_error *error) {
    if (!g->in_channels || !g->out_channels)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "%s_channels is 0: a layer needs at least one of them",
                        g->in_channels ? "out" : "in");
    for (int axis = 0; axis < 3; axis++) layer->n[axis] = layer->modes[axis] = 1;
    for (int own = 0; own < g->rank; own++) STN_TRY(canonical_axis(g, own, layer, error));
    layer->batch = (int64_t)(g->batch ? g->batch : 1);
    layer->c_in = (int64_t)g->in_channels, layer->c_out = (int64_t)g->out_channels;
    if (layer->batch > 0 && layer->c_in > 0 && layer->c_out > 0 && fits(layer)) return STN_OK;
    return stn_fail(
        error, STN_ERROR_INVALID_ARGUMENT,
        "the layer has more bytes of complex numbers than 63 bits can count: lower the extents, channels or "
        "batch");
}

stn_status stn_layer_make(const stn_spectral_conv *given, stn_layer *layer, stn_error *error) {
    stn_spectral_conv g;
    memset(layer, 0, sizeof *layer);
    if (!given) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the layer is NULL: pass a stn_spectral_conv");
    STN_TRY(stn_read_versioned_struct(&stn_layout_spectral_conv, given, &g, error));
    STN_TRY(canonical_options(&g, layer, error));
    STN_TRY(canonical_alignment(&g, layer, error));
    return canonical_sizes(&g, layer, error);
}

stn_status stn_spectral_conv_validate(const stn_spectral_conv *given, stn_error *error) {
    stn_layer layer;
    return stn_layer_make(given, &layer, error);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

int64_t stn_layer_points(const stn_layer *layer) { return layer->n[0] * layer->n[1] * layer->n[2]; }

int64_t stn_layer_spectrum(const stn_layer *layer) {
    return layer->n[0] * layer->n[1] * (layer->real ? layer->n[2] / 2 + 1 : layer->n[2]);
}

int64_t stn_layer_modes(const stn_layer *layer) { return layer->modes[0] * layer->modes[1] * layer->modes[2]; }

int64_t stn_layer_weights(const stn_layer *layer) {
    return layer->c_in * layer->c_out * (layer->shared ? 1 : stn_layer_modes(layer));
}

static int64_t numbers_of(const stn_layer *layer, int64_t channels) {
    return layer->batch * channels * stn_layer_points(layer) * stn_layer_components(layer);
}

int64_t stn_layer_in_numbers(const stn_layer *layer) { return numbers_of(layer, stn_layer_channels_in(layer)); }

int64_t stn_layer_out_numbers(const stn_layer *layer) {
    return layer->pass == STN_PASS_BACKWARD_WEIGHTS ? 2 * stn_layer_weights(layer)
                                                    : numbers_of(layer, stn_layer_channels_out(layer));
}

void stn_layer_operands(const stn_layer *layer, int64_t numbers[STN_OPERANDS]) {
    const int64_t bias = layer->has_bias ? layer->c_out * stn_layer_components(layer) : 0;
    const int64_t skip = layer->has_skip ? layer->c_in * layer->c_out * stn_layer_components(layer) : 0;
    const bool to_weights = layer->pass == STN_PASS_BACKWARD_WEIGHTS;
    memset(numbers, 0, STN_OPERANDS * sizeof *numbers);
    if (to_weights) {
        numbers[STN_OPERAND_GRADIENT] = numbers_of(layer, layer->c_out);
        numbers[STN_OPERAND_BIAS_GRADIENT] = bias, numbers[STN_OPERAND_SKIP_GRADIENT] = skip;
        return;
    }
    numbers[STN_OPERAND_WEIGHTS] = 2 * stn_layer_weights(layer);
    numbers[STN_OPERAND_SKIP] = skip;
    if (layer->pass == STN_PASS_FORWARD) numbers[STN_OPERAND_BIAS] = bias;
}

/* ---- description ----------------------------------------------------------------------------- */

static const char *const passes[] = {"forward", "backward to x", "backward to the weights"};
static const char *const activations[] = {"none", "gelu", "relu"};

static void print_lengths(const stn_layer *layer, const int64_t *lengths, stn_text *text) {
    for (int axis = 3 - layer->rank; axis < 3; axis++)
        stn_text_printf(text, "%s%" PRId64, axis > 3 - layer->rank ? " x " : "", lengths[axis]);
}

void stn_layer_print(const stn_layer *layer, stn_text *text) {
    stn_text_printf(text, "%dD ", layer->rank);
    print_lengths(layer, layer->n, text);
    stn_text_printf(text, ", ");
    print_lengths(layer, layer->modes, text);
    stn_text_printf(text, " modes, %" PRId64 " to %" PRId64 " channels", layer->c_in, layer->c_out);
    if (layer->batch > 1) stn_text_printf(text, " in batches of %" PRId64, layer->batch);
    stn_text_printf(text, ", %s %s, %s", layer->real ? "real" : "complex", stn_dtype_name(layer->dtype),
                    layer->shared ? "weights shared" : "weights for each mode");
    if (layer->has_skip) stn_text_printf(text, ", skip");
    if (layer->has_bias) stn_text_printf(text, ", bias");
    if (layer->activation) stn_text_printf(text, ", %s", activations[layer->activation]);
    stn_text_printf(text, ", %s", passes[layer->pass]);
}

static void json_flag(stn_text *text, const char *key, bool value) {
    stn_json_key(text, key);
    stn_text_printf(text, "%s", value ? "true" : "false");
}

void stn_layer_json(const stn_layer *layer, stn_text *text) {
    const int axis = 3 - layer->rank;
    stn_text_append(text, "{", 1);
    stn_json_text(text, "layer", passes[layer->pass]);
    stn_json_integer(text, "rank", layer->rank);
    stn_json_integers(text, "extent", layer->n + axis, layer->rank);
    stn_json_integers(text, "modes", layer->modes + axis, layer->rank);
    stn_json_integers(text, "first_mode", layer->lowest + axis, layer->rank);
    stn_json_integer(text, "batch", layer->batch);
    stn_json_integer(text, "in_channels", layer->c_in);
    stn_json_integer(text, "out_channels", layer->c_out);
    json_flag(text, "complex", !layer->real);
    json_flag(text, "shared_weights", layer->shared);
    json_flag(text, "bias", layer->has_bias);
    json_flag(text, "skip", layer->has_skip);
    stn_json_text(text, "activation", activations[layer->activation]);
    stn_json_text(text, "dtype", stn_dtype_name(layer->dtype));
    stn_json_value(text, "tolerance", layer->tolerance);
    stn_text_append(text, "}", 1);
}
