/* See lines.h. */
#include "strategies/modes/lines.h"

#include "base/arith.h"
#include "base/error.h"
#include "context/kernel.h"

enum { ROWS = 2 }; /* rows that a block transforms along x */

/* Mirrors the struct of modes_lines.cu; the values follow. */
typedef struct lines_arguments {
    const void *in[MODES_NUMBERS];
    void *out[MODES_NUMBERS], *spectrum;
    const void *twiddles, *half_twiddles;
    int64_t grids, half, across, width, tiles;
    modes_symbol_tables tables;
    uint64_t steps;
    double scale;
} lines_arguments;

size_t modes_lines_bytes(const modes_linear *l) {
    return (size_t)(MODES_NUMBERS * stn_system_task_numbers(l->task)) * stn_dtype_size(l->task->dtype);
}

static bool is_along_x(int pass) { return pass == MODES_ALONG_X || pass == MODES_BACK_X; }
static int64_t points_of(const modes_linear *l, int pass) {
    return pass == MODES_POWER ? l->axis[0].length / 2 : l->axis[is_along_x(pass) ? 2 : 1].length;
}

/* In f32, columns along y of up to 512 points are transformed in two stages, the second one of
 * radix 32. This takes 4% off a run on 512^3 points. */
static bool has_two_stages(const modes_linear *l, int pass) {
    const int64_t points = points_of(l, pass), first = points / 32;
    return (pass == MODES_ALONG_Y || pass == MODES_BACK_Y) && !modes_is_f64(l) && points % 32 == 0 && first > 8 &&
           first <= 16 && first != 11 && first != 13;
}

/* The number of lines of a block, so that two blocks fit a multiprocessor; 0: not even the smallest
 * number fits. A block of MODES_POWER has 2 * MODES_NUMBERS lines for each of its columns: one for
 * each number of the state at the column, and one for each at the column's mirror image. */
static int lines_of(const modes_linear *l, const stn_machine *machine, int pass) {
    const size_t room = machine->shared_per_multiprocessor / 2 - 1024 - MODES_TERM_BYTES;
    const int columns = (int)(MODES_COLUMN_BYTES / modes_complex_bytes(l)),
              least = pass == MODES_POWER ? 2 * MODES_NUMBERS : 1;
    int lines = is_along_x(pass) ? ROWS : (has_two_stages(l, pass) ? 2 : least) * columns;
    const size_t line = (size_t)((points_of(l, pass) * 17 / 16 + 1) * modes_complex_bytes(l));
    while (lines > least && (size_t)lines * line > room) lines /= 2;
    return (size_t)lines * line <= room ? lines : 0;
}

/* The last stage of MODES_POWER has a radix of at most 4. */
static bool has_small_radix(int64_t points) { return points % 2 == 0 || points % 3 == 0; }

bool modes_lines_fit(const modes_linear *l, const stn_machine *machine) {
    if (l->width != MODES_NUMBERS || l->affine || !l->real || l->task->rank != 3 || l->axis[0].length % 2) return false;
    for (int pass = 0; pass < MODES_LINES_PASSES; pass++)
        if (points_of(l, pass) < MODES_MIN_POINTS || !stn_shared_fft_is_smooth(points_of(l, pass)) ||
            (pass == MODES_POWER && !has_small_radix(points_of(l, pass))) || !lines_of(l, machine, pass))
            return false;
    return true;
}

/* ---- lines of a block ----------------------------------------------------------------------- */

/* In the last stage of MODES_POWER a thread has one butterfly of each of the column's lines, so
 * that a block has few threads, each with many registers. */
static void set_power_threads(const modes_linear *l, const stn_machine *machine, modes_lines *made) {
    stn_shared_fft *line = &made->line[MODES_POWER];
    const int butterflies = line->points / line->radix[line->stages - 1], most = modes_is_f64(l) ? 512 : 256;
    made->columns = line->lines / (2 * MODES_NUMBERS);
    if (line->lines * modes_complex_bytes(l) >= 128) line->pad = 0; /* neighbours fill all banks */
    line->threads = (int)stn_max(1, stn_min(butterflies / (2 * MODES_NUMBERS), most / line->lines));
    while (line->threads * line->lines % 32) line->threads++;
    const size_t bytes = stn_shared_fft_bytes(line, modes_is_f64(l)) + MODES_TERM_BYTES + 1024;
    const int resident = (modes_is_f64(l) ? 512 : 768) / (line->threads * line->lines);
    line->blocks = (int)stn_max(1, stn_min((int64_t)(machine->shared_per_multiprocessor / bytes), resident));
}

static bool make_line(const modes_linear *l, const stn_machine *machine, int pass, modes_lines *made) {
    stn_shared_fft *line = &made->line[pass];
    const stn_shared_fft_needs needs = {.wide = modes_is_f64(l),
                                        .last = pass == MODES_POWER ? 4 : 8,
                                        .lines = lines_of(l, machine, pass),
                                        .threads = modes_is_f64(l) ? 640 : 1024,
                                        .blocks = 2,
                                        .shared = machine->shared_per_block - MODES_TERM_BYTES,
                                        .total = machine->shared_per_multiprocessor,
                                        .other_bytes = pass == MODES_POWER ? MODES_TERM_BYTES : 0};
    stn_shared_fft_search((int)points_of(l, pass), &needs, line);
    if (has_two_stages(l, pass)) {
        line->stages = 2, line->radix[0] = line->points / 32, line->radix[1] = 32;
        line->threads = line->points / 32, line->pad = 0, line->blocks = 2;
    }
    if (line->lines != needs.lines || !line->threads) return false;
    if (pass == MODES_POWER) set_power_threads(l, machine, made);
    return true;
}

stn_status modes_lines_make(stn_plan *plan, const modes_linear *l, modes_lines *made, stn_error *error) {
    const modes_line_kernels kernels = {"modes_lines", sizeof(lines_arguments), 0, MODES_POWER};
    bool fits = modes_lines_fit(l, &plan->machine);
    for (int pass = 0; pass < MODES_LINES_PASSES && fits; pass++) fits = make_line(l, &plan->machine, pass, made);
    return fits ? modes_line_kernels_make(plan, l, &kernels, made, error) : modes_line_no_room(error);
}

/* ---- a run ---------------------------------------------------------------------------------- */

stn_status modes_lines_run(const modes_lines *lines, const modes_linear *l, const double *numbers, uint64_t steps,
                           const stn_execution *run, stn_error *error) {
    struct {
        lines_arguments a;
        modes_value values[MODES_MAX_VALUES];
    } all = {.a = {.spectrum = run->workspace,
                   .grids = l->task->batch,
                   .half = l->axis[0].length / 2,
                   .across = l->axis[1].length,
                   .width = l->axis[2].length,
                   .tables = modes_power_tables(&lines->power, l),
                   .half_twiddles = (const char *)lines->tables + lines->half_twiddles,
                   .steps = steps,
                   .scale = 2}};
    lines_arguments *a = &all.a;
    for (int axis = 0; axis < 3; axis++) a->scale /= (double)l->axis[axis].length;
    for (int i = 0; i < MODES_NUMBERS; i++) a->in[i] = run->system->in[i], a->out[i] = run->system->out[i];
    modes_power_values(&lines->power, l, numbers, all.values);
    for (int pass = 0; pass < MODES_LINES_PASSES; pass++) {
        const stn_shared_fft *line = &lines->line[pass];
        int64_t groups = MODES_NUMBERS * a->grids; /* of lines, each of `tiles` blocks */
        a->tiles = stn_div_up(a->half * a->across, line->lines);
        if (pass == MODES_POWER)
            groups = a->grids * a->across, a->tiles = stn_div_up(a->width / 2 + 1, lines->columns);
        else if (!is_along_x(pass))
            groups *= a->half, a->tiles = stn_div_up(a->width, line->lines);
        a->twiddles = (const char *)lines->tables + lines->twiddles[pass];
        STN_TRY(stn_kernel_launch(lines->kernel[pass], groups * a->tiles, line->threads * line->lines,
                                  modes_line_shared(lines, l, pass), &all, run->stream, error));
    }
    return STN_OK;
}
