/* Reference implementation of Fourier layers, written from stentor.h alone and independent of the
 * library: no FFT, no index tables. */
#include "layer_reference.h"

#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct sums {
    const stn_spectral_conv *c;
    size_t points, modes;
    double complex *root[3]; /* exp(2 pi i j / n) for each axis */
} sums;

static long frequency(const stn_spectral_conv *c, int axis, size_t j) {
    if (c->mode_choice == STN_MODES_LOW || (!c->complex_data && axis == c->rank - 1)) return (long)j;
    return (long)j - (long)(c->modes[axis] / 2);
}

/* exp(2 pi i k.p/n) for mode number `mode` and point number `point`. */
static double complex wave(const sums *s, size_t mode, size_t point) {
    double complex product = 1;
    for (int axis = s->c->rank - 1; axis >= 0; axis--) {
        const long n = (long)s->c->extent[axis];
        const long k = frequency(s->c, axis, mode % s->c->modes[axis]), p = (long)(point % s->c->extent[axis]);
        /* All axes of the rank have tables.
         * NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
        product *= s->root[axis][((k * p) % n + n) % n];
        mode /= s->c->modes[axis], point /= s->c->extent[axis];
    }
    return product;
}

/* The multiplicity of a mode in the sum over the half spectrum of real data. */
static double weight_of(const sums *s, size_t mode) {
    const size_t last = mode % s->c->modes[s->c->rank - 1], n = s->c->extent[s->c->rank - 1];
    if (s->c->complex_data) return 1;
    return last == 0 || 2 * last == n ? 1 : 2;
}

static double complex number(const sums *s, const double *x, size_t i) {
    return s->c->complex_data ? x[2 * i] + I * x[2 * i + 1] : x[i];
}

static void add_number(const sums *s, double *x, size_t i, double complex value) {
    if (s->c->complex_data) {
        x[2 * i] += creal(value);
        x[2 * i + 1] += cimag(value);
    } else
        x[i] += creal(value);
}

static double complex weight_at(const sums *s, const double *w, size_t i, size_t o, size_t k) {
    size_t at = i * s->c->out_channels + o;
    if (!s->c->shared_weights) at = at * s->modes + k;
    return w[2 * at] + I * w[2 * at + 1];
}

/* sum over p of x[channel, p] exp(-2 pi i k.p/n), for all channels of the batch */
static double complex *to_modes(const sums *s, const double *x, size_t channels) {
    double complex *sum = calloc(channels * s->modes, sizeof *sum);
    for (size_t c = 0; sum && c < channels; c++)
        for (size_t k = 0; k < s->modes; k++)
            for (size_t p = 0; p < s->points; p++)
                sum[c * s->modes + k] += number(s, x, c * s->points + p) * conj(wave(s, k, p));
    return sum;
}

/* to[channel, p] += sum over k of weight_of(k) z[channel, k] exp(+2 pi i k.p/n) */
static void add_waves(const sums *s, const double complex *z, size_t channels, double *to) {
    for (size_t c = 0; c < channels; c++)
        for (size_t p = 0; p < s->points; p++)
            for (size_t k = 0; k < s->modes; k++)
                add_number(s, to, c * s->points + p, weight_of(s, k) * z[c * s->modes + k] * wave(s, k, p));
}

static double act(stn_activation activation, double x) {
    if (activation == STN_ACTIVATION_RELU) return x > 0 ? x : 0;
    return activation == STN_ACTIVATION_GELU ? 0.5 * x * (1 + erf(x / sqrt(2))) : x;
}

/* ---- passes */

static void forward(const sums *s, const layer_numbers *n) {
    const stn_spectral_conv *c = s->c;
    const size_t ci = c->in_channels, co = c->out_channels;
    double complex *x = to_modes(s, n->in, c->batch * ci), *z = calloc(c->batch * co * s->modes, sizeof *z);
    for (size_t b = 0; b < c->batch; b++)
        for (size_t o = 0; o < co; o++)
            for (size_t i = 0; i < ci; i++)
                for (size_t k = 0; k < s->modes; k++)
                    z[(b * co + o) * s->modes + k] +=
                        weight_at(s, n->weights, i, o, k) * x[(b * ci + i) * s->modes + k] / (double)s->points;
    add_waves(s, z, c->batch * co, n->out);
    for (size_t at = 0; at < c->batch * co * s->points; at++) {
        const size_t p = at % s->points, o = at / s->points % co, b = at / s->points / co;
        for (size_t i = 0; i < ci && c->has_skip; i++)
            add_number(s, n->out, at, number(s, n->skip, i * co + o) * number(s, n->in, (b * ci + i) * s->points + p));
        if (c->has_bias) add_number(s, n->out, at, number(s, n->bias, o));
    }
    for (size_t i = 0; i < c->batch * co * s->points * (c->complex_data ? 2 : 1); i++)
        n->out[i] = act(c->activation, n->out[i]);
    free(x);
    free(z);
}

static void backward_x(const sums *s, const layer_numbers *n) {
    const stn_spectral_conv *c = s->c;
    const size_t ci = c->in_channels, co = c->out_channels;
    double complex *g = to_modes(s, n->in, c->batch * co), *x = calloc(c->batch * ci * s->modes, sizeof *x);
    for (size_t b = 0; b < c->batch; b++)
        for (size_t o = 0; o < co; o++)
            for (size_t i = 0; i < ci; i++)
                for (size_t k = 0; k < s->modes; k++)
                    x[(b * ci + i) * s->modes + k] +=
                        conj(weight_at(s, n->weights, i, o, k)) * g[(b * co + o) * s->modes + k] / (double)s->points;
    add_waves(s, x, c->batch * ci, n->out);
    for (size_t at = 0; at < c->batch * ci * s->points && c->has_skip; at++) {
        const size_t p = at % s->points, i = at / s->points % ci, b = at / s->points / ci;
        for (size_t o = 0; o < co; o++)
            add_number(s, n->out, at,
                       conj(number(s, n->skip, i * co + o)) * number(s, n->in, (b * co + o) * s->points + p));
    }
    free(g);
    free(x);
}

static void backward_weights(const sums *s, const layer_numbers *n) {
    const stn_spectral_conv *c = s->c;
    const size_t ci = c->in_channels, co = c->out_channels;
    double complex *x = to_modes(s, n->in, c->batch * ci), *g = to_modes(s, n->gradient, c->batch * co);
    for (size_t b = 0; b < c->batch; b++)
        for (size_t i = 0; i < ci; i++)
            for (size_t o = 0; o < co; o++) {
                for (size_t k = 0; k < s->modes; k++) {
                    double complex term = conj(x[(b * ci + i) * s->modes + k]) * g[(b * co + o) * s->modes + k] *
                                          weight_of(s, k) / (double)s->points;
                    size_t at = (i * co + o) * (c->shared_weights ? 1 : s->modes) + (c->shared_weights ? 0 : k);
                    n->out[2 * at] += creal(term);
                    n->out[2 * at + 1] += cimag(term);
                }
                for (size_t p = 0; p < s->points; p++) {
                    double complex y = number(s, n->gradient, (b * co + o) * s->points + p);
                    if (c->has_skip)
                        add_number(s, n->skip_gradient, i * co + o,
                                   conj(number(s, n->in, (b * ci + i) * s->points + p)) * y);
                    if (c->has_bias && i == 0) add_number(s, n->bias_gradient, o, y);
                }
            }
    free(x);
    free(g);
}

void layer_reference(const stn_spectral_conv *layer, const layer_numbers *n) {
    sums s = {.c = layer, .points = 1, .modes = 1};
    const size_t per = layer->complex_data ? 2 : 1, ci = layer->in_channels, co = layer->out_channels;
    for (int axis = 0; axis < layer->rank; axis++) {
        const size_t length = layer->extent[axis];
        s.points *= length, s.modes *= layer->modes[axis];
        s.root[axis] = malloc(length * sizeof *s.root[axis]);
        if (!s.root[axis]) abort(); /* out of memory */
        for (size_t j = 0; j < length; j++) s.root[axis][j] = cexp(2 * I * acos(-1) * (double)j / (double)length);
    }
    size_t out = layer->batch * (layer->pass == STN_PASS_FORWARD ? co : ci) * s.points * per;
    if (layer->pass == STN_PASS_BACKWARD_WEIGHTS) out = 2 * ci * co * (layer->shared_weights ? 1 : s.modes);
    const bool backward = layer->pass == STN_PASS_BACKWARD_WEIGHTS;
    memset(n->out, 0, out * sizeof *n->out);
    if (backward && layer->has_bias) memset(n->bias_gradient, 0, co * per * sizeof(double));
    if (backward && layer->has_skip) memset(n->skip_gradient, 0, ci * co * per * sizeof(double));
    if (layer->pass == STN_PASS_FORWARD) forward(&s, n);
    if (layer->pass == STN_PASS_BACKWARD_X) backward_x(&s, n);
    if (layer->pass == STN_PASS_BACKWARD_WEIGHTS) backward_weights(&s, n);
    for (int axis = 0; axis < layer->rank; axis++) free(s.root[axis]);
}
