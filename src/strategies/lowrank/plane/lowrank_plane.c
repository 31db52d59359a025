/* lowrank in 1D and 2D: in 1D f steps are one banded product; in 2D their weights are a sum of
 * separable terms, each a chain of two banded products. See
 * kernel_templates/lowrank/lowrank_line.cu, lowrank_plane.cu and lowrank_mixed.cu. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "render/render.h"
#include "strategies/common/ping_pong.h"
#include "strategies/faces/margins.h"
#include "strategies/lowrank/lowrank.h"
#include "strategies/lowrank/lowrank_types.h"
#include "strategies/lowrank/plane/plane_operator.h"
#include "strategies/lowrank/plane/plane_search.h"

/* Arguments as the kernels declare them; the weights follow. */
typedef struct line_header {
    const void *in;
    void *out;
    int64_t nx, in_batch, out_batch, chunks, all_chunks;
} line_header;
typedef struct plane_header {
    const void *in;
    void *out;
    int64_t ny, nx, in_y, out_y, in_batch, out_batch, segment, tiles_y, tiles_x;
} plane_header;

typedef struct lowrank_state {
    lowrank_shape shape;
    lowrank_pattern pattern; /* 2D: the terms that the kernel is compiled for */
    stn_kernel *kernel;
    int64_t resident; /* 1D: resident blocks on the whole GPU */
    size_t noperators;
    lowrank_operator operators[2]; /* by length of a launch (common/launches.h) */
    stn_faces *faces;              /* NULL where all axes wrap */
    stn_layouts at;
} lowrank_state;

static bool applies(const stn_task *task, const stn_machine *machine, char *reason, size_t reason_size) {
    if (lowrank_search_any(task, machine)) return true;
    snprintf(reason, reason_size, "%s", lowrank_none);
    return false;
}

/* ---- candidates */

static size_t candidates(const stn_task *task, const stn_machine *machine, stn_candidate *list, size_t most) {
    lowrank_shape best[LOWRANK_MAX_BEST];
    size_t count = lowrank_search(task, machine, INT_MAX, best, most);
    for (size_t i = 0; i < count; i++) list[i] = stn_candidate_of(&best[i], sizeof best[i]);
    return count;
}

STN_CANDIDATE_READER(lowrank_shape, shape_of)

static void estimate(const stn_task *task, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *result) {
    lowrank_shape shape = shape_of(candidate);
    lowrank_cost(task, machine, &shape, result);
    stn_ping_pong_add_copy(task, machine, result->launches, result);
    result->error = lowrank_error(task, shape.products, shape.launches, shape.growth, LOWRANK_SYSTEMATIC_ERROR);
    if (task->dtype == STN_F16)
        result->error = hypot(result->error, lowrank_inner_error(task, shape.inner, shape.launches));
}

/* ---- building */

static stn_status get_kernel(stn_plan *plan, const lowrank_shape *shape, const lowrank_pattern *pattern,
                             stn_kernel **kernel, stn_error *error) {
    stn_text params = STN_TEXT_EMPTY;
    lowrank_params(&plan->task, shape, pattern, &params);
    stn_params_int(&params, "EXPECTED_HEADER", plan->task.rank == 1 ? sizeof(line_header) : sizeof(plane_header));
    return stn_kernel_make(plan->kernels, lowrank_kernel_name(&plan->task, shape), &params,
                           lowrank_shared(&plan->task, shape), kernel, error);
}

/* Makes the operators and the kernel of state->shape. */
static stn_status build(stn_plan *plan, lowrank_state *state, stn_error *error) {
    const int launches = state->shape.launches;
    state->noperators = (size_t)stn_fused_lengths(&plan->task, launches);
    for (int k = 0; k < 2; k++) state->operators[k].fused = stn_fused_steps(&plan->task, launches, k);
    state->shape.fused = state->operators[0].fused;
    bool pattern_changed;
    STN_TRY(lowrank_operators_make(&plan->task, &plan->machine, &state->shape, &state->pattern, state->operators,
                                   state->noperators, &pattern_changed, error));
    STN_TRY(get_kernel(plan, &state->shape, &state->pattern, &state->kernel, error));
    STN_TRY(stn_faces_create(plan, launches, &state->faces, error));
    state->resident = stn_kernel_resident(state->kernel, plan->machine.multiprocessors, 32 * state->shape.warps,
                                          lowrank_shared(&plan->task, &state->shape));
    return STN_OK;
}

static stn_status prepare(stn_plan *plan, stn_error *error) {
    lowrank_state *state = plan->state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    state->shape = shape_of(&plan->candidate);
    /* New weights may need more launches. */
    state->at = stn_task_layouts(&plan->task, plan->task.steps);
    STN_TRY(build(plan, state, error));
    plan->workspace_size = stn_grid_bytes(&state->at) + stn_faces_workspace(state->faces);
    return STN_OK;
}

/* Makes a kernel and faces for weights that need more or wider terms, or fewer fused steps. */
static stn_status rebuild(stn_plan *plan, lowrank_state *next, stn_error *error) {
    next->faces = NULL;
    stn_status status = build(plan, next, error);
    if (status == STN_OK && stn_grid_bytes(&next->at) + stn_faces_workspace(next->faces) > plan->workspace_size)
        status = lowrank_fail_terms(next->shape.fused, next->shape.terms, error);
    if (status == STN_OK) return STN_OK;
    stn_faces_destroy(next->faces);
    return status;
}

/* Weights whose terms fit the pattern need no compilation. */
static stn_status set_weights(stn_plan *plan, stn_error *error) {
    lowrank_state *state = plan->state, next = *state;
    stn_error full = {0};
    bool pattern_changed;
    stn_status status = lowrank_operators_make(&plan->task, &plan->machine, &next.shape, &next.pattern, next.operators,
                                               next.noperators, &pattern_changed, &full);
    if (status != STN_OK && status != STN_ERROR_UNSUPPORTED) {
        if (error) *error = full;
        return status;
    }
    if (status == STN_ERROR_UNSUPPORTED) {
        if (!lowrank_search(&plan->task, &plan->machine, state->shape.fused, &next.shape, 1))
            return lowrank_fail_terms(1, next.shape.terms, error);
        next.pattern.count = 0;
        pattern_changed = true;
    }
    if (pattern_changed) {
        STN_TRY(rebuild(plan, &next, error));
        stn_faces_destroy(state->faces);
    } else
        STN_TRY(stn_faces_set_weights(plan, next.faces, error));
    next.shape.extended = stn_task_has_extension(&plan->task); /* the faces exist in any case */
    *state = next;
    return STN_OK;
}

static void release(stn_plan *plan) { stn_faces_destroy(((lowrank_state *)plan->state)->faces); }

/* ---- running */

static stn_status launch_operator(const stn_plan *plan, const lowrank_operator *op, const stn_fused_launch *l,
                                  stn_error *error) {
    const lowrank_state *state = plan->state;
    const stn_grid_layout *from = l->from, *to = l->to;
    const stn_task *task = &plan->task;
    _Alignas(16) unsigned char arguments[sizeof(plane_header) + sizeof op->values];
    size_t header;
    int64_t blocks;
    if (task->rank == 1) {
        int64_t chunks = lowrank_chunks(task, &state->shape), all = chunks * task->batch;
        line_header h = {l->in, l->out, task->n[2], from->batch, to->batch, chunks, all};
        memcpy(arguments, &h, header = sizeof h);
        blocks = stn_min(all, state->resident);
    } else {
        int64_t tiles_y, tiles_x;
        lowrank_tiles(task, &state->shape, &tiles_y, &tiles_x);
        plane_header h = {l->in,       l->out,    task->n[1],           task->n[2], from->stride[1], to->stride[1],
                          from->batch, to->batch, state->shape.segment, tiles_y,    tiles_x};
        memcpy(arguments, &h, header = sizeof h);
        blocks = tiles_y * tiles_x * task->batch;
    }
    memcpy(arguments + header, op->values, sizeof op->values);
    return stn_kernel_launch(state->kernel, blocks, 32 * state->shape.warps, lowrank_shared(task, &state->shape),
                             arguments, l->stream, error);
}

static stn_status run_launch(const stn_plan *plan, uint64_t i, const stn_fused_launch *l, stn_error *error) {
    const lowrank_state *state = plan->state;
    const int length = stn_fused_length(&plan->task, state->shape.launches, i);
    STN_TRY(launch_operator(plan, &state->operators[length], l, error));
    return stn_faces_run(plan, state->shape.extended ? NULL : state->faces, length, l, error);
}

static uint64_t launches(const stn_plan *plan) {
    return (uint64_t)((const lowrank_state *)plan->state)->shape.launches;
}

static stn_status execute_part(stn_plan *plan, stn_part part, const stn_execution *at, stn_error *error) {
    const lowrank_state *state = plan->state;
    return stn_ping_pong_run(plan, &state->at, launches(plan), part, at, run_launch, error);
}

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const lowrank_state *state = plan->state;
    const lowrank_shape *shape = &state->shape;
    const lowrank_operator *first = &state->operators[0];
    if (format == STN_TEXT) {
        stn_text_printf(text, "kernel %s, %d launches of %d fused steps", lowrank_kernel_name(&plan->task, shape),
                        shape->launches, first->fused);
        if (state->noperators == 2) stn_text_printf(text, " or %d", state->operators[1].fused);
        if (plan->task.rank > 1)
            stn_text_printf(text, ", %d x %d taps in %d separable terms (%s, residual %.2g)",
                            lowrank_window(&plan->task, shape, 1), lowrank_window(&plan->task, shape, 2), first->terms,
                            lowrank_split_name((lowrank_split)shape->split), first->residual);
        else
            stn_text_printf(text, ", %d taps", lowrank_window(&plan->task, shape, 2));
        stn_text_printf(text, ", %s products, %d warps a block", lowrank_arithmetic(plan->task.dtype, shape->products),
                        shape->warps);
        return;
    }
    stn_json_text(text, "kernel", lowrank_kernel_name(&plan->task, shape));
    stn_json_text(text, "arithmetic", lowrank_arithmetic(plan->task.dtype, shape->products));
    if (plan->task.rank > 1) stn_json_text(text, "split", lowrank_split_name((lowrank_split)shape->split));

    stn_json_value(text, "fused_steps", first->fused);
    stn_json_value(text, "launches", shape->launches);
    stn_json_value(text, "terms", first->terms);
    stn_json_value(text, "residual", first->residual);
    stn_json_value(text, "warps", shape->warps);
    stn_json_value(text, "stages", shape->stages);
    stn_json_value(text, "segment", shape->segment);
}

static void name_candidate(const stn_task *task, const stn_candidate *candidate, stn_text *text) {
    lowrank_shape shape = shape_of(candidate);
    stn_text_printf(text, "%d steps a launch", shape.fused);
    if (task->rank > 1)
        stn_text_printf(text, ", %d separable term%s (%s, residual %.2g)%s", shape.terms, shape.terms == 1 ? "" : "s",
                        lowrank_split_name((lowrank_split)shape.split), shape.residual,
                        shape.mixed ? ", sums along y" : "");
    stn_text_printf(text, ", %s products, %d warps, %d block%s", lowrank_arithmetic(task->dtype, shape.products),
                    shape.warps, shape.blocks, shape.blocks == 1 ? "" : "s");
}

STN_FUSED_SHORTEN(lowrank_shape, shape_of)

const stn_strategy lowrank_plane = {
    .name = "lowrank",
    .applies = applies,
    .candidates = candidates,
    .estimate = estimate,
    .prepare = prepare,
    .set_weights = set_weights,
    .describe = describe,
    .release = release,
    .name_candidate = name_candidate,
    .shorten = shorten,
    .launches = launches,
    .execute_part = execute_part,
};
