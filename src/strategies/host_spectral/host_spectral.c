/* Strategy host-spectral: applies all steps at once by Fourier transforms of the whole grid,
 * in float64 on the CPU's threads. The cost of a run hardly depends on the number of steps.
 * Boundaries are served by periodic extension (common/extension.h). A second candidate makes one
 * step of very many taps by transforms of parts of rows (host/row_spectra.h). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "context/context.h"
#include "host/stencil_run.h"
#include "plan/error_bound.h"
#include "plan/plan.h"
#include "strategies/host_spectral/host_spectral_passes.h"
#include "strategies/table.h"

/* Cost model constants, fitted to 89 timed runs on one core. */
static const struct {
    /* Fractions of the flop rate that the machine model assumes for the host. */
    double transform, symbol;
    /* Multiples of the copy bandwidth; above 1 because most of the traffic stays in a cache. */
    double rows, columns;
    /* Seconds to make the tables, spread over a few runs. Stepping has no such cost. */
    double start;
    /* A fraction of the flop rate, for rows of taps. */
    double taps;
} rates = {0.9, 0.42, 2.5, 3.3, 5e-5, 1.85};

typedef struct spectral_state {
    stn_pool *pool; /* Owned by the context. */
    shape shape;
    stn_row_spectra *rows; /* Takes the place of the shape; or NULL. */
} spectral_state;

STN_CANDIDATE_READER(periodic_domain, domain_of)

static bool is_by_rows(const stn_candidate *candidate) { return !domain_of(candidate).kept; }

/* ---- choosing -------------------------------------------------------------------------------- */

static bool applies(const stn_task *task, const stn_machine *machine, char *reason, size_t reason_size) {
    stn_extension e;
    if (machine->is_device) {
        snprintf(reason, reason_size, "it works on host memory, and this context's plans take device pointers");
        return false;
    }
    if (!isinf(stn_row_spectra_cost(task, false))) return true;
    if (stn_task_needs_host(task)) {
        snprintf(reason, reason_size,
                 "the taps reach further than an axis is long, or than %d points, which transforms of the whole grid "
                 "do not serve",
                 STN_MAX_RADIUS);
        return false;
    }
    const stn_task run = stn_task_whole_run(task);
    for (int axis = 0; axis < 3; axis++)
        if (!stn_extension_sides(&run, axis, &e, reason, reason_size)) return false;
    return true;
}

static size_t candidates(const stn_task *task, const stn_machine *machine, stn_candidate *list, size_t most) {
    periodic_domain t;
    char reason[160];
    (void)machine;
    _Static_assert(sizeof t <= sizeof list->values, "a periodic domain fits");
    size_t count = 0;
    if (most && !stn_task_needs_host(task) && host_spectral_domain_choose(task, &t, reason, sizeof reason)) {
        list[count] = (stn_candidate){{0}};
        memcpy(list[count++].values, &t, sizeof t);
    }
    if (count < most && !isinf(stn_row_spectra_cost(task, false))) list[count++] = (stn_candidate){{0}};
    return count;
}

/* The error of a transform is proportional to the largest values; each stage contributes a random
 * rounding error. The factors K^T are exact to the rounding of 1. */
static double predicted_error(const stn_task *task, double points) {
    const double transforms = stn_error_accumulated(0, 1.5 * stn_error_rounding(STN_F64), 2 * log2(points + 1) + 4);
    return hypot(hypot(transforms, stn_symbol_cancellation_error(task)),
                 task->dtype == STN_F64 ? 0 : stn_error_rounding(task->dtype));
}

/* Operations to evaluate the symbol at one frequency: 1 - K, and its power at retained frequencies,
 * which are typically half of all. */
static double symbol_cost(const stn_task *task, int axis, bool source) {
    bool plain = true;
    for (int k = 0; k < 3; k++) plain = plain && stn_task_is_symmetric(task, k);
    const double terms = task->reach[axis][0] + task->reach[axis][1];
    const double bits = log2((double)task->steps * (double)task->snapshots + 1);
    /* The polynomials are evaluated by transforms. */
    if (terms > SHAPE_MANY_TERMS && task->rank > 1) return (120 + 12 * bits) * (source ? 2 : 1);
    return (plain && terms <= 8 ? terms + 8 + 3 * bits : 8 * terms + 24 + 12 * bits) * (source ? 2 : 1);
}

static void estimate(const stn_task *task, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *result) {
    const periodic_domain t = domain_of(candidate);
    const bool source = host_spectral_task_has_source(task);
    const double count = (double)task->snapshots, there = source ? 2 : 1, ways = there + count;
    const double *flops = machine->flops, size = (double)stn_dtype_size(task->dtype);
    const double n0 = (double)task->n[0], n1 = (double)task->n[1], batch = (double)task->batch, kept = (double)t.kept;
    const double length[3] = {(double)t.axis[0].length, (double)t.axis[1].length, (double)t.axis[2].length};
    double lines = n0 * n1 * batch, spectrum = lines * kept * 16, columns = 0;
    *result = (stn_estimate){.unit = STN_UNIT_FMA_F64, .launches = 2.0 * task->rank - 1 + source};
    if (is_by_rows(candidate)) {
        const double points = (double)stn_task_points(task);
        result->launches = 1;
        result->bytes = 2 * points * size;
        result->flops = 2 * points * stn_row_spectra_cost(task, false);
        result->seconds = result->flops / (flops[STN_UNIT_FMA_F64] * rates.taps) + rates.start;
        result->error = predicted_error(task, (double)task->ntaps * 1024);
        return;
    }
    if (count > 1) result->launches = (1 + count) * task->rank + source;
    result->flops = ways * lines * (host_spectral_fft_line_cost(t.axis[2].length) / 2 + 6 * length[2]);
    if (task->rank == 3) {
        result->flops += ways * n0 * kept * batch * host_spectral_fft_line_cost(t.axis[1].length);
        columns += ways * (spectrum + n0 * length[1] * kept * batch * 16);
    }
    if (task->rank > 1) {
        const int last = task->rank == 3 ? 0 : 1;
        const double across = kept * batch * (last == 0 ? length[1] : 1);
        result->flops += ways * across * host_spectral_fft_line_cost(t.axis[last].length);
        columns += ways * across * (double)task->n[last] * 16;
        /* The stored spectrum of a stack of snapshots. */
        if (count > 1) columns += there * (1 + count) * across * length[last] * 16;
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

/* ---- building -------------------------------------------------------------------------------- */

static stn_status prepare(stn_plan *plan, stn_error *error) {
    spectral_state *state = plan->state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    const periodic_domain t = domain_of(&plan->candidate);
    STN_TRY(stn_context_pool(plan->context, &state->pool, error));
    if (is_by_rows(&plan->candidate)) return stn_row_spectra_create(&plan->task, false, &state->rows, error);
    STN_TRY(host_spectral_shape_make(&plan->task, &t, &state->shape, error));
    plan->workspace_size = host_spectral_passes_workspace(&plan->task, &state->shape, stn_pool_threads(state->pool));
    return STN_OK;
}

/* The periodic domain and the number of retained frequencies were chosen for the old weights. */
static stn_status set_weights(stn_plan *plan, stn_error *error) {
    spectral_state *state = plan->state;
    if (is_by_rows(&plan->candidate)) {
        stn_row_spectra_destroy(state->rows);
        return stn_row_spectra_create(&plan->task, false, &state->rows, error);
    }
    if (!host_spectral_domain_serves(&plan->task, &state->shape.domain))
        return stn_fail(error, STN_ERROR_UNSUPPORTED,
                        "host-spectral cannot take these weights: after all steps they reach further, in space or in "
                        "frequency, than those that the plan was made for, or have no periodic extension");
    return host_spectral_shape_set_weights(&plan->task, &state->shape, error);
}

static void release(stn_plan *plan) {
    spectral_state *state = plan->state;
    host_spectral_shape_clear(&state->shape);
    stn_row_spectra_destroy(state->rows);
}

/* ---- running --------------------------------------------------------------------------------- */

static stn_status execute(stn_plan *plan, const stn_execution *run, stn_error *error) {
    (void)error;
    const spectral_state *state = plan->state;
    if (is_by_rows(&plan->candidate)) /* NULL rows (new weights of few taps): a plain step */
        stn_host_run_source(&plan->task, state->rows, state->pool, run->in, run->source, run->out, run->workspace);
    else
        host_spectral_passes_run(&plan->task, &state->shape, state->pool, run);
    return STN_OK;
}

/* ---- description ----------------------------------------------------------------------------- */

static void name_candidate(const stn_task *task, const stn_candidate *candidate, stn_text *text) {
    const periodic_domain t = domain_of(candidate);
    if (is_by_rows(candidate)) {
        stn_text_printf(text, "transforms of parts of rows");
        return;
    }
    stn_text_printf(text, "periodic domain of ");
    for (int axis = 3 - task->rank; axis < 3; axis++)
        stn_text_printf(text, axis > 3 - task->rank ? " x %lld" : "%lld", (long long)t.axis[axis].length);
}

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const spectral_state *state = plan->state;
    if (!state || !state->pool) return;
    const shape *s = &state->shape;
    const int64_t all = s->axis[2].length / 2 + 1;
    const int threads = stn_pool_threads(state->pool);
    if (is_by_rows(&plan->candidate)) {
        if (format == STN_JSON)
            stn_json_integer(text, "threads", threads);
        else
            stn_text_printf(text, "one step by transforms of rows on %d thread%s", threads, threads == 1 ? "" : "s");
        return;
    }
    const double growth = log10(s->largest) * (double)plan->task.steps * (double)plan->task.snapshots;
    if (format == STN_JSON) {
        static const char *const names[] = {"length_z", "length_y", "length_x"};
        for (int axis = 3 - plan->task.rank; axis < 3; axis++)
            stn_json_integer(text, names[axis], s->axis[axis].length);
        stn_json_integer(text, "kept_x", s->domain.kept);
        stn_json_integer(text, "threads", threads);
        stn_json_key(text, "log10_growth");
        stn_json_number(text, growth);
        return;
    }
    name_candidate(&plan->task, &plan->candidate, text);
    stn_text_printf(text, ", %lld of %lld frequencies along x, %s symbol%s, on %d thread%s", (long long)s->domain.kept,
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
