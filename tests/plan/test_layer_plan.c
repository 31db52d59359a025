/* Plans of Fourier layers: the required arrays of an execution, and descriptions. */
#include "../expect.h"

enum { N = 8, IN = 2, OUT = 3, MODES = 3 };

static stn_context *host;
static void open_host(void) { host = context_on(STN_DEVICE_HOST); }
static void close_host(void) { stn_context_destroy(host); }
TestSuite(layer_plan, .init = open_host, .fini = close_host);

static stn_plan *plan_of(stn_layer_pass pass, int more) {
    stn_spectral_conv c = STN_SPECTRAL_CONV_INIT;
    stn_plan *plan;
    c.rank = 1, c.extent[0] = N, c.modes[0] = MODES, c.in_channels = IN, c.out_channels = OUT;
    c.has_bias = c.has_skip = more, c.pass = pass, c.dtype = STN_F64;
    OK(stn_plan_create_spectral_conv(host, &c, NULL, &plan, &error));
    return plan;
}

static _Alignas(16) double x[IN * N], y[OUT * N], w[2 * IN * OUT * MODES], bias[OUT + 1], skip[IN * OUT + 1],
    g[OUT * N];

Test(layer_plan, needs_its_weights) {
    stn_plan *plan = plan_of(STN_PASS_FORWARD, 0);
    stn_execution run = {.in = x, .out = y, .weights = w};
    REFUSED(stn_plan_execute(plan, x, y, NULL, &error), "needs weights and got NULL");
    REFUSED(stn_plan_set_weights(plan, 1, w, &error), "with each ");
    cr_expect_eq(stn_plan_run(plan, &run, NULL), STN_OK);
    run.bias = bias;
    REFUSED(stn_plan_run(plan, &run, &error), ".bias is given to a plan that takes none");
    run.bias = NULL, run.gradient = g;
    REFUSED(stn_plan_run(plan, &run, &error), ".gradient is given");
    run.gradient = NULL, run.weights = w + 1;
    REFUSED(stn_plan_run(plan, &run, &error), "weights is not a multiple of 16");
    run.weights = y + OUT * N - 2;
    REFUSED(stn_plan_run(plan, &run, &error), "weights and out overlap");
    run.weights = w, run.source = g;
    REFUSED(stn_plan_run(plan, &run, &error), "source");
    stn_plan_destroy(plan);
}

Test(layer_plan, needs_all_arrays) {
    stn_plan *plan = plan_of(STN_PASS_FORWARD, 1);
    stn_execution run = {.in = x, .out = y, .weights = w, .bias = bias};
    REFUSED(stn_plan_run(plan, &run, &error), "needs skip");
    run.skip = skip;
    cr_expect_eq(stn_plan_run(plan, &run, NULL), STN_OK);
    stn_plan_destroy(plan);
}

Test(layer_plan, gradients_must_not_overlap) {
    stn_plan *plan = plan_of(STN_PASS_BACKWARD_WEIGHTS, 1);
    stn_execution run = {.in = x, .out = w, .gradient = g, .bias_gradient = bias, .skip_gradient = skip};
    cr_expect_eq(stn_plan_run(plan, &run, NULL), STN_OK);
    run.bias_gradient = NULL;
    REFUSED(stn_plan_run(plan, &run, &error), "needs bias_gradient");
    run.bias_gradient = skip + 2;
    REFUSED(stn_plan_run(plan, &run, &error), "overlap");
    run.bias_gradient = bias, run.gradient = w;
    REFUSED(stn_plan_run(plan, &run, &error), "overlap");
    /* each output with each input */
    run.gradient = g, run.skip_gradient = g;
    REFUSED(stn_plan_run(plan, &run, &error), "overlap");
    run.skip_gradient = skip, run.bias_gradient = x;
    REFUSED(stn_plan_run(plan, &run, &error), "overlap");
    run.bias_gradient = bias;
    cr_expect_eq(stn_plan_run(plan, &run, NULL), STN_OK);
    stn_plan_destroy(plan);
}

/* Other kinds of plans accept none of these arrays. */
Test(layer_plan, stencils_take_none) {
    stn_stencil *heat = stencil_of("heat-1d:alpha=0.2");
    const stn_problem p = {.stencil = heat, .extent = {N}};
    stn_plan *plan = new_plan(host, &p, NULL);
    REFUSED(stn_plan_run(plan, &(stn_execution){.in = x, .out = y, .weights = w}, &error),
            ".weights is given to a plan");
    stn_plan_destroy(plan);
    stn_stencil_destroy(heat);
}

Test(layer_plan, describes) {
    stn_plan *plan = plan_of(STN_PASS_BACKWARD_X, 0);
    expect_described(plan, STN_TEXT, "layer:      1D 8, 3 modes, 2 to 3 channels, real f64");
    expect_described(plan, STN_TEXT, "backward to x");
    expect_described(plan, STN_JSON, "\"layer\":\"backward to x\"");
    stn_plan_destroy(plan);
}

Test(layer_plan, names_its_strategies) {
    stn_spectral_conv c = STN_SPECTRAL_CONV_INIT;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_plan *plan;
    c.rank = 1, c.extent[0] = N, c.in_channels = IN, c.out_channels = OUT;
    options.strategy = "direct";
    REFUSED(stn_plan_create_spectral_conv(host, &c, &options, &plan, &error), "'direct' of Fourier layers");
}
