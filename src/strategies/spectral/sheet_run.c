/* Four-step FFT: kernels and launches of a plan; see sheet.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "strategies/common/layout.h"
#include "strategies/spectral/arguments.h"
#include "strategies/spectral/sheet.h"

/* ---- kernels --------------------------------------------------------------------------------- */

static int frozen(const stn_extension *e, int side) { return !e->repeats && e->sign[side] < 0 && e->beyond[side] == 0; }

/* Two neighbouring points of the grid are one access. */
static bool in_pairs(const stn_task *task, const spectral_sheet *s, bool back) {
    const bool apart =
        back && task->snapshots > 1 && task->snapshot_stride * (int64_t)stn_dtype_size(task->dtype) % 16 != 0;
    return s->choice.before % 2 == 0 && !apart && stn_task_vector(task) > 1;
}

static stn_status make_columns(stn_plan *plan, const spectral_sheet_state *state, bool back, struct stn_kernel **kernel,
                               stn_error *error) {
    const spectral_sheet *s = &state->shape;
    stn_text params = STN_TEXT_EMPTY;
    stn_params_begin(&params);
    stn_params_elements(&params, plan->task.dtype);
    stn_ladder_params(&s->down, &params);
    spectral_extension_params(&s->axis, &params);
    stn_params_int(&params, "EXPECTED_HEADER", sizeof(spectral_sheet_arguments));
    stn_params_int(&params, "VECTOR", in_pairs(&plan->task, s, back) ? 2 : 1);
    stn_params_int(&params, "SPECTRUM_ADDS", back && plan->task.sum);
    stn_params_int(&params, "SPECTRUM_BACK", back);
    stn_params_int(&params, "FROZEN_LOW", frozen(&s->axis, 0));
    stn_params_int(&params, "FROZEN_HIGH", frozen(&s->axis, 1));
    stn_params_int(&params, "SHEET_WIDTH", s->choice.width);
    stn_params_int(&params, "SHEET_FINE", s->fine);
    stn_params_int(&params, "SHEET_USEFUL", s->choice.useful);
    STN_TRY(stn_kernel_make(plan->context, "spectral_sheet", &params,
                            stn_ladder_shared(&s->down, spectral_wide(&plan->task)), kernel, error));
    stn_plan_list_kernel(plan, *kernel);
    return STN_OK;
}

static stn_status make_rows(stn_plan *plan, spectral_sheet_state *state, stn_error *error) {
    const stn_task *task = &plan->task;
    const spectral_sheet *s = &state->shape;
    const stn_extension none = {.repeats = true, .beyond = {1, 1}, .sign = {1, 1}, .whole = true};
    stn_text params = STN_TEXT_EMPTY;
    stn_params_begin(&params);
    stn_params_elements(&params, task->dtype);
    stn_ladder_params(&s->along, &params);
    spectral_extension_params(&none, &params);
    stn_params_int(&params, "EXPECTED_HEADER", sizeof(spectral_columns_arguments));
    stn_params_int(&params, "SPECTRUM_GROUP", 1);
    stn_params_int(&params, "DIRECTION", SPECTRAL_BOTH);
    stn_params_int(&params, "SPECTRUM_APART", task->snapshots > 1);
    stn_params_int(&params, "SOURCES", state->has_source ? 3 : 0);
    stn_params_int(&params, "SYMBOL", !s->symbol.plain);
    stn_params_int(&params, "SYMBOL_TURNED", 1);
    stn_params_int(&params, "SYMBOL_SUM", task->sum);
    stn_params_int(&params, "COLUMNS_DEAD", 0);
    stn_params_int(&params, "COLUMN_PARTS", 1);
    stn_params_int(&params, "COLUMN_STEP", 0);
    stn_params_int(&params, "COLUMN_SLABS", 0);
    stn_params_int(&params, "COLUMN_UNEVEN", 0);
    stn_params_int(&params, "SYMBOL_HIGH", s->symbol.high);
    stn_params_int(&params, "SYMBOL_LOW", s->symbol.low);
    STN_TRY(stn_kernel_make(plan->context, "spectral_columns", &params,
                            stn_ladder_shared(&s->along, spectral_wide(task)), &state->rows, error));
    stn_plan_list_kernel(plan, state->rows);
    return STN_OK;
}

static stn_status make_source(stn_plan *plan, spectral_sheet_state *state, stn_error *error) {
    const stn_task *task = &plan->task;
    if (!state->has_source) return STN_OK;
    state->values = (size_t)stn_round_up((int64_t)plan->workspace_size, 256);
    plan->workspace_size = state->values + 4 * (size_t)task->batch * sizeof(double);
    return spectral_source_kernel(plan, &state->source, error);
}

/* ---- building -------------------------------------------------------------------------------- */

static size_t spectra(const stn_task *task, const spectral_sheet *s) {
    return (size_t)(s->spectrum * s->turn) * (spectral_wide(task) ? 16 : 8);
}

size_t spectral_sheet_workspace(const stn_task *task, const spectral_sheet *s) {
    return spectra(task, s) * (task->snapshots > 1 ? 2 : 1);
}

stn_status spectral_sheet_prepare(stn_plan *plan, const spectral_sheet_choice *choice, stn_error *error) {
    spectral_sheet_state *state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    plan->state = state;
    spectral_sheet_make(&plan->task, &plan->machine, choice, true, &state->shape);
    state->has_source = !plan->task.sum && stn_extension_odd(&state->shape.axis);
    plan->workspace_size = spectral_sheet_workspace(&plan->task, &state->shape);
    STN_TRY(make_source(plan, state, error));
    STN_TRY(make_columns(plan, state, false, &state->forward, error));
    STN_TRY(make_rows(plan, state, error));
    STN_TRY(make_columns(plan, state, true, &state->back, error));
    return spectral_sheet_tables(plan, state, error);
}

/* The lengths and windows were chosen for the old weights. */
stn_status spectral_sheet_set_weights(stn_plan *plan, stn_error *error) {
    spectral_sheet_state *state = plan->state;
    spectral_sheet *s = &state->shape;
    stn_extension e;
    char reason[160];
    const stn_task run = spectral_run(&plan->task);
    if (!stn_extension_sides(&run, 2, &e, reason, sizeof reason))
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "spectral cannot take these weights: %s", reason);
    const stn_reach reach = spectral_reach(&plan->task, 2);
    const bool exact = s->length == stn_extension_period(&s->axis);
    if (!exact && (reach.side[0] > s->choice.before || reach.side[1] > s->length - s->choice.before - s->choice.useful))
        return stn_fail(error, STN_ERROR_UNSUPPORTED,
                        "spectral cannot take these weights: after all steps they reach further than those that the "
                        "plan was made for");
    const stn_symbol form = stn_symbol_form(&run, 2, s->symbol.length, false);
    if (form.plain != s->symbol.plain) {
        s->symbol = form;
        STN_TRY(make_rows(plan, state, error));
    }
    return spectral_sheet_tables(plan, state, error);
}

void spectral_sheet_release(stn_plan *plan) {
    spectral_sheet_state *state = plan->state;
    if (state->tables) stn_device_free(plan->context->device, state->tables);
    free(state);
    plan->state = NULL;
}

/* ---- running --------------------------------------------------------------------------------- */

static const void *table(const spectral_sheet_state *state, size_t at) {
    return (const unsigned char *)state->tables + at;
}

static stn_status launch(const stn_plan *plan, const stn_ladder *line, const struct stn_kernel *kernel, int64_t blocks,
                         void *arguments, void *stream, stn_error *error) {
    stn_launch how = {.grid = {(unsigned)blocks * (unsigned)line->shares, 1, 1}, .stream = stream};
    how.block[0] = (unsigned)(line->threads * line->lines);
    how.block[1] = how.block[2] = 1;
    if (line->shares > 1) how.cluster = (unsigned)line->shares;
    how.shared = stn_ladder_shared(line, spectral_wide(&plan->task));
    return stn_module_launch(kernel->module, &how, arguments, error);
}

typedef struct window_range {
    int64_t first, count;
} window_range;

static stn_status run_columns(const stn_plan *plan, const spectral_sheet_state *state, bool back, window_range windows,
                              const stn_execution *run, stn_error *error) {
    const stn_task *task = &plan->task;
    const spectral_sheet *s = &state->shape;
    unsigned char *spectrum = run->workspace;
    if (back && task->snapshots > 1) spectrum += spectra(task, s);
    spectral_sheet_arguments a = {.in = run->in, .out = run->out, .spectrum = spectrum};
    a.roots = table(state, state->down), a.fine = table(state, state->fine), a.coarse = table(state, state->coarse);
    a.in_batch = task->in_batch_stride, a.out_batch = task->out_batch_stride;
    a.n = task->n[2], a.before = s->choice.before;
    a.first = windows.first, a.windows = s->windows;
    a.tiles = (int32_t)stn_div_up(s->choice.width / 2, s->down.lines);
    return launch(plan, &s->down, back ? state->back : state->forward, a.tiles * windows.count, &a, run->stream, error);
}

static stn_status run_rows(const stn_plan *plan, const spectral_sheet_state *state, window_range windows,
                           uint64_t snapshot, const stn_execution *run, stn_error *error) {
    const stn_task *task = &plan->task;
    const spectral_sheet *s = &state->shape;
    unsigned char *workspace = run->workspace;
    const int64_t rows = s->choice.rows / 2 + 1;
    spectral_columns_arguments a = {.spectrum = workspace, .roots = table(state, state->along)};
    a.apart = workspace + spectra(task, s);
    a.symbol.parts = table(state, state->parts), a.symbol.angles = table(state, state->angles);
    /* Later snapshots decay at least as far. */
    a.symbol.steps = (snapshot + 1) * task->steps, a.symbol.dead = state->dead;
    a.symbol.scale = 0.5 / (double)s->length;
    a.pitch = 1, a.plane = s->choice.width, a.columns = 1, a.tiles = 1, a.kept = s->choice.width;
    a.along = (spectral_extension_arguments){s->choice.width, 0};
    a.row = workspace + state->values, a.row_grid = 2;
    a.sheet = (spectral_sheet_rows){.turns = table(state, state->turns),
                                    .image = table(state, state->image),
                                    .row = table(state, state->image_row),
                                    .images = table(state, state->images),
                                    .first = windows.first,
                                    .windows = s->windows,
                                    .rows = (int32_t)rows};
    return launch(plan, &s->along, state->rows, rows * windows.count, &a, run->stream, error);
}

stn_status spectral_sheet_execute(stn_plan *plan, const stn_execution *run, stn_error *error) {
    const stn_task *task = &plan->task;
    const spectral_sheet_state *state = plan->state;
    const int64_t all = state->shape.windows * task->batch, turn = state->shape.turn;
    const size_t bytes = (size_t)task->snapshot_stride * stn_dtype_size(task->dtype);
    if (state->has_source) {
        const spectral_line_source at = {state->source, table(state, state->taps),
                                         (unsigned char *)run->workspace + state->values, &state->shape.axis};
        STN_TRY(spectral_source_of_lines(plan, &at, run, error));
    }
    for (window_range now = {0, 0}; now.first < all; now.first += turn) {
        now.count = stn_min(turn, all - now.first);
        STN_TRY(run_columns(plan, state, false, now, run, error));
        for (uint64_t i = 0; i < task->snapshots; i++) {
            stn_execution each = *run;
            each.out = (unsigned char *)run->out + i * bytes;
            STN_TRY(run_rows(plan, state, now, i, &each, error));
            STN_TRY(run_columns(plan, state, true, now, &each, error));
        }
    }
    return STN_OK;
}

/* ---- description ----------------------------------------------------------------------------- */

static void describe_line(const stn_ladder *line, const char *name, stn_text *text) {
    stn_text_printf(text, "; %s: %d x %d threads, ", name, line->lines, line->threads);
    for (int s = 0; s < line->stages; s++) stn_text_printf(text, s ? ".%d" : "%d", line->radix[s]);
    if (line->shares > 1) stn_text_printf(text, ", clusters of %d", line->shares);
}

void spectral_sheet_describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const spectral_sheet_state *state = plan->state;
    const spectral_sheet *s = &state->shape;
    const double growth = log10(state->largest) * (double)plan->task.steps * (double)plan->task.snapshots;
    if (format == STN_JSON) {
        stn_json_integer(text, "sheet_rows", s->choice.rows);
        stn_json_integer(text, "sheet_width", s->choice.width);
        stn_json_integer(text, "windows", s->windows);
        stn_json_integer(text, "windows_a_turn", s->turn);
        stn_json_integer(text, "passes", 3);
        stn_json_key(text, "log10_growth");
        stn_json_number(text, growth);
        return;
    }
    stn_text_printf(text, "3 passes, a line as %lld sheet%s of %d x %d points", (long long)s->windows,
                    s->windows > 1 ? "s" : "", s->choice.rows, s->choice.width);
    if (s->turn < s->windows * plan->task.batch) stn_text_printf(text, ", %lld at a time", (long long)s->turn);
    stn_text_printf(text, ", %s symbol%s", s->symbol.plain ? "real" : "complex",
                    state->has_source ? ", a source beside fixed and constant sides" : "");
    describe_line(&s->down, "columns", text);
    describe_line(&s->along, "rows", text);
    if (growth > 0.01) stn_text_printf(text, "; grows by up to 10^%.2g", growth);
}
