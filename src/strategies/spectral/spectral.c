/* Strategy spectral: applies all steps at once by Fourier transforms of the whole grid. The cost
 * hardly depends on the number of steps.
 *
 *     rows: FFT(x)  ->  columns along y (and z): FFT, times K^T, inverse  ->  rows: inverse x
 *
 * The first pass reads the grid and extends it past its sides (common/extension.h); the last one
 * stores only the grid. Between them the spectrum lies in the workspace, where each middle pass
 * works in place. For a stack of snapshots, the passes from the symbol on are repeated for each
 * snapshot, from one spectrum into another.
 *
 * A line too long for shared memory is transformed by a four-step FFT: four_step.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "plan/plan.h"
#include "problem/stencil.h"
#include "strategies/spectral/four_step.h"
#include "strategies/spectral/spectral_passes.h"
#include "strategies/table.h"

/* A candidate's parameters: a spectral_four_step_choice if is_four_step, else a spectral_choice. */
static bool is_four_step(const stn_candidate *candidate) { return candidate->values[0] == SPECTRAL_FOUR_STEP; }
STN_CANDIDATE_READER(spectral_four_step_choice, four_step_of)
STN_CANDIDATE_READER(spectral_choice, choice_of)

/* ---- choosing -------------------------------------------------------------------------------- */

static bool applies(const stn_task *task, const stn_machine *machine, char *reason, size_t reason_size) {
    spectral_choice choice;
    if (!stn_has_gpu(machine, reason, reason_size)) return false;
    if (task->in_stride[2] != 1 || task->out_stride[2] != 1) {
        snprintf(reason, reason_size, "the fastest axis is strided");
        return false;
    }
    if (!reason_size) return true; /* `candidates` searches again */
    if (spectral_four_step_for(task, machine)) {
        spectral_four_step_choice four_step;
        return spectral_four_step_choose(task, machine, &four_step, reason, reason_size);
    }
    return spectral_choose(task, machine, &choice, reason, reason_size) ||
           spectral_choose_tiles(task, machine, NULL, (int[2]){1, 1}, &choice);
}

static size_t four_step_candidates(const stn_task *task, const stn_machine *machine, stn_candidate *list, size_t most) {
    spectral_four_step_choice choice, others[STN_CANDIDATES];
    char reason[160];
    if (!most || !spectral_four_step_choose(task, machine, &choice, reason, sizeof reason)) return 0;
    list[0] = stn_candidate_of(&choice, sizeof choice);
    if (most <= STN_CANDIDATES) return 1;
    const size_t count = spectral_four_step_variants(task, machine, &choice, others, STN_CANDIDATES);
    for (size_t i = 0; i < count; i++) list[1 + i] = stn_candidate_of(&others[i], sizeof others[i]);
    return 1 + count;
}

static void estimate(const stn_task *task, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *result) {
    if (is_four_step(candidate)) {
        const spectral_four_step_choice four_step = four_step_of(candidate);
        spectral_four_step whole;
        spectral_four_step_make(task, machine, &four_step, false, &whole);
        spectral_four_step_estimate(task, machine, &whole, result);
        stn_estimate_memory(task, (double)spectral_four_step_workspace(task, &whole), result);
        return;
    }
    spectral_choice choice = choice_of(candidate);
    spectral_shape shape;
    spectral_shape_make(task, machine, &choice, false, &shape);
    spectral_estimate(task, machine, &shape, result);
    stn_estimate_memory(task,
                        (double)(spectral_workspace(task, &shape) + spectral_march_chunk_halos(task, &shape) +
                                 spectral_source_bytes(task, &shape)),
                        result);
}

/* A lower bound on the seconds of all candidates: lines are at least as long as the grid's axes.
 * Lines that are too long for shared memory take four steps. */
static double least_seconds(const stn_task *task, const stn_machine *machine) {
    const double lines = spectral_least_seconds(task, machine) * (1 - 1e-9);
    const double four_step = spectral_four_step_least_seconds(task, machine) * (1 - 1e-9);
    const int64_t most = 2 * stn_shared_fft_most_points(spectral_wide(task), machine->shared_per_block);
    return task->rank > 1 ? lines : task->n[2] > most ? four_step : fmin(lines, four_step);
}

static double seconds_of(const stn_task *task, const stn_machine *machine, const spectral_choice *choice) {
    const stn_candidate candidate = stn_candidate_of(choice, sizeof *choice);
    stn_estimate result;
    estimate(task, machine, &candidate, &result);
    return result.seconds;
}

/* Whether `one` is faster by more than the errors of the two estimates. */
static bool clearly_faster(const stn_task *task, const stn_machine *machine, const spectral_choice *one,
                           const spectral_choice *other) {
    return seconds_of(task, machine, one) < 0.92 * seconds_of(task, machine, other);
}

enum { OTHERS = 28, SLABS = 11 }; /* Numbers of variants to be timed. */

/* If columns make fewer than 1.5 blocks per multiprocessor, halves the columns per block while that
 * is cheaper. 960 x 896 points in f64 take 23.8 us with two columns and 27.8 with four. */
static void spread_columns(const stn_task *task, const stn_machine *machine, spectral_choice *choice) {
    while (choice->column_lines > 1) {
        spectral_shape now;
        spectral_shape_make(task, machine, choice, false, &now);
        const double blocks = ceil((double)now.pitch / choice->column_lines) * (double)task->batch * now.chunks;
        spectral_choice half = *choice;
        half.column_lines /= 2;
        if (blocks >= 1.5 * machine->multiprocessors) return;
        spectral_shape_make(task, machine, &half, false, &now);
        if (!spectral_columns_fit(&now) || seconds_of(task, machine, &half) >= seconds_of(task, machine, choice))
            return;
        *choice = half;
    }
}

/* Lists tiles. The first one has the cheapest columns for the row length of spectral_choose_tiles.
 * The estimate does not choose the row length: rows of 1024 points in f64 take a quarter longer
 * than estimated, relative to rows of 2688. */
enum { TILES = 8 };
static size_t choose_tiles(const stn_task *task, const stn_machine *machine, const spectral_choice *whole,
                           spectral_choice list[TILES]) {
    if (!spectral_choose_tiles(task, machine, whole, (int[2]){1, 1}, &list[0])) return 0;
    const size_t count = 1 + spectral_tile_variants(task, machine, whole, &list[0], list + 1, TILES - 1);
    const int row = list[0].length[2];
    double lowest = INFINITY;
    for (size_t i = 0; i < count; i++) {
        spectral_choose_kept(task, &list[i]);
        const double seconds = seconds_of(task, machine, &list[i]) * (i ? 1 : 0.997);
        if (seconds >= lowest || list[i].length[2] != row) continue;
        const spectral_choice first = list[0];
        lowest = seconds, list[0] = list[i], list[i] = first;
    }
    spread_columns(task, machine, &list[0]);
    return count;
}

/* Other numbers of parts than `chosen`, and whole columns; returns their number. */
enum { PARTS = 4 };
static size_t part_variants(const stn_task *task, const stn_machine *machine, const spectral_choice *whole, int chosen,
                            spectral_choice list[PARTS]) {
    size_t count = 0;
    list[count++] = *whole;
    for (int parts = 2; parts <= SPECTRAL_PARTS && count < PARTS; parts *= 2)
        count += parts != chosen && spectral_choose_parts(task, machine, whole, parts, &list[count]);
    return count;
}

static bool same_layout(const spectral_choice *a, const spectral_choice *b) {
    return a->row_lines == b->row_lines && a->column_lines == b->column_lines && a->group == b->group &&
           a->row_threads == b->row_threads && a->column_threads == b->column_threads &&
           a->row_blocks == b->row_blocks && a->column_blocks == b->column_blocks;
}

/* Variants of a choice, at most `most`; the one equal to `taken` is replaced by the choice
 * itself. */
static size_t variants_except(const stn_task *task, const stn_machine *machine, const spectral_choice *choice,
                              const spectral_choice *taken, spectral_choice *list, size_t most) {
    const size_t count = spectral_variants(task, machine, choice, list, most);
    for (size_t i = 0; i < count; i++)
        if (same_layout(&list[i], taken) && list[i].decayed_solver == taken->decayed_solver) list[i] = *choice;
    return count;
}

static size_t candidates(const stn_task *task, const stn_machine *machine, stn_candidate *list, size_t most) {
    spectral_choice choice;
    char reason[160];
    if (stn_exceeds_time_limit(machine, least_seconds(task, machine))) return 0;
    if (spectral_four_step_for(task, machine)) return four_step_candidates(task, machine, list, most);
    if (!most) return 0;
    /* Axes that are too long for one transform may be divided into tiles. */
    if (!spectral_choose(task, machine, &choice, reason, sizeof reason)) {
        if (!spectral_choose_tiles(task, machine, NULL, (int[2]){1, 1}, &choice)) return 0;
        spectral_choose_kept(task, &choice);
        list[0] = stn_candidate_of(&choice, sizeof choice);
        return 1;
    }
    spectral_choose_kept(task, &choice);
    spectral_choose_decayed_modes(task, machine, &choice);
    const spectral_choice whole = choice;
    /* Lists the slabs of the best size if they are not chosen, then slabs of other sizes. */
    spectral_choice slabs[SLABS];
    const size_t slab_count = spectral_choose_slabs(task, machine, &whole, &choice, slabs, SLABS);
    /* Parts are for 2D, slabs for 3D. */
    const bool parts = spectral_choose_parts(task, machine, &whole, 0, &choice);
    const spectral_choice first = spectral_more_blocks(task, machine, &choice);
    list[0] = stn_candidate_of(&first, sizeof first);
    size_t count = 1;
    spectral_choice others[OTHERS + PARTS + SLABS]; /* Tiles first. */
    const size_t tiles = most > 1 ? choose_tiles(task, machine, &whole, others) : 0;
    const spectral_choice plain = tiles ? others[0] : choice;
    if (tiles) others[0] = spectral_more_blocks(task, machine, &plain);
    /* The best tiles are among the candidates that the estimate chooses from only if they are
     * clearly faster; otherwise they are only measured, as all others are. */
    const bool tiles_estimated = tiles && clearly_faster(task, machine, &others[0], &first);
    if (tiles_estimated) list[count++] = stn_candidate_of(&others[0], sizeof others[0]);
    if (most <= STN_CANDIDATES) return count;
    size_t more = tiles + variants_except(task, machine, tiles_estimated ? &plain : &choice,
                                          tiles_estimated ? &others[0] : &first, others + tiles, OTHERS - tiles);
    for (size_t i = 0; i < slab_count; i++) others[more++] = slabs[i];
    if (parts) more += part_variants(task, machine, &whole, choice.parts, others + more);
    if (tiles_estimated) memmove(others, others + 1, --more * sizeof *others);
    more = (size_t)stn_min((int64_t)more, (int64_t)(most - count));
    for (size_t i = 0; i < more; i++) list[count + i] = stn_candidate_of(&others[i], sizeof others[i]);
    return count + more;
}

/* ---- building -------------------------------------------------------------------------------- */

static stn_status prepare(stn_plan *plan, stn_error *error) {
    if (is_four_step(&plan->candidate)) {
        const spectral_four_step_choice four_step = four_step_of(&plan->candidate);
        return spectral_four_step_prepare(plan, &four_step, error);
    }
    spectral_state *state = plan->state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    spectral_choice choice = choice_of(&plan->candidate);
    spectral_shape_make(&plan->task, &plan->machine, &choice, true, &state->shape);
    for (int axis = 0; axis < 3; axis++)
        state->source.has |= !plan->task.sum && stn_extension_odd(&state->shape.axis[axis]);
    plan->workspace_size =
        spectral_workspace(&plan->task, &state->shape) + spectral_march_chunk_halos(&plan->task, &state->shape);
    if (state->source.has && choice.decayed_solver) STN_TRY(spectral_make_decayed_modes(plan, state, error));
    STN_TRY(spectral_make_source(plan, state, &plan->workspace_size, error));
    STN_TRY(spectral_make_passes(plan, state, error));
    STN_TRY(spectral_make_source_tables(plan, state, error));
    return spectral_make_tables(plan, state, error);
}

/* The periodic domain and the retained frequencies were chosen for the old weights. */
static stn_status set_weights(stn_plan *plan, stn_error *error) {
    if (is_four_step(&plan->candidate)) return spectral_four_step_set_weights(plan, error);
    spectral_state *state = plan->state;
    spectral_choice now, *then = &state->shape.choice;
    char reason[160];
    bool reaches_further = false;
    if (!spectral_tiled(then) && !spectral_choose(&plan->task, &plan->machine, &now, reason, sizeof reason))
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "spectral cannot take these weights: %s", reason);
    if (spectral_in_parts(then)) {
        reaches_further = !spectral_parts_serve(&plan->task, then);
        now.length[1] = now.kept[1] = now.with_points[1] = then->length[1], now.before[1] = then->before[1];
    }
    if (spectral_tiled(then)) {
        reaches_further = !spectral_tiles_serve(&plan->task, then);
        now = *then;
        now.kept[2] = now.with_points[2] = now.length[2] / 2 + 1;
    }
    spectral_choose_kept(&plan->task, &now);
    for (int axis = 0; axis < 3; axis++)
        if (reaches_further || now.length[axis] > then->length[axis] || now.before[axis] > then->before[axis] ||
            now.kept[axis] > then->kept[axis] || now.with_points[axis] > then->with_points[axis])
            return stn_fail(error, STN_ERROR_UNSUPPORTED,
                            "spectral cannot take these weights: after all steps they reach further along axis %d, in "
                            "space or in frequency, than those that the plan was made for",
                            axis - (3 - plan->task.rank));
    stn_symbol form = spectral_symbol_form(&plan->task, &plan->machine, state->shape.symbol.length);
    /* With `taps`, a line of taps is in shared memory next to each column. */
    if (form.taps != state->shape.symbol.taps)
        return stn_fail(
            error, STN_ERROR_UNSUPPORTED,
            "spectral cannot take these weights: their symbol must be evaluated in another way than before");
    if (form.plain != state->shape.symbol.plain) {
        state->shape.symbol = form;
        STN_TRY(spectral_make_passes(plan, state, error));
    }
    STN_TRY(spectral_make_tables(plan, state, error)); /* This waits for pending executions. */
    return spectral_make_source_tables(plan, state, error);
}

static void release(stn_plan *plan) {
    spectral_state *state = plan->state;
    if (is_four_step(&plan->candidate)) {
        spectral_four_step_release(plan);
        return;
    }
    spectral_free_source(plan, state);
    stn_device_free(plan->context->device, state->tables);
}

/* ---- running --------------------------------------------------------------------------------- */

static stn_status execute(stn_plan *plan, const stn_execution *run, stn_error *error) {
    if (is_four_step(&plan->candidate)) return spectral_four_step_execute(plan, run, error);
    const spectral_state *state = plan->state;
    STN_TRY(spectral_run_source(plan, state, run, error));
    if (spectral_in_slabs(&state->shape.choice)) {
        STN_TRY(spectral_run_pass(plan, state, &state->pass[0], 0, run, error));
        STN_TRY(spectral_run_slabs(plan, state, run, error));
        return spectral_run_pass(plan, state, &state->pass[4], 0, run, error);
    }
    for (int p = 0; p < state->shared_passes; p++)
        STN_TRY(spectral_run_pass(plan, state, &state->pass[p], 0, run, error));
    const size_t bytes = (size_t)plan->task.snapshot_stride * stn_dtype_size(plan->task.dtype);
    for (uint64_t i = 0; i < plan->task.snapshots; i++) {
        stn_execution each = *run;
        each.out = (unsigned char *)run->out + i * bytes;
        for (int p = state->shared_passes; p < state->count; p++)
            STN_TRY(spectral_run_pass(plan, state, &state->pass[p], i, &each, error));
    }
    return STN_OK;
}

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    if (is_four_step(&plan->candidate)) {
        spectral_four_step_describe(plan, format, text);
        return;
    }
    const spectral_state *state = plan->state;
    const spectral_shape *shape = &state->shape;
    const int *length = shape->choice.length;
    double growth = log10(state->largest) * (double)plan->task.steps * (double)plan->task.snapshots;
    if (format == STN_JSON) {
        stn_json_integer(text, "length_z", length[0]);
        stn_json_integer(text, "length_y", length[1]);
        stn_json_integer(text, "length_x", length[2]);
        stn_json_integer(text, "kept_x", shape->choice.kept[2]);
        stn_json_integer(text, "group", shape->choice.group);
        if (spectral_tiled(&shape->choice)) {
            stn_json_integer(text, "strips", shape->strips);
            stn_json_integer(text, "segments", shape->segments);
        }
        if (spectral_in_parts(&shape->choice)) stn_json_integer(text, "parts", shape->choice.parts);
        if (spectral_in_slabs(&shape->choice)) {
            stn_json_integer(text, "slab", shape->choice.slab * shape->slabs.line);
            stn_json_integer(text, "held", shape->slabs.held);
        }
        stn_json_integer(text, "passes", state->count);
        stn_json_value(text, "log10_growth", growth);
        return;
    }
    stn_text_printf(text, "%d passes, a periodic domain of ", state->count);
    for (int axis = 3 - plan->task.rank; axis < 3; axis++)
        stn_text_printf(text, axis > 3 - plan->task.rank ? " x %d" : "%d", length[axis]);
    if (spectral_tiled(&shape->choice))
        stn_text_printf(text, " for each of %d x %d tiles, columns in %d chunks", shape->segments, shape->strips,
                        shape->chunks);
    if (spectral_in_parts(&shape->choice))
        stn_text_printf(text, " for each of %d parts of a column", shape->choice.parts);
    stn_text_printf(text, ", %d of %d frequencies along x", shape->choice.kept[2], length[2] / 2 + 1);
    stn_text_printf(text, ", %s symbol%s",
                    shape->symbol.taps    ? "transformed"
                    : shape->symbol.plain ? "real"
                                          : "complex",
                    state->source.has ? ", a source next to fixed and constant sides" : "");
    if (shape->choice.decayed_solver) stn_text_printf(text, ", columns without points by recursion");
    if (spectral_in_slabs(&shape->choice))
        stn_text_printf(text, ", in slabs of %d frequencies along x, of which the output's rows hold %d",
                        shape->choice.slab * shape->slabs.line, shape->slabs.held);
    for (int axis = shape->last; axis < 3; axis++) {
        const stn_shared_fft *line = &shape->line[axis];
        stn_text_printf(text, "; %c: %d x %d threads, ", "zyx"[axis], line -> lines, line -> threads);
        for (int s = 0; s < line->stages; s++) stn_text_printf(text, s ? ".%d" : "%d", line->radix[s]);
    }
    if (growth > 0.01) stn_text_printf(text, "; grows by up to 10^%.2g", growth);
}

static void name_four_step(const spectral_four_step_choice *c, stn_text *text) {
    stn_text_printf(text, "four-step FFT of %d x %d points, %d pairs of columns a block", c->rows, c->width, c->pairs);
    if (c->windows_at_once) stn_text_printf(text, ", %d at a time", c->windows_at_once);
    if (c->column_threads) stn_text_printf(text, ", %d threads for columns", c->column_threads);
    if (c->row_threads) stn_text_printf(text, ", %d threads for rows", c->row_threads);
}

static void name_candidate(const stn_task *task, const stn_candidate *candidate, stn_text *text) {
    if (is_four_step(candidate)) {
        const spectral_four_step_choice four_step = four_step_of(candidate);
        name_four_step(&four_step, text);
        return;
    }
    spectral_choice choice = choice_of(candidate);
    stn_text_printf(text, "periodic domain of ");
    for (int axis = 3 - task->rank; axis < 3; axis++)
        stn_text_printf(text, axis > 3 - task->rank ? " x %d" : "%d", choice.length[axis]);
    stn_text_printf(text, ", %d rows a block, %d columns, groups of %d", choice.row_lines, choice.column_lines,
                    choice.group);
    if (choice.step[0]) stn_text_printf(text, ", tiles of %d", choice.step[0]);
    if (choice.step[1]) stn_text_printf(text, " x %d points", choice.step[1]);
    if (choice.parts) stn_text_printf(text, ", columns in %d parts", choice.parts);
    if (choice.slab) stn_text_printf(text, ", slabs of %d lines", choice.slab);
    if (choice.waves) stn_text_printf(text, ", chunks for %d waves", choice.waves);
    static const char *const decayed_modes[] = {"", ", recursion by 16", ", recursion by 8", ", recursion by rows"};
    stn_text_printf(text, "%s", decayed_modes[choice.decayed_solver]);
    if (choice.row_threads) stn_text_printf(text, ", %d threads for rows", choice.row_threads);
    if (choice.column_threads) stn_text_printf(text, ", %d threads for columns", choice.column_threads);
    if (choice.row_blocks) stn_text_printf(text, ", at least %d blocks of rows", choice.row_blocks);
    if (choice.column_blocks) stn_text_printf(text, ", at least %d blocks of columns", choice.column_blocks);
}

const stn_strategy stn_strategy_spectral = {.name = "spectral",
                                            .applies = applies,
                                            .candidates = candidates,
                                            .estimate = estimate,
                                            .prepare = prepare,
                                            .execute = execute,
                                            .set_weights = set_weights,
                                            .describe = describe,
                                            .release = release,
                                            .name_candidate = name_candidate,
                                            .sums = true,
                                            .stacks = true};
