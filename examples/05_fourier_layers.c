/* A small Fourier neural operator on Burgers' equation, u_t + u u_x = nu u_xx, periodic in x: three
 * layers with fixed weights, without training. The data comes from a stencil, by the Cole-Hopf
 * transformation: u = -2 nu p_x / p, where p solves the heat equation p_t = nu p_xx. The layers'
 * results are checked against direct sums. */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stentor.h"

enum { N = 128, BATCH = 4, WIDTH = 8, MODES = 12, LAYERS = 3, STEPS = 400 };
static const double nu = 0.02;
/* The input channels are u before and after; then features; the output has one channel. */
static const int channels[LAYERS + 1] = {2, WIDTH, WIDTH, 1};

/* The parameters of a layer: complex weights for each mode, skip weights, bias. */
typedef struct layer {
    double weights[WIDTH * WIDTH * MODES * 2], skip[WIDTH * WIDTH], bias[WIDTH];
} layer;

static double some(unsigned *state) { /* in [-1, 1) */
    *state = *state * 1664525u + 1013904223u;
    return (double)(*state >> 8) / (1 << 23) - 1;
}

/* ---- data: u at time 0 and after STEPS steps, two channels of each item ---- */

static void from_potential(const double *p, double *u) {
    for (int i = 0; i < N; i++) u[i] = -nu * N * (p[(i + 1) % N] - p[(i + N - 1) % N]) / p[i];
}

static stn_status make_data(stn_context *ctx, double *x, stn_error *err) {
    static double potential[BATCH * N], later[BATCH * N];
    const double turn = 2 * acos(-1) / N;
    for (int b = 0; b < BATCH; b++)
        for (int i = 0; i < N; i++) /* p = exp(-1/(2 nu) times the integral of a few sines) */
            potential[b * N + i] =
                exp((cos((b + 1) * turn * i) / (b + 1) + 0.3 * cos(3 * turn * i + b)) / (8 * nu * acos(-1)));
    stn_stencil *heat = NULL;
    stn_plan *plan = NULL;
    stn_problem problem = STN_PROBLEM_INIT;
    stn_status status = stn_stencil_parse("heat-1d:alpha=0.25", &heat, err); /* nu dt / dx^2 */
    problem.stencil = heat, problem.extent[0] = N, problem.batch = BATCH, problem.steps = STEPS;
    if (status == STN_OK) status = stn_plan_create(ctx, &problem, NULL, &plan, err);
    if (status == STN_OK) status = stn_plan_execute(plan, potential, later, NULL, err);
    for (int b = 0; b < BATCH && status == STN_OK; b++) {
        from_potential(potential + b * N, x + 2 * b * N);
        from_potential(later + b * N, x + (2 * b + 1) * N);
    }
    stn_plan_destroy(plan);
    stn_stencil_destroy(heat);
    return status;
}

/* ---- the layers, by Stentor and by direct sums ---- */

static stn_status apply(stn_context *ctx, int which, const layer *l, const double *x, double *y, stn_error *err) {
    stn_spectral_conv conv = STN_SPECTRAL_CONV_INIT;
    stn_plan *plan = NULL;
    conv.rank = 1, conv.extent[0] = N, conv.modes[0] = MODES, conv.batch = BATCH;
    conv.in_channels = (size_t)channels[which], conv.out_channels = (size_t)channels[which + 1];
    conv.has_bias = conv.has_skip = 1;
    conv.activation = which < LAYERS - 1 ? STN_ACTIVATION_GELU : STN_ACTIVATION_NONE;
    stn_status status = stn_plan_create_spectral_conv(ctx, &conv, NULL, &plan, err);
    stn_execution run = STN_EXECUTION_INIT; /* each execution takes the layer's weights */
    run.in = x, run.out = y, run.weights = l->weights, run.skip = l->skip, run.bias = l->bias;
    if (status == STN_OK) status = stn_plan_run(plan, &run, err);
    stn_plan_destroy(plan);
    return status;
}

static void sums(int which, const layer *l, const double *x, double *y) {
    const int in = channels[which], out = channels[which + 1];
    const double turn = 2 * acos(-1) / N;
    for (int b = 0; b < BATCH; b++)
        for (int o = 0; o < out; o++)
            for (int p = 0; p < N; p++) {
                double sum = l->bias[o];
                for (int i = 0; i < in; i++) sum += l->skip[i * out + o] * x[(b * in + i) * N + p];
                y[(b * out + o) * N + p] = sum;
            }
    for (int b = 0; b < BATCH; b++)
        for (int i = 0; i < in; i++)
            for (int k = 0; k < MODES; k++) {
                double complex coefficient = 0;
                for (int p = 0; p < N; p++) coefficient += x[(b * in + i) * N + p] * cexp(-I * turn * k * p) / N;
                for (int o = 0; o < out; o++) {
                    const double *w = l->weights + 2 * ((i * out + o) * MODES + k);
                    for (int p = 0; p < N; p++) /* frequency k, and -k with the conjugate */
                        y[(b * out + o) * N + p] +=
                            (k ? 2 : 1) * creal((w[0] + I * w[1]) * coefficient * cexp(I * turn * k * p));
                }
            }
    for (int i = 0; i < BATCH * out * N && which < LAYERS - 1; i++) y[i] *= 0.5 * (1 + erf(y[i] / sqrt(2)));
}

int main(void) {
    static double x[BATCH * WIDTH * N], y[BATCH * WIDTH * N], expected[BATCH * WIDTH * N], next[BATCH * WIDTH * N];
    static layer layers[LAYERS];
    stn_error err = {0};
    stn_context *ctx = NULL;
    double error = 0, size = 0, before = 0, after = 0;
    unsigned state = 1;
    for (int which = 0; which < LAYERS; which++) {
        for (int i = 0; i < WIDTH * WIDTH * MODES * 2; i++) layers[which].weights[i] = 0.3 * some(&state);
        for (int i = 0; i < WIDTH * WIDTH; i++) layers[which].skip[i] = 0.3 * some(&state);
        for (int i = 0; i < WIDTH; i++) layers[which].bias[i] = 0.1 * some(&state);
    }
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    options.device = STN_DEVICE_HOST; /* the arrays are host pointers; 02 computes on a GPU */
    if (stn_context_create(&options, &ctx, &err) != STN_OK || make_data(ctx, x, &err) != STN_OK) goto done;
    for (int i = 0; i < BATCH * N; i++) { /* Burgers' equation loses energy */
        before += x[2 * N * (i / N) + i % N] * x[2 * N * (i / N) + i % N];
        after += x[2 * N * (i / N) + N + i % N] * x[2 * N * (i / N) + N + i % N];
    }
    memcpy(expected, x, sizeof expected);
    for (int which = 0; which < LAYERS; which++) {
        if (apply(ctx, which, &layers[which], x, y, &err) != STN_OK) goto done;
        sums(which, &layers[which], expected, next);
        memcpy(x, y, sizeof x);
        memcpy(expected, next, sizeof expected);
    }
    for (int i = 0; i < BATCH * N; i++) {
        error += (y[i] - expected[i]) * (y[i] - expected[i]);
        size += expected[i] * expected[i];
    }
    printf("energy of u: %.4f, then %.4f; %d layers: relative error %.2g\n", before / N, after / N, LAYERS,
           sqrt(error / size));
done:
    if (err.status != STN_OK) fprintf(stderr, "%s\n", err.message);
    stn_context_destroy(ctx);
    return err.status != STN_OK || !(sqrt(error / size) < 1e-13) || !(after < before) || !(after > 0);
}
