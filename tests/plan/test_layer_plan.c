/* Plans of Fourier layers: the required arrays of an execution, and descriptions. */
#include <criterion/criterion.h>
#include <string.h>

#include "stentor.h"

enum { N = 8, IN = 2, OUT = 3, MODES = 3 };

static stn_context *host;
static void open_host(void) {
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    options.device = STN_DEVICE_HOST, options.threads = 1, options.cache_dir = ":memory:";
    cr_assert_eq(stn_context_create(&options, &host, NULL), STN_OK);
}
static void close_host(void) { stn_context_destroy(host); }
TestSuite(layer_plan, .init = open_host, .fini = close_host);

static stn_plan *plan_of(stn_layer_pass pass, int more) {
    stn_spectral_conv c = STN_SPECTRAL_CONV_INIT;
    stn_error error;
    stn_plan *plan;
    c.rank = 1, c.extent[0] = N, c.modes[0] = MODES, c.in_channels = IN, c.out_channels = OUT;
    c.has_bias = c.has_skip = more, c.pass = pass, c.dtype = STN_F64;
    cr_assert_eq(stn_plan_create_spectral_conv(host, &c, NULL, &plan, &error), STN_OK, "%s", error.message);
    return plan;
}

#define FAILS(call, words)                                                                                             \
    do {                                                                                                               \
        stn_error e = {0};                                                                                             \
        cr_expect_eq((call), STN_ERROR_INVALID_ARGUMENT);                                                              \
        cr_expect(strstr(e.message, words), "\"%s\" is not in: %s", words, e.message);                                 \
    } while (0)

static _Alignas(16) double x[IN * N], y[OUT * N], w[2 * IN * OUT * MODES], bias[OUT + 1], skip[IN * OUT + 1],
    g[OUT * N];

Test(layer_plan, needs_its_weights) {
    stn_plan *plan = plan_of(STN_PASS_FORWARD, 0);
    stn_execution run = {.in = x, .out = y, .weights = w};
    FAILS(stn_plan_execute(plan, x, y, NULL, &e), "needs weights and got NULL");
    FAILS(stn_plan_set_weights(plan, 1, w, &e), "with each ");
    cr_expect_eq(stn_plan_run(plan, &run, NULL), STN_OK);
    run.bias = bias;
    FAILS(stn_plan_run(plan, &run, &e), ".bias is given to a plan that takes none");
    run.bias = NULL, run.gradient = g;
    FAILS(stn_plan_run(plan, &run, &e), ".gradient is given");
    run.gradient = NULL, run.weights = w + 1;
    FAILS(stn_plan_run(plan, &run, &e), "weights is not a multiple of 16");
    run.weights = y + OUT * N - 2;
    FAILS(stn_plan_run(plan, &run, &e), "weights and out overlap");
    run.weights = w, run.source = g;
    FAILS(stn_plan_run(plan, &run, &e), "source");
    stn_plan_destroy(plan);
}

Test(layer_plan, needs_all_arrays) {
    stn_plan *plan = plan_of(STN_PASS_FORWARD, 1);
    stn_execution run = {.in = x, .out = y, .weights = w, .bias = bias};
    FAILS(stn_plan_run(plan, &run, &e), "needs skip");
    run.skip = skip;
    cr_expect_eq(stn_plan_run(plan, &run, NULL), STN_OK);
    stn_plan_destroy(plan);
}

Test(layer_plan, gradients_must_not_overlap) {
    stn_plan *plan = plan_of(STN_PASS_BACKWARD_WEIGHTS, 1);
    stn_execution run = {.in = x, .out = w, .gradient = g, .bias_gradient = bias, .skip_gradient = skip};
    cr_expect_eq(stn_plan_run(plan, &run, NULL), STN_OK);
    run.bias_gradient = NULL;
    FAILS(stn_plan_run(plan, &run, &e), "needs bias_gradient");
    run.bias_gradient = skip + 2;
    FAILS(stn_plan_run(plan, &run, &e), "overlap");
    run.bias_gradient = bias, run.gradient = w;
    FAILS(stn_plan_run(plan, &run, &e), "overlap");
    /* each output with each input */
    run.gradient = g, run.skip_gradient = g;
    FAILS(stn_plan_run(plan, &run, &e), "overlap");
    run.skip_gradient = skip, run.bias_gradient = x;
    FAILS(stn_plan_run(plan, &run, &e), "overlap");
    run.bias_gradient = bias;
    cr_expect_eq(stn_plan_run(plan, &run, NULL), STN_OK);
    stn_plan_destroy(plan);
}

/* Other kinds of plans accept none of these arrays. */
Test(layer_plan, stencils_take_none) {
    stn_stencil *heat;
    stn_plan *plan;
    stn_problem p = STN_PROBLEM_INIT;
    cr_assert_eq(stn_stencil_parse("heat-1d:alpha=0.2", &heat, NULL), STN_OK);
    p.stencil = heat, p.extent[0] = N;
    cr_assert_eq(stn_plan_create(host, &p, NULL, &plan, NULL), STN_OK);
    FAILS(stn_plan_run(plan, &(stn_execution){.in = x, .out = y, .weights = w}, &e), ".weights is given to a plan");
    stn_plan_destroy(plan);
    stn_stencil_destroy(heat);
}

Test(layer_plan, describes) {
    stn_plan *plan = plan_of(STN_PASS_BACKWARD_X, 0);
    char *text;
    cr_assert_eq(stn_plan_describe(plan, STN_TEXT, &text, NULL), STN_OK);
    cr_expect(strstr(text, "layer:      1D 8, 3 modes, 2 to 3 channels, real f64"), "%s", text);
    cr_expect(strstr(text, "backward to x"));
    stn_text_free(text);
    cr_assert_eq(stn_plan_describe(plan, STN_JSON, &text, NULL), STN_OK);
    cr_expect(strstr(text, "\"layer\":\"backward to x\""), "%s", text);
    stn_text_free(text);
    stn_plan_destroy(plan);
}

Test(layer_plan, names_its_strategies) {
    stn_spectral_conv c = STN_SPECTRAL_CONV_INIT;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_plan *plan;
    c.rank = 1, c.extent[0] = N, c.in_channels = IN, c.out_channels = OUT;
    options.strategy = "direct";
    FAILS(stn_plan_create_spectral_conv(host, &c, &options, &plan, &e), "'direct' of Fourier layers");
}
