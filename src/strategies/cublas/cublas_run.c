/* Execution of the cublas strategy: transforms, products and kernels one after the other on the
 * caller's stream. */
#include "base/arith.h"
#include "base/error.h"
#include "strategies/cublas/cublas_state.h"

typedef struct job {
    const cublas_state *state;
    const cublas_shape *s;
    const stn_execution *run;
} job;

static void *part(const job *j, cublas_part which) { return (char *)j->run->workspace + j->state->at[which]; }

static stn_status transform(const job *j, int which, const void *in, void *out, stn_error *error) {
    return stn_cufft_plan_execute(j->state->transform[which], (void *)in, out, part(j, CUBLAS_FFT), j->run->stream,
                                  error);
}

static stn_status multiply(const job *j, const stn_gemm *g, const void *a, const void *b, void *c, stn_error *error) {
    return stn_cublas_run(j->state->cublas, g, a, b, c, part(j, CUBLAS_BLAS), j->run->stream, error);
}

/* The grids of `channels` channels in the arithmetic type, converted if necessary. */
static stn_status widened(const job *j, const void *grids, int64_t channels, cublas_part where, const void **ready,
                          stn_error *error) {
    *ready = grids;
    if (!j->s->half) return STN_OK;
    *ready = part(j, where);
    return cublas_move(j->state->kernel[WIDEN], grids, part(j, where), j->s->layer->batch * channels,
                       j->s->points * j->s->per, j->run->stream, error);
}

static stn_status ready_weights(const job *j, const void **ready, stn_error *error) {
    *ready = j->run->weights;
    if (!j->s->own_weights) return STN_OK;
    *ready = part(j, CUBLAS_WEIGHTS);
    return cublas_gather(j->state->kernel[GATHER_WEIGHTS], j->run->weights, part(j, CUBLAS_WEIGHTS), j->s->pairs,
                         &j->state->whole, j->run->stream, error);
}

static stn_status ready_skip(const job *j, const void **ready, stn_error *error) {
    const cublas_axes one = cublas_axes_whole(1);
    const stn_layer *layer = j->s->layer;
    void *own = part(j, CUBLAS_SKIP);
    *ready = j->run->skip;
    if (!j->s->own_skip) return STN_OK;
    *ready = own;
    if (layer->real)
        return cublas_move(j->state->kernel[WIDEN], j->run->skip, own, layer->c_in, layer->c_out, j->run->stream,
                           error);
    return cublas_gather(j->state->kernel[GATHER_SKIP], j->run->skip, own, j->s->pairs, &one, j->run->stream, error);
}

/* ---- forward, and backward to the input */

/* From the spectrum of the input to that of the output, which is returned in *made. */
static stn_status map_spectrum(const job *j, void **made, stn_error *error) {
    const cublas_state *state = j->state;
    const cublas_shape *s = j->s;
    const int64_t items = s->layer->batch;
    const stn_gemm g = cublas_map(s);
    void *stream = j->run->stream, *spectrum = part(j, CUBLAS_SPECTRUM), *kept_in = part(j, CUBLAS_KEPT_IN),
         *kept_out = part(j, CUBLAS_KEPT_OUT);
    const void *weights;
    STN_TRY(ready_weights(j, &weights, error));
    *made = s->straight ? part(j, CUBLAS_STRAIGHT) : spectrum;
    if (s->straight) {
        STN_TRY(multiply(j, &g, spectrum, weights, *made, error));
        return cublas_pad(state->kernel[PAD], *made, items * s->to, &state->axes, stream, error);
    }
    STN_TRY(cublas_gather(state->kernel[GATHER_IN], spectrum, kept_in, items * s->from, &state->axes, stream, error));
    STN_TRY(multiply(j, &g, weights, kept_in, kept_out, error));
    return cublas_scatter(state->kernel[SCATTER], kept_out, spectrum, items * s->to, &state->axes, stream, error);
}

/* Adds skip connection and bias to the inverse transform in `grid`, applies the activation, and
 * converts to the output's type. */
static stn_status finish(const job *j, const void *x, const void *grid, stn_error *error) {
    const cublas_shape *s = j->s;
    const stn_layer *layer = s->layer;
    void *dense = s->half ? part(j, CUBLAS_Y) : j->run->out;
    if (layer->has_skip) {
        const stn_gemm g = cublas_skip(s);
        const void *skip;
        STN_TRY(ready_skip(j, &skip, error));
        STN_TRY(multiply(j, &g, x, skip, dense, error));
    }
    if (!s->finishes) return STN_OK;
    cublas_finish_arguments a = {
        .from = grid, .add = dense, .bias = j->run->bias, .to = j->run->out, .channels = s->to, .lines = 1};
    a.length = a.pitch = s->points * s->per;
    if (s->padded) {
        a.lines = layer->n[0] * layer->n[1];
        a.length = layer->n[2], a.pitch = 2 * (layer->n[2] / 2 + 1);
    }
    a.all = layer->batch * s->to * a.lines;
    return cublas_finish(j->state->kernel[FINISH], &a, j->run->stream, error);
}

static stn_status map(const job *j, stn_error *error) {
    const cublas_shape *s = j->s;
    const void *x;
    void *spectrum;
    STN_TRY(widened(j, j->run->in, s->from, CUBLAS_X, &x, error));
    STN_TRY(transform(j, FORWARD, x, part(j, CUBLAS_SPECTRUM), error));
    STN_TRY(map_spectrum(j, &spectrum, error));
    void *grid = s->padded ? spectrum : s->half ? part(j, CUBLAS_Y) : j->run->out;
    STN_TRY(transform(j, BACK, spectrum, grid, error));
    return finish(j, x, grid, error);
}

/* ---- sums over the batch */

/* Gradient of the bias: the sum of a channel over its points is its frequency 0. */
static stn_status sum_bias(const job *j, stn_error *error) {
    const cublas_shape *s = j->s;
    cublas_sums_arguments a = {
        .from = part(j, CUBLAS_SPECTRUM), .to = j->run->bias_gradient, .width = s->to, .count = s->layer->batch};
    a.outputs = s->to * s->per;
    a.step_o = 2 * s->spectrum, a.stride = s->to * a.step_o;
    return cublas_sums(j->state->kernel[SUMS], &a, j->run->stream, error);
}

/* A product that sums over the terms of several items; strides between items and between terms of
 * each factor, in elements. */
typedef struct long_sum {
    stn_gemm g; /* of all terms of one item */
    const char *a, *b;
    int64_t items, terms, item_a, item_b, term_a, term_b;
} long_sum;

/* Adds `count` pieces of `terms` terms each. The first one begins at term `first` of item `item`.
 * along: the others follow it in this item; otherwise they are the same piece of the next items. */
static stn_status add_pieces(const job *j, const long_sum *l, int64_t item, int64_t first, int64_t terms, int64_t count,
                             bool along, bool begun, stn_error *error) {
    const int64_t element = (int64_t)stn_dtype_size(j->s->inner) * (l->g.complex ? 2 : 1);
    stn_gemm g = l->g;
    g.k = terms, g.batch = count, g.beta = begun ? 1 : 0;
    g.stride_a = along ? terms * l->term_a : l->item_a, g.stride_b = along ? terms * l->term_b : l->item_b;
    return multiply(j, &g, l->a + (item * l->item_a + first * l->term_a) * element,
                    l->b + (item * l->item_b + first * l->term_b) * element, part(j, CUBLAS_PARTIALS), error);
}

/* Sums all pieces in the order that takes fewer calls. The first call is the largest, so that later
 * ones always add to initialised sums. */
static stn_status sum_pieces(const job *j, const long_sum *l, int64_t *partials, stn_error *error) {
    const int64_t whole = l->terms / CUBLAS_PIECE, rest = l->terms % CUBLAS_PIECE;
    const bool along = whole > l->items;
    *partials = cublas_partials(l->items, l->terms);
    bool begun = false;
    for (int64_t item = 0; along && item < l->items; item++) {
        for (int64_t i = 0; i < whole; i += *partials, begun = true)
            STN_TRY(add_pieces(j, l, item, i * CUBLAS_PIECE, CUBLAS_PIECE, stn_min(*partials, whole - i), true, begun,
                               error));
        if (rest) STN_TRY(add_pieces(j, l, item, whole * CUBLAS_PIECE, rest, 1, true, true, error));
    }
    for (int64_t first = 0; !along && first < l->terms; first += CUBLAS_PIECE)
        for (int64_t item = 0; item < l->items; item += *partials, begun = true)
            STN_TRY(add_pieces(j, l, item, first, stn_min(CUBLAS_PIECE, l->terms - first),
                               stn_min(*partials, l->items - item), false, begun, error));
    return STN_OK;
}

static stn_status sum_skip(const job *j, const void *x, const void *gradient, stn_error *error) {
    const cublas_shape *s = j->s;
    long_sum l = {cublas_skip_sum(s), x, gradient, s->layer->batch, s->points, .term_a = 1, .term_b = 1};
    cublas_sums_arguments a = {.from = part(j, CUBLAS_PARTIALS), .to = j->run->skip_gradient, .width = s->to};
    l.item_a = s->from * s->points, l.item_b = s->to * s->points;
    STN_TRY(sum_pieces(j, &l, &a.count, error));
    a.outputs = s->pairs * s->per;
    a.step_i = s->per, a.step_o = s->from * s->per, a.stride = s->pairs * s->per;
    return cublas_sums(j->state->kernel[SUMS], &a, j->run->stream, error);
}

/* ---- gradient of the weights, from the retained modes of the gradient and of x */

static stn_status store_weights(const job *j, const void *made, stn_error *error) {
    const cublas_shape *s = j->s;
    if (!s->own_weights) return STN_OK; /* already in the output */
    if (s->layer->shared)
        return cublas_move(j->state->kernel[NARROW], made, j->run->out, s->from, 2 * s->to, j->run->stream, error);
    return cublas_scatter(j->state->kernel[SCATTER_WEIGHTS], made, j->run->out, s->pairs, &j->state->whole,
                          j->run->stream, error);
}

/* The gradient of one matrix for all modes, whose sum has more terms than one product takes. */
static stn_status sum_all_modes(const job *j, const void *gradient, const void *x, stn_error *error) {
    const cublas_shape *s = j->s;
    const stn_gemm g = cublas_sum(s);
    const long_sum l = {g, gradient, x, 1, g.k, .term_a = s->to, .term_b = s->from};
    cublas_sums_arguments a = {.from = part(j, CUBLAS_PARTIALS), .to = j->run->out, .outputs = 2 * s->pairs};
    STN_TRY(sum_pieces(j, &l, &a.count, error));
    a.width = a.outputs / s->per, a.step_o = s->per, a.stride = a.outputs;
    return cublas_sums(j->state->kernel[SUMS], &a, j->run->stream, error);
}

static stn_status sum_weights(const job *j, const char *gradient, const char *x, stn_error *error) {
    const cublas_shape *s = j->s;
    if (s->pieces) return sum_all_modes(j, gradient, x, error);
    stn_gemm g = cublas_sum(s);
    const int64_t terms = g.k, element = 2 * (int64_t)stn_dtype_size(s->inner);
    void *made = s->own_weights ? part(j, CUBLAS_WEIGHTS) : j->run->out;
    for (int64_t first = 0; first < terms; first += CUBLAS_PIECE) {
        g.k = stn_min(CUBLAS_PIECE, terms - first), g.beta = first ? 1 : 0;
        STN_TRY(multiply(j, &g, gradient + first * s->to * element, x + first * s->from * element, made, error));
    }
    return store_weights(j, made, error);
}

static stn_status sum(const job *j, stn_error *error) {
    const cublas_state *state = j->state;
    const cublas_shape *s = j->s;
    const stn_layer *layer = s->layer;
    void *spectrum = part(j, CUBLAS_SPECTRUM), *kept_in = part(j, CUBLAS_KEPT_IN), *kept_out = part(j, CUBLAS_KEPT_OUT),
         *stream = j->run->stream;
    const void *x, *gradient;
    STN_TRY(widened(j, j->run->in, s->from, CUBLAS_X, &x, error));
    STN_TRY(widened(j, j->run->gradient, s->to, CUBLAS_Y, &gradient, error));
    STN_TRY(transform(j, FORWARD, x, spectrum, error));
    STN_TRY(cublas_gather(state->kernel[GATHER_IN], spectrum, kept_in, layer->batch * s->from, &state->axes, stream,
                          error));
    STN_TRY(transform(j, BACK, gradient, spectrum, error));
    STN_TRY(cublas_gather(state->kernel[GATHER_GRADIENT], spectrum, kept_out, layer->batch * s->to, &state->axes,
                          stream, error));
    if (layer->has_bias) STN_TRY(sum_bias(j, error));
    STN_TRY(sum_weights(j, kept_out, kept_in, error));
    return layer->has_skip ? sum_skip(j, x, gradient, error) : STN_OK;
}

stn_status cublas_execute(stn_plan *plan, const stn_execution *run, stn_error *error) {
    const cublas_state *state = plan->state;
    const job j = {state, &state->shape, run};
    return plan->layer.pass == STN_PASS_BACKWARD_WEIGHTS ? sum(&j, error) : map(&j, error);
}
