/* Spectral on the host: all steps at once, by Fourier transforms of the whole grid in float64 on
 * the CPU's threads. What a run costs does not depend on the number of its steps. Sides are
 * mirrors, as common/extension.h has them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "context/context.h"
#include "plan/accuracy.h"
#include "plan/plan.h"
#include "problem/stencil.h"
#include "strategies/host_spectral/passes.h"
#include "strategies/table.h"

/* Fitted to 89 timed runs of one core: bench/results/2026-11-23-host-costs.md */
static const struct {
    double transform, symbol; /* of the flops that the host's machine is assumed to have */
    double rows, columns;     /* of its copy bandwidth: what they move lies in a cache for the most part */
    double start;             /* seconds: a few runs' part of making the tables; stepping has none to make */
} rates = {0.9, 0.42, 2.5, 3.3, 5e-5};

typedef struct spectral_state {
    stn_pool *pool; /* the context's */
    shape shape;
} spectral_state;

static torus torus_of(const stn_candidate *candidate) {
    torus t;
    memcpy(&t, candidate->values, sizeof t);
    return t;
}

/* ---- choosing
 * ------------------------------------------------------------------------------------------------------ */

static bool applies(const stn_task *task, const stn_machine *machine, char *reason, size_t reason_size) {
    stn_extension e;
    if (machine->is_device) {
        snprintf(reason, reason_size, "it works on host memory, and this context's plans take device pointers");
        return false;
    }
    const stn_task run = shape_run(task);
    for (int axis = 0; axis < 3; axis++)
        if (!stn_extension_sides(&run, axis, &e, reason, reason_size)) return false;
    return true;
}

static size_t candidates(const stn_task *task, const stn_machine *machine, stn_candidate *list, size_t most) {
    torus t;
    char reason[160];
    (void)machine;
    _Static_assert(sizeof t <= sizeof list->values, "a torus fits");
    if (!most || !torus_choose(task, &t, reason, sizeof reason)) return 0;
    list[0] = (stn_candidate){{0}};
    memcpy(list[0].values, &t, sizeof t);
    return 1;
}

/* Transforms err in proportion to the largest values, each stage by chance; the factors are exact
 * to rounding of 1. */
static double predicted_error(const stn_task *task, double points) {
    const double transforms = stn_error_of(0, 1.5 * stn_error_rounding(STN_F64), 2 * log2(points + 1) + 4);
    return hypot(hypot(transforms, stn_symbol_lost(task)),
                 task->dtype == STN_F64 ? 0 : stn_error_rounding(task->dtype));
}

/* Operations of the symbol at one frequency: 1 - K, and its power where it lives; half of them do,
 * as a rule. */
static double symbol_cost(const stn_task *task, int axis, bool source) {
    bool plain = true;
    for (int k = 0; k < 3; k++) plain = plain && stn_task_mirrored(task, k);
    const double terms = task->reach[axis][0] + task->reach[axis][1];
    const double bits = log2((double)task->steps * (double)task->snapshots + 1);
    if (terms > SHAPE_WIDE && task->rank > 1) return (120 + 12 * bits) * (source ? 2 : 1); /* by transforms */
    return (plain && terms <= 8 ? terms + 8 + 3 * bits : 8 * terms + 24 + 12 * bits) * (source ? 2 : 1);
}

static void estimate(const stn_task *task, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *result) {
    const torus t = torus_of(candidate);
    const bool source = torus_has_source(task);
    const double count = (double)task->snapshots, there = source ? 2 : 1, ways = there + count;
    const double *flops = machine->flops, size = (double)stn_dtype_size(task->dtype);
    const double n0 = (double)task->n[0], n1 = (double)task->n[1], batch = (double)task->batch, kept = (double)t.kept;
    const double length[3] = {(double)t.axis[0].length, (double)t.axis[1].length, (double)t.axis[2].length};
    double lines = n0 * n1 * batch, spectrum = lines * kept * 16, columns = 0;
    *result = (stn_estimate){.unit = STN_UNIT_FMA_F64, .launches = 2.0 * task->rank - 1 + source};
    if (count > 1) result->launches = (1 + count) * task->rank + source;
    result->flops = ways * lines * (torus_line_cost(t.axis[2].length) / 2 + 6 * length[2]);
    if (task->rank == 3) {
        result->flops += ways * n0 * kept * batch * torus_line_cost(t.axis[1].length);
        columns += ways * (spectrum + n0 * length[1] * kept * batch * 16);
    }
    if (task->rank > 1) {
        const int last = task->rank == 3 ? 0 : 1;
        const double across = kept * batch * (last == 0 ? length[1] : 1);
        result->flops += ways * across * torus_line_cost(t.axis[last].length);
        columns += ways * across * (double)task->n[last] * 16;
        if (count > 1) columns += there * (1 + count) * across * length[last] * 16; /* held */
    }
    const double rows = ways * (lines * (double)task->n[2] * size + (task->rank > 1 ? spectrum : 0));
    const double frequencies = length[0] * length[1] * kept * batch * count;
    const double symbol = frequencies * symbol_cost(task, task->rank == 3 ? 0 : task->rank == 2 ? 1 : 2, source);
    result->bytes = rows + columns;
    result->seconds = result->flops / (flops[STN_UNIT_FMA_F64] * rates.transform) +
                      symbol / (flops[STN_UNIT_FMA_F64] * rates.symbol) +
                      (rows / rates.rows + columns / rates.columns) / machine->copy_bandwidth +
                      result->launches * machine->launch_seconds + rates.start;
    result->flops += symbol;
    result->halo_waste = length[0] * length[1] * length[2] / (n0 * n1 * (double)task->n[2]) - 1;
    result->error = predicted_error(task, length[0] * length[1] * length[2]);
}

/* ---- building
 * ------------------------------------------------------------------------------------------------------ */

static stn_status prepare(stn_plan *plan, stn_error *error) {
    spectral_state *state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    plan->state = state;
    const torus t = torus_of(&plan->candidate);
    STN_TRY(stn_context_pool(plan->context, &state->pool, error));
    STN_TRY(shape_make(&plan->task, &t, &state->shape, error));
    plan->workspace_size = passes_workspace(&plan->task, &state->shape, stn_pool_threads(state->pool));
    return STN_OK;
}

/* The torus and what is kept of it were chosen for the old weights. */
static stn_status set_weights(stn_plan *plan, stn_error *error) {
    spectral_state *state = plan->state;
    if (!torus_serves(&plan->task, &state->shape.torus))
        return stn_fail(error, STN_ERROR_UNSUPPORTED,
                        "host-spectral cannot take these weights: after all steps they reach further, in space or in "
                        "frequency, than those that the plan was made for, or go on in no mirror");
    return shape_weigh(&plan->task, &state->shape, error);
}

static void release(stn_plan *plan) {
    spectral_state *state = plan->state;
    if (!state) return;
    shape_clear(&state->shape);
    free(state);
    plan->state = NULL;
}

/* ---- running
 * ------------------------------------------------------------------------------------------------------- */

static stn_status execute(stn_plan *plan, const stn_execution *run, stn_error *error) {
    (void)error;
    const spectral_state *state = plan->state;
    passes_run(&plan->task, &state->shape, state->pool, run);
    return STN_OK;
}

/* ---- in words
 * ------------------------------------------------------------------------------------------------------ */

static void name_candidate(const stn_task *task, const stn_candidate *candidate, stn_text *text) {
    const torus t = torus_of(candidate);
    stn_text_printf(text, "torus of ");
    for (int axis = 3 - task->rank; axis < 3; axis++)
        stn_text_printf(text, axis > 3 - task->rank ? " x %lld" : "%lld", (long long)t.axis[axis].length);
}

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const spectral_state *state = plan->state;
    if (!state || !state->pool) return;
    const shape *s = &state->shape;
    const int64_t all = s->axis[2].length / 2 + 1;
    const int threads = stn_pool_threads(state->pool);
    const double growth = log10(s->largest) * (double)plan->task.steps * (double)plan->task.snapshots;
    if (format == STN_JSON) {
        static const char *const names[] = {"length_z", "length_y", "length_x"};
        for (int axis = 3 - plan->task.rank; axis < 3; axis++)
            stn_json_integer(text, names[axis], s->axis[axis].length);
        stn_json_integer(text, "kept_x", s->torus.kept);
        stn_json_integer(text, "threads", threads);
        stn_json_key(text, "log10_growth");
        stn_json_number(text, growth);
        return;
    }
    name_candidate(&plan->task, &plan->candidate, text);
    stn_text_printf(text, ", %lld of %lld frequencies along x, %s symbol%s, on %d thread%s", (long long)s->torus.kept,
                    (long long)all, s->symbol.plain ? "real" : "complex", s->source ? ", with a source" : "", threads,
                    threads == 1 ? "" : "s");
    if (plan->task.snapshots > 1) stn_text_printf(text, "; all snapshots from one transform");
    if (growth > 0.01) stn_text_printf(text, "; grows by up to 10^%.2g", growth);
}

const stn_strategy stn_strategy_host_spectral = {
    .name = "host-spectral",
    .applies = applies,
    .candidates = candidates,
    .estimate = estimate,
    .prepare = prepare,
    .execute = execute,
    .set_weights = set_weights,
    .describe = describe,
    .release = release,
    .name_candidate = name_candidate,
    .sources = true,
    .stacks = true,
};
