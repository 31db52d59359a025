/* Decayed modes: columns whose points have decayed to 0 and which only have a source are solved by
 * a recursion instead of transforms; see kernel_templates/spectral/spectral_decayed_modes.cu. */
#include <math.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "plan/plan.h"
#include "render/render.h"
#include "strategies/spectral/spectral_passes.h"

/* MAX_THREADS: threads of a block. PIECE: bytes of a piece of a row of the spectrum. MIN_POINTS:
 * points of a column. MAX_ROWS: rows of a block that keeps the faces' values; with 64 rows,
 * reading these values takes little time compared with writing the rows. */
enum { MAX_THREADS = 1024, PIECE = 128, MIN_POINTS = 4, MAX_ROWS = 64 };
/* Largest lambda: the recursion accumulates rounding errors over 1 / (1 - lambda) points, at this
 * lambda no more than a transform does. */
#define SLOWEST 0.95

static int columns_of(const stn_task *task) { return PIECE / (spectral_wide(task) ? 16 : 8); }
static int rows_of(const spectral_choice *choice) {
    return choice->decayed_solver == SPECTRAL_DECAYED_BY_ROWS ? MAX_ROWS : 1;
}
/* Points per thread: 16, or 8 if the candidate says so (fewer registers, more threads), or if a
 * block of several rows, which is alone on its multiprocessor, would have few threads. */
static int each_of(const stn_task *task, const spectral_choice *choice) {
    const bool few = stn_div_up(task->n[0], 8) * columns_of(task) <= MAX_THREADS / 2;
    return choice->decayed_solver == SPECTRAL_DECAYED_BY_8 || (rows_of(choice) > 1 && few) ? 8 : 16;
}
static int64_t parts_of(const stn_task *task, const spectral_choice *choice) {
    return stn_div_up(task->n[0], each_of(task, choice));
}
/* Bytes of shared memory: the ends of each part and of the column; for blocks of several rows, the
 * kept values of faces and rows, and two buffers if the next row is prefetched. */
static size_t shared_by(const stn_task *task, const spectral_choice *choice, bool ahead) {
    const int64_t parts = parts_of(task, choice), columns = columns_of(task);
    int64_t cells = (2 * parts + 2) * columns;
    if (rows_of(choice) > 1) cells += (2 * parts * each_of(task, choice) + 3 * MAX_ROWS / 2 + 2) * columns;
    if (ahead) cells += 2 * (2 * task->n[0] + 2 * columns + 2);
    return (size_t)cells * (spectral_wide(task) ? 16 : 8);
}
static bool looks_ahead(const stn_task *task, const stn_machine *machine, const spectral_choice *choice) {
    return rows_of(choice) > 1 && shared_by(task, choice, true) <= machine->shared_per_block;
}
static size_t shared_of(const stn_task *task, const stn_machine *machine, const spectral_choice *choice) {
    return shared_by(task, choice, looks_ahead(task, machine, choice));
}
/* Minimum blocks per multiprocessor, limited by registers. */
static int64_t blocks_of(const stn_task *task, const spectral_choice *choice, int64_t threads) {
    if (rows_of(choice) > 1) return 1;
    return (spectral_wide(task) ? 512 : 1024) * (choice->decayed_solver == SPECTRAL_DECAYED_BY_8 ? 3 : 2) / 2 / threads;
}

bool spectral_decayed_modes_fit(const stn_task *task, const stn_machine *machine, const spectral_choice *choice) {
    return parts_of(task, choice) * columns_of(task) <= MAX_THREADS &&
           shared_of(task, machine, choice) <= machine->shared_per_block;
}

bool spectral_has_decayed_modes(const stn_task *task, const spectral_choice *choice, double decay_bound) {
    if (task->rank != 3 || task->reach[0][0] != 1 || task->reach[0][1] != 1) return false;
    for (int axis = 0; axis < 3; axis++)
        if (!stn_task_is_symmetric(task, axis)) return false;
    if (choice->with_points[2] >= choice->kept[2] && choice->with_points[1] >= choice->kept[1]) return false;
    if (task->n[0] < MIN_POINTS || parts_of(task, choice) * columns_of(task) > MAX_THREADS) return false;
    /* 1 - K lies between decay_bound and 2 - decay_bound, so lambda is at most this. */
    const double root = sqrt(fmax(decay_bound, 0) / 2);
    return (1 - root) / (1 + root) < SLOWEST;
}

int64_t spectral_rows_with_points(const spectral_shape *shape) {
    const int64_t across = shape->choice.length[1], with_points = shape->choice.with_points[1];
    return 2 * with_points > across ? across : 2 * with_points - 1;
}

stn_status spectral_make_decayed_modes(stn_plan *plan, spectral_state *state, stn_error *error) {
    const stn_task *task = &plan->task;
    const spectral_choice *choice = &state->shape.choice;
    const int64_t threads = parts_of(task, choice) * columns_of(task);
    stn_text params = STN_TEXT_EMPTY;
    stn_params_begin_for(&params, task->dtype);
    stn_extension_params(&state->shape.axis[0], &params);
    stn_params_int(&params, "EXPECTED_HEADER", sizeof(spectral_decayed_arguments));
    stn_params_int(&params, "DECAYED_POINTS", task->n[0]);
    stn_params_int(&params, "DECAYED_EACH", each_of(task, choice));
    stn_params_int(&params, "DECAYED_COLUMNS", columns_of(task));
    stn_params_int(&params, "DECAYED_ROWS", rows_of(choice) > 1 ? MAX_ROWS : 0);
    stn_params_int(&params, "DECAYED_PREFETCH", looks_ahead(task, &plan->machine, choice));
    stn_params_int(&params, "BLOCKS", stn_max(1, blocks_of(task, choice, threads)));
    return stn_kernel_make(plan->kernels, "spectral_decayed_modes", &params, shared_of(task, &plan->machine, choice),
                           &state->source.decayed_modes, error);
}

/* Rows per block: as many as possible, because each block first loads the faces' values (15 us of
 * 64 for 16 rows of 512^3), but such that the blocks fill whole waves of one block per
 * multiprocessor. */
static int32_t rows_per_block_of(int64_t rows, int64_t tiles, int multiprocessors) {
    for (int64_t wave = 1;; wave++) {
        const int64_t blocks = stn_max(1, wave * multiprocessors / tiles), rows_per_block = stn_div_up(rows, blocks);
        if (rows_per_block <= MAX_ROWS) return (int32_t)stn_max(1, rows_per_block);
    }
}

/* Sets the range and addresses of the columns: a slab's, or all. Returns the number of rows. */
static int64_t place_columns(const stn_plan *plan, const spectral_state *state, const spectral_slab *slab,
                             spectral_decayed_arguments *a) {
    const stn_task *task = &plan->task;
    const spectral_shape *shape = &state->shape;
    const spectral_choice *choice = &shape->choice;
    a->point = shape->plane, a->grid = shape->grid;
    a->width = a->held_width = (int32_t)shape->pitch, a->columns = choice->kept[2];
    a->across = a->to_across = choice->length[1], a->rows_per_block = rows_of(choice);
    a->with_points = choice->with_points[2], a->with_points_across = choice->with_points[1];
    if (slab) {
        a->first = slab->first, a->columns = slab->first + slab->count;
        a->held_width = (int32_t)stn_round_up(slab->count, shape->slabs.line);
        a->point = a->held_width * shape->slabs.across;
        if (a->columns <= a->with_points) /* In the remaining rows all columns have points. */
            a->from_across = a->with_points_across, a->to_across = a->across - a->with_points_across + 1;
    }
    a->tiles = (int32_t)stn_div_up(a->columns - a->first, columns_of(task));
    const int64_t rows = a->to_across - a->from_across;
    if (a->rows_per_block > 1)
        a->rows_per_block = rows_per_block_of(rows, a->tiles * (slab ? 1 : task->batch), plan->machine.multiprocessors);
    return rows;
}

stn_status spectral_run_decayed_modes(const stn_plan *plan, const spectral_state *state, void *spectrum, int64_t grid,
                                      const spectral_slab *slab, const stn_execution *run, stn_error *error) {
    const stn_task *task = &plan->task;
    const spectral_shape *shape = &state->shape;
    const spectral_source *source = &state->source;
    const int *length = shape->choice.length;
    const int64_t cell = spectral_wide(task) ? 16 : 8;
    spectral_columns_arguments other;
    spectral_source_arguments_of(state, run, grid, &other);
    spectral_decayed_arguments a = {.spectrum = spectrum, .row = other.row};
    a.parts = (const unsigned char *)state->tables + state->parts;
    a.row_grid = other.row_grid, a.row_next = other.row_next;
    for (int f = 0; f < 2; f++) { /* The faces' values, as points along z. */
        a.faces[f] = other.faces[f];
        a.faces[f].values =
            (const unsigned char *)run->workspace + source->faces[1 + f] + grid * a.faces[f].grid * cell;
    }
    a.scale = 0.5 / ((double)length[1] * length[2]);
    for (int side = 0; side < 2; side++) a.adjacent[side] = (int32_t)stn_extension_neighbour(&shape->axis[0], side);
    const int64_t rows = place_columns(plan, state, slab, &a);
    if (rows <= 0) return STN_OK;
    const int64_t blocks = stn_div_up(rows, a.rows_per_block) * a.tiles * (slab ? 1 : task->batch);
    /* The preceding launch, of the slab's columns along y, permits an early start. */
    stn_launch how = {
        .grid = {(unsigned)blocks, 1, 1}, .stream = run->stream, .early = slab && stn_plan_may_start_early(plan)};
    how.block[0] = (unsigned)(parts_of(task, &shape->choice) * columns_of(task));
    how.block[1] = how.block[2] = 1;
    how.shared = shared_of(task, &plan->machine, &shape->choice);
    return stn_module_launch(source->decayed_modes->module, &how, &a, error);
}
