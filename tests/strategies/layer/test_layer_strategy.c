/* Fourier layers by one strategy against their definition. Prints TAP; layers that a strategy does
 * not support are reported as skipped. Usage: test_layer --strategy NAME [--full] [--only PART]
 * [--seed N] [--count N]; the strategy host runs on the host, others on a GPU. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare_layer.h"

static const char *strategy = "host";
static uint64_t seed = 1;
static int count;

static void report(suite *s, const stn_spectral_conv *layer, bool good, const layer_comparison *c) {
    char what[500], detail[1500], line[800];
    layer_name(layer, what, sizeof what);
    layer_explain(c, detail, sizeof detail);
    /* These strategies must run every layer. */
    const bool all = !strcmp(strategy, "host") || !strcmp(strategy, "cublas") || !strcmp(strategy, "auto");
    if (!good && !c->served && !all) {
        snprintf(line, sizeof line, "%s # SKIP %.200s", what, c->error.message);
        suite_report(s, true, line, NULL);
        return;
    }
    if (good && c->bar > 0) s->worst = fmax(s->worst, c->relative_l2 / c->bar);
    suite_report(s, good, what, detail);
}

static void check(suite *s, const stn_spectral_conv *layer) {
    layer_comparison c;
    bool good = layer_compare(s, layer, strategy, -1, 100 + (uint64_t)s->run, &c);
    report(s, layer, good, &c);
}

static stn_spectral_conv layer_of(int rank, size_t n0, size_t n1, size_t n2, size_t batch, size_t in, size_t out) {
    stn_spectral_conv c = STN_SPECTRAL_CONV_INIT;
    c.rank = rank;
    c.extent[0] = n0, c.extent[1] = n1, c.extent[2] = n2;
    c.batch = batch, c.in_channels = in, c.out_channels = out;
    c.dtype = STN_F32;
    return c;
}

/* ---- parts */

static size_t some(dice *d, int most) { return (size_t)dice_int(d, 1, most); }

static stn_spectral_conv random_layer(dice *d, bool large) {
    static const int lengths[2][3] = {{40, 10, 6}, {300, 70, 24}};
    stn_spectral_conv c = STN_SPECTRAL_CONV_INIT;
    c.rank = dice_int(d, 1, 3);
    c.complex_data = dice_int(d, 0, 1);
    for (int axis = 0; axis < c.rank; axis++) {
        c.extent[axis] = some(d, lengths[large][c.rank - 1]);
        if (large && dice_int(d, 0, 1))
            c.extent[axis] = (size_t)1 << dice_int(d, 0, c.rank == 1 ? 9 : c.rank == 2 ? 6 : 4);
        size_t most = !c.complex_data && axis == c.rank - 1 ? c.extent[axis] / 2 + 1 : c.extent[axis];
        c.modes[axis] = dice_int(d, 0, 3) ? some(d, (int)most) : 0;
    }
    c.batch = some(d, large ? 9 : 4);
    c.in_channels = some(d, large ? 40 : 6), c.out_channels = some(d, large ? 40 : 6);
    c.mode_choice = dice_int(d, 0, 2) ? STN_MODES_BOTH_SIGNS : STN_MODES_LOW;
    c.shared_weights = dice_int(d, 0, 1);
    c.has_bias = dice_int(d, 0, 1), c.has_skip = dice_int(d, 0, 1);
    c.pass = (stn_layer_pass)dice_int(d, 0, 2);
    if (c.pass == STN_PASS_FORWARD) c.activation = (stn_activation)dice_int(d, 0, 2);
    c.dtype = (stn_dtype)dice_int(d, 0, 2);
    return c;
}

static void random_cases(suite *s) {
    const int all = count ? count : s->full ? 600 : strcmp(strategy, "host") ? 60 : 250;
    dice d = {seed};
    for (int i = 0; i < all; i++) {
        stn_spectral_conv c = random_layer(&d, s->full && i % 2);
        if (s->dtype_given) c.dtype = s->dtype, c.tolerance = s->tolerance;
        check(s, &c);
    }
}

/* Single points, odd and even lengths with all modes, one mode, one item, other than powers of
 * two. */
static void edges(suite *s) {
    static const size_t lengths[] = {1, 2, 3, 4, 5, 8, 9, 16};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int way = 0; way < 12; way++) {
            /* emulated kernels are slow */
            if (!s->full && strcmp(strategy, "host") && (5 * i + (size_t)way) % 4) continue;
            const size_t n = lengths[i];
            stn_spectral_conv c = layer_of(1 + way / 4 % 3, n, way / 4 == 2 ? 3 : n, 4, 1 + i % 2, 2, 3);
            c.complex_data = way % 2;
            c.pass = (stn_layer_pass)((i + (size_t)way) % 3);
            c.mode_choice = way / 2 % 2 ? STN_MODES_LOW : STN_MODES_BOTH_SIGNS;
            for (int axis = 0; axis < 3 && i % 3 == 2; axis++) c.modes[axis] = 1;
            c.has_bias = c.has_skip = 1;
            check(s, &c);
        }
}

/* A batch that runs in several groups, compared with runs of one item each: their results one after
 * the other, or added up for the gradients of weights. Larger layers are compared with the host,
 * which says nothing of the host itself. */
static void check_items(suite *s, const stn_spectral_conv *layer) {
    stn_spectral_conv one = *layer;
    double *numbers[LAYER_POINTERS] = {0}, *of_items[LAYER_POINTERS] = {0};
    size_t size[LAYER_POINTERS], each[LAYER_POINTERS];
    layer_comparison c = {.bar = 1e-11, .served = true, .all_written = true};
    dice d = {seed + 11};
    one.batch = 1;
    layer_sizes(layer, size);
    layer_sizes(&one, each);
    for (int p = 0; p < LAYER_POINTERS; p++) {
        if (size[p]) numbers[p] = calloc(size[p], sizeof(double)), of_items[p] = calloc(size[p], sizeof(double));
        for (size_t i = 0; i < size[p]; i++) numbers[p][i] = dice_real(&d);
    }
    bool good = layer_run(s, layer, strategy, -1, numbers, &c);
    for (size_t item = 0; item < layer->batch && good; item++) {
        double *single[LAYER_POINTERS] = {0}, *made[LAYER_POINTERS] = {0};
        for (int p = 0; p < LAYER_POINTERS; p++) {
            if (!size[p]) continue;
            made[p] = layer_is_written(p) ? calloc(each[p], sizeof(double)) : NULL;
            single[p] = made[p] ? made[p] : numbers[p] + (size[p] > each[p] ? item * each[p] : 0);
        }
        good = layer_run(s, &one, strategy, -1, single, &c);
        for (int p = 0; p < LAYER_POINTERS; p++) {
            const size_t at = size[p] > each[p] ? item * each[p] : 0;
            for (size_t i = 0; made[p] && i < each[p]; i++) of_items[p][at + i] += made[p][i];
            free(made[p]);
        }
    }
    for (int p = 0; p < LAYER_POINTERS && good; p++) {
        double off = 0, all = 0;
        for (size_t i = 0; size[p] && layer_is_written(p) && i < size[p]; i++) {
            off += (numbers[p][i] - of_items[p][i]) * (numbers[p][i] - of_items[p][i]);
            all += of_items[p][i] * of_items[p][i];
        }
        if (all > 0) c.relative_l2 = fmax(c.relative_l2, sqrt(off / all));
    }
    c.point = c.relative_l2;
    report(s, layer, good && c.relative_l2 <= c.bar, &c);
    for (int p = 0; p < LAYER_POINTERS; p++) free(numbers[p]), free(of_items[p]);
}

/* Larger layers, with incomplete groups and tiles; compared with the host's f64 where the sums take
 * too long. */
static void larger(suite *s) {
    stn_spectral_conv c = layer_of(1, 128, 0, 0, 33, 20, 17);
    c.modes[0] = 32, c.has_skip = c.has_bias = 1, c.activation = STN_ACTIVATION_GELU;
    check(s, &c);
    c.complex_data = 1, c.mode_choice = STN_MODES_LOW, c.shared_weights = 1, c.modes[0] = 64;
    c.activation = STN_ACTIVATION_NONE, c.has_skip = c.has_bias = 0;
    check(s, &c);
    c.pass = STN_PASS_BACKWARD_X;
    check(s, &c);
    c.pass = STN_PASS_BACKWARD_WEIGHTS;
    check(s, &c);
    c = layer_of(2, 32, 48, 0, 3, 9, 11);
    c.modes[0] = 12, c.modes[1] = 7, c.has_skip = 1;
    for (int pass = 0; pass < 3; pass++) {
        c.pass = (stn_layer_pass)pass;
        check(s, &c);
    }
    c = layer_of(1, 512, 0, 0, 33, 2, 3); /* sums of 8481 terms, and of 512 for each item */
    c.shared_weights = c.has_skip = 1, c.pass = STN_PASS_BACKWARD_WEIGHTS;
    check(s, &c);
    c = layer_of(1, 5000, 0, 0, 3, 2, 1); /* sums of 5000 terms per item */
    c.modes[0] = 500, c.shared_weights = c.has_skip = c.complex_data = 1, c.pass = STN_PASS_BACKWARD_WEIGHTS;
    check(s, &c);
    c = layer_of(1, 4, 0, 0, 2500, 2, 2); /* sums over a batch of 2500 */
    c.pass = STN_PASS_BACKWARD_WEIGHTS;
    check(s, &c);
    if (strcmp(strategy, "host")) return;
    c = layer_of(1, 4096, 0, 0, 37, 3, 2); /* the host takes 22 items, then the last 22 */
    c.modes[0] = 9, c.has_skip = c.has_bias = 1;
    for (int pass = 0; pass < 3; pass++) {
        c.pass = (stn_layer_pass)pass;
        check(s, &c);
    }
    for (int way = 0; way < 6; way++) { /* two items, then the last two */
        c = layer_of(1, 65536, 0, 0, 3, 2, way / 3 + 1);
        c.modes[0] = 33, c.has_skip = c.has_bias = 1, c.complex_data = way / 3;
        c.dtype = STN_F64, c.pass = (stn_layer_pass)(way % 3);
        check_items(s, &c);
    }
}

/* ---- gradients: <g, dy> for a small change of an argument equals <its gradient, the change> */

static double inner(const double *a, const double *b, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* <g, y> with the array of pointer `which` moved by `step` times `way`. */
static double loss(suite *s, const stn_spectral_conv *forward, double *numbers[LAYER_POINTERS], const double *g,
                   int which, const double *way, double step, layer_comparison *c) {
    size_t size[LAYER_POINTERS];
    layer_sizes(forward, size);
    for (size_t i = 0; i < size[which]; i++) numbers[which][i] += step * way[i];
    bool good = layer_run(s, forward, strategy, -1, numbers, c);
    for (size_t i = 0; i < size[which]; i++) numbers[which][i] -= step * way[i];
    return good ? inner(g, numbers[LAYER_OUT], size[LAYER_OUT]) : NAN;
}

/* The gradients of a layer's arguments by its backward passes. */
static bool gradients(suite *s, const stn_spectral_conv *forward, double *numbers[LAYER_POINTERS], double *g,
                      double *gradient[LAYER_POINTERS], layer_comparison *c) {
    stn_spectral_conv back = *forward;
    enum { w = LAYER_FIRST_OPERAND + STN_OPERAND_WEIGHTS, b = w + STN_OPERAND_BIAS, k = w + STN_OPERAND_SKIP };
    back.pass = STN_PASS_BACKWARD_X;
    double *to_x[LAYER_POINTERS] = {
        [LAYER_IN] = g, [LAYER_OUT] = gradient[LAYER_IN], [w] = numbers[w], [k] = numbers[k]};
    if (!layer_run(s, &back, strategy, -1, to_x, c)) return false;
    back.pass = STN_PASS_BACKWARD_WEIGHTS;
    double *to_w[LAYER_POINTERS] = {[LAYER_IN] = numbers[LAYER_IN],
                                    [LAYER_OUT] = gradient[w],
                                    [LAYER_FIRST_OPERAND + STN_OPERAND_GRADIENT] = g,
                                    [LAYER_FIRST_OPERAND + STN_OPERAND_BIAS_GRADIENT] = gradient[b],
                                    [LAYER_FIRST_OPERAND + STN_OPERAND_SKIP_GRADIENT] = gradient[k]};
    return layer_run(s, &back, strategy, -1, to_w, c);
}

static void check_gradients(suite *s, const stn_spectral_conv *layer, dice *d) {
    double *numbers[LAYER_POINTERS] = {0}, *gradient[LAYER_POINTERS] = {0}, *way[LAYER_POINTERS] = {0};
    size_t size[LAYER_POINTERS];
    layer_comparison c = {.bar = 1e-9, .served = true};
    layer_sizes(layer, size);
    double *g = calloc(size[LAYER_OUT], sizeof *g);
    for (size_t i = 0; i < size[LAYER_OUT]; i++) g[i] = dice_real(d);
    for (int p = 0; p < LAYER_POINTERS; p++) {
        if (!size[p]) continue;
        numbers[p] = calloc(size[p], sizeof(double)), gradient[p] = calloc(size[p], sizeof(double));
        way[p] = calloc(size[p], sizeof(double));
        for (size_t i = 0; i < size[p]; i++) numbers[p][i] = dice_real(d), way[p][i] = dice_real(d);
    }
    bool good = gradients(s, layer, numbers, g, gradient, &c);
    for (int p = 0; p < LAYER_POINTERS && good; p++) {
        if (!size[p] || layer_is_written(p)) continue;
        const double step = 1e-3; /* y is linear in each argument, so any step works */
        const double up = loss(s, layer, numbers, g, p, way[p], step, &c),
                     down = loss(s, layer, numbers, g, p, way[p], -step, &c), slope = (up - down) / (2 * step),
                     said = inner(gradient[p], way[p], size[p]);
        c.relative_l2 = fmax(c.relative_l2, fabs(slope - said) / (1 + fabs(slope)));
        good = c.relative_l2 <= c.bar;
    }
    c.point = c.relative_l2, c.all_written = true;
    report(s, layer, good, &c);
    for (int p = 0; p < LAYER_POINTERS; p++) free(numbers[p]), free(gradient[p]), free(way[p]);
    free(g);
}

static void gradient_cases(suite *s) {
    dice d = {seed + 7};
    for (int i = 0; i < (s->full ? 60 : strcmp(strategy, "host") ? 6 : 30); i++) {
        stn_spectral_conv c = random_layer(&d, false);
        c.dtype = STN_F64, c.pass = STN_PASS_FORWARD, c.activation = STN_ACTIVATION_NONE;
        check_gradients(s, &c, &d);
    }
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {
        {"random", random_cases}, {"edges", edges}, {"larger", larger}, {"gradients", gradient_cases}};
    char *rest[32];
    int left = 0;
    for (int i = 0; i < argc && left < 32; i++) {
        if (i + 1 < argc && !strcmp(argv[i], "--strategy"))
            strategy = argv[++i];
        else if (i + 1 < argc && !strcmp(argv[i], "--seed"))
            seed = strtoull(argv[++i], NULL, 10);
        else if (i + 1 < argc && !strcmp(argv[i], "--count"))
            count = atoi(argv[++i]);
        else
            rest[left++] = argv[i];
    }
    return suite_main_on(strcmp(strategy, "host") ? STN_DEVICE_CUDA(0) : STN_DEVICE_HOST, left, rest, parts,
                         sizeof parts / sizeof *parts);
}
