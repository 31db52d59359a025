/* Strategy fno: all its candidates for a layer against the definition. Usage as for test_layer. */
#include <stdio.h>
#include <string.h>

#include "../layer/compare_layer.h"

/* WAYS: the most candidates of a layer. Besides the fusions there are transforms next to products
 * in one block and in two, dense products, and two ways of direct sums of frequencies. */
enum { FUSIONS = 4, WAYS = FUSIONS + 5 };

/* Checks all candidates of a layer, of which there must be at least `least`. */
static void check_all(suite *s, const stn_spectral_conv *layer, int least) {
    char what[500], detail[1500], line[800];
    int served = 0;
    layer_name(layer, what, sizeof what);
    for (int pick = 0; pick < WAYS; pick++) {
        layer_comparison c;
        const bool good = layer_compare(s, layer, "fno", pick, 40 + (uint64_t)s->run, &c);
        if (!c.served) break;
        served++;
        layer_explain(&c, detail, sizeof detail);
        snprintf(line, sizeof line, "%.480s: %.200s", what, c.parameters);
        suite_report(s, good, line, detail);
    }
    snprintf(line, sizeof line, "%.480s: %d ways", what, served);
    suite_report(s, served >= least, line, "fewer than there should be");
}

static stn_spectral_conv layer_of(int rank, const size_t *extent, const size_t *modes, size_t batch, size_t in,
                                  size_t out) {
    stn_spectral_conv c = STN_SPECTRAL_CONV_INIT;
    c.rank = rank;
    for (int axis = 0; axis < rank; axis++) c.extent[axis] = extent[axis], c.modes[axis] = modes[axis];
    c.batch = batch, c.in_channels = in, c.out_channels = out;
    c.shared_weights = 1, c.dtype = STN_F32;
    return c;
}

/* The kind of layer in the TurboFNO paper, with incomplete groups of channels and tiles of
 * outputs. */
static void paper(suite *s) {
    stn_spectral_conv c = layer_of(1, (size_t[]){128}, (size_t[]){64}, 3, 37, 29);
    c.complex_data = 1, c.mode_choice = STN_MODES_LOW;
    check_all(s, &c, FUSIONS);
    if (!s->full) return;
    c.tolerance = 5e-4, c.has_bias = 1, c.activation = STN_ACTIVATION_GELU;
    check_all(s, &c, FUSIONS);
    c.tolerance = 0, c.pass = STN_PASS_BACKWARD_X, c.has_bias = 0, c.activation = STN_ACTIVATION_NONE;
    check_all(s, &c, FUSIONS);
}

/* Transforms next to products: several items per block, groups that are only loaded or only stored,
 * incomplete groups of channels, and f64, whose points are not prefetched. */
static void split(suite *s) {
    /* 348 items in 132 blocks */
    stn_spectral_conv c = layer_of(2, (size_t[]){16, 12}, (size_t[]){9, 12}, 29, 5, 3);
    c.complex_data = 1;
    check_all(s, &c, FUSIONS + 1);
    if (!s->full) return;
    c = layer_of(1, (size_t[]){32}, (size_t[]){9}, 300, 33, 104);
    c.has_bias = 1, c.activation = STN_ACTIVATION_GELU;
    check_all(s, &c, FUSIONS + 1);
    c = layer_of(1, (size_t[]){30}, (size_t[]){30}, 269, 110, 18);
    c.complex_data = 1, c.tolerance = 5e-4, c.pass = STN_PASS_BACKWARD_X;
    check_all(s, &c, FUSIONS + 1);
    c = layer_of(2, (size_t[]){35, 20}, (size_t[]){13, 11}, 40, 3, 4);
    c.has_bias = c.has_skip = 1;
    for (int dtype = 0; dtype < 3; dtype++) {
        c.dtype = (stn_dtype)dtype;
        check_all(s, &c, FUSIONS + 1);
    }
}

/* Pairs of real lines: odd channels, odd and even lengths, all modes and few. */
static void real(suite *s) {
    stn_spectral_conv c = layer_of(1, (size_t[]){45}, (size_t[]){23}, 2, 5, 7);
    if (s->full) check_all(s, &c, FUSIONS);
    c.extent[0] = 48, c.modes[0] = 25, c.dtype = STN_F64, c.has_skip = c.has_bias = 1;
    check_all(s, &c, FUSIONS);
    if (!s->full) return;
    c.extent[0] = 600, c.modes[0] = 9, c.dtype = STN_F16, c.activation = STN_ACTIVATION_RELU;
    check_all(s, &c, FUSIONS);
}

static void grids(suite *s) {
    stn_spectral_conv c = layer_of(2, (size_t[]){20, 36}, (size_t[]){7, 19}, 2, 9, 4);
    check_all(s, &c, FUSIONS);
    if (!s->full) return;
    c = layer_of(3, (size_t[]){6, 10, 8}, (size_t[]){4, 5, 3}, 1, 3, 3);
    c.complex_data = 1, c.pass = STN_PASS_BACKWARD_X, c.has_skip = 1;
    check_all(s, &c, FUSIONS);
}

/* One matrix per mode, which is not fused; more modes, rows and columns than one block takes. */
static void per_mode(suite *s) {
    stn_spectral_conv c = layer_of(1, (size_t[]){64}, (size_t[]){27}, 70, 19, 21);
    c.shared_weights = 0;
    for (int pass = s->full ? 0 : 2; pass < 3; pass++) {
        c.pass = (stn_layer_pass)pass;
        check_all(s, &c, 1);
    }
}

/* Transforms as dense products: lengths without butterflies, sums of several stages and sweeps. */
static void dense(suite *s) {
    /* 11 of 22 is its own negative, so no mode of both signs */
    stn_spectral_conv c = layer_of(2, (size_t[]){22, 37}, (size_t[]){5, 19}, 1, 3, 5);
    c.shared_weights = 0, c.has_bias = 1, c.activation = STN_ACTIVATION_GELU;
    check_all(s, &c, 1);
    c = layer_of(1, (size_t[]){143}, (size_t[]){143}, 2, 2, 3);
    c.complex_data = 1, c.dtype = STN_F64, c.pass = STN_PASS_BACKWARD_X;
    check_all(s, &c, 1);
    /* frequency 11 is its own negative */
    c = layer_of(1, (size_t[]){22}, (size_t[]){12}, 20, 3, 2);
    c.pass = STN_PASS_BACKWARD_WEIGHTS, c.shared_weights = 0;
    check_all(s, &c, 1);
    if (!s->full) return;
    c = layer_of(2, (size_t[]){241, 85}, (size_t[]){12, 7}, 2, 4, 4);
    c.shared_weights = 0;
    for (int pass = 0; pass < 3; pass++) {
        c.pass = (stn_layer_pass)pass;
        check_all(s, &c, 1);
    }
    c = layer_of(1, (size_t[]){1999}, (size_t[]){100}, 3, 9, 7);
    for (int half = 0; half < 2; half++) {
        c.dtype = half ? STN_F16 : STN_F32, c.has_skip = c.has_bias = 1;
        check_all(s, &c, 1);
    }
    c = layer_of(3, (size_t[]){13, 8, 11}, (size_t[]){13, 3, 6}, 2, 3, 3);
    c.has_bias = 1;
    check_all(s, &c, 1);
}

/* Few frequencies of long lines as direct sums: odd channels, several lines per block, lengths with
 * other factors than the butterflies', frequencies that share a butterfly's result, both signs and
 * low ones, bias and skip connection. */
static void few(suite *s) {
    /* 16 x 37; 17 frequencies from 16 results */
    stn_spectral_conv c = layer_of(1, (size_t[]){592}, (size_t[]){9}, 2, 5, 3);
    c.shared_weights = 0;
    for (int pass = 0; pass < 3; pass++) {
        c.pass = (stn_layer_pass)pass, c.has_bias = pass != STN_PASS_BACKWARD_X;
        check_all(s, &c, 2);
    }
    c = layer_of(2, (size_t[]){10, 255}, (size_t[]){4, 7}, 2, 3, 2);
    c.dtype = STN_F64, c.has_bias = c.has_skip = 1, c.activation = STN_ACTIVATION_GELU;
    check_all(s, &c, FUSIONS + 2);
    /* a real line is one channel: 33 frequencies from 32 results */
    c = layer_of(1, (size_t[]){512}, (size_t[]){33}, 2, 3, 3);
    c.shared_weights = 0, c.has_bias = 1, c.activation = STN_ACTIVATION_RELU;
    check_all(s, &c, 2);
    /* 211 has no butterfly, and the line is too long for a product */
    c = layer_of(1, (size_t[]){16 * 211}, (size_t[]){5}, 1, 2, 2);
    c.shared_weights = 0;
    check_all(s, &c, 1);
    if (!s->full) return;
    c = layer_of(1, (size_t[]){2048}, (size_t[]){17}, 3, 9, 9);
    c.shared_weights = 0, c.dtype = STN_F16, c.has_bias = 1;
    check_all(s, &c, 2);
    c = layer_of(2, (size_t[]){272, 300}, (size_t[]){33, 5}, 1, 2, 3);
    c.complex_data = 1, c.shared_weights = 0;
    for (int low = 0; low < 2; low++) {
        c.mode_choice = low ? STN_MODES_LOW : STN_MODES_BOTH_SIGNS,
        c.pass = low ? STN_PASS_BACKWARD_X : STN_PASS_FORWARD;
        check_all(s, &c, 2);
    }
    c = layer_of(1, (size_t[]){8192}, (size_t[]){9}, 2, 3, 4);
    c.shared_weights = 0;
    check_all(s, &c, 2);
}

/* Precision by tolerance: the expected type of products, with an error of the order of its
 * precision. */
static void check_coarse(suite *s, stn_spectral_conv c, double tolerance, const char *products, double least) {
    char what[500], detail[1500], line[800];
    c.tolerance = tolerance;
    layer_name(&c, what, sizeof what);
    layer_comparison made;
    bool good = layer_compare(s, &c, "fno", 0, 70 + (uint64_t)s->run, &made);
    good = good && strstr(made.parameters, products) && made.relative_l2 >= least;
    layer_explain(&made, detail, sizeof detail);
    snprintf(line, sizeof line, "%.480s, tolerance %g: %.200s", what, tolerance, made.parameters);
    suite_report(s, good, line, detail);
}

static void coarse(suite *s) {
    stn_spectral_conv c = layer_of(1, (size_t[]){32}, (size_t[]){16}, 5, 37, 29);
    c.complex_data = 1, c.mode_choice = STN_MODES_LOW;
    check_coarse(s, c, 0, "products in three of TF32", 0);
    check_coarse(s, c, 5e-4, "products in TF32", 5e-5);
    check_coarse(s, c, 5e-3, "products in bf16", 5e-4);
    for (int shared = 0; shared < 2; shared++)
        for (int pass = 0; pass < 3; pass++) {
            c = layer_of(2, (size_t[]){12, 20}, (size_t[]){5, 9}, 3, 11, 9);
            c.shared_weights = shared, c.pass = (stn_layer_pass)pass, c.has_bias = !pass, c.has_skip = 1;
            check_coarse(s, c, 5e-3, "products in bf16", 2e-4);
        }
    c = layer_of(1, (size_t[]){128}, (size_t[]){64}, 3, 64, 64);
    c.complex_data = 1, c.mode_choice = STN_MODES_LOW, c.tolerance = 5e-3;
    if (s->full) check_all(s, &c, FUSIONS + 1);
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"paper", paper}, {"real", real},   {"grids", grids}, {"per-mode", per_mode},
                                       {"dense", dense}, {"split", split}, {"few", few},     {"coarse", coarse}};
    return suite_main_on(STN_DEVICE_CUDA(0), argc, argv, parts, sizeof parts / sizeof *parts);
}
