/* A Fourier layer as a sequence of launches; see fno_route.h. */
#include "strategies/fno/fno_route.h"

#include <stdio.h>

#include "base/arith.h"

/* The layer's axes are first_axis .. 2; the first one may be fused with the product. */
typedef struct builder {
    const stn_layer *layer;
    fno_route *route;
    int first_axis;
    int64_t others; /* product of the modes of all axes but the first */
} builder;

static fno_stage *next_stage(fno_route *route) {
    fno_stage *stage = &route->stage[route->count++];
    *stage = (fno_stage){0};
    return stage;
}

static void reserve(fno_route *route, fno_place place, int64_t size) {
    route->sizes[place] = stn_max(route->sizes[place], size);
}

/* The pass along an axis, without its strides. */
static fno_pass along(const builder *b, int axis) {
    const stn_layer *l = b->layer;
    const bool real = l->real && axis == 2;
    fno_pass pass = {.n = l->n[axis], .modes = l->modes[axis], .low = -l->lowest[axis], .real = real};
    /* Two real channels form a line; the modes that are separated from it are twice too large. */
    pass.scale = (real ? 0.5 : 1.0);
    return pass;
}

/* Strides of points and modes of c channels along an axis that is not the first. */
static void outer_sides(const builder *b, int axis, int64_t c, fno_pass *pass, fno_side *points, fno_side *modes) {
    const stn_layer *l = b->layer;
    const int64_t inner = axis == 2 ? c : l->modes[2] * c; /* items of a grid */
    const int64_t lines = axis == 2 ? l->n[0] * l->n[1] : l->n[0], n = l->n[axis];
    pass->items = l->batch * inner, pass->inner = inner;
    pass->channels = pass->outputs = lines;
    *points = (fno_side){inner * lines * n, lines * n, n};
    *modes = (fno_side){l->modes[axis] * inner * lines, lines, inner * lines};
}

/* The strides of points of c channels along the first axis. An item has c lines, one for each
 * channel, and there is an item for each mode of the other axes. */
static fno_side first_points(const builder *b, int64_t c) {
    const int64_t n = b->layer->n[b->first_axis];
    return (fno_side){b->others * c * n, c * n, n};
}
static fno_side first_modes(const builder *b, int64_t c) {
    const int64_t batch = b->layer->batch;
    return (fno_side){c, batch * c, b->others * batch * c};
}

/* Number of the points along the first axis, as complex numbers. */
static int64_t first_points_count(const builder *b, int64_t c) {
    return b->layer->batch * b->others * c * b->layer->n[b->first_axis];
}
static int64_t modes_count(const builder *b, int64_t c) { return b->layer->batch * stn_layer_modes(b->layer) * c; }

/* Adds the passes along all axes but the first, from points in `from`; returns the place of the
 * resulting points along the first axis. The forward transform is scaled by 1/n, except that of a
 * gradient. */
static fno_place add_forward_passes(builder *b, fno_place from, int64_t c, bool gradient) {
    for (int axis = 2; axis > b->first_axis; axis--) {
        fno_stage *stage = next_stage(b->route);
        stage->pass = along(b, axis);
        stage->pass.forward = true, stage->pass.in_is_dtype = axis == 2;
        stage->pass.doubled = gradient && stage->pass.real;
        if (!gradient) stage->pass.scale /= (double)stage->pass.n;
        outer_sides(b, axis, c, &stage->pass, &stage->pass.in, &stage->pass.out);
        stage->from = from, stage->to = from == FNO_A ? FNO_B : FNO_A;
        reserve(b->route, stage->to, stage->pass.items * stage->pass.modes * stage->pass.channels);
        from = stage->to;
    }
    return from;
}

/* Passes from points along the first axis in `from` to the output, after the first axis' own
 * pass. */
static void add_inverse_passes(builder *b, fno_place from, int64_t c) {
    for (int axis = b->first_axis + 1; axis <= 2; axis++) {
        fno_stage *stage = next_stage(b->route);
        stage->pass = along(b, axis);
        stage->pass.back = true, stage->pass.out_is_dtype = axis == 2;
        outer_sides(b, axis, c, &stage->pass, &stage->pass.out, &stage->pass.in);
        stage->from = from, stage->to = axis == 2 ? FNO_Y : from == FNO_A ? FNO_B : FNO_A;
        if (stage->to != FNO_Y) reserve(b->route, stage->to, stage->pass.items * stage->pass.n * stage->pass.channels);
        from = stage->to;
    }
}

/* The forward pass along the first axis alone: to modes as [k][b][c]. */
static void add_first_forward(builder *b, fno_place from, fno_place to, int64_t c, bool gradient) {
    fno_stage *stage = next_stage(b->route);
    stage->pass = along(b, b->first_axis);
    stage->pass.forward = true, stage->pass.in_is_dtype = b->first_axis == 2;
    stage->pass.doubled = gradient && stage->pass.real;
    if (!gradient) stage->pass.scale /= (double)stage->pass.n;
    stage->pass.items = b->layer->batch * b->others, stage->pass.inner = b->others;
    stage->pass.channels = stage->pass.outputs = c;
    stage->pass.in = first_points(b, c), stage->pass.out = first_modes(b, c);
    stage->from = from, stage->to = to;
    reserve(b->route, to, modes_count(b, c));
}

/* The product with the weights, fused with the first axis' forward and inverse passes as asked. */
static fno_place multiply(builder *b, fno_place from, bool forward, bool back) {
    const stn_layer *l = b->layer;
    const int64_t c = stn_layer_channels_in(l), o = stn_layer_channels_out(l);
    const bool to_x = l->pass == STN_PASS_BACKWARD_X;
    fno_stage *stage = next_stage(b->route);
    stage->pass = along(b, b->first_axis);
    fno_pass *pass = &stage->pass;
    pass->forward = forward, pass->back = back, pass->product = true;
    pass->in_is_dtype = forward && b->first_axis == 2, pass->out_is_dtype = back && b->first_axis == 2;
    pass->scale /= (double)pass->n;
    pass->items = l->batch * b->others, pass->inner = b->others, pass->channels = c, pass->outputs = o;
    pass->in = forward ? first_points(b, c) : first_modes(b, c);
    pass->out = back ? first_points(b, o) : first_modes(b, o);
    pass->weight_in = to_x ? 1 : l->c_out, pass->weight_out = to_x ? l->c_out : 1, pass->conjugate = to_x;
    pass->aligned = l->alignment >= 16;
    stage->from = from, stage->right = FNO_WEIGHTS;
    stage->to = back && b->first_axis == 2 ? FNO_Y : from == FNO_A ? FNO_B : FNO_A;
    if (stage->to != FNO_Y) reserve(b->route, stage->to, back ? first_points_count(b, o) : modes_count(b, o));
    return stage->to;
}

/* Multiplies modes by weights in a launch of its own: by a matrix for each mode, or by one matrix
 * for all modes. */
static fno_place multiply_modes(builder *b, fno_place from) {
    const stn_layer *l = b->layer;
    const int64_t c = stn_layer_channels_in(l), o = stn_layer_channels_out(l), all = stn_layer_modes(l),
                  per = l->shared ? 1 : all;
    const bool to_x = l->pass == STN_PASS_BACKWARD_X;
    fno_stage *stage = next_stage(b->route);
    stage->kind = FNO_MODE_PRODUCT;
    stage->mode_product =
        (fno_mode_product){.left_row = c, .left_term = 1, .out_row = o, .out_column = 1, .terms = c, .columns = o};
    fno_mode_product *m = &stage->mode_product;
    m->modes = per, m->rows = l->batch * (all / per), m->scale = 1, m->right_is_dtype = true, m->conjugate = to_x;
    m->left_mode = l->shared ? 0 : l->batch * c, m->out_mode = l->shared ? 0 : l->batch * o;
    m->right_mode = l->shared ? 0 : 1;
    m->right_term = to_x ? per : l->c_out * per, m->right_column = to_x ? l->c_out * per : per;
    stage->from = from, stage->right = FNO_WEIGHTS, stage->to = from == FNO_A ? FNO_B : FNO_A;
    reserve(b->route, stage->to, modes_count(b, o));
    return stage->to;
}

static fno_place add_first_inverse(builder *b, fno_place from) {
    const int64_t o = stn_layer_channels_out(b->layer);
    fno_stage *stage = next_stage(b->route);
    stage->pass = along(b, b->first_axis);
    stage->pass.back = true, stage->pass.out_is_dtype = b->first_axis == 2;
    stage->pass.items = b->layer->batch * b->others, stage->pass.inner = b->others;
    stage->pass.channels = stage->pass.outputs = o;
    stage->pass.in = first_modes(b, o), stage->pass.out = first_points(b, o);
    stage->from = from, stage->to = b->first_axis == 2 ? FNO_Y : from == FNO_A ? FNO_B : FNO_A;
    if (stage->to != FNO_Y) reserve(b->route, stage->to, first_points_count(b, o));
    return stage->to;
}

/* The sum of `parts` consecutive arrays of `numbers` numbers. */
static void sum_parts(builder *b, fno_place from, fno_place to, int64_t parts, int64_t numbers) {
    fno_stage *stage = next_stage(b->route);
    stage->kind = FNO_SUM, stage->from = from, stage->to = to;
    stage->sum = (fno_sum){.stride = 1, .step = numbers, .terms = parts, .outputs = numbers, .per = 1};
}

/* The gradient of the bias is the sum of y's gradient over points and batch. The sum over points is
 * frequency 0 of the spectrum, which is always retained; this stage sums it over the batch. */
static void bias_gradient(builder *b, fno_place spectrum) {
    const stn_layer *l = b->layer;
    const int64_t zero = (-l->lowest[0] * l->modes[1] - l->lowest[1]) * l->modes[2] - l->lowest[2],
                  per = stn_layer_components(l);
    fno_stage *stage = next_stage(b->route);
    stage->kind = FNO_SUM, stage->from = spectrum, stage->to = FNO_BIAS_GRADIENT;
    stage->sum = (fno_sum){.offset = 2 * zero * l->batch * l->c_out, .stride = 2, .step = 2 * l->c_out};
    stage->sum.terms = l->batch, stage->sum.outputs = per * l->c_out, stage->sum.per = (int)per;
}

/* The gradient of the weights: both spectra, their products for each mode, and the sum of these if
 * all modes share one matrix. */
static void weight_gradient(builder *b) {
    const stn_layer *l = b->layer;
    const int64_t all = stn_layer_modes(l), batch = l->batch;
    add_first_forward(b, add_forward_passes(b, FNO_X, l->c_in, false), FNO_C, l->c_in, false);
    const fno_place from = add_forward_passes(b, FNO_GRADIENT, l->c_out, true), to = from == FNO_A ? FNO_B : FNO_A;
    add_first_forward(b, from, to, l->c_out, true);
    if (l->has_bias) bias_gradient(b, to);
    fno_stage *stage = next_stage(b->route);
    stage->kind = FNO_MODE_PRODUCT;
    stage->mode_product = (fno_mode_product){.left_mode = batch * l->c_in, .left_row = 1, .left_term = l->c_in};
    fno_mode_product *m = &stage->mode_product;
    m->right_mode = batch * l->c_out, m->right_term = l->c_out, m->right_column = 1;
    m->out_mode = 1, m->out_row = l->c_out * all, m->out_column = all;
    m->terms = batch, m->modes = all, m->rows = l->c_in, m->columns = l->c_out;
    m->conjugate = m->conjugate_out = true, m->out_is_dtype = !l->shared, m->scale = 1;
    stage->from = FNO_C, stage->right = to, stage->to = FNO_Y;
    if (!l->shared) return;
    m->out_mode = l->c_in * l->c_out, m->out_row = l->c_out, m->out_column = 1;
    stage->to = to == FNO_A ? FNO_B : FNO_A;
    reserve(b->route, stage->to, all * l->c_in * l->c_out);
    sum_parts(b, stage->to, FNO_Y, all, 2 * l->c_in * l->c_out);
}

/* ---- bias and skip connection */

/* skip[c][o] times x at every point, or its adjoint times y's gradient. */
static void skip_product(builder *b) {
    const stn_layer *l = b->layer;
    const int64_t n = stn_layer_points(l), c = stn_layer_channels_in(l), o = stn_layer_channels_out(l);
    const bool to_x = l->pass == STN_PASS_BACKWARD_X;
    fno_stage *stage = next_stage(b->route);
    stage->kind = FNO_MODE_PRODUCT;
    stage->mode_product =
        (fno_mode_product){.left_mode = c * n, .left_row = 1, .left_term = n, .out_mode = o * n, .out_row = 1};
    fno_mode_product *m = &stage->mode_product;
    m->out_column = n, m->right_term = to_x ? 1 : l->c_out, m->right_column = to_x ? l->c_out : 1;
    m->terms = c, m->modes = l->batch, m->rows = n, m->columns = o, m->scale = 1, m->conjugate = to_x;
    m->left_is_dtype = m->right_is_dtype = m->out_is_dtype = true;
    if (l->real) m->points = 1, m->real_points = n, m->rows = stn_div_up(n, 2), m->left_row = m->out_row = 2;
    stage->from = FNO_X, stage->right = FNO_SKIP, stage->to = FNO_Y;
}

/* Products for each item of the batch, then their sum. */
static void skip_gradient(builder *b) {
    const stn_layer *l = b->layer;
    const int64_t n = stn_layer_points(l), c = l->c_in, o = l->c_out;
    fno_stage *stage = next_stage(b->route);
    stage->kind = FNO_MODE_PRODUCT;
    stage->mode_product =
        (fno_mode_product){.left_mode = c * n, .left_row = n, .left_term = 1, .right_mode = o * n, .right_term = 1};
    fno_mode_product *m = &stage->mode_product;
    m->right_column = n, m->out_mode = c * o, m->out_row = o, m->out_column = 1;
    m->terms = n, m->modes = l->batch, m->rows = c, m->columns = o, m->scale = 1;
    m->left_is_dtype = m->right_is_dtype = m->conjugate = m->conjugate_out = true;
    if (l->real) m->points = 2, m->real_points = n, m->terms = stn_div_up(n, 2), m->left_term = m->right_term = 2;
    stage->from = FNO_X, stage->right = FNO_GRADIENT, stage->to = FNO_A;
    reserve(b->route, FNO_A, l->batch * c * o);
    sum_parts(b, FNO_A, FNO_SKIP_GRADIENT, l->batch, c * o * stn_layer_components(l));
}

/* Adds bias, skip connection and activation to the last pass. */
static void finish(const stn_layer *l, fno_route *route) {
    fno_pass *last = &route->stage[route->count - 1].pass;
    last->activation = l->activation;
    last->added = l->has_skip;
    if (l->has_bias && l->pass == STN_PASS_FORWARD) last->bias = l->rank == 1 ? FNO_BIAS_BY_CHANNEL : FNO_BIAS_BY_ITEM;
}

bool fno_route_for(const stn_layer *layer, fno_fusion fusion, fno_route *route, char *reason, size_t size) {
    builder b = {.layer = layer, .route = route, .first_axis = 3 - layer->rank, .others = 1};
    *route = (fno_route){0};
    if (fusion != FNO_FUSE_NONE && (!layer->shared || layer->pass == STN_PASS_BACKWARD_WEIGHTS)) {
        snprintf(reason, size, "products are fused where all modes have the same weights");
        return false;
    }
    for (int axis = b.first_axis + 1; axis <= 2; axis++) b.others *= layer->modes[axis];
    if (layer->pass == STN_PASS_BACKWARD_WEIGHTS) {
        if (layer->has_skip) skip_gradient(&b);
        weight_gradient(&b);
        return true;
    }
    if (layer->has_skip) skip_product(&b);
    const bool forward = fusion == FNO_FUSE_FORWARD || fusion == FNO_FUSE_ALL,
               back = fusion == FNO_FUSE_BACK || fusion == FNO_FUSE_ALL;
    const int64_t c = stn_layer_channels_in(layer);
    fno_place at = add_forward_passes(&b, FNO_X, c, false);
    if (!forward) {
        const fno_place to = at == FNO_A ? FNO_B : FNO_A;
        add_first_forward(&b, at, to, c, false);
        at = to;
    }
    at = fusion == FNO_FUSE_NONE ? multiply_modes(&b, at) : multiply(&b, at, forward, back);
    if (!back) at = add_first_inverse(&b, at);
    add_inverse_passes(&b, at, stn_layer_channels_out(layer));
    finish(layer, route);
    return true;
}
