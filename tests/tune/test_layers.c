/* Fourier layers are measured, remembered and checked like stencils and transforms, with all
 * pointers of their executions. On the emulator; the reference candidate is cuBLAS if available,
 * else fno's simplest candidate. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../cache/helpers.h"
#include "base/error.h"
#include "context/context.h"
#include "plan_checks.h"
#include "strategies/table.h"
#include "tune/timing_trial.h"

static stn_context *context;
static warning_count warned;

static void open_context(void) {
    const stn_context_options options = {
        .device = STN_DEVICE_CUDA(0), .cache_dir = dir, .log = count_warning, .log_user = &warned};
    OK(stn_context_create(&options, &context, &error));
}

static void start(void) {
    open_folder();
    open_context();
}

static void end(void) {
    stn_context_destroy(context);
    close_folder();
}
TestSuite(tune_layers, .init = start, .fini = end);

enum { LAYER_N = 24, LAYER_IN = 3, LAYER_OUT = 2, LAYER_MODES = 5, LAYER_BATCH = 2 };

static stn_spectral_conv layer_of(stn_layer_pass pass) {
    stn_spectral_conv c = STN_SPECTRAL_CONV_INIT;
    c.rank = 1, c.extent[0] = LAYER_N, c.modes[0] = LAYER_MODES, c.batch = LAYER_BATCH;
    c.in_channels = LAYER_IN, c.out_channels = LAYER_OUT, c.dtype = STN_F64;
    c.has_bias = c.has_skip = 1, c.pass = pass;
    return c;
}

static stn_plan *layer_plan(const stn_spectral_conv *c, bool tune) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_plan *plan;
    options.tune = tune, options.strategy = "fno", options.tune_seconds = 300;
    OK(stn_plan_create_spectral_conv(context, c, &options, &plan, &error));
    return plan;
}

/* Compares a forward pass with the host. */
static void expect_right_layer(const stn_spectral_conv *c, stn_plan *plan) {
    enum {
        X = LAYER_BATCH * LAYER_IN * LAYER_N,
        Y = LAYER_BATCH * LAYER_OUT * LAYER_N,
        W = 2 * LAYER_IN * LAYER_OUT * LAYER_MODES
    };
    static _Alignas(16) double x[X], y[Y], want[Y], weights[W], bias[LAYER_OUT], skip[LAYER_IN * LAYER_OUT];
    double *const host[] = {x, weights, bias, skip};
    const size_t sizes[] = {sizeof x, sizeof weights, sizeof bias, sizeof skip};
    void *device[5];
    stn_context *const host_context = context_on(STN_DEVICE_HOST);
    stn_plan *definition;
    for (size_t k = 0; k < 4; k++) {
        for (size_t i = 0; i < sizes[k] / sizeof(double); i++) host[k][i] = sin(0.7 * (double)(i + 1) + (double)k);
        device[k] = uploaded(context, host[k], sizes[k]);
    }
    OK(stn_memory_alloc(context, sizeof y, &device[4], &error));
    OK(stn_plan_create_spectral_conv(host_context, c, NULL, &definition, &error));
    OK(stn_plan_run(definition, &(stn_execution){.in = x, .out = want, .weights = weights, .bias = bias, .skip = skip},
                    &error));
    OK(stn_plan_run(
        plan,
        &(stn_execution){.in = device[0], .out = device[4], .weights = device[1], .bias = device[2], .skip = device[3]},
        &error));
    OK(stn_memory_download(context, y, device[4], sizeof y, &error));
    for (int i = 0; i < Y; i++)
        cr_assert(fabs(y[i] - want[i]) <= 1e-12 * LAYER_N, "point %d: %g, %g", i, y[i], want[i]);
    for (int k = 0; k < 5; k++) stn_memory_free(context, device[k]);
    stn_plan_destroy(definition);
    stn_context_destroy(host_context);
}

Test(tune_layers, are_measured_and_remembered) {
    stn_spectral_conv c = layer_of(STN_PASS_FORWARD);
    stn_plan *tuned = layer_plan(&c, true);
    cr_assert_eq(tuned->chosen, STN_CHOSEN_BY_MEASURING, "%s", warned.last);
    cr_assert(measured_rows(tuned) >= 2, "%zu", measured_rows(tuned));
    for (size_t i = 0; i < tuned->ranked; i++)
        if (tuned->ranking[i].measured > 0) cr_assert(tuned->measured <= tuned->ranking[i].measured);
    expect_right_layer(&c, tuned);
    cr_assert_eq(warned.warnings, 0u, "%s", warned.last);
    const stn_candidate fastest = tuned->candidate;
    stn_plan_destroy(tuned);
    stn_context_destroy(context); /* as a new process does */
    open_context();
    stn_plan *recalled = layer_plan(&c, false);
    cr_assert_eq(recalled->chosen, STN_CHOSEN_BY_WISDOM);
    cr_assert_eq(memcmp(&recalled->candidate, &fastest, sizeof fastest), 0);
    expect_right_layer(&c, recalled);
    stn_plan_destroy(recalled);
    for (int i = 0; i < 6; i++) { /* other layers */
        c = layer_of(i == 0 ? STN_PASS_BACKWARD_X : i == 1 ? STN_PASS_BACKWARD_WEIGHTS : STN_PASS_FORWARD);
        c.has_bias = i == 2 || i == 0 ? 0 : c.has_bias, c.has_skip = i != 3, c.modes[0] += i == 4,
        c.shared_weights = i == 5;
        stn_plan *other = layer_plan(&c, false);
        cr_expect_eq(other->chosen, STN_CHOSEN_BY_ESTIMATE, "%d", i);
        stn_plan_destroy(other);
    }
}

static int wrong_pointer; /* 0: the gradient of the weights, 1: of the bias, 2: of skip */

static stn_status execute_layer_wrongly(stn_plan *plan, const stn_execution *run, stn_error *why) {
    const double other = 12345;
    STN_TRY(stn_layer_strategy_fno.execute(plan, run, why));
    void *const to[] = {run->out, run->bias_gradient, run->skip_gradient};
    return wrong_pointer < 3 ? stn_device_upload(plan->context->device, to[wrong_pointer], &other, sizeof other, why)
                             : STN_OK;
}

Test(tune_layers, checks_every_output) {
    const stn_spectral_conv c = layer_of(STN_PASS_BACKWARD_WEIGHTS);
    stn_plan *plan = layer_plan(&c, false);
    stn_strategy liar = stn_layer_strategy_fno;
    liar.execute = execute_layer_wrongly;
    for (wrong_pointer = 0; wrong_pointer < 4; wrong_pointer++) {
        tune_stage stage;
        tune_trial trial = {.strategy = &liar, .candidate = plan->candidate};
        double difference;
        OK(tune_stage_open(plan, &stage, &error));
        /* Built as fno's, because liar is not in the table of layer strategies. */
        OK(stn_plan_build(plan, 1, &stn_layer_strategy_fno, &trial.candidate, NULL, &trial.plan, &error));
        trial.plan->strategy = &liar;
        trial.scale = 1;
        tune_trial_check(&stage, &trial, &difference);
        cr_expect_eq(trial.state, wrong_pointer < 3 ? TUNE_WRONG : TUNE_GOOD, "%d: %g, %s", wrong_pointer, difference,
                     trial.why.message);
        tune_trial_clear(&trial);
        tune_stage_close(&stage);
    }
    stn_plan_destroy(plan);
}
