/* Passes of overlapping segments: any number of steps in one pass over memory, by overlap-save
 * convolution in shared memory with the fused taps (FlashFFTStencil). Segments overlap by the reach
 * of the fused taps. Inputs past a side are points of the grid's extension. Separable weights take
 * one such pass per axis. The terms that fixed and constant sides of a 2D grid add are convolved
 * along these sides. See kernel_templates/segment. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "plan/plan.h"
#include "strategies/common/ping_pong.h"
#include "strategies/faces/margins.h"
#include "strategies/segment/dense_tile.h"
#include "strategies/segment/fft_tile.h"
#include "strategies/segment/overlap_save_pass.h"
#include "strategies/segment/segment_boundary_source.h"

typedef struct segment_state {
    segment_shape shape;
    segment_axis axes[3];      /* By pass. */
    segment_kernel kernels[3]; /* By pass. */
    int lengths;               /* Different numbers of fused steps: 1 or 2 (common/launches.h). */
    segment_table_layout layouts[2][3];
    segment_source source;
    segment_source_tables sides[2];
    segment_fft_tile tile; /* FFT tiles, in place of passes along lines. */
    segment_fft_tile_layout tiles[2];
    stn_faces *faces;
    void *tables; /* On the device. */
    size_t table_bytes;
    stn_layouts at;
} segment_state;

static bool applies(const stn_task *task, const stn_machine *machine, char *reason, size_t size) {
    const char *why = NULL;
    segment_shape shape;
    if (segment_search(task, machine, &shape, 1, &why)) why = NULL;
    if (why) snprintf(reason, size, "%s", why);
    return !why;
}

static size_t candidates(const stn_task *task, const stn_machine *machine, stn_candidate *list, size_t most) {
    segment_shape best[STN_CANDIDATES * 4];
    const char *why;
    size_t count = segment_search(task, machine, best, (size_t)stn_min((int64_t)most, STN_CANDIDATES * 4), &why);
    for (size_t i = 0; i < count; i++) list[i] = stn_candidate_of(&best[i], sizeof best[i]);
    return count;
}

STN_CANDIDATE_READER(segment_shape, shape_of)

static void estimate(const stn_task *task, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *result) {
    segment_shape shape = shape_of(candidate);
    segment_cost(task, machine, &shape, result);
    stn_ping_pong_add_copy(task, machine, shape.launches * shape.passes, result);
}

/* ---- building -------------------------------------------------------------------------------- */

/* Kernels for asymmetric weights serve symmetric ones too, so a plan that has them keeps them and
 * needs no compilation. */
static void keep_asymmetric(const segment_axis old[3], segment_axis *axes, int count) {
    for (int i = 0; i < count; i++) {
        if (old[i].symmetric || old[i].axis != axes[i].axis) continue;
        axes[i].symmetric = false, axes[i].exact = old[i].exact;
        memcpy(axes[i].side, old[i].side, sizeof old[i].side);
    }
}

/* made: kernels exist already, made for other weights. */
static stn_status lay_out_tile_tables(const stn_task *task, segment_state *state, bool made, stn_error *error) {
    size_t at = 0;
    if (!segment_fft_tile_refit(task, &state->shape))
        return stn_fail(error, STN_ERROR_UNSUPPORTED,
                        "%d fused steps of these weights reach too far for tiles of %d x %d points, or do not suit "
                        "the sides: make a new plan with strategy auto",
                        state->shape.fused, segment_fft_tile_points(&state->shape, 0),
                        segment_fft_tile_points(&state->shape, 1));
    for (int k = 0; k < state->lengths; k++) {
        const int fused = stn_fused_steps(task, state->shape.launches, k);
        segment_fft_tile_lay_out(task, &state->shape, (uint64_t)fused, made && !state->tiles[k].real, at,
                                 &state->tiles[k]);
        at = state->tiles[k].end;
    }
    state->table_bytes = at;
    return STN_OK;
}

/* Lays out the tables of state->shape for the task's weights. UNSUPPORTED: the weights reach
 * further than the segments are long. */
static stn_status lay_out_tables(const stn_task *task, segment_state *state, bool made, stn_error *error) {
    segment_axis old[3];
    size_t at = 0;
    state->lengths = stn_fused_lengths(task, state->shape.launches);
    if (state->shape.tile) return lay_out_tile_tables(task, state, made, error);
    int count;
    memcpy(old, state->axes, sizeof old);
    const bool same = segment_axes_of(task, state->axes, &count) && count == state->shape.passes;
    if (made && same) keep_asymmetric(old, state->axes, count);
    for (int i = 0; i < state->shape.passes; i++) {
        segment_pass *pass = &state->shape.pass[i];
        bool good = same && (state->axes[i].exact || state->shape.margins) &&
                    (state->shape.margins || (bool)state->shape.sources == segment_has_source(task));
        if (good) {
            const stn_reach reach = segment_axis_reach(&state->axes[i], task, (uint64_t)state->shape.fused);
            good = segment_fit(task, &state->axes[i], &reach, pass->first, pass);
        }
        if (!good)
            return stn_fail(error, STN_ERROR_UNSUPPORTED,
                            "%d fused steps of these weights reach too far for segments of %d points, do not suit the "
                            "sides, or are not separable: make a new plan with strategy auto",
                            state->shape.fused, segment_points(pass->first));
        for (int k = 0; k < state->lengths; k++) {
            const int fused = stn_fused_steps(task, state->shape.launches, k);
            segment_tables_lay_out(task, &state->axes[i], pass, (uint64_t)fused, at, &state->layouts[k][i]);
            at = state->layouts[k][i].end;
        }
    }
    for (int k = 0; k < state->lengths && state->shape.sources; k++) {
        segment_source_place(task, state->axes, &state->shape, state->layouts[k][0].fused, at, &state->sides[k]);
        at = state->sides[k].end;
    }
    state->table_bytes = at;
    return STN_OK;
}

/* Writes the tables to the device. There are none without a GPU, nor for a plan that is only
 * inspected. */
static stn_status make_tables(stn_plan *plan, segment_state *state, stn_error *error) {
    if (!plan->context->device || stn_kernels_miss(plan->kernels)) return STN_OK;
    unsigned char *host = state->table_bytes ? calloc(1, state->table_bytes) : NULL;
    stn_status status = host ? STN_OK : stn_fail_memory(error, "tables of a symbol", state->table_bytes);
    for (int k = 0; k < state->lengths && state->shape.tile && status == STN_OK; k++)
        status = segment_fft_tile_fill(&plan->task, &state->shape, &state->tiles[k], host, error);
    for (int i = 0; i < state->shape.passes && !state->shape.tile; i++)
        for (int k = 0; k < state->lengths && status == STN_OK; k++)
            status = segment_tables_fill(&plan->task, &state->axes[i], &state->layouts[k][i], host, error);
    for (int k = 0; k < state->lengths && state->shape.sources && status == STN_OK; k++)
        status = segment_source_fill(&plan->task, state->axes, &state->shape, &state->sides[k], host, error);
    void *tables = NULL;
    if (status == STN_OK)
        status = stn_device_replace(plan->context->device, &tables, 0, host, state->table_bytes, error);
    free(host);
    if (status == STN_OK)
        state->tables = tables;
    else
        stn_device_free(plan->context->device, tables);
    return status;
}

static stn_status get_kernels(stn_plan *plan, segment_state *state, stn_error *error) {
    if (state->shape.tile) return segment_fft_tile_get(plan, &state->shape, state->tiles[0].real, &state->tile, error);
    for (int i = 0; i < state->shape.passes; i++)
        STN_TRY(segment_kernel_get(plan, &plan->task, &state->axes[i], &state->shape, &state->shape.pass[i],
                                   &state->kernels[i], error));
    return segment_source_get(plan, state->axes, &state->shape, &state->source, error);
}

static stn_status prepare(stn_plan *plan, stn_error *error) {
    segment_state *state = plan->state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    state->shape = shape_of(&plan->candidate);
    state->at = stn_task_layouts(&plan->task, (uint64_t)state->shape.launches * (uint64_t)state->shape.passes);
    STN_TRY(lay_out_tables(&plan->task, state, false, error));
    STN_TRY(get_kernels(plan, state, error));
    STN_TRY(make_tables(plan, state, error));
    if (state->shape.margins) STN_TRY(stn_faces_create(plan, state->shape.launches, &state->faces, error));
    const size_t margins = stn_faces_workspace(state->faces), planes = state->source.bytes;
    plan->workspace_size = stn_grid_bytes(&state->at) + (margins > planes ? margins : planes);
    return STN_OK;
}

/* Weights that are at least as symmetric as the old ones need no compilation: only tables
 * change. */
static stn_status set_weights(stn_plan *plan, stn_error *error) {
    segment_state *state = plan->state, next = *state;
    STN_TRY(lay_out_tables(&plan->task, &next, true, error));
    STN_TRY(get_kernels(plan, &next, error)); /* Reuses the kernels that do not change. */
    next.tables = NULL;
    STN_TRY(make_tables(plan, &next, error));
    const stn_status status = stn_faces_set_weights(plan, next.faces, error);
    stn_device_free(plan->context->device, status == STN_OK ? state->tables : next.tables);
    if (status == STN_OK) *state = next;
    return status;
}

static void release(stn_plan *plan) {
    segment_state *state = plan->state;
    stn_faces_destroy(state->faces);
    stn_device_free(plan->context->device, state->tables);
}

/* ---- running --------------------------------------------------------------------------------- */

static stn_status launch_pass(const stn_plan *plan, int length, int pass, const stn_fused_launch *l, stn_error *error) {
    const segment_state *s = plan->state;
    if (s->shape.tile)
        return segment_fft_tile_launch(plan, &s->shape, &s->tile, &s->tiles[length], s->tables, l, error);
    return segment_launch(&plan->task, &s->kernels[pass], s->layouts[length], pass, s->tables, l, error);
}

/* Launch i is pass i % passes of a group of fused steps; the groups of more steps come first. */
static stn_status run_launch(const stn_plan *plan, uint64_t i, const stn_fused_launch *l, stn_error *error) {
    const segment_state *state = plan->state;
    const uint64_t passes = (uint64_t)state->shape.passes;
    const int length = stn_fused_length(&plan->task, state->shape.launches, i / passes), pass = (int)(i % passes);
    const segment_source_tables *sides = &state->sides[length];
    if (pass == 0)
        STN_TRY(segment_source_begin(plan, state->axes, &state->shape, &state->source, sides, state->tables, l->margins,
                                     l, error));
    STN_TRY(launch_pass(plan, length, pass, l, error));
    STN_TRY(stn_faces_run(plan, state->faces, length, l, error));
    if (pass + 1 < state->shape.passes) return STN_OK;
    return segment_source_add(plan, state->axes, &state->shape, &state->source, sides, state->layouts[length],
                              state->tables, l->margins, l, error);
}

static uint64_t launches(const stn_plan *plan) {
    const segment_state *state = plan->state;
    return (uint64_t)state->shape.launches * (uint64_t)state->shape.passes;
}

static stn_status execute_part(stn_plan *plan, stn_part part, const stn_execution *at, stn_error *error) {
    const segment_state *state = plan->state;
    return stn_ping_pong_run(plan, &state->at, launches(plan), part, at, run_launch, error);
}

/* ---- description ----------------------------------------------------------------------------- */

static void print_passes(const stn_task *task, const segment_shape *shape, bool rotated, stn_text *text) {
    if (shape->tile) {
        stn_text_printf(text, ", tiled FFTs of %d x %d points, %d x %d of them outputs, %d threads",
                        segment_fft_tile_points(shape, 0), segment_fft_tile_points(shape, 1), shape->pass[0].useful,
                        shape->pass[1].useful, 32 * shape->tile);
        if (shape->pass[0].folded || shape->pass[1].folded) stn_text_printf(text, ", weights folded to one period");
        if (shape->shares) stn_text_printf(text, ", each in a cluster of %d blocks", shape->shares);
        if (shape->margins) stn_text_printf(text, ", margins stepped");
        return;
    }
    for (int i = 0; i < shape->passes; i++) {
        const segment_pass *p = &shape->pass[i];
        stn_text_printf(text, ", segments of %d points along axis %d, %d of them outputs", segment_points(p->first),
                        p->axis - (3 - task->rank), p->useful);
        const segment_factors *f = segment_factors_of(p->first);
        if (f) stn_text_printf(text, ", by dense DFTs of %d x %d x %d", f->n[0], f->n[1], f->n[2]);
        if (f) segment_dense_describe(task->dtype, shape->fragment, text);
        if (p->cosines) stn_text_printf(text, " as half a period");
        if (p->folded) stn_text_printf(text, ", weights folded to one period");
    }
    if (shape->passes > 1) stn_text_printf(text, ", tiles of %d columns", 2 * shape->pairs);
    if (rotated) stn_text_printf(text, ", rotated to whole memory lines");
    if (shape->unrotated) stn_text_printf(text, ", not rotated");
    if (shape->blocks) stn_text_printf(text, ", %d blocks", shape->blocks);
    if (shape->transfer & SEGMENT_STREAMED) stn_text_printf(text, ", outputs streamed");
    if (shape->transfer & SEGMENT_DIRECT_INPUTS) stn_text_printf(text, ", inputs directly to registers");
    if (shape->transfer & SEGMENT_PREFETCH_256) stn_text_printf(text, ", 256-byte prefetch");
    if (shape->sources) stn_text_printf(text, ", sources of sides convolved");
    if (shape->margins) stn_text_printf(text, ", margins stepped");
}

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const segment_state *state = plan->state;
    const segment_shape *shape = &state->shape;
    if (format == STN_TEXT) {
        stn_text_printf(text, "%d launch%s of %d fused steps", shape->launches, shape->launches == 1 ? "" : "es",
                        shape->fused);
        if (state->lengths == 2) stn_text_printf(text, " or %d", shape->fused - 1);
        print_passes(&plan->task, shape, state->kernels[0].rotated, text);
        for (int i = 0; i < shape->passes && !shape->tile; i++) {
            if (shape->pass[i].folded) continue;
            const stn_reach reach = segment_axis_reach(&state->axes[i], &plan->task, (uint64_t)shape->fused);
            stn_text_printf(text, ", they reach %lld and %lld points (%.2g of the weights lies beyond)",
                            (long long)reach.side[0], (long long)reach.side[1], reach.tail[0] + reach.tail[1]);
        }
        if (shape->sources)
            stn_text_printf(text, ", y and x sides add to %d and %d points from them", state->sides[0].width[0],
                            state->sides[0].width[1]);
        if (!shape->tile && state->kernels[shape->passes - 1].past != 0)
            stn_text_printf(text, ", values past sides added by profiles of each axis");
        return;
    }
    stn_json_value(text, "fused_steps", shape->fused);
    stn_json_value(text, "launches", shape->launches);
    stn_json_value(text, "passes", shape->passes);
    stn_json_value(text, "segment",
                   shape->tile ? segment_fft_tile_points(shape, 1) : segment_points(shape->pass[0].first));
    stn_json_value(text, "useful", shape->pass[0].useful);
    stn_json_value(text, "margins", shape->margins);
}

static void name_candidate(const stn_task *task, const stn_candidate *candidate, stn_text *text) {
    segment_shape shape = shape_of(candidate);
    stn_text_printf(text, "%d steps a launch", shape.fused);
    print_passes(task, &shape, !shape.tile && segment_is_rotated(task, &shape, &shape.pass[0]), text);
}

STN_FUSED_SHORTEN(segment_shape, shape_of)

const stn_strategy segment_overlap_save = {
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
