/* A Fourier transform finds two tones in a noisy signal. A transform is a plan like a stencil. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "stentor.h"

enum { N = 4096, HALF = N / 2 + 1, LOW = 440, HIGH = 1000 };

int main(void) {
    stn_error err = {0};
    stn_context *ctx = NULL;
    stn_plan *plan = NULL;
    int found[2] = {0, 0};
    float *signal = calloc(N, sizeof *signal), *spectrum = calloc(HALF, 2 * sizeof *spectrum);
    if (!signal || !spectrum) goto done;
    for (int i = 0; i < N; i++) {
        double turn = 2 * acos(-1) * i / N, noise = (double)(i * 7919 % 1009) / 1009 - 0.5;
        signal[i] = (float)(sin(LOW * turn) + 0.5 * sin(HIGH * turn) + noise);
    }

    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    options.device = STN_DEVICE_HOST; /* the arrays are host pointers; 02 computes on a GPU */
    if (stn_context_create(&options, &ctx, &err) != STN_OK) goto done;

    stn_transform transform = STN_TRANSFORM_INIT;
    transform.rank = 1;
    transform.extent[0] = N;
    transform.kind = STN_R2C; /* elements 0 to N/2 of the spectrum, as (real, imaginary) pairs */
    transform.dtype = STN_F32;
    transform.forward_scale = 2.0 / N; /* a sine of amplitude 1 gives 1 */
    if (stn_plan_create_fft(ctx, &transform, NULL, &plan, &err) != STN_OK) goto done;
    if (stn_plan_execute(plan, signal, spectrum, NULL, &err) != STN_OK) goto done;

    for (int k = 1, next = 0; k < HALF && next < 2; k++) {
        double amplitude = hypot(spectrum[2 * k], spectrum[2 * k + 1]);
        if (amplitude < 0.4) continue;
        printf("%d turns, amplitude %.2f\n", k, amplitude);
        found[next++] = k;
    }
done:
    if (err.status != STN_OK) fprintf(stderr, "%s\n", err.message);
    stn_plan_destroy(plan);
    stn_context_destroy(ctx);
    free(signal);
    free(spectrum);
    return err.status != STN_OK || found[0] != LOW || found[1] != HIGH;
}
