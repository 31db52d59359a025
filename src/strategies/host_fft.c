/* The host strategy of transforms: the definition of right, on the CPU's threads. */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "context/context.h"
#include "host/fft.h"
#include "plan/plan.h"
#include "strategies/table.h"

typedef struct host_state {
    stn_pool *pool; /* the context's */
    stn_host_fft *host;
} host_state;

static bool applies(const stn_fft *fft, const stn_machine *machine, char *reason, size_t reason_size) {
    (void)fft;
    if (!machine->is_device) return true;
    snprintf(reason, reason_size, "it works on host memory, and this context's plans take device pointers");
    return false;
}

static size_t candidates(const stn_fft *fft, const stn_machine *machine, stn_candidate *list, size_t most) {
    (void)fft;
    (void)machine;
    if (!most) return 0;
    list[0] = (stn_candidate){{0}};
    return 1;
}

/* A pass for each axis; numbers between them are float64, or float32 for smaller ones. */
static void estimate(const stn_fft *fft, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *estimate) {
    (void)candidate;
    double points = (double)fft->n[0] * (double)fft->n[1] * (double)fft->n[2] * (double)fft->batch;
    const bool wide = fft->dtype == STN_F64;
    *estimate = (stn_estimate){.unit = wide ? STN_UNIT_FMA_F64 : STN_UNIT_FMA_F32, .launches = fft->rank};
    estimate->bytes = stn_fft_bytes(fft) + (fft->rank - 1) * (wide ? 32 : 16) * points;
    estimate->flops = stn_fft_flops(fft);
    estimate->seconds = stn_estimate_seconds(estimate, machine);
}

static stn_status prepare(stn_plan *plan, stn_error *error) {
    host_state *state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    plan->state = state;
    STN_TRY(stn_context_pool(plan->context, &state->pool, error));
    STN_TRY(stn_host_fft_create(&plan->fft, stn_pool_threads(state->pool), &state->host, error));
    plan->workspace_size = stn_host_fft_workspace(state->host);
    return STN_OK;
}

static stn_status execute(stn_plan *plan, const stn_execution *run, stn_error *error) {
    (void)error;
    const host_state *state = plan->state;
    stn_host_fft_run(state->host, state->pool, run->in, run->out, run->workspace);
    return STN_OK;
}

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const host_state *state = plan->state;
    if (!state || !state->pool) return;
    int threads = stn_pool_threads(state->pool);
    if (format == STN_JSON)
        stn_json_integer(text, "threads", threads);
    else
        stn_text_printf(text, "axis by axis in float%d on %d thread%s", plan->fft.dtype == STN_F64 ? 64 : 32, threads,
                        threads == 1 ? "" : "s");
}

static void release(stn_plan *plan) {
    host_state *state = plan->state;
    if (!state) return;
    stn_host_fft_destroy(state->host);
    free(state);
    plan->state = NULL;
}

const stn_strategy stn_fft_strategy_host = {
    .name = "host",
    .fft.applies = applies,
    .fft.candidates = candidates,
    .fft.estimate = estimate,
    .prepare = prepare,
    .execute = execute,
    .describe = describe,
    .release = release,
};
