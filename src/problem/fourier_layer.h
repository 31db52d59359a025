/* A canonical Fourier layer, as strategies see it: validated, on three axes, defaults filled in.
 *
 * Missing slow axes come first, with extent 1 and one mode of frequency 0, so axis 2 is always the
 * last. */
#ifndef STN_PROBLEM_FOURIER_LAYER_H
#define STN_PROBLEM_FOURIER_LAYER_H
#include <stdbool.h>

#include "base/text.h"
#include "stentor.h"

typedef struct stn_layer {
    int rank;
    int64_t n[3]; /* points */
    int64_t batch;
    int64_t c_in, c_out; /* channels of the forward pass, for all passes */
    int64_t modes[3];    /* modes kept along each axis */
    /* lowest frequency along each axis, at most 0; mode j has frequency lowest + j */
    int64_t lowest[3];
    /* x and y are real; axis 2 then keeps modes 0 to modes[2] - 1 of the half spectrum */
    bool real;
    bool shared; /* one weight matrix for all modes */
    bool has_bias, has_skip;
    stn_activation activation; /* NONE in the backward passes */
    stn_layer_pass pass;
    stn_dtype dtype;
    double tolerance;
    int alignment; /* bytes, a power of two, at least one complex number's size */
} stn_layer;

/* The arrays of an execution besides in and out, in this order. */
typedef enum stn_operand {
    STN_OPERAND_WEIGHTS,
    STN_OPERAND_BIAS,
    STN_OPERAND_SKIP,
    STN_OPERAND_GRADIENT,
    STN_OPERAND_BIAS_GRADIENT, /* this and the next one are written */
    STN_OPERAND_SKIP_GRADIENT,
    STN_OPERANDS
} stn_operand;
static inline bool stn_operand_is_written(int operand) { return operand >= STN_OPERAND_BIAS_GRADIENT; }

stn_status stn_layer_make(const stn_spectral_conv *given, stn_layer *layer, stn_error *error);

int64_t stn_layer_points(const stn_layer *layer); /* points of one channel */
/* frequencies of one channel, of the half spectrum if data is real */
int64_t stn_layer_spectrum(const stn_layer *layer);
int64_t stn_layer_modes(const stn_layer *layer);   /* modes kept of one channel */
int64_t stn_layer_weights(const stn_layer *layer); /* complex weights */
/* Numbers of the dtype in one value: 1 if data is real, 2 if complex. */
static inline int stn_layer_components(const stn_layer *layer) { return layer->real ? 1 : 2; }
/* Channels of the input and of the output of a pass that maps channels to channels: c_in and c_out,
 * or the reverse in the backward pass to x. */
static inline int64_t stn_layer_channels_in(const stn_layer *layer) {
    return layer->pass == STN_PASS_BACKWARD_X ? layer->c_out : layer->c_in;
}
static inline int64_t stn_layer_channels_out(const stn_layer *layer) {
    return layer->pass == STN_PASS_BACKWARD_X ? layer->c_in : layer->c_out;
}
/* The index of mode j along an axis in the (half) spectrum, 0 to n - 1. */
static inline int64_t stn_layer_mode_index(const stn_layer *layer, int axis, int64_t j) {
    int64_t k = layer->lowest[axis] + j;
    return k < 0 ? k + layer->n[axis] : k;
}
/* Numbers of the dtype in the arrays `in` and `out`, and in each other array of an execution (0:
 * the pass does not use that array). */
int64_t stn_layer_in_numbers(const stn_layer *layer);
int64_t stn_layer_out_numbers(const stn_layer *layer);
void stn_layer_operands(const stn_layer *layer, int64_t numbers[STN_OPERANDS]);

/* A one-line description, such as "1D 128, 64 modes, 64 to 64 channels in batches of 16, real f32,
 * weights for each mode, forward", and a JSON object. */
void stn_layer_print(const stn_layer *layer, stn_text *text);
void stn_layer_json(const stn_layer *layer, stn_text *text);
#endif
