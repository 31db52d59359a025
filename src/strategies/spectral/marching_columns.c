/* The middle pass of tiles, a marching loop down the columns: its layout, kernel and launches; see
 * kernel_templates/spectral/spectral_march.cu. */
#include <math.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "plan/plan.h"
#include "render/render.h"
#include "strategies/spectral/spectral_passes.h"

/* ---- layout ---------------------------------------------------------------------------------- */

/* A chunk is at least SHARED_PART times as long as the points that it shares with the next one. */
enum { SHARED_PART = 8 };
/* One time must be at most this fraction of another, because estimates have errors. */
#define CLEARLY 0.87

size_t spectral_march_carry(const stn_task *task, const spectral_choice *choice, const stn_extension *axis, int lines) {
    const int carry = choice->length[1] - choice->step[0];
    const int points = 2 * carry + (axis->repeats ? carry - choice->before[1] : 0);
    return (size_t)(points * lines) * (spectral_wide(task) ? 16 : 8);
}

size_t spectral_march_factors(const stn_task *task, const stn_machine *machine, const spectral_shape *shape, int lines,
                              size_t used) {
    const size_t factor = (shape->symbol.plain ? 8 : 16) / (spectral_wide(task) ? 1 : 2);
    const size_t bytes = shape->symbol.taps ? 0 : (size_t)(shape->choice.length[1] * lines) * factor;
    return used + bytes <= machine->shared_per_block ? bytes : 0;
}

/* Number of chunks of `each` segments down a column. The last chunk may be shorter; the number is 0
 * if it has no more points than two neighbouring segments share. */
static int64_t chunks_of(const stn_task *task, const spectral_shape *shape, int64_t each) {
    const int64_t count = stn_div_up(shape->segments, each), step = shape->choice.step[0];
    return task->n[1] - (count - 1) * each * step > shape->choice.length[1] - step ? count : 0;
}

/* Time of these chunks in units of a segment's time, with as many blocks as fit running at once; a
 * partial last wave takes most of a whole one. Each chunk first computes the values that all its
 * segments share (half of a segment's work for a taps' line), and ends with a segment at a side. */
static double time_of_chunks(const stn_machine *machine, const spectral_shape *shape, int64_t blocks, int64_t count) {
    const double slots = (double)machine->multiprocessors * shape->line[1].blocks;
    const double waves = (double)(count * blocks) / slots, overhead = shape->symbol.taps ? 0.9 : 0.7;
    return (0.75 * ceil(waves) + 0.25 * fmax(1, waves)) * ((double)stn_div_up(shape->segments, count) + overhead);
}

/* Enough chunks for three waves of blocks, so that the last blocks do not run alone, as long as
 * chunks share few points; fewer chunks if that is clearly faster. */
int spectral_march_chunks(const stn_task *task, const stn_machine *machine, const spectral_shape *shape) {
    const stn_shared_fft *line = &shape->line[1];
    const int64_t slots = (int64_t)machine->multiprocessors * line->blocks, step = shape->choice.step[0];
    const int64_t blocks = stn_div_up(shape->pitch, line->lines) * task->batch, carry = shape->choice.length[1] - step;
    if (blocks >= SPECTRAL_WAVES * slots) return 1;
    const int64_t wanted = stn_div_up(SPECTRAL_WAVES * slots, blocks), most = task->n[1] / (SHARED_PART * (carry + 1));
    int64_t most_chunks = 0, best = 0;
    double lowest = INFINITY;
    for (int64_t chunks = stn_min(wanted, stn_min(most, shape->segments / 2)); chunks > 1; chunks--) {
        const int64_t count = chunks_of(task, shape, stn_div_up(shape->segments, chunks));
        if (!count) continue;
        if (!most_chunks) most_chunks = count, lowest = CLEARLY * time_of_chunks(machine, shape, blocks, count);
        if (shape->choice.waves) break;
        const double time = time_of_chunks(machine, shape, blocks, count);
        if (time < lowest) lowest = time, best = count;
    }
    return (int)stn_max(best ? best : most_chunks, 1);
}

double spectral_march_imbalance(const stn_task *task, const stn_machine *machine, const spectral_shape *shape) {
    const int64_t blocks = stn_div_up(shape->pitch, shape->line[1].lines) * task->batch;
    const double slots = (double)machine->multiprocessors * shape->line[1].blocks;
    return time_of_chunks(machine, shape, blocks, shape->chunks) * slots / (double)(blocks * shape->segments);
}

size_t spectral_march_chunk_halos(const stn_task *task, const spectral_shape *shape) {
    const int carry = shape->choice.length[1] - shape->choice.step[0];
    if (shape->chunks == 1) return 0;
    return (size_t)(shape->chunks * carry * shape->pitch * task->batch) * (spectral_wide(task) ? 16 : 8);
}

/* ---- kernel and launches --------------------------------------------------------------------- */

/* Bytes of shared memory without factors. */
static size_t shared_of_lines(const stn_task *task, const spectral_shape *shape) {
    const stn_shared_fft *line = &shape->line[1];
    return stn_shared_fft_bytes(line, spectral_wide(task)) +
           spectral_march_carry(task, &shape->choice, &shape->axis[1], line->lines);
}
static size_t factors_of(const stn_plan *plan, const spectral_shape *shape) {
    return spectral_march_factors(&plan->task, &plan->machine, shape, shape->line[1].lines,
                                  shared_of_lines(&plan->task, shape));
}
static size_t shared_of(const stn_plan *plan, const spectral_shape *shape) {
    return shared_of_lines(&plan->task, shape) + factors_of(plan, shape);
}

stn_status spectral_make_march(stn_plan *plan, const spectral_shape *shape, stn_kernel **kernel, stn_error *error) {
    stn_text params = STN_TEXT_EMPTY;
    stn_params_begin_for(&params, plan->task.dtype);
    stn_shared_fft_params(&shape->line[1], &params);
    stn_extension_params(&shape->axis[1], &params);
    stn_params_int(&params, "EXPECTED_HEADER", sizeof(spectral_march_arguments));
    stn_params_int(&params, "MARCH_STEP", shape->choice.step[0]);
    stn_params_int(&params, "MARCH_BEFORE", shape->choice.before[1]);
    stn_params_int(&params, "MARCH_WIDTH", shape->width);
    stn_params_int(&params, "MARCH_CHUNKS", shape->chunks);
    stn_params_int(&params, "MARCH_FACTORS", factors_of(plan, shape) > 0);
    stn_params_int(&params, "SYMBOL", shape->symbol.taps ? 2 : !shape->symbol.plain);
    stn_params_int(&params, "SYMBOL_ANGLE_SUM", 0);
    stn_params_int(&params, "SYMBOL_SUM", plan->task.sum);
    stn_params_int(&params, "SYMBOL_HIGH", shape->symbol.high);
    stn_params_int(&params, "SYMBOL_LOW", shape->symbol.low);
    return stn_kernel_make(plan->kernels, "spectral_march", &params, shared_of(plan, shape), kernel, error);
}

/* Copies `count` rows of a grid's plane from row `from` on to *to, which is advanced. */
static stn_status copy_rows(const stn_plan *plan, const unsigned char *plane, size_t row, int64_t from, int64_t count,
                            unsigned char **to, const stn_execution *run, stn_error *error) {
    if (count <= 0) return STN_OK;
    STN_TRY(stn_device_copy(plan->context->device, *to, plane + (size_t)from * row, (size_t)count * row, run->stream,
                            error));
    *to += (size_t)count * row;
    return STN_OK;
}

/* Copies the rows around the first point of each chunk of each grid. With wrap, those of the first
 * chunk lie at both ends of the column; with mirrors, they are not needed. */
static stn_status copy_chunk_halos(const stn_plan *plan, const spectral_shape *shape, const stn_execution *run,
                                   stn_error *error) {
    const size_t row = (size_t)shape->pitch * (spectral_wide(&plan->task) ? 16 : 8);
    const int64_t n = plan->task.n[1], step = shape->choice.step[0], before = shape->choice.before[1];
    const int64_t carry = shape->choice.length[1] - step, chunk = stn_div_up(shape->segments, shape->chunks) * step;
    unsigned char *const spectrum = run->workspace;
    unsigned char *to = spectrum + spectral_workspace(&plan->task, shape);
    for (int64_t grid = 0; grid < plan->task.batch; grid++)
        for (int64_t i = 0; i < shape->chunks; i++) {
            const unsigned char *const plane = spectrum + (size_t)(grid * shape->plane) * (row / (size_t)shape->pitch);
            const int64_t from = i * chunk - before, inside = stn_min(carry, n - from);
            unsigned char *const next = to + (size_t)carry * row;
            if (i == 0 && shape->axis[1].repeats) {
                STN_TRY(copy_rows(plan, plane, row, n - before, before, &to, run, error));
                STN_TRY(copy_rows(plan, plane, row, 0, carry - before, &to, run, error));
            } else if (i > 0) {
                STN_TRY(copy_rows(plan, plane, row, from, inside, &to, run, error));
            }
            to = next;
        }
    return STN_OK;
}

stn_status spectral_run_march(const stn_plan *plan, const spectral_state *state, const stn_kernel *kernel,
                              const stn_execution *run, stn_error *error) {
    const stn_task *task = &plan->task;
    const spectral_shape *shape = &state->shape;
    const stn_shared_fft *line = &shape->line[1];
    const unsigned char *tables = state->tables;
    spectral_march_arguments a = {.spectrum = run->workspace, .twiddles = tables + state->twiddles[1]};
    a.symbol.parts = tables + state->parts, a.symbol.angles = tables + state->angles;
    a.symbol.steps = task->steps, a.symbol.decay_bound = state->decay_bound;
    a.symbol.scale = 0.5 / ((double)shape->choice.length[1] * shape->choice.length[2]);
    a.pitch = shape->pitch, a.plane = shape->plane;
    a.across = (int32_t)shape->pitch, a.kept = shape->choice.kept[2];
    a.n = (int32_t)task->n[1], a.segments = (int32_t)stn_div_up(shape->segments, shape->chunks);
    a.chunk_halo = (const unsigned char *)run->workspace + spectral_workspace(task, shape);
    if (shape->chunks > 1) STN_TRY(copy_chunk_halos(plan, shape, run, error));
    a.tiles = (int32_t)stn_div_up(a.across, line->lines);
    return stn_kernel_launch(kernel, a.tiles * shape->chunks * task->batch, line->threads * line->lines,
                             shared_of(plan, shape), &a, run->stream, error);
}
