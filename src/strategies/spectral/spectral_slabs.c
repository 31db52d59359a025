/* The middle passes of 3D grids in slabs of frequencies along x, which saves workspace: choice and
 * launches; see spectral_shape.h. */

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "plan/plan.h"
#include "strategies/spectral/spectral_passes.h"

/* Fractions of a grid's size. ROOM: the largest workspace of a plan, if possible; SLAB: the largest
 * slab otherwise. WORTH: the smallest workspace without slabs for which slabs are considered. */
#define ROOM 0.99
#define SLAB 0.25
#define WORTH 1.05
/* Slabs may be slower by this factor, by estimate, if the workspace shrinks at least to this
 * fraction. */
#define SLOWER 1.1
#define SAVES 0.85

static int cell_of(const stn_task *task) { return spectral_wide(task) ? 16 : 8; }

/* ---- choosing -------------------------------------------------------------------------------- */

static bool choose_width(const stn_task *task, const stn_machine *machine, const spectral_choice *whole,
                         spectral_choice *choice) {
    spectral_shape s;
    if (task->rank != 3 || task->snapshots > 1 || whole->group != 1) return false;
    spectral_shape_make(task, machine, whole, false, &s);
    const double grid = (double)(task->n[0] * task->n[1] * task->n[2]) * cell_of(task) / 2;
    const double source = (double)spectral_source_bytes(task, &s);
    if (((double)spectral_workspace(task, &s) + source) < WORTH * grid * (double)task->batch) return false;
    *choice = *whole, choice->slab = 1;
    /* 512^3 in f32: 2.78 ms, and 2.97 with sixteen columns. */
    if (!spectral_wide(task) && choice->column_lines > 8)
        choice->column_lines = 8, choice->row_blocks = 6, choice->column_blocks = 4;
    spectral_shape_make(task, machine, choice, false, &s);
    const double each = (double)(s.slabs.bytes - s.slabs.rest);
    double room = ROOM * grid * (double)task->batch - source - (double)s.slabs.rest;
    if (room < each) room = SLAB * grid;
    choice->slab = (uint8_t)stn_max(1, stn_min((int64_t)(room / each), UINT8_MAX));
    s.choice = *choice;
    int64_t widest = 1; /* Slabs divide the columns evenly. */
    for (spectral_slab slab = {0}; spectral_next_slab(&s, choice->decayed_solver, &slab);)
        widest = stn_max(widest, slab.count);
    choice->slab = (uint8_t)stn_div_up(widest, s.slabs.line);
    return true;
}

static size_t variants(const stn_task *task, const stn_machine *machine, const spectral_choice *choice,
                       spectral_choice *list, size_t most) {
    static const struct {
        uint8_t slab; /* Width of a slab in memory lines; 0: the chosen width. */
        bool rows;    /* Switches between recursion by columns and by rows. */
    } ways[] = {{2, true}, {0, true}, {4, false}, {8, false}, {2, false}, {1, false}, {12, false}};
    const int lines = (int)stn_div_up(choice->kept[2], SPECTRAL_MEMORY_LINE / cell_of(task));
    size_t count = 0;
    for (size_t i = 0; i < sizeof ways / sizeof *ways && count < most; i++) {
        spectral_choice c = *choice;
        if (ways[i].slab) c.slab = ways[i].slab;
        if (ways[i].rows)
            c.decayed_solver =
                c.decayed_solver == SPECTRAL_DECAYED_BY_ROWS ? SPECTRAL_DECAYED_BY_16 : SPECTRAL_DECAYED_BY_ROWS;
        if (c.slab > lines || (c.slab == choice->slab && !ways[i].rows) || (ways[i].rows && !choice->decayed_solver))
            continue;
        if (c.decayed_solver && !spectral_decayed_modes_fit(task, machine, &c)) continue;
        list[count++] = c;
    }
    return count;
}

static double seconds_of(const stn_task *task, const stn_machine *machine, const spectral_choice *choice) {
    spectral_shape shape;
    stn_estimate estimate;
    spectral_shape_make(task, machine, choice, false, &shape);
    spectral_estimate(task, machine, &shape, &estimate);
    return estimate.seconds;
}

/* Widens slabs until they are fast enough. Returns whether they still save enough memory; false for
 * grids that fit L2. */
static bool pay(const stn_task *task, const stn_machine *machine, const spectral_choice *whole,
                spectral_choice *slabs) {
    const double most = SLOWER * seconds_of(task, machine, whole);
    spectral_shape s;
    if (stn_task_points(task) * (int64_t)stn_dtype_size(task->dtype) < (int64_t)machine->l2_bytes) return false;
    spectral_shape_make(task, machine, whole, false, &s);
    const double room = SAVES * (double)spectral_workspace(task, &s);
    while (seconds_of(task, machine, slabs) > most && slabs->slab <= UINT8_MAX / 2)
        slabs->slab = (uint8_t)(2 * slabs->slab);
    spectral_shape_make(task, machine, slabs, false, &s);
    return (double)spectral_workspace(task, &s) <= room;
}

size_t spectral_choose_slabs(const stn_task *task, const stn_machine *machine, const spectral_choice *whole,
                             spectral_choice *choice, spectral_choice *list, size_t most) {
    spectral_choice slabs;
    if (!choose_width(task, machine, whole, &slabs)) return 0;
    spectral_choice wider = slabs;
    const bool taken = pay(task, machine, whole, &wider);
    size_t count = 0;
    if (taken) /* Candidates that are timed must have slabs too, to need no more workspace. */
        *choice = slabs = wider;
    else
        list[count++] = slabs;
    return count + variants(task, machine, &slabs, list + count, most - count);
}

/* ---- launches -------------------------------------------------------------------------------- */

/* A slab during the transforms along y: the address of its first frequency in the rows' data, and
 * its own address. */
typedef struct slab_address {
    unsigned char *points, *slab;
    /* Strides of the rows' data, in complex numbers, or in elements if spectral_slabs.uneven. */
    int64_t pitch, plane;
    int64_t uneven; /* With spectral_slabs.uneven: 1 plus the elements before the first row. */
    /* Strides of the slab: between frequencies along y, and between planes. */
    int64_t width, deep;
    int64_t first, planes; /* The planes that no fixed side freezes. */
} slab_address;

static slab_address place_of(const stn_plan *plan, const spectral_state *state, int64_t grid, const spectral_slab *slab,
                             const stn_execution *run) {
    const stn_task *task = &plan->task;
    const spectral_slabs *s = &state->shape.slabs;
    const int64_t cell = cell_of(task), low = spectral_frozen(&state->shape.axis[0], 0);
    slab_address p = {.width = stn_round_up(slab->count, s->line), .first = low, .uneven = 1};
    p.planes = task->n[0] - low - spectral_frozen(&state->shape.axis[0], 1);
    p.deep = p.width * s->across;
    p.slab = (unsigned char *)run->workspace + s->rest;
    const int64_t each = s->uneven ? 1 : 2; /* Elements per counted unit. */
    if (slab->held) {
        const int64_t before = grid * task->out_batch_stride + s->skip;
        p.points = (unsigned char *)run->out + slab->first * cell + (s->uneven ? 0 : before * cell / 2);
        p.uneven += before;
        p.pitch = task->out_stride[1] / each, p.plane = task->out_stride[0] / each;
    } else {
        p.points = (unsigned char *)run->workspace + (grid * task->n[0] * s->plane + slab->first - s->held) * cell;
        p.pitch = 2 * s->pitch / each, p.plane = 2 * s->plane / each;
    }
    p.slab += p.first * p.deep * cell;
    p.uneven += p.first * p.plane;
    if (!s->uneven) p.points += p.first * p.plane * cell;
    return p;
}

static stn_status run_across(const stn_plan *plan, const spectral_state *state, const spectral_pass *pass,
                             const slab_address *p, int64_t columns, const stn_execution *run, stn_error *error) {
    const bool back = pass->direction == SPECTRAL_BACK;
    spectral_columns_arguments a;
    if (columns <= 0 || p->planes <= 0) return STN_OK;
    spectral_columns_of(plan, state, pass, 0, &a);
    a.spectrum = back ? p->slab : p->points, a.result = back ? p->points : p->slab;
    a.pitch = back ? p->width : p->pitch, a.plane = back ? p->deep : p->plane;
    a.result_pitch = back ? p->pitch : p->width, a.result_plane = back ? p->plane : p->deep;
    a.uneven = p->uneven;
    a.columns = (int32_t)columns, a.tiles = (int32_t)stn_div_up(columns, state->shape.line[1].lines);
    return spectral_launch(plan, state, 1, pass->kernel, a.tiles * p->planes, &a, run->stream, error);
}

static stn_status run_along(const stn_plan *plan, const spectral_state *state, const spectral_pass *pass, int64_t grid,
                            const spectral_slab *slab, const slab_address *p, const stn_execution *run,
                            stn_error *error) {
    const spectral_shape *shape = &state->shape;
    const bool decayed_solver = spectral_solves_decayed_modes(state);
    const int64_t lines = shape->line[0].lines;
    unsigned char *const all = (unsigned char *)run->workspace + shape->slabs.rest;
    spectral_columns_arguments a;
    spectral_columns_of(plan, state, pass, 0, &a);
    a.spectrum = all, a.pitch = p->deep, a.first = slab->first, a.slab_width = (int32_t)p->width;
    a.columns = slab->count;
    if (state->source.has) spectral_source_arguments_of(state, run, grid, &a);
    if (decayed_solver) {
        STN_TRY(spectral_run_decayed_modes(plan, state, all, grid, slab, run, error));
        if (!slab->with_points) return STN_OK;
        a.with_points = (int32_t)stn_min(a.with_points - slab->first, slab->count);
    }
    a.tiles = (int32_t)(decayed_solver ? stn_div_up(a.with_points, lines) * spectral_rows_with_points(shape)
                                       : stn_div_up(a.columns, lines) * shape->slabs.across);
    return spectral_launch(plan, state, 0, pass->kernel, a.tiles, &a, run->stream, error);
}

stn_status spectral_run_slabs(const stn_plan *plan, const spectral_state *state, const stn_execution *run,
                              stn_error *error) {
    const spectral_shape *shape = &state->shape;
    for (int64_t grid = 0; grid < plan->task.batch; grid++)
        for (spectral_slab slab = {0}; spectral_next_slab(shape, spectral_solves_decayed_modes(state), &slab);) {
            const slab_address p = place_of(plan, state, grid, &slab, run);
            const int64_t with_points = stn_min(shape->choice.with_points[2] - slab.first, slab.count);
            if (slab.with_points) STN_TRY(run_across(plan, state, &state->pass[1], &p, with_points, run, error));
            STN_TRY(run_along(plan, state, &state->pass[2], grid, &slab, &p, run, error));
            STN_TRY(run_across(plan, state, &state->pass[3], &p, slab.count, run, error));
        }
    return STN_OK;
}
