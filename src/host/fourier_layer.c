/* The reference implementation of Fourier layers: the formulas of stentor.h in float64, for a few
 * items of the batch at a time (a chunk):
 *
 *     forward, backward to x:   in -> grid -> spectrum -> retained modes -> products
 *                               -> zero-padded spectrum -> grid -> out
 *     backward to the weights:  in, gradient -> grids -> spectra -> retained modes of both
 *                               -> sums over the batch -> out
 *
 * The backward pass to x is the forward pass with adjoint weights, applied to the gradient of y. In
 * the adjoint, the forward and the inverse transform exchange their factors: 1/N and 1, and 2 where
 * an element of a half spectrum stands for two frequencies. The product of the factors is the same,
 * so the forward pass is used unchanged. */
#include "host/fourier_layer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "base/half.h"
#include "host/fft_by_type.h"

#define CHUNK_POINTS (1 << 18) /* approximate points of all channels of the items in a chunk */
#define NUMBERS_PER_TASK 4096  /* numbers that justify another thread */

struct stn_host_layer {
    stn_layer layer;
    /* Transforms of the channels of a chunk: to the spectrum, and back (or of the gradient). */
    stn_host_fft *in, *out;
    int64_t chunk;                            /* items of the batch that run together */
    int64_t points, spectrum, modes, weights; /* per channel; weights: per pair of channels */
};

/* The arrays of one run. In the weights' pass, weights, skip and bias are sums of gradients. */
typedef struct layer_run {
    const stn_host_layer *host;
    const stn_execution *run;
    double *grid_in, *grid_out, *spectrum, *modes_in, *modes_out, *weights, *skip, *bias;
    void *fft_workspace;  /* workspace of the transforms */
    int64_t begin, fresh; /* first item of the chunk; items before `fresh` were already summed */
} layer_run;

/* ---- conversion of types */

typedef struct numbers {
    stn_dtype dtype;
    const void *from; /* widen: of type dtype; narrow: double */
    void *to;
} numbers;

static void widen_some(void *user, int64_t begin, int64_t end) {
    const numbers *n = user;
    double *to = n->to;
    for (int64_t i = begin; i < end; i++) switch (n->dtype) {
            case STN_F64:
                to[i] = ((const double *)n->from)[i];
                break;
            case STN_F32:
                to[i] = (double)((const float *)n->from)[i];
                break;
            case STN_F16:
                to[i] = (double)stn_half_to_float(((const uint16_t *)n->from)[i]);
        }
}

static void narrow_some(void *user, int64_t begin, int64_t end) {
    const numbers *n = user;
    const double *from = n->from;
    for (int64_t i = begin; i < end; i++) switch (n->dtype) {
            case STN_F64:
                ((double *)n->to)[i] = from[i];
                break;
            case STN_F32:
                ((float *)n->to)[i] = (float)from[i];
                break;
            case STN_F16:
                ((uint16_t *)n->to)[i] = stn_float_to_half((float)from[i]);
        }
}

/* Converts `count` numbers from number `first` of the source on. */
static void widen(const layer_run *j, stn_pool *pool, const void *from, int64_t first, int64_t count, double *to) {
    const stn_dtype dtype = j->host->layer.dtype;
    const char *at = (const char *)from + first * (int64_t)stn_dtype_size(dtype);
    stn_pool_for(pool, count, NUMBERS_PER_TASK, widen_some, &(numbers){dtype, at, to});
}

static void narrow(const layer_run *j, stn_pool *pool, const double *from, int64_t count, void *to, int64_t first) {
    const stn_dtype dtype = j->host->layer.dtype;
    char *at = (char *)to + first * (int64_t)stn_dtype_size(dtype);
    stn_pool_for(pool, count, NUMBERS_PER_TASK, narrow_some, &(numbers){dtype, from, at});
}

/* ---- retained modes */

/* Whether mode j of the last axis represents only its own frequency (0 and n/2), not the conjugate
 * one as well. */
static bool is_self_conjugate(const stn_layer *layer, int64_t j) { return j == 0 || 2 * j == layer->n[2]; }

/* Iterates over the rows of retained modes along the last axis, with their indices in the spectrum
 * and those of the opposite frequencies. */
#define FOR_ROWS(layer, row, index, mirror)                                                                            \
    for (int64_t row = 0, index, mirror;                                                                               \
         row < (layer)->modes[0] * (layer)->modes[1] && (index = row_index(layer, row, &mirror), true); row++)

static int64_t row_index(const stn_layer *layer, int64_t row, int64_t *mirror) {
    const int64_t length = layer->real ? layer->n[2] / 2 + 1 : layer->n[2];
    const int64_t k0 = stn_layer_mode_index(layer, 0, row / layer->modes[1]);
    const int64_t k1 = stn_layer_mode_index(layer, 1, row % layer->modes[1]);
    const int64_t m0 = k0 ? layer->n[0] - k0 : 0, m1 = k1 ? layer->n[1] - k1 : 0;
    *mirror = (m0 * layer->n[1] + m1) * length;
    return (k0 * layer->n[1] + k1) * length;
}

/* Copies one channel's retained modes. doubled: modes that stand for two frequencies count twice,
 * as a gradient requires. */
static void gather(const stn_layer *layer, const double *spectrum, double *kept, bool doubled) {
    FOR_ROWS(layer, row, index, mirror) {
        (void)mirror;
        for (int64_t j = 0; j < layer->modes[2]; j++, kept += 2) {
            const double *from = spectrum + 2 * (index + stn_layer_mode_index(layer, 2, j));
            const double factor = doubled && layer->real && !is_self_conjugate(layer, j) ? 2 : 1;
            kept[0] = factor * from[0], kept[1] = factor * from[1];
        }
    }
}

/* Writes retained modes into a zero spectrum. Where a real grid's frequency is its own conjugate,
 * half of the mode goes to the conjugate's index: the spectrum is then that of a real grid for any
 * weights, and its transform is the real part. */
static void scatter(const stn_layer *layer, const double *kept, double *spectrum, int64_t size) {
    memset(spectrum, 0, (size_t)size * 2 * sizeof *spectrum);
    FOR_ROWS(layer, row, index, mirror) {
        for (int64_t j = 0; j < layer->modes[2]; j++, kept += 2) {
            const bool self_conjugate = layer->real && is_self_conjugate(layer, j);
            double *to = spectrum + 2 * (index + stn_layer_mode_index(layer, 2, j));
            to[0] += self_conjugate ? kept[0] / 2 : kept[0];
            to[1] += self_conjugate ? kept[1] / 2 : kept[1];
            if (!self_conjugate) continue;
            to = spectrum + 2 * (mirror + j);
            to[0] += kept[0] / 2;
            to[1] -= kept[1] / 2;
        }
    }
}

static void gather_in(void *user, int64_t begin, int64_t end) {
    const layer_run *j = user;
    const stn_host_layer *h = j->host;
    for (int64_t c = begin; c < end; c++)
        gather(&h->layer, j->spectrum + 2 * h->spectrum * c, j->modes_in + 2 * h->modes * c, false);
}

static void gather_gradient(void *user, int64_t begin, int64_t end) {
    const layer_run *j = user;
    const stn_host_layer *h = j->host;
    for (int64_t c = begin; c < end; c++)
        gather(&h->layer, j->spectrum + 2 * h->spectrum * c, j->modes_out + 2 * h->modes * c, true);
}

/* ---- forward, and backward to x */

/* to += a * x, or conj(a) * x, for complex numbers; a advances by `step` numbers. */
static void add_products(double *to, const double *a, int64_t step, bool conjugate, const double *x, int64_t count) {
    const double sign = conjugate ? -1 : 1;
    for (int64_t k = 0; k < count; k++, a += step) {
        const double re = a[0], im = sign * a[1];
        to[2 * k] += re * x[2 * k] - im * x[2 * k + 1];
        to[2 * k + 1] += re * x[2 * k + 1] + im * x[2 * k];
    }
}

/* The index in the weights of the channels that the pass maps from and to. */
static int64_t pair_of(const stn_layer *layer, int64_t from, int64_t to) {
    return layer->pass == STN_PASS_BACKWARD_X ? to * layer->c_out + from : from * layer->c_out + to;
}

static void multiply(void *user, int64_t begin, int64_t end) {
    const layer_run *j = user;
    const stn_host_layer *h = j->host;
    const stn_layer *layer = &h->layer;
    const int64_t from = stn_layer_channels_in(layer), to = stn_layer_channels_out(layer);
    const bool backward = layer->pass == STN_PASS_BACKWARD_X;
    for (int64_t c = begin; c < end; c++) {
        double *sum = j->modes_out + 2 * h->modes * c;
        memset(sum, 0, (size_t)h->modes * 2 * sizeof *sum);
        for (int64_t i = 0; i < from; i++)
            add_products(sum, j->weights + 2 * h->weights * pair_of(layer, i, c % to), layer->shared ? 0 : 2, backward,
                         j->modes_in + 2 * h->modes * (c / to * from + i), h->modes);
        scatter(layer, sum, j->spectrum + 2 * h->spectrum * c, h->spectrum);
    }
}

static double activate(stn_activation activation, double x) {
    if (activation == STN_ACTIVATION_GELU) return x / 2 * (1 + erf(x * 0.70710678118654752440));
    return activation == STN_ACTIVATION_RELU && x < 0 ? 0 : x;
}

/* Adds skip connection and bias to one channel, and applies the activation. */
static void finish_channel(const layer_run *j, int64_t item, int64_t o) {
    const stn_host_layer *h = j->host;
    const stn_layer *layer = &h->layer;
    const int64_t per = stn_layer_components(layer), size = h->points * per, from = stn_layer_channels_in(layer);
    double *y = j->grid_out + size * (item * stn_layer_channels_out(layer) + o);
    for (int64_t i = 0; i < from && layer->has_skip; i++) {
        const double *x = j->grid_in + size * (item * from + i), *s = j->skip + per * pair_of(layer, i, o);
        if (layer->real)
            for (int64_t p = 0; p < size; p++) y[p] += s[0] * x[p];
        else
            add_products(y, s, 0, layer->pass == STN_PASS_BACKWARD_X, x, h->points);
    }
    if (layer->pass != STN_PASS_FORWARD) return;
    for (int64_t p = 0; p < size; p++)
        y[p] = activate(layer->activation, y[p] + (layer->has_bias ? j->bias[o * per + p % per] : 0));
}

static void finish(void *user, int64_t begin, int64_t end) {
    const layer_run *j = user;
    const int64_t to = stn_layer_channels_out(&j->host->layer);
    for (int64_t c = begin; c < end; c++) finish_channel(j, c / to, c % to);
}

static void map_chunk(const layer_run *j, stn_pool *pool) {
    const stn_host_layer *h = j->host;
    const stn_layer *layer = &h->layer;
    const int64_t to = stn_layer_channels_out(layer), size = h->points * stn_layer_components(layer);
    stn_host_fft_run(h->in, pool, j->grid_in, j->spectrum, j->fft_workspace);
    stn_pool_for(pool, h->chunk * stn_layer_channels_in(layer), 1, gather_in, (void *)j);
    stn_pool_for(pool, h->chunk * to, 1, multiply, (void *)j);
    stn_host_fft_run(h->out, pool, j->spectrum, j->grid_out, j->fft_workspace);
    stn_pool_for(pool, h->chunk * to, 1, finish, (void *)j);
    narrow(j, pool, j->grid_out, h->chunk * to * size, j->run->out, j->begin * to * size);
}

/* ---- backward to the weights */

/* Adds the sum of conj(a) * b; numbers have `per` parts. */
static void add_inner_product(double *sum, const double *a, const double *b, int64_t count, int64_t per) {
    double re = 0, im = 0;
    for (int64_t k = 0; k < count; k++, a += per, b += per) {
        re += a[0] * b[0];
        if (per == 1) continue;
        re += a[1] * b[1];
        im += a[0] * b[1] - a[1] * b[0];
    }
    sum[0] += re;
    if (per == 2) sum[1] += im;
}

/* The contribution of one item to a pair of channels. */
static void sum_item(const layer_run *j, int64_t pair, int64_t item) {
    const stn_host_layer *h = j->host;
    const stn_layer *layer = &h->layer;
    const int64_t per = stn_layer_components(layer), size = h->points * per, i = pair / layer->c_out,
                  o = pair % layer->c_out;
    const double *x = j->modes_in + 2 * h->modes * (item * layer->c_in + i);
    const double *g = j->modes_out + 2 * h->modes * (item * layer->c_out + o);
    double *sum = j->weights + 2 * h->weights * pair;
    for (int64_t k = 0; k < h->weights; k++)
        add_inner_product(sum + 2 * k, x + 2 * k, g + 2 * k, layer->shared ? h->modes : 1, 2);
    x = j->grid_in + size * (item * layer->c_in + i), g = j->grid_out + size * (item * layer->c_out + o);
    if (layer->has_skip) add_inner_product(j->skip + per * pair, x, g, h->points, per);
    for (int64_t p = 0; p < size && layer->has_bias && i == 0; p++) j->bias[o * per + p % per] += g[p];
}

static void sum_pairs(void *user, int64_t begin, int64_t end) {
    const layer_run *j = user;
    for (int64_t pair = begin; pair < end; pair++)
        for (int64_t item = j->fresh; item < j->host->chunk; item++) sum_item(j, pair, item);
}

static void sum_chunk(const layer_run *j, stn_pool *pool) {
    const stn_host_layer *h = j->host;
    const stn_layer *layer = &h->layer;
    const int64_t gradients = h->chunk * layer->c_out, size = h->points * stn_layer_components(layer);
    stn_host_fft_run(h->in, pool, j->grid_in, j->spectrum, j->fft_workspace);
    stn_pool_for(pool, h->chunk * layer->c_in, 1, gather_in, (void *)j);
    widen(j, pool, j->run->gradient, j->begin * layer->c_out * size, gradients * size, j->grid_out);
    stn_host_fft_run(h->out, pool, j->grid_out, j->spectrum, j->fft_workspace);
    stn_pool_for(pool, gradients, 1, gather_gradient, (void *)j);
    stn_pool_for(pool, layer->c_in * layer->c_out, 1, sum_pairs, (void *)j);
}

/* ---- runs */

/* Sizes of the parts of the workspace in doubles, in the order of the pointers of a layer_run. */
enum { PARTS = 8 };
static void part_sizes(const stn_host_layer *h, int64_t size[PARTS]) {
    const stn_layer *layer = &h->layer;
    const int64_t per = stn_layer_components(layer), from = h->chunk * stn_layer_channels_in(layer),
                  to = h->chunk * stn_layer_channels_out(layer);
    const int64_t pairs = layer->c_in * layer->c_out;
    const int64_t sizes[PARTS] = {from * h->points * per,
                                  to * h->points * per,
                                  stn_max(from, to) * h->spectrum * 2,
                                  from * h->modes * 2,
                                  to * h->modes * 2,
                                  pairs * h->weights * 2,
                                  layer->has_skip ? pairs * per : 0,
                                  layer->has_bias ? layer->c_out * per : 0};
    for (int i = 0; i < PARTS; i++) size[i] = stn_round_up(sizes[i], 8);
}

size_t stn_host_layer_workspace(const stn_host_layer *h) {
    int64_t size[PARTS], all = 0;
    part_sizes(h, size);
    for (int i = 0; i < PARTS; i++) all += size[i];
    return (size_t)all * sizeof(double) +
           (size_t)stn_max((int64_t)stn_host_fft_workspace(h->in), (int64_t)stn_host_fft_workspace(h->out));
}

static void set_pointers(layer_run *j) {
    double **const parts[PARTS] = {&j->grid_in,   &j->grid_out, &j->spectrum, &j->modes_in,
                                   &j->modes_out, &j->weights,  &j->skip,     &j->bias};
    double *next = j->run->workspace;
    int64_t size[PARTS];
    part_sizes(j->host, size);
    for (int i = 0; i < PARTS; i++) {
        *parts[i] = next;
        next += size[i];
    }
    j->fft_workspace = next;
}

/* Converts weights, skip and bias, or clears the sums of their gradients. */
static void prepare_operands(const layer_run *j, stn_pool *pool, const int64_t numbers[STN_OPERANDS]) {
    const stn_host_layer *h = j->host;
    int64_t size[PARTS];
    part_sizes(h, size);
    if (h->layer.pass == STN_PASS_BACKWARD_WEIGHTS) {
        memset(j->weights, 0, (size_t)(size[5] + size[6] + size[7]) * sizeof(double));
        return;
    }
    widen(j, pool, j->run->weights, 0, numbers[STN_OPERAND_WEIGHTS], j->weights);
    widen(j, pool, j->run->skip, 0, numbers[STN_OPERAND_SKIP], j->skip);
    widen(j, pool, j->run->bias, 0, numbers[STN_OPERAND_BIAS], j->bias);
}

static void store_sums(const layer_run *j, stn_pool *pool, const int64_t numbers[STN_OPERANDS]) {
    narrow(j, pool, j->weights, stn_layer_out_numbers(&j->host->layer), j->run->out, 0);
    narrow(j, pool, j->skip, numbers[STN_OPERAND_SKIP_GRADIENT], j->run->skip_gradient, 0);
    narrow(j, pool, j->bias, numbers[STN_OPERAND_BIAS_GRADIENT], j->run->bias_gradient, 0);
}

/* The last chunk begins early enough to be complete: some of its items are computed twice, but
 * summed once (j.fresh). */
void stn_host_layer_run(const stn_host_layer *h, stn_pool *pool, const stn_execution *run) {
    const stn_layer *layer = &h->layer;
    const bool sums = layer->pass == STN_PASS_BACKWARD_WEIGHTS;
    const int64_t item = stn_layer_channels_in(layer) * h->points * stn_layer_components(layer);
    int64_t numbers[STN_OPERANDS];
    layer_run j = {.host = h, .run = run};
    set_pointers(&j);
    stn_layer_operands(layer, numbers);
    prepare_operands(&j, pool, numbers);
    for (int64_t done = 0; done < layer->batch; done += h->chunk) {
        j.begin = stn_min(done, layer->batch - h->chunk);
        j.fresh = done - j.begin;
        widen(&j, pool, run->in, j.begin * item, h->chunk * item, j.grid_in);
        if (sums)
            sum_chunk(&j, pool);
        else
            map_chunk(&j, pool);
    }
    if (sums) store_sums(&j, pool, numbers);
}

/* ---- building */

static stn_status make_transform(const stn_layer *layer, int64_t batch, bool inverse, double scale, int threads,
                                 stn_host_fft **made, stn_error *error) {
    stn_transform t = STN_TRANSFORM_INIT;
    stn_fft fft;
    t.rank = layer->rank;
    for (int axis = 0; axis < t.rank; axis++) t.extent[axis] = (size_t)layer->n[3 - t.rank + axis];
    t.batch = (size_t)batch;
    t.kind = !layer->real ? STN_C2C : inverse ? STN_C2R : STN_R2C;
    t.direction = inverse ? STN_INVERSE : STN_FORWARD;
    t.forward_scale = scale;
    t.dtype = STN_F64;
    STN_TRY(stn_fft_make(&t, &fft, error));
    return stn_host_fft_create(&fft, threads, made, error);
}

stn_status stn_host_layer_create(const stn_layer *layer, int threads, stn_host_layer **made, stn_error *error) {
    *made = NULL;
    stn_host_layer *h = calloc(1, sizeof *h);
    if (!h) return stn_fail_memory(error, "a layer", sizeof *h);
    h->layer = *layer;
    h->points = stn_layer_points(layer), h->spectrum = stn_layer_spectrum(layer), h->modes = stn_layer_modes(layer);
    h->weights = layer->shared ? 1 : h->modes;
    const int64_t item = h->points * stn_max(layer->c_in, layer->c_out);
    h->chunk = stn_min(layer->batch, stn_div_up(CHUNK_POINTS, item));
    const bool sums = layer->pass == STN_PASS_BACKWARD_WEIGHTS;
    stn_status status = make_transform(layer, h->chunk * stn_layer_channels_in(layer), false, 1 / (double)h->points,
                                       threads, &h->in, error);
    if (status == STN_OK)
        status = make_transform(layer, h->chunk * stn_layer_channels_out(layer), !sums, 1, threads, &h->out, error);
    if (status == STN_OK)
        *made = h;
    else
        stn_host_layer_destroy(h);
    return status;
}

void stn_host_layer_destroy(stn_host_layer *h) {
    if (!h) return;
    stn_host_fft_destroy(h->in);
    stn_host_fft_destroy(h->out);
    free(h);
}
