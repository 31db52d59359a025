/* Layouts, workspace and matrix products of the cublas strategy; see cublas_shape.h. cuBLAS
 * matrices are column-major: our row-major arrays are their transposes. */
#include "strategies/cublas/cublas_shape.h"

#include "base/arith.h"
#include "base/error.h"

bool cublas_can_be_straight(const stn_layer *layer) {
    return layer->shared && layer->pass != STN_PASS_BACKWARD_WEIGHTS && layer->n[0] == 1 && layer->n[1] == 1 &&
           layer->lowest[2] == 0;
}

cublas_shape cublas_shape_of(const stn_layer *layer, const stn_candidate *candidate) {
    const bool backward = layer->pass == STN_PASS_BACKWARD_X;
    cublas_shape s = {.layer = layer};
    s.straight = candidate->values[CUBLAS_IS_STRAIGHT];
    s.tf32 = candidate->values[CUBLAS_TF32];
    s.half = layer->dtype == STN_F16;
    s.inner = s.half ? STN_F32 : layer->dtype;
    s.padded = layer->real && (layer->n[0] > 1 || layer->n[1] > 1);
    s.own_weights = s.half || !layer->shared || (s.straight && backward);
    s.own_skip = s.half || (!layer->real && backward);
    s.finishes = s.half || s.padded || layer->activation || (layer->has_bias && !backward);
    s.points = stn_layer_points(layer), s.spectrum = stn_layer_spectrum(layer), s.modes = stn_layer_modes(layer);
    s.pairs = layer->c_in * layer->c_out;
    s.from = stn_layer_channels_in(layer), s.to = stn_layer_channels_out(layer);
    s.pieces = layer->shared && layer->pass == STN_PASS_BACKWARD_WEIGHTS && s.modes * layer->batch > CUBLAS_PIECE;
    s.per = stn_layer_components(layer);
    return s;
}

void cublas_part_sizes(const cublas_shape *s, size_t size[CUBLAS_PARTS]) {
    const stn_layer *layer = s->layer;
    const bool sums = layer->pass == STN_PASS_BACKWARD_WEIGHTS;
    const int64_t number = (int64_t)stn_dtype_size(s->inner), items = layer->batch;
    const int64_t weights = 2 * stn_layer_weights(layer), skip = s->pairs * s->per;
    int64_t numbers[CUBLAS_PARTS] = {0};
    if (s->half) numbers[CUBLAS_X] = items * s->from * s->points * s->per;
    if (s->half) numbers[CUBLAS_Y] = items * s->to * s->points * s->per;
    numbers[CUBLAS_SPECTRUM] = 2 * items * (s->straight ? s->from : stn_max(s->from, s->to)) * s->spectrum;
    if (s->straight) numbers[CUBLAS_STRAIGHT] = 2 * items * s->to * s->spectrum;
    if (!s->straight) numbers[CUBLAS_KEPT_IN] = 2 * items * s->from * s->modes;
    if (!s->straight) numbers[CUBLAS_KEPT_OUT] = 2 * items * s->to * s->modes;
    if (s->own_weights) numbers[CUBLAS_WEIGHTS] = weights;
    if (layer->has_skip && s->own_skip && !sums) numbers[CUBLAS_SKIP] = skip;
    if (layer->has_skip && sums) numbers[CUBLAS_PARTIALS] = cublas_partials(items, s->points) * skip;
    if (s->pieces)
        numbers[CUBLAS_PARTIALS] = stn_max(numbers[CUBLAS_PARTIALS], cublas_partials(1, items * s->modes) * weights);
    for (int i = 0; i < CUBLAS_PARTS; i++) size[i] = (size_t)(numbers[i] * number);
    size[CUBLAS_BLAS] = STN_CUBLAS_WORKSPACE;
}

stn_status cublas_transform(const cublas_shape *s, int64_t channels, bool inverse, stn_fft *fft, stn_error *error) {
    const stn_layer *layer = s->layer;
    stn_transform t = STN_TRANSFORM_INIT;
    t.rank = layer->rank;
    for (int axis = 0; axis < t.rank; axis++) t.extent[axis] = (size_t)layer->n[3 - t.rank + axis];
    t.batch = (size_t)(layer->batch * channels);
    t.kind = !layer->real ? STN_C2C : inverse ? STN_C2R : STN_R2C;
    t.direction = inverse ? STN_INVERSE : STN_FORWARD;
    t.in_place = inverse && s->padded;
    t.dtype = s->inner;
    return stn_fft_make(&t, fft, error);
}

/* ---- products */

static stn_gemm product(const cublas_shape *s, bool complex, int64_t m, int64_t n, int64_t k, int64_t batch) {
    return (stn_gemm){
        .dtype = s->inner, .complex = complex, .tf32 = s->tf32, .m = m, .n = n, .k = k, .batch = batch, .alpha = 1};
}

static void set_strides(stn_gemm *g, int64_t lda, int64_t stride_a, int64_t ldb, int64_t stride_b, int64_t ldc,
                        int64_t stride_c) {
    g->lda = lda, g->stride_a = stride_a;
    g->ldb = ldb, g->stride_b = stride_b;
    g->ldc = ldc, g->stride_c = stride_c;
}

/* X, Z: retained modes of the input and of the output; W: weights. Forward, for each mode:
 * Z^T (to x items) = W^T (to x from) X^T (from x items). The row-major array [from][to] is W^T in
 * column-major order. Backward: the adjoint of W^T instead. alpha is the 1/N of the transforms. */
stn_gemm cublas_map(const cublas_shape *s) {
    const stn_layer *layer = s->layer;
    const bool backward = layer->pass == STN_PASS_BACKWARD_X;
    const int64_t items = layer->batch;
    stn_gemm g;
    if (s->straight) {
        /* For each item: Z^T (modes x to) = X^T (modes x from) W (from x to). Forward, W is the
         * transpose of its array in column-major order. Backward, a conjugated copy is read. */
        g = product(s, true, s->modes, s->to, s->from, items);
        g.op_b = backward ? STN_GEMM_PLAIN : STN_GEMM_TRANSPOSED;
        set_strides(&g, s->spectrum, s->from * s->spectrum, layer->c_out, 0, s->spectrum, s->to * s->spectrum);
    } else {
        const int64_t columns = layer->shared ? s->modes * items : items, each = layer->shared ? 1 : s->modes;
        g = product(s, true, s->to, columns, s->from, each);
        g.op_a = backward ? STN_GEMM_ADJOINT : STN_GEMM_PLAIN;
        set_strides(&g, layer->c_out, s->pairs, s->from, items * s->from, s->to, items * s->to);
    }
    g.alpha = 1 / (double)s->points;
    return g;
}

/* For each mode, or the sum over all modes if these share one matrix: dW^T (c_out x c_in) =
 * G^T (c_out x items) conj(X) (items x c_in). G: retained modes of the output's gradient. */
stn_gemm cublas_sum(const cublas_shape *s) {
    const stn_layer *layer = s->layer;
    const int64_t items = layer->batch, terms = layer->shared ? s->modes * items : items;
    stn_gemm g = product(s, true, layer->c_out, layer->c_in, terms, layer->shared ? 1 : s->modes);
    g.op_b = STN_GEMM_ADJOINT;
    set_strides(&g, layer->c_out, items * layer->c_out, layer->c_in, items * layer->c_in, layer->c_out, s->pairs);
    g.alpha = 1 / (double)s->points;
    return g;
}

/* For each item: Y^T (points x to) = X^T (points x from) S; backward to x: times conj(S)^T. */
stn_gemm cublas_skip(const cublas_shape *s) {
    const stn_layer *layer = s->layer;
    stn_gemm g = product(s, !layer->real, s->points, s->to, s->from, layer->batch);
    g.op_b = layer->pass == STN_PASS_BACKWARD_X ? STN_GEMM_PLAIN : STN_GEMM_TRANSPOSED;
    set_strides(&g, s->points, s->from * s->points, layer->c_out, 0, s->points, s->to * s->points);
    g.beta = s->padded ? 0 : 1; /* adds to the transform's result, or is added to it later */
    return g;
}

int64_t cublas_partials(int64_t items, int64_t terms) {
    return stn_min(stn_max(items, terms / CUBLAS_PIECE), CUBLAS_AT_ONCE);
}

/* For one item: conj(X) (c_in x points) G^T (points x c_out). */
stn_gemm cublas_skip_sum(const cublas_shape *s) {
    const stn_layer *layer = s->layer;
    stn_gemm g = product(s, !layer->real, layer->c_in, layer->c_out, s->points, 1);
    g.op_a = layer->real ? STN_GEMM_TRANSPOSED : STN_GEMM_ADJOINT;
    set_strides(&g, s->points, layer->c_in * s->points, s->points, layer->c_out * s->points, layer->c_in, s->pairs);
    return g;
}
