/* Strategy modes: a linear system with constant coefficients is a small matrix at each
 * frequency, whose T-th power is computed by squaring. So the cost of a run hardly depends on the
 * number of steps; snapshots and receivers divide it into chunks, each with such a power. Plans for
 * GPUs are those of modes_device.c. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "context/context.h"
#include "plan/error_bound.h"
#include "plan/plan.h"
#include "strategies/modes/modes_device.h"
#include "strategies/modes/passes.h"
#include "strategies/modes/symmetry.h"
#include "strategies/table.h"

typedef struct modes_state {
    stn_pool *pool; /* the context's */
    modes_passes passes;
} modes_state;

/* ---- choosing -------------------------------------------------------------------------------- */

static bool applies(const stn_system_task *task, const stn_machine *machine, char *reason, size_t size) {
    modes_linear linear;
    if (task->nsources) {
        snprintf(reason, size, "it computes many steps at once, and sources change the state in each of them");
        return false;
    }
    bool served = modes_analyse(task, &linear, reason, size);
    const double bytes = 2 * modes_spectra_bytes(&linear);
    if (served && machine->is_device)
        served = modes_device_fits(&linear, machine, reason, size);
    else if (served && machine->memory_bytes && bytes > (double)machine->memory_bytes) {
        snprintf(reason, size, "its spectra take %.3g GB, more than half of this machine's memory", 0.5e-9 * bytes);
        served = false;
    }
    modes_linear_clear(&linear);
    return served;
}

static size_t candidates(const stn_system_task *task, const stn_machine *machine, stn_candidate *list, size_t most) {
    modes_linear linear;
    char reason[160];
    size_t count = most ? 1 : 0;
    if (most) list[0] = (stn_candidate){{0}};
    if (!machine->is_device) return count;
    if (modes_analyse(task, &linear, reason, sizeof reason))
        count = modes_device_candidates(&linear, machine, list, most);
    modes_linear_clear(&linear);
    return count;
}

/* Fitted to the CPU time of 24 runs on two cores with AVX-512. */
static const struct {
    /* product: operations for each multiplication of a matrix product in f64. form: operations to
     * evaluate one modes_operation for one column of the step's matrix. */
    double product, form;
    /* Fractions of the host's assumed flops that powers and transforms reach. */
    double arithmetic, transform;
    double start; /* seconds: a share of the time to make the plan */
} rates = {13, 60, 0.8, 0.7, 1e-4};

static void estimate(const stn_system_task *task, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *result) {
    modes_linear l;
    char reason[160];
    *result = (stn_estimate){.unit = STN_UNIT_FMA_F64, .seconds = INFINITY};
    const bool served = modes_analyse(task, &l, reason, sizeof reason);
    if (served && machine->is_device)
        modes_device_estimate(&l, machine, candidate, result);
    else if (served) {
        double points = 1, frequencies = 1;
        for (int axis = 0; axis < 3; axis++) {
            const double length = (double)l.axis[axis].length, halved = floor(length / 2) + 1;
            points *= length;
            frequencies *= axis == 2 || l.even[axis] ? halved : length;
        }
        const double w = l.width, batch = (double)task->batch, all = (double)task->steps * (double)task->states;
        const double chunk = (double)modes_steps_per_state(task), chunks = all / chunk, fields = task->system->nfields;
        const double back = (task->stack ? (double)task->states * fields : w) +
                            (task->nreceivers ? all / (double)task->record_every * fields : 0);
        const double bits = log2(chunk), wide = task->dtype == STN_F64 ? rates.product : 2;
        const double products = (l.real ? 1 : 4) * w * w * w * 1.5 * bits * wide + rates.form * w * l.count;
        const double power_bytes = frequencies * (w + l.affine) * (w + l.affine) * (l.real ? 16 : 32);
        const bool kept = modes_keeps_powers(&l, power_bytes);
        const double raised = kept ? frequencies : chunks * frequencies;
        const double transforms = (w + back) * batch * points * 2.5 * log2(points + 1);
        const double applied = chunks * batch * points / 2 * w * w * 8;
        result->flops = raised * products + applied + transforms;
        result->bytes = batch * points * 8 * (w * (2 + 2 * chunks) + 2 * back + 2 * task->rank * (w + back));
        result->launches = (w + back) * task->rank + 2 * chunks;
        result->seconds = ((raised * products + applied) / rates.arithmetic + transforms / rates.transform) /
                              machine->flops[STN_UNIT_FMA_F64] +
                          result->bytes / machine->copy_bandwidth + result->launches * machine->launch_seconds +
                          rates.start;
        result->memory = modes_spectra_bytes(&l) + (kept ? power_bytes : 0);
        result->grids =
            result->memory / (w * batch * (double)stn_system_task_points(task) * (double)stn_dtype_size(task->dtype));
        result->halo_waste = points / (double)stn_system_task_points(task) - 1;
        result->error = hypot(stn_error_accumulated(0, 1.5 * stn_error_rounding(STN_F64), 2 * log2(points + 1) + 4),
                              task->dtype == STN_F64 ? 0 : stn_error_rounding(task->dtype));
    }
    modes_linear_clear(&l);
}

/* ---- running --------------------------------------------------------------------------------- */

static stn_status prepare(stn_plan *plan, stn_error *error) {
    if (plan->machine.is_device) return modes_device_prepare(plan, error);
    modes_state *state = plan->state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    STN_TRY(stn_context_pool(plan->context, &state->pool, error));
    STN_TRY(modes_passes_make(&plan->system, stn_pool_threads(state->pool), &state->passes, error));
    plan->workspace_size = modes_passes_workspace(&state->passes);
    return STN_OK;
}

static stn_status execute(stn_plan *plan, const stn_execution *run, stn_error *error) {
    const modes_state *state = plan->state;
    if (plan->machine.is_device) return modes_device_execute(plan, run, error);
    modes_passes_run(&state->passes, state->pool, run->system, run->workspace);
    return STN_OK;
}

static void release(stn_plan *plan) {
    if (plan->machine.is_device) {
        modes_device_release(plan);
        return;
    }
    modes_state *state = plan->state;
    modes_passes_clear(&state->passes);
}

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    static const char *const names[] = {"length_z", "length_y", "length_x"};
    const modes_state *state = plan->state;
    const bool on_device = plan->machine.is_device;
    if (!state || (!on_device && !state->pool)) return;
    const modes_linear *l = on_device ? modes_device_linear(plan) : &state->passes.linear;
    const int threads = on_device ? 0 : stn_pool_threads(state->pool), rank = plan->system.rank;
    const uint64_t chunk = modes_steps_per_state(&plan->system),
                   chunks = plan->system.steps * plan->system.states / chunk;
    if (format == STN_JSON) {
        for (int axis = 3 - rank; axis < 3; axis++) stn_json_integer(text, names[axis], l->axis[axis].length);
        stn_json_integer(text, "matrix", l->width);
        stn_json_key(text, "matrix_kind");
        stn_json_string(text, l->real ? "real" : "complex");
        if (!on_device) stn_json_integer(text, "threads", threads);
    } else {
        stn_text_printf(text, "%llu steps at once as the power of a %s %d x %d matrix at each frequency of",
                        (unsigned long long)chunk, l->real ? "real" : "complex", l->width, l->width);
        for (int axis = 3 - rank; axis < 3; axis++)
            stn_text_printf(text, axis > 3 - rank ? " x %lld" : " %lld", (long long)l->axis[axis].length);
        stn_text_printf(text, " points");
        if (!on_device) stn_text_printf(text, ", on %d thread%s", threads, threads == 1 ? "" : "s");
        if (chunks > 1) stn_text_printf(text, ", %llu times", (unsigned long long)chunks);
    }
    if (on_device) modes_device_describe(plan, format, text);
}

static void name_candidate(const stn_task *task, const stn_candidate *candidate, stn_text *text) {
    (void)task;
    stn_text_printf(text, candidate->values[0] ? "passes along lines" : "whole transforms");
}

const stn_strategy stn_system_strategy_modes = {
    .name = "modes",
    .system.applies = applies,
    .system.candidates = candidates,
    .system.estimate = estimate,
    .prepare = prepare,
    .execute = execute,
    .describe = describe,
    .release = release,
    .name_candidate = name_candidate,
    .counts_steps = true,
};
