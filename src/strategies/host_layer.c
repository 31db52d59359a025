/* The host strategy of Fourier layers: the definition of right, on the CPU's threads. */
#include <stdio.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "host/layer.h"
#include "plan/plan.h"
#include "strategies/table.h"

typedef struct host_state {
    stn_pool *pool; /* the context's */
    stn_host_layer *host;
} host_state;

static bool applies(const stn_layer *layer, const stn_machine *machine, char *reason, size_t reason_size) {
    (void)layer;
    if (!machine->is_device) return true;
    snprintf(reason, reason_size, "it works on host memory, and this context's plans take device pointers");
    return false;
}

static size_t candidates(const stn_layer *layer, const stn_machine *machine, stn_candidate *list, size_t most) {
    (void)layer;
    (void)machine;
    if (!most) return 0;
    list[0] = (stn_candidate){{0}};
    return 1;
}

/* Two transforms through float64, and the products of the kept modes. */
static void estimate(const stn_layer *layer, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *estimate) {
    const double points = (double)stn_layer_points(layer) * (double)layer->batch;
    const double both = points * (double)(layer->c_in + layer->c_out) * stn_layer_per(layer);
    (void)candidate;
    *estimate = (stn_estimate){.unit = STN_UNIT_FMA_F64, .launches = 4};
    estimate->bytes = both * (double)(stn_dtype_size(layer->dtype) + 8 + 16 * (size_t)layer->rank);
    estimate->flops =
        2.5 * both * stn_log2(stn_layer_points(layer) + 1) +
        8 * (double)stn_layer_modes(layer) * (double)layer->batch * (double)layer->c_in * (double)layer->c_out;
    estimate->seconds = stn_estimate_seconds(estimate, machine);
}

static stn_status prepare(stn_plan *plan, stn_error *error) {
    host_state *state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    plan->state = state;
    STN_TRY(stn_context_pool(plan->context, &state->pool, error));
    STN_TRY(stn_host_layer_create(&plan->layer, stn_pool_threads(state->pool), &state->host, error));
    plan->workspace_size = stn_host_layer_workspace(state->host);
    return STN_OK;
}

static stn_status execute(stn_plan *plan, const stn_execution *run, stn_error *error) {
    (void)error;
    const host_state *state = plan->state;
    stn_host_layer_run(state->host, state->pool, run);
    return STN_OK;
}

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const host_state *state = plan->state;
    if (!state || !state->pool) return;
    const int threads = stn_pool_threads(state->pool);
    if (format == STN_JSON)
        stn_json_integer(text, "threads", threads);
    else
        stn_text_printf(text, "transforms and products in float64 on %d thread%s", threads, threads == 1 ? "" : "s");
}

static void release(stn_plan *plan) {
    host_state *state = plan->state;
    if (!state) return;
    stn_host_layer_destroy(state->host);
    free(state);
    plan->state = NULL;
}

const stn_strategy stn_layer_strategy_host = {
    .name = "host",
    .layer.applies = applies,
    .layer.candidates = candidates,
    .layer.estimate = estimate,
    .prepare = prepare,
    .execute = execute,
    .describe = describe,
    .release = release,
};
