/* A Fourier layer as a value: validated, lifted to three axes, with nothing left to default. It is
 * what the strategies of layers see, as those of stencils see a task.
 *
 * Lifting puts missing slow axes in front with extent 1 and their one mode 0: axis 2 is always the
 * last one. */
#ifndef STN_PROBLEM_LAYER_H
#define STN_PROBLEM_LAYER_H
#include <stdbool.h>

#include "base/text.h"
#include "stentor.h"

typedef struct stn_layer {
    int rank;
    int64_t n[3]; /* points */
    int64_t batch;
    int64_t c_in, c_out; /* of the forward pass, whichever pass this is */
    int64_t modes[3];    /* kept */
    int64_t first[3];    /* the frequency of mode 0, as a number that may be negative; mode j is first + j */
    bool real;           /* x and y are real; axis 2's modes are then 0 .. modes[2] - 1 of the half spectrum */
    bool shared;         /* one matrix of weights for all modes */
    bool has_bias, has_skip;
    stn_activation activation; /* NONE in the backward passes */
    stn_layer_pass pass;
    stn_dtype dtype;
    double tolerance;
    int alignment; /* bytes, a power of two, at least one complex number's size */
} stn_layer;

/* What an execution brings beside in and out, in this order. */
typedef enum stn_operand {
    STN_OPERAND_WEIGHTS,
    STN_OPERAND_BIAS,
    STN_OPERAND_SKIP,
    STN_OPERAND_GRADIENT,
    STN_OPERAND_BIAS_GRADIENT, /* this and the next are written */
    STN_OPERAND_SKIP_GRADIENT,
    STN_OPERANDS
} stn_operand;
static inline bool stn_operand_is_written(int operand) { return operand >= STN_OPERAND_BIAS_GRADIENT; }

stn_status stn_layer_make(const stn_spectral_conv *given, stn_layer *layer, stn_error *error);

int64_t stn_layer_points(const stn_layer *layer); /* of one channel */
int64_t stn_layer_spectrum(
    const stn_layer *layer); /* frequencies of one channel: of the half spectrum where data is real */
int64_t stn_layer_modes(const stn_layer *layer);   /* kept of one channel */
int64_t stn_layer_weights(const stn_layer *layer); /* complex numbers */
/* Numbers of the dtype: 1 of real data, 2 of complex. */
static inline int stn_layer_per(const stn_layer *layer) { return layer->real ? 1 : 2; }
/* Channels of what is read and written where the pass maps channels to channels: c_in and c_out,
 * backward to x the other way round. */
static inline int64_t stn_layer_from(const stn_layer *layer) {
    return layer->pass == STN_PASS_BACKWARD_X ? layer->c_out : layer->c_in;
}
static inline int64_t stn_layer_to(const stn_layer *layer) {
    return layer->pass == STN_PASS_BACKWARD_X ? layer->c_in : layer->c_out;
}
/* The place of mode j along an axis in the (half) spectrum, 0 .. n - 1. */
static inline int64_t stn_layer_place(const stn_layer *layer, int axis, int64_t j) {
    int64_t k = layer->first[axis] + j;
    return k < 0 ? k + layer->n[axis] : k;
}
/* Numbers of the dtype behind in and out, and behind each other pointer of an execution; 0: the
 * pass takes none. */
int64_t stn_layer_in_numbers(const stn_layer *layer);
int64_t stn_layer_out_numbers(const stn_layer *layer);
void stn_layer_operands(const stn_layer *layer, int64_t numbers[STN_OPERANDS]);

/* In one line without a newline, such as "1D 128, 64 modes, 64 to 64 channels in batches of 16,
 * real f32, weights for each mode, forward", and as one JSON object. */
void stn_layer_print(const stn_layer *layer, stn_text *text);
void stn_layer_json(const stn_layer *layer, stn_text *text);
#endif
